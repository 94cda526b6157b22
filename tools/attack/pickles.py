"""Hostile pickles and checkpoints: none may run anything, take a gigabyte, or crash the process."""

import os
import pickle
import random
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from tools.attack import AttackOptions, Outcome, make_sandbox, read_all

_TELLING = b"(.0123)]}\x85\x86\x94hqrR\x8f\xff\x00K"  # bytes that mean something in a pickle
_DATA = {
    "videos": {"name": ["a", "b"], "word": ["apple", "apple"], "bbox": [np.zeros(4), np.ones(4)]},
    "words": ["apple"],
    "episode_name": ["e"],
    "annot_time": [1.5, 2],
    ("t", 1): {1, 2},
}


def bombs() -> dict[str, bytes]:
    """Small pickles that would take memory, depth or time without end."""
    return {
        "memo index": b"K\x01r\xff\xff\xff\x7f.",
        "nested tuples": b")" + b"\x85" * 200_000 + b".",
        "nested key": b"}" + b")" + b"\x85" * 200_000 + b"Ns.",
        "nested lists": b"]" * 50_000 + b"a" * 49_999 + b".",
        "shared lists": b"]q\x00" + b"".join(b"(h%ch%clq%c" % (n, n, n + 1) for n in range(60)) + b".",
        "shared tuples": b")q\x00" + b"".join(b"h%ch%c\x86q%c" % (n, n, n + 1) for n in range(60)) + b".",
        "loop": b"]q\x00h\x00a.",
        "text length": b"X\xff\xff\xff\x7f.",
        "bytes length": b"\x8e\xff\xff\xff\xff\xff\xff\x00\x00.",
        "frame": b"\x80\x04\x95\xff\xff\xff\xff\xff\xff\x00\x00N.",
        "sets": b"\x8f" * 600_000 + b".",
        "marks": b"(" * 200_000 + b".",
        "digits": b"I" + b"9" * 1_000_000 + b"\n.",
        "long digits": b"L" + b"9" * 1_000_000 + b"L\n.",
    }


def torch_zip(data: bytes, compression: int = zipfile.ZIP_STORED) -> bytes:
    """A checkpoint in torch's format around a pickle."""
    file = BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        for name, content in (("data.pkl", data), ("version", b"3\n"), ("data/0", bytes(16))):
            archive.writestr(f"archive/{name}", content)
    return file.getvalue()


class Touch:
    """Runs a command when it is unpickled in the ordinary way."""

    def __init__(self, canary: Path):
        self.canary = canary

    def __reduce__(self) -> Any:
        return os.system, (f"touch '{self.canary}'",)


def attack(options: AttackOptions) -> Iterator[Outcome]:
    """Every bomb and every pickle that runs code, as a pickle and as a checkpoint; and `count` mutated ones."""
    with make_sandbox() as sandbox:
        for name, make in (("bombs", _bombs), ("code", _code), ("mutated", _mutated)):
            if options.only and name not in options.only:
                continue
            folder = options.folder / name
            folder.mkdir()
            paths = []
            for file, content in make(folder, options):
                paths.append(folder / file)
                paths[-1].write_bytes(content)
            function = "tools.attack.pickles:read_pickled"
            outcome = read_all(Outcome(name), sandbox, function, ((path,) for path in paths))
            if (folder / "canary").exists():
                outcome.failures.append("code of a pickle was run")
            yield outcome


def _bombs(folder: Path, options: AttackOptions) -> Iterator[tuple[str, bytes]]:
    for name, data in bombs().items():
        yield from ((f"{name}.pkl", data), (f"{name}.pth", data), (f"{name}-zip.pt", torch_zip(data)))
    yield "zip bomb.pt", torch_zip(b"\x80\x02}" + b"K\x010" * 10_000_000 + b".", zipfile.ZIP_DEFLATED)


def _code(folder: Path, options: AttackOptions) -> Iterator[tuple[str, bytes]]:
    touch = Touch(folder / "canary")
    for protocol in (0, 2, 4, 5):
        for name, content in (("alone", touch), ("among", {"state_dict": {"a": touch}, **_DATA})):
            data = pickle.dumps(content, protocol)
            for suffix, whole in ((".pkl", data), (".pth.tar", data), (".pt", torch_zip(data))):
                yield f"{name}-{protocol}{suffix}", whole


def _mutated(folder: Path, options: AttackOptions) -> Iterator[tuple[str, bytes]]:
    import torch

    file = BytesIO()
    torch.save({"state_dict": {"a.weight": torch.zeros(3, 2), "b": torch.ones(4).half()}, "epoch": 3}, file)
    seeds = [(".pkl", pickle.dumps(_DATA, protocol)) for protocol in (0, 2, 4)]
    seeds += [(".pt", file.getvalue()), (".pth", pickle.dumps({"a": torch.zeros(2)}, 2))]
    chance = random.Random(options.seed)
    for number in range(options.count):
        suffix, seed = seeds[number % len(seeds)]
        data = bytearray(seed)
        for _ in range(chance.randint(1, 6)):
            place, kind = chance.randrange(len(data)), chance.randrange(4)
            if kind == 0:
                del data[place : place + chance.randint(1, 8)]
            elif kind == 1:
                data[place:place] = data[place : place + chance.randint(1, 64)]
            else:
                data[place] = chance.choice(_TELLING) if kind == 2 else chance.randrange(256)
        yield f"mutated-{number}{suffix}", bytes(data or b".")


def read_pickled(path: Path) -> None:
    """In the sandbox: read a file by every reader of its suffix."""
    from signspot.dictionary.opening import open_dictionary
    from signspot.errors import SignspotError
    from signspot.formats.formats import read_spottings
    from signspot.models.checkpoints import load_encoder

    if path.suffix == ".pkl":
        with suppress(SignspotError):
            open_dictionary(path)
        read_spottings(path)
    else:
        load_encoder(path)
