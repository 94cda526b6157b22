"""Data files in pickle form, read without running anything.

Only plain containers and arrays are rebuilt, and arrays by our own few lines: no class or function that a pickle names
is ever looked up, so none can be called. The memory that its instructions may take is counted while they are followed.
"""

import math
import mmap
import pickle
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import numpy as np

from signspot.errors import DictionaryError, UnsafeFileError

_LARGEST = 512 << 20  # bytes of a file
_MEMORY = 3 << 29  # bytes that the values of a file may take, beside texts and arrays, which are as large as the file
_MOST_VALUES = 100_000_000  # met when going through the data, shared parts counted each time
_MOST_AXES = 32
_LARGEST_KEY = 2**60  # whole numbers beyond can be chosen to collide in a dictionary
_LAST_CHARACTER = 0x10FFFF  # of Unicode; numpy crashes on those beyond
_CONTAINERS = (dict, list, tuple, set, frozenset)
_KINDS = frozenset("biufUS")
_ARRAY_TYPE = object()  # stands for numpy.ndarray, which a pickle names but need not call

Load = Callable[[Any], None]


def load_pickle(path: Path) -> Any:
    """Load a pickle of plain data.

    Arrays come back as `PickledArray`, wherever they are in the data; `plain` unwraps one.

    Raises:
        UnsafeFileError: it names anything but plain containers and arrays; nothing was run.
        DictionaryError: it is not a pickle, broken, too large, or asks for memory or depth that plain data never needs.
    """
    try:
        size = path.stat().st_size
        if size > _LARGEST:
            raise ValueError(f"it has {size:,} bytes; at most {_LARGEST:,} are read")
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            value = _PlainUnpickler(data, path).load()
        _check_extent(value)
        return value
    except UnsafeFileError:
        raise
    except OSError as error:
        raise DictionaryError(f"cannot read {path}: {error.strerror or error}") from error
    except Exception as error:  # a broken pickle can fail in any way
        raise DictionaryError(f"{path} is not a readable pickle ({type(error).__name__}: {error})") from error


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
        if not isinstance(text, str) or len(text) > 20:
            raise ValueError("an array without a type")
        self.text, self.big = text, False

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        _, order, subtype, names, fields = state[:5]
        if subtype is not None or names is not None or fields is not None:
            raise ValueError("arrays of records are not read")
        self.big = order == ">"

    def dtype(self) -> np.dtype[Any]:
        """The type, if it is a number, a truth value, or text."""
        dtype = np.dtype(self.text)
        if dtype.kind not in _KINDS or dtype.fields is not None or dtype.subdtype is not None:
            raise ValueError(f"arrays of type '{self.text}' are not read")
        return dtype.newbyteorder(">" if self.big else "<")

    def is_object(self) -> bool:
        """Whether the array holds any objects."""
        return self.text in ("O", "O8", "O4", "object")


def _counted(load: Load, cost: int) -> Load:
    """An instruction that takes `cost` bytes from the budget of its unpickler."""

    def run(unpickler: Any) -> None:
        unpickler.budget -= cost
        if unpickler.budget < 0:
            raise ValueError(f"its values take more than {_MEMORY:,} bytes of memory")
        load(unpickler)

    return run


def _with_keys(load: Load, keys: Callable[[list[Any]], list[Any]]) -> Load:
    """An instruction that hashes values, which are plain: a hash of deep tuples would overflow the C stack."""

    def run(unpickler: Any) -> None:
        _check_keys(keys(unpickler.stack))
        load(unpickler)

    return run


def _check_keys(keys: Any) -> list[Any]:
    checked = list(keys)
    for key in checked:
        parts = key if type(key) is tuple else (key,)
        for part in islice(parts, 100):
            if not (part is None or type(part) in (str, bytes, float, bool) or _is_small(part)):
                raise ValueError(f"a key of type {type(part).__name__}")
    return checked


def _is_small(value: Any) -> bool:
    return type(value) is int and abs(value) < _LARGEST_KEY


