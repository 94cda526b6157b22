"""Choice of words to ask for: a confidence for every candidate, learned from the corpus itself, without any truth.

The open question of Sec. 4.8. Words are also asked where no subtitle has them (decoys). The candidates of a subtitle's
words are a mixture: of signs, and of locations that look like a decoy's, because the word is not signed, or is signed
otherwise. Expectation-maximisation separates the two: a logistic model weighs the evidence for a location, and every
word has its own share of mentions that are signed, drawn towards the mean of all words while it is seldom mentioned.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from signspot.annotation.store import Store
from signspot.annotation.store_records import Candidate
from signspot.errors import OptionsError, StoreError
from signspot.metrics.logistic import fit_logistic, logistic

Array = NDArray[np.float64]
REACH = 0.32  # seconds: candidates that are nearer are at one location; half a clip of 16 frames
_Row = tuple[str, float, float, float, float]
_Span = tuple[float, float]


@dataclass(frozen=True, slots=True, eq=False)
class Contrast:
    """One row for the best candidate of each query: first those of the run, in its order, then those of the decoys."""

    words: tuple[str, ...]  # (N,)
    decoy: NDArray[np.bool_]  # (N,)
    score: Array  # (N,) in [0, 1]
    rival: Array  # (N,) the highest score of a rival; nan: there is none
    negative: Array  # (N,) the highest score of a negative there; nan: none was compared
    second: Array  # (N,) the score of the second-best exemplar; nan: the word has one only

    def __len__(self) -> int:
        return len(self.words)

    @property
    def asked(self) -> NDArray[np.bool_]:
        """(N,) True for real words, False for decoys."""
        return ~self.decoy


def contrast(run: Store, decoys: Store) -> Contrast:
    """Read a run and its decoys; memory grows with a few numbers a query.

    Args:
        run: rows come as `run.candidates(rank=1)` gives them.
        decoys: made of the same corpus. Decoys whose word is asked there by a true subtitle, too, are left out.

    Raises:
        StoreError: one of them holds no candidate.
    """
    of_run: list[_Row] = []
    by_chance: list[_Row] = []
    for video, group in groupby(run.candidates(), key=lambda candidate: candidate.video):
        candidates = list(group)
        rivals = _Rivals(candidates)
        of_run += [_row(candidate, rivals) for candidate in candidates if candidate.rank == 1]
        truly: dict[str, list[_Span]] = defaultdict(list)
        for query in run.queries(video=video):
            truly[query.word].append((query.start, query.end))
        spans = {(query.subtitle, query.word): (query.start, query.end) for query in decoys.queries(video=video)}
        by_chance += [
            _row(decoy, rivals)
            for decoy in decoys.candidates(video=video, rank=1)
            if not _meets(truly[decoy.word], spans[decoy.subtitle, decoy.word])
        ]
    for rows, missing in (
        (of_run, "run holds no candidate"),
        (by_chance, "decoys hold no candidate of the run's videos"),
    ):
        if not rows:
            raise StoreError(f"the {missing}: there is nothing to compare. Annotate with a lower --threshold first.")
    every = of_run + by_chance
    numbers = np.array([row[1:] for row in every], np.float64)
    return Contrast(tuple(row[0] for row in every), np.arange(len(every)) >= len(of_run), *numbers.T)


class _Rivals:
    """The candidates of one video, in order of time."""

    def __init__(self, candidates: Sequence[Candidate]):
        ordered = sorted(candidates, key=lambda candidate: candidate.time)
        self._times = np.array([candidate.time for candidate in ordered])
        self._scores = [(candidate.word, candidate.score) for candidate in ordered]

    def best(self, candidate: Candidate) -> float:
        """The highest score of another word near a candidate; nan: there is none."""
        first, last = np.searchsorted(self._times, [candidate.time - REACH, candidate.time + REACH])
        others = [score for word, score in self._scores[first:last] if word != candidate.word]
        return max(others, default=np.nan)


def _row(candidate: Candidate, rivals: _Rivals) -> _Row:
    negative, second = candidate.negative_best, candidate.exemplar_second
    return (
        candidate.word,
        candidate.score,
        rivals.best(candidate),
        np.nan if negative is None else negative,
        np.nan if second is None else second,
    )


def _meets(spans: Sequence[_Span], segment: _Span) -> bool:
    return any(start < segment[1] and segment[0] < end for start, end in spans)


_HIGHEST = 1 - 1e-4  # score: beyond it, heights mean nothing
_FARTHEST = 3.0  # deviations: a rival or negative that is farther below counts as so far
_RIDGE = 1e-3  # of each weight and row
_FIRST_CENTRE = 1.5  # deviations above chance from which a candidate is first believed
_CHANCE_WEIGHT = 5.0  # decoys of a word that count as much as the mean of all words
_SHARE_WEIGHT = 30.0  # mentions of a word that count as much as the mean of all words
_ROUNDS = 40  # of expectation-maximisation


@dataclass(frozen=True, slots=True, eq=False)
class Judgement:
    """Confidences learned from a run and its decoys."""

    confidence: Array  # (N,) that the word is signed there, by row of the contrast; also for decoys
    decoy: NDArray[np.bool_]  # (N,)
    prior: Array  # (N,) the share of the row's word
    share: float  # of the queries, that are right
    word_shares: Mapping[str, float]  # of a word's mentions, that are signed and found
    weights: Mapping[str, float]  # of the evidence, in deviations of decoys

    @property
    def asked(self) -> Array:
        """(Q,) confidences of the run's own candidates, in its order."""
        return self.confidence[~self.decoy]

    def promised_precision(self, values: Array, cut: float) -> float:
        """The precision that decoys promise for candidates of at least `cut`, where no truth is known.

        Wrong candidates are to pass as often as decoys do, each counted as far as its word is not signed.

        Args:
            values: (N,) scores or confidences, by row of the contrast.
            cut: the threshold.

        Returns:
            A share, at least 0; nan if no candidate passes.
        """
        passing = float((values[~self.decoy] >= cut).mean())
        wrong = float(((values[self.decoy] >= cut) * (1 - self.prior[self.decoy])).mean())
        return max(0.0, 1 - wrong / passing) if passing else float("nan")


