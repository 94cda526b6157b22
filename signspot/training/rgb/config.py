"""Configuration of an RGB trunk as a classifier: one frozen record, read from TOML, kept in the checkpoint."""

from dataclasses import asdict, dataclass, field
from typing import Any, Literal, get_args

from signspot.corpus.labels import LeastConfidence
from signspot.errors import OptionsError
from signspot.training.configuration import check_numbers
from signspot.training.items import Words

Architecture = Literal["i3d", "s3d"]
Optimiser = Literal["sgd", "adam"]
_FOR_PEOPLE = ("name", "licence", "data")  # nothing follows from them


@dataclass(frozen=True, slots=True)
class RgbAugmentation:
    """Augmentation of the pictures of a clip, the same for all of them; 0 everywhere changes nothing."""

    flip: float = 0.5  # share of clips that are mirrored
    scale: float = 0.1  # by how much a picture is magnified or shrunk, at most
    shift: float = 1.0  # how far the crop may move, as a share of the room there is
    brightness: float = 0.2  # added to all colours, at most
    contrast: float = 0.2  # by how much colours are spread or drawn together, at most
    saturation: float = 0.2  # by how much colours are made stronger or greyer, at most

    def __post_init__(self) -> None:
        check_numbers(self, "flip", "shift", least=0, most=1)
        check_numbers(self, "scale", "brightness", "contrast", "saturation", least=0)


@dataclass(frozen=True, slots=True)
class RgbBatchOptions:
    """Composition of a batch, and how signs become clips. The defaults are the paper's, but for the size."""

    clips: int = 16  # the paper has 4
    dictionary: float = 0.5  # share of clips that are of exemplars: both domains are balanced
    before: int = 20  # frames at 25 per second before the end of a sign from which it may begin
    after: int = 5  # and after a label of its end until which it may last
    around: int = 11  # on either side of the middle of a sign, where a label marks that or the span
    least: LeastConfidence = field(default_factory=LeastConfidence)  # of a label, by its source

    def __post_init__(self) -> None:
        check_numbers(self, "clips", least=2)
        check_numbers(self, "dictionary", least=0, most=1)
        if self.before < 1 or self.after < 0 or self.around < 1:
            raise OptionsError(
                f"a sign lies before its end and around its middle; got {self.before} frames before, {self.after} "
                f"after and {self.around} around"
            )


@dataclass(frozen=True, slots=True)
class RgbConfig:
    """Settings of a training, besides its corpus."""

    name: str = "rgb"  # of the encoder
    licence: str = ""
    data: str = ""  # one sentence for the card
    words: Words = "all"  # of a corpus with splits: all words, or those for training alone
    architecture: Architecture = "i3d"
    model: dict[str, Any] = field(default_factory=dict)  # options of the trunk: frames, image_size, width …
    fps: float = 25.0  # frames per second; 8 frames at 12.5 last as long as 16 at 25
    seed: int = 0
    epochs: int = 50
    optimiser: Optimiser = "sgd"  # the paper's; adam learns faster from little
    lr: float = 1e-2  # learning rate of the first epochs
    momentum: float = 0.9
    decay: float = 0.1  # by which the learning rate is multiplied, at each of:
    decays: tuple[float, ...] = (0.4, 0.8)  # shares of the epochs: 20 and 40 of 50
    weight_decay: float = 0.0
    clip: float = 10.0  # longest gradient
    continuous_only_fraction: float = 0.0  # share of the epochs on continuous signing, before the dictionary joins
    reinitialise: bool = True  # batch norms forget, when the dictionary joins (Appendix C.1)
    distil: float = 0.0  # weight of distillation: the landmark encoder's embedding is the target of ours
    teacher: str = "landmark"  # name or file of that encoder
    batch: RgbBatchOptions = field(default_factory=RgbBatchOptions)
    augmentation: RgbAugmentation = field(default_factory=RgbAugmentation)

    def __post_init__(self) -> None:
        choices = (("architecture", Architecture), ("words", Words), ("optimiser", Optimiser))
        for name, allowed in ((name, get_args(kind)) for name, kind in choices):
            if getattr(self, name) not in allowed:
                raise OptionsError(f"no {name} '{getattr(self, name)}'. There are: {', '.join(allowed)}")
        check_numbers(self, "fps", "lr", "epochs", "clip", "decay", above=0)
        check_numbers(self, "seed", "weight_decay", "distil", least=0)
        check_numbers(self, "momentum", "decays", "continuous_only_fraction", least=0, most=1)

    @property
    def dictionary_from(self) -> int:
        """The epoch from which on the dictionary is trained on, too."""
        return round(self.continuous_only_fraction * self.epochs)

    def as_dict(self) -> dict[str, Any]:
        """Plain values of all that a training follows from, for checkpoints and cards."""
        return {name: value for name, value in asdict(self).items() if name not in _FOR_PEOPLE}
