"""The socket that a server listens on."""

import asyncio
import socket

import pytest

from roost.server.models import ServerSettings
from roost.server.sockets import listen


async def _sends_at_once(listener: socket.socket) -> bool:
    answered: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

    def look(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection: socket.socket = writer.get_extra_info("socket")
        answered.set_result(bool(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)))
        writer.close()

    async with await asyncio.start_server(look, sock=listener):
        _, writer = await asyncio.open_connection(*listener.getsockname()[:2])
        sends_at_once = await asyncio.wait_for(answered, 5)
        writer.close()
        await writer.wait_closed()
        return sends_at_once


@pytest.mark.parametrize("hostname", ["127.0.0.1", "localhost", "::1"])
def test_a_connection_sends_each_write_at_once(hostname: str) -> None:
    listener = listen(ServerSettings(hostname=hostname, port=0, directories=()))
    assert asyncio.run(_sends_at_once(listener))
