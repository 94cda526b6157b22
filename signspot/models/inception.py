"""The parts of which the rgb trunks are made: TF-"SAME" padding, convolution units and the Inception-v1 table."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from signspot.errors import OptionsError
from signspot.models.batch_norm import make_domain_specific
from signspot.models.encoder import Examples, Trunk, WindowFunction


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
class InceptionSize:
    """The size of an Inception; the defaults are those of the public network."""

    frames: int = 16  # in a clip
    image_size: int = 224  # pixels of a side
    width: float = 1.0  # share of the channels of every layer
    motion: bool = False  # see only what moves: every pixel minus its mean over the clip

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


class InceptionTrunk(Trunk):
    """Inception-v1 inflated to video: the endpoints in order, then the mean over time and space.

    At 16 x 224 x 224 the mean is over 2 x 7 x 7 positions, as the average pool of the public network.
    """

    kind = "rgb"
    time_axis = 2

    def __init__(self, size: InceptionSize, *, separable: bool = False, gating: bool = False) -> None:
        super().__init__()
        self.frames, self.image_size, self.motion = size.frames, size.image_size, size.motion
        stem, channels = size.channels(64), size.channels(192)
        self.add_module(ENDPOINTS[0], spatiotemporal_unit(3, stem, (7, 7, 7), (2, 2, 2), separable=separable))
        self.add_module("Conv3d_2b_1x1", ConvUnit(stem, stem))
        self.add_module("Conv3d_2c_3x3", spatiotemporal_unit(stem, channels, (3, 3, 3), separable=separable))
        for name, (kernel, stride) in POOLS.items():
            self.add_module(name, SameMaxPool(kernel, stride))
        for name, full in MIXED.items():
            widths = [size.channels(width) for width in full]
            self.add_module(name, Mixed(channels, widths, separable=separable, gating=gating))
            channels = widths[0] + widths[2] + widths[4] + widths[5]
        self.dimension = channels

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
        from signspot.models.i3d_dense import WindowEmbedder

        return WindowEmbedder(self, batch=self.block, examples=examples)

    def forward(self, clips: Tensor) -> Tensor:
        """(B, 3, F, H, W) in [-0.5, 0.5] to (B, D); D is 1024 at full width."""
        return self.run(self.seen(clips), ENDPOINTS).mean(dim=(2, 3, 4))

    def seen(self, clips: Tensor) -> Tensor:
        """(B, 3, F, H, W) what the first layer sees of clips: all, or what moves in them."""
        return _MOTION_SCALE * (clips - clips.mean(dim=2, keepdim=True)) if self.motion else clips

    def run(self, x: Tensor, endpoints: Sequence[str]) -> Tensor:
        """Pass (B, C, T, H, W) through the named endpoints."""
        for name in endpoints:
            x = self.get_submodule(name)(x)
        return x


@dataclass(frozen=True)
class I3DOptions:
    """Options of an I3D."""

    frames: int = 16  # frames in a clip
    classes: int | None = None  # words of its classifier; None: it has none
    domain_norm: bool = False  # one set of batch norms per domain (Appendix C.1)
    image_size: int = 224  # pixels of a side
    width: float = 1.0  # share of the channels of every layer; less is for small computers
    motion: bool = False  # see only what moves: clothes, faces and rooms are not there to be learned


class I3D(InceptionTrunk):
    """Inception-v1 with full 3D convolutions (Carreira and Zisserman).

    With 1,064 classes it has 13,377,864 parameters. `logits` is not part of the embedding; it is kept because
    the trunk is trained as a classifier and the public files hold it.
    """

    def __init__(self, options: I3DOptions | None = None) -> None:
        chosen = options or I3DOptions()
        super().__init__(InceptionSize(chosen.frames, chosen.image_size, chosen.width, chosen.motion))
        self.logits = ClassifierHead(self.dimension, chosen.classes) if chosen.classes else None
        if chosen.domain_norm:
            make_domain_specific(self)


@dataclass(frozen=True)
class S3DOptions:
    """Options of an S3D."""

    frames: int = 16  # frames in a clip
    classes: int | None = None  # words of its classifier; None: it has none
    domain_norm: bool = False  # one set of batch norms per domain (Appendix C.1)
    image_size: int = 224  # pixels of a side
    width: float = 1.0  # share of the channels of every layer; less is for small computers
    motion: bool = False  # see only what moves: clothes, faces and rooms are not there to be learned
    gating: bool = False  # self-gating at the end of every branch (S3D-G)


class S3D(InceptionTrunk):
    """Inception-v1 with separable convolutions (Xie et al.), with or without self-gating."""

    def __init__(self, options: S3DOptions | None = None) -> None:
        chosen = options or S3DOptions()
        super().__init__(
            InceptionSize(chosen.frames, chosen.image_size, chosen.width, chosen.motion),
            separable=True,
            gating=chosen.gating,
        )
        self.logits = ClassifierHead(self.dimension, chosen.classes) if chosen.classes else None
        if chosen.domain_norm:
            make_domain_specific(self)
