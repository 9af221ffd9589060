"""Cursors of pages: opaque to clients, the id of a message inside."""

import base64
import binascii
from typing import Final

from roost.core.errors import UsageError

PAGE_LIMIT: Final = 1_000
"""Messages of one page."""
ALL_ACTORS: Final = "*"
"""Stands for every actor where a query names one."""


def encode_cursor(message_id: str) -> str:
    """An opaque cursor for the messages before `message_id`."""
    return base64.urlsafe_b64encode(message_id.encode()).decode().rstrip("=")


def decode_cursor(cursor: str) -> str:
    """The message id in a cursor. Raises `UsageError`."""
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        message_id = base64.b64decode(padded, altchars=b"-_", validate=True).decode()
    except (binascii.Error, ValueError) as error:
        raise UsageError(f"{cursor!r} is no cursor of this server") from error
    return message_id
