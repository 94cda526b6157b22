"""The linear path: differences within signs shrink, those between signs stay."""

import numpy as np
import pytest
import torch

from experiments.contrastive.batches import ContrastiveBatches, ContrastiveBatchOptions
from experiments.contrastive.linear_path import LinearOptions, _principal, fit_linear_path, whitened
from experiments.isolated.recombination import Clips, Recombinations
from signspot.errors import OptionsError
from signspot.models.landmark_trunk import LandmarkOptions, LinearPath


def test_differences_within_a_sign_are_made_round_and_those_between_signs_kept() -> None:
    """Signs differ in two numbers, signers in another one, ten times as far; noise in all five."""
    random = np.random.default_rng(0)
    signs = np.zeros((300, 1, 5))
    signs[:, 0, :2] = random.normal(0, 1, (300, 2))
    noise = random.normal(0, 0.1, (300, 3, 5))
    noise[..., 2] = random.normal(0, 10, (300, 3))
    rows = signs + noise
    same = (rows - rows.mean(axis=1, keepdims=True)).reshape(-1, 5)
    options = LinearOptions(directions=5, shrinkage=0.0)
    mean, matrix = whitened(rows.reshape(-1, 5), same, options, outputs=2)
    assert mean == pytest.approx(rows.mean(axis=(0, 1)))
    within = np.cov((same @ matrix).T)
    assert within / within[0, 0] == pytest.approx(np.eye(2), abs=1e-6)
    strength = np.linalg.norm(matrix, axis=1)
    assert strength[:2].min() > 8 * strength[2:].max()  # it looks at what signs differ in, at nothing else
    assert np.square((rows.reshape(-1, 5) - mean) @ matrix).sum(axis=1).mean() == pytest.approx(1)


def test_a_fitted_path_tells_signs_apart_better_than_before(clips: Clips) -> None:
    torch.manual_seed(0)
    path = LinearPath(LandmarkOptions(linear_features=8))
    batches = ContrastiveBatches(Recombinations(clips), 9, 3, ContrastiveBatchOptions(signs=24))
    held_out = batches[8]

    def right() -> float:
        one, two = (torch.nn.functional.normalize(path(held_out[0][:, take, 0])[:, 0], dim=-1) for take in (0, 1))
        return float(((one @ two.T).argmax(dim=1) == torch.arange(24)).float().mean())

    before = right()
    fit_linear_path(path, (batches[number] for number in range(6)), LinearOptions(directions=40))
    assert right() > before
    assert not any(parameter.requires_grad for parameter in path.parameters())
    weights = path.conv.linear.weight.clone()
    fit_linear_path(path, (batches[number] for number in range(6)), LinearOptions(directions=40))
    assert torch.equal(weights, path.conv.linear.weight)


def test_few_rows_have_the_same_directions_by_either_matrix() -> None:
    rows = np.random.default_rng(0).normal(size=(30, 90)) @ np.diag(np.linspace(3, 0.1, 90))
    rows -= rows.mean(axis=0)
    few = _principal(rows, 8)
    many = _principal(np.repeat(rows, 4, axis=0), 8)  # more rows than numbers: the other matrix
    assert np.abs((few * many).sum(axis=0)) == pytest.approx(1)
    assert few.T @ few == pytest.approx(np.eye(8), abs=1e-9)


def test_mistakes_are_named() -> None:
    path = LinearPath(LandmarkOptions(linear_features=8))
    with pytest.raises(OptionsError, match="at least one batch"):
        fit_linear_path(path, [], LinearOptions())
    rows = np.random.default_rng(0).normal(size=(20, 5))
    with pytest.raises(OptionsError, match=r"directions must be in 3 … 5.* got 9"):
        whitened(rows, rows, LinearOptions(directions=9), 3)
