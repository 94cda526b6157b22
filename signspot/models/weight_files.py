"""Weights from a file, tensors only: whatever else a pickle asks for is ignored if harmless and refused if not."""

import pickle
import pickletools
import re
import warnings
import zipfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import IO, Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from signspot.errors import CheckpointError, UnsafeFileError

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
    return _read_safetensors(path) if path.suffix == ".safetensors" else _unwrap(_read_pickle(path), path)


def read_header(path: Path) -> dict[str, str]:
    """Read the texts in the header of a `.safetensors` file."""
    _check_readable(path)
    try:
        with safe_open(path, framework="pt") as file:
            return dict(file.metadata() or {})
    except (SafetensorError, OSError) as error:
        raise CheckpointError(f"{path.name} is no safetensors file, or it is damaged ({error})") from error


def _check_readable(path: Path) -> None:
    try:
        path.open("rb").close()
    except OSError as error:
        raise CheckpointError(f"cannot read weights from {path}: {error.strerror or error}") from error


def _read_safetensors(path: Path) -> dict[str, Tensor]:
    read_header(path)
    with safe_open(path, framework="pt") as file:
        return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (it is no mapping)


def _read_pickle(path: Path) -> Any:
    """Read a torch file by torch's own restricted unpickler, mapped from disk where its format allows."""
    with warnings.catch_warnings(), torch.serialization.safe_globals([(_Nothing, name) for name in _HARMLESS]):
        warnings.simplefilter("ignore")  # a TorchScript archive warns, then fails
        try:
            return torch.load(path, map_location="cpu", weights_only=True, mmap=zipfile.is_zipfile(path))
        except Exception as error:  # an untrusted file may break the reader in any way
            raise _explain(path, error) from error


def _explain(path: Path, error: Exception) -> CheckpointError:
    asked = sorted({name for name in _names_asked_for(path) if name not in _HARMLESS and not _NEEDED.fullmatch(name)})
    if asked:
        return UnsafeFileError(
            f"{path.name} asks to run {', '.join(asked[:3])} when it is read; refused, nothing was run. "
            "Only plain weights (a state dict) are loaded."
        )
    return CheckpointError(
        f"{path.name} is no weights file that can be read, or it is damaged "
        f"({type(error).__name__}). Give a .safetensors, .pth, .pt or .pth.tar file of weights."
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
    except (ValueError, OSError, zipfile.BadZipFile, pickle.UnpicklingError, NotImplementedError):
        return  # the rest of the file is no pickle


def _names_in_pickle(stream: IO[bytes]) -> Iterator[str]:
    texts: list[str] = []
    for operation, argument, _ in islice(pickletools.genops(stream), 10_000_000):
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
            f"{path.name} holds no state dict: {len(strange)} of {len(content)} entries are no plain tensors, "
            f"such as '{strange[0]}'"
        )
    return content


def _is_plain_tensor(value: object) -> bool:
    return isinstance(value, Tensor) and value.layout == torch.strided and not value.is_quantized
