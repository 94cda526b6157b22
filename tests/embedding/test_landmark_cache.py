"""Landmarks of continuous video are estimated once: another encoder, or another stride, reads them from the cache."""

from pathlib import Path

import numpy as np
import pytest
import torch

from signspot.embedding.inputs import EstimateOptions
from signspot.embedding.windows import embed
from signspot.landmarks.estimators import Tracker
from signspot.models.encoder import Encoder
from signspot.models.encoder_network import make_encoder
from signspot.models.registry import build
from signspot.video.writer import write_video
from signspot_synthetic.body.motion import isolated
from signspot_synthetic.body.signers import Role, make_signer
from signspot_synthetic.language.lexicon import LexiconOptions, make_lexicon
from signspot_synthetic.observation import project
from signspot_synthetic.random_streams import named_rng
from signspot_synthetic.render.appearance import make_appearance
from signspot_synthetic.render.render import render


def small_encoder(seed: int) -> Encoder:
    torch.manual_seed(seed)
    return make_encoder("small", build("landmark", width=32, hand_width=16, part_width=8, last_width=32))


@pytest.fixture(scope="module")
def filmed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    lexicon = make_lexicon(LexiconOptions(words=("apple",), seed=3, variant_shares=(1.0,)))
    signer = make_signer("one", 1, Role.DICTIONARY, left_share=0, webcam_share=0)
    motion, _ = isolated(lexicon["apple"].variants[0], signer, named_rng(1, "apple"))
    exact = project(motion, signer.camera, (256, 256))[:40]
    images = render(exact, make_appearance(2), (256, 256))
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
