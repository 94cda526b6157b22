"""Estimation of a video in sections: the gain in speed, and with --compare, the same landmarks as in one go.

    python -m experiments.split_estimation news.mp4 --workers 2
    python -m experiments.split_estimation news.mp4 --compare

The first estimates a minute of video in three ways, in turns, each in a process of its own: on one core, where decoding
and all threads of the estimator share it; by one process on all cores; by several. That takes some four minutes on two
free cores (`--estimator openvino` is quicker). MediaPipe uses several threads by itself, and decoding is a process of
its own: so one process already uses more than one core, and what it uses bounds what sharing can add.

Beside the clock stand processor seconds of all processes that took part, and those that other programs took meanwhile:
read the clock only where these are few.

A tracker that begins anew after a cut, with a second of warm-up, may see other landmarks than one that followed the
signer all along. How far they are apart is printed beside how far two runs in one go are apart. Distances are of the
point that differs most in a frame, in shares of the picture's width or height.
"""

import argparse
import ctypes
import multiprocessing
import os
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from signspot.landmarks.estimate import MAX_SIDE, estimate_landmarks, plan_sections
from signspot.landmarks.estimators import ESTIMATORS, Estimator, estimating_with, find_estimator
from signspot.landmarks.landmarks import DEFAULT_FPS, Landmarks, concatenate
from signspot.types import Segment
from signspot.video.reader import open_video

PARTS = ("body", "left_hand", "right_hand", "face")
_ABOVE_HIPS = 17  # points of the body, from the nose to the wrists; legs are guessed where they are out of view
_CHUNK = 64  # frames
_PROCESSES = Path("/proc")
_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER of <linux/prctl.h>
_PARENT, _USED = 1, slice(11, 15)  # fields of /proc/<id>/stat after the name: the parent; own time, ended children's
_IDLE = (3, 4)  # fields of /proc/stat: idle, and waiting for a disk
_COUNTED = 8  # fields of /proc/stat that are parts of all time, stolen time the last


def adopt_orphans() -> None:
    """Become the parent of what is left over when a process that this one started ends before its own children.

    Raises:
        OSError: the system refuses.
    """
    if ctypes.CDLL(None, use_errno=True).prctl(_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def family_seconds() -> float:
    """Processor seconds so far of this process and of all that descend from it, ended ones included.

    A process that ended and was not adopted is counted once its parent has taken note of its end.
    """
    used: dict[int, int] = {}
    parents: dict[int, int] = {}
    for path in _PROCESSES.glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        process = int(path.parent.name)
        parents[process], used[process] = int(fields[_PARENT]), sum(map(int, fields[_USED]))
    family, found = 0, [os.getpid()]
    while found:
        process = found.pop()
        family += used.get(process, 0)
        found += [child for child, parent in parents.items() if parent == process]
    return family / os.sysconf("SC_CLK_TCK")


def machine_seconds() -> float:
    """Processor seconds so far of everything on this machine, and of what its host took away from it."""
    fields = (_PROCESSES / "stat").read_text().split("\n", 1)[0].split()[1 : 1 + _COUNTED]
    busy = sum(int(each) for number, each in enumerate(fields) if number not in _IDLE)
    return busy / os.sysconf("SC_CLK_TCK")


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
class Way:
    """Cores and processes by which a video is estimated."""

    cores: int
    processes: int

    def __str__(self) -> str:
        return f"{_count(self.cores, 'core')}, {_count(self.processes, 'process')}"


@dataclass(frozen=True, slots=True)
class Timed:
    """Landmarks and what they cost."""

    landmarks: Landmarks
    wall: float  # seconds
    processor: float  # seconds of all processes that took part
    others: float  # processor seconds of other programs meanwhile


def time_way(way: Way, path: str, segment: Segment, estimator: str) -> Timed:
    """Estimate a part of a video in one way, in a process of its own, whose threads and processes get its cores."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as fresh:
        return fresh.submit(_time_here, way, path, segment, estimator).result()


def _time_here(way: Way, path: str, segment: Segment, estimator: str) -> Timed:
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: way.cores])  # before any library counts the cores
    adopt_orphans()
    with estimating_with(estimator):
        wall, own, all_busy = time.perf_counter(), family_seconds(), machine_seconds()
        made = estimate_landmarks(path, segment=segment, workers=way.processes)
        wall, own, all_busy = time.perf_counter() - wall, family_seconds() - own, machine_seconds() - all_busy
    return Timed(made, wall, own, max(0.0, all_busy - own))


def speed_lines(timed: Mapping[Way, Sequence[Timed]], sections: int) -> list[str]:
    """A table of all ways, the best round of each, and how many times as fast the last is as the others.

    Args:
        timed: rounds of each way: one core first, several processes last.
        sections: of the video.
    """
    first = next(iter(timed.values()))[0].landmarks
    rounds = len(next(iter(timed.values())))
    lines = [
        f"{len(first)} frames, {_count(sections, 'section')}, {_count(rounds, 'round')} in turns, the best of each",
        "",
        "| way | frames per second | processor seconds | cores kept busy | taken by other programs, s |",
        "|---|---|---|---|---|",
    ]
    best = {way: min(each, key=lambda one: one.wall) for way, each in timed.items()}
    for way, one in best.items():
        busy = one.processor / one.wall
        lines.append(f"| {way} | {len(first) / one.wall:.1f} | {one.processor:.1f} | {busy:.2f} | {one.others:.1f} |")
    *before, last = best
    lines.append("")
    for way in before:
        clock = best[way].wall / best[last].wall
        work = min(each.processor for each in timed[way]) / min(each.processor for each in timed[last])
        lines.append(
            f"{last} against {way}: {clock:.2f} times as fast by the clock"
            + (f"; by processor seconds at most {work * last.cores:.2f}, on a free machine" if way.cores == 1 else "")
        )
    same = all(_are_equal(first, one.landmarks) for each in timed.values() for one in each)
    return [*lines, f"the landmarks of all ways are {'the same' if same else 'NOT the same'}"]


def _are_equal(first: Landmarks, second: Landmarks) -> bool:
    return all(np.array_equal(getattr(first, part), getattr(second, part), equal_nan=True) for part in PARTS)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}{'es' if noun[-1] in 'sh' else 's'}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Estimate a video in sections on one core, on all, and by several processes; with --compare, also in one go."""
    parser = argparse.ArgumentParser(prog="python -m experiments.split_estimation", description=__doc__)
    parser.add_argument("video")
    parser.add_argument("--seconds", type=float, default=60.0, help="of the video; sections last 30")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=1, help="each way so often, in turns")
    parser.add_argument("--compare", action="store_true", help="also with one tracker from the first frame to the last")
    parser.add_argument("--estimator", default="mediapipe", choices=list(ESTIMATORS))
    options = parser.parse_args(arguments)
    segment, cores = Segment(0.0, options.seconds), len(os.sched_getaffinity(0))
    timed: dict[Way, list[Timed]] = {way: [] for way in (Way(1, 1), Way(cores, 1), Way(cores, options.workers))}
    for _ in range(options.rounds):
        for way, each in timed.items():
            each.append(time_way(way, options.video, segment, options.estimator))
    found = timed[Way(cores, 1)][0].landmarks
    lines = speed_lines(timed, len(plan_sections(len(found) / DEFAULT_FPS, DEFAULT_FPS)))
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
            f"| sections | {' | '.join(compare(whole, found))} |",
        ]
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
