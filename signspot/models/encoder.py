"""An encoder: a trunk, an embedding MLP, and a contract that says what it sees, so nothing needs a second config."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import torch
from torch import Tensor, nn

from signspot.errors import OptionsError
from signspot.models import landmark_geometry
from signspot.models.batch_norm import Domain, check_domain, use_domain
from signspot.models.inception import InceptionTrunk, use_channels_last
from signspot.models.landmark_trunk import LandmarkTrunk
from signspot.models.mlp import DomainMlp, EmbeddingMlp, TwoPartMlp, UnitNorm

Kind = Literal["rgb", "landmarks"]
Trunk = InceptionTrunk | LandmarkTrunk
Mlp = EmbeddingMlp | DomainMlp | TwoPartMlp | UnitNorm


@dataclass(frozen=True)
class Contract:
    """What an encoder sees and gives."""

    kind: Kind  # of input
    frames: int = 16  # in a clip
    fps: float = 25.0  # frames a second
    dimension: int = 256  # of an embedding
    image_size: int | None = None  # pixels of a side, for rgb
    joints: int | None = None  # for landmarks
    channels: int | None = None  # for landmarks
    threshold: float = 0.7  # the score from which a window counts as a spotting, unless the user says else

    def __post_init__(self) -> None:
        object.__setattr__(self, "fps", float(self.fps))  # 25 and 25.0 are one contract, and one hash
        object.__setattr__(self, "threshold", float(self.threshold))


class SignEncoder(nn.Module):
    """A trunk and an embedding MLP: clips in, embeddings of unit norm out."""

    def __init__(self, trunk: Trunk, mlp: Mlp, architecture: str, options: Mapping[str, Any]) -> None:
        super().__init__()
        self.trunk = trunk
        self.mlp = mlp
        self.architecture = architecture  # its name in the registry
        self.options = dict(options)  # with which the registry builds it again

    def forward(self, clips: Tensor, domain: Domain = "continuous") -> Tensor:
        """Clips to (B, D) embeddings of unit norm.

        Args:
            clips: (B, 3, F, H, W) in [-0.5, 0.5] for an rgb trunk, (B, F, J, C) for a landmark trunk.
            domain: where the clips come from; it matters only to an encoder with domain-specific layers.
        """
        with use_domain(self.trunk, check_domain(domain)):
            features = self.trunk(clips)
        embeddings: Tensor = self.mlp(features, domain)
        return embeddings

    def dense(self, x: Tensor, domain: Domain = "continuous") -> Tensor:
        """(B, T, J, C) landmark features to (B, T - F + 1, D): every window of stride 1, in one pass."""
        if not isinstance(self.trunk, LandmarkTrunk):
            raise OptionsError(f"the dense pass is for landmark trunks; '{self.architecture}' sees pixels")
        with use_domain(self.trunk, check_domain(domain)):
            features = self.trunk.dense(x)
        embeddings: Tensor = self.mlp(features, domain)
        return embeddings

    def contract(self, *, fps: float = 25.0, threshold: float = 0.7) -> Contract:
        """Say what this network sees and gives."""
        trunk = self.trunk
        shape = (
            {"joints": trunk.joints, "channels": trunk.channels}
            if isinstance(trunk, LandmarkTrunk)
            else {"image_size": trunk.image_size}
        )
        return Contract(trunk.kind, trunk.frames, fps, self.mlp.dimension, threshold=threshold, **shape)


@dataclass(frozen=True, eq=False)
class Encoder:
    """A network with its weights, ready to embed."""

    name: str
    contract: Contract
    module: SignEncoder = field(repr=False)
    hash: str  # of contract and weights: two encoders with one hash give the same embeddings
    card: Mapping[str, Any] = field(default_factory=dict, repr=False)  # licence, data, metrics, command ...


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
    if isinstance(module.trunk, InceptionTrunk):
        use_channels_last(module.trunk)
    contract = module.contract(fps=fps, threshold=threshold)
    return Encoder(name, contract, module.eval(), content_hash(module, contract), dict(card or {}))


def content_hash(module: SignEncoder, contract: Contract) -> str:
    """Name all that decides the embeddings by 16 hex digits.

    The threshold is left out, so that a track stays valid when an encoder is calibrated anew; so is the count
    of batches that a batch norm has seen. Weights count as float32, whatever the file holds.
    """
    said = {key: value for key, value in asdict(contract).items() if key != "threshold"}
    digest = hashlib.sha256(json.dumps([module.architecture, said], sort_keys=True).encode())
    for name, tensor in sorted(module.state_dict().items()):
        if not name.endswith("num_batches_tracked"):
            digest.update(f"{name} {tuple(tensor.shape)}\n".encode())
            digest.update(tensor.detach().to("cpu", torch.float32).contiguous().numpy().tobytes())
    for other in _beside_weights(module):
        digest.update(f"{other}\n".encode())
    return digest.hexdigest()[:16]


def _beside_weights(module: SignEncoder) -> list[str]:
    """What decides the embeddings, but is neither a weight nor the shape of one."""
    found = [f"linear weight {module.mlp.weight}"] if isinstance(module.mlp, TwoPartMlp) else []
    if isinstance(module.trunk, InceptionTrunk) and module.trunk.motion:
        found.append("motion")
    if isinstance(module.trunk, LandmarkTrunk):
        found.append(f"landmark features {landmark_geometry.FEATURES}")
    return found
