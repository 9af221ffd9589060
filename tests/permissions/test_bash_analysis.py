from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from shell_desk import PLAN, Desk

from roost.config.models import Action
from roost.permissions.bash import Surroundings, analyse
from roost.permissions.layers import DEFAULTS
from roost.permissions.models import Layer, Rule
from roost.permissions.rules import evaluate, rules_of
from roost.permissions.shell_requests import shell_requests
from roost.workspace.guard import Guard


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path.resolve())


def rules(value: dict[str, Action]) -> Layer:
    return Layer("user", "user", rules_of({"bash": {**value}}, Path("/home/me")))


READING = [
    "ls -la src",
    "cat f | head -5 | sort | uniq -c",
    "git status && git log --oneline -5 -- src",
    "git diff HEAD~1..HEAD --stat",
    "git -C src show HEAD:f",
    "git branch -a --sort=-committerdate",
    "git stash list",
    "git config --get user.name",
    "git -c color.ui=always --no-pager log",
    "GIT_PAGER=cat LC_ALL=C git log",
    "grep -rn '/api/v1' src",
    "rg -n --glob '*.py' foo src",
    "find . -name '*.py' -not -path './x/*' -maxdepth 3",
    "find src -type f -exec grep -l x {} +",
    "find . -name '*.py' | xargs grep -n foo",
    "git ls-files | grep py | xargs wc -l",
    "rg -l foo | head -3 | xargs cat",
    "ls src | xargs wc",
    "git --version; bash --version",
    'cut -d/ -f1 f; grep -e /api f; [ "$HOME" = x ] || [ $HOME = x ]',
    "sed -n '1,20p;30p' f",
    "sed -E 's/a|b/c/g; /x/d' f",
    "wc -l src/*.py",
    "for i in 1 2 3; do echo $i; done",
    "if [ -f f ]; then cat f; else echo no; fi",
    "[[ -f f && -n $HOME ]] && echo yes",
    'while read -r line; do echo "$line"; done < f',
    "echo hi > /dev/null 2>&1",
    "diff <(ls src) <(ls src)",
    "cd src && ls .. && cat ../f",
    "(cd src; cat a.py)",
    "python --version; node -v; which python",
    "date +%F; date -u -Iseconds; pwd; whoami; uname -a",
    "bash -c 'ls src && cat f'",
    "timeout 5 env ls",
    "test -f f && echo yes || echo no",
    "printf '%s\\n' a b; true; : ; sleep 1",
    "x=1; echo $((x + 1))",
    "set -euo pipefail; ls",
    "command -v git; type ls",
    "jq '.a/.b' f; stat -c %s f; du -sh src; tree -L 2",
    "cat <<'E'\n$(rm x)\nE",
    "ps aux; ps -ef",
    "tar tzf f; unzip -l f",
    'export lines=3; tail -n "$lines" f',
]


@pytest.mark.parametrize("command", READING)
def test_commands_that_only_read_need_no_answer(desk: Desk, command: str) -> None:
    found = desk.analyse(command)
    assert found.doubt == ""
    assert found.read_only
    assert desk.verdict(command) == "allow"
    assert desk.verdict(command, PLAN) == "allow"


WRITING = [
    "rm f",
    "make",
    "npm test",
    "python x.py",
    "awk '{print}' f",
    "echo x > f2",
    "ls >> f",
    "ls &> f",
    "tee f",
    "sed -i s/a/b/ f",
    "sed -ni p f",
    "sed 's/a/b/w out' f",
    "sed 's/a/b/e' f",
    "sed '1e id' f",
    "sed -f f f",
    "sed --in-pl s/a/b/ f",
    "sort -o f f",
    "sort --outp=f f",
    "sort --compress-program=sh f",
    "sort *",
    "uniq f g",
    "find . -delete",
    "find . -fprint f",
    "find . -exec rm {} ;",
    "find . -ok ls {} ;",
    "find . -execdir ls {} ;",
    "find . -name *",
    "rg --pre sh x",
    "rg -z x",
    "git commit -m x",
    "git branch new",
    "git tag v1",
    "git diff --output=f",
    "git diff --outp=f",
    "git log --ext-diff",
    "git grep -n -O x",
    "git -c core.fsmonitor=sh status",
    "git -c alias.x=!sh x",
    "git --exec-path=x status",
    "git stash",
    "git config user.name x",
    "git config --list",
    "git remote add x y",
    "git fetch",
    "git log $x",
    "LD_PRELOAD=x ls",
    "PATH=. ls",
    "PATH=.; ls",
    "export PATH=x; ls",
    "PAGER=sh git log",
    "for PATH in x; do ls; done",
    "read PATH; ls",
    "GIT_EXTERNAL_DIFF=sh git diff",
    "env",
    "env PATH=. ls",
    "printenv",
    "date -s x",
    "date 0101",
    "hostname x",
    "printf -v x y",
    "ps e",
    "xxd -r f g",
    "tree -o f",
    "tar xf f",
    "curl example.org",
    "ping -c1 example.org",
    "nohup ls > f",
    "sudo ls",
    "./ls",
    "src/../ls",
    "$CMD",
    "$(echo ls)",
    "cat $f",
    'cat "$f"',
    "ls | xargs -I{} sh -c '{}'",
    "echo f | xargs cat",
    "cd $x && ls",
    "eval ls",
    ". ./f",
    "bash f",
    'bash -c "$x"',
    "bash",
    "echo ls | sh",
    "trap ls EXIT",
    "exec ls",
    "test -v x",
    "python --version x",
    "[ $(cat f) ] && ls",
    "x=$(cat f); [ $x ] && ls",
    "bash -v",
    "python -v",
    "pnpm --version",
    "jobs -x touch x",
    "ps -auxe",
    "tar tf host:f",
    "find . -printf '/etc/passwd\\n' | xargs cat",
    "find . | grep -o '/.*' | xargs cat",
    "ls -l --time-style=+/etc/passwd | xargs cat",
    "git log --format=/etc/passwd | xargs cat",
    "grep x f | xargs cat",
    "git ls-files | xargs sort",
    "PS4='$(touch x)'; set -x; ls",
    "IFS=x ls",
    "cargo --version",
    "alias ls=rm",
    "set -- a",
    "history",
]


