"""How far a search could get with the exemplars that there are, and for how many words none of them fits.

Localisation as in `measures`, with every single exemplar of a word: how often is one right on average, how often all of
them together, and how often any of them, as if somebody knew which? As a control, any of as many exemplars of other
words. And without a search: a word resembles its exemplars if its signs, cut out of the clips, are nearer to the best
of them than to the best of as many exemplars of other words.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from experiments.lsp.corpora import SEED
from experiments.lsp.measures import TOLERANCE
from signspot.corpus.corpus import Corpus
from signspot.dictionary.dictionary import Dictionary
from signspot.embedding.exemplars import Gallery
from signspot.metrics.bootstrap import bootstrap_mean
from signspot.metrics.ranking import Group
from signspot.spotting.matching import warping_costs
from signspot.spotting.spotter import Spotter
from signspot.types import Exemplar, Segment

SHORTEST = 0.1  # seconds; shorter signs are not compared
WORSE_HALF = 0.5  # by chance half of the words lie beyond it, so twice as many as do resemble nothing


def measure_ceiling(corpus: Corpus, dictionary: Dictionary, spotters: Sequence[Spotter]) -> Iterator[str]:
    """Rows of a Markdown table, one per encoder."""
    heads = ("encoder", "words", "one exemplar", "all together", "any of them", "any of as many of other words")
    yield f"| {' | '.join((*heads, 'words that resemble no exemplar'))} |"
    yield "|---" * (len(heads) + 1) + "|"
    for spotter in spotters:
        right = _located(spotter, corpus, dictionary)
        cells = map(
            str, (len(right["all"]), *map(bootstrap_mean, right.values()), _unlike(spotter, corpus, dictionary))
        )
        yield f"| {spotter.encoder.name} | {' | '.join(cells)} |"


def _located(spotter: Spotter, corpus: Corpus, dictionary: Dictionary) -> dict[str, dict[Group, list[float]]]:
    """Of each word, for each clip that it is signed in, how often its best location is right."""
    together = spotter.gallery(dictionary)
    singles = replace(
        together,
        exemplars=tuple(
            replace(exemplar, word=f"{exemplar.word}/{n}") for n, exemplar in enumerate(together.exemplars)
        ),
    )
    of_word: defaultdict[str, list[str]] = defaultdict(list)
    for exemplar, single in zip(together.exemplars, singles.exemplars, strict=True):
        of_word[exemplar.word].append(single.word)
    rng = np.random.default_rng(SEED)
    answers: dict[str, dict[Group, list[float]]] = {name: {} for name in ("one", "all", "any", "other")}
    for name, video in corpus.videos.items():
        assert video.landmarks is not None
        track = spotter.track(video.landmarks)
        whole = [Segment(0.0, track.grid.frames / track.grid.fps)]
        segments: defaultdict[str, list[Segment]] = defaultdict(list)
        for sign in corpus.signs(name):
            segments[sign.word].append(sign.segment.padded(TOLERANCE))
        words = sorted(segments.keys() & of_word.keys())
        rest = [single for word in of_word if word not in segments for single in of_word[word]]
        drawn = {word: rng.permutation(rest)[: len(of_word[word])].tolist() for word in words}
        if not words:
            continue
        (best,) = spotter.best_locations(track, together.of_words(words), whole)
        single_words = {single for word in words for single in (*of_word[word], *drawn[word])}
        (by_single,) = spotter.best_locations(track, singles.of_words(sorted(single_words)), whole)

        for word in words:
            same_word, other = (
                [any(by_single[single].time in segment for segment in segments[word]) for single in singles_of]
                for singles_of in (of_word[word], drawn[word])
            )
            together_right = any(best[word].time in segment for segment in segments[word])
            results = float(np.mean(same_word)), float(together_right), float(any(same_word)), float(any(other))
            for kind, result in zip(answers, results, strict=True):
                answers[kind].setdefault(word, []).append(result)
    return answers


def _unlike(spotter: Spotter, corpus: Corpus, dictionary: Dictionary) -> str:
    """Share of words whose signs are not nearer to their exemplars than to others: twice those in the worse half."""
    signs = [
        Exemplar(sign.word, f"{name}@{sign.start:.2f}", video.landmarks, segment=sign.segment)
        for name, video in corpus.videos.items()
        for sign in corpus.signs(name)
        if sign.word in dictionary and sign.segment.duration >= SHORTEST
    ]
    cut_out, exemplars = spotter.gallery(signs), spotter.gallery(dictionary)
    plain = np.flatnonzero(~cut_out.mirrored)
    costs = warping_costs(_codes(cut_out)[plain], _codes(exemplars))
    first = np.flatnonzero(np.diff(exemplars.rows, prepend=-1))
    costs = np.minimum.reduceat(costs, first, axis=1)  # of an exemplar and its mirror image the better one
    signed = np.array([cut_out.exemplars[row].word for row in cut_out.rows[plain]])
    words_of_exemplars = np.array([exemplar.word for exemplar in exemplars.exemplars])
    rng, beyond = np.random.default_rng(SEED), []
    words = sorted(set(signed) & set(words_of_exemplars))
    for word in words:
        mean = costs[signed == word].mean(axis=0)
        same_word = mean[words_of_exemplars == word]
        others = [
            mean[rng.choice(np.flatnonzero(words_of_exemplars == other), len(same_word))].min()
            for other in words
            if other != word
        ]
        beyond.append(float(np.mean(np.array(others) < same_word.min()) > WORSE_HALF))
    return f"{min(1.0, float(np.mean(beyond)) / WORSE_HALF):.2f}"


def _codes(gallery: Gallery) -> NDArray[np.float32]:
    assert gallery.codes is not None, "an encoder with frame codes"
    return np.asarray(gallery.codes, np.float32)
