"""The whole job without processes: nothing twice, nothing lost, only what is new; and every kind of bad input."""

import json
import logging
import os
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from signspot.annotation.run import AnnotationJob, RunReport, annotate, cache_of
from signspot.annotation.run_options import AnnotateOptions
from signspot.annotation.store import dump, open_store
from signspot.annotation.video_units import VideoUnit
from signspot.dictionary.json_file import save_dictionary
from signspot.dictionary.open_dictionary import open_dictionary
from signspot.errors import DictionaryError, FormatError, OptionsError, OutputError, UnknownWordError
from signspot.io.files import temporary_name
from signspot.spotting.spotter import load
from signspot.subtitles.reading import read_subtitles
from tests.annotation.conftest import OPTIONS, lines


@pytest.fixture
def footage(corpus_folder: Path, tmp_path: Path) -> Path:
    """The corpus as a plain folder of .pose and .vtt files, and a dictionary, both free to be changed."""
    shutil.copytree(corpus_folder / "videos", tmp_path / "footage")
    shutil.copytree(corpus_folder / "dictionary", tmp_path / "dictionary")
    return tmp_path / "footage"


@pytest.fixture
def job(footage: Path, encoder_file: Path, shared_cache: Path, tmp_path: Path) -> AnnotationJob:
    return AnnotationJob(
        footage, tmp_path / "dictionary", tmp_path / "run", encoder=str(encoder_file), cache=shared_cache
    )


@pytest.fixture
def apart(job: AnnotationJob) -> AnnotationJob:
    """The job with all that it makes in its own folder."""
    return replace(job, cache=job.out)


def units(engine) -> list[VideoUnit]:
    return [item for item in engine.items if isinstance(item, VideoUnit)]


@pytest.fixture
def go(here):
    """Run a job; give its report and the units that were worked on."""

    def run(job: AnnotationJob, options: AnnotateOptions = OPTIONS) -> tuple[RunReport, list[VideoUnit]]:
        here.items.clear()
        report = annotate(job, options, here)
        return report, units(here)

    return run


def test_a_corpus_is_annotated_and_a_second_run_does_nothing(apart: AnnotationJob, go) -> None:
    report, worked = go(apart)
    assert (report.videos, report.annotated, report.unchanged, report.failed) == (4, 4, 0, [])
    assert len(worked) == 4
    first = lines(apart.out)
    assert report.queries == sum('{"SubtitleQuery"' in line for line in first) > 20
    assert report.candidates == sum('{"Candidate"' in line for line in first) > report.queries / 2
    tracks = {path: path.stat().st_ino for path in apart.out.rglob("tracks/*/*")}
    assert len(tracks) == 4
    report, worked = go(apart)
    assert (report.annotated, report.unchanged, worked) == (0, 4, [])
    assert lines(apart.out) == first
    assert {path: path.stat().st_ino for path in tracks} == tracks


def test_a_new_word_is_only_searched_and_leaves_the_rest_alone(apart: AnnotationJob, go, tmp_path: Path) -> None:
    go(apart)
    expected = lines(apart.out)
    with open_store(apart.out) as store:
        words = sorted({query.word for query in store.queries()})
    part = replace(apart, out=tmp_path / "part", cache=tmp_path / "part", words=tuple(words[2:]))
    go(part)
    tracks = {path: path.stat().st_ino for path in part.out.rglob("tracks/*/*")}
    report, worked = go(replace(part, words=()))
    assert {word for unit in worked for word in unit.keys} == set(words[:2])
    assert {path: path.stat().st_ino for path in part.out.rglob("tracks/*/*")} == tracks
    assert lines(part.out) == expected
    assert not report.failed


