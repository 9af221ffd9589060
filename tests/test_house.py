"""The house rules that a tool can measure: file and function length over src/."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src"
FILES = sorted(SOURCE.rglob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_a_file_has_at_most_400_lines_and_a_function_60(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count("\n") <= 400
    long = [
        f"{node.name} at line {node.lineno}: {node.end_lineno - node.lineno + 1} lines"
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.end_lineno is not None
        and node.end_lineno - node.lineno + 1 > 60
    ]
    assert long == []


def test_no_file_names_itself_for_nothing() -> None:
    vague = {"utils.py", "helpers.py", "common.py", "misc.py", "manager.py"}
    assert [p for p in FILES if p.name in vague] == []


OWNERS = {
    "session": "sessions",
    "message": "sessions",
    "part": "sessions",
    "part_tail": "sessions",
    "undo": "sessions",
    "file_change": "sessions",
    "inbox": "inbox",
    "actor": "actors",
    "turn": "actors",
    "turn_trace": "actors",
    "team": "actors",
    "team_member": "actors",
    "actor_counter": "actors",
    "approval_grant": "actors",
    "peer": "actors",
    "tree": "actors",
    "ask": "permissions",
    "permission_grant": "permissions",
    "task": "tasks",
    "prefix_snapshot": "context",
    "checkpoint": "context",
    "ledger": "context",
    "goal": "goals",
    "goal_verdict": "goals",
    "memory_file": "memory",
    "memory_section": "memory",
    "memory_terms": "memory",
    "heard": "memory",
    "heard_session": "memory",
    "heard_state": "memory",
    "passage": "memory",
    "history_terms": "memory",
    "history_vocabulary": "memory",
}
"""The package that alone speaks of a table."""
SPEAKS_OF = re.compile(r"\b(?:FROM|JOIN|INTO|UPDATE) ([a-z_]+)\b")


def test_the_sql_of_a_table_stands_in_its_own_package() -> None:
    strangers = [
        f"{path.relative_to(SOURCE)}:{node.lineno} speaks of {table}"
        for path in FILES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        for table in SPEAKS_OF.findall(node.value)
        if OWNERS.get(table, path.parent.name) != path.parent.name
    ]
    assert strangers == []


def test_nothing_imports_upward() -> None:
    linter = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run(
        [linter, "--no-cache"], cwd=SOURCE.parent, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
