"""Encoders from and to files: ours (safetensors and a JSON card), and the public checkpoints; tensors only.

Pickles are read by torch's restricted unpickler in another process, with limits on time and memory (a crafted one can
still exhaust or crash it), and come from there as safetensors. What else a pickle asks for is ignored if harmless and
refused if not.
"""

import json
import logging
import pickletools
import re
import tempfile
import warnings
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import IO, Any, TypeVar

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from signspot.errors import CheckpointError, OptionsError, SandboxLimitError, UnsafeFileError
from signspot.io.files import atomic_write
from signspot.io.sandbox import Limits, Sandbox
from signspot.models.encoder import PUBLISHED, Built, Encoder, card_beside, find_weights, log_licence
from signspot.models.encoder_network import SignEncoder, content_hash, find_device, make_encoder
from signspot.models.registry import build

Network = TypeVar("Network", bound=nn.Module)
_MEMORY = 4 << 30  # bytes for reading pickled weights, beyond what torch itself takes
_SECONDS = 120.0  # for any file,
_RATE = 5e6  # and a second for so many bytes
_MOST_MEMBERS = 100_000  # of a zip archive: one for each tensor
_MOST_NAMES = 200_000  # operations in which names are looked for
_LARGEST = 1 << 40  # bytes of the safetensors that it writes
_sandbox = Sandbox(Limits(memory=_MEMORY, file_size=_LARGEST))

# Where a training run puts its weights among other things.
_WRAPPERS = ("state_dict", "model_state_dict", "model")

# What pickled weights themselves are made of.
_NEEDED = re.compile(
    r"collections\.OrderedDict|_codecs\.encode|torch\.(Size|device|\w+Storage|(b?float|u?int|complex)\d+|bool"
    r"|storage\.\w+|nn\.parameter\.Parameter|serialization\._get_layout|_utils\._rebuild_\w+|_tensor\._rebuild\w+)"
)

# What training runs store beside their weights: numbers, arguments, paths. Read as nothing at all.
_HARMLESS = (
    "argparse.Namespace",
    "pathlib.PosixPath",
    "pathlib.WindowsPath",
    "numpy.dtype",
    "numpy.ndarray",
    "numpy.core.multiarray.scalar",
    "numpy.core.multiarray._reconstruct",
    "numpy._core.multiarray.scalar",
    "numpy._core.multiarray._reconstruct",
)


class _Nothing:
    """Stands for anything that is not a weight; takes what it is given and does nothing with it."""

    def __new__(cls, *args: object) -> "_Nothing":
        return super().__new__(cls)

    def __init__(self, *args: object) -> None:
        pass

    def __setstate__(self, state: object) -> None:
        pass


def read_weights(path: Path) -> dict[str, Tensor]:
    """Read the tensors of a `.safetensors`, `.pth`, `.pt` or `.pth.tar` file, by their names in the file.

    Raises:
        UnsafeFileError: the file asks to run code. Nothing is run.
        CheckpointError: it cannot be read, or holds no weights.
    """
    _check_readable(path)
    if path.suffix == ".safetensors":
        return _read_safetensors(path)
    with tempfile.TemporaryDirectory(prefix="signspot-") as folder:
        converted = Path(folder) / "weights.safetensors"
        try:
            _read_in_sandbox(path, converted)
        except SandboxLimitError as error:
            raise CheckpointError(f"{path.name} is not a weights file that can be read: {error}") from error
        return _read_safetensors(converted)


def read_state(path: Path) -> Any:
    """Read what a training saved with torch to go on from: tensors, numbers, texts, and lists and dicts of them.

    It is read in the other process first, with limits; only a file that passes is read here.

    Raises:
        UnsafeFileError: the file asks to run code. Nothing is run.
        CheckpointError: it cannot be read.
    """
    _check_readable(path)
    try:
        _read_in_sandbox(path, None)
    except SandboxLimitError as error:
        raise CheckpointError(f"{path.name} cannot be read: {error}.") from error
    return _read_pickle(path)


def _read_in_sandbox(path: Path, target: Path | None) -> None:
    seconds = _SECONDS + path.stat().st_size / _RATE
    _sandbox.call("signspot.models.checkpoints:convert", path.resolve(), target, seconds=seconds)


