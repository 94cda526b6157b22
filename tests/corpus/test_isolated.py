"""Corpora of isolated signs: published ones are imported, and all of them are read alike."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from signspot.corpus.isolated import FACE_RATIO, UNKNOWN_FPS, pack, read_isolated
from signspot.corpus.public_corpora import cut_out, import_lsa64, import_wlasl
from signspot.errors import FormatError, SignspotError
from signspot.landmarks.landmarks import FACE_POINTS, Landmarks
from signspot.landmarks.pose_file import write_landmarks
from signspot.landmarks.video_estimation import PoseJob
from signspot.types import Segment


def still(frames: int, fps: float = 25.0) -> Landmarks:
    body = np.zeros((frames, 33, 4), np.float32)
    body[:, 0, 0] = np.arange(frames)
    hand = np.zeros((frames, 21, 3), np.float32)
    return Landmarks(body, hand, hand, np.zeros((frames, 60, 3), np.float32), np.arange(frames) / fps, (100, 50))


@pytest.fixture
def estimated(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Stands in for the estimator, whose own tests use real videos: a "video" is a text with its number of frames."""
    names_of_videos: list[str] = []

    def estimate(jobs: Sequence[PoseJob], workers: int, *, fps: float) -> Iterator[tuple[PoseJob, int | SignspotError]]:
        for job in jobs:
            names_of_videos.append(job.video.name)
            if not job.video.is_file() or not job.video.read_text().isdigit():
                yield job, FormatError("no video")
                continue
            assert job.target is not None
            write_landmarks(still(int(job.video.read_text()), fps), job.target)
            yield job, int(job.video.read_text())

    monkeypatch.setattr("signspot.corpus.public_corpora.estimate_files", estimate)
    return names_of_videos


def write_videos(folder: Path, **frames: int | str) -> None:
    folder.mkdir(parents=True)
    for name, count in frames.items():
        (folder / f"{name.removeprefix('v')}.mp4").write_text(str(count))


def names(folder: Path) -> list[tuple[str, str, str]]:
    return [(clip.word, clip.signer, clip.clip) for clip in read_isolated(folder)]


def test_lsa64_as_published_becomes_a_file_per_signer(estimated: list[str], tmp_path: Path) -> None:
    videos, out = tmp_path / "videos", tmp_path / "out"
    write_videos(videos / "all", v001_003_001=30, v002_003_001=20, v003_003_001="damaged")
    (videos / "notes.txt").write_text("not a clip")
    steps: list[tuple[int, int | None]] = []
    imported = import_lsa64(videos, out, lambda done, total: steps.append((done, total)), workers=1)
    assert [path.name for path in imported.files] == ["signer_03.npz"]
    assert imported.clips == 2
    assert [problem.split(":")[0] for problem in imported.problems] == ["003_003_001.mp4"]
    assert steps[-1] == (3, 3)
    assert names(out) == [("1", "3", "1"), ("2", "3", "1")]
    first = read_isolated(out)[0]
    assert (len(first.landmarks), first.segment) == (30, None)
    assert first.landmarks.fps == pytest.approx(20, abs=0.01)
    assert first.landmarks.aspect == pytest.approx(2.0)
    assert not (out / ".clips").exists()


def test_an_import_resumes_where_it_stopped(estimated: list[str], tmp_path: Path) -> None:
    """Landmarks of finished clips are kept, and files that are there are not made again."""
    videos, out = tmp_path / "videos", tmp_path / "out"
    write_videos(videos, v001_001_001=30, v002_001_001=20)

    def stop(done: int, total: int | None) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        import_lsa64(videos, out, stop, workers=1)
    assert len(list((out / ".clips").rglob("*.pose"))) == 1
    assert not list(out.glob("*.npz"))
    assert import_lsa64(videos, out, workers=1).clips == 2
    assert import_lsa64(videos, out, workers=1).clips == 2
    assert estimated == ["001_001_001.mp4", "002_001_001.mp4"]


def test_wlasl_as_published_keeps_the_body_of_all_frames(estimated: list[str], tmp_path: Path) -> None:
    source, out = tmp_path / "wlasl", tmp_path / "out"
    write_videos(source / "videos", v00335=30, v07070=20)
    instance = {"fps": 25, "frame_start": 1, "frame_end": -1, "signer_id": 4, "source": "aslbrick", "split": "train"}
    listed = [
        {"gloss": "book", "instances": [{**instance, "video_id": "00335"}, {**instance, "video_id": "00336"}]},
        {"gloss": "ice cream", "instances": [{**instance, "video_id": "07070", "signer_id": -1}]},
    ]
    (source / "WLASL_v0.3.json").write_text(json.dumps(listed))
    imported = import_wlasl(source, out, workers=1)
    assert [path.name for path in imported.files] == ["wlasl_01.npz"]
    assert imported.clips == 2
    assert [problem.split(":")[0] for problem in imported.problems] == ["00336.mp4"]
    assert names(out) == [("book", "4", "335"), ("ice cream", "", "7070")]
    with np.load(out / "wlasl_01.npz") as file:
        assert np.diff(file["start"]).tolist() == file["observed"].tolist() == [30, 20]
        assert set(file["fps"]) == {25.0}
        assert list(file["source"]) == ["aslbrick", "aslbrick"]
    assert read_isolated(out)[0].landmarks.body[:, 0, 0].tolist() == list(range(30))


