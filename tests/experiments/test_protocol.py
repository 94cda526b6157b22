"""The protocol of Sec. 4.2: queries cut from test videos, exemplars ranked, right only where the word is signed."""

import numpy as np
import torch

from experiments.paper.protocol import retrieve
from signspot.evaluation.queries import RetrievalQuery
from signspot.training.trunk_features import TrunkFeatures, WindowFeatures
from signspot.types import Exemplar, Grid, Segment

WHOLE = Segment(0.0, 4.6)


def known(windows: np.ndarray) -> TrunkFeatures:
    """Two words, each an axis, one exemplar each."""
    grid = Grid(25.0, 16, 1, len(windows) + 15)
    exemplars = (Exemplar("apple", "a"), Exemplar("tree", "t"))
    clips = np.eye(3, dtype=np.float16)[:2, None]
    return TrunkFeatures("test", {"v": WindowFeatures(windows.astype(np.float16), grid)}, exemplars, clips)


def same(features: torch.Tensor, domain: str) -> torch.Tensor:
    return torch.nn.functional.normalize(features, dim=-1)


def test_an_exemplar_is_right_only_where_its_word_is_signed() -> None:
    windows = np.tile([0.0, 0.2, 1.0], (100, 1))
    windows[40, 0] = 1.0  # apple at (40 + 8) / 25 s = 1.92 s
    features = known(windows)
    found = retrieve(same, features, [RetrievalQuery("v", "apple", 0, 99, (2.0,), WHOLE)], ("apple", "tree")).words
    assert (found.average_precision.per_group, found.recall[5].per_group) == (1.0, 1.0)
    elsewhere = retrieve(same, features, [RetrievalQuery("v", "apple", 0, 99, (3.5,), WHOLE)], ("apple", "tree")).words
    assert (elsewhere.average_precision.per_group, elsewhere.recall[5].per_group) == (0.0, 0.0)
    second = retrieve(same, features, [RetrievalQuery("v", "tree", 41, 99, (1.9,), WHOLE)], ("apple", "tree")).words
    assert second.average_precision.per_group == 1.0  # the stretch does not hold the apple


def test_exemplars_of_other_variants_are_left_out() -> None:
    windows = np.tile([0.0, 0.0, 1.0], (100, 1))
    windows[40, 0] = 1.0  # the first variant of apple
    grid = Grid(25.0, 16, 1, 115)
    exemplars = (Exemplar("apple", "a1"), Exemplar("apple", "a2"), Exemplar("tree", "t"))
    clips = np.array([[[1, 0, 0]], [[0, 1, 0]], [[0.1, 1, 0]]], np.float16)
    features = TrunkFeatures("test", {"v": WindowFeatures(windows.astype(np.float16), grid)}, exemplars, clips)
    asked = RetrievalQuery("v", "apple", 0, 99, (2.0,), WHOLE, frozenset(["a1"]))
    found = retrieve(same, features, [asked], ("apple", "tree"))
    assert found.words.average_precision.per_group == 0.5  # the other variant is not found, and counts
    assert found.variants.average_precision.per_group == 1.0
    wide = retrieve(same, features, [asked], ("apple", "tree"), stride=7)  # windows 35 and 42, 40 is skipped
    assert wide.variants.average_precision.per_group == 0.0
