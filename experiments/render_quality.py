"""Quality of MediaPipe's landmarks of rendered signers: detection shares, fingertip error and time, by appearance.

    python -m experiments.render_quality --sizes 256 480 --appearances 10

Each appearance signs a few signs of the world, co-articulated, before the camera of some signer; the pictures go
through H.264, as in a corpus. A hand counts as visible where all its points are in the picture and three quarters
of its area are not hidden by the other arm or hand. Errors and offsets are in shoulder widths; offsets say where
MediaPipe puts a joint compared with ours (x right, y down). With --near every signer fills the frame, seen from the
front.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from signspot.landmarks.holistic import Tracker, join_sights
from signspot.landmarks.landmarks import Landmarks
from signspot.video.reader import open_video
from signspot_synthetic.body.motion import continuous
from signspot_synthetic.body.signers import Signer, make_signers
from signspot_synthetic.camera.projection import project
from signspot_synthetic.geometry.framing import Camera
from signspot_synthetic.language.lexicon import LexiconOptions, make_lexicon
from signspot_synthetic.render.appearance import SKIN_TONES, Appearance, make_appearance
from signspot_synthetic.render.canvas import Canvas
from signspot_synthetic.render.figure import draw_arm, draw_hand, draw_trunk, measure_build, pose_figure
from signspot_synthetic.render.paint import mix_paint
from signspot_synthetic.render.render import render_video

NEAR = Camera(distance=2.0, height=0.85, aim=(0.0, 0.0))
VISIBLE = 0.75  # of a hand's area
TIPS = [4, 8, 12, 16, 20]
JOINTS = {0: "nose", 11: "l shoulder", 12: "r shoulder", 13: "l elbow", 14: "r elbow", 15: "l wrist", 16: "r wrist"}


def perform(signer: Signer, seed: int, signs: int, size: tuple[int, int]) -> Landmarks:
    """Some co-articulated signs of one signer, exactly known."""
    lexicon = make_lexicon(LexiconOptions(words=300, seed=11))
    rng = np.random.default_rng(seed)
    words = [str(word) for word in rng.choice(list(lexicon), signs, replace=False)]
    motion, _ = continuous([lexicon[word].variants[0] for word in words], signer, rng, mouthings=words)
    return project(motion, signer.camera, size)


def see(exact: Landmarks, appearance: Appearance, size: tuple[int, int], blur: float) -> tuple[Landmarks, float]:
    """Landmarks that MediaPipe finds in the rendered video, and the CPU milliseconds of rendering a frame."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "signer.mp4"
        start = time.process_time()
        render_video(exact, appearance, path, size, exact.fps, blur=blur)
        spent = (time.process_time() - start) / len(exact) * 1000
        with open_video(path) as video, Tracker() as tracker:
            frames = list(video.frames())
            sights = [tracker.see(frame.image) for frame in frames]
    return join_sights(sights, [frame.time for frame in frames], size), spent


def within(points: NDArray[np.float32]) -> NDArray[np.bool_]:
    """(T,) whether all points (T, N, 3) lie in the picture."""
    return np.asarray(((points[..., :2] > 0) & (points[..., :2] < 1)).all((1, 2)))


def seen_share(exact: Landmarks, appearance: Appearance, name: str) -> NDArray[np.float64]:
    """(T,) how much of a hand's drawn area nothing hides."""
    side = 0 if name == "left_hand" else 1
    size = exact.size or (256, 256)
    paint, build = mix_paint(appearance), measure_build(exact, size, appearance.build)
    blank = np.zeros((size[1], size[0], 4), np.uint8)
    shares = []
    for index in range(len(exact)):
        figure = pose_figure(exact, index, size, build)
        alone, together = Canvas(blank.copy(), paint.light), Canvas(blank.copy(), paint.light)
        hand = figure.hands[side]
        assert hand is not None, "exact landmarks show every hand"
        draw_hand(alone, hand, side, paint)
        draw_trunk(together, figure, paint)
        for each in (0, 1):
            draw_arm(together, figure, each, appearance, paint)
        drawn = np.isfinite(alone.depth)
        shares.append((together.depth >= alone.depth)[drawn].mean() if drawn.any() else 0.0)
    return np.array(shares)


