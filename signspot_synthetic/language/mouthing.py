"""Mouthing: which signs are mouthed, and the labels M that a spotter of mouthings finds, right and wrong."""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from signspot.corpus.truth import MentionTruth, SignTruth
from signspot.types import Label, Segment, Subtitle
from signspot_synthetic.knobs import named_rng

_MOUTHED = 0.58  # of the signs that have a word, on average
_FOUND = 0.75  # of the mouthed signs in a subtitle
_FALSE_ALARMS = 0.18  # a subtitle word that is not mouthed: a label at a wrong time
_PADDING = 4.0  # seconds around a subtitle in which a mouthing is looked for
_JITTER = 0.06  # standard deviation of a right label's time around the end of its sign, seconds
_AT_A_SIGN = 0.6  # of the wrong labels lie at the end of some other sign
# Confidence is 0.5 + x / 2 with x from a beta law. The ratio of the two densities, x^0.25 / (1 - x)^1.95,
# grows with x: the more confident a label, the more reliable it is.
_RIGHT, _WRONG = (1.0, 1.05), (0.75, 3.0)


def mouthing_rate(word: str, seed: int, knob: float) -> float:
    """Share of a word's uses that are mouthed: a habit of the word; always, where the knob is 0."""
    habit = _MOUTHED + named_rng(seed, "mouthing", word).uniform(-0.3, 0.3)
    return float(np.clip(1 - knob * (1 - habit), 0.0, 1.0))


@dataclass(frozen=True, slots=True)
class SimulatedMouthingSpotter:
    """Finds mouthings of subtitle words in one video, as fallibly as a real one."""

    subtitles: Sequence[Subtitle]
    signs: Sequence[SignTruth]  # in order of time
    duration: float  # of the video, seconds
    same_sign: Mapping[str, frozenset[str]]  # word → words that share its sign, itself included
    knob: float = 1.0

    def labels(self, mentions: Iterable[MentionTruth], rng: np.random.Generator) -> list[Label]:
        """Label the mentioned words, in order of time."""
        found = [label for mention in mentions if (label := self._label(mention, rng)) is not None]
        return sorted(found, key=lambda label: (label.time, label.word))

    def _label(self, mention: MentionTruth, rng: np.random.Generator) -> Label | None:
        chance, jitter = rng.random(), float(rng.normal(0, 1))
        right, wrong, place, choice = rng.beta(*_RIGHT), rng.beta(*_WRONG), rng.random(), rng.random()
        mouthed = [self.signs[i] for i in mention.signs if self.signs[i].mouthed]
        if mouthed:
            if chance >= 1 - self.knob * (1 - _FOUND):
                return None
            time = mouthed[0].end + jitter * _JITTER * self.knob
            return self._at(mention, time, right)
        if chance >= self.knob * _FALSE_ALARMS:
            return None
        return self._at(mention, self._wrong_time(mention, place, choice), wrong)

    def _at(self, mention: MentionTruth, time: float, sureness: float) -> Label:
        inside = float(np.clip(time, 0.0, self.duration))
        return Label(mention.word, mention.video, round(inside, 3), round(0.5 + float(sureness) / 2, 4))

    def _wrong_time(self, mention: MentionTruth, place: float, choice: float) -> float:
        shown = self.subtitles[mention.subtitle]
        window = Segment(shown.start, shown.end).padded(_PADDING)
        if choice < _AT_A_SIGN:
            words = self.same_sign.get(mention.word, frozenset([mention.word]))
            near = slice(
                *(bisect_left(self.signs, time, key=lambda sign: sign.end) for time in (window.start, window.end))
            )
            ends = [sign.end for sign in self.signs[near] if sign.word not in words]
            if ends:
                return ends[int(place * len(ends))]
        return window.start + place * (min(window.end, self.duration) - window.start)


def is_right(label: Label, signs: Iterable[SignTruth], same_sign: Mapping[str, frozenset[str]]) -> bool:
    """Whether a label marks the end of a sign of its word, to within 0.4 s."""
    words = same_sign.get(label.word, frozenset([label.word]))
    return any(sign.word in words and abs(sign.end - label.time) <= 0.4 for sign in signs)