def convert(path: Path, target: Path | None) -> None:
    """In the sandbox: read pickled weights and write them to `target`, if any, as safetensors."""
    content = _read_pickle(path)
    if target is None:
        return
    state = _unwrap(content, path)
    size = sum(value.numel() * value.element_size() for value in state.values())
    if size > 2 * path.stat().st_size + (1 << 20):  # a tensor that repeats one number takes no space in its file
        raise CheckpointError(f"{path.name} holds tensors of {size:,} bytes in {path.stat().st_size:,}. Save it again.")
    try:
        save_file({name: value.contiguous().clone() for name, value in state.items()}, target)
    except (SafetensorError, ValueError, KeyError, TypeError) as error:
        raise CheckpointError(f"{path.name} holds tensors that are not plain numbers ({error})") from error


def read_header(path: Path) -> dict[str, str]:
    """Read the texts in the header of a `.safetensors` file."""
    with _open_safetensors(path) as file:
        return dict(file.metadata() or {})


def load_network(path: Path, options: Mapping[str, Any], make: Callable[[], Network]) -> Network:
    """The network that a card describes, with the weights of a `.safetensors` file, which is opened once.

    Args:
        path: of the file.
        options: of the network, as the card has them.
        make: the network without weights. The caller's random numbers do not move.

    Raises:
        OptionsError, TypeError: the options are beyond all measure.
        CheckpointError: the file cannot be read, or does not fit; no memory is taken before that is known.
    """
    check_sizes(options)
    with torch.device("meta"):  # shapes without memory
        wanted = shapes(make())
    with _open_safetensors(path) as file:
        names = list(file.keys())
        check_fit(wanted, {name: tuple(file.get_slice(name).get_shape()) for name in names}, path.name)
        state = {name: file.get_tensor(name) for name in names}
    with torch.random.fork_rng(devices=[]):
        network = make()
    fill(network, state, path.name)
    return network


@contextmanager
def _open_safetensors(path: Path) -> Iterator[Any]:
    _check_readable(path)
    try:
        with safe_open(path, framework="pt") as file:
            yield file
    except (SafetensorError, OSError) as error:
        raise CheckpointError(f"{path.name} is not a safetensors file, or it is damaged ({error})") from error
    except MemoryError as error:  # it is mapped: a limit of address space (ulimit -v) may be below its size
        size = path.stat().st_size
        raise CheckpointError(f"{path.name} has {size:,} bytes: too many to map under your memory limit") from error


def _check_readable(path: Path) -> None:
    try:
        path.open("rb").close()
    except OSError as error:
        raise CheckpointError(f"cannot read weights from {path}: {error.strerror or error}") from error


def _read_safetensors(path: Path) -> dict[str, Tensor]:
    with _open_safetensors(path) as file:
        return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (it is not a mapping)


def _read_pickle(path: Path) -> Any:
    """Read a torch file by torch's own restricted unpickler, mapped from disk where its format allows."""
    if zipfile.is_zipfile(path):
        _check_archive(path)
    with warnings.catch_warnings(), torch.serialization.safe_globals([(_Nothing, name) for name in _HARMLESS]):
        warnings.simplefilter("ignore")  # a TorchScript archive warns, then fails
        try:
            return torch.load(path, map_location="cpu", weights_only=True, mmap=zipfile.is_zipfile(path))
        except Exception as error:  # an untrusted file may break the reader in any way
            raise _explain(path, error) from error


