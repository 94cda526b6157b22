"""Output of the measurements of speed, worked out by hand."""

from pathlib import Path

import numpy as np
import pytest
import torch

from experiments.estimator_comparison import compare
from experiments.rgb_backends import agreement, random_trunk, read_frames
from signspot.errors import OptionsError
from signspot.landmarks.landmarks import BODY_POINTS, FACE_POINTS, HAND_POINTS, Landmarks
from signspot.video.writer import write_video


def landmarks(frames: int) -> Landmarks:
    body = np.full((frames, BODY_POINTS, 4), 0.5, np.float32)
    hand = np.full((frames, HAND_POINTS, 3), 0.5, np.float32)
    face = np.full((frames, len(FACE_POINTS), 3), 0.5, np.float32)
    return Landmarks(body, hand, hand.copy(), face, np.arange(frames) / 25, (64, 48))


def test_landmarks_are_compared_part_by_part() -> None:
    one, two = landmarks(4), landmarks(4)
    two.left_hand[0] = np.nan
    two.face[:, 3, 0] += 0.02
    body, left, right, face = compare(one, two)
    assert body == right == "0.0%, 100.0%, 0.0000, 0.0000"
    assert left == "25.0%, 100.0%, 0.0000, 0.0000"
    assert face == "0.0%, 0.0%, 0.0200, 0.0200"


def test_features_agree_with_themselves_and_less_with_others() -> None:
    features = torch.rand(16, 8, generator=torch.Generator().manual_seed(0))
    assert agreement(features, features) == (pytest.approx(1.0), pytest.approx(1.0))
    lowest, curve = agreement(features + 0.3 * torch.rand(16, 8, generator=torch.Generator().manual_seed(1)), features)
    assert lowest < 0.999
    assert curve < 0.999


def test_a_random_trunk_tells_windows_apart(tmp_path: Path) -> None:
    shades = np.random.default_rng(0).integers(0, 255, (24, 8, 8, 3), dtype=np.uint8)
    images = (np.kron(shade, np.ones((8, 8, 1), np.uint8)) for shade in shades)
    video = str(write_video(tmp_path / "noise.mp4", images, 25))
    frames = read_frames(video, 32, 24)
    trunk = random_trunk(frames)
    with torch.inference_mode():
        embeddings = trunk(torch.stack([frames[at : at + 16].transpose(0, 1) for at in (0, 8)]))
    assert not trunk.training
    assert float(torch.cosine_similarity(embeddings[0], embeddings[1], dim=0)) < 0.99
    with pytest.raises(OptionsError, match="24"):
        read_frames(video, 32, 100)
