"""The protocol of Sec. 4.2: queries cut from test videos, exemplars ranked, right only where the word is signed."""

import numpy as np
import torch

from experiments.paper.cells import retrieve
from signspot.evaluation.labelled_corpus import RetrievalQuery
from signspot.training.trunk_features import TrunkFeatures, WindowFeatures
from signspot.types import Exemplar, Grid, Segment

WHOLE = Segment(0.0, 4.6)


def exact_features(windows: np.ndarray) -> TrunkFeatures:
    """Two words, each an axis, one exemplar each."""
    grid = Grid(25.0, 16, 1, len(windows) + 15)
    exemplars = (Exemplar("apple", "a"), Exemplar("tree", "t"))
    clips = np.eye(3, dtype=np.float16)[:2, None]
    return TrunkFeatures("test", {"v": WindowFeatures(windows.astype(np.float16), grid)}, exemplars, clips)


def same(features: torch.Tensor, domain: str) -> torch.Tensor:
    return torch.nn.functional.normalize(features, dim=-1)


def retrieved(features: TrunkFeatures, query: RetrievalQuery, stride: int = 1) -> dict[str, list[float]]:
    """The measures of one query."""
    measures = retrieve(same, features, [query], ("apple", "tree"), stride)
    return {name: values[query.word] for name, values in measures.items()}


def test_an_exemplar_is_right_only_where_its_word_is_signed() -> None:
    windows = np.tile([0.0, 0.2, 1.0], (100, 1))
    windows[40, 0] = 1.0  # apple at (40 + 8) / 25 s = 1.92 s
    features = exact_features(windows)
    right = retrieved(features, RetrievalQuery("v", "apple", 0, 99, (2.0,), WHOLE))
    assert (right["mAP"], right["R@5"]) == ([1.0], [1.0])
    elsewhere = retrieved(features, RetrievalQuery("v", "apple", 0, 99, (3.5,), WHOLE))
    assert (elsewhere["mAP"], elsewhere["R@5"]) == ([0.0], [0.0])
    second = retrieved(features, RetrievalQuery("v", "tree", 41, 99, (1.9,), WHOLE))
    assert second["mAP"] == [1.0]  # the stretch does not hold the apple


def test_exemplars_of_other_variants_are_left_out() -> None:
    windows = np.tile([0.0, 0.0, 1.0], (100, 1))
    windows[40, 0] = 1.0  # the first variant of apple
    grid = Grid(25.0, 16, 1, 115)
    exemplars = (Exemplar("apple", "a1"), Exemplar("apple", "a2"), Exemplar("tree", "t"))
    clips = np.array([[[1, 0, 0]], [[0, 1, 0]], [[0.1, 1, 0]]], np.float16)
    features = TrunkFeatures("test", {"v": WindowFeatures(windows.astype(np.float16), grid)}, exemplars, clips)
    query = RetrievalQuery("v", "apple", 0, 99, (2.0,), WHOLE, frozenset(["a1"]))
    measures = retrieved(features, query)
    assert measures["mAP"] == [0.5]  # the other variant is not found, and counts
    assert measures["variant mAP"] == [1.0]
    assert retrieved(features, query, stride=7)["variant mAP"] == [0.0]  # windows 35 and 42; 40 is skipped
