"""Landmarks of continuous video are estimated once: another encoder, or another stride, reads them from the cache."""

from pathlib import Path

import numpy as np
import pytest

from signspot.embedding.inputs import EstimateOptions
from signspot.embedding.windows import embed
from signspot.landmarks.estimators import Tracker
from signspot.video.writer import write_video
from signspot_synthetic.render.appearance import make_appearance
from signspot_synthetic.render.render import render
from tests.fixtures.signing import sign_to_film, small_encoder


@pytest.fixture(scope="module")
def filmed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    images = render(sign_to_film()[:40], make_appearance(2), (256, 256))
    return write_video(tmp_path_factory.mktemp("filmed") / "signer.mp4", images, 25)


def test_a_new_encoder_never_runs_mediapipe_again(
    filmed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = small_encoder(1), small_encoder(2)
    estimating = EstimateOptions(cache=tmp_path)
    track = embed(first, filmed, estimating=estimating)
    (entry,) = tmp_path.rglob("*.pose")

    def refuse(*arguments: object) -> None:
        raise AssertionError("MediaPipe runs again")

    monkeypatch.setattr(Tracker, "see", refuse)
    assert np.array_equal(embed(first, filmed, estimating=estimating).embeddings, track.embeddings)
    assert np.array_equal(embed(first, entry).embeddings, track.embeddings)  # from the .pose file itself
    assert embed(second, filmed, 3, estimating=estimating).grid.frames == track.grid.frames
