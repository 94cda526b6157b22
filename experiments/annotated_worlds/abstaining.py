"""Precision at equal yield: candidates ordered by their score alone, and by a confidence with each kind of evidence."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from signspot.annotation.abstention import (
    ALL_PARTS,
    AbstentionOptions,
    Array,
    Contrast,
    Judgement,
    Part,
    describe,
    judge,
    logistic_fit,
)

Flags = NDArray[np.bool_]
YIELDS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)  # shares of the queries that are answered
PRECISION = 0.95  # at which yields are compared
SCORE, EVERYTHING, TAUGHT = "score alone (the paper)", "all three", "all three, taught by another world's truth"
METHODS: dict[str, frozenset[Part]] = {
    "+ word prior": frozenset([Part.PRIOR]),
    "+ margin": frozenset([Part.MARGIN]),
    "+ agreement": frozenset([Part.AGREEMENT]),
    "all but word prior": ALL_PARTS - {Part.PRIOR},
    "all but margin": ALL_PARTS - {Part.MARGIN},
    "all but agreement": ALL_PARTS - {Part.AGREEMENT},
    EVERYTHING: ALL_PARTS,
}
PIECES = ("+ margin over rivals alone", "+ margin over impostors alone")


@dataclass(frozen=True, slots=True)
class Ordering:
    """Quality of an order of candidates."""

    precisions: tuple[float, ...]  # at YIELDS
    yield_at: float  # the largest share of queries that can be answered with PRECISION
    curve: tuple[float, ...]  # precision at every per cent of the queries, as far as there are candidates


def order(values: Array, right: Flags, queries: int) -> Ordering:
    """Take candidates in order of their values, best first.

    Args:
        values: (Q,) of the candidates.
        right: (Q,)
        queries: how many were asked; some may have no candidate.
    """
    taken = np.cumsum(right[np.argsort(-values, kind="stable")])
    precision = taken / np.arange(1, len(taken) + 1)
    enough = np.flatnonzero(precision >= PRECISION)
    curve = [float(precision[min(round(share * queries / 100), len(taken)) - 1]) for share in range(1, 101)]
    last = len(taken) * 100 // queries
    return Ordering(
        tuple(curve[round(100 * share) - 1] for share in YIELDS),
        float((enough[-1] + 1) / queries) if len(enough) else 0.0,
        tuple(curve[:last]),
    )


def compare(
    found: Contrast, right: Flags, queries: int, other: tuple[Contrast, Flags] | None = None
) -> tuple[dict[str, Ordering], Judgement]:
    """Order the candidates of a run in every way.

    Args:
        found: the run beside its decoys.
        right: (Q,) the truth about the run's candidates; only looked at to measure.
        queries: how many were asked.
        other: another world and its truth, to learn the weights from instead.

    Returns:
        Name → ordering; and the judgement by all evidence.
    """
    orders = {SCORE: order(found.score[found.asked], right, queries)}
    for name, parts in METHODS.items():
        judged = judge(found, AbstentionOptions(parts))
        orders[name] = order(judged.asked, right, queries)
    unseen = np.full(len(found), np.nan)
    for name, half in zip(PIECES, (replace(found, impostor=unseen), replace(found, rival=unseen)), strict=True):
        orders[name] = order(judge(half, AbstentionOptions(frozenset([Part.MARGIN]))).asked, right, queries)
    if other is not None:
        orders[TAUGHT] = order(taught(*other, found), right, queries)
    return orders, judged


def taught(known: Contrast, right: Flags, found: Contrast) -> Array:
    """(Q,) log-odds by a logistic model of the same evidence, fitted to the truth about another world."""
    options = AbstentionOptions()
    before, now = (_asked(contrast, options) for contrast in (known, found))
    middle, scale = before.mean(axis=0), before.std(axis=0) + 1e-9
    weights = logistic_fit((before - middle) / scale, right.astype(np.float64), np.zeros(before.shape[1] + 1))
    return np.asarray(weights[0] + (now - middle) / scale @ weights[1:], np.float64)


def _asked(contrast: Contrast, options: AbstentionOptions) -> Array:
    words = np.unique(np.array(contrast.words), return_inverse=True)[1]
    return np.stack(list(describe(contrast, words, options).values()), axis=1)[contrast.asked]


@dataclass(frozen=True, slots=True)
class GroupCount:
    """Answers of one group of words, where half of all queries are answered."""

    queries: int  # that have a candidate
    answered: int
    right: int


def half_by_group(values: Array, right: Flags, groups: NDArray[np.str_], queries: int) -> dict[str, GroupCount]:
    """Answer half of all queries, those of the highest values; count by group.

    Args:
        values: (Q,) of the candidates.
        right: (Q,)
        groups: (Q,) of the candidates' words.
        queries: how many were asked.
    """
    answered = np.zeros(len(values), bool)
    answered[np.argsort(-values, kind="stable")[: queries // 2]] = True
    return {
        str(group): GroupCount(
            int((groups == group).sum()),
            int((answered & (groups == group)).sum()),
            int((answered & right & (groups == group)).sum()),
        )
        for group in np.unique(groups)
    }


def calibration(confidence: Array, right: Flags, steps: int = 5) -> list[tuple[float, float, int]]:
    """Mean confidence, share that is right and number of candidates in equal steps of confidence."""
    step = np.minimum((confidence * steps).astype(int), steps - 1)
    chosen = [step == number for number in range(steps)]
    return [(float(confidence[c].mean()), float(right[c].mean()), int(c.sum())) for c in chosen if c.any()]


def share_correlation(shares: Mapping[str, float], mentions: Mapping[str, list[bool]], least: int = 10) -> float:
    """Correlation of the learned share of signed mentions with the true one, over words mentioned `least` times."""
    words = [word for word, signed in mentions.items() if len(signed) >= least and word in shares]
    if len(words) < 3:
        return float("nan")
    true = [float(np.mean(mentions[word])) for word in words]
    return float(np.corrcoef([shares[word] for word in words], true)[0, 1])
