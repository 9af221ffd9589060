"""When a checkpoint is due, and what counts as one."""

import pytest

from roost.context.capacity import Window
from roost.context.checkpoint_store import Checkpoint
from roost.context.checkpoints import LONGEST, account_of, is_due
from roost.sessions.parts import CompactionPart

WINDOW = Window(200_000, 100_000)
ACCOUNT = "# Intent\nShip it.\n## State\nHalf.\n### 3. Next\nTest."


def begun(tokens: int, message_id: str = "msg_5") -> Checkpoint:
    return Checkpoint(1, "written", message_id, None, "", tokens, "", 0)


def shortened(after: int, message_id: str = "msg_3") -> CompactionPart:
    return CompactionPart("prt", "ses", message_id, True, after=after)


@pytest.mark.parametrize(
    ("used", "tokens", "due"),
    [
        (44_000, None, False),
        (46_000, None, True),
        (60_000, 46_000, False),
        (71_000, 46_000, True),
        (95_000, 71_000, False),
        (95_000, None, True),
    ],
)
def test_one_is_due_at_each_rung_once(used: int, tokens: int | None, due: bool) -> None:
    assert is_due(used, WINDOW, None if tokens is None else begun(tokens), None) == due


def test_rungs_are_counted_from_what_a_shortened_conversation_began_with() -> None:
    mark = shortened(40_000)
    assert not is_due(60_000, WINDOW, None, mark)
    assert is_due(68_000, WINDOW, None, mark)


def test_one_of_before_the_shortening_is_none_of_its_rungs() -> None:
    mark = shortened(40_000, "msg_7")
    assert is_due(68_000, WINDOW, begun(71_000, "msg_5"), mark)
    assert not is_due(69_000, WINDOW, begun(68_000, "msg_8"), mark)


def test_small_windows_have_none() -> None:
    assert not is_due(20_000, Window(24_000, 20_000), None, None)
    assert not is_due(20_000, Window(0, 0), None, None)


@pytest.mark.parametrize(
    "text", ["", "I would rather not.", "# Intent\nShip it.", "# One\n# Two\n# Three\n# Four"]
)
def test_what_has_not_the_headings_is_no_account(text: str) -> None:
    assert account_of(text) is None


def test_an_account_is_kept_as_it_is_and_within_bounds() -> None:
    assert account_of(f"\n{ACCOUNT}\n") == ACCOUNT
    long = account_of(f"{ACCOUNT}\n" + "x" * 2 * LONGEST)
    assert long is not None
    assert len(long) < LONGEST * 1.1
