import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.permissions.shell_script import is_plain, parsed_script, read_script
from roost.permissions.shell_unwrap import unwrap
from roost.permissions.shell_words import Script


def read(command: str) -> Script:
    return read_script(command, "/p", "/home/me")


def argvs(command: str) -> list[list[str]]:
    """What is run in the end, wrappers looked through."""
    found = unwrap(read(command), "/home/me").invocations
    return [[word.text for word in call.words] for call in found if call.words]


def doubt(command: str) -> str:
    return unwrap(read(command), "/home/me").doubt


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("git status && rm -rf x", [["git", "status"], ["rm", "-rf", "x"]]),
        ("a | b |& c; d & e", [["a"], ["b"], ["c"], ["d"], ["e"]]),
        ('echo "$(rm x)" `id`', [["rm", "x"], ["id"], ["echo", "$(rm x)", "`id`"]]),
        ("(cd a; ls)", [["cd", "a"], ["ls"]]),
        ("if a; then b; elif c; then d; else e; fi", [["a"], ["b"], ["c"], ["d"], ["e"]]),
        ("while a; do b; done", [["a"], ["b"]]),
        ("case $x in a|b) c;; *) d;; esac", [["c"], ["d"]]),
        ("f() { rm x; }; f", [["rm", "x"], ["f"]]),
        ("diff <(ls a) <(ls b)", [["ls", "a"], ["ls", "b"], ["diff", "<(ls a)", "<(ls b)"]]),
        ("cat <<E\n$(rm x)\nE", [["cat"], ["rm", "x"]]),
        ("cat <<'E'\n$(rm x)\nE\nls", [["cat"], ["ls"]]),
        ("cat <<E | grep x\ny\nE", [["cat"], ["grep", "x"]]),
        ("cat <<< $(rm x)", [["rm", "x"], ["cat"]]),
        ("A=$(rm x) ls", [["rm", "x"], ["ls"]]),
        ("export A=$(rm x)", [["rm", "x"], ["export", "A=$(rm x)"]]),
        ("echo ${x:-$(rm x)}", [["rm", "x"], ["echo", "${x:-$(rm x)}"]]),
        ('[ -f "$(rm x)" ] && ls', [["rm", "x"], ["ls"]]),
        ("! a && time b", [["a"], ["b"]]),
        ("for i in $(a); do b $i; done", [["a"], ["b", "$i"]]),
        ("ls # rm x", [["ls"]]),
    ],
)
def test_every_command_is_found_wherever_it_stands(command: str, expected: list[list[str]]) -> None:
    assert argvs(command) == expected
    assert not doubt(command)


@pytest.mark.parametrize(
    ("command", "argv"),
    [
        ("\\rm 'a b' \"c d\" e\\ f", ["rm", "a b", "c d", "e f"]),
        ("r'm' x", ["rm", "x"]),
        ("echo $'a\\tb\\x41'", ["echo", "a\tbA"]),
        ('echo "a\\"b" "\\$x" \'\\n\'', ["echo", 'a"b', "$x", "\\n"]),
        ("ls ~ ~/x $HOME/y \"~\" '~'", ["ls", "/home/me", "/home/me/x", "/home/me/y", "~", "~"]),
        ("dd if=~/x", ["dd", "if=/home/me/x"]),
        ("echo a \\\n b", ["echo", "a", "b"]),
        ("find . -exec ls {} \\;", ["find", ".", "-exec", "ls", "{}", ";"]),
        ("echo e\u0301", ["echo", "\u00e9"]),
        ('echo $"text"', ["echo", "text"]),
    ],
)
def test_words_have_the_value_that_the_shell_gives_them(command: str, argv: list[str]) -> None:
    words = read(command).commands[0].words
    if not doubt(command):
        assert [word.text for word in words] == argv
        assert all(word.exact for word in words)


@pytest.mark.parametrize(
    ("word", "stem", "glob"),
    [
        ("$x", "", False),
        ('"a$x"', "a", False),
        ("src/*.py", "src/", True),
        ("src/[ab]", "src/", True),
        ("{a,b}", "", False),
        ("x{1..3}", "x", False),
        ("~user/x", "", False),
        ("a$(b)*", "a", False),
        ("$'\\cx'", "", False),
    ],
)
def test_what_is_only_known_when_it_runs_is_not_taken_as_known(
    word: str, stem: str, glob: bool
) -> None:
    found = read(f"echo {word}").commands[-1].words[1]
    assert not found.exact
    assert (found.stem, found.glob) == (stem, glob)


@pytest.mark.parametrize(
    "command",
    [
        "if",
        "ls )",
        "echo 'open",
        "r\\\nm x",
        "ls\rrm x",
        "echo \x00",
        "echo \ud800",
        "cat <<E\na\nE \nrm x\nE",
        "cat <<E\n`rm x`\nE",
        "cat <<E",
        "cat <<A <<B\na\nA\nb\nB",
        "python3 - <<E\nx\nE",
        "echo ${x@P}",
        "echo ${!x}",
        "x='a[$(rm y)]'; echo $((x))",
        "x=$(cat f); [[ $x -eq 1 ]]",
        "[ -v 'a[$(rm x)]' ]",
        "eval ls",
        "trap 'ls' EXIT",
        "coproc ls",
        "echo x > $f",
        "<(ls) x",
        "exec 3<>/dev/tcp/h/80",
        "for i in a b; do cd ..; done",
        "qux $(foo <<E\nx\nE\nbaz; zip b)",
        "<$\nrm\n",
        ">*a{\\while rm",
        "x" * 200_000 + " 'a'",
    ],
)
def test_what_cannot_be_read_for_certain_is_a_doubt(command: str) -> None:
    script = read(command)
    certain = [c for c in unwrap(script, "/h").invocations if not c.name]
    unknown_target = any(not one.target.exact for one in script.redirects)
    assert doubt(command) or certain or unknown_target


