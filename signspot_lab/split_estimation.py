"""What it costs to estimate a video in stretches: the same landmarks as in one go, and how much faster.

    python -m signspot_lab.split_estimation news.mp4 --seconds 90 --workers 2

A tracker that begins anew after a cut, with a second of warm-up, may see other landmarks than one that followed the
signer all along. How far they are apart is printed beside how far two runs in one go are apart. Distances are of the
point that differs most in a frame, in shares of the picture's width or height.
"""

import argparse
import sys
import time
from collections.abc import Sequence

import numpy as np

from signspot.landmarks.estimate import estimate_landmarks
from signspot.landmarks.holistic import HolisticEstimator
from signspot.landmarks.landmarks import DEFAULT_FPS, Landmarks, concatenate
from signspot.landmarks.stretches import MAX_SIDE, plan
from signspot.timeline import Segment
from signspot.video.reader import open_video

PARTS = ("body", "left_hand", "right_hand", "face")
_ABOVE_HIPS = 17  # points of the body, from the nose to the wrists; legs are guessed where they are out of view
_CHUNK = 64  # frames


def estimate_in_one_go(path: str, segment: Segment) -> Landmarks:
    """The landmarks by one tracker that follows the signer from the first frame to the last."""
    with open_video(path, max_side=MAX_SIDE) as video:
        size = (video.info.width, video.info.height)
        frames = video.resampled(DEFAULT_FPS, segment)
        return concatenate(list(HolisticEstimator().stream(frames, size, _CHUNK)))


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


def main(arguments: Sequence[str] | None = None) -> None:
    """Estimate a video in one go twice, in stretches, and in stretches by several processes; print how they differ."""
    parser = argparse.ArgumentParser(prog="python -m signspot_lab.split_estimation", description=__doc__)
    parser.add_argument("video")
    parser.add_argument("--seconds", type=float, default=90.0)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args(arguments)
    segment = Segment(0.0, options.seconds)
    seconds: list[float] = []

    def timed(workers: int) -> Landmarks:
        start = time.perf_counter()
        made = estimate_landmarks(options.video, segment=segment, workers=workers)
        seconds.append(time.perf_counter() - start)
        return made

    whole, again = (estimate_in_one_go(options.video, segment) for _ in range(2))
    alone, shared = timed(1), timed(options.workers)
    same = all(np.array_equal(getattr(alone, part), getattr(shared, part), equal_nan=True) for part in PARTS)
    stretches = len(plan(len(whole) / DEFAULT_FPS, DEFAULT_FPS))
    lines = [
        f"{len(whole)} frames, {stretches} stretches. Seen by one only, same frames, median, 99th percentile:",
        "",
        f"| against one go | {' | '.join(part.replace('_', ' ') for part in PARTS)} |",
        f"|---|{'---|' * len(PARTS)}",
        f"| one go, once more | {' | '.join(compare(whole, again))} |",
        f"| stretches | {' | '.join(compare(whole, alone))} |",
        "",
        f"1 process {seconds[0]:.1f} s, {options.workers} processes {seconds[1]:.1f} s: "
        f"{seconds[0] / seconds[1]:.2f} times as fast",
        f"the landmarks of 1 and {options.workers} processes are {'the same' if same else 'NOT the same'}",
    ]
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
