"""Hostile videos: jumping clocks, lying headers, giant pictures, damage; each is opened in a process with limits."""

import struct
import zlib
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import av
import numpy as np

from tools.attack import AttackOptions, Outcome, make_sandbox, read_all

_DAY = 24 * 3600
_YEAR = 365 * _DAY
_TICKS = 1000  # of a second, in the files made here
Maker = Callable[[Path], Path]


def make_video(
    path: Path,
    stamps: list[int],
    *,
    codec: str = "libx264",
    size: tuple[int, int] = (96, 64),
    sound: bool = False,
    **options: str,
) -> Path:
    """A little video with a picture at each stamp, in milliseconds."""
    pixels = "yuvj420p" if codec == "mjpeg" else "rgb24" if codec == "png" else "yuv420p"
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=25, options=options)
        stream.width, stream.height, stream.pix_fmt = *size, pixels
        stream.codec_context.time_base = Fraction(1, _TICKS)
        if sound:
            _add_second_of_sound(container)
        for number, stamp in enumerate(stamps):
            image = np.full((size[1], size[0], 3), number % 250, np.uint8)
            frame = av.VideoFrame.from_ndarray(image, format="rgb24").reformat(format=pixels)
            frame.pts, frame.time_base = stamp, Fraction(1, _TICKS)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return path


def _add_second_of_sound(container: Any) -> None:
    stream = container.add_stream("aac", rate=16_000)
    stream.layout = "mono"
    frame = av.AudioFrame.from_ndarray(np.zeros((1, 16_000), np.float32), format="fltp", layout="mono")
    frame.sample_rate, frame.pts, frame.time_base = 16_000, 0, Fraction(1, 16_000)
    container.mux(stream.encode(frame))
    container.mux(stream.encode(None))


def even(frames: int, start: int = 0) -> list[int]:
    """Stamps of 25 pictures a second."""
    return [start + 40 * number for number in range(frames)]


def _patched(path: Path, box: bytes, offset: int, value: bytes) -> Path:
    """Overwrite bytes after the name of an MP4 box, wherever the box stands."""
    data = bytearray(path.read_bytes())
    place = data.index(box) + 4 + offset
    data[place : place + len(value)] = value
    path.write_bytes(data)
    return path


def _replaced(path: Path, old: bytes, new: bytes) -> Path:
    data = path.read_bytes()
    assert old in data, f"{path.name} has no {old!r}"
    path.write_bytes(data.replace(old, new, 1))
    return path


def jump(folder: Path, suffix: str) -> Path:
    """A clock that jumps by as much as the container can say in the middle of nine seconds."""
    seconds = {".mkv": _YEAR, ".mp4": _DAY, ".ts": _DAY}[suffix]
    return make_video(folder / f"jump{suffix}", even(100) + even(125, 1000 * seconds))


def jumps(folder: Path) -> Path:
    """A clock that jumps by 50 minutes from picture to picture."""
    return make_video(folder / "jumps.mkv", [3_000_000 * number for number in range(200)])


def late_start(folder: Path) -> Path:
    """Sound at once, pictures a year later."""
    return make_video(folder / "late.mkv", even(50, 1000 * _YEAR), sound=True)


def long_last(folder: Path) -> Path:
    """The last picture is shown for a hundred years, by its duration alone."""
    path = make_video(folder / "last.mp4", even(50), movflags="+faststart")
    return _patched(path, b"stts", 8 + 4, struct.pack(">I", 0x7FFFFFFF))


def long_header(folder: Path, box: bytes) -> Path:
    """A header that announces more than it holds."""
    path = make_video(folder / f"long-{box.decode()}.mp4", even(50))
    offset = {b"mvhd": 16, b"tkhd": 20, b"mdhd": 16}[box]
    return _patched(path, box, offset, struct.pack(">I", 0xFFFFFFF0))


def many_samples(folder: Path) -> Path:
    """A table of samples that says it has two thousand million entries."""
    path = make_video(folder / "many.mp4", even(50))
    return _patched(path, b"stsz", 8, struct.pack(">I", 0x7FFFFFFF))