def _instructions() -> dict[int, Load]:
    """The instructions of pickles that are followed, each with its cost in memory; others are refused."""
    instructions: dict[int, Load] = dict(pickle._Unpickler.dispatch)
    for name in ("OBJ", "NEWOBJ", "NEWOBJ_EX", "EXT1", "EXT2", "EXT4", "NEXT_BUFFER", "READONLY_BUFFER"):
        del instructions[getattr(pickle, name)[0]]
    hashing = {
        "SETITEM": lambda stack: stack[-2:-1],
        "SETITEMS": lambda stack: stack[::2],
        "DICT": lambda stack: stack[::2],
        "ADDITEMS": list,
        "FROZENSET": list,
    }
    for name, keys in hashing.items():
        code = getattr(pickle, name)[0]
        instructions[code] = _with_keys(instructions[code], keys)
    cheap = {getattr(pickle, name)[0] for name in ("BININT1", "BININT2", "BININT", "BINFLOAT", "NONE", "BINGET")}
    large = {
        getattr(pickle, name)[0]
        for name in ("EMPTY_SET", "EMPTY_DICT", "EMPTY_LIST", "MARK", "REDUCE", "INST", "LIST", "DICT", "FROZENSET")
    }
    return {
        code: _counted(load, 32 if code in cheap else 250 if code in large else 100)
        for code, load in instructions.items()
    }


class _PlainUnpickler(pickle._Unpickler):
    """The standard library's unpickler in Python, whose instructions can be counted and left out."""

    dispatch = _instructions()

    def __init__(self, file: Any, path: Path):
        super().__init__(file)
        self.budget = _MEMORY
        self._path = path

    def find_class(self, module: str, name: str) -> Any:
        """Give our stand-in for a name; refuse every other name, without looking it up."""
        module = "builtins" if module == "__builtin__" else module.replace("numpy.core.", "numpy._core.")
        stand_ins: dict[tuple[str, str], Any] = {
            ("numpy", "ndarray"): _ARRAY_TYPE,
            ("numpy", "dtype"): self._type,
            ("numpy._core.multiarray", "_reconstruct"): self._empty_array,
            ("numpy._core.multiarray", "scalar"): self._scalar,
            ("numpy._core.numeric", "_frombuffer"): self._from_buffer,
            ("_codecs", "encode"): self._bytes,
            ("builtins", "bytes"): self._no_bytes,
            ("collections", "OrderedDict"): self._dict,
            ("builtins", "set"): self._set,
            ("builtins", "frozenset"): self._frozenset,
        }
        if (module, name) not in stand_ins:
            raise UnsafeFileError(
                f"{self._path} asks to load '{module}.{name}', which plain data never needs: refused, "
                f"nothing was run. Get the file again from its publisher"
            )
        return stand_ins[module, name]

    def persistent_load(self, pid: Any) -> Any:
        """Refuse references to things outside the file."""
        raise UnsafeFileError(f"{self._path} refers to something outside itself: refused, nothing was run")

    # Bound methods, because a pickle cannot set attributes on them.
    def _type(self, text: Any, *_: Any) -> _PickledType:
        return _PickledType(text)

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

    def _dict(self, pairs: Any = ()) -> dict[Any, Any]:
        rows = list(pairs)
        return dict(zip(_check_keys(key for key, _ in rows), (value for _, value in rows), strict=True))

    def _set(self, values: Any = ()) -> set[Any]:
        return set(_check_keys(values))

    def _frozenset(self, values: Any = ()) -> frozenset[Any]:
        return frozenset(_check_keys(values))

    def _no_bytes(self) -> bytes:
        return b""  # how old protocols write empty bytes; with a number, `bytes` would fill the memory

    def _bytes(self, text: str, encoding: str) -> bytes:
        if encoding not in ("latin1", "latin-1") or not isinstance(text, str):
            raise ValueError("bytes in another encoding than latin-1 are not read")
        return text.encode("latin-1")


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
    if element.kind == "U" and raw:
        characters = np.frombuffer(raw, np.dtype("u4").newbyteorder(element.byteorder))
        if characters.max() > _LAST_CHARACTER:
            raise ValueError("an array of texts with characters that do not exist")
    return np.frombuffer(raw, dtype=element).reshape(shape, order=layout) if raw else np.zeros(shape, element)


def _check_extent(value: Any) -> None:
    """Refuse data that is small in memory and endless to go through: lists of lists that share parts, or loops."""
    waiting, met = [value], 0
    while waiting:
        parts = _parts(waiting.pop())
        met += len(parts) + 50  # a container takes as long as fifty values in it
        if met > _MOST_VALUES:
            raise ValueError(f"its lists share parts, so that going through it meets more than {_MOST_VALUES:,}")
        waiting.extend(part for part in parts if isinstance(part, (*_CONTAINERS, PickledArray)))


def _parts(value: Any) -> list[Any]:
    """The values in a container."""
    if isinstance(value, PickledArray):
        return list(value.value.flat) if value.value.dtype == object else []
    if isinstance(value, dict):
        return [*value.keys(), *value.values()]
    return list(value) if isinstance(value, _CONTAINERS) else []
