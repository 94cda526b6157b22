"""From similarities to ranks, and from the ranks of the right answers to average precision and recall."""

import math
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from signspot.errors import OptionsError

Group = Hashable  # a word or a video: a string or a whole number


@dataclass(frozen=True, slots=True)
class Averages:
    """The two means of values that belong to groups; both nan where there is no value."""

    per_group: float  # the mean over groups of each group's mean: every word counts the same
    per_instance: float  # the mean over all values


class GroupedValues(dict[Group, list[float]]):
    """Values by group. Sums are exactly rounded (`math.fsum`): averages do not depend on the order of values."""

    def add(self, group: Group, value: float) -> None:
        """Take in one value of a group."""
        self.setdefault(group, []).append(float(value))

    def value(self) -> Averages:
        """Average over groups and over instances; nan and nan where nothing was added."""
        every = [value for values in self.values() for value in values]
        return Averages(mean([mean(values) for values in self.values()]), mean(every))

    def reaching(self, most: float) -> "GroupedValues":
        """1 for every value up to `most`, else 0."""
        return GroupedValues({group: [float(value <= most) for value in values] for group, values in self.items()})


def mean(values: list[float]) -> float:
    """The mean, the same in whatever order; nan of nothing."""
    return math.fsum(values) / len(values) if values else math.nan


FloatArray = NDArray[np.floating[Any]]
IntArray = NDArray[np.integer[Any]]


def ranks_of(similarity: FloatArray, correct: IntArray) -> NDArray[np.int64]:
    """Rank the right answers of one query among all answers, best first.

    Ties go against us: of equally similar answers the wrong ones come first, so that a model which finds all
    answers equally similar gains nothing by it.

    Args:
        similarity: (V,) to every answer; higher is better, no NaN.
        correct: (M,) indices of the right answers, each once.

    Returns:
        (M,) ranks from 1, increasing.
    """
    right = np.sort(similarity[correct])
    reaching = len(similarity) - np.searchsorted(np.sort(similarity), right, side="left")
    right_reaching = len(right) - np.searchsorted(right, right, side="left")
    wrong_before = reaching - right_reaching
    return wrong_before[::-1] + np.arange(1, len(right) + 1)


def average_precision(ranks: IntArray, relevant: int) -> float:
    """The precision at every right answer's rank, summed, over how many could have been found.

    Args:
        ranks: (M,) ranks from 1 of the right answers, increasing.
        relevant: how many there could be, at least M; with 0 it is nan.
    """
    if relevant == 0:
        return float("nan")
    return float((np.arange(1, len(ranks) + 1) / ranks).sum() / relevant)


class RankedQueries:
    """Accumulates the ranks of right answers, query by query."""

    def __init__(self) -> None:
        self.best_ranks = GroupedValues()  # of the best right answer, by word; infinite: there is none
        self.average_precisions = GroupedValues()  # by word

    def add(self, word: Group, ranks: IntArray, relevant: int) -> None:
        """Take in one query.

        Args:
            word: what was asked for.
            ranks: (M,) ranks from 1 of the right answers, increasing; M may be 0.
            relevant: how many right answers there could be, at least 1.
        """
        self.best_ranks.add(word, float(ranks[0]) if len(ranks) else float("inf"))
        self.average_precisions.add(word, average_precision(ranks, relevant))

    def hits(self, k: int) -> GroupedValues:
        """1 for every query with a right answer among the first k, else 0, by word."""
        if k < 1:
            raise OptionsError(f"recall is taken among the first 1 or more answers; got k={k}")
        return self.best_ranks.reaching(k)
