"""False alarms by threshold, measured on signing in which the words looked for do not occur."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from signspot.embedding.exemplars import Gallery
from signspot.errors import OptionsError
from signspot.landmarks.video_estimation import Source
from signspot.spotting.spot_options import SpotOptions
from signspot.spotting.spotter import Spotter
from signspot.types import Track

LOWEST = 0.5  # scores below this are never thresholds
RATES = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)  # false alarms per hour and word in the table of a card


@dataclass(frozen=True, slots=True)
class FalseAlarms:
    """Scores of everything that was spotted where nothing was to be found."""

    scores: NDArray[np.float32]  # falling
    hours: float  # searched
    words: int  # looked for

    def threshold(self, rate: float) -> float:
        """The least threshold with at most `rate` false alarms per hour and word.

        Raises:
            OptionsError: the rate is not above 0, or too low for so little background.
        """
        if not rate > 0:
            raise OptionsError(f"false alarms per hour must be above 0; got {rate}")
        allowed = rate * self.hours * self.words
        if allowed < 1:
            least = 1 / (self.hours * self.words)
            raise OptionsError(
                f"this background is too short to measure fewer than {least:.3g} false alarms per hour; got {rate}"
            )
        count = min(int(allowed), len(self.scores) - 1)
        return float(np.nextafter(self.scores[count], np.float32(2)))

    def table(self, rates: Sequence[float] = RATES) -> dict[str, float]:
        """Thresholds by rate, for a card; rates that are too low to be measured are left out."""
        measured = [rate for rate in rates if rate * self.hours * self.words >= 1]
        return {f"{rate:g}": round(self.threshold(rate), 4) for rate in measured}


def false_alarms(spotter: Spotter, sources: Iterable[Source | Track], gallery: Gallery) -> FalseAlarms:
    """Spot words in background in which none of them is signed, as users spot them.

    Args:
        spotter: what is calibrated.
        sources: background signing.
        gallery: with as many exemplars per word, mirrored or not, as users have.
    """
    low = SpotOptions(threshold=LOWEST)
    scores: list[float] = []
    seconds = 0.0
    for source in sources:
        searched = spotter.search(source, gallery, low)
        seconds += searched.track.grid.frames / searched.track.grid.fps
        scores.extend(spotting.score for spotting in searched.spottings)
    if not scores:
        raise OptionsError("nothing was spotted in the background, so there is nothing to calibrate with")
    return FalseAlarms(np.sort(np.array(scores, np.float32))[::-1], seconds / 3600, len(gallery.words))
