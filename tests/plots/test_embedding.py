from base64 import b64decode
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest

from signspot.errors import VideoError
from signspot.plots.report import data_address
from signspot.video.reader import open_video


def content(address: str | None, tmp_path: Path) -> Path:
    assert address is not None
    kind, _, encoded = address.partition(";base64,")
    assert kind == "data:video/mp4"
    (tmp_path / "out.mp4").write_bytes(b64decode(encoded))
    return tmp_path / "out.mp4"


def test_what_browsers_play_goes_in_as_it_is(video: Path, tmp_path: Path) -> None:
    assert content(data_address(video), tmp_path).read_bytes() == video.read_bytes()


@pytest.mark.parametrize(
    ("codec", "pixels", "name"), [("mpeg4", "yuv420p", "old.avi"), ("libx264", "yuv444p", "x.mp4")]
)
def test_what_they_do_not_play_goes_in_as_a_copy(codec: str, pixels: str, name: str, tmp_path: Path) -> None:
    with av.open(str(tmp_path / name), "w") as container:
        stream = container.add_stream(codec, rate=Fraction(25))
        stream.width, stream.height, stream.pix_fmt = 1280, 720, pixels
        for _ in range(10):
            picture = av.VideoFrame.from_ndarray(np.full((720, 1280, 3), 120, np.uint8), format="rgb24")
            container.mux(stream.encode(picture))
        container.mux(stream.encode(None))
    calls: list[int] = []
    copy = content(data_address(tmp_path / name, lambda done, total: calls.append(done)), tmp_path)
    with open_video(copy) as made:
        assert (made.info.codec, made.info.width, made.info.height) == ("h264", 640, 360)
        assert sum(1 for _ in made.frames()) == 10
    assert calls == list(range(1, 11))


def test_what_is_too_large_stays_out(video: Path) -> None:
    assert data_address(video, most_bytes=100) is None


def test_a_missing_video_is_told(tmp_path: Path) -> None:
    with pytest.raises(VideoError):
        data_address(tmp_path / "gone.mp4")
