"""The rgb trunks: their parts, the public network function by function, and windows that share their first layers."""

import math

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from signspot.errors import OptionsError
from signspot.models.inception import (
    I3D,
    S3D,
    ClassifierHead,
    ConvUnit,
    I3DOptions,
    S3DOptions,
    SameMaxPool,
    SelfGate,
    WindowEmbedder,
    fold_batch_norm,
    same_padding,
)
from signspot.models.registry import build


@given(size=st.integers(1, 300), kernel=st.integers(1, 7), stride=st.integers(1, 3))
def test_padding_gives_one_output_a_stride_and_the_extra_zero_goes_last(size, kernel, stride):
    before, after = same_padding(size, kernel, stride)
    assert after - before in (0, 1)
    if kernel >= stride:
        assert (size + before + after - kernel) // stride + 1 == math.ceil(size / stride)


def test_max_pool_pads_with_zeros_not_with_minus_infinity():
    pooled = SameMaxPool((1, 3, 3), (1, 2, 2))(torch.full((1, 1, 1, 4, 4), -1.0))
    assert pooled[0, 0, 0].tolist() == [[-1.0, 0.0], [0.0, 0.0]]


def test_unit_normalises_with_the_public_epsilon_and_momentum():
    unit = ConvUnit(1, 1).train()
    torch.nn.init.ones_(unit.conv3d.weight)
    out = unit(torch.tensor([-3.0, 3.0]).reshape(1, 1, 1, 1, 2))
    assert out.flatten().tolist() == pytest.approx([0.0, 3 / math.sqrt(9 + 1e-3)])
    assert unit.bn.running_var.item() == pytest.approx(0.99 + 0.01 * 18)  # the unbiased variance of -3 and 3


def test_self_gate_weighs_channels_by_the_whole_clip():
    gate = SelfGate(2)
    with torch.no_grad():
        gate.fc.weight.copy_(torch.tensor([[0.0, 1.0], [0.0, 0.0]]))
        gate.fc.bias.zero_()
    x = torch.ones(1, 2, 1, 1, 2)
    x[0, 1] = torch.tensor([0.0, 4.0])  # mean 2
    gated = gate(x)
    assert gated[0, 0].flatten().tolist() == pytest.approx([1 / (1 + math.exp(-2))] * 2)
    assert gated[0, 1].flatten().tolist() == pytest.approx([0.0, 2.0])


def test_drops_features_only_in_training():
    head, features = ClassifierHead(64, 8), torch.ones(1, 64)
    assert not torch.equal(head.train()(features), head(features))
    assert torch.equal(head.eval()(features), head(features))


def assert_alike(features, expected):
    """Equal to the rounding of 22 layers, each of sums of up to n = 5,184 products: √n x 6e-8 = 4e-6 of their size."""
    assert float((features - expected).abs().max()) < 22 * 4e-6 * float(expected.abs().max())


