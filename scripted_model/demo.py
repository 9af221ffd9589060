"""A small repository with two bugs, and a scenario that finds and fixes them.

`repair` makes such a scenario for any repository; `demo.json` beside this file is the one for
`SAMPLE`, for a server that is a process.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from scripted_model.scenario import (
    ALWAYS,
    Call,
    Reasoning,
    Reply,
    Scenario,
    Step,
    Text,
    When,
    step,
)

SAMPLE: Final[dict[str, str]] = {
    "cart.py": '''"""A shopping cart."""


class Cart:
    def __init__(self):
        self.lines = []

    def add(self, name, price, count=1):
        self.lines.append((name, price, count))

    def total(self, discount=0):
        """Price of everything in cents, after a discount in percent."""
        whole = sum(price for _, price, count in self.lines)
        return whole - whole * discount // 100
''',
    "stock.py": '''"""What is in the store room."""


class Stock:
    def __init__(self, amounts):
        self.amounts = dict(amounts)

    def take(self, name, count):
        """Take goods out. True if there were enough."""
        if self.amounts.get(name, 0) > count:
            self.amounts[name] -= count
            return True
        return False
''',
    "test_shop.py": """import unittest

from cart import Cart
from stock import Stock


class ShopTest(unittest.TestCase):
    def test_a_discount_is_taken_from_the_price(self):
        cart = Cart()
        cart.add("tea", 400)
        self.assertEqual(cart.total(discount=25), 300)

    def test_two_of_a_kind_cost_twice_as_much(self):
        cart = Cart()
        cart.add("tea", 400, count=2)
        self.assertEqual(cart.total(), 800)

    def test_the_last_one_can_be_taken(self):
        stock = Stock({"tea": 1})
        self.assertTrue(stock.take("tea", 1))
        self.assertEqual(stock.amounts["tea"], 0)

    def test_nobody_takes_what_is_not_there(self):
        self.assertFalse(Stock({}).take("tea", 1))


if __name__ == "__main__":
    unittest.main()
""",
    "README.md": "# Shop\n\nA cart and a store room. Run the tests with `python3 -m unittest`.\n",
}
PROMPT: Final = "The tests fail. Find out why and fix it."


class Fix(Struct, frozen=True):
    """One change of one file."""

    path: str
    old: str
    new: str
    thought: str
    """What the model thinks when it has read the file."""
    remark: str
    """What it says before it edits."""


def repair(test: str, fixes: Sequence[Fix], closing: str, *, title: str, pace: float) -> Scenario:
    """A scenario: run the tests, read and edit each file, run them again, sum up.

    `test`: the shell command. `pace`: seconds between deltas, so that a person can watch.
    """
    run = Call("bash", {"command": test, "description": "Run the tests"})
    steps = [
        step(title, when=When(tools=False), times=ALWAYS),
        step([Reasoning("First I want to see which tests fail, and how."), run]),
        step([Text("Let me read the code behind the failures."), *(_read(fix) for fix in fixes)]),
        *(step([Reasoning(fix.thought), Text(fix.remark), _edit(fix)]) for fix in fixes),
        step([Text("Now the tests once more."), run]),
        step(closing),
    ]
    return Scenario(tuple(_paced(each, pace) for each in steps), default=Reply((Text(closing),)))


def _read(fix: Fix) -> Call:
    return Call("read", {"filePath": fix.path})


def _edit(fix: Fix) -> Call:
    arguments = {"filePath": fix.path, "oldString": fix.old, "newString": fix.new}
    return Call("edit", arguments)


def _paced(each: Step, pace: float) -> Step:
    return msgspec.structs.replace(each, reply=msgspec.structs.replace(each.reply, pace=pace))


def demo_scenario(pace: float = 0.01, folder: str = "") -> Scenario:
    """The scenario that repairs `SAMPLE`; `folder` is put in front of every path."""
    fixes = (
        Fix(
            f"{folder}cart.py",
            "sum(price for _, price, count in self.lines)",
            "sum(price * count for _, price, count in self.lines)",
            "The total adds each price once and never looks at the count.",
            "`Cart.total` forgets how many of each there are.",
        ),
        Fix(
            f"{folder}stock.py",
            "if self.amounts.get(name, 0) > count:",
            "if self.amounts.get(name, 0) >= count:",
            "With one left and one wanted, 1 > 1 is false. It must be at least as many.",
            "`Stock.take` refuses to give out the last piece.",
        ),
    )
    closing = (
        "Both bugs are fixed and all four tests pass:\n\n"
        "- `cart.py`: the total now multiplies each price by its count.\n"
        "- `stock.py`: the last piece can be taken (`>=` instead of `>`).\n"
    )
    title = "Fix the shop's two bugs"
    return repair("python3 -m unittest -q", fixes, closing, title=title, pace=pace)


def write_sample(folder: Path) -> None:
    """Write the repository with its two bugs into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in SAMPLE.items():
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    made = msgspec.json.format(msgspec.json.encode(demo_scenario()), indent=2)
    (Path(__file__).parent / "demo.json").write_bytes(made + b"\n")
