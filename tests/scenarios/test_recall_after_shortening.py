"""What was said in a session that was shortened is still known, and the provider never gets a
request that is too long.
"""

import pytest

from benchmarks.recall.facts import KINDS, planted
from benchmarks.recall.measured import measured, stands_in

pytestmark = pytest.mark.scenario


def test_after_two_shortenings_every_exact_value_and_rule_is_read_or_found_by_one_search() -> None:
    (recall,) = measured("rebuild", 1, [2])
    assert recall.lost == ()
    assert {recall.reached[kind] for kind in ("literals", "rules")} == {1.0}
    assert recall.shown["literals"] < 1.0
    assert 0 < recall.max_request_tokens <= recall.window


def test_each_seed_plants_other_facts_of_every_kind_and_no_two_alike() -> None:
    facts = [fact for seed in (1, 2) for cycle in planted(seed, 10) for fact in cycle.facts]
    assert {one.kind for one in facts} == set(KINDS)
    needles = [one.needle for one in facts if one.kind == "literals"]
    assert len(set(needles)) == len(needles) == 160
    assert not any(one.needle in one.query for one in facts)


@pytest.mark.parametrize(
    ("text", "known"),
    [("port 48213.", True), ("端口48213。", True), ("port 482134", False), ("a48213", False)],
)
def test_a_number_counts_as_known_where_it_stands_as_a_whole(text: str, known: bool) -> None:
    assert stands_in("48213", text) == known
