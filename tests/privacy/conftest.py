"""Things of two signers, Ann and Ben, wherever signspot keeps any; and helpers of the tests that forget one of them."""

import json
from pathlib import Path

import numpy as np
import pytest

from signspot.annotation.records import Findings, VideoRecord
from signspot.annotation.store import FILE, open_store
from signspot.applications.archive import COLUMNS, Axes, SketchCache
from signspot.corpus.corpus import FORMAT, VERSION
from signspot.embedding.tracks import track_entry, write_track
from signspot.io.files import content_digest
from signspot.landmarks.landmarks import FACE_POINTS, Landmarks
from signspot.landmarks.pose_file import write_landmarks
from signspot.types import Grid, Track


def pose(path: Path, seed: int) -> Path:
    draw = np.random.default_rng(seed)
    points = {name: draw.random((3, count, 3), np.float32) for name, count in (("left_hand", 21), ("right_hand", 21))}
    face, body = draw.random((3, len(FACE_POINTS), 3), np.float32), draw.random((3, 33, 4), np.float32)
    times = np.arange(3) / 25
    path.parent.mkdir(parents=True, exist_ok=True)
    write_landmarks(
        Landmarks(body=body, face=face, face_points=FACE_POINTS, times=times, size=(64, 48), **points), path
    )
    return path


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A dictionary, a corpus, a store and a cache, each with things of Ann and of Ben."""
    monkeypatch.setenv("SIGNSPOT_CACHE", str(tmp_path / "cache"))
    words: dict[str, dict[str, list[dict[str, str]]]] = {"apple": {"exemplars": []}, "pear": {"exemplars": []}}
    for number, (word, signer) in enumerate([("apple", "Ann"), ("apple", "Ben"), ("pear", "Ann")]):
        name = f"media/{word}-{signer}.pose"
        pose(tmp_path / "signs" / name, number)
        entry = {"id": f"{word}-{signer}", "file": name, "signer": signer, "licence": "CC-BY", "consent": "research"}
        words[word]["exemplars"].append(entry)
    head = {"words": words}
    (tmp_path / "signs" / "dictionary.json").write_text(json.dumps(head))
    notes = [{"name": f"media/{each}.pose", "url": "x"} for each in ("apple-Ann", "apple-Ben")]
    (tmp_path / "signs" / "fetched.jsonl").write_text("".join(json.dumps(note) + "\n" for note in notes))
    videos = []
    for number, signer in enumerate(("Ann", "Ben"), start=10):
        pose(tmp_path / "footage" / f"videos/{signer}-talk.pose", number)
        (tmp_path / "footage" / f"videos/{signer}-talk.vtt").write_text("WEBVTT\n\n00:00.000 --> 00:02.000\napple\n")
        paths = {"landmarks": f"videos/{signer}-talk.pose", "subtitles": f"videos/{signer}-talk.vtt"}
        videos.append({"id": f"{signer}-talk", "signer": signer, **paths})
    corpus = {"format": FORMAT, "version": VERSION, "videos": videos}
    (tmp_path / "footage" / "corpus.json").write_text(json.dumps(corpus))
    (tmp_path / "footage" / "labels").mkdir()
    rows = [{"word": "apple", "video": f"{signer}-talk", "time": 1.0} for signer in ("Ann", "Ben", "Ben")]
    (tmp_path / "footage" / "labels" / "all.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with open_store(tmp_path / "run" / FILE, create=True) as store:
        for signer in ("Ann", "Ben"):
            store.add(Findings(VideoRecord(f"{signer}-talk", "d", 60.0), {"apple": "key"}, (), ()))
    axes = Axes(np.eye(4, COLUMNS - 2, dtype=np.float32))
    for path in (tmp_path / "footage" / "videos").glob("*.pose"):
        digest = content_digest(path)
        track = Track(
            np.ones((2, 4), np.float16), Grid(fps=25.0, stride=1, window=16, frames=17), "enc", str(path), digest
        )
        write_track(track, track_entry(tmp_path / "cache", "enc", digest, 1))
        pose(tmp_path / "cache" / "landmarks" / digest[:2] / f"{digest}-abc.pose", 1)
        SketchCache(tmp_path / "cache", "enc").sketch(track.embeddings, digest, "d" * 64, axes)
    return tmp_path


def everything(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def places(kept: Path) -> list[Path]:
    return [kept / "signs", kept / "footage", kept / "run"]
