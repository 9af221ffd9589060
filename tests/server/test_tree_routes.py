"""What git says of a working tree, with patches, and what else is listed of everything."""

import subprocess
from pathlib import Path

from server_stage import Served, on_server


def repository(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    project.mkdir()
    (project / "kept.txt").write_text("one\ntwo\n")
    (project / "gone.txt").write_text("old\n")
    git(project, "init", "--quiet", "--initial-branch=main")
    commit(project)
    return project


def git(folder: Path, *arguments: str) -> None:
    names = ["-c", "user.name=Kim", "-c", "user.email=kim@example.com"]
    subprocess.run(["git", *names, *arguments], cwd=folder, check=True, capture_output=True)


def commit(folder: Path) -> None:
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "work")


def test_a_tree_differs_from_its_last_commit_by_patches_of_single_files(tmp_path: Path) -> None:
    project = repository(tmp_path)
    (project / "kept.txt").write_text("one\nTWO\n")
    (project / "gone.txt").unlink()
    (project / "ein neues – 1.txt").write_text("new\n")
    (project / "picture.bin").write_bytes(b"\0\1\2")

    async def check(stage: Served) -> None:
        found = (await stage.http.get("/vcs/diff?mode=git")).json()
        by_name = {one["file"]: one for one in found}
        told = {name: (d["status"], d["additions"], d["deletions"]) for name, d in by_name.items()}
        assert told == {
            "kept.txt": ("modified", 1, 1),
            "gone.txt": ("deleted", 0, 1),
            "ein neues – 1.txt": ("added", 1, 0),
            "picture.bin": ("added", 0, 0),
        }
        assert "-two\n+TWO" in by_name["kept.txt"]["patch"]
        assert "gone" not in by_name["kept.txt"]["patch"]
        assert "+new" in by_name["ein neues – 1.txt"]["patch"]
        status = (await stage.http.get("/vcs/status")).json()
        assert {one["file"] for one in status} == set(told)

    on_server(tmp_path, check)


def test_a_branch_differs_from_where_it_left_the_default_one(tmp_path: Path) -> None:
    project = repository(tmp_path)

    async def check(stage: Served) -> None:
        assert (await stage.http.get("/vcs/diff?mode=branch")).json() == []
        git(project, "checkout", "--quiet", "-b", "topic")
        (project / "kept.txt").write_text("one\n")
        commit(project)
        (found,) = (await stage.http.get("/vcs/diff?mode=branch")).json()
        assert (found["file"], found["deletions"]) == ("kept.txt", 1)
        assert (await stage.http.get("/vcs/diff?mode=git")).json() == []

    on_server(tmp_path, check)


def test_outside_of_a_repository_nothing_differs(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        assert (await stage.http.get("/vcs/diff?mode=git")).json() == []
        assert (await stage.http.get("/vcs/status")).json() == []

    on_server(tmp_path, check)


def test_tools_are_listed_with_what_models_are_told(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        ids = (await stage.http.get("/experimental/tool/ids")).json()
        path = "/experimental/tool?provider=test&model=scripted"
        tools = (await stage.http.get(path)).json()
        assert [one["id"] for one in tools] == ids
        (bash,) = [one for one in tools if one["id"] == "bash"]
        assert bash["description"]
        assert bash["parameters"]["required"] == ["command"]

    on_server(tmp_path, check)


def test_sessions_of_all_folders_are_listed_page_by_page(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        ids = [await stage.session() for _ in range(3)]
        first = await stage.http.get("/experimental/session?limit=2")
        assert [one["project"]["worktree"] for one in first.json()] == [str(stage.project)] * 2
        cursor = first.headers["x-next-cursor"]
        rest = await stage.http.get("/experimental/session", params={"cursor": cursor})
        assert "x-next-cursor" not in rest.headers
        seen = {one["id"] for one in (*first.json(), *rest.json())}
        assert seen <= set(ids)
        await stage.http.patch(f"/session/{ids[0]}", json={"time": {"archived": 1}})
        shown = {one["id"] for one in (await stage.http.get("/experimental/session")).json()}
        assert ids[0] not in shown
        everything = (await stage.http.get("/experimental/session?archived=true")).json()
        assert {one["id"] for one in everything} == set(ids)

    on_server(tmp_path, check)
