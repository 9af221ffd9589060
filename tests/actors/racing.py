"""Run by tests in processes of their own: own actors on the database at argv[1]."""

import random
import sys
import time
from pathlib import Path

from stage import Stage

from roost.actors.owner import Owner
from roost.db.connect import patiently
from roost.inbox.models import Address


def race(stage: Stage) -> None:
    """Try to claim every actor that has mail, in an order of its own; tell which were won."""
    owner = Owner(stage.path.parent / "owners")
    waiting = [row.receiver for row in stage.rows()]
    random.shuffle(waiting)
    print("ready", flush=True)
    input()
    for address in waiting:
        if patiently(lambda who=address: claim(stage, owner, who), stage.path):
            print(address.actor_id)
            time.sleep(0.001)
    print("done", flush=True)
    sys.stdin.read()  # who ends is dead, and others may take over what it had


def claim(stage: Stage, owner: Owner, address: Address) -> bool:
    return stage.claim(address, owner=owner.id, is_dead=owner.is_dead) is not None


def hold(stage: Stage) -> None:
    """Own main until somebody kills this process."""
    owner = Owner(stage.path.parent / "owners")
    print(owner.id if claim(stage, owner, stage.main) else "", flush=True)
    time.sleep(60)


if __name__ == "__main__":
    here = Stage(Path(sys.argv[1]))
    if sys.argv[2] == "hold":
        hold(here)
    else:
        race(here)
