"""Compare synthetic signing with real landmarks, statistic by statistic, and print the table.

    python -m experiments.synthetic_realism path/to/lsa64

The folder holds `signer_NN.npz` files, as `signspot import lsa64` makes them. Synthetic clips are of other
signers, before a camera that frames them alike. LSA64's signers wear gloves and hold the first and the last posture
of each sign, so a synthetic clip is measured from just before a sign to just after it, with the estimator's faults
for gloved hands; the third column has the faults for bare hands.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from experiments.markdown import head, row
from signspot.corpus.isolated import read_isolated
from signspot.landmarks.landmarks import Landmarks
from signspot_synthetic.body.motion import isolated
from signspot_synthetic.body.signers import Camera, make_signers
from signspot_synthetic.language.lexicon import LexiconOptions, make_lexicon
from signspot_synthetic.observation import GLOVED, NoiseOptions, observe, project
from signspot_synthetic.random_streams import named_rng

FPS = 20.0
Values = NDArray[np.float64]
ROWS: tuple[tuple[str, str, str], ...] = (
    ("wrist speed while moving, median", "speed", "p50"),
    ("wrist speed while moving, 95 %", "speed", "p95"),
    ("wrist acceleration while moving, median", "acceleration", "p50"),
    ("palm length, 90 %", "palm length", "p90"),
    ("palm length with depth, 90 %", "palm length 3-D", "p90"),
    ("palm breadth, 90 %", "palm breadth", "p90"),
    ("hand length, 95 %", "hand length", "p95"),
    ("upper arm, 90 %", "upper arm", "p90"),
    ("forearm, 90 %", "forearm", "p90"),
    ("nose above shoulders, median", "nose height", "p50"),
    ("hips below shoulders, median", "hips below", "p50"),
    ("face breadth, median", "face breadth", "p50"),
    ("mouth breadth, median", "mouth breadth", "p50"),
    ("elbow outwards of shoulder, median", "elbow out", "p50"),
    ("elbow outwards of shoulder, 95 %", "elbow out", "p95"),
    ("elbow below shoulder, median", "elbow below", "p50"),
    ("wrist below shoulder, median", "wrist below", "p50"),
    ("wrist below shoulder, 5 %", "wrist below", "p5"),
    ("depth: nose before shoulders, median", "depth nose", "p50"),
    ("depth: wrist before shoulder, median", "depth wrist", "p50"),
    ("depth: elbow before shoulder, median", "depth elbow", "p50"),
    ("depth: shoulders before hips, median", "depth shoulders", "p50"),
    ("depth: middle fingertip from wrist, median", "depth fingertip", "p50"),
    ("depth: middle fingertip from wrist, 5 %", "depth fingertip", "p5"),
    ("depth: middle knuckle from wrist, median", "depth knuckle", "p50"),
    ("depth: nose on face, median", "depth nose on face", "p50"),
    ("depth: cheeks on face, median", "depth cheek on face", "p50"),
    ("hand's wrist from body's wrist, median", "hand from body wrist", "p50"),
    ("strong hand found, inside the frame", "found strong inside", "mean"),
    ("… below 0.3 widths per second", "found slow", "mean"),
    ("… at 1 to 3 widths per second", "found middling", "mean"),
    ("… above 3 widths per second", "found fast", "mean"),
    ("weak hand found, inside the frame", "found weak inside", "mean"),
    ("weak hand found, outside the frame", "found weak outside", "mean"),
    ("run of missed frames, mean", "drop runs", "mean"),
    ("run of missed frames, median", "drop runs", "p50"),
    ("run of missed frames, 90 %", "drop runs", "p90"),
    ("face found", "found face", "mean"),
    *(
        (f"jitter, {name}, {state}, {kind}", f"jitter {name} {state}", stat)
        for name in ("wrist", "elbow", "shoulder", "nose", "wrist depth", "hand", "knuckle", "fingertip")
        for state in ("still", "moving")
        for kind, stat in (("median", "p50"), ("90 %", "p90"))
    ),
    ("jitter, little fingertip, moving, median", "jitter little fingertip moving", "p50"),
    ("jitter, fingertip depth, still, median", "jitter fingertip depth still", "p50"),
    ("jitter, fingertip depth, moving, median", "jitter fingertip depth moving", "p50"),
    ("jitter, lip, still, median", "jitter lip still", "p50"),
    ("visibility of weak elbow, mean", "visibility elbow", "mean"),
    ("visibility of weak wrist, mean", "visibility wrist", "mean"),
    ("visibility of hip, mean", "visibility hip", "mean"),
    ("visibility of knee, mean", "visibility knee", "mean"),
)


@dataclass
class Pool:
    """Values of all clips, by name."""

    values: dict[str, list[Values]] = field(default_factory=dict)

    def add(self, name: str, values: object) -> None:
        """Keep the finite ones of some values."""
        flat = np.asarray(values, dtype=np.float64).ravel()
        self.values.setdefault(name, []).append(flat[np.isfinite(flat)])

    def of(self, name: str) -> Values:
        """All values of a name."""
        return np.concatenate(self.values.get(name) or [np.empty(0)])


def run_lengths(mask: NDArray[np.bool_]) -> Values:
    """Lengths of the runs of True."""
    steps = np.diff(np.concatenate([[0], mask.astype(int), [0]]))
    return (np.flatnonzero(steps == -1) - np.flatnonzero(steps == 1)).astype(np.float64)


def length(points: Values) -> Values:
    """Lengths of vectors (..., n)."""
    return np.asarray(np.sqrt((points**2).sum(axis=-1)), np.float64)


def residual(points: Values) -> Values:
    """High-frequency residual (T - 2,): second differences, as large as white noise of that standard deviation."""
    return np.asarray(length(points[2:] - 2 * points[1:-1] + points[:-2]) / np.sqrt(6), np.float64)


def measure(clip: Landmarks, pool: Pool) -> None:
    """Add the statistics of one clip, in shoulder widths, to the pool; the strong hand is the right one."""
    scale = np.array([clip.aspect, 1.0, clip.aspect])
    body = clip.body[..., :3].astype(np.float64) * scale
    hand, face = clip.right_hand.astype(np.float64) * scale, clip.face.astype(np.float64) * scale
    width = float(np.median(length(body[:, 11, :2] - body[:, 12, :2])))
    body, hand, face = body / width, hand / width, face / width
    wrist = body[:, 16, :2]
    speed = length(np.gradient(wrist, axis=0)) * FPS
    pool.add("speed", speed[speed > 0.3])
    pool.add("acceleration", length(np.diff(wrist, 2, axis=0))[speed[1:-1] > 0.3] * FPS**2)
    _measure_found(clip, body, speed, pool)
    _measure_sizes(body, hand, face, pool)
    _measure_jitter(body, hand, face, speed[1:-1], pool)
    for name, point in (("elbow", 13), ("wrist", 15), ("hip", 23), ("knee", 25)):
        pool.add(f"visibility {name}", clip.body[:, point, 3])


def _measure_found(clip: Landmarks, body: Values, speed: Values, pool: Pool) -> None:
    for side, wrist, hand in (("strong", 16, clip.right_hand), ("weak", 15, clip.left_hand)):
        is_found, inside = np.isfinite(hand[:, 0, 0]), clip.body[:, wrist, 1] < 0.92
        pool.add(f"found {side} inside", is_found[inside])
        pool.add(f"found {side} outside", is_found[~inside & (clip.body[:, wrist, 1] > 1.05)])
        if side == "strong":
            pool.add("drop runs", run_lengths(~is_found & inside))
            for name, low, high in (("slow", 0, 0.3), ("middling", 1, 3), ("fast", 3, 99)):
                pool.add(f"found {name}", is_found[inside & (speed >= low) & (speed < high)])
    pool.add("found face", np.isfinite(clip.face[:, 0, 0]))


def _measure_sizes(body: Values, hand: Values, face: Values, pool: Pool) -> None:
    pool.add("palm length", length(hand[:, 9, :2] - hand[:, 0, :2]))
    pool.add("palm length 3-D", length(hand[:, 9] - hand[:, 0]))
    pool.add("palm breadth", length(hand[:, 5, :2] - hand[:, 17, :2]))
    pool.add("hand length", length(hand[:, 12, :2] - hand[:, 0, :2]))
    pool.add("upper arm", length(body[:, 14, :2] - body[:, 12, :2]))
    pool.add("forearm", length(body[:, 16, :2] - body[:, 14, :2]))
    pool.add("nose height", (body[:, 11:13, 1].mean(axis=1) - body[:, 0, 1]))
    pool.add("hips below", (body[:, 23:25, 1].mean(axis=1) - body[:, 11:13, 1].mean(axis=1)))
    pool.add("face breadth", length(face[:, 58, :2] - face[:, 59, :2]))
    pool.add("mouth breadth", length(face[:, 0, :2] - face[:, 10, :2]))
    pool.add("elbow out", body[:, 12, 0] - body[:, 14, 0])
    pool.add("elbow below", body[:, 14, 1] - body[:, 12, 1])
    pool.add("wrist below", body[:, 16, 1] - body[:, 12, 1])
    pool.add("depth nose", body[:, 0, 2] - body[:, 11:13, 2].mean(axis=1))
    pool.add("depth wrist", body[:, 16, 2] - body[:, 12, 2])
    pool.add("depth elbow", body[:, 14, 2] - body[:, 12, 2])
    pool.add("depth shoulders", body[:, 11:13, 2].mean(axis=1))
    pool.add("depth fingertip", hand[:, 12, 2])
    pool.add("depth knuckle", hand[:, 9, 2])
    pool.add("depth nose on face", face[:, 41, 2])
    pool.add("depth cheek on face", face[:, 58:, 2])
    pool.add("hand from body wrist", length(hand[:, 0, :2] - body[:, 16, :2]))


def _measure_jitter(body: Values, hand: Values, face: Values, speed: Values, pool: Pool) -> None:
    tracks = {
        "wrist": body[:, 16, :2],
        "elbow": body[:, 14, :2],
        "shoulder": body[:, 12, :2],
        "nose": body[:, 0, :2],
        "wrist depth": body[:, 16, 2:],
        "hand": hand[:, 0, :2],
        "knuckle": hand[:, 9, :2] - hand[:, 0, :2],
        "fingertip": hand[:, 8, :2] - hand[:, 0, :2],
        "little fingertip": hand[:, 20, :2] - hand[:, 0, :2],
        "fingertip depth": hand[:, 8, 2:],
        "lip": face[:, 14, :2] - face[:, 41, :2],
    }
    for name, track in tracks.items():
        rest = residual(track)
        pool.add(f"jitter {name} still", rest[speed < 0.25])
        pool.add(f"jitter {name} moving", rest[speed > 1])


def real_clips(folder: Path, every: int) -> Iterator[Landmarks]:
    """Every n-th clip of LSA64."""
    return (clip.landmarks for clip in read_isolated(folder)[::every])


def synthetic_clips(count: int, noise: NoiseOptions) -> Iterator[Landmarks]:
    """As many synthetic clips, filmed alike."""
    lexicon = make_lexicon(LexiconOptions(words=count, seed=1, fingerspelled_share=0))
    signers = make_signers(9, 11, "dictionary", left_share=0)
    for index, entry in enumerate(lexicon.values()):
        signer, rng = signers[index % len(signers)], named_rng(1, "calibration", index)
        motion, segment = isolated(entry.variants[0], signer, rng, fps=FPS)
        camera = Camera(2.2, float(rng.uniform(0.88, 0.98)), float(rng.normal(0, 0.04)), 0.0, 0.0, (0.02, 0.06))
        yield observe(project(motion, camera, (1280, 960)), rng, noise).between(segment.padded(0.12))


def statistic(values: Values, kind: str) -> float:
    """A mean or a percentile; NaN of nothing."""
    if not len(values):
        return float("nan")
    return float(values.mean() if kind == "mean" else np.percentile(values, float(kind[1:])))


def pooled(clips: Iterator[Landmarks]) -> Pool:
    """The statistics of many clips."""
    pool = Pool()
    for clip in clips:
        if len(clip) > 4:
            measure(clip, pool)
    return pool


def table(pools: dict[str, Pool]) -> str:
    """The comparison as a Markdown table."""
    lines = [head("statistic", *pools)]
    for label, name, kind in ROWS:
        lines.append(row(label, *(f"{statistic(pool.of(name), kind):.4g}" for pool in pools.values())))
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the arguments, compare, write the table to stdout."""
    parser = argparse.ArgumentParser(description="Compare synthetic signing with LSA64 landmarks.")
    parser.add_argument("folder", type=Path, help="where the signer_NN.npz files are")
    parser.add_argument("--every", type=int, default=4, help="use every n-th real clip")
    parser.add_argument("--clips", type=int, default=600, help="synthetic clips")
    options = parser.parse_args(arguments)
    pools = {
        "LSA64 (gloved hands)": pooled(real_clips(options.folder, options.every)),
        "synthetic, gloved": pooled(synthetic_clips(options.clips, GLOVED)),
        "synthetic, bare hands": pooled(synthetic_clips(options.clips, NoiseOptions())),
    }
    sys.stdout.write(table(pools) + "\n")


if __name__ == "__main__":
    main()
