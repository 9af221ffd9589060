import asyncio
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from roost.core.errors import NotFoundError, UsageError
from roost.workspace.globs import matcher
from roost.workspace.search import FoundFiles, FoundLines, Search

RIPGREP = shutil.which("rg") or shutil.which("rg", path=str(Path(sys.executable).parent))
ENGINES = [
    pytest.param(
        RIPGREP,
        id="ripgrep",
        marks=pytest.mark.skipif(RIPGREP is None, reason="ripgrep is not installed"),
    ),
    pytest.param(None, id="python"),
]
engines = pytest.mark.parametrize("engine", ENGINES)


def tree(root: Path, files: dict[str, str | bytes]) -> Path:
    """Files, each older than the one before."""
    for age, (name, content) in enumerate(files.items()):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        stamp = 1_700_000_000 - age
        os.utime(path, (stamp, stamp))
    return root


def glob(engine: str | None, root: Path, pattern: str, limit: int = 100) -> FoundFiles:
    return asyncio.run(Search(engine).glob(root, pattern, limit=limit))


def names(engine: str | None, root: Path, pattern: str = "**") -> list[str]:
    return [str(path.relative_to(root)) for path in glob(engine, root, pattern).paths]


def grep(
    engine: str | None,
    root: Path,
    pattern: str,
    *,
    include: str | None = None,
    limit: int = 100,
    timeout: float = 20,
) -> FoundLines:
    search = Search(engine)
    return asyncio.run(search.grep(root, pattern, include=include, limit=limit, timeout=timeout))


def hits(found: FoundLines) -> list[tuple[str, int, str]]:
    return [(line.path.name, line.line, line.text) for line in found.lines]


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("*.py", ["a.py", "x/y/a.py"], ["a.pyc", "x.py/a"]),
        ("src/*.py", ["src/a.py"], ["src/x/a.py", "a.py", "x/src/a.py"]),
        ("./src/*.py", ["src/a.py"], ["x/src/a.py"]),
        ("/a.py", ["a.py"], ["a.pyx"]),
        ("**/*.py", ["a.py", "x/y/a.py"], ["a.js"]),
        ("src/**", ["src/a", "src/x/y"], ["a", "xsrc/a"]),
        ("src/**/t.py", ["src/t.py", "src/x/y/t.py"], ["t.py", "src/xt.py"]),
        ("src/", ["src/a", "src/x/y"], ["src"]),
        ("*.{ts,tsx}", ["a.ts", "x/a.tsx"], ["a.js", "a.{ts,tsx"]),
        ("{a,b/{c,d}}.py", ["a.py", "b/c.py", "b/d.py"], ["c.py"]),
        ("a?c", ["abc"], ["a/c", "ac"]),
        ("[ab].py", ["a.py"], ["c.py"]),
        ("[!ab].py", ["c.py"], ["a.py"]),
        ("app/[id]/page.tsx", ["app/[id]/page.tsx", "app/i/page.tsx"], ["app/x/page.tsx"]),
        (r"\*.py", ["*.py"], ["a.py"]),
        ("**", ["a", ".b/c"], []),
        (".*", [".env", "x/.env"], ["env"]),
    ],
)
def test_a_file_pattern_takes_what_people_expect(
    pattern: str, yes: list[str], no: list[str]
) -> None:
    accept = matcher(pattern)
    assert [path for path in yes if not accept(path)] == []
    assert [path for path in no if accept(path)] == []


def test_a_useless_file_pattern_is_refused() -> None:
    with pytest.raises(UsageError):
        matcher(" ")
    with pytest.raises(UsageError, match="too many"):
        matcher("{a,b}" * 9)


@engines
def test_files_come_newest_first_and_up_to_the_limit(engine: str | None, tmp_path: Path) -> None:
    root = tree(tmp_path, {"b.py": "", "x/c.py": "", "a.py": "", "d.js": ""})
    assert names(engine, root, "*.py") == ["b.py", "x/c.py", "a.py"]
    found = glob(engine, root, "*.py", limit=2)
    assert [path.name for path in found.paths] == ["b.py", "c.py"]
    assert found.more
    assert found.complete
    assert names(engine, root, f"{root}/x/*") == ["x/c.py"]


IGNORED: dict[str, str | bytes] = {
    ".gitignore": "node_modules/\n*.log\n!keep.log\n/top\n\\#odd\nsub/deep/*\n!sub/deep/kept\n",
    "node_modules/a.js": "needle",
    "x/node_modules/b.js": "needle",
    "a.log": "needle",
    "x/keep.log": "needle",
    "top": "needle",
    "x/top": "needle",
    "#odd": "needle",
    "sub/deep/gone": "needle",
    "sub/deep/kept": "needle",
    "sub/.gitignore": "*.tmp\n!a.log\n",
    "sub/x.tmp": "needle",
    "sub/a.log": "needle",
    "x.tmp": "needle",
    ".hidden/f": "needle",
    ".ignore": "x.tmp\n!b.log\n",
    "b.log": "needle",
    ".rgignore": "/quiet\n",
    "quiet": "needle",
    "bin.dat": b"needle\x00\x01",
    "link-target": "plain",
}
SEEN = {
    "x/keep.log",
    "x/top",
    "sub/deep/kept",
    "sub/a.log",
    ".hidden/f",
    "b.log",
}
RULES = {".gitignore", "sub/.gitignore", ".ignore", ".rgignore", "link-target", "bin.dat"}


