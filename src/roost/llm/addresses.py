"""Addresses of model servers: on this machine or not, and as users write them."""

from ipaddress import IPv4Address, IPv6Address, ip_address
from urllib.parse import urlsplit


def is_loopback(base_url: str) -> bool:
    """Whether `base_url` is on this machine."""
    host = urlsplit(base_url).hostname or ""
    address = _ip(host)
    return host == "localhost" or (address is not None and address.is_loopback)


def is_http(base_url: str) -> bool:
    """Whether `base_url` is an address that HTTP knows: scheme, host, and a port that can be."""
    try:
        parts = urlsplit(base_url)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _ip(host: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(host)
    except ValueError:
        return None


def address_of(value: str, *, default_port: int | None) -> str:
    """A base URL from what users put into variables: host, host:port or a URL, without `/v1`."""
    if not value:
        return ""
    parts = urlsplit(value if "://" in value else f"http://{value}")
    host = parts.netloc
    if (address := _ip(parts.hostname or "")) and address.is_unspecified:
        # A server that listens everywhere is reached here.
        host = host.replace(str(address), "127.0.0.1")
    if parts.port is None and default_port is not None and "://" not in value:
        host = f"{host}:{default_port}"
    path = parts.path.rstrip("/")
    return f"{parts.scheme}://{host}{path if path.endswith('/v1') else path + '/v1'}"
