"""The rgb trunks, I3D and S3D (Inception-v1 with time), and their windows, which share the first layers.

Every window of 16 frames is padded with zeros in time, so only the middle of its first layers agrees with its
neighbours. Of the 8 steps that `Conv3d_1a_7x7` gives, steps 1 to 5 touch no padding: they are the same stride-1
convolution of the video, read two frames apart. Steps 0, 6 and 7 see 5, 6 and 4 frames: each of them is a
convolution with a cut kernel. `Conv3d_2c_3x3` adds three such steps, each through one tap of its kernel, so its
products are computed once and added as every step needs. The result equals the plain pass to float32 rounding.
"""

import copy
from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

from signspot.errors import OptionsError
from signspot.models.backends import TensorFunction
from signspot.models.batch_norm import make_domain_specific
from signspot.models.encoder_network import Examples, Trunk, WindowFunction


class ClassifierHead(nn.Module):
    """Dropout and one linear layer from features to words.

    The layer is stored as a 1 x 1 x 1 convolution, as the public checkpoints hold it
    (`logits.conv3d.weight`), so that one head serves every trunk and every file.
    """

    def __init__(self, dimension: int, classes: int, *, dropout: float = 0.5) -> None:
        super().__init__()
        self.classes = classes
        self.dropout = nn.Dropout(dropout)
        self.conv3d = nn.Conv3d(dimension, classes, kernel_size=1)

    def forward(self, features: Tensor) -> Tensor:
        """(..., D) features to (..., K) logits, one per word."""
        return F.linear(self.dropout(features), self.conv3d.weight.flatten(1), self.conv3d.bias)


Size3 = tuple[int, int, int]

# Channels of the six convolutions of every Mixed block: b0, b1a, b1b, b2a, b2b, b3b.
MIXED: dict[str, tuple[int, int, int, int, int, int]] = {
    "Mixed_3b": (64, 96, 128, 16, 32, 32),
    "Mixed_3c": (128, 128, 192, 32, 96, 64),
    "Mixed_4b": (192, 96, 208, 16, 48, 64),
    "Mixed_4c": (160, 112, 224, 24, 64, 64),
    "Mixed_4d": (128, 128, 256, 24, 64, 64),
    "Mixed_4e": (112, 144, 288, 32, 64, 64),
    "Mixed_4f": (256, 160, 320, 32, 128, 128),
    "Mixed_5b": (256, 160, 320, 32, 128, 128),
    "Mixed_5c": (384, 192, 384, 48, 128, 128),
}

# Kernel and stride of the max pools, by endpoint.
POOLS: dict[str, tuple[Size3, Size3]] = {
    "MaxPool3d_2a_3x3": ((1, 3, 3), (1, 2, 2)),
    "MaxPool3d_3a_3x3": ((1, 3, 3), (1, 2, 2)),
    "MaxPool3d_4a_3x3": ((3, 3, 3), (2, 2, 2)),
    "MaxPool3d_5a_2x2": ((2, 2, 2), (2, 2, 2)),
}

_MOTION_SCALE = 2.0  # most of a clip stands still

# The order of the endpoints, as the public checkpoints name them.
ENDPOINTS = (
    "Conv3d_1a_7x7",
    "MaxPool3d_2a_3x3",
    "Conv3d_2b_1x1",
    "Conv3d_2c_3x3",
    "MaxPool3d_3a_3x3",
    "Mixed_3b",
    "Mixed_3c",
    "MaxPool3d_4a_3x3",
    "Mixed_4b",
    "Mixed_4c",
    "Mixed_4d",
    "Mixed_4e",
    "Mixed_4f",
    "MaxPool3d_5a_2x2",
    "Mixed_5b",
    "Mixed_5c",
)


def same_padding(size: int, kernel: int, stride: int) -> tuple[int, int]:
    """Numbers of zeros before and after an axis of `size`, so that ceil(size / stride) outputs result."""
    total = max(kernel - (size % stride or stride), 0)
    return total // 2, total - total // 2


def pad_same(x: Tensor, kernel: Size3, stride: Size3) -> Tensor:
    """Pad (B, C, T, H, W) with zeros; where the sum is odd, the extra zero goes last."""
    before_after = [same_padding(s, k, t) for s, k, t in zip(x.shape[2:], kernel, stride, strict=True)]
    flat = [count for pair in reversed(before_after) for count in pair]  # F.pad counts from the last axis
    return F.pad(x, flat) if any(flat) else x


def use_channels_last(module: nn.Module) -> None:
    """Lay out the weights of 3D convolutions as CPUs like them, in place: the same results, about 1.4 times as fast."""
    module.to(memory_format=torch.channels_last_3d)  # type: ignore[call-overload]  # its stub lacks this


