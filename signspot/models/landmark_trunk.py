"""The landmark trunk: signing as moving points, for the CPU; a whole video passes through once.

There is no temporal padding anywhere, so the receptive field is exactly one clip, and the dense pass over a
video gives at every place what the clip at that place gives by itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from signspot.errors import OptionsError
from signspot.io.checks import check_numbers
from signspot.models import landmark_geometry as geometry
from signspot.models.batch_norm import make_domain_specific
from signspot.models.encoder_network import Examples, Trunk, WindowFunction

Norm = Literal["layer", "batch"]


@dataclass(frozen=True)
class LandmarkOptions:
    """Options of a landmark trunk."""

    frames: int = 16  # frames in a clip: the exact receptive field
    features: int = 1024  # width of the output
    hand_width: int = 128  # of the encoder that both hands share
    part_width: int = 64  # of the encoders of body and face
    width: int = 256  # of the temporal blocks
    last_width: int = 384  # between the last temporal convolution and the output
    dropout: float = 0.1  # in training
    norm: Norm = "layer"  # "batch" to study batch norm across domains
    domain_norm: bool = False  # one set of batch norms per domain (Appendix C.1)

    def __post_init__(self) -> None:
        if self.frames < 4:
            raise OptionsError(f"a landmark clip needs at least 4 frames; got {self.frames}")
        if self.norm not in ("layer", "batch"):
            raise OptionsError(f"no norm '{self.norm}'. There are: layer, batch")
        if self.domain_norm and self.norm != "batch":
            raise OptionsError(f"domain_norm is one set of batch norms per domain; got norm = '{self.norm}'")
        check_numbers(self, "features", "hand_width", "part_width", "width", "last_width", least=1)


def plan_dilations(frames: int) -> tuple[int, ...]:
    """Dilations of the temporal blocks: they take up to half of the clip, the last convolution takes the rest.

    A block of kernel 3 and dilation d shortens a clip by 2 d frames. With 1, 1, 2, 4, ... no frame between
    two taps is ever left out.
    """
    chosen: tuple[int, ...] = ()
    dilation = 1
    while 4 * (sum(chosen) + dilation) <= frames:
        chosen += (dilation,)
        dilation = 2 ** (len(chosen) - 1)
    return chosen


class ChannelNorm(nn.Module):
    """Normalises the last axis: by its own mean and variance, or by the batch's."""

    def __init__(self, width: int, norm: Norm) -> None:
        super().__init__()
        self.norm: nn.Module = nn.LayerNorm(width) if norm == "layer" else nn.BatchNorm1d(width)

    def forward(self, x: Tensor) -> Tensor:
        """(..., C) to the same shape."""
        rows: Tensor = self.norm(x.reshape(-1, x.shape[-1]))
        return rows.reshape(x.shape)


class PartEncoder(nn.Module):
    """Two layers on the description of one part of the signer, frame by frame."""

    def __init__(self, inputs: int, width: int, norm: Norm) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(inputs, width), ChannelNorm(width, norm), nn.GELU(), nn.Linear(width, width), nn.GELU()
        )

    def forward(self, x: Tensor) -> Tensor:
        """(..., inputs) to (..., width)."""
        encoded: Tensor = self.layers(x)
        return encoded


class FrameEncoder(nn.Module):
    """All parts of the signer in one frame: hands (by shared weights, the left one mirrored), body, face."""

    def __init__(self, options: LandmarkOptions) -> None:
        super().__init__()
        self.hand = PartEncoder(geometry.HAND, options.hand_width, options.norm)
        self.body = PartEncoder(geometry.BODY, options.part_width, options.norm)
        self.face = PartEncoder(geometry.FACE_FEATURES, options.part_width, options.norm)
        parts = 2 * options.hand_width + 2 * options.part_width
        self.join = nn.Sequential(nn.Linear(parts, options.width), ChannelNorm(options.width, options.norm), nn.GELU())

    def forward(self, x: Tensor) -> Tensor:
        """(B, T, 69, 4) landmark features to (B, T, width)."""
        parts = [self.hand(geometry.hands(x)).flatten(-2), self.body(geometry.body(x)), self.face(geometry.face(x))]
        joined: Tensor = self.join(torch.cat(parts, dim=-1))
        return joined


