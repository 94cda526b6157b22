"""Logistic regression on soft labels, for calibration and for mixtures of two kinds."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
_STEEPEST = 30.0  # log-odds
_STEPS, _ENOUGH = 50, 1e-8


def logistic(odds: Array) -> Array:
    """Log-odds to probabilities."""
    return 1 / (1 + np.exp(-np.clip(odds, -_STEEPEST, _STEEPEST)))


def fit_logistic(features: Array, belief: Array, ridge: Array, start: Array | None = None) -> Array:
    """Fit by Newton's method; a step that makes the fit worse is halved.

    Args:
        features: (N, C)
        belief: (N,) in [0, 1]: a row counts on both sides, as far as it is believed and as far as it is not.
        ridge: (1 + C,) of the intercept and of each weight.
        start: (1 + C,) to begin with; None: 0.

    Returns:
        (1 + C,) intercept and weights.
    """
    rows = np.column_stack([np.ones(len(features)), features])
    weights = np.zeros(rows.shape[1]) if start is None else start

    def cost(at: Array) -> float:
        odds = rows @ at
        return float((np.logaddexp(0, odds) - belief * odds).sum() + (ridge * at**2).sum() / 2)

    for _ in range(_STEPS):
        expected = logistic(rows @ weights)
        slope = rows.T @ (expected - belief) + ridge * weights
        curvature = (rows * (expected * (1 - expected))[:, None]).T @ rows + np.diag(ridge)
        step = np.linalg.solve(curvature, slope)
        size = 1.0
        while size > 1e-4 and cost(weights - size * step) > cost(weights):
            size /= 2
        weights = weights - size * step
        if np.abs(step).max() < _ENOUGH:
            break
    return weights
