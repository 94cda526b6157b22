"""Annotation by mouthing: what `signspot mouth` finds, in a store; nothing twice, nothing lost, and reasons."""

import json
import logging
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from signspot.annotation.run import AnnotationJob, MouthingJob, annotate, annotate_mouthings, mouthings
from signspot.annotation.run_options import AnnotateOptions, RunOptions
from signspot.annotation.store import dump, open_store
from signspot.annotation.video_units import VideoUnit
from signspot.corpus.corpus import open_corpus
from signspot.errors import OptionsError
from signspot.landmarks.pose_file import open_landmarks, write_landmarks
from signspot.mouthing.lips import read_lips
from signspot.mouthing.mouthing_spotter import MouthingSpotter, find_candidates
from signspot.mouthing.network import load_mouthing
from signspot.subtitles.reading import read_subtitles
from signspot.types import LabelSource, TimeMeaning

OPTIONS = RunOptions(keep=0.0, negatives=3)


@pytest.fixture
def footage(corpus_folder: Path, tmp_path: Path) -> Path:
    """Two videos of the corpus as a plain folder."""
    (tmp_path / "footage").mkdir()
    for name in ("test-0001", "train-0001"):
        for suffix in (".pose", ".vtt"):
            shutil.copy(corpus_folder / "videos" / f"{name}{suffix}", tmp_path / "footage")
    return tmp_path / "footage"


@pytest.fixture
def job(footage: Path, mouthing_file: Path, tmp_path: Path) -> MouthingJob:
    return MouthingJob(footage, tmp_path / "run", model=str(mouthing_file), cache=tmp_path / "cache", threshold=0.0)


def lines(job: MouthingJob) -> list[str]:
    with open_store(job.out) as store:
        return list(dump(store))


def units(engine) -> list[VideoUnit]:
    return [item for item in engine.items if isinstance(item, VideoUnit)]


def test_a_run_finds_what_mouth_finds_and_a_second_one_does_nothing(job, here, mouthing_file):
    report = annotate_mouthings(job, OPTIONS, here)
    assert (report.annotated, report.failed) == (2, [])
    spotter, expected = MouthingSpotter(load_mouthing(mouthing_file)), []
    for name in ("test-0001", "train-0001"):
        subtitles = read_subtitles(job.corpus / f"{name}.vtt")
        lips = read_lips(job.corpus / f"{name}.pose")
        expected += spotter.search(lips, find_candidates(subtitles, None, 4.0), name, least=0.0).labels
    with open_store(job.out) as store:
        mouthed = mouthings(store, 0.0, open_corpus(job.corpus), word_threshold=0.0)
        assert store.settings()["source"] == "M"
        queries = list(store.queries())
    assert [label.as_label() for label in mouthed] == expected
    assert len(expected) > 10
    assert {(label.source, label.at) for label in mouthed} == {(LabelSource.MOUTHING, TimeMeaning.END)}
    spotting = mouthed[0].as_spotting("v.mp4")
    assert (spotting.source, spotting.time) == (LabelSource.MOUTHING, spotting.end)
    assert spotting.end - spotting.start == pytest.approx(min(0.6, spotting.end))
    assert all(query.negatives == 3 and query.best is not None for query in queries)
    first = lines(job)
    again = annotate_mouthings(job, OPTIONS, here)
    assert (again.annotated, again.unchanged) == (0, 2)
    assert lines(job) == first


def test_new_words_cost_only_themselves_and_words_that_are_gone_are_forgotten(job, here, tmp_path):
    annotate_mouthings(job, OPTIONS, here)
    with open_store(job.out) as store:
        words = sorted({query.word for query in store.queries(video="test-0001")})
    pool = json.loads(_settings(job)["pool"])
    part = replace(job, out=tmp_path / "part", words=(*words[1:], *pool))
    annotate_mouthings(part, OPTIONS, here)
    here.items.clear()
    file = job.corpus / "test-0001.vtt"
    file.write_text(file.read_text().replace(words[0], "nothing").replace(words[0].capitalize(), "Nothing"))
    annotate_mouthings(job, OPTIONS, here)
    assert [unit.video for unit in units(here)] == ["test-0001"]
    with open_store(job.out) as store:
        assert words[0] not in {query.word for query in store.queries(video="test-0001")}


