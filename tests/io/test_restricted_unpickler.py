import builtins
import datetime
import os
import pickle
import subprocess
from collections import OrderedDict, defaultdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from signspot.dictionary.open_dictionary import open_dictionary
from signspot.errors import CheckpointError, DictionaryError, UnsafeFileError
from signspot.io import restricted_unpickler as pickle_module
from signspot.io.restricted_unpickler import PickledArray, _PickledType, load_pickle, plain
from tests.fixtures.pickles import bombs


class Calls:
    """Pickles as a call of any function: what a malicious file does."""

    def __init__(self, function: Any, *arguments: Any, state: Any = None):
        self.call = (function, arguments) if state is None else (function, arguments, state)

    def __reduce__(self) -> Any:
        return self.call


def save(tmp_path: Path, data: Any, protocol: int = 4) -> Path:
    path = tmp_path / "bsldict_v1.pkl"
    path.write_bytes(data if isinstance(data, bytes) else pickle.dumps(data, protocol))
    return path


class TestNothingRuns:
    @pytest.mark.parametrize("protocol", range(6))
    @pytest.mark.parametrize(
        ("function", "refused"),
        [
            (os.system, "posix.system"),
            (builtins.eval, "eval"),
            (builtins.exec, "exec"),
            (builtins.getattr, "getattr"),
            (builtins.__import__, "__import__"),
            (subprocess.Popen, "Popen"),
            (partial, "functools.partial"),
            (np.load, "numpy.load"),
            (np.memmap, "numpy.memmap"),
            (np.fromfile, "fromfile"),
            (bytearray, "bytearray"),
        ],
    )
    def test_functions_are_refused_by_name(self, tmp_path: Path, function: Any, refused: str, protocol: int) -> None:
        canary = tmp_path / "ran"
        path = save(tmp_path, {"videos": {"name": [Calls(function, f"touch {canary}")]}}, protocol)
        with pytest.raises(UnsafeFileError, match=f"{refused}"):
            open_dictionary(path)
        assert not canary.exists()

    def test_the_canary_would_sing(self, tmp_path: Path) -> None:
        """The same file, read in the ordinary way, does run."""
        canary = tmp_path / "ran"
        pickle.loads(save(tmp_path, Calls(os.system, f"touch {canary}")).read_bytes())
        assert canary.exists()

    @pytest.mark.parametrize(
        "code",
        [
            b"cnumpy\nndarray.tofile\n.",  # dotted names
            b"cnumpy.f2py.diagnose\nrun_command\n.",
            b"cnumpy.testing._private.utils\nrunstring\n.",
            b"cnumpy.core._internal\n_dtype_from_pep3118\n.",
            b"ccopyreg\n_reconstructor\n.",
            b"ctorch._utils\n_rebuild_tensor_v2\n.",
            b"\x80\x04\x8c\x05numpy\x8c\x12ndarray.__reduce__\x93.",
            b"\x80\x02cnumpy.core.multiarray\n_reconstruct\n(cos\nsystem\n(K\x00t\x8c\x01bt\x85R.",
            b"Pos.system\n.",  # a reference to something outside
            b"(S'id'\nios\nsystem\n.",
            b"\x80\x04\x8c\x02os\x8c\x06system\x93\x8c\x02id\x85R.",
        ],
    )
    def test_names_written_by_hand(self, tmp_path: Path, code: bytes) -> None:
        with pytest.raises(UnsafeFileError):
            load_pickle(save(tmp_path, code))

    def test_it_is_both_kinds_of_error(self, tmp_path: Path) -> None:
        path = save(tmp_path, Calls(os.system, "id"))
        for kind in (DictionaryError, CheckpointError):
            with pytest.raises(kind):
                load_pickle(path)

    def test_other_classes_are_refused_too(self, tmp_path: Path) -> None:
        for value in (datetime.date(2020, 1, 1), Path("a"), defaultdict(list), np.datetime64):
            with pytest.raises(UnsafeFileError):
                load_pickle(save(tmp_path, value))


class TestGadgets:
    """Misuses of the permitted names."""

    make = b"\x80\x02cnumpy.core.multiarray\n_reconstruct\n"
    kind = b"cnumpy\nndarray\n"
    dtype = b"cnumpy\ndtype\n"

    @pytest.mark.parametrize(
        "code",
        [
            kind + b"(J\xff\xff\xff\x7ftR.",  # ndarray(2 ** 31): a large array out of nothing
            dtype + b"(X\x05\x00\x00\x00i8,O8tR(K\x03X\x01\x00\x00\x00<NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb.",
            make + b"(cbuiltins\nset\n(K\x00tX\x01\x00\x00\x00btR.",  # another class as array
            b"c_codecs\nencode\n(X\x01\x00\x00\x00aX\x04\x00\x00\x00zlibtR.",
            b"cnumpy.core.multiarray\nscalar\n(" + dtype + b"(X\x02\x00\x00\x00i8K\x00K\x01tRJ\xff\xff\xff\x7ftR.",
            b"cnumpy._core.numeric\n_frombuffer\n(J\xff\xff\xff\x7f"
            + dtype
            + b"(X\x02\x00\x00\x00i1tRJ\xff\xff\xff\x7f\x85X\x01\x00\x00\x00CtR.",
        ],
    )
    def test_they_end_in_an_error_or_in_nothing(self, tmp_path: Path, code: bytes) -> None:
        try:
            value = load_pickle(save(tmp_path, code))
        except DictionaryError:
            return
        assert not isinstance(plain(value), np.ndarray)

    @pytest.mark.parametrize(
        "state", [(1, (10**9,), "f4", False, b""), (1, (-1, -1), "f4", False, b"1234"), (1, (2,), "f4", False, 8)]
    )
    def test_an_array_is_as_large_as_its_data(self, tmp_path: Path, state: Any) -> None:
        data = pickle.dumps(np.zeros(1, "f4"), 2)
        assert isinstance(load_pickle(save(tmp_path, data)), PickledArray)
        array = PickledArray()
        with pytest.raises(ValueError, match="array"):
            array.__setstate__(state)

    def test_object_pointers_in_records_are_not_read(self, tmp_path: Path) -> None:
        for dtype in ([("a", "O")], [("a", "i8")], "V8", "M8[s]", "c16"):
            with pytest.raises(DictionaryError):
                load_pickle(save(tmp_path, np.zeros(1, dtype=dtype)))

    def test_setting_attributes_on_what_is_shared_fails(self, tmp_path: Path) -> None:
        """BUILD with a slot state sets attributes: on `dtype`'s stand-in, and on `set`."""
        for target in (self.dtype, b"cbuiltins\nset\n", b"ccollections\nOrderedDict\n"):
            with pytest.raises(DictionaryError):
                load_pickle(save(tmp_path, target + b"N}X\x04\x00\x00\x00evilK\x01s\x86b."))
        assert not hasattr(set, "evil")


