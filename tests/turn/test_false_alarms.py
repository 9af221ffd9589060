"""Real texts, as a model might say them: no loop is seen in them, and no call."""

import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest

from roost.tools.registry import builtin_tools
from roost.turn.looping import LoopDetector
from roost.turn.text_calls import find

HERE = Path(__file__).parents[2]
LIBRARY = Path(sysconfig.get_paths()["stdlib"])
PACKAGES = Path(sysconfig.get_paths()["purelib"])
KINDS = {
    "code": (LIBRARY, "*.py", 70),
    "nested code": (LIBRARY, "*/*.py", 70),
    "licences": (PACKAGES, "*.dist-info/**/LICEN*", 40),
    "pages": (PACKAGES, "*.dist-info/METADATA", 60),
    "lists": (PACKAGES, "*.dist-info/RECORD", 60),
    "scripts": (PACKAGES, "**/static/**/*.js", 12),
    "stubs": (PACKAGES, "**/*.pyi", 40),
    "own pages": (HERE, "*.md", 20),
    "own documents": (HERE / "docs", "**/*.md", 40),
    "own tests": (HERE / "tests", "**/test_*.py", 60),
    "own prompts": (HERE / "src", "**/*.md", 60),
}
"""Where texts come from: folder, pattern, and how many of them."""
LARGEST = 150_000
"""Characters of one text."""
TOOLS = {name: frozenset(tool.schema()["properties"]) for name, tool in builtin_tools().items()}


def texts(kind: str) -> Iterator[tuple[Path, str]]:
    folder, pattern, most = KINDS[kind]
    for path in sorted(path for path in folder.glob(pattern) if path.is_file())[:most]:
        text = path.read_text(encoding="utf-8", errors="replace")
        yield path, text[:LARGEST]


def loops(text: str) -> bool:
    detector = LoopDetector()
    return any(detector.feed(text[at : at + 100]) is not None for at in range(0, len(text), 100))


@pytest.mark.parametrize("kind", KINDS)
def test_no_real_text_is_taken_for_a_loop(kind: str) -> None:
    seen = list(texts(kind))
    assert seen or kind == "scripts"
    assert [path for path, text in seen if loops(text)] == []
    assert [path for path, text in seen if loops(f"Here it is:\n```\n{text}\n```\n")] == []


@pytest.mark.parametrize("kind", KINDS)
def test_no_real_text_is_taken_for_a_call(kind: str) -> None:
    assert [path for path, text in texts(kind) if find(text, TOOLS)] == []


def test_no_sample_of_calls_is_taken_for_one_when_it_is_quoted() -> None:
    for path in sorted((Path(__file__).with_name("written_calls")).glob("*.txt")):
        shown = path.read_text(encoding="utf-8").replace("```", "~~~")
        told = f"These are the samples:\n\n```text\n{shown}\n```\n\nAll of them."
        assert find(told, TOOLS) == ""