def many_durations(folder: Path) -> Path:
    """One line of the table of times stands for four thousand million pictures."""
    path = make_video(folder / "durations.mp4", even(50))
    return _patched(path, b"stts", 8, struct.pack(">I", 0xFFFFFFFF))


def slow_clock(folder: Path) -> Path:
    """A tick of one second where a thousandth was meant: fifty pictures in days."""
    path = make_video(folder / "slow.mp4", even(50))
    return _patched(path, b"mdhd", 12, struct.pack(">I", 1))


def repeated_edits(folder: Path) -> Path:
    """An edit list that shows the same two seconds three thousand times."""
    path = make_video(folder / "edits.mp4", even(50))
    data = path.read_bytes()
    start = data.index(b"elst") - 4
    length = int.from_bytes(data[start : start + 4])
    entries = struct.pack(">IiHH", 2000, 0, 1, 0) * 3_000
    table = struct.pack(">I4sII", 16 + len(entries), b"elst", 0, 3_000) + entries
    grown = len(table) - length
    fixed = bytearray(data[:start] + table + data[start + length :])
    for name in (b"moov", b"trak", b"edts"):
        place = fixed.index(name) - 4
        fixed[place : place + 4] = struct.pack(">I", int.from_bytes(fixed[place : place + 4]) + grown)
    path.write_bytes(fixed)
    return path


def matroska_duration(folder: Path, value: float) -> Path:
    """A Matroska header whose duration is infinite, absurd, or no number."""
    path = make_video(folder / f"duration-{value}.mkv", even(50))
    data = bytearray(path.read_bytes())
    place = data.index(b"\x44\x89\x88") + 3
    data[place : place + 8] = struct.pack(">d", value)
    path.write_bytes(data)
    return path


def avi_rate(folder: Path, scale: int, rate: int) -> Path:
    """An AVI whose header says how long a picture is shown: years, or nothing."""
    path = make_video(folder / f"rate-{scale}-{rate}.avi", even(50), codec="mpeg4")
    return _patched(path, b"strh", 4 + 20, struct.pack("<II", scale, rate))


def giant(folder: Path) -> Path:
    """Pictures of 12000 x 12000 pixels: little on disk, gigabytes in memory."""
    return make_pictures(folder / "giant.avi", [12_000] * 4)


def growing(folder: Path) -> Path:
    """Small pictures, and then giant ones, which no header announced."""
    return make_pictures(folder / "growing.avi", [64] * 12 + [12_000] * 4)


def largest(folder: Path, *, deep: bool) -> Path:
    """A picture of the largest size that is allowed, in 3 or 8 bytes per pixel."""
    return make_pictures(folder / f"largest-{deep}.avi", [5900], deep=deep)


