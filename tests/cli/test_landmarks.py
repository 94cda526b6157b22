"""`signspot embed --landmarks`: real MediaPipe on real files."""

import os
from pathlib import Path

import numpy as np
import pytest

from signspot.landmarks.pose_file import open_landmarks
from signspot.video.writer import write_video
from signspot_synthetic.render.appearance import make_appearance
from signspot_synthetic.render.render import render_video
from tests.cli.conftest import Cli
from tests.fixtures.signing import sign_to_film


def test_a_filmed_signer_is_seen_and_a_broken_file_named(signspot: Cli, tmp_path: Path) -> None:
    exact = sign_to_film()[:30]
    render_video(exact, make_appearance(2), tmp_path / "signer.mp4")
    (tmp_path / "broken.mp4").write_bytes(b"no video")
    videos = (tmp_path / "signer.mp4", tmp_path / "broken.mp4")
    code, out, err = signspot("embed", "--landmarks", *videos, "--out", tmp_path / "poses")
    assert code == 3
    assert "signer.pose: 30 frames at 25 frames per second" in out
    assert "broken.mp4" in err
    assert "1 of 2 videos could not be read" in err
    landmarks = open_landmarks(tmp_path / "poses" / "signer.pose")
    assert np.isfinite(landmarks.body).all(axis=(1, 2)).mean() > 0.9
    shoulders = landmarks.body[:, [11, 12], 0].mean(axis=0)
    assert np.abs(shoulders - exact.body[:, [11, 12], 0].mean(axis=0)).max() < 0.06


def test_nobody_in_view_gives_landmarks_of_nobody(signspot: Cli, tmp_path: Path) -> None:
    write_video(tmp_path / "grey.mp4", (np.full((64, 64, 3), 90, np.uint8) for _ in range(5)), 25)
    signspot.ok("embed", "--landmarks", tmp_path / "grey.mp4", "--out", tmp_path)
    assert np.isnan(open_landmarks(tmp_path / "grey.pose").body[..., 0]).all()


def grey(path: Path, frames: int = 5) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return write_video(path, (np.full((64, 64, 3), 90, np.uint8) for _ in range(frames)), 25)


def test_folders_equal_names_and_going_on(signspot: Cli, tmp_path: Path) -> None:
    videos = [grey(tmp_path / "footage" / day / "a.mp4", frames) for day, frames in (("mon", 4), ("tue", 6))]
    poses = tmp_path / "poses"
    out, _ = signspot.ok("embed", "--landmarks", tmp_path / "footage", "--out", poses)
    assert len(out.splitlines()) == 2
    assert [len(open_landmarks(poses / day / "a.pose")) for day in ("mon", "tue")] == [4, 6]
    written = (poses / "mon" / "a.pose").stat().st_mtime_ns

    (poses / "tue" / "a.pose").unlink()  # as if it had been stopped here
    code, out, err = signspot("embed", "--landmarks", *videos, "--out", poses)
    assert (code, len(out.splitlines())) == (0, 1)
    assert "1 of 2 videos were finished before" in err
    assert (poses / "mon" / "a.pose").stat().st_mtime_ns == written
    assert len(open_landmarks(poses / "tue" / "a.pose")) == 6

    code, out, _ = signspot(
        "embed", "--landmarks", *videos, "--out", poses, "--fps", "50"
    )  # another rate is not finished
    assert (code, len(out.splitlines())) == (0, 2)
    assert len(open_landmarks(poses / "mon" / "a.pose")) == 8


def test_a_folder_without_videos_is_reported(signspot: Cli, tmp_path: Path) -> None:
    code, _, err = signspot("embed", "--landmarks", tmp_path)
    assert code != 0
    assert f"there is no video in the folder {tmp_path}" in err


def test_frames_and_time_left_are_reported_when_piped(
    signspot: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("signspot.cli.console._FIRST_LINE", 0.0)
    monkeypatch.setattr("signspot.cli.console._NEXT_LINE", 0.0)
    _, _, err = signspot("embed", "--landmarks", grey(tmp_path / "a.mp4", 20), "--out", tmp_path, "--no-cache")
    assert " of 20 frames, " in err
    assert " left" in err


@pytest.mark.usefixtures("openvino_networks")
def test_the_estimator_is_an_option_and_part_of_the_cache_key(
    signspot: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SIGNSPOT_CACHE", str(tmp_path / "cache"))
    video = grey(tmp_path / "a.mp4")
    signspot.ok("embed", "--landmarks", video, "--out", tmp_path / "one")
    signspot.ok("embed", "--landmarks", video, "--out", tmp_path / "two", "--estimator", "openvino")
    assert len(list((tmp_path / "cache" / "landmarks").rglob("*.pose"))) == 2
    assert "SIGNSPOT_ESTIMATOR" not in os.environ  # the choice ends with the verb
    code, _, err = signspot("embed", "--landmarks", video, "--out", tmp_path, "--estimator", "openpose")
    assert code != 0
    assert "no estimator 'openpose'. There are: mediapipe, mediapipe-lips, openvino" in err


def test_the_cache_is_listed_and_emptied(signspot: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIGNSPOT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("SIGNSPOT_CACHE_LIMIT", "3 GiB")
    signspot("embed", "--landmarks", grey(tmp_path / "a.mp4"), "--out", tmp_path / "poses")
    out, _ = signspot.ok("cache")
    assert f"{tmp_path / 'cache'} (at most 3.0 GiB of landmarks, and as much of tracks)" in out
    assert any(line.split()[:2] == ["landmarks", "1"] for line in out.splitlines())
    out, _ = signspot.ok("cache", "--clear", "landmarks")
    assert "removed 1 file of landmarks" in out
    assert not list((tmp_path / "cache").rglob("*.pose"))
    assert (tmp_path / "poses" / "a.pose").is_file()
    code, _, err = signspot("cache", "--clear", "everything")
    assert code != 0
    assert "the cache has no part 'everything'" in err
