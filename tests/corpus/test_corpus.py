"""One reader for all commands: which files belong together; nothing outside the folder is ever named."""

import json
import os
from pathlib import Path

import pytest

from signspot.corpus.corpus import FORMAT, VERSION, Layout, open_corpus
from signspot.errors import FormatError
from signspot.video import VIDEO_SUFFIXES


def fill(folder: Path, *names: str) -> Path:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"")
    return folder


def test_a_folder_that_annotation_takes_is_a_corpus_for_all(tmp_path: Path) -> None:
    names = [f"week/{suffix[1:]}{suffix}" for suffix in sorted(VIDEO_SUFFIXES)]
    folder = fill(tmp_path, *names, *(f"{name.rpartition('.')[0]}.en.srt" for name in names), "day.pose", "day.vtt")
    corpus, listing = open_corpus(folder), open_corpus(folder).footage("landmarks")
    assert sorted(corpus.videos) == [footage.video for footage in listing.footage]
    assert len(corpus.videos) == len(VIDEO_SUFFIXES) + 1 == 16
    day, video = corpus.videos["day"], corpus.videos["week/mp4"]
    assert (day.landmarks, day.video, day.subtitles) == (folder / "day.pose", None, folder / "day.vtt")
    assert (video.landmarks, video.video, video.subtitles) == (
        None,
        folder / "week" / "mp4.mp4",
        folder / "week" / "mp4.en.srt",
    )


def test_dictionary_labels_and_hidden_files_are_no_footage(tmp_path: Path) -> None:
    folder = fill(tmp_path, "a.mp4", "dictionary/apple.mp4", "dictionary-video/media/a/x.mp4", "labels/a.vtt", ".b.mp4")
    fill(folder, ".cache/c.mp4", "truth/d.mp4", "lonely.srt")
    corpus = open_corpus(folder)
    assert list(corpus.videos) == ["a"]
    assert [str(problem) for problem in corpus.problems] == [
        "lonely.srt: there is no video of this name beside it; left out"
    ]
    with pytest.raises(FormatError):
        open_corpus(folder).footage("landmarks")


def test_the_splits_of_a_folder_are_known(tmp_path: Path) -> None:
    folder = fill(tmp_path, "videos/mon/a.pose", "videos/b.pose", "videos/c.pose")
    words = {"all": [], "train": [], "test": []}
    (folder / "splits.json").write_text(json.dumps({"train": ["mon/a"], "test": ["b"], "words": words}))
    corpus = open_corpus(folder)
    assert {name: video.split for name, video in corpus.videos.items()} == {"mon/a": "train", "b": "test", "c": ""}


@pytest.mark.parametrize(
    ("train", "test", "learned"), [(["a"], ["b"], ["a"]), ([], ["b"], ["a", "c"]), ([], [], ["a", "b", "c"])]
)
def test_what_no_split_names_is_for_training_where_nothing_is_named_for_it(
    tmp_path: Path, train: list[str], test: list[str], learned: list[str]
) -> None:
    folder = fill(tmp_path, "videos/a.pose", "videos/b.pose", "videos/c.pose")
    (folder / "splits.json").write_text(json.dumps({"train": train, "test": test}))
    assert [video.id for video in open_corpus(folder).in_split("train")] == learned


@pytest.mark.parametrize(
    "entry",
    [
        {"id": "a", "video": "../secret.mp4"},
        {"id": "a", "landmarks": "/etc/passwd"},
        {"id": "a", "subtitles": "videos/../../a.vtt"},
        {"id": "../../a", "video": "a.mp4"},
        {"id": "a", "video": "link.mp4"},
    ],
)
def test_a_corpus_names_no_file_outside_its_folder(tmp_path: Path, entry: dict[str, str]) -> None:
    fill(tmp_path, "secret.mp4", "corpus/a.mp4", "a.vtt")
    (tmp_path / "corpus" / "link.mp4").symlink_to(tmp_path / "secret.mp4")
    described = {"format": FORMAT, "version": VERSION, "videos": [entry]}
    (tmp_path / "corpus" / "corpus.json").write_text(json.dumps(described))
    with pytest.raises(FormatError, match=r"corpus\.json"):
        open_corpus(tmp_path / "corpus")


def test_a_video_without_a_name_is_reported(tmp_path: Path) -> None:
    (tmp_path / "corpus.json").write_text(json.dumps({"format": FORMAT, "version": VERSION, "videos": [{}]}))
    with pytest.raises(FormatError, match="'id'"):
        open_corpus(tmp_path)


def test_a_record_of_finished_files_that_is_damaged_or_leads_elsewhere_counts_for_nothing(tmp_path: Path) -> None:
    fill(tmp_path, "corpus/a.pose", "secret.pose")
    layout = Layout(tmp_path / "corpus")
    layout.mark_finished("a", [layout.folder / "a.pose"])
    assert layout.is_finished("a")
    os.mkfifo(layout.folder / "pipe")
    digest = json.loads(layout.finished("a").read_text())["a.pose"]
    named = ({name: digest} for name in ("../secret.pose", str(tmp_path / "secret.pose"), "/dev/zero", "pipe"))
    for damage in ("{", '{"a":' * 5000, "9" * 5000, "[]", *map(json.dumps, named)):
        layout.finished("a").write_text(damage)
        assert not layout.is_finished("a"), damage[:50]