class SameMaxPool(nn.Module):
    """Max pool over an input padded with zeros (not with minus infinity)."""

    def __init__(self, kernel: Size3, stride: Size3) -> None:
        super().__init__()
        self.kernel = kernel
        self.stride = stride

    def forward(self, x: Tensor) -> Tensor:
        """(B, C, T, H, W) to (B, C, ceil(T / t), ceil(H / h), ceil(W / w)) for strides t, h, w."""
        return F.max_pool3d(pad_same(x, self.kernel, self.stride), self.kernel, self.stride)


class ConvUnit(nn.Module):
    """Convolution with "SAME" padding, batch norm, ReLU."""

    def __init__(self, inputs: int, outputs: int, kernel: Size3 = (1, 1, 1), stride: Size3 = (1, 1, 1)) -> None:
        super().__init__()
        self.kernel = kernel
        self.stride = stride
        self.conv3d = nn.Conv3d(inputs, outputs, kernel, stride, bias=False)
        self.bn: nn.Module = nn.BatchNorm3d(outputs, eps=1e-3, momentum=0.01)

    def forward(self, x: Tensor) -> Tensor:
        """(B, C, T, H, W) to (B, outputs, ceil(T / t), ceil(H / h), ceil(W / w)) for strides t, h, w."""
        return F.relu(self.bn(self.conv3d(pad_same(x, self.kernel, self.stride))))


