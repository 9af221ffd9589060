"""Images and documents in a request: what a model takes, and the limits over the whole request.

Providers refuse a request for its images by count and by bytes, and then refuse every later one
too. So the oldest are replaced by a note in words, in steps, so that the prefix of the request
changes seldom and the provider's cache stays useful.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from roost.llm.models import Media, Message, Model, ToolMessage, UserMessage

MAX_MEDIA: Final = 20
"""Images and documents in one request, the limit of the strictest API."""
MAX_MEDIA_BYTES: Final = 18 * 1024 * 1024
"""Base64 bytes of all of them; the smallest known limit of a whole request is 20 MB."""
MAX_ONE_BYTES: Final = 5 * 1024 * 1024
"""Base64 bytes of a single image, the limit of the strictest API."""
MAX_PDF_BYTES: Final = 16 * 1024 * 1024
"""Base64 bytes of a single document."""
DROP_STEP: Final = 5
"""The oldest are dropped in multiples of this."""

PDF: Final = "application/pdf"
_IMAGES: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})


def refusal(media: Media, model: Model) -> str | None:
    """Why `media` cannot be sent to `model`, in words for the model; None when it can."""
    if not media.data:
        return "is empty"
    if media.mime == PDF:
        if not model.reads_pdf:
            return "was left out: this model does not read PDF documents"
        return None if len(media.data) <= MAX_PDF_BYTES else "was left out: it is too large"
    if media.mime not in _IMAGES:
        return f"was left out: files of type {media.mime} cannot be shown to a model"
    if not model.reads_images:
        return "was left out: this model does not read images"
    return None if len(media.data) <= MAX_ONE_BYTES else "was left out: it is too large"


def note(media: Media, reason: str) -> str:
    """The words that stand where `media` stood."""
    kind = "document" if media.mime == PDF else "image" if _is_image(media) else "file"
    return f"[The {kind} {media.name} {reason}]" if media.name else f"[An attached {kind} {reason}]"


OLD: Final = "is no longer shown: newer ones took its place"


def _is_image(media: Media) -> bool:
    return media.mime.startswith("image/")


def sendable(message: Message, model: Model) -> tuple[int, ...]:
    """The sizes in bytes of what `model` could be shown of `message`, in order."""
    return tuple(len(item.data) for item in _media(message) if refusal(item, model) is None)


def _media(message: Message) -> Iterable[Media]:
    if isinstance(message, UserMessage):
        return (item for item in message.content if isinstance(item, Media))
    if isinstance(message, ToolMessage):
        return (item for result in message.results for item in result.media)
    return ()


def to_drop(sizes: Sequence[int]) -> int:
    """How many of the oldest must give way; `sizes` are those of all media, oldest first."""
    dropped = max(0, len(sizes) - MAX_MEDIA)
    left = sum(sizes[dropped:])
    while left > MAX_MEDIA_BYTES:
        left -= sizes[dropped]
        dropped += 1
    if dropped == 0:
        return 0
    return min(len(sizes), -(-dropped // DROP_STEP) * DROP_STEP)


class MediaGate:
    """Decides item by item, within one message, what is shown and what becomes a note."""

    def __init__(self, model: Model, skip: int) -> None:
        self._model = model
        self._skip = skip

    def closed(self, media: Media) -> str | None:
        """The note to send instead of `media`, or None when it is shown."""
        reason = refusal(media, self._model)
        if reason is None and self._skip > 0:
            self._skip -= 1
            reason = OLD
        return None if reason is None else note(media, reason)
