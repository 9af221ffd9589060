"""What a hook's end means: exit codes and JSON of commands, return values of functions. Pure."""

from typing import Final

import msgspec
from msgspec import Struct, field

from roost.config.hooks import HookPoint
from roost.core.text import clean, cut
from roost.hooks.models import REASON_CHARS, Answer, Cancel, Continue, HookFailedError

GO_ON: Final = 2
"""The exit code that sends an actor on, or keeps a turn or a step from beginning."""
_BEFORE: Final = ("session.pre", "step.pre")
_AFTER: Final = ("session.post", "step.post")
_COMPLAINT: Final = 500


class _Reply(Struct, frozen=True, forbid_unknown_fields=True):
    """What a command may print."""

    goes_on: bool = field(default=False, name="continue")
    cancel: bool = False
    reason: str = ""


def command_answer(on: HookPoint, code: int, output: str, errors: str) -> Answer:
    """What a command says that ended with `code`, negative for a signal.

    Raises HookFailedError when it failed or said what cannot be said at `on`.
    """
    if code == 0:
        return checked(on, _printed(output.strip()))
    if code == GO_ON and on not in _AFTER:
        reason = errors.strip() or output.strip()
        return checked(on, Cancel(reason) if on in _BEFORE else Continue(reason))
    ended = f"ended with exit code {code}" if code > 0 else f"was ended by signal {-code}"
    complaint = errors.strip() or output.strip()
    if len(complaint) > _COMPLAINT:
        complaint = f"… {complaint[-_COMPLAINT:]}"
    raise HookFailedError(f"{ended}: {complaint}" if complaint else ended)


def _printed(output: str) -> Answer:
    """The answer in a command's output; output that is no JSON object is no answer."""
    if not output.startswith("{"):
        return None
    try:
        reply = msgspec.json.decode(output, type=_Reply)
    except msgspec.DecodeError as error:
        raise HookFailedError(
            f'printed an answer that is not {{"continue": true, "reason": "…"}}: {error}'
        ) from error
    if reply.goes_on and reply.cancel:
        raise HookFailedError("printed both continue and cancel")
    if reply.goes_on:
        return Continue(reply.reason)
    return Cancel(reply.reason) if reply.cancel else None


def checked(on: HookPoint, answer: object) -> Answer:
    """`answer` as one that has a meaning at `on`, with a reason of sensible length.

    Raises HookFailedError for anything else.
    """
    match answer:
        case None:
            return None
        case Continue(reason) if on.startswith("actor."):
            return Continue(_reason(reason))
        case Cancel(reason) if on in _BEFORE:
            return Cancel(_reason(reason))
        case Continue() | Cancel():
            what = type(answer).__name__.lower()
            raise HookFailedError(f"answered {what}, which has no meaning at {on}")
        case _:
            raise HookFailedError(
                f"returned a {type(answer).__name__}; it may return Continue, Cancel or None"
            )


def _reason(reason: object) -> str:
    if not isinstance(reason, str):
        raise HookFailedError("gave a reason that is no text")
    return cut(clean(reason).strip(), REASON_CHARS) or "It gave no reason."
