"""Fits the linear path of a landmark trunk, in closed form: what differs between signers shrinks, what is left counts.

Performances of one sign differ by signer, speed and camera; the covariance of these differences says what to ignore,
whatever the sign. That is learned from few signs and holds for all.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from signspot.errors import OptionsError
from signspot.models.landmark_trunk import LinearPath
from signspot.training.configuration import check_numbers

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class LinearOptions:
    """Options of fitting the linear path."""

    batches: int = 40  # that it is fitted on
    augmentation: float = 0.4  # of the strength of the training's
    directions: int = 600  # of the greatest variance, among which differences are weighed
    shrinkage: float = 0.1  # of the covariance of differences towards a sphere

    def __post_init__(self) -> None:
        check_numbers(self, "directions", least=1)
        check_numbers(self, "batches", "augmentation", "shrinkage", least=0)


@torch.no_grad()
def fit_linear_path(path: LinearPath, batches: Iterable[tuple[Tensor, Tensor, Tensor]], options: LinearOptions) -> None:
    """Fit the weights of a linear path, in place.

    Args:
        path: of a landmark trunk; it is not trained further.
        batches: as `ContrastiveBatches` gives them; the windows beside signs take no part.
        options: how it is fitted.
    """
    signs = [_described(path, *batch[:2]) for batch in batches]
    if not signs:
        raise OptionsError("a linear path needs at least one batch to be fitted on; got none")
    everything = np.concatenate([rows.reshape(-1, rows.shape[-1]) for rows in signs])
    same = np.concatenate([(rows - rows.mean(axis=1, keepdims=True)).reshape(-1, rows.shape[-1]) for rows in signs])
    mean, matrix = whitened(everything, same, options, path.conv.linear.out_features)
    path.conv.linear.weight.copy_(torch.from_numpy(matrix.T))
    path.conv.linear.bias.copy_(torch.from_numpy(-mean @ matrix))
    path.requires_grad_(requires_grad=False)


def whitened(everything: Floats, same: Floats, options: LinearOptions, outputs: int) -> tuple[Floats, Floats]:
    """Find the linear map under which differences within a sign have unit covariance.

    Args:
        everything: (N, D) performances.
        same: (N, D) the difference of each from the mean of its sign.
        options: how.
        outputs: directions kept: those in which signs differ most after whitening.

    Returns:
        (D,) the mean and (D, outputs) the map.
    """
    if not outputs <= options.directions <= everything.shape[1]:
        raise OptionsError(
            f"directions must be in {outputs} … {everything.shape[1]}, the linear features and the numbers of a clip; "
            f"got {options.directions}"
        )
    mean = everything.mean(axis=0)
    principal = _principal(everything - mean, options.directions)
    within = np.cov((same @ principal).T)
    round_ = np.trace(within) / len(within) * np.eye(len(within))
    shrunk = (within + options.shrinkage * round_) / (1 + options.shrinkage)
    white = principal @ np.linalg.cholesky(np.linalg.inv(shrunk))
    kept = white @ _directions(np.cov(((everything - mean) @ white).T), outputs)
    scale = np.sqrt(np.square((everything - mean) @ kept).sum(axis=1).mean())
    return mean, kept / scale


def _described(path: LinearPath, exemplars: Tensor, continuous: Tensor) -> Floats:
    """(K, 3, D) two exemplars and a continuous use of each sign, as the path sees them."""
    signs, takes, clips = exemplars.shape[:3]
    rows = path.middle(exemplars.flatten(0, 2)).flatten(1).view(signs, takes, clips, -1).mean(dim=2)
    both = torch.cat([rows, path.middle(continuous).flatten(1)[:, None]], dim=1)
    described: Floats = both.double().numpy()
    return described


def _principal(rows: Floats, count: int) -> Floats:
    """(D, count) the directions of the greatest variance of (N, D) rows of mean 0; by whichever matrix is smaller."""
    if not count < len(rows) < rows.shape[1]:
        return _directions(rows.T @ rows, count)
    seen = rows.T @ _directions(rows @ rows.T, count)
    return np.asarray(seen / np.linalg.norm(seen, axis=0))


def _directions(covariance: Floats, count: int) -> Floats:
    """(D, count) the directions of the greatest variance, each with a fixed sign."""
    vectors = np.linalg.eigh(covariance)[1][:, ::-1][:, :count]
    signs = np.sign(vectors[np.abs(vectors).argmax(axis=0), np.arange(count)])
    return np.asarray(vectors * signs)
