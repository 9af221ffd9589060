import asyncio
import gzip
import ipaddress
import socket
import ssl
import subprocess
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from roost.core.errors import DeniedError, LimitError, NotFoundError, RoostError, UsageError
from roost.workspace.addresses import is_public
from roost.workspace.fetch import Fetched, FetchedMedia, FetchedText, FetchError, fetch
from roost.workspace.webpage import to_markdown, to_text

PAGE = (
    "<html><head><title>T</title><style>p{}</style></head><body><!-- no --><h1>Head</h1>"
    "<script>alert('<p>no')</script><p>Some <b>bold</b> <a href='/x'>link</a> caf\u00e9</p>"
    "<pre>a\n  b</pre></body></html>"
)
Reply = tuple[int, dict[str, str], bytes]


class Site:
    """A web server on this machine whose pages a test defines."""

    def __init__(self) -> None:
        self.pages: dict[str, Reply | Callable[[BaseHTTPRequestHandler], None]] = {}
        self.seen: list[tuple[str, dict[str, str]]] = []
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                site.seen.append((self.path, dict(self.headers)))
                reply = site.pages.get(self.path, (404, {}, b""))
                if callable(reply):
                    reply(self)
                    return
                status, headers, body = reply
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))
        self.thread.start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


@pytest.fixture
def site() -> Iterator[Site]:
    one = Site()
    yield one
    one.close()


def get(url: str, form: Any = "markdown", **options: Any) -> Fetched:
    options.setdefault("allow_private", True)
    return asyncio.run(fetch(url, form, **options))


def text(url: str, form: Any = "markdown", **options: Any) -> str:
    found = get(url, form, **options)
    assert isinstance(found, FetchedText)
    return found.text


def test_a_page_comes_as_markdown_text_or_html(site: Site) -> None:
    site.pages["/"] = (200, {"Content-Type": "text/html; charset=utf-8"}, PAGE.encode())
    shown = text(f"{site.url}/")
    assert "# Head" in shown
    assert f"Some **bold** [link]({site.url}/x) café" in shown
    assert "alert" not in shown
    assert "p{}" not in shown
    assert text(f"{site.url}/", "text") == "T\n\nHead\n\nSome bold link café\n\na\n  b\n"
    assert text(f"{site.url}/", "html") == PAGE


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("text/html; charset=iso-8859-1", "<p>café</p>".encode("latin-1")),
        ("text/html", b"<meta charset='iso-8859-1'><p>caf\xe9</p>"),
        ("text/html; charset=no-such-thing", "<p>café</p>".encode()),
        ("text/plain", "\ufeffcafé".encode("utf-16-le")),
        ("", "<html><p>café</p>".encode()),
    ],
)
def test_the_encoding_is_found_wherever_it_is_said(
    site: Site, content_type: str, body: bytes
) -> None:
    site.pages["/"] = (200, {"Content-Type": content_type} if content_type else {}, body)
    assert text(f"{site.url}/", "text").strip() == "café"


def test_other_text_comes_as_it_is_and_media_as_bytes(site: Site) -> None:
    site.pages["/j"] = (200, {"Content-Type": "application/ld+json"}, b'{"<p>": 1}')
    site.pages["/i"] = (200, {"Content-Type": "image/png"}, b"\x89PNG\x00")
    site.pages["/b"] = (200, {"Content-Type": "application/zip"}, b"PK")
    site.pages["/n"] = (200, {}, b"\x00\x01")
    assert text(f"{site.url}/j") == '{"<p>": 1}'
    assert get(f"{site.url}/i") == FetchedMedia(f"{site.url}/i", "image/png", b"\x89PNG\x00")
    for path in "bn":
        with pytest.raises(FetchError):
            get(f"{site.url}/{path}")


@pytest.mark.parametrize(
    ("encoding", "pack"),
    [
        ("gzip", gzip.compress),
        ("deflate", zlib.compress),
        ("deflate", lambda data: zlib.compress(data)[2:-4]),
    ],
)
def test_packed_content_is_unpacked(
    site: Site, encoding: str, pack: Callable[[bytes], bytes]
) -> None:
    headers = {"Content-Type": "text/plain", "Content-Encoding": encoding}
    site.pages["/"] = (200, headers, pack(b"hello" * 1000))
    assert text(f"{site.url}/") == "hello" * 1000


