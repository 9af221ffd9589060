"""`roost context`: what fills the window, as numbers and as a picture."""

import json

import pytest
from household import Household

from roost.cli.context import picture
from roost.cli.terminal import Look
from roost.context.capacity import Window
from roost.context.filling import KINDS, Filling, Share
from roost.runtime.context_view import ContextView
from scripted_model.scenario import Call, scenario

pytestmark = pytest.mark.scenario


def view(used: int, window: Window, counted: bool = True) -> ContextView:
    shares = tuple(Share(kind, used // 10, 1 if kind == "user" else 0) for kind in KINDS)
    return ContextView("ses_1", "main", "test/one", window, Filling(used, counted, shares))


def test_the_picture_shows_the_parts_and_where_it_is_shortened() -> None:
    lines = picture(view(50_000, Window(100_000, 90_000)), Look(unicode=False))
    assert lines[0] == "ses_1 · test/one"
    assert lines[1] == "50,000 of 100,000 tokens, 50%"
    assert lines[2] == "#" * 15 + "." * 30 + "|" + "." * 4
    assert "* 5,000  what was said to it in 1 message" in lines
    assert lines[-1] == "shortened at 90,000, to 45,000 at most"


def test_a_window_that_is_too_small_or_not_known_is_no_harm() -> None:
    assert picture(view(90_000, Window(1_000, 900)), Look())[2].startswith("█")
    assert "not known" in picture(view(500, Window(0, 0), counted=False), Look())[1]


def test_the_parts_of_a_session_are_those_that_were_sent(chat_house: Household) -> None:
    house = chat_house
    house.play(scenario(Call("bash", {"command": "seq 1 2000"}), "Counted.", scope="server"))
    house.prompt("Count to 2,000. " * 40)
    shown = json.loads(house.run("context", "--json").stdout)
    tokens = {share["kind"]: share["tokens"] for share in shown["filling"]["shares"]}
    assert shown["filling"]["counted"]
    assert shown["window"]["size"] == 200_000
    assert all(tokens[kind] > 0 for kind in ("system", "tools", "user", "model", "results"))
    assert tokens["shortened"] == 0
    assert tokens["results"] > tokens["user"] > tokens["model"]
    last = house.model.requests[-1]
    assert abs(shown["filling"]["used"] - last.input_tokens) < 50
    assert sum(tokens.values()) == shown["filling"]["used"]
    text = house.run("context")
    assert text.returncode == 0, text.stderr
    assert "what tools answered" in text.stdout


def test_after_a_shortening_its_words_have_a_share(chat_house: Household) -> None:
    chat_house.play(
        scenario(default="# Intent\n# State\n# Next\nTest it, whatever it takes, soon.")
    )
    chat_house.prompt("Build a parser. " * 300)
    chat_house.prompt("Mind the port. " * 300, "--continue")
    assert chat_house.run("compact").returncode == 0
    shown = json.loads(chat_house.run("context", "--json").stdout)
    tokens = {share["kind"]: share["tokens"] for share in shown["filling"]["shares"]}
    assert tokens["shortened"] > 0
    assert not shown["filling"]["counted"]
    assert "about" in chat_house.run("context").stdout


def test_a_session_that_is_not_there_is_an_error(chat_house: Household) -> None:
    done = chat_house.run("context", "-s", "ses_none")
    assert done.returncode == 2
    assert "ses_none" in done.stderr
