"""Real continuous signing: corpora made of a data folder of the same form, filled with synthetic signs."""

import json
from pathlib import Path

import numpy as np
import pytest

from experiments.lsp import corpora
from experiments.lsp.__main__ import main
from experiments.lsp.adapting import AdaptationRun, footage_of
from experiments.lsp.measures import difference, join_clips, measure_confirmed
from signspot.corpus.corpus import open_corpus
from signspot.corpus.isolated import IsolatedClip
from signspot.landmarks.landmarks import Landmarks
from signspot.landmarks.pose_file import open_landmarks
from signspot.spotting.spotter import load
from signspot.subtitles.reading import read_subtitles
from signspot.types import Segment
from signspot_synthetic.isolated_signs import isolated_clips

GLOSSES = ("Niño", "acción", "mamá", "ver", "casa", "plato")
SENTENCES = ((0, 1, 2), (3, 4, 5), (0, 2, 4), (1, 3, 5), (2, 5, 0))  # the last two are for tests


def played(clip: IsolatedClip) -> Landmarks:
    """The sign alone, in 25 frames."""
    return clip.landmarks.at(clip.landmarks.duration * np.linspace(0.28, 0.68, 25))


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    clips = {(clip.word, clip.signer): clip for clip in isolated_clips(len(GLOSSES), 3, 1)}
    words = sorted({word for word, _ in clips})
    signs = {signer: [played(clips[word, signer]) for word in words] for signer in ("0", "1", "2")}
    write_alegria(folder, signs["0"])
    write_proteinas(folder, signs["1"])
    write_dictionary(folder, signs["2"])
    return folder


def write_alegria(folder: Path, signs: list[Landmarks]) -> None:
    parts = {name: [] for name in ("pose", "left_hand", "right_hand", "face")}
    starts, truth = [0], {}
    for number, sentence in enumerate(SENTENCES):
        joined = [signs[index] for index in sentence]
        for name, field in zip(parts, ("body", "left_hand", "right_hand", "face"), strict=True):
            parts[name] += [getattr(sign, field) for sign in joined]
        edges = np.cumsum([0, *(len(sign) for sign in joined)]) / 25
        rows = [[GLOSSES[g], *edges[n : n + 2].tolist(), False] for n, g in enumerate(sentence)]
        truth[str(number)] = {"signs": [*rows, ["descanso", 0.0, 0.2, False], ["ver", 0.0, 0.1, True]]}
        starts.append(starts[-1] + sum(len(sign) for sign in joined))
    arrays = {name: np.concatenate(pieces) for name, pieces in parts.items()}
    lengths = np.diff(starts)
    times = np.concatenate([np.arange(length) / 25 for length in lengths])
    names = np.array([str(number) for number in range(len(SENTENCES))])
    np.savez(folder / "ira_alegria.npz", start=starts, time=times, clip=names, size=(640, 480), **arrays)
    (folder / "ira_alegria.truth.json").write_text(json.dumps(truth), encoding="utf-8")


def write_proteinas(folder: Path, signs: list[Landmarks]) -> None:
    starts = np.cumsum([0, *(len(sign) for sign in signs)])
    arrays = {
        "pose": np.concatenate([sign.body[..., :2] for sign in signs]),
        "left_hand": np.concatenate([sign.left_hand[..., :2] for sign in signs]),
        "right_hand": np.concatenate([sign.right_hand[..., :2] for sign in signs]),
    }
    seconds = starts / corpora.FPS + 30
    times = {"start_s": seconds[:-1], "end_s": seconds[1:]}
    np.savez(folder / "proteinas_instances.npz", gloss=np.array(GLOSSES), start=starts, **times, **arrays)
    edges = starts / corpora.FPS
    rows = [
        {"gloss": gloss, "start_s": edges[n], "end_s": edges[n + 1], "src_start_s": seconds[n] + 0.004}
        for n, gloss in enumerate(GLOSSES)
    ]
    runs = {"run_0": {"signs": rows[:3]}, "run_1": {"signs": rows[3:]}}
    (folder / "proteinas_runs.truth.json").write_text(json.dumps(runs), encoding="utf-8")


def write_dictionary(folder: Path, signs: list[Landmarks]) -> None:
    (folder / "dictionary").mkdir()
    truth = {}
    for name, kind, sign in (
        ("VER_1", "isolated", signs[3]),
        ("OTRO_1", "isolated", signs[0]),
        ("S_1", "sentence", signs[4]),
    ):
        arrays = {"pose": sign.body, "left_hand": sign.left_hand, "right_hand": sign.right_hand}
        np.savez(folder / "dictionary" / f"{name}.npz", fps=25.0, aspect=1.0, **arrays)
        span = {"start_s": 0.2, "end_s": 0.8}
        truth[name] = {"kind": kind, "signs": [{"gloss": name.partition("_")[0], **span}]}
    (folder / "dictionary" / "truth.json").write_text(json.dumps(truth), encoding="utf-8")


