"""Options of spotting: one record for the library, the command line, annotation and evaluation; quick to import."""

from dataclasses import dataclass, field
from typing import Literal

from signspot.errors import OptionsError
from signspot.io.checks import check_numbers

MatchBy = Literal["auto", "alignment", "embedding"]
OVERLAP = 0.3  # of the shorter span: peaks of one word that share more are one sign


@dataclass(frozen=True, slots=True)
class SpotOptions:
    """Options of spotting. `help` in a field's metadata is the text that the command line shows."""

    threshold: float | None = field(
        default=None, metadata={"help": "Minimum score, from 0 to 1. [default: set by decoys, or the encoder's]"}
    )
    false_alarms_per_hour: float | None = field(
        default=None, metadata={"help": "Allowed false alarms per hour and word, instead of a threshold."}
    )
    match: MatchBy = field(
        default="auto",
        metadata={
            "help": "Align frame codes, or compare window embeddings as in the paper; auto: align where possible."
        },
    )
    stride: int = field(default=1, metadata={"help": "Frames between two windows."})
    refine: bool = field(
        default=False, metadata={"help": "With --stride above 1: embed again at stride 1 near candidates."}
    )
    margin: float = 0.1  # with refine: how far below the threshold a coarse peak still is a candidate
    overlap: float = field(
        default=OVERLAP, metadata={"help": "Largest part that two spottings of one word may share, in [0, 1]."}
    )
    compete: bool | None = field(
        default=None,
        metadata={
            "help": "Keep only the best of overlapping spottings of different words. [default: yes, unless a "
            "threshold or a false-alarm rate is given]"
        },
    )
    top: int | None = field(
        default=None, metadata={"help": "Keep only the best N spottings of each word. [default: all]"}
    )
    mirror: bool = field(
        default=True, metadata={"help": "Also compare with mirrored exemplars, for left-handed signers."}
    )
    seed: int = field(default=0, metadata={"help": "Random seed for sampling exemplar clips."})

    @property
    def competes(self) -> bool:
        """Whether words compete for a location: by default, where nobody says which spottings are wanted."""
        return self.threshold is self.false_alarms_per_hour is None if self.compete is None else self.compete

    def __post_init__(self) -> None:
        check_numbers(self, "threshold", "overlap", "margin", least=0, most=1)
        check_numbers(self, "false_alarms_per_hour", above=0)
        check_numbers(self, "stride", "top", least=1)
        if self.threshold is not None and self.false_alarms_per_hour is not None:
            raise OptionsError("give a threshold or false alarms per hour, not both")
        if self.match not in ("auto", "alignment", "embedding"):
            raise OptionsError(f"match is auto, alignment or embedding; got '{self.match}'")
