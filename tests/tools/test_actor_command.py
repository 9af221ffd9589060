import json
import shlex
from contextlib import suppress
from typing import Any

import msgspec
import pytest
from fake_actors import AGENTS
from hypothesis import example, given
from hypothesis import strategies as st

from roost.tools.actor import ActorOffer, actor_tool
from roost.tools.actor_command import EXAMPLES, POSITIONS, usage, words
from roost.tools.actor_operations import ALL, Models, Run, Send, Spawn, Wait
from roost.tools.actor_reading import distance
from roost.tools.arguments import ArgumentsError, parse_call

TOOL = actor_tool(ActorOffer(agents=AGENTS, style="shell"))


def _parsed(line: str) -> Any:
    return parse_call(
        {"actor": TOOL}, "actor", json.dumps({"command": line}), complete=True
    ).arguments


def _refused(line: str) -> str:
    with pytest.raises(ArgumentsError) as caught:
        _parsed(line)
    return caught.value.message


def test_a_line_says_what_an_object_says() -> None:
    line = 'actor spawn explore "Find it" "Where is it?" --context state --model lite --task T1'
    order = {"subagent_type": "explore", "description": "Find it", "prompt": "Where is it?"}
    wanted = Spawn(**order, context="state", model="lite", task_id="T1")
    assert _parsed(line) == wanted
    assert _parsed(line.removeprefix("actor ")) == wanted
    other_quotes = "actor spawn explore \"Find it\"\n  'Where is it?'"
    assert _parsed(f"{other_quotes} --context=state --model=lite --task=T1") == wanted
    flags = "actor spawn --subagent-type explore --description 'Find it' --prompt 'Where is it?'"
    assert _parsed(f"{flags} --context state --model lite --task_id T1") == wanted
    mixed = "actor spawn --subagent_type explore 'Find it' 'Where is it?' --context state"
    assert _parsed(f"{mixed} \\\n  --model lite --task-id T1") == wanted
    assert _parsed("actor wait explore-1 --timeout 60000") == Wait(
        actor_id="explore-1", timeout_ms=60000
    )
    assert _parsed("actor wait --timeout-ms=5") == Wait(timeout_ms=5)
    assert _parsed("actor run explore a b --timeout 5") == Run(
        subagent_type="explore", description="a", prompt="b", timeout_ms=5
    )
    sent = Send(to_actor_id="main", content="x y", to_session_id="ses_2", reply_to="inb_1")
    assert _parsed("actor send main 'x y' --session ses_2 --reply-to inb_1") == sent
    assert _parsed("actor models --vision --limit 3") == Models(vision=True, limit=3)
    assert _parsed("actor models --limit 3 --vision false") == Models(vision=False, limit=3)
    schema = _parsed("""actor spawn explore a b --output-schema '{"type": "object"}'""")
    assert schema.output_schema == {"type": "object"}


BODY = 'First: don\'t "stop" $HOME `here`\n\n  --model is no flag \\ here\nEOF2\nlast'


@pytest.mark.parametrize(
    "line",
    [
        f"actor send explore-1 <<'EOF'\n{BODY}\nEOF",
        f"actor send explore-1 <<EOF\n{BODY}\nEOF\n",
        f'actor send explore-1 <<-"EOF" --reply-to inb_1\n{BODY}\n  EOF',
        f"actor send explore-1 --reply-to inb_1 \"$(cat <<'EOF'\n{BODY}\nEOF\n)\"",
        f'actor send explore-1 "$(cat <<EOF\n{BODY}\nEOF\n)" --reply-to inb_1',
    ],
)
def test_a_text_of_many_lines_stands_in_a_here_document(line: str) -> None:
    found = _parsed(line)
    assert found.content == BODY
    assert found.reply_to == ("inb_1" if "inb_1" in line else None)


def test_two_here_documents_follow_one_another() -> None:
    line = "actor spawn explore <<A <<'B'\nFind it\nA\nLook\nhere\nB"
    found = _parsed(line)
    assert (found.description, found.prompt) == ("Find it", "Look\nhere")


