"""The network of an encoder: a trunk and an embedding MLP, which know the contract that they keep."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from signspot.errors import OptionsError
from signspot.models.backends import Backend, find_backend
from signspot.models.batch_norm import Domain, check_domain, use_domain
from signspot.models.encoder import Built, Contract, Encoder, Kind
from signspot.models.mlp import Head

WindowFunction = Callable[[Tensor, Sequence[int]], Tensor]  # (N, ...) frames, first frames of windows → (n, 1024)
Examples = Callable[[], Tensor]  # gives (S, N, ...) runs of frames on which a backend is calibrated


class Trunk(nn.Module):
    """A network from clips to features, which also knows how the windows of a whole video pass through it.

    A new trunk is a subclass in a module of its own, and a line in `registry`.
    """

    kind: ClassVar[Kind]  # of input
    time_axis: ClassVar[int] = 1  # of the frames in a batch of clips
    block: ClassVar[int] = 16  # windows that pass at once when a video is embedded
    input_version: ClassVar[int | None] = None  # of the features it was trained on, where their definition may change
    codes: int = 0  # numbers in a frame code; 0: it gives none
    code_reach: int = 0  # frames before and after a frame that its code is computed from, too
    frames: int  # in a clip
    dimension: int  # of the features
    backend: Backend = Backend()  # how windows are embedded, where a trunk leaves it a choice

    def input_shape(self) -> dict[str, int]:
        """The fields of the contract that describe one frame of input."""
        raise NotImplementedError

    def settings(self) -> list[str]:
        """Settings that decide the features, but are neither weights nor shapes of weights."""
        return []

    def optimise(self) -> None:
        """Lay out the weights in memory as inference likes them, in place."""

    def frame_codes(self, frames: Tensor) -> Tensor:
        """(N + 2 code_reach, ...) frames of a video to (N, codes) codes, one per frame that has all its neighbours."""
        raise OptionsError(f"{type(self).__name__} gives no frame codes")

    def window_features(self, examples: Examples | None = None) -> WindowFunction:
        """A function from the frames of a video, and where windows begin, to the features of the windows.

        Args:
            examples: asked for where the backend needs them.
        """

        def cut_out(frames: Tensor, starts: Sequence[int]) -> Tensor:
            clips = torch.stack([frames[start : start + self.frames] for start in starts])
            features: Tensor = self(clips.movedim(1, self.time_axis))
            return features

        return cut_out

    def pooled(self, sign: Tensor) -> Tensor:
        """(B, L, codes) codes of isolated signs, stretched to L frames, to (B, dimension) features."""
        raise OptionsError(f"{type(self).__name__} gives no frame codes")


class SignEncoder(nn.Module):
    """A trunk and an embedding MLP: clips in, embeddings of unit norm out.

    Whatever passes through the trunk says its domain here, so that domain-specific layers cannot be forgotten.
    """

    def __init__(self, trunk: Trunk, mlp: Head, architecture: str, options: Mapping[str, Any]) -> None:
        super().__init__()
        self.trunk = trunk
        self.mlp = mlp
        self.architecture = architecture  # its name in the registry
        self.options = dict(options)  # with which the registry builds it again
        self._prepared: dict[tuple[Domain, Backend], WindowFunction] = {}

    def forward(self, clips: Tensor, domain: Domain = "continuous") -> Tensor:
        """Clips to (B, D) embeddings of unit norm.

        Args:
            clips: (B, 3, F, H, W) in [-0.5, 0.5] for an rgb trunk, (B, F, J, C) for a landmark trunk.
            domain: where the clips come from; it matters only to an encoder with domain-specific layers.
        """
        embeddings: Tensor = self.mlp(self.features(clips, domain), domain)
        return embeddings

    def features(self, clips: Tensor, domain: Domain) -> Tensor:
        """(B, ...) clips to (B, 1024) features of the trunk, by the layers of `domain`."""
        with use_domain(self.trunk, check_domain(domain)):
            features: Tensor = self.trunk(clips)
        return features

    def window_features(self, domain: Domain = "continuous", examples: Examples | None = None) -> WindowFunction:
        """As `Trunk.window_features`, by the layers of `domain`; of the weights as they are now.

        A backend that takes long to prepare is prepared once: of the weights as they were then.
        """
        key = domain, self.trunk.backend
        compute = self._prepared.get(key)
        if compute is None:
            with use_domain(self.trunk, check_domain(domain)):
                compute = self.trunk.window_features(examples)  # it may hold a copy of the trunk, with its domain
            if self.trunk.backend.has_fixed_shapes:
                self._prepared[key] = compute  # preparing takes long, and such a backend is for weights that stay

        def features(frames: Tensor, starts: Sequence[int]) -> Tensor:
            with use_domain(self.trunk, domain):
                return compute(frames, starts)

        return features

    def frame_codes(self, frames: Tensor, domain: Domain) -> Tensor:
        """As `Trunk.frame_codes`, by the layers of `domain`."""
        with use_domain(self.trunk, check_domain(domain)):
            return self.trunk.frame_codes(frames)

    def contract(self, *, fps: float = 25.0, threshold: float = 0.7) -> Contract:
        """Say what this network sees and gives."""
        trunk = self.trunk
        shape: dict[str, Any] = {**trunk.input_shape(), "codes": trunk.codes}
        return Contract(trunk.kind, trunk.frames, fps, self.mlp.dimension, threshold=threshold, **shape)


def find_device(name: str) -> torch.device:
    """The device of a name, as `backends.find_backend`; how it runs there is left out.

    Raises:
        OptionsError: there is no such device on this computer.
    """
    return find_backend(name).device


def make_encoder(
    name: str,
    module: SignEncoder,
    *,
    fps: float = 25.0,
    threshold: float = 0.7,
    card: Mapping[str, Any] | None = None,
) -> Encoder:
    """Make an encoder of a network as it is now, set to evaluation.

    Args:
        name: what people call it.
        module: the network.
        fps: the frame rate that it was trained on.
        threshold: the score from which a window counts as a spotting by default.
        card: what people should know about the weights.
    """
    module.trunk.optimise()
    contract = module.contract(fps=fps, threshold=threshold)
    return Encoder(name, contract, Built(module.eval()), content_hash(module, contract), dict(card or {}))


def content_hash(module: SignEncoder, contract: Contract) -> str:
    """Name all that decides the embeddings by 16 hex digits.

    One hash promises the same numbers to the rounding of float32, on every processor and exact device (`cpu`,
    `cpu-compiled`, `openvino`, `cuda`, `mps`) and with any number of threads, which decides the last digits of sums
    only. What computes in fewer bits gets a hash of its own (`Encoder.to`), which promises the same weights, precision
    and calibration; its numbers agree between processors to the rounding of that precision.

    The threshold is left out, so that a track stays valid when an encoder is calibrated anew; so is the count
    of batches that a batch norm has seen. Weights count as float32, whatever the file holds.
    """
    counted = {key: value for key, value in asdict(contract).items() if key != "threshold"}
    digest = hashlib.sha256(json.dumps([module.architecture, counted], sort_keys=True).encode())
    for name, tensor in sorted(module.state_dict().items()):
        if not name.endswith("num_batches_tracked"):
            digest.update(f"{name} {tuple(tensor.shape)}\n".encode())
            digest.update(tensor.detach().to("cpu", torch.float32).contiguous().numpy().tobytes())
    for setting in module.trunk.settings():
        digest.update(f"{setting}\n".encode())
    return digest.hexdigest()[:16]
