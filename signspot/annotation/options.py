"""How to annotate: one frozen record; what decides results is written into the store and may not change there."""

import math
from dataclasses import asdict, dataclass, replace

from signspot.errors import OptionsError
from signspot.models.encoder import Encoder

BELOW = 0.1  # how far below the encoder's threshold candidates are kept, unless the user says else


@dataclass(frozen=True, slots=True)
class AnnotateOptions:
    """What decides the results. The defaults are the paper's (Sec. 4.6) where it gives them."""

    padding: float = 4.0  # seconds before and after a subtitle in which its words are looked for
    keep: float | None = None  # least score of a candidate; None: the encoder's threshold less 0.1
    peaks: int = 3  # candidates of a query, at most, the best
    gap: float = 0.4  # seconds between two peaks of one word, at least
    clip: int = 32  # frames around a peak, at the encoder's rate
    stride: int = 1  # frames between two windows
    mirror: bool = True  # also compare with exemplars mirrored left to right
    agreement: float = 0.05  # exemplars within so much of the best score agree with it
    impostors: int = 32  # other words that are compared with each word, at most
    language: str = "en"  # of the subtitles and the dictionary
    decoys: bool = False  # ask for the words of each subtitle around another one, to see what chance scores
    seed: int = 0  # of the clips drawn from exemplars, and of the impostors

    def __post_init__(self) -> None:
        for name in ("padding", "gap", "agreement"):
            if not (math.isfinite(getattr(self, name)) and getattr(self, name) >= 0):
                raise OptionsError(f"{name} must be 0 or more; got {getattr(self, name)}")
        if self.keep is not None and not 0 <= self.keep <= 1:
            raise OptionsError(f"keep is a score in [0, 1]; got {self.keep}")
        for name in ("peaks", "clip", "stride"):
            if getattr(self, name) < 1:
                raise OptionsError(f"{name} must be at least 1; got {getattr(self, name)}")
        if self.impostors < 0:
            raise OptionsError(f"impostors must be 0 or more; got {self.impostors}")
        if self.seed < 0:
            raise OptionsError(f"the seed must be 0 or more; got {self.seed}")

    def with_keep(self, encoder: Encoder, threshold: float, stored: str | None = None) -> "AnnotateOptions":
        """The options with the least score of a candidate settled: as given, as in the store, or below the threshold.

        Args:
            encoder: whose threshold it follows.
            threshold: of this run.
            stored: what a store that exists was made with.

        Raises:
            OptionsError: it is above the threshold, so that spottings would be missing.
        """
        usual = min(threshold, round(encoder.contract.threshold - BELOW, 6))
        keep = self.keep if self.keep is not None else usual if stored is None else float(stored)
        if keep > threshold and self.keep is not None:
            raise OptionsError(f"keep ({keep:g}) must not be above the threshold ({threshold:g})")
        if keep > threshold:
            raise OptionsError(
                f"this store keeps scores from {keep:g} on, so a threshold of {threshold:g} would miss some. Name "
                "another folder or database; runs may share their tracks with --cache"
            )
        return replace(self, keep=keep)

    def settings(self) -> dict[str, str]:
        """The options as a store remembers them."""
        return {name: str(value) for name, value in asdict(self).items()}
