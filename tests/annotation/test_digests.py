"""Digests are remembered as long as a file is not changed."""

import os
from pathlib import Path

from signspot.annotation.plan import Digests
from signspot.files import content_digest


def test_a_file_is_read_once_and_again_when_it_changes(tmp_path: Path) -> None:
    video, memory = tmp_path / "a.mp4", tmp_path / "run" / "digests.json"
    video.write_bytes(b"one")
    assert Digests(memory).of([video]) == {video: content_digest(video)}
    when = video.stat().st_mtime_ns
    video.write_bytes(b"two")
    os.utime(video, ns=(when, when))
    assert Digests(memory).of([video])[video] != content_digest(video), "remembered by size and time"
    os.utime(video, ns=(when + 1, when + 1))
    assert Digests(memory).of([video]) == {video: content_digest(video)}


def test_a_damaged_memory_is_no_reason_to_stop(tmp_path: Path) -> None:
    video = tmp_path / "a.mp4"
    video.write_bytes(b"one")
    deep, digits = '{"a":' * 5000, '{"a": [%s, 2, "x"]}' % ("9" * 5000)
    for damage in ("{", "[]", '{"a": 1}', '{"a": [1, 2]}', '{"a": [1e400, 2, "x"]}', deep, digits):
        (tmp_path / "digests.json").write_text(damage)
        assert Digests(tmp_path / "digests.json").of([video]) == {video: content_digest(video)}


def test_what_cannot_be_read_comes_back_as_an_error(tmp_path: Path) -> None:
    found = Digests(tmp_path / "digests.json").of([tmp_path / "no.mp4"])
    assert isinstance(found[tmp_path / "no.mp4"], FileNotFoundError)
