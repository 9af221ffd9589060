"""Whatever a client sends, it is answered: a body with anything put anywhere breaks no reader."""

import copy
import json

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings
from scripted_requests import DIALECTS, answer, first, go_on

from scripted_model.reasoning_rules import ReasoningBook
from scripted_model.scenario import Call, Reasoning, Text, scenario
from scripted_model.server import ScriptedModel
from scripted_model.signing import Signer
from scripted_model.strict import Reader

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(0, 1) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=4,
)


def whole(dialect):
    """A request with everything in it that the dialect has."""
    scene = scenario([Reasoning("hm"), Text("Now."), Call("bash", {"command": "ls"})])
    with ScriptedModel(scene) as model:
        body = first(dialect, model="a-reasoner")
        return go_on(dialect, body, answer(model, dialect, body), ["a.txt"], say="more")


WHOLE = {dialect: whole(dialect) for dialect in DIALECTS}


def nodes(value, path=()):
    """The path of every node below the top."""
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    for key, each in inner:
        yield (*path, key)
        if isinstance(each, dict | list):
            yield from nodes(each, (*path, key))


PLACES = {dialect: list(nodes(body)) for dialect, body in WHOLE.items()}


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("dialect", DIALECTS)
@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_anything_anywhere_is_read_without_a_crash(dialect, strict, data):
    body = copy.deepcopy(WHOLE[dialect])
    *path, last = data.draw(st.sampled_from(PLACES[dialect]))
    at = body
    for key in path:
        at = at[key]
    if data.draw(st.booleans()):
        at[last] = data.draw(ANYTHING)
    else:
        del at[last]
    reader = Reader(ReasoningBook(Signer("s")), strict=strict)
    sent = json.dumps(body).encode()
    once = reader.read(dialect, sent, {})
    again = reader.read(dialect, sent, {})
    assert again.violations == once.violations or once.violations[0].rule == "reasoning"
    reader.count(dialect, sent)
    once.request.all_text, once.request.results, once.request.last_user_text  # noqa: B018


@settings(max_examples=200, deadline=None)
@given(body=st.binary(max_size=60) | ANYTHING.map(lambda value: json.dumps(value).encode()))
@pytest.mark.parametrize("strict", [True, False])
def test_any_bytes_are_read_without_a_crash(strict, body):
    reader = Reader(ReasoningBook(Signer("s")), strict=strict)
    for dialect in DIALECTS:
        assert reader.read(dialect, body, {}).violations or not strict
        reader.count(dialect, body)