def test_a_new_video_costs_only_itself(job: AnnotationJob, go, footage: Path, tmp_path: Path) -> None:
    for suffix in (".pose", ".vtt"):
        (footage / f"train-0002{suffix}").rename(tmp_path / f"train-0002{suffix}")
    go(job)
    for suffix in (".pose", ".vtt"):
        (tmp_path / f"train-0002{suffix}").rename(footage / f"train-0002{suffix}")
    _, worked = go(job)
    assert [unit.video for unit in worked] == ["train-0002"]
    fresh = replace(job, out=tmp_path / "fresh", cache=tmp_path / "fresh")
    go(fresh)
    assert lines(job.out) == lines(fresh.out)


def test_a_changed_subtitle_is_asked_again_and_a_removed_one_forgotten(job: AnnotationJob, go, footage: Path) -> None:
    go(job)
    with open_store(job.out) as store:
        query = next(store.queries(video="test-0001"))
        others = [line for line in dump(store) if '"test-0001"' not in line]
    file = footage / "test-0001.vtt"
    text = file.read_text().replace(query.text, "Nothing is said here.")
    file.write_text(text)
    report, worked = go(job)
    assert {unit.video for unit in worked} <= {"test-0001"}
    with open_store(job.out) as store:
        assert query.text not in {question.text for question in store.queries()}
        assert [line for line in dump(store) if '"test-0001"' not in line] == others
    assert (report.annotated + report.unchanged, report.failed) == (4, [])


def test_a_changed_exemplar_redoes_its_word_only(job: AnnotationJob, go, tmp_path: Path) -> None:
    go(job, replace(OPTIONS, negatives=0))
    with open_store(job.out) as store:
        word = next(store.queries()).word
    exemplars = sorted((tmp_path / "dictionary").rglob("*.pose"))
    exemplars_of_word = [path for path in exemplars if path.stem.rsplit("-", 1)[0] == word]
    other = next(path for path in exemplars if path not in exemplars_of_word)
    shutil.copy(other, exemplars_of_word[0])
    _, worked = go(job, replace(OPTIONS, negatives=0))
    assert {key for unit in worked for key in unit.keys} == {word}


def test_damaged_tracks_are_made_again(apart: AnnotationJob, go, tmp_path: Path) -> None:
    go(apart)
    first = lines(apart.out)
    for number, path in enumerate(sorted(apart.out.rglob("tracks/*/*"))):
        path.write_bytes(path.read_bytes()[: 100 * number])
    (apart.out / "annotations.sqlite").unlink()
    go(apart)
    assert lines(apart.out) == first


def test_the_negatives_of_a_store_stay_whatever_the_dictionary_becomes(job: AnnotationJob, go) -> None:
    options = replace(OPTIONS, negatives=2)
    words = open_dictionary(job.dictionary)
    few = words.select(sorted(words)[:10])
    save_dictionary(few, job.dictionary)
    go(job, options)
    with open_store(job.out) as store:
        pool = json.loads(store.settings()["pool"])
    save_dictionary(words, job.dictionary)
    _, worked = go(job, options)
    assert {word for unit in worked for word in unit.keys}.isdisjoint(few)
    with open_store(job.out) as store:
        assert json.loads(store.settings()["pool"]) == pool
    save_dictionary(words.select(word for word in words if word != pool[0]), job.dictionary)
    with pytest.raises(OptionsError, match=pool[0]):
        go(job, options)


def test_settings_may_not_change_in_a_store_but_the_threshold_may(job: AnnotationJob, go) -> None:
    go(job)
    for change in ({"padding": 0.0}, {"peaks": 5}, {"seed": 3}, {"mirror": False}):
        with pytest.raises(OptionsError, match=next(iter(change))):
            go(job, replace(OPTIONS, **change))
    report, worked = go(replace(job, threshold=0.9))
    assert (report.threshold, worked) == (0.9, [])
    with pytest.raises(OptionsError, match=r"0\.95.*0\.9"):
        go(replace(job, threshold=0.9), replace(OPTIONS, keep=0.95))
    with pytest.raises(OptionsError, match="7"):
        go(replace(job, threshold=7.0))


