"""What the doctor says of hooks and plugins, and of a folder that is not there."""

import json
from pathlib import Path

import pytest
from terminal_user import User

PLUGIN = """\
from roost.hooks.models import Hook, Matcher


def hooks():
    return [Hook(on="session.pre", run=lambda given: None, name="look"{more})]
"""


def configured(user: User, **hooks: object) -> None:
    """Let these be the user's own hooks."""
    folder = user.home / "config"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "roost.json").write_text(json.dumps({"hook": hooks}))


def plugin(user: User, text: str, name: str = "review.py") -> Path:
    """Let this be a plugin of the user."""
    folder = user.home / "config" / "plugins"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)
    return folder / name


def script(user: User, name: str, text: str, mode: int = 0o755) -> None:
    (user.folder / name).write_text(text)
    (user.folder / name).chmod(mode)


def said_of_hooks(user: User, code: int) -> list[str]:
    """The findings about hooks, each with its way out."""
    done = user.call("doctor")
    assert done.code == code, done.out + done.err
    assert done.err == ""
    found: list[str] = []
    for line in done.out.splitlines():
        if line.startswith(" " * 19) and found and found[-1] != "":
            found[-1] += f" | {line.strip()}"
        else:
            found.append(line if " hooks " in line else "")
    return [line for line in found if line]


def test_without_hooks_it_says_so(user: User) -> None:
    assert said_of_hooks(user, 0) == ["ok    hooks        none"]


def test_hooks_that_can_be_asked_are_counted(user: User) -> None:
    script(user, "check.sh", "#!/bin/sh\nexit 0\n")
    configured(
        user,
        line={"on": "actor.pre_stop", "command": "CI=1 make test >&2 || exit 2"},
        shell={"on": "actor.pre_stop", "command": "[ -e REPORT.md ] || exit 2"},
        array={"on": "session.post", "command": ["sh", "check.sh"]},
        direct={
            "on": "session.pre",
            "command": ["./check.sh"],
            "matcher": {"agent": "gen.*|general"},
        },
    )
    plugin(user, PLUGIN.format(more=""))
    assert said_of_hooks(user, 0) == ["ok    hooks        4 commands, 1 plugin with 1 hook"]


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["gone.sh"], "gone.sh is not on the PATH"),
        (["./gone.sh"], "./gone.sh does not exist in {folder}"),
        ("./gone.sh --now", "./gone.sh does not exist in {folder}"),
        (["sh", "gone.sh"], "gone.sh does not exist in {folder}"),
        (["python3", "-u", "x"], ""),
        ("frobnicate now", "frobnicate is neither a program on the PATH nor known to the shell"),
        ("if true", "the shell does not understand it"),
        (["./plain.sh"], "./plain.sh is not executable | chmod +x {folder}/plain.sh"),
        (["./odd.sh"], "./odd.sh is started by /no/such/shell, which is not there"),
        (["./dos.sh"], "which is not there"),
        (["./bare.sh"], "./bare.sh does not say what runs it"),
        ("./bare.sh --now", ""),
        (["./sub"], "./sub is a folder"),
    ],
)
def test_a_program_that_cannot_be_started_fails_with_the_way_out(
    user: User, command: object, said: str
) -> None:
    script(user, "plain.sh", "#!/bin/sh\n", 0o644)
    script(user, "odd.sh", "#!/no/such/shell -e\n")
    script(user, "dos.sh", "#!/bin/sh\r\nexit 0\r\n")
    script(user, "bare.sh", "echo hello\n")
    (user.folder / "sub").mkdir()
    configured(user, tests={"on": "actor.pre_stop", "command": command})
    (found,) = said_of_hooks(user, 1 if said else 0)
    if said:
        assert found.startswith("fail  hooks        the command of tests (actor.pre_stop): ")
        assert said.format(folder=user.folder) in found
        assert " | " in found, "and how to mend it"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("import no_such_module\n", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("def hooks(:\n", "SyntaxError: "),
        ("def hook():\n    return []\n", "it has no function hooks()"),
        (
            PLUGIN.replace("session.pre", "session_pre").format(more=""),
            "'session_pre' is no hook point",
        ),
        ("def hooks():\n    return 3\n", "hooks() returns a int, not a list of Hook"),
    ],
)
def test_a_plugin_that_cannot_be_used_fails_with_the_reason(
    user: User, text: str, said: str
) -> None:
    path = plugin(user, text)
    (found,) = said_of_hooks(user, 1)
    assert found.startswith(f"fail  hooks        the plugin {path} cannot be used: ")
    assert said in found


def test_a_plugin_that_cannot_be_read_fails(user: User) -> None:
    path = plugin(user, "")
    path.unlink()
    path.symlink_to("gone")
    (found,) = said_of_hooks(user, 1)
    assert f"fail  hooks        the plugin {path}: cannot be read" in found
    assert "Make it readable or remove it." in found


def test_names_that_mean_nothing_are_told(user: User) -> None:
    stop: dict[str, object] = {"on": "actor.pre_stop", "command": "true"}
    configured(
        user,
        one=stop | {"matcher": {"agent": ["generall", "build"]}},
        two=stop | {"matcher": {"agent": "review-.*"}},
        three=stop | {"matcher": {"exclude_only": ["title"]}},
    )
    plugin(user, PLUGIN.format(more=', matcher=Matcher(exclude=("explor",))'))
    plugin(user, "notes", "notes.txt")
    plugin(user, "x = 1", "_private.py")
    wrong = user.folder / ".roost" / "hooks"
    wrong.mkdir(parents=True)
    (wrong / "mine.py").write_text("def hooks():\n    return []\n")
    found = said_of_hooks(user, 0)
    assert all(line.startswith("warn  hooks        ") for line in found), found
    text = "\n".join(found)
    assert "the matcher of one: there is no agent generall; did you mean general?" in text
    assert "the matcher of two: no agent fits it" in text
    assert "the matcher of review: look: there is no agent explor; did you mean explore?" in text
    assert (
        f"{user.home}/config/plugins/notes.txt is no plugin: its name does not end with .py" in text
    )
    assert f"nothing looks into {wrong}" in text
    assert "_private" not in text
    assert "three" not in text


def test_hooks_of_a_repository_that_is_not_trusted_are_not_run(user: User) -> None:
    folder = user.folder / ".roost" / "plugins"
    folder.mkdir(parents=True)
    (folder / "mine.py").write_text(
        "from pathlib import Path\nPath('ran').touch()\ndef hooks():\n    return []\n"
    )
    assert said_of_hooks(user, 0) == ["ok    hooks        none"]
    assert not (user.folder / "ran").exists()
    assert user.call("config", "trust").code == 0
    assert said_of_hooks(user, 0) == ["ok    hooks        1 plugin with 0 hooks"]


def test_a_folder_that_is_not_there_is_told_before_anything_is_checked(user: User) -> None:
    done = user.call("doctor", "--dir", "/no/such/folder")
    assert (done.code, done.out) == (2, "")
    assert (
        done.err
        == "error: /no/such/folder is not a folder\n  Give one that exists, or leave --dir out.\n"
    )


def test_a_password_file_that_is_of_no_use_is_told_in_words(user: User) -> None:
    path = user.folder / "secret"

    def said() -> str:
        done = user.run("serve", "--password-file", str(path))
        assert done.code == 2
        return done.err

    assert f"the password file {path} cannot be read: No such file or directory\n" in said()
    path.write_bytes(b"\xff\xfe")
    assert f"the password file {path} cannot be read: it is not UTF-8 text\n" in said()
    path.write_text("\n")
    assert f"the password file {path} is empty\n  Write the password into it" in said()
