"""Bytes become text, whatever their encoding."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signspot.errors import FormatError, OptionsError
from signspot.io.text import LARGEST, decode, read_text, read_word_list

LINE = "Café, naïve – “déjà vu”\n"


@pytest.mark.parametrize(
    ("encoding", "name"),
    [
        ("utf-8", "utf-8"),
        ("utf-8-sig", "utf-8"),
        ("utf-16", "utf-16-le"),  # Python writes a mark
        ("utf-16-le", "utf-16-le"),
        ("utf-16-be", "utf-16-be"),
        ("utf-32", "utf-32-le"),
        ("cp1252", "cp1252"),
    ],
)
def test_the_encoding_is_found_out(encoding: str, name: str) -> None:
    decoded = decode((LINE * 5).encode(encoding))
    assert (decoded.text, decoded.encoding, decoded.damaged) == (LINE * 5, name, 0)


def test_latin_1_with_bytes_that_windows_lacks() -> None:
    decoded = decode(b"caf\xe9 \x81")
    assert (decoded.text, decoded.encoding) == ("café \x81", "latin-1")


def test_a_damaged_byte_does_not_spoil_the_rest() -> None:
    decoded = decode((LINE * 5).encode() + b"\xe9 end")
    assert decoded.encoding == "utf-8"
    assert decoded.damaged == 1
    assert decoded.text == LINE * 5 + "\ufffd end"


def test_line_ends_and_marks_in_the_middle() -> None:
    assert decode("a\r\nb\rc\n\ufeffd".encode()).text == "a\nb\nc\nd"


def test_xml_says_its_encoding() -> None:
    text = '<?xml version="1.0" encoding="windows-1251"?><tt>Привет</tt>'
    assert decode(text.encode("cp1251")).text == text


def test_an_encoding_can_be_asked_for() -> None:
    assert decode("Привет".encode("cp1251"), "cp1251").text == "Привет"
    with pytest.raises(OptionsError, match="klingon"):
        decode(b"", "klingon")


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\ufeff\0\ufffd")))
def test_utf_8_is_always_read_as_it_is(text: str) -> None:
    assert decode(text.encode()).text == text


@given(st.binary())
def test_any_bytes_become_some_text(content: bytes) -> None:
    assert "\r" not in decode(content).text


def test_what_is_no_text_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FormatError):
        read_text(tmp_path / "none.srt")
    with pytest.raises(FormatError):
        read_text(tmp_path)
    video = tmp_path / "video.srt"
    video.write_bytes(b"\x00\x00\x00\x20ftypisom\x00\x01\x02abc\xff\xd8" * 50)
    with pytest.raises(FormatError):
        read_text(video)
    huge = tmp_path / "huge.srt"
    with huge.open("wb") as file:
        file.truncate(LARGEST + 1)
    with pytest.raises(FormatError, match=f"{LARGEST + 1:,} bytes; at most"):
        read_text(huge)


def test_exact_text_keeps_every_character(tmp_path: Path) -> None:
    text = "a\r\nb\rc\ufeffd\0e\ufffd"
    (tmp_path / "a.csv").write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert read_text(tmp_path / "a.csv", exact=True).text == text
    (tmp_path / "a.csv").write_bytes("naïve".encode("cp1252"))
    assert read_text(tmp_path / "a.csv", exact=True).text == "naïve"


def test_exact_text_refuses_nothing_and_damage(tmp_path: Path) -> None:
    (tmp_path / "a.csv").touch()
    with pytest.raises(FormatError):
        read_text(tmp_path / "a.csv", exact=True)
    (tmp_path / "a.csv").write_bytes((LINE * 5).encode() + b"\xe9 end")
    with pytest.raises(FormatError, match="utf-8"):
        read_text(tmp_path / "a.csv", exact=True)
    with pytest.raises(FormatError, match="3"):
        read_text(tmp_path / "a.csv", exact=True, largest=3)


def test_a_list_of_words(tmp_path: Path) -> None:
    path = tmp_path / "words.txt"
    path.write_text("\ufeffapple\r\n\n ice cream \n", encoding="utf-8")
    assert read_word_list(path) == ["apple", "ice cream"]
    path.write_bytes("Bär\n".encode("utf-16"))
    assert read_word_list(path) == ["Bär"]
    path.write_text("\n")
    with pytest.raises(OptionsError):
        read_word_list(path)
    with pytest.raises(OptionsError):
        read_word_list(tmp_path / "nowhere.txt")
