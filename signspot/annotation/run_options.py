"""Options that decide the results of annotation: one record for the library and the command line; quick to import."""

from dataclasses import asdict, dataclass, field, replace
from typing import Self

from signspot.errors import OptionsError
from signspot.io.checks import check_numbers
from signspot.spotting.spot_options import OVERLAP, SpotOptions


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Options that decide the results of any run; defaults are the paper's (Sec. 4.6) where it gives them.

    `help` in a field's metadata is the text that the command line shows.
    """

    padding: float = field(default=4.0, metadata={"help": "Seconds searched before and after each subtitle."})
    keep: float | None = field(
        default=None,
        metadata={"help": "Minimum score to store. [default: the encoder's threshold minus 0.1; mouthings: 0.3]"},
    )
    peaks: int = field(default=3, metadata={"help": "Maximum number of stored peaks per subtitle and word."})
    negatives: int | None = field(
        default=None,
        metadata={"help": "Number of other words to compare each word with. [default: 32; mouthings: 8]"},
    )
    language: str = field(default="en", metadata={"help": "Language of the subtitles and words."})
    decoys: bool = field(
        default=False, metadata={"help": "Search near subtitles without the word, to measure what chance scores."}
    )
    seed: int = field(default=0, metadata={"help": "Random seed for sampling exemplar clips and negatives."})

    def __post_init__(self) -> None:
        check_numbers(self, "padding", "negatives", "seed", least=0)
        check_numbers(self, "keep", least=0, most=1)
        check_numbers(self, "peaks", least=1)

    def settled(self, keep: float, negatives: int, threshold: float, stored: str | None = None) -> Self:
        """The options with nothing left open: as given, as in the store, or the usual values.

        Args:
            keep: usual least score of a candidate; never above the threshold.
            negatives: usual number of other words.
            threshold: of this run.
            stored: the least score that a store which exists was made with.

        Raises:
            OptionsError: it is above the threshold, so that spottings would be missing.
        """
        usual = min(threshold, keep) if stored is None else float(stored)
        keep = usual if self.keep is None else self.keep
        if keep > threshold and self.keep is not None:
            raise OptionsError(f"keep ({keep:g}) must not be above the threshold ({threshold:g})")
        if keep > threshold:
            raise OptionsError(
                f"this store keeps scores from {keep:g} on, so a threshold of {threshold:g} would miss some. Name "
                "another folder or database; runs may share their tracks with --cache"
            )
        return replace(self, keep=keep, negatives=negatives if self.negatives is None else self.negatives)

    def settings(self) -> dict[str, str]:
        """The options as a store remembers them."""
        return {name: str(value) for name, value in asdict(self).items()}


@dataclass(frozen=True, slots=True)
class AnnotateOptions(RunOptions):
    """Options that decide the results of a run with a dictionary."""

    overlap: float = field(
        default=OVERLAP,
        metadata={"help": "Largest part that two spottings of one word may share, in [0, 1]."},
    )
    stride: int = field(default=1, metadata={"help": "Frames between two windows."})
    mirror: bool = field(
        default=True, metadata={"help": "Also compare with mirrored exemplars, for left-handed signers."}
    )
    agreement: float = 0.05  # exemplars within so much of the best score agree with it

    def __post_init__(self) -> None:
        RunOptions.__post_init__(self)
        check_numbers(self, "agreement", least=0)
        check_numbers(self, "stride", least=1)
        check_numbers(self, "overlap", least=0, most=1)

    def spotting(self) -> SpotOptions:
        """Options of spotting the words of a subtitle: as `signspot spot` does with these options."""
        return SpotOptions(
            threshold=self.keep,
            stride=self.stride,
            overlap=self.overlap,
            top=self.peaks,
            mirror=self.mirror,
            seed=self.seed,
        )
