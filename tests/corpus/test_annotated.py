"""Annotated footage as a dictionary: which video, which tiers, and what is cut out of it."""

from pathlib import Path

import numpy as np
import pympi
import pytest

from signspot.corpus.annotated import read_annotated
from signspot.dictionary.build import build_dictionary
from signspot.dictionary.dictionary import Dictionary
from signspot.errors import DictionaryError, FormatError, OptionsError
from signspot.landmarks.cache import CacheEntry
from signspot.landmarks.estimators import usual_estimator
from signspot.landmarks.landmarks import DEFAULT_FPS, FACE_POINTS, Landmarks
from signspot.landmarks.pose_file import open_landmarks, write_landmarks
from signspot.landmarks.video_estimation import estimation_version, has_landmarks
from signspot.types import Segment
from signspot.video.reader import open_video
from signspot.video.writer import write_video


def footage(path: Path, seconds: float = 6.0) -> Path:
    """A grey video whose brightness tells the time."""
    count = round(25 * seconds)
    images = (np.full((48, 64, 3), 40 + round(160 * k / count), np.uint8) for k in range(count))
    write_video(path, images, 25.0)
    return path


def landmarks(frames: int = 150) -> Landmarks:
    body = np.full((frames, 33, 4), 0.5, np.float32)
    body[:, 0, 0] = np.arange(frames) / frames  # tells the frame
    return Landmarks(
        body=body,
        left_hand=np.full((frames, 21, 3), 0.5, np.float32),
        right_hand=np.full((frames, 21, 3), 0.5, np.float32),
        face=np.full((frames, len(FACE_POINTS), 3), 0.5, np.float32),
        face_points=FACE_POINTS,
        times=np.arange(frames) / DEFAULT_FPS,
        size=(64, 48),
    )


def document(path: Path, *media: str) -> Path:
    document_of_signs = pympi.Elan.Eaf(author="a linguist")
    document_of_signs.remove_tier("default")
    document_of_signs.add_tier("RH-gloss", part="anna")
    document_of_signs.add_annotation("RH-gloss", 2000, 2600, "APPLE")
    document_of_signs.add_annotation("RH-gloss", 4000, 4400, "TREE")
    document_of_signs.add_tier("LH", part="ben")
    document_of_signs.add_annotation("LH", 3000, 3500, "APPLE")
    for medium in media:
        document_of_signs.add_linked_file(
            medium, relpath="", mimetype="audio/x-wav" if medium.endswith(".wav") else "video/mp4"
        )
    document_of_signs.to_file(str(path))
    return path


def test_signs_are_cut_out_of_the_video_with_a_margin(tmp_path: Path) -> None:
    video = footage(tmp_path / "video.mp4")
    contents = read_annotated(document(tmp_path / "corpus.eaf", "elsewhere.mp4"), ["RH-gloss", "LH"], video)
    assert contents is not None
    assert [(e.word, e.id, e.signer) for e in contents.exemplars] == [
        ("APPLE", "video@2.00", "anna"),
        ("TREE", "video@4.00", "anna"),
        ("APPLE", "video@3.00", "ben"),
    ]
    built = build_dictionary(Dictionary(contents), tmp_path / "out")
    first = built.exemplars[0]
    assert first.path == tmp_path / "out" / "media" / "APPLE" / "video@2.00.mp4"
    assert first.segment == Segment(0.52, 1.12)  # the clip begins with a frame at 25 a second
    with open_video(first.path) as clip, open_video(video) as source:
        assert clip.info.duration == pytest.approx(0.6 + 1.02, abs=0.05)
        assert abs(int(clip.frame_at(0.8).image.mean()) - int(source.frame_at(2.28).image.mean())) <= 2


def test_landmarks_of_the_whole_video_serve_for_what_is_cut_out_of_it(tmp_path: Path) -> None:
    video, cache = footage(tmp_path / "video.mp4"), tmp_path / "cache"
    version = estimation_version(usual_estimator())
    entry = CacheEntry.of(video, cache, version, DEFAULT_FPS, None)
    assert entry is not None
    assert len(list(entry.keep(iter([landmarks()])))) == 1
    contents = read_annotated(document(tmp_path / "corpus.eaf"), ["RH-gloss"], video)
    assert contents is not None
    for exemplar in build_dictionary(Dictionary(contents), tmp_path / "out", cache=cache).exemplars:
        assert exemplar.path is not None
        assert has_landmarks(exemplar.path, cache)
    clip = CacheEntry.of(tmp_path / "out" / "media" / "APPLE" / "video@2.00.mp4", cache, version, DEFAULT_FPS, None)
    assert clip is not None
    cached = open_landmarks(clip.path)
    assert cached.body[0, 0, 0] == pytest.approx(37 / 150, abs=0.002)  # frame 37 is that of 1.48 s


def test_landmarks_alone_are_cut_too(tmp_path: Path) -> None:
    write_landmarks(landmarks(), tmp_path / "corpus.pose")
    contents = read_annotated(document(tmp_path / "corpus.eaf"))
    assert contents is not None
    assert {e.word for e in contents.exemplars} == {"APPLE", "TREE"}
    (apple, _) = build_dictionary(Dictionary(contents), tmp_path / "out").exemplars
    assert apple.path is not None
    assert len(open_landmarks(apple.path)) == pytest.approx(41, abs=1)


def test_sound_is_no_video_and_a_moved_video_of_the_same_name_is_taken(tmp_path: Path) -> None:
    footage(tmp_path / "video.mp4")
    contents = read_annotated(document(tmp_path / "corpus.eaf", "file:///gone/sound.wav", "file:///gone/video.mp4"))
    assert contents is not None
    assert {e.path for e in contents.exemplars} == {tmp_path / "video.mp4"}


@pytest.mark.parametrize(
    ("media", "question"),
    [
        (("file:///gone/one.mp4", "file:///gone/two.mp4"), "one.mp4, file:///gone/two.mp4"),
        (("https://example.org/video.mp4",), "https://example.org/video.mp4"),
        (("file:///gone/one.mp4",), "file:///gone/one.mp4"),
        ((), "--video"),
    ],
)
def test_a_video_that_is_not_clear_is_asked_about_in_one_line(
    media: tuple[str, ...], question: str, tmp_path: Path
) -> None:
    with pytest.raises(DictionaryError) as error:
        read_annotated(document(tmp_path / "corpus.eaf", *media))
    assert question in str(error.value)
    assert "\n" not in str(error.value)


def test_a_folder_of_documents_and_videos(tmp_path: Path) -> None:
    for name in ("one", "two"):
        footage(tmp_path / f"{name}.mp4")
        document(tmp_path / f"{name}.eaf")
    document(tmp_path / "three.eaf")
    contents = read_annotated(tmp_path)
    assert contents is not None
    assert [e.id for e in contents.exemplars] == ["one@2.00", "one@4.00", "two@2.00", "two@4.00"]
    assert [problem.path.name for problem in contents.problems] == ["three.eaf"]
    with pytest.raises(OptionsError):
        read_annotated(tmp_path, video=tmp_path / "one.mp4")


def test_other_sources_and_other_tiers(tmp_path: Path) -> None:
    assert read_annotated(tmp_path) is None
    assert read_annotated(tmp_path / "none.csv") is None
    with pytest.raises(FormatError, match="'RH'"):
        read_annotated(document(tmp_path / "corpus.eaf"), ["RH"])
