"""The rules for thinking: unchanged, of this model, and handed back while tools are in play."""

import re
from typing import Final

from msgspec import Struct

from scripted_model.grammar import join
from scripted_model.picture import Dialect, Message, ReasoningBlock
from scripted_model.signing import Signer
from scripted_model.violations import Violation

_HANDS_BACK: Final = re.compile("reason|think", re.IGNORECASE)


def wants_reasoning(model: str) -> bool:
    """Whether a chat completions model of this name wants its `reasoning_content` back."""
    return bool(_HANDS_BACK.search(model))


class Thought(Struct, frozen=True):
    """The thinking that came with a call."""

    dialect: Dialect
    model: str
    blocks: tuple[ReasoningBlock, ...]
    deliverable: bool = True
    """The client was given what it needs to hand it back."""


class ReasoningBook:
    """Knows which thinking this server sent, and judges what is handed back."""

    def __init__(self, signer: Signer) -> None:
        self.signer = signer
        self._sent: set[tuple[str, str]] = set()
        self._items: set[str] = set()
        self._by_call: dict[str, Thought] = {}
        self._excused: set[str] = set()

    def note(self, thought: Thought, call_ids: tuple[str, ...]) -> None:
        """Remember what was sent, and the calls that it led to."""
        for block in thought.blocks:
            self._sent.add((thought.model, block.text))
            self._items.add(block.id)
        for each in call_ids:
            self._by_call[each] = thought

    def excuse(self, messages: tuple[Message, ...]) -> None:
        """Thinking was refused, so these messages may come again without theirs."""
        self._excused.update(call.id for message in messages for call in message.calls)

    def check_blocks(
        self, dialect: Dialect, model: str, message: Message, where: str, *, stored: bool
    ) -> list[Violation]:
        """Blocks that were changed, belong to another model or cannot be checked.

        `stored`: the request lets the server keep items, so one may be named by its id alone.
        """
        found: list[Violation] = []
        for at, block in enumerate(message.blocks):
            if isinstance(block, ReasoningBlock) and not self._is_own(
                dialect, model, block, stored
            ):
                found.append(_changed(dialect, where, at, block))
        return found

    def _is_own(self, dialect: Dialect, model: str, block: ReasoningBlock, stored: bool) -> bool:
        if dialect == "chat":
            return (model, block.text) in self._sent
        if dialect == "anthropic" and block.redacted:
            return self.signer.is_redacted(model, block.proof)
        if dialect == "anthropic":
            return self.signer.is_signed(model, block.text, block.proof)
        if not block.proof:
            return stored and block.id in self._items
        return self.signer.is_sealed(model, block.id, block.text, block.proof)

    def missing(
        self, dialect: Dialect, model: str, messages: tuple[Message, ...], where: str
    ) -> list[Violation]:
        """Thinking that should be in `messages`, one answer of the model, and is not.

        Only asked for what comes after the user's last words: before, thinking may be left out.
        """
        calls = [call.id for message in messages for call in message.calls]
        thought = next((self._by_call[each] for each in calls if each in self._by_call), None)
        if thought is None or not thought.blocks or not thought.deliverable:
            return []
        if (thought.dialect, thought.model) != (dialect, model):
            return []
        if dialect == "chat" and not wants_reasoning(model):
            return []
        if self._excused.issuperset(calls):
            return []
        given = [block.text or block.proof for message in messages for block in message.reasoning]
        wanted = [block.text or block.proof for block in thought.blocks]
        if given == wanted:
            return []
        return [_missing(dialect, where, calls[0], thought.blocks[0].id)]


def _changed(dialect: Dialect, where: str, at: int, block: ReasoningBlock) -> Violation:
    if dialect == "anthropic":
        place = join(dialect, where, "content", at)
        kind = "data` in `redacted_thinking" if block.redacted else "signature` in `thinking"
        return Violation("reasoning", f"{place}: Invalid `{kind}` block", place)
    if dialect == "chat":
        message = f"'{where}.reasoning_content' was not produced by this model."
        return Violation("reasoning", message, where, "invalid_reasoning_content")
    if not block.proof:
        message = (
            f"Item with id '{block.id}' not found. Items are not persisted when `store` is set "
            "to false. Try again with `store` set to true, or remove this item from your input."
        )
        return Violation("reasoning", message, where, "", 404)
    message = f"The encrypted content for item {block.id} could not be verified."
    return Violation("reasoning", message, where, "invalid_encrypted_content")


def _missing(dialect: Dialect, where: str, call: str, item: str) -> Violation:
    if dialect == "anthropic":
        place = join(dialect, where, "content", 0)
        message = (
            f"{place}.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`. When "
            "`thinking` is enabled, the thinking blocks before a set of `tool_use` blocks must be "
            "passed back as they were."
        )
    elif dialect == "chat":
        message = f"Missing `reasoning_content` field in the assistant message at '{where}'."
    else:
        message = (
            f"Item '{call}' of type 'function_call' was provided without its required "
            f"'reasoning' item: '{item}'."
        )
    return Violation("reasoning", message, where)
