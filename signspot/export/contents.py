"""What a file on disk holds, as text or JSON; every way in which that can fail is told in one line."""

import json
from pathlib import Path
from typing import Any

from signspot.errors import FormatError


def read_bytes(path: Path) -> bytes:
    """The bytes of a file that is there and not empty.

    Raises:
        FormatError: there is no such file, it cannot be read, or it is empty.
    """
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise FormatError(f"cannot read {path}: no such file. Check the name.") from None
    except IsADirectoryError:
        raise FormatError(f"cannot read {path}: it is a folder. Name a file in it.") from None
    except (OSError, ValueError) as error:
        raise FormatError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}.") from error
    if not content:
        raise FormatError(f"{path} is empty (0 bytes). Was it written to the end?")
    return content


def read_text(path: Path) -> str:
    """The text of a UTF-8 file, line ends as they stand, without a byte order mark.

    Raises:
        FormatError: it cannot be read, is empty, or is not UTF-8.
    """
    try:
        return read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FormatError(f"{path} is not UTF-8 text (byte {error.start}). Save it as UTF-8.") from error


def parse_json(text: str, where: str, line: int = 1) -> Any:
    """Parse JSON that starts at `line` of the file named in `where`.

    Raises:
        FormatError: it is not JSON; the message gives the line.
    """
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise FormatError(f"{where}, line {line + error.lineno - 1}: not JSON ({error.msg}).") from error
    except RecursionError as error:
        raise FormatError(f"{where}, line {line}: JSON nested too deeply.") from error


def dump_json(value: Any, indent: int | None = None) -> str:
    """Write JSON, non-Latin words legible."""
    return json.dumps(value, ensure_ascii=False, indent=indent, allow_nan=False)