@pytest.mark.parametrize(
    ("command", "inner"),
    [
        ("command rm x", ["rm", "x"]),
        ("env -u A B=1 rm x", ["rm", "x"]),
        ("nice -n 5 rm x", ["rm", "x"]),
        ("timeout -k 1 5 rm x", ["rm", "x"]),
        ("nohup time -p rm x", ["rm", "x"]),
        ("xargs -0 -n1 rm x", ["rm", "x"]),
        ("sudo -u root rm x", ["rm", "x"]),
        ("bash -c 'rm x'", ["rm", "x"]),
        ("sh -ec 'rm x'", ["rm", "x"]),
        ("bash -c \"bash -c 'rm x'\"", ["rm", "x"]),
        ("env bash -c 'nice rm x'", ["rm", "x"]),
        ("find . -exec rm x +", ["rm", "x"]),
        ("eval 'rm x'", ["rm", "x"]),
        ("busybox rm x", ["rm", "x"]),
        ("stdbuf -oL -- rm x", ["rm", "x"]),
        ("/usr/bin/env rm x", ["rm", "x"]),
        ("coproc rm x", ["rm", "x"]),
    ],
)
def test_wrappers_are_looked_through(command: str, inner: list[str]) -> None:
    assert inner in argvs(command)


def test_a_wrapper_that_adds_power_counts_itself_too() -> None:
    assert argvs("sudo ls") == [["sudo", "ls"], ["ls"]]
    assert argvs("env ls") == [["ls"]]
    assert argvs("bash -lc ls") == [["bash", "-lc", "ls"], ["ls"]]


def test_an_option_that_is_not_known_makes_the_wrapped_command_unclear() -> None:
    assert doubt("timeout --odd 5 rm x")
    assert doubt("env -S 'rm x'")
    assert doubt("xargs $x rm")


@pytest.mark.parametrize(
    ("command", "folders"),
    [
        ("cd a && ls", {"/p/a"}),
        ("cd a; ls", {"/p", "/p/a"}),
        ("cd a || ls", {"/p"}),
        ("cd a && cd b && ls", {"/p/a/b"}),
        ("(cd a); ls", {"/p"}),
        ("cd a & ls", {"/p"}),
        ("cd a | ls", {"/p"}),
        ("cd ..; ls", {"/"}),
        ("cd; ls", {"/p", "/home/me"}),
        ("if x; then cd a; fi; ls", {"/p", "/p/a"}),
        ("cd a && true || ls", {"/p", "/p/a"}),
        ("cd a && x <<E\ny\nE\nls", {"/p", "/p/a"}),
        ("cd $x; ls", None),
        ("cd -; ls", None),
        ("pushd a; ls", None),
        ("eval x; ls", None),
        ("f() { x; }; f; ls", None),
        ("cd() { x; }; cd a; ls", None),
    ],
)
def test_folders_are_followed(command: str, folders: set[str] | None) -> None:
    last = [c for c in read(command).commands if c.words and c.words[0].text == "ls"][-1]
    assert (None if last.folders is None else set(last.folders)) == folders


def test_redirections_are_found_with_the_folder_they_open_in() -> None:
    script = read("cd a && echo x > f 2>&1 < g; (cd b; ls) &>> h; : >&2 3>&-")
    found = [(one.target.text, one.writes) for one in script.redirects]
    assert found == [("f", True), ("g", False), ("h", True)]
    assert script.redirects[0].folders == frozenset({"/p/a"})


PLAIN = st.text(alphabet="ab/.=-_1 ", min_size=1, max_size=14)
PIECES = [
    *("a", "b", "ls", "rm", " ", "  ", "'", '"', "\\", "$", "${", "$(", ")", "(", "`", "{", "}"),
    *("&&", "||", "|", "&", ";", ";;", "\n", "#", "<", ">", "<<a", "\na\n", "=", "if ", "then "),
    *(
        "fi",
        "do ",
        "done",
        "for a in ",
        "while ",
        "case a in ",
        "esac",
        "!",
        "[[",
        "]]",
        "((",
        "))",
    ),
    *("$'", "*", "?", "~", "2>&1", "\t", "\r", "é", "\xa0", "\ud800", "sudo ", "env ", "xargs "),
    *("bash -c ", "find . -exec ", "eval ", "git ", "-c"),
]
SHELL = st.lists(st.sampled_from(PIECES), max_size=16).map("".join)


@given(PLAIN)
def test_the_short_cut_for_plain_commands_equals_the_parser(command: str) -> None:
    if is_plain(command):
        parsed = parsed_script(command, frozenset({"/p"}), "/home/me")
        assert read(command) == parsed


@given(SHELL)
def test_any_text_is_taken_apart_without_an_error(command: str) -> None:
    unwrap(read(command), "/home/me")


@given(st.text(max_size=40))
def test_any_unicode_is_taken_apart_without_an_error(command: str) -> None:
    unwrap(read(command), "/home/me")


@pytest.mark.parametrize("command", ["echo {\U0001f600,b}", "${\U001078a3 ls", "{1..\U0010ffff}"])
def test_what_the_parser_cannot_survive_is_a_doubt(command: str) -> None:
    assert doubt(command)


def test_deep_nesting_is_a_doubt_and_no_crash() -> None:
    assert doubt("(" * 3000 + "ls" + ")" * 3000)
    assert doubt("echo " + "$(echo " * 800 + ")" * 800)
