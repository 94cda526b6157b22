"""Checks of values: of options, and in untrusted files: numbers, times, scores, texts, names of files, records."""

import json
import math
import re
from collections.abc import Callable, Collection, Mapping
from decimal import Decimal
from enum import StrEnum
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from signspot.errors import FormatError, OptionsError

Record = TypeVar("Record")

LATEST = 2**32 / 1000  # seconds, 49 days: what ELAN counts in milliseconds; no video is longer
_ROUNDING = 1e-6  # by which a score may miss [0, 1] after conversions
_NUMBER = re.compile(r"[+-]?(\d{1,400}(\.\d{0,400})?|\.\d{1,400})([eE][+-]?\d{1,4})?", re.ASCII)
_SURROGATE = re.compile(r"[\ud800-\udfff]")


def parse_json(text: str, where: str, line: int = 1) -> Any:
    """Parse JSON that starts at `line` of the file named in `where`.

    Raises:
        FormatError: it is not JSON, nests too deeply or holds a number of thousands of digits; with the line.
    """
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise FormatError(f"{where}, line {line + error.lineno - 1}: not JSON ({error.msg}).") from error
    except RecursionError:
        raise FormatError(f"{where}, line {line}: JSON nested too deeply.") from None
    except ValueError:
        raise FormatError(f"{where}, line {line}: a JSON number has too many digits.") from None


def check_numbers(
    record: object, *names: str, least: float | None = None, above: float | None = None, most: float | None = None
) -> None:
    """See that numbers of a record of options, or all numbers of its tuples, are finite and in range.

    Args:
        record: a dataclass.
        names: of its fields; one that is None is left to whoever uses it.
        least: the lowest value that is allowed.
        above: the value above which they must be.
        most: the highest value that is allowed.

    Raises:
        OptionsError: one is not; the message names it, its value and the range.
    """
    parts = (("at least", least), ("above", above), ("at most", most))
    allowed = " and ".join(f"{words} {bound:g}" for words, bound in parts if bound is not None) or "finite"
    for name in names:
        field_value = getattr(record, name)
        for value in field_value if isinstance(field_value, tuple) else () if field_value is None else (field_value,):
            fits = -math.inf < value < math.inf and (least is None or value >= least)
            if not fits or (above is not None and value <= above) or (most is not None and value > most):
                raise OptionsError(f"{name} must be {allowed}; got {value}")


def check_number(value: object, value_name: str, least: float = -math.inf, most: float = math.inf) -> float:
    """A finite number within bounds, given as a number or as text.

    Args:
        value: as it stands in the file.
        value_name: the location and the name of the value, for messages: "x.csv, line 3: score".
        least: the lowest that is allowed.
        most: the highest that is allowed.

    Raises:
        FormatError: it is not a number, not finite, or out of bounds.
    """
    number = _as_number(value)
    if number is None:
        raise FormatError(f"{value_name} must be a finite number; got {quoted(value)}.")
    if not least <= number <= most:
        bounds = f"between {least:g} and {most:g}" if math.isfinite(most) else f"{least:g} or more"
        raise FormatError(f"{value_name} must be {bounds}; got {quoted(value)}.")
    return number


def _as_number(value: object) -> float | None:
    if isinstance(value, str):
        value = value.strip()
        if not _NUMBER.fullmatch(value):
            return None
    elif isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return None
    try:
        number = float(value)
    except (OverflowError, ValueError):
        return None
    return number if math.isfinite(number) else None


def check_int(value: object, value_name: str, least: int = 0, most: int = 2**31 - 1) -> int:
    """A whole number within bounds.

    Raises:
        FormatError: it is none, or out of bounds.
    """
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise FormatError(f"{value_name} must be a whole number between {least} and {most}; got {quoted(value)}.")
    return value


def check_time(value: object, value_name: str) -> float:
    """Seconds within a video.

    Raises:
        FormatError: it is not a number, negative, or beyond any video.
    """
    return check_number(value, value_name, 0.0, LATEST)


def check_score(value: object, value_name: str) -> float:
    """A score, a probability or a confidence, in [0, 1].

    Raises:
        FormatError: it is none.
    """
    return min(1.0, max(0.0, check_number(value, value_name, -_ROUNDING, 1 + _ROUNDING)))


def check_span(start: float, end: float, where: str) -> None:
    """See that a span does not end before it starts.

    Raises:
        FormatError: it does.
    """
    if end < start:
        raise FormatError(f"{where}: it ends at {end:g} s, before it starts at {start:g} s.")


