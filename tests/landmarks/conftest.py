"""A made-up signer, moving smoothly, for tests that need landmarks but no video."""

import os
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from signspot.landmarks.landmarks import FACE_POINTS, Landmarks


def signing(frames: int, seed: int = 0, *, fps: float = 25.0, dropped: float = 0.0, size=(640, 360)) -> Landmarks:
    rng = np.random.default_rng(seed)
    seconds = np.arange(frames) / fps

    def sway(joints: int, reach: float):
        pace, phase = rng.uniform(1, 6, (2, 1, joints, 3))
        return reach * np.sin(seconds[:, None, None] * pace + phase)

    body = np.ones((frames, 33, 4))
    body[..., :3] = rng.uniform(0.3, 0.7, (1, 33, 3)) + sway(33, 0.02)
    body[:, 11, :3] = [0.65, 0.5, -0.2] + sway(1, 0.01)[:, 0]
    body[:, 12, :3] = [0.35, 0.5, -0.2] + sway(1, 0.01)[:, 0]
    hands = [rng.uniform(0.3, 0.7, (1, 21, 3)) + sway(21, 0.1) for _ in range(2)]
    face = rng.uniform(0.4, 0.6, (1, len(FACE_POINTS), 3)) + sway(len(FACE_POINTS), 0.01)
    for part in (*hands, face):
        part[rng.random(frames) < dropped] = np.nan
    body[rng.random(frames) < dropped / 2] = np.nan
    return Landmarks(body, *hands, face, seconds, size)  # type: ignore[call-arg]


@pytest.fixture(scope="session")
def make_signing() -> Callable[..., Landmarks]:
    return signing


@pytest.fixture(scope="session")
def lsa64() -> Callable[[int], list[tuple[int, Landmarks]]]:
    """Gives (word, landmarks) of the first clips of a signer of LSA64."""
    beside = Path(__file__).parents[2].parent / "shared" / "data"
    folder = Path(os.environ.get("SIGNSPOT_DATA", beside)) / "lsa64"
    if not folder.is_dir():
        pytest.skip("LSA64 landmarks are not here; set SIGNSPOT_DATA to their parent folder")

    def clips_of(signer: int) -> list[tuple[int, Landmarks]]:
        with np.load(folder / f"signer_{signer:02d}.npz") as file:
            data = {name: file[name] for name in file.files if name != "pose_world"}
        starts = data["start"]
        clips = []
        for index, (a, b) in enumerate(pairwise(starts)):
            parts = [data[name][a:b] for name in ("pose", "left_hand", "right_hand", "face", "time")]
            size = (round(1000 * float(data["aspect"][index])), 1000)
            clips.append((int(data["label"][index, 0]), Landmarks(*parts, size)))  # type: ignore[call-arg]
        return clips

    return clips_of
