"""A full disk: one clear line, nothing lost, and the next run goes on."""

import os
import resource
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from signspot.annotation.run import AnnotationJob, annotate
from signspot.annotation.store import FILE
from signspot.errors import OutputError
from tests.annotation.conftest import OPTIONS, Disturbed, lines


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of two megabytes."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)]
    try:
        mounted = subprocess.run(command, capture_output=True, text=True)
    except FileNotFoundError:
        pytest.skip("there is no mount command here")
    if mounted.returncode:
        pytest.skip(f"no file system can be mounted here: {mounted.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(disk: Path, leave: int) -> Path:
    """Leave only so many bytes free."""
    ballast = disk / "ballast"
    free = os.statvfs(disk)
    ballast.write_bytes(b"x" * (free.f_bavail * free.f_frsize - leave))
    return ballast


def test_no_room_for_the_store(job: AnnotationJob, here, small_disk: Path, expected: list[str]) -> None:
    crowded = replace(job, out=small_disk / "run")
    full = Disturbed(4, lambda: fill(small_disk, leave=8192))
    with pytest.raises(OutputError, match=FILE):
        annotate(crowded, OPTIONS, full)
    stored = lines(crowded.out)
    assert 0 < len(stored) < len(expected)
    (small_disk / "ballast").unlink()
    report = annotate(crowded, OPTIONS, here)
    assert (report.annotated, report.unchanged) == (3, 1)
    assert lines(crowded.out) == expected


def test_no_room_for_tracks(
    job: AnnotationJob, here, small_disk: Path, expected: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    """A cache that is full is told, and the work goes on without it."""
    crowded = replace(job, cache=small_disk / "cache")
    full = Disturbed(2, lambda: fill(small_disk, leave=250_000))  # exemplars are there, and one track fits
    report = annotate(crowded, OPTIONS, full)
    assert (report.annotated, report.failed) == (4, [])
    assert "the cache cannot be used: cannot write" in caplog.text
    assert not list(small_disk.rglob("*.signspot-part*"))
    assert lines(crowded.out) == expected


def test_no_file_may_grow(
    job: AnnotationJob, here, expected: list[str], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A quota or a limit of the file system, without any mount."""
    annotate(job, OPTIONS, here)  # the store is there, and of its full size
    (job.out / FILE).unlink()
    crowded = replace(job, cache=tmp_path / "cache")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, before[1]))  # the store is larger
    try:
        with pytest.raises(OutputError):
            annotate(crowded, OPTIONS, here)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    annotate(crowded, OPTIONS, here)
    assert lines(crowded.out) == expected
