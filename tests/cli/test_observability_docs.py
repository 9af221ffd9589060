"""What `docs/observability.md` says is so: commands, options, variables, names, numbers."""

import re
import shlex
from pathlib import Path
from typing import get_args

import msgspec
import pytest

from roost.actors.traces import KEPT
from roost.cli.dispatch import find_command
from roost.cli.grammar import parse
from roost.cli.log import FORMAT_VARIABLE, LEVEL_VARIABLE
from roost.cli.logs.file import ASIDE, LARGEST, NAME
from roost.cli.trace.entries import Entry, Head
from roost.cli.trace.picture import WIDE
from roost.config.jsonc import parse as parse_jsonc
from roost.config.validate import validate
from roost.runtime.telemetry import DOUBTED_SECONDS, LAST_SECONDS

ROOT = Path(__file__).parent.parent.parent
TEXT = (ROOT / "docs" / "observability.md").read_text(encoding="utf-8")
SOURCE = "".join(path.read_text() for path in (ROOT / "src" / "roost" / "runtime").glob("otel*.py"))
COMMANDS = sorted(set(re.findall(r"`(roost (?:trace|log)[^`]*)`", TEXT)))
CODE = re.findall(r"`([^`]+)`", re.sub(r"```.*?```", "", TEXT, flags=re.DOTALL))


@pytest.mark.parametrize("line", COMMANDS)
def test_every_command_is_understood(line: str) -> None:
    _, name, *words = shlex.split(line)
    command = find_command(name)
    assert command is not None
    parse(command, words)


def test_the_configuration_can_be_used() -> None:
    (block,) = re.findall(r"```jsonc roost.json\n(.*?)```", TEXT, re.DOTALL)
    value, left_out = validate(parse_jsonc(block.encode(), "docs"), "docs", lenient=False)
    assert value["telemetry"]["otlp"]["endpoint"] == "http://localhost:4318"
    assert left_out == []


def test_every_type_of_a_json_line_is_told_with_fields_that_it_has() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| [^|]+ \| ([^|]+) \|$", TEXT, re.MULTILINE))
    kinds = {str(kind.__struct_config__.tag): kind for kind in (Head, *get_args(Entry))}
    assert set(rows) - {"type"} == set(kinds)
    for tag, kind in kinds.items():
        fields = {field.encode_name for field in msgspec.structs.fields(kind)}
        assert set(re.findall(r"`(\w+)`", rows[tag])) <= fields, tag


def test_every_span_attribute_and_metric_that_is_named_is_sent() -> None:
    names = {name for name in CODE if re.fullmatch(r"(gen_ai|roost|error)\.[a-z_.]+", name)}
    names -= {"roost.log", "roost.json"}
    assert len(names) > 25
    assert [name for name in sorted(names) if f'"{name}"' not in SOURCE] == []


def test_variables_and_numbers_are_those_of_the_program() -> None:
    for variable in (LEVEL_VARIABLE, FORMAT_VARIABLE):
        assert f"`{variable}`" in TEXT
    assert f"`{NAME}`" in TEXT
    assert (LARGEST, ASIDE) == (5_000_000, 4)
    assert "At 5 MB it is set aside; four older files are\nkept, so all of it takes 25 MB" in TEXT
    assert f"the first {KEPT} of each turn" in TEXT
    assert f"A terminal of {WIDE} columns" in TEXT
    assert (LAST_SECONDS, DOUBTED_SECONDS) == (2.0, 0.3)
    assert "has 2 seconds, and a third of one" in TEXT
