"""Long videos in stretches: any number of workers gives the same landmarks, and every frame once."""

import os
import signal
from collections.abc import Iterable, Iterator
from multiprocessing import parent_process
from pathlib import Path

import av
import numpy as np
import pytest

from signspot.landmarks.estimate import SECTION, PoseJob, estimate_files, plan_sections, stream_landmarks
from signspot.landmarks.landmarks import BODY_POINTS, FACE_POINTS, HAND_POINTS, Landmarks, concatenate
from signspot.landmarks.pose_file import open_landmarks
from signspot.types import Segment
from signspot.video.reader import Frame, open_video
from signspot.video.writer import write_video

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
    with open_video(path) as video:
        return concatenate(list(stream_landmarks(video, FPS, segment, chunk, estimator=Follower(), workers=workers)))


def test_a_rest_stays_with_the_stretch_before_it() -> None:
    assert [stretch.start for stretch in plan_sections(100.0, FPS)] == [0.0, 30.0, 60.0]
    assert [stretch.start for stretch in plan_sections(106.0, FPS)] == [0.0, 30.0, 60.0, 90.0]
    assert [stretch.warm_up for stretch in plan_sections(106.0, FPS)] == [0, 5, 5, 5]
    assert [stretch.start for stretch in plan_sections(20.0, FPS)] == [0.0]
    assert plan_sections(float("inf"), FPS)[-1].end == float("inf")
    assert [stretch.start for stretch in plan_sections(1000.0, FPS, Segment(7.0, 80.0))] == [7.0, 37.0]


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
        shown = [frame.image.mean() / 255 for frame in video.resampled(FPS, segment)]
    assert np.allclose(alone.body[:, 0, 0], shown, atol=1e-6)


def test_a_video_that_cannot_be_sought_is_read_once(
    long_video: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = read(long_video, 1)
    monkeypatch.setattr("signspot.video.reader.Video.seeks", lambda self, time: False)
    assert np.array_equal(read(long_video, 2).body, expected.body)
    assert "long.mp4 cannot be sought: one process" in caplog.text


def test_a_video_that_ends_before_it_announced(long_video: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = read(long_video, 1)
    announced = plan_sections(200.0, FPS)
    monkeypatch.setattr("signspot.landmarks.estimate.plan_sections", lambda duration, fps, segment: announced)
    assert len(announced) > SECONDS / SECTION + 1
    for workers in (1, 2):
        found = read(long_video, workers)
        assert len(found) == len(expected)
        assert np.array_equal(found.body[:, 0, 0], expected.body[:, 0, 0])


class Deadly(Follower):
    """Kills the worker that it runs in, but does its work in the main process."""

    def stream(self, frames: Iterable[Frame], size: tuple[int, int], chunk: int) -> Iterator[Landmarks]:
        """As `Estimator.stream`."""
        if parent_process() is not None:
            os.kill(os.getpid(), signal.SIGKILL)
        yield from super().stream(frames, size, chunk)


class Frail(Follower):
    """Dies once, wherever it first runs in a worker."""

    def __init__(self, mark: Path):
        self.mark = mark

    def stream(self, frames: Iterable[Frame], size: tuple[int, int], chunk: int) -> Iterator[Landmarks]:
        """As `Estimator.stream`."""
        if parent_process() is not None and not self.mark.exists():
            self.mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        yield from super().stream(frames, size, chunk)


def test_a_killed_worker_is_replaced_and_no_frame_is_lost(long_video: Path, tmp_path: Path) -> None:
    with open_video(long_video) as video:
        frail = Frail(tmp_path / "died")
        found = concatenate(list(stream_landmarks(video, FPS, estimator=frail, workers=2)))
    assert (tmp_path / "died").exists()
    assert np.array_equal(found.body, read(long_video, 1).body)


def test_where_every_worker_is_killed_this_process_goes_on(long_video: Path, caplog: pytest.LogCaptureFixture) -> None:
    with open_video(long_video) as video:
        segment = Segment(0.0, 50.0)  # two stretches
        found = concatenate(list(stream_landmarks(video, FPS, segment, estimator=Deadly(), workers=2)))
    assert np.array_equal(found.body, read(long_video, 1, segment).body)
    assert "long.mp4 from 0 s: its worker died 3 times (killed by SIGKILL)" in caplog.text
    assert "This process estimates it" in caplog.text


def test_memory_for_one_process_only(
    long_video: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then no worker is started: this one would be killed."""
    monkeypatch.setattr("signspot.io.memory.free_memory", lambda: 700 * 2**20)
    with open_video(long_video) as video:
        found = concatenate(list(stream_landmarks(video, FPS, estimator=Deadly(), workers=3)))
    assert np.array_equal(found.body, read(long_video, 1).body)
    assert "there is memory for 1 of 3 processes only" in caplog.text
    assert "died" not in caplog.text


def test_more_workers_than_frames(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A video of three frames is one stretch: no worker is started, and none would live."""
    images = (np.full((32, 48, 3), shade, np.uint8) for shade in (40, 90, 140))
    short = write_video(tmp_path / "short.mp4", images, FPS)
    with open_video(short) as video:
        found = concatenate(list(stream_landmarks(video, FPS, estimator=Deadly(), workers=64)))
    assert len(found) == 3
    assert not caplog.text


def test_a_file_without_an_index_is_read_by_one_process(
    long_video: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A bare stream of H.264 cannot be sought: no worker is started, a line says so, every frame is there."""
    bare = tmp_path / "bare.h264"
    with av.open(str(long_video)) as source, av.open(str(bare), "w", format="h264") as target:
        stream = target.add_stream_from_template(source.streams.video[0])
        for packet in source.demux(video=0):
            if packet.dts is not None:
                packet.stream = stream
                target.mux(packet)
    with open_video(bare) as video:
        found = concatenate(list(stream_landmarks(video, FPS, estimator=Deadly(), workers=2)))
        frames = sum(1 for _ in video.resampled(FPS))
    assert len(found) == frames
    if len(plan_sections(video.info.duration, FPS)) > 1:
        assert "cannot be sought: one process" in caplog.text


def test_one_video_is_shared_by_more_workers_than_videos(long_video: Path, tmp_path: Path) -> None:
    """With the real estimator, which sees nobody here: what counts is that every frame arrives, with progress."""
    reports: list[tuple[int, int | None]] = []
    job = PoseJob(long_video, tmp_path / "long.pose")
    ((_, frames),) = estimate_files([job], 2, lambda done, total: reports.append((done, total)), fps=2.0)
    assert frames == len(open_landmarks(tmp_path / "long.pose")) == 2 * SECONDS
    assert reports[-1] == (frames, frames)
    assert len(reports) > 10
