"""Adapters in the weights: they change what they should, nothing at the beginning, and decoys go with them."""

import numpy as np
import pytest
import torch

from signspot.corpus.corpus import Corpus
from signspot.embedding.exemplars import Gallery
from signspot.errors import OptionsError
from signspot.models.checkpoints import load_encoder
from signspot.models.encoder import Encoder
from signspot.models.encoder_network import make_encoder
from signspot.models.registry import build
from signspot.spotting.spotter import Spotter
from signspot.training.adapters import AdapterChoice, Adapters, adapt_gallery, adapt_track, fold, frame_coder

BOTH = AdapterChoice(codes=True, embedding=True)


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    return load_encoder("landmark-synthetic")


@pytest.fixture(scope="module")
def gallery(encoder: Encoder, tiny_corpus: Corpus) -> Gallery:
    dictionary = tiny_corpus.dictionary()
    return Spotter(encoder).gallery([dictionary[word][0] for word in list(dictionary)[:6]])


def some_adapters() -> Adapters:
    adapters = Adapters(128, 256)
    random = torch.Generator().manual_seed(3)
    with torch.no_grad():
        adapters.codes.copy_(0.03 * torch.randn(128, 128, generator=random))
        adapters.embedding.copy_(0.02 * torch.randn(256, 256, generator=random))
    return adapters


def test_adapters_that_learned_nothing_change_nothing(encoder: Encoder, gallery: Gallery) -> None:
    assert fold(encoder, Adapters(128, 256), BOTH, gallery, "same", {}).hash == encoder.hash


def test_the_adapted_encoder_gives_what_was_measured(encoder: Encoder, gallery: Gallery, tiny_corpus: Corpus) -> None:
    """Held-out scores are of mapped tracks and galleries; these are what the new encoder makes of the files."""
    adapters, video = some_adapters(), next(iter(tiny_corpus.videos.values()))
    assert video.landmarks is not None
    adapted = Spotter(fold(encoder, adapters, BOTH, gallery, "new", {}))
    track, expected = (
        adapted.track(video.landmarks),
        adapt_track(Spotter(encoder).track(video.landmarks), adapters, "x"),
    )
    assert track.codes is not None
    assert expected.codes is not None
    np.testing.assert_allclose(track.codes, expected.codes, atol=0.02)
    np.testing.assert_allclose(track.embeddings, expected.embeddings, atol=2e-3)
    exemplars, mapped = adapted.gallery(gallery.exemplars), adapt_gallery(gallery, adapters)
    assert exemplars.codes is not None
    assert mapped.codes is not None
    np.testing.assert_allclose(exemplars.codes, mapped.codes, atol=1e-3)
    np.testing.assert_allclose(exemplars.embeddings, mapped.embeddings, atol=1e-4)


def test_a_map_of_codes_leaves_embeddings_alone(encoder: Encoder, gallery: Gallery) -> None:
    adapted = Spotter(fold(encoder, some_adapters(), AdapterChoice(codes=True, embedding=False), gallery, "new", {}))
    np.testing.assert_allclose(adapted.gallery(gallery.exemplars).embeddings, gallery.embeddings, atol=1e-4)


def test_decoys_and_typical_cost_follow(encoder: Encoder, gallery: Gallery) -> None:
    """A map that doubles all codes doubles all costs, and so no score changes."""
    adapters = Adapters(128, 256)
    with torch.no_grad():
        adapters.codes.copy_(torch.eye(128))
    old, new = frame_coder(encoder), frame_coder(fold(encoder, adapters, BOTH, gallery, "new", {}))
    assert float(new.typical_cost) == pytest.approx(2 * float(old.typical_cost), rel=1e-4)
    np.testing.assert_allclose(new.decoys, 2 * old.decoys, rtol=1e-5)


def test_an_encoder_without_decoys_reads_its_typical_cost_from_exemplars(gallery: Gallery) -> None:
    adapters = Adapters(128, 256)
    with torch.no_grad():
        adapters.codes.copy_(torch.eye(128))
    bare = make_encoder("bare", build("frame_codes", mlp=False))
    coder = frame_coder(fold(bare, adapters, BOTH, gallery, "new", {}))
    assert float(coder.typical_cost) == pytest.approx(2.0, rel=1e-4)


def test_an_encoder_without_frame_codes_cannot_be_adapted() -> None:
    with pytest.raises(OptionsError, match="landmark"):
        frame_coder(make_encoder("other", build("landmark", mlp=False)))
