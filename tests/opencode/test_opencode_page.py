"""What the page about OpenCode's clients says is so."""

import re
from pathlib import Path

from opencode_packages import VERSIONS

from roost.server.app import ENDPOINTS
from roost.server.endpoint import VIEW_HEADER
from roost.server.routes import absent

PAGE = (Path(__file__).parents[2] / "docs" / "opencode.md").read_text(encoding="utf-8")
REFUSED = [one.path for one in absent.ROUTES if one.name.startswith("no_")]


def section(head: str) -> str:
    return PAGE.partition(f"\n## {head}\n")[2].partition("\n## ")[0]


def routes_in(text: str) -> list[str]:
    return re.findall(r"`(/[^`*]+)`", text)


def test_what_is_not_served_is_told_and_nothing_else() -> None:
    table = "\n".join(line for line in section("What is not served").splitlines() if "|" in line)
    told = routes_in(table)
    assert [one for one in told if not any(path.startswith(one) for path in REFUSED)] == []
    assert [path for path in REFUSED if not any(path.startswith(one) for one in told)] == []


def test_what_the_second_api_is_said_to_have_is_there() -> None:
    words = re.findall(r"asks for:([^.]+)\.", section("What is not served"))
    named = re.findall(r"\w+", " ".join(words))
    served = {one.path for one in ENDPOINTS if one.path.startswith("/api/")}
    places = {"files": "fs/find", "location": "location"}
    for name in named:
        assert f"/api/{places.get(name, name.removesuffix('s'))}" in served, name


def test_versions_and_names_of_the_page_are_those_of_the_code() -> None:
    assert all(version in PAGE for version in VERSIONS)
    assert f"`{VIEW_HEADER}: actors`" in PAGE
