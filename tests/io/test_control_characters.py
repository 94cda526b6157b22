"""What a stranger's file says never commands a terminal, breaks a line or fills a screen."""

import pytest

from signspot.errors import FormatError, UnknownWordError
from signspot.io.control_characters import LONGEST, legible


@pytest.mark.parametrize("code", ["\x1b", "\x07", "\x9b", "\r", "\u202e", "\u2028", "\ud800", "\x00"])
def test_what_commands_a_terminal_is_shown_by_its_code(code: str) -> None:
    told = f"\\u{ord(code):04x}"
    assert legible(f"a{code}[31m") == f"a{told}[31m"
    assert str(FormatError(f"a{code}b")) == f"a{told}b"
    assert f"no word '{told}'" in str(UnknownWordError(code, ["apple"]))


def test_letters_of_all_scripts_stay() -> None:
    assert legible("naïve 手話 жест إشارة क्‍ष 🤟🏽") == "naïve 手話 жест إشارة क्‍ष 🤟🏽"


def test_a_message_is_one_line_of_bounded_length() -> None:
    text = str(FormatError("head\n" + "x" * 5000 + " tail"))
    assert len(text) <= LONGEST
    assert text.startswith("head x")
    assert text.endswith("x tail")