def judge(contrasted: Contrast) -> Judgement:
    """Give every candidate a confidence.

    Raises:
        OptionsError: there are no decoys, or nothing but decoys.
    """
    if contrasted.decoy.all() or not contrasted.decoy.any():
        raise OptionsError(
            f"{len(contrasted)} candidates, {int(contrasted.decoy.sum())} of them decoys: some of both are needed"
        )
    names, words = np.unique(np.array(contrasted.words), return_inverse=True)
    columns = describe(contrasted, words)
    features = np.stack(list(columns.values()), axis=1)
    features -= features[contrasted.decoy].mean(axis=0)
    features /= features[contrasted.decoy].std(axis=0) + 1e-9
    is_query = contrasted.asked
    belief = np.where(is_query, logistic(columns["score"] - _FIRST_CENTRE), 0.0)
    weights = np.zeros(features.shape[1] + 1)
    ridge = np.array([1e-9, *[_RIDGE * len(contrasted)] * features.shape[1]])
    odds = np.zeros(len(contrasted))
    for _ in range(_ROUNDS):
        weights = fit_logistic(features, belief, ridge, weights)
        positive, total = belief.sum(), len(contrasted)
        ratio = weights[0] + features @ weights[1:] - np.log(positive / (total - positive))  # ln f1 / f0
        shares = _word_shares(words[is_query], belief[is_query], len(names))
        odds = ratio + np.log(shares / (1 - shares))[words]
        belief = np.where(is_query, logistic(odds), 0.0)
    by_word = {str(name): float(share) for name, share in zip(names, shares, strict=True)}
    weighed = {name: float(weight) for name, weight in zip(columns, weights[1:], strict=True)}
    return Judgement(logistic(odds), contrasted.decoy, shares[words], float(belief[is_query].mean()), by_word, weighed)


def describe(contrasted: Contrast, words: NDArray[np.intp]) -> dict[str, Array]:
    """Name → (N,) evidence, in deviations of the decoys' scores, on the scale -ln(1 - score).

    Args:
        contrasted: the candidates.
        words: (N,) the number of each candidate's word.
    """
    height, decoy = _height(contrasted.score), contrasted.decoy
    spread = float(height[decoy].std()) + 1e-9
    score = (height - height[decoy].mean()) / spread
    columns = {"score": score, "chance": _chance(score, words, decoy)}
    for name, other in (("rival", contrasted.rival), ("negative", contrasted.negative)):
        margin = (height - _height(np.nan_to_num(other))) / spread
        columns[name] = np.where(np.isnan(other), _FARTHEST, np.minimum(margin, _FARTHEST))
    alone = np.isnan(contrasted.second)
    columns["second exemplar"] = np.where(alone, 0.0, (_height(np.nan_to_num(contrasted.second)) - height) / spread)
    columns["several exemplars"] = np.where(alone, 0.0, 1.0)
    return columns


def _height(score: Array) -> Array:
    return -np.log(1 - np.clip(score, 0.0, _HIGHEST))


def _chance(score: Array, words: NDArray[np.intp], decoy: NDArray[np.bool_]) -> Array:
    """(N,) what a candidate's word scores as a decoy, itself left out, drawn towards 0, the mean of all decoys."""
    count = np.bincount(words, weights=decoy)[words] - decoy
    total = np.bincount(words, weights=np.where(decoy, score, 0.0))[words] - np.where(decoy, score, 0.0)
    return np.asarray(total / (count + _CHANCE_WEIGHT), np.float64)


def _word_shares(words: NDArray[np.intp], belief: Array, count: int) -> Array:
    """(K,) the share of each word's mentions that are believed, drawn towards the share of all."""
    share = float(np.clip(belief.mean(), 1e-3, 1 - 1e-3))
    mentions = np.bincount(words, minlength=count)
    believed = np.bincount(words, weights=belief, minlength=count)
    return np.clip((believed + _SHARE_WEIGHT * share) / (mentions + _SHARE_WEIGHT), 1e-3, 1 - 1e-3)
