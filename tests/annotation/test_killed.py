"""A run that is killed, again and again, and run again: nothing is lost, nothing is there twice."""

import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path

import pytest

from signspot.annotation.options import AnnotateOptions, RunOptions
from signspot.annotation.run import AnnotationJob, MouthingJob, annotate, annotate_mouthings
from signspot.annotation.store import FILE, dump, open_store

TIMEOUT = 1200.0  # seconds for a start of Python on a busy machine


@pytest.fixture
def job(corpus_folder: Path, encoder_file: Path, tmp_path: Path) -> AnnotationJob:
    out = tmp_path / "run"
    return AnnotationJob(corpus_folder, corpus_folder / "dictionary", out, encoder=str(encoder_file), cache=out)


def start(job: AnnotationJob) -> "subprocess.Popen[str]":
    words = ["--dictionary", job.dictionary, "--out", job.out, "--encoder", job.encoder, "--cache", job.cache]
    return call("annotate", job.corpus, *words, "--keep", "0", "--negatives", "4", "--workers", "2")


def call(*words: object) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", "from signspot.cli.main import run; run()", *map(str, words)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finished(out: Path) -> int:
    """The number of videos that have something finished."""
    if not (out / FILE).is_file():
        return 0
    with closing(sqlite3.connect(out / FILE, timeout=30)) as connection:
        try:
            return int(connection.execute("SELECT COUNT(DISTINCT video) FROM done").fetchone()[0])
        except sqlite3.OperationalError:  # the tables are not there yet
            return 0


def family(process: int) -> set[int]:
    """A process and all below it."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
    found = {process}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found


def kill(run: "subprocess.Popen[str]") -> None:
    """Kill a run; its workers end by themselves, and what they were writing can be swept only then."""
    below = family(run.pid) - {run.pid}
    run.send_signal(signal.SIGKILL)
    run.communicate()
    deadline = time.monotonic() + TIMEOUT
    while any(Path(f"/proc/{process}").exists() for process in below):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def tracks(out: Path) -> int:
    return len(list(out.glob("tracks/*/*")))


def test_killed_twice_a_run_ends_where_an_undisturbed_one_does(
    job: AnnotationJob, here, shared_cache: Path, tmp_path: Path
) -> None:
    moments = [lambda: tracks(job.out) >= 1, lambda: finished(job.out) >= 2]
    for moment in moments:
        with start(job) as run:
            deadline = time.monotonic() + TIMEOUT
            while not moment() and run.poll() is None:
                assert time.monotonic() < deadline
                time.sleep(0.005)
            kill(run)
    assert finished(job.out) >= 2
    options = AnnotateOptions(keep=0.0, negatives=4)
    report = annotate(job, options, here)
    assert (report.videos, len(report.failed)) == (4, 0)
    annotate(undisturbed := replace(job, out=tmp_path / "undisturbed", cache=shared_cache), options, here)
    with open_store(job.out) as one, open_store(undisturbed.out) as two:
        assert list(dump(one)) == list(dump(two))
    assert not list(job.out.rglob("*.signspot-part*"))


def test_a_run_by_mouthing_that_is_killed_goes_on(
    corpus_folder: Path, mouthing_file: Path, here, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    words = ("annotate", corpus_folder, "--source", "mouthing", "--out", out, "--model", mouthing_file)
    with call(*words, "--threshold", "0", "--negatives", "2") as run:
        deadline = time.monotonic() + TIMEOUT
        while not finished(out) and run.poll() is None:
            assert time.monotonic() < deadline
            time.sleep(0.005)
        run.send_signal(signal.SIGKILL)
        run.communicate()
    assert 0 < finished(out) <= 4
    jobs = [
        MouthingJob(corpus_folder, place, model=str(mouthing_file), threshold=0.0) for place in (out, tmp_path / "u")
    ]
    found = []
    for job in jobs:
        report = annotate_mouthings(job, RunOptions(negatives=2), here)
        assert not report.failed
        with open_store(job.out) as store:
            found.append(list(dump(store)))
    assert found[0] == found[1]
    assert not list(out.rglob("*.signspot-part*"))
