"""Comparison of estimators with MediaPipe: speed, distance of the landmarks, and the spottings made with them.

    signspot synthetic make filmed/ --words 40 --hours 0.02 --set video_seconds=36 --render --seed 5
    python -m experiments.estimator_comparison filmed/ --seconds 30

All estimators see the same decoded frames, one video after the other, in one process; speed is frames per second of
processor time, so other work on the computer disturbs it little. mAP is by `signspot evaluate streams --filmed`'s own
measure, with the exemplars of the corpus's dictionary; beside it stands what the exact synthetic landmarks give. The
estimator "exact" is "openvino" without its savings. How far MediaPipe's landmarks move when pixels change by one of
255 shows which differences mean nothing.
"""

import argparse
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from experiments.lsp.corpora import join
from experiments.markdown import head, row
from signspot.corpus.corpus import Corpus, open_corpus
from signspot.evaluation.streams import Stream, StreamMaterial, material_of_corpus, measure_streams
from signspot.landmarks.estimators import Estimator, HolisticEstimator
from signspot.landmarks.landmarks import DEFAULT_FPS, Landmarks, concatenate
from signspot.landmarks.openvino_estimator import EXACT, OpenVinoEstimator
from signspot.landmarks.video_estimation import MAX_SIDE
from signspot.spotting.spotter import load
from signspot.types import Segment
from signspot.video.reader import Frame, open_video

PARTS = ("body", "left_hand", "right_hand", "face")
REFERENCE = "mediapipe"
_ABOVE_HIPS = 17  # points of the body, from the nose to the wrists; legs are guessed where they are out of view
_CHUNK = 64  # frames


class Noisy:
    """MediaPipe on images whose pixels are wrong by one of 255 at most: how far small causes reach."""

    version = "mediapipe, with noise"

    def stream(self, frames: Iterable[Frame], size: tuple[int, int], chunk: int) -> Iterator[Landmarks]:
        """As `Estimator.stream`."""
        random = np.random.default_rng(0)

        def add_noise(image: NDArray[np.uint8]) -> NDArray[np.uint8]:
            return (image.astype(np.int16) + random.integers(-1, 2, image.shape)).clip(0, 255).astype(np.uint8)

        noisy = (replace(frame, image=add_noise(frame.image)) for frame in frames)
        return HolisticEstimator().stream(noisy, size, chunk)


ESTIMATORS: Mapping[str, Estimator] = {
    REFERENCE: HolisticEstimator(),
    "mediapipe, noise of 1 of 255": Noisy(),
    "exact": OpenVinoEstimator(EXACT),
    "openvino": OpenVinoEstimator(),
}


def estimate(estimator: Estimator, frames: Sequence[Frame], size: tuple[int, int]) -> tuple[Landmarks, float]:
    """The landmarks of a video, and the seconds of processor time that they took."""
    for _ in estimator.stream(iter(frames[:2]), size, _CHUNK):
        pass  # its networks are read and compiled once per process
    began = time.process_time()
    landmarks = concatenate(list(estimator.stream(iter(frames), size, _CHUNK)))
    return landmarks, time.process_time() - began


def estimate_corpus(corpus: Corpus, seconds: float) -> dict[str, tuple[dict[str, Landmarks], float]]:
    """The landmarks of all videos by each estimator, and the processor seconds of each."""
    by_video: dict[str, dict[str, Landmarks]] = {name: {} for name in ESTIMATORS}
    spent = dict.fromkeys(ESTIMATORS, 0.0)
    for video_name, video in corpus.videos.items():
        if video.video is None:
            continue
        with open_video(video.video, max_side=MAX_SIDE) as opened:
            size = (opened.info.width, opened.info.height)
            frames = list(opened.resampled(DEFAULT_FPS, Segment(0.0, seconds)))
        for name, estimator in ESTIMATORS.items():
            by_video[name][video_name], took = estimate(estimator, frames, size)
            spent[name] += took
            sys.stderr.write(f"{video_name}, {name}: {1000 * took / len(frames):.1f} ms of processor time per frame\n")
    return {name: (by_video[name], spent[name]) for name in ESTIMATORS}


def compare(first: Landmarks, second: Landmarks) -> list[str]:
    """For each part of the body: frames in which one sees it alone, same frames, median and 99th percentile."""
    cells = []
    for part in PARTS:
        points = slice(_ABOVE_HIPS) if part == "body" else slice(None)
        first_points, second_points = getattr(first, part)[:, points, :2], getattr(second, part)[:, points, :2]
        seen = np.stack([np.isfinite(values).all(axis=(1, 2)) for values in (first_points, second_points)])
        both = seen.all(axis=0)
        apart = np.abs(first_points[both] - second_points[both]).max(axis=(1, 2), initial=0.0)
        far = [float(np.quantile(apart, share)) for share in (0.5, 0.99)] if len(apart) else [0.0, 0.0]
        cells.append(f"{(seen[0] != seen[1]).mean():.1%}, {(apart == 0).mean():.1%}, {far[0]:.4f}, {far[1]:.4f}")
    return cells


def spotted(material: StreamMaterial, landmarks: Mapping[str, Landmarks], seconds: float, encoder: str) -> str:
    """The mAP with 1, 3 and 5 exemplars in the first seconds of every video, by some landmarks of it."""
    streams = [
        Stream(
            stream.name,
            landmarks[stream.name],
            tuple(sign for sign in stream.truth if sign.segment.end <= seconds),
        )
        for stream in material.streams
    ]
    scores = measure_streams(load(encoder, cache=False), replace(material, streams=streams))
    return " / ".join(f"{score.mean_average_precision:.3f}" for score in scores)


def main(arguments: Sequence[str] | None = None) -> None:
    """Estimate the videos of a corpus with every estimator, and print how they compare."""
    parser = argparse.ArgumentParser(prog="python -m experiments.estimator_comparison", description=__doc__)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--seconds", type=float, default=30.0, help="of every video")
    parser.add_argument("--encoder", default="landmark")
    options = parser.parse_args(arguments)
    cv2.setNumThreads(1)
    corpus = open_corpus(options.corpus)
    estimated = estimate_corpus(corpus, options.seconds)
    material = material_of_corpus(corpus)
    by_video, usual = estimated[REFERENCE]
    reference = join([by_video[video] for video in sorted(by_video)])
    lines = [
        f"{len(reference)} frames of {len(material.streams)} videos. Of each part against {REFERENCE}: seen by one "
        "only, same frames, median and 99th percentile of the point that differs most, in shares of the image.",
        "",
        head("estimator", "frames per processor-second", "times", *PARTS, "mAP, 1 / 3 / 5 exemplars"),
    ]
    for name, (landmarks, spent) in estimated.items():
        cells = compare(reference, join([landmarks[video] for video in sorted(landmarks)]))
        scores = spotted(material, landmarks, options.seconds, options.encoder)
        lines.append(row(name, f"{len(reference) / spent:.1f}", f"{usual / spent:.2f}", *cells, scores))
    exact = {
        stream.name: stream.landmarks[: int(np.searchsorted(stream.landmarks.times, options.seconds))]
        for stream in material.streams
    }
    scores = spotted(material, exact, options.seconds, options.encoder)
    lines.append(row("the synthetic landmarks", "–", "–", *"–" * len(PARTS), scores))
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
