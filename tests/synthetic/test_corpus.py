import hashlib
import html
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from signspot.corpus.corpus import is_synthetic, open_corpus
from signspot.corpus.labels import LeastConfidence
from signspot.errors import FormatError, OptionsError, OutputError
from signspot.io.files import temporary_name
from signspot.landmarks.pose_file import open_landmarks
from signspot.mouthing.network import default_for
from signspot.subtitles.reading import read_vtt
from signspot.video.reader import open_video
from signspot_synthetic.corpus_plan import CorpusOptions, CorpusPlan
from signspot_synthetic.corpus_writer import make_corpus
from signspot_synthetic.performance import is_right

OPTIONS = CorpusOptions(words=24, hours=0.0125, seed=11, dictionary_signers=5)


def digests(folder: Path) -> dict[str, str]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    written = tmp_path_factory.mktemp("corpus") / "made"
    calls = []
    make_corpus(OPTIONS, written, lambda done, total: calls.append((done, total)))
    assert calls[0][0] == 0
    assert calls[-1][0] == calls[-1][1] == len(calls) - 1
    return written


@pytest.fixture(scope="module")
def corpus(folder):
    return open_corpus(folder)


@pytest.fixture
def copy(folder, tmp_path):
    return Path(shutil.copytree(folder, tmp_path / "copy"))


def test_the_dictionary_shows_every_variant_of_every_word(corpus):
    dictionary, plan = corpus.dictionary(), CorpusPlan(OPTIONS)
    assert set(dictionary) == plan.listed
    for word, exemplars in dictionary.items():
        assert 1 <= len(exemplars) <= 10
        assert len({e.variant for e in exemplars}) == len(plan.lexicon[word].variants)
        assert all(e.path.is_file() and e.licence for e in exemplars)


def test_exemplars_number_three_on_average_and_ten_at_most():
    counts = np.unique([plan.word for plan in CorpusPlan(CorpusOptions()).exemplars], return_counts=True)[1]
    assert 2.8 < counts.mean() < 3.2
    assert set(counts) == set(range(1, 11))


def test_the_corpus_says_that_nobody_filmed_its_landmarks(corpus):
    (folder,) = {video.landmarks.parent for video in corpus.videos.values()}
    assert is_synthetic(folder)
    assert default_for(video.landmarks for video in corpus.videos.values()) == "mouthing-synthetic"


def test_signers_are_disjoint(corpus):
    roles = {s: {v.signer for v in corpus.in_split(s)} for s in ("train", "test")}
    roles["dictionary"] = {e.signer for e in corpus.dictionary().exemplars}
    assert all(roles.values())
    assert sum(map(len, roles.values())) == len(set.union(*roles.values()))


def test_splits_name_the_videos_and_the_words(corpus):
    splits = corpus.splits()
    assert {*splits.train, *splits.test} == set(corpus.videos)
    assert len(splits.words.test) == 6
    assert sorted(splits.words.train + splits.words.test) == sorted(splits.words.all) == sorted(corpus.dictionary())


def test_videos_are_as_long_as_asked_for(corpus):
    seconds = sum(len(open_landmarks(v.landmarks)) / 25 for v in corpus.videos.values())
    assert OPTIONS.hours * 3600 <= seconds < 1.3 * OPTIONS.hours * 3600


def test_truth_lies_in_the_video_in_order(corpus):
    exemplars = {e.id: e for e in corpus.dictionary().exemplars}
    for name, video in corpus.videos.items():
        signs, duration = corpus.signs(name), len(open_landmarks(video.landmarks)) / 25
        assert [sign.index for sign in signs] == list(range(len(signs)))
        assert all(0 <= a.start < a.end <= b.start + 0.05 for a, b in pairwise(signs))
        assert signs[-1].end <= duration
        for sign in signs:
            assert sign.signer == video.signer
            exemplars_of_word = [exemplars[e] for e in sign.exemplars if exemplars[e].word == sign.word]
            assert {e.variant for e in exemplars_of_word} == ({sign.variant} if sign.listed else set())


def cues_of(path):
    return [replace(cue, text=html.unescape(cue.text)) for cue in read_vtt(path.read_text(), str(path)).cues]


def test_mentions_point_at_characters_and_signs(corpus):
    for name, video in corpus.videos.items():
        subtitles, signs = cues_of(video.subtitles), corpus.signs(name)
        mentions = corpus.mentions(name)
        assert any(not m.signs for m in mentions)
        assert any(sign.subtitle is None for sign in signs)
        for mention in mentions:
            assert subtitles[mention.subtitle].text[mention.first : mention.last].strip()
            assert all(signs[i].word == mention.word and signs[i].subtitle == mention.subtitle for i in mention.signs)
    words = [len(s.text.split()) for v in corpus.videos.values() for s in cues_of(v.subtitles)]
    assert 6 < np.mean(words) < 10


