"""Footage: all subtitle words on one timeline, new exemplars mined from it, and signs that two languages share."""

import json
import shutil
from base64 import b64decode
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from experiments.applications.synthetic_signs import perform
from signspot.annotation.engines import HereEngine
from signspot.annotation.run import AnnotationJob, annotate
from signspot.annotation.run_options import AnnotateOptions
from signspot.applications.faux_amis import (
    FauxAmisOptions,
    find_faux_amis,
    folder_names,
    read_translations,
    write_faux_amis_page,
)
from signspot.applications.mine import MineOptions, find_exemplars, videos_in, write_dictionary
from signspot.applications.sign_comparison import sign_clip
from signspot.applications.subtitle_timeline import TimelineOptions, find_words, subtitle_lines, write_timeline_page
from signspot.dictionary.cutting import MARGIN
from signspot.dictionary.dictionary import Dictionary
from signspot.dictionary.open_dictionary import open_dictionary
from signspot.errors import DictionaryError, FormatError, OptionsError, OutputError, UnknownWordError
from signspot.landmarks.pose_file import write_landmarks
from signspot.spotting.spot_options import SpotOptions
from signspot.spotting.spotter import Spotter
from signspot.types import Exemplar, Segment, Subtitle
from signspot.video.reader import open_video
from signspot.video.writer import write_video
from signspot_synthetic.body.motion import continuous
from signspot_synthetic.body.signers import Role, make_signer
from signspot_synthetic.language.lexicon import Lexicon
from signspot_synthetic.observation import project
from signspot_synthetic.random_streams import named_rng
from tests.applications.conftest import SEED

SPAN = Segment(0, 30)


@pytest.fixture(scope="module")
def passage(
    words: Lexicon, twofold: str, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, list[tuple[str, Segment]]]:
    """Twelve signs in a row, each word of six twice, and where they are."""
    signed = [word for word in words if word != twofold][:6] * 2
    signer = make_signer("passage", SEED, Role.TEST, left_share=0)
    motion, segments = continuous([words[word].variants[0] for word in signed], signer, named_rng(SEED, "passage"))
    path = tmp_path_factory.mktemp("passage") / "news.pose"
    write_landmarks(project(motion, signer.camera), path)
    return path, list(zip(signed, segments, strict=True))


def subtitles_of(signs: list[tuple[str, Segment]]) -> list[Subtitle]:
    """A subtitle for every three signs, half a second late."""
    groups = [signs[first : first + 3] for first in range(0, len(signs), 3)]
    return [
        Subtitle(group[0][1].start + 0.5, group[-1][1].end + 0.5, f"The\n{' and '.join(word for word, _ in group)}.")
        for group in groups
    ]


def test_subtitle_words_are_found_where_they_are_signed(
    spotter: Spotter, dictionary: Dictionary, passage: tuple[Path, list[tuple[str, Segment]]], tmp_path: Path
) -> None:
    path, signs = passage
    options = TimelineOptions(padding=2.0, search=SpotOptions(false_alarms_per_hour=2000.0))
    result = find_words(spotter, path, subtitles_of(signs), dictionary, options)
    assert len(result.mentions) == 12
    placed = [word_use for word_use in result.mentions if word_use.spotting is not None]
    right = [
        any(
            word == word_use.word and segment.padded(0.2).overlap(word_use.spotting.segment) > 0
            for word, segment in signs
        )
        for word_use in placed
        if word_use.spotting is not None
    ]
    assert len(placed) >= 6
    assert sum(right) >= 0.7 * len(placed)
    assert len({word_use.spotting for word_use in placed}) == len(placed), "a spotting counts once"
    assert all(word_use.spotting.time in word_use.where for word_use in placed if word_use.spotting is not None)
    mentioned = dictionary.select({word for word, _ in signs})
    assert set(result.spottings) <= set(spotter.spot(path, mentioned, false_alarms_per_hour=2000.0)), "one decision"
    page = write_timeline_page(result, tmp_path / "t.html").read_text()
    assert f"{len(placed)} of 12" in page
    assert f"The {signs[0][0]} and" in page, "lines of a subtitle are joined"
    data = json.loads(page.partition('id="data">')[2].partition("</script>")[0])
    assert [spotting["time"] for spotting in data["spottings"]] == [spotting.time for spotting in result.spottings]
    for panel in data["panels"]:
        assert (panel["word_curve"] is None) == (len(panel["curves"]) < 2)
        for spotting in (hit for hit in result.spottings if hit.word == panel["word"] and panel["word_curve"]):
            assert max(panel["word_curve"]["scores"]) >= spotting.score - 1e-4, "spottings are its peaks"
    assert [line["start"] for line in data["subtitles"]] == [line.start for line in result.subtitles]
    table = page.partition("Words of the subtitles")[2]
    assert [table.count(f"<td>{word}</td>") for word in sorted({word for word, _ in signs})] == [1] * 6


