"""Several calls in one step: which run side by side, and in which order the others do."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from household import Household
from invariants import assert_sound

from scripted_model.scenario import Call, Piece, scenario

pytestmark = pytest.mark.scenario


class Both(BaseHTTPRequestHandler):
    """Answers only when two requests are there at once."""

    meeting = threading.Barrier(2, timeout=10)

    def do_GET(self) -> None:
        self.meeting.wait()
        body = f"page {self.path}".encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Nothing is to be printed."""


@pytest.fixture
def pages() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Both) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_what_only_reads_runs_side_by_side(house: Household, pages: str) -> None:
    house.config["tool"] = {"webfetch_private": True}
    calls: list[Piece] = [Call("webfetch", {"url": f"{pages}/{name}"}) for name in "ab"]
    house.play(scenario(calls, "Read.", scope="server"))
    answer = house.prompt("Read both.")
    assert (answer.code, answer.text) == (0, "Read."), answer.err
    told = house.model.requests[-1].request.results
    assert [f"page /{name}" in result for name, result in zip("ab", told, strict=True)] == [
        True
    ] * 2
    assert_sound(house)


def test_what_changes_something_runs_in_its_order_among_the_others(house: Household) -> None:
    house.write("a.txt", "one\n")
    calls: list[Piece] = [
        Call("read", {"filePath": "a.txt"}),
        Call("bash", {"command": "cat a.txt; echo two > a.txt"}),
        Call("read", {"filePath": "a.txt"}),
        Call("bash", {"command": "echo three > a.txt; exit 3"}),
        Call("read", {"filePath": "missing.txt"}),
        Call("write", {"filePath": "b.txt", "content": "done\n"}),
    ]
    house.play(scenario(calls, "Done.", scope="server"))
    answer = house.prompt("Work.")
    assert (answer.code, answer.text) == (0, "Done."), answer.err
    first, second, third, failed, missing, last = (part["state"] for part in answer.tools())
    assert "one" in first["output"]
    assert "one" in second["output"]
    assert "two" in third["output"]
    assert "Exit code 3" in failed["output"]
    assert (missing["status"], last["status"]) == ("error", "completed")
    assert (house.project / "b.txt").read_text() == "done\n"
    assert_sound(house)
