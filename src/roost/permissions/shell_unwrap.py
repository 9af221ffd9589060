"""Looks through programs that run another one: `env`, `timeout`, `xargs`, `sh -c`, `find -exec`.

Rules are about what is run in the end. A wrapper that does nothing itself is judged by what it
runs; one that adds power, as `sudo` does, has to be allowed as well.
"""

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

import msgspec
from msgspec import Struct

from roost.permissions.shell_script import parsed_script
from roost.permissions.shell_words import (
    Assignment,
    Folders,
    Script,
    Word,
    plain_word,
    unknown_word,
)

_MAX_DEPTH: Final = 6
_SYSTEM: Final = {"/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin", "/opt/homebrew/bin"}
SHELLS: Final = {"bash", "sh", "dash", "zsh", "ksh", "ash"}
_QUIET_SHELL: Final = re.compile(r"-[ceux]+|-o|pipefail")


class Wrapper(Struct, frozen=True):
    """How to find what a wrapper runs."""

    flags: str = ""
    """Letters of options without a value; any other option makes it unclear what runs."""
    values: str = ""
    long: tuple[str, ...] = ()
    """Long options without a value, or with one after `=`."""
    operands: int = 0
    """Words of its own in front of the command."""
    transparent: bool = True
    """It does nothing itself."""


_WRAPPERS: Final = {
    "!": Wrapper(),
    "command": Wrapper(flags="p"),
    "builtin": Wrapper(),
    "exec": Wrapper(flags="cl", values="a", transparent=False),
    "nohup": Wrapper(),
    "setsid": Wrapper(flags="cfw", long=("--fork", "--wait", "--ctty")),
    "time": Wrapper(flags="p"),
    "nice": Wrapper(values="n", flags="0123456789", long=("--adjustment",)),
    "ionice": Wrapper(values="cn", flags="t", long=("--class", "--classdata")),
    "timeout": Wrapper(
        flags="v",
        values="ks",
        long=("--foreground", "--preserve-status", "--signal", "--kill-after", "--verbose"),
        operands=1,
    ),
    "stdbuf": Wrapper(values="ioe", long=("--input", "--output", "--error")),
    "chronic": Wrapper(),
    "unbuffer": Wrapper(),
    "caffeinate": Wrapper(flags="dimsu", values="t"),
    "env": Wrapper(flags="i0v", values="u", long=("--ignore-environment", "--unset")),
    "xargs": Wrapper(
        flags="0rtx",
        values="dEILnPs",
        long=("--null", "--no-run-if-empty", "--max-args", "--max-procs", "--delimiter"),
    ),
    "busybox": Wrapper(),
    "toybox": Wrapper(),
    "sudo": Wrapper(flags="AbEeHknPSsi", values="ughpCrtTUDR", transparent=False),
    "doas": Wrapper(flags="Lns", values="uC", transparent=False),
    "watch": Wrapper(flags="bcdegptwx", values="nq", transparent=False),
    "flock": Wrapper(flags="senuxF", values="wE", operands=1, transparent=False),
    "chroot": Wrapper(operands=1, transparent=False),
}
_ASSIGNING: Final = {"env", "sudo", "doas", "time", "!"}
"""Wrappers that take `name=value` in front of the command."""
_CODE: Final = {"eval", "trap", "su", "watch", "script"}
"""Programs that take shell code in a word; it is read for what it must not do."""


class Invocation(Struct, frozen=True):
    """A program that is run, with what is around it."""

    words: tuple[Word, ...]
    assignments: tuple[Assignment, ...] = ()
    folders: Folders = None
    feeder: "Invocation | None" = None
    """Whose output it reads."""
    covers: tuple[str, ...] = ()
    """The commands it is wrapped in, as text."""
    more: bool = False
    """It gets more arguments than can be seen, from `fed_by`."""
    fed_by: "Invocation | None" = None
    """Whose output these arguments are; None: it is not known."""

    @property
    def name(self) -> str:
        """The program without its folder; empty when it is not known."""
        return program_name(self.words[0]) if self.words else ""

    @property
    def text(self) -> str:
        """As rules see it: words joined by one blank, programs of the system without folder."""
        if not self.words:
            return " ".join(f"{one.name}={one.value.shown}" for one in self.assignments)
        first, *rest = self.words
        shown = plain_word(self.name).shown if is_system(first) and self.name else first.shown
        return " ".join([shown, *(word.shown for word in rest)])


