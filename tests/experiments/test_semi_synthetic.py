"""Invented signs with real hands."""

from dataclasses import fields

import numpy as np
import pytest

from experiments.isolated.recombination import Clips
from experiments.isolated.semi_synthetic import HandPool, Invention, SemiSynthetic, cluster
from signspot.landmarks.features import RIGHT_HAND


@pytest.fixture(scope="module")
def pool(clips: Clips) -> HandPool:
    return HandPool(clips, np.random.default_rng(0), shapes=2)


def test_clusters_tell_shapes_apart(clips: Clips, pool: HandPool) -> None:
    """The corpus has two hand shapes; each cluster holds the frames of one of them."""
    assert sum(len(members) for members in pool.members) == len(pool.frames)
    for members in pool.members:
        spread = pool.frames[members].std(axis=0).max()
        assert spread < 0.02


def test_clustering_leaves_no_cluster_empty() -> None:
    points = np.repeat(np.eye(3, dtype=np.float32), 10, axis=0)
    labels = cluster(points, 5, np.random.default_rng(0))
    assert set(labels.tolist()) == set(range(5))


def test_performances_of_a_sign_are_nearer_to_each_other_than_to_other_signs(clips: Clips, pool: HandPool) -> None:
    source = SemiSynthetic(clips, pool)
    drawn = source.draw(np.random.default_rng(1), 6, 2)
    for sign in drawn:
        for performance in sign:
            assert np.isfinite(performance.features).all()
            assert set(np.unique(performance.features[..., 3])) <= {0.0, 1.0}

    def places(features: np.ndarray) -> np.ndarray:
        picked = np.linspace(0, len(features) - 1, 8).astype(int)
        return features[picked][:, RIGHT_HAND.start, :2].ravel()

    own = [np.linalg.norm(places(a.features) - places(b.features)) for a, b in drawn]
    first = [places(sign[0].features) for sign in drawn]
    other = [np.linalg.norm(x - y) for i, x in enumerate(first) for y in first[:i]]
    assert np.median(own) < np.median(other)


def test_minimal_pairs_differ_in_one_parameter(clips: Clips, pool: HandPool) -> None:
    source, random = SemiSynthetic(clips, pool), np.random.default_rng(2)
    for _ in range(30):
        sign = source._invent(random)
        other = source._vary(sign, random)
        same = [np.array_equal(getattr(sign, f.name), getattr(other, f.name)) for f in fields(Invention)]
        assert sum(not each for each in same) <= 1
