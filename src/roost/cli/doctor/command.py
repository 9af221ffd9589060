"""`roost doctor`: all checks, one line each; exit code 1 when something must be mended."""

import asyncio
import contextlib
import logging
import os
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct

from roost.cli.doctor.findings import Finding, lines_of
from roost.cli.doctor.folders import check_folders
from roost.cli.doctor.machine import check_machine
from roost.cli.doctor.setup import check_setup
from roost.cli.doctor.stored import check_stored
from roost.cli.folders import working_folder
from roost.cli.table import as_json
from roost.cli.terminal import look_of
from roost.config.paths import roost_paths
from roost.core.amounts import counted


class DoctorOptions(Struct, frozen=True, kw_only=True):
    """The command line of `roost doctor`."""

    online: bool = False
    deep: bool = False
    dir: str | None = None
    format: Literal["text", "json"] = "text"


def execute(given: dict[str, Any]) -> int:
    """Print the report.

    Raises `UsageError` for a folder that is not there, `ConfigError` when not even Roost's own are
    known.
    """
    options = msgspec.convert(given, DoctorOptions)
    folder = working_folder(options.dir)
    with _logging(given):
        findings = _check(options, folder.resolve())
    print(as_json(findings) if options.format == "json" else _sum(findings))
    return int(any(one.status == "fail" for one in findings))


def _check(options: DoctorOptions, folder: Path) -> list[Finding]:
    """Tell each finding as soon as it is made, and give all."""
    environ = dict(os.environ)
    paths = roost_paths(environ)
    look = look_of(sys.stdout, environ)
    findings: list[Finding] = []

    def tell(finding: Finding) -> None:
        findings.append(finding)
        if options.format == "text":
            print("\n".join(lines_of([finding], look)), flush=True)

    for finding in check_machine(environ):
        tell(finding)
    for finding in check_folders(paths):
        tell(finding)
    for finding in check_stored(paths, deep=options.deep):
        tell(finding)

    async def set_up() -> None:
        async for finding in check_setup(folder, environ, paths, online=options.online):
            tell(finding)

    asyncio.run(set_up())
    return findings


@contextlib.contextmanager
def _logging(given: dict[str, Any]) -> Generator[None]:
    """Log to stderr or nowhere: the folder of the log is among what is checked."""
    root = logging.getLogger()
    wanted = given.get("print_logs")
    handler = logging.StreamHandler(sys.stderr) if wanted else logging.NullHandler()
    before = root.level
    root.addHandler(handler)
    root.setLevel(logging.getLevelNamesMapping()[given.get("log_level") or "INFO"])
    try:
        yield
    finally:
        root.setLevel(before)
        root.removeHandler(handler)


def _sum(findings: list[Finding]) -> str:
    failed = sum(one.status == "fail" for one in findings)
    warned = sum(one.status == "warn" for one in findings)
    seen = f"{warned} could be better" if warned else ""
    if failed:
        words = counted(failed, "problem must be mended", "problems must be mended")
        return f"\n{words}{'; ' * bool(seen)}{seen}."
    return f"\nRoost works; {seen}." if seen else "\nEverything works."