def test_an_empty_here_document_is_no_text() -> None:
    assert "content: got ''" in _refused("actor send explore-1 <<EOF\nEOF")


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("", "expected a line such as actor status explore-1"),
        ("actor", "expected a line such as"),
        (
            "actor spwan explore a b",
            "got 'spwan', expected one of spawn, run, status, wait, cancel, send, models.",
        ),
        ("actor spwan explore a b", "Did you mean spawn?"),
        ("actor delegate x", "got 'delegate', expected one of"),
        (
            "actor spawn explore look",
            "got 2 arguments ('explore', 'look'), expected 3 (subagent_type, description, prompt)",
        ),
        ("actor spawn explore look", 'Example: actor spawn explore "Find the loader"'),
        (
            "actor send explore-1 look in docs",
            "expected 2 (to_actor_id, content). Put a text with blanks between quotes.",
        ),
        ("actor cancel", "cancel: got 0 arguments (none), expected 1 (actor_id)"),
        ("actor wait a b", "wait: got 2 arguments ('a', 'b'), expected 0 to 1 (none)"),
        (
            "actor spawn explore a b --colour red",
            "no flag --colour; it has --model, --task-id, --command, --context, --output-schema.",
        ),
        ("actor status --all", "status has no flag --all; it has none"),
        ("actor spawn explore a b --model", "--model needs a value"),
        ("actor spawn explore a b --model --context full", "--model needs a value"),
        ("actor spawn explore a b --model x --model=y", "--model is given twice"),
        (
            "actor spawn explore a b --context all",
            "context: got 'all', expected one of none, state, full",
        ),
        ("actor wait a --timeout soon", "timeout_ms: got 'soon', expected int"),
        ("actor send a 'not closed", "the quote before 'not closed' is not closed"),
        ('actor send a "not closed', "here-document: <<'EOF'"),
        ("actor send a <<EOF\nnever ends", "no line holds only EOF"),
        ("actor send a b\\", "ends with a backslash"),
        ("actor spawn explore a b --actor-id explore-1", "`send` it a message"),
        ("{broken", "command: The arguments cannot be read"),
    ],
)
def test_a_line_that_cannot_be_read_is_told_what_is_wrong(line: str, told: str) -> None:
    assert told in _refused(line)


def test_a_text_that_begins_like_a_flag_is_quoted_or_stands_behind_two_dashes() -> None:
    assert _parsed("actor send a '--vision'").content == "--vision"
    assert _parsed("actor send a -- --vision").content == "--vision"
    assert _parsed("actor send -- a --").content == "--"
    assert _parsed("actor send a '- one'").content == "- one"
    assert "has no flag --vision" in _refused("actor send a --vision")


TEXTS = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]))
SPOKEN = TEXTS.filter(str.strip)


@given(SPOKEN, SPOKEN)
def test_any_texts_survive_quoting(description: str, prompt: str) -> None:
    line = f"actor spawn explore --context=full -- {shlex.join([description, prompt])}"
    found = _parsed(line)
    assert (found.description, found.prompt) == (description, prompt)


@given(SPOKEN)
def test_any_text_survives_as_the_value_of_a_flag(text: str) -> None:
    quoted = shlex.quote(text)
    assert _parsed(f"actor send --to-actor-id a --content={quoted}").content == text
    if not text.startswith("--"):
        assert _parsed(f"actor send --content {quoted} a").content == text


@given(SPOKEN)
@example("--")
@example("--vision")
def test_any_text_survives_between_double_quotes_and_in_a_here_document(text: str) -> None:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    if not text.startswith("$("):
        assert _parsed(f'actor send a "{escaped}"').content == text
    if not any(line.strip(" \t") == "END" for line in text.split("\n")):
        assert _parsed(f"actor send a <<'END'\n{text}\nEND").content == text
        assert _parsed(f"actor send a \"$(cat <<'END'\n{text}\nEND\n)\"").content == text


SIMPLE = st.text("ab <\"'\\\n\t-=$(", max_size=20).filter(
    lambda text: "<<" not in text and "\\\n" not in text
)


@given(SIMPLE)
def test_words_are_those_of_a_shell(line: str) -> None:
    try:
        expected = shlex.split(line)
    except ValueError:
        with pytest.raises(msgspec.ValidationError):
            list(words(line))
    else:
        assert [word.text for word in words(line)] == expected


@given(TEXTS)
def test_whatever_stands_there_it_is_read_or_refused(line: str) -> None:
    with suppress(ArgumentsError):
        _parsed(f"actor {line}")
    with suppress(ArgumentsError):
        _parsed(f"actor send {line}")


@pytest.mark.parametrize("verb", list(ALL))
def test_the_usage_and_the_example_of_a_verb_agree_with_it(verb: str) -> None:
    assert type(_parsed(EXAMPLES[verb])) is ALL[verb]
    shown = usage(verb, ALL[verb])
    assert shown.startswith(f"actor {verb}")
    assert set(POSITIONS[verb]) <= set(ALL[verb].__struct_fields__)
    assert shown in TOOL.description


@given(st.text("abc", max_size=6), st.text("abc", max_size=6))
def test_a_distance_is_one(one: str, other: str) -> None:
    assert distance(one, other) == distance(other, one)
    assert (distance(one, other) == 0) == (one == other)
    assert distance(one, other) <= max(len(one), len(other))
    assert distance(one + "x", other) <= distance(one, other) + 1