@engines
@pytest.mark.parametrize("repository", [True, False])
def test_ignored_files_are_neither_listed_nor_searched(
    engine: str | None, tmp_path: Path, repository: bool
) -> None:
    root = tree(tmp_path / "p", IGNORED)
    (root / "link").symlink_to("link-target")
    os.mkfifo(root / "pipe")
    if repository:
        subprocess.run(["git", "init", "-q", root], check=True)
        (root / ".git/info/exclude").write_text("/b.log\n")
    # What git itself excludes counts in a repository only; `.ignore` still outranks it.
    assert set(names(engine, root)) == SEEN | RULES
    found = grep(engine, root, "needle")
    assert {str(line.path.relative_to(root)) for line in found.lines} == SEEN


@engines
def test_exclusions_of_a_repository_count_also_in_its_worktrees(
    engine: str | None, tmp_path: Path
) -> None:
    main, tree_path = tmp_path / "main", tmp_path / "tree"
    git = ["git", "-C", main, "-c", "user.name=n", "-c", "user.email=e"]
    subprocess.run(["git", "init", "-q", main], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "one"], check=True)
    subprocess.run([*git, "worktree", "add", "-q", tree_path], check=True, capture_output=True)
    (main / ".git/info/exclude").write_text("secret\n")
    tree(tree_path, {"secret": "", "seen": ""})
    assert names(engine, tree_path) == ["seen"]


@engines
def test_rules_of_the_folders_above_count_up_to_the_border_of_the_repository(
    engine: str | None, tmp_path: Path
) -> None:
    root = tree(tmp_path, {".gitignore": "*\n", "repo/.gitignore": "*.log\n", "plain/d": "x"})
    tree(tmp_path, {"repo/sub/a.log": "x", "repo/sub/b.txt": "x", "repo/inner/c.log": "x"})
    subprocess.run(["git", "init", "-q", root / "repo"], check=True)
    subprocess.run(["git", "init", "-q", root / "repo/inner"], check=True)
    assert names(engine, root / "repo/sub") == ["b.txt"]
    assert "inner/c.log" in names(engine, root / "repo")
    assert names(engine, root / "plain") == ["d"]


@engines
def test_an_ignored_folder_that_is_named_is_searched(engine: str | None, tmp_path: Path) -> None:
    root = tree(tmp_path, {".gitignore": "node_modules/\n*.map\n", "node_modules/p/a.js": "x"})
    tree(root, {"node_modules/p/a.map": "x"})
    subprocess.run(["git", "init", "-q", root], check=True)
    assert names(engine, root / "node_modules") == ["p/a.js"]


@engines
def test_lines_come_grouped_newest_file_first(engine: str | None, tmp_path: Path) -> None:
    root = tree(tmp_path, {"new.txt": "a needle\r\nno\nneedle 2\n", "x/old.txt": "needle\n"})
    found = grep(engine, root, "needle")
    assert hits(found) == [
        ("new.txt", 1, "a needle"),
        ("new.txt", 3, "needle 2"),
        ("old.txt", 1, "needle"),
    ]
    assert not found.more
    limited = grep(engine, root, "needle", limit=2)
    assert len(limited.lines) == 2
    assert limited.more
    assert limited.complete


@engines
def test_a_search_can_be_narrowed_to_a_pattern_a_folder_or_a_file(
    engine: str | None, tmp_path: Path
) -> None:
    root = tree(tmp_path, {"a.py": "x\n", "b.js": "x\n", "d/c.py": "x\n", ".gitignore": "e.py\n"})
    tree(root, {"e.py": "x\n"})
    assert {h[0] for h in hits(grep(engine, root, "x", include="*.py"))} == {"a.py", "c.py"}
    assert {h[0] for h in hits(grep(engine, root, "x", include="d/*.py"))} == {"c.py"}
    assert {h[0] for h in hits(grep(engine, root / "d", "x"))} == {"c.py"}
    assert hits(grep(engine, root / "b.js", "x")) == [("b.js", 1, "x")]
    assert hits(grep(engine, root / "e.py", "x")) == [("e.py", 1, "x")]


