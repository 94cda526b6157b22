"""A video that MediaPipe itself looks at, through `spot`, `annotate` and `serve` as users run them: no frame is kept.

The video is rendered, with a purple border that nothing else has. A frame of it is known as a file, in a page, as an
answer of the server, and as raw pixels in any file.
"""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from signspot.video.reader import open_video
from signspot.video.writer import write_video
from signspot_synthetic.render.appearance import make_appearance
from signspot_synthetic.render.render import render
from tests.fixtures.purple import PURPLE, is_purple, pictures, purple

from .conftest import LIMIT, PROGRAM, ROOT, ServerProcess

pytestmark = pytest.mark.long
BORDER = 10  # pixels


def render_sign(path: Path, landmarks: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)

    def framed() -> Iterator[Any]:
        for image in render(landmarks, make_appearance(4), (320, 240)):
            bordered = np.empty_like(image)
            bordered[:] = PURPLE
            bordered[BORDER:-BORDER, BORDER:-BORDER] = image[BORDER:-BORDER, BORDER:-BORDER]
            yield bordered

    write_video(path, framed(), 25)


@pytest.fixture
def home(signing: Any, tmp_path: Path) -> Path:
    """A video with subtitles, two videos of signs, and no cache."""
    render_sign(tmp_path / "footage" / "news.mp4", signing.footage[:70])
    (tmp_path / "footage" / "news.vtt").write_text("WEBVTT\n\n00:00.200 --> 00:02.500\nA river, and apples.\n")
    for word in ("river", "apple"):
        render_sign(tmp_path / "footage" / "signs" / word / "1.mp4", signing.exemplars[word])
    return tmp_path


def environment(home: Path) -> dict[str, str]:
    folders = {
        "SIGNSPOT_CACHE": str(home / "cache"),
        "XDG_STATE_HOME": str(home / "state"),
        "TMPDIR": str(home / "tmp"),
    }
    (home / "tmp").mkdir(exist_ok=True)
    return {**os.environ, **folders, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}


def signspot(home: Path, *arguments: str) -> None:
    command = [sys.executable, "-c", PROGRAM, *arguments, "--encoder", "warping"]
    done = subprocess.run(
        command, cwd=home, env=environment(home), capture_output=True, text=True, timeout=LIMIT / 1000
    )
    assert done.returncode == 0, done.stderr


@contextmanager
def served(home: Path, *flags: str) -> Iterator[ServerProcess]:
    server = ServerProcess(
        folder=home / "footage", flags=("--encoder", "warping", *flags), environment=environment(home)
    ).start()
    yield server
    server.end(signal.SIGTERM)


def raw(folder: Path, pixels: list[bytes]) -> list[str]:
    """Files that hold pixels of the video as they are."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return [str(path) for path in files if any(part in path.read_bytes() for part in pixels)]


def test_nothing_that_is_kept_or_sent_shows_the_video(home: Path) -> None:
    news = home / "footage" / "news.mp4"
    with open_video(news) as opened:
        image = next(iter(opened.resampled(25.0))).image
    rows = [image[120, 100:116], image[60, 150:166], image[2, 20:36]]
    pixels = [
        part for row in rows for part in (row.tobytes(), row[:, ::-1].tobytes(), (row / 255).astype("f4").tobytes())
    ]
    written = [home / name for name in ("cache", "state", "out", "run", "tmp")]

    def purple_files() -> list[str]:
        state = [home / "footage" / ".signspot"]
        return [name for folder in (*written, *state) for name in (*purple(folder), *raw(folder, pixels))]

    (home / "out").mkdir()
    outputs = ("--html", "out/a.html", "--plot", "out/a.png", "--out", "out/a.eaf")
    signspot(home, "spot", "footage/news.mp4", "footage/signs", "river", *outputs, "--no-pixels")
    signspot(home, "annotate", "footage", "--dictionary", "footage/signs", "--out", "run")
    assert {path.suffix for path in (home / "cache").rglob("*") if path.is_file()} >= {".pose", ".safetensors"}
    assert (home / "run" / "annotations.sqlite").is_file()
    assert (home / "out" / "a.html").is_file()
    assert purple_files() == []
    signspot(home, "spot", "footage/news.mp4", "footage/signs", "river", "--html", "out/b.html")
    assert purple_files() == ["b.html"], "with pixels it is found"
    (home / "out" / "b.html").unlink()

    thumbnails = ("/api/thumbnail/video/news.mp4?time=1", "/api/thumbnail/word/signs?word=river")
    videos = ("/api/media/news.mp4", "/api/exemplar/signs?id=river/1")
    with served(home) as server:
        for name in thumbnails:
            assert is_purple(next(pictures(server.ask("GET", name).body, home / "tmp" / "x")))
    assert len(purple_files()) == 2, "with pixels thumbnails are kept"
    with served(home, "--no-pixels") as server:
        assert purple_files() == []
        for name in thumbnails:
            answer = server.ask("GET", name)
            assert answer.status == 200
            (picture,) = pictures(answer.body, home / "tmp" / "x")
            assert not is_purple(picture)
            assert picture.std() > 5, "a skeleton is drawn"
        for name in videos:
            assert server.ask("GET", name).status in (404, 422)
        for name in ("/", "/spot?video=news.mp4&dictionary=signs", "/dictionary?name=signs", "/compare?word=river"):
            answer = server.ask("GET", name)
            assert answer.status == 200
            assert "/api/media/" not in answer.text
        refused = server.ask("PUT", "/api/uploads/more.mp4", news.read_bytes())
        assert (refused.status, "no videos of people" in refused.text) == (422, True)
        cut = {"video": "news.mp4", "start": 0.5, "end": 1.2, "word": "pear"}
        assert server.ask("POST", "/api/dictionaries/signs/cut", cut).status == 200
        answer = server.ask("GET", "/api/spot/news.mp4?dictionary=signs&word=river")
        assert not any(exemplar["playable"] for exemplar in answer.json["words"][0]["exemplars"])
        assert purple_files() == []
    shutil.rmtree(home / "tmp")
    assert purple(home / "footage") == ["news.mp4", "signs/apple/1.mp4", "signs/river/1.mp4"]
    assert [path.name for path in (home / "footage" / "signs" / "media" / "pear").iterdir()] == ["news@0.50.pose"]
