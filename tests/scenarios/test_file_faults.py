"""Files as people really have them, and what an agent must leave alone in them."""

import io
import json
import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from household import Answer, Household
from invariants import assert_plain, assert_sound
from PIL import Image

from scripted_model.picture import Request
from scripted_model.scenario import Call, Reply, Text, reply, scenario


def states(
    house: Household, calls: Iterable[Call | list[Call]], *options: str
) -> list[dict[str, Any]]:
    """The states of calls that one run makes."""
    house.play(scenario(*calls, "done", scope="server"))
    answer = house.prompt("Go.", *options)
    assert (answer.code, answer.text) == (0, "done"), answer.err
    assert house.model.violations == []
    return [part["state"] for part in answer.tools()]


def edit(name: str, old: str, new: str, **more: Any) -> Call:
    return Call("edit", {"filePath": name, "oldString": old, "newString": new, **more})


def read(name: str) -> Call:
    return Call("read", {"filePath": name})


def write(name: str, content: str) -> Call:
    return Call("write", {"filePath": name, "content": content})


WORDS = "first line\nsecond WORD line\nthird line"
FILES: dict[str, bytes] = {
    "plain.txt": WORDS.encode(),
    "crlf.txt": (WORDS + "\n").replace("\n", "\r\n").encode(),
    "cr.txt": WORDS.replace("\n", "\r").encode(),
    "mixed.txt": b"one\r\ntwo\nsecond WORD line\r\nfour\n\n\r\n",
    "bom.txt": b"\xef\xbb\xbf" + WORDS.encode(),
    "bom-crlf.txt": b"\xef\xbb\xbf" + WORDS.replace("\n", "\r\n").encode(),
    "utf16le.txt": b"\xff\xfe" + (WORDS + "\n漢字").encode("utf-16-le"),
    "utf16be.txt": b"\xfe\xff" + WORDS.replace("\n", "\r\n").encode("utf-16-be"),
    "latin1.txt": "grüße\nsecond WORD line\ncafé déjà vu\n".encode("latin-1"),
    "gbk.txt": "第一行文字\nsecond WORD line\n第三行也是中文，结束。\n".encode("gbk"),
    "sjis.txt": "日本語の文章です。\nsecond WORD line\n三行目もそうです。\n".encode("shift_jis"),
    "odd-spaces.txt": "a\u2028b\x0bc\x0cd\x85e\nsecond WORD line\n\ttab \u00a0nbsp  \n".encode(),
    "long.txt": b"x" * 300_000 + b"\nsecond WORD line\n" + b"y" * 300_000,
}


def term(data: bytes) -> bytes:
    """`data` with its one word changed, in whatever encoding."""
    for encoding in ("ascii", "utf-16-le", "utf-16-be"):
        word = "WORD".encode(encoding)
        if word in data:
            return data.replace(word, "TERM".encode(encoding))
    raise AssertionError(data)


def test_an_edit_changes_the_bytes_it_was_asked_to_and_no_others(chat_house: Household) -> None:
    house = chat_house
    for name, data in FILES.items():
        (house.project / name).write_bytes(data)
    calls = [call for name in FILES for call in (read(name), edit(name, "WORD", "TERM"))]
    for call, state in zip(calls, states(house, calls), strict=True):
        assert state["status"] == "completed", (call, state)
    for name, data in FILES.items():
        assert (house.project / name).read_bytes() == term(data), name
    assert_sound(house)


def test_quotations_match_whatever_the_line_ends_and_keep_them(chat_house: Household) -> None:
    house = chat_house
    project = house.project
    (project / "crlf.txt").write_bytes(b"a\r\nb\r\nc")
    (project / "lf.txt").write_bytes(b"a\nb\nc")
    (project / "mixed.txt").write_bytes(b"a\r\nb\nc\r\n")
    (project / "patched.txt").write_bytes(b"a\r\nb\r\nc\r\n")
    (project / "written.txt").write_bytes(b"a\r\nb\r\n")
    found = states(
        house,
        [
            edit("crlf.txt", "a\nb", "A\nnew\nB"),
            edit("lf.txt", "a\r\nb", "A\r\nnew\r\nB"),
            edit("mixed.txt", "b\nc", "B\nC"),
            edit("patched.txt", "b\n", "b\nmore\n"),
            read("written.txt"),
            write("written.txt", "a\nb\nc\n"),
        ],
    )
    assert [state["status"] for state in found] == ["completed"] * 6
    assert (project / "crlf.txt").read_bytes() == b"A\r\nnew\r\nB\r\nc"
    assert (project / "lf.txt").read_bytes() == b"A\nnew\nB\nc"
    assert (project / "mixed.txt").read_bytes() == b"a\r\nB\nC\r\n"
    assert (project / "patched.txt").read_bytes() == b"a\r\nb\r\nmore\r\nc\r\n"
    assert (project / "written.txt").read_bytes() == b"a\r\nb\r\nc\r\n"


