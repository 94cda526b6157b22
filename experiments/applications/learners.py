"""Feedback measured: signs with one parameter changed on purpose, and real signs taken for their word or another."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import count, islice

import numpy as np

from experiments.applications.signs import alter, film, make_words
from signspot.applications.feedback import (
    TOLD,
    MeasuredDifference,
    doubt,
    evidence,
    is_right,
    measure_sign,
    strengths,
    typical_cost,
    unlikeness,
)
from signspot.applications.movement import see_sign
from signspot.corpus.isolated import FPS
from signspot.embedding.exemplars import ExemplarEmbedder, Gallery, SignViews
from signspot.embedding.inputs import sign_in_context
from signspot.errors import NoHandsError, SignspotError
from signspot.io.progress import Progress, silent
from signspot.landmarks.landmarks import Landmarks
from signspot.plots.skeletons import Frames
from signspot.spotting.options import SpotOptions
from signspot.spotting.spotter import Spotter
from signspot.types import Exemplar

EXEMPLARS = 3


@dataclass(frozen=True, slots=True)
class Trial:
    """One clip, what was changed in it, how its measures stand out, and how its word ranks."""

    word: str
    changed: str  # empty: nothing
    measured: dict[str, MeasuredDifference]
    rank: int
    score: float
    unlike: float

    @property
    def doubt(self) -> float:
        """Weight of what speaks against it; above 0 it is not taken for the word."""
        return doubt(self.evidence)

    @property
    def evidence(self) -> dict[str, float]:
        """Weight of what speaks for each change."""
        return evidence(strengths(self.measured, self.unlike))

    @property
    def right(self) -> bool:
        """Whether it is taken for the word."""
        return is_right(self.rank, self.score, self.doubt)

    @property
    def named(self) -> str:
        """The parameter that a learner is told first."""
        found = self.evidence
        return TOLD[max(found, key=lambda change: found[change])]


def sign_of(landmarks: Landmarks) -> Frames:
    """(T, J, C) features of the sign in a clip."""
    seen, first, last = sign_in_context(landmarks, FPS)
    return seen[first : last + 1]


def synthetic_trials(spotter: Spotter, words: int, seed: int, progress: Progress = silent) -> Iterator[Trial]:
    """Every sign of a synthetic corpus as it is, and with each parameter changed, against exemplars by three others."""
    lexicon = make_words(words, seed)
    embedder = ExemplarEmbedder(spotter.encoder)
    shown, views, signs = [], [], {}
    for word, entry in lexicon.items():
        seen = list(islice(_seen(embedder, partial(film, entry.variants[0], seed, word)), EXEMPLARS))
        signs[word] = [see_sign(sign_of(clip)) for clip, _ in seen]
        views += [embedded for _, embedded in seen]
        shown += [Exemplar(word, f"{word}-{number}") for number in range(EXEMPLARS)]
    gallery = gallery_of(shown, views)
    typical = typical_cost(gallery, spotter.encoder)
    for done, altered in enumerate(alter(lexicon, seed)):
        progress(done, words * (len(TOLD) + 1))
        clip = altered.landmarks(seed)
        try:
            views_of_clip = embedder.embed_source(clip)
            found = spotter.identify_views(views_of_clip, gallery, SpotOptions())
        except SignspotError:  # the estimator saw no hand
            continue
        rank = next(number for number, match in enumerate(found, 1) if match.word == altered.word)
        told = measure_sign(see_sign(sign_of(clip)), signs[altered.word])
        unlike = unlikeness(views_of_clip, gallery, found[rank - 1], typical)
        yield Trial(altered.word, altered.changed, told, rank, found[rank - 1].score, unlike)


def _seen(embedder: ExemplarEmbedder, perform: Callable[[int], Landmarks]) -> Iterator[tuple[Landmarks, SignViews]]:
    """Performances one after the other, without those in which the estimator saw no hand."""
    for number in count():
        clip = perform(number)
        with suppress(NoHandsError):
            yield clip, embedder.embed_source(clip, mirror=True)


def gallery_of(exemplars: Sequence[Exemplar], views: Sequence[SignViews]) -> Gallery:
    """A gallery of what was embedded before."""
    codes = [each.codes for each in views if each.codes is not None]
    joined = np.stack(codes) if len(codes) == len(views) else None
    return Gallery.of(exemplars, np.stack([each.embeddings for each in views]), joined)


def tell(trials: Sequence[Trial]) -> Iterator[tuple[str, ...]]:
    """Rows: what was changed, clips, taken for right, parameter named, and what it was most often taken for."""
    for changed in ("", *TOLD):
        own = [trial for trial in trials if trial.changed == changed]
        right = _mean([float(trial.right) for trial in own])
        named = _mean([float(trial.named == TOLD[changed]) for trial in own]) if changed else float("nan")
        others = Counter(trial.named for trial in own if not changed or trial.named != TOLD[changed])
        most = ", ".join(f"{name} {times}" for name, times in others.most_common(2))
        yield changed or "nothing", str(len(own)), f"{right:.2f}", f"{named:.2f}" if changed else "", most
    altered = [trial for trial in trials if trial.changed]
    named = _mean([float(trial.named == TOLD[trial.changed]) for trial in altered])
    yield "any", str(len(altered)), f"{_mean([float(t.right) for t in altered]):.2f}", f"{named:.2f}", ""


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if len(values) else float("nan")