def _check_archive(path: Path) -> None:
    """Refuse a compressed bomb: torch stores without compression, so no archive holds more than the file."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
    except (OSError, ValueError, zipfile.BadZipFile, NotImplementedError) as error:
        raise _explain(path, error) from error
    total = sum(member.file_size for member in members)
    if len(members) > _MOST_MEMBERS or total > path.stat().st_size:
        raise CheckpointError(
            f"{path.name} is not a weights file that can be read: its {len(members):,} members say they hold "
            f"{total:,} bytes, more than the file has. Save it again."
        )


def _explain(path: Path, error: Exception) -> CheckpointError:
    refused_names = sorted(
        {name for name in _names_asked_for(path) if name not in _HARMLESS and not _NEEDED.fullmatch(name)}
    )
    if refused_names:
        return UnsafeFileError(
            f"{path.name} asks to run {', '.join(refused_names[:3])} when it is read; refused, nothing was run. "
            "Only plain weights (a state dict) are loaded."
        )
    return CheckpointError(
        f"{path.name} is not a weights file that can be read, or it is damaged ({type(error).__name__}). "
        "Give a .safetensors, .pth, .pt or .pth.tar file of weights."
    )


def _names_asked_for(path: Path) -> Iterator[str]:
    """The names that the pickles in a file would import, found without running them."""
    try:
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                for member in archive.namelist():
                    if member.endswith(".pkl"):
                        with archive.open(member) as stream:
                            yield from _names_in_pickle(stream)
        else:
            with path.open("rb") as file:
                for _ in range(4):  # the old format: magic number, version, system, weights
                    yield from _names_in_pickle(file)
    except (ValueError, OSError, zipfile.BadZipFile, NotImplementedError):
        return  # the rest of the file is not a pickle


def _names_in_pickle(stream: IO[bytes]) -> Iterator[str]:
    texts: list[str] = []
    for operation, argument, _ in islice(pickletools.genops(stream), _MOST_NAMES):
        if operation.name in ("GLOBAL", "INST"):
            yield str(argument).replace(" ", ".")
        elif operation.name == "STACK_GLOBAL":
            yield ".".join(texts[-2:])
        elif isinstance(argument, str):
            texts = [*texts[-1:], argument]


def _unwrap(content: Any, path: Path) -> dict[str, Tensor]:
    """Find the state dict in what a training run saved."""
    for wrapper in _WRAPPERS:
        if isinstance(content, dict) and isinstance(content.get(wrapper), dict):
            content = content[wrapper]
            break
    if not isinstance(content, dict) or not content:
        raise CheckpointError(f"{path.name} holds no state dict, but {type(content).__name__}")
    strange = [str(name) for name, value in content.items() if not (isinstance(name, str) and _is_plain_tensor(value))]
    if strange:
        raise CheckpointError(
            f"{path.name} holds no state dict: {len(strange)} of {len(content)} entries are not plain tensors, "
            f"such as '{strange[0]}'"
        )
    return content


def _is_plain_tensor(value: object) -> bool:
    return isinstance(value, Tensor) and value.layout == torch.strided and not value.is_quantized


_FIRST_LAYER = "Conv3d_1a_7x7.conv3d.weight"


def without_wrappers(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Drop the `module.` that parallel training puts into key names."""
    return {".".join(part for part in name.split(".") if part != "module"): value for name, value in state.items()}


def recognise(state: Mapping[str, Tensor], source: str) -> tuple[dict[str, Any], str]:
    """See which public network a state dict (without wrappers) belongs to.

    Args:
        state: tensors by their names in the file.
        source: the file's name, for the message.

    Returns:
        The options with which `registry.build("i3d")` makes it, and what stands before the trunk's names.

    Raises:
        CheckpointError: it is not a network that we know.
    """
    if f"i3d.{_FIRST_LAYER}" in state:
        return _options(state, "i3d."), "i3d."
    if _FIRST_LAYER in state:
        return _options(state, ""), ""
    if "res.0.weight" in state or "mlp.res.0.weight" in state:
        raise CheckpointError(f"{source} holds only the embedding MLP. Give the combined file (keys i3d.*, mlp.*).")
    raise CheckpointError(
        f"{source} holds no network that we know: neither I3D (keys {_FIRST_LAYER} ...) nor I3D with MLP "
        f"(i3d.*, mlp.*), but {', '.join(sorted(state)[:3])} ... ({len(state)} keys)"
    )


def to_ours(name: str, prefix: str) -> str:
    """Our name for a tensor of a public file whose trunk has this prefix."""
    return "trunk." + name.removeprefix(prefix) if name.startswith(prefix) else name


def to_public(name: str, prefix: str) -> str:
    """The name in a public file for a tensor of ours."""
    return prefix + name.removeprefix("trunk.") if name.startswith("trunk.") else name


def _options(state: Mapping[str, Tensor], prefix: str) -> dict[str, Any]:
    options: dict[str, Any] = {"classes": _outputs(state, f"{prefix}logits.conv3d.weight")}
    if not any(name.startswith("mlp.") for name in state):
        return {**options, "mlp": False}
    hidden, dimension = _outputs(state, "mlp.adaptor.0.weight"), _outputs(state, "mlp.adaptor.2.weight")
    widths = {"hidden": hidden or 512, "dimension": dimension or 256}
    return {**options, **widths, "mlp_classes": _outputs(state, "mlp.logits.weight")}


def _outputs(state: Mapping[str, Tensor], name: str) -> int | None:
    """The number of outputs of a layer; None if the file has no such layer."""
    return len(state[name]) if name in state and state[name].ndim else None


