"""Configurations out of TOML files: frozen records and their parts, with every mistake named."""

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, is_dataclass
from difflib import get_close_matches
from os import PathLike
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from signspot.errors import FormatError, OptionsError
from signspot.io.checks import check_numbers, quoted
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

Precision = Literal["float32", "bfloat16", "float16"]
COMPUTE = "compute"  # the table of `Compute` in every configuration
FOR_PEOPLE = ("name", "licence", "data")  # nothing follows from them


@dataclass(frozen=True, slots=True)
class Compute:
    """How a training computes, whatever it learns."""

    precision: Precision = "float32"  # of products; weights and sums stay in float32. float16 scales its losses
    accumulate: int = 1  # batches per change of the weights
    compile: bool = False  # compile the trunk with torch.compile: the first step takes a minute or more
    validate_every: int = 0  # steps between two validations, the best of which is the result; 0: the last weights are
    tensorboard: bool = False  # write events for TensorBoard into the run's folder

    def __post_init__(self) -> None:
        if self.precision not in get_args(Precision):
            raise OptionsError(f"no precision '{self.precision}'. There are: {', '.join(get_args(Precision))}")
        check_numbers(self, "accumulate", least=1)
        check_numbers(self, "validate_every", least=0)


def plain_values(config: Any, without: Sequence[str] = ()) -> dict[str, Any]:
    """A configuration as plain values, for its card and its state; how it computes only where that is unusual.

    Args:
        config: with a field `compute`.
        without: names of fields from which nothing follows.
    """
    values = {name: value for name, value in asdict(config).items() if name not in without}
    unusual = {name: value for name, value in values.pop(COMPUTE).items() if value != getattr(Compute(), name)}
    unusual.pop("tensorboard", None)  # no weight follows from it
    return {**values, COMPUTE: unusual} if unusual else values


def read_table(path: str | PathLike[str]) -> dict[str, Any]:
    """Read a TOML file as it stands.

    Raises:
        OptionsError: it is missing, or is not TOML.
    """
    try:
        return tomllib.loads(read_text(Path(path)).text)
    except FormatError as error:
        raise OptionsError(f"the configuration cannot be used: {error}") from error
    except (ValueError, RecursionError) as error:  # of TOML itself, or a number of thousands of digits
        raise OptionsError(f"{path} is not a TOML file: {error}") from error


def fill(kind: type[_T], values: dict[str, Any], where: str) -> _T:
    """Make a dataclass of a table, its parts first."""
    names = {entry.name for entry in fields(kind)}  # type: ignore[arg-type]
    hints = get_type_hints(kind)
    for key in values:
        if key not in names:
            near = get_close_matches(key, names, n=1)
            hint = f" Did you mean '{near[0]}'?" if near else f" There are: {', '.join(sorted(names))}"
            raise OptionsError(f"unknown key '{key}' in {where}.{hint}")
    fields_of_kind = {key: _value(hints[key], value, key, where) for key, value in values.items()}
    try:
        return kind(**fields_of_kind)
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
        return tuple(_value(get_args(hint)[0], part, key, where) for part in value)
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


def override(values: dict[str, Any], text: str) -> None:
    """Set one value of a table, in place.

    Args:
        values: as `read_table` gives them.
        text: such as "optimiser.lr=3e-4": a path of keys, and a TOML value; what is not a TOML value is a text.

    Raises:
        OptionsError: it has another form, or a key of the path is of no table.
    """
    path, equals, text_value = text.partition("=")
    *parents, key = (part.strip() for part in path.split("."))
    if not equals or not key or not all(parents):
        raise OptionsError(f"an override is KEY=VALUE, such as optimiser.lr=3e-4; got {quoted(text)}")
    for parent in parents:
        values = values.setdefault(parent, {})
        if not isinstance(values, dict):
            raise OptionsError(f"{parent} is not a table of the configuration; got {quoted(text)}")
    try:
        values[key] = tomllib.loads(f"value = {text_value}")["value"]
    except (ValueError, RecursionError):
        values[key] = text_value


def read_training(path: str | PathLike[str], kinds: Mapping[str, type[Any]], overrides: Sequence[str] = ()) -> Any:
    """Read the TOML file of any training: its key `kind` says which record of `kinds` the rest is read into.

    Args:
        path: of the file.
        kinds: name of a kind → its record.
        overrides: values to use instead of the file's; see `override`.

    Raises:
        OptionsError: it is missing, or not TOML, has an unknown key (the nearest one is named), a value does not fit,
            or there is no such kind.
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
