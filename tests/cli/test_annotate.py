"""`signspot annotate`, as a user calls it."""

import shutil
from pathlib import Path

import pytest

from signspot.corpus.truth import read_records
from signspot.formats.formats import read_spottings
from signspot.types import Label, LabelSource
from tests.cli.conftest import Cli


@pytest.fixture
def footage(inputs: Path, tmp_path: Path) -> Path:
    """One subtitled video."""
    folder = tmp_path / "footage"
    folder.mkdir()
    shutil.copy(inputs / "footage.pose", folder / "monday.pose")
    text = "1\n00:00:00,500 --> 00:00:02,000\nTwo apples.\n\n2\n00:00:02,000 --> 00:00:03,000\nMy friend's name\n"
    (folder / "monday.srt").write_text(text)
    return folder


def test_from_footage_to_labels(signspot: Cli, inputs: Path, footage: Path, tmp_path: Path) -> None:
    table, labels = tmp_path / "labels.csv", tmp_path / "labels" / "D.jsonl"
    common: tuple[object, ...] = ("annotate", footage, "--dictionary", inputs / "signs", "--out", tmp_path / "run")
    common += ("--encoder", inputs / "encoder.safetensors", "--threshold", 0.6, "--keep", 0.5)
    out, _ = signspot.ok(*common, "--export", table, "--labels", labels)
    assert out.startswith("1 video with subtitles: 1 annotated, 0 unchanged, 0 failed\n")
    spottings = read_spottings(table)
    assert f"{len(spottings)} spottings of 3 words with a score of 0.6 or more" in out
    assert {record.word for record in spottings} == {"apple", "friend", "name"}
    assert {Path(record.video).name for record in spottings} == {"monday.pose"}
    assert {record.source for record in spottings} == {LabelSource.DICTIONARY}
    taught = list(read_records(Label, labels))
    assert {record.video for record in taught} == {"monday"}
    assert all(record.start is not None for record in taught)
    assert [(record.word, record.time) for record in taught] == [(record.word, record.time) for record in spottings]
    assert [record.confidence for record in taught] == pytest.approx([record.score for record in spottings], abs=1e-4)
    assert {record.source for record in taught} == {LabelSource.DICTIONARY}

    (footage / "tuesday.pose").write_bytes(b"damaged")
    shutil.copy(footage / "monday.srt", footage / "tuesday.srt")
    (footage / "wednesday.srt").write_text("")
    code, out, err = signspot(*common)
    assert code == 3
    assert out.startswith("2 videos with subtitles: 0 annotated, 1 unchanged, 1 failed\n")
    assert "signspot: wednesday.srt: there is no video of this name beside it; left out\n" in err
    assert err.splitlines()[-1].startswith("failed: tuesday: ")
    assert "tuesday.pose" in err.splitlines()[-1]

    err = signspot.refused(*common, "--padding", 0)
    assert err.splitlines()[-1].startswith("signspot: ")
    assert "was made with padding 4.0, not 0.0" in err


@pytest.mark.parametrize(
    ("options", "ends", "message"),
    [
        (("--export", "labels.docx"), 2, "unknown format '.docx'"),
        (("--address", "127.0.0.1:6379"), 2, "--address (127.0.0.1:6379) needs --engine ray"),
        (("--workers", 0), 2, "workers must be at least 1; got 0"),
        (("--words-from", "nowhere.txt"), 2, "not a list of words: cannot read nowhere.txt"),
        (("--threshold", 7), 2, "threshold is a score in [0, 1]; got 7"),
        (("--padding", -1), 2, "padding must be at least 0; got -1"),
        (("--words", "aple"), 1, "no word 'aple' in this dictionary (3 words). Did you mean 'apple'?"),
        (("--language", "tlh"), 2, "no lemmas for the language 'tlh'"),
        (("--database", "mysql://host/name"), 1, "no store in 'mysql' databases"),
    ],
)
def test_mistakes_are_reported_in_one_line(
    signspot: Cli, inputs: Path, footage: Path, tmp_path: Path, options: tuple[object, ...], ends: int, message: str
) -> None:
    where = ("--dictionary", inputs / "signs", "--out", tmp_path / "run")
    encoder = ("--encoder", inputs / "encoder.safetensors")
    assert message in signspot.mistake("annotate", footage, *where, *encoder, *options, ends=ends)


def test_every_video_gets_a_document_that_links_to_it(
    signspot: Cli, inputs: Path, footage: Path, tmp_path: Path
) -> None:
    """Equal names in two folders do not collide, in tables neither; videos keep their suffix."""
    for day in ("mon", "tue"):
        (footage / day).mkdir()
        for suffix in (".pose", ".srt"):
            shutil.copy(footage / f"monday{suffix}", footage / day / f"a{suffix}")
    for suffix in (".pose", ".srt"):
        (footage / f"monday{suffix}").unlink()
    table, document = tmp_path / "out" / "all.csv", tmp_path / "out" / "x.eaf"
    common: tuple[object, ...] = ("annotate", footage, "--dictionary", inputs / "signs", "--out", tmp_path / "run")
    common += ("--encoder", inputs / "encoder.safetensors", "--threshold", 0.6, "--keep", 0.5)
    signspot.ok(*common, "--export", table, "--export", document)
    videos = {(footage / day / "a.pose").resolve() for day in ("mon", "tue")}
    assert {Path(spotting.video).resolve() for spotting in read_spottings(table)} == videos
    documents = sorted(document.parent.glob("*.eaf"))
    assert len(documents) == 2
    linked = [{Path(spotting.video).resolve() for spotting in read_spottings(path)} for path in documents]
    assert sorted(map(len, linked)) == [1, 1]
    assert set.union(*linked) == videos