class ValidConv(nn.Module):
    """A convolution over time without padding, as one matrix product over the shifted copies of its input."""

    def __init__(self, inputs: int, outputs: int, kernel: int, dilation: int = 1) -> None:
        super().__init__()
        self.kernel, self.dilation = kernel, dilation
        self.linear = nn.Linear(inputs * kernel, outputs)

    def forward(self, x: Tensor) -> Tensor:
        """(B, T, C) to (B, T - dilation * (kernel - 1), outputs)."""
        length = x.shape[1] - self.dilation * (self.kernel - 1)
        taps = [x[:, tap * self.dilation : tap * self.dilation + length] for tap in range(self.kernel)]
        mixed: Tensor = self.linear(torch.cat(taps, dim=-1))
        return mixed


class TemporalBlock(nn.Module):
    """A residual block of kernel 3; the skip is cropped to the middle instead of padding the branch."""

    def __init__(self, options: LandmarkOptions, dilation: int) -> None:
        super().__init__()
        self.dilation = dilation
        self.branch = nn.Sequential(
            ChannelNorm(options.width, options.norm),
            ValidConv(options.width, options.width, 3, dilation),
            nn.GELU(),
            nn.Dropout(options.dropout),
            nn.Linear(options.width, options.width),
        )

    def forward(self, x: Tensor) -> Tensor:
        """(B, T, width) to (B, T - 2 * dilation, width)."""
        change: Tensor = self.branch(x)
        return x[:, self.dilation : -self.dilation] + change


class LandmarkTrunk(Trunk):
    """Landmark features to 1024 features per clip.

    The last convolution spans what is left of the clip, so the order of the frames is kept to the end.
    """

    kind = "landmarks"
    block = 512
    input_version = geometry.FEATURES
    joints = geometry.JOINTS
    channels = geometry.CHANNELS

    def __init__(self, options: LandmarkOptions | None = None) -> None:
        super().__init__()
        chosen = options or LandmarkOptions()
        dilations = plan_dilations(chosen.frames)
        self.frames = chosen.frames
        self.dimension = chosen.features
        self.frame = FrameEncoder(chosen)
        self.blocks = nn.Sequential(*(TemporalBlock(chosen, dilation) for dilation in dilations))
        self.last = nn.Sequential(
            ChannelNorm(chosen.width, chosen.norm),
            ValidConv(chosen.width, chosen.last_width, chosen.frames - 2 * sum(dilations)),
            nn.GELU(),
            nn.Dropout(chosen.dropout),
            nn.Linear(chosen.last_width, chosen.features),
        )
        if chosen.domain_norm:
            make_domain_specific(self)

    def input_shape(self) -> dict[str, int]:
        """Joints and channels."""
        return {"joints": self.joints, "channels": self.channels}

    def settings(self) -> list[str]:
        """The version of the landmark features."""
        return [f"landmark features {geometry.FEATURES}"]

    def window_features(self, examples: Examples | None = None) -> WindowFunction:
        """Windows by the dense pass: all of stride 1 between the first and the last, of which those asked for stay."""

        def in_one_pass(frames: Tensor, starts: Sequence[int]) -> Tensor:
            first, last = min(starts), max(starts)
            features = self.dense(frames[None, first : last + self.frames])[0]
            every = list(starts) == list(range(first, last + 1))
            return features if every else features[[start - first for start in starts]]

        return in_one_pass

    def forward(self, clips: Tensor) -> Tensor:
        """(B, F, J, C) landmark features of clips to (B, 1024)."""
        if clips.ndim == 4 and clips.shape[1] != self.frames:
            raise OptionsError(f"a clip must have {self.frames} frames; got {clips.shape[1]}")
        return self.dense(clips)[:, 0]

    def dense(self, x: Tensor) -> Tensor:
        """(B, T, J, C) landmark features of whole videos to (B, T - F + 1, 1024), one row per window."""
        if x.ndim != 4 or x.shape[2:] != (self.joints, self.channels) or x.shape[1] < self.frames:
            raise OptionsError(
                f"landmark features must be (B, T, {self.joints}, {self.channels}) with T at least "
                f"{self.frames}; got {tuple(x.shape)}"
            )
        features: Tensor = self.last(self.blocks(self.frame(x)))
        return features