def test_a_body_that_was_observed_for_some_frames_only_is_held(tmp_path: Path) -> None:
    """Public landmarks of WLASL: shoulders stay, wrists follow the hands, short gaps are bridged, elbows are unseen."""
    frames, observed = 40, 10
    clip = still(frames)
    hand = np.full((frames, 21, 3), np.nan, np.float32)
    hand[12:20, :, :2] = 0.5
    hand[24:26, :, :2] = 0.7
    body = np.full((observed, 33, 4), 0.25, np.float32)
    body[..., 3] = 1.0
    arrays = pack([(0, 1, 2)], [clip]) | {
        "observed": np.array([observed]),
        "fps": np.array([25.0]),
        "source": np.array(["somewhere"]),
        "pose": body.astype(np.float16),
        "face": np.zeros((observed, 60, 3), np.float16),
        "right_hand": hand.astype(np.float16),
        "left_hand": np.full_like(hand, np.nan, np.float16),
    }
    np.savez(tmp_path / "wlasl_1.npz", allow_pickle=False, **arrays)  # type: ignore[arg-type]
    (tmp_path / "words.txt").write_text("book\n")
    (read,) = read_isolated(tmp_path)
    body = read.landmarks.body
    assert body.shape == (frames, 33, 4)
    assert (body[:, 11, :2] == 0.25).all()  # a shoulder
    assert (body[observed:, 13, 3] == 0).all()  # an elbow
    right = body[:, 16]
    assert right[15, :2] == pytest.approx(0.5, abs=1e-3)
    assert right[15, 3] > right[22, 3] > 0  # seen; bridged between two sightings
    assert right[22, 0] == pytest.approx(0.62, abs=1e-3)  # three fifths of the way from 0.5 at 19 to 0.7 at 24
    assert (right[26:, 3] == 0).all()
    assert (body[observed:, 15, 3] == 0).all()  # the left hand is never seen


def test_a_sign_is_cut_out_of_a_video_that_is_not_cut_yet() -> None:
    landmarks = still(100)
    part = cut_out(landmarks, (9 / 25, 40 / 25))  # frames 10 to 40, counted from 1
    assert part.body[:, 0, 0].tolist() == list(range(9, 40))
    assert part.times[0] == 0
    assert cut_out(still(31), (9 / 25, 40 / 25)).body[:, 0, 0].tolist() == list(range(31))  # cut already
    assert cut_out(landmarks, None) is landmarks


def test_clips_are_packed_one_after_the_other_with_the_place_of_the_sign(tmp_path: Path) -> None:
    arrays: Any = pack([(1, 2, 3), (5, 6, 7)], [still(4), still(2)], [None, Segment(0.04, 0.08)])
    assert arrays["start"].tolist() == [0, 4, 6]
    np.savez(tmp_path / "signs_1.npz", allow_pickle=False, **arrays)
    one, two = read_isolated(tmp_path)
    assert [(one.word, one.signer, one.clip), (two.word, two.signer, two.clip)] == [("1", "2", "3"), ("5", "6", "7")]
    assert (len(one.landmarks), len(two.landmarks)) == (4, 2)
    assert one.segment is None
    assert two.segment is not None
    assert (two.segment.start, two.segment.end) == pytest.approx((0.04, 0.08))


