"""Encoders from and to files: ours (safetensors and a JSON card), and the public checkpoints. Never by pickle."""

import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import asdict
from os import PathLike
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from signspot.errors import CheckpointError, OptionsError
from signspot.io.files import atomic_write
from signspot.models.contract import Built, Encoder
from signspot.models.encoder import SignEncoder, content_hash, find_device, make_encoder
from signspot.models.opening import find_weights, licence_logger, log_licence, shipped
from signspot.models.registry import build
from signspot.models.weight_files import (
    read_header,
    read_shapes,
    read_weights,
    recognise,
    to_ours,
    to_public,
    without_wrappers,
)

__all__ = [
    "PUBLIC_I3D_MLP",
    "check_fit",
    "check_sizes",
    "fill",
    "licence_logger",
    "load_encoder",
    "save_encoder",
    "shapes",
    "shipped",
]

# What the published embeddings of BSLDict call the encoder that made them. Its weights are not ours to ship, so its
# content hash is not known here; any public I3D with an MLP answers to this name.
PUBLIC_I3D_MLP = "public-i3d_mlp"

_HEADER = "signspot"  # under which a copy of the card stands in the safetensors header
_MOST_CARD_BYTES = 10_000_000
_LARGEST_OPTION = 1_000_000  # of a network, as a card gives it
_MOST_LAYERS = 1000  # and of the options below, for each of which layers are made one by one
_LAYERED = ("blocks", "frames", "linear_frames", "spacing")
_FOR_PEOPLE = ("licence", "data", "metrics", "command", "config", "false_alarms_per_hour")

logger = logging.getLogger(__name__)


def load_encoder(name_or_path: str | PathLike[str] | None = None, *, device: str = "cpu") -> Encoder:
    """Load an encoder, ready to embed. Its licence is logged, once per process.

    Args:
        name_or_path: a name out of `shipped()`, one of our `.safetensors` files, or a public checkpoint (I3D with
            its MLP, or I3D alone: then the trunk's 1024 features at unit norm are the embedding). None: the
            default.
        device: where it embeds: "cpu", "cuda", "mps", or "auto" for the fastest that is there.

    Raises:
        OptionsError: there is no such device.
        UnsafeFileError: the file asks to run code. Nothing is run.
        CheckpointError: there is no such file, it is damaged, or it does not fit the network; the message lists
            what is missing, unexpected or of another shape.
    """
    find_device(device)  # before anything is read
    path = find_weights(name_or_path)
    card = _read_card(path)
    encoder = (_load_ours(path, card) if card is not None else _load_public(path)).to(device)
    log_licence(encoder.name, str(encoder.card.get("licence") or ""))
    return encoder


