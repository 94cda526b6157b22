"""Published corpora of isolated signs as dictionaries: words, variants, signers and licences."""

import json
from pathlib import Path

import numpy as np
import pytest

from signspot.corpus.public_corpora import CITIZEN_LICENCE, LSA64_LICENCE, LSA64_WORDS, WLASL_LICENCE, read_published
from signspot.errors import DictionaryError
from signspot.types import Segment
from signspot.video.writer import write_video


def test_lsa64_has_its_words_signers_and_licence(tmp_path: Path) -> None:
    for name in ("001_001_001.mp4", "001_001_002.mp4", "002_001_001.mp4", "008_001_001.mp4", "064_010_005.mp4"):
        (tmp_path / "all").mkdir(exist_ok=True)
        (tmp_path / "all" / name).write_bytes(b"")
    contents = read_published(tmp_path)
    assert contents is not None
    assert [(e.word, e.id, e.signer, e.variant) for e in contents.exemplars] == [
        ("opaque", "all/001_001_001", "LSA64 signer 1", ""),
        ("opaque", "all/001_001_002", "LSA64 signer 1", ""),
        ("red", "all/002_001_001", "LSA64 signer 1", ""),
        ("pink", "all/008_001_001", "LSA64 signer 1", ""),
        ("find", "all/064_010_005", "LSA64 signer 10", ""),
    ]
    assert {e.licence for e in contents.exemplars} == {LSA64_LICENCE}
    assert len(set(LSA64_WORDS)) == 64


def test_wlasl_has_its_variants_and_where_the_sign_is(tmp_path: Path) -> None:
    (tmp_path / "videos").mkdir()
    for name in ("00001", "00002"):
        images = (np.full((32, 32, 3), 99, np.uint8) for _ in range(50))
        write_video(tmp_path / "videos" / f"{name}.mp4", images, 25.0)
    uncut = {"video_id": "00001", "frame_start": 11, "frame_end": 30, "fps": 25, "signer_id": 7, "variation_id": 2}
    cut = {"video_id": "00002", "frame_start": 500, "frame_end": 550, "fps": 25, "source": "a site"}
    entries = [{"gloss": "book", "instances": [uncut, cut, {"video_id": "00003"}]}]
    (tmp_path / "WLASL_v0.3.json").write_text(json.dumps(entries))
    contents = read_published(tmp_path)
    assert contents is not None
    one, two = contents.exemplars
    assert (one.word, one.id, one.signer, one.variant, one.licence) == (
        *("book", "00001", "WLASL signer 7", "2"),
        WLASL_LICENCE,
    )
    assert (one.segment, two.segment, two.source) == (Segment(0.4, 1.2), None, "WLASL, a site")
    assert [problem.path.name for problem in contents.problems] == ["00003.mp4"]


def test_asl_citizen_is_read_by_its_lists_not_by_file_names(tmp_path: Path) -> None:
    (tmp_path / "videos").mkdir()
    (tmp_path / "splits").mkdir()
    for name in ("1-REMEMBER.mp4", "2-DOG.mp4"):
        (tmp_path / "videos" / name).write_bytes(b"")
    header = "Participant ID,Video file,Gloss,ASL-LEX Code\n"
    (tmp_path / "splits" / "train.csv").write_text(header + "P1,1-REMEMBER.mp4,REMEMBER2,C_02_014\nP1,9.mp4,CAT,x\n")
    (tmp_path / "splits" / "test.csv").write_text(header + "P2,2-DOG.mp4,DOG,D_01_001\n")
    contents = read_published(tmp_path)
    assert contents is not None
    assert [(e.word, e.variant, e.signer, e.licence) for e in contents.exemplars] == [
        ("REMEMBER", "REMEMBER2", "ASL Citizen P1", CITIZEN_LICENCE),
        ("DOG", "", "ASL Citizen P2", CITIZEN_LICENCE),
    ]
    assert [problem.path.name for problem in contents.problems] == ["9.mp4"]


def test_glosses_of_one_lemma_in_a_signbank_are_its_variants(tmp_path: Path) -> None:
    (tmp_path / "glossvideo").mkdir()
    for name in ("TREE-A-101.mp4", "102.mp4"):
        (tmp_path / "glossvideo" / name).write_bytes(b"")
    columns = "Signbank ID,Dataset,Lemma ID Gloss: English,Annotation ID Gloss: Dutch,Annotation ID Gloss: English\n"
    rows = "101,NGT,TREE,BOOM-A,TREE-A\n102,NGT,TREE,BOOM-B,TREE-B\n103,NGT,SEA,ZEE,SEA\n"
    (tmp_path / "export.csv").write_text(columns + rows)
    contents = read_published(tmp_path)
    assert contents is not None
    assert [(e.word, e.variant, e.source, e.path and e.path.name) for e in contents.exemplars] == [
        ("TREE", "TREE-A", "NGT", "TREE-A-101.mp4"),
        ("TREE", "TREE-B", "NGT", "102.mp4"),
    ]
    assert len(contents.problems) == 1


def test_a_list_without_videos_and_other_folders(tmp_path: Path) -> None:
    (tmp_path / "apple.mp4").write_bytes(b"")
    assert read_published(tmp_path) is None
    assert read_published(tmp_path / "apple.mp4") is None
    (tmp_path / "train.csv").write_text("Participant ID,Video file,Gloss\nP1,1.mp4,DOG\n")
    with pytest.raises(DictionaryError, match=r"1\.mp4"):
        read_published(tmp_path)
