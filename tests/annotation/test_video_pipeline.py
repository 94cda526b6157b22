"""The whole pipeline once: a rendered video, its pixels seen by MediaPipe, in this process and in a worker."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from signspot.annotation.run import AnnotationJob, annotate
from signspot.annotation.run_options import AnnotateOptions
from signspot.annotation.store import open_store
from signspot.io.processes import WorkerPool
from signspot.landmarks.pose_file import write_landmarks
from signspot_synthetic.render.appearance import make_appearance
from signspot_synthetic.render.render import render_video
from tests.annotation.conftest import lines
from tests.fixtures.signing import exemplar_of, footage_of, lexicon_of

FRAMES = 25


@pytest.fixture
def job(encoder_file: Path, tmp_path: Path) -> AnnotationJob:
    """A second of video, and a dictionary of landmarks."""
    lexicon, footage = lexicon_of("apple", "friend"), tmp_path / "footage"
    footage.mkdir()
    render_video(footage_of(lexicon, lexicon)[0][:FRAMES], make_appearance(1), footage / "news.mp4", (320, 240))
    (footage / "news.vtt").write_text("WEBVTT\n\n00:00.200 --> 00:00.800\nApples for my friend.\n")
    for word in lexicon:
        write_landmarks(exemplar_of(lexicon, word), tmp_path / "signs" / f"{word}.pose")
    return AnnotationJob(footage, tmp_path / "signs", tmp_path / "run", encoder=str(encoder_file))


def annotated(job: AnnotationJob, out: Path, engine: Any) -> list[str]:
    report = annotate(replace(job, out=out, cache=out), AnnotateOptions(keep=0.0), engine)
    assert (report.annotated, report.failed) == (1, [])
    with open_store(out) as store:
        assert {query.word for query in store.queries()} == {"apple", "friend"}
        assert store.videos()[0].seconds == pytest.approx(FRAMES / 25, abs=0.1)
    return lines(out)


@pytest.mark.slow
def test_pixels_are_annotated(job: AnnotationJob, here, tmp_path: Path) -> None:
    assert len(annotated(job, tmp_path / "here", here)) >= 3


@pytest.mark.long
def test_pixels_are_alike_in_every_process(job: AnnotationJob, here, tmp_path: Path) -> None:
    assert annotated(job, tmp_path / "here", here) == annotated(job, tmp_path / "there", WorkerPool())
