"""`config`, `models`, `doctor`, `serve`, `completion`: each run as users run it."""

import json
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from terminal_user import KEY, User, ended, read_until

from roost.cli.completion.bash import bash_script
from roost.cli.completion.fish import fish_script
from roost.cli.completion.words import commands
from roost.cli.completion.zsh import zsh_script
from roost.cli.table import age, table
from roost.workspace.search import ripgrep_program
from scripted_model.scenario import scenario
from scripted_model.server import ScriptedModel

# config


def test_the_configuration_is_shown_with_its_sources_and_without_secrets(user: User) -> None:
    (user.home / "config").mkdir(parents=True)
    mine = user.home / "config" / "roost.jsonc"
    mine.write_text(
        '{"username": "me", "provider": {"x": {"options": {"apiKey": "sk-very-secret"}}}}'
    )
    done = user.call("config")
    assert done.code == 0, done.err
    assert f'username = "me"  ({mine})' in done.out
    assert 'model = "test/scripted"  (ROOST_CONFIG_CONTENT)' in done.out
    assert "sk-very-secret" not in done.out
    assert KEY not in done.out
    merged = json.loads(user.call("config", "--format", "json").out)
    assert merged["username"] == "me"
    assert merged["provider"]["x"]["options"]["apiKey"] == "••••"


def test_trust_is_given_to_exactly_what_was_there_and_taken_back(user: User) -> None:
    file = user.folder / "roost.json"
    file.write_text('{"model": "evil/model", "permission": {"bash": "allow"}}')
    shown = user.call("config").out
    assert "is not trusted" in shown
    assert "model (" in shown
    assert "permission.bash" in shown
    assert "roost config trust" in shown
    trusted = user.call("config", "trust")
    assert trusted.code == 0
    assert "roost.json" in trusted.out
    assert "is trusted." in user.call("config").out
    file.write_text('{"model": "evil/other"}')
    assert "is not trusted" in user.call("config").out
    user.call("config", "trust")
    assert "no longer trusted" in user.call("config", "untrust").out
    assert "was not trusted" in user.call("config", "untrust").out


def test_what_cannot_be_read_is_not_trusted(user: User) -> None:
    (user.folder / "roost.json").write_text('{"model": 3}')
    done = user.call("config", "trust")
    assert done.code == 2
    assert "nothing was trusted: " in done.err
    assert "roost.json:1: model: expected" in done.err
    assert not (user.home / "state" / "trust.json").exists()


def test_an_unknown_key_of_a_repository_is_told_once_with_what_to_do(
    user: User, model: ScriptedModel
) -> None:
    file = user.folder / "roost.json"
    file.write_text('{"modle": "x/y"}')
    shown = user.call("config").out
    assert shown.count(str(file)) == 1
    assert f"{file}:1: modle: is not a setting\n    Did you mean model?" in shown
    assert "mend it, then run `roost config trust`" in shown
    assert "Read these files" not in shown
    tried = user.call("config", "trust")
    assert tried.code == 2
    assert f"nothing was trusted: {file}:1: modle" in tried.err
    assert "Did you mean model?" in tried.err
    model.use(scenario("ok"))
    noted = user.run("run", "hello")
    assert noted.code == 0
    assert f"{file}:1: modle: is not a setting; nothing of this file is used" in noted.err
    assert "until you trust" not in noted.err
    assert f"{file}:1: modle" in user.call("doctor").out


def test_a_home_without_configuration_says_where_it_goes(user: User) -> None:
    done = user.call("config", env={"ROOST_CONFIG_CONTENT": ""})
    assert f"Yours goes into {user.home / 'config' / 'roost.json'}" in done.out


def test_a_mistyped_name_among_the_permissions_is_told(user: User) -> None:
    (user.home / "config").mkdir(parents=True)
    mine = user.home / "config" / "roost.json"
    mine.write_text(
        '{"permission": {"bsh": "allow", "edit": "ask", "todowrite": "deny", "x_y": {}}}'
    )
    said = f"{mine}: no tool is called bsh; did you mean bash?"
    shown = user.call("config").out
    assert f"warning: {said}" in shown
    assert shown.count("no tool is called") == 1
    assert f"warn  permission   {said}" in user.call("doctor").out


def test_paths_are_told(user: User) -> None:
    shown = user.call("config", "path").out
    assert f"database  {user.home / 'data' / 'roost.db'}" in shown
    assert "read      ROOST_CONFIG_CONTENT" in shown


# models


def test_models_are_listed_with_window_and_price(user: User) -> None:
    done = user.call("models", "test")
    assert done.code == 0, done.err
    assert done.out.splitlines()[1].split()[:2] == ["*", "test/scripted"]
    details = json.loads(user.call("models", "test", "--verbose").out)
    assert details[0]["id"] == "test/scripted"
    assert details[0]["cost"]["input"] == 1
    assert KEY not in json.dumps(details)


