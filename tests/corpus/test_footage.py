"""Videos of a corpus, and files without a partner."""

import os
from pathlib import Path

import pytest

from signspot.corpus.corpus import open_corpus
from signspot.errors import FormatError


def put(folder: Path, *names: str) -> Path:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"")
    return folder


def test_videos_meet_the_subtitles_of_their_name_also_in_folders_below(tmp_path: Path) -> None:
    put(tmp_path, "a.mp4", "a.vtt", "week/b.MKV", "week/b.srt", "week/c.pose", "week/c.ttml")
    listing = open_corpus(tmp_path).footage("landmarks")
    assert [(each.video, each.media.name, each.subtitles.name) for each in listing.footage] == [
        ("a", "a.mp4", "a.vtt"),
        ("week/b", "b.MKV", "b.srt"),
        ("week/c", "c.pose", "c.ttml"),
    ]
    assert not listing.problems


def test_files_without_a_partner_are_told_in_one_line_each(tmp_path: Path) -> None:
    put(tmp_path, "a.mp4", "a.vtt", "lonely.mp4", "silent/x.pose", "only-text.srt", "notes.xml", "readme.txt")
    listing = open_corpus(tmp_path).footage("landmarks")
    assert [each.video for each in listing.footage] == ["a"]
    assert [str(problem) for problem in listing.problems] == [
        "lonely: there are no subtitles (lonely.vtt, .srt or .ttml); left out",
        "silent/x: there are no subtitles (x.vtt, .srt or .ttml); left out",
        "only-text.srt: there is no video of this name beside it; left out",
    ]


def test_landmarks_are_preferred_by_an_encoder_that_sees_them_and_of_no_use_to_another(tmp_path: Path) -> None:
    put(tmp_path, "a.mp4", "a.pose", "a.vtt", "b.pose", "b.vtt")
    assert [each.media.name for each in open_corpus(tmp_path).footage("landmarks").footage] == ["a.pose", "b.pose"]
    pixels = open_corpus(tmp_path).footage("rgb")
    assert [each.media.name for each in pixels.footage] == ["a.mp4"]
    assert str(pixels.problems[0]) == "b: the encoder sees pixels and there are landmarks only; left out"


def test_the_name_may_tell_the_language(tmp_path: Path) -> None:
    put(tmp_path, "a.mp4", "a.en.vtt", "a.cy.vtt", "b.mp4", "b.en-GB.srt", "c.v2.mp4", "c.v2.srt")
    listing = open_corpus(tmp_path, "en-GB").footage("landmarks")
    names = [(each.video, each.subtitles.name) for each in listing.footage]
    assert names == [("a", "a.en.vtt"), ("b", "b.en-GB.srt"), ("c.v2", "c.v2.srt")]
    assert [problem.name for problem in listing.problems] == ["a.cy.vtt"]
    assert open_corpus(tmp_path, "cy").footage("landmarks").footage[0].subtitles.name == "a.cy.vtt"


def test_of_several_subtitle_files_one_is_taken_and_always_the_same(tmp_path: Path) -> None:
    put(tmp_path, "a.mp4", "a.srt", "a.vtt", "a.en.vtt", "a.ttml")
    assert open_corpus(tmp_path).footage("landmarks").footage[0].subtitles.name == "a.vtt"


def test_a_synthetic_corpus_is_read_by_its_own_list(corpus_folder: Path) -> None:
    listing = open_corpus(corpus_folder).footage("landmarks")
    assert [each.video for each in listing.footage] == ["test-0001", "train-0001", "train-0002", "train-0003"]
    assert all(each.media.suffix == ".pose" for each in listing.footage)


def test_a_folder_of_videos_beside_a_dictionary_is_not_mixed_with_it(tmp_path: Path) -> None:
    put(tmp_path, "videos/a.mp4", "videos/a.vtt", "dictionary/media/a/apple.pose")
    assert [each.video for each in open_corpus(tmp_path).footage("landmarks").footage] == ["a"]
    assert not open_corpus(tmp_path).footage("landmarks").problems


def test_names_in_another_encoding_can_be_stored(tmp_path: Path) -> None:
    for suffix in (b".mp4", b".vtt"):
        with open(os.fsencode(tmp_path) + b"/caf\xe9" + suffix, "wb"):  # noqa: PTH123
            pass
    found = open_corpus(tmp_path).footage("landmarks").footage[0]
    assert found.video == "caf\\udce9"
    assert found.media.is_file()


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (None, "no corpus at .*: there is no such folder"),
        ((), "is no corpus: it holds no video. Put videos"),
        (("a.mp4",), r"\(a: there are no subtitles"),
        (("a.vtt",), r"\(a.vtt: there is no video of this name"),
    ],
)
def test_what_is_no_corpus_is_told(tmp_path: Path, names: tuple[str, ...] | None, message: str) -> None:
    folder = tmp_path / "nowhere" if names is None else put(tmp_path, *names)
    with pytest.raises(FormatError, match=message):
        open_corpus(folder).footage("landmarks")
