"""Fast rgb windows: the layers before the first Mixed block are computed once for all overlapping windows.

Every window of 16 frames is padded with zeros in time, so only the middle of its first layers agrees with its
neighbours. Of the 8 steps that `Conv3d_1a_7x7` gives, steps 1 to 5 touch no padding: they are the same stride-1
convolution of the video, read two frames apart. Steps 0, 6 and 7 see 5, 6 and 4 frames: each of them is a
convolution with a cut kernel. `Conv3d_2c_3x3` adds three such steps, each through one tap of its kernel, so its
products are computed once and added as every step needs. The result equals the plain pass to float32 rounding.
"""

import copy
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

from signspot.errors import OptionsError
from signspot.models.backends import TensorFunction
from signspot.models.encoder import Examples
from signspot.models.inception import ENDPOINTS, I3D, POOLS, ConvUnit, InceptionTrunk, pad_same, use_channels_last

_STEM = ENDPOINTS[: ENDPOINTS.index("Mixed_3b")]
_REST = ENDPOINTS[len(_STEM) :]
_FRAMES = 16  # the plan below is for clips of this length
_MIDDLE = 8  # frames from the first to the last of the five middle steps of Conv3d_1a_7x7
_FEWEST = 4  # windows from which sharing pays

# Step of Conv3d_1a_7x7: the frame of the window where it begins, and the taps of the kernel that see a frame.
_FIRST, _SIXTH, _SEVENTH = (0, slice(2, 7)), (10, slice(0, 6)), (12, slice(0, 4))
_ALL_TAPS = slice(0, 7)


def fold_batch_norm(trunk: InceptionTrunk) -> InceptionTrunk:
    """A copy of a trunk for inference: batch norm folded into the convolutions, channels last in memory."""
    folded = copy.deepcopy(trunk).eval()
    for unit in folded.modules():
        if isinstance(unit, ConvUnit) and isinstance(unit.bn, nn.BatchNorm3d):
            unit.conv3d = fuse_conv_bn_eval(unit.conv3d, unit.bn)
            unit.bn = nn.Identity()
    use_channels_last(folded)
    return folded


class WindowEmbedder:
    """Gives the features of many windows of one video by an rgb trunk.

    It holds a copy of the trunk's weights as they are now.
    """

    def __init__(self, trunk: InceptionTrunk, *, batch: int = 16, examples: Examples | None = None) -> None:
        """Prepare for windows.

        Args:
            trunk: whose windows they are, and whose backend runs.
            batch: windows that pass at once.
            examples: stretches of frames on which int8 is calibrated, whatever is embedded; no other backend asks.
        """
        self._trunk, self._backend = fold_batch_norm(trunk), trunk.backend
        self._frames, self._batch, self._examples = trunk.frames, batch, examples
        folded = all(isinstance(unit.bn, nn.Identity) for unit in self._trunk.modules() if isinstance(unit, ConvUnit))
        # What moves in a window is seen against that window's own mean, which no two windows share.
        self._shares = isinstance(trunk, I3D) and trunk.frames == _FRAMES and folded and not trunk.motion
        self._ready: dict[tuple[type[nn.Module], torch.Size], TensorFunction] = {}

    @torch.inference_mode()
    def __call__(self, frames: Tensor, starts: Sequence[int]) -> Tensor:
        """Embed windows.

        Args:
            frames: (N, 3, H, W) a video's frames, in [-0.5, 0.5].
            starts: the first frame of every window.

        Returns:
            (len(starts), 1024) features, as the trunk gives for each window by itself.
        """
        if starts and not 0 <= min(starts) <= max(starts) <= len(frames) - self._frames:
            raise OptionsError(f"windows must lie within the {len(frames)} frames; got starts {list(starts)}")
        features = [self._embed(frames, list(run)) for run in _runs(starts, self._batch)]
        return torch.cat(features) if features else frames.new_empty(0, self._trunk.dimension)

    def _embed(self, frames: Tensor, starts: list[int]) -> Tensor:
        consecutive = starts == list(range(starts[0], starts[0] + len(starts)))
        if self._shares and consecutive and len(starts) >= _FEWEST:
            run = self._filled(frames[starts[0] : starts[-1] + _FRAMES], self._batch + _FRAMES - 1)
            return self._run(_SharedWindows(self._trunk), run)[: len(starts)]
        clips = torch.stack([frames[start : start + self._frames] for start in starts]).transpose(1, 2)
        return self._run(_Clips(self._trunk), self._filled(clips, self._batch))[: len(starts)]

    def _filled(self, x: Tensor, length: int) -> Tensor:
        """(length, ...) of (n, ...), the last repeated, for a backend that prepares every shape anew."""
        return filled(x, length) if self._backend.has_fixed_shapes else x

    def _run(self, module: nn.Module, x: Tensor) -> Tensor:
        """Run a module that is prepared once for every shape."""
        key = type(module), x.shape if self._backend.has_fixed_shapes else torch.Size()
        if key not in self._ready:
            given = self._calibrating(module, len(x)) if self._backend.how == "openvino-int8" else [x]
            self._ready[key] = self._backend.prepare(module.eval(), given)
        return self._ready[key](x)

    def _calibrating(self, module: nn.Module, length: int) -> list[Tensor]:
        """Inputs of a module, of so many frames or clips each, one from every stretch of examples."""
        if self._examples is None:
            raise OptionsError("int8 is calibrated on frames of a video: give examples of them")
        stretches = [filled(each, self._batch + self._frames - 1) for each in self._examples()]
        if isinstance(module, _SharedWindows):
            return [each[:length] for each in stretches]
        return [each.unfold(0, self._frames, 1)[:length].movedim(-1, 2) for each in stretches]