def test_the_endpoint_is_asked_when_that_is_wanted(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with ScriptedModel(scenario("unused"), api_key=KEY, models=["scripted", "second"]) as model:
        user = User(tmp_path, model, capfd)
        assert "test/second" not in user.call("models", "test").out
        assert "test/second" in user.call("models", "test", "--refresh").out
    done = user.call("models", "test", "--refresh")
    assert done.code == 1
    assert "cannot be reached" in done.err


def test_an_unknown_provider_is_told_with_a_near_one(user: User) -> None:
    done = user.call("models", "antropic")
    assert done.code == 2
    assert "Did you mean anthropic?" in done.err


def test_the_list_of_models_explains_its_marks_and_what_is_missing(user: User) -> None:
    config = json.loads(user.environment["ROOST_CONFIG_CONTENT"])
    options = {"baseURL": "http://127.0.0.1:1/v1", "apiKey": "{env:NO_SUCH_KEY}"}
    config["provider"]["work"] = {"options": options, "models": {"m": {}}}
    config["provider"]["mine"] = {"options": {"baseURL": options["baseURL"]}, "models": {"m": {}}}
    done = user.call("models", env={"ROOST_CONFIG_CONTENT": json.dumps(config)})
    assert done.code == 0
    assert "*: used when no other is named" in done.err
    assert "?: not known; provider.<id>.models.<name>.cost sets it" in done.err
    assert "the variable NO_SUCH_KEY is not set" in done.err
    lines = done.err.split("\n")
    at = lines.index("These providers need only a key in a variable (export NAME=...):")
    assert lines[at + 1].split() == ["anthropic", "ANTHROPIC_API_KEY"]
    assert lines[at + 2].split() == ["openai", "OPENAI_API_KEY"]


def test_a_provider_without_a_key_says_which(user: User) -> None:
    done = user.call("models", "anthropic")
    assert "ANTHROPIC_API_KEY" in done.err


# doctor


def test_the_doctor_finds_all_well(user: User, model: ScriptedModel) -> None:
    model.use(scenario("ok"))
    user.run("run", "hello")
    done = user.run("doctor", "--deep")
    lines = {
        line.split()[1]: line
        for line in done.out.splitlines()
        if line[:4] in {"ok  ", "warn", "fail"}
    }
    for name in ("python", "sqlite", "git", "folders", "disk", "locks", "journal", "database"):
        assert lines[name].startswith("ok"), lines[name]
    assert lines["integrity"].startswith("ok")
    assert "1 session," in lines["database"]
    assert "0 other processes, 0 running sessions" in lines["processes"]
    assert lines["model"].startswith("ok")
    assert KEY not in done.out


def test_the_doctor_names_what_is_wrong_and_how_to_mend_it(user: User) -> None:
    user.call("config")
    (user.home / "data" / "roost.db").write_bytes(b"this is no database" * 100)
    (user.home / "data").chmod(0o755)
    done = user.run("doctor", env={"ROOST_CONFIG_CONTENT": "{"})
    assert done.code == 1
    assert "fail  database" in done.out
    assert "warn  folders" in done.out
    assert "fail  config" in done.out
    assert "2 problems must be mended" in done.out
    assert f"chmod go= {user.home / 'data'}" in done.out


def test_the_doctor_sees_a_session_that_was_killed(user: User, model: ScriptedModel) -> None:
    from scripted_model.scenario import Stall

    model.use(scenario([Stall()]))
    process = user.start("run", "go")
    model.wait_for_requests(1)
    process.kill()
    ended(process)
    session = json.loads(user.call("sessions", "list", "--format", "json").out)[0]["id"]
    done = user.run("doctor")
    assert f"killed while they ran: {session}" in done.out
    assert f'roost run -s {session} "go on"' in done.out
    assert "0 running sessions" in done.out
    assert list((user.home / "state" / "owners").glob("*.new")) == []


def test_without_git_and_ripgrep_the_doctor_warns_and_tells_how_to_install_them(
    user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(user.folder / "python"))
    done = user.call("doctor", env={"PATH": str(_only(user.folder / "bin", "bash", "apt-get"))})
    assert done.code == 0, done.out
    for name in ("git", "rg"):
        assert f"warn  {name}" in done.out
    assert "apt install git\n" in done.out
    assert "apt install ripgrep\n" in done.out
    assert "Roost works; " in done.out


def test_ripgrep_beside_python_is_found(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    found = shutil.which("rg") or shutil.which("rg", path=str(Path(sys.executable).parent))
    if found is None:
        pytest.skip("ripgrep is not installed here")
    beside = _only(user.folder / "bin")
    (beside / "rg").symlink_to(found)
    monkeypatch.setattr(sys, "executable", str(beside / "python"))
    done = user.call("doctor", env={"PATH": "/usr/bin:/bin"})
    assert "ok    rg" in done.out
    assert ripgrep_program() is not None


def _only(folder: Path, *programs: str) -> Path:
    """A folder for the PATH with nothing but `programs`."""
    folder.mkdir()
    for name in programs:
        (folder / name).symlink_to(shutil.which(name) or "/bin/true")
    return folder


# serve


def _get(url: str, token: str = "") -> int:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    try:
        with urllib.request.urlopen(
            urllib.request.Request(url, headers=headers), timeout=10
        ) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


def test_a_server_tells_where_it_is_and_stops_in_order(user: User) -> None:
    process = user.start("serve", env={"ROOST_SERVER_PASSWORD": "correct horse"})
    assert process.stdout is not None
    line = read_until(process.stdout, "\n")
    assert line.startswith("roost server listening on http://127.0.0.1:")
    url = line.split()[-1]
    assert _get(f"{url}/global/health") == 200
    assert _get(f"{url}/session") == 401
    assert _get(f"{url}/session", "correct horse") == 200
    process.send_signal(signal.SIGTERM)
    done = ended(process)
    assert done.code == 0
    assert f"attach {url}" in done.err
    assert "correct horse" not in done.err


def test_a_password_may_come_from_a_file(user: User) -> None:
    (user.folder / "secret").write_text("from a file\n")
    process = user.start("serve", "--password-file", "secret")
    assert process.stdout is not None
    url = read_until(process.stdout, "\n").split()[-1]
    assert _get(f"{url}/session", "from a file") == 200
    process.send_signal(signal.SIGINT)
    assert "others can read secret" in ended(process).err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--password-file", "gone"], "gone cannot be read"),
        (["--unix", "x.sock", "--port", "1"], "--unix takes the place"),
        (["--dir", "gone"], "gone is not a folder"),
        (["--hostname", "0.0.0.0"], "password"),
    ],
)
def test_a_server_that_cannot_start_says_why(user: User, words: list[str], said: str) -> None:
    done = user.run("serve", *words)
    assert done.code == 2
    assert said in done.err
    assert done.out == ""


