"""What is told of the proposals that a step is chosen from. Pure."""

from msgspec import Struct

from roost.cli.terminal import Look
from roost.core.amounts import counted
from roost.core.text import terminal_safe


class Choosing(Struct, frozen=True, kw_only=True):
    """How far a round of proposals has come, or why there is none."""

    phase: str
    candidates: int
    ended: int
    dropped: int
    seconds: float
    characters: tuple[int, ...] = ()
    usable: int = 0
    candidate: int | None = None
    by: str = ""
    reason: str = ""


def choosing_line(choosing: Choosing, look: Look) -> str:
    """One line for what people are told of; empty for what merely moves."""
    words = _words(choosing)
    return f"{look.paint('max mode:', 'cyan')} {terminal_safe(words)}" if words else ""


def _words(choosing: Choosing) -> str:
    match choosing.phase:
        case "proposing" if not choosing.ended and not choosing.characters:
            return f"{counted(choosing.candidates, 'candidate')} propose the next step"
        case "judging":
            return f"{_usable(choosing)} differ, a judge chooses"
        case "chosen":
            reason = " ".join(choosing.reason.split())
            said = f"candidate {choosing.candidate}, {_by(choosing)}"
            dropped = f", {choosing.dropped} dropped" if choosing.dropped else ""
            return f"{said}{dropped}" + (f" - {reason}" if reason else "")
        case "left":
            return f"the proposals are dropped: {choosing.reason}"
        case "single":
            return f"one candidate: {choosing.reason}"
        case _:
            return ""


def _by(choosing: Choosing) -> str:
    match choosing.by:
        case "judge":
            return "chosen by the judge"
        case "agreement":
            return "all propose the same" if choosing.usable > 1 else "the only one of use"
        case _:
            return "without a judge" if choosing.usable else "none is of use"


def _usable(choosing: Choosing) -> str:
    return f"{choosing.ended - choosing.dropped} of {choosing.candidates} proposals"