def test_a_patch_keeps_line_ends_and_encoding_too(chat_house: Household) -> None:
    house = chat_house
    models = house.config["provider"]["test"]["models"]
    models["gpt-scripted"] = models["scripted"]
    (house.project / "crlf.txt").write_bytes("\ufeffeins\r\nzwei\r\ndrei\r\n".encode())
    (house.project / "old.txt").write_bytes("grüße\r\nhier\r\n".encode("latin-1"))
    patch = (
        "*** Begin Patch\n*** Update File: crlf.txt\n@@\n eins\n-zwei\n+two\n+more\n drei\n"
        "*** Update File: old.txt\n@@\n grüße\n-hier\n+dort\n*** End Patch"
    )
    call = Call("apply_patch", {"patchText": patch})
    (state,) = states(house, [call], "--model", "test/gpt-scripted")
    assert state["status"] == "completed", state
    assert (house.project / "crlf.txt").read_bytes() == (
        "\ufeffeins\r\ntwo\r\nmore\r\ndrei\r\n".encode()
    )
    assert (house.project / "old.txt").read_bytes() == "grüße\r\ndort\r\n".encode("latin-1")


def test_what_cannot_be_done_without_guessing_is_refused_and_changes_nothing(
    chat_house: Household,
) -> None:
    house = chat_house
    files = {
        "twice.txt": b"same\nother\nsame\n",
        "full.txt": b"content\n",
        "latin1.txt": "grüße\nWORD\ncafé déjà vu\n".encode("latin-1"),
        "binary.bin": b"\x00\x01WORD\xff\xfe\x00" * 50,
        "broken.txt": b"caf\xc3 WORD \x81\x8d\x8f\x90\xff\n",
        "indent.py": b"if x:\n\ty = 1\n",
    }
    for name, data in files.items():
        (house.project / name).write_bytes(data)
    refused: list[tuple[Call, str]] = [
        (edit("twice.txt", "same", "new"), "1, 3"),
        (edit("full.txt", "", "new"), "empty"),
        (edit("full.txt", "content", "content"), "same"),
        (edit("full.txt", "missing words", "x"), "not in the file"),
        (edit("latin1.txt", "WORD", "漢字"), "encod"),
        (edit("binary.bin", "WORD", "TERM"), "binary"),
        (edit("broken.txt", "WORD", "TERM"), ""),
        (edit("gone.txt", "a", "b"), "gone.txt"),
        (write("full.txt", "replaced"), "read"),
        (write("binary.bin", "replaced"), ""),
        (edit(".", "a", "b"), ""),
        (write("sub/../.", "a"), ""),
    ]
    for (call, word), state in zip(
        refused, states(house, [call for call, _ in refused]), strict=True
    ):
        assert state["status"] == "error", call
        assert word in state["error"], (call, state["error"])
    for name, data in files.items():
        assert (house.project / name).read_bytes() == data, name
    assert sorted(path.name for path in house.project.iterdir()) == sorted(files)
    assert_sound(house)


def test_a_loose_match_changes_nothing_around_it(chat_house: Household) -> None:
    house = chat_house
    house.write("a.py", "def f():\n    x = 1   \n    return x  \n\n\n# “end”\n")
    states(house, [edit("a.py", "x = 1\n    return x\n", "x = 2\n    return x\n")])
    after = (house.project / "a.py").read_text()
    assert after.replace("x = 2", "x = 1   ", 1).startswith("def f():\n    x = 1   ")
    assert after.endswith("\n\n\n# “end”\n")