def check_text(value: object, value_name: str) -> str:
    """Text that every format and database can hold; None becomes empty text.

    Raises:
        FormatError: it is something else, or contains unpaired surrogates.
    """
    if value is None:
        return ""
    if not isinstance(value, str):
        raise FormatError(f"{value_name} must be text; got {quoted(value)}.")
    if _SURROGATE.search(value):
        raise FormatError(f"{value_name} contains unpaired surrogates, which are not text; got {quoted(value)}.")
    return value


def path_inside(folder: Path, name: object, value_name: str) -> Path:
    """The path of a file that another file names, which must lie in the folder of that one.

    Args:
        folder: of the file that names it.
        name: relative, with either slash.
        value_name: the location and the name of the value, for messages.

    Raises:
        FormatError: it is not a name, or leads out of the folder, by itself or through a link.
    """
    text = check_text(name, value_name)
    parts = PureWindowsPath(text)  # knows drives and both slashes
    absolute = parts.is_absolute() or bool(parts.drive or parts.root) or PurePosixPath(text).is_absolute()
    if absolute or ".." in parts.parts or not text.strip():
        raise FormatError(f"{value_name} '{text}' is refused: it must lie in {folder} itself.")
    path = folder / text
    try:
        path.stat()
        is_within = path.resolve().is_relative_to(folder.resolve())
    except (FileNotFoundError, NotADirectoryError):
        is_within = path.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError, ValueError):
        raise FormatError(f"{value_name} '{text}' is refused: no file can have this name.") from None
    if not is_within:
        raise FormatError(f"{value_name} '{text}' is refused: it is a link that leads out of {folder}.")
    return path


def record_checker(kind: type[Record], scores: Collection[str] = ()) -> Callable[[Mapping[str, Any]], Record]:
    """A function that makes records of a dataclass out of plain values, each as its field wants it.

    Values of other names are passed over. The function raises FormatError where a value is missing or does not fit.

    Args:
        kind: its fields are text, flags, whole numbers, enumerations, times, scores, None or tuples of them.
        scores: the fields that lie in [0, 1]; every other number with a fraction is a time.
    """
    checks = {name: _checker(hint, name, name in scores) for name, hint in get_type_hints(kind).items()}
    has_span = "start" in checks and "end" in checks

    def make(values: Mapping[str, Any]) -> Record:
        fields = {name: check(values[name]) for name, check in checks.items() if name in values}
        try:
            record = kind(**fields)
        except (TypeError, OptionsError) as error:
            raise FormatError(f"no {kind.__name__}: {error}") from error
        if has_span and fields.get("start") is not None and fields.get("end") is not None:
            check_span(fields["start"], fields["end"], kind.__name__)
        return record

    return make


def _checker(hint: Any, name: str, is_score: bool) -> Callable[[Any], Any]:
    if get_origin(hint) is tuple:
        part = _checker(get_args(hint)[0], name, is_score)
        return lambda value: tuple(part(item) for item in check_list(value, name))
    if get_origin(hint) is Literal:
        return lambda value: _checked_member(value, get_args(hint), name)
    kinds = [option for option in get_args(hint) if option is not type(None)] or [hint]
    check = _plain_checker(kinds[0], name, is_score)
    return (lambda value: None if value is None else check(value)) if type(None) in get_args(hint) else check


def _plain_checker(kind: Any, name: str, is_score: bool) -> Callable[[Any], Any]:
    if kind is bool:
        return lambda value: _checked_member(value, (True, False), name)
    if issubclass(kind, StrEnum):
        return lambda value: _checked_member(value, tuple(kind), name)
    if kind is int:
        return lambda value: check_int(value, name)
    if kind is float:
        checked, most = (check_score, 1.0) if is_score else (check_time, LATEST)
        return lambda value: value if type(value) is float and 0.0 <= value <= most else checked(value, name)
    return lambda value: check_text(value, name)


def check_list(value: object, value_name: str) -> list[Any]:
    """A list.

    Raises:
        FormatError: it is none.
    """
    if not isinstance(value, list):
        raise FormatError(f"{value_name} must be a list; got {quoted(value)}.")
    return value


def _checked_member(value: object, members: tuple[Any, ...], value_name: str) -> Any:
    member = next((choice for choice in members if type(value) in (str, bool, type(choice)) and choice == value), None)
    if member is None:
        raise FormatError(f"{value_name} must be one of {', '.join(map(str, members))}; got {quoted(value)}.")
    return member


def quoted(value: object) -> str:
    """A value as a message quotes it: short, whatever it is."""
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 200:
        return f"a number of about {round(value.bit_length() * 0.30103):,} digits"
    if isinstance(value, str | bytes):
        value = value[:100]
    elif isinstance(value, list | tuple | dict | set):
        return f"a {type(value).__name__} of {len(value):,}"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}…"
