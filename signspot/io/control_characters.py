"""Control characters in text of untrusted files, as messages, terminals and files may show them. Imports no errors."""

import re

LONGEST = 1000  # characters of a message
_CONTROL = r"\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff"
_BIDIRECTIONAL = r"\u200e\u200f\u202a-\u202e\u2066-\u2069"
_PATTERNS = {False: re.compile(f"[{_CONTROL}]"), True: re.compile(f"[{_CONTROL}{_BIDIRECTIONAL}]")}


def escape_control_characters(text: str, *, bidirectional: bool = False) -> str:
    r"""Replace characters that command a terminal, break a line or are not allowed in XML by their code (`\u001b`).

    Args:
        text: of any source.
        bidirectional: also those that change the direction of text, for messages and terminals; in a file they may be
            part of a word.
    """
    return _PATTERNS[bidirectional].sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def message(text: str) -> str:
    """A message that may quote an untrusted file: one line without control characters, shortened in the middle."""
    line = escape_control_characters(text.replace("\n", " "), bidirectional=True)
    half = LONGEST // 2 - 2
    return line if len(line) <= LONGEST else f"{line[:half]} … {line[-half:]}"
