"""Text files (subtitles, tables, JSON and XML) of any usual encoding."""

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from signspot.errors import FormatError, OptionsError
from signspot.io.checks import parse_json, quoted

LARGEST = 64 << 20  # bytes; the subtitles of a day of television take less than one of these megabytes
LARGEST_DATA = 2 << 30  # bytes of a list of spottings: millions of them
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark is its beginning
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_XML_ENCODING = re.compile(rb"""\s*<\?xml[^>]{0,200}?encoding\s*=\s*["']([\w.:-]{1,40})["']""")
_SAMPLE = 4096  # bytes that tell UTF-16 without a mark


@dataclass(frozen=True, slots=True)
class Decoded:
    """Text, and how it was encoded."""

    text: str
    encoding: str
    damaged: int = 0  # places where bytes were not text; each became U+FFFD


def read_text(path: Path, encoding: str | None = None, *, exact: bool = False, largest: int | None = None) -> Decoded:
    """Read a text file of any usual encoding.

    Args:
        path: the file.
        encoding: the encoding; None: found out from the byte order mark, the XML declaration and the bytes.
        exact: for data, where every character counts: line ends, zero bytes and marks inside the text stay as they
            are, and an empty file or a byte that is not text is an error. Otherwise line ends become plain ones.
        largest: bytes that are allowed; None: LARGEST_DATA for exact text, LARGEST for other text.

    Raises:
        FormatError: there is no such file, it cannot be read, it is too large, or it is not text.
        OptionsError: Python knows no such encoding.
    """
    content = read_bytes(path, largest or (LARGEST_DATA if exact else LARGEST))
    if exact and not content:
        raise FormatError(f"{path} is empty (0 bytes). Was it written to the end?")
    decoded = decode(content, encoding, exact=exact)
    if exact and decoded.damaged:
        raise FormatError(_not_text(path, decoded))
    if not exact and "\0" in decoded.text:
        raise FormatError(f"{path} is not text ({decoded.text.count(chr(0)):,} zero bytes). Name a text file.")
    return decoded


def read_word_list(path: Path) -> list[str]:
    """The words of a file, one per line; blank lines are passed over.

    Raises:
        OptionsError: it cannot be read, is not text, or holds no word.
    """
    try:
        lines = read_text(path).text.split("\n")
    except FormatError as error:
        raise OptionsError(f"not a list of words: {error}") from error
    words = [line.strip() for line in lines if line.strip()]
    if not words:
        raise OptionsError(f"{path} holds no word. Write one per line.")
    return words


def json_rows(path: Path, *, can_be_empty: bool = True) -> Iterator[tuple[str, dict[str, Any]]]:
    """The objects of a JSON Lines file, one per line, each with its place for messages; blank lines are passed over.

    Raises:
        FormatError: the file cannot be read, is empty and may not be so, or a line is not a JSON object.
    """
    text = "" if can_be_empty and _is_empty(path) else read_text(path, exact=True).text
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            where, row = f"{path}, line {number}", parse_json(line, str(path), number)
            if not isinstance(row, dict):
                raise FormatError(f"{where}: expected a JSON object; got {quoted(row)}.")
            yield where, row


def _is_empty(path: Path) -> bool:
    return path.is_file() and path.stat().st_size == 0


def _not_text(path: Path, decoded: Decoded) -> str:
    count, name = decoded.damaged, decoded.encoding
    return f"{path} is not text: {count:,} characters cannot be read as {name}. Save it as UTF-8."


def read_bytes(path: Path, largest: int = LARGEST_DATA) -> bytes:
    """Read a file of at most `largest` bytes.

    Raises:
        FormatError: there is no such file, it cannot be read, or it is too large.
    """
    try:
        size = path.stat().st_size
        if size > largest:
            raise FormatError(f"{path} has {size:,} bytes; at most {largest:,} are read. Name a text file.")
        return path.read_bytes()
    except FileNotFoundError:
        raise FormatError(f"cannot read {path}: no such file. Check the name.") from None
    except IsADirectoryError:
        raise FormatError(f"cannot read {path}: it is a folder. Name a file in it.") from None
    except (OSError, ValueError) as error:
        raise FormatError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}.") from error


def decode(content: bytes, encoding: str | None = None, *, exact: bool = False) -> Decoded:
    """Decode bytes as `encoding`, or as what they look like: UTF-8, UTF-16, UTF-32, else Windows-1252.

    Args:
        content: the bytes.
        encoding: the encoding; None: found out.
        exact: keep line ends, and byte order marks that are not at the start.

    Raises:
        OptionsError: Python knows no such encoding.
    """
    if encoding is not None:
        text, name = _as_asked(content, encoding), encoding
    else:
        text, name = _as_it_looks(content)
    if exact:
        return Decoded(text, name, _damaged(content, text))
    plain = text.replace("\ufeff", "").replace("\r\n", "\n").replace("\r", "\n")
    return Decoded(plain, name, plain.count("\ufffd"))


def _damaged(content: bytes, text: str) -> int:
    """Characters that stand for bytes that are not text; U+FFFD that was written as such is none."""
    return max(0, text.count("\ufffd") - content.count("\ufffd".encode()))


def _as_asked(content: bytes, encoding: str) -> str:
    try:
        codecs.lookup(encoding)  # decoding nothing would not
        return content.decode(encoding, errors="replace")
    except LookupError:
        raise OptionsError(f"no encoding '{encoding}'. Name one such as utf-8, cp1252 or cp1251.") from None


def _as_it_looks(content: bytes) -> tuple[str, str]:
    for mark, name in _MARKS:
        if content.startswith(mark):
            return content[len(mark) :].decode(name, errors="replace"), name
    if wide := _wide_encoding(content):
        return content.decode(wide, errors="replace"), wide
    try:
        return content.decode("utf-8"), "utf-8"
    except UnicodeDecodeError:
        return _not_quite_utf8(content)


def _wide_encoding(content: bytes) -> str | None:
    """UTF-16 without a mark: Latin text has a zero in every second byte."""
    sample = content[:_SAMPLE]
    pairs = len(sample) // 2
    if pairs < 2:
        return None
    even, odd = sample[0 : 2 * pairs : 2].count(0), sample[1 : 2 * pairs : 2].count(0)
    if odd > 0.4 * pairs and even < 0.1 * pairs:
        return "utf-16-le"
    return "utf-16-be" if even > 0.4 * pairs and odd < 0.1 * pairs else None


def _not_quite_utf8(content: bytes) -> tuple[str, str]:
    """A declared encoding; UTF-8 with a few damaged bytes; else Windows-1252, as old subtitles are."""
    declared = _XML_ENCODING.match(content)
    if declared:
        try:
            return content.decode(declared[1].decode("ascii")), declared[1].decode("ascii").lower()
        except (LookupError, UnicodeDecodeError):
            pass
    text = content.decode("utf-8", errors="replace")
    damaged = text.count("\ufffd")
    wide = sum(character > "\x7f" for character in text) - damaged
    if wide > 4 * damaged:
        return text, "utf-8"
    try:
        return content.decode("cp1252"), "cp1252"
    except UnicodeDecodeError:
        return content.decode("latin-1"), "latin-1"
