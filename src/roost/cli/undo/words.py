"""What undo and redo did, or would do, in words. Pure."""

from collections.abc import Sequence
from typing import Final, Literal

from roost.cli.table import cut_to, one_line
from roost.cli.terminal import Colour, Look
from roost.core.text import terminal_safe
from roost.runtime.undo_change import Undone
from roost.sessions.undo_store import Prompt
from roost.workspace.snapshot_models import Action, FileOutcome

Way = Literal["back", "forth"]
"""Back: to before what was said. Forth: to after it again."""
_TEXT: Final = 60
"""Cells of a prompt that are shown."""
_LEAST: Final = 20
"""The same where there is little room."""
_NO_WORDS: Final = "a prompt without words of yours"
_FILES: Final = 40
"""Files of each kind that are shown by name."""
_DOES: Final[dict[Action, tuple[str, str]]] = {
    "restored": ("restore", "restored"),
    "created": ("bring back", "brought back"),
    "deleted": ("delete", "deleted"),
    "merged": ("change", "changed"),
}
"""What is done to a file: as it would be, and as it was."""
_YOURS: Final = "what was changed since stays"


def shown(text: str, most: int = _TEXT) -> str:
    """A prompt in few words, `most` cells of them."""
    words = cut_to(one_line(text), most)
    return f"“{words}”" if words else _NO_WORDS


def lines(done: Undone, said: Sequence[str], way: Way, look: Look, *, preview: bool) -> list[str]:
    """All that is to be told; `said` are the prompts that went or came back."""
    return [
        *_head(done, said, way, look, preview=preview),
        *_files(done, look, preview=preview),
        *_left(done, look, preview=preview),
        *(look.paint(f"note: {terminal_safe(note)}", "yellow") for note in done.notes),
    ]


def _head(done: Undone, said: Sequence[str], way: Way, look: Look, *, preview: bool) -> list[str]:
    would, did = ("take back", "took back") if way == "back" else ("bring back", "brought back")
    verb = f"would {would}" if preview else did
    where = done.session.id
    if len(said) == 1:
        line = f"{verb} {shown(said[0])} in {where}"
        return [look.paint(line[0].upper() + line[1:], "bold")]
    line = f"{verb} {len(said)} prompts in {where}"
    listed = [f"  {shown(one)}" for one in said]
    return [look.paint(line[0].upper() + line[1:], "bold"), *listed]


def _files(done: Undone, look: Look, *, preview: bool) -> list[str]:
    acting = [one for one in done.files if one.action in _DOES]
    width = max((len(_DOES[one.action][not preview]) for one in acting), default=0)
    return _some([_line(one, width, look, preview=preview) for one in acting], "files")


def _line(one: FileOutcome, width: int, look: Look, *, preview: bool) -> str:
    colour: Colour = "red" if one.action == "deleted" else "green"
    verb = look.paint(f"{_DOES[one.action][not preview]:<{width}}", colour)
    more = look.paint(f" ({_YOURS})", "dim") if one.action == "merged" else ""
    return f"  {verb}  {terminal_safe(one.path)}{more}"


def _left(done: Undone, look: Look, *, preview: bool) -> list[str]:
    if not done.left:
        return []
    head = "would be left as they are:" if preview else "left as they are:"
    told = [f"  {terminal_safe(one.path)}: {terminal_safe(one.reason)}" for one in done.left]
    return [look.paint(head, "yellow"), *_some(told, "files")]


def _some(told: list[str], what: str) -> list[str]:
    rest = len(told) - _FILES
    return told if rest <= 0 else [*told[:_FILES], f"  … and {rest} more {what}"]


def listed(
    prompts: Sequence[Prompt], taken_back_from: int | None, look: Look, width: int | None
) -> list[str]:
    """The prompts of a session, the newest first, in lines of `width` cells where that is known."""
    told: list[str] = []
    for one in reversed(prompts):
        gone = taken_back_from is not None and one.seq >= taken_back_from
        state = "  taken back" if gone else ""
        around = len(f"{one.message_id}  “”{state}")
        words = shown(one.text, _TEXT if width is None else min(_TEXT, max(_LEAST, width - around)))
        told.append(f"{look.paint(one.message_id, 'cyan')}  {words}{look.paint(state, 'dim')}")
    return told
