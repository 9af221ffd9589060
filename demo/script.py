"""What the scripted model says in the demo: it has two explorers look around, hears from them, and
repairs the sample.
"""

from typing import Final

import msgspec

from scripted_model.demo import demo_scenario
from scripted_model.scenario import Call, Scenario, Step, Text, When, step

_REPORTS: Final = {
    "cart.py": "`Cart.total` sums up prices and never multiplies by the count of a line (line 13).",
    "stock.py": "`Stock.take` compares with `>`, so the last piece cannot be taken (line 10).",
}
"""What each explorer finds, by the file that it is sent to."""


def script() -> Scenario:
    """The scenario that repairs the sample, after a look at what is there by two explorers."""
    repairing = demo_scenario()
    title, *rest = repairing.steps
    around = step([Text("I look around first."), Call("glob", {"pattern": "**/*.py"})])
    send = step(
        [
            Text("Two explorers can read the code while I run the tests."),
            *(_spawn(path) for path in _REPORTS),
        ]
    )
    hear = step([Text("I wait for what they find."), _actor({"action": "wait"})])
    explorers = [one for path in _REPORTS for one in _explorer(path)]
    tests, *repairs = rest
    steps = (title, *explorers, around, send, tests, hear, *repairs)
    return msgspec.structs.replace(repairing, steps=steps)


def _actor(operation: dict[str, str]) -> Call:
    return Call("actor", {"operation": operation})


def _spawn(path: str) -> Call:
    return _actor(
        {
            "action": "spawn",
            "subagent_type": "explore",
            "description": f"Read {path}",
            "prompt": _prompt(path),
        }
    )


def _prompt(path: str) -> str:
    return f"Read {path} and say what in it could be wrong, with the line."


def _explorer(path: str) -> tuple[Step, ...]:
    when = When(user=_prompt(path))
    return (
        step([Call("read", {"filePath": path})], when=when),
        step([Text(_REPORTS[path])], when=when),
    )
