"""Frame codes: local in time, plain geometry at first, windows as signs are pooled."""

import pytest
import torch
from torch import Tensor

from signspot.errors import OptionsError
from signspot.models.frame_coder import PLAIN, SIGN_FRAMES, CoderOptions, FrameCoder, describe, stretched
from signspot.models.registry import build


def signing(frames: int, seed: int = 0) -> Tensor:
    """(1, frames, 69, 4) features of which all joints are seen."""
    x = torch.randn(1, frames, 69, 4, generator=torch.Generator().manual_seed(seed)).cumsum(dim=1) * 0.05
    x[..., 3] = 1
    return x


@pytest.fixture
def coder() -> FrameCoder:
    torch.manual_seed(1)
    network = FrameCoder(CoderOptions(codes=12, width=16, embedding=8)).eval()
    torch.nn.init.normal_(network.last.weight, std=0.3)
    return network


def test_a_code_depends_on_its_context_alone(coder: FrameCoder) -> None:
    x = signing(80)
    codes = coder.codes_of(x)[0]
    reach = coder.code_reach
    assert reach == 8
    assert len(codes) == 80 - 2 * reach
    part = coder.codes_of(x[:, 20:60])[0]
    assert torch.allclose(part, codes[20 : 60 - 2 * reach], atol=1e-4)
    changed = x.clone()
    changed[:, 60:] += 1
    assert torch.allclose(coder.codes_of(changed)[0, : 60 - 2 * reach], codes[: 60 - 2 * reach], atol=1e-4)


def test_learning_starts_from_plain_geometry() -> None:
    x = signing(60)
    fresh = FrameCoder(CoderOptions(codes=12, width=16, embedding=8)).eval()
    plain = FrameCoder(CoderOptions(codes=12, width=0, embedding=8)).eval()
    plain.linear.load_state_dict(fresh.linear.state_dict())
    assert torch.allclose(fresh.codes_of(x)[0], plain.codes_of(x)[0, 6:-6], atol=1e-4)
    assert torch.allclose(plain.codes_of(x), describe(x, 2)[..., :PLAIN] @ plain.linear.weight.T, atol=1e-4)


def test_principal_axes_keep_distances(coder: FrameCoder) -> None:
    frames = torch.cat([describe(signing(200, seed), 2)[0] for seed in range(3)])
    wide = FrameCoder(CoderOptions(codes=PLAIN, width=0, embedding=4))
    wide.begin(frames)
    codes = wide.code(frames[None], 2)[0]
    assert torch.allclose(
        torch.cdist(codes[:20], codes[:20]), torch.cdist(frames[:20, :PLAIN], frames[:20, :PLAIN]), atol=1e-2
    )


def test_windows_are_pooled_as_signs_are(coder: FrameCoder) -> None:
    x = signing(coder.frames + 9)
    windows = coder.windows(coder.codes_of(x))[0]
    assert len(windows) == 10
    for number in (0, 4, 9):
        clip = x[:, number : number + coder.frames]
        assert torch.allclose(coder(clip)[0], windows[number], atol=1e-4)
        codes = coder.codes_of(clip)[0, :: coder.options.spacing]
        assert len(codes) == SIGN_FRAMES
        assert torch.allclose(coder.pooled(codes), windows[number], atol=1e-4)


def test_stretching_interpolates() -> None:
    codes = torch.arange(10.0)[:, None]
    assert stretched(codes, 2, 8, 4)[:, 0].tolist() == pytest.approx([2, 4, 6, 8])
    assert stretched(codes, 3, 3, 3)[:, 0].tolist() == [3, 3, 3]
    assert stretched(codes[:1], 0, 0, 2)[:, 0].tolist() == [0, 0]


def test_the_registry_builds_it_with_its_contract() -> None:
    module = build("frame_codes", codes=12, width=16, embedding=8, mlp=False)
    contract = module.contract()
    assert (contract.codes, contract.dimension, contract.kind) == (12, 8, "landmarks")
    with pytest.raises(OptionsError):
        build("frame_codes", codes=0, mlp=False)


def test_decoys_are_stored_in_a_byte_a_number() -> None:
    coder = FrameCoder(CoderOptions(codes=8, width=0, embedding=4, decoys=5))
    codes = torch.randn(5, 2, SIGN_FRAMES, 8) * torch.linspace(0.01, 10, 8)
    coder.set_decoys(codes)
    steps = codes.abs().amax(dim=(0, 1, 2)) / 127
    assert coder.decoy_codes.dtype == torch.int8
    assert ((coder.decoys - codes).abs() <= 0.57 * steps).all()  # half a step; 16 bits move the last of 127 by 0.06
    assert torch.equal(coder.decoy_scale.half().float(), coder.decoy_scale)  # a file of 16 bits changes nothing