def make_pictures(path: Path, sides: list[int], *, deep: bool = False) -> Path:
    """A video of black square PNG pictures, as large as they like, whatever the video's header says."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream("png", rate=25)
        stream.width, stream.height, stream.pix_fmt = 64, 64, "rgb24"
        for number, side in enumerate(sides):
            packet = av.Packet(_black_png(side, deep=deep))
            packet.stream, packet.time_base = stream, Fraction(1, 25)
            packet.pts = packet.dts = number
            packet.is_keyframe = True
            container.mux(packet)
    return path


def _black_png(side: int, *, deep: bool = False) -> bytes:
    """A black picture; the same compressed zeros are repeated, so that it takes no time to make."""
    size, block = side * (1 + (8 if deep else 3) * side), 1 << 16
    if size < block:
        return _png(side, zlib.compress(bytes(size)))
    press = zlib.compressobj(9, zlib.DEFLATED, -15)
    whole = press.compress(bytes(block)) + press.flush(zlib.Z_FULL_FLUSH)
    rest = zlib.compressobj(9, zlib.DEFLATED, -15)
    last = rest.compress(bytes(size % block)) + rest.flush()
    checksum = struct.pack(">I", size % 65_521 << 16 | 1)  # Adler-32 of so many zeros
    return _png(side, b"\x78\xda" + whole * (size // block) + last + checksum, deep=deep)


def _png(side: int, pixels: bytes, *, deep: bool = False) -> bytes:
    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, *((16, 6) if deep else (8, 2)), 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


def wide_header(folder: Path) -> Path:
    """A header of 60,000 x 60,000 pixels before a stream of small ones."""
    path = make_video(folder / "wide.y4m", even(3), codec="rawvideo")
    return _replaced(path, b"W96 H64", b"W60000 H60000")


def wide_gif(folder: Path) -> Path:
    """A GIF whose screen is as large as its header can say."""
    path = folder / "wide.gif"
    header = b"GIF89a" + struct.pack("<HHBBB", 65_535, 65_535, 0x80, 0, 0) + bytes(6)
    picture = b"\x2c" + struct.pack("<HHHHB", 0, 0, 65_535, 65_535, 0) + b"\x02\x02\x44\x01\x00"
    path.write_bytes(header + picture * 20 + b"\x3b")
    return path


def playlist(folder: Path) -> Path:
    """A playlist in the clothes of a video, that leads elsewhere."""
    path = folder / "list.mp4"
    path.write_text("#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nhttp://127.0.0.1:9/a.ts\n#EXT-X-ENDLIST\n")
    return path


def makers() -> Iterator[tuple[str, Maker]]:
    """Every kind of hostile video, by name."""
    for suffix in (".mkv", ".mp4", ".ts"):
        yield f"jump{suffix}", partial(jump, suffix=suffix)
    yield from (("jumps", jumps), ("late start", late_start), ("long last picture", long_last))
    for box in (b"mvhd", b"tkhd", b"mdhd"):
        yield f"long {box.decode()}", partial(long_header, box=box)
    yield from (("many samples", many_samples), ("many durations", many_durations), ("slow clock", slow_clock))
    yield "repeated edits", repeated_edits
    for value in (1e18, float("inf"), float("nan"), -5.0):
        yield f"duration {value}", partial(matroska_duration, value=value)
    for scale, rate in ((0x7FFFFFFF, 1), (1, 0x7FFFFFFF), (0, 0), (1, 0)):
        yield f"avi rate {rate}/{scale}", partial(avi_rate, scale=scale, rate=rate)
    yield from (("giant pictures", giant), ("growing pictures", growing))
    for deep in (False, True):
        yield f"largest picture, {8 if deep else 3} bytes per pixel", partial(largest, deep=deep)
    yield from (("wide header", wide_header), ("wide gif", wide_gif), ("playlist", playlist))


_SEEDS = ((".mp4", "libx264"), (".mkv", "libx264"), (".ts", "libx264"), (".avi", "mpeg4"), (".webm", "libvpx"))


def attack(options: AttackOptions) -> Iterator[Outcome]:
    """Open every kind of hostile video once, and `count` damaged ones of each container."""
    with make_sandbox() as sandbox:
        kinds: dict[str, Callable[[], Iterable[Path]]] = {
            "lies": lambda: (make(options.folder) for _, make in makers())
        }
        for suffix, codec in _SEEDS:
            kinds[f"damaged{suffix}"] = partial(_damaged, options, suffix, codec)
        for name, paths in kinds.items():
            if not options.only or name in options.only:
                inputs = ((path,) for path in paths())
                yield read_all(Outcome(name), sandbox, "tools.attack.media:read_media", inputs)


def _damaged(options: AttackOptions, suffix: str, codec: str) -> Iterator[Path]:
    """Copies of a video: cut off, bytes changed anywhere, or in the header alone."""
    seed = make_video(options.folder / f"seed{suffix}", even(60), codec=codec).read_bytes()
    draw = np.random.default_rng(options.seed)
    for number in range(options.count):
        data = bytearray(seed)
        if number % 3 == 0:
            del data[int(draw.integers(1, len(data))) :]
        else:
            reach = len(data) if number % 3 == 1 else min(2000, len(data))
            for place in draw.integers(0, reach, int(draw.integers(1, 12))):
                data[place] = draw.integers(0, 256)
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
