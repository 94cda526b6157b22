"""Reads old data files in pickle form without letting them run anything.

Only plain containers and arrays are rebuilt, and arrays by our own few lines: no class or function that a
pickle names is ever looked up, so none can be called. Its instructions are looked through before they are followed.
"""

import math
import mmap
import pickle
from collections import OrderedDict
from pathlib import Path
from typing import Any, Literal

import numpy as np

from signspot.errors import DictionaryError, UnsafeFileError
from signspot.io.pickle_scan import ScanError, scan

_MOST_VALUES = 100_000_000  # that a reader may meet when it goes through the data, shared parts counted each time
_MOST_AXES = 32
_CONTAINERS = (dict, list, tuple, set, frozenset)
_KINDS = frozenset("biufUS")
_ARRAY_TYPE = object()  # stands for numpy.ndarray, which a pickle names but need not call


def load_pickle(path: Path) -> Any:
    """Load a pickle of plain data.

    Arrays come back as `PickledArray`, wherever they are in the data; `plain` unwraps one.

    Raises:
        UnsafeFileError: it names anything but plain containers and arrays; nothing was run.
        DictionaryError: it is no pickle, broken, or asks for memory or depth that plain data never needs.
    """
    try:
        with path.open("rb") as file:
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                scan(data)
            value = _PlainUnpickler(file, path).load()
        _check_extent(value)
        return value
    except UnsafeFileError:
        raise
    except OSError as error:
        raise DictionaryError(f"cannot read {path}: {error.strerror or error}") from error
    except Exception as error:  # a broken pickle can fail in any way
        raise DictionaryError(f"{path} is no readable pickle ({type(error).__name__}: {error})") from error


def _check_extent(value: Any) -> None:
    """Refuse data that is small in memory and endless to go through: lists of lists that share their parts, or loops.

    Raises:
        ScanError: it is endless.
    """
    sizes: dict[int, int] = {}
    begun: set[int] = set()
    waiting = [value]
    while waiting:
        each = waiting[-1]
        if id(each) in sizes:
            waiting.pop()
            continue
        parts = _parts(each)
        left = [part for part in parts if id(part) not in sizes]
        if left and id(each) not in begun:
            begun.add(id(each))
            waiting.extend(left)
        elif left:
            raise ScanError("it holds a list that holds itself")
        else:
            sizes[id(each)] = len(each) if isinstance(each, _CONTAINERS) else 1
            sizes[id(each)] += sum(sizes[id(part)] for part in parts)
            if sizes[id(each)] > _MOST_VALUES:
                raise ScanError(f"its lists share parts, so that going through it meets more than {_MOST_VALUES:,}")
            waiting.pop()


def _parts(value: Any) -> list[Any]:
    """The containers in a container."""
    if isinstance(value, PickledArray):
        inside = list(value.value.flat) if value.value.dtype == object else []
    elif isinstance(value, dict):
        inside = [*value.keys(), *value.values()]
    else:
        inside = list(value) if isinstance(value, _CONTAINERS) else []
    return [part for part in inside if isinstance(part, (*_CONTAINERS, PickledArray))]


_LAST = 0x10FFFF  # character of Unicode; numpy breaks down on those beyond


class PickledArray:
    """An array in a pickle."""

    __slots__ = ("value",)

    def __init__(self, value: np.ndarray[Any, Any] | None = None):
        self.value = np.empty(0) if value is None else value

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        shape, dtype, fortran, data = state[-4:]
        self.value = _array(data, dtype, shape, "F" if fortran else "C")


def plain(value: Any) -> Any:
    """A value as Python or numpy know it: a PickledArray becomes its array, all else stays."""
    return value.value if isinstance(value, PickledArray) else value


class _PickledType:
    """The element type of an array in a pickle."""

    __slots__ = ("big", "text")

    def __init__(self, text: str):
        self.text = text
        self.big = False

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        _, order, subtype, names, fields = state[:5]
        if subtype is not None or names is not None or fields is not None:
            raise ValueError("arrays of records are not read")
        self.big = order == ">"

    def dtype(self) -> np.dtype[Any]:
        """The type, if it is a number, a truth value, or text."""
        found = np.dtype(self.text)
        if found.kind not in _KINDS or found.fields is not None or found.subdtype is not None:
            raise ValueError(f"arrays of type '{self.text}' are not read")
        return found.newbyteorder(">" if self.big else "<")

    def is_object(self) -> bool:
        """Whether the array holds any objects."""
        return self.text in ("O", "O8", "O4", "object")