@pytest.mark.parametrize("command", WRITING)
def test_whatever_is_not_proved_to_read_is_refused_in_plan_mode(desk: Desk, command: str) -> None:
    found = desk.analyse(command)
    assert not found.read_only
    plan = Layer("plan", "agent", rules_of({"edit": "deny"}, Path("/")))
    assert desk.verdict(command, PLAN, plan) == "deny"


DENIED = [
    "rm x",
    "/bin/rm x",
    "./rm x",
    "\\rm x",
    "'rm' x",
    "r'm' x",
    "command rm x",
    "env A=1 rm x",
    "FOO=1 rm x",
    "nice timeout 5 rm x",
    "sudo rm x",
    "echo x | xargs rm",
    "xargs -I{} rm {}",
    "bash -c 'rm x'",
    'sh -c "cd a && rm x"',
    "eval rm x",
    "eval 'rm x'",
    "trap 'rm x' EXIT",
    "find . -exec rm {} \\;",
    "git status && rm x",
    "git status; (rm x)",
    "echo $(rm x)",
    "echo `rm x`",
    "cat <(rm x)",
    "cat <<E\n$(rm x)\nE",
    "f() { rm x; }; f",
    "if true; then rm x; fi",
    "A=$(rm x) ls",
    "rm x & ls",
    "rm x > /dev/null",
    "busybox rm x",
    "coproc rm x",
    "$(rm x)",
    "rm $x",
    "ls 'unclosed; rm x' && rm x )",
]


@pytest.mark.parametrize("command", DENIED)
def test_a_deny_is_found_behind_every_disguise(desk: Desk, command: str) -> None:
    denying = rules({"*": "allow", "rm *": "deny"})
    assert desk.verdict(command, denying) == "deny"


@pytest.mark.parametrize(
    "command", ["$x y", "$(echo rm) x", "git $x", "ba$x -c rm", "`cat f`", "r$x y"]
)
def test_what_could_turn_out_to_be_denied_asks(desk: Desk, command: str) -> None:
    denying = rules({"*": "allow", "rm *": "deny", "git push *": "deny", "bash *": "deny"})
    assert desk.verdict(command, denying) == "ask"


def test_an_allow_is_about_words_and_about_every_command(desk: Desk) -> None:
    allowing = rules({"*": "ask", "make *": "allow", "npm *": "allow"})
    assert desk.verdict("make test && npm test", allowing) == "allow"
    for command in (
        "makefoo",
        "make && touch x",
        "./make x",
        "/tmp/make x",
        "LD_PRELOAD=x make",
        "make $(touch x)",
        "make; $x",
        "sudo make",
        "eval make",
        "make 'a' )",
        "make \\\n; touch x",
        '"make x" y',
    ):
        assert desk.verdict(command, allowing) == "ask", command
    assert desk.verdict("timeout 9 make x", allowing) == "allow"
    assert desk.verdict("/usr/bin/make x", allowing) == "allow"


