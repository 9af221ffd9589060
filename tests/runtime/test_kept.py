from roost.runtime.kept import Kept


def test_what_is_in_use_is_never_given_up_and_of_the_idle_the_last_used_stay() -> None:
    kept: Kept[str, list[str]] = Kept(1)
    first = kept.take("a", lambda: ["a"])
    assert kept.take("a", lambda: ["another"]) is first
    kept.take("b", lambda: ["b"])
    assert kept.give_back("a") == []
    assert kept.give_back("b") == []
    assert kept.give_back("a") == [["b"]]
    assert kept.take("a", list) is first
    assert kept.take("b", list) == []
    assert len(kept) == 2


def test_giving_all_up_gives_up_what_is_in_use_too() -> None:
    kept: Kept[str, int] = Kept(2)
    kept.take("a", lambda: 1)
    kept.take("b", lambda: 2)
    kept.give_back("b")
    assert kept.clear() == [1, 2]
    assert len(kept) == 0