class _PlainUnpickler(pickle.Unpickler):
    def __init__(self, file: Any, path: Path):
        super().__init__(file)
        self._path = path

    def find_class(self, module: str, name: str) -> Any:
        """Give our stand-in for a name; refuse every other name, without looking it up."""
        module = "builtins" if module == "__builtin__" else module.replace("numpy.core.", "numpy._core.")
        known: dict[tuple[str, str], Any] = {
            ("numpy", "ndarray"): _ARRAY_TYPE,
            ("numpy", "dtype"): self._type,
            ("numpy._core.multiarray", "_reconstruct"): self._empty_array,
            ("numpy._core.multiarray", "scalar"): self._scalar,
            ("numpy._core.numeric", "_frombuffer"): self._from_buffer,
            ("_codecs", "encode"): self._bytes,
            ("builtins", "bytes"): self._no_bytes,
            ("collections", "OrderedDict"): OrderedDict,
            ("builtins", "set"): set,
            ("builtins", "frozenset"): frozenset,
        }
        if (module, name) not in known:
            raise UnsafeFileError(
                f"{self._path} asks to load '{module}.{name}', which plain data never needs: refused, "
                f"nothing was run. Get the file again from its publisher"
            )
        return known[module, name]

    def persistent_load(self, pid: Any) -> Any:
        """Refuse references to things outside the file."""
        raise UnsafeFileError(f"{self._path} refers to something outside itself: refused, nothing was run")

    # Bound methods, because a pickle cannot set attributes on them.
    def _type(self, text: Any, *_: Any) -> _PickledType:
        return _PickledType(str(text))

    def _empty_array(self, kind: Any, *_: Any) -> PickledArray:
        if kind is not _ARRAY_TYPE:
            raise ValueError("only plain arrays are read")
        return PickledArray()

    def _scalar(self, dtype: _PickledType, data: Any = b"") -> Any:
        if dtype.is_object():
            return data
        return _array(data, dtype, (1,), "C")[0].item()

    def _from_buffer(self, data: Any, dtype: _PickledType, shape: Any, order: str = "C") -> PickledArray:
        return PickledArray(_array(data, dtype, shape, order))

    def _no_bytes(self) -> bytes:
        return b""  # how old protocols write empty bytes; with a number, `bytes` would fill the memory

    def _bytes(self, text: Any, encoding: str) -> bytes:
        if encoding not in ("latin1", "latin-1"):
            raise ValueError(f"bytes in '{encoding}' are not read")
        return str(text).encode("latin-1")


def _array(data: Any, dtype: _PickledType, shape: Any, order: str) -> np.ndarray[Any, Any]:
    """Rebuild an array; its size must be the size of its data, so that none can be made large by a lie."""
    if not isinstance(dtype, _PickledType) or not isinstance(shape, tuple) or len(shape) > _MOST_AXES:
        raise ValueError("an array without a type or a shape")
    if not all(type(n) is int and 0 <= n < 2**62 for n in shape):
        raise ValueError("an array of no possible shape")
    layout: Literal["C", "F"] = "F" if order == "F" else "C"
    if dtype.is_object():
        if not isinstance(data, list) or math.prod(shape) != len(data):
            raise ValueError(f"an array of shape {shape} with other data")
        objects: np.ndarray[Any, Any] = np.empty(len(data), dtype=object)
        for index, value in enumerate(data):
            objects[index] = value
        return objects.reshape(shape, order=layout)
    if not isinstance(data, bytes | bytearray):
        raise ValueError("an array without data")
    element, raw = dtype.dtype(), bytes(data)
    if not element.itemsize and math.prod(shape):
        raise ValueError("an array of elements without a size")
    if element.itemsize * math.prod(shape) != len(raw):
        raise ValueError(f"an array of shape {shape} with {len(raw)} bytes of data")
    if element.kind == "U" and raw and np.frombuffer(raw, np.dtype("u4").newbyteorder(element.byteorder)).max() > _LAST:
        raise ValueError("an array of texts with characters that there are not")
    return np.frombuffer(raw, dtype=element).reshape(shape, order=layout) if raw else np.zeros(shape, element)
