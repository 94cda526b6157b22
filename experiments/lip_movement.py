"""Real lips beside synthetic ones, how far and how fast they move: `python -m experiments.lip_movement` prints it."""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from signspot.corpus.isolated import read_isolated
from signspot.evaluation.mouthing import lips_of
from signspot.mouthing.lips import FPS, SHAPES, LipTrack, follow_lips
from signspot_synthetic.lips import LipsOptions, make_clip

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
    """Pieces of synthetic clips, as long as clips of isolated signs; `mouthing` is the share of mouthed signs."""
    options = LipsOptions(train=count, signers=count, mouthing=mouthing, seed=seed)
    frames = round(PIECE * FPS)
    tracks = [follow_lips([make_clip(options, "train", number).landmarks]) for number in range(count)]
    return [
        LipTrack(track.values[first : first + frames])
        for track in tracks
        for first in range(0, len(track) - frames + 1, frames)
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
    parser.add_argument("folders", nargs="*", type=Path, help="isolated signs: imported LSA64 or WLASL, or files")
    parser.add_argument("--clips", type=int, default=30, help="synthetic clips")
    parser.add_argument("--every", type=int, default=1, help="use one real clip in so many")
    options = parser.parse_args(arguments)
    rows = [
        describe_lips("synthetic, mouthing", synthetic_lips(options.clips, 1, 0.55)),
        describe_lips("synthetic, nobody mouths", synthetic_lips(options.clips, 1, 0.0)),
    ]
    for folder in options.folders:
        clips = [clip.landmarks for clip in read_isolated(folder)[:: options.every]]
        rows.append(describe_lips(folder.name, lips_of(clips)))
    sys.stdout.write(as_text(rows))


if __name__ == "__main__":
    main()
