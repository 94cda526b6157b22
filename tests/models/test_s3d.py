import torch
from torch import nn

from signspot.models.inception import I3D, S3D, S3DOptions


def parameters(network):
    return sum(p.numel() for p in network.parameters())


def test_every_convolution_is_over_space_or_over_time():
    kernels = [layer.kernel_size for layer in S3D().modules() if isinstance(layer, nn.Conv3d)]
    assert not [k for k in kernels if k[0] > 1 and k[1] > 1]
    assert kernels.count((7, 1, 1)) == 1
    assert kernels.count((3, 1, 1)) == 1 + 2 * 9


def test_has_the_parameters_of_s3d_on_kinetics():
    assert parameters(S3D(S3DOptions(classes=400))) == 8_320_048


def test_is_smaller_than_i3d():
    assert parameters(S3D()) < 0.7 * parameters(I3D())


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


def test_gives_1024_features_at_full_size():
    with torch.inference_mode():
        assert S3D(S3DOptions(gating=True)).eval()(torch.rand(1, 3, 16, 224, 224)).shape == (1, 1024)
