import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.memory.tokens import LONGEST, folded, query_tokens, spans, tokens


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("数据库迁移脚本在端口8080上运行", "数据库"),
        ("数据库迁移脚本在端口8080上运行", "迁移脚本"),
        ("数据库迁移脚本在端口8080上运行", "8080"),
        ("数据库迁移脚本在端口8080上运行", "端口"),
        ("ポートがデータベースを開く", "データベース"),
        ("repository.getUserById(id)", "UserById"),
        ("repository.getUserById(id)", "getUserById"),
        ("call snapshot_revert_plan now", "revert plan"),
        ("see src/roost/db/schema.py:12", "schema.py"),
        ("HTTPServer2 failed with ERR-4711", "http server"),
        ("HTTPServer2 failed with ERR-4711", "ERR-4711"),
        ("a sha256 of it", "SHA256"),
        ("the café in Ångström", "CAFE angstrom"),
        ("two database migrations", "migration"),
        ("several policies", "policy"),
        ("ＡＢＣ full width", "abc"),
    ],
)
def test_what_is_asked_for_in_any_script_is_among_the_tokens(text: str, asked: str) -> None:
    assert set(query_tokens(asked)) & set(tokens(text))
    assert query_tokens(asked)


@pytest.mark.parametrize(("text", "asked"), [("数据库", "据数"), ("class", "clas"), ("one", "on")])
def test_what_only_looks_alike_is_not(text: str, asked: str) -> None:
    assert not set(query_tokens(asked)) & set(tokens(text))


def test_a_run_of_chinese_is_asked_for_by_its_pairs_and_one_character_by_itself() -> None:
    assert query_tokens("数据库") == ["数据", "据库"]
    assert query_tokens("库") == ["库"]
    assert set(query_tokens("库")) <= set(tokens("数据库"))


def test_an_identifier_is_kept_whole_beside_its_pieces() -> None:
    assert tokens("UserService.getById_v2") == [
        "userservice.getbyid_v2",
        "getbyid_v2",
        "userservice",
        "getbyid",
        "v2",
        "user",
        "service",
        "get",
        "by",
        "id",
    ]


def test_each_token_comes_once_and_a_long_run_only_in_pieces() -> None:
    assert tokens("one two One, one") == ["one", "two"]
    assert tokens("/".join(["a" * 20] * 8)) == ["a" * 20]
    assert tokens("") == query_tokens(" ,;") == []


@given(st.text(max_size=200))
def test_tokens_hold_no_space_and_mark_what_they_came_from(text: str) -> None:
    found = tokens(text)
    assert all(one and not any(c.isspace() for c in one) for one in found)
    assert all(len(one) <= 3 * LONGEST for one in found)
    assert not any(one.startswith("@") for one in found)
    assert len(found) == len(set(found))
    for start, end, some in spans(text):
        assert 0 <= start < end <= len(text)
        assert all(some)


@given(st.text(max_size=100))
def test_what_is_looked_for_is_found_in_itself(text: str) -> None:
    assert set(query_tokens(text)) <= set(tokens(text))


def test_text_is_compared_without_case_accents_and_runs_of_space() -> None:
    assert folded("  Café\n DÉJÀ\tvu ") == "cafe deja vu"
