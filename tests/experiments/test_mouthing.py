"""Experiments on lips: each runs on a tiny corpus."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from experiments.lip_distortion import fit_distortions, save_distortions
from experiments.mouthing_video import VideoClip, measure_video, shape_table
from signspot.mouthing.lips import CHANNELS, SHAPES, LipTrack
from signspot.mouthing.network import load_mouthing
from signspot.training.mouthing import LipDistortion, measured_distortions


def test_all_ways_of_reading_are_asked_the_same(lip_clips, mouthing_file):
    clips = [VideoClip(clip, clip, clip) for clip in lip_clips]
    rows = measure_video([load_mouthing(mouthing_file)], clips, 0, questions=2)
    assert len({(row.asked, row.mouthed) for row in rows}) == 1
    assert len({row.trials for row in rows}) == 3
    assert "| width | 1.00 | 1.00 |" in shape_table([(clip, clip) for clip in lip_clips])


def test_a_distortion_is_found_again_by_what_it_did(lip_clips, tmp_path: Path) -> None:
    """Shapes that take over of each other, and errors that last and are shared: fitted, written and read again."""
    random, count = np.random.default_rng(0), len(SHAPES)
    mixing = np.diag(random.uniform(0.5, 1.5, count)) + random.normal(0, 0.2, (count, count))
    shared = random.normal(0, 0.1, (3, count))
    true = LipDistortion(mixing, shared.T @ shared + 0.001 * np.eye(count), 0.6)
    values = random.normal(0, 1, (4000, CHANNELS)).astype(np.float32)  # more frames, and no shape follows another
    values[:, -2:] = (1.0, 0.0)
    estimated = values.copy()
    estimated[:, :-2] = true.apply(values[:, :-2].astype(float), random)
    lost = estimated.copy()
    lost[:, -2] = 0.0
    clip = lip_clips[0]
    pairs = [
        (replace(clip, lips=LipTrack(values)), replace(clip, lips=LipTrack(changed))) for changed in (estimated, lost)
    ]
    fitted = fit_distortions(pairs)
    assert len(fitted) == 1  # a video in which no lips are seen tells nothing
    save_distortions(fitted, tmp_path / "d.json", "made by a test")
    (again,) = measured_distortions(tmp_path / "d.json")
    assert np.allclose(again.mixing, true.mixing, atol=0.05)
    assert np.allclose(again.covariance, true.covariance, atol=0.1 * true.covariance.max())
    assert again.memory == pytest.approx(true.memory, abs=0.03)
