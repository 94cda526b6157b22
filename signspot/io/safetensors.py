"""Arrays out of safetensors files, which are untrusted input like any other."""

from os import PathLike
from typing import Any

from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from signspot.errors import FormatError

# AttributeError and TypeError: NumPy lacks some of the format's types, such as 8-bit floats and bfloat16.
_ERRORS = (SafetensorError, OSError, ValueError, TypeError, AttributeError)


def read_tensors(path: str | PathLike[str]) -> tuple[dict[str, NDArray[Any]], dict[str, str]]:
    """All arrays of a file by name, and the texts of its header.

    Raises:
        FormatError: the file is missing, damaged, or holds a type that NumPy lacks.
    """
    try:
        with safe_open(path, framework="numpy") as file:
            return {name: file.get_tensor(name) for name in file.keys()}, dict(file.metadata() or {})  # noqa: SIM118
    except _ERRORS as error:
        raise FormatError(f"cannot read {path}: it is damaged or no safetensors file ({error})") from error


def read_texts(path: str | PathLike[str]) -> dict[str, str]:
    """The texts of a file's header; no array is read.

    Raises:
        FormatError: the file is missing or damaged.
    """
    try:
        with safe_open(path, framework="numpy") as file:
            return dict(file.metadata() or {})
    except _ERRORS as error:
        raise FormatError(f"cannot read {path}: it is damaged or no safetensors file ({error})") from error
