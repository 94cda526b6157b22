"""One-shot identification: an isolated sign is looked up among one exemplar per word by other signers.

Everything goes through `Spotter.identify` and the gallery that users search.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from signspot.corpus.isolated import IsolatedClip
from signspot.embedding.exemplars import ExemplarEmbedder, Gallery, SignViews
from signspot.errors import OptionsError, SignspotError
from signspot.io.progress import Progress, silent
from signspot.metrics.bootstrap import Interval, bootstrap_mean
from signspot.spotting.spot_options import SpotOptions
from signspot.spotting.spotter import Spotter
from signspot.types import Exemplar

DRAWS = 5  # galleries that the queries of every signer are looked up in


@dataclass(frozen=True, slots=True)
class OneShotScores:
    """Scores of identifying signs, with 95 % intervals over words."""

    encoder: str
    hash: str
    match: str
    words: int  # in a gallery
    queries: int
    recall_1: Interval
    recall_5: Interval
    recall_10: Interval
    mean_reciprocal_rank: Interval
    median_rank: float


@dataclass(frozen=True, slots=True)
class OneShotRanks:
    """Ranks at which the words of queries were found."""

    words: int  # in a gallery
    queries: int
    ranks: dict[Hashable, list[float]]  # by word

    def scores(self, spotter: Spotter, options: SpotOptions) -> OneShotScores:
        """Recalls and so on, with intervals over words."""

        def recall(most: int) -> Interval:
            return bootstrap_mean({word: [float(rank <= most) for rank in ranks] for word, ranks in self.ranks.items()})

        return OneShotScores(
            spotter.encoder.name,
            spotter.encoder.hash,
            options.match,
            self.words,
            self.queries,
            *(recall(1), recall(5), recall(10)),
            bootstrap_mean({word: [1 / rank for rank in ranks] for word, ranks in self.ranks.items()}),
            float(np.median([rank for ranks in self.ranks.values() for rank in ranks])),
        )


def one_shot(
    spotter: Spotter,
    clips: Sequence[IsolatedClip],
    *,
    queries: int = 1000,
    progress: Progress = silent,
) -> OneShotRanks:
    """Look clips up, each among one exemplar per word, all by other signers than its own.

    Args:
        spotter: what is measured.
        clips: of many words, most by several signers.
        queries: how many clips are looked up, at most.
        progress: called with the clips embedded, and then with those looked up.

    Raises:
        OptionsError: there are no two words by two signers each.
    """
    options, random = SpotOptions(), np.random.default_rng(0)
    usable, views = _embed(spotter, clips, options, lambda done: progress(done, len(clips) + queries))
    by_word: defaultdict[str, list[int]] = defaultdict(list)
    for number, clip in enumerate(usable):
        by_word[clip.word].append(number)
    shared = {word for word, numbers in by_word.items() if len({usable[number].signer for number in numbers}) > 1}
    if len(shared) < 2:
        raise OptionsError("one-shot identification needs at least two words by two known signers each")
    chosen_clips = [number for number in random.permutation(len(usable)).tolist() if usable[number].word in shared][
        :queries
    ]
    by_signer: defaultdict[str, list[int]] = defaultdict(list)
    for number in chosen_clips:
        by_signer[usable[number].signer].append(number)
    ranks: dict[Hashable, list[float]] = {}
    looked_up = 0
    for signer, numbers in by_signer.items():
        progress(len(clips) + looked_up, len(clips) + len(chosen_clips))
        looked_up += len(numbers)
        for _ in range(DRAWS):
            drawn = _draw(by_word, usable, signer, random)
            exemplars = [Exemplar(usable[number].word, str(number)) for number in drawn]
            gallery = Gallery.of_views(exemplars, [views[number] for number in drawn])
            for number in numbers:
                words = [match.word for match in spotter.identify_views(views[number], gallery, options)]
                ranks.setdefault(usable[number].word, []).append(1.0 + words.index(usable[number].word))
    return OneShotRanks(len(by_word), len(chosen_clips), ranks)


def _embed(
    spotter: Spotter, clips: Sequence[IsolatedClip], options: SpotOptions, progress: Callable[[int], None]
) -> tuple[list[IsolatedClip], list[SignViews]]:
    """Clips by known signers in which a sign can be seen, and how the encoder sees them."""
    embedder = ExemplarEmbedder(spotter.encoder, spotter.cache, options.seed)
    usable, views = [], []
    for done, clip in enumerate(clips):
        progress(done)
        with suppress(SignspotError):
            if clip.signer:
                views.append(embedder.embed_source(clip.landmarks, mirror=options.mirror))
                usable.append(clip)
    progress(len(clips))
    return usable, views


def _draw(
    by_word: dict[str, list[int]], clips: Sequence[IsolatedClip], signer: str, random: np.random.Generator
) -> list[int]:
    """One clip of every word by another signer."""
    others = ([number for number in numbers if clips[number].signer != signer] for numbers in by_word.values())
    return [numbers[int(random.integers(len(numbers)))] for numbers in others if numbers]
