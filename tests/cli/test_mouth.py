"""`signspot mouth`: what it prints and writes, and one line for each thing that cannot be done."""

import json
import shutil
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import torch

from signspot.annotation.store import open_store
from signspot.formats.formats import read_spottings
from signspot.landmarks.pose_file import open_landmarks, write_landmarks
from signspot.mouthing.network import MouthingModel, MouthingNetwork, NetworkOptions, save_mouthing
from signspot.types import LabelSource, Segment
from signspot_synthetic.body.motion import talking
from signspot_synthetic.body.mouthing import habits_of, say
from signspot_synthetic.body.signers import Role, make_signer
from signspot_synthetic.observation import project
from tests.fixtures.opened import counting


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A signer who mouths "elephant", subtitles that mention it, and a spotter of random weights."""
    folder = tmp_path_factory.mktemp("mouth")
    signer, random = make_signer("one", 1, Role.TEST), np.random.default_rng(0)
    word = say("elephant", Segment(2.0, 2.8), habits_of(signer, 0.0), random)
    motion = talking([word], 6.0, signer, random, 0.0)
    marks = project(motion, signer.camera)
    write_landmarks(marks, folder / "news.pose")
    hidden = marks.face.copy()
    hidden[:] = np.nan
    write_landmarks(replace(marks, face=hidden), folder / "faceless.pose")
    aside = project(motion, replace(signer.camera, azimuth=1.15))
    write_landmarks(aside, folder / "aside.pose")
    face = np.where(np.arange(len(marks))[:, None, None] < 100, aside.face, marks.face)
    write_landmarks(replace(marks, face=face), folder / "turned-away.pose")
    hand = marks.right_hand.copy()
    hand[25:125] = marks.face[25:125, :1]  # four seconds before the mouth
    write_landmarks(replace(marks, right_hand=hand), folder / "covered.pose")
    text = "WEBVTT\n\n00:01.000 --> 00:02.000\nTwo elephants walked.\n"
    for name in ("news", "faceless", "aside", "turned-away", "covered"):
        (folder / f"{name}.vtt").write_text(text)
    torch.manual_seed(1)
    save_mouthing(
        MouthingModel("random", MouthingNetwork(NetworkOptions(width=16, maps=4)).eval(), {}), folder / "m.safetensors"
    )
    return folder


def run(signspot, folder: Path, *arguments: object, video: str = "news.pose") -> tuple[int, str, str]:
    return signspot("mouth", folder / video, "--model", folder / "m.safetensors", *arguments)


def about_lips(output: str) -> list[str]:
    """The remarks on lips among what a command says."""
    lines = [line for line in output.splitlines() if "the frames" in line or "hidden" in line]
    return [line.removeprefix("signspot: ") for line in lines]


def test_labels_and_spottings_are_written(signspot, folder, tmp_path):
    files = ("--out", tmp_path / "x.bobsl.json", "--labels", tmp_path / "l.jsonl")
    code, out, _ = run(signspot, folder, "--word", "elephant", "--threshold", 0, *files, "--json")
    assert code == 0
    (row,) = map(json.loads, out.splitlines())
    (spotting,) = read_spottings(tmp_path / "x.bobsl.json")
    (label,) = map(json.loads, (tmp_path / "l.jsonl").read_text().splitlines())
    assert row["word"] == spotting.word == label["word"] == "elephant"
    assert spotting.source is LabelSource.MOUTHING
    assert spotting.time == pytest.approx(label["time"]) == pytest.approx(spotting.end)
    assert label["at"] == "end"
    plain = json.loads((tmp_path / "x.bobsl.json").read_text())["all"]["elephant"]
    assert plain["global_times"] == [pytest.approx(label["time"])]


def test_words_come_from_the_subtitles_or_from_a_file(signspot, folder, tmp_path):
    with counting() as opened:
        _, out, _ = run(signspot, folder, "--threshold", 0, "--json")
    assert (opened["news.pose"], opened["news.vtt"]) == (1, 1)
    assert {json.loads(line)["word"] for line in out.splitlines()} == {"elephants", "walked"}
    (tmp_path / "words.txt").write_text("walk\n\n")
    _, out, _ = run(signspot, folder, "--threshold", 0, "--json", "--words-from", tmp_path / "words.txt")
    assert [json.loads(line)["word"] for line in out.splitlines()] == ["walk"]


def test_a_folder_is_annotated_and_what_cannot_be_read_is_named(signspot, folder, tmp_path):
    for name in ("news.pose", "news.vtt", "faceless.pose", "faceless.vtt"):
        shutil.copy(folder / name, tmp_path / name)
    shutil.copy(folder / "news.pose", tmp_path / "lonely.pose")
    assert "is a folder. Annotate it with: signspot annotate" in signspot.refused("mouth", tmp_path)
    out = tmp_path.parent / f"{tmp_path.name}-out"
    common = ("annotate", tmp_path, "--source", "mouthing", "--out", out, "--words", "elephant", "--threshold", 0)
    model = ("--model", folder / "m.safetensors")
    exported = ("--export", out / "x.bobsl.json", "--labels", out / "l.jsonl")
    code, printed, err = signspot(*common, *model, "--word-threshold", 0, *exported)
    assert code == 3
    assert "2 videos with subtitles: 1 annotated, 0 unchanged, 1 failed" in printed
    assert "1 spotting of 1 word with a probability of 0 or more" in printed
    assert "failed: faceless: faceless.pose shows no face in 150 frames" in err
    assert "lonely: there are no subtitles" in err
    (label,) = map(json.loads, (out / "l.jsonl").read_text().splitlines())
    assert (label["video"], label["word"], label["at"], label["source"]) == ("news", "elephant", "end", "M")
    (spotting,) = read_spottings(out / "x.bobsl.json")
    assert (spotting.source, spotting.time) == (LabelSource.MOUTHING, pytest.approx(label["time"]))
    code, printed, err = signspot(*common, *model)
    assert "0 spottings of 0 words" in printed  # no training video is sure of it
    assert "give a --dictionary, or use --source mouthing" in signspot.refused("annotate", tmp_path, "--out", out)


def test_nothing_found_is_said(signspot, folder):
    code, out, err = run(signspot, folder, "--threshold", 1)
    assert (code, out) == (0, "")
    assert "no mouthing found above the probability 1" in err
    _, _, err = run(signspot, folder, "--threshold", 0, "--word-threshold", 1, "--word", "elephant")
    assert "left out 1 peak of words that never reach 1" in err


@pytest.mark.parametrize(
    ("arguments", "reason", "expected"),
    [
        (["--word", "東京"], "has no phonemes", 2),
        (["--subtitles", "nowhere.vtt", "--model", "gone.safetensors"], "nowhere.vtt", 2),
        (["--threshold", "7"], "between 0 and 1; got 7", 2),
        (["--language", "xx"], "xx", 2),
    ],
)
def test_mistakes_are_one_line(signspot, folder, arguments, reason, expected):
    code, out, err = run(signspot, folder, *arguments)
    assert (code, out) == (expected, "")
    assert reason in err
    assert len(err.strip().splitlines()) == 1


def test_annotate_and_its_report_remark_on_lips_as_mouth_does(signspot, folder, tmp_path):
    """The same words on turned heads and covered mouths: while it runs, in the store and in the report."""
    names, footage, out = ("covered", "news", "turned-away"), tmp_path / "footage", tmp_path / "run"
    footage.mkdir()
    for name, suffix in product(names, (".pose", ".vtt")):
        shutil.copy(folder / f"{name}{suffix}", footage)

    remarks = {}
    for name in names:
        _, _, err = run(signspot, folder, "--threshold", 0, video=f"{name}.pose")
        remarks[name] = about_lips(err)
    assert [len(remarks[name]) for name in names] == [2, 0, 3]
    model = ("--source", "mouthing", "--model", folder / "m.safetensors", "--threshold", 0)
    _, err = signspot.ok("annotate", footage, "--out", out, *model)
    expected = [f"{name}: {remark}" for name in names for remark in remarks[name]]
    assert about_lips(err) == expected
    with open_store(out) as store:
        assert {video.video: video.remarks.splitlines() for video in store.videos()} == remarks
    _, _, err = signspot("annotate-report", out, "--out", tmp_path / "report")
    listed = "Videos that could not be searched, or not everywhere:\n\n" + "".join(f"* {line}\n" for line in expected)
    assert listed in (tmp_path / "report" / "yield.md").read_text()
    assert all(line in err for line in expected)


@pytest.mark.parametrize(
    ("video", "code", "reason"),
    [
        ("faceless", 1, "shows no face in 150 frames"),
        ("aside", 1, "from the side only"),
        ("turned-away", 0, "the head is turned away in 67% of the frames"),
        ("covered", 0, "a hand is before the mouth in 67% of the frames"),
        ("lonely", 2, "no subtitles beside"),
    ],
)
def test_lips_that_cannot_be_read_have_a_reason(signspot, folder, video, code, reason):
    if video == "lonely":
        shutil.copy(folder / "news.pose", folder / "lonely.pose")
    ended, _, err = run(signspot, folder, "--threshold", 0, video=f"{video}.pose")
    assert (ended, reason in err) == (code, True)


def test_lips_that_are_hidden_for_seconds_of_a_long_video_have_a_reason(signspot, folder):
    """One second in six: no share of all frames that would be worth a word, but no mouthing is found there."""
    marks = open_landmarks(folder / "news.pose")
    face = marks.face.copy()
    face[20:72] = np.nan
    write_landmarks(replace(marks, face=face), folder / "lost.pose")
    hand = marks.right_hand.copy()
    hand[80:132] = marks.face[80:132, :1]
    write_landmarks(replace(marks, face=face, right_hand=hand), folder / "twice.pose")
    for name in ("lost", "twice"):
        shutil.copy(folder / "news.vtt", folder / f"{name}.vtt")
    _, _, err = run(signspot, folder, "--threshold", 0, video="lost.pose")
    assert "the lips are hidden from 0.8 to 2.9 s: expect to miss mouthings there" in err
    _, _, err = run(signspot, folder, "--threshold", 0, video="twice.pose")
    assert "the lips are hidden from 0.8 to 2.9 s and 1 other place" in err
    _, _, err = run(signspot, folder, "--threshold", 0)
    assert "hidden" not in err


@pytest.mark.parametrize(
    ("text", "arguments", "reason"),
    [
        ("Слон идёт домой", [], "no word in letters that can be read as sounds ('слон', 'идёт', 'домой')"),
        ("Слон идёт домой", ["--language", "ru"], "no word in letters that can be read as sounds"),
        ("", [], "has no words"),
        ("I am", [], "no word that shows on lips: each has fewer than 3 mouth shapes ('i', 'am')"),
        ("Two elephants walked", ["--word", "moon"], "mentions none of the words"),
    ],
)
def test_subtitles_with_nothing_to_look_for_have_a_reason(signspot, folder, tmp_path, text, arguments, reason):
    """And no advice to lower a threshold; the video is not read for nothing."""
    (tmp_path / "s.vtt").write_text(f"WEBVTT\n\n00:01.000 --> 00:02.000\n{text}\n")
    code, out, err = run(signspot, folder, "--subtitles", tmp_path / "s.vtt", *arguments, video="faceless.pose")
    assert (code, out) == (0, "")
    assert reason in err
    assert "--threshold" not in err
    code, _, err = run(signspot, folder, "--subtitles", tmp_path / "s.vtt", *arguments, video="nowhere.pose")
    assert code == 2
    assert "there is no file" in err


def test_another_language_is_read_by_its_own_rules_and_a_wrong_one_is_doubted(signspot, folder, tmp_path):
    text = "Gestern begrüßte der Bürgermeister zahlreiche Gäste auf der Hauptstraße unserer schönen Stadt. " * 3
    (tmp_path / "de.vtt").write_text(f"WEBVTT\n\n00:01.000 --> 00:02.000\n{text}\n")
    german = ("--subtitles", tmp_path / "de.vtt", "--threshold", 0, "--json")
    code, out, err = run(signspot, folder, *german, "--language", "de", "--word", "Bürgermeister")
    assert (code, err) == (0, "")
    assert [json.loads(line)["word"] for line in out.splitlines()] == ["Bürgermeister"]
    code, out, err = run(
        signspot, folder, *german, "--word", "Bürgermeister"
    )  # a keyword of another language than asked
    assert (code, len(out.splitlines())) == (0, 1)
    assert "no English dictionary knows 'Bürgermeister': its pronunciation is guessed from the spelling" in err
    code, _, err = run(signspot, folder, *german)
    assert code == 0
    assert "of the words in these subtitles are English, and 'en' was asked for" in err
