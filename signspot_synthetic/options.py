"""Options of a corpus: sizes, shares, knobs and the seed, checked before anything is made."""

import math
from dataclasses import asdict, dataclass, field
from typing import Any

from signspot.errors import OptionsError
from signspot_synthetic.knobs import Knobs
from signspot_synthetic.language.lexicon import LexiconOptions

SHORTEST_VIDEO = 6.0  # seconds
_VARIANT_SHARES = LexiconOptions().variant_shares


@dataclass(frozen=True, slots=True)
class CorpusOptions:
    """Options of a corpus. The same options give the same bytes, on the same platform."""

    words: int | tuple[str, ...] = 1064  # how many common words the dictionary lists, or which
    hours: float = 2.0  # of continuous signing
    seed: int = 7
    render: bool = False  # make videos (.mp4), too
    size: tuple[int, int] = (320, 240)  # width and height of the image
    video_seconds: float = 180.0  # about how long a continuous video is
    test_share: float = 0.2  # of the videos
    train_signers: int = 16
    test_signers: int = 4
    dictionary_signers: int = 24
    exemplars: float = 3.0  # a word, on average
    most_exemplars: int = 10  # a word
    variants: int = 4  # a word, at most
    minimal_pair_share: float = 0.2  # of the words have a partner differing in one parameter
    synonym_share: float = 0.05  # of the words use another word's sign
    fingerspelled_share: float = 0.04  # of the words
    knobs: Knobs = field(default_factory=Knobs)

    def __post_init__(self) -> None:
        if self.word_count < 1:
            raise OptionsError(f"a corpus needs at least 1 word; got {self.word_count}")
        self._check_time()
        self._check_counts()
        self._check_dictionary()
        for name in ("minimal_pair_share", "synonym_share", "fingerspelled_share"):
            if not 0 <= getattr(self, name) <= 1:
                raise OptionsError(f"{name} must lie between 0 and 1; got {getattr(self, name)}")

    @property
    def word_count(self) -> int:
        """The number of words that the dictionary lists."""
        return self.words if isinstance(self.words, int) else len(self.words)

    @property
    def variant_shares(self) -> tuple[float, ...]:
        """Of the words with 1, 2, … variants; the knob `variants` moves them towards one variant per word."""
        more = [share * min(1.0, self.knobs.variants) for share in _VARIANT_SHARES[1 : self.variants]]
        return (1 - sum(more), *more) if sum(more) > 0 else (1.0,)

    def _check_time(self) -> None:
        least = 2 * SHORTEST_VIDEO / 3600
        if not (math.isfinite(self.hours) and self.hours >= least):
            raise OptionsError(
                f"hours must be at least {least:.4f} (a video of {SHORTEST_VIDEO:.0f} s to train and one to test); "
                f"got {self.hours}"
            )
        if not (math.isfinite(self.video_seconds) and self.video_seconds >= SHORTEST_VIDEO):
            raise OptionsError(f"video_seconds must be at least {SHORTEST_VIDEO:.0f}; got {self.video_seconds}")
        if not 0 < self.test_share < 1:
            raise OptionsError(f"test_share must lie between 0 and 1, both excluded; got {self.test_share}")

    def _check_counts(self) -> None:
        for name in ("train_signers", "test_signers", "dictionary_signers", "most_exemplars", "variants"):
            if getattr(self, name) < 1:
                raise OptionsError(f"{name} must be at least 1; got {getattr(self, name)}")
        if self.seed < 0:
            raise OptionsError(f"the seed must be 0 or more; got {self.seed}")
        if self.variants > len(_VARIANT_SHARES):
            raise OptionsError(f"variants must be at most {len(_VARIANT_SHARES)} a word; got {self.variants}")
        if min(self.size) < 64:
            raise OptionsError(f"the image must be at least 64 x 64 pixels; got {self.size[0]} x {self.size[1]}")

    def _check_dictionary(self) -> None:
        if self.variants > self.most_exemplars:
            raise OptionsError(
                f"more variants ({self.variants}) than exemplars ({self.most_exemplars}) a word: every variant needs "
                "an exemplar. Allow more exemplars or fewer variants"
            )
        mean = sum(count * share for count, share in enumerate(self.variant_shares, start=1))
        if not mean <= self.exemplars <= self.most_exemplars:
            raise OptionsError(
                f"exemplars, on average, must lie between {mean:.2f} (the mean number of variants) and "
                f"{self.most_exemplars}; got {self.exemplars}"
            )


def options_as_json(options: CorpusOptions) -> dict[str, Any]:
    """The options as they stand in `corpus.json`."""
    values = asdict(options)
    if not options.knobs.lips:  # as it was before there was this knob: the bytes of such a corpus are the same
        del values["knobs"]["lips"]
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}