def test_mode_link_and_neighbours_survive(chat_house: Household) -> None:
    house = chat_house
    project = house.project
    modes = {"run.sh": 0o755, "key.pem": 0o600, "odd.txt": 0o711, "real.txt": 0o640}
    for name, mode in modes.items():
        house.write(name, "old\n").chmod(mode)
    (project / "link.txt").symlink_to("real.txt")
    os.link(project / "run.sh", project / "hard.sh")
    names = ["run.sh", "key.pem", "odd.txt", "link.txt"]
    calls = [call for name in names for call in (read(name), write(name, "new\n"))]
    before = sorted(path.name for path in project.iterdir())
    umask = os.umask(0o027)
    try:
        found = states(house, [*calls, write("fresh/file.txt", "x")])
    finally:
        os.umask(umask)
    assert {state["status"] for state in found} == {"completed"}
    for name, mode in modes.items():
        assert stat.S_IMODE((project / name).stat().st_mode) == mode, name
        assert (project / name).read_text() == "new\n"
    assert (project / "link.txt").is_symlink()
    assert (project / "hard.sh").read_text() == "new\n"
    assert stat.S_IMODE((project / "fresh/file.txt").stat().st_mode) == 0o640
    assert sorted(path.name for path in project.iterdir()) == sorted([*before, "fresh"])


@pytest.mark.parametrize("stale", ["edit", "write"])
def test_what_somebody_else_changed_meanwhile_is_not_overwritten(
    chat_house: Household, stale: str
) -> None:
    house = chat_house
    house.write("a.txt", "old\nkeep\n")
    change = edit("a.txt", "keep", "mine") if stale == "edit" else write("a.txt", "mine\n")

    def play(_: Request) -> Reply:
        match len(house.model.requests) - 1:
            case 0:
                return reply(read("a.txt"))
            case 1:
                house.write("a.txt", "the user's words\nkeep\n")
                return reply(change)
            case 2:
                return reply(read("a.txt"))
            case 3 | 4:
                # Own writes one after the other are no conflict.
                return reply(write("a.txt", f"mine {len(house.model.requests)}\n"))
            case _:
                return reply("done")

    house.play(play)
    answer = house.prompt("Go.")
    found = [part["state"] for part in answer.tools()]
    assert found[1]["status"] == "error"
    assert "changed" in found[1]["error"]
    assert [state["status"] for state in found[2:]] == ["completed"] * 3
    assert (house.project / "a.txt").read_text() == "mine 5\n"


def test_half_characters_anywhere_poison_nothing(house: Household) -> None:
    (house.project / os.fsdecode(b"bad\xff\xfename.txt")).write_text("content\n")
    (house.project / "half.txt").write_bytes(b"\xe4\xb8 \xed\xa0\x80\n")
    house.play(
        scenario(
            [
                Text("text \udc00 half"),
                Call("write", '{"filePath": "x.txt", "content": "a\\ud800b"}'),
            ],
            Call("bash", '{"command": "echo \\ud800"}'),
            Call("read", '{"filePath": "no\\udfffname"}'),
            Call("glob", {"pattern": "*"}),
            Call("bash", {"command": "ls; cat half.txt bad*"}),
            Call("grep", {"pattern": "content"}),
            Call("edit", '{"filePath": "x.txt", "oldString": "\\udc00", "newString": "c"}'),
            "end \ud800",
            scope="server",
        )
    )
    answer = house.prompt("Go " + os.fsdecode(b"caf\xe9 \xff"))
    assert answer.code == 0, answer.err
    json.dumps(answer.lines, ensure_ascii=False).encode()
    assert len(answer.tools()) == 7
    assert_sound(house)


def picture(width: int, height: int, *, noise: bool = False) -> bytes:
    image = Image.new("RGB", (width, height), "red")
    if noise:
        image = Image.frombytes("RGB", (width, height), os.urandom(width * height * 3))
    out = io.BytesIO()
    image.save(out, "PNG", compress_level=0 if noise else 6)
    return out.getvalue()


def bomb() -> bytes:
    """A small file whose header promises a picture of 40 gigapixels."""
    data = bytearray(picture(1, 1))
    data[16:24] = (200_000).to_bytes(4, "big") * 2
    import zlib

    data[29:33] = zlib.crc32(bytes(data[12:29])).to_bytes(4, "big")
    return bytes(data)


