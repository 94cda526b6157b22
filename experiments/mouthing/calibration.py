"""Calibration of the mouthing spotter: a peak of 0.8 is right four times in five.

`python -m experiments.mouthing.calibration --out FILE` makes the spotter of hand-written templates that ships: nothing
of it is learned but the two numbers of its calibration.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from experiments.mouthing.clips import LipClip, Vocabulary, make_clips, read_vocabulary
from experiments.mouthing.trials import Floats, answer, draw_trials
from signspot.mouthing.model import MouthingModel, save_mouthing
from signspot.mouthing.network import TemplateMatcher
from signspot.mouthing.spotter import MouthingSpotter

_WIDE = 0.25  # gain while peaks are collected
_LEAST = 5e-5  # probabilities are told to four digits
_PRIOR = 1e-3  # keeps both numbers finite where all answers are right, or wrong


def calibrate(
    model: MouthingModel, clips: Sequence[LipClip], vocabulary: Vocabulary, seed: int, each: int = 8
) -> dict[str, float]:
    """Set gain and offset of a spotter's peaks by trials of which half are of mouthed words, asked as users ask.

    Args:
        model: whose calibration is set.
        clips: of people and words that it has not learned.
        vocabulary: of words that are not mouthed.
        seed: of the trials.
        each: trials of one clip.

    Returns:
        What was found, for the card.
    """
    trials = draw_trials(clips, vocabulary, seed, each=each)
    model.network.scale.copy_(torch.tensor([_WIDE, 0.0]))  # so that four digits of a probability tell logits apart
    answers = answer(MouthingSpotter(model), clips, trials)
    seen = answers.sure > 0
    sure = np.clip(answers.sure[seen], _LEAST, 1 - _LEAST)
    gain, offset = fit_logistic(np.log(sure / (1 - sure)) / _WIDE, answers.right[seen].astype(float))
    model.network.scale.copy_(torch.tensor([gain, offset]))
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


def main(arguments: Sequence[str] | None = None) -> None:
    """Calibrate the hand-written templates, and write them with their card."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="a .safetensors file")
    parser.add_argument("--clips", type=int, default=120, help="of synthetic signing")
    parser.add_argument("--seed", type=int, default=3)
    chosen = parser.parse_args(arguments)
    vocabulary = read_vocabulary(unseen=False)
    people = [f"calibration {number}" for number in range(chosen.clips)]
    clips = list(make_clips(chosen.clips, chosen.seed, vocabulary, people))
    card = {
        "licence": "CC0-1.0",
        "data": "Nothing was learned: shapes of visemes were written by hand. Two numbers were fitted to synthetic "
        "signing, so that probabilities are calibrated there.",
        "command": f"python -m experiments.mouthing.calibration --clips {chosen.clips} --seed {chosen.seed}",
    }
    model = MouthingModel(chosen.out.stem, TemplateMatcher().eval(), card)
    model.card["metrics"] = {"calibration": calibrate(model, clips, vocabulary, chosen.seed)}
    save_mouthing(model, chosen.out)
    sys.stdout.write(f"wrote {chosen.out}\n")


if __name__ == "__main__":
    main()
