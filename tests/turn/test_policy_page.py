"""The table of the policies in the documents says what the code does."""

from pathlib import Path

from roost.turn.classes import TABLE
from roost.turn.policy_page import page
from roost.turn.verdict import NUDGES, POLICIES, REFILLED_BY_A_PERSON

PAGE = Path(__file__).parents[2] / "docs" / "policies.md"


def test_the_page_is_made_of_the_code_as_it_is() -> None:
    stored = PAGE.read_text(encoding="utf-8")
    assert stored == page(), "stale: .venv/bin/python -m roost.turn.policy_page > docs/policies.md"


def test_every_policy_says_what_it_looks_at_what_it_answers_and_what_comes_then() -> None:
    names = [one.name for one in POLICIES]
    assert len(set(names)) == len(names)
    for one in POLICIES:
        assert one.looks_at
        assert one.answers
        assert bool(one.allowances) <= bool(one.spent), one.name


def test_no_two_policies_spend_the_same_budget() -> None:
    budgets = [each.name for one in POLICIES for each in one.allowances]
    assert len(set(budgets)) == len(budgets)
    assert set(budgets) >= REFILLED_BY_A_PERSON | NUDGES


def test_every_policy_and_every_class_has_its_row() -> None:
    shown = page()
    for number, one in enumerate(POLICIES, 1):
        assert f"| {number} | {one.name} |" in shown
    assert all(f"| `{row.kind}` | {row.what}" in shown for row in TABLE)