def test_packed_landmarks_may_lack_faces_rates_aspects_and_all_bodies_but_one(tmp_path: Path) -> None:
    hand = np.full((6, 21, 3), 0.5, np.float16)
    body = np.full((2, 33, 4), np.nan, np.float16)
    body[:, 11:13, :3] = 0.25
    np.savez(
        tmp_path / "mine.npz",
        label=np.array([(1, -1, 0), (0, 7, 1)]),
        start=np.array([0, 4, 6]),
        aspect=np.array([np.nan, 1.5], np.float32),
        fps=np.array([np.nan, 30.0], np.float32),
        pose=body,
        left_hand=np.full_like(hand, np.nan),
        right_hand=hand,
    )
    (tmp_path / "words.txt").write_text("apple\nbook\n")
    one, two = read_isolated(tmp_path)
    assert (one.word, one.signer, len(one.landmarks)) == ("book", "", 4)
    assert (two.word, two.signer, len(two.landmarks)) == ("apple", "7", 2)
    assert (one.landmarks.fps, two.landmarks.fps) == pytest.approx((UNKNOWN_FPS, 30.0))
    assert (one.is_timed, two.is_timed) == (False, True)
    assert (one.landmarks.aspect, two.landmarks.aspect) == pytest.approx((4 / 3, 1.5), abs=0.01)
    assert (one.landmarks.body[:, 11, 3] == 1).all()  # a shoulder that is there is seen
    assert one.landmarks.body[:, 16, :2] == pytest.approx(0.5)  # a wrist is where its hand is
    assert np.isnan(one.landmarks.face).all()
    np.savez(tmp_path / "mine.npz", **{**np.load(tmp_path / "mine.npz"), "pose": body[:1]})
    with pytest.raises(FormatError, match=r"mine\.npz"):
        read_isolated(tmp_path)


def test_an_unknown_aspect_is_what_makes_the_faces_of_its_camera_as_wide_as_others(tmp_path: Path) -> None:
    """Each signer without a source is taken to have a camera of their own."""
    face = np.zeros((4, len(FACE_POINTS), 3), np.float16)
    face[:, FACE_POINTS.index(152), 1] = 0.5  # the chin; the forehead is at 0
    face[:2, FACE_POINTS.index(454), 0] = 0.25  # a cheek; the other one is at 0
    face[2:, FACE_POINTS.index(454), 0] = 0.375
    hand, body = np.full((4, 21, 3), 0.5, np.float16), np.full((4, 33, 4), 0.5, np.float16)
    label, start, aspect = np.array([(0, 1, 0), (0, 2, 0)]), np.array([0, 2, 4]), np.full(2, np.nan, np.float32)
    np.savez(
        tmp_path / "two.npz",
        label=label, start=start, aspect=aspect, pose=body, left_hand=hand, right_hand=hand, face=face,
    )  # fmt: skip
    aspects = [clip.landmarks.aspect for clip in read_isolated(tmp_path)]
    assert aspects == pytest.approx([FACE_RATIO / 0.5, FACE_RATIO / 0.75], abs=0.01)


def test_any_folder_by_word_and_signer_and_any_table_is_read(tmp_path: Path) -> None:
    for name in ("apple/anna.pose", "apple/anna_2.pose", "ice cream/ben.pose"):
        (tmp_path / "signs" / name).parent.mkdir(parents=True, exist_ok=True)
        write_landmarks(still(4), tmp_path / "signs" / name)
    assert names(tmp_path / "signs") == [
        ("apple", "anna", "anna.pose"), ("apple", "anna", "anna_2.pose"), ("ice cream", "ben", "ben.pose"),
    ]  # fmt: skip
    assert read_isolated(tmp_path / "signs")[0].landmarks.equals(still(4), tolerance=1e-5)
    table = tmp_path / "signs.csv"
    table.write_text("file,word,signer\nsigns/apple/anna.pose,apple,7\n")
    assert names(table) == [("apple", "7", "anna.pose")]
    with pytest.raises(FormatError, match="nothing"):
        read_isolated(tmp_path / "nothing")


def test_a_folder_of_something_else_is_refused(estimated: list[str], tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="nowhere"):
        import_lsa64(tmp_path / "nowhere", tmp_path / "out")
    for import_corpus in (import_lsa64, import_wlasl):
        with pytest.raises(FormatError, match=str(tmp_path)):
            import_corpus(tmp_path, tmp_path / "out")
    entries = [f'{{"gloss": "book", "instances": [{instance}]}}' for instance in (
        '{"video_id": "1", "fps": 0, "frame_end": 3}', "[]", '{"video_id": "1", "frame_start": 1e400}',
        '{"video_id": "00001"}',
    )]  # fmt: skip
    for entry in ('{"gloss": "book"}', *entries):  # the last one is a list, but its video is missing
        (tmp_path / "WLASL_v0.3.json").write_text(f"[{entry}]")
        with pytest.raises(FormatError):
            import_wlasl(tmp_path, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("content", [b"", b"PK\3\4", b"\x93NUMPY", None])
def test_a_damaged_file_of_signs_is_named(content: bytes | None, tmp_path: Path) -> None:
    path = tmp_path / "signer_001.npz"
    if content is None:
        np.savez(path, label=np.zeros((1, 3)), start=np.arange(2))  # without landmarks
    else:
        path.write_bytes(content)
    with pytest.raises(FormatError, match=path.name):
        read_isolated(tmp_path)
