import pytest
from skill_pages import given

from roost.skills.known import skills_of
from roost.skills.loading import content_of, loaded_by, named_in
from roost.skills.models import Skills
from roost.skills.search import CERTAIN, search

PAGES = {
    "bread": "Bakes bread and rolls in an oven.",
    "soup": "Cooks soup of vegetables. 煮蔬菜汤。",
    "set-the-table": "Puts plates and glasses where guests sit.",
}


def skills(*more: str) -> Skills:
    pages = [
        given(f"---\nname: {name}\ndescription: {about}\n---\nDo {name}.", f"/x/{name}/SKILL.md")
        for name, about in PAGES.items()
    ]
    pages += [given(one, "/x/extra/SKILL.md") for one in more]
    return skills_of(pages)


def found(words: str, *more: str) -> list[tuple[str, float]]:
    return [(hit.skill.name, hit.score) for hit in search(skills(*more), words)]


@pytest.mark.parametrize(
    "words", ["please set the table", "use set-the-table", "SET_THE_TABLE now"]
)
def test_a_name_that_is_said_is_certain(words: str) -> None:
    assert found(words)[0] == ("set-the-table", 1.0)


def test_a_name_within_a_word_is_not_said() -> None:
    assert ("soup", 1.0) not in found("soupy weather")


def test_a_chinese_alias_is_found_within_a_sentence() -> None:
    extra = "---\nname: extra\ndescription: d\naliases: 洗碗\n---\nb"
    assert found("请帮我洗碗吧", extra)[0] == ("extra", 1.0)


def test_words_that_all_fit_are_certain_but_less_than_a_name() -> None:
    (best, *_) = found("bakes rolls in the oven")
    assert best == ("bread", 0.9)
    assert best[1] >= CERTAIN
    assert found("蔬菜汤")[0][0] == "soup"


def test_words_of_which_few_fit_are_uncertain_and_those_of_none_find_nothing() -> None:
    (best, *_) = found("vegetables rockets submarines")
    assert best[0] == "soup"
    assert best[1] < CERTAIN
    assert found("rockets submarines") == []
    assert found("how do I use it") == []
    assert found("") == []


def test_at_most_three_are_told_and_none_that_a_person_alone_loads() -> None:
    assert len(found("test change commit bread soup guests")) == 3
    hidden = "---\nname: extra\ndescription: rockets\ndisable-model-invocation: true\n---\nb"
    assert found("rockets", hidden) == []


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("/bread please", ["bread"]),
        ("first /soup, then (/bread) and /soup.", ["soup", "bread"]),
        ("look at `/bread` and\n```\n/soup\n```", []),
        ("see src/bread and /bread/x and http://a/bread", []),
        ("/nothing", []),
        ("用/bread，再/soup。", ["bread", "soup"]),
    ],
)
def test_what_a_prompt_names_with_a_slash(text: str, names: list[str]) -> None:
    assert [one.name for one in named_in(text, skills())] == names


def test_three_are_loaded_at_once_in_an_order_that_is_to_be_said() -> None:
    named = named_in("/bread /soup /set-the-table /write-a-commit", skills())
    texts = loaded_by(named)
    assert [text.split('"')[1] for text in texts[:3]] == ["bread", "soup", "set-the-table"]
    assert "in which order" in texts[3]
    assert texts[4].endswith("write-a-commit.")
    assert len(loaded_by(named[:1])) == 1


def test_what_a_model_is_given_says_where_files_are() -> None:
    content = content_of(skills().known["bread"])
    assert content.startswith('<skill_content name="bread">\n')
    assert "Do bread." in content
    assert "/x/bread" in content
    assert content.endswith("</skill_content>")