@pytest.mark.parametrize("protocol", range(2, 6))
class TestPlainData:
    @pytest.mark.parametrize(
        "array",
        [
            np.arange(6, dtype=np.float32).reshape(2, 3),
            np.asfortranarray(np.arange(6, dtype=">f8").reshape(2, 3)),
            np.array([True, False]),
            np.array(["one", "café"]),
            np.array([b"ab", b"c"]),
            np.array([], dtype=np.int64),
            np.array(3),
            np.array([None, "x", [1, 2]], dtype=object),
            np.empty((0, 4), np.float16),
        ],
        ids=lambda a: f"{a.dtype}{a.shape}",
    )
    def test_arrays_come_back_equal(self, tmp_path: Path, array: np.ndarray[Any, Any], protocol: int) -> None:
        loaded = plain(load_pickle(save(tmp_path, array, protocol)))
        assert (loaded.dtype, loaded.shape) == (array.dtype, array.shape)
        assert loaded.tolist() == array.tolist()

    def test_containers_and_scalars(self, tmp_path: Path, protocol: int) -> None:
        data = {"a": [1, 2.5, None, True, "é", b"x"], ("t",): {1, 2}, "o": OrderedDict(x=1), "f": frozenset("a")}
        assert load_pickle(save(tmp_path, data, protocol)) == data
        assert load_pickle(save(tmp_path, [np.float32(0.5), np.int64(3), np.str_("a")], protocol)) == [0.5, 3, "a"]


@pytest.mark.parametrize("data", [b"", b"hello", b"\x80\x04", b"\x80\x05}\x94(", b"\xff" * 50, b"]" * 10])
def test_what_is_no_pickle(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(DictionaryError) as caught:
        load_pickle(save(tmp_path, data))
    assert not isinstance(caught.value, UnsafeFileError)


@pytest.mark.parametrize("name", sorted(bombs()))
def test_bombs_take_neither_memory_nor_time(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small files that would take gigabytes, end the interpreter, or never end."""
    monkeypatch.setattr(pickle_module, "_MEMORY", 30_000_000)  # as it is, one of them takes seconds to count
    monkeypatch.setattr(pickle_module, "_MOST_VALUES", 15_000_000)
    path = save(tmp_path, bombs()[name])
    if name in ("nested lists", "nested tuples", "memo index", "frame"):  # as large as they say
        load_pickle(path)
        return
    with pytest.raises(DictionaryError) as caught:
        load_pickle(path)
    assert not isinstance(caught.value.__cause__, MemoryError), "memory was asked for"


def test_a_file_that_is_too_large_is_not_opened(tmp_path: Path) -> None:
    path = tmp_path / "large.pkl"
    with path.open("wb") as file:
        file.truncate(600 << 20)
    with pytest.raises(DictionaryError, match="536,870,912"):
        load_pickle(path)


@pytest.mark.parametrize(
    "code",
    [
        b"}((K\x01\x85\x85NtR.",
        b"}(" + b")\x85\x85" + b"Nu.",  # a tuple in a tuple as a key
        b"\x8f(" + b")\x85\x85" + b"\x90.",
        b"(" + b")\x85\x85" + b"\x91.",
        b"(" + b")\x85\x85" + b"Nd.",
        b"}\x8a\x09" + bytes(8) + b"\x01Ns.",  # a number that can be chosen to collide with others
        b"cbuiltins\nset\n](" + b")\x85\x85" + b"e\x85R.",
        b"cbuiltins\nset\n)\x81.",  # NEWOBJ
        b"\x82\x01.",  # EXT1
    ],
)
def test_keys_are_plain_and_rare_instructions_are_not_followed(tmp_path: Path, code: bytes) -> None:
    with pytest.raises(DictionaryError):
        load_pickle(save(tmp_path, code))


def test_shared_parts_are_welcome_where_they_end(tmp_path: Path) -> None:
    row = [1, 2, 3]
    assert load_pickle(save(tmp_path, {"rows": [row] * 1000, "tuple": ((row,),)}))["rows"][999] == row


def test_elements_without_a_size_make_no_memory(tmp_path: Path) -> None:
    array = PickledArray()
    with pytest.raises(ValueError, match="without a size"):
        array.__setstate__((1, (10**10,), _PickledType("U0"), False, b""))


def test_texts_of_characters_that_there_are_not_are_reported(tmp_path: Path) -> None:
    data = pickle.dumps(np.array(["apple"])).replace("a".encode("utf-32-le"), b"\xff\xff\xff\x7f")
    with pytest.raises(DictionaryError):
        load_pickle(save(tmp_path, data))
