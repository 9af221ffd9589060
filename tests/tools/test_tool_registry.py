import json
import subprocess
import sys
from typing import Any

import pytest

from roost.llm.models import Model
from roost.permissions.layers import DEFAULTS
from roost.permissions.models import Layer, Rule
from roost.tools.registry import builtin_tools, tools_for

ALL = [
    "read",
    "glob",
    "grep",
    "edit",
    "write",
    "apply_patch",
    "bash",
    "webfetch",
    "task",
    "question",
    "memory",
    "history",
    "skill",
]


def _model(name: str, *, small: bool = False) -> Model:
    return Model("p", name, "openai-chat", "http://127.0.0.1:1", small_prompt=small)


def _shown(model: str, *rules: Rule, small: bool = False, interactive: bool = True) -> list[str]:
    layers = (DEFAULTS, Layer("user", "user", rules))
    return list(tools_for(layers, _model(model, small=small), interactive=interactive))


def test_there_are_these_tools_in_this_order() -> None:
    assert list(builtin_tools()) == ALL


def test_a_model_sees_edit_and_write_or_apply_patch() -> None:
    usual = [name for name in ALL if name != "apply_patch"]
    patching = [name for name in ALL if name not in {"edit", "write"}]
    assert _shown("claude-sonnet-5") == usual
    assert _shown("openai/gpt-oss-20b") == usual
    assert _shown("gpt-5.2-codex") == patching
    assert _shown("openai/GPT-5") == patching


def test_a_small_model_sees_six_tools() -> None:
    small = ["read", "glob", "grep", "edit", "write", "bash"]
    assert _shown("SmolLM2-135M", small=True) == small
    assert _shown("tiny-gpt2", small=True) == small


def test_what_is_wholly_denied_is_not_shown() -> None:
    shown = _shown("m", Rule("edit", "*", "deny"), Rule("todowrite", "*", "deny"))
    assert shown[:6] == ["read", "glob", "grep", "bash", "webfetch", "question"]
    assert shown[6:] == ["memory", "history", "skill"]
    assert _shown("gpt-5", Rule("edit", "*", "deny"))[:4] == ["read", "glob", "grep", "bash"]
    partly = _shown("m", Rule("edit", "*", "deny"), Rule("edit", "docs/*", "allow"))
    assert "edit" in partly
    assert _shown("m", Rule("*", "*", "deny")) == []


def test_questions_need_somebody_who_answers() -> None:
    assert "question" not in _shown("m", interactive=False)


def _nodes(node: Any) -> list[Any]:
    children = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    return [node, *(inner for child in children for inner in _nodes(child))]


@pytest.mark.parametrize("name", ALL)
def test_a_tool_describes_itself_and_its_arguments(name: str) -> None:
    tool = builtin_tools()[name]
    assert 100 < len(tool.description) < 2_500
    schema = tool.schema()
    assert schema["type"] == "object"
    assert schema["required"]
    for argument in schema["properties"].values():
        assert argument["description"]
        assert "type" in argument or "anyOf" in argument
    assert not [n for n in _nodes(schema) if isinstance(n, dict) and {"$ref", "title"} & set(n)]
    assert "null" not in json.dumps(schema)


def test_the_registry_starts_nothing_heavy() -> None:
    script = (
        "import sys, roost.tools.registry as r; r.builtin_tools();"
        "heavy = {'tree_sitter', 'httpx2', 'PIL', 'markdownify', 'bs4', 'charset_normalizer.md'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