def pad(x, kernel, stride):
    """Zeros around each axis, half before and the larger half after, by the rule the public code uses."""
    for axis in (2, 3, 4):
        remainder = x.shape[axis] % stride[axis - 2]
        total = max(kernel[axis - 2] - (remainder if remainder else stride[axis - 2]), 0)
        sides = [(total // 2, total - total // 2) if a == axis else (0, 0) for a in (4, 3, 2)]
        x = F.pad(x, [count for side in sides for count in side])
    return x


def unit(x, state, name, stride=1):
    weight = state[f"{name}.conv3d.weight"]
    x = F.conv3d(pad(x, weight.shape[2:], (stride,) * 3), weight, stride=stride)
    mean, variance = state[f"{name}.bn.running_mean"], state[f"{name}.bn.running_var"]
    scale = state[f"{name}.bn.weight"] / torch.sqrt(variance + 0.001)
    shift = state[f"{name}.bn.bias"] - mean * scale
    return torch.clamp(x * scale.view(1, -1, 1, 1, 1) + shift.view(1, -1, 1, 1, 1), min=0)


def pool(x, kernel, stride):
    return F.max_pool3d(pad(x, kernel, stride), kernel, stride)


def mixed(x, state, name):
    branches = [
        unit(x, state, f"{name}.b0"),
        unit(unit(x, state, f"{name}.b1a"), state, f"{name}.b1b"),
        unit(unit(x, state, f"{name}.b2a"), state, f"{name}.b2b"),
        unit(pool(x, (3, 3, 3), (1, 1, 1)), state, f"{name}.b3b"),
    ]
    return torch.cat(branches, dim=1)


def slow_i3d(x, state):
    """The public network, function by function."""
    x = pool(unit(x, state, "Conv3d_1a_7x7", stride=2), (1, 3, 3), (1, 2, 2))
    x = unit(unit(x, state, "Conv3d_2b_1x1"), state, "Conv3d_2c_3x3")
    x = pool(x, (1, 3, 3), (1, 2, 2))
    x = pool(mixed(mixed(x, state, "Mixed_3b"), state, "Mixed_3c"), (3, 3, 3), (2, 2, 2))
    for letter in "bcdef":
        x = mixed(x, state, f"Mixed_4{letter}")
    x = pool(x, (2, 2, 2), (2, 2, 2))
    return mixed(mixed(x, state, "Mixed_5b"), state, "Mixed_5c")


@pytest.fixture(scope="module")
def i3d(public_i3d):
    network = I3D(I3DOptions(classes=1064)).eval()
    network.load_state_dict(public_i3d)  # strict: the key names are the public ones
    return network


def test_has_the_public_number_of_parameters(i3d):
    assert sum(p.numel() for p in i3d.parameters()) == 13_377_864


@pytest.mark.long  # half a minute; the same at small sizes below
def test_equals_the_public_network_at_full_size(i3d, public_i3d):
    clip = torch.rand(1, 3, 16, 224, 224, generator=torch.Generator().manual_seed(3)) - 0.5
    with torch.inference_mode():
        expected = F.avg_pool3d(slow_i3d(clip, public_i3d), (2, 7, 7), stride=1)
        assert expected.shape == (1, 1024, 1, 1, 1)
        features = i3d(clip)
        logits = i3d.logits(features)
        weight, bias = public_i3d["logits.conv3d.weight"], public_i3d["logits.conv3d.bias"]
        expected_logits = F.conv3d(expected, weight, bias).flatten(1)
    assert features.abs().mean() > 0.01  # the comparison says something
    assert_alike(features, expected.flatten(1))
    assert_alike(logits, expected_logits)


@pytest.mark.parametrize("size", [(16, 32, 32), (13, 50, 45), (7, 33, 32)])
def test_pads_odd_sizes_as_the_public_network(i3d, public_i3d, size):
    clips = torch.rand(2, 3, *size, generator=torch.Generator().manual_seed(4)) - 0.5
    with torch.inference_mode():
        expected = slow_i3d(clips, public_i3d).mean(dim=(2, 3, 4))
        assert_alike(i3d(clips), expected)


@pytest.mark.parametrize("name", ["i3d", "s3d"])
def test_a_small_one_sees_small_clips_and_says_so(name):
    small = build(name, frames=8, image_size=32, width=0.1, classes=5, dimension=16)
    contract = small.contract(fps=12.5)
    assert (contract.frames, contract.image_size, contract.dimension) == (8, 32, 16)
    assert small.trunk.dimension == 38 + 38 + 13 + 13  # a tenth of 384, 384, 128 and 128
    with torch.inference_mode():
        assert small.eval()(torch.rand(2, 3, 8, 32, 32) - 0.5).shape == (2, 16)
        assert small.trunk.logits(torch.rand(2, 102)).shape == (2, 5)


@pytest.mark.parametrize("name", ["i3d", "s3d"])
def test_one_that_sees_motion_is_blind_to_what_stands_still(name):
    torch.manual_seed(0)
    moving = build(name, frames=8, image_size=32, width=0.1, motion=True, mlp=False).eval()
    clips, room = torch.rand(2, 3, 8, 32, 32) - 0.5, torch.rand(2, 3, 1, 32, 32)
    with torch.inference_mode():
        assert_alike(moving(clips + room), moving(clips))
        assert not torch.allclose(moving(clips.flip(2)), moving(clips), atol=1e-3)


@pytest.mark.parametrize(("option", "message"), [({"width": 0}, "width is a share"), ({"image_size": 8}, "32 pixels")])
def test_impossible_sizes_are_named(option, message):
    with pytest.raises(OptionsError, match=message):
        build("i3d", **option)


@pytest.fixture(scope="module")
def frames():
    return torch.rand(30, 3, 32, 32, generator=torch.Generator().manual_seed(6)) - 0.5


def one_by_one(trunk, frames, starts):
    with torch.inference_mode():
        return torch.cat([trunk(frames[start : start + trunk.frames].transpose(0, 1)[None]) for start in starts])


@pytest.fixture(scope="module")
def plain(i3d, frames):
    """(15, 1024) features of every window by itself."""
    return one_by_one(i3d, frames, range(15))


@pytest.mark.parametrize(
    "starts",
    [list(range(15)), list(range(3, 7)), [0, 8, 14], [14, 0, 1, 2, 3, 4]],
)
@pytest.mark.parametrize("batch", [5, 16])
def test_windows_equal_the_plain_pass(i3d, frames, plain, starts, batch):
    features = WindowEmbedder(i3d, batch=batch)(frames, starts)
    expected = plain[starts]
    assert expected.std() > 0.1  # the comparison says something
    assert_alike(features, expected)


def test_sharing_is_exact_but_for_rounding_at_odd_image_sizes_too():
    exact = I3D(I3DOptions(width=0.25)).double().eval()
    frames = torch.rand(20, 3, 25, 34, generator=torch.Generator().manual_seed(7), dtype=torch.float64) - 0.5
    features = WindowEmbedder(exact)(frames, range(5))
    torch.testing.assert_close(features, one_by_one(exact, frames, range(5)), atol=1e-11, rtol=1e-11)


@pytest.mark.parametrize(
    "trunk",
    [
        S3D(S3DOptions(width=0.25)),
        *(
            I3D(I3DOptions(width=0.25, **options))
            for options in ({"frames": 8}, {"domain_norm": True}, {"motion": True})
        ),
    ],
)
def test_trunks_that_cannot_share_give_the_same_too(trunk, frames):
    trunk = trunk.eval()
    for name, value in trunk.state_dict().items():
        if name.endswith("bias"):
            value.fill_(0.1)
    features = WindowEmbedder(trunk)(frames, range(3))
    assert_alike(features, one_by_one(trunk, frames, range(3)))


def test_folding_leaves_the_trunk_as_it_was(i3d):
    before = {name: value.clone() for name, value in i3d.state_dict().items()}
    fold_batch_norm(i3d)
    assert all(torch.equal(value, before[name]) for name, value in i3d.state_dict().items())


def test_no_windows_give_no_features(i3d, frames):
    assert WindowEmbedder(i3d)(frames, []).shape == (0, 1024)


@pytest.mark.parametrize("starts", [[15], [-1, 0]])
def test_windows_outside_the_frames_are_refused(i3d, frames, starts):
    with pytest.raises(OptionsError, match="30"):
        WindowEmbedder(i3d)(frames, starts)


def test_every_convolution_is_over_space_or_over_time():
    kernels = [layer.kernel_size for layer in S3D().modules() if isinstance(layer, nn.Conv3d)]
    assert not [k for k in kernels if k[0] > 1 and k[1] > 1]
    assert kernels.count((7, 1, 1)) == 1
    assert kernels.count((3, 1, 1)) == 1 + 2 * 9


def test_has_the_parameters_of_s3d_on_kinetics():
    assert sum(p.numel() for p in S3D(S3DOptions(classes=400)).parameters()) == 8_320_048


def test_gating_adds_one_gate_a_branch_and_changes_the_output():
    plain, gated = S3D().eval(), S3D(S3DOptions(gating=True)).eval()
    gated.load_state_dict(plain.state_dict(), strict=False)
    gates = [layer for layer in gated.modules() if isinstance(layer, nn.Linear)]
    assert len(gates) == 4 * 9
    clips = torch.rand(1, 3, 16, 32, 32)
    for network in (plain, gated):
        for layer in network.modules():
            if isinstance(layer, nn.BatchNorm3d):
                nn.init.ones_(layer.bias)
    with torch.inference_mode():
        assert not torch.allclose(plain(clips), gated(clips))
