import os
from pathlib import Path

import pytest
from shell_desk import STRICTNESS, Desk

from roost.permissions.bash import BashAnalysis, Destruction
from roost.permissions.layers import DEFAULTS
from roost.permissions.models import Layer
from roost.permissions.rules import evaluate, rules_of, settle_alone
from roost.permissions.shell_requests import shell_requests


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path.resolve())


def reach(found: BashAnalysis) -> list[str]:
    return [one.reach for one in found.destroys]


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("rm f", ["inside"]),
        ("rm -rf src/*", ["inside"]),
        ("rm -rf *", ["inside"]),
        ("rm -rf .", ["outside"]),
        ("rm -rf ..", ["outside"]),
        ("rm -rf ../other", ["outside"]),
        ("rm -rf out/x", ["outside"]),
        ("rm -rf /", ["outside"]),
        ("rm -rf /*", ["outside"]),
        ("rm -rf ~", ["outside"]),
        ("rm -rf $x", ["unknown"]),
        ('rm -rf "$x"/y', ["unknown"]),
        ("echo / | xargs rm -rf", ["unknown"]),
        ("find . -name x -delete", ["inside"]),
        ("find / -delete", ["outside"]),
        ("find . -exec rm {} +", ["inside"]),
        ("find /etc -print0 | xargs -0 rm", ["outside"]),
        ("git clean -xfd", ["inside"]),
        ("git reset --hard HEAD~1", ["inside"]),
        ("git checkout -- .", ["inside"]),
        ("git restore f", ["inside"]),
        ("git branch -D x", ["inside"]),
        ("git stash drop", ["inside"]),
        ("git push --force origin x", ["outside"]),
        ("git push origin +x", ["outside"]),
        ("git push origin :x", ["outside"]),
        ("dd if=/dev/zero of=/dev/sda", ["outside"]),
        ("mkfs.ext4 /dev/sda", ["outside"]),
        ("shred f; truncate -s 0 f; unlink f; rmdir src", ["inside"] * 4),
        ("rsync -a --delete src/ ../other", ["outside"]),
        ("git push origin x", []),
        ("git checkout main", []),
        ("git restore --staged f", []),
        ("ls; cp f g; touch x", []),
    ],
)
def test_what_is_destroyed_is_told_with_its_reach(
    desk: Desk, command: str, expected: list[str]
) -> None:
    assert reach(desk.analyse(command)) == expected


def test_a_delete_asks_each_time_whatever_bash_rules_allow(desk: Desk) -> None:
    everything = Layer("user", "user", rules_of("allow", Path("/")))
    assert desk.verdict("rm f", everything) == "ask"
    assert desk.verdict("rm -rf ../other", everything) == "ask"
    named = Layer("user", "user", rules_of({"*": "allow", "bash_delete": "allow"}, Path("/")))
    assert desk.verdict("rm f", named) == "allow"
    (request,) = [one for one in desk.requests("rm f") if one.permission == "bash_delete"]
    assert request.always == ()


def test_what_git_can_restore_is_an_ordinary_command(desk: Desk) -> None:
    def tracked(one: Destruction) -> bool:
        return one.paths == (desk.root / "f",)

    found = shell_requests(desk.analyse("rm f"), desk.around, tracked)
    assert [one.permission for one in found] == ["bash", "edit"]
    outside = shell_requests(desk.analyse("rm ../other/f"), desk.around, lambda _: True)
    assert "bash_delete" in [one.permission for one in outside]


def test_scratch_files_are_deleted_as_lightly_as_others_are_changed(desk: Desk) -> None:
    permissions = [one.permission for one in desk.requests(f"rm -rf {desk.scratch}/a")]
    assert "bash_delete" not in permissions
    for target in (
        desk.scratch,
        f"{desk.scratch}/*",
        f"{desk.scratch}/$x",
        f"{desk.scratch}/../own",
    ):
        forced = [one.permission for one in desk.requests(f"rm -rf {target}")]
        assert "bash_delete" in forced, target