def test_subtitles_hide_no_other() -> None:
    texts = ["one line\nand another", "x" * 200, "late"]
    lines = subtitle_lines(
        [Subtitle(start, start + 3, text) for start, text in zip((0.0, 1.0, 29.9), texts, strict=True)], SPAN
    )
    assert [(start, line) for start, _, line in lines] == [(0.0, 0), (1.0, 1), (29.9, 0)]
    assert lines[0][1] == "one line and another"
    assert lines[1][1] == "x" * 59 + "…"
    assert lines[2][1] == "late"


def test_subtitle_words_are_those_that_annotation_finds(
    spotter: Spotter, dictionary: Dictionary, passage: tuple[Path, list[tuple[str, Segment]]], tmp_path: Path
) -> None:
    path, signs = passage
    subtitles = subtitles_of(signs)
    result = find_words(spotter, path, subtitles, dictionary, TimelineOptions(padding=2.0))
    videos = tmp_path / "corpus"
    videos.mkdir()
    shutil.copy(path, videos / "news.pose")
    cues = [f"00:{line.start:06.3f} --> 00:{line.end:06.3f}\n{line.text}\n" for line in subtitles]
    (videos / "news.vtt").write_text("\n".join(["WEBVTT\n", *cues]))
    job = AnnotationJob(videos, dictionary, tmp_path / "run", encoder=spotter.encoder.name, cache=spotter.cache)
    report = annotate(job, AnnotateOptions(padding=2.0, negatives=0), HereEngine())
    annotated = {(hit.word, hit.time, hit.score) for hit in report.spottings}
    assert result.spottings
    assert {(hit.word, hit.time, hit.score) for hit in result.spottings} <= annotated


def test_a_sign_between_two_subtitles_counts_for_one_of_them(
    spotter: Spotter, dictionary: Dictionary, passage: tuple[Path, list[tuple[str, Segment]]]
) -> None:
    path, ((word, sign), *_) = passage
    subtitles = [Subtitle(0, sign.start, f"The {word}."), Subtitle(sign.end, sign.end + 1, f"The {word}.")]
    options = TimelineOptions(padding=1.0, search=SpotOptions(threshold=0.3))
    result = find_words(spotter, path, subtitles, dictionary, options)
    spottings = [word_use.spotting for word_use in result.mentions if word_use.spotting is not None]
    assert spottings
    assert len(set(spottings)) == len(spottings)


def test_subtitles_of_another_language_are_reported(
    spotter: Spotter, dictionary: Dictionary, passage: tuple[Path, object]
) -> None:
    with pytest.raises(DictionaryError):
        find_words(spotter, passage[0], [Subtitle(0, 1, "Guten Abend")], dictionary)
    with pytest.raises(OptionsError):
        TimelineOptions(padding=-1)
    with pytest.raises(OptionsError):
        FauxAmisOptions(same=-2)


def test_mined_exemplars_are_a_dictionary(
    spotter: Spotter, dictionary: Dictionary, passage: tuple[Path, list[tuple[str, Segment]]], tmp_path: Path
) -> None:
    path, signs = passage
    word = signs[0][0]
    gallery = spotter.gallery(dictionary.select([word]))
    how = SpotOptions(threshold=0.3)
    mined = find_exemplars(spotter, gallery, [path], MineOptions(most=2, diversity=0), how)
    assert [exemplar.rank for exemplar in mined] == [1, 2]
    assert mined[0].spotting.score >= mined[1].spotting.score
    assert any(segment.overlap(mined[0].spotting.segment) > 0 for other, segment in signs if other == word)
    written = write_dictionary(mined, tmp_path / "new")
    again = open_dictionary(tmp_path / "new")
    assert [exemplar.id for exemplar in again.exemplars] == [exemplar.id for exemplar in written.exemplars]
    assert spotter.identify(again.exemplars[0].path or "", gallery)[0].word == word
    with pytest.raises(OutputError):
        write_dictionary(mined, tmp_path / "new")
    with pytest.raises(OptionsError):
        find_exemplars(spotter, spotter.gallery(dictionary.select([word, signs[1][0]])), [path])
    with pytest.raises(OptionsError):
        find_exemplars(spotter, gallery, [])


