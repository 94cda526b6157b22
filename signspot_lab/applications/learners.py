"""Feedback measured: signs with one parameter changed on purpose, and real signs taken for their word or another."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import count, islice

import numpy as np
from numpy.typing import NDArray

from signspot.applications.differences import PARAMETERS
from signspot.applications.feedback import MEANING, USUAL, is_right, strengths
from signspot.applications.unlikeness import typical_cost, unlikeness
from signspot.embedding.exemplars import ExemplarEmbedder, Gallery, SignViews
from signspot.embedding.inputs import sign_in_context
from signspot.errors import NoHandsError, SignspotError
from signspot.landmarks.landmarks import Landmarks
from signspot.pictures.skeletons import Frames
from signspot.progress import Progress, silent
from signspot.records import Exemplar
from signspot.spotting.search import SpotOptions
from signspot.spotting.spotter import Spotter
from signspot_lab.applications.signs import TOLD, alter, film, make_words
from signspot_lab.isolated.clips import FPS, IsolatedClip

EXEMPLARS = 3
_STEPS = 6000  # of the search for constants
_SOFT = 1.5  # strengths that are one unit of certainty there
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Trial:
    """One clip, what was changed in it, how its measures stand out, and how its word ranks."""

    word: str
    changed: str  # empty: nothing
    strengths: dict[str, float]  # spreads above what is usual
    rank: int
    score: float
    unlike: float

    @property
    def right(self) -> bool:
        """Whether it is taken for the word."""
        return is_right(self.rank, self.score, self.unlike)

    @property
    def named(self) -> str:
        """The parameter that a learner is told first."""
        return MEANING[max(self.strengths, key=lambda name: self.strengths[name])]


def sign_of(landmarks: Landmarks) -> Frames:
    """(T, J, C) features of the sign in a clip."""
    seen, first, last = sign_in_context(landmarks, FPS)
    return seen[first : last + 1]


def world_trials(spotter: Spotter, words: int, seed: int, progress: Progress = silent) -> Iterator[Trial]:
    """Every sign of a world as it is, and with each parameter changed, against exemplars by three others."""
    lexicon = make_words(words, seed)
    embedder = ExemplarEmbedder(spotter.encoder)
    shown, views, signs = [], [], {}
    for word, entry in lexicon.items():
        seen = list(islice(_seen(embedder, partial(film, entry.variants[0], seed, word)), EXEMPLARS))
        signs[word] = [sign_of(clip) for clip, _ in seen]
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
        told = {name: strength for name, (strength, _) in strengths(sign_of(clip), signs[altered.word]).items()}
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


def choose(trials: Sequence[Trial]) -> list[str]:
    """Constants of feedback by trials: `more` and `spread` of every measure, and what nine of ten right signs reach.

    Steps by chance go wherever the changed parameter is named more surely, held near to how right signs are spread.
    """
    names = list(USUAL)
    units = np.array([[usual.more, usual.spread] for usual in USUAL.values()]).T
    seen = np.array([[trial.strengths.get(name, -np.inf) for name in names] for trial in trials])
    raw = seen * units[1] + units[0]  # above what is usual between exemplars
    same = np.array([not trial.changed for trial in trials])
    finite = np.where(np.isfinite(raw[same]), raw[same], np.nan)
    more = np.nan_to_num(np.nanmedian(finite, axis=0))
    spread = np.maximum(1.4826 * np.nanmedian(np.abs(finite - more), axis=0), 0.3 * units[1])
    wanted = np.array([PARAMETERS.index(TOLD[trial.changed]) for trial in trials if trial.changed])
    begin, random = (more, spread), np.random.default_rng(0)
    least = _doubt(raw[~same], wanted, *begin)
    for _ in range(_STEPS):
        moved = [random.standard_normal(len(names)) * (random.random(len(names)) < 0.3) for _ in range(2)]
        new = more + 0.3 * spread * moved[0], spread * np.exp(0.15 * moved[1])
        held = (np.log(new[1] / begin[1]) ** 2).mean() + (((new[0] - begin[0]) / begin[1]) ** 2).mean()
        doubt = _doubt(raw[~same], wanted, *new) + 0.02 * held
        if doubt < least:
            least, (more, spread) = doubt, new
    right = [trial for trial in trials if not trial.changed]
    largest = (np.where(np.isfinite(raw[same]), (raw[same] - more) / spread, -np.inf)).max(axis=1)
    return [
        *(f"{name}: more {more[place]:.3f}, spread {spread[place]:.3f}" for place, name in enumerate(names)),
        f"nine of ten right signs: largest strength below {np.quantile(largest, 0.9):.2f}, "
        f"unlikeness below {np.quantile([trial.unlike for trial in right], 0.9):.2f}",
    ]


def _doubt(raw: Floats, wanted: NDArray[np.int64], more: Floats, spread: Floats) -> float:
    """Mean doubt that the wanted parameter is named: a cross entropy."""
    told = np.where(np.isfinite(raw), (raw - more) / spread, -5.0)
    of = np.array([PARAMETERS.index(MEANING[name]) for name in USUAL])
    best = np.stack([told[:, of == place].max(axis=1) for place in range(len(PARAMETERS))], axis=1) / _SOFT
    best -= best.max(axis=1, keepdims=True)
    return float((np.log(np.exp(best).sum(axis=1)) - best[np.arange(len(wanted)), wanted]).mean())


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


def real_verdicts(
    spotter: Spotter, clips: Sequence[IsolatedClip], queries: int = 300, seed: int = 0, progress: Progress = silent
) -> tuple[str, ...]:
    """Real signs by one signer against exemplars by up to three others: taken for right, for their word and another.

    Returns:
        A row: words, clips, right signs taken for right, wrong words (the nearest other word is meant) taken for right,
        and the mean reciprocal rank.
    """
    random = np.random.default_rng(seed)
    embedder = ExemplarEmbedder(spotter.encoder)
    by_word: dict[str, list[IsolatedClip]] = {}
    for clip in clips:
        by_word.setdefault(clip.word, []).append(clip)
    shown: list[Exemplar] = []
    views: list[SignViews] = []
    asked: list[tuple[str, IsolatedClip]] = []
    for done, (word, own) in enumerate(sorted(by_word.items())):
        progress(done, len(by_word))
        signers = random.permutation(sorted({clip.signer for clip in own})).tolist()
        if len(signers) < 2:
            continue
        learner, lenders = signers[0], signers[1 : 1 + EXEMPLARS]
        asked += [(word, clip) for clip in own if clip.signer == learner][:2]
        for lender in lenders:
            try:
                views.append(embedder.embed_source(next(c for c in own if c.signer == lender).landmarks, mirror=True))
                shown.append(Exemplar(word, f"{word}-{lender}"))
            except SignspotError:
                continue
    gallery = gallery_of(shown, views)
    right, wrong, ranks = [], [], []
    typical = typical_cost(gallery, spotter.encoder)
    for number in random.permutation(len(asked)).tolist()[:queries]:
        word, clip = asked[number]
        if word not in gallery.words:
            continue
        try:
            sign = embedder.embed_source(clip.landmarks)
        except SignspotError:
            continue
        found = spotter.identify_views(sign, gallery, SpotOptions())
        rank = next(place for place, match in enumerate(found, 1) if match.word == word)
        other = next(match for match in found if match.word != word)
        mine, theirs = (unlikeness(sign, gallery, each, typical) for each in (found[rank - 1], other))
        right.append(float(is_right(rank, found[rank - 1].score, mine)))
        wrong.append(float(is_right(1 + (found[0].word != other.word), other.score, theirs)))
        ranks.append(1 / rank)
    cells = (len(gallery.words), len(ranks), _mean(right), _mean(wrong), _mean(ranks))
    return tuple(str(cell) if isinstance(cell, int) else f"{cell:.2f}" for cell in cells)


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if len(values) else float("nan")
