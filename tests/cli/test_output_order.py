"""Where stdout and stderr go to one place, lines stand there in their order."""

import subprocess

from terminal_user import User


def test_what_stands_below_a_table_comes_behind_it(user: User) -> None:
    path = user.folder.parent / "all.txt"
    with path.open("w") as file:
        done = user.run("models", stdout=file, stderr=subprocess.STDOUT)
    assert done.code == 0
    shown = path.read_text()
    assert shown.index("test/scripted") < shown.index("WINDOW, ANSWER: most tokens")
