import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from signspot.errors import FormatError
from signspot.formats.formats import read_spottings, write
from signspot.types import LabelSource, Spotting

APPLE = Spotting("apple", "news.mp4", 1.28004, 0.96004, 1.60004, 0.8312345, "apple-2")
PEAR = replace(APPLE, word="pear", video="b.mp4")


def edited(tmp_path: Path, change: Callable[[dict[str, Any]], object], *spottings: Spotting) -> list[Spotting]:
    path = tmp_path / "t.via.json"
    write(spottings or [APPLE], path)
    project = json.loads(path.read_text())
    change(project)
    path.write_text(json.dumps(project))
    return read_spottings(path)


def segment(project: dict[str, Any]) -> dict[str, Any]:
    return next(iter(project["metadata"].values()))


def test_the_project_has_what_via_needs(tmp_path: Path) -> None:
    (tmp_path / "b.mp4").touch()
    video = str(tmp_path / "b.mp4")
    write([APPLE, replace(PEAR, video=video), APPLE], tmp_path / "t.via.json")
    project = json.loads((tmp_path / "t.via.json").read_text())
    assert set(project) == {"project", "config", "attribute", "file", "metadata", "view"}
    assert project["project"]["pid"] == "__VIA_PROJECT_ID__"
    assert project["project"]["data_format_version"] == "3.1.1"
    assert project["project"]["vid_list"] == ["1", "2"] == list(project["view"])
    assert project["config"]["file"]["loc_prefix"] == {"1": "", "2": "", "3": "", "4": ""}
    assert project["file"]["1"] == {"fid": "1", "fname": "news.mp4", "type": 4, "loc": 3, "src": "news.mp4"}
    assert project["file"]["2"]["src"] == Path(video).as_uri()
    assert {attribute["anchor_id"] for attribute in project["attribute"].values()} == {"FILE1_Z2_XY0"}
    choice = project["attribute"]["2"]
    assert (choice["type"], list(choice["options"].values())) == (3, ["yes", "no", "unsure"])
    assert [entry["vid"] for entry in project["metadata"].values()] == ["1", "2", "1"]
    entry = segment(project)
    assert (entry["z"], entry["xy"], entry["flg"]) == ([0.96, 1.6], [], 0)
    assert (entry["av"]["1"], entry["av"]["2"], entry["av"]["3"]) == ("apple", "", "0.831")


def test_answers_decide(tmp_path: Path) -> None:
    def answer(value: str) -> list[Spotting]:
        return edited(tmp_path, lambda project: segment(project)["av"].update({"2": value}))

    assert answer("yes") == [replace(APPLE, source=LabelSource.VERIFIED, decision="yes")]
    assert answer("no") == [replace(APPLE, source=LabelSource.VERIFIED, decision="no")]
    assert answer("unsure") == [replace(APPLE, decision="unsure")]
    assert answer("") == [APPLE]


def test_a_withdrawn_answer_leaves_the_spotting_to_the_machine(tmp_path: Path) -> None:
    denied = replace(APPLE, source=LabelSource.VERIFIED, decision="no")

    def withdraw(project: dict[str, Any]) -> None:
        answers = segment(project)["av"]
        assert answers["2"] == "no"
        answers["2"] = ""

    assert edited(tmp_path, withdraw, denied) == [APPLE]


def test_edits_win(tmp_path: Path) -> None:
    moved = edited(tmp_path, lambda project: segment(project).update(z=[0.96, 1.75]))
    assert moved == [replace(APPLE, end=1.75)]
    (renamed,) = edited(tmp_path, lambda project: segment(project)["av"].update({"1": "plum"}))
    assert (renamed.word, renamed.start, renamed.score, renamed.exemplar) == ("plum", 0.96004, 1.0, "")


def test_segments_that_a_person_adds_come_last_with_their_video(tmp_path: Path) -> None:
    added = {"vid": "2", "flg": 0, "z": [0.1, 0.3], "xy": [], "av": {"1": "new"}}
    region = {"vid": "2", "flg": 0, "z": [0.1], "xy": [2, 0, 0, 1, 1], "av": {"1": "box"}}
    spottings = edited(tmp_path, lambda p: p["metadata"].update({"2_x": added, "2_y": region}), APPLE, PEAR)
    assert spottings == [APPLE, PEAR, Spotting("new", "b.mp4", 0.2, 0.1, 0.3, 1.0, source=LabelSource.VERIFIED)]


def test_a_foreign_project_names_words_by_its_options(tmp_path: Path) -> None:
    project = {
        "project": {"pid": "x", "vid_list": ["1"]},
        "attribute": {
            "1": {"aname": "box", "anchor_id": "FILE1_Z1_XY1", "type": 1, "options": {}},
            "2": {"aname": "sign", "anchor_id": "FILE1_Z2_XY0", "type": 4, "options": {"0": "apple", "1": "pear"}},
        },
        "file": {"1": {"fid": 1, "fname": "v.mp4", "type": 4, "loc": 1, "src": ""}},
        "metadata": {"1_a": {"vid": "1", "z": [1, 2], "xy": [], "av": {"2": "1"}}},
        "view": {"1": {"fid_list": [1]}},
    }
    (tmp_path / "x.via.json").write_text(json.dumps(project))
    assert read_spottings(tmp_path / "x.via.json") == [
        Spotting("pear", "v.mp4", 1.5, 1.0, 2.0, 1.0, source=LabelSource.VERIFIED)
    ]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda project: project.pop("metadata"), "it has no 'project' and 'metadata'"),
        (lambda project: segment(project).update(z=["a", "b"]), "must be a finite number; got 'a'"),
        (lambda project: segment(project).update(z=[2, 1]), "it ends at 1 s, before it starts at 2 s"),
        (lambda project: project.update(attribute=[]), "not a VIA 3 project that can be read"),
    ],
)
def test_a_broken_project_is_reported(change: Callable[[dict[str, Any]], object], message: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=message):
        edited(tmp_path, change)
