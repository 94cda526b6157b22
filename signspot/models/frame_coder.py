"""Frame codes: about a hundred numbers for every frame of signing, near each other at like moments of like signs.

A code is a linear map of hand-crafted features of the frame, plus the output of a small network that sees the frames
around it. The last layer of the network begins at zero, so that learning starts from plain geometry. An isolated sign
is `SIGN_FRAMES` codes at equal steps; its embedding is a linear map of them, and so is that of a window.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from signspot.errors import OptionsError
from signspot.models import landmark_geometry as geometry
from signspot.models.encoder import Kind
from signspot.models.encoder_network import Examples, Trunk, WindowFunction

SIGN_FRAMES = 16  # codes of an isolated sign
PLAIN = geometry.RAISED_HANDS + geometry.HEADING  # numbers of a frame that the linear map sees
SEEN = PLAIN + 2 * geometry.HAND + geometry.BODY  # numbers of a frame that the network sees
_BODY_JOINTS = 7  # the first joints: nose, shoulders, elbows, wrists
_OTHER_WRIST = slice(geometry.HAND_SHAPE + 15, geometry.HAND_SHAPE + 18)  # of a described hand: the other's wrist


@dataclass(frozen=True, slots=True)
class CoderOptions:
    """The shape of a frame coder."""

    codes: int = 128  # numbers in a code
    width: int = 192  # of the network; 0: there is none
    blocks: int = 3  # each sees one step farther to either side
    spacing: int = 2  # frames in a step
    embedding: int = 256  # dimension of a sign's embedding
    dropout: float = 0.1
    decoys: int = 0  # exemplars of decoys that come with the weights


class FrameCoder(Trunk):
    """Codes frames of landmark features, and embeds signs and windows that are given as codes.

    A frame's code depends on the frames within `code_reach` of it and on nothing else: a video may be coded in chunks
    that overlap by twice as much, with the very same result.
    """

    kind: ClassVar[Kind] = "landmarks"
    block: ClassVar[int] = 512
    input_version: ClassVar[int | None] = geometry.FEATURES
    mean: Tensor
    scale: Tensor
    typical_cost: Tensor
    decoy_codes: Tensor
    decoy_scale: Tensor
    decoy_words: Tensor

    def __init__(self, options: CoderOptions | None = None) -> None:
        super().__init__()
        self.options = options or CoderOptions()
        chosen, width = self.options, self.options.width
        if chosen.codes < 1 or chosen.spacing < 1 or chosen.blocks < 0:
            raise OptionsError(f"a frame coder needs codes and spacing of at least 1; got {chosen}")
        self.codes, self.dimension = chosen.codes, chosen.embedding
        self.code_reach = (1 + (chosen.blocks if width else 0)) * chosen.spacing
        self.frames = 2 * self.code_reach + (SIGN_FRAMES - 1) * chosen.spacing + 1
        self.register_buffer("mean", torch.zeros(SEEN))
        self.register_buffer("scale", torch.ones(SEEN))
        self.register_buffer("typical_cost", torch.ones(()))  # of aligning two different signs: a score of a half
        decoys = torch.zeros(chosen.decoys, 2, SIGN_FRAMES, chosen.codes, dtype=torch.int8)
        self.register_buffer("decoy_codes", decoys)  # in units of decoy_scale
        self.register_buffer("decoy_scale", torch.ones(chosen.codes))
        self.register_buffer("decoy_words", torch.zeros(chosen.decoys, dtype=torch.int16))
        self.linear = nn.Linear(PLAIN, chosen.codes, bias=False)
        self.pool = nn.Linear(SIGN_FRAMES * chosen.codes, chosen.embedding)
        nn.init.orthogonal_(self.linear.weight)
        if width:
            self.first = nn.Linear(SEEN, width)
            self.blocks = nn.ModuleList(_Block(width, chosen.dropout) for _ in range(chosen.blocks))
            self.last = nn.Linear(width, chosen.codes)
            self.drop = nn.Dropout(chosen.dropout)
            nn.init.zeros_(self.last.weight)
            nn.init.zeros_(self.last.bias)

    def input_shape(self) -> dict[str, int]:
        """The fields of the contract that describe one frame of input."""
        return {"joints": geometry.JOINTS, "channels": geometry.CHANNELS}

    def settings(self) -> list[str]:
        """Settings that decide the features, but are neither weights nor shapes of weights."""
        return [f"landmark features {geometry.FEATURES}", f"spacing {self.options.spacing}"]

    def forward(self, clips: Tensor) -> Tensor:
        """(B, F, J, C) landmark features of clips to (B, embedding)."""
        return self.windows(self.codes_of(clips))[:, 0]

    def window_features(self, examples: Examples | None = None) -> WindowFunction:
        """As `Trunk.window_features`: a whole block of frames is coded once."""

        def features(frames: Tensor, starts: Sequence[int]) -> Tensor:
            every: Tensor = self.windows(self.codes_of(frames[None]))[0]
            return every[list(starts)]

        return features

    def frame_codes(self, frames: Tensor) -> Tensor:
        """(N + 2 code_reach, 69, 4) landmark features of a video to (N, codes)."""
        return self.codes_of(frames[None])[0]

    def codes_of(self, x: Tensor) -> Tensor:
        """(B, T, 69, 4) landmark features to (B, T - 2 code_reach, codes): all frames that have their context."""
        return self.code(describe(x, self.options.spacing), self.options.spacing)

    def code(self, frames: Tensor, spacing: int) -> Tensor:
        """(B, T, SEEN) described frames, `spacing` frames per step, to (B, T - 2 blocks spacing, codes)."""
        if not self.options.width:
            return functional.linear(frames[..., :PLAIN], self.linear.weight)
        # One product for the linear map and the first layer of the network, with the spread of its input folded in.
        first = self.first.weight / self.scale
        plain = functional.pad(self.linear.weight, (0, SEEN - PLAIN))
        bias = torch.cat([torch.zeros_like(self.mean[: len(plain)]), self.first.bias - first @ self.mean])
        both = functional.linear(frames, torch.cat([plain, first]), bias)
        mapped, hidden = both[..., : len(plain)], self.drop(both[..., len(plain) :])
        for block in self.blocks:
            hidden = block(hidden, spacing)
        outside = self.options.blocks * spacing
        codes: Tensor = mapped[:, outside : frames.shape[1] - outside] + self.last(functional.gelu(hidden))
        return codes

    def windows(self, codes: Tensor) -> Tensor:
        """(B, T, codes) to (B, T - 15 spacing, embedding): every window of 16 codes, before the unit norm."""
        spacing, weights = self.options.spacing, self.pool.weight.view(self.dimension, SIGN_FRAMES, self.codes)
        pooled = functional.conv1d(codes.transpose(1, 2), weights.transpose(1, 2), self.pool.bias, dilation=spacing)
        return pooled.transpose(1, 2)

    def pooled(self, sign: Tensor) -> Tensor:
        """(..., 16, codes) codes of isolated signs to (..., embedding), before the unit norm."""
        embedded: Tensor = self.pool(sign.flatten(-2))
        return embedded

    @property
    def decoys(self) -> Tensor:
        """(K, 2, 16, codes) codes of decoys, as they are and mirrored."""
        return self.decoy_codes * self.decoy_scale

    @torch.no_grad()
    def set_decoys(self, codes: Tensor) -> None:
        """Store (K, 2, 16, codes) codes of decoys in a byte a number, in 254 equal steps for each of the codes.

        A number is wrong by at most half a step: by 0.4 % of the largest one of its code. The mean cost of an exemplar
        to its nearest decoys, all that scores depend on, changes by less than 0.001 of the typical cost, and a score
        by less than 0.001.
        """
        if not len(codes):
            return
        scale = (codes.abs().amax(dim=(0, 1, 2)) / 127).half().float().clamp(min=1e-6)  # survives a file in 16 bits
        self.decoy_scale.copy_(scale)
        self.decoy_codes.copy_((codes / scale).round().clamp(-127, 127))

    @torch.no_grad()
    def begin(self, frames: Tensor) -> None:
        """Start from (N, SEEN) described frames: the principal axes of what is plain, and the spread of all."""
        plain = frames[:, :PLAIN] - frames[:, :PLAIN].mean(dim=0)
        axes = torch.linalg.eigh(plain.T @ plain / len(plain))[1].flip(1)
        self.linear.weight.copy_(axes[:, : self.codes].T)
        self.mean.copy_(frames.mean(dim=0))
        self.scale.copy_(frames.std(dim=0).clamp(min=0.05))


class _Block(nn.Module):
    """A residual layer that sees one step to either side."""

    def __init__(self, width: int, dropout: float):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.around = nn.Linear(3 * width, width)
        self.drop = nn.Dropout(dropout)

    def forward(self, x: Tensor, spacing: int) -> Tensor:
        """(B, T, width) to (B, T - 2 spacing, width)."""
        activated = functional.gelu(self.norm(x))
        around = torch.cat(
            [activated[:, : -2 * spacing], activated[:, spacing:-spacing], activated[:, 2 * spacing :]], dim=-1
        )
        added: Tensor = x[:, spacing:-spacing] + self.drop(self.around(around))
        return added


@torch.no_grad()
def describe(x: Tensor, spacing: int) -> Tensor:
    """Hand-crafted features of frames; nothing here is learned.

    Args:
        x: (B, T, 69, 4) landmark features.
        spacing: frames in a step.

    Returns:
        (B, T - 2 spacing, SEEN): raised hands and headings, which the linear map sees, then hands and arms that are
        raised.
    """
    inside, arms = x[:, spacing:-spacing], x[:, :, :_BODY_JOINTS]
    steps = torch.stack([arms[:, : -2 * spacing], arms[:, spacing:-spacing], arms[:, 2 * spacing :]], dim=2)
    plain = geometry.raised_hands(inside)
    use = plain[..., [0, geometry.RAISED_HANDS // 2]]  # of the left and the right hand: 1 raised, 0 at rest
    parts = [plain, geometry.heading(steps)[:, :, 0], _hands_in_use(inside, use), _arms_in_use(inside, use)]
    return torch.cat(parts, dim=-1)


def _hands_in_use(x: Tensor, use: Tensor) -> Tensor:
    """(B, T, 69, 4) and (B, T, 2) to (B, T, 2 HAND): both hands; one at rest gives zeros, to the other, too."""
    described = geometry.hands(x) * use[..., None]
    described[..., _OTHER_WRIST] *= use.flip(-1)[..., None]
    return described.flatten(-2)


def _arms_in_use(x: Tensor, use: Tensor) -> Tensor:
    """(B, T, 69, 4) and (B, T, 2) to (B, T, BODY): the body; an arm at rest gives zeros."""
    points = x[:, :, :_BODY_JOINTS].clone()
    points[:, :, 3:] *= use.repeat(1, 1, 2)[..., None]  # elbows and wrists, left before right
    return geometry.body(points)


def stretched(codes: Tensor, start: float, end: float, frames: int = SIGN_FRAMES) -> Tensor:
    """(T, C) codes to (frames, C): interpolated at equal steps from frame `start` to frame `end`, both included."""
    positions = torch.linspace(start, end, frames, dtype=torch.float64).clamp(0, len(codes) - 1)
    below = positions.floor().long().clamp(max=max(0, len(codes) - 2))
    share = (positions - below).to(codes.dtype)[:, None]
    return torch.lerp(codes[below], codes[(below + 1).clamp(max=len(codes) - 1)], share)