@pytest.mark.parametrize(
    "command",
    [
        "cat /etc/passwd",
        "cat ~/x",
        "cat ../other/x",
        "cat out/x",
        "cat src/../../other/x",
        "ls out/*",
        "cd .. && ls",
        "cd nowhere; cat ../x",
        "git -C .. status",
        "echo x > ../x",
        "echo x > out/x",
        "cp f ../other/f",
        "grep -f /etc/passwd f",
        "head --lines=3 /etc/passwd",
        "make -C ../other",
        "curl -o /etc/x localhost",
        "git log --output ../x",
        "git diff --output=/etc/x",
        "python /tmp/x.py",
        "find / -name x",
        "cat < /etc/passwd",
        "ls $HOME",
        "tar tf /x.tar",
        "cat {f,/etc/passwd}",
    ],
)
def test_whatever_leaves_the_project_asks(desk: Desk, command: str) -> None:
    everything = rules({"*": "allow"})
    verdicts = [desk.verdict(command), desk.verdict(command, everything)]
    assert verdicts[0] == "ask"
    known = "{" not in command
    assert not known or verdicts[1] == "ask"


@pytest.mark.parametrize(
    "command",
    [
        "ls src/..",
        "cd src; cat ../f",
        "cat ./src/../f",
        "grep '/etc' f",
        "echo /etc",
        "cd src/.. && ls",
    ],
)
def test_harmless_paths_do_not_ask(desk: Desk, command: str) -> None:
    assert desk.verdict(command) == "allow"


def test_files_that_ask_to_be_read_ask_in_the_shell_too(desk: Desk) -> None:
    assert desk.verdict("cat .env") == "ask"
    assert desk.verdict("cat .e*") == "ask"
    assert desk.verdict("cat f*") == "allow"
    assert desk.verdict("grep KEY < .env") == "ask"
    assert desk.verdict("git diff --no-index f .env") == "ask"
    secret = Layer("user", "user", rules_of({"read": {"src/*": "deny"}}, Path("/")))
    assert desk.verdict("cat src/a.py", secret) == "deny"
    assert desk.verdict("cat src/*.py", secret) == "deny"
    assert desk.verdict("cat f", secret) == "allow"


def test_a_deny_to_read_holds_outside_the_project(desk: Desk) -> None:
    rule = Layer("user", "user", rules_of({"read": {"/etc/*": "deny"}}, Path("/")))
    assert desk.verdict("cat /etc/passwd", rule) == "deny"


def test_redirections_are_edits(desk: Desk) -> None:
    assert desk.verdict("echo x > src/new.py") == "allow"
    assert desk.verdict("echo x > roost.json") == "ask"
    assert desk.verdict("echo x > .roost/agents/a.md") == "ask"
    denied = Layer("user", "user", rules_of({"edit": {"src/*": "deny"}}, Path("/")))
    for command in ("echo x > src/new.py", "tee src/a.py", "rm src/a.py", "cp f src/*.py"):
        assert desk.verdict(command, denied) == "deny", command


TOKENS = st.sampled_from(
    [
        "ls",
        "rm",
        "f",
        "src",
        "..",
        "/",
        "$x",
        "$(",
        ")",
        "|",
        "&&",
        ";",
        ">",
        "'",
        '"',
        "*",
        "-rf",
        "git",
        "push",
        "find",
        "-delete",
        "xargs",
        "sudo",
        "bash",
        "-c",
        "{}",
        "\\;",
        "\n",
        "<<E",
        "E",
    ]
)


@given(st.lists(TOKENS, max_size=10).map(" ".join))
def test_any_command_is_analysed_and_what_is_in_doubt_asks(command: str) -> None:
    root = Path("/nonexistent/project")
    around = Surroundings(root, Guard(root), Path("/nonexistent/home"))
    found = analyse(command, around)
    verdicts = [evaluate(one, (DEFAULTS,)).action for one in shell_requests(found, around)]
    if found.opaque or (found.destroys and not found.read_only):
        assert "ask" in verdicts
    if found.read_only:
        assert not found.destroys


@pytest.mark.parametrize(
    "command",
    [
        "git push origin main",
        "git -C . push origin main",
        "git --no-pager push origin",
        "git -c a.b=c push origin",
        "git --git-dir .git push origin",
        "git -c alias.p=push p origin",
        "git submodule foreach git push",
        "git rebase --exec 'git push origin' HEAD",
    ],
)
def test_options_before_the_subcommand_hide_no_push_from_a_deny(
    command: str, tmp_path: Path
) -> None:
    mine = Layer(
        "mine", "user", (Rule("bash", "git *", "allow"), Rule("bash", "git push *", "deny"))
    )
    around = Surroundings(tmp_path, Guard(tmp_path), tmp_path / "home")
    requests = shell_requests(analyse(command, around), around, lambda _: True)
    verdicts = [evaluate(request, (mine,)) for request in requests]
    assert any(verdict.action != "allow" for verdict in verdicts)
