"""Lets a process send numbers about its turns, where the user wants that."""

from collections.abc import Callable, Mapping

from roost.cli.secrets import redact, secrets_in, secrets_of
from roost.config.models import Config
from roost.runtime.runtime import Runtime
from roost.runtime.telemetry import telemetry_of


def send_telemetry(
    runtime: Runtime, config: Config, environ: Mapping[str, str], tell: Callable[[str], None]
) -> None:
    """Send what `runtime` does from now on, if `config` or `environ` say where to.

    That it cannot be sent is told to `tell`, once and from any thread.
    """
    secrets = secrets_in(environ) | secrets_of(config, environ)
    telemetry = telemetry_of(
        config.telemetry, environ, hide=lambda text: redact(text, secrets), tell=tell
    )
    if telemetry is not None:
        runtime.watch.add(telemetry)
