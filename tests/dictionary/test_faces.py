"""Signers told apart by their faces, and named."""

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from signspot.dictionary.dictionary import Dictionary
from signspot.dictionary.faces import FaceDescriber, identify_signers, name_groups
from signspot.dictionary.open_dictionary import open_dictionary
from signspot.errors import MissingExtraError
from signspot.types import Exemplar
from signspot.video.writer import write_video

installed = all(importlib.util.find_spec(name) for name in ("dlib", "face_recognition_models"))


class TestNames:
    def test_a_group_takes_the_name_that_most_of_it_have(self) -> None:
        names = {"a": "Anna", "b": "", "c": "Anna", "d": "Bert", "e": ""}
        assert name_groups(names, dict.fromkeys("abcd", 0) | {"e": 1}) == dict.fromkeys("abcd", "Anna") | {
            "e": "signer 1"
        }

    def test_the_most_frequent_is_the_first(self) -> None:
        assert name_groups({}, {"a": 4, "b": 7, "c": 7}) == {"a": "signer 2", "b": "signer 1", "c": "signer 1"}


class KnownFaces(FaceDescriber):
    """Faces by file name, so that all but the looking can be tested without the extra."""

    def __init__(self, faces: dict[str, Any]):
        self.faces = faces

    def describe_video(self, path: Path) -> Any:
        return self.faces[path.name]


def test_unknown_signers_are_named_and_known_ones_kept(put: Any) -> None:
    folder = put("a.mp4", "b.mp4", "c.mp4", "d.mp4", "e.mp4", "f.pose")
    put("list.csv", content=b"file,word,signer\na.mp4,a,Anna\nb.mp4,b,\nc.mp4,c,\nd.mp4,d,\ne.mp4,e,\nf.pose,f,\n")
    rng = np.random.default_rng(0)
    anna, other = np.zeros(128), np.full(128, 0.1)
    faces = {"a.mp4": anna, "b.mp4": anna + rng.normal(size=128) * 0.01, "c.mp4": other, "d.mp4": other, "e.mp4": None}
    named = identify_signers(open_dictionary(folder), describer=KnownFaces(faces))
    assert [e.signer for e in named.exemplars] == ["Anna", "Anna", "signer 1", "signer 1", "", ""]
    assert [problem.path.name for problem in named.problems] == ["e.mp4"]


def test_no_videos_at_all() -> None:
    only = Dictionary([Exemplar("a", "a")])
    assert identify_signers(only, describer=KnownFaces({})).exemplars == only.exemplars


@pytest.mark.skipif(installed, reason="the extra is installed")
def test_without_the_extra() -> None:
    with pytest.raises(MissingExtraError, match=r"pip install 'signspot\[signers\]'"):
        identify_signers(Dictionary([]))


@pytest.mark.skipif(not installed, reason="needs the extra 'signers'")
def test_a_real_face(tmp_path: Path) -> None:
    """The portrait that comes with matplotlib, from further away and in other light: the same person."""
    import cv2
    import matplotlib.cbook

    with matplotlib.cbook.get_sample_data("grace_hopper.jpg") as file:
        data = np.frombuffer(file.read(), np.uint8)
    face = np.ascontiguousarray(cv2.imdecode(data, cv2.IMREAD_COLOR)[..., ::-1])
    far = np.pad(face[::2, ::2], ((60, 60), (90, 90), (0, 0)))
    dark = (face[::2, ::2] * 0.6).astype(np.uint8)
    for name, image in {"near": face, "far": far, "dark": dark, "nobody": np.full_like(far, 90)}.items():
        write_video(tmp_path / f"{name}.mp4", [image] * 10, 25.0)
    named = identify_signers(open_dictionary(tmp_path))
    assert {e.word: e.signer for e in named.exemplars} == {
        "near": "signer 1",
        "far": "signer 1",
        "dark": "signer 1",
        "nobody": "",
    }
    describer = FaceDescriber()
    one, other = (describer.describe_video(tmp_path / f"{name}.mp4") for name in ("near", "far"))
    assert one is not None
    assert other is not None
    assert np.linalg.norm(one - other) < 0.4
    assert one.shape == (128,)