# What the published embeddings of BSLDict call the encoder that made them. Its weights are not ours to ship, so its
# content hash is not known here; any public I3D with an MLP answers to this name.
PUBLIC_I3D_MLP = "public-i3d_mlp"

HEADER = "signspot"  # under which a copy of the card stands in the safetensors header
README = "README.md"
_HUB_LICENCES = re.compile(r"cc0-1\.0|cc-by(-nc)?(-sa|-nd)?-\d\.\d|apache-2\.0|mit")  # as model hubs spell them
_MOST_CARD_BYTES = 10_000_000
_LARGEST_OPTION = 1_000_000  # of a network, as a card gives it
_MOST_LAYERS = 1000  # and of the options below, for each of which layers are made one by one
_LAYERED = ("blocks", "frames", "linear_frames", "spacing")
_FOR_PEOPLE = ("licence", "data", "metrics", "command", "config", "false_alarms_per_hour")

logger = logging.getLogger(__name__)


def load_encoder(name_or_path: str | PathLike[str] | None = None, *, device: str = "cpu") -> Encoder:
    """Load an encoder, ready to embed. Its licence is logged, once per process.

    Args:
        name_or_path: a name out of `shipped()`, one of our `.safetensors` files or published folders, or a public
            checkpoint (I3D with its MLP, or I3D alone: then the trunk's 1024 features at unit norm are the
            embedding). None: the default.
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
    """Write weights and their card: a `.safetensors` file with a `.json` file beside it, or a folder to publish.

    Args:
        encoder: what to write; of its card, licence, data, metrics and command are kept.
        path: a `.safetensors` file; or, without a suffix (digits as in `v1.0` are none), a folder as Hugging Face lays
            it out: model.safetensors, config.json and README.md.
        half: store weights in 16 bits.

    Returns:
        The encoder that the file now holds: in 16 bits its weights are rounded, so its hash is another.
    """
    is_folder = names_folder(path)
    target = Path(path) / PUBLISHED if is_folder else Path(path)
    card_file = target.with_name("config.json") if is_folder else target.with_suffix(".json")
    if target.suffix != ".safetensors":
        raise OptionsError(f"weights are written as .safetensors, or to a folder; got '{target.name}'")
    state = {name: _stored(name, value, half=half) for name, value in encoder.module.state_dict().items()}
    module = _build_quietly(encoder.module.architecture, encoder.module.options)
    fill(module, state, target.name)
    card = _make_card(encoder, content_hash(module, encoder.contract))
    with atomic_write(target) as temporary:
        save_file(state, temporary, metadata={HEADER: json.dumps(card, sort_keys=True)})
    with atomic_write(card_file) as temporary:
        temporary.write_text(json.dumps(card, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    if is_folder:
        with atomic_write(target.with_name(README)) as temporary:
            temporary.write_text(_published_card(card), encoding="utf-8")
    return Encoder(encoder.name, encoder.contract, Built(module.eval()), card["hash"], card)


def names_folder(path: str | PathLike[str]) -> bool:
    """Whether a path names a folder to publish: it has no suffix, or digits only, as in `v1.0` or `cc-by-4.0`."""
    suffix = Path(path).suffix
    return not suffix or suffix[1:].isdecimal()


def _published_card(card: Mapping[str, Any]) -> str:
    """The README of a published encoder: a header that model hubs read, and the card in words."""
    licence = str(card["licence"]) or "unknown"
    hub_licence = licence.lower().replace(" ", "-")
    header = {
        "library_name": "signspot",
        "tags": ["sign-language", "sign-spotting", card["contract"]["kind"]],
        "license": hub_licence if _HUB_LICENCES.fullmatch(hub_licence) else "other",
        "license_name": licence,
    }
    lines = ["---", *(f"{name}: {json.dumps(value)}" for name, value in header.items()), "---", "", f"# {card['name']}"]
    lines += ["", str(card["data"]) or "What it was trained on is not stated.", ""]
    lines += [
        "```python",
        "import signspot",
        "",
        'spotter = signspot.load("FOLDER")  # of these files',
        "```",
        "",
        f"Input: {card['contract']['kind']}, clips of {card['contract']['frames']} frames at "
        f"{card['contract']['fps']:g} frames per second. Output: {card['contract']['dimension']} numbers a clip.",
        "",
        f"Default threshold: {card['threshold']:g}. Content hash: `{card['hash']}`. Licence: {licence}.",
    ]
    if card["command"]:
        lines += ["", f"Made by `{card['command']}`."]
    if card["metrics"]:
        lines += ["", "```json", json.dumps(card["metrics"], indent=1, ensure_ascii=False), "```"]
    return "\n".join(lines) + "\n"


def _read_card(path: Path) -> dict[str, Any] | None:
    """The card of one of our files: the one beside it, else the copy in its header; None for other files."""
    if path.suffix != ".safetensors":
        return None
    header = read_header(path).get(HEADER)
    card_file = card_beside(path)
    try:
        if header and card_file.is_file():
            if card_file.stat().st_size > _MOST_CARD_BYTES:
                raise CheckpointError(f"the card of {path.name} has more than {_MOST_CARD_BYTES:,} bytes")
            header = card_file.read_text(encoding="utf-8")
        card = json.loads(header) if header else None
    except (OSError, ValueError, RecursionError) as error:
        raise CheckpointError(f"the card of {path.name} cannot be read ({error})") from error
    if card is not None and not isinstance(card, dict):
        raise CheckpointError(f"the card of {path.name} is not a JSON object")
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
        module = load_network(path, card["options"], lambda: build(card["architecture"], **card["options"]))
        fps, threshold = float(card["contract"]["fps"]), float(card["threshold"])
        stated = {**card["contract"], "threshold": threshold}
    except (KeyError, TypeError, ValueError, RuntimeError, OverflowError) as error:  # an OptionsError is a ValueError
        reason = f"it lacks {error}" if isinstance(error, KeyError) else str(error)
        raise CheckpointError(f"the card of {path.name} cannot be used: {reason}") from error
    card_version, own_version = card.get("input_version"), module.trunk.input_version
    if card_version != own_version:
        raise CheckpointError(
            f"{path.name} was trained on {stated.get('kind')} input of version {card_version}; this signspot makes "
            f"version {own_version}. Train it again."
        )
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
    tensor = value.detach().cpu().contiguous()
    if not (half and tensor.is_floating_point()):
        return tensor.clone()
    rounded = tensor.half()
    if not rounded.isfinite().all():
        raise OptionsError(f"the weights '{name}' do not fit into 16 bits. Save with half=False.")
    return rounded


def fill(module: nn.Module, state: Mapping[str, Tensor], source: str, in_file: Callable[[str], str] = str) -> None:
    """Put weights into a network, or list all that does not fit, by the names `in_file` gives.

    Raises:
        CheckpointError: something does not fit, or is not a number.
    """
    file_shapes = {key: tuple(value.shape) for key, value in state.items()}
    check_fit(shapes(module), file_shapes, source, in_file)
    broken = [in_file(key) for key, value in state.items() if value.is_floating_point() and not value.isfinite().all()]
    if broken:
        raise CheckpointError(f"{source} holds NaN or infinite weights in {len(broken)} tensors ({_first_few(broken)})")
    module.load_state_dict(dict(state), strict=False)


def check_fit(
    network_shapes: Mapping[str, tuple[int, ...]],
    file_shapes: Mapping[str, tuple[int, ...]],
    source: str,
    in_file: Callable[[str], str] = str,
) -> None:
    """List all that does not fit between the shapes of a network and those of a file.

    Raises:
        CheckpointError: something does not fit.
    """
    missing = [
        in_file(key) for key in network_shapes if key not in file_shapes and not key.endswith("num_batches_tracked")
    ]
    unexpected = [in_file(key) for key in file_shapes if key not in network_shapes]
    other = [
        f"{in_file(key)} {file_shapes[key]} instead of {network_shapes[key]}"
        for key in network_shapes
        if key in file_shapes and file_shapes[key] != network_shapes[key]
    ]
    lists = {"missing": missing, "unexpected": unexpected, "of another shape": other}
    problems = [f"{len(keys)} {problem} ({_first_few(keys)})" for problem, keys in lists.items() if keys]
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
        raise TypeError("its options are not a JSON object")
    for name, value in options.items():
        most = _MOST_LAYERS if name in _LAYERED else _LARGEST_OPTION
        if isinstance(value, int | float) and not -most <= value <= most:
            raise OptionsError(f"'{name}' is {value}; a card may say at most {most:,}")


def _first_few(keys: list[str]) -> str:
    return ", ".join(keys[:4]) + (" ..." if len(keys) > 4 else "")
