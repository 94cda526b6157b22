"""Configurations of encoders of frame codes: frozen records, read from TOML, kept in the checkpoint."""

from dataclasses import asdict, dataclass, field
from typing import Any

from experiments.frame_codes.changes import Change
from experiments.isolated.world_bank import BankOptions
from signspot.errors import OptionsError
from signspot.models.frame_coder import CoderOptions
from signspot.training.configuration import check_numbers


@dataclass(frozen=True, slots=True)
class BySource:
    """A share for each source of signs."""

    wlasl: float = 0.0
    lsa64: float = 0.0
    world: float = 0.0  # signs of the signing world

    def __post_init__(self) -> None:
        check_numbers(self, "wlasl", "lsa64", "world", least=0, most=1)


@dataclass(frozen=True, slots=True)
class CoderOptimiser:
    """Options of the optimiser of a frame coder."""

    steps: int = 1000
    signs: int = 192  # in a batch
    lr: float = 1e-3  # the highest learning rate; it falls as a cosine to a fiftieth
    linear_lr: float = 0.3  # of the linear map, as a share of that of the network
    weight_decay: float = 0.05
    warm_up: int = 30  # steps until the highest learning rate
    average: float = 0.99  # decay of the running mean of weights, which is what is kept
    smoothing: float = 0.1  # of labels: two clips of a word may show different signs
    embedding: float = 0.5  # weight of the loss of embeddings, against that of alignments
    clip: float = 1.0  # longest gradient

    def __post_init__(self) -> None:
        check_numbers(self, "steps", least=1)
        check_numbers(self, "signs", least=2)
        check_numbers(self, "lr", "clip", above=0)
        check_numbers(self, "linear_lr", "weight_decay", "warm_up", "embedding", least=0)
        check_numbers(self, "average", "smoothing", least=0, most=1)


@dataclass(frozen=True, slots=True)
class FrameCodesConfig:
    """Settings of the training of a frame coder, besides its data."""

    name: str = "landmark"
    seed: int = 1
    licence: str = ""
    data: str = ""  # one sentence for the card
    wlasl: str = ""  # folder of WLASL landmarks, where it has a share
    lsa64: str = ""  # folder of LSA64 landmarks, where it has a share
    shares: BySource = field(default_factory=lambda: BySource(wlasl=0.5, lsa64=0.2, world=0.3))  # of the batches
    recombined: BySource = field(default_factory=lambda: BySource(wlasl=0.5, lsa64=0.7))  # new signs in batches of each
    bank: BankOptions = field(
        default_factory=lambda: BankOptions(signs=3000, isolated=4, continuous=1, minimal_pair_share=0.3)
    )
    change: Change = field(default_factory=Change)
    optimiser: CoderOptimiser = field(default_factory=CoderOptimiser)
    coder: CoderOptions = field(default_factory=CoderOptions)

    def __post_init__(self) -> None:
        check_numbers(self, "seed", least=0)
        if not (self.shares.wlasl or self.shares.lsa64 or self.shares.world):
            raise OptionsError("all shares are 0: there is nothing to learn from. Set one in [shares]")
        if self.coder.decoys:
            raise OptionsError(f"decoys come after the training; got {self.coder.decoys}. Leave them out of [coder]")

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for cards and states."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class WarpingConfig:
    """Settings of an encoder that learns nothing about signs."""

    name: str = "warping"
    seed: int = 1
    words: int = 120  # of the signing world: its principal axes and its decoys are of their signs

    def __post_init__(self) -> None:
        check_numbers(self, "seed", least=0)
        check_numbers(self, "words", least=1)