def test_content_is_limited_also_when_it_is_packed_or_endless(site: Site) -> None:
    def endless(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", "text/plain")
        handler.end_headers()
        with suppress(OSError):
            while True:
                handler.wfile.write(b"x" * 100_000)

    bomb = {"Content-Type": "text/plain", "Content-Encoding": "gzip"}
    site.pages["/bomb"] = (200, bomb, gzip.compress(b"\x20" * 50_000_000))
    site.pages["/long"] = (200, {"Content-Type": "text/plain"}, b"x" * 6_000_000)
    site.pages["/endless"] = endless
    for path in ("bomb", "long", "endless"):
        with pytest.raises(LimitError, match="larger than"):
            get(f"{site.url}/{path}")


def test_the_time_is_limited_as_a_whole(site: Site) -> None:
    def slow(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", "text/plain")
        handler.end_headers()
        for _ in range(150):
            try:
                handler.wfile.write(b"x")
            except OSError:
                return
            time.sleep(0.2)

    site.pages["/"] = slow
    start = time.monotonic()
    with pytest.raises(LimitError, match=r"within 0\.4 s"):
        get(f"{site.url}/", timeout=0.4)
    assert time.monotonic() - start < 15


def test_redirects_are_followed_a_few_times_without_cookies(site: Site) -> None:
    site.pages["/a"] = (302, {"Location": "/b", "Set-Cookie": "id=1"}, b"")
    site.pages["/b"] = (308, {"Location": f"{site.url}/c"}, b"")
    site.pages["/c"] = (200, {"Content-Type": "text/plain"}, b"here")
    found = get(f"{site.url}/a")
    assert found == FetchedText(f"{site.url}/c", "text/plain", "here")
    assert all("cookie" not in {name.lower() for name in headers} for _, headers in site.seen)
    site.pages["/loop"] = (302, {"Location": "/loop"}, b"")
    with pytest.raises(FetchError, match="more than 5 redirects"):
        get(f"{site.url}/loop")


def test_an_error_of_the_server_is_said(site: Site) -> None:
    with pytest.raises(FetchError, match="answered 404 Not Found"):
        get(f"{site.url}/none")
    with pytest.raises(FetchError, match="could not be fetched"):
        get("http://127.0.0.1:1/")


@pytest.mark.parametrize(
    "url",
    ["file:///etc/passwd", "ftp://x/", "example.com", "http://", "http://u:p@example.com/", "", "http://[::1"],
)  # fmt: skip
def test_what_is_no_web_address_is_refused(url: str) -> None:
    with pytest.raises(UsageError):
        get(url)


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1", "127.1", "2130706433", "0x7f000001", "0", "localhost", "10.0.0.1",
        "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "224.0.0.1", "240.0.0.1",
        "[::1]", "[::]", "[fe80::1]", "[fc00::1]", "[ff02::1]", "[::ffff:127.0.0.1]",
        "[::ffff:10.0.0.1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "[::127.0.0.1]",
    ],
)  # fmt: skip
def test_addresses_of_the_own_network_are_refused(site: Site, host: str) -> None:
    with pytest.raises((DeniedError, NotFoundError)):
        get(f"http://{host}:{site.port}/", allow_private=False)
    assert site.seen == []


@pytest.mark.parametrize("address", ["93.184.216.34", "2606:2800:220:1::1", "2002:5db8:d822::"])
def test_addresses_of_the_internet_are_not(address: str) -> None:
    assert is_public(ipaddress.ip_address(address))


