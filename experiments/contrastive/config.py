"""Configuration of a landmark trunk by contrast: one frozen record, read from TOML, kept in the checkpoint."""

from dataclasses import asdict, dataclass, field
from os import PathLike
from typing import Any

from experiments.contrastive.batches import ContrastiveBatchOptions
from experiments.contrastive.linear_path import LinearOptions
from experiments.isolated.world_bank import BankOptions
from signspot.training.augment import Augmentation
from signspot.training.configuration import check_numbers, read_toml


@dataclass(frozen=True, slots=True)
class Shares:
    """Shares of the sources in each batch; those with a share of 0 are not even opened."""

    world: float = 0.5  # signs of the signing world
    semi_synthetic: float = 0.25  # real hand shapes on invented paths
    recombined: float = 0.2  # the hands of one real sign, the path of another
    real: float = 0.05  # real signs as they are

    def __post_init__(self) -> None:
        check_numbers(self, "world", "semi_synthetic", "recombined", "real", least=0)


NOTHING = Shares(0.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Optimiser:
    """Options of the optimiser."""

    steps: int = 3000
    rate: float = 1e-3  # the highest learning rate; it falls as a cosine to a hundredth
    warm_up: int = 150  # steps until the highest rate
    weight_decay: float = 0.02
    average: float = 0.998  # decay of the running mean of weights, which is what is kept
    temperature: float = 0.07
    clip: float = 1.0  # longest gradient

    def __post_init__(self) -> None:
        check_numbers(self, "steps", least=0)  # 0: a linear path is fitted, and nothing learned
        check_numbers(self, "rate", "temperature", "clip", above=0)
        check_numbers(self, "warm_up", "weight_decay", least=0)
        check_numbers(self, "average", least=0, most=1)


@dataclass(frozen=True, slots=True)
class ContrastiveConfig:
    """Settings of a training, besides its data."""

    name: str = "landmark"
    seed: int = 1
    network: str = ""  # file of an encoder whose network is where this training starts from; empty: at random
    lsa64: str = ""  # folder of LSA64 landmarks; empty: none, then only the world can be drawn from
    licence: str = ""
    data: str = ""  # one sentence for the card
    shares: Shares = field(default_factory=Shares)
    linear_shares: Shares = NOTHING  # what the linear path is fitted to; nothing: the same as the network learns from
    batch: ContrastiveBatchOptions = field(default_factory=ContrastiveBatchOptions)
    augmentation: Augmentation = field(default_factory=Augmentation)
    bank: BankOptions = field(default_factory=BankOptions)
    optimiser: Optimiser = field(default_factory=Optimiser)
    linear: LinearOptions = field(default_factory=LinearOptions)  # where the model has a linear path
    model: dict[str, Any] = field(default_factory=dict)  # options of the landmark trunk

    def __post_init__(self) -> None:
        check_numbers(self, "seed", least=0)

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for cards."""
        return asdict(self)


def read_config(path: str | PathLike[str]) -> ContrastiveConfig:
    """Read the TOML file of a training of a trunk; mistakes are named as by `read_toml`."""
    return read_toml(path, ContrastiveConfig)