def found(points: NDArray[np.float32]) -> NDArray[np.bool_]:
    """(T,) whether points (T, N, C) were found."""
    return np.isfinite(points[:, 0, 0])


@dataclass(frozen=True, slots=True)
class Seen:
    """Quality of the landmarks of one video."""

    shares: tuple[float, float, float, float]  # of frames with body and face, of visible hands that were found
    tips: float  # mean error of fingertips, in shoulder widths
    offsets: NDArray[np.float32]  # (T, joints, 2) of JOINTS, in shoulder widths; NaN outside of the picture


def compare(exact: Landmarks, seen: Landmarks, appearance: Appearance) -> Seen:
    """Compare what was seen in one video with what was there."""
    scale = np.array(exact.size, np.float32)
    across = (exact.body[:, 11, :2] - exact.body[:, 12, :2]) * scale
    unit = float(np.median(np.linalg.norm(across, axis=1)))
    hands, errors = [], []
    for name in ("left_hand", "right_hand"):
        truth, guess = getattr(exact, name), getattr(seen, name)
        visible = within(truth) & (seen_share(exact, appearance, name) >= VISIBLE)
        hands.append(float(found(guess)[visible].mean()) if visible.any() else float("nan"))
        both = visible & found(guess)
        errors.append(np.linalg.norm((guess - truth)[both][:, TIPS, :2] * scale, axis=-1).ravel() / unit)
    joints = list(JOINTS)
    moved = (seen.body[:, joints, :2] - exact.body[:, joints, :2]) * scale / unit
    inside = ((exact.body[:, joints, :2] < 1) & (exact.body[:, joints, :2] > 0)).all(axis=-1)
    shares = (float(found(seen.body).mean()), float(found(seen.face).mean()), *hands)
    offsets = np.where(np.asarray(inside)[..., None], moved, np.float32(np.nan))
    return Seen((shares[0], shares[1], shares[2], shares[3]), float(np.concatenate(errors).mean()), offsets)


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main(arguments: Sequence[str] | None = None) -> None:
    """Write one line per appearance and the means over all to stdout."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[256, 480])
    parser.add_argument("--appearances", type=int, default=len(SKIN_TONES))
    parser.add_argument("--first", type=int, default=0, help="seed of the first appearance")
    parser.add_argument("--signs", type=int, default=6)
    parser.add_argument("--blur", type=float, default=0.25)
    parser.add_argument("--near", action="store_true", help="every signer fills the frame, seen from the front")
    options = parser.parse_args(arguments)
    signers = make_signers(options.appearances, options.first, "test")
    if options.near:
        signers = tuple(replace(signer, camera=NEAR) for signer in signers)
    for side in options.sizes:
        size = (side, side)
        _say(f"{side} px\nskin hair       sleeves  frames  pose  face  left right  tips  ms/frame")
        rows, offsets = [], []
        for index, signer in enumerate(signers):
            appearance = make_appearance(options.first + index, skin=index % len(SKIN_TONES))
            exact = perform(signer, options.first + index, options.signs, size)
            seen, spent = see(exact, appearance, size, options.blur)
            row = compare(exact, seen, appearance)
            offsets.append(row.offsets)
            rows.append([*row.shares, row.tips, spent])
            shares = " ".join(f"{share:5.2f}" for share in row.shares)
            who = f"{index % len(SKIN_TONES):4d} {appearance.hair:10s} {appearance.sleeves:7s}"
            _say(f"{who} {len(exact):7d} {shares} {row.tips:5.3f} {spent:9.1f}")
        means = np.ma.masked_invalid(rows).mean(axis=0).filled(np.nan)  # a hand may never be there
        shares = " ".join(f"{number:5.2f}" for number in means[:4])
        _say(f"mean                           {shares} {means[4]:5.3f} {means[5]:9.1f}")
        mean = np.ma.masked_invalid(np.concatenate(offsets)).mean(axis=0).filled(np.nan)
        _say("offsets: " + ", ".join(f"{n} {x:+.3f} {y:+.3f}" for n, (x, y) in zip(JOINTS.values(), mean, strict=True)))


if __name__ == "__main__":
    main()
