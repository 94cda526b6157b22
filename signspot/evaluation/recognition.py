"""Recognisers tested on a corpus, beside a classifier that learns nothing from it: the nearest exemplar."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from signspot.corpus.corpus import Corpus, CorpusVideo
from signspot.embedding.exemplars import Gallery
from signspot.errors import OptionsError
from signspot.io.progress import Progress, silent
from signspot.recognition.recogniser import Recogniser, RgbRecogniser
from signspot.recognition.scoring import (
    RecogniserScores,
    score_classifier,
    signs_to_test,
    taught_window,
)
from signspot.spotting.spot_options import SpotOptions
from signspot.spotting.spotter import Spotter
from signspot.types import Segment

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class NearestExemplar:
    """Names the word whose exemplar scores highest within a segment, by the comparison that users search with."""

    spotter: Spotter
    gallery: Gallery

    @classmethod
    def among(cls, spotter: Spotter, corpus: Corpus, words: Sequence[str]) -> "NearestExemplar":
        """Of the words of a corpus's dictionary.

        Raises:
            OptionsError: none of them has an exemplar.
        """
        dictionary = corpus.dictionary()
        listed = [word for word in words if word in dictionary]
        if not listed:
            raise OptionsError(f"none of {len(words):,} words has an exemplar in the dictionary of {corpus.folder}")
        return cls(spotter, spotter.gallery(dictionary.select(listed)))

    @property
    def words(self) -> tuple[str, ...]:
        """Those that have exemplars."""
        return tuple(self.gallery.words)

    def of_video(self, video: CorpusVideo, segments: Sequence[Segment]) -> Floats:
        """(N, K) the highest score of each word's exemplars in each segment."""
        source, options = video.landmarks or video.video, SpotOptions()
        assert source is not None, "a video of a corpus has landmarks or pixels"
        scores = self.spotter.word_scores(self.spotter.track(source, options), self.gallery, options)
        curves = np.stack([scores.scores[word] for word in self.words], axis=1)
        rows = []
        for segment in segments:
            first, last = np.searchsorted(scores.times, (segment.start, segment.end)).tolist()
            first = min(first, len(curves) - 1)
            rows.append(curves[first : max(last, first + 1)].max(axis=0))
        return np.stack(rows).astype(np.float32)


@dataclass(frozen=True, slots=True)
class RecogniserResult:
    """Scores of one classifier on one set of signs."""

    classifier: str
    learnt: str  # from what
    scores: RecogniserScores


def evaluate_recognisers(
    recognisers: Sequence[tuple[str, Recogniser | RgbRecogniser]],
    corpus: Corpus,
    beside: Sequence[Spotter],
    progress: Progress = silent,
) -> list[RecogniserResult]:
    """Test recognisers on the signs of test videos, and nearest exemplars on the very same signs.

    Args:
        recognisers: by name. Signs count whose word all of them know, and the dictionary, so that all are asked alike.
        corpus: with test videos.
        beside: whose comparison names the nearest exemplar.
        progress: called with the classifiers done.

    Raises:
        OptionsError: no sign of a word that all know is in a test video.
    """
    shared = set.intersection(*(set(recogniser.words) for _, recogniser in recognisers))
    if beside:
        shared &= set(corpus.dictionary())
    tested = {name: signs for name, signs in signs_to_test(corpus, shared).items() if signs}
    if not tested:
        raise OptionsError(
            f"no sign of {len(shared):,} words that all classifiers know is in a test video of {corpus.folder}: "
            "there is nothing to test on. Give a corpus with test videos (splits.json) and truth or labels of them"
        )
    results, total = [], len(recognisers) + len(beside)
    for done, (name, recogniser) in enumerate(recognisers):
        progress(done, total)
        learnt, window = str(recogniser.card.get("data", "")), taught_window(recogniser.card)
        results += [
            RecogniserResult(name, learnt, scores) for scores in score_classifier(recogniser, corpus, tested, window)
        ]
    for done, spotter in enumerate(beside, len(recognisers)):
        progress(done, total)
        nearest = NearestExemplar.among(spotter, corpus, sorted(shared))
        title, learnt = (
            f"nearest exemplar, {spotter.encoder.name}",
            f"nothing; {len(nearest.gallery.exemplars):,} exemplars",
        )
        results += [RecogniserResult(title, learnt, scores) for scores in score_classifier(nearest, corpus, tested)]
    progress(total, total)
    return results
