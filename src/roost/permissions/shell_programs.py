"""What is known of programs: which only read, which write, and which of their words are paths.

A program stands in `READERS` only if no option but the refused ones lets it write, run other
programs or use the network. Interpreters, package managers and awk are not here: their arguments
are code.
"""

from typing import Final

from msgspec import Struct


class Program(Struct, frozen=True):
    """How to read the arguments of a program."""

    values: str = ""
    """Letters of options whose value stands in the next word unless it is attached. An option whose
    value can only be attached is not here: it would swallow the word behind it."""
    long: tuple[str, ...] = ()
    """The same for long options."""
    text: int = 0
    """Operands at the start that are no paths; -1: none is a path."""
    pattern_options: tuple[str, ...] = ()
    """Options that take the place of the first operand."""
    refused: tuple[str, ...] = ()
    """Options with which it does more than read."""
    limit: int | None = None
    """More operands than this and it writes."""


_TEXT: Final = Program(text=-1)
_FILES: Final = Program()

READERS: Final[dict[str, Program]] = {
    **dict.fromkeys(("echo", "true", "false", ":", "expr", "seq", "sleep", "tr"), _TEXT),
    **dict.fromkeys(("basename", "dirname", "whoami", "id", "groups", "uname", "arch"), _TEXT),
    **dict.fromkeys(("nproc", "uptime", "free", "which", "type", "tty", "pwd", "locale"), _TEXT),
    **dict.fromkeys(("exit", "return", "break", "continue", "shift"), _TEXT),
    **dict.fromkeys(("cat", "tac", "rev", "wc", "comm", "cmp", "readlink", "realpath"), _FILES),
    **dict.fromkeys(("md5sum", "sha1sum", "sha224sum", "sha256sum", "sha512sum"), _FILES),
    **dict.fromkeys(("cksum", "b2sum", "base32", "expand", "unexpand"), _FILES),
    "base64": Program(values="bow", refused=("-o", "--output")),  # macOS writes there
    "ls": Program(values="ITw"),
    "head": Program(values="nc", long=("--lines", "--bytes")),
    "tail": Program(values="ncs", long=("--lines", "--bytes")),
    "cut": Program(values="bcdf"),
    "paste": Program(values="d"),
    "fold": Program(values="w"),
    "nl": Program(values="bdfhilnsvw"),
    "join": Program(values="aejotv12"),
    "column": Program(values="cEHNoOpRsTWril"),
    "stat": Program(values="c", long=("--format", "--printf")),
    "du": Program(values="dBtX", long=("--max-depth", "--exclude")),
    "df": Program(values="Btx"),
    "diff": Program(values="CUIxXLWFSD"),
    "uniq": Program(values="fsw", limit=1),
    "sort": Program(
        values="ktTSo", refused=("-o", "--output", "--compress-program", "--files0-from")
    ),
    "shuf": Program(values="ino", refused=("-o", "--output")),
    "grep": Program(
        values="ABCmefdD",
        long=("--regexp", "--file", "--max-count", "--context"),
        text=1,
        pattern_options=("-e", "-f", "--regexp", "--file"),
    ),
    "rg": Program(
        values="ABCegfmMtTjEdr",
        long=("--glob", "--type", "--max-count", "--context", "--regexp", "--sort", "--max-depth"),
        text=1,
        pattern_options=("-e", "-f", "--regexp", "--file", "--files", "--type-list"),
        refused=("--pre", "--pre-glob", "--hostname-bin", "-z", "--search-zip", "-L", "--follow"),
    ),
    "file": Program(
        values="mfFeP",
        refused=("-C", "--compile", "-m", "--magic-file", "-z", "-Z", "-f", "--files-from"),
    ),
    "strings": Program(values="ntesTw"),
    "od": Program(values="AjNtS"),
    "hexdump": Program(values="efns"),
    "xxd": Program(values="cglnosR", limit=1),
    "tree": Program(values="LPIoHT", refused=("-o", "--output", "-R", "-l")),
    "jq": Program(
        values="fL",
        long=("--arg", "--argjson", "--indent", "--slurpfile", "--rawfile", "--from-file"),
        text=1,
        pattern_options=("-f", "--from-file"),
        refused=("-L", "--library-path", "--slurpfile", "--rawfile", "--argfile"),
    ),
}
READERS["egrep"] = READERS["fgrep"] = READERS["grep"]

WRITERS: Final[dict[str, Program]] = {
    **dict.fromkeys(("rm", "rmdir", "unlink", "tee", "shred"), _FILES),
    "mkdir": Program(values="m"),
    "touch": Program(values="dtr"),
    "cp": Program(values="tS"),
    "mv": Program(values="tS"),
    "ln": Program(values="tS"),
    "install": Program(values="gmotS"),
    "chmod": Program(text=1),
    "chown": Program(text=1),
    "chgrp": Program(text=1),
    "truncate": Program(values="sr"),
    "rsync": Program(values="efTB"),
}
"""Programs whose operands are files that they change."""

TARGET_LAST: Final = {"cp", "ln", "install", "rsync"}
"""Those that only read all operands but the last."""

VERSIONED: Final = {
    *("python", "python3", "pip", "pip3", "node", "npm", "ruby", "perl", "php", "java"),
    *("gcc", "g++", "clang", "make", "cmake", "git", "rg", "jq", "bash", "sh", "uv", "ruff"),
    *("docker", "sqlite3", "curl", "wget", "tar", "sed", "awk", "grep", "find"),
}
"""Programs that print their version and do nothing else when asked by `--version`.

Not cargo, rustc, go, yarn, pnpm: they look into the folder and may fetch or run what it names.
"""

SHORT_VERSION: Final = {("python", "-V"), ("python3", "-V"), ("node", "-v"), ("npm", "-v")}
"""The same by a letter. For most programs that letter means something else: `bash -v` runs code."""

FILTERS: Final = {"head", "tail", "sort", "uniq", "grep", "egrep"}
"""Programs that pass on some of the lines they get."""