def test_a_port_that_is_taken_is_named(user: User) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        done = user.run("serve", "--port", str(port))
    assert done.code == 1
    assert f"port {port}" in done.err
    assert "--port" in done.err


def test_a_unix_socket_serves_too(user: User, tmp_path: Path) -> None:
    process = user.start("serve", "--unix", "r.sock", "--until-eof", stdin=subprocess.PIPE)
    assert process.stdout is not None
    assert "unix:" in read_until(process.stdout, "\n")
    assert (user.folder / "r.sock").is_socket()
    assert ended(process).code == 0
    assert not (user.folder / "r.sock").exists()


@pytest.mark.parametrize("words", [(), ("--unix", "r.sock")])
def test_the_request_that_a_server_offers_works(user: User, words: tuple[str, ...]) -> None:
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed here")
    process = user.start("serve", *words)
    assert process.stderr is not None
    said = read_until(process.stderr, "/doc")
    offered = said.partition("try it with: ")[2].partition("\n")[0]
    done = subprocess.run(
        ["bash", "-c", offered],
        cwd=user.folder,
        env=user.environment,
        capture_output=True,
        timeout=20,
        check=True,
    )
    assert json.loads(done.stdout) == []
    process.send_signal(signal.SIGTERM)
    assert ended(process).code == 0


# completion


def test_bash_completes_commands_options_and_values() -> None:
    script = bash_script(commands())
    ask = """
    ask() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _roost; echo "${COMPREPLY[*]}"; }
    ask roost se; ask roost run --fo; ask roost run --format j; ask roost session ls --al
    ask roost completion f; ask roost config un
    """
    done = subprocess.run(
        ["bash", "-c", script + ask], capture_output=True, text=True, timeout=20, check=True
    )
    assert done.stdout.splitlines() == [
        "serve sessions", "--format", "json", "--all", "fish", "untrust",
    ]  # fmt: skip


def test_every_script_knows_every_command_and_option() -> None:
    for make in (bash_script, zsh_script, fish_script):
        script = make(commands())
        for word in ("run", "sessions", "export", "sanitize", "time-limit", "doctor", "untrust"):
            assert word in script, (make, word)
        assert "owner-pid" not in script


def test_zsh_descriptions_are_quoted() -> None:
    script = zsh_script(commands())
    assert "give a prompt, show the work, and end" in script
    assert shlex.split(script)  # every quote is closed


# tables


def test_columns_line_up_in_any_script() -> None:
    lines = table([["名前", "x"], ["a", "y"]])
    assert lines == ["名前  x", "a     y"]
    assert table([["id", "title"], ["1", "a very long title indeed"]], width=16) == [
        "id  title",
        "1   a very long…",
    ]
    assert table([["a\x1b[31m\nb", "c"]]) == ["a␛[31m b  c"]


@pytest.mark.parametrize(
    ("ago", "words"), [(0, "now"), (59_000, "now"), (61_000, "1 min ago"), (90_000_000, "1 d ago")]
)
def test_ages_are_rough(ago: int, words: str) -> None:
    assert age(1_000_000_000_000 - ago, 1_000_000_000_000) == words
