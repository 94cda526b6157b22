"""Landmarks of whole videos are kept, read again to the last digit, and bounded."""

import math
import os
from collections.abc import Generator
from pathlib import Path

import numpy as np
import pytest

from signspot.errors import OptionsError
from signspot.landmarks.cache import CacheEntry, clear_cache, describe_cache, limit, trim
from signspot.landmarks.landmarks import concatenate
from signspot.landmarks.pose_file import as_stored, open_landmarks, write_landmarks
from signspot.landmarks.video_estimation import stream_landmarks
from signspot.types import Segment
from signspot.video.writer import write_video


@pytest.fixture(scope="module")
def noise(tmp_path_factory: pytest.TempPathFactory) -> Path:
    images = np.random.default_rng(0).integers(0, 255, (30, 96, 128, 3), dtype=np.uint8)
    return write_video(tmp_path_factory.mktemp("noise") / "noise.mp4", images, 25)


def test_stored_landmarks_are_fresh_ones_to_the_last_digit(make_signing, tmp_path):
    fresh = as_stored(make_signing(20, dropped=0.2, size=(641, 359)))
    path = write_landmarks(fresh, tmp_path / "a.pose")
    assert open_landmarks(path).equals(fresh)
    assert as_stored(fresh).equals(fresh)


@pytest.mark.parametrize("fps", [25.0, 29.97])
def test_what_is_kept_comes_back_to_the_last_digit(make_signing, tmp_path, fps):
    entry = CacheEntry(tmp_path / "aa" / "entry.pose", fps, 1.5)
    fresh = as_stored(make_signing(30, dropped=0.2))
    times = 1.5 + np.arange(30) / fps
    fresh = type(fresh)(fresh.body, fresh.left_hand, fresh.right_hand, fresh.face, times, fresh.size)
    passed = list(entry.keep(iter([fresh[:20], fresh[20:]])))
    assert concatenate(passed).equals(fresh)
    again = entry.stream(7)
    assert again is not None
    frames, chunks = again
    assert frames == 30
    assert concatenate(list(chunks)).equals(fresh)


def test_a_stream_is_kept_when_it_is_through_and_not_before(noise, tmp_path):
    stream = stream_landmarks(noise, chunk=10, cache=tmp_path)
    assert isinstance(stream, Generator)
    next(stream)
    stream.close()
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
    fresh = concatenate(list(stream_landmarks(noise, chunk=10, cache=tmp_path)))
    (entry,) = tmp_path.rglob("*.pose")
    before = entry.stat().st_ino
    cached = concatenate(list(stream_landmarks(noise, chunk=7, cache=tmp_path)))
    assert cached.equals(fresh)
    assert entry.stat().st_ino == before


def test_a_part_of_a_video_is_another_entry(noise, tmp_path):
    one = CacheEntry.of(noise, tmp_path, "a-1", 25.0, None)
    others = [
        CacheEntry.of(noise, tmp_path, "a-2", 25.0, None),
        CacheEntry.of(noise, tmp_path, "a-1", 24.0, None),
        CacheEntry.of(noise, tmp_path, "a-1", 25.0, Segment(0, 1)),
    ]
    assert one not in others
    assert CacheEntry.of(noise, None, "a-1", 25.0, None) is None


def test_what_was_used_within_a_day_stays(tmp_path):
    for name in "ab":
        (tmp_path / f"{name}.pose").write_bytes(bytes(100))
    (tmp_path / "notes.txt").write_bytes(bytes(500))
    os.utime(tmp_path / "notes.txt", (500, 500))
    os.utime(tmp_path / "a.pose", (1000, 1000))
    assert trim(tmp_path, 50, ".pose") == 1  # the limit would be kept by none of them
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b.pose", "notes.txt"]
    assert trim(tmp_path, 50, ".pose", recent=-math.inf) == 1


def test_keeping_more_than_the_limit_removes_older_ones(make_signing, tmp_path, monkeypatch):
    monkeypatch.setenv("SIGNSPOT_CACHE_LIMIT", "100 kB")
    for name in ("aa", "bb", "cc"):
        entry = CacheEntry(tmp_path / name / f"{name}.pose", 25.0)
        list(entry.keep(iter([make_signing(20)])))
        os.utime(entry.path, (1000 + ord(name[0]), 1000 + ord(name[0])))
    remaining = sorted(path.name for path in tmp_path.rglob("*.pose"))
    assert remaining == ["bb.pose", "cc.pose"]
    assert sum(path.stat().st_size for path in tmp_path.rglob("*.pose")) <= 100_000


@pytest.mark.parametrize(
    ("text", "size"), [("", 20 * 2**30), ("12", 12), ("500 MB", 500 * 10**6), ("1.5GiB", 3 * 2**29), ("2k", 2000)]
)
def test_limits_are_sizes(monkeypatch, text, size):
    monkeypatch.setenv("SIGNSPOT_CACHE_LIMIT", text)
    assert limit() == size
    monkeypatch.setenv("SIGNSPOT_CACHE_LIMIT", "plenty")
    with pytest.raises(OptionsError):
        limit()


def test_clearing_removes_what_is_ours_only(tmp_path):
    ours = [
        "landmarks/aa/x.pose",
        "tracks/hash/y.safetensors",
        "exemplars/hash/z.safetensors",
        "indices/s.safetensors",
        "decoys/hash.safetensors",
        "encoders/digest.json",
    ]
    others = ["landmarks/notes.txt", "thesis/chapter.pose", "tracks.safetensors"]
    for name in ours + others:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(bytes(10))
    assert [(part.name, part.files, part.size) for part in describe_cache(tmp_path)] == [
        ("landmarks", 1, 10),
        ("tracks", 1, 10),
        ("exemplars", 1, 10),
        ("indices", 1, 10),
        ("decoys", 1, 10),
        ("encoders", 1, 10),
    ]
    clear_cache(tmp_path, ("tracks",))
    assert not (tmp_path / ours[1]).exists()
    assert (tmp_path / ours[0]).exists()
    clear_cache(tmp_path)
    assert sorted(p.relative_to(tmp_path).as_posix() for p in tmp_path.rglob("*") if p.is_file()) == sorted(others)
    with pytest.raises(OptionsError):
        clear_cache(tmp_path, ("videos",))
