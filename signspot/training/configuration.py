"""Configurations out of TOML files: frozen records and their parts, with every mistake named."""

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from difflib import get_close_matches
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from signspot.errors import FormatError, OptionsError
from signspot.io.checks import quoted
from signspot.io.text import read_text

_T = TypeVar("_T")

_LARGEST = 2**63  # of whole numbers: what torch and numpy count with
KIND = "kind"  # the key that says what is trained
_PLAIN: dict[type, tuple[tuple[type, ...], str]] = {
    int: ((int,), "a whole number"),
    float: ((int, float), "a number"),
    str: ((str,), "a text"),
    bool: ((bool,), "true or false"),
    dict: ((dict,), "a table"),
}


def read_toml(path: str | PathLike[str], kind: type[_T]) -> _T:
    """Read a TOML file into a frozen record and its parts.

    Raises:
        OptionsError: it is missing, is no TOML, has an unknown key (the nearest one is named), or a value does not fit.
    """
    values = read_table(path)
    values.pop(KIND, None)
    return fill(kind, values, str(path))


def read_table(path: str | PathLike[str]) -> dict[str, Any]:
    """Read a TOML file as it stands.

    Raises:
        OptionsError: it is missing, or is no TOML.
    """
    try:
        return tomllib.loads(read_text(Path(path)).text)
    except FormatError as error:
        raise OptionsError(f"the configuration cannot be used: {error}") from error
    except (ValueError, RecursionError) as error:  # of TOML itself, or a number of thousands of digits
        raise OptionsError(f"{path} is no TOML file: {error}") from error


def fill(kind: type[_T], values: dict[str, Any], where: str) -> _T:
    """Make a dataclass of a table, its parts first."""
    known = {each.name for each in fields(kind)}  # type: ignore[arg-type]
    hints = get_type_hints(kind)
    for key in values:
        if key not in known:
            near = get_close_matches(key, known, n=1)
            hint = f" Did you mean '{near[0]}'?" if near else f" There are: {', '.join(sorted(known))}"
            raise OptionsError(f"unknown key '{key}' in {where}.{hint}")
    made = {key: _value(hints[key], value, key, where) for key, value in values.items()}
    try:
        return kind(**made)
    except TypeError as error:
        raise OptionsError(f"{where} does not fit: {error}") from error


def _value(hint: Any, value: Any, key: str, where: str) -> Any:
    """One value as its field wants it."""
    if is_dataclass(hint) and isinstance(hint, type):
        if not isinstance(value, dict):
            raise OptionsError(f"{key} in {where} must be a table; got {quoted(value)}. Write [{key}]")
        return fill(hint, value, f"{where} [{key}]")
    if get_origin(hint) is tuple:
        if not isinstance(value, list):
            raise OptionsError(f"{key} in {where} must be a list; got {quoted(value)}")
        return tuple(_value(get_args(hint)[0], each, key, where) for each in value)
    _refuse_infinite(value, key, where)
    allowed, name = _PLAIN.get(get_origin(hint) or hint, ((object,), ""))
    if not isinstance(value, allowed) or (isinstance(value, bool) and name and hint is not bool):
        raise OptionsError(f"{key} in {where} must be {name}; got {quoted(value)}")
    return value


def _refuse_infinite(value: Any, key: str, where: str) -> None:
    """TOML knows nan and inf; no option of ours does, not even inside a table."""
    if isinstance(value, dict):
        for name, part in value.items():
            _refuse_infinite(part, f"{key}.{name}", where)
    elif isinstance(value, list):
        for part in value:
            _refuse_infinite(part, key, where)
    elif isinstance(value, float) and not math.isfinite(value):
        raise OptionsError(f"{key} in {where} must be a finite number; got {value}")
    elif isinstance(value, int) and abs(value) >= _LARGEST:
        raise OptionsError(f"{key} in {where} must be less than {_LARGEST:.0e}; got {quoted(value)}")


def check_numbers(
    record: object, *names: str, least: float | None = None, above: float | None = None, most: float | None = None
) -> None:
    """See that numbers of a record, or all numbers of its tuples, are finite and in range.

    Args:
        record: a dataclass.
        names: of its fields.
        least: the lowest value that is allowed.
        above: the value above which they must be.
        most: the highest value that is allowed.

    Raises:
        OptionsError: one is not; the message names it, its value and the range.
    """
    parts = (("at least", least), ("above", above), ("at most", most))
    said = " and ".join(f"{words} {bound:g}" for words, bound in parts if bound is not None) or "finite"
    for name in names:
        given = getattr(record, name)
        for value in given if isinstance(given, tuple) else (given,):
            fits = math.isfinite(value) and (least is None or value >= least) and (above is None or value > above)
            if not fits or (most is not None and value > most):
                raise OptionsError(f"{name} must be {said}; got {value}")


def override(values: dict[str, Any], text: str) -> None:
    """Set one value of a table, in place.

    Args:
        values: as `read_table` gives them.
        text: such as "optimiser.lr=3e-4": a path of keys, and a TOML value; what is no TOML value is a text.

    Raises:
        OptionsError: it has another form, or a key of the path is of no table.
    """
    path, equals, given = text.partition("=")
    *parents, key = (part.strip() for part in path.split("."))
    if not equals or not key or not all(parents):
        raise OptionsError(f"an override is KEY=VALUE, such as optimiser.lr=3e-4; got {quoted(text)}")
    for parent in parents:
        values = values.setdefault(parent, {})
        if not isinstance(values, dict):
            raise OptionsError(f"{parent} is no table of the configuration; got {quoted(text)}")
    try:
        values[key] = tomllib.loads(f"value = {given}")["value"]
    except (ValueError, RecursionError):
        values[key] = given


def read_training(path: str | PathLike[str], kinds: Mapping[str, type[Any]], overrides: Sequence[str] = ()) -> Any:
    """Read the TOML file of any training: its key `kind` says which record of `kinds` the rest is read into.

    Args:
        path: of the file.
        kinds: name of a kind → its record.
        overrides: values to use instead of the file's; see `override`.

    Raises:
        OptionsError: as `read_toml`; or there is no such kind, or an override does not fit.
    """
    values = read_table(path)
    for text in overrides:
        override(values, text)
    kind = values.pop(KIND, None)
    if not isinstance(kind, str) or kind not in kinds:
        near = get_close_matches(str(kind), kinds, n=1)
        hint = f" Did you mean '{near[0]}'?" if near else f" There are: {', '.join(kinds)}"
        raise OptionsError(f"no kind of training {quoted(kind)} in {path}.{hint}")
    return fill(kinds[kind], values, str(path))
