"""The configuration of a training of the mouthing spotter: frozen records, read from TOML, kept in the card."""

from dataclasses import asdict, dataclass, field
from typing import Any

from signspot.mouthing.network import NetworkOptions
from signspot.training.configuration import check_numbers


@dataclass(frozen=True, slots=True)
class LipsOptions:
    """The csynthetic lips that are learned from."""

    clips: int = 160
    seconds: float = 24.0  # of each
    signers: int = 80
    lips: float = 1.0  # how hard to read: the generator's knob of that name
    calibration: int = 30  # clips of other signers, by which probabilities are calibrated
    films: int = 0  # clips that are filmed, too, and read through MediaPipe; one in five calibrates
    film_seconds: float = 12.0  # of each

    def __post_init__(self) -> None:
        check_numbers(self, "clips", "signers", "calibration", least=1)
        check_numbers(self, "films", least=0)
        check_numbers(self, "film_seconds", least=10)
        check_numbers(self, "seconds", least=8)
        check_numbers(self, "lips", least=0, most=3)


@dataclass(frozen=True, slots=True)
class MouthingOptimiser:
    """Options of the optimiser."""

    steps: int = 650
    windows: int = 14  # in a batch
    queries: int = 4  # words that are looked for in each window, half of them mouthed there where possible
    frames: int = 96  # of a window
    lr: float = 3e-3  # the highest learning rate; it falls as a cosine to a fiftieth
    weight_decay: float = 0.02
    warm_up: int = 30  # steps until the highest learning rate
    average: float = 0.98  # decay of the running mean of weights, which is what is kept
    hard: float = 0.5  # share of the wrong words that begin or end like a mouthed one
    clip: float = 1.0  # longest gradient
    shapes: float = 0.5  # weight of naming the viseme of every step, beside finding words
    weakened: float = 0.0  # share of the windows whose lips are weakened, as estimators weaken them on film
    filmed: float = 0.0  # share of the windows that are of films

    def __post_init__(self) -> None:
        check_numbers(self, "steps", "windows", "queries", least=1)
        check_numbers(self, "frames", least=50)
        check_numbers(self, "lr", "clip", above=0)
        check_numbers(self, "weight_decay", "warm_up", "shapes", least=0)
        check_numbers(self, "average", "hard", "weakened", "filmed", least=0, most=1)


@dataclass(frozen=True, slots=True)
class MouthingConfig:
    """Settings of the training of a mouthing spotter."""

    name: str = "mouthing-synthetic"
    seed: int = 0
    licence: str = ""
    data: str = ""  # one sentence for the card
    start: str = ""  # name or file of the spotter whose weights it begins with; empty: random ones
    lips: LipsOptions = field(default_factory=LipsOptions)
    optimiser: MouthingOptimiser = field(default_factory=MouthingOptimiser)
    network: NetworkOptions = field(default_factory=NetworkOptions)

    def __post_init__(self) -> None:
        check_numbers(self, "seed", least=0)

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for cards and states."""
        return asdict(self)
