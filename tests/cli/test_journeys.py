"""The walks of seven kinds of users through the command line, each from what they have to what they want.

A linguist, a dataset builder, an archive or broadcaster, a learner or teacher, a device builder, a Deaf signer whose
signs are given and taken back, and a researcher. A newcomer with a camera is last. Those in the browser are in
tests/web/test_browser.py: a linguist's, a learner's ("compare, variants"), a newcomer's ("a first try").

Signing is synthetic and the encoder is `warping`, which learns nothing: what is found is right, but says nothing of
accuracy on people.
"""

import json
from io import StringIO
from pathlib import Path

import numpy as np
import pympi
import pytest

from signspot.dictionary.open_dictionary import open_dictionary
from signspot.formats.formats import read_spottings
from signspot.landmarks.pose_file import write_landmarks
from signspot.types import Segment
from signspot.video.reader import open_video
from signspot.video.writer import VideoWriter, write_video
from tests.cli.conftest import Cli
from tests.fixtures.signing import exemplar_of, footage_of, lexicon_of

Signs = list[tuple[str, Segment]]
WORDS = ("apple", "friend", "name", "house")
WARPING = ("--encoder", "warping")


@pytest.fixture(scope="module")
def footage(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Signs]]:
    """`monday.pose` and `tuesday.pose`, each with four signs twice, and `signs/` by another signer; where signs are."""
    folder = tmp_path_factory.mktemp("footage")
    lexicon = lexicon_of(*WORDS)
    truth = {}
    for day in ("monday", "tuesday"):
        landmarks, segments = footage_of(lexicon, WORDS * 2, day)
        write_landmarks(landmarks, folder / f"{day}.pose")
        truth[day] = list(zip(WORDS * 2, segments, strict=True))
    for word in WORDS:
        write_landmarks(exemplar_of(lexicon, word), folder / "signs" / f"{word}.pose")
    return folder, truth


def right(spottings: list[dict[str, object]], truth: Signs) -> list[bool]:
    """Whether each spotting overlaps a sign of its word."""
    return [
        any(
            s["word"] == word and float(str(s["start"])) < t.end and float(str(s["end"])) > t.start for word, t in truth
        )
        for s in spottings
    ]


def json_lines(out: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in out.splitlines()]


