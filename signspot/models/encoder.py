"""Encoders, the contract that says what one sees, and encoders by name or path.

Nothing here loads PyTorch: a track and exemplars that were embedded before are compared without the network. A first
loading builds the network, checks the weights against their card and notes the result in the cache, by the content of
the files. From then on an encoder comes from that note; its network is built when something must be embedded.
"""

import hashlib
import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cache, cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from signspot.errors import CheckpointError, OutputError, SignspotError
from signspot.io.checks import parse_json
from signspot.io.files import atomic_write, content_digest, text_digest
from signspot.version import VERSION

if TYPE_CHECKING:
    import torch

    from signspot.models.encoder_network import SignEncoder

Kind = Literal["rgb", "landmarks"]
PUBLISHED = "model.safetensors"  # the weights in a folder as Hugging Face lays it out


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


DEFAULT = "landmark"
_SHIPPED = Path(__file__).parent / "weights"
_NETWORKS = 1  # raised whenever the same weights give another network, contract or hash

logger = logging.getLogger(__name__)
licence_logger = logging.getLogger("signspot.licence")  # the command line shows it, whatever else it shows


def shipped() -> list[str]:
    """The names of the encoders that come with the package."""
    return sorted(path.stem for path in _SHIPPED.glob("*.safetensors"))


def open_encoder(name_or_path: str | PathLike[str] | None, cache: Path | None, *, device: str = "cpu") -> Encoder:
    """As `checkpoints.load_encoder`, but the network of one that was loaded before is built only when it is needed.

    Args:
        name_or_path: as there.
        cache: the cache folder, in which it is noted which files were loaded; None: it is loaded now.
        device: as there; anything but "cpu" needs the network at once.
    """
    path = find_weights(name_or_path)
    entry = None if cache is None or device != "cpu" else _entry(cache, path)
    cached_hash = None if entry is None else _recall(entry, path)
    if cached_hash is not None:
        log_licence(cached_hash.name, str(cached_hash.card.get("licence") or ""))
        return cached_hash
    from signspot.models.checkpoints import load_encoder

    encoder = load_encoder(name_or_path, device=device)
    if entry is not None:
        _note(entry, encoder)
    return encoder


@dataclass(frozen=True, slots=True)
class _Unbuilt:
    """A network that is built, and checked again, when it is needed."""

    path: str
    hash: str  # that it must have

    def __call__(self) -> "SignEncoder":
        from signspot.models.checkpoints import load_encoder

        encoder = load_encoder(self.path)
        if encoder.hash != self.hash:
            raise CheckpointError(f"the weights {self.path} were replaced by others meanwhile. Start again")
        return encoder.module


def _entry(cache: Path, path: Path) -> Path:
    """The file that notes what weights, and the card beside them, held when they were loaded."""
    card_file = card_beside(path)
    card = content_digest(card_file) if path.suffix == ".safetensors" and card_file.is_file() else ""
    made_by = text_digest(json.dumps([card, VERSION, _NETWORKS, path.name]))
    return cache / "encoders" / f"{content_digest(path)}-{made_by}.json"


def _recall(entry: Path, path: Path) -> Encoder | None:
    """The encoder that was noted; None where there is no note, or one that cannot be used."""
    try:
        noted = parse_json(entry.read_text(encoding="utf-8"), entry.name) if entry.is_file() else None
        if not isinstance(noted, dict) or not isinstance(noted["card"], dict):
            return None
        contract, name, digest = Contract(**noted["contract"]), noted["name"], noted["hash"]
    except (OSError, ValueError, TypeError, KeyError, SignspotError) as error:
        logger.info("the cache entry of an encoder cannot be read (%s); it is loaded again", error)
        return None
    if not (isinstance(name, str) and isinstance(digest, str)):
        return None
    return Encoder(name, contract, _Unbuilt(str(path.absolute()), digest), digest, noted["card"])


def _note(entry: Path, encoder: Encoder) -> None:
    noted: dict[str, Any] = {"name": encoder.name, "hash": encoder.hash}
    noted |= {"contract": asdict(encoder.contract), "card": dict(encoder.card)}
    try:
        with atomic_write(entry) as temporary:
            temporary.write_text(json.dumps(noted, ensure_ascii=False), encoding="utf-8")
    except OutputError as error:
        logger.info("the cache cannot be used: %s", error)


@cache
def log_licence(name: str, licence: str) -> None:
    """Say under which licence weights are; the cache makes it once per process."""
    if licence:
        licence_logger.info("%s: %s, see signspot models %s", name, licence, name)


def card_beside(weights: Path) -> Path:
    """The file of the card of a weights file; in a folder as models are published, that is config.json."""
    published = weights.with_name("config.json")
    return published if weights.name == PUBLISHED and published.is_file() else weights.with_suffix(".json")


def find_weights(name_or_path: str | PathLike[str] | None) -> Path:
    """The file that a name or a path stands for."""
    names = shipped()
    if name_or_path is None and DEFAULT not in names:
        raise CheckpointError(
            f"this copy of signspot comes without weights (models/weights/{DEFAULT}.safetensors is missing). "
            "Install a release, or give the path of a weights file."
        )
    name = DEFAULT if name_or_path is None else name_or_path
    if name in names:
        return _SHIPPED / f"{name}.safetensors"
    path = Path(name)
    path = path / PUBLISHED if (path / PUBLISHED).is_file() else path
    if not path.is_file():
        problem = f"it is a folder without {PUBLISHED}" if path.is_dir() else "there is no such file"
        shipped_names = f"Shipped: {', '.join(names)}" if names else "No weights are shipped"
        raise CheckpointError(f"no weights at '{path}': {problem}. {shipped_names}.")
    return path
