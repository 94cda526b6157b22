"""From pixels to landmarks: sections of long videos, several videos, the cache."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from multiprocessing import parent_process
from pathlib import Path

import numpy as np
import pytest

from signspot.errors import LandmarksError, NoPersonError, NotAVideoError, OptionsError
from signspot.landmarks.cache import CacheEntry
from signspot.landmarks.estimators import MODELS, HolisticEstimator, find_models, usual_estimator
from signspot.landmarks.landmarks import BODY_POINTS, FACE_POINTS, HAND_POINTS, Landmarks, concatenate
from signspot.landmarks.pose_file import open_landmarks, write_landmarks
from signspot.landmarks.signing import check_signing
from signspot.landmarks.video_estimation import (
    SECTION,
    PoseJob,
    estimate_files,
    estimate_landmarks,
    estimation_version,
    landmarks_of,
    plan_sections,
    stream_landmarks,
    stream_source,
)
from signspot.types import Segment
from signspot.video.reader import Frame, open_video
from signspot.video.writer import write_video


@pytest.fixture(scope="module")
def noise(tmp_path_factory) -> Path:
    """Half a second of nobody."""
    rng = np.random.default_rng(0)
    images = rng.integers(0, 255, (12, 96, 128, 3), dtype=np.uint8)
    return write_video(tmp_path_factory.mktemp("noise") / "noise.mp4", images, 25)


def test_nobody_is_seen_in_noise(noise):
    reports: list[tuple[int, int | None]] = []
    landmarks = estimate_landmarks(noise, lambda done, total: reports.append((done, total)))
    assert len(landmarks) == 12
    assert landmarks.size == (128, 96)
    np.testing.assert_allclose(landmarks.times, np.arange(12) / 25)
    assert np.isnan(landmarks.body).all()
    assert reports == [(8, 12), (12, 12), (12, 12)]
    with pytest.raises(NoPersonError):
        check_signing(landmarks, noise.name)


def test_a_segment_at_another_rate_streams_in_chunks(noise):
    chunks = list(stream_landmarks(noise, 50, Segment(0.1, 0.3), chunk=4))
    assert [len(chunk) for chunk in chunks] == [4, 4, 2]
    np.testing.assert_allclose(concatenate(chunks).times, 0.1 + np.arange(10) / 50)


def test_stderr_stays_empty(noise):
    code = f"import signspot.landmarks.video_estimation as e; print(len(e.estimate_landmarks({str(noise)!r})))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (run.stdout, run.stderr) == ("12\n", "")


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.long)])
def test_many_videos_and_a_bad_one(noise, tmp_path, workers):
    (tmp_path / "bad.mp4").write_text("words")
    reports = []
    jobs = [
        PoseJob(path, tmp_path / f"{number}.pose") for number, path in enumerate([noise, tmp_path / "bad.mp4", noise])
    ]
    results = dict(estimate_files(jobs, workers, lambda done, total: reports.append((done, total)), fps=10))
    assert results[jobs[0]] == results[jobs[2]] == 5
    assert isinstance(results[jobs[1]], NotAVideoError)
    assert sorted(path.name for path in tmp_path.glob("*.pose")) == ["0.pose", "2.pose"]
    assert open_landmarks(tmp_path / "0.pose").equals(open_landmarks(tmp_path / "2.pose"))
    assert reports[0] == (0, 10)  # frames, those of a bad video unknown
    assert reports[-1] == (10, 10)
    assert sorted(reports) == reports


def test_workers_must_be_some(noise):
    with pytest.raises(OptionsError):
        list(estimate_files([PoseJob(noise)], 0))
    assert list(estimate_files([])) == []


def test_the_estimator_is_a_contract(noise, tmp_path):
    """Another estimator needs two members; its version keeps its landmarks apart in the cache."""

    class Nobody:
        version = "nobody-1"

        def stream(self, frames, size, chunk):
            yield from HolisticEstimator().stream(list(frames)[:3], size, chunk)

    few = concatenate(list(stream_landmarks(noise, cache=tmp_path, estimator=Nobody())))
    usual = concatenate(list(stream_landmarks(noise, cache=tmp_path)))
    again = concatenate(list(stream_landmarks(noise, cache=tmp_path, estimator=Nobody())))
    assert (len(few), len(usual), len(again)) == (3, 12, 3)
    assert len(list(tmp_path.rglob("*.pose"))) == 2


def test_a_mediapipe_without_models_is_an_error():
    assert find_models(MODELS).is_dir()
    with pytest.raises(LandmarksError):
        find_models([*MODELS, "no_such_model.tflite"])


@pytest.fixture
def cached(noise, tmp_path, make_signing) -> tuple[Path, Landmarks]:
    """A cache in which the landmarks of the noise are, visibly, others than an estimate would give."""
    folder = tmp_path / "cache"
    estimate_landmarks(noise, cache=folder)
    (entry,) = folder.rglob("*.pose")
    planted = make_signing(12, size=(128, 96))
    write_landmarks(planted, entry)
    return entry, planted


def test_the_cache_is_used_by_content_not_by_name(noise, tmp_path, cached):
    entry, planted = cached
    copy = tmp_path / "another name.mp4"
    copy.write_bytes(noise.read_bytes())
    assert estimate_landmarks(copy, cache=entry.parents[1]).equals(planted, tolerance=1e-6)
    assert np.isnan(estimate_landmarks(copy).body).all()


def test_a_file_whose_landmarks_are_in_the_cache_is_not_opened(tmp_path, make_signing):
    """The server relies on it: it decodes no video itself."""
    file, cache = tmp_path / "no video.mp4", tmp_path / "cache"
    file.write_text("words")
    planted = make_signing(12, size=(128, 96))
    entry = CacheEntry.of(file, cache, estimation_version(usual_estimator()), 25.0, None)
    list(entry.keep(iter([planted])))
    reports = []
    streamed = list(stream_source(file, cache=cache, progress=lambda done, total: reports.append((done, total))))
    assert concatenate(streamed).equals(planted, tolerance=1e-6)
    assert landmarks_of(file, cache).equals(planted, tolerance=1e-6)
    assert reports == [(12, 12)]
    with pytest.raises(NotAVideoError):
        landmarks_of(file)


@pytest.mark.parametrize("damage", [b"", b"rubbish", None])
def test_a_damaged_entry_is_made_again(noise, cached, damage, caplog):
    entry, _ = cached
    entry.write_bytes(entry.read_bytes()[:-100] if damage is None else damage)
    assert np.isnan(estimate_landmarks(noise, cache=entry.parents[1]).body).all()
    assert "estimated again" in caplog.text
    assert np.isnan(open_landmarks(entry).body).all()


def test_landmarks_may_be_kept_beside_the_video(noise, tmp_path):
    copy = tmp_path / "news.mp4"
    copy.write_bytes(noise.read_bytes())
    estimate_landmarks(copy, cache="beside")
    (entry,) = tmp_path.glob("news.mp4.*.pose")
    assert len(open_landmarks(entry)) == 12
    assert copy.read_bytes() == noise.read_bytes()


def test_a_cache_that_cannot_be_written_does_not_stop_the_work(noise, tmp_path, caplog):
    (tmp_path / "file").write_text("")
    assert len(estimate_landmarks(noise, cache=tmp_path / "file" / "cache")) == 12
    assert "cannot be stored in the cache" in caplog.text


@pytest.mark.data
@pytest.mark.slow
def test_a_drawn_signer_is_found_where_he_was_drawn(lsa64, tmp_path):
    """Real movement, drawn and estimated again; stderr stays empty with a person in view, too."""
    from signspot_synthetic.render.appearance import make_appearance
    from signspot_synthetic.render.render import render

    exact = lsa64(3)[155][1].resampled(25)[30:55]
    video = write_video(tmp_path / "drawn.mp4", render(exact, make_appearance(4), (480, 360)), 25)
    code = (
        "from signspot.landmarks.video_estimation import *; from signspot.landmarks.pose_file import write_landmarks;"
        f"write_landmarks(estimate_landmarks({str(video)!r}), {str(tmp_path / 'seen.pose')!r})"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stderr == ""
    estimated = open_landmarks(tmp_path / "seen.pose")
    check_signing(estimated, "drawn")
    both = np.isfinite(estimated.right_hand[:, 0, 0]) & np.isfinite(exact.right_hand[:, 0, 0])
    assert both.mean() > 0.8
    assert np.median(np.abs(estimated.body[:, [0, 11, 12, 15, 16], :2] - exact.body[:, [0, 11, 12, 15, 16], :2])) < 0.03
    assert np.median(np.abs(estimated.right_hand[both, :, :2] - exact.right_hand[both, :, :2])) < 0.03


FPS = 5.0
SECONDS = 100


class Follower:
    """Sees how bright a picture is, and for how long it has followed the video, up to a second."""

    version = "follower"

    def stream(self, frames: Iterable[Frame], size: tuple[int, int], chunk: int) -> Iterator[Landmarks]:
        """As `Estimator.stream`."""
        sights: list[tuple[float, float, float]] = []
        for number, frame in enumerate(frames):
            sights.append((float(frame.image.mean()) / 255, min(number, FPS), frame.time))
            if len(sights) == chunk:
                yield _landmarks(sights, size)
                sights = []
        if sights:
            yield _landmarks(sights, size)


def _landmarks(sights: list[tuple[float, float, float]], size: tuple[int, int]) -> Landmarks:
    body = np.ones((len(sights), BODY_POINTS, 4), np.float32)
    body[:, :, :2] = np.array(sights, np.float32)[:, None, :2]
    hand = np.full((len(sights), HAND_POINTS, 3), np.nan, np.float32)
    face = np.full((len(sights), len(FACE_POINTS), 3), np.nan, np.float32)
    return Landmarks(body, hand, hand.copy(), face, np.array([time for _, _, time in sights]), size)


@pytest.fixture(scope="module")
def long_video(tmp_path_factory: pytest.TempPathFactory) -> Path:
    shades = np.random.default_rng(0).integers(30, 220, int(SECONDS * FPS))
    images = (np.full((32, 48, 3), shade, np.uint8) for shade in shades)
    return write_video(tmp_path_factory.mktemp("long") / "long.mp4", images, FPS)


def read(path: Path, workers: int, segment: Segment | None = None, chunk: int = 64) -> Landmarks:
    return concatenate(list(stream_landmarks(path, FPS, segment, chunk, estimator=Follower(), workers=workers)))


def test_a_short_rest_stays_with_the_section_before_it() -> None:
    assert [section.start for section in plan_sections(100.0, FPS)] == [0.0, 30.0, 60.0]
    assert [section.start for section in plan_sections(106.0, FPS)] == [0.0, 30.0, 60.0, 90.0]
    assert [section.warm_up for section in plan_sections(106.0, FPS)] == [0, 5, 5, 5]
    assert [section.start for section in plan_sections(20.0, FPS)] == [0.0]
    assert plan_sections(float("inf"), FPS)[-1].end == float("inf")
    assert [section.start for section in plan_sections(1000.0, FPS, Segment(7.0, 80.0))] == [7.0, 37.0]


@pytest.mark.parametrize("segment", [None, Segment(12.4, 93.0)])
def test_any_number_of_workers_gives_the_same_landmarks(long_video: Path, segment: Segment | None) -> None:
    """And every tracker but the first has seen a second before its stretch begins."""
    alone = read(long_video, 1, segment)
    together = read(long_video, 3, segment, chunk=7)
    assert np.array_equal(alone.body, together.body)
    assert np.allclose(alone.times, together.times, atol=1e-9)
    origin = segment.start if segment else 0.0
    assert len(alone) == round(((segment.end if segment else SECONDS) - origin) * FPS)
    followed = alone.body[:, 0, 1]
    assert followed[: int(FPS)].tolist() == list(range(int(FPS)))
    assert (followed[int(FPS) :] == FPS).all()
    with open_video(long_video) as video:
        brightness = [frame.image.mean() / 255 for frame in video.resampled(FPS, segment)]
    assert np.allclose(alone.body[:, 0, 0], brightness, atol=1e-6)


def test_a_video_that_cannot_be_sought_is_read_once(
    long_video: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = read(long_video, 1)
    monkeypatch.setattr("signspot.video.reader.Video.seeks", lambda self, time: False)
    assert np.array_equal(read(long_video, 2).body, expected.body)
    assert "cannot seek in long.mp4: one process" in caplog.text


def test_a_video_that_ends_before_it_announced(long_video: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = read(long_video, 1)
    announced = plan_sections(200.0, FPS)
    monkeypatch.setattr("signspot.landmarks.video_estimation.plan_sections", lambda duration, fps, segment: announced)
    assert len(announced) > SECONDS / SECTION + 1
    for workers in (1, 2):
        landmarks = read(long_video, workers)
        assert len(landmarks) == len(expected)
        assert np.array_equal(landmarks.body[:, 0, 0], expected.body[:, 0, 0])


class Deadly(Follower):
    """Kills the worker that it runs in, but does its work in the main process."""

    def stream(self, frames: Iterable[Frame], size: tuple[int, int], chunk: int) -> Iterator[Landmarks]:
        """As `Estimator.stream`."""
        if parent_process() is not None:
            os.kill(os.getpid(), signal.SIGKILL)
        yield from super().stream(frames, size, chunk)


@pytest.mark.long  # three workers are started and killed for each section
def test_where_every_worker_is_killed_this_process_goes_on(long_video: Path, caplog: pytest.LogCaptureFixture) -> None:
    segment = Segment(0.0, 50.0)  # two sections
    landmarks = concatenate(list(stream_landmarks(long_video, FPS, segment, estimator=Deadly(), workers=2)))
    assert np.array_equal(landmarks.body, read(long_video, 1, segment).body)
    assert "long.mp4 from 0 s: its worker died 3 times (killed by SIGKILL)" in caplog.text


def test_memory_for_one_process_only(
    long_video: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then no worker is started: this one would be killed."""
    monkeypatch.setattr("signspot.io.memory.free_memory", lambda: 700 * 2**20)
    landmarks = concatenate(list(stream_landmarks(long_video, FPS, estimator=Deadly(), workers=3)))
    assert np.array_equal(landmarks.body, read(long_video, 1).body)
    assert "1 of 3 processes" in caplog.text
    assert "died" not in caplog.text


def test_one_video_is_shared_by_more_workers_than_videos(long_video: Path, tmp_path: Path) -> None:
    """With the real estimator, which sees nobody here: what counts is that every frame arrives, with progress."""
    reports: list[tuple[int, int | None]] = []
    job = PoseJob(long_video, tmp_path / "long.pose")
    ((_, frames),) = estimate_files([job], 2, lambda done, total: reports.append((done, total)), fps=2.0)
    assert frames == len(open_landmarks(tmp_path / "long.pose")) == 2 * SECONDS
    assert reports[-1] == (frames, frames)
    assert len(reports) > 10