def filled(x: Tensor, length: int) -> Tensor:
    """(n, ...) with the last repeated where n is less than `length`."""
    return x if len(x) >= length else torch.cat([x, x[-1:].expand(length - len(x), *x.shape[1:])])


class _Clips(nn.Module):
    """Windows each by itself."""

    def __init__(self, trunk: InceptionTrunk) -> None:
        super().__init__()
        self._trunk = trunk

    def forward(self, clips: Tensor) -> Tensor:
        """(n, 3, F, H, W) clips to (n, 1024) features."""
        seen = self._trunk.seen(clips).contiguous(memory_format=torch.channels_last_3d)
        return _finish(self._trunk, self._trunk.run(seen, _STEM))


def _finish(trunk: InceptionTrunk, x: Tensor) -> Tensor:
    return trunk.run(x.contiguous(memory_format=torch.channels_last_3d), _REST).mean(dim=(2, 3, 4))


class _SharedWindows(nn.Module):
    """Windows of stride 1 that share their stem."""

    def __init__(self, trunk: InceptionTrunk) -> None:
        super().__init__()
        self._trunk = trunk

    def forward(self, frames: Tensor) -> Tensor:
        """(n + 15, 3, H, W) frames to (n, 1024) features."""
        return _finish(self._trunk, self._shared_stem(frames))

    def _shared_stem(self, frames: Tensor) -> Tensor:
        """(n + 15, 3, H, W) frames to (n, 192, 8, H / 8, W / 8): the stem of n windows of stride 1."""
        count = len(frames) - _FRAMES + 1
        middle = self._products(self._step(frames, 0, count + _MIDDLE, _ALL_TAPS), (0, 1, 2))
        first = self._products(self._step(frames, _FIRST[0], count, _FIRST[1]), (0, 1))
        sixth = self._products(self._step(frames, _SIXTH[0], count, _SIXTH[1]), (0, 1, 2))
        seventh = self._products(self._step(frames, _SEVENTH[0], count, _SEVENTH[1]), (1, 2))

        def through(tap: int, step: int) -> Tensor:
            """Middle step 1 to 5 of every window, through one tap."""
            return middle[tap][2 * (step - 1) : 2 * (step - 1) + count]

        inner = middle[0][: count + 4] + middle[1][2 : count + 6] + middle[2][4 : count + 8]
        shared = self._activate(inner)  # step 2 of every window; steps 3 and 4 lie 2 and 4 frames on
        steps = [
            self._activate(first[1] + through(2, 1)),
            self._activate(first[0] + through(1, 1) + through(2, 2)),
            *(shared[2 * later : 2 * later + count] for later in range(3)),
            self._activate(through(0, 4) + through(1, 5) + sixth[2]),
            self._activate(through(0, 5) + sixth[1] + seventh[2]),
            self._activate(sixth[0] + seventh[1]),
        ]
        return torch.stack(steps, dim=2)

    def _step(self, frames: Tensor, begin: int, count: int, taps: slice) -> Tensor:
        """One step of Conv3d_1a_7x7 at `count` places and the two layers after: (count, 64, H / 4, W / 4)."""
        width = taps.stop - taps.start
        stacked = torch.cat([frames[begin + tap : begin + tap + count] for tap in range(width)], dim=1)
        first, second = self._conv("Conv3d_1a_7x7"), self._conv("Conv3d_2b_1x1")
        kernel = first.weight[:, :, taps].transpose(1, 2).flatten(1, 2)
        padded = pad_same(stacked[:, :, None], (1, 7, 7), (1, 2, 2))[:, :, 0]
        x = F.conv2d(_channels_last(padded), _channels_last(kernel), first.bias, stride=2).relu_()
        return F.conv2d(_pool(x, "MaxPool3d_2a_3x3"), second.weight[:, :, 0], second.bias).relu_()

    def _products(self, x: Tensor, taps: Sequence[int]) -> dict[int, Tensor]:
        """(n, 64, H, W) through single taps of Conv3d_2c_3x3: (n, 192, H, W) for each."""
        weight = self._conv("Conv3d_2c_3x3").weight
        return {tap: F.conv2d(x, _channels_last(weight[:, :, tap]), padding=1) for tap in taps}

    def _activate(self, total: Tensor) -> Tensor:
        """Bias, ReLU and the last pool of the stem, on a sum of products."""
        bias = self._conv("Conv3d_2c_3x3").bias
        assert bias is not None, "folding gives every convolution a bias"
        return _pool(total.add_(bias[:, None, None]).relu_(), "MaxPool3d_3a_3x3")

    def _conv(self, name: str) -> nn.Conv3d:
        unit = self._trunk.get_submodule(name)
        assert isinstance(unit, ConvUnit), "only an I3D shares its stem"
        return unit.conv3d


def _runs(starts: Sequence[int], batch: int) -> list[Sequence[int]]:
    return [starts[begin : begin + batch] for begin in range(0, len(starts), batch)]


def _channels_last(x: Tensor) -> Tensor:
    return x.contiguous(memory_format=torch.channels_last)


def _pool(x: Tensor, name: str) -> Tensor:
    """A max pool over (n, C, H, W); the values are after a ReLU, so zeros at the border change nothing."""
    kernel, stride = POOLS[name]
    return F.max_pool2d(pad_same(x[:, :, None], kernel, stride)[:, :, 0], kernel[1:], stride[1:])
