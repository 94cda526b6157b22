"""Facts about files: orientation, and whether a file is a whole video."""

import itertools
from pathlib import Path

import av
import numpy as np
import pytest

from signspot.video.probing import Orientation, from_display_matrix, header_problem, shows_pictures, video_problem

ALL = [Orientation(*flags) for flags in itertools.product([False, True], repeat=3)]


@pytest.mark.parametrize("orientation", ALL)
def test_upright_moves_pixels_where_the_matrix_sends_them(orientation):
    across, down = (-1 if orientation.flipped_across else 1), (-1 if orientation.flipped_down else 1)
    a, b, c, d = (0, down, across, 0) if orientation.transposed else (across, 0, 0, down)
    matrix = np.array([a, b, 0, c, d, 0, 0, 0, 1], np.int32) * 65536
    assert from_display_matrix(matrix) == orientation
    image = np.random.default_rng(0).integers(0, 255, (5, 7, 3), dtype=np.uint8)
    upright = orientation.upright(image)
    assert upright.flags.c_contiguous
    for y, x in itertools.product(range(5), range(7)):
        column, row = a * x + c * y, b * x + d * y
        column += 0 if (a + c) > 0 else upright.shape[1] - 1
        row += 0 if (b + d) > 0 else upright.shape[0] - 1
        assert (upright[row, column] == image[y, x]).all()


def test_degrees():
    assert [o.degrees for o in ALL if not (o.transposed and o.flipped_across == o.flipped_down)] == [
        0, 180, 0, 180, 270, 90,
    ]  # fmt: skip


def test_a_slightly_turned_matrix_is_the_nearest_quarter_turn():
    matrix = np.array([3000, 65000, 0, -65000, 3000, 0, 0, 0, 1 << 30], np.int32)
    assert from_display_matrix(matrix) == Orientation(transposed=True, flipped_across=True)


CODECS = {
    ".mp4": "h264",
    ".mov": "h264",
    ".mkv": "h264",
    ".webm": "vp9",
    ".avi": "mpeg4",
    ".ts": "h264",
    ".flv": "flv1",
}


@pytest.fixture(scope="module")
def videos(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Four seconds in every container."""
    rng = np.random.default_rng(0)
    images = rng.integers(0, 255, (100, 32, 48, 3), dtype=np.uint8)
    contents = {}
    for suffix, codec in CODECS.items():
        path = tmp_path_factory.mktemp("videos") / f"a{suffix}"
        options = {"movflags": "faststart"} if suffix == ".mp4" else {}
        with av.open(str(path), "w", options=options) as container:
            stream = container.add_stream(codec, rate=25)
            stream.width, stream.height, stream.pix_fmt = 48, 32, "yuv420p"
            for image in images:
                container.mux(stream.encode(av.VideoFrame.from_ndarray(image)))
            container.mux(stream.encode(None))
        contents[suffix] = path.read_bytes()
    return contents


@pytest.mark.parametrize("suffix", CODECS)
def test_whole_videos(tmp_path: Path, videos: dict[str, bytes], suffix: str) -> None:
    path = tmp_path / f"a{suffix}"
    path.write_bytes(videos[suffix])
    assert video_problem(path) is None
    assert header_problem(path) is None
    assert shows_pictures(path) == (suffix not in (".ts", ".flv"))
    path.rename(tmp_path / "a.mp4")  # the content counts, not the name
    assert video_problem(tmp_path / "a.mp4") is None


@pytest.mark.parametrize("share", [0.001, 0.3, 0.6, 0.97])
@pytest.mark.parametrize("suffix", sorted(CODECS.keys() - {".ts", ".flv"}))
def test_videos_that_are_cut_off(tmp_path: Path, videos: dict[str, bytes], suffix: str, share: float) -> None:
    path = tmp_path / f"a{suffix}"
    path.write_bytes(videos[suffix][: int(len(videos[suffix]) * share)])
    assert video_problem(path)
    assert not shows_pictures(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is empty"),
        (b"<html>", "the server sent a web page, not a video"),
        (b"no video at all", "it is not a readable video, or it is cut off"),
        (b"\0\0\0\x08free" * 100, "it is not a readable video, or it is cut off"),
    ],
)
def test_what_is_none(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "a.mp4").write_bytes(content)
    assert video_problem(tmp_path / "a.mp4") == message


def test_a_header_alone_shows_no_pictures(tmp_path: Path, videos: dict[str, bytes]) -> None:
    """Boxes that are whole, but hold nothing; sizes that lie."""
    path = tmp_path / "a.mp4"
    for content in (
        b"\0\0\0\x10ftypisom\0\0\0\0",
        b"\0\0\0\x08ftyp\0\0\0\x0cmoovvide",
        b"\0\0\0\x08ftyp\0\0\0\x08mdat\0\0\0\x08moov",
        b"\0\0\0\x04ftyp" * 9,
        b"\0\0\0\x01ftyp" + b"\xff" * 30,
        b"\x1a\x45\xdf\xa3",
        b"\x1a\x45\xdf\xa3\x00V_",
        b"RIFF",
        b"ftyp",
    ):
        path.write_bytes(content)
        assert not shows_pictures(path)
        assert header_problem(path)
