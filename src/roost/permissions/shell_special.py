"""Programs that only read if their arguments say so, each with its own check."""

import re
from typing import Final

from roost.permissions.shell_git import git_use
from roost.permissions.shell_options import arguments
from roost.permissions.shell_unwrap import Invocation
from roost.permissions.shell_use import (
    Special,
    Use,
    harmless,
    loose_paths,
    option_paths,
)
from roost.permissions.shell_words import Assignment, Word, plain_word

_FIND: Final[dict[str, int]] = {
    **dict.fromkeys(("-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename"), 1),
    **dict.fromkeys(("-regex", "-iregex", "-regextype", "-type", "-xtype", "-size", "-perm"), 1),
    **dict.fromkeys(("-mtime", "-mmin", "-atime", "-amin", "-ctime", "-cmin", "-user"), 1),
    **dict.fromkeys(("-group", "-uid", "-gid", "-links", "-inum", "-lname", "-ilname"), 1),
    **dict.fromkeys(("-maxdepth", "-mindepth", "-printf", "-newermt", "-fstype"), 1),
    **dict.fromkeys(("-print", "-print0", "-ls", "-prune", "-quit", "-empty", "-depth"), 0),
    **dict.fromkeys(("-xdev", "-mount", "-daystart", "-noleaf", "-true", "-false"), 0),
    **dict.fromkeys(("-not", "-a", "-and", "-o", "-or", "!", "(", ")", ",", "-readable"), 0),
    **dict.fromkeys(("-writable", "-executable", "-nouser", "-nogroup"), 0),
}
_FIND_FILES: Final = {"-newer", "-anewer", "-cnewer", "-samefile"}

_ADDRESS: Final = r"(?:\d+(?:~\d+)?|\$|/(?:[^/\\\n]|\\.)+/I?)"
_REPLACE: Final = (
    r"s(?P<d>[/|#,:@!+])(?:(?!(?P=d))[^\\\n]|\\.)*(?P=d)(?:(?!(?P=d))[^\\\n]|\\.)*(?P=d)[gpiIM\d]*"
)
_SED_STEP: Final = re.compile(
    rf"\s*(?:{_ADDRESS}(?:,[+~]?{_ADDRESS})?)?\s*!?\s*(?:{_REPLACE}|[pdqQ=lnNPDgGhHx]|[qQ]\d+)\s*"
)
_SED_GAP: Final = re.compile(r"[;\n]")
_SHOWS_DATE: Final = re.compile(
    r"-[uR]+|--(?:utc|universal|rfc-email)|-I[a-z]*|--iso-8601(?:=\w+)?|--rfc-3339=\w+"
    r"|\+.*|-u?d.+|--date=.*",
    re.DOTALL,
)
_SET: Final = re.compile(r"[-+][euxvf]*o?|errexit|nounset|xtrace|pipefail|verbose|noglob")
_TAR_LIST: Final = re.compile(r"-?t[vzjJ]*f|-?[vzjJ]*tf")


def _cd(call: Invocation) -> Use:
    operands = [word for word in call.words[1:] if word.text != "--"]
    clear = len(operands) <= 1 and all(w.exact and w.text[:1] != "-" for w in operands)
    return Use(clear, tuple(operands) if clear else ())


def _find(call: Invocation) -> Use:
    words = list(call.words[1:])
    while words and words[0].text in {"-P", "-H"}:
        words.pop(0)
    starts: list[Word] = []
    while words and not (words[0].exact and words[0].text[:1] in {"-", "(", "!"}):
        starts.append(words.pop(0))
    reads, safe = starts or [plain_word(".")], True
    while words:
        word = words.pop(0)
        if word.text in {"-exec", "-ok"}:
            safe = safe and word.text == "-exec"
            while words and words.pop(0).text not in {";", "+"}:
                continue
        elif word.text in _FIND_FILES and words:
            reads.append(words.pop(0))
        else:
            arity = _FIND.get(word.text) if word.exact else None
            values, words = words[: arity or 0], words[arity or 0 :]
            # A pattern with a dot in it cannot become the name of an action.
            known = all(w.exact or (w.glob and "." in w.text) for w in values)
            safe = safe and arity is not None and known
    return Use(safe, tuple(reads))


def _sed(call: Invocation) -> Use:
    given = arguments(call.words[1:], values="efl", long=("--expression", "--file"))
    scripts = given.values("-e", "--expression")
    paths = given.operands
    if not scripts:
        scripts, paths = list(paths[:1]), paths[1:]
    refused = given.has("-i", "--in-place", "-f", "--file") or not given.certain
    safe = bool(scripts) and all(one.exact and _only_prints(one.text) for one in scripts)
    return Use(safe and not refused, paths)


def _only_prints(script: str) -> bool:
    """Whether a sed script has no command that writes a file or runs a program."""
    at = 0
    while at < len(script):
        step = _SED_STEP.match(script, at)
        if step is None:
            return False
        at = step.end()
        if at < len(script):
            if not _SED_GAP.match(script, at):
                return False
            at += 1
    return True