def test_what_is_kept_is_settled_by_the_first_run(job: AnnotationJob, go) -> None:
    """The encoder's threshold is 0.7, so that scores are kept from 0.6 on."""
    usual = replace(OPTIONS, keep=None)
    go(job, usual)
    with open_store(job.out) as store:
        assert store.settings()["keep"] == "0.6"
    _, worked = go(replace(job, threshold=0.65), usual)
    assert worked == []
    with pytest.raises(OptionsError, match=r"0\.6.*0\.5"):
        go(replace(job, threshold=0.5), usual)
    lower = replace(job, out=job.out.with_name("lower"), threshold=0.5)
    go(lower, usual)
    with open_store(lower.out) as store:
        assert store.settings()["keep"] == "0.5"
    assert len(list((job.out / "gallery").iterdir())) == 1


def test_what_spot_embedded_is_not_embedded_again_and_the_other_way_round(
    job: AnnotationJob, go, footage: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SIGNSPOT_CACHE", str(tmp_path / "cache"))
    video = footage / "train-0002.pose"
    assert job.encoder is not None
    track = load(job.encoder).embed(video)
    (entry,) = (tmp_path / "cache" / "tracks").rglob("*.safetensors")
    inode = entry.stat().st_ino
    go(replace(job, cache=None))
    assert entry.stat().st_ino == inode
    assert len(list((tmp_path / "cache" / "tracks").rglob("*.safetensors"))) == 4
    assert not (job.out / "tracks").exists()
    assert np.array_equal(load(job.encoder).embed(video).embeddings, track.embeddings)
    for part in ("tracks", "landmarks"):
        assert cache_of(tmp_path / "cache" / part) == tmp_path / "cache"  # no tracks/tracks


def test_a_corrupt_video_in_the_middle_is_recorded_skipped_and_named(job: AnnotationJob, go, footage: Path) -> None:
    good = (footage / "train-0001.pose").read_bytes()
    (footage / "train-0001.pose").write_bytes(good[:1000])
    (footage / "train-0002.pose").write_bytes(b"")
    (footage / "train-0003.vtt").write_bytes(b"\x00\x01 no subtitles at all")
    report, _ = go(job)
    assert report.annotated == 1
    assert [problem.name for problem in report.failed] == ["train-0003", "train-0001", "train-0002"]
    assert all("\n" not in problem.message for problem in report.failed)
    with open_store(job.out) as store:
        problems = {video.video: video.problem for video in store.videos()}
    assert problems["test-0001"] == ""
    assert problems["train-0001"].startswith("train-0001.pose is not a .pose file, or it is damaged")
    assert "train-0003.vtt" in problems["train-0003"]
    (footage / "train-0001.pose").write_bytes(good)
    report, worked = go(job)
    assert "train-0001" in [unit.video for unit in worked]
    with open_store(job.out) as store:
        assert {video.video: video.problem for video in store.videos()}["train-0001"] == ""


def test_a_problem_that_is_over_is_cleared(job: AnnotationJob, go, footage: Path) -> None:
    go(job)
    good = (footage / "test-0001.vtt").read_bytes()
    (footage / "test-0001.vtt").write_bytes(b"nothing")
    report, _ = go(job)
    assert [problem.name for problem in report.failed] == ["test-0001"]
    (footage / "test-0001.vtt").write_bytes(good)
    report, worked = go(job)
    assert (report.failed, worked) == ([], [])
    with open_store(job.out) as store:
        videos = {video.video: video for video in store.videos()}
    assert videos["test-0001"].problem == ""
    assert videos["test-0001"].seconds > 5


def test_bad_cues_are_reported_in_one_line_and_the_rest_is_searched(
    job: AnnotationJob, go, footage: Path, caplog: pytest.LogCaptureFixture
) -> None:
    seconds = 1000.0
    file = footage / "test-0001.vtt"
    first = read_subtitles(file)[0]
    overlap = f"00:00:01.000 --> 00:00:05.000\n{first.text}\n\n00:00:02.000 --> 00:00:04.000\n{first.text}\n\n"
    beyond = f"00:16:40.000 --> 00:16:42.000\n{first.text}\n\n"
    backwards = "00:00:09.000 --> 00:00:08.000\nbackwards\n\n-00:00:03.000 --> -00:00:02.000\nnegative\n\n"
    file.write_text(f"WEBVTT\n\n{overlap}{backwards}{beyond}")
    with caplog.at_level(logging.WARNING):
        report, _ = go(job)
    assert report.failed == []
    messages = [record.getMessage() for record in caplog.records]
    assert any(line.startswith("test-0001: test-0001.vtt: line") and line.endswith(", and 1 more") for line in messages)
    assert any("test-0001: 1 subtitles lie beyond the video's end" in line for line in messages)
    with open_store(job.out) as store:
        queries = list(store.queries(video="test-0001"))
        assert {query.subtitle for query in queries} == {0, 1, 2}
        assert {query.best is None for query in queries if query.subtitle_start == seconds} == {True}
        assert all(query.best is not None for query in queries if query.subtitle_start < seconds)


def test_files_without_a_partner_are_reported_and_the_rest_goes_on(
    job: AnnotationJob, go, footage: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (footage / "train-0001.pose").unlink()
    (footage / "train-0001.pose").symlink_to("nowhere.pose")
    (footage / "train-0002.vtt").unlink()
    with caplog.at_level(logging.WARNING):
        report, _ = go(job)
    assert (report.videos, report.annotated) == (2, 2)
    messages = [record.getMessage() for record in caplog.records]
    assert "train-0001.vtt: there is no video of this name beside it; left out" in messages
    assert any(line.startswith("train-0002: there are no subtitles") for line in messages)


def test_a_dictionary_without_any_matching_word_is_reported(job: AnnotationJob, go, footage: Path) -> None:
    for file in footage.glob("*.vtt"):
        file.write_text("WEBVTT\n\n00:00.000 --> 00:01.000\nzyx wvu\n")
    with pytest.raises(DictionaryError, match="'en'"):
        go(job)
    with pytest.raises(UnknownWordError, match="zebra crossing"):
        go(replace(job, words=("zebra crossing",)))
    with pytest.raises(FormatError, match="nowhere"):
        go(replace(job, corpus=footage / "nowhere"))


def test_two_runs_in_one_folder_are_refused(job: AnnotationJob, go, here) -> None:
    class Nested(type(here)):  # type: ignore[misc]
        def run(self, work, items):
            with pytest.raises(OptionsError, match="run"):
                annotate(job, OPTIONS, here)
            return super().run(work, items)

    report = annotate(job, OPTIONS, Nested())
    assert report.annotated == 4


def test_leftovers_of_killed_runs_are_removed(apart: AnnotationJob, go) -> None:
    name = temporary_name(Path("abc.safetensors")).replace(f"-{os.getpid()}-", "-99999999-")
    left = apart.out / "tracks" / "hash" / name
    left.parent.mkdir(parents=True)
    left.write_bytes(b"half")
    go(apart)
    assert not left.exists()


def test_a_folder_that_cannot_be_written_is_reported(job: AnnotationJob, go, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="file"):
        go(replace(job, out=tmp_path / "file" / "run"))


@pytest.mark.parametrize(
    "change",
    [
        {"padding": -1.0},
        {"padding": float("nan")},
        {"keep": 2.0},
        {"peaks": 0},
        {"stride": 0},
        {"negatives": -1},
        {"seed": -1},
    ],
)
def test_impossible_options_are_refused(change: dict[str, float]) -> None:
    with pytest.raises(OptionsError, match=next(iter(change))):
        AnnotateOptions(**change)
