"""`roost config`: what is in force and where it comes from; trust; paths."""

import json
from pathlib import Path
from typing import Any, Final, Literal

import msgspec
from msgspec import Struct

from roost.cli.folders import working_folder
from roost.cli.log import FOLDER as LOG_FOLDER
from roost.cli.permission_names import mistyped
from roost.cli.storage import Home, at_home
from roost.cli.table import as_json
from roost.cli.trusting import load_config, trust
from roost.config.loaded import Loaded, Withheld
from roost.config.show import masked, settings
from roost.config.trust import TrustStore
from roost.core.text import reveal, terminal_safe
from roost.llm.gguf import model_folder

OWN_FILE: Final = "roost.json"


class ConfigOptions(Struct, frozen=True, kw_only=True):
    """The command line of `roost config`."""

    action: Literal["show", "trust", "untrust", "path"] | None = None
    dir: str | None = None
    format: Literal["text", "json"] = "text"


def execute(given: dict[str, Any]) -> int:
    """Do what was asked for. Raises `ConfigError`."""
    options = msgspec.convert(given, ConfigOptions)
    folder = working_folder(options.dir)
    with at_home(given) as home:
        match options.action:
            case "trust":
                lines = _trust(home, folder)
            case "untrust":
                lines = _untrust(home, folder)
            case "path":
                lines = _paths(home, load_config(folder, home.environ, home.paths), options)
            case "show" | None:
                lines = _show(home, load_config(folder, home.environ, home.paths), options)
    print("\n".join(terminal_safe(line) for line in lines))
    return 0


def _show(home: Home, loaded: Loaded, options: ConfigOptions) -> list[str]:
    if options.format == "json":
        return [json.dumps(masked(loaded), indent=2, ensure_ascii=False)]
    lines = [f"{one.key} = {_value(one.value)}  ({one.source})" for one in settings(loaded)]
    if not lines:
        place = home.paths.config / OWN_FILE
        lines = [f"Nothing is configured; everything is as built in. Yours goes into {place}"]
    lines += _withheld(loaded)
    lines += [f"warning: {warning}" for warning in (*loaded.warnings, *mistyped(loaded))]
    return lines


def _value(value: Any) -> str:
    return reveal(msgspec.json.encode(value).decode())


def _withheld(loaded: Loaded) -> list[str]:
    """What of the repository does nothing yet, why, and how to change that."""
    project = loaded.project
    if project.trusted:
        return ["", f"The configuration of {project.root} is trusted."] if project.files else []
    lines: list[str] = []
    if loaded.faults:
        lines += ["", "Faulty, so nothing of these files is used:"]
        lines += [line for fault in loaded.faults for line in _fault(fault)]
    if loaded.waiting:
        lines += ["", f"Not in force, since the configuration of {project.root} is not trusted:"]
        lines += [f"  {reveal(one.key)} ({one.source}): {one.reason}" for one in loaded.waiting]
    return [*lines, "", *_way_to_trust(loaded)]


def _fault(fault: Withheld) -> list[str]:
    return [f"  {fault.reason}", *(f"    {line}" for line in fault.hint.splitlines())]


def _way_to_trust(loaded: Loaded) -> list[str]:
    project = loaded.project
    if loaded.faults:
        return ["What is faulty cannot be trusted: mend it, then run `roost config trust`."]
    if not loaded.waiting:
        return [
            f"The configuration of {project.root} is not trusted, and needs no trust:",
            "  all of it is in force.",
        ]
    return [
        "Read these files, then trust exactly their present content with `roost config trust`:",
        *(f"  {reveal(name)}" for name in project.files),
    ]


def _trust(home: Home, folder: Path) -> list[str]:
    loaded = trust(folder, home.environ, home.paths)
    project = loaded.project
    if not project.files:
        return [f"{project.root} has no configuration of its own, so there is nothing to trust."]
    return [
        f"The configuration of {project.root} is trusted, exactly as it is now:",
        *(f"  {reveal(name)}" for name in project.files),
        "A change to any of these files ends that, and so does `roost config untrust`.",
        *(f"warning: {warning}" for warning in loaded.warnings),
    ]


def _untrust(home: Home, folder: Path) -> list[str]:
    root = load_config(folder, home.environ, home.paths).project.root
    if TrustStore(home.paths.trust_file).revoke(root):
        return [f"The configuration of {root} is no longer trusted."]
    return [f"The configuration of {root} was not trusted, so nothing has changed."]


def _paths(home: Home, loaded: Loaded, options: ConfigOptions) -> list[str]:
    paths = home.paths
    places = {
        "data": paths.data,
        "config": paths.config,
        "state": paths.state,
        "cache": paths.cache,
        "database": paths.database,
        "logs": paths.data / LOG_FOLDER,
        "models": model_folder(home.environ),
    }
    read = [layer.source for layer in loaded.layers]
    if options.format == "json":
        return [as_json({**{name: str(path) for name, path in places.items()}, "read": read})]
    lines = [f"{name:<9} {path}" for name, path in places.items()]
    return [*lines, *(f"read      {source}" for source in read)]