def _date(call: Invocation) -> Use:
    """Any other word could set the clock."""
    words = list(call.words[1:])
    reads: list[Word] = []
    safe = True
    while words:
        word = words.pop(0)
        if word.text in {"-d", "--date"} and words:
            words.pop(0)
        elif word.text in {"-r", "--reference"} and words:
            reads.append(words.pop(0))
        else:
            safe = (
                safe and _SHOWS_DATE.fullmatch(word.text if word.exact else word.stem) is not None
            )
    return Use(safe, tuple(reads))


def _test(call: Invocation) -> Use:
    """`-v` and `-R` take a name that may hold code in its index."""
    return Use(all(_tests_value(word) for word in call.words))


def _tests_value(word: Word) -> bool:
    return word.text not in {"-v", "-R"} if word.exact else word.stem[:1] not in {"", "-"}


def _printf(call: Invocation) -> Use:
    first = call.words[1] if len(call.words) > 1 else None
    return Use(first is None or (first.exact and not first.text.startswith("-v")))


def _set(call: Invocation) -> Use:
    words = call.words[1:]
    return Use(bool(words) and all(w.exact and _SET.fullmatch(w.text) for w in words))


def _ps(call: Invocation) -> Use:
    """Without what shows the environment of processes."""
    texts = [word.text for word in call.words[1:]]
    known = all(word.exact for word in call.words)
    # In the old style of options, which `-aux` is too, `e` asks for the environment.
    shows = ["environ" in t or "E" in t or ("e" in t and (t[0] != "-" or "x" in t)) for t in texts]
    return Use(known and not any(shows))


def _command(call: Invocation) -> Use:
    return Use(any(word.text in {"-v", "-V"} for word in call.words[1:2]))


def _read(call: Invocation) -> Use:
    given = arguments(call.words[1:], values="adinNptu")
    names = [*given.operands, *given.values("-a")]
    set_by_it = [Assignment(word.text, plain_word("")) for word in names]
    return Use(given.certain and all(w.exact for w in names) and all(map(harmless, set_by_it)))


def _declare(call: Invocation) -> Use:
    """Assignments that are quoted are not among those of the invocation: names are checked here."""
    names = [word for word in call.words[1:] if "=" not in word.text]
    plain = all(word.exact and re.fullmatch(r"\w+", word.text) for word in names)
    exported = call.name == "unset" or not names
    bare = [Assignment(word.text, plain_word("")) for word in names]
    given = [_quoted(word) for word in call.words[1:] if "=" in word.text]
    safe = plain and (exported or call.name == "local") and all(map(harmless, bare))
    return Use(safe and all(one is not None and harmless(one) for one in given))


def _quoted(word: Word) -> Assignment | None:
    """`word` as the assignment that it is for `declare`; None: its name is not known."""
    name = re.match(r"([A-Za-z_]\w*)\+?=", word.text if word.exact else word.stem or word.text)
    return Assignment(name[1], plain_word(word.text[name.end() :])) if name else None


def _wait(call: Invocation) -> Use:
    """`-p` takes a name that may hold code in its index."""
    return Use(all(re.fullmatch(r"-[fn]|%?\w+|\$!", word.text) for word in call.words[1:]))


def _hostname(call: Invocation) -> Use:
    return Use(all(re.fullmatch(r"-[sfidIA]", word.text) for word in call.words[1:]))


def _tar(call: Invocation) -> Use:
    words = call.words[1:]
    listing = bool(words) and words[0].exact and _TAR_LIST.fullmatch(words[0].text) is not None
    rest = words[1:]
    # A colon names another machine.
    local = all(w.exact and w.text[:1] != "-" and ":" not in w.text for w in rest)
    return Use(listing and local, rest)


def _unzip(call: Invocation) -> Use:
    given = arguments(call.words[1:])
    return Use(given.has("-l", "-v", "-Z") and given.certain, given.operands)


def _fd(call: Invocation) -> Use:
    given = arguments(call.words[1:], values="edEtScj")
    running = given.has("-x", "-X", "--exec", "--exec-batch", "-L", "--follow")
    paths = (*given.operands[1:], *option_paths(given), *loose_paths(given.operands[:1]))
    return Use(given.certain and not running, paths)


SPECIAL: Final[dict[str, Special]] = {
    "cd": _cd,
    "find": _find,
    "git": git_use,
    "sed": _sed,
    "date": _date,
    "test": _test,
    "[": _test,
    "printf": _printf,
    "set": _set,
    "ps": _ps,
    "command": _command,
    "read": _read,
    "hostname": _hostname,
    "tar": _tar,
    "unzip": _unzip,
    "fd": _fd,
    "wait": _wait,
    **dict.fromkeys(("export", "local", "readonly", "declare", "typeset", "unset"), _declare),
}
