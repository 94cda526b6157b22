"""Real faces beside synthetic ones: how far their lips move, and how fast. `python -m` prints the comparison."""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike

import numpy as np
from numpy.typing import NDArray

from experiments.mouthing.clips import ClipOptions, make_clips, read_vocabulary
from signspot.corpus.isolated import IsolatedClip, read_isolated
from signspot.errors import LandmarksError
from signspot.mouthing.lips import FPS, SHAPES, LipTrack, follow_lips

_FEWEST = 15  # frames of a clip in which the lips are seen
PIECE = 2.4  # of the pieces of the synthetic clips: about what a clip of an isolated sign lasts


@dataclass(frozen=True, slots=True)
class LipMovement:
    """Lip movement in some clips, each (len(SHAPES),), in tenths of the distance of the eyes' outer corners."""

    name: str
    clips: int
    usual: NDArray[np.float64]  # median over clips of the range, from the 5th to the 95th percentile of a clip
    wide: NDArray[np.float64]  # nine tenths of the clips have a smaller range
    fast: NDArray[np.float64]  # median over clips of the 95th percentile of the speed, per second
    trembling: NDArray[np.float64]  # median over clips of the median second difference


def read_faces(
    lsa64: str | PathLike[str] | None, wlasl: str | PathLike[str] | None
) -> list[tuple[str, list[IsolatedClip]]]:
    """The clips of each corpus that is named."""
    found = [] if lsa64 is None else [("LSA64", read_isolated(lsa64))]
    return found if wlasl is None else [*found, ("WLASL", read_isolated(wlasl))]


def lips_of(clips: Sequence[IsolatedClip]) -> list[LipTrack]:
    """The lips of clips of isolated signs; frames in which the face only repeats the last one seen are cut off."""
    tracks = []
    for clip in clips:
        marks = clip.landmarks
        moves = np.flatnonzero(np.abs(np.diff(np.nan_to_num(marks.face), axis=0)).max(axis=(1, 2)) > 0)
        if len(moves) < 2:
            continue
        try:
            tracks.append(follow_lips([marks[: int(moves[-1]) + 2].resampled(FPS)]))
        except LandmarksError:
            continue
    return tracks


def describe_lips(name: str, tracks: Sequence[LipTrack]) -> LipMovement:
    """Range, speed and trembling of lips, of clips in which they are seen long enough."""
    count = len(SHAPES)
    seen = [track.values[track.values[:, -2] > 0, :count] for track in tracks]
    enough = [values for values in seen if len(values) >= _FEWEST]
    ranges = np.array([np.ptp(np.percentile(values, (5, 95), axis=0), axis=0) for values in enough])
    speeds = [np.percentile(np.abs(np.diff(values, axis=0)), 95, axis=0) * FPS for values in enough]
    trembling = [np.median(np.abs(np.diff(values, n=2, axis=0)), axis=0) for values in enough]
    return LipMovement(
        name=name,
        clips=len(enough),
        usual=np.median(ranges, axis=0),
        wide=np.percentile(ranges, 90, axis=0),
        fast=np.median(speeds, axis=0),
        trembling=np.median(trembling, axis=0),
    )


def synthetic_lips(count: int, seed: int, mouthing: float) -> list[LipTrack]:
    """Pieces of the synthetic clips, as long as clips of isolated signs; `mouthing` is the share of mouthed signs."""
    people = [str(number) for number in range(count)]
    made = make_clips(count, seed, read_vocabulary(unseen=False), people, ClipOptions(mouthing=mouthing))
    frames = round(PIECE * FPS)
    return [
        LipTrack(clip.lips.values[first : first + frames])
        for clip in made
        for first in range(0, len(clip.lips) - frames + 1, frames)
    ]


def as_text(rows: Sequence[LipMovement]) -> str:
    """The comparison as a Markdown table: the usual range / the range of one clip in ten / speed / trembling."""
    titles = ["", *(f"{row.name} ({row.clips} clips)" for row in rows)]
    lines = [f"| {' | '.join(titles)} |", "|---" * len(titles) + "|"]
    for number, shape in enumerate(SHAPES):
        cells = [
            f"{row.usual[number]:.2f} / {row.wide[number]:.2f} / {row.fast[number]:.1f} / {row.trembling[number]:.3f}"
            for row in rows
        ]
        lines.append(f"| {shape.replace('_', ' ')} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the comparison."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lsa64", help="folder of LSA64 landmarks")
    parser.add_argument("--wlasl", help="folder of WLASL landmarks")
    parser.add_argument("--clips", type=int, default=30, help="synthetic clips")
    parser.add_argument("--every", type=int, default=1, help="take every so manieth real clip")
    chosen = parser.parse_args(arguments)
    rows = [
        describe_lips("synthetic, mouthing", synthetic_lips(chosen.clips, 1, 0.55)),
        describe_lips("synthetic, nobody mouths", synthetic_lips(chosen.clips, 1, 0.0)),
    ]
    rows += [
        describe_lips(name, lips_of(clips[:: chosen.every])) for name, clips in read_faces(chosen.lsa64, chosen.wlasl)
    ]
    sys.stdout.write(as_text(rows))


if __name__ == "__main__":
    main()
