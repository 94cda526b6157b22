"""One suite that every trunk passes, and what an encoder says of itself."""

import copy
import dataclasses

import pytest
import torch

from signspot.errors import OptionsError
from signspot.models.batch_norm import DomainBatchNorm
from signspot.models.encoder import Contract
from signspot.models.encoder_network import content_hash, make_encoder
from signspot.models.registry import build

RGB, POINTS = (3, 16, 32, 32), (16, 69, 4)
SUITE = {
    "i3d": ("i3d", {}, RGB),
    "i3d-trunk-only": ("i3d", {"mlp": False}, RGB),
    "i3d-domains": ("i3d", {"domain_norm": True, "domain_specific": True}, RGB),
    "s3d": ("s3d", {}, RGB),
    "s3d-gated": ("s3d", {"gating": True, "classes": 5}, RGB),
    "landmark": ("landmark", {}, POINTS),
    "landmark-batch-norm": ("landmark", {"norm": "batch", "domain_norm": True}, POINTS),
    "landmark-64": ("landmark", {"dimension": 64, "hidden": 128, "domain_specific": True}, POINTS),
}


@pytest.fixture(scope="module", params=SUITE)
def case(request, seeded):
    architecture, options, shape = SUITE[request.param]
    network = seeded(architecture, **options)
    source = torch.Generator().manual_seed(1)
    for layer in network.modules():  # so that activations do not vanish in a deep random network
        if isinstance(layer, torch.nn.Conv3d):
            torch.nn.init.kaiming_normal_(layer.weight, generator=source)
    return make_encoder(request.param, network), torch.rand(2, *shape, generator=source)


def test_clips_become_embeddings_of_unit_norm(case):
    encoder, clips = case
    with torch.inference_mode():
        embeddings = encoder.module(clips)
    assert embeddings.shape == (2, encoder.contract.dimension)
    torch.testing.assert_close(embeddings.norm(dim=1), torch.ones(2))
    assert not torch.allclose(embeddings[0], embeddings[1], atol=1e-6)


def test_learning_reaches_the_first_layer(case):
    encoder, clips = case
    network = copy.deepcopy(encoder.module).train()
    embeddings = network(clips)
    (embeddings[0] @ embeddings[1]).backward()
    grads = [p.grad for p in network.trunk.parameters() if p.grad is not None]
    assert grads
    assert all(grad.isfinite().all() for grad in grads)
    assert grads[0].abs().sum() > 0


def test_contract_says_what_goes_in(case):
    encoder, clips = case
    contract = encoder.contract
    if contract.kind == "rgb":
        assert (contract.image_size, contract.joints, contract.channels) == (224, None, None)
        assert clips.shape[2] == contract.frames
    else:
        assert contract.image_size is None
        assert clips.shape[1:] == (contract.frames, contract.joints, contract.channels)


def test_domains_part_only_where_layers_are_specific(case):
    encoder, clips = case
    with torch.inference_mode():
        same = torch.allclose(encoder.module(clips), encoder.module(clips, "dictionary"))
    assert same is not encoder.module.options["domain_specific"]
    with pytest.raises(OptionsError):
        encoder.module(clips, "nowhere")


def test_windows_of_a_video_are_those_of_its_clips(case):
    encoder, clips = case
    video = clips.movedim(encoder.module.trunk.time_axis, 1).flatten(0, 1)  # both clips, one after the other
    starts = [0, 3, 16]
    with torch.inference_mode():
        features = encoder.module.window_features("dictionary")(video, starts)
        cut = torch.stack([video[start : start + 16] for start in starts]).movedim(1, encoder.module.trunk.time_axis)
        expected = encoder.module.features(cut, "dictionary")
    torch.testing.assert_close(features, expected, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("name", ["i3d-domains", "landmark-batch-norm"])
def test_a_domain_is_never_forgotten(name, seeded):
    """Clips and windows are normalised by the statistics of their own domain, whatever computes them."""
    architecture, options, shape = SUITE[name]
    network = seeded(architecture, **options).eval()
    source = torch.Generator().manual_seed(1)
    for layer in network.trunk.modules():
        if isinstance(layer, DomainBatchNorm):
            layer.norms["dictionary"].running_mean.normal_(generator=source)
    clips = torch.rand(2, *shape, generator=source)
    frames = clips[0].movedim(network.trunk.time_axis - 1, 0)
    with torch.inference_mode():
        continuous, dictionary = (network.features(clips, domain) for domain in ("continuous", "dictionary"))
        windows = {domain: network.window_features(domain)(frames, [0])[0] for domain in ("continuous", "dictionary")}
    assert not torch.allclose(continuous, dictionary, atol=1e-3)
    torch.testing.assert_close(windows["continuous"], continuous[0], atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(windows["dictionary"], dictionary[0], atol=1e-4, rtol=1e-4)


@pytest.fixture
def small(seeded):
    return seeded("landmark", width=16, hand_width=8, part_width=8, last_width=16, features=32, hidden=16, dimension=8)


def test_hash_is_known_so_that_tracks_stay_valid_across_releases(small):
    with torch.no_grad():
        for index, parameter in enumerate(small.parameters()):
            parameter.fill_(index / 8)
    assert make_encoder("a", small).hash == "ec59be67f116816c"


@pytest.mark.parametrize("name", ["trunk.frame.hand.layers.0.weight", "mlp.adaptor.2.bias"])
def test_hash_changes_with_any_weight(small, name):
    before = make_encoder("a", small).hash
    with torch.no_grad():
        small.get_parameter(name).view(-1)[0] += 1e-3
    assert make_encoder("a", small).hash != before


def test_hash_changes_with_the_contract_but_not_with_the_threshold(small):
    contract = small.contract()
    base = content_hash(small, contract)
    assert content_hash(small, dataclasses.replace(contract, fps=50.0)) != base
    assert content_hash(small, dataclasses.replace(contract, threshold=0.9)) == base


def test_hash_ignores_how_many_batches_were_seen(seeded):
    network = seeded("landmark", norm="batch", width=16, last_width=16)
    before = make_encoder("a", network).hash
    for layer in network.modules():
        if isinstance(layer, torch.nn.BatchNorm1d):
            layer.num_batches_tracked += 1  # type: ignore[assignment]
    assert make_encoder("a", network).hash == before
    network.trunk.last[0].norm.running_mean += 1
    assert make_encoder("a", network).hash != before


def test_making_an_encoder_sets_evaluation_and_keeps_what_it_is_given(small):
    encoder = make_encoder("mine", small.train(), fps=30, threshold=0.6, card={"licence": "CC0"})
    assert not encoder.module.training
    assert encoder.contract == Contract("landmarks", 16, 30, 8, joints=69, channels=4, threshold=0.6)
    assert encoder.card["licence"] == "CC0"


@pytest.mark.parametrize("name", ["i3d", "s3d"])
def test_the_hash_depends_on_settings_that_are_no_weights(name):
    one, other = (build(name, frames=8, image_size=32, width=0.1, motion=on, mlp=False) for on in (False, True))
    other.load_state_dict(one.state_dict())
    assert content_hash(one, one.contract()) != content_hash(other, other.contract())
