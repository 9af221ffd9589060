"""Run by tests in a process of its own, with a failpoint that kills it somewhere on the way."""

import sys
from pathlib import Path

from stage import Stage, note, prompt

from roost.actors.cancel import request_cancel
from roost.actors.owner import Owner


def live(stage: Stage, owner: Owner) -> None:
    """Send, wake, listen, be cancelled, end. Every id that was accepted is printed."""
    to = stage.main
    first = [note(to, "n1"), note(to, "n2"), prompt(to, "p1"), prompt(to, "p2"), note(to, "n3")]
    for letter in first:
        print(stage.send(letter).id, flush=True)
    claim = stage.claim(owner=owner.id, is_dead=owner.is_dead)
    assert claim is not None
    stage.drain(claim)
    print(stage.send(prompt(to, "steering")).id, flush=True)
    stage.do(lambda tx: request_cancel(tx, to, "forced"))
    stage.settle(claim, "cancelled")


def recover(stage: Stage, owner: Owner) -> None:
    stage.recover(owner.is_dead)


if __name__ == "__main__":
    where = Stage(Path(sys.argv[1]))
    me = Owner(where.path.parent / "owners")
    if sys.argv[2] == "live":
        live(where, me)
    else:
        recover(where, me)