@pytest.mark.parametrize("house", ["anthropic"], indirect=True)
def test_no_picture_whatever_it_is_makes_the_session_unusable(house: Household) -> None:
    pictures = {
        "wide.png": picture(9000, 1),
        "tall.png": picture(1, 9000),
        "noise.png": picture(2100, 2000, noise=True),
        "empty.png": b"",
        "cut.png": picture(50, 50)[:40],
        "bomb.png": bomb(),
        "text.png": b"not a picture\n",
    }
    assert len(pictures["noise.png"]) > 12_000_000
    for name, data in pictures.items():
        (house.project / name).write_bytes(data)
    found = states(house, [read(name) for name in pictures])
    kinds = dict(zip(pictures, (state["status"] for state in found), strict=True))
    assert kinds["wide.png"] == kinds["tall.png"] == kinds["noise.png"] == "completed"
    assert kinds["cut.png"] == kinds["bomb.png"] == "error"
    assert "bomb.png" in found[list(pictures).index("bomb.png")]["error"]
    assert_sound(house)
    for name in ("empty.png", "cut.png", "bomb.png"):
        done = house.run("run", "--file", name, "--", "Look.")
        assert done.returncode == 2, name
        assert name in done.stderr
    house.play(scenario("I see.", scope="server"))
    wide = Answer(
        house.run("run", "--format", "json", "-f", "wide.png", "-f", "noise.png", "--", "Look.")
    )
    assert (wide.code, wide.text) == (0, "I see."), wide.err
    assert_sound(house)


def test_the_oldest_of_many_pictures_give_way(chat_house: Household) -> None:
    house = chat_house
    for number in range(30):
        (house.project / f"{number}.png").write_bytes(picture(20, 20 + number))
    found = states(house, [[read(f"{number}.png") for number in range(30)]])
    assert {state["status"] for state in found} == {"completed"}
    assert_sound(house)


def test_only_ordinary_files_are_read_and_nothing_hangs(chat_house: Household) -> None:
    house = chat_house
    os.mkfifo(house.project / "pipe")
    (house.project / "zero").symlink_to("/dev/zero")
    (house.project / "circle").symlink_to("circle")
    house.write("empty.txt", "")
    (house.project / "nul.txt").write_bytes(b"a\x00b\x1b[31m\n")
    house.write("line.txt", "x" * 5_000_000)
    house.write("many.txt", "".join(f"{number}\n" for number in range(200_000)))
    names = ["pipe", "zero", "circle", "empty.txt", "nul.txt", "line.txt", "many.txt", ".", ""]
    found = dict(zip(names, states(house, [read(name) for name in names]), strict=True))
    for name in ("pipe", "zero", "circle", ""):
        assert found[name]["status"] == "error", name
    assert "empty" in found["empty.txt"]["output"]
    for name in ("nul.txt", "line.txt", "many.txt", "."):
        shown = found[name].get("output") or found[name]["error"]
        assert_plain(shown)
        assert len(shown) < 60_000, name
    (house.project / "pipe").unlink()
    assert_sound(house)


def test_attached_text_of_any_kind_goes_along(chat_house: Household) -> None:
    house = chat_house
    Path(house.project / "gbk.txt").write_bytes("第一行文字，也是中文。\n".encode("gbk"))
    Path(house.project / "utf16.txt").write_bytes("\ufeffzwei Wörter".encode("utf-16-le"))
    house.write("empty.txt", "")
    house.play(scenario("read", scope="server"))
    names = ["gbk.txt", "utf16.txt", "empty.txt"]
    done = house.run("run", *(word for name in names for word in ("-f", name)), "--", "Look.")
    assert done.returncode == 0, done.stderr
    said = house.model.requests[0].request.all_text
    assert "第一行文字" in said
    assert "zwei Wörter" in said
    assert "the file is empty" in said
    (house.project / "binary.bin").write_bytes(bytes(range(256)) * 10)
    done = house.run("run", "-f", "binary.bin", "--", "Look.")
    assert done.returncode == 2
    assert "binary.bin" in done.stderr
    assert_sound(house)