def test_a_linguist_finds_more_like_their_glosses_and_corrects_them_in_elan(
    signspot: Cli, footage: tuple[Path, dict[str, Signs]], tmp_path: Path
) -> None:
    folder, truth = footage
    document = pympi.Elan.Eaf(author="a linguist")
    document.add_linked_file((folder / "monday.pose").as_uri(), mimetype="unknown")
    document.add_tier("RH-gloss")
    for word, segment in truth["monday"]:
        document.add_annotation("RH-gloss", int(segment.start * 1000), int(segment.end * 1000), word)
    document.to_file(str(tmp_path / "monday.eaf"))
    out, _ = signspot.ok("dictionary", "build", tmp_path / "monday.eaf", tmp_path / "glosses", *WARPING)
    assert "8 exemplars" in out
    search = ("spot", folder / "tuesday.pose", tmp_path / "glosses", *WARPING)
    out, _ = signspot.ok(*search, "--out", tmp_path / "found.eaf", "--json")
    spottings = json_lines(out)
    assert len(spottings) >= 4
    assert sum(right(spottings, truth["tuesday"])) >= 0.7 * len(spottings)
    corrected = pympi.Elan.Eaf(str(tmp_path / "found.eaf"))
    start, end, _ = corrected.get_annotation_data_for_tier("signspot")[0][:3]
    corrected.remove_annotation("signspot", (start + end) // 2)
    corrected.to_file(str(tmp_path / "found.eaf"))
    signspot.ok("convert", tmp_path / "found.eaf", tmp_path / "found.csv")
    assert len(read_spottings(tmp_path / "found.csv")) == len(spottings) - 1
    code, _, _ = signspot(*search, "--out", tmp_path / "found.eaf")
    assert code != 0, "what a person has edited is not written over"
    out, _ = signspot.ok(*search, "--confirmed", tmp_path / "found.csv", "--json")
    assert {spotting["word"] for spotting in json_lines(out)} <= set(WORDS)


@pytest.mark.long
def test_a_dataset_builder_labels_subtitled_footage_and_goes_on_with_new_videos(
    signspot: Cli, footage: tuple[Path, dict[str, Signs]], tmp_path: Path
) -> None:
    folder, truth = footage
    corpus = tmp_path / "corpus"
    corpus.mkdir()

    def add(day: str) -> None:
        (corpus / f"{day}.pose").write_bytes((folder / f"{day}.pose").read_bytes())
        last = truth[day][-1][1].end
        text = f"WEBVTT\n\n00:00.000 --> 00:{last:06.3f}\nMy friend has an apple in the house.\n"
        (corpus / f"{day}.vtt").write_text(text)

    add("monday")
    run = ("annotate", corpus, "--dictionary", folder / "signs", "--out", tmp_path / "run", *WARPING)
    out, _ = signspot.ok(*run, "--export", tmp_path / "labels.csv", "--labels", tmp_path / "labels.jsonl")
    assert "1 annotated, 0 unchanged" in out
    labels = read_spottings(tmp_path / "labels.csv")
    assert {label.word for label in labels} <= {"apple", "friend", "house"}, "words of the subtitles alone"
    assert len(labels) == len((tmp_path / "labels.jsonl").read_text().splitlines()) > 0
    add("tuesday")
    out, _ = signspot.ok(*run)
    assert "1 annotated, 1 unchanged" in out
    out, _ = signspot.ok("annotate-report", tmp_path / "run", "--out", tmp_path / "report", "--json")
    assert json.loads(out)["tables"]


def test_an_archive_finds_in_all_videos_what_spot_finds_in_each(
    signspot: Cli, footage: tuple[Path, dict[str, Signs]], tmp_path: Path
) -> None:
    folder, truth = footage
    videos = {day: folder / f"{day}.pose" for day in truth}
    added = [argument for video in videos.values() for argument in ("--add", video)]
    signspot.ok("search", tmp_path / "archive", *added, *WARPING)
    words = ("apple", "name", "--dictionary", folder / "signs")
    page = tmp_path / "found.html"
    out, _ = signspot.ok("search", tmp_path / "archive", *words, *WARPING, "--html", page, "--json")
    by_archive = {(s["video"], s["word"], round(float(str(s["time"])), 1)) for s in json_lines(out)}
    by_spot = set()
    for video in videos.values():
        out, _ = signspot.ok("spot", video, *words, *WARPING, "--json")
        by_spot |= {(s["video"], s["word"], round(float(str(s["time"])), 1)) for s in json_lines(out)}
    assert by_archive == by_spot != set()
    assert page.read_text().count("<figure>") == len(by_spot)
    out, _ = signspot.ok("search", tmp_path / "archive", "--clip", folder / "signs" / "name.pose", *WARPING, "--json")
    assert json_lines(out)


def test_subtitles_that_cover_a_video_limit_nothing(
    signspot: Cli, footage: tuple[Path, dict[str, Signs]], tmp_path: Path
) -> None:
    """`annotate` finds what `spot` finds, and `spot --subtitles` the best of each word."""
    folder, truth = footage
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    (corpus / "monday.pose").write_bytes((folder / "monday.pose").read_bytes())
    text = f"WEBVTT\n\n00:00.000 --> 00:{truth['monday'][-1][1].end:06.3f}\nMy friend has an apple in the house.\n"
    (corpus / "monday.vtt").write_text(text)
    video, signs, words = corpus / "monday.pose", folder / "signs", ("apple", "friend", "house")
    same = ("--threshold", "0.7", *WARPING)
    by_spot = json_lines(signspot.ok("spot", video, signs, *words, *same, "--json")[0])
    options = ("--best", "50", "--peaks", "50", "--padding", "10", "--export", tmp_path / "labels.jsonl")
    signspot.ok("annotate", corpus, "--dictionary", signs, "--out", tmp_path / "run", *same, *options)
    by_annotate = json_lines((tmp_path / "labels.jsonl").read_text())
    followed = ("spot", video, signs, "--subtitles", corpus / "monday.vtt", "--padding", "10", *same)
    by_subtitles = json_lines(signspot.ok(*followed, "--json")[0])

    def facts(spottings: list[dict[str, object]]) -> set[tuple[object, ...]]:
        columns = ("word", "start", "end", "time", "score", "exemplar")
        return {tuple(spotting[column] for column in columns) for spotting in spottings}

    best = [max((s for s in by_spot if s["word"] == word), key=lambda s: float(str(s["score"]))) for word in words]
    assert len(by_spot) > len(words), "some words are found twice"
    assert facts(by_annotate) == facts(by_spot)
    assert facts(by_subtitles) == facts(best)
    assert "--top" in signspot.refused(*followed, "--top", "1")


def test_a_learner_asks_which_word_a_sign_is_and_whether_theirs_was_right(
    signspot: Cli, footage: tuple[Path, dict[str, Signs]], tmp_path: Path
) -> None:
    folder, _ = footage
    clip = folder / "signs" / "name.pose"
    out, _ = signspot.ok("identify", clip, folder / "signs", *WARPING, "--json")
    assert json_lines(out)[0]["word"] == "name"
    few = tmp_path / "few"
    few.mkdir()
    for word in ("apple", "friend", "house"):
        (few / f"{word}.pose").write_bytes((folder / "signs" / f"{word}.pose").read_bytes())
    out, err = signspot.ok("identify", clip, few, *WARPING, "--json")
    assert json_lines(out)[0]["known"] is False
    assert "not in this dictionary" in err
    signspot.ok("feedback", clip, "name", folder / "signs", *WARPING, "--json")
    assert "Did you mean 'name'?" in signspot.refused("feedback", clip, "nam", folder / "signs", *WARPING, ends=1)


def test_a_device_builder_enrols_a_sign_and_reads_its_events(
    signspot: Cli, footage: tuple[Path, dict[str, Signs]], tmp_path: Path
) -> None:
    folder, truth = footage
    recording = tmp_path / "apple.pose"
    recording.write_bytes((folder / "signs" / "apple.pose").read_bytes())
    wake = ("wake", folder / "monday.pose", "--sign", recording, "--threshold", 0.6, *WARPING)
    out, _ = signspot.ok(*wake)
    events = json_lines(out)
    assert {event["word"] for event in events} == {"apple"}
    assert all(float(str(e["start_seconds"])) < float(str(e["end_seconds"])) for e in events)
    assert any(
        float(str(event["start_seconds"])) < segment.end and float(str(event["end_seconds"])) > segment.start
        for event in events
        for word, segment in truth["monday"]
        if word == "apple"
    )
    assert "gone.mp4" in signspot.refused("wake", tmp_path / "gone.mp4", "--sign", recording)


def test_a_signer_gives_signs_says_what_for_and_takes_them_back(
    signspot: Cli, footage: tuple[Path, dict[str, Signs]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SIGNSPOT_CACHE", str(tmp_path / "cache"))
    folder, _ = footage
    table = ["file,word,signer,licence,consent"]
    for word, signer in (("apple", "Ann"), ("name", "Ann"), ("house", "Ben")):
        table.append(f"{folder / 'signs' / word}.pose,{word},{signer},CC BY 4.0,research alone")
    (tmp_path / "signs.csv").write_text("\n".join(table) + "\n")
    dictionary = tmp_path / "dictionary"
    signspot.ok("dictionary", "build", tmp_path / "signs.csv", dictionary, *WARPING)
    out, _ = signspot.ok("spot", folder / "monday.pose", dictionary, *WARPING, "--json")
    assert {(s["consent"], s["licence"]) for s in json_lines(out)} == {("research alone", "CC BY 4.0")}
    _, err = signspot.ok("forget", "Ann", dictionary)
    assert "nothing was" in err
    signspot.ok("forget", "Ann", dictionary, "--yes")
    assert "1 word, 1 exemplar" in signspot("dictionary", "info", dictionary)[1]
    assert "'apple'" in signspot.refused("spot", folder / "monday.pose", dictionary, "apple", *WARPING, ends=1)
    stored = [path for name in ("dictionary", "cache") for path in (tmp_path / name).rglob("*") if path.is_file()]
    assert stored
    assert not [path for path in stored if b"Ann" in path.read_bytes()]


RECOGNISER = """
kind = "recogniser"
name = "mine"
steps = 8
[clips]
clips = 8
[model]
hand_width = 16
part_width = 8
width = 32
last_width = 32
features = 32
norm = "batch"
"""


def test_a_researcher_makes_a_corpus_trains_on_it_and_measures_beside_what_learns_nothing(
    signspot: Cli, tmp_path: Path
) -> None:
    corpus, config = tmp_path / "corpus", tmp_path / "recogniser.toml"
    make = ("synthetic", "make", corpus, "--words", 8, "--hours", 0.02, "--seed", 3, "--set", "video_seconds=30")
    signspot.ok(*make)
    config.write_text(RECOGNISER)
    out, _ = signspot.ok("train", config, "--corpus", corpus, "--out", tmp_path / "run")
    weights = tmp_path / "run" / "mine.safetensors"
    assert str(weights) in out
    out, _ = signspot.ok("evaluate", "corpus", corpus, "--recogniser", weights, *WARPING, "--json")
    assert {str(row["classifier"]) for row in json_lines(out)} > {"mine"}, "beside the nearest exemplar"
    exemplar = next((corpus / "dictionary").rglob("*.pose"))
    out, _ = signspot.ok("identify", exemplar, weights, "--json")
    assert {row["word"] for row in json_lines(out)} <= set(open_dictionary(corpus / "dictionary"))


def test_recordings_that_come_to_nothing_leave_nothing(
    signspot: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_video(tmp_path / "camera.mp4", (np.zeros((32, 32, 3), np.uint8) for _ in range(30)), 25.0)
    monkeypatch.setattr("sys.stdin", StringIO("apple\napple\nfriend\n\n"))  # one word for two signs is asked again
    err = signspot.refused("demo", "--camera", tmp_path / "camera.mp4", "--out", tmp_path / "mine", ends=1)
    assert "the camera stopped" in err
    assert not (tmp_path / "mine").exists()
    assert signspot("demo", "--camera", "camera:99", "--out", tmp_path / "mine")[0] == 1
    (tmp_path / "mine").mkdir()
    assert signspot("demo", "--camera", tmp_path / "camera.mp4", "--out", tmp_path / "mine")[0] == 2


@pytest.mark.long
def test_a_newcomer_records_two_signs_and_finds_them_in_a_sentence(
    signspot: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rendered signer in place of the camera."""
    demo = tmp_path / "demo"
    signspot.ok("demo", "--out", demo)
    takes = [demo / "dictionary" / word / f"{word}_{n}.mp4" for word in ("apple", "friend") for n in (1, 2)]
    with VideoWriter(tmp_path / "camera.mp4", 25.0) as writer:
        for path, seconds in (*((take, 3.0) for take in takes), (demo / "sentence.mp4", 11.0)):
            with open_video(path) as video:
                images = [frame.image for frame in video.resampled(25.0)][: round(25 * seconds)]
            for image in (*images, *[images[-1]] * (round(25 * seconds) - len(images))):
                writer.add(image)
    monkeypatch.setattr("sys.stdin", StringIO("\n".join(["apple", "friend", *[""] * 5, "y", ""])))
    out, _ = signspot.ok("demo", "--camera", tmp_path / "camera.mp4", "--out", tmp_path / "mine")
    assert "spotting" in out
    assert {path.name for path in (tmp_path / "mine").iterdir()} == {
        *("dictionary", "sentence.mp4", "report.html", "spottings.eaf")
    }
    assert signspot("dictionary", "info", tmp_path / "mine" / "dictionary")[1].endswith("2 words, 4 exemplars\n")
