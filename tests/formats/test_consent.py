"""Licence and consent travel: from a table into a dictionary, a corpus, a spotting, and every format."""

import json
from contextlib import ExitStack
from pathlib import Path

import pytest
from typer.testing import CliRunner

from signspot.cli.app import app
from signspot.corpus.corpus import FORMAT, VERSION, open_corpus, video_as_json
from signspot.corpus.labels import read_labels
from signspot.dictionary.build import build_dictionary
from signspot.dictionary.open_dictionary import open_dictionary
from signspot.formats.formats import FORMATS, read_spottings, write
from signspot.types import Label, Spotting
from tests.cli.test_forget import pose
from tools.attack.commands import prepare_annotation


def test_from_a_table_into_a_dictionary(tmp_path: Path) -> None:
    pose(tmp_path / "apple.pose", 1)
    (tmp_path / "t.csv").write_text("file,word,signer,licence,consent\napple.pose,apple,Ann,CC BY 4.0,research only\n")
    build_dictionary(tmp_path / "t.csv", tmp_path / "built")
    (exemplar,) = open_dictionary(tmp_path / "built").exemplars
    assert (exemplar.licence, exemplar.consent) == ("CC BY 4.0", "research only")


def test_of_a_corpus(tmp_path: Path) -> None:
    pose(tmp_path / "a.pose", 1)
    entry = {"id": "a", "landmarks": "a.pose", "signer": "Ann", "licence": "CC BY 4.0", "consent": "until 2030"}
    (tmp_path / "corpus.json").write_text(json.dumps({"format": FORMAT, "version": VERSION, "videos": [entry]}))
    (video,) = open_corpus(tmp_path).videos.values()
    assert (video.licence, video.consent) == ("CC BY 4.0", "until 2030")
    assert video_as_json(video, tmp_path) == entry


@pytest.mark.parametrize("suffix", [entry.suffix for entry in FORMATS])
def test_through_every_format(suffix: str, tmp_path: Path) -> None:
    of_exemplar = {"licence": "CC BY 4.0", "consent": "=research"}
    of_video = {"video_licence": "archive", "video_consent": "broadcast"}
    spotting = Spotting("apple", "v.mp4", 1.0, 0.5, 1.5, 0.9, "apple-1", **of_exemplar, **of_video)  # type: ignore[arg-type]
    (written,) = write([spotting], tmp_path / f"s{suffix}")
    (back,) = read_spottings(written)
    assert {name: getattr(back, name) for name in (*of_exemplar, *of_video)} == {**of_exemplar, **of_video}


def test_from_dictionary_and_corpus_through_an_annotation_run_into_spottings_and_labels(tmp_path: Path) -> None:
    with ExitStack() as stack:
        prepare_annotation(tmp_path, stack)
    corpus = tmp_path / "corpus"
    for path, entries in (("corpus.json", "videos"), ("dictionary/dictionary.json", "words")):
        data = json.loads((corpus / path).read_text())
        listed = data[entries] if entries == "videos" else [e for w in data["words"].values() for e in w["exemplars"]]
        for entry in listed:
            entry |= {"licence": f"licence of {entries}", "consent": f"consent of {entries}"}
        (corpus / path).write_text(json.dumps(data))
    out, table, labels = tmp_path / "run", tmp_path / "s.csv", tmp_path / "labels" / "l.jsonl"
    labels.parent.mkdir()
    encoder, engine = ["--encoder", str(tmp_path / "encoder.safetensors")], ["--workers", "1", "--threshold", "0.5"]
    outputs = ["--export", str(table), "--labels", str(labels), "--cache", str(tmp_path / "cache")]
    command = ["annotate", str(corpus), "--dictionary", str(corpus / "dictionary"), "--out", str(out)]
    result = CliRunner().invoke(app, [*command, *encoder, *engine, *outputs])
    assert result.exit_code == 0, result.output
    expected = ("licence of words", "consent of words", "licence of videos", "consent of videos")
    read: list[Spotting | Label] = [*read_spottings(table), *read_labels(labels.parent, open_corpus(corpus).videos)]
    assert len(read) > 2
    assert {(row.licence, row.consent, row.video_licence, row.video_consent) for row in read} == {expected}
