"""Corpora in which nothing can be learnt, each for another reason: a line that says why, and nothing half made."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from signspot.applications.learn import LearnOptions, Loop, LoopResult
from signspot.corpus.corpus import Corpus
from signspot.corpus.truth import read_splits
from signspot.errors import DictionaryError, NothingToLearnError, OptionsError
from signspot.landmarks.pose_file import open_landmarks, write_landmarks
from tests.fixtures.annotation import HereEngine
from tests.fixtures.corpora import TINY
from tests.fixtures.opened import counting


@pytest.fixture
def footage(tiny_corpus: Corpus, tmp_path: Path) -> Path:
    """A folder as people have them: videos and subtitles, no dictionary, no truth, no splits."""
    shutil.copytree(tiny_corpus.folder / "videos", tmp_path / "footage")
    return tmp_path / "footage"


@pytest.fixture
def labelled(footage: Path, tiny_corpus: Corpus) -> Path:
    """The same with labels M."""
    shutil.copytree(tiny_corpus.folder / "labels", footage / "labels")
    return footage


@pytest.fixture
def learn(tiny_corpus: Corpus, encoder_file: Path, tmp_path: Path) -> Callable[..., LoopResult]:
    """The loop with an encoder that knows nothing: every location is found at a threshold of 0.6."""

    def run(footage: Path, dictionary: Path | None = None, labels: str = "given") -> LoopResult:
        options = LearnOptions(labels, str(encoder_file), recogniser=TINY.trunk, threshold=0.6)  # type: ignore[arg-type]
        return Loop(footage, dictionary or tiny_corpus.layout.dictionary, tmp_path / "out", options, HereEngine).run()

    return run


def say_instead(footage: Path, sentence: str) -> None:
    """Let all subtitles say the same."""
    for path in footage.glob("*.vtt"):
        lines = path.read_text().splitlines()
        replaced = [line if "-->" in line or not line or line.startswith("WEBVTT") else sentence for line in lines]
        path.write_text("\n".join(replaced) + "\n")


def without_subtitles(footage: Path) -> None:
    for path in footage.glob("*.vtt"):
        path.unlink()


def change_labels(footage: Path, **changes: object) -> None:
    for path in (footage / "labels").iterdir():
        rows = [{**json.loads(line), **changes} for line in path.read_text().splitlines()]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def blind(folder: Path) -> None:
    """Take the hands out of all landmarks."""
    for path in folder.rglob("*.pose"):
        landmarks = open_landmarks(path)
        none = np.full_like(landmarks.left_hand, np.nan)
        write_landmarks(replace(landmarks, left_hand=none, right_hand=none), path)


def train_on_all(footage: Path) -> None:
    """Name all videos as training videos."""
    names = sorted(path.stem for path in footage.glob("*.pose"))
    (footage / "splits.json").write_text(json.dumps({"train": names, "test": []}))


def damage(footage: Path) -> None:
    for path in footage.glob("*.pose"):
        path.write_bytes(b"no landmarks" * 99)


def test_footage_and_a_dictionary_are_enough(
    learn: Callable[..., LoopResult], labelled: Path, tiny_corpus: Corpus, tmp_path: Path
) -> None:
    """Without splits some videos are kept for tests, named in the run's folder; recognisers learn from the others."""
    with counting() as opened:
        result = learn(labelled)
    texts = [path.name for path in labelled.rglob("*.vtt")]
    assert {name: opened[name] for name in texts} == dict.fromkeys(texts, 2)  # to digest it, and to read it
    assert opened["dictionary.json"] in (1, 2)  # an earlier test may have left its digest in the cache
    assert all(result.outcome(f"recogniser {name}")["files"] for name in ("M", "D", "M+D"))
    splits = read_splits(tmp_path / "out" / "splits.json")
    assert sorted((*splits.train, *splits.test)) == sorted(path.stem for path in labelled.glob("*.pose"))
    assert splits.test
    labels = tiny_corpus.labels()
    inside = sum(label.video in splits.train for label in labels)
    assert result.outcome("labels M")["message"].startswith(f"{len(labels):,} labels")
    assert f"{inside:,} in training videos" in result.outcome("labels M")["message"]


