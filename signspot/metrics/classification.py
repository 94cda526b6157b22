"""Accuracy of a classifier's best guesses (top k), over instances and over classes."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from signspot.errors import OptionsError
from signspot.metrics.ranking import Averages, FloatArray, GroupedValues


class ClassificationAccuracy:
    """Accumulates the rank that every instance's right class reaches.

    Ties go against us: of equal scores the wrong classes come first. With fewer than k classes, top-k is 1.
    """

    def __init__(self) -> None:
        self.ranks = GroupedValues()  # from 1, by class

    def add(self, scores: FloatArray, classes: NDArray[np.integer[Any]] | Sequence[int]) -> None:
        """Take in a batch.

        Args:
            scores: (N, K) of every instance for every class; logits or probabilities, higher is likelier.
            classes: (N,) the right class of every instance.

        Raises:
            OptionsError: the shapes do not fit, a score is NaN, or a class is outside 0 … K - 1.
        """
        right = np.asarray(classes)
        if scores.ndim != 2 or right.shape != scores.shape[:1]:
            raise OptionsError(f"scores of shape {scores.shape} do not fit {right.shape} right classes")
        if len(right) == 0:
            return
        if right.dtype.kind not in "iu" or right.min() < 0 or right.max() >= scores.shape[1]:
            raise OptionsError(f"classes must be whole numbers from 0 to {scores.shape[1] - 1}; got {right.tolist()}")
        if np.isnan(scores).any():
            raise OptionsError("a score is NaN. Check the classifier's input.")
        of_right = scores[np.arange(len(right)), right]
        for name, rank in zip(right.tolist(), (scores >= of_right[:, None]).sum(axis=1).tolist(), strict=True):
            self.ranks.add(name, rank)

    def hits(self, k: int) -> GroupedValues:
        """1 for every instance whose right class is among the best k, else 0, by class."""
        if k < 1:
            raise OptionsError(f"accuracy is taken among the best 1 or more classes; got k={k}")
        return self.ranks.reaching(k)

    def value(self, ks: Sequence[int] = (1, 5)) -> dict[int, Averages]:
        """Top-k accuracy by k, over classes that occur and over instances; nan where there is no instance."""
        return {k: self.hits(k).value() for k in ks}
