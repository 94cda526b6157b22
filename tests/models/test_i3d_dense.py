import copy

import pytest
import torch
import torch.nn.functional as F

from signspot.errors import OptionsError
from signspot.models.inception import I3D, S3D, I3DOptions, WindowEmbedder, fold_batch_norm


@pytest.fixture(scope="module")
def i3d(public_i3d):
    network = I3D(I3DOptions(classes=1064)).eval()
    network.load_state_dict(public_i3d)
    return network


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
    [
        list(range(15)),
        list(range(3, 7)),
        [0],
        [0, 8, 14],
        [14, 0, 1, 2, 3, 4],
    ],
)
@pytest.mark.parametrize("batch", [5, 16])
def test_windows_equal_the_plain_pass(i3d, frames, plain, starts, batch):
    features = WindowEmbedder(i3d, batch=batch)(frames, starts)
    expected = plain[starts]
    assert expected.std() > 0.1  # the comparison says something
    torch.testing.assert_close(F.normalize(features), F.normalize(expected), atol=1e-6, rtol=0)


def test_sharing_is_exact_but_for_rounding_at_odd_image_sizes_too(i3d):
    exact = copy.deepcopy(i3d).double()
    frames = torch.rand(20, 3, 25, 34, generator=torch.Generator().manual_seed(7), dtype=torch.float64) - 0.5
    features = WindowEmbedder(exact)(frames, range(5))
    torch.testing.assert_close(features, one_by_one(exact, frames, range(5)), atol=1e-11, rtol=1e-11)


@pytest.mark.parametrize(
    "trunk", [S3D(), I3D(I3DOptions(frames=8)), I3D(I3DOptions(domain_norm=True)), I3D(I3DOptions(motion=True))]
)
def test_trunks_that_cannot_share_give_the_same_too(trunk, frames):
    trunk = trunk.eval()
    for name, value in trunk.state_dict().items():
        if name.endswith("bias"):
            value.fill_(0.1)
    features = WindowEmbedder(trunk)(frames, range(3))
    torch.testing.assert_close(features, one_by_one(trunk, frames, range(3)), atol=1e-5, rtol=1e-5)


def test_folding_leaves_the_trunk_as_it_was(i3d):
    before = {name: value.clone() for name, value in i3d.state_dict().items()}
    fold_batch_norm(i3d)
    assert all(torch.equal(value, before[name]) for name, value in i3d.state_dict().items())


def test_no_windows_give_no_features(i3d, frames):
    assert WindowEmbedder(i3d)(frames, []).shape == (0, 1024)


@pytest.mark.parametrize("starts", [[15], [-1, 0]])
def test_windows_outside_the_frames_are_refused(i3d, frames, starts):
    with pytest.raises(OptionsError, match="within the 30 frames"):
        WindowEmbedder(i3d)(frames, starts)
