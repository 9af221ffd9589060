"""What one invocation destroys, and which processes it ends."""

import re
from typing import Final

from msgspec import Struct

from roost.permissions.shell_git import git_loss
from roost.permissions.shell_options import arguments
from roost.permissions.shell_unwrap import Invocation
from roost.permissions.shell_words import Word

_DELETERS: Final = {"rm": "", "rmdir": "", "unlink": "", "shred": "ns", "truncate": "sr"}
_DISKS: Final = re.compile(r"mkfs(\..+)?|mke2fs|wipefs|fdisk|sfdisk|sgdisk|parted|blkdiscard")
_BY_NAME: Final = {"pkill", "killall", "killall5", "skill", "taskkill", "xkill"}
_MACHINE: Final = {"shutdown", "reboot", "halt", "poweroff", "init"}


class Loss(Struct, frozen=True):
    """Something that may be gone afterwards."""

    paths: tuple[Word, ...] = ()
    """Empty: not told by paths, as with `git reset --hard`."""
    remote: bool = False
    """On another machine."""
    whole: bool = False
    """More than files of a project: a disk."""


class Kill(Struct, frozen=True):
    """Processes that are ended."""

    by_name: bool = False
    """Everything that has a name or pattern, or all there is: the agent itself may be among it."""
    pids: tuple[int, ...] = ()
    parent: bool = False
    """The process that started the shell."""


def loss_of(call: Invocation) -> Loss | None:
    """What `call` destroys, as far as it can be seen."""
    name = call.name
    if name in _DELETERS:
        given = arguments(call.words[1:], values=_DELETERS[name])
        return Loss((*(word for word in given.operands if not word.pipe), *_unseen(call)))
    if name == "find":
        return Loss(_find_starts(call)) if any(w.text == "-delete" for w in call.words) else None
    if name == "dd":
        targets = [_after(w, "of=") for w in call.words if w.text.startswith("of=")]
        return Loss(tuple(targets)) if targets else None
    if name == "rsync":
        given = arguments(call.words[1:], values="efTB")
        deleting = any(w.text.startswith(("--del", "--remove-source")) for w in call.words)
        return Loss(given.operands[-1:]) if deleting else None
    if _DISKS.fullmatch(name):
        return Loss(call.words[1:], whole=True)
    if name == "git" and (lost := git_loss(call.words[1:])) is not None:
        return Loss(lost.paths, remote=lost.remote)
    return None


def _unseen(call: Invocation) -> tuple[Word, ...]:
    """What is deleted because another command found it."""
    if not call.more:
        return ()
    if call.fed_by is not None and call.fed_by.name == "find":
        return _find_starts(call.fed_by)
    return (Word("what it is given", exact=False),)


def _after(word: Word, prefix: str) -> Word:
    text = word.text.removeprefix(prefix)
    return Word(text, word.exact, word.stem.removeprefix(prefix), word.glob)


def _find_starts(call: Invocation) -> tuple[Word, ...]:
    starts: list[Word] = []
    for word in call.words[1:]:
        if word.text in {"-H", "-L", "-P"}:
            continue
        if word.exact and word.text[:1] in {"-", "(", "!"}:
            break
        starts.append(_below(word))
    return tuple(starts) or (_below(Word(".", stem=".")),)


def _below(folder: Word) -> Word:
    """What is in a folder, which is less than the folder itself."""
    if not folder.exact:
        return folder
    return Word(f"{folder.text}/*", exact=False, stem=f"{folder.text}/", glob=True)


def kill_of(call: Invocation) -> Kill | None:
    """Whose end `call` is."""
    name = call.name
    texts = [word.text for word in call.words[1:]]
    if name in _BY_NAME:
        return None if name == "killall" and "-l" in texts else Kill(by_name=True)
    if name in _MACHINE:
        return Kill(by_name=True)
    if name in {"tmux", "screen"} and any(t in {"kill-server", "quit", "kill"} for t in texts):
        return Kill(by_name=True)
    if name == "fuser":
        return Kill(by_name=True) if any(re.match(r"-\w*k", t) for t in texts) else None
    return _kill(call) if name == "kill" else None


def _kill(call: Invocation) -> Kill | None:
    words = list(call.words[1:])
    if words and words[0].text in {"-l", "-L", "--list", "--table"}:
        return None
    if words and words[0].exact and re.match(r"-[^-]", words[0].text):
        option = words.pop(0).text
        del words[: 1 if option in {"-s", "-n"} else 0]
    targets = [word for word in words if word.text != "--"]
    pids = tuple(int(w.text) for w in targets if w.exact and re.fullmatch(r"-?\d{1,9}", w.text))
    jobs = [w for w in targets if re.fullmatch(r"%\S*|\$!|\$\{!\}", w.text)]
    known = len(pids) + len(jobs) == len(targets) and not call.more
    # -1 is every process there is; 0 and other negative numbers are groups.
    by_name = not known or any(pid in {-1, 1} for pid in pids)
    return Kill(by_name, pids, any("PPID" in word.text for word in targets))
