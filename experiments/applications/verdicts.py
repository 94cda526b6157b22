"""The verdict of feedback fitted on synthetic signs, and what it trades: wrong signs that pass against right ones."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from experiments.applications.learners import Trial
from signspot.applications.feedback import CHANGES, LEAST, LIMIT, MEANING, MOST, UNLIKE, beyond_usual, chance, is_right

Floats = NDArray[np.float64]
SHARES = (0.95, 0.9, 0.8, 0.7)  # of right signs that are taken for right
_STEPS, _RATE = 1500, 0.03  # of the fit
_HELD = 0.01  # weight of squared weights
_CLASSES = ("", *CHANGES)


def fit(trials: Sequence[Trial]) -> Iterator[str]:
    """Lines of the constants of `signspot.applications.feedback`, by trials of several corpora."""
    names = [*MEANING, UNLIKE]
    between = {name: _mean([pair for trial in trials for pair in _pairs(trial, name)]) for name in MEANING}
    beyond = np.array([[_beyond(trial, name, between) for name in names] for trial in trials])
    same = np.array([not trial.changed for trial in trials])
    more = np.nanmedian(beyond[same], axis=0)
    spread = 1.4826 * np.nanmedian(np.abs(beyond[same] - more), axis=0)
    spread = np.maximum(spread, 0.3 * np.nanstd(beyond[same], axis=0)) + 1e-6
    seen = np.clip(np.nan_to_num((beyond - more) / spread), LEAST, MOST)
    weights, bias = _regression(seen, np.array([_CLASSES.index(trial.changed) for trial in trials]))
    odds = seen @ weights + bias
    total = np.logaddexp.reduce(odds[same], axis=1)
    for place, name in enumerate(names):
        row = [between.get(name, 0.0), more[place], spread[place], *weights[place]]
        yield f'    "{name}": ({", ".join(f"{value:.3f}" for value in row)}),'
    yield f"_BIAS = ({', '.join(f'{value:.3f}' for value in bias)})"
    yield f"LIMIT = {np.quantile(total, 0.9):.3f}"
    yield f"NOTABLE = {chance(float(np.quantile(odds[same].max(axis=1), 0.9))):.3f}"


def _pairs(trial: Trial, name: str) -> tuple[float, ...]:
    return trial.measured[name].pairs if name in trial.measured else ()


def _beyond(trial: Trial, name: str, between: dict[str, float]) -> float:
    if name == UNLIKE:
        return float(np.log(trial.unlike))
    return beyond_usual(trial.measured[name], between[name]) if name in trial.measured else float("nan")


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if len(values) else 0.0


def _regression(seen: Floats, classes: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """(N, M) strengths and (N,) classes to weights (M, changes) and biases, against the class of right signs.

    Right signs weigh as much as all changed ones together. By Adam's steps, from nothing.
    """
    right = classes == 0
    each = np.where(right, 0.5 / right.sum(), 0.5 / (~right).sum())[:, None]
    wanted = np.eye(len(_CLASSES))[classes]
    inputs = np.concatenate([seen, np.ones((len(seen), 1))], axis=1)
    held = np.full((inputs.shape[1], 1), _HELD)
    held[-1] = 0.0  # the bias is free
    weights = np.zeros((inputs.shape[1], len(_CLASSES)))
    first, second = np.zeros_like(weights), np.zeros_like(weights)
    for step in range(1, _STEPS + 1):
        scores = inputs @ weights
        chances = np.exp(scores - scores.max(axis=1, keepdims=True))
        chances /= chances.sum(axis=1, keepdims=True)
        slope = inputs.T @ (each * (chances - wanted)) + held * weights
        first, second = 0.9 * first + 0.1 * slope, 0.999 * second + 0.001 * slope**2
        weights -= _RATE * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
    relative = weights[:, 1:] - weights[:, :1]
    return relative[:-1], relative[-1]


def trade_rows(trials: Sequence[Trial]) -> Iterator[tuple[str, ...]]:
    """Rows: limits at which a share of these right signs passes, and the share of wrong ones that passes, by change.

    The first row is the limit as it is; the others are by these very signs: they show the trade, not rates to expect.
    """
    same = [trial for trial in trials if not trial.changed]
    limits = [("as it is", 0.0)]
    limits += [(f"{share:.0%}", float(np.quantile([trial.doubt for trial in same], share))) for share in SHARES]
    for title, limit in limits:
        cells = []
        for own in (same, [t for t in trials if t.changed], *([t for t in trials if t.changed == c] for c in CHANGES)):
            passed = [float(is_right(trial.rank, trial.score, trial.doubt - limit)) for trial in own]
            cells.append(f"{np.mean(passed):.2f}" if passed else "")
        yield title, f"{limit + LIMIT:.2f}", *cells
