"""An encoder and the contract that says what it sees, so nothing needs a second config.

Nothing here loads PyTorch: a track and exemplars that were embedded before are compared without the network.
"""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import torch

    from signspot.models.encoder import SignEncoder

Kind = Literal["rgb", "landmarks"]


@dataclass(frozen=True)
class Contract:
    """Input and output of an encoder."""

    kind: Kind  # of input
    frames: int = 16  # in a clip
    fps: float = 25.0  # frames per second
    dimension: int = 256  # of an embedding
    image_size: int | None = None  # pixels of a side, for rgb
    joints: int | None = None  # for landmarks
    channels: int | None = None  # for landmarks
    threshold: float = 0.7  # the score from which a window counts as a spotting, unless the user says else
    codes: int = 0  # numbers in the code of one frame; 0: the encoder gives no frame codes

    def __post_init__(self) -> None:
        object.__setattr__(self, "fps", float(self.fps))  # 25 and 25.0 are one contract, and one hash
        object.__setattr__(self, "threshold", float(self.threshold))

    @property
    def can_mirror(self) -> bool:
        """Whether exemplars can be compared mirrored left to right, too."""
        return self.kind == "landmarks"

    @property
    def dense_is_free(self) -> bool:
        """Whether all windows of stride 1 cost about as much as a few: the whole video passes through at once."""
        return self.kind == "landmarks"


@dataclass(frozen=True, slots=True)
class Built:
    """A network that is there already."""

    network: "SignEncoder"

    def __call__(self) -> "SignEncoder":
        """Give it."""
        return self.network


@dataclass(frozen=True, eq=False)
class Encoder:
    """A network with its weights, ready to embed."""

    name: str
    contract: Contract
    build: "Callable[[], SignEncoder]" = field(repr=False)  # gives the network, once something must be embedded
    hash: str  # of contract, weights and precision: encoders of one hash give the same embeddings (`content_hash`)
    card: Mapping[str, Any] = field(default_factory=dict, repr=False)  # licence, data, metrics, command ...

    @cached_property
    def module(self) -> "SignEncoder":
        """The network; built when it is first asked for, which may load PyTorch."""
        return self.build()

    @property
    def device(self) -> "torch.device":
        """The device of the weights, to which clips have to go."""
        import torch

        return next((parameter.device for parameter in self.module.parameters()), torch.device("cpu"))

    def to(self, device: str) -> "Encoder":
        """Move the weights, in place, to a device by its name (see `backends.find_backend`).

        Returns:
            This encoder; where rgb windows lose precision there, one with a hash of its own.
        """
        from signspot.models.backends import find_backend

        backend = find_backend(device)
        self.module.to(backend.device)
        self.module.trunk.backend = backend
        if backend.is_exact or self.contract.kind != "rgb":
            return self
        marked = hashlib.sha256(f"{self.hash} {backend.name}".encode()).hexdigest()[:16]
        return replace(self, build=Built(self.module), hash=marked)