def test_labels_are_of_listed_words_and_mostly_right(corpus):
    labels = corpus.labels()
    assert len(labels) > 10
    assert {label.word for label in labels} <= set(corpus.dictionary())
    right = [is_right(label, corpus.signs(label.video), CorpusPlan(OPTIONS).same_sign) for label in labels]
    assert np.mean(right) > 0.5
    assert all(label.confidence >= 0.8 for label in corpus.labels(least=LeastConfidence(0.8)))
    one = next(iter(corpus.videos))
    assert {label.video for label in corpus.labels([one])} == {one}


def test_hands_are_up_while_something_is_signed(corpus):
    for name, video in corpus.videos.items():
        wrists = np.nanmin(open_landmarks(video.landmarks).body[:, 15:17, 1], axis=1)  # y grows downwards
        signing = np.zeros(len(wrists), dtype=bool)
        for sign in corpus.signs(name):
            signing[round(sign.start * 25) : round(sign.end * 25)] = True
        assert wrists[signing].mean() < wrists[:5].mean()


def test_any_number_of_workers_gives_the_same_bytes(folder, tmp_path):
    make_corpus(OPTIONS, tmp_path / "two", workers=2)
    assert digests(tmp_path / "two") == digests(folder)


def test_a_killed_run_ends_with_the_same_bytes(folder, tmp_path):
    target = tmp_path / "killed"
    code = (
        "import os, signal, sys; from signspot_synthetic.corpus_writer import make_corpus\n"
        "from signspot_synthetic.corpus_plan import CorpusOptions\n"
        "options = CorpusOptions(words=24, hours=0.0125, seed=11, dictionary_signers=5)\n"
        "make_corpus(options, sys.argv[1], lambda done, _: done and os.kill(os.getpid(), signal.SIGKILL))"
    )
    run = subprocess.run([sys.executable, "-c", code, str(target)])
    assert run.returncode == -signal.SIGKILL
    assert 0 < len(digests(target)) < len(digests(folder))
    with pytest.raises(FormatError):
        open_corpus(target)
    make_corpus(OPTIONS, target)
    assert digests(target) == digests(folder)


def test_finished_files_are_kept_and_damaged_ones_made_again(folder, copy):
    damaged = next(copy.glob("videos/train*.vtt"))
    finished = next(copy.glob("videos/test*.pose"))
    left = copy / "videos" / temporary_name(Path("x.pose")).replace(f"-{os.getpid()}-", "-99999999-")
    left.write_bytes(b"half")
    damaged.write_text("WEBVTT\n")
    before = finished.stat().st_mtime_ns
    make_corpus(OPTIONS, copy)
    assert digests(copy) == digests(folder)
    assert finished.stat().st_mtime_ns == before


def test_other_options_are_refused_by_name(copy):
    with pytest.raises(OptionsError, match=r"0\.0125"):
        make_corpus(replace(OPTIONS, hours=0.02), copy)


def test_a_folder_of_something_else_is_refused(tmp_path):
    (tmp_path / "letter.txt").write_text("mine")
    with pytest.raises(OptionsError):
        make_corpus(OPTIONS, tmp_path)
    assert (tmp_path / "letter.txt").read_text() == "mine"


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError):
        make_corpus(OPTIONS, tmp_path / "file" / "corpus")


def test_real_footage_in_the_same_layout_opens_without_corpus_json(copy):
    for name in ("corpus.json", "splits.json"):
        (copy / name).unlink()
    shutil.rmtree(copy / "truth")
    corpus = open_corpus(copy)
    assert set(corpus.videos) == {"train-0001", "test-0001"}
    video = corpus.videos["test-0001"]
    assert video.landmarks.is_file()
    assert video.subtitles.is_file()
    assert video.video is None
    assert corpus.signs("test-0001") == []
    assert corpus.labels()


def test_own_words_can_be_given(tmp_path):
    options = replace(OPTIONS, words=("hello", "ice cream", "Zürich"))
    assert list(make_corpus(options, tmp_path / "own").dictionary()) == ["hello", "ice cream", "zürich"]


@pytest.mark.slow
def test_a_rendered_corpus_has_videos_as_long_as_its_landmarks(tmp_path):
    options = replace(OPTIONS, words=1, hours=0.0034, render=True, size=(96, 72), variants=1, exemplars=1.0)
    corpus = make_corpus(options, tmp_path / "filmed")
    for video in corpus.videos.values():
        with open_video(video.video) as opened:
            assert opened.info.duration == pytest.approx(len(open_landmarks(video.landmarks)) / 25, abs=0.05)
            assert (opened.info.width, opened.info.height) == (96, 72)
    with_videos, with_landmarks = corpus.dictionary(video=True), corpus.dictionary()
    assert [e.id for e in with_videos.exemplars] == [e.id for e in with_landmarks.exemplars]
    assert {e.path.suffix for e in with_videos.exemplars} == {".mp4"}
