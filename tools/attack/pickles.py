"""Hostile pickles, checkpoints and cards: none may run anything, take a gigabyte, or end a process."""

import json
import os
import pickle
import random
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from tools.attack import AttackOptions, Outcome

_LONGEST = 60.0  # seconds for one file, on a busy machine
_MOST_MEMORY = 1 << 30  # bytes
_TELLING = b"(.0123)]}\x85\x86\x94hqrR\x8f\xff\x00K"  # bytes that mean something in a pickle
_PROGRAM = "import sys; from tools.attack.pickles import read_pickles; read_pickles(sys.argv[1:])"
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
            outcome = _outcome(name, make(folder, options))
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
                data[place] = (
                    draw.choice(b"(.0123)]}\x85\x86\x94hqrR\x8f\xff\x00K") if kind == 2 else draw.randrange(256)
                )
        made.append(folder / f"mutated-{number}{suffix}")
        made[-1].write_bytes(data or b".")
    return made


def _outcome(name: str, paths: Sequence[Path]) -> Outcome:
    """Read files one after the other in one process; where it dies or hangs, go on behind the file that did it."""
    outcome, left, read = Outcome(name, len(paths)), list(paths), 0
    while left:
        program = [sys.executable, "-c", _PROGRAM, *map(str, left)]
        with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            for line in process.stdout:
                found = json.loads(line)
                path = left.pop(0)
                read += found["read"]
                outcome.worst_seconds = max(outcome.worst_seconds, found["seconds"])
                if found["failure"]:
                    outcome.failures.append(f"{path.name}: {found['failure']}")
        if left:
            outcome.failures.append(f"{left.pop(0).name}: the process ended with {process.returncode}")
    outcome.remarks = f"{read} were read"
    return outcome


def read_pickles(names: Sequence[str]) -> None:
    """In the other process: read each file by the reader of its suffix, and print a line of JSON about it."""
    import resource
    import signal

    from signspot.dictionary.opening import open_dictionary
    from signspot.errors import SignspotError
    from signspot.formats.formats import read_spottings
    from signspot.models.checkpoints import load_encoder

    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + _MOST_MEMORY, used + _MOST_MEMORY))
    for name in names:
        start, read, failure = time.perf_counter(), False, ""
        signal.alarm(int(_LONGEST))
        for reader in (open_dictionary, read_spottings) if name.endswith(".pkl") else (load_encoder,):
            try:
                reader(Path(name))
                read = True
            except SignspotError:
                pass
            except BaseException as error:
                failure = f"{type(error).__name__}: {str(error)[:200]}"
        signal.alarm(0)
        print(json.dumps({"seconds": time.perf_counter() - start, "read": read, "failure": failure}), flush=True)
