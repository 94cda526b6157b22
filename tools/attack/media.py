"""Hostile and damaged videos, each opened in a process with limits."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from tests.fixtures.media import even, make_video, makers
from tools.attack import AttackOptions, Outcome, make_sandbox, read_all

CODECS = {".mp4": "libx264", ".mkv": "libx264", ".ts": "libx264", ".avi": "mpeg4", ".webm": "libvpx"}


def attack(options: AttackOptions) -> Iterator[Outcome]:
    """Open every kind of hostile video once, and `count` damaged ones of each container."""
    kinds: dict[str, Iterator[Path]] = {"lies": (make(options.folder) for _, make in makers())}
    kinds |= {f"damaged{suffix}": _damaged(options, suffix) for suffix in CODECS}
    with make_sandbox() as sandbox:
        for name in options.only or kinds:
            inputs = ((path,) for path in kinds[name])
            yield read_all(Outcome(name), sandbox, "tools.attack.media:read_media", inputs)


def _damaged(options: AttackOptions, suffix: str) -> Iterator[Path]:
    """Copies of a video: cut off, bytes changed anywhere, or in the header alone."""
    seed = make_video(options.folder / f"seed{suffix}", even(60), codec=CODECS[suffix]).read_bytes()
    draw = np.random.default_rng(options.seed)
    for number in range(options.count):
        data = bytearray(seed)
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
