"""Output of the measurements of speed, worked out by hand."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from experiments.estimator_comparison import concatenate_all
from experiments.rgb_backends import agreement, random_trunk, read_frames
from experiments.split_estimation import Timed, Way, compare, speed_lines, time_way
from signspot.errors import OptionsError
from signspot.landmarks.landmarks import BODY_POINTS, FACE_POINTS, HAND_POINTS, Landmarks
from signspot.types import Segment
from signspot.video.writer import write_video


def landmarks(frames: int) -> Landmarks:
    body = np.full((frames, BODY_POINTS, 4), 0.5, np.float32)
    hand = np.full((frames, HAND_POINTS, 3), 0.5, np.float32)
    face = np.full((frames, len(FACE_POINTS), 3), 0.5, np.float32)
    return Landmarks(body, hand, hand.copy(), face, np.arange(frames) / 25, (64, 48))


def test_both_cores_are_compared_with_one_core_and_with_one_process() -> None:
    """100 frames: 20 s on one core; 12 s by one process, which keeps 1.75 cores busy; 10.5 s by two, of 21 s of work.

    The best round by the clock counts; by processor seconds, which other programs hardly change, the least of all.
    """
    seen = landmarks(100)
    timed = {
        Way(1, 1): [Timed(seen, 40.0, 19.0, 19.0), Timed(seen, 20.0, 20.0, 0.5)],
        Way(2, 1): [Timed(seen, 12.0, 21.0, 0.0), Timed(seen, 13.0, 21.0, 0.0)],
        Way(2, 2): [Timed(seen, 10.5, 21.0, 1.0), Timed(seen, 30.0, 20.0, 40.0)],
    }
    lines = speed_lines(timed, 2)
    assert lines[0] == "100 frames, 2 sections, 2 rounds in turns, the best of each"
    assert lines[4] == "| 1 core, 1 process | 5.0 | 20.0 | 1.00 | 0.5 |"
    assert lines[5] == "| 2 cores, 1 process | 8.3 | 21.0 | 1.75 | 0.0 |"
    assert lines[6] == "| 2 cores, 2 processes | 9.5 | 21.0 | 2.00 | 1.0 |"
    ratio = "2 cores, 2 processes against 1 core, 1 process: 1.90 times as fast by the clock"
    assert lines[8] == f"{ratio}; by processor seconds at most 1.90, on a free machine"
    assert lines[9] == "2 cores, 2 processes against 2 cores, 1 process: 1.14 times as fast by the clock"
    assert lines[10] == "the landmarks of all ways are the same"
    other = replace(seen, face=seen.face + 0.1)
    timed[Way(2, 2)][1] = replace(timed[Way(2, 2)][1], landmarks=other)
    assert speed_lines(timed, 2)[10] == "the landmarks of all ways are NOT the same"


def test_a_way_is_timed_on_its_own_cores(tmp_path: Path) -> None:
    """On one core, decoding and estimation together keep at most that one busy; other programs are told apart."""
    video = write_video(tmp_path / "grey.mp4", (np.full((64, 64, 3), 90, np.uint8) for _ in range(40)), 25)
    timed = time_way(Way(1, 1), str(video), Segment(0.0, 60.0), "mediapipe")
    assert len(timed.landmarks) == 40
    assert 0 < timed.processor <= timed.wall + 0.05  # of ticks
    assert timed.others >= 0


def test_landmarks_are_compared_part_by_part() -> None:
    one, two = landmarks(4), landmarks(4)
    two.left_hand[0] = np.nan
    two.face[:, 3, 0] += 0.02
    body, left, right, face = compare(one, two)
    assert body == right == "0.0%, 100.0%, 0.0000, 0.0000"
    assert left == "25.0%, 100.0%, 0.0000, 0.0000"
    assert face == "0.0%, 0.0%, 0.0200, 0.0200"
    both = concatenate_all({"b": one, "a": two})
    assert len(both) == 8
    assert np.isnan(both.left_hand[0]).all()  # of a, which comes first
    assert np.allclose(np.diff(both.times), 1 / 25)


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
        seen = trunk(torch.stack([frames[at : at + 16].transpose(0, 1) for at in (0, 8)]))
    assert not trunk.training
    assert float(torch.cosine_similarity(seen[0], seen[1], dim=0)) < 0.99
    with pytest.raises(OptionsError, match="24"):
        read_frames(video, 32, 100)
