"""Which network addresses a web page may be fetched from: those of the public internet."""

import asyncio
import ipaddress
import socket
from typing import Final

from roost.core.errors import DeniedError, NotFoundError

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address

_TRANSLATED: Final = tuple(map(ipaddress.IPv6Network, ("64:ff9b::/96", "64:ff9b:1::/48")))
"""NAT64: the last 32 bits are an IPv4 address."""


def is_public(address: IPAddress) -> bool:
    """Whether `address` is one of the public internet, also behind every kind of disguise."""
    if isinstance(address, ipaddress.IPv6Address):
        inner = _embedded(address)
        if inner is not None:
            return is_public(inner)
        if address.is_site_local:
            return False
    return address.is_global and not address.is_multicast and not address.is_reserved


def _embedded(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    """The IPv4 address that packets for this one end up at."""
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None:
        return address.sixtofour
    if address.teredo is not None:
        return address.teredo[1]
    if any(address in network for network in _TRANSLATED) or int(address) >> 32 == 0:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return None


async def resolve(host: str, port: int) -> list[IPAddress]:
    """The addresses of `host`, a name or an address in any spelling. Raises `NotFoundError`."""
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise NotFoundError(
            f"the host {host} has no address", hint="Check the spelling and the network."
        ) from error
    # A scope such as %eth0 belongs to a link-local address and does not make it public.
    texts = dict.fromkeys(str(entry[4][0]).partition("%")[0] for entry in found)
    return [ipaddress.ip_address(text) for text in texts]


def require_public(host: str, addresses: list[IPAddress]) -> None:
    """Raise `DeniedError` if `host` has an address that is not public, whichever else it has."""
    for address in addresses:
        if not is_public(address):
            raise DeniedError(
                f"{host} is at {address}, which is not on the public internet",
                hint="Fetch public pages only; local servers can be asked with a shell command.",
            )
