import pytest

from roost.workspace.textfile import EncodingError, NotTextError, decode_file, is_binary

RUSSIAN = "Привет, мир. Это тестовый файл для проверки кодировок.\n" * 3
FRENCH = "Le café était fermé. L'été à Montréal, ça coûte cher.\n" * 3


@pytest.mark.parametrize(
    ("data", "encoding"),
    [
        (b"plain", "utf-8"),
        (b"\xef\xbb\xbfmarked", "utf-8"),
        ("\ufeffüber".encode("utf-16-le"), "utf-16-le"),
        ("\ufeffüber".encode("utf-16-be"), "utf-16-be"),
        (FRENCH.encode("cp1252"), "cp1252"),
        (RUSSIAN.encode("cp1251"), "cp1251"),
        (RUSSIAN.encode("koi8_r"), "koi8_r"),
        ("你好，世界。这是一个测试文件，用于检测编码。\n".encode("gbk"), "gb18030"),
        ("こんにちは世界。これはテストファイルです。\n".encode("shift_jis"), "cp932"),
        (b"# caf\xe9\nx = 1\n", "cp1252"),
        (b"", "utf-8"),
    ],
)
def test_text_is_recognised_and_gives_back_its_bytes(data: bytes, encoding: str) -> None:
    file = decode_file(data, "f")
    assert file.encoding == encoding
    assert file.encode(file.text) == data


def test_untouched_bytes_stay_when_a_piece_changes() -> None:
    data = FRENCH.encode("cp1252")
    file = decode_file(data, "f")
    assert file.encode(file.text.replace("cher", "peu", 1)) == data.replace(b"cher", b"peu", 1)


@pytest.mark.parametrize("data", [b"\x7fELF\x00\x01", b"\x80\x81\x82\xff\xfe\xfd\x00" * 20])
def test_binary_content_is_refused(data: bytes) -> None:
    assert is_binary(data)
    with pytest.raises(NotTextError, match="f is a binary file"):
        decode_file(data, "f")


def test_bytes_that_no_encoding_explains_are_refused() -> None:
    noise = bytes(range(128, 256)) * 8
    with pytest.raises(NotTextError, match="neither UTF-8"):
        decode_file(noise, "f")


def test_a_character_that_the_encoding_lacks_is_refused() -> None:
    file = decode_file(RUSSIAN.encode("koi8_r"), "f")
    with pytest.raises(EncodingError, match="koi8_r cannot express '你'"):
        file.encode(file.text + "你")


def test_a_guess_accepts_only_characters_whose_bytes_are_known() -> None:
    file = decode_file(b"# caf\xe9\nx = 1\n", "f")
    assert not file.certain
    assert file.encode("# café é\n") == b"# caf\xe9 \xe9\n"
    with pytest.raises(EncodingError, match="guess"):
        file.encode("# café ü\n")
