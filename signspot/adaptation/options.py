"""Options of an adaptation: one frozen record, kept in the card of the encoder that it makes."""

from dataclasses import asdict, dataclass
from typing import Any, get_args

from signspot.errors import OptionsError
from signspot.losses.watch_read_lookup import Bags
from signspot.training.configuration import check_numbers


@dataclass(frozen=True, slots=True)
class AdaptOptions:
    """Settings of an adaptation, besides its footage, dictionary and encoder."""

    steps: int = 150
    stretches: int = 16  # of footage, in a batch
    exemplars: int = 2  # of a word, in a batch
    bags: Bags = "released"  # of Watch-Read-Lookup: which reading of the paper
    temperature: float = 0.125  # of alignment, in units of the encoder's typical cost
    embedding_temperature: float = 0.07  # the paper's
    lr: float = 2e-3  # the highest learning rate of both maps; it falls as a cosine
    padding: float = 2.0  # seconds around a subtitle in which its signing is looked for
    longest: float = 10.0  # seconds of a stretch that are looked at, at most
    held_out: float = 0.25  # share of the footage, and of the words, that is held out in each turn
    embeddings: bool = False  # also learn a map of window embeddings, for match="embedding"
    seed: int = 0

    def __post_init__(self) -> None:
        if self.bags not in get_args(Bags):
            raise OptionsError(f"no bags '{self.bags}'. There are: {', '.join(get_args(Bags))}")
        check_numbers(self, "steps", "exemplars", least=1)
        check_numbers(self, "stretches", least=2)
        check_numbers(self, "temperature", "embedding_temperature", "lr", above=0)
        check_numbers(self, "padding", "seed", least=0)
        check_numbers(self, "longest", least=2)
        check_numbers(self, "held_out", least=0.05, most=0.5)

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for cards and states."""
        return asdict(self)
