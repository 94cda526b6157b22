"""Whether a candidate is right, where a corpus knows every sign, as the signing world does."""

from functools import lru_cache

from signspot.annotation.records import Candidate
from signspot.world.layout import Corpus
from signspot.world.truth import SignTruth

MARGIN = 0.2  # seconds outside of the sign at which a place still is right


class Truth:
    """Asks a corpus for its truth, one video at a time."""

    def __init__(self, corpus: Corpus):
        self.corpus = corpus
        self._signs = lru_cache(maxsize=4)(corpus.signs)

    def knows(self, video: str) -> bool:
        """Whether the signs of a video are known."""
        return bool(self._signs(video))

    def is_right(self, candidate: Candidate) -> bool:
        """Whether the word is signed at its place, or another word whose sign is the very one of the exemplar."""
        return any(_shows(sign, candidate) for sign in self._signs(candidate.video))


def _shows(sign: SignTruth, candidate: Candidate) -> bool:
    there = sign.start - MARGIN <= candidate.time <= sign.end + MARGIN
    return there and (sign.word == candidate.word or candidate.exemplar in sign.exemplars)
