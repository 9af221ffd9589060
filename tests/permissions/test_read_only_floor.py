"""The floor below who plans, asked as the gate asks: whatever is granted, allowed or answered."""

from pathlib import Path
from typing import Any

import pytest
from shell_desk import STRICTNESS, Desk

from roost.config.loaded import Loaded, PermissionLayer, ProjectConfig
from roost.config.models import Config
from roost.context.agents import agents
from roost.permissions.layers import layers_for
from roost.permissions.lineage import evaluate_lineage
from roost.permissions.models import Layer, PermissionRequest, Rule, Traits
from roost.permissions.read_only import floor
from roost.permissions.rules import rules_of

HOME = Path("/home/me")
NOTHING = Loaded(Config(), (), (), {}, {}, ProjectConfig(Path("/"), "", trusted=True))
GRANTED = (Rule("*", "*", "allow"),)
PLAN = ".roost/plans/2026-01-02-abc.md"
CHANGING = r"""
echo x > f
echo x >> f
echo x >| f
echo x &> f
: > f
cat a | tee f
bash -c 'echo x > f'
sh -c 'tee f'
eval 'touch f'
bash a
echo 'touch f' | bash
cat a | python3
python3 -c 'open("f", "w")'
perl -e '1'
awk 'BEGIN{print "x" > "f"}'
sed -i s/a/b/ a
sed -n 'w f' a
sed 's/a/b/w f' a
sed '1e touch f' a
find . -delete
find . -exec touch f ;
find . -fprint f
xargs touch < a
sort -o f a
base64 -o f a
base64 -i a --output=f
uniq a f
rg --pre 'touch f' x
git commit --allow-empty -m x
git add .
git stash
git checkout a
git branch new
git branch -D new
git tag v1
git config user.name x
git diff --output=f
git log --output=f
git -c core.pager='touch f' log
git -c core.fsmonitor='touch f' status
git grep -O'touch f' a
git archive -o f HEAD
git update-ref refs/heads/x HEAD
git worktree add x
git fetch
git push
cp a f
mv a f
ln -s a f
mkdir d
rm a
truncate -s0 a
dd if=a of=f
tar xf a
curl -o f http://127.0.0.1
env touch f
timeout 5 touch f
command touch f
exec > f
ls; touch f
ls $(touch f)
ls <(touch f)
cat <<< "$(touch f)"
echo ${x:=$(touch f)}
[[ -v 'a[$(touch f)]' ]]
printf -v 'a[$(touch f)]' x
PATH=. ls
LD_PRELOAD=./x.so ls
GIT_EXTERNAL_DIFF='touch f' git diff
alias ls='touch f'; ls
ls() { touch f; }; ls
trap 'touch f' EXIT
source a
./ls
cd src && echo x > ../f
cd .roost/plans && echo x > other.md
echo x > .roost/plans/other.md
echo x > .roost/plans/../../f
make
npm test
kill 1
pkill a
""".strip().splitlines()


def lineage(**user: Any) -> tuple[tuple[Layer, ...], ...]:
    """The planning agent of a user who says `user` of it, on its floor."""
    given = (PermissionLayer("user", "global", True, "plan", user, {}),)
    agent = agents(NOTHING)["plan"]
    own = layers_for(given, HOME, agent="plan", agent_rules=rules_of(agent.permission, HOME))
    return own, floor(PLAN, own)


def strictest(requests: list[PermissionRequest], rights: tuple[tuple[Layer, ...], ...]) -> str:
    found = [evaluate_lineage(one, rights, GRANTED).action for one in requests]
    return max(found, key=STRICTNESS.index, default="allow")


@pytest.mark.parametrize("command", CHANGING)
def test_no_command_changes_anything_while_a_plan_is_made(tmp_path: Path, command: str) -> None:
    requests = Desk(tmp_path).requests(command)
    for user in ({}, {"bash": "allow"}, {"*": "allow"}, {"bash": "ask", "edit": "ask"}):
        assert strictest(requests, lineage(**user)) == "deny"


@pytest.mark.parametrize("command", ["cat a", "git log -p", "ls -la", "grep -rn x . | head -5"])
def test_what_is_known_to_read_runs(tmp_path: Path, command: str) -> None:
    assert strictest(Desk(tmp_path).requests(command), lineage()) == "allow"


def test_a_command_that_the_user_names_for_the_agent_runs(tmp_path: Path) -> None:
    desk, rights = Desk(tmp_path), lineage(bash={"make check": "allow", "make ask": "ask"})
    assert strictest(desk.requests("make check"), rights) == "allow"
    assert strictest(desk.requests("make ask"), rights) == "deny"
    assert strictest(desk.requests("make check > f"), rights) == "deny"


@pytest.mark.parametrize("user", [{}, {"edit": "allow"}, {"*": "allow"}], ids=str)
def test_of_all_files_the_plan_of_the_session_alone_is_written(user: dict[str, Any]) -> None:
    rights = lineage(**user)

    def edit(path: str, *, outside: bool = False) -> str:
        request = PermissionRequest("edit", (path,), traits=(Traits(outside=outside),))
        return evaluate_lineage(request, rights, GRANTED).action

    assert edit(PLAN) == "allow"
    assert edit("src/a.py") == "deny"
    assert edit(".roost/plans/other.md") == "deny"
    assert edit(f"api/{PLAN}") == "deny"
    assert edit(f"/elsewhere/{PLAN}", outside=True) == "deny"


def test_what_nobody_knows_is_refused() -> None:
    request = PermissionRequest("files_write", ("x",))
    assert evaluate_lineage(request, lineage(**{"*": "allow"}), GRANTED).action == "deny"
