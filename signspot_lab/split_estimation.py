"""Estimation of a video in stretches: the gain in speed, and with --compare, the same landmarks as in one go.

    python -m signspot_lab.split_estimation news.mp4 --workers 2
    python -m signspot_lab.split_estimation news.mp4 --compare

The first estimates a minute of video by one process, then by two: some three minutes on two free cores (`--estimator
openvino` is quicker). MediaPipe uses several threads by itself: how many cores one process keeps busy says what sharing
can gain at most. Read the clock only where nothing else runs.

A tracker that begins anew after a cut, with a second of warm-up, may see other landmarks than one that followed the
signer all along. How far they are apart is printed beside how far two runs in one go are apart. Distances are of the
point that differs most in a frame, in shares of the picture's width or height.
"""

import argparse
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from signspot.landmarks.estimate import estimate_landmarks
from signspot.landmarks.estimators import ESTIMATORS, estimating_with, find_estimator
from signspot.landmarks.landmarks import DEFAULT_FPS, Landmarks, concatenate
from signspot.landmarks.stretches import MAX_SIDE, Estimator, plan
from signspot.timeline import Segment
from signspot.video.reader import open_video

PARTS = ("body", "left_hand", "right_hand", "face")
_ABOVE_HIPS = 17  # points of the body, from the nose to the wrists; legs are guessed where they are out of view
_CHUNK = 64  # frames


def estimate_in_one_go(path: str, segment: Segment, estimator: Estimator) -> Landmarks:
    """The landmarks by one tracker that follows the signer from the first frame to the last."""
    with open_video(path, max_side=MAX_SIDE) as video:
        size = (video.info.width, video.info.height)
        frames = video.resampled(DEFAULT_FPS, segment)
        return concatenate(list(estimator.stream(frames, size, _CHUNK)))


def compare(first: Landmarks, second: Landmarks) -> list[str]:
    """For each part of the body: frames in which one sees it alone, same frames, median and 99th percentile."""
    cells = []
    for part in PARTS:
        shown = slice(_ABOVE_HIPS) if part == "body" else slice(None)
        one, two = getattr(first, part)[:, shown, :2], getattr(second, part)[:, shown, :2]
        seen = np.stack([np.isfinite(each).all(axis=(1, 2)) for each in (one, two)])
        both = seen.all(axis=0)
        apart = np.abs(one[both] - two[both]).max(axis=(1, 2), initial=0.0)
        far = [float(np.quantile(apart, share)) for share in (0.5, 0.99)] if len(apart) else [0.0, 0.0]
        cells.append(f"{(seen[0] != seen[1]).mean():.1%}, {(apart == 0).mean():.1%}, {far[0]:.4f}, {far[1]:.4f}")
    return cells


@dataclass(frozen=True, slots=True)
class Timed:
    """Landmarks and what they cost."""

    landmarks: Landmarks
    wall: float  # seconds
    processor: float  # seconds of this process, with all its threads


def timed(path: str, segment: Segment, workers: int) -> Timed:
    """Estimate a part of a video in stretches by so many processes."""
    wall, processor = time.perf_counter(), time.process_time()
    made = estimate_landmarks(path, segment=segment, workers=workers)
    return Timed(made, time.perf_counter() - wall, time.process_time() - processor)


def speed_lines(alone: Timed, shared: Timed, workers: int, stretches: int) -> list[str]:
    """Lines on the gain by sharing a video, and the greatest gain there can be."""
    same = all(
        np.array_equal(getattr(alone.landmarks, part), getattr(shared.landmarks, part), equal_nan=True)
        for part in PARTS
    )
    busy, cores = alone.processor / alone.wall, os.cpu_count() or 1
    return [
        f"{len(alone.landmarks)} frames, {stretches} stretches",
        f"1 process keeps {busy:.2f} of {cores} cores busy: sharing makes it at most {cores / busy:.2f} times as fast",
        f"wall clock: 1 process {alone.wall:.1f} s, {workers} processes {shared.wall:.1f} s: "
        f"{alone.wall / shared.wall:.2f} times as fast (read it only where nothing else ran)",
        f"the landmarks of 1 and {workers} processes are {'the same' if same else 'NOT the same'}",
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    """Estimate a video in stretches by one process and by several; with --compare, also twice in one go."""
    parser = argparse.ArgumentParser(prog="python -m signspot_lab.split_estimation", description=__doc__)
    parser.add_argument("video")
    parser.add_argument("--seconds", type=float, default=60.0, help="of the video; stretches last 30")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--compare", action="store_true", help="also with one tracker from the first frame to the last")
    parser.add_argument("--estimator", default="mediapipe", choices=list(ESTIMATORS))
    options = parser.parse_args(arguments)
    segment = Segment(0.0, options.seconds)
    with estimating_with(options.estimator):
        alone, shared = (timed(options.video, segment, workers) for workers in (1, options.workers))
    stretches = len(plan(len(alone.landmarks) / DEFAULT_FPS, DEFAULT_FPS))
    lines = speed_lines(alone, shared, options.workers, stretches)
    if options.compare:
        estimator = find_estimator(options.estimator)
        whole, again = (estimate_in_one_go(options.video, segment, estimator) for _ in range(2))
        lines += [
            "",
            "Seen by one only, same frames, median, 99th percentile:",
            "",
            f"| against one go | {' | '.join(part.replace('_', ' ') for part in PARTS)} |",
            f"|---|{'---|' * len(PARTS)}",
            f"| one go, once more | {' | '.join(compare(whole, again))} |",
            f"| stretches | {' | '.join(compare(whole, alone.landmarks))} |",
        ]
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
