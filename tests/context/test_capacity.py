"""What of a window may be used, and what a conversation is taken to fill of it."""

from typing import Any

import pytest
from stage import answer_info, user_message
from step_samples import failed, person, ran, step, words

from roost.context.capacity import Window, limit_for, quantity, window_of
from roost.context.estimate import MEDIA, tokens_in, tokens_of, used
from roost.llm.models import Model
from roost.sessions.models import Message
from roost.sessions.parts import CacheTokens, FilePart, Part, Tokens

MODEL = Model("scripted", "one", "openai-chat", "http://127.0.0.1", context=100_000, output=10_000)
COUNTED = Tokens(input=900, output=50, reasoning=30, cache=CacheTokens(read=4_000, write=20))


@pytest.mark.parametrize(
    ("given", "tokens"),
    [(300, 300), ("300K", 300_000), ("1.5m", 1_500_000), (" 50% ", 50_000), ("700", 700)],
)
def test_amounts_are_numbers_thousands_millions_or_shares(given: int | str, tokens: int) -> None:
    assert quantity(given, 100_000) == tokens


@pytest.mark.parametrize("given", ["", "many", "-5", "5 K B", "%"])
def test_an_amount_that_cannot_be_read_is_none(given: str) -> None:
    assert quantity(given, 100_000) is None


def test_the_longest_pattern_that_fits_a_model_holds_for_it() -> None:
    limits: dict[str, int | str] = {"*": 10_000, "scripted/*": 20_000, "scripted/o*": "30K", "x": 1}
    assert limit_for("scripted/one", limits) == "30K"
    assert limit_for("other/two", limits) == 10_000
    assert limit_for("other/two", {"scripted/*": 5_000}) is None


def test_room_for_the_answer_is_kept_free() -> None:
    assert window_of(MODEL) == Window(100_000, 90_000)
    assert window_of(MODEL, reserved=30_000).usable == 70_000
    small = Model("s", "o", "openai-chat", "http://127.0.0.1", context=8_000, output=8_000)
    assert window_of(small).usable == 4_000
    stated = Model("s", "o", "openai-chat", "http://127.0.0.1", input_limit=50_000, output=20_000)
    assert window_of(stated) == Window(50_000, 45_000)


@pytest.mark.parametrize("given", ["many", 10, 200_000, "300%"])
def test_a_limit_only_ever_makes_the_window_smaller(given: int | str) -> None:
    assert window_of(MODEL, given) == window_of(MODEL)


def test_a_lower_limit_holds_and_says_where_it_comes_from() -> None:
    assert window_of(MODEL, "40%") == Window(40_000, 30_000, "config")


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        ("word " * 1_000, 1_000, 1_500),
        ("数据库迁移脚本" * 100, 600, 800),
        ("x = {'a': [1, 2, 3]}\n" * 100, 500, 900),
        ("", 0, 1),
    ],
)
def test_estimates_are_near_what_tokenizers_say_in_any_script(
    text: str, least: int, most: int
) -> None:
    assert least <= tokens_in(text) <= most


def test_a_message_counts_its_words_calls_answers_and_images() -> None:
    bare = tokens_of(person("a" * 3_600))
    assert 1_000 <= bare <= 1_020
    assert tokens_of(person("a" * 3_600), trim=36) < 30
    assert tokens_of(step(ran("x" * 3_600))) > 1_000
    assert tokens_of(step(failed("x" * 3_600))) > 1_000
    image = FilePart("prt", "ses_1", "msg_1", "image/png", "data:image/png;base64,AAAA")
    assert tokens_of(user_message("ses_1", image)) > MEDIA


def counted(*parts: Part, **more: Any) -> Message:
    return Message(answer_info("ses_1", tokens=COUNTED, **more), parts)


def test_what_the_provider_counted_goes_before_any_estimate() -> None:
    said = [person("hello " * 5_000), counted(words("hi"))]
    assert used(said, 0, overhead=7_000) == 5_000
    more = tokens_of(person("and now this"))
    assert used([*said, person("and now this")], 0, overhead=7_000) == 5_000 + more


def test_what_tools_answered_comes_on_top_of_what_was_counted() -> None:
    assert used([person(), counted(ran("ls"))], 0, 0) > 5_000


def test_failed_attempts_and_candidates_do_not_fill_the_window() -> None:
    assert used([person(), counted(words("hi"), context=800)], 0, 0) == 800


def test_what_was_counted_before_a_shortening_counts_no_more() -> None:
    tail = [person("the mark"), counted(words("hi"))]
    assert used(tail, 2, overhead=100) < 200
    assert used([*tail, counted(words("again"), context=300)], 2, overhead=100) == 300
