"""Hostile and damaged videos, each opened in a process with limits."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from signspot.errors import SandboxLimitError
from signspot.io.sandbox import Limits, Sandbox
from tests.fixtures.media import even, make_video, makers, slow, uneven
from tools.attack import MEMORY, AttackOptions, Outcome, make_sandbox, read_all

_READ = "tools.attack.media:read_media"
_SLOW = 0.5  # seconds that a video that is slow to decode is given
CODECS = {".mp4": "libx264", ".mkv": "libx264", ".ts": "libx264", ".avi": "mpeg4", ".webm": "libvpx"}


def attack(options: AttackOptions) -> Iterator[Outcome]:
    """Open every kind of hostile video once, and `count` damaged ones of each container; stop a slow one."""
    kinds: dict[str, Iterator[Path]] = {"lies": (make(options.folder) for _, make in makers())}
    kinds |= {f"damaged{suffix}": _damaged(options, suffix) for suffix in CODECS}
    with make_sandbox() as sandbox:
        for name in options.only or kinds:
            inputs = ((path,) for path in kinds[name])
            yield read_all(Outcome(name), sandbox, _READ, inputs)
    yield _stop_slow(options.folder)


def _stop_slow(folder: Path) -> Outcome:
    """A video that is slow to decode is stopped by the time limit."""
    outcome = Outcome("slow")
    with outcome.timed("slow"), Sandbox(Limits(_SLOW, MEMORY)) as sandbox:
        try:
            sandbox.call(_READ, slow(folder))
        except SandboxLimitError as error:
            if f"{_SLOW:g} s" not in str(error):
                raise
        else:
            raise AssertionError("it was not stopped")
    return outcome


def _damaged(options: AttackOptions, suffix: str) -> Iterator[Path]:
    """Copies of two videos: cut off, bytes changed anywhere, or in the header alone.

    The second has a variable frame rate, and is rotated and has a picture attached where its container can have them.
    """
    attached = {"rotation": 90.0, "cover": True} if suffix in (".mp4", ".mkv") else {}
    path, codec = options.folder / f"seed{suffix}", CODECS[suffix]
    kinds: tuple[tuple[list[int], dict[str, Any]], ...] = ((even(60), {}), (uneven(60), attached))
    seeds = [make_video(path, stamps, codec=codec, **more).read_bytes() for stamps, more in kinds]
    draw = np.random.default_rng(options.seed)
    for number in range(options.count):
        data = bytearray(seeds[number // 3 % len(seeds)])
        if number % 3 == 0:
            del data[int(draw.integers(1, len(data))) :]
        else:
            end = len(data) if number % 3 == 1 else min(2000, len(data))
            for position in draw.integers(0, end, int(draw.integers(1, 12))):
                data[position] = draw.integers(0, 256)
        path = options.folder / f"damaged-{number}{suffix}"
        path.write_bytes(data)
        yield path


def read_media(path: Path) -> int:
    """In the sandbox: open a file in every way; give the number of frames."""
    from signspot.video.probing import header_problem, video_problem
    from signspot.video.reader import open_video

    header_problem(path)
    video_problem(path)
    with open_video(path, max_side=64) as video:
        return sum(1 for _ in video.resampled(25))
