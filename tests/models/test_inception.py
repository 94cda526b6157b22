import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from signspot.models.inception import ClassifierHead, ConvUnit, SameMaxPool, SelfGate, pad_same, same_padding


@pytest.mark.parametrize(
    ("size", "kernel", "stride", "expected"),
    [
        (16, 7, 2, (2, 3)),
        (15, 7, 2, (3, 3)),
        (224, 7, 2, (2, 3)),
        (112, 3, 2, (0, 1)),
        (7, 3, 2, (1, 1)),
        (8, 3, 1, (1, 1)),
        (4, 2, 2, (0, 0)),
        (5, 2, 2, (0, 1)),
        (9, 1, 1, (0, 0)),
    ],
)
def test_padding_of_named_sizes(size, kernel, stride, expected):
    assert same_padding(size, kernel, stride) == expected


@given(size=st.integers(1, 300), kernel=st.integers(1, 7), stride=st.integers(1, 3))
def test_padding_gives_one_output_a_stride_and_the_extra_zero_goes_last(size, kernel, stride):
    before, after = same_padding(size, kernel, stride)
    assert after - before in (0, 1)
    if kernel >= stride:
        assert (size + before + after - kernel) // stride + 1 == math.ceil(size / stride)


def test_axes_are_padded_by_their_own_kernels():
    padded = pad_same(torch.ones(1, 1, 4, 6, 7), (3, 1, 7), (1, 1, 2))
    assert padded.shape == (1, 1, 6, 6, 13)
    assert padded.sum() == 4 * 6 * 7
    assert padded[0, 0, 0].sum() == 0
    assert padded[0, 0, 5].sum() == 0


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


def test_is_one_linear_layer_whatever_the_leading_axes():
    head = ClassifierHead(2, 3).eval()
    with torch.no_grad():
        head.conv3d.weight.copy_(torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]).reshape(3, 2, 1, 1, 1))
        head.conv3d.bias.copy_(torch.tensor([0.0, 10.0, 0.0]))
    features = torch.tensor([[[3.0, 4.0]], [[1.0, -1.0]]])
    assert head(features).tolist() == [[[3.0, 14.0, 7.0]], [[1.0, 9.0, 0.0]]]


def test_drops_features_only_in_training():
    head, features = ClassifierHead(64, 8), torch.ones(1, 64)
    assert not torch.equal(head.train()(features), head(features))
    assert torch.equal(head.eval()(features), head(features))