@engines
@pytest.mark.parametrize(
    ("pattern", "lines"),
    [
        (r"^def \w+\(", [1]),
        (r"end$", [2]),
        (r"(?i)UPPER", [3]),
        (r"foo(?=bar)", [4]),
        (r"(\w)\1\1", [5]),
        (r"[[:digit:]]{3}", [6]),
        (r"interface{}", [7]),
        (r"ü\b", [8]),
        ("-e dash", [9]),
    ],
)
def test_regular_expressions_mean_the_same(
    engine: str | None, tmp_path: Path, pattern: str, lines: list[int]
) -> None:
    text = "def f(x)\r\nthe end\r\nupper\nfoobar\nxaaay\n123\nfunc(interface{})\ngrü\nan -e dash\n"
    root = tree(tmp_path, {"f": text})
    assert [hit[1] for hit in hits(grep(engine, root, pattern))] == lines


@engines
@pytest.mark.parametrize("pattern", ["(", "[a", "*x", "a\nb", ""])
def test_a_wrong_pattern_is_a_clear_error(engine: str | None, tmp_path: Path, pattern: str) -> None:
    tree(tmp_path, {"f": "x", "g": "y"})
    for root in (tmp_path, tmp_path / "f"):
        with pytest.raises(UsageError):
            grep(engine, root, pattern)


@engines
def test_a_missing_place_is_a_clear_error(engine: str | None, tmp_path: Path) -> None:
    with pytest.raises(NotFoundError):
        grep(engine, tmp_path / "none", "x")
    with pytest.raises(NotFoundError):
        glob(engine, tmp_path / "none", "*")


@engines
def test_a_long_line_is_cut_around_its_match(engine: str | None, tmp_path: Path) -> None:
    tree(tmp_path, {"a": "x" * 5000 + "needle" + "y" * 5000 + "\n", "b": "needle" + "z" * 9000})
    found = grep(engine, tmp_path, "needle")
    assert all(len(line.text) <= 2000 and "needle" in line.text for line in found.lines)
    assert len(found.lines) == 2


@engines
def test_text_in_utf_16_and_odd_names_are_found(engine: str | None, tmp_path: Path) -> None:
    tree(tmp_path, {"a b\nc": "needle\n", "u16": "\ufeffnädle\r\n".encode("utf-16-le")})
    (Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff"))).write_text("needle")
    assert len(grep(engine, tmp_path, "needle").lines) == 2
    assert hits(grep(engine, tmp_path, "nädle")) == [("u16", 1, "nädle")]
    assert len(names(engine, tmp_path)) == 3


@engines
def test_a_big_file_is_searched_by_lines_too(engine: str | None, tmp_path: Path) -> None:
    line = "x" * 99 + "\r\n"
    tree(tmp_path, {"big": "\ufeff^start\r\n" + line * 90_000 + "the needle" + "y" * 2_000_000})
    assert [hit[1] for hit in hits(grep(engine, tmp_path, "needle"))] == [90_002]
    assert [hit[1] for hit in hits(grep(engine, tmp_path, r"^\^start$"))] == [1]


def test_a_hopeless_pattern_is_stopped_and_freezes_nothing(tmp_path: Path) -> None:
    tree(tmp_path, {"a": "a" * 60 + "!\n"})

    async def scenario() -> None:
        ticks = 0
        task = asyncio.ensure_future(Search(None).grep(tmp_path, "(a+)+$", timeout=0.6))
        while not task.done():
            await asyncio.sleep(0.02)
            ticks += 1
        assert ticks > 5
        assert not (await task).complete

    start = time.monotonic()
    asyncio.run(scenario())
    assert time.monotonic() - start < 30


def test_a_cancelled_search_stops_its_process(tmp_path: Path) -> None:
    tree(tmp_path, {"a": "a" * 60 + "!\n"})

    async def scenario() -> None:
        task = asyncio.ensure_future(Search(None).grep(tmp_path, "(a+)+$"))
        await asyncio.sleep(0.4)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(scenario())
    children = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()
    assert [c for c in children if b"grep_worker" in Path(f"/proc/{c}/cmdline").read_bytes()] == []


def test_a_search_whose_roost_is_killed_ends_by_itself(tmp_path: Path) -> None:
    tree(tmp_path, {"hopeless": "a" * 60 + "!\n"})
    script = (
        "import asyncio, sys; from pathlib import Path; from roost.workspace.search import Search;"
        "asyncio.run(Search(None).grep(Path(sys.argv[1]), '(a+)+$', timeout=1.5))"
    )
    roost = subprocess.Popen([sys.executable, "-c", script, str(tmp_path)])
    children = Path(f"/proc/{roost.pid}/task/{roost.pid}/children")
    deadline = time.monotonic() + 20
    while not (found := children.read_text().split()) and time.monotonic() < deadline:
        time.sleep(0.02)
    roost.kill()
    roost.wait()
    worker = Path(f"/proc/{found[0]}/cmdline")
    while worker.exists() and b"grep_worker" in worker.read_bytes():
        assert time.monotonic() < deadline
        time.sleep(0.1)


@engines
def test_a_walk_ends_when_its_time_is_up(engine: str | None, tmp_path: Path) -> None:
    tree(tmp_path, {f"d{i}/f": "" for i in range(300)})
    found = asyncio.run(Search(engine).glob(tmp_path, "*", timeout=0.0))
    assert not found.complete
