"""`python -m scripted_model`: serve until told to stop; the first line printed is the URL."""

import argparse
import asyncio
import importlib
import os
import signal
import sys
from pathlib import Path

from scripted_model.scenario import Scenario, Script, load, scenario
from scripted_model.server import ScriptedModel


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("scripted_model", description=__doc__)
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--scenario", type=Path, help="a scenario as a JSON file")
    source.add_argument("--script", help="a scenario or function in Python: module:name")
    source.add_argument("--say", default="pong", help="one text, for every request")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--log", type=Path, help="file for one JSON line a request")
    parser.add_argument("--lenient", action="store_true", help="reject nothing but broken JSON")
    parser.add_argument("--key", help="the only API key that is taken")
    parser.add_argument("--model", action="append", default=[], help="a name that is served")
    parser.add_argument("--context", type=int, default=1_000_000, help="tokens of input that fit")
    parser.add_argument("--extra-field", action="append", default=[], help="a field to let through")
    parser.add_argument("--keep", type=int, help="remember the bodies of so many requests only")
    parser.add_argument("--seed", help="makes all ids the same in every run")
    parser.add_argument("--until-eof", action="store_true", help="stop when stdin is closed")
    return parser


def _source(arguments: argparse.Namespace) -> Scenario | Script:
    if arguments.scenario is not None:
        return load(arguments.scenario)
    if arguments.script is not None:
        module, _, name = str(arguments.script).partition(":")
        return getattr(importlib.import_module(module), name)
    return scenario(default=str(arguments.say))


def _stop_at_eof(model: ScriptedModel) -> None:
    descriptor = sys.stdin.fileno()

    def read() -> None:
        if not os.read(descriptor, 4096):
            model.request_stop()

    try:
        asyncio.get_running_loop().add_reader(descriptor, read)
    except PermissionError:
        # A file or /dev/null cannot be waited for: it is at its end already.
        sys.exit("scripted_model: --until-eof needs a pipe or a terminal as stdin")


async def _serve(model: ScriptedModel, *, until_eof: bool) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, model.request_stop)
    if until_eof:
        _stop_at_eof(model)
    await model.serve(on_ready=lambda: print(model.url, flush=True))


def main() -> None:
    """Serve until SIGTERM, SIGINT, or the end of stdin if that was asked for."""
    arguments = _parser().parse_args()
    model = ScriptedModel(
        _source(arguments),
        strict=not arguments.lenient,
        api_key=arguments.key,
        models=arguments.model,
        context=arguments.context,
        extra_fields=arguments.extra_field,
        keep=arguments.keep,
        seed=arguments.seed,
        port=arguments.port,
        log=arguments.log,
    )
    asyncio.run(_serve(model, until_eof=arguments.until_eof))
    for crash in model.crashes:
        print(f"scripted_model: {crash!r}", file=sys.stderr)
    sys.exit(1 if model.crashes else 0)


if __name__ == "__main__":
    main()
