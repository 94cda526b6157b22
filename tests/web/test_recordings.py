"""Recordings that are looked at while they are made: pictures in, words and places out; nothing is kept."""

import struct
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from signspot.errors import LandmarksError, OptionsError
from signspot.video.reader import open_video
from signspot.web.picture_process import read_picture
from signspot.web.recordings import MOST_PICTURES, Recordings, read_pictures, thinned

from .conftest import Server


def packed(pictures: list[tuple[int, bytes]]) -> bytes:
    return b"".join(struct.pack("<iI", at, len(content)) + content for at, content in pictures)


def test_pictures_are_taken_apart() -> None:
    assert read_pictures(packed([(-40, b"ab"), (0, b"c")])) == [(-0.04, b"ab"), (0.0, b"c")]
    assert read_pictures(b"") == []
    for cut in (b"\0", packed([(0, b"abc")])[:-1], struct.pack("<iI", 0, 0), struct.pack("<iI", 0, 1 << 31)):
        with pytest.raises(OptionsError, match=r"cut off|are sent as"):
            read_pictures(cut)


def test_where_many_wait_some_between_are_left_out() -> None:
    waiting = [(k / 25, b"") for k in range(25)]
    kept = thinned(waiting, 10)
    assert kept[-1] == waiting[-1], "the latest is always looked at"
    assert {round((b[0] - a[0]) * 25) for a, b in pairwise(kept)} == {3}, "evenly"
    assert len(kept) <= 10
    assert thinned(waiting[:10], 10) == waiting[:10]
    many = [(k / 25, b"") for k in range(201)]
    assert thinned(many, 10) == many[::5], "never more than 0.2 s apart"
    assert thinned(thinned(many, 10), 10) == many[::5]
    assert thinned([], 10) == []
    countdown = [(k / 25 - 3, b"") for k in range(20)]
    assert thinned(countdown, 10) == countdown[-1:], "they say whether hands are in view now"
    assert thinned([*countdown, *waiting[:8]], 10) == waiting[:8], "nobody waits for them once the sign has begun"


def test_only_jpeg_pictures_are_read() -> None:
    for content in (b"", b"\x89PNG\r\n\x1a\n" + b"\0" * 50, b"#EXTM3U\n", b"\xff\xd8\xff" + b"\0" * 50):
        with pytest.raises(LandmarksError, match=r"JPEG|decoded"):
            read_picture(content)


@pytest.mark.parametrize("progressive", [0, 1])
def test_a_giant_picture_is_refused_before_it_takes_memory(progressive: int) -> None:
    """A file of 100 kB that says it has 80 million pixels, and one with bytes between its headers."""
    flags = [cv2.IMWRITE_JPEG_PROGRESSIVE, progressive]
    content = cv2.imencode(".jpg", np.zeros((200, 40_000), np.uint8), flags)[1].tobytes()
    for odd in (content, content[:2] + b"\xff" * 50 + content[2:]):
        assert read_picture(odd).shape[2] == 3, "long, but not large"
        start = next(odd.find(bytes([0xFF, kind])) for kind in (0xC0, 0xC2) if bytes([0xFF, kind, 0]) in odd)
        lie = odd[: start + 5] + (2_000).to_bytes(2, "big") + odd[start + 7 :]
        with pytest.raises(LandmarksError, match="too large"):
            read_picture(lie)
    assert read_picture(jpeg(np.zeros((48, 64, 3), np.uint8))).shape == (48, 64, 3)


@pytest.mark.slow  # MediaPipe looks at two seconds of film
def test_a_recording_is_looked_at_while_it_is_made(server: Server, material: Path) -> None:
    with open_video(material / "dictionary" / "river" / "film.mp4") as film:
        pictures = [(round(1000 * frame.time), jpeg(frame.image)) for frame in film.resampled(25.0)]
    assert server.ask("GET", "/api/spot/news.mp4?dictionary=dictionary&word=river").status == 200  # its track is there
    place = "/api/recordings/" + server.ask("POST", "/api/recordings").json["id"]
    told: dict[str, Any] = {"looked": False}
    at = -100_000
    while not told["looked"]:  # the countdown: models are loaded
        at += 500
        told = server.ask("PUT", f"{place}/pictures", packed([(at, pictures[0][1])])).json
        time.sleep(0.3)
    for one in pictures:
        assert server.ask("PUT", f"{place}/pictures", packed([one])).status == 200
    found = server.ask("POST", f"{place}/search?dictionary=dictionary").json
    assert found["words"][0]["word"] == "river"
    assert found["places"][0]["video"] == "news.mp4"
    assert found["pictures"]["sent"] >= len(pictures)
    again = server.ask("POST", f"{place}/search?dictionary=dictionary&start=0.2&end=1.2").json
    assert again["words"], "a part of it is searched for without another recording"
    assert again["seconds"]["landmarks"] < 1
    assert server.ask("PUT", f"{place}/pictures", packed(pictures[:1])).status == 422, "it is over"
    assert server.ask("DELETE", place).status == 200
    gone = server.ask("POST", f"{place}/search?dictionary=dictionary")
    assert (gone.status, "begin another one" in gone.json["error"]) == (404, True)
    left = server.folder / ".signspot" / "uploads"
    assert not left.is_dir() or not list(left.iterdir()), "no picture is kept"


@pytest.mark.slow  # models are loaded in another process
def test_hostile_pictures_end_a_recording_and_nothing_else() -> None:
    recordings = Recordings()
    try:
        name = recordings.open()
        made = recordings.get(name)
        assert made.process is not None
        assert not made.process._may_write
        assert made.process._memory <= 4 << 30
        with pytest.raises(OptionsError, match="order of their times"):
            made.add([(0.0, b"x"), (0.0, b"y")])
        with pytest.raises(OptionsError, match="at most"):
            made.add([(k, b"x") for k in range(1, MOST_PICTURES + 1)])
        with pytest.raises(LandmarksError, match="JPEG"):
            made.landmarks()
        others = [recordings.open() for _ in range(6)]
        held = [other for other in others if other in recordings._known and recordings.get(other).process is not None]
        assert len(held) <= 4, "so many hold a process, whoever asks"
    finally:
        recordings.close()


def jpeg(image: Any) -> bytes:
    return bytes(cv2.imencode(".jpg", cv2.cvtColor(image, cv2.COLOR_RGB2BGR))[1].tobytes())
