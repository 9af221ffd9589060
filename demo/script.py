"""What the scripted model says in the demo: it looks around, then repairs the sample."""

import msgspec

from scripted_model.demo import demo_scenario
from scripted_model.scenario import Call, Scenario, Text, step


def script() -> Scenario:
    """The scenario that repairs the sample, after a look at what is there."""
    repairing = demo_scenario()
    title, *rest = repairing.steps
    around = step([Text("I look around first."), Call("glob", {"pattern": "**/*.py"})])
    return msgspec.structs.replace(repairing, steps=(title, around, *rest))