class SelfGate(nn.Module):
    """Self-gating of S3D-G: every channel is weighted by what the whole clip holds."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.fc = nn.Linear(channels, channels)

    def forward(self, x: Tensor) -> Tensor:
        """(B, C, T, H, W) to the same shape."""
        weights = torch.sigmoid(self.fc(x.mean(dim=(2, 3, 4))))
        return x * weights[:, :, None, None, None]


def separable_unit(inputs: int, outputs: int, kernel: Size3, stride: Size3) -> nn.Module:
    """A spatial unit, then a temporal unit, in place of a full 3D convolution (S3D)."""
    return nn.Sequential(
        ConvUnit(inputs, outputs, (1, kernel[1], kernel[2]), (1, stride[1], stride[2])),
        ConvUnit(outputs, outputs, (kernel[0], 1, 1), (stride[0], 1, 1)),
    )


def spatiotemporal_unit(
    inputs: int, outputs: int, kernel: Size3, stride: Size3 = (1, 1, 1), *, separable: bool
) -> nn.Module:
    """A convolution over space and time, full (I3D) or separable (S3D)."""
    make = separable_unit if separable else ConvUnit
    return make(inputs, outputs, kernel, stride)


class Mixed(nn.Module):
    """An Inception block of four branches; with `gating`, every branch ends in a self-gate."""

    def __init__(self, inputs: int, widths: Sequence[int], *, separable: bool = False, gating: bool = False) -> None:
        super().__init__()
        b0, b1a, b1b, b2a, b2b, b3b = widths
        self.b0 = ConvUnit(inputs, b0)
        self.b1a = ConvUnit(inputs, b1a)
        self.b1b = spatiotemporal_unit(b1a, b1b, (3, 3, 3), separable=separable)
        self.b2a = ConvUnit(inputs, b2a)
        self.b2b = spatiotemporal_unit(b2a, b2b, (3, 3, 3), separable=separable)
        self.b3a = SameMaxPool((3, 3, 3), (1, 1, 1))
        self.b3b = ConvUnit(inputs, b3b)
        self.gates = nn.ModuleList(SelfGate(width) for width in (b0, b1b, b2b, b3b)) if gating else None

    def forward(self, x: Tensor) -> Tensor:
        """(B, C, T, H, W) to (B, b0 + b1b + b2b + b3b, T, H, W)."""
        branches = [self.b0(x), self.b1b(self.b1a(x)), self.b2b(self.b2a(x)), self.b3b(self.b3a(x))]
        if self.gates is not None:
            branches = [gate(branch) for gate, branch in zip(self.gates, branches, strict=True)]
        return torch.cat(branches, dim=1)


@dataclass(frozen=True)
class I3DOptions:
    """Options of an I3D; the defaults are those of the public network."""

    frames: int = 16  # frames in a clip
    classes: int | None = None  # words of its classifier; None: it has none
    domain_norm: bool = False  # one set of batch norms per domain (Appendix C.1)
    image_size: int = 224  # pixels of a side
    width: float = 1.0  # share of the channels of every layer; less is for small computers
    motion: bool = False  # see only what moves: clothes, faces and rooms are not there to be learned

    def __post_init__(self) -> None:
        if self.frames < 2 or self.image_size < 32:
            raise OptionsError(
                f"an rgb trunk needs 2 frames and 32 pixels a side or more; got {self.frames} and {self.image_size}"
            )
        if not 0 < self.width <= 1:
            raise OptionsError(f"width is a share of the channels above 0, at most 1; got {self.width}")

    def channels(self, full: int) -> int:
        """The number of channels that are left of `full`, at least 4."""
        return max(4, round(full * self.width))


@dataclass(frozen=True)
class S3DOptions(I3DOptions):
    """Options of an S3D."""

    gating: bool = False  # self-gating at the end of every branch (S3D-G)


class InceptionTrunk(Trunk):
    """Inception-v1 inflated to video: the endpoints in order, then the mean over time and space.

    At 16 x 224 x 224 the mean is over 2 x 7 x 7 positions, as the average pool of the public network. `logits` is not
    part of the embedding; it is kept because the trunk is trained as a classifier and the public files hold it.
    """

    kind = "rgb"
    time_axis = 2

    def __init__(self, options: I3DOptions, *, separable: bool = False, gating: bool = False) -> None:
        super().__init__()
        self.frames, self.image_size, self.motion = options.frames, options.image_size, options.motion
        stem, channels = options.channels(64), options.channels(192)
        self.add_module(ENDPOINTS[0], spatiotemporal_unit(3, stem, (7, 7, 7), (2, 2, 2), separable=separable))
        self.add_module("Conv3d_2b_1x1", ConvUnit(stem, stem))
        self.add_module("Conv3d_2c_3x3", spatiotemporal_unit(stem, channels, (3, 3, 3), separable=separable))
        for name, (kernel, stride) in POOLS.items():
            self.add_module(name, SameMaxPool(kernel, stride))
        for name, full in MIXED.items():
            widths = [options.channels(width) for width in full]
            self.add_module(name, Mixed(channels, widths, separable=separable, gating=gating))
            channels = widths[0] + widths[2] + widths[4] + widths[5]
        self.dimension = channels
        self.logits = ClassifierHead(channels, options.classes) if options.classes else None
        if options.domain_norm:
            make_domain_specific(self)

    def input_shape(self) -> dict[str, int]:
        """Pixels of a side."""
        return {"image_size": self.image_size}

    def settings(self) -> list[str]:
        """Whether it sees only what moves."""
        return ["motion"] if self.motion else []

    def optimise(self) -> None:
        """Channels last in memory."""
        use_channels_last(self)

    def window_features(self, examples: Examples | None = None) -> WindowFunction:
        """Windows that share their first layers, by a folded copy of the weights."""
        return WindowEmbedder(self, batch=self.block, examples=examples)

    def forward(self, clips: Tensor) -> Tensor:
        """(B, 3, F, H, W) in [-0.5, 0.5] to (B, D); D is 1024 at full width."""
        return self.run(self.seen(clips), ENDPOINTS).mean(dim=(2, 3, 4))

    def classify(self, features: Tensor) -> Tensor:
        """(B, D) features to (B, K) logits of the words that it was built to tell apart."""
        assert self.logits is not None, "built with a classifier"
        logits: Tensor = self.logits(features)
        return logits

    def seen(self, clips: Tensor) -> Tensor:
        """(B, 3, F, H, W) what the first layer sees of clips: all, or what moves in them."""
        return _MOTION_SCALE * (clips - clips.mean(dim=2, keepdim=True)) if self.motion else clips

    def run(self, x: Tensor, endpoints: Sequence[str]) -> Tensor:
        """Pass (B, C, T, H, W) through the named endpoints."""
        for name in endpoints:
            x = self.get_submodule(name)(x)
        return x


class I3D(InceptionTrunk):
    """Inception-v1 with full 3D convolutions (Carreira and Zisserman): 13,377,864 parameters with 1,064 classes."""

    def __init__(self, options: I3DOptions | None = None) -> None:
        super().__init__(options or I3DOptions())


class S3D(InceptionTrunk):
    """Inception-v1 with separable convolutions (Xie et al.), with or without self-gating."""

    def __init__(self, options: S3DOptions | None = None) -> None:
        chosen = options or S3DOptions()
        super().__init__(chosen, separable=True, gating=chosen.gating)


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
            examples: runs of frames on which int8 is calibrated, whatever is embedded; no other backend asks.
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
            examples = self._calibrating(module, len(x)) if self._backend.how == "openvino-int8" else [x]
            self._ready[key] = self._backend.prepare(module.eval(), examples)
        return self._ready[key](x)

    def _calibrating(self, module: nn.Module, length: int) -> list[Tensor]:
        """Inputs of a module, of so many frames or clips each, one from every run of examples."""
        if self._examples is None:
            raise OptionsError("int8 is calibrated on frames of a video: give examples of them")
        examples = [filled(run, self._batch + self._frames - 1) for run in self._examples()]
        if isinstance(module, _SharedWindows):
            return [run[:length] for run in examples]
        return [run.unfold(0, self._frames, 1)[:length].movedim(-1, 2) for run in examples]


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
        stem_input = self._trunk.seen(clips).contiguous(memory_format=torch.channels_last_3d)
        return _finish(self._trunk, self._trunk.run(stem_input, _STEM))


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
