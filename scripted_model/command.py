"""The command line of the scripted model: what it is to play, and where."""

import argparse
import asyncio
import importlib
import os
import signal
import sys
from argparse import ArgumentTypeError
from pathlib import Path

import msgspec

from scripted_model.scenario import Scenario, Script, load, scenario
from scripted_model.server import ScriptedModel


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("scripted_model", description=__doc__)
    source = parser.add_mutually_exclusive_group()
    source.add_argument(
        "--scenario", dest="source", type=_scenario, metavar="FILE", help="a scenario as JSON"
    )
    source.add_argument(
        "--script",
        dest="source",
        type=_script,
        metavar="MODULE:NAME",
        help="a scenario or function in Python",
    )
    source.add_argument("--say", default="pong", help="one text, for every request")
    parser.add_argument("--port", type=_port, default=0, help="0 takes a free one")
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


def _scenario(text: str) -> Scenario:
    try:
        return load(Path(text))
    except OSError as error:
        raise ArgumentTypeError(f"{text} cannot be read: {error.strerror}") from error
    except msgspec.MsgspecError as error:
        raise ArgumentTypeError(f"{text} is no scenario: {error}") from error


def _script(text: str) -> Scenario | Script:
    """What a module calls so. What the module itself raises comes out as it is."""
    name, _, what = text.partition(":")
    if not name or not what:
        raise ArgumentTypeError(f"{text!r} is not MODULE:NAME")
    try:
        return getattr(importlib.import_module(name), what)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise
        raise ArgumentTypeError(f"there is no module {name}") from error
    except AttributeError as error:
        raise ArgumentTypeError(f"{name} has no {what}") from error


def _port(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) > 65535:
        raise ArgumentTypeError(f"{text!r} is not a port (0 to 65535)")
    return int(text)


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


def execute() -> None:
    """Serve until SIGTERM, SIGINT, or the end of stdin if that was asked for."""
    arguments = _parser().parse_args()
    try:
        model = _model(arguments)
    except OSError as error:
        sys.exit(f"scripted_model: {arguments.log} cannot be written: {error.strerror}")
    try:
        asyncio.run(_serve(model, until_eof=arguments.until_eof))
    except OSError as error:
        sys.exit(f"scripted_model: port {arguments.port} cannot be used: {error.strerror}")
    for crash in model.crashes:
        print(f"scripted_model: {crash!r}", file=sys.stderr)
    sys.exit(1 if model.crashes else 0)


def _model(arguments: argparse.Namespace) -> ScriptedModel:
    return ScriptedModel(
        arguments.source or scenario(default=str(arguments.say)),
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