def test_videos_meet_the_subtitles_of_their_name_also_in_folders_below(tmp_path: Path) -> None:
    fill(tmp_path, "a.mp4", "a.vtt", "week/b.MKV", "week/b.srt", "week/c.pose", "week/c.ttml")
    listing = open_corpus(tmp_path).footage("landmarks")
    assert [(footage.video, footage.media.name, footage.subtitles.name) for footage in listing.footage] == [
        ("a", "a.mp4", "a.vtt"),
        ("week/b", "b.MKV", "b.srt"),
        ("week/c", "c.pose", "c.ttml"),
    ]
    assert not listing.problems


def test_files_without_a_partner_are_reported_in_one_line_each(tmp_path: Path) -> None:
    fill(tmp_path, "a.mp4", "a.vtt", "lonely.mp4", "silent/x.pose", "only-text.srt", "notes.xml", "readme.txt")
    listing = open_corpus(tmp_path).footage("landmarks")
    assert [footage.video for footage in listing.footage] == ["a"]
    assert [str(problem) for problem in listing.problems] == [
        "lonely: there are no subtitles (lonely.vtt, .srt or .ttml); left out",
        "silent/x: there are no subtitles (x.vtt, .srt or .ttml); left out",
        "only-text.srt: there is no video of this name beside it; left out",
    ]


def test_landmarks_are_preferred_by_an_encoder_that_sees_them_and_of_no_use_to_another(tmp_path: Path) -> None:
    fill(tmp_path, "a.mp4", "a.pose", "a.vtt", "b.pose", "b.vtt")
    assert [video.media.name for video in open_corpus(tmp_path).footage("landmarks").footage] == ["a.pose", "b.pose"]
    pixels = open_corpus(tmp_path).footage("rgb")
    assert [video.media.name for video in pixels.footage] == ["a.mp4"]
    assert str(pixels.problems[0]) == "b: the encoder needs pixels, and there are only landmarks; left out"


def test_the_name_may_tell_the_language(tmp_path: Path) -> None:
    fill(tmp_path, "a.mp4", "a.en.vtt", "a.cy.vtt", "b.mp4", "b.en-GB.srt", "c.v2.mp4", "c.v2.srt")
    listing = open_corpus(tmp_path, "en-GB").footage("landmarks")
    names = [(footage.video, footage.subtitles.name) for footage in listing.footage]
    assert names == [("a", "a.en.vtt"), ("b", "b.en-GB.srt"), ("c.v2", "c.v2.srt")]
    assert [problem.name for problem in listing.problems] == ["a.cy.vtt"]
    assert open_corpus(tmp_path, "cy").footage("landmarks").footage[0].subtitles.name == "a.cy.vtt"


def test_of_several_subtitle_files_one_is_taken_and_always_the_same(tmp_path: Path) -> None:
    fill(tmp_path, "a.mp4", "a.srt", "a.vtt", "a.en.vtt", "a.ttml")
    assert open_corpus(tmp_path).footage("landmarks").footage[0].subtitles.name == "a.vtt"


def test_a_synthetic_corpus_is_read_by_its_own_list(corpus_folder: Path) -> None:
    listing = open_corpus(corpus_folder).footage("landmarks")
    assert [footage.video for footage in listing.footage] == ["test-0001", "train-0001", "train-0002", "train-0003"]
    assert all(footage.media.suffix == ".pose" for footage in listing.footage)


def test_a_folder_of_videos_beside_a_dictionary_is_not_mixed_with_it(tmp_path: Path) -> None:
    fill(tmp_path, "videos/a.mp4", "videos/a.vtt", "dictionary/media/a/apple.pose")
    assert [footage.video for footage in open_corpus(tmp_path).footage("landmarks").footage] == ["a"]
    assert not open_corpus(tmp_path).footage("landmarks").problems


def test_names_in_another_encoding_can_be_stored(tmp_path: Path) -> None:
    for suffix in (b".mp4", b".vtt"):
        with open(os.fsencode(tmp_path) + b"/caf\xe9" + suffix, "wb"):  # noqa: PTH123
            pass
    footage = open_corpus(tmp_path).footage("landmarks").footage[0]
    assert footage.video == "caf\\udce9"
    assert footage.media.is_file()


@pytest.mark.parametrize(
    ("names", "value"), [(None, "nowhere"), ((), ""), (("a.mp4",), r"\(a: "), (("a.vtt",), r"\(a.vtt: ")]
)
def test_what_is_no_corpus_is_named(tmp_path: Path, names: tuple[str, ...] | None, value: str) -> None:
    folder = tmp_path / "nowhere" if names is None else fill(tmp_path, *names)
    with pytest.raises(FormatError, match=f"{tmp_path}.*{value}"):
        open_corpus(folder).footage("landmarks")
