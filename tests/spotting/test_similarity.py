"""Similarity on 2-D embeddings at named angles."""

import numpy as np
import pytest

from signspot.errors import EncoderMismatchError, TrackError
from signspot.spotting.similarity import exemplar_curves, similarity, to_score
from signspot.types import Grid, Track


def at(*degrees: float) -> np.ndarray:
    angles = np.deg2rad(degrees)
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


def track_of(embeddings: np.ndarray) -> Track:
    return Track(embeddings, Grid(25.0, 16, 1, 15 + len(embeddings)), "encoder")


def test_cosine_of_named_angles() -> None:
    found = similarity(track_of(at(0, 60, 90, 180)), at(0, 90))
    assert found == pytest.approx(np.array([[1, 0], [0.5, np.sqrt(3) / 2], [0, 1], [-1, 0]]), abs=1e-6)
    assert to_score(found)[:, 0] == pytest.approx([1, 0.75, 0.5, 0], abs=1e-6)


def test_rounding_never_leaves_the_range() -> None:
    half = at(*np.linspace(0, 360, 50)).astype(np.float16)
    found = similarity(track_of(half), half)
    assert found.max() <= 1
    assert found.min() >= -1


def test_another_dimension_is_refused() -> None:
    with pytest.raises(EncoderMismatchError, match="dimension 2"):
        similarity(track_of(at(0)), np.ones((1, 3)))


def test_nan_in_exemplars_is_named() -> None:
    exemplars = at(0, 10, 20)
    exemplars[1, 0] = np.nan
    with pytest.raises(TrackError, match=r"exemplar embeddings \[1\]"):
        similarity(track_of(at(0)), exemplars)


def test_curves_of_exemplars_are_the_scores_of_similarities() -> None:
    random = np.random.default_rng(0)
    windows, exemplars = (random.normal(size=(count, 8)).astype(np.float32) for count in (5000, 3))
    windows /= np.linalg.norm(windows, axis=1, keepdims=True)
    exemplars /= np.linalg.norm(exemplars, axis=1, keepdims=True)
    curves = exemplar_curves(windows, exemplars)
    assert curves.shape == (3, 5000)
    assert curves == pytest.approx(to_score(similarity(track_of(windows), exemplars)).T, abs=1e-6)
    with pytest.raises(EncoderMismatchError, match="do not fit"):
        exemplar_curves(windows, exemplars[:, :4])
