"""Corpora in which nothing can be learnt, each for another reason: a line that says why, and nothing half made."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from signspot.applications.loop import LearnOptions, Loop, LoopResult
from signspot.corpus.corpus import Corpus
from signspot.errors import DictionaryError, NothingToLearnError, OptionsError
from signspot.landmarks.pose_file import open_landmarks, write_landmarks
from tests.fixtures.annotation import HereEngine
from tests.fixtures.corpora import TINY


@pytest.fixture
def footage(tiny_corpus: Corpus, tmp_path: Path) -> Path:
    """A folder as people have them: videos and subtitles, no dictionary, no truth, no splits."""
    shutil.copytree(tiny_corpus.folder / "videos", tmp_path / "footage")
    return tmp_path / "footage"


@pytest.fixture
def given(footage: Path, tiny_corpus: Corpus) -> Path:
    """The same with labels M."""
    shutil.copytree(tiny_corpus.folder / "labels", footage / "labels")
    return footage


@pytest.fixture
def learn(tiny_corpus: Corpus, encoder_file: Path, tmp_path: Path) -> Callable[..., LoopResult]:
    """The loop with an encoder that knows nothing: every place is found at a threshold of 0.6."""

    def run(footage: Path, dictionary: Path | None = None, labels: str = "given") -> LoopResult:
        options = LearnOptions(labels, str(encoder_file), recogniser=TINY.trunk, threshold=0.6)  # type: ignore[arg-type]
        return Loop(footage, dictionary or tiny_corpus.layout.dictionary, tmp_path / "out", options, HereEngine).run()

    return run


def say_instead(footage: Path, sentence: str) -> None:
    """Let all subtitles say the same."""
    for path in footage.glob("*.vtt"):
        lines = path.read_text().splitlines()
        said = [line if "-->" in line or not line or line.startswith("WEBVTT") else sentence for line in lines]
        path.write_text("\n".join(said) + "\n")


def change_labels(footage: Path, **changes: object) -> None:
    for path in (footage / "labels").iterdir():
        rows = [{**json.loads(line), **changes} for line in path.read_text().splitlines()]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def blind(folder: Path) -> None:
    """Take the hands out of all landmarks."""
    for path in folder.rglob("*.pose"):
        seen = open_landmarks(path)
        none = np.full_like(seen.left_hand, np.nan)
        write_landmarks(replace(seen, left_hand=none, right_hand=none), path)


def test_footage_and_a_dictionary_of_its_own_are_enough(learn: Callable[..., LoopResult], given: Path) -> None:
    learnt = learn(given)
    assert all(learnt.outcome(f"recogniser {name}")["files"] for name in ("M", "D", "M+D"))
    told = learnt.outcome("recogniser M")["message"]
    assert told.startswith("learnt from ")
    assert f"not tested: {given / 'splits.json'} names no test videos" in told


@pytest.mark.parametrize("sentence", ["Zylophonic quokkas ponder", "Der Hund läuft durch den Garten", ""])
def test_subtitles_that_name_no_word(learn: Callable[..., LoopResult], footage: Path, sentence: str) -> None:
    say_instead(footage, sentence)
    with pytest.raises(NothingToLearnError, match=r"Labels M: none: .*labels holds no label.* Labels D: none: "):
        learn(footage)
    assert not list((footage.parent / "out").glob("recogniser*"))


def test_no_subtitles(learn: Callable[..., LoopResult], footage: Path) -> None:
    for path in footage.glob("*.vtt"):
        path.unlink()
    with pytest.raises(NothingToLearnError, match=r"Labels D: none: .*subtitles of the same name"):
        learn(footage)


def test_labels_alone_teach_a_recogniser(learn: Callable[..., LoopResult], given: Path) -> None:
    for path in given.glob("*.vtt"):
        path.unlink()
    learnt = learn(given)
    assert "subtitles" in learnt.outcome("labels D")["message"]
    assert learnt.outcome("recogniser M")["files"]
    assert not learnt.outcome("recogniser D"), "there is nothing to train it on"


def test_what_failed_is_tried_again(learn: Callable[..., LoopResult], given: Path) -> None:
    subtitles = {path: path.read_bytes() for path in given.glob("*.vtt")}
    for path in subtitles:
        path.unlink()
    learn(given)
    again = learn(given)
    assert [stage.name for stage in again.stages if stage.redone] == ["labels D"]
    for path, text in subtitles.items():
        path.write_bytes(text)
    assert learn(given).outcome("recogniser D")["files"]


def test_videos_that_cannot_be_read(learn: Callable[..., LoopResult], given: Path, tmp_path: Path) -> None:
    for path in given.glob("*.pose"):
        path.write_bytes(b"no landmarks" * 99)
    with pytest.raises(NothingToLearnError, match=r"no recogniser can be trained on the labels of .* have a label"):
        learn(given)
    assert not list((tmp_path / "out").glob("recogniser*"))
    shutil.rmtree(given / "labels")
    with pytest.raises(NothingToLearnError, match=r"Labels D: 0 labels .* (\d) of \1 videos could not be seen"):
        learn(given)


def test_nobody_s_hands_are_in_view(learn: Callable[..., LoopResult], given: Path) -> None:
    blind(given)
    with pytest.raises(NothingToLearnError, match="no recogniser can be trained on the labels of"):
        learn(given)


def test_one_video_that_cannot_be_read(
    learn: Callable[..., LoopResult], given: Path, caplog: pytest.LogCaptureFixture
) -> None:
    first = min(given.glob("train*.pose"))
    first.write_bytes(b"no landmarks")
    assert learn(given).outcome("recogniser M")["files"]
    assert any(f"labels of the video '{first.stem}'" in each.getMessage() for each in caplog.records)


def test_labels_beyond_the_end_of_the_videos(
    learn: Callable[..., LoopResult], given: Path, caplog: pytest.LogCaptureFixture
) -> None:
    change_labels(given, time=9999.0)
    for path in given.glob("*.vtt"):
        path.unlink()
    with pytest.raises(NothingToLearnError, match=r"M: not trained: 0 of \d+ words have a label that can be used"):
        learn(given)
    assert any("which ends at" in each.getMessage() for each in caplog.records)


def test_labels_of_one_word(learn: Callable[..., LoopResult], given: Path) -> None:
    change_labels(given, word="apple")
    for path in given.glob("*.vtt"):
        path.unlink()
    with pytest.raises(NothingToLearnError, match=r"needs labels of two words\. Labels M: .* of 1 word, given"):
        learn(given)


def test_labels_of_words_that_the_dictionary_has_not(
    learn: Callable[..., LoopResult], given: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for path in given.glob("*.vtt"):
        path.unlink()
    for number, path in enumerate(sorted((given / "labels").iterdir())):
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        path.write_text("".join(json.dumps({**row, "word": f"quokka {number % 2}"}) + "\n" for row in rows))
    assert learn(given).outcome("recogniser M")["words"] == 2
    assert any("0 of 2 labelled words have an exemplar" in each.getMessage() for each in caplog.records)


def test_a_dictionary_whose_exemplars_show_no_hand(
    learn: Callable[..., LoopResult], footage: Path, tiny_corpus: Corpus, tmp_path: Path
) -> None:
    shutil.copytree(tiny_corpus.layout.dictionary, tmp_path / "signs")
    blind(tmp_path / "signs")
    with pytest.raises(NothingToLearnError, match=r"no exemplar of .*signs can be read"):
        learn(footage, tmp_path / "signs")


def test_mistakes_are_told_before_any_work(learn: Callable[..., LoopResult], footage: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for dictionary in (tmp_path / "empty", tmp_path / "nowhere"):
        with pytest.raises(DictionaryError):
            learn(footage, dictionary)
    with pytest.raises(OptionsError, match=r"in \[0, 1\]; got 7"):
        LearnOptions(threshold=7)
    assert not (tmp_path / "out").exists()
