import pytest
import torch
import torch.nn.functional as F

from signspot.errors import OptionsError
from signspot.models.inception import I3D, I3DOptions
from signspot.models.registry import build


def pad(x, kernel, stride):
    """Zeros around each axis, half before and the larger half after, by the rule the public code uses."""
    for axis in (2, 3, 4):
        rest = x.shape[axis] % stride[axis - 2]
        total = max(kernel[axis - 2] - (rest if rest else stride[axis - 2]), 0)
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
    torch.testing.assert_close(features, expected.flatten(1), atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(logits, expected_logits, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("size", [(16, 32, 32), (13, 50, 45), (7, 33, 32)])
def test_pads_odd_sizes_as_the_public_network(i3d, public_i3d, size):
    clips = torch.rand(2, 3, *size, generator=torch.Generator().manual_seed(4)) - 0.5
    with torch.inference_mode():
        expected = slow_i3d(clips, public_i3d).mean(dim=(2, 3, 4))
        torch.testing.assert_close(i3d(clips), expected, atol=1e-5, rtol=1e-5)


def test_without_classes_there_is_no_classifier():
    names = I3D().state_dict()
    assert not [name for name in names if name.startswith("logits")]


def test_a_clip_does_not_see_its_neighbours_in_the_batch(i3d):
    clips = torch.rand(2, 3, 16, 32, 32) - 0.5
    with torch.inference_mode():
        torch.testing.assert_close(i3d(clips)[1:], i3d(clips[1:]), atol=1e-5, rtol=1e-5)


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
        torch.testing.assert_close(moving(clips + room), moving(clips), atol=1e-5, rtol=1e-4)
        assert not torch.allclose(moving(clips.flip(2)), moving(clips), atol=1e-3)


@pytest.mark.parametrize(("option", "message"), [({"width": 0}, "width is a share"), ({"image_size": 8}, "32 pixels")])
def test_impossible_sizes_are_named(option, message):
    with pytest.raises(OptionsError, match=message):
        build("i3d", **option)
