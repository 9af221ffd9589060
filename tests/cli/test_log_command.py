"""`roost log`: the newest lines of all processes, chosen by session and level, and followed."""

import json
import logging
from pathlib import Path

from terminal_user import User, ended, read_until

from roost.cli.logs.file import NAME, LogFile
from roost.cli.logs.reading import Choice, Tail, newest, parse
from scripted_model.scenario import scenario


def written(path: Path, *lines: str, largest: int = 5_000_000) -> None:
    file = LogFile(path, largest=largest)
    for line in lines:
        file.emit(logging.LogRecord("x", 20, "", 1, line, (), None))
    file.close()


def as_json(message: str, **fields: str) -> str:
    return json.dumps({"level": "INFO", "message": message, **fields})


def read(tail: Tail) -> list[str]:
    return [line.raw for line in tail.new_lines()]


def test_turns_of_a_session_are_logged_and_found(user: User) -> None:
    user.model.use(scenario("one"))
    first = user.run("run", "--format", "json", "--", "hello").result
    user.model.use(scenario("two"))
    second = user.run("run", "--format", "json", "--", "hello").result
    lines = user.call("log", "-s", first["session"], "--json").lines
    assert [line["message"] for line in lines] == ["turn begins", "step ended", "turn ended"]
    assert {line["turn"] for line in lines} == {first["turn"]}
    assert lines[1]["step"].startswith("msg_")
    assert lines[1]["model"] == "test/scripted"
    assert lines[2]["outcome"] == "success"
    whole = user.call("log", "-n", "1000").out
    assert first["session"] in whole
    assert second["session"] in whole
    assert len(user.call("log", "-n", "2", "--json").lines) == 2
    nothing = user.call("log", "--level", "ERROR")
    assert (nothing.code, nothing.out) == (0, "")
    assert "nothing of that kind" in nothing.err


def test_the_log_is_followed_while_others_write(user: User) -> None:
    user.model.use(scenario("one"))
    watch = user.start("log", "--follow", "--json")
    assert watch.stdout is not None
    user.run("run", "--", "hello")
    seen = read_until(watch.stdout, '"message":"turn ended"')
    watch.terminate()
    assert ended(watch).code == 143
    lines = [json.loads(line) for line in seen.splitlines()]
    told = [line["message"] for line in lines if line["logger"] == "roost.runtime.turn_log"]
    assert told == ["turn begins", "step ended", "turn ended"]


def test_level_and_format_can_be_chosen_by_variables(user: User) -> None:
    user.model.use(scenario("one"))
    variables = {"ROOST_LOG_LEVEL": "debug", "ROOST_LOG_FORMAT": "text"}
    user.run("run", "--", "hello", env=variables)
    lines = (user.home / "data" / "log" / NAME).read_text().splitlines()
    assert any(" INFO  roost.runtime.turn_log: turn ended  session=ses_" in one for one in lines)
    assert len(user.call("log", "--level", "INFO", "--json").lines) >= 3
    wrong = user.call("log", env={"ROOST_LOG_LEVEL": "loud"})
    assert wrong.code == 2
    assert "ROOST_LOG_LEVEL is 'loud'" in wrong.err


def test_what_goes_on_with_a_line_goes_with_it() -> None:
    lines = [
        parse(raw)
        for raw in (
            as_json("one", session="ses_1"),
            as_json("two", session="ses_2"),
            "Fatal Python error: Segmentation fault",
            '  File "a.py", line 1',
            "2026-01-01T00:00:00.000Z ERROR roost.x: three  session=ses_1 turn=trn_1",
            "    Traceback",
        )
    ]
    chosen = newest(lines, 10, Choice(session="2"))
    assert [line.raw[:12] for line in chosen] == [lines[1].raw[:12], "Fatal Python", '  File "a.py']
    assert newest(lines, 1, Choice()) == lines[4:]
    assert newest(lines, 10, Choice(level="ERROR")) == lines[4:]
    assert newest(lines, 10, Choice(session="ses_1")) == [lines[0], *lines[4:]]


def test_a_tail_goes_through_files_that_are_set_aside(tmp_path: Path) -> None:
    path = tmp_path / NAME
    tail = Tail(path)
    assert read(tail) == []
    written(path, "one", "two")
    assert read(tail) == ["one", "two"]
    written(path, *(f"line {number}" for number in range(8)), largest=24)
    assert (tmp_path / f"{NAME}.1").exists()
    assert read(tail) == [f"line {number}" for number in range(8)]
    path.unlink()
    written(path, "anew")
    assert read(tail) == ["anew"]
    tail.close()


def test_a_line_that_is_still_being_written_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / NAME
    path.write_text("one\nha")
    tail = Tail(path)
    assert read(tail) == ["one"]
    with path.open("a") as more:
        more.write("lf\n")
    assert read(tail) == ["half"]
    tail.close()
