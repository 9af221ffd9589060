import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.config.frontmatter import read_page
from roost.config.jsonc import parse, show_key
from roost.core.errors import ConfigError


@pytest.mark.parametrize("data", [b"", b"  \n", b"// nothing yet\n", b"/* a\n b */"])
def test_a_file_without_settings_is_an_empty_object(data: bytes) -> None:
    assert parse(data, "roost.json").value == {}


def test_comments_and_trailing_commas_are_read() -> None:
    text = b'\xef\xbb\xbf{\n // model\n "model": "a/b", /* x */ "agent": {"x": {"steps": 3,},},\n}'
    document = parse(text, "roost.jsonc")
    assert document.value == {"model": "a/b", "agent": {"x": {"steps": 3}}}
    assert document.lines[("agent", "x", "steps")] == 3


@pytest.mark.parametrize(
    ("data", "place"),
    [
        (b'{"a": 1,\n\n"b": }', "f:3:"),
        (b'{"a": 1}\n{"b": 2}', "f:2:"),
        (b'{"a":\n"\xff"}', "f:2:"),
        (b'{"a": {\n"b": 1,\n"b": 2}}', "f:3: a.b"),
        (b'{"a":\n{"b": [0, NaN]}}', "f:2: a.b[1]"),
        (b'{"a": -Infinity}', "f:1: a"),
        (b"[1]", "f: holds a list"),
        (b"null", "f: holds null"),
        (b'{"a":' * 400 + b"1", "f:1:"),
    ],
)
def test_a_faulty_file_is_refused_with_its_line(data: bytes, place: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(data, "f")
    assert caught.value.message.startswith(place)
    assert caught.value.hint


def test_a_syntax_error_does_not_show_what_was_read() -> None:
    with pytest.raises(ConfigError) as caught:
        parse(b'{"apiKey": "sk-very-secret", "x" 1}', "f")
    shown = f"{caught.value.message} {caught.value.__cause__}"
    assert "sk-very-secret" not in shown


def test_the_same_key_in_two_objects_is_no_duplicate() -> None:
    assert parse(b'{"a": {"x": 1}, "b": {"x": [{"x": 1}, {"x": 2}]}}', "f").value["b"]


def test_a_key_with_dots_is_shown_in_brackets() -> None:
    assert show_key(("agent", "my.agent", "tools", 0)) == 'agent["my.agent"].tools[0]'


@given(st.binary(max_size=60))
def test_any_bytes_give_an_object_or_a_config_error(data: bytes) -> None:
    with contextlib.suppress(ConfigError):
        assert isinstance(parse(data, "f").value, dict)


PAGE = """---
# an agent
description: Reviews code: carefully # this is a comment
  and well
mode: subagent
temperature: 0.1
steps: 12
hidden: true
color: "#ff0000"
model:
tools:
  write: false
permission:
  edit: deny
  bash:
    "*": ask
    git diff*: allow
    "#odd": deny
  webfetch: {"*": ask, 'a b': deny}
tags:
- one
- "two # not a comment"
more: [a, 'it''s', 3, {x: y}]
prompt: |
  first
    # kept

  last
folded: >-
  one
  line
---

Body --- here

"""


def test_front_matter_is_read_as_people_write_it() -> None:
    page = read_page(PAGE, "a.md")
    assert page.body == "Body --- here"
    assert page.settings == {
        "description": "Reviews code: carefully and well",
        "mode": "subagent",
        "temperature": 0.1,
        "steps": 12,
        "hidden": True,
        "color": "#ff0000",
        "model": None,
        "tools": {"write": False},
        "permission": {
            "edit": "deny",
            "bash": {"*": "ask", "git diff*": "allow", "#odd": "deny"},
            "webfetch": {"*": "ask", "a b": "deny"},
        },
        "tags": ["one", "two # not a comment"],
        "more": ["a", "it's", 3, {"x": "y"}],
        "prompt": "first\n  # kept\n\nlast\n",
        "folded": "one line",
    }


def test_permissions_keep_the_order_they_are_written_in() -> None:
    page = read_page('---\nbash:\n  "z": deny\n  "*": ask\n  "a": allow\n---\n', "a.md")
    assert list(page.settings["bash"]) == ["z", "*", "a"]


def test_a_page_without_front_matter_is_all_body() -> None:
    assert read_page("# Title\n---\nx\n", "a.md").body == "# Title\n---\nx"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a: 1\na: 2", 3),
        ("a: &x 1", 2),
        ("b: 1\na: *anchor", 3),
        ("a: !!python/object x", 2),
        ("<<: x", 2),
        ("just words", 2),
        ("a:\n\tb: 1", 3),
        ("a:\n  b: 1\n c: 2", 4),
        ('a: "open', 2),
        ("a: [1, 2", 2),
        ("a: {x: 1} y", 2),
        ("a: ask\n  b: deny", 3),
        ("- x", 2),
        ("a:\n  - x: 1", 3),
    ],
)
def test_front_matter_that_is_not_understood_is_refused(text: str, line: int) -> None:
    with pytest.raises(ConfigError) as caught:
        read_page(f"---\n{text}\n---\nbody", "a.md")
    assert caught.value.message.startswith(f"a.md:{line}:")


def test_front_matter_must_be_closed() -> None:
    with pytest.raises(ConfigError, match="never closed"):
        read_page("---\na: 1\n", "a.md")


@given(st.text(alphabet="abc:- \n#\"'[]{},|>&*!\t1.", max_size=60))
def test_any_front_matter_gives_settings_or_a_config_error(text: str) -> None:
    with contextlib.suppress(ConfigError):
        assert isinstance(read_page(f"---\n{text}\n---\n", "a.md").settings, dict)
