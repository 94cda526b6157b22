from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from signspot.errors import OptionsError, OutputError, VideoError
from signspot.plots.curves import View
from signspot.plots.video import WIDTH, draw_page, fit, page_spans, write_result_video
from signspot.types import Segment
from signspot.video.reader import Video, open_video


@pytest.fixture(scope="module")
def videos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("videos")


def frame(video: Video, time: float) -> np.ndarray:
    return video.frame_at(time).image.astype(int)


def cursor_column(image: np.ndarray) -> int:
    """Column of the cursor's red line among the curves."""
    lower = image[620:]
    red = (lower[..., 0] > 150) & (lower[..., 1] < 90) & (lower[..., 2] < 110)
    return int(red.sum(axis=0).argmax())


def test_the_video_lasts_as_long_as_its_video_and_follows_it(view: View, videos: Path) -> None:
    calls: list[tuple[int, int | None]] = []
    write_result_video(view, videos / "f.mp4", lambda done, total: calls.append((done, total)))
    with open_video(videos / "f.mp4") as video:
        assert (video.info.width, video.info.height, video.info.codec) == (960, 540 + 48 + 2 * 104 + 34, "h264")
        assert sum(1 for _ in video.frames()) == 100
        assert video.info.duration == pytest.approx(4.0, abs=0.05)
        early, late = frame(video, 1.0), frame(video, 3.0)
    assert early[270, 480] == pytest.approx((200, 20, 20), abs=12)
    assert late[270, 480] == pytest.approx((20, 20, 200), abs=12)
    share = (cursor_column(early) - 210) / (WIDTH - 230)
    assert share == pytest.approx(0.25, abs=0.01)
    assert (cursor_column(late) - 210) / (WIDTH - 230) == pytest.approx(0.75, abs=0.01)
    assert calls == [(done, 100) for done in range(1, 101)]


def test_a_caption_is_shown_only_inside_a_spotting(view: View, videos: Path) -> None:
    write_result_video(view, videos / "c.mp4")
    with open_video(videos / "c.mp4") as video:
        inside, outside = frame(video, 1.2), frame(video, 2.0)
    band = (slice(545, 585), slice(300, 700))
    assert (inside[band] > 200).all(axis=-1).sum() > 200
    assert (outside[band] > 100).sum() == 0


def test_without_a_video_nothing_is_written(view: View, tmp_path: Path) -> None:
    with pytest.raises(OptionsError):
        write_result_video(replace(view, video=None), tmp_path / "f.mp4")
    with pytest.raises(OutputError):
        write_result_video(view, tmp_path / "f.gif")
    with pytest.raises(VideoError):
        write_result_video(replace(view, video=tmp_path / "gone.mp4"), tmp_path / "f.mp4")
    assert list(tmp_path.iterdir()) == []


def test_stopping_half_way_leaves_nothing(view: View, tmp_path: Path) -> None:
    def stop(done: int, total: int | None) -> None:
        if done == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_result_video(view, tmp_path / "f.mp4", stop)
    assert list(tmp_path.iterdir()) == []


def test_a_long_video_is_cut_into_pages_of_about_twenty_seconds() -> None:
    spans = page_spans(3600.0)
    assert len(spans) == 180
    assert (spans[0].start, spans[-1].end) == (0.0, 3600.0)
    assert all(left.end == right.start for left, right in pairwise(spans))
    assert page_spans(0.0)[0].duration > 0


def test_only_the_cursor_moves_on_a_page(view: View) -> None:
    page = draw_page(view, Segment(0.0, 4.0))
    one, other = page.at(1.0).astype(int), page.at(2.0).astype(int)
    changed = np.flatnonzero((one != other).any(axis=(0, 2)))
    assert len(changed) <= 10
    assert np.abs(changed - round(210 + 0.25 * 730)).min() <= 1
    assert np.abs(changed - round(210 + 0.5 * 730)).min() <= 1
    assert (page.at(2.0) == other).all()


@pytest.mark.parametrize("shape", [(64, 96), (2000, 100), (1, 1), (100, 3000)])
def test_a_picture_fits_with_its_aspect_kept(shape: tuple[int, int]) -> None:
    height, width = fit(np.zeros((*shape, 3), np.uint8), 960, 540).shape[:2]
    assert width == 960 or height == 540
    assert height <= 540
    assert width <= 960
    if min(height, width) > 20:
        assert width / height == pytest.approx(shape[1] / shape[0], rel=0.02)
