"""Measures how MediaPipe distorts lips on film: `python -m experiments.mouthing.distortion` writes what trainings use.

Synthetic signers are filmed, as `experiments.mouthing.filmed` films them, and what MediaPipe sees is fitted to the
synthetic landmarks, film by film: how much of each shape comes through, what shapes take over of each other, and
errors that last over time and are shared by shapes, since shapes are distances between the same few points. The
synthetic landmarks have the faults of an estimator, as those that are trained on: exact shapes follow from each other
so nearly that a fit to them would be differences of large numbers.

With `--explain` it writes nothing, and prints which part of the distortion costs words.
"""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from experiments.mouthing.clips import LipClip
from experiments.mouthing.filmed import FilmedClip, ask_once, film_clips
from experiments.mouthing.trials import answer
from experiments.mouthing.weakening import MEASURED, FilmDistortion
from signspot.io.files import atomic_write
from signspot.mouthing.lips import SHAPES
from signspot.mouthing.model import MouthingModel, load_mouthing, shipped
from signspot.mouthing.spotter import LEAST, MouthingSpotter

Array = NDArray[np.float64]

_TOWARDS_ALL = 25.0  # how strongly one film's mixing is drawn to that of all films, in frames of usual lips
_DIGITS = 4


def fit_distortions(pairs: Sequence[tuple[LipClip, LipClip]]) -> list[FilmDistortion]:
    """Fit one distortion to each film.

    Args:
        pairs: the synthetic and MediaPipe's lips of each clip; films in which hardly any lips are seen are left out.
    """
    shapes = [part for synthetic, filmed in pairs if len((part := _both_seen(synthetic, filmed))[0]) > 2 * len(SHAPES)]
    gram = [_with_one(true).T @ _with_one(true) for true, _ in shapes]
    moments = [_with_one(true).T @ seen for true, seen in shapes]
    few = 1e-3 * np.eye(len(SHAPES) + 1)
    every = np.linalg.solve(sum(gram) + few, sum(moments))
    usual = _TOWARDS_ALL * sum(gram) / sum(len(true) for true, _ in shapes) + few
    found = []
    for (true, seen), own_gram, own in zip(shapes, gram, moments, strict=True):
        mixing = np.linalg.solve(own_gram + usual, own + usual @ every)
        errors = seen - _with_one(true) @ mixing
        size = np.maximum((errors**2).mean(axis=0), 1e-9)
        kept = float(((errors[1:] * errors[:-1]).mean(axis=0) / size).mean())
        found.append(
            FilmDistortion(
                np.asarray(mixing[:-1], np.float64),
                errors.T @ errors / len(errors),
                float(np.clip(kept, 0.0, 0.98)),
                np.asarray(errors),
            )
        )
    return found


def _both_seen(synthetic: LipClip, filmed: LipClip) -> tuple[Array, Array]:
    """Shapes (m, n) in the synthetic corpus and on film, of the frames in which lips are seen both ways."""
    count = min(len(synthetic.lips), len(filmed.lips))
    true, seen = synthetic.lips.values[:count].astype(float), filmed.lips.values[:count].astype(float)
    both = (true[:, -2] > 0) & (seen[:, -2] > 0)
    return true[both, :-2], seen[both, :-2]


def _with_one(shapes: Array) -> Array:
    """Shapes with a constant beside them: the resting mouth of a film is another one than the true one."""
    return np.concatenate([shapes, np.ones((len(shapes), 1))], axis=1)


def save_distortions(found: Sequence[FilmDistortion], path: Path, command: str) -> None:
    """Write distortions, rounded, with the command that measured them."""
    films = [
        {
            "mixing": each.mixing.round(_DIGITS).tolist(),
            "covariance": each.covariance.round(_DIGITS).tolist(),
            "memory": round(each.memory, _DIGITS),
        }
        for each in found
    ]
    with atomic_write(path) as temporary:
        lines = ",\n".join(json.dumps(film) for film in films)
        head = f'"command": {json.dumps(command)},\n"shapes": {json.dumps(SHAPES)},\n"films": [\n{lines}\n]'
        temporary.write_text(f"{{\n{head}\n}}\n", encoding="utf-8")


