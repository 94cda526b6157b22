"""Little videos whose pictures carry their own number, so that exactness survives lossy coding."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

BITS, CELL = 10, 16
WIDTH, HEIGHT = BITS * CELL, 4 * CELL


def numbered(index: int, width: int = WIDTH, height: int = HEIGHT) -> np.ndarray:
    """(H, W, 3): the number as a row of black and white cells at the top, red below left, blue below right."""
    image = np.zeros((height, width, 3), np.uint8)
    image[height // 2 :, : width // 2, 0] = 255
    image[height // 2 :, width // 2 :, 2] = 255
    for bit in range(BITS):
        image[: height // 2, bit * width // BITS : (bit + 1) * width // BITS] = 255 * (index >> bit & 1)
    return image


def number_of(image: np.ndarray) -> int:
    """Read the number back."""
    height, width = image.shape[:2]
    row = image[height // 8 : 3 * height // 8].mean(axis=(0, 2))
    centres = [int((bit + 0.5) * width / BITS) for bit in range(BITS)]
    return sum(int(row[centre] > 127) << bit for bit, centre in enumerate(centres))


@dataclass
class Recipe:
    """Recipe of a video."""

    codec: str = "libx264"
    pix_fmt: str = "yuv420p"
    frames: int = 40
    rate: Fraction = Fraction(25)
    size: tuple[int, int] = (WIDTH, HEIGHT)
    times: Sequence[Fraction] | None = None  # seconds of every frame; even ones at `rate` if None
    options: dict[str, str] = field(default_factory=lambda: {"g": "12"})
    rotation: float | None = None  # degrees counter-clockwise, as PyAV wants them
    mirrored: bool = False
    pixel_aspect: Fraction | None = None
    audio: bool = False
    container: dict[str, str] = field(default_factory=dict)


def make(path: Path, recipe: Recipe | None = None, **changes: Any) -> Path:
    """Write a numbered video."""
    recipe = recipe or Recipe(**changes)
    with av.open(str(path), "w", container_options=recipe.container) as container:
        stream = container.add_stream(recipe.codec, rate=recipe.rate, options=recipe.options)
        stream.width, stream.height, stream.pix_fmt = *recipe.size, recipe.pix_fmt
        base = Fraction(1, 90_000) if recipe.times else 1 / recipe.rate
        stream.codec_context.time_base = base
        if recipe.pixel_aspect:
            stream.codec_context.sample_aspect_ratio = recipe.pixel_aspect
        if recipe.rotation is not None:
            stream.set_display_rotation(recipe.rotation, hflip=recipe.mirrored)
        if recipe.audio:
            add_sound(container)
        count = len(recipe.times) if recipe.times else recipe.frames
        for index in range(count):
            frame = av.VideoFrame.from_ndarray(numbered(index, *recipe.size), format="rgb24")
            frame.pts = round(recipe.times[index] / base) if recipe.times else index
            frame.time_base = base
            container.mux(stream.encode(frame))
        if count:
            container.mux(stream.encode(None))
    return path


def add_sound(container: Any, seconds: float = 1.0) -> None:
    stream = container.add_stream("aac", rate=16_000)
    stream.layout = "mono"
    for start in range(0, int(seconds * 16_000), 1024):
        frame = av.AudioFrame.from_ndarray(np.zeros((1, 1024), np.float32), format="fltp", layout="mono")
        frame.sample_rate, frame.pts, frame.time_base = 16_000, start, Fraction(1, 16_000)
        container.mux(stream.encode(frame))
    container.mux(stream.encode(None))


@pytest.fixture(scope="session")
def make_video() -> Callable[..., Path]:
    return make


@pytest.fixture(scope="session")
def number() -> Callable[[np.ndarray], int]:
    return number_of


@pytest.fixture(scope="session")
def picture() -> Callable[..., np.ndarray]:
    return numbered


@pytest.fixture(scope="session")
def sound() -> Callable[..., None]:
    return add_sound


def containers() -> dict[str, tuple[str, dict[str, Any]]]:
    """Kind of file -> its name, and what differs from the plain recipe."""
    return {
        "mp4": ("v.mp4", {}),
        "mp4 with open groups": ("v.mp4", {"options": {"g": "12", "x264-params": "open-gop=1:bframes=3"}}),
        "mp4 with sound": ("v.mp4", {"audio": True}),
        "mp4 in fragments": ("v.mp4", {"container": {"movflags": "frag_keyframe+empty_moov"}}),
        "mkv": ("v.mkv", {}),
        "webm": ("v.webm", {"codec": "libvpx-vp9", "options": {"g": "12", "cpu-used": "8", "deadline": "realtime"}}),
        "webm of a browser": (
            "v.webm",
            {
                "codec": "libvpx-vp9",
                "options": {"g": "30", "cpu-used": "8", "deadline": "realtime"},
                "container": {"live": "1"},
            },
        ),
        "avi": ("v.avi", {"codec": "mpeg4"}),
        "avi with reordered frames": ("v.avi", {}),
        "ts": ("v.ts", {"container": {"output_ts_offset": "7.5"}}),
        "mpg": ("v.mpg", {"codec": "mpeg2video", "options": {"g": "12", "b": "2000000"}}),
        "flv": ("v.flv", {}),
        "mov": ("v.mov", {"codec": "mjpeg", "pix_fmt": "yuvj420p", "options": {}}),
        "raw h264": ("v.h264", {}),
        "odd sizes": ("v.mkv", {"codec": "ffv1", "size": (161, 67)}),
        "10 bits": ("v.mp4", {"pix_fmt": "yuv420p10le"}),
    }


@pytest.fixture(scope="session", params=list(containers()))
def any_video(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One numbered video of 40 frames at 25 fps in each kind of file."""
    name, changes = containers()[request.param]
    return make(tmp_path_factory.mktemp("kinds") / name, **changes)
