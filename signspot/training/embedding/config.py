"""Configuration of an embedding MLP on a frozen trunk: one frozen record, read from TOML, kept in the checkpoint."""

from dataclasses import asdict, dataclass, field
from typing import Any, Literal, get_args

from signspot.errors import OptionsError
from signspot.losses.watch_read_lookup import Bags
from signspot.training.configuration import check_numbers
from signspot.training.embedding.batches import ItemBatchOptions
from signspot.training.items import ItemOptions, Words

Loss = Literal["classification", "info_nce", "watch_lookup", "watch_read_lookup"]
Synonyms = Literal["keep", "sign", "english"]
_FOR_PEOPLE = ("name", "licence", "data")  # nothing follows from them


@dataclass(frozen=True, slots=True)
class EmbeddingConfig:
    """Settings of a training, besides its corpus and its trunk. The defaults are the paper's."""

    name: str = "embedding"  # of the encoder
    licence: str = ""  # of its weights; empty: that of the trunk
    data: str = ""  # one sentence for the card; empty: said of the trunk and the corpus
    words: Words = "all"  # of a corpus with splits: all words, or those for training alone
    loss: Loss = "watch_read_lookup"
    bags: Bags = "appendix"  # of Watch-Read-Lookup: which reading of the paper
    temperature: float = 0.07
    seed: int = 0
    epochs: int = 50
    lr: float = 1e-2  # learning rate of the first epochs
    momentum: float = 0.9
    decay: float = 0.1  # by which the learning rate is multiplied, at each of:
    decays: tuple[float, ...] = (0.8, 0.9)  # shares of the epochs: 40 and 45 of 50
    dimension: int = 256  # of the embedding
    domain_specific: bool = False  # one MLP for continuous signing, one for the dictionary (Table A.2)
    synonyms: Synonyms = "keep"  # as negatives; or discard pairs that share a sign or an English meaning (Table A.3)
    items: ItemOptions = field(default_factory=ItemOptions)
    batch: ItemBatchOptions = field(default_factory=ItemBatchOptions)

    def __post_init__(self) -> None:
        choices = (("loss", Loss), ("bags", Bags), ("synonyms", Synonyms), ("words", Words))
        for name, allowed in ((name, get_args(kind)) for name, kind in choices):
            if getattr(self, name) not in allowed:
                raise OptionsError(f"no {name} '{getattr(self, name)}'. There are: {', '.join(allowed)}")
        check_numbers(self, "temperature", "lr", "epochs", "dimension", "decay", above=0)
        check_numbers(self, "seed", least=0)
        check_numbers(self, "momentum", "decays", least=0, most=1)

    def as_dict(self) -> dict[str, Any]:
        """Plain values of all that a training follows from, for checkpoints and cards."""
        return {name: value for name, value in asdict(self).items() if name not in _FOR_PEOPLE}
