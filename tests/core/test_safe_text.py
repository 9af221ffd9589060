import pytest

from roost.core.text import REPLACEMENT, StreamDecoder, clean, cut, decode, reveal, terminal_safe


def test_clean_text_is_valid_utf8_and_shows_nul() -> None:
    assert clean("plain") == "plain"
    assert clean("a\x00b") == "a␀b"
    assert clean("é\ud800ü\udfff") == f"é{REPLACEMENT}ü{REPLACEMENT}"
    assert clean("日本\x00") == "日本␀"
    assert clean("😀") == "😀"


def test_a_terminal_gets_nothing_it_could_obey() -> None:
    assert terminal_safe("a\tb\nc") == "a\tb\nc"
    assert terminal_safe("a\r\nb") == "a\nb"
    assert terminal_safe("\x1b[31mred\x07\x7f\x9b") == "␛[31mred␇␡<9b>"
    assert all(
        char in "\t\n" or not (ord(char) < 0x20 or 0x7F <= ord(char) < 0xA0)
        for char in terminal_safe("".join(map(chr, range(0x100))))
    )


def test_an_approval_prompt_shows_what_is_invisible() -> None:
    assert reveal("rm\u202e -rf\u200b x") == "rm\\u202e -rf\\u200b x"
    assert reveal("a\x1bb") == "a␛b"


@pytest.mark.parametrize("limit", range(8))
def test_cut_text_is_never_longer_than_its_limit(limit: int) -> None:
    assert len(cut("abcdefgh", limit)) <= limit
    assert len(cut("abcdefgh", limit, mark="[cut]")) <= limit
    assert cut("abc", 3) == "abc"


def test_bytes_are_decoded_whole_in_one_encoding() -> None:
    assert decode("grüße 😀".encode()) == "grüße 😀"
    german = "Die Größe der Übung war für alle Schüler höchst ungewöhnlich. " * 20
    assert decode(german.encode("latin-1")) == german
    assert decode(b"\xff\xfe\x00ab") == f"{REPLACEMENT}{REPLACEMENT}␀ab"


def test_a_stream_may_be_cut_inside_a_character() -> None:
    decoder = StreamDecoder()
    data = "ä😀日".encode()
    pieces = [decoder.feed(data[index : index + 1]) for index in range(len(data))]
    assert "".join(pieces) == "ä😀日"
    assert decoder.feed(b"\xe6\x97", final=True) == REPLACEMENT
