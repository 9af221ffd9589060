"""The terminal interfaces of OpenCode, unchanged, on Roost: a person works in them."""

from collections.abc import Generator
from pathlib import Path

import pytest
from opencode_packages import VERSIONS, opencode
from opencode_stage import SOURCE, Stage, stage
from opencode_terminal import Terminal

pytestmark = [pytest.mark.scenario, pytest.mark.timeout(300)]


@pytest.fixture(params=VERSIONS)
def work(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[tuple[Terminal, Stage]]:
    """An interface of that version before a server."""
    program = opencode(request.param).program
    with stage(tmp_path) as server:
        command = [str(program), "attach", server.url, "--dir", str(server.project)]
        with Terminal(command, cwd=server.project, environment=server.environment) as terminal:
            yield terminal, server


def say(terminal: Terminal, words: str, *answer: str) -> str:
    """Prompt, and wait for what is to be seen then."""
    terminal.write(words)
    terminal.keys("Enter")
    return terminal.see(*answer)


def test_a_person_works_in_the_interface_as_on_its_own_server(
    work: tuple[Terminal, Stage],
) -> None:
    terminal, server = work
    terminal.see("Ask anything", "Scripted")
    _runs_commands(terminal)
    _mends_a_file(terminal, server)
    _asks(terminal, server)
    _plans(terminal)
    _delegates(terminal)
    _is_asked_by_a_child(terminal, server)
    _runs_by_hand(terminal)
    _is_stopped(terminal)
    _takes_back(terminal, server)
    assert server.model.violations == []


def _runs_commands(terminal: Terminal) -> None:
    shown = say(terminal, "list the files", "There are app.py and more.", "▣  Build")
    assert "$ ls; echo more" in shown
    assert "README.md" in shown
    assert "I list the files." in shown
    terminal.see("A short title")


def _mends_a_file(terminal: Terminal, server: Stage) -> None:
    shown = say(terminal, "mend the sum", "It adds now.", "← Edit app.py")
    assert "→ Read app.py" in shown
    assert "3 -     return a - b" in shown
    assert "3 +     return a + b" in shown
    assert "a + b" in (server.project / "app.py").read_text()
    terminal.see("Modified Files")


def _asks(terminal: Terminal, server: Stage) -> None:
    say(terminal, "ask me", "Which colour do you like?", "2. Blue")
    terminal.keys("Down", "Enter")
    terminal.see("You have chosen.", "# Questions", "Blue")
    say(terminal, "touch a file", "Permission required", "Allow once")
    assert not (server.project / "made.txt").exists()
    terminal.keys("Enter")
    terminal.see("It is made.", "(no output)")
    assert (server.project / "made.txt").exists()


def _plans(terminal: Terminal) -> None:
    say(terminal, "plan it", "It is planned.", "# Todos", "[•] T1 First thing")
    terminal.see("[ ] T2 Second thing")


def _delegates(terminal: Terminal) -> None:
    shown = say(terminal, "delegate it", "The helper found 42.", "General Task — Count things")
    assert "1 toolcall" in shown
    assert "The child counted" not in shown
    terminal.keys("C-x", "Down")
    terminal.see("The child counted 42 things.", "from-the-child")
    terminal.keys("Up")
    terminal.see("The helper found 42.")


def _is_asked_by_a_child(terminal: Terminal, server: Stage) -> None:
    say(terminal, "entrust it", "Permission required", "$ touch helped.txt")
    terminal.keys("Enter")
    terminal.see_gone("Permission required")
    terminal.see(
        "You said <notice", "A helper is at work."
    )  # the child's end is news to its parent
    assert (server.project / "helped.txt").exists()


def _runs_by_hand(terminal: Terminal) -> None:
    terminal.press_until("!", "exit shell mode")
    say(terminal, "echo by-$((40+2))", "by-42")
    terminal.see("Build · Scripted")


def _is_stopped(terminal: Terminal) -> None:
    say(terminal, "sleep long", "sleep 600", "esc interrupt")
    say(terminal, "hello again", "QUEUED")
    terminal.press_until("Escape", "esc again")
    terminal.press_until("Escape", "interrupted")
    terminal.see("You said hello.")


def _takes_back(terminal: Terminal, server: Stage) -> None:
    new = server.project / "new.py"
    say(terminal, "write a file", "It is written.", "▣  Build")
    assert new.exists()
    terminal.write("/undo")
    terminal.see("Undo previous message")
    terminal.keys("Enter")
    terminal.see("1 message reverted")
    terminal.see_gone("It is written.")
    assert not new.exists()
    assert (server.project / "app.py").read_text() != SOURCE
    terminal.keys("C-u")
    terminal.write("/redo")
    terminal.see("/redo ", "Redo")
    terminal.keys("Enter")
    terminal.see("It is written.")
    assert new.exists()
