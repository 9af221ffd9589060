import base64
import random
import time
from collections.abc import Callable

import pytest

from roost.turn.looping import LoopDetector

SENTENCE = "I should check the file again to be sure that it is right. \n"


def cut_after(text: str, size: int = 7) -> int | None:
    """Characters after which the detector stops the stream, or None."""
    detector = LoopDetector()
    for start in range(0, len(text), size):
        if detector.feed(text[start : start + size]) is not None:
            return start + size
    return None


@pytest.mark.parametrize("size", [1, 3, 60, 1_000])
@pytest.mark.parametrize("before", ["", "Let me think about this.\n\n" + "Some honest words. " * 3])
def test_a_sentence_over_and_over_is_cut_within_some_twenty_repeats(before: str, size: int) -> None:
    assert len(SENTENCE) == 60
    stopped = cut_after(before + SENTENCE * 2_000, size)
    assert stopped is not None
    assert stopped - len(before) <= 20 * 60 + size


@pytest.mark.parametrize(
    "unit",
    [
        "no ",
        "Wait, ",
        "Actually, let me reconsider. ",
        "等等，让我再想一想。",
        "The answer is 42. Hmm, is it? ",
        "x" * 130 + " ",
        "A whole paragraph of words that goes on for a while, turns a corner, and ends. " * 5,
    ],
)
def test_units_of_any_length_are_found(unit: str) -> None:
    assert cut_after(unit * (20_000 // len(unit) + 1)) is not None


ROUND = (
    "Wait, let me look at the file once more.",
    "Actually the test is fine as it stands now.",
    "Hmm, but the parser may still be wrong here.",
    "So I should look at the parser again now.",
)
CHINESE_ROUND = (
    "等等，让我再看一下这个文件。",
    "其实这个测试是没有问题的。",
    "但是解析器可能还有错误。",
)


@pytest.mark.parametrize("sentences", [ROUND, CHINESE_ROUND])
def test_a_few_sentences_in_any_order_are_a_loop_too(sentences: tuple[str, ...]) -> None:
    pick = random.Random(8)
    stopped = cut_after(" ".join(pick.choice(sentences) for _ in range(2_000)))
    assert stopped is not None
    assert stopped < 90 * max(map(len, sentences))


def test_data_may_repeat_itself_and_is_cut_only_when_it_has_no_end() -> None:
    def ended(text: str) -> bool:
        detector = LoopDetector(data=True)
        return any(detector.feed(text[n : n + 90]) for n in range(0, len(text), 90))

    assert not ended(SENTENCE * 900)
    assert not ended("pass\n" * 9_000)
    assert ended(SENTENCE * 2_000)
    assert ended("\\n" * 60_000)


def test_what_is_repeated_is_told() -> None:
    detector = LoopDetector()
    unit = None
    while unit is None:
        unit = detector.feed("round and round we go ")
    assert sorted(unit) == sorted("round and round we go ")


def test_even_data_is_not_endless() -> None:
    assert cut_after("0, " * 60_000, 90) is not None
    assert cut_after("\n" * 200_000, 500) is not None
    assert cut_after("```\n" + "pass\n" * 60_000, 100) is not None


def csv() -> str:
    return "id,name,amount\n" + "".join(f"{n},row {n % 7},{n * 3 % 100}.00\n" for n in range(3_000))


def zeros() -> str:
    return "".join("0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0\n" for _ in range(200))


def code() -> str:
    return "```python\n" + "".join(f"    self.field_{n} = None\n" for n in range(200)) + "```\n"


def plain_code() -> str:
    return "".join(f"    assert result[{n}] == expected[{n}]\n" for n in range(200))


def same_lines() -> str:
    return "Here:\n```c\n" + "    0x00000000, 0x00000000, 0x00000000, 0x00000000,\n" * 150 + "```\n"


def quoted_fence() -> str:
    """Fences inside of lines and split over deltas do not confuse where code begins and ends."""
    lines = "    await wait for the next message here\n" * 100
    return "Use ``` to open a block, then:\n```py\n" + lines + "```\nand that is all of it.\n"


def table() -> str:
    head = "| Name | Value | Comment |\n|------|-------|---------|\n"
    return head + "".join(f"| item {n} | {n % 3} | – |\n" for n in range(300))


def empty_table() -> str:
    return "| a | b | c |\n|---|---|---|\n" + "|   |   |   |\n" * 100


def encoded() -> str:
    return base64.b64encode(random.Random(1).randbytes(30_000)).decode()


def log() -> str:
    return "".join(
        f"2026-01-01T10:{n // 60 % 60:02}:{n % 60:02}.{n % 1000:03}Z INFO worker ready\n"
        for n in range(2_000)
    )


def numbers() -> str:
    return " ".join(str(n) for n in range(5_000)) + "\n" + "\n".join(str(n) for n in range(5_000))


def chinese() -> str:
    clauses = ["山中有一座小屋", "河水静静地流过", "风吹动了树叶", "孩子们在唱歌", "天色渐渐暗了"]
    pick = random.Random(2)
    return "".join(pick.choice(clauses) + pick.choice("，。；") for _ in range(1_500))


def rulers() -> str:
    return "\n\n".join(
        [mark * 200 + f"\nSection {mark} {number}\n" for number in range(5) for mark in "-=*#_~.─═"]
    )


def art() -> str:
    return "\n".join("  +" + "-" * 76 + "+\n" + ("  |" + " " * 76 + "|\n") * 40 for _ in range(3))


def json_zeros() -> str:
    return '{"matrix": [' + ", ".join(["0"] * 4_000) + ']}\n{"v": [' + "0.0," * 2_000 + "0.0]}"


def json_objects() -> str:
    return "[" + ",\n".join('{"x": 0, "y": 0, "z": 0}' for _ in range(80)) + "]"


def poem() -> str:
    refrain = (
        "And the wind, the wind, goes over the hill,\nAnd the wind, the wind, is never still.\n\n"
    )
    pick = random.Random(3)
    lines = ["The miller sleeps", "A crow looks down", "The road is long", "No lamp is lit"]
    verse = [", ".join(pick.sample(lines, 3)) + f", night {n}.\n" for n in range(60)]
    return "".join(one + refrain for one in verse)


def laughter() -> str:
    return "Ha" + "ha" * 90 + "! " + "No" + "o" * 200 + "! " + "Tick, tock. " * 12


def steps() -> str:
    return "".join(f"Step {n}: I run the tests and look at the result.\n" for n in range(500))


def padded() -> str:
    """A program in base64, with a padding of zeros in it."""
    data = random.Random(5).randbytes(3_000) + bytes(4_000) + random.Random(6).randbytes(3_000)
    return base64.b64encode(data).decode() + "\n\n" + base64.encodebytes(data).decode()


def sparse_json() -> str:
    return "[" + ", ".join("null" if n % 9 else f'{{"id": {n}}}' for n in range(3_000)) + "]"


def minified() -> str:
    names = "abcdefghijklmnopqrstuvwxyz"
    return "".join(
        f"function {a}{b}(){{return void 0===this.{a}?null:this.{a}}}" for a in names for b in names
    )


def change() -> str:
    line = "-    self.assertEqual(result, expected)\n+    assert result == expected\n"
    return "".join(f"@@ -{n},3 +{n},3 @@\n     check({n})\n{line}" for n in range(300))


def checklist() -> str:
    line = "was checked and nothing had to change"
    return "".join(f"- [x] `module_{n}.py` {line}.\n" for n in range(400))


def plan_each_time() -> str:
    """A model that states the same plan before each part of its work."""
    plan = "First I read the file. Then I change it. At the end I run the tests.\n\n"
    pick = random.Random(7)
    verbs = ["moves", "renames", "drops", "adds", "guards", "caches", "splits", "merges"]
    part = [f"Part {n} {pick.choice(verbs)} the thing called {pick.random()}.\n" for n in range(40)]
    return "".join(plan + one for one in part)


HONEST = [
    padded, sparse_json, minified, change, checklist, plan_each_time,
    csv, zeros, code, plain_code, same_lines, quoted_fence, table, empty_table, encoded, log,
    numbers, chinese, rulers, art, json_zeros, json_objects, poem, laughter, steps,
]  # fmt: skip


@pytest.mark.parametrize("make", HONEST, ids=lambda make: make.__name__)
def test_honest_repetition_raises_no_alarm(make: Callable[[], str]) -> None:
    text = make()
    for size in (4, 37, 700):
        assert cut_after(text, size) is None


def test_all_honest_texts_in_one_stream_raise_no_alarm() -> None:
    assert cut_after("\n\n".join(make() for make in HONEST), 11) is None


def cost(text: str) -> float:
    detector = LoopDetector()
    began = time.process_time()
    for start in range(0, len(text), 8):
        detector.feed(text[start : start + 8])
    return time.process_time() - began


@pytest.mark.parametrize("kind", ["words", "rows"])
def test_the_cost_of_a_character_does_not_grow_with_the_stream(kind: str) -> None:
    pick = random.Random(4)
    if kind == "words":
        text = "".join(pick.choice("abcdefgh ") for _ in range(400_000))
    else:
        text = "".join(f"{n % 10},0,0,0\n" for n in range(45_000))[:400_000]
    cost(text[:100_000])
    small = min(cost(text[:50_000]) for _ in range(3))
    large = cost(text)
    assert large < 8 * small * 3
    assert large < 3
