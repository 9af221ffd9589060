"""Bodies of requests: read within bounds, and looked at before they are decoded."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Final

from starlette.requests import Request

from roost.core.errors import TooLargeError
from roost.server.models import MEGABYTE
from roost.server.problems import RefusalError

WORDS_LIMIT: Final = 16 * MEGABYTE
"""Bytes of a body beside the attachments in it: to decode more would hold up everybody else."""
_CLOSE: Final = {"Connection": "close"}
_ATTACHED: Final = b'"data:'


class UnreadBodyError(RefusalError):
    """A request whose body is too large to be read."""

    def __init__(self, message: str) -> None:
        super().__init__(413, message, headers=_CLOSE)


def check_words(body: bytes) -> None:
    """Raise `TooLargeError` if the JSON in `body`, its `data:` URLs left out, is too large.

    Base64 decodes as fast as it is copied; other JSON does not, and nothing else runs meanwhile.
    """
    words = len(body)
    start = body.find(_ATTACHED) if words > WORDS_LIMIT else -1
    while start >= 0:
        end = body.find(b'"', start + 1)
        words -= (end if end >= 0 else len(body)) - start
        start = body.find(_ATTACHED, end) if end >= 0 else -1
    if words > WORDS_LIMIT:
        raise TooLargeError(
            f"the body has {words} bytes beside its attachments, and {WORDS_LIMIT} are the limit",
            hint="Put long texts into files and name the files.",
        )


async def read_body(request: Request, limit: int, silence: float) -> bytes:
    """The whole body.

    Raises `UnreadBodyError` when it is larger than `limit` bytes, `RefusalError` when it stalls for
    `silence` seconds.
    """
    too_large = UnreadBodyError(f"the body is larger than {limit} bytes")
    declared = request.headers.get("content-length", "0")
    if not declared.isdecimal() or int(declared) > limit:
        raise too_large
    pieces: list[bytes] = []
    size = 0
    async with aclosing(request.stream()) as stream:
        while (piece := await _next(stream, silence)) is not None:
            pieces.append(piece)
            size += len(piece)
            if size > limit:
                raise too_large
    return b"".join(pieces)


async def _next(stream: AsyncGenerator[bytes, None], silence: float) -> bytes | None:
    try:
        async with asyncio.timeout(silence):
            return await anext(stream, None)
    except TimeoutError as error:
        words = "the rest of the body did not come"
        raise RefusalError(408, words, headers=_CLOSE) from error