class Names:
    """A name service of our own for one test."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **answers: list[str]) -> None:
        self.asked: list[str] = []
        original = socket.getaddrinfo

        def answer(host: Any, port: Any, *rest: Any, **more: Any) -> Any:
            name = host.decode() if isinstance(host, bytes) else host
            if name.partition(".")[0] not in answers:
                return original(host, port, *rest, **more)
            self.asked.append(name)
            queue = answers[name.partition(".")[0]]
            address = queue.pop(0) if len(queue) > 1 else queue[0]
            return original(address, port, *rest, **more)

        monkeypatch.setattr(socket, "getaddrinfo", answer)


def test_a_name_is_resolved_once_and_the_connection_goes_to_what_was_checked(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    # 192.0.2.0/24 leads nowhere; here it only has to count as public.
    monkeypatch.setattr("roost.workspace.addresses.is_public", lambda a: str(a) == "192.0.2.1")
    names = Names(monkeypatch, rebind=["192.0.2.1", "127.0.0.1"])
    with pytest.raises(RoostError):
        get(f"http://rebind.test:{site.port}/", allow_private=False, timeout=0.5)
    assert names.asked == ["rebind.test"]
    assert site.seen == []


def test_every_address_of_a_host_is_tried(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    def both(host: Any, port: Any, *rest: Any, **more: Any) -> Any:
        return [
            (family, socket.SOCK_STREAM, 6, "", (address, port))
            for family, address in ((socket.AF_INET6, "::1"), (socket.AF_INET, "127.0.0.1"))
        ]

    site.pages["/"] = (200, {"Content-Type": "text/plain"}, b"found")
    original = socket.getaddrinfo
    monkeypatch.setattr(
        socket,
        "getaddrinfo",
        lambda host, *rest, **more: (both if host == "two.test" else original)(host, *rest, **more),
    )
    assert text(f"http://two.test:{site.port}/") == "found"


def test_a_redirect_into_the_own_network_is_refused(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("roost.workspace.addresses.is_public", lambda a: str(a) == "127.0.0.1")
    site.pages["/"] = (302, {"Location": "http://169.254.169.254/latest/meta-data"}, b"")
    with pytest.raises(DeniedError, match=r"169\.254\.169\.254"):
        get(f"{site.url}/", allow_private=False)


def test_a_host_with_one_private_address_among_public_ones_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def both(host: Any, port: Any, *rest: Any, **more: Any) -> Any:
        return [
            (socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))
            for address in ("93.184.216.34", "127.0.0.1")
        ]

    monkeypatch.setattr(socket, "getaddrinfo", both)
    with pytest.raises(DeniedError):
        get("http://mixed.test/", allow_private=False)


def test_tls_checks_the_name_although_the_address_is_dialled(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    subprocess.run(
        "openssl req -x509 -newkey rsa:2048 -nodes -keyout key -out cert -days 2 -subj /CN=x"
        " -addext subjectAltName=DNS:named.test",
        shell=True, cwd=tmp_path, check=True, capture_output=True,
    )  # fmt: skip
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "cert", tmp_path / "key")
    site.server.socket = context.wrap_socket(site.server.socket, server_side=True)
    site.pages["/"] = (200, {"Content-Type": "text/plain"}, b"secure")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "cert"))
    Names(monkeypatch, named=["127.0.0.1"], other=["127.0.0.1"])
    assert text(f"https://named.test:{site.port}/") == "secure"
    assert site.seen[0][1]["Host"] == f"named.test:{site.port}"
    with pytest.raises(FetchError, match="could not be fetched"):
        get(f"https://other.test:{site.port}/")


def test_a_proxy_of_the_environment_is_used(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", site.url)
    monkeypatch.setenv("no_proxy", "direct.test")
    site.pages["http://behind.test/x"] = (200, {"Content-Type": "text/plain"}, b"by proxy")
    assert text("http://behind.test/x", allow_private=False) == "by proxy"
    with pytest.raises(DeniedError):
        get("http://127.0.0.1:9/", allow_private=False)


@pytest.mark.parametrize(
    "page",
    [
        "<div>" * 5000 + "deep" + "</div>" * 5000,
        "<script>" * 50_000,
        "<svg>" * 50_000 + "deep",
        "<!--" * 50_000,
        '<a "' * 50_000,
        "<" * 200_000,
        "<p>x" * 40_000,
        "</" * 100_000,
    ],
    ids=["nested", "scripts", "svg", "comments", "quotes", "less", "many", "closing"],
)
def test_hostile_pages_take_no_more_than_seconds(page: str) -> None:
    start = time.process_time()
    assert to_markdown(page, "http://x/")
    assert time.process_time() - start < 6


def test_text_leaves_out_what_nobody_reads() -> None:
    page = (
        "a<script>x</script >b<svg><p>c</svg>d<iframe src=x></iframe>e<!--f-->g<p title='a>b'>h</p>"
    )
    assert to_text(page) == "abdeg\nh\n"
    assert to_text("x &lt; y &amp; z<br>1 < 2") == "x < y & z\n1 < 2\n"
