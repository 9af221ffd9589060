"""What the documents say of this repository is so: paths, packages, commands, flags, examples."""

import re
import shlex
from pathlib import Path

import pytest

from roost.cli.grammar import COMMANDS, find_command, parse
from roost.config.jsonc import parse as parse_jsonc
from roost.config.validate import validate

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "roost"
ARCHITECTURE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")
PACKAGES = {path.parent.name for path in SOURCE.glob("*/__init__.py")}


def section(document: str, head: str) -> str:
    """The text below the heading `head`, up to the next heading."""
    return document.partition(f"\n## {head}\n")[2].partition("\n## ")[0]


def blocks(*kinds: str) -> list[str]:
    """The README's code blocks of these kinds."""
    found = re.findall(r"^```(\w*)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    return [body for kind, body in found if kind in kinds]


def paths_in(text: str) -> list[str]:
    """What stands in backquotes and looks like a path."""
    return [one for one in re.findall(r"`([^`\s]+)`", text) if "/" in one]


def test_every_path_in_where_to_look_exists() -> None:
    named = paths_in(section(ARCHITECTURE, "Where to look"))
    assert len(named) > 30
    missing = [one for one in named if "<" not in one and not (SOURCE / one).exists()]
    assert missing == []


def test_every_package_is_in_where_to_look_and_among_the_floors() -> None:
    named = {one.partition("/")[0] for one in paths_in(section(ARCHITECTURE, "Where to look"))}
    assert PACKAGES - named == set()
    floors = section(ARCHITECTURE, "Floors").partition("\n\n")[2]
    assert set(re.findall(r"\w+", floors)) == PACKAGES


def test_every_test_that_guards_a_law_exists() -> None:
    named = paths_in(section(ARCHITECTURE, "Laws, and the tests that guard them"))
    assert [one for one in named if not (ROOT / one).exists()] == []


def roost_commands() -> list[str]:
    """Every call of `roost` in the README: in its shell blocks, and between backquotes."""
    shell = "\n".join(blocks("sh", ""))
    found = re.findall(r"(?:^|[$|/] ?)(roost [^|>#\n]+)", shell, re.MULTILINE)
    return found + re.findall(r"`(?:[A-Z_]+=\S+ )?(roost [a-z][^`\\]*)", README)


def help_examples() -> list[str]:
    """Every call of `roost` among the examples that `--help` shows."""
    return [
        re.split(r"\s{3,}|\s[|>]", line.partition("roost")[2])[0]
        for command in COMMANDS
        for line in command.notes.splitlines()
        if re.match(r"  (\S.* )?roost ", line) and "<(" not in line and "lost:" not in line
    ]


@pytest.mark.parametrize("line", help_examples())
def test_every_example_of_the_help_is_understood(line: str) -> None:
    name, *words = shlex.split(line)
    command = find_command(name)
    assert command is not None
    parse(command, words)


@pytest.mark.parametrize("line", roost_commands())
def test_every_command_of_the_readme_is_understood(line: str) -> None:
    name, *words = shlex.split(line)[1:]
    command = find_command(name)
    assert command is not None
    parse(command, words)


def test_every_make_target_of_the_documents_exists() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z]+):", makefile, re.MULTILINE))
    for name in ("README.md", "AGENTS.md", "ARCHITECTURE.md"):
        text = (ROOT / name).read_text(encoding="utf-8")
        for named in re.findall(r"(?:`|^)make ([a-z ]+)", text, re.MULTILINE):
            assert set(named.split()) <= targets, (name, named)


@pytest.mark.parametrize("block", blocks("json", "jsonc"))
def test_every_configuration_of_the_readme_can_be_used(block: str) -> None:
    value, left_out = validate(parse_jsonc(block.encode(), "README.md"), "README.md", lenient=False)
    assert value
    assert left_out == []


def test_every_exit_code_is_named() -> None:
    for code in (0, 1, 2, 3, 124, 129, 130, 141, 143):
        assert re.search(rf"\b{code} [a-z]", README), code


def test_every_command_is_in_the_table_of_commands() -> None:
    for command in COMMANDS:
        assert re.search(rf"^\| `roost {command.name}\b", README, re.MULTILINE), command.name
