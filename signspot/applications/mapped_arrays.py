"""Arrays of safetensors files that stay on disk until they are looked at."""

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from signspot.errors import FormatError
from signspot.io.checks import check_int, check_list, parse_json

_LONGEST = 1 << 20  # bytes of a header
Half = NDArray[np.float16]


def open_mapped(path: Path, kind: str, names: Sequence[str]) -> tuple[Mapping[str, Any], dict[str, Half]]:
    """The texts of a file's header, and those of its 16-bit matrices that have these names; only the header is read.

    Raises:
        FormatError: the file is of another kind, or damaged.
    """
    try:
        with path.open("rb") as file:
            (size,) = struct.unpack("<Q", file.read(8))
            if size > _LONGEST:
                raise FormatError(f"its header has {size} bytes")
            header = parse_json(file.read(size).decode(), str(path))
        texts = header["__metadata__"]
        if not str(texts.get("kind", "")).startswith(kind):
            raise FormatError(f"it is no {kind.removeprefix('signspot ').rstrip(' 0123456789')}")
        return texts, {name: _mapped(path, 8 + size, header[name]) for name in names if name in header}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, struct.error) as error:
        raise FormatError(f"{path} cannot be read: {error}") from error


def _mapped(path: Path, begin: int, entry: Any) -> Half:
    if entry["dtype"] != "F16":
        raise FormatError(f"its numbers are {entry['dtype']}, not 16-bit")
    rows, columns = (check_int(each, "shape") for each in check_list(entry["shape"], "shape"))
    first, last = (check_int(each, "offset", most=2**62) for each in check_list(entry["data_offsets"], "offsets"))
    if columns < 1 or last - first != 2 * rows * columns or begin + last > path.stat().st_size:
        raise FormatError("its shape does not fit its size")
    if not rows:
        return np.empty((0, columns), np.float16)
    return np.memmap(path, np.float16, "c", begin + first, (rows, columns))  # "c": torch takes no read-only arrays