def explain_loss(model: MouthingModel, clips: Sequence[FilmedClip], seed: int, each: int) -> str:
    """Rows of mouthed words that a spotter finds: on film, in parts of what film does to lips, on mended film.

    Args:
        model: the spotter.
        clips: filmed ones.
        seed: of the questions and of the errors.
        each: questions to each clip, none twice.
    """
    fitted = fit_distortions([(clip.estimated, clip.filmed) for clip in clips])
    assert len(fitted) == len(clips), "lips are seen in every film"
    fitted = [replace(each, errors=None) for each in fitted]
    still = [replace(each, covariance=0 * each.covariance) for each in fitted]
    films = [clip.filmed for clip in clips]
    looks = {
        "exact landmarks": [clip.exact for clip in clips],
        "synthetic landmarks": [clip.estimated for clip in clips],
        "the same, shapes mixed as on their film": _distorted(clips, still, seed),
        "the same, with errors as on their film": _distorted(clips, fitted, seed),
        "film": films,
        "film, smoothed over a frame": [_changed(clip, _smooth) for clip in films],
        "film, a frame earlier": [_changed(clip, lambda shapes: np.roll(shapes, -1, axis=0)) for clip in films],
        "film, a frame later": [_changed(clip, lambda shapes: np.roll(shapes, 1, axis=0)) for clip in films],
    }
    trials, spotter = ask_once(looks["exact landmarks"], seed, each), MouthingSpotter(model)
    mouthed = sum(bool(trial.ends) for trial in trials)
    lines = []
    for name, seen in looks.items():
        answers = answer(spotter, seen, trials)
        labels = answers.sure >= LEAST
        cells = (answers.right.sum(), (answers.right & labels).sum(), (~answers.right & labels).sum())
        lines.append(f"| {model.name} | {name} | {mouthed} | {' | '.join(str(int(cell)) for cell in cells)} |\n")
    return "".join(lines)


def _distorted(clips: Sequence[FilmedClip], found: Sequence[FilmDistortion], seed: int) -> list[LipClip]:
    """Synthetic lips as their own film would show them."""
    random = np.random.default_rng((seed, 11))
    return [
        _changed(clip.estimated, partial(each.apply, random=random)) for clip, each in zip(clips, found, strict=True)
    ]


def _smooth(shapes: Array) -> Array:
    """Shapes (T, n), each frame mixed with a quarter of its neighbours."""
    around = np.pad(shapes, ((1, 1), (0, 0)), mode="edge")
    return np.asarray((around[:-2] + 2 * shapes + around[2:]) / 4)


def _changed(clip: LipClip, change: Callable[[Array], Array]) -> LipClip:
    """The clip with other shapes where its lips are seen."""
    values = clip.lips.values.copy()
    values[:, :-2] = np.where(values[:, -2:-1] > 0, change(values[:, :-2].astype(float)), 0.0)
    return replace(clip, lips=replace(clip.lips, values=values))


def main(arguments: Sequence[str] | None = None) -> None:
    """Film signers, fit, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clips", type=int, default=6)
    parser.add_argument("--seconds", type=float, default=10.0, help="of each clip")
    parser.add_argument("--seed", type=int, default=7300)
    parser.add_argument("--films", type=Path, required=True, help="folder of videos and landmarks, made once")
    parser.add_argument("--out", type=Path, default=MEASURED)
    parser.add_argument("--explain", action="store_true", help="say where words are lost, and write nothing")
    parser.add_argument("--model", action="append", help="name or file of a mouthing spotter; repeatable; all shipped")
    parser.add_argument("--questions", type=int, default=40, help="to each clip, none twice")
    chosen = parser.parse_args(arguments)
    clips = film_clips(chosen.clips, chosen.seconds, chosen.seed, chosen.films)
    if chosen.explain:
        models = [load_mouthing(name) for name in chosen.model or shipped()]
        sys.stdout.write(
            "| spotter | lips | mouthed | right places | right labels | wrong labels |\n" + "|---" * 6 + "|\n"
        )
        sys.stdout.writelines(explain_loss(model, clips, chosen.seed, chosen.questions) for model in models)
        return
    found = fit_distortions([(clip.estimated, clip.filmed) for clip in clips])
    how = f"--clips {chosen.clips} --seconds {chosen.seconds:g} --seed {chosen.seed}"
    save_distortions(found, chosen.out, f"python -m experiments.mouthing.distortion {how} --films films/")
    sys.stdout.write(f"wrote {chosen.out}: {len(found)} films of {len(clips)}\n")


if __name__ == "__main__":
    main()
