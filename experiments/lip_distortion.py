"""Measures how MediaPipe distorts lips in video: `python -m experiments.lip_distortion` writes what trainings use.

Synthetic signers are filmed, as `experiments.mouthing_video` does, and what MediaPipe sees is fitted to the synthetic
landmarks, video by video: how much of each shape comes through, what shapes take over of each other, and errors that
last over time and are shared by shapes, since shapes are distances between the same few points. The synthetic landmarks
have the faults of an estimator, as those that are trained on: exact shapes follow from each other so nearly that a fit
to them would be differences of large numbers.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from experiments.mouthing_video import make_video_clips
from signspot.io.files import atomic_write
from signspot.mouthing.lips import SHAPES
from signspot.mouthing.trials import LipClip
from signspot.training.mouthing import MEASURED, Array, LipDistortion

_TOWARDS_ALL = 25.0  # how strongly one video's mixing is drawn to that of all videos, in frames of usual lips
_DIGITS = 4


def fit_distortions(pairs: Sequence[tuple[LipClip, LipClip]]) -> list[LipDistortion]:
    """Fit one distortion to each video.

    Args:
        pairs: the synthetic and MediaPipe's lips of each clip; videos in which hardly any lips are seen are left out.
    """
    shapes = [part for synthetic, filmed in pairs if len((part := _both_seen(synthetic, filmed))[0]) > 2 * len(SHAPES)]
    gram = [_with_one(true).T @ _with_one(true) for true, _ in shapes]
    moments = [_with_one(true).T @ filmed for true, filmed in shapes]
    few = 1e-3 * np.eye(len(SHAPES) + 1)
    every = np.linalg.solve(sum(gram) + few, sum(moments))
    usual = _TOWARDS_ALL * sum(gram) / sum(len(true) for true, _ in shapes) + few
    distortions = []
    for (true, filmed), own_gram, moment in zip(shapes, gram, moments, strict=True):
        mixing = np.linalg.solve(own_gram + usual, moment + usual @ every)
        errors = filmed - _with_one(true) @ mixing
        size = np.maximum((errors**2).mean(axis=0), 1e-9)
        persistence = float(((errors[1:] * errors[:-1]).mean(axis=0) / size).mean())
        distortions.append(
            LipDistortion(
                np.asarray(mixing[:-1], np.float64),
                errors.T @ errors / len(errors),
                float(np.clip(persistence, 0.0, 0.98)),
            )
        )
    return distortions


def _both_seen(synthetic: LipClip, filmed: LipClip) -> tuple[Array, Array]:
    """Shapes (m, n) in the synthetic corpus and in video, of the frames in which lips are seen both ways."""
    count = min(len(synthetic.lips), len(filmed.lips))
    true, filmed_shapes = synthetic.lips.values[:count].astype(float), filmed.lips.values[:count].astype(float)
    both = (true[:, -2] > 0) & (filmed_shapes[:, -2] > 0)
    return true[both, :-2], filmed_shapes[both, :-2]


def _with_one(shapes: Array) -> Array:
    """Shapes with a constant beside them: the resting mouth of a video is another one than the true one."""
    return np.concatenate([shapes, np.ones((len(shapes), 1))], axis=1)


def save_distortions(distortions: Sequence[LipDistortion], path: Path, command: str) -> None:
    """Write distortions, rounded, with the command that measured them."""
    videos = [
        {
            "mixing": distortion.mixing.round(_DIGITS).tolist(),
            "covariance": distortion.covariance.round(_DIGITS).tolist(),
            "memory": round(distortion.memory, _DIGITS),
        }
        for distortion in distortions
    ]
    with atomic_write(path) as temporary:
        lines = ",\n".join(json.dumps(video) for video in videos)
        head = f'"command": {json.dumps(command)},\n"shapes": {json.dumps(SHAPES)},\n"videos": [\n{lines}\n]'
        temporary.write_text(f"{{\n{head}\n}}\n", encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> None:
    """Film signers, fit, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clips", type=int, default=6)
    parser.add_argument("--seconds", type=float, default=10.0, help="of each clip")
    parser.add_argument("--seed", type=int, default=7300)
    parser.add_argument("--videos", type=Path, required=True, help="folder of videos and landmarks, made once")
    parser.add_argument("--out", type=Path, default=MEASURED)
    options = parser.parse_args(arguments)
    clips = make_video_clips(options.clips, options.seconds, options.seed, options.videos)
    fitted = fit_distortions([(clip.estimated, clip.video) for clip in clips])
    size = f"--clips {options.clips} --seconds {options.seconds:g} --seed {options.seed}"
    save_distortions(fitted, options.out, f"python -m experiments.lip_distortion {size} --videos videos/")
    sys.stdout.write(f"wrote {options.out}: {len(fitted)} videos of {len(clips)}\n")


if __name__ == "__main__":
    main()
