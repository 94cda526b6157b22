"""Licence and consent travel: from a table into a dictionary, a corpus, a spotting, and every format."""

import json
from pathlib import Path

import pytest

from signspot.corpus.corpus import FORMAT, VERSION, open_corpus, video_as_json
from signspot.dictionary.build import build_dictionary
from signspot.dictionary.opening import open_dictionary
from signspot.formats.formats import FORMATS, read_spottings, write
from signspot.records import Spotting
from tests.privacy.test_forgetting import pose


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


@pytest.mark.parametrize("suffix", [each.suffix for each in FORMATS])
def test_through_every_format(suffix: str, tmp_path: Path) -> None:
    spotting = Spotting("apple", "v.mp4", 1.0, 0.5, 1.5, 0.9, "apple-1", licence="CC BY 4.0", consent="=research")
    (written,) = write([spotting], tmp_path / f"s{suffix}")
    (back,) = read_spottings(written)
    assert (back.licence, back.consent) == ("CC BY 4.0", "=research")
