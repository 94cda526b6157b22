"""Exemplars as embeddings: one layout of views, each thing once, the layers of the dictionary's domain."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from signspot.embedding import inputs
from signspot.embedding.exemplars import ExemplarEmbedder, Gallery, SignViews, embed_sign
from signspot.embedding.inputs import landmark_clips, sign_features
from signspot.embedding.windows import embed
from signspot.io.files import content_digest
from signspot.landmarks.features import features, mirror_features
from signspot.landmarks.pose_file import write_landmarks
from signspot.models.batch_norm import DomainBatchNorm
from signspot.models.encoder import Encoder
from signspot.models.encoder_network import make_encoder
from signspot.models.registry import build
from signspot.types import Exemplar, Segment

SMALL = {"width": 32, "hand_width": 16, "part_width": 8, "last_width": 32}


@pytest.fixture
def exemplars(signing: Any, tmp_path: Path) -> list[Exemplar]:
    for word, landmarks in signing.exemplars.items():
        write_landmarks(landmarks, tmp_path / f"{word}.pose")
    return [Exemplar(word, word, path=tmp_path / f"{word}.pose") for word in signing.exemplars]


def test_a_gallery_has_a_row_per_view(encoder: Encoder, exemplars: list[Exemplar]) -> None:
    plain = ExemplarEmbedder(encoder).gallery(exemplars, mirror=False)
    both = ExemplarEmbedder(encoder).gallery(exemplars, mirror=True)
    assert (len(plain.rows), len(both.rows)) == (4, 8)
    assert both.mirrored.tolist() == [False, True] * 4
    assert both.rows.tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert (both.embeddings[::2] == plain.embeddings).all()
    assert both.exemplar(3) == (exemplars[1], True)
    assert {word: rows.tolist() for word, rows in both.words.items()} == {
        exemplar.word: [2 * index, 2 * index + 1] for index, exemplar in enumerate(exemplars)
    }
    assert both.codes is None


def test_what_is_cut_out_of_footage_knows_the_video_and_the_landmarks_beside_it(tmp_path: Path) -> None:
    for name in ("news.mp4", "news.pose", "other.pose"):
        (tmp_path / name).write_text(name)
    digests = {name: content_digest(tmp_path / name) for name in ("news.mp4", "news.pose")}
    segment, views = Segment(1.0, 2.0), SignViews(np.eye(1, 4, dtype=np.float32))
    for name in digests:
        cut, whole = (Exemplar("a", "a", tmp_path / name, segment=part) for part in (segment, None))
        gallery = Gallery.of_views([cut, whole], [views, views])
        (origin,) = gallery.exemplars[0].origins
        assert (set(origin.contents), origin.span) == (set(digests.values()), segment)
        assert not gallery.exemplars[1].origins


def test_exemplars_of_one_word_share_its_rows() -> None:
    gallery = Gallery.of([Exemplar("a", "a1"), Exemplar("b", "b"), Exemplar("a", "a2")], np.eye(3, dtype=np.float32))
    assert {word: rows.tolist() for word, rows in gallery.words.items()} == {"a": [0, 2], "b": [1]}


def test_a_mirrored_exemplar_is_featurised_once(
    encoder: Encoder, exemplars: list[Exemplar], signing: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[int] = []
    monkeypatch.setattr(inputs, "features", lambda *a, **k: calls.append(1) or features(*a, **k))
    views = ExemplarEmbedder(encoder).embed(exemplars[0], mirror=True).embeddings
    assert len(calls) == 1
    sign = mirror_features(sign_features(signing.exemplars[exemplars[0].word], 25.0))
    assert np.abs(views[1] - embed_sign(encoder, sign)).max() < 1e-3


def test_a_domain_specific_trunk_embeds_exemplars_as_dictionary_and_videos_as_continuous(signing: Any) -> None:
    torch.manual_seed(0)
    module = build("landmark", norm="batch", domain_norm=True, **SMALL)
    encoder = make_encoder("domains", module)
    landmarks = signing.exemplars["apple"]
    exemplar, track = ExemplarEmbedder(encoder).embed_source(landmarks).embeddings, embed(encoder, signing.footage)
    for layer in module.modules():
        if isinstance(layer, DomainBatchNorm):
            layer.norms["dictionary"].running_mean += 1.0  # type: ignore[assignment]
    assert (embed(encoder, signing.footage).embeddings == track.embeddings).all()
    changed = ExemplarEmbedder(encoder).embed_source(landmarks).embeddings
    assert np.abs(changed - exemplar).max() > 1e-3
    clips = torch.from_numpy(landmark_clips(sign_features(landmarks, 25.0), 16))
    with torch.inference_mode():
        expected = module.mlp(module.features(clips, "dictionary").mean(dim=0))
    assert np.abs(changed[0] - expected.numpy()).max() < 1e-5


def test_the_sign_is_cut_out_and_turned_to_the_right_hand(signing: Any) -> None:
    landmarks = signing.exemplars["apple"]
    sign = sign_features(landmarks, 25.0)
    assert 5 < len(sign) < len(landmarks)
    mirrored = sign_features(landmarks.mirrored(), 25.0, right_handed=True)
    assert np.abs(mirrored - sign_features(landmarks, 25.0, right_handed=True)).max() < 1e-3
    assert np.abs(sign_features(landmarks.mirrored(), 25.0) - sign).max() > 0.1
