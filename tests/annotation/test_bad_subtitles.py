"""One bad subtitle file costs its own video, never the others: also one that goes bad while the run goes on."""

import shutil
from pathlib import Path

import pytest

from signspot.annotation.records import AnnotateOptions
from signspot.annotation.run import AnnotationJob, annotate
from signspot.annotation.store import open_store

OPTIONS = AnnotateOptions(keep=0.0, impostors=4)


@pytest.fixture
def job(corpus_folder: Path, encoder_file: Path, shared_cache: Path, tmp_path: Path) -> AnnotationJob:
    footage = tmp_path / "footage"
    shutil.copytree(corpus_folder / "videos", footage)
    dictionary = corpus_folder / "dictionary"
    return AnnotationJob(footage, dictionary, tmp_path / "run", encoder=str(encoder_file), cache=shared_cache)


@pytest.mark.parametrize("content", [b"WEBVTT\0\0", b"no times at all", b"\xff\xfe\0\xd8", b"<?xml <tt>" * 9])
def test_a_bad_file_costs_its_own_video(job: AnnotationJob, here, content: bytes) -> None:
    bad, *others = sorted(job.corpus.glob("*.vtt"))
    bad.write_bytes(content)
    report = annotate(job, OPTIONS, here)
    assert [problem.name for problem in report.failed] == [bad.stem]
    assert report.annotated == len(others) == 3
    with open_store(job.out) as store:
        assert [video.video for video in store.videos() if video.problem] == [bad.stem]


def test_a_file_that_goes_bad_meanwhile_costs_its_own_video(job: AnnotationJob, here) -> None:
    *others, last = sorted(job.corpus.glob("*.vtt"))
    run = here.run

    def spoil(work, items):
        last.write_bytes(b"no times at all")
        return run(work, items)

    here.run = spoil
    report = annotate(job, OPTIONS, here)
    assert [problem.name for problem in report.failed] == [last.stem]
    assert report.annotated == len(others)