def save_encoder(encoder: Encoder, path: str | PathLike[str], *, half: bool = False) -> Encoder:
    """Write weights to a `.safetensors` file and a card beside it, with the suffix `.json`.

    Args:
        encoder: what to write; of its card, licence, data, metrics and command are kept.
        path: where to.
        half: store weights in 16 bits.

    Returns:
        The encoder that the file now holds: in 16 bits its weights are rounded, so its hash is another.
    """
    target = Path(path)
    if target.suffix != ".safetensors":
        raise OptionsError(f"weights are written as .safetensors; got '{target.name}'")
    state = {name: _stored(name, value, half=half) for name, value in encoder.module.state_dict().items()}
    module = _build_quietly(encoder.module.architecture, encoder.module.options)
    fill(module, state, target.name)
    card = _make_card(encoder, content_hash(module, encoder.contract))
    with atomic_write(target) as temporary:
        save_file(state, temporary, metadata={_HEADER: json.dumps(card, sort_keys=True)})
    with atomic_write(target.with_suffix(".json")) as temporary:
        temporary.write_text(json.dumps(card, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return Encoder(encoder.name, encoder.contract, Built(module.eval()), card["hash"], card)


def _read_card(path: Path) -> dict[str, Any] | None:
    """The card of one of our files: the one beside it, else the copy in its header; None for other files."""
    if path.suffix != ".safetensors":
        return None
    header = read_header(path).get(_HEADER)
    card_file = path.with_suffix(".json")
    try:
        if header and card_file.is_file():
            if card_file.stat().st_size > _MOST_CARD_BYTES:
                raise CheckpointError(f"the card of {path.name} has more than {_MOST_CARD_BYTES:,} bytes")
            header = card_file.read_text(encoding="utf-8")
        card = json.loads(header) if header else None
    except (OSError, ValueError, RecursionError) as error:
        raise CheckpointError(f"the card of {path.name} cannot be read ({error})") from error
    if card is not None and not isinstance(card, dict):
        raise CheckpointError(f"the card of {path.name} is no JSON object")
    return card


def _make_card(encoder: Encoder, digest: str) -> dict[str, Any]:
    contract, version = asdict(encoder.contract), encoder.module.trunk.input_version
    return {
        "name": encoder.name,
        "architecture": encoder.module.architecture,
        "options": encoder.module.options,
        "threshold": contract.pop("threshold"),
        "contract": contract,
        "hash": digest,
        **({"input_version": version} if version is not None else {}),
        **{key: encoder.card.get(key, "") for key in _FOR_PEOPLE},
    }


def _load_ours(path: Path, card: dict[str, Any]) -> Encoder:
    try:
        check_sizes(card["options"])
        with torch.device("meta"):  # shapes without memory
            check_fit(shapes(build(card["architecture"], **card["options"])), read_shapes(path), path.name)
        module = _build_quietly(card["architecture"], card["options"])
        fps, threshold = float(card["contract"]["fps"]), float(card["threshold"])
        stated = {**card["contract"], "threshold": threshold}
    except (KeyError, TypeError, ValueError, RuntimeError, OverflowError) as error:  # an OptionsError is a ValueError
        reason = f"it lacks {error}" if isinstance(error, KeyError) else str(error)
        raise CheckpointError(f"the card of {path.name} cannot be used: {reason}") from error
    known, made = card.get("input_version"), module.trunk.input_version
    if known != made:
        raise CheckpointError(
            f"{path.name} was trained on {stated.get('kind')} input of version {known}; this signspot makes version "
            f"{made}. Train it again."
        )
    fill(module, read_weights(path), path.name)
    encoder = make_encoder(str(card.get("name", path.stem)), module, fps=fps, threshold=threshold, card=card)
    if asdict(encoder.contract) != stated or encoder.hash != card.get("hash"):
        raise CheckpointError(f"the card of {path.name} describes other weights. Fetch both files again, together.")
    return encoder


def _load_public(path: Path) -> Encoder:
    state = without_wrappers(read_weights(path))
    options, prefix = recognise(state, path.name)
    module = _build_quietly("i3d", options)
    ours = {to_ours(name, prefix): value for name, value in state.items()}
    fill(module, ours, path.name, lambda name: to_public(name, prefix))
    logger.info("%s: I3D with %s", path.name, "its MLP" if options.get("mlp", True) else "no MLP: 1024 features")
    card: dict[str, Any] = {"architecture": "i3d", "options": module.options, "source": path.name}
    if options.get("mlp", True):
        card["public_name"] = PUBLIC_I3D_MLP
    return make_encoder(path.name.split(".")[0], module, card=card)


def _build_quietly(architecture: str, options: Mapping[str, Any]) -> SignEncoder:
    """Build a network without moving the caller's random numbers."""
    with torch.random.fork_rng(devices=[]):
        return build(architecture, **options)


def _stored(name: str, value: Tensor, *, half: bool) -> Tensor:
    kept = value.detach().cpu().contiguous()
    if not (half and kept.is_floating_point()):
        return kept.clone()
    rounded = kept.half()
    if not rounded.isfinite().all():
        raise OptionsError(f"the weights '{name}' do not fit into 16 bits. Save with half=False.")
    return rounded


def fill(module: nn.Module, state: Mapping[str, Tensor], source: str, in_file: Callable[[str], str] = str) -> None:
    """Put weights into a network, or list all that does not fit, by the names `in_file` gives.

    Raises:
        CheckpointError: something does not fit, or is no number.
    """
    found = {key: tuple(value.shape) for key, value in state.items()}
    check_fit(shapes(module), found, source, in_file)
    broken = [in_file(key) for key, value in state.items() if value.is_floating_point() and not value.isfinite().all()]
    if broken:
        raise CheckpointError(f"{source} holds NaN or infinite weights in {len(broken)} tensors ({_first_few(broken)})")
    module.load_state_dict(dict(state), strict=False)


def check_fit(
    wanted: Mapping[str, tuple[int, ...]],
    found: Mapping[str, tuple[int, ...]],
    source: str,
    in_file: Callable[[str], str] = str,
) -> None:
    """List all that does not fit between the shapes of a network and those of a file.

    Raises:
        CheckpointError: something does not fit.
    """
    missing = [in_file(key) for key in wanted if key not in found and not key.endswith("num_batches_tracked")]
    unexpected = [in_file(key) for key in found if key not in wanted]
    other = [
        f"{in_file(key)} {found[key]} instead of {wanted[key]}"
        for key in wanted
        if key in found and found[key] != wanted[key]
    ]
    lists = {"missing": missing, "unexpected": unexpected, "of another shape": other}
    problems = [f"{len(keys)} {what} ({_first_few(keys)})" for what, keys in lists.items() if keys]
    if problems:
        raise CheckpointError(f"{source} does not fit its network: {'; '.join(problems)}")


def shapes(module: nn.Module) -> dict[str, tuple[int, ...]]:
    """The shape of every tensor of a network, by its name."""
    return {key: tuple(value.shape) for key, value in module.state_dict().items()}


def check_sizes(options: Mapping[str, Any]) -> None:
    """Refuse a card whose network would take for ever to put together, even without memory.

    Raises:
        OptionsError: an option is beyond all measure.
        TypeError: there are no options.
    """
    if not isinstance(options, dict):
        raise TypeError("its options are no JSON object")
    for name, value in options.items():
        most = _MOST_LAYERS if name in _LAYERED else _LARGEST_OPTION
        if isinstance(value, int | float) and not -most <= value <= most:
            raise OptionsError(f"'{name}' is {value}; at most {most:,} is taken from a card")


def _first_few(keys: list[str]) -> str:
    return ", ".join(keys[:4]) + (" ..." if len(keys) > 4 else "")
