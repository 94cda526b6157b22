"""Text of untrusted files never commands a terminal, breaks a line or fills a screen."""

import pytest

from signspot.errors import FormatError, UnknownWordError
from signspot.io.control_characters import LONGEST, escape_control_characters


@pytest.mark.parametrize("code", ["\x1b", "\x07", "\x9b", "\r", "\u202e", "\u2028", "\ud800", "\x00"])
def test_control_characters_become_codes(code: str) -> None:
    escaped = f"\\u{ord(code):04x}"
    assert escape_control_characters(f"a{code}[31m", bidirectional=True) == f"a{escaped}[31m"
    assert escape_control_characters(f"a{code}") == (f"a{code}" if code == "\u202e" else f"a{escaped}")
    assert str(FormatError(f"a{code}b")) == f"a{escaped}b"
    assert f"no word '{escaped}'" in str(UnknownWordError(code, ["apple"]))


def test_letters_of_all_scripts_stay() -> None:
    text = "naïve 手話 жест إشارة क्‍ष 🤟🏽"
    assert escape_control_characters(text, bidirectional=True) == text


def test_a_message_is_one_line_of_bounded_length() -> None:
    text = str(FormatError("head\n" + "x" * 5000 + " tail"))
    assert len(text) <= LONGEST
    assert text.startswith("head x")
    assert text.endswith("x tail")
