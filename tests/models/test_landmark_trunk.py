import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from signspot.errors import OptionsError
from signspot.models.landmark_trunk import LandmarkOptions, LandmarkTrunk, plan_dilations

SMALL = {"features": 32, "hand_width": 16, "part_width": 8, "width": 24, "last_width": 16}


def seeded_trunk(seed=0, **options):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        trunk = LandmarkTrunk(LandmarkOptions(**options)).eval()
        for layer in trunk.modules():  # statistics that do something
            if isinstance(layer, torch.nn.BatchNorm1d):
                layer.running_mean.uniform_(-1, 1)
                layer.running_var.uniform_(0.5, 2)
    return trunk


def windows(x, frames):
    """(1, T, J, C) to (T - F + 1, F, J, C)."""
    return torch.stack([x[0, start : start + frames] for start in range(x.shape[1] - frames + 1)])


@settings(max_examples=10)
@given(
    frames=st.integers(4, 24),
    more=st.integers(0, 20),
    seed=st.integers(0, 99),
    norm=st.sampled_from(["layer", "batch"]),
)
def test_dense_pass_equals_sliding_windows(landmark_features, frames, more, seed, norm):
    trunk = seeded_trunk(seed, frames=frames, norm=norm, **SMALL).double()
    x = landmark_features(1, frames + more, seed, torch.float64)
    with torch.inference_mode():
        torch.testing.assert_close(trunk.dense(x)[0], trunk(windows(x, frames)), atol=1e-12, rtol=1e-12)


@pytest.mark.parametrize("frames", [4, 5, 8, 16, 25, 32])
def test_a_window_depends_on_each_of_its_frames_and_on_no_other(landmark_features, frames):
    trunk = seeded_trunk(frames=frames, **SMALL).double()
    x = landmark_features(1, frames + 6, dtype=torch.float64).requires_grad_()
    trunk.dense(x)[0, 3].square().sum().backward()
    used = x.grad.abs().sum(dim=(0, 2, 3)) > 0
    assert used.tolist() == [False] * 3 + [True] * frames + [False] * 3


@given(frames=st.integers(4, 200))
def test_blocks_leave_at_least_half_of_the_clip_to_the_last_convolution(frames):
    dilations = plan_dilations(frames)
    assert dilations[0] == 1
    assert 2 * sum(dilations) <= frames / 2
    reach = 1
    for dilation in dilations:
        assert dilation <= reach  # no frame falls between two taps
        reach += 2 * dilation


def test_the_order_of_frames_matters(landmark_features):
    trunk, x = seeded_trunk(), landmark_features(1, 16)
    with torch.inference_mode():
        assert not torch.allclose(trunk(x), trunk(x.flip(1)), atol=1e-2)


def test_is_small_enough_to_ship():
    assert 1_500_000 < sum(p.numel() for p in LandmarkTrunk().parameters()) < 2_500_000


def test_every_parameter_learns(landmark_features):
    trunk = seeded_trunk(**SMALL).train()
    trunk(landmark_features(4, 16)).square().sum().backward()
    assert [name for name, p in trunk.named_parameters() if p.grad is None or p.grad.abs().sum() == 0] == []


def test_dropout_is_off_when_embedding(landmark_features):
    trunk, x = seeded_trunk(**SMALL), landmark_features(1, 16)
    assert torch.equal(trunk(x), trunk(x))
    assert not torch.equal(trunk.train()(x), trunk(x))


@pytest.mark.parametrize("shape", [(1, 15, 69, 4), (1, 16, 68, 4), (1, 16, 69, 3), (16, 69, 4)])
def test_a_wrong_shape_is_named(shape):
    with pytest.raises(OptionsError):
        seeded_trunk(**SMALL).dense(torch.zeros(shape))


def test_a_clip_of_another_length_is_refused():
    with pytest.raises(OptionsError, match="got 17"):
        seeded_trunk(**SMALL)(torch.zeros(1, 17, 69, 4))


@pytest.mark.parametrize("options", [{"frames": 3}, {"norm": "group"}, {"features": 0}])
def test_options_out_of_range_are_refused(options):
    with pytest.raises(OptionsError, match=str(*options.values())):
        LandmarkOptions(**options)
