"""Feedback measured: signs with one parameter changed on purpose, and real signs taken for their word or another."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from signspot.applications.differences import compare
from signspot.applications.feedback import MEANING, RIGHT_SCORE, USUAL
from signspot.embedding.exemplars import ExemplarEmbedder, Gallery, SignViews
from signspot.embedding.inputs import sign_in_context
from signspot.errors import SignspotError
from signspot.landmarks.landmarks import Landmarks
from signspot.pictures.skeletons import Frames
from signspot.progress import Progress, silent
from signspot.records import Exemplar
from signspot.spotting.search import SpotOptions
from signspot.spotting.spotter import Spotter
from signspot_lab.applications.signs import TOLD, alter, film, make_words
from signspot_lab.isolated.clips import FPS, IsolatedClip

EXEMPLARS = 3


@dataclass(frozen=True, slots=True)
class Trial:
    """One clip, what was changed in it, its measures against the exemplars, and how its word ranks."""

    word: str
    changed: str  # empty: nothing
    measures: dict[str, float]  # means over the exemplars
    rank: int
    score: float

    @property
    def right(self) -> bool:
        """Whether it is taken for the word."""
        return self.rank == 1 and self.score >= RIGHT_SCORE

    @property
    def named(self) -> str:
        """The parameter that a learner is told first."""
        strengths = {name: (value - USUAL[name][0]) / USUAL[name][1] for name, value in self.measures.items()}
        return MEANING[max(strengths, key=lambda name: strengths[name])]


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
        clips = [film(entry.variants[0], seed, word, number) for number in range(EXEMPLARS)]
        signs[word] = [sign_of(clip) for clip in clips]
        views += [embedder.embed_source(clip, mirror=True) for clip in clips]
        shown += [Exemplar(word, f"{word}-{number}") for number in range(EXEMPLARS)]
    gallery = gallery_of(shown, views)
    for done, altered in enumerate(alter(lexicon, seed)):
        progress(done, words * (len(TOLD) + 1))
        clip = altered.landmarks(seed)
        try:
            found = spotter.identify_views(embedder.embed_source(clip), gallery, SpotOptions())
        except SignspotError:  # the estimator saw no hand
            continue
        rank = next(number for number, match in enumerate(found, 1) if match.word == altered.word)
        compared = [compare(sign_of(clip), each) for each in signs[altered.word]]
        measures = {name: _mean([each[name].value for each in compared if name in each]) for name in compared[0]}
        yield Trial(altered.word, altered.changed, measures, rank, found[rank - 1].score)


def gallery_of(exemplars: Sequence[Exemplar], views: Sequence[SignViews]) -> Gallery:
    """A gallery of what was embedded before."""
    codes = [each.codes for each in views if each.codes is not None]
    joined = np.stack(codes) if len(codes) == len(views) else None
    return Gallery.of(exemplars, np.stack([each.embeddings for each in views]), joined)


def choose(trials: Sequence[Trial]) -> list[str]:
    """Lines of the table of usual differences, and how the score of right signs is spread."""
    same = [trial for trial in trials if not trial.changed]
    lines = []
    for name in USUAL:
        values = np.array([trial.measures[name] for trial in same if name in trial.measures])
        spread = 1.4826 * float(np.median(np.abs(values - np.median(values))))
        lines.append(f"{name}: median {np.median(values):.3f}, spread {spread:.3f}")
    scores = np.quantile([trial.score for trial in same], (0.05, 0.1, 0.5))
    return [
        *lines,
        f"scores of right signs: 5 % below {scores[0]:.2f}, 10 % below {scores[1]:.2f}, median {scores[2]:.2f}",
    ]


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
    for number in random.permutation(len(asked)).tolist()[:queries]:
        word, clip = asked[number]
        if word not in gallery.words:
            continue
        try:
            found = spotter.identify_views(embedder.embed_source(clip.landmarks), gallery, SpotOptions())
        except SignspotError:
            continue
        rank = next(place for place, match in enumerate(found, 1) if match.word == word)
        other = next(match for match in found if match.word != word)
        right.append(float(rank == 1 and found[0].score >= RIGHT_SCORE))
        wrong.append(float(found[0].word == other.word and other.score >= RIGHT_SCORE))
        ranks.append(1 / rank)
    cells = (len(gallery.words), len(ranks), _mean(right), _mean(wrong), _mean(ranks))
    return tuple(str(cell) if isinstance(cell, int) else f"{cell:.2f}" for cell in cells)


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if len(values) else float("nan")
