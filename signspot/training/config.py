"""How a trunk learns signing: one frozen record, read from TOML, recorded in the checkpoint."""

import tomllib
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from difflib import get_close_matches
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

from signspot.errors import OptionsError
from signspot.training.augment import Augmentation
from signspot.training.signing_batches import BatchOptions
from signspot.training.world_bank import BankOptions


@dataclass(frozen=True, slots=True)
class Shares:
    """How much of each batch comes from where; those with a share of 0 are not even opened."""

    world: float = 0.5  # signs of the signing world
    semi_synthetic: float = 0.25  # real hand shapes on invented paths
    recombined: float = 0.2  # the hands of one real sign, the path of another
    real: float = 0.05  # real signs as they are


@dataclass(frozen=True, slots=True)
class Optimiser:
    """How weights are changed."""

    steps: int = 3000
    rate: float = 1e-3  # the highest learning rate; it falls as a cosine to a hundredth
    warm_up: int = 150  # steps until the highest rate
    weight_decay: float = 0.02
    average: float = 0.998  # decay of the running mean of weights, which is what is kept
    temperature: float = 0.07
    clip: float = 1.0  # longest gradient


@dataclass(frozen=True, slots=True)
class SigningConfig:
    """All that a training follows from, besides its data."""

    name: str = "landmark"
    seed: int = 1
    lsa64: str = ""  # folder of LSA64 landmarks; empty: none, then only the world can be drawn from
    licence: str = ""
    data: str = ""  # one sentence for the card
    shares: Shares = field(default_factory=Shares)
    batch: BatchOptions = field(default_factory=BatchOptions)
    augmentation: Augmentation = field(default_factory=Augmentation)
    bank: BankOptions = field(default_factory=BankOptions)
    optimiser: Optimiser = field(default_factory=Optimiser)
    model: dict[str, Any] = field(default_factory=dict)  # options of the landmark trunk

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for cards."""
        return asdict(self)


def read_config(path: str | PathLike[str]) -> SigningConfig:
    """Read the TOML file of a training of a trunk; mistakes are named as by `read_toml`."""
    return read_toml(path, SigningConfig)


_T = TypeVar("_T")


def read_toml(path: str | PathLike[str], kind: type[_T]) -> _T:
    """Read a TOML file into a frozen record and its parts.

    Raises:
        OptionsError: it is missing, is no TOML, or has an unknown key (the nearest one is named).
    """
    try:
        values = tomllib.loads(Path(path).read_text())
    except OSError as error:
        raise OptionsError(f"cannot read the configuration {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise OptionsError(f"{path} is no TOML file: {error}") from error
    return _fill(kind, values, str(path))


def _fill(kind: type[_T], values: dict[str, Any], where: str) -> _T:
    """Make a dataclass of a table, its parts first."""
    known = {each.name for each in fields(kind)}  # type: ignore[arg-type]
    hints = get_type_hints(kind)
    for key in values:
        if key not in known:
            near = get_close_matches(key, known, n=1)
            hint = f" Did you mean '{near[0]}'?" if near else f" There are: {', '.join(sorted(known))}"
            raise OptionsError(f"unknown key '{key}' in {where}.{hint}")
    made: dict[str, Any] = {}
    for key, value in values.items():
        part = hints[key]
        if is_dataclass(part) and isinstance(part, type) and isinstance(value, dict):
            made[key] = _fill(part, value, f"{where} [{key}]")
        else:
            made[key] = tuple(value) if isinstance(value, list) else value
    try:
        return kind(**made)
    except TypeError as error:
        raise OptionsError(f"{where} does not fit: {error}") from error
