"""Comparison of an estimator with MediaPipe: speed, distance of the landmarks, and the spottings made with them.

    signspot synthetic make filmed/ --words 40 --hours 0.02 --video-seconds 36 --render --seed 5
    python -m experiments.estimator_comparison filmed/ --seconds 30

All estimators see the same decoded frames, one video after the other, in one process; speed is frames per second of
processor time, so other work on the computer disturbs it little. Landmarks are kept in a folder, so that a run that
was stopped goes on where it was. mAP is by `signspot evaluate streams --filmed`'s own measure, with the exemplars of
the corpus's dictionary; beside it stands what the exact synthetic landmarks give. The estimator "exact" is
"openvino" without its savings. How far MediaPipe's landmarks move when pixels change by one of 255 shows which
differences mean nothing.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from experiments.split_estimation import PARTS, compare
from signspot.corpus.corpus import Corpus, open_corpus
from signspot.evaluation.streams import Stream, StreamMaterial, material_of_corpus, measure_streams
from signspot.landmarks.estimate import MAX_SIDE
from signspot.landmarks.estimators import Estimator, HolisticEstimator
from signspot.landmarks.landmarks import DEFAULT_FPS, Landmarks, concatenate
from signspot.landmarks.openvino_estimator import EXACT, Economy, OpenVinoEstimator
from signspot.landmarks.pose_file import open_landmarks, write_landmarks
from signspot.spotting.spotter import load
from signspot.types import Segment
from signspot.video.reader import Frame, open_video

_CHUNK = 64  # frames
REFERENCE = "mediapipe"


class Noisy:
    """MediaPipe on pictures whose pixels are wrong by one of 255 at most: how far small causes reach."""

    version = "mediapipe, with noise"

    def stream(self, frames: Iterable[Frame], size: tuple[int, int], chunk: int) -> Iterator[Landmarks]:
        """As `Estimator.stream`."""
        random = np.random.default_rng(0)

        def shaken(image: NDArray[np.uint8]) -> NDArray[np.uint8]:
            return (image.astype(np.int16) + random.integers(-1, 2, image.shape)).clip(0, 255).astype(np.uint8)

        return HolisticEstimator().stream((replace(each, image=shaken(each.image)) for each in frames), size, chunk)


ESTIMATORS: Mapping[str, Estimator] = {
    REFERENCE: HolisticEstimator(),
    "mediapipe, noise of 1 of 255": Noisy(),
    "exact": OpenVinoEstimator(EXACT),
    "openvino": OpenVinoEstimator(),
    "half-body": OpenVinoEstimator(Economy(body_every=2, still=0.0)),
    "still": OpenVinoEstimator(Economy(body_every=1)),
}
USUAL = tuple(ESTIMATORS)[:4]


def estimate(name: str, frames: Sequence[Frame], size: tuple[int, int], kept: Path) -> tuple[Landmarks, float]:
    """The landmarks of a video by one estimator, and the seconds of processor time; read where they are kept."""
    timing = kept.with_suffix(".json")
    if timing.is_file():
        return open_landmarks(kept), float(json.loads(timing.read_text())["seconds"])
    estimator = ESTIMATORS[name]
    for _ in estimator.stream(iter(frames[:2]), size, _CHUNK):
        pass  # its networks are read and compiled once per process
    began = time.process_time()
    made = concatenate(list(estimator.stream(iter(frames), size, _CHUNK)))
    spent = time.process_time() - began
    kept.parent.mkdir(parents=True, exist_ok=True)
    write_landmarks(made, kept)
    timing.write_text(json.dumps({"seconds": spent, "frames": len(made)}))
    return made, spent


def estimate_corpus(
    corpus: Corpus, seconds: float, out: Path, names: Sequence[str]
) -> dict[str, tuple[dict[str, Landmarks], float]]:
    """The landmarks of all videos by the named estimators, and the processor seconds of each estimator."""
    estimated: dict[str, tuple[dict[str, Landmarks], float]] = {name: ({}, 0.0) for name in names}
    for video_name, video in corpus.videos.items():
        if video.video is None:
            continue
        with open_video(video.video, max_side=MAX_SIDE) as opened:
            size = (opened.info.width, opened.info.height)
            frames = list(opened.resampled(DEFAULT_FPS, Segment(0.0, seconds)))
        for name in names:
            number = list(ESTIMATORS).index(name)
            made, spent = estimate(name, frames, size, out / f"{video_name}-{seconds:g}-{number}.pose")
            sys.stderr.write(f"{video_name}, {name}: {1000 * spent / len(made):.1f} ms of processor time per frame\n")
            estimated[name][0][video_name] = made
            estimated[name] = estimated[name][0], estimated[name][1] + spent
    return estimated


def spotted(material: StreamMaterial, landmarks: Mapping[str, Landmarks], seconds: float, encoder: str) -> list[float]:
    """The mAP with 1, 3 and 5 exemplars in the first seconds of every video, by some landmarks of it."""
    streams = []
    for stream in material.streams:
        seen = landmarks[stream.name]
        truth = tuple(sign for sign in stream.truth if sign.segment.end <= seconds)
        streams.append(Stream(stream.name, seen, truth))
    scores = measure_streams(load(encoder, cache=False), replace(material, streams=streams))
    return [score.mean_average_precision for score in scores]


def main(arguments: Sequence[str] | None = None) -> None:
    """Estimate the videos of a corpus with every estimator, and print how they compare."""
    parser = argparse.ArgumentParser(prog="python -m experiments.estimator_comparison", description=__doc__)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--seconds", type=float, default=30.0, help="of every video")
    parser.add_argument("--encoder", default="landmark")
    parser.add_argument("--out", type=Path, help="where landmarks are kept [default: beside the corpus]")
    parser.add_argument(
        "--only",
        action="append",
        choices=list(ESTIMATORS),
        help=f"estimate with this one; repeatable; nothing is compared unless '{REFERENCE}' is among several",
    )
    parser.add_argument("--all", action="store_true", help="also each saving of the estimator 'openvino' by itself")
    options = parser.parse_args(arguments)
    cv2.setNumThreads(1)
    corpus = open_corpus(options.corpus)
    folder = options.out or options.corpus.with_name(options.corpus.name + "-estimated")
    names = options.only or (list(ESTIMATORS) if options.all else USUAL)
    estimated = estimate_corpus(corpus, options.seconds, folder, names)
    if REFERENCE not in names or len(names) < 2:
        return
    material = material_of_corpus(corpus)
    exact = {stream.name: _first(stream.landmarks, options.seconds) for stream in material.streams}
    reference = concatenate_all(estimated[REFERENCE][0])
    lines = [
        f"{len(reference)} frames of {len(exact)} videos. Of each part against {REFERENCE}: seen by one only, same "
        "frames, median and 99th percentile of the point that differs most, in shares of the picture.",
        "",
        f"| estimator | frames per processor-second | times | {' | '.join(PARTS)} | mAP, 1 / 3 / 5 exemplars |",
        f"|---|---|---|{'---|' * len(PARTS)}---|",
    ]
    for name, (landmarks, spent) in estimated.items():
        rate, usual = len(reference) / spent, len(reference) / estimated[REFERENCE][1]
        cells = " | ".join(compare(reference, concatenate_all(landmarks)))
        scores = _scores(spotted(material, landmarks, options.seconds, options.encoder))
        lines.append(f"| {name} | {rate:.1f} | {rate / usual:.2f} | {cells} | {scores} |")
    scores = _scores(spotted(material, exact, options.seconds, options.encoder))
    lines.append(f"| the synthetic landmarks | – | – | {' | '.join('–' * len(PARTS))} | {scores} |")
    sys.stdout.write("\n".join(lines) + "\n")


def _scores(scores: Sequence[float]) -> str:
    return " / ".join(f"{score:.3f}" for score in scores)


def _first(landmarks: Landmarks, seconds: float) -> Landmarks:
    return landmarks[: int(np.searchsorted(landmarks.times, seconds))]


def concatenate_all(landmarks: Mapping[str, Landmarks]) -> Landmarks:
    """The landmarks of several videos as if they were one, in the order of their names."""
    parts, begin = [], 0.0
    for name in sorted(landmarks):
        part = landmarks[name]
        parts.append(replace(part, times=begin + np.arange(len(part)) / DEFAULT_FPS))
        begin += len(part) / DEFAULT_FPS
    return concatenate(parts)


if __name__ == "__main__":
    main()
