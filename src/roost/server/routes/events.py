"""The event streams."""

from typing import Final

from roost.server.endpoint import Call, Endpoint, NoQuery, endpoint
from roost.server.problems import RefusalError
from roost.server.stream import EventStream


async def follow_folder(call: Call[NoQuery, None]) -> EventStream:
    """What happens in the sessions of a folder.

    After `Last-Event-ID` comes what was missed, or `server.resync`: read the state again.
    """
    return _stream(call, envelopes=False)


async def follow_all(call: Call[NoQuery, None]) -> EventStream:
    """What happens in all folders of this server, each event in an envelope."""
    return _stream(call, envelopes=True)


def _stream(call: Call[NoQuery, None], *, envelopes: bool) -> EventStream:
    service = call.service
    if service.streams >= service.settings.streams:
        raise RefusalError(
            429,
            f"{service.settings.streams} event streams are open already",
            headers={"Retry-After": "10"},
        )
    after = call.request.headers.get("last-event-id") or None
    return EventStream(
        service,
        directory=call.directory,
        envelopes=envelopes,
        view=call.view,
        after=after,
        abort=call.request.scope["state"]["abort"],
    )


ROUTES: Final[tuple[Endpoint, ...]] = (
    endpoint("GET", "/event", follow_folder),
    endpoint("GET", "/global/event", follow_all, scoped=False),
)