def without_labels(footage: Path) -> None:
    shutil.rmtree(footage / "labels")


@pytest.mark.parametrize(
    ("spoils", "reason"),
    [
        ((without_labels, partial(say_instead, sentence="Der Hund läuft im Garten")), "With the dictionary: none"),
        ((without_labels, partial(say_instead, sentence="")), "With the dictionary: none"),
        ((without_labels, without_subtitles), "subtitles"),
        ((without_labels, damage), r"(\d) of \1 videos"),
        ((damage,), "no recogniser can be trained"),
        ((blind,), "no recogniser can be trained"),
        ((without_subtitles, partial(change_labels, time=9999.0)), r"0 of \d+ words"),
        ((without_subtitles, partial(change_labels, word="apple")), "of 1 word"),
    ],
    ids=[
        "another language", "empty subtitles", "no subtitles", "damaged videos, no labels",
        "damaged videos", "no hands", "labels beyond the end", "labels of one word",
    ],
)  # fmt: skip
def test_why_nothing_can_be_learnt_is_said(
    learn: Callable[..., LoopResult], labelled: Path, spoils: tuple[Callable[[Path], object], ...], reason: str
) -> None:
    for spoil in spoils:
        spoil(labelled)
    with pytest.raises(NothingToLearnError, match=reason):
        learn(labelled)
    assert not list((labelled.parent / "out").glob("recogniser*"))


def test_what_failed_is_tried_again(learn: Callable[..., LoopResult], labelled: Path) -> None:
    """Labels alone teach a recogniser; with subtitles there are labels D, too."""
    subtitles = {path: path.read_bytes() for path in labelled.glob("*.vtt")}
    without_subtitles(labelled)
    first = learn(labelled)
    assert first.outcome("recogniser M")["files"]
    assert not first.outcome("recogniser D"), "there is nothing to train it on"
    assert [stage.name for stage in learn(labelled).stages if stage.redone] == ["labels D"]
    for path, text in subtitles.items():
        path.write_bytes(text)
    assert learn(labelled).outcome("recogniser D")["files"]


def test_one_video_that_cannot_be_read(
    learn: Callable[..., LoopResult], labelled: Path, caplog: pytest.LogCaptureFixture
) -> None:
    train_on_all(labelled)
    first = min(labelled.glob("train*.pose"))
    first.write_bytes(b"no landmarks")
    assert learn(labelled).outcome("recogniser M")["files"]
    assert first.stem in caplog.text


def test_labels_of_words_that_the_dictionary_has_not(
    learn: Callable[..., LoopResult], labelled: Path, caplog: pytest.LogCaptureFixture
) -> None:
    train_on_all(labelled)
    without_subtitles(labelled)
    for number, path in enumerate(sorted((labelled / "labels").iterdir())):
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        path.write_text("".join(json.dumps({**row, "word": f"quokka {number % 2}"}) + "\n" for row in rows))
    assert learn(labelled).outcome("recogniser M")["words"] == 2
    assert "0 of 2" in caplog.text


def test_a_dictionary_that_cannot_be_used(
    learn: Callable[..., LoopResult], footage: Path, tiny_corpus: Corpus, tmp_path: Path
) -> None:
    (tmp_path / "empty").mkdir()
    for dictionary in (tmp_path / "empty", tmp_path / "nowhere"):
        with pytest.raises(DictionaryError):
            learn(footage, dictionary)
    with pytest.raises(OptionsError, match="got 7"):
        LearnOptions(threshold=7)
    assert not (tmp_path / "out").exists(), "mistakes are reported before any work"
    shutil.copytree(tiny_corpus.layout.dictionary, tmp_path / "signs")
    blind(tmp_path / "signs")
    with pytest.raises(NothingToLearnError, match="signs"):
        learn(footage, tmp_path / "signs")
