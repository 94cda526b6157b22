"""Text of strangers' files as people may see it: on one line, without characters that command a terminal."""

import re
import unicodedata

LONGEST = 1000  # characters of a message; more says nothing
_HIDDEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")


def one_line(text: str) -> str:
    """Show characters that break a line, or that XML cannot hold, by their code; the rest as they are."""
    return "".join(f"\\u{ord(char):04x}" if _breaks_a_line(char) else char for char in text)


def _breaks_a_line(char: str) -> bool:
    return unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp") or char in "\ufffe\uffff"


def legible(text: str) -> str:
    """Show every character that a terminal obeys or that reverses what follows by its code; the rest as they are."""
    return _HIDDEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def message(text: str) -> str:
    """A message that may quote a stranger's file: one legible line, its middle left out where it is very long."""
    whole = legible(text.replace("\n", " "))
    half = LONGEST // 2 - 2
    return whole if len(whole) <= LONGEST else f"{whole[:half]} … {whole[-half:]}"
