"""Hostile pickles, checkpoints and cards: none may run anything, take a gigabyte, or end a process."""

import json
import os
import pickle
import random
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from tools.attack import AttackOptions, Outcome
from tools.attack.trials import read_in_child

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
    share = b"]q\x00" + b"".join(b"(h%ch%clq%c" % (n, n, n + 1) for n in range(60)) + b"."
    return {
        "memo index": b"K\x01r\xff\xff\xff\x7f.",
        "nested tuples": b")" + b"\x85" * 200_000 + b".",
        "nested key": b"}" + b")" + b"\x85" * 200_000 + b"Ns.",
        "nested lists": b"]" * 50_000 + b"a" * 49_999 + b".",
        "shared lists": share,
        "shared tuples": b")q\x00" + b"".join(b"h%ch%c\x86q%c" % (n, n, n + 1) for n in range(60)) + b".",
        "loop": b"]q\x00h\x00a.",
        "text length": b"X\xff\xff\xff\x7f.",
        "bytes length": b"\x8e\xff\xff\xff\xff\xff\xff\x00\x00.",
        "frame": b"\x80\x04\x95\xff\xff\xff\xff\xff\xff\x00\x00N.",
        "sets": b"\x8f" * 600_000 + b".",
        "marks": b"(" * 100_000 + b".",
        "digits": b"I" + b"9" * 1_000_000 + b"\n.",
        "long digits": b"L" + b"9" * 1_000_000 + b"L\n.",
    }


class _Touch:
    """Runs a command when it is unpickled in the ordinary way."""

    def __init__(self, canary: Path):
        self.canary = canary

    def __reduce__(self) -> Any:
        return os.system, (f"touch '{self.canary}'",)


def attack(options: AttackOptions) -> Iterator[Outcome]:
    """Every bomb as a pickle and as a checkpoint; cards; and `count` mutated pickles and checkpoints."""
    kinds = {"bombs": _bombs, "cards": _cards, "code": _code, "mutated": _mutated}
    for name, make in kinds.items():
        if not options.only or name in options.only:
            folder = options.folder / name
            folder.mkdir()
            outcome = read_in_child(name, "tools.attack.pickles:read_pickled", make(folder, options))
            if (folder / "canary").exists():
                outcome.failures.append("code of a pickle was run")
            yield outcome


def _bombs(folder: Path, options: AttackOptions) -> list[Path]:
    made = []
    for name, data in bombs().items():
        for suffix in (".pkl", ".pth"):
            made.append(folder / f"{name}{suffix}")
            made[-1].write_bytes(data)
        made.append(folder / f"{name}-zip.pt")
        made[-1].write_bytes(_torch_zip(data, zipfile.ZIP_STORED))
    made.append(folder / "zip bomb.pt")
    made[-1].write_bytes(_torch_zip(b"\x80\x02}" + b"K\x010" * 10_000_000 + b".", zipfile.ZIP_DEFLATED))
    return made


def _torch_zip(data: bytes, compression: int) -> bytes:
    file = BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        archive.writestr("archive/data.pkl", data)
        archive.writestr("archive/version", "3\n")
        archive.writestr("archive/data/0", bytes(16))
    return file.getvalue()


def _cards(folder: Path, options: AttackOptions) -> list[Path]:
    """Small weights with cards that ask for giant networks."""
    import torch
    from safetensors.torch import save_file

    lies: dict[str, dict[str, Any]] = {
        "wide": {"architecture": "landmark", "options": {"features": 900_000, "width": 900_000}},
        "deep": {"architecture": "frame_codes", "options": {"blocks": 10**9}},
        "long": {"architecture": "landmark", "options": {"frames": 10**8}},
        "i3d": {"architecture": "i3d", "options": {"width": 1e9}},
        "no number": {"architecture": "i3d", "options": {"width": float("nan")}},
        "text": {"architecture": "landmark", "options": {"width": "9" * 10_000}},
        "list": {"architecture": ["landmark"], "options": []},
    }
    made = []
    for name, card in lies.items():
        made.append(folder / f"{name}.safetensors")
        card |= {"contract": {"fps": 25}, "threshold": 0.7}
        save_file({"a": torch.zeros(2)}, made[-1], metadata={"signspot": json.dumps(card)})
    made.append(folder / "nested.safetensors")
    save_file({"a": torch.zeros(2)}, made[-1], metadata={"signspot": "[" * 100_000})
    return made


def _code(folder: Path, options: AttackOptions) -> list[Path]:
    """Pickles and checkpoints that would run a command."""
    touch = _Touch(folder / "canary")
    made = []
    for protocol in range(6):
        for name, content in (("alone", touch), ("among", {"state_dict": {"a": touch}, **_DATA})):
            data = pickle.dumps(content, protocol)
            for suffix, whole in ((".pkl", data), (".pth.tar", data), (".pt", _torch_zip(data, zipfile.ZIP_STORED))):
                made.append(folder / f"{name}-{protocol}{suffix}")
                made[-1].write_bytes(whole)
    return made


def _mutated(folder: Path, options: AttackOptions) -> list[Path]:
    """Pickles and checkpoints with bytes changed, left out or repeated."""
    import torch

    file = BytesIO()
    torch.save({"state_dict": {"a.weight": torch.zeros(3, 2), "b": torch.ones(4).half()}, "epoch": 3}, file)
    seeds = [(".pkl", pickle.dumps(_DATA, protocol)) for protocol in (0, 2, 4)]
    seeds += [(".pt", file.getvalue()), (".pth", pickle.dumps({"a": torch.zeros(2)}, 2))]
    draw = random.Random(options.seed)
    made = []
    for number in range(options.count):
        suffix, seed = seeds[number % len(seeds)]
        data = bytearray(seed)
        for _ in range(draw.randint(1, 6)):
            place = draw.randrange(len(data))
            kind = draw.randrange(4)
            if kind == 0:
                del data[place : place + draw.randint(1, 8)]
            elif kind == 1:
                data[place:place] = data[place : place + draw.randint(1, 64)]
            else:
                data[place] = draw.choice(_TELLING) if kind == 2 else draw.randrange(256)
        made.append(folder / f"mutated-{number}{suffix}")
        made[-1].write_bytes(data or b".")
    return made


def read_pickled(path: Path) -> int:
    """In the other process: read a file by every reader of its suffix; give how many could."""
    from signspot.dictionary.opening import open_dictionary
    from signspot.errors import SignspotError
    from signspot.formats.formats import read_spottings
    from signspot.models.checkpoints import load_encoder

    readers: tuple[Callable[[Path], object], ...] = (load_encoder,)
    found = 0
    for reader in (open_dictionary, read_spottings) if path.suffix == ".pkl" else readers:
        with suppress(SignspotError):
            reader(path)
            found += 1
    return found