@pytest.mark.parametrize(
    ("command", "plain", "with_yes"),
    [
        ("make", "deny", "allow"),
        ("rm f", "deny", "allow"),
        ("rm -rf ../other", "deny", "deny"),
        ("rm -rf $x", "deny", "deny"),
        ("find / -delete", "deny", "deny"),
        ("git clean -xfd", "deny", "allow"),
        ("git push --force", "deny", "deny"),
        ("pkill -f python", "deny", "deny"),
    ],
)
def test_without_a_person(desk: Desk, command: str, plain: str, with_yes: str) -> None:
    for yes, expected in ((False, plain), (True, with_yes)):
        found = [
            settle_alone(one, evaluate(one, (DEFAULTS,)), yes=yes).action
            for one in desk.requests(command)
        ]
        assert max(found, key=STRICTNESS.index) == expected


@pytest.mark.parametrize(
    "command",
    [
        "pkill -f python",
        "killall node",
        "kill $(pgrep x)",
        "kill -9 -1",
        "kill $x",
        "pgrep x | xargs kill",
        "fuser -k 80/tcp",
        "tmux kill-server",
        "shutdown now",
    ],
)
def test_kills_that_may_hit_anything_ask_each_time(desk: Desk, command: str) -> None:
    everything = Layer("user", "user", rules_of("allow", Path("/")))
    assert desk.verdict(command, everything) == "ask"


@pytest.mark.parametrize("command", ["kill %1", "kill $!", "kill -TERM 999999", "kill -l"])
def test_ending_one_process_is_an_ordinary_command(desk: Desk, command: str) -> None:
    assert not any(kill.by_name for _, kill in desk.analyse(command).kills)


def test_roost_itself_is_out_of_reach(desk: Desk) -> None:
    for command in (
        f"kill {os.getpid()}",
        f"kill -9 -- -{os.getpid()}",
        "kill $PPID",
        f"rm -rf {desk.own}",
        f"rm -rf {desk.own}/db",
        f"rm -rf {desk.own.parent}",
        f"rm -rf {desk.own.parent}/o*",
        f"echo x > {desk.own}/trust.json",
        "echo x > .git/hooks/pre-commit",
        "bash -c 'echo x > .git/config'",
    ):
        assert desk.analyse(command).refusals, command
    assert not desk.analyse("git commit -m x").refusals


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("git commit -m x", ("git commit *",)),
        ("npm run test -- -x", ("npm run test *",)),
        ("make test", ("make test",)),
        ("pytest -q && mypy src", ("pytest *", "mypy *")),
        ("timeout 5 cargo build", ("cargo build *",)),
        ("python x.py", ("python x.py",)),
        ("python - <<E\nx\nE", ()),
        ("python3 <<E\nx\nE", ()),
        ("echo x | bash", ()),
        ("curl -X POST localhost", ("curl -X POST localhost",)),
        ("sort -o f f", ("sort -o f f",)),
        ("git log --output=x", ("git log --output=x",)),
        ("git push origin main", ("git push origin main",)),
        ("sudo make", ("sudo make", "make")),
        ("LD_PRELOAD=x make", ()),
        ("git status; $x", ()),
        ("eval make", ()),
        ("ls", ()),
        ("docker compose up -d", ("docker compose up *",)),
        ("npm install x", ("npm install x",)),
    ],
)
def test_always_names_the_act_and_not_more(
    desk: Desk, command: str, expected: tuple[str, ...]
) -> None:
    assert desk.always(command) == expected


def test_a_grant_for_a_folder_outside_never_covers_everything(desk: Desk) -> None:
    def always(command: str) -> tuple[str, ...]:
        return next(
            o.always for o in desk.requests(command) if o.permission == "external_directory"
        )

    assert always("cat /etc/passwd") == ("/etc/*",)
    assert always("ls /etc") == ("/etc/*",)
    assert always("ls /") == ()
    assert always(f"ls {desk.home}") == ()
    assert always("cat /vmlinuz") == ("/vmlinuz",)


def test_a_comment_or_nothing_needs_nothing(desk: Desk) -> None:
    assert desk.requests("") == []
    assert desk.requests("# only words") == []