def test_diversity_prefers_other_videos(
    spotter: Spotter, dictionary: Dictionary, passage: tuple[Path, list[tuple[str, Segment]]], tmp_path: Path
) -> None:
    path, signs = passage
    other = tmp_path / "other.pose"
    other.write_bytes(path.read_bytes())
    gallery = spotter.gallery(dictionary.select([signs[0][0]]))
    mined = find_exemplars(spotter, gallery, [path, other], MineOptions(2, 1.0), SpotOptions(threshold=0.3))
    assert {exemplar.spotting.video for exemplar in mined} == {str(path), str(other)}
    (tmp_path / "empty").mkdir()
    with pytest.raises(OptionsError):
        list(videos_in([tmp_path / "empty"]))


@pytest.fixture(scope="module")
def second(words: Lexicon, twofold: str, tmp_path_factory: pytest.TempPathFactory) -> Dictionary:
    """A language with three words of the first: the first means the same, the second is called as the third."""
    names = [word for word in words if word != twofold][:4]
    folder = tmp_path_factory.mktemp("second")
    for word, sign in ((names[0], names[0]), (names[2], names[1]), ("elsewhere", names[3])):
        write_landmarks(perform(words[sign].variants[0], SEED, "second", sign), folder / f"{word}.pose")
    return open_dictionary(folder)


def test_shared_signs_are_found_and_their_meaning_is_reported(
    spotter: Spotter, dictionary: Dictionary, second: Dictionary, words: Lexicon, twofold: str, tmp_path: Path
) -> None:
    names = [word for word in words if word != twofold][:4]
    result = find_faux_amis(spotter, dictionary, second, FauxAmisOptions(same=0.7))
    meanings = {(pair.first.word, pair.second.word): pair.meaning for pair in result.pairs}
    assert meanings == {(names[0], names[0]): "same", (names[1], names[2]): "other", (names[3], "elsewhere"): "other"}
    assert set(result.alone) == set(dictionary) - {names[0], names[1], names[3]}
    table = tmp_path / "t.csv"
    table.write_text(f"{names[3]},elsewhere\n")
    options = FauxAmisOptions(0.7, translations=read_translations(table, dictionary, second))
    again = find_faux_amis(spotter, dictionary, second, options)
    assert {pair.second.word for pair in again.of("same")} == {names[0], "elsewhere"}
    page = write_faux_amis_page(spotter, replace(result, pairs=result.pairs[:1]), tmp_path / "p.html", ("A", "<B>"))
    assert page.read_text().count("<video") == 2
    assert page.read_text().count('poster="data:image/jpeg') == 2
    assert "<B>" not in page.read_text()
    assert ", ".join(result.alone) in page.read_text()


def test_a_clip_on_a_page_shows_the_sign_and_not_all_of_its_video(spotter: Spotter, tmp_path: Path) -> None:
    video = write_video(tmp_path / "long.mp4", (np.full((32, 32, 3), n, np.uint8) for n in range(200)), 25.0)
    clip = sign_clip(spotter, Exemplar("apple", "apple", video, segment=Segment(3.0, 3.6)), "apple")
    assert clip is not None
    (tmp_path / "clip.mp4").write_bytes(b64decode(clip.address.partition(",")[2]))
    with open_video(tmp_path / "clip.mp4") as cut:
        assert cut.info.duration == pytest.approx(0.6 + 2 * MARGIN, abs=0.1)


def test_two_folders_are_told_apart() -> None:
    assert folder_names(Path("/a/bsl"), Path("/a/dgs")) == ("bsl", "dgs")
    assert folder_names(Path("/a/bsl/signs"), Path("/a/dgs/signs")) == ("bsl/signs", "dgs/signs")
    assert folder_names(Path("/a/signs"), Path("/a/signs")) == ("signs", "signs")


def test_words_of_one_dictionary_only_are_reported(
    spotter: Spotter, dictionary: Dictionary, second: Dictionary, tmp_path: Path
) -> None:
    with pytest.raises(DictionaryError):
        find_faux_amis(spotter, dictionary, second, FauxAmisOptions(words=("elsewhere",)))
    with pytest.raises(UnknownWordError):
        find_faux_amis(spotter, dictionary, second, FauxAmisOptions(words=("nowhere",)))
    (tmp_path / "t.csv").write_text("a,b,c\n")
    with pytest.raises(FormatError, match="line 1"):
        read_translations(tmp_path / "t.csv", dictionary, second)
    (tmp_path / "t.csv").write_text(f"a,{'b' * 200_000}\n")
    with pytest.raises(FormatError):
        read_translations(tmp_path / "t.csv", dictionary, second)
    (tmp_path / "t.csv").write_text("nowhere,elsewhere\n")
    with pytest.raises(UnknownWordError):
        read_translations(tmp_path / "t.csv", dictionary, second)
