"""Shared by the workbench's benchmarks: folders to serve, a server as users start it, its processor time."""

import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.material import random_gallery, random_track, sign
from signspot.embedding.exemplars import _KIND, ExemplarEmbedder
from signspot.embedding.inputs import SignLocation
from signspot.embedding.tracks import track_entry, write_arrays, write_track
from signspot.io.files import content_digest
from signspot.landmarks.pose_file import write_landmarks
from signspot.models.encoder import Encoder
from signspot.video.writer import write_video

_PROGRAM = "from signspot.cli.app import run\nif __name__ == '__main__':\n    run()"
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the benchmark: what was measured, its limit, and whether it is kept."""

    what: str  # with the sizes
    measured: str  # in words
    limit: str  # in words
    kept: bool
    details: str = ""

    def __str__(self) -> str:
        rest = f" ({self.details})" if self.details else ""
        return f"{self.what}: {self.measured}; limit {self.limit}: {'kept' if self.kept else 'NOT KEPT'}{rest}"


@dataclass(frozen=True, slots=True)
class Served:
    """A running server."""

    address: str
    process: int  # its number

    def ask(self, method: str, path: str, body: Any = None) -> bytes:
        """One request."""
        content = None if body is None else json.dumps(body).encode()
        headers = {"X-Signspot": "1", "Content-Type": "application/json"}
        request = urllib.request.Request(self.address + path, content, headers, method=method)
        with urllib.request.urlopen(request, timeout=600) as answer:
            return bytes(answer.read())

    def json(self, method: str, path: str, body: Any = None) -> Any:
        """The answer to a request."""
        return json.loads(self.ask(method, path, body))

    @property
    def megabytes(self) -> float:
        """Memory that the server holds, without the processes that it started."""
        lines = Path(f"/proc/{self.process}/status").read_text().splitlines()
        return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))

    @property
    def processor(self) -> float:
        """Seconds of processor that the server has used."""
        fields = Path(f"/proc/{self.process}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS


@contextmanager
def serving(folder: Path, cache: Path) -> Iterator[Served]:
    """A server of a folder, as users start it."""
    command = [sys.executable, "-c", _PROGRAM, "serve", str(folder), "--port", "0"]
    environment = {**os.environ, "SIGNSPOT_CACHE": str(cache)}
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment)
    try:
        assert server.stdout is not None
        yield Served(server.stdout.readline().strip().rstrip("/"), server.pid)
    finally:
        server.terminate()
        server.wait(30)


def make_names(folder: Path, videos: int, words: int) -> None:
    """A folder as large as asked for; its files are named like videos, and nobody opens them."""
    for number in range(videos):
        (folder / f"video-{number:05d}.mp4").write_bytes(b"\0" * 64)
        (folder / f"video-{number:05d}.vtt").write_text("WEBVTT\n")
    (folder / "dictionary").mkdir()
    entries = {
        f"word-{number:05d}": {"exemplars": [{"id": f"{number}", "url": "https://example.org/x.mp4"}]}
        for number in range(words)
    }
    content = {"format": "signspot-dictionary", "version": 1, "words": entries}
    (folder / "dictionary" / "dictionary.json").write_text(json.dumps(content))


def make_small(folder: Path, words: int = 8) -> list[str]:
    """A short video with its landmarks and subtitles, and a dictionary of signs cut out of it; give the words."""
    landmarks = sign(8.0, (320, 240))
    write_landmarks(landmarks, folder / "news.pose")
    write_video(
        folder / "news.mp4", (np.full((120, 160, 3), 60 + k % 150, np.uint8) for k in range(len(landmarks))), 25
    )
    (folder / "news.vtt").write_text("WEBVTT\n\n00:00.000 --> 00:08.000\nword0, word1 and word2.\n")
    for number in range(words):
        word_folder = folder / "dictionary" / f"word{number}"
        word_folder.mkdir(parents=True)
        write_landmarks(landmarks[20 * number : 20 * number + 40], word_folder / "a.pose")
    return [f"word{number}" for number in range(words)]


def make_hours(folder: Path, cache: Path, encoder: Encoder, hours: int, words: int) -> None:
    """Videos whose tracks of an hour each are in the cache, and a dictionary whose exemplars are embedded already.

    Tracks and embeddings are random, of the size and kind that the encoder makes; what is asked of them is the same.
    """
    track = random_track(encoder, 3600)
    for number in range(hours):
        path = folder / f"hour-{number}.mp4"
        write_video(path, (np.full((120, 160, 3), 40 + number + k % 9, np.uint8) for k in range(50)), 25)
        entry = track_entry(cache, encoder.hash, content_digest(path), 1)
        entry.parent.mkdir(parents=True, exist_ok=True)
        write_track(track, entry)
    gallery = random_gallery(words, 1, encoder, track)
    assert gallery.codes is not None
    embedder, few = ExemplarEmbedder(encoder, cache), sign(1.0, (320, 240))[:8]
    for number in range(words):
        path = folder / "dictionary" / f"word{number:04d}" / "a.pose"
        path.parent.mkdir(parents=True)
        write_landmarks(replace(few, body=few.body + np.float32(number / (5 * words))), path)  # each its own content
        rows = slice(2 * number, 2 * number + 2)
        arrays = {"embedding": gallery.embeddings[rows], "codes": gallery.codes[rows].astype(np.float32)}
        cached = embedder._cache_entry(SignLocation(path), mirror=True)
        assert cached is not None
        cached.parent.mkdir(parents=True, exist_ok=True)
        write_arrays(cached, _KIND, arrays, {"name": path.name})