def program_name(word: Word) -> str:
    """The last part of a program's path, or nothing when the path is not known."""
    return word.text.rpartition("/")[2] if word.exact else ""


def is_system(word: Word) -> bool:
    """Whether the name means the program that everybody means by it."""
    folder, slash, _ = word.text.rpartition("/")
    return word.exact and (not slash or folder in _SYSTEM)


class Unwrapped(Struct, frozen=True):
    """Everything a command line runs."""

    invocations: tuple[Invocation, ...]
    scripts: tuple[Script, ...]
    """The command line and the code found in its words."""
    doubt: str = ""


def unwrap(script: Script, home: str) -> Unwrapped:
    """All invocations of `script`, innermost last; never raises."""
    work = _Unwrapping(home)
    work.script(script, (), 0)
    return Unwrapped(tuple(work.found), tuple(work.scripts), next(iter(work.doubts), ""))


class _Unwrapping:
    def __init__(self, home: str) -> None:
        self.home = home
        self.found: list[Invocation] = []
        self.scripts: list[Script] = []
        self.doubts: list[str] = []

    def script(self, script: Script, covers: tuple[str, ...], depth: int) -> None:
        self.scripts.append(script)
        if script.doubt:
            self.doubts.append(script.doubt)
        calls: list[Invocation] = []
        for simple in script.commands:
            feeder = calls[simple.feeder] if simple.feeder is not None else None
            calls.append(
                Invocation(simple.words, simple.assignments, simple.folders, feeder, covers)
            )
        for call in calls:
            self.one(call, depth)

    def one(self, call: Invocation, depth: int) -> None:
        """Add `call`, or what it runs, or both."""
        if depth > _MAX_DEPTH:
            self.doubts.append("it is wrapped too deeply")
            self.found.append(call)
            return
        name = call.name
        if name == "command" and [w.text for w in call.words[1:2]] in (["-v"], ["-V"]):
            self.found.append(call)
        elif name == "coproc":
            self.doubts.append("it starts a coprocess")
            self.found += [call, _inside(call, call.words[1:], ())]
        elif name in SHELLS:
            self._shell(call, depth)
        elif name == "find":
            self._find(call, depth)
        elif name in _CODE:
            self._code(call, depth)
        elif (wrapper := _WRAPPERS.get(name)) is not None:
            self._wrapper(call, wrapper, depth)
        else:
            self.found.append(call)

    def _wrapper(self, call: Invocation, wrapper: Wrapper, depth: int) -> None:
        start, clear = _inner_start(call, wrapper)
        rest = call.words[start:]
        if not clear or not rest:
            self.found.append(call)
            if not clear:
                self.doubts.append(f"what {call.name} runs is not clear")
                return
        if not rest:
            return
        if not wrapper.transparent or not is_system(call.words[0]):
            self.found.append(call)
        given, rest = _assignments(rest) if call.name in _ASSIGNING else ((), rest)
        if rest:
            inner = _inside(call, rest, given)
            self.one(_more_from_input(call, inner) if call.name == "xargs" else inner, depth + 1)
        else:
            self.found.append(call)

    def _shell(self, call: Invocation, depth: int) -> None:
        flags = [index for index, word in enumerate(call.words) if _takes_code(word)]
        code = call.words[flags[0] + 1] if flags and flags[0] + 1 < len(call.words) else None
        if code is None or not code.exact:
            self.found.append(call)
            return
        own = [*call.words[1 : flags[0] + 1], *call.words[flags[0] + 2 :]]
        quiet = all(_QUIET_SHELL.fullmatch(word.text) and word.exact for word in own)
        if not quiet or not is_system(call.words[0]) or call.assignments:
            self.found.append(call)
        script = parsed_script(code.text, call.folders, self.home)
        self.script(script, (*call.covers, call.text), depth + 1)

    def _code(self, call: Invocation, depth: int) -> None:
        self.found.append(call)
        words = call.words[1:]
        if call.name == "trap":
            words = words[:1]
        elif call.name in {"su", "script"}:
            words = [w for before, w in pairwise(words) if before.text == "-c"]
        if words and all(word.exact for word in words):
            code = " ".join(word.text for word in words)
            script = parsed_script(code, call.folders, self.home)
            self.script(script, (*call.covers, call.text), depth + 1)
        if call.name != "script":
            self.doubts.append(f"{call.name} runs code from a text")

    def _find(self, call: Invocation, depth: int) -> None:
        self.found.append(call)
        words = list(call.words)
        while words:
            word = words.pop(0)
            if word.text not in {"-exec", "-execdir", "-ok", "-okdir"}:
                continue
            ends = [i for i, w in enumerate(words) if w.exact and w.text in {";", "+"}]
            inner = [_filled(w) for w in words[: ends[0] if ends else len(words)]]
            del words[: len(inner)]
            if inner:
                found = _inside(call, inner, (), known_folder=word.text in {"-exec", "-ok"})
                fed = msgspec.structs.replace(found, more=True, fed_by=call)
                self.one(fed, depth + 1)


