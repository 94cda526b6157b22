"""A run that is killed, again and again, and run again: nothing is lost, nothing is there twice."""

import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from signspot.annotation.run import AnnotationJob, MouthingJob, annotate, annotate_mouthings
from signspot.annotation.run_options import RunOptions
from signspot.annotation.store import open_store
from tests.annotation.conftest import OPTIONS, lines

TIMEOUT = 1200.0  # seconds for a start of Python and its work on a busy machine

# A run that kills itself when so many videos are searched, the last of them not stored yet.
DIES = """
import os, sys
from pathlib import Path
from signspot.annotation.engines import HereEngine
from signspot.annotation.run_options import AnnotateOptions, RunOptions
from signspot.annotation.video_units import VideoUnit
from signspot.annotation.run import AnnotationJob, MouthingJob, annotate, annotate_mouthings
from signspot.io.processes import WorkerPool

source, corpus, out, model, cache, workers, videos = sys.argv[1:]

class Dying(WorkerPool if int(workers) else HereEngine):
    def run(self, work, items):
        done = 0
        for item, result in super().run(work, items):
            done += isinstance(item, VideoUnit)
            if done == int(videos):
                os.kill(os.getpid(), 9)
            yield item, result

engine = Dying(int(workers)) if int(workers) else Dying()
corpus, out, cache = Path(corpus), Path(out), Path(cache)
if __name__ == "__main__" and source == "D":
    job = AnnotationJob(corpus, corpus / "dictionary", out, encoder=model, cache=cache)
    annotate(job, AnnotateOptions(keep=0.0, negatives=4), engine)
elif __name__ == "__main__":
    job = MouthingJob(corpus, out, model=model, cache=cache, threshold=0.0)
    annotate_mouthings(job, RunOptions(negatives=2), engine)
"""


def run_until_killed(source: str, job: AnnotationJob | MouthingJob, model: str, workers: int, videos: int) -> None:
    """Wait until the run and, as they hold its output open, all of its workers have ended."""
    script = job.out.parent / "dies.py"
    script.write_text(DIES)
    command = [sys.executable, script, source, job.corpus, job.out, model, job.cache, workers, videos]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=TIMEOUT)
    assert done.returncode == -signal.SIGKILL, done.stderr


def finished(out: Path) -> int:
    """The number of videos that have something finished."""
    with open_store(out) as store:
        return len({video for video, _ in store.keys()})  # noqa: SIM118 (no dictionary)


def check_the_rest(job: AnnotationJob, here, expected: list[str]) -> None:
    report = annotate(job, OPTIONS, here)
    assert (report.annotated + report.unchanged, report.failed) == (4, [])
    assert lines(job.out) == expected
    assert not list(job.out.rglob("*.signspot-part*"))


def test_a_killed_run_ends_where_an_undisturbed_one_does(job: AnnotationJob, here, expected: list[str]) -> None:
    run_until_killed("D", job, str(job.encoder), workers=0, videos=3)
    assert finished(job.out) == 2
    check_the_rest(job, here, expected)


@pytest.mark.long
def test_killed_twice_with_busy_workers(job: AnnotationJob, here, expected: list[str]) -> None:
    apart = replace(job, cache=job.out)
    for videos, stored in ((1, 0), (3, 2)):
        run_until_killed("D", apart, str(job.encoder), workers=2, videos=videos)
        assert finished(job.out) == stored
    check_the_rest(apart, here, expected)


@pytest.mark.long
def test_a_run_by_mouthing_that_is_killed_goes_on(
    corpus_folder: Path, mouthing_file: Path, here, tmp_path: Path
) -> None:
    uninterrupted, broken = (
        MouthingJob(corpus_folder, tmp_path / name, model=str(mouthing_file), cache=tmp_path, threshold=0.0)
        for name in ("whole", "broken")
    )
    run_until_killed("M", broken, str(mouthing_file), workers=2, videos=2)
    assert finished(broken.out) == 1
    for job in (uninterrupted, broken):
        assert not annotate_mouthings(job, RunOptions(negatives=2), here).failed
    assert lines(uninterrupted.out) == lines(broken.out)
