"""How a server tells this user's own clients where it is: `roost.server.advert` writes the file,
`roost.client.discovery` reads it.
"""

from typing import Final

from msgspec import Struct

FOLDER: Final = "servers"
"""Below the state folder."""


class Advert(Struct, frozen=True):
    """What a server says about itself."""

    url: str
    pid: int
    key: str
    version: str
    directories: list[str]
    socket: str | None = None
    token_file: str | None = None
    """None: the password that the server was started with is needed."""