def _settings(job: MouthingJob) -> dict[str, str]:
    with open_store(job.out) as store:
        return store.settings()


def test_words_come_from_a_dictionary_too(job, here, corpus_folder):
    report = annotate_mouthings(replace(job, dictionary=corpus_folder / "dictionary"), OPTIONS, here)
    with open_store(job.out) as store:
        words = {query.word for query in store.queries()}
    assert report.queries >= len(words) > 3
    assert words <= {path.name for path in (corpus_folder / "dictionary").iterdir()} | set(
        open_corpus(corpus_folder).dictionary()
    )


def test_the_vocabulary_is_that_of_sure_training_videos(job, here, corpus_folder):
    annotate_mouthings(replace(job, corpus=corpus_folder), OPTIONS, here)
    corpus = open_corpus(corpus_folder)
    train = {video.id for video in corpus.in_split("train")}
    with open_store(job.out) as store:
        every = mouthings(store, 0.0, corpus, word_threshold=0.0)
        best = max(label.score for label in every if label.video in train)
        chosen = mouthings(store, 0.0, corpus, word_threshold=best)
        assert not mouthings(store, 0.0, corpus, word_threshold=1.0)
        surest_of_all = max(every, key=lambda label: label.score)  # were its video for testing, it would keep no word
        split = {name: "test" if name == surest_of_all.video else "train" for name in corpus.videos}
        videos = {name: replace(video, split=split[name]) for name, video in corpus.videos.items()}
        assert not mouthings(store, 0.0, replace(corpus, videos=videos), word_threshold=surest_of_all.score)
    surest = {label.word for label in every if label.video in train and label.score >= best}
    assert {label.word for label in chosen} == surest
    assert len(surest) < len({label.word for label in every})


def test_a_store_is_of_one_source(job, here, encoder_file, corpus_folder):
    annotate_mouthings(job, OPTIONS, here)
    signs = AnnotationJob(job.corpus, corpus_folder / "dictionary", job.out, encoder=str(encoder_file), cache=job.out)
    with pytest.raises(OptionsError):
        annotate(signs, AnnotateOptions(keep=0.0), here)


def test_no_face_odd_words_and_another_language_have_a_reason(job, here, caplog):
    marks = open_landmarks(job.corpus / "test-0001.pose")
    write_landmarks(replace(marks, face=np.full_like(marks.face, np.nan)), job.corpus / "test-0001.pose")
    with caplog.at_level(logging.WARNING):
        report = annotate_mouthings(job, OPTIONS, here)
    assert [problem.name for problem in report.failed] == ["test-0001"]
    assert "shows no face" in str(report.failed[0])
    with pytest.raises(OptionsError):
        annotate_mouthings(replace(job, words=("東京",)), OPTIONS, here)
    with pytest.raises(OptionsError):
        annotate_mouthings(replace(job, words=("xylophone",)), OPTIONS, here)
    with pytest.raises(OptionsError, match="xx"):
        annotate_mouthings(job, replace(OPTIONS, language="xx"), here)
    file = job.corpus / "train-0001.vtt"
    file.write_text(
        "WEBVTT\n\n00:01.000 --> 00:03.000\n" + "Zahlreiche Gäste aus verschiedenen Ländern begrüßte der Kanzler " * 5
    )
    with caplog.at_level(logging.WARNING):
        annotate_mouthings(replace(job, out=job.out / "german"), OPTIONS, here)
    assert "'en' was asked for" in caplog.text
    (job.corpus / "test-0001.vtt").write_text("WEBVTT\n\n00:01.000 --> 00:02.000\nСлон идёт домой\n")
    with caplog.at_level(logging.WARNING):
        annotate_mouthings(replace(job, out=job.out.parent / "letters"), OPTIONS, here)
    assert "test-0001: test-0001.vtt has no word in letters that can be read as sounds ('слон'" in caplog.text