@pytest.fixture(scope="module")
def folder(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("made")
    main(["make", str(data), str(out)])
    return out


@pytest.mark.parametrize(
    ("gloss", "word"),
    [("Niño", "niño"), ("acción", "accion"), ("BIEN", "bien"), ("P-A-T", None), ("Seña gestual", None), ("NN", None)],
)
def test_words_of_glosses(gloss: str, word: str | None) -> None:
    assert corpora.word_of(gloss) == word


def test_the_corpora_have_the_products_form(folder: Path) -> None:
    corpus = open_corpus(folder / "ira_alegria")
    assert [video.split for video in corpus.videos.values()] == ["train"] * 3 + ["test"] * 2
    signs = corpus.signs("alegria-000")
    assert [sign.word for sign in signs] == ["niño", "accion", "mama"]  # no filler, none that the border cuts
    assert (signs[1].start, signs[1].end) == (1.0, 2.0)
    subtitles = corpus.videos["alegria-000"].subtitles
    assert subtitles is not None
    (cue,) = read_subtitles(subtitles)
    assert (cue.text, cue.start, cue.end) == ("niño accion mama", 0.0, 3.0)
    dictionary = corpus.dictionary()
    assert sorted(dictionary) == sorted({"niño", "accion", "mama", "ver", "casa", "plato"})
    assert sorted(e.path.stem for e in dictionary["ver"] if e.path) == ["proteinas-1", "pucp-1"]
    assert [e.path.stem for e in dictionary["casa"] if e.path] == ["proteinas-1"]  # sentences lend no exemplars
    (pucp,) = (e.path for e in dictionary["ver"] if e.path and e.path.stem == "pucp-1")
    assert len(open_landmarks(pucp)) == 15  # the sign alone, by its timings
    other = open_corpus(folder / "proteinas")
    assert len(other.videos) == 2
    assert {e.path.stem.partition("-")[0] for videos in other.dictionary().values() for e in videos if e.path} == {
        "alegria",
        "pucp",
    }


def test_a_clip_lends_no_exemplar_to_its_own_part(folder: Path) -> None:
    test = corpora.part_of(open_corpus(folder / "same_signer"), "test")
    sources = {
        e.path.stem.rpartition("-")[0] for videos in corpora.exemplars_for(test).values() for e in videos if e.path
    }
    assert sources == {"alegria-000", "alegria-001", "alegria-002"}


def test_clips_are_joined_with_their_signs(folder: Path) -> None:
    test = corpora.part_of(open_corpus(folder / "ira_alegria"), "test")
    programme, signs = join_clips(test)
    assert len(programme) == 150
    assert [(sign.word, sign.segment) for sign in signs[3:4]] == [("mama", Segment(3.0, 4.0))]


def test_measuring_prints_a_row_for_each_encoder_and_number_of_exemplars(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["measure", str(folder / "ira_alegria"), "--part", "test", "--encoder", "warping", "--exemplars", "1", "2"])
    rows = [line.strip("| ").split(" | ") for line in capsys.readouterr().out.splitlines()]
    assert [row[:4] for row in rows[2:]] == [["warping", "1", "6", "6"], ["warping", "2", "6", "6"]]
    right, chance = float(rows[2][4].split()[0]), float(rows[2][5])
    assert right > chance  # the same synthetic signs by another signer
    assert all(len(row) == len(rows[0]) for row in rows[2:])


def test_decisions_count_signs_that_are_found_twice(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["decide", str(folder / "ira_alegria"), "--part", "test", "--encoder", "warping", "--exemplars", "1"])
    rows = [line.strip("| ").split(" | ") for line in capsys.readouterr().out.splitlines()]
    numbers = {row[1]: int(row[2]) for row in rows[2:]}
    twice = {row[1]: [int(count) for count in row[-1].split(" of ")] for row in rows[2:]}
    least = next(name for name in numbers if name.startswith("score from") and "," not in name)
    assert numbers[f"{least}, every maximum"] >= numbers[least]
    assert twice["at most 60 false alarms/h/word"][1] > 0
    assert all(often <= once <= 6 for often, once in twice.values())
    levels = ("sure", "likely", "check")
    assert sum(numbers[name] for name in levels) == numbers["default"]


def test_differences_are_paired_by_word() -> None:
    gain = difference({"a": [1.0, 1.0], "b": [0.0]}, {"a": [1.0, 0.0], "b": [0.0]})
    assert (gain.value, gain.low, gain.high) == (0.25, 0.0, 0.5)


def test_further_exemplars_of_the_signer_come_from_earlier_clips(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In five clips every word is signed twice or three times: the first one is confirmed, the others are asked for."""
    monkeypatch.setattr("experiments.lsp.measures.CONFIRMED", (0, 1))
    corpus = open_corpus(folder / "ira_alegria")
    rows = list(measure_confirmed(load("warping"), corpus, corpora.exemplars_for(corpus)))
    _, none, confirmed, unconfirmed = ([cell.strip() for cell in row.strip("|").split("|")] for row in rows)
    assert (none[1], confirmed[1], unconfirmed[1]) == ("none", "1 confirmed", "1 found, unconfirmed")
    assert (none[2], confirmed[2], none[3], none[5]) == ("–", "1.00", "6", "–")
    assert 0 <= float(unconfirmed[2]) <= 1
    assert float(confirmed[4].split()[0]) == 1  # the very same performance


def test_what_is_learned_from_is_chosen(folder: Path, tmp_path: Path) -> None:
    train = corpora.part_of(open_corpus(folder / "ira_alegria"), "dev")
    plain = footage_of(train, AdaptationRun(""), tmp_path / "plain")
    assert list(plain.videos) == list(train.videos)
    assert plain.labels() == []
    labelled = footage_of(train, AdaptationRun("", labelled=True), tmp_path / "told")
    signs = [(sign.video, sign.word, sign.start, sign.end) for name in train.videos for sign in train.signs(name)]
    assert [(label.video, label.word, label.start, label.end) for label in labelled.labels()] == signs
    mixed = footage_of(train, AdaptationRun("", permuted=True), tmp_path / "mixed")
    texts = [[video.subtitles for video in corpus.videos.values()] for corpus in (train, mixed)]
    assert texts[0] != texts[1]
    assert sorted(map(str, texts[0])) == sorted(map(str, texts[1]))


def test_a_page_gets_its_tables_anew(folder: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    command = (
        "```\npython -m experiments.lsp measure lsp/ira_alegria --part test --encoder warping --exemplars 1\n```\n\n"
    )
    page.write_text(
        f"# Page\n\n{command}| old |\n|---|\n| 1 |\n\nMore.\n\n{command.replace('ira_alegria', 'proteinas')}End.\n"
    )
    main(["page", str(folder), "--page", str(page)])
    before, first, second = page.read_text().split("```\npython")
    assert before == "# Page\n\n"
    rows = [line.split(" | ")[0] for line in first.splitlines() if line.startswith("|")]
    assert [rows[0], rows[-1], len(rows)] == ["| encoder", "| warping", 3]
    assert "old" not in first
    assert first.endswith("|\n\nMore.\n\n")
    assert second.endswith("|\nEnd.\n")


def test_lips_are_asked_for_every_word_of_a_clip(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["mouth", str(folder / "ira_alegria"), "--part", "test", "--model", "mouthing-synthetic"])
    row = capsys.readouterr().out.splitlines()[-1].strip("| ").split(" | ")
    assert row[1:3] == ["5", "6"]  # one word is in both clips
    assert 0.1 < float(row[-1]) < 1  # chance


def test_labels_around_subtitles_are_counted_against_truth(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["annotate", str(folder / "same_signer"), "--part", "test", "--encoder", "warping"])
    rows = [line.strip("| ").split(" | ") for line in capsys.readouterr().out.splitlines()[2:]]
    assert [row[1] for row in rows[::2]] == ["apart", "one programme", "one programme, permuted"]
    for row in rows[::2]:  # all labels, whatever their score
        labels, right, share = int(row[3]), float(row[4].split()[0]), float(row[5])
        assert labels > 0
        assert share == pytest.approx(labels * right / 6, abs=0.01)


def test_embeddings_are_learned_by_every_loss_from_labels_of_both_kinds(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("experiments.lsp.adapting.FEW", 2)
    main(["embed", str(folder / "same_signer"), "--encoder", "landmark-synthetic"])
    rows = [line.strip("| ").split(" | ") for line in capsys.readouterr().out.splitlines()[2:]]
    untrained, *learned = rows
    assert untrained[3:5] == ["its own embedding", "6"]
    assert [(row[1], row[3]) for row in learned[::3]] == [
        ("found by subtitles", "Watch-Lookup"),
        ("every fifth sign", "Watch-Lookup"),
    ]
    assert [int(row[2]) for row in learned[3:]] == [5, 5, 5]  # of nine signs of the training part
    assert len({row[5] for row in rows}) > 1


def test_a_ceiling_is_that_of_the_best_exemplar(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Signs of the synthetic corpora look alike by all signers: every word resembles its exemplars."""
    main(["ceiling", str(folder / "ira_alegria"), "--encoder", "warping"])
    heads, _, row = (line.strip("| ").split(" | ") for line in capsys.readouterr().out.splitlines())
    measured = dict(zip(heads, row, strict=True))
    one, together, any_of_them, others = (float(measured[head].split()[0]) for head in heads[2:6])
    assert int(measured["words"]) == len(GLOSSES)
    assert one <= any_of_them
    assert together == any_of_them == 1
    assert others < 1
    assert float(measured["words that resemble no exemplar"]) == 0