def _inside(
    call: Invocation,
    words: Sequence[Word],
    assignments: tuple[Assignment, ...],
    *,
    known_folder: bool = True,
) -> Invocation:
    return msgspec.structs.replace(
        call,
        words=tuple(words),
        assignments=(*call.assignments, *assignments),
        folders=call.folders if known_folder else None,
        covers=(*call.covers, call.text),
    )


def _filled(word: Word) -> Word:
    """The place where a path is filled in; a path with something added is not known at all."""
    if word.text == "{}":
        return Word(word.text, exact=False, pipe=True)
    return unknown_word(word.text) if "{}" in word.text else word


def _takes_code(word: Word) -> bool:
    return word.exact and re.fullmatch(r"-[a-zA-Z]*c[a-zA-Z]*", word.text) is not None


def _more_from_input(call: Invocation, inner: Invocation) -> Invocation:
    """What xargs runs: with more words at its end, or in place of the mark of `-I`."""
    marks = [w.text.removeprefix("-I") for w in call.words if w.text.startswith("-I")]
    following = [b.text for a, b in pairwise(call.words) if a.text == "-I"]
    mark = next((one for one in (*following, *marks) if one), "")
    words = inner.words
    if mark:
        words = tuple(_filled(Word(w.text.replace(mark, "{}"), w.exact, w.stem)) for w in words)
    return msgspec.structs.replace(inner, words=words, more=True, fed_by=call.feeder)


def _assignments(words: Sequence[Word]) -> tuple[tuple[Assignment, ...], Sequence[Word]]:
    given: list[Assignment] = []
    for index, word in enumerate(words):
        name, equals, value = word.text.partition("=")
        if not equals or not re.fullmatch(r"[A-Za-z_]\w*", name):
            return tuple(given), words[index:]
        known = plain_word(value) if word.exact else unknown_word(value)
        given.append(Assignment(name, known))
    return tuple(given), ()


def _inner_start(call: Invocation, wrapper: Wrapper) -> tuple[int, bool]:
    """Where the wrapped command begins, and whether that is clear."""
    at, words = 1, call.words
    while at < len(words):
        word = words[at]
        if not word.exact:
            return at, word.stem[:1] not in {"", "-"}
        if word.text == "--":
            at += 1
            break
        if not re.match(r"-.", word.text):
            break
        step = _option_width(word.text, wrapper)
        if step is None:
            return at, False
        at += step
    return at + wrapper.operands, True


def _option_width(text: str, wrapper: Wrapper) -> int | None:
    """How many words the option takes; None: it is not known."""
    if text.startswith("--"):
        return 1 if text.partition("=")[0] in wrapper.long else None
    for index, letter in enumerate(text[1:], start=2):
        if letter in wrapper.values:
            return 1 if index < len(text) else 2
        if letter not in wrapper.flags:
            return None
    return 1
