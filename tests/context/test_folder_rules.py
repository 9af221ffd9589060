"""Which instruction files hold for a file below a project."""

from pathlib import Path

from roost.context.instructions import FolderRules, read_instruction


def page(folder: Path, text: str = "rules", name: str = "AGENTS.md") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / name
    file.write_text(text)
    return file


def test_all_folders_between_the_root_and_the_file_count_but_not_the_root(tmp_path: Path) -> None:
    root = tmp_path.resolve()
    page(root)
    outer, inner = page(root / "a"), page(root / "a/b/c", name="CLAUDE.md")
    page(root / "a/other")
    rules = FolderRules(root)
    assert rules.above(root / "a/b/c/x.py") == [outer, inner]
    assert rules.above(root / "x.py") == []
    assert rules.above(root.parent / "x.py") == []


def test_one_that_requests_begin_with_and_the_one_that_is_read_are_left_out(tmp_path: Path) -> None:
    root = tmp_path.resolve()
    outer, inner = page(root / "a"), page(root / "a/b")
    rules = FolderRules(root, frozenset({outer}))
    assert rules.above(root / "a/b/x.py") == [inner]
    assert rules.above(inner) == []


def test_what_git_passes_over_says_nothing_of_the_project(tmp_path: Path) -> None:
    root = tmp_path.resolve()
    (root / ".git").mkdir()
    (root / ".gitignore").write_text("node_modules/\n")
    page(root / "web/node_modules/lib")
    (root / "web/.gitignore").write_text("out/\n")
    page(root / "web/out")
    own = page(root / "web")
    rules = FolderRules(root)
    assert rules.above(root / "web/node_modules/lib/x.js") == [own]
    assert rules.above(root / "web/out/x.js") == [own]


def test_a_link_to_elsewhere_counts_only_in_a_trusted_repository(tmp_path: Path) -> None:
    root = (tmp_path / "project").resolve()
    secret = page(tmp_path / "home", "key", "id_rsa").resolve()
    (root / "a").mkdir(parents=True)
    (root / "a/AGENTS.md").symlink_to(secret)
    assert FolderRules(root).above(root / "a/x.py") == []
    assert FolderRules(root, trusted=True).above(root / "a/x.py") == [secret]


def test_a_long_file_is_cut_with_a_note(tmp_path: Path) -> None:
    found = read_instruction(page(tmp_path, "x" * 100), 40)
    assert found is not None
    assert found.text == "x" * 40 + "\n[cut after 40 bytes]"
    assert read_instruction(page(tmp_path, " \n"), 40) is None
