"""Scripts made by chance are run by bash itself, with no program to be found.

Whatever bash tries to start, wherever, and whatever file it opens for writing, the analysis must
have foreseen, unless it had a doubt.
"""

import os
import random
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from roost.permissions.shell_script import read_script
from roost.permissions.shell_unwrap import Invocation, Unwrapped, unwrap

BASH = shutil.which("bash") or "/bin/bash"
HANDLER = """
command_not_found_handle() {
  printf '%s\\0' "$PWD" "$@" 'END!' >> "$RLOG"
  return $((RANDOM % 2))
}
"""
NOT_PROGRAMS = {"bash", "env", "nice", "timeout", "nohup", "time", "!"}
"""What is looked for by its own name first, when bash does not know it as a keyword."""


class Author:
    """Writes a script that bash accepts, with all that can hide a command."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def pick(self, *options: str) -> str:
        return self.random.choice(options)

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def word(self, depth: int) -> str:
        inner = f"$({self.script(depth - 1)})" if depth > 0 else "q"
        kinds = [
            self.pick("a", "b", "-x", "x=y", "./f", "a.b"),
            "'" + self.pick("a b", "$(a)", "`", "x\ny", '"', "") + "'",
            f'"{self.pick("a b", "$v", "$(bar)", inner, chr(92) + "$(b)", "it is", "a$")}"',
            self.pick("\\a", "a\\ b", "\\;", "\\$x", '\\"', "a\\'b"),
            inner,
            "`" + self.pick("foo", "bar x", "foo;bar", "foo 'q'") + "`" if depth > 0 else "q",
            self.pick("$v", "${v}", "${v:-z}", "$HOME", "~", "~/q", "$((1+2))", "${#v}"),
            self.pick("$'a\\tb'", "$'it\\'s'", "{p,q}", "*", "?x", "[ab]", '$"t"'),
            f"<({self.script(depth - 1)})" if depth > 0 else "q",
        ]
        return self.pick(*kinds) + (self.pick("", "x", "'y z'", '"w"') if self.chance(0.2) else "")

    def target(self) -> str:
        return self.pick("/dev/null", "out1", "d/out2", "'o u'", "../w/out3", "./out$((1+1))")

    def simple(self, depth: int) -> str:
        if self.chance(0.16):
            return "cd " + self.pick("d", "e", "..", "d/d", "./d", "nope", "'d'")
        text = self.pick("foo", "bar", "baz", "\\foo", "'bar'", '"baz"', "f'o'o", "fo\\o")
        if self.chance(0.15):
            text = self.pick("env ", "nice ", "command ", "timeout 5 ", "! ", "A=1 ") + text
        for _ in range(self.random.randint(0, 3)):
            text += self.pick(" ", "  ", " \\\n ") + self.word(depth)
        if self.chance(0.25):
            text += self.pick(" > ", " >> ", " 2> ", " &> ") + self.target()
        return text + (self.pick(" 2>&1", " < /dev/null", " <<< x") if self.chance(0.2) else "")

    def command(self, depth: int) -> str:
        if depth <= 0 or self.chance(0.5):
            return self.simple(depth)
        inner, other = self.script(depth - 1), self.script(depth - 1)
        head = self.simple(0)
        return self.pick(
            f"({inner})",
            f"({inner}) > {self.target()}",
            f"{{ {inner}; }}",
            f"if {head}; then {inner}; else {other}; fi",
            f"if {head}\nthen {inner}\nelif {head}; then {other}; fi",
            f"for v in a 'b c'; do {inner}; done",
            f"case $v in a) {inner};; (x|y) {other};; *) {head};; esac",
            f"while {head}; do {inner}; break; done",
            f"fn{depth}() {{ {inner}; }}; fn{depth}",
            "bash -c '" + head.replace("'", "") + "'",
        )

    def script(self, depth: int) -> str:
        text = self.command(depth)
        for _ in range(self.random.choice([0, 0, 1, 1, 2])):
            text += self.pick("; ", " && ", " || ", "\n", " | ", " & ", "&&", " # c'\"(\n")
            text += self.command(depth)
        if self.chance(0.08) and "\n" not in text:
            mark = self.pick("E", "'E'", '"E"', "\\E", "-E")
            body = self.pick("text", "$v", "$(foo h)", "`bar h`", "E ", "'x", "E2", "\\$(baz)")
            text += f" <<{mark}\n{body}\nE\n" + (self.simple(0) if self.chance(0.5) else "")
        return text


class Stage:
    """Folders in which bash may do what it likes."""

    def __init__(self, tmp: Path) -> None:
        self.folder = tmp / "w"
        (self.folder / "d" / "d").mkdir(parents=True)
        (self.folder / "e").mkdir()
        self.handler = tmp / "handler"
        self.handler.write_text(HANDLER)
        self.log = tmp / "log"

    def run(self, script: str) -> None:
        environment = {
            "PATH": "/nonexistent",
            "BASH_ENV": str(self.handler),
            "RLOG": str(self.log),
            "HOME": "/home/me",
            "LC_ALL": "C.UTF-8",
            "v": "val",
        }
        subprocess.run(
            [BASH, "--norc", "-c", script],
            cwd=self.folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=10,
            check=False,
        )
        if "&" in script or "<(" in script:
            time.sleep(0.02)

    def started(self) -> Iterator[tuple[str, list[str]]]:
        data = self.log.read_bytes() if self.log.exists() else b""
        for record in data.split(b"END!\0")[:-1]:
            folder, *argv = (piece.decode("utf-8") for piece in record.split(b"\0")[:-1])
            yield folder, argv

    def written(self) -> set[str]:
        return {str(p) for p in self.folder.parent.rglob("*o*u*") if p.is_file()}


def foreseen(folder: str, argv: list[str], call: Invocation) -> bool:
    if not call.words or (call.folders is not None and folder not in call.folders):
        return False
    if all(word.exact for word in call.words) and not call.more:
        return [word.text for word in call.words] == argv
    return not call.words[0].exact or call.words[0].text == argv[0]


def foreseen_files(found: Unwrapped) -> set[str] | None:
    """None: a target is not known, which asks."""
    targets: set[str] = set()
    for redirect in (one for script in found.scripts for one in script.redirects):
        if not redirect.target.exact or redirect.folders is None:
            return None
        targets |= {os.path.normpath(Path(f) / redirect.target.text) for f in redirect.folders}
    return targets


@pytest.mark.parametrize("seed", range(120))
def test_bash_does_nothing_that_was_not_foreseen(seed: int, tmp_path: Path) -> None:
    author = Author(seed)
    script = author.script(2)
    stage = Stage(tmp_path)
    found = unwrap(read_script(script, str(stage.folder), "/home/me"), "/home/me")
    if found.doubt:
        return
    stage.run(script)
    for folder, argv in stage.started():
        if argv and argv[0] not in NOT_PROGRAMS:
            assert any(foreseen(folder, argv, call) for call in found.invocations), (script, argv)
    files = foreseen_files(found)
    assert files is None or stage.written() <= files, script
