"""Trunk features of a corpus: what sliding windows give, made once, made anew where the source has changed."""

from pathlib import Path

import numpy as np
import pytest
import torch

from signspot.corpus.corpus import Corpus
from signspot.errors import FormatError, OptionsError
from signspot.landmarks.features import features
from signspot.landmarks.pose_file import open_landmarks
from signspot.landmarks.signing import dominant_hand
from signspot.models.encoder import Encoder
from signspot.models.encoder_network import make_encoder
from signspot.models.landmark_trunk import LandmarkTrunk
from signspot.models.registry import build
from signspot.training.trunk_features import BANK, trunk_features
from tests.fixtures.corpora import SMALL_TRUNK, corpus_once


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return corpus_once(tmp_path_factory, words=8, hours=0.006, seed=3, video_seconds=10.0, dictionary_signers=3)


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    torch.manual_seed(0)
    return make_encoder("small", build("landmark", **SMALL_TRUNK))


def test_rows_are_windows_and_exemplars_are_banks(corpus: Corpus, encoder: Encoder, tmp_path: Path) -> None:
    calls: list[tuple[int, int | None]] = []
    trunk_rows = trunk_features(encoder, corpus, tmp_path, lambda done, total: calls.append((done, total)))
    assert calls[0] == (0, len(corpus.videos) + 1)
    assert calls[-1] == (len(corpus.videos) + 1, len(corpus.videos) + 1)
    assert trunk_rows.clips.shape == (len(corpus.dictionary().exemplars), BANK, 32)
    assert trunk_rows.exemplar_means().shape == (len(trunk_rows.exemplars), 32)
    name, windows = next(iter(trunk_rows.videos.items()))
    path = corpus.videos[name].landmarks
    assert path is not None
    landmarks = open_landmarks(path)
    landmark_features = features(landmarks, mirror=dominant_hand(landmarks) == "left")
    assert windows.grid.count == len(windows.features) == len(landmark_features) - 15
    with torch.inference_mode():
        clip = encoder.module.trunk(torch.from_numpy(landmark_features[7:23])[None])[0].numpy()
    np.testing.assert_allclose(windows.features[7], clip, rtol=2e-3, atol=2e-3)


def test_nothing_is_made_twice(
    corpus: Corpus, encoder: Encoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = trunk_features(encoder, corpus, tmp_path)
    monkeypatch.setattr(LandmarkTrunk, "dense", lambda *_: pytest.fail("the trunk ran again"))
    again = trunk_features(encoder, corpus, tmp_path)
    assert np.array_equal(first.clips, again.clips)
    assert isinstance(again.clips, np.memmap)


def test_nonsense_is_refused(corpus: Corpus, tmp_path: Path) -> None:
    broken = build("landmark", **SMALL_TRUNK)
    torch.nn.init.constant_(broken.trunk.last[1].linear.bias, float("nan"))  # type: ignore[index,union-attr]
    with pytest.raises(FormatError):
        trunk_features(make_encoder("broken", broken), corpus, tmp_path)
    with pytest.raises(OptionsError, match="'i3d'"):
        trunk_features(make_encoder("i3d", build("s3d", width=0.1)), corpus, tmp_path)
