"""Calibration of the mouthing spotter: a peak of 0.8 is right four times in five."""

from collections.abc import Sequence

import numpy as np
import torch

from signspot.mouthing.network import MouthingNetwork
from signspot_lab.mouthing.clips import LipClip, Vocabulary
from signspot_lab.mouthing.trials import Floats, answer, draw_trials

_PRIOR = 1e-3  # keeps both numbers finite where all answers are right, or wrong


def calibrate(
    network: MouthingNetwork, clips: Sequence[LipClip], vocabulary: Vocabulary, seed: int
) -> dict[str, float]:
    """Set gain and offset of the network's peaks by trials of which half are of mouthed words.

    Returns:
        What was found, for the card.
    """
    trials = draw_trials(clips, vocabulary, seed)
    answers = answer(network, clips, trials)
    gain, offset = fit_logistic(answers.logit, answers.right.astype(float))
    network.scale.copy_(torch.tensor([gain, offset]))
    mouthed = np.mean([bool(trial.ends) for trial in trials])
    return {
        **{"trials": float(len(trials)), "mouthed": round(float(mouthed), 3)},
        **{"gain": round(gain, 4), "offset": round(offset, 4)},
    }


def fit_logistic(logits: Floats, right: Floats, rounds: int = 50) -> tuple[float, float]:
    """Gain (at least a little above 0) and offset by which the sigmoid of logits says how often they are right.

    Args:
        logits: (n,).
        right: (n,) 1 where the answer was right, 0 where not.
        rounds: of Newton's method.
    """
    x = np.stack([logits, np.ones_like(logits)], axis=1)
    weights = np.zeros(2)
    for _ in range(rounds):
        sure = 1 / (1 + np.exp(-np.clip(x @ weights, -30, 30)))
        slope = x.T @ (sure - right) + _PRIOR * weights
        bend = (x * (sure * (1 - sure))[:, None]).T @ x + _PRIOR * np.eye(2)
        step = np.linalg.solve(bend, slope)
        size = 1.0
        while size > 1e-4 and _cost(x, right, weights - size * step) > _cost(x, right, weights):
            size /= 2
        weights = weights - size * step
        if np.abs(step).max() < 1e-8:
            break
    return max(float(weights[0]), 1e-3), float(weights[1])


def _cost(x: Floats, right: Floats, weights: Floats) -> float:
    logits = x @ weights
    return float((np.logaddexp(0, logits) - right * logits).sum() + _PRIOR / 2 * (weights**2).sum())
