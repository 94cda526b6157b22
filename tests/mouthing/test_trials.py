"""Clips of lips out of a corpus, questions about them, answers, calibration."""

import shutil
from dataclasses import replace

import numpy as np
import pytest
import torch

from signspot.corpus.corpus import Corpus, open_corpus
from signspot.errors import OptionsError
from signspot.mouthing.lips import CHANNELS, LipTrack
from signspot.mouthing.mouthing_spotter import MentionWindow, MouthingSpotter
from signspot.mouthing.network import MouthingModel, MouthingNetwork, NetworkOptions
from signspot.mouthing.trials import (
    WINDOW,
    LipClip,
    Trial,
    WrongWords,
    answer,
    calibrate,
    draw_trials,
    holds,
    read_lip_clips,
    read_vocabulary,
)
from signspot.types import Segment

NETWORK = NetworkOptions(width=16, heads=2, maps=4)


@pytest.fixture(scope="module")
def vocabulary():
    return read_vocabulary(unseen=False)


@pytest.fixture(scope="module")
def random_spotter() -> MouthingSpotter:
    torch.manual_seed(0)
    return MouthingSpotter(MouthingModel("random", MouthingNetwork(NETWORK).eval(), {}))


def test_words_are_seen_or_unseen_and_never_both(vocabulary):
    unseen = read_vocabulary(unseen=True)
    assert not set(vocabulary.words) & set(unseen.words)
    assert 0.15 < len(unseen.words) / len(vocabulary.words + unseen.words) < 0.25


def test_wrong_words_are_no_part_of_what_is_mouthed(vocabulary):
    wrong, random = WrongWords(vocabulary), np.random.default_rng(0)
    mouthed = [vocabulary.visemes[vocabulary.words[0]]]
    for _ in range(50):
        visemes = vocabulary.visemes[wrong.draw(mouthed, 1.0, random)]
        assert not holds(mouthed[0], visemes)
        assert visemes[:2] == mouthed[0][:2] or visemes[-2:] == mouthed[0][-2:]
    assert holds(("a", "b", "c"), ("b", "c"))
    assert not holds(("a", "b", "c"), ("a", "c"))


def test_half_of_the_trials_are_of_mouthed_words(vocabulary, lip_clips):
    trials = draw_trials(lip_clips, vocabulary, 0, per_clip=6)
    assert [bool(trial.ends) for trial in trials] == [True, False] * 6


def test_an_answer_is_what_a_search_of_the_same_window_labels(random_spotter, lip_clips):
    """The label of `search` is the answer, in the times of the clip."""
    lips = replace(lip_clips[0].lips, start=2.0)
    trial = Trial(0, 2.6, "elephant", (7.0,), 1.0)
    result = random_spotter.search(lips, [MentionWindow(Segment(2.6, 2.6 + WINDOW), ("elephant",))], "v", least=0.0)
    answers = answer(random_spotter, [replace(lip_clips[0], lips=lips)], [trial])
    assert answers.sure.tolist() == [result.labels[0].confidence]
    assert answers.late.tolist() == [pytest.approx(result.labels[0].time - 7.0)]
    assert answers.searched.tolist() == [pytest.approx(WINDOW)]


def test_lips_that_are_not_seen_and_clips_that_end_are_no_answers(random_spotter, lip_clips):
    hidden = LipClip(LipTrack(np.zeros((300, CHANNELS), np.float32)), ())
    short = LipClip(LipTrack(lip_clips[0].lips.values[:100]), ())
    none = LipClip(LipTrack(lip_clips[0].lips.values[:5]), ())
    answers = answer(random_spotter, [hidden, short, none], [Trial(n, 0.0, "elephant", (1.0,)) for n in range(3)])
    assert (answers.sure[0], answers.late[0], answers.searched[0]) == (0.0, np.inf, WINDOW)
    assert answers.searched[1:].tolist() == [pytest.approx(4.0), 0.0]
    assert not answers.right[[0, 2]].any()


def test_calibration_is_of_the_answers_that_users_get(random_spotter, lip_clips, vocabulary):
    model = replace(random_spotter.model, network=MouthingNetwork(NETWORK).eval())
    measured = calibrate(model, lip_clips, vocabulary, 0, per_clip=6)
    assert model.network.scale.tolist() == [
        pytest.approx(measured["gain"], abs=1e-3),
        pytest.approx(measured["offset"], abs=1e-3),
    ]
    answers = answer(MouthingSpotter(model), lip_clips, draw_trials(lip_clips, vocabulary, 0, per_clip=6))
    assert answers.sure.mean() == pytest.approx(answers.right.mean(), abs=0.02)  # what a logistic regression gives


def test_mouthings_are_the_truth_or_the_signs_that_are_mouthed_or_labels(
    lips_corpus: Corpus, tiny_corpus: Corpus, tmp_path
) -> None:
    assert all(clip.complete and clip.words for clip in read_lip_clips(lips_corpus))
    signs = sum(sign.mouthed for video in tiny_corpus.videos for sign in tiny_corpus.signs(video))
    assert sum(len(clip.words) for clip in read_lip_clips(tiny_corpus)) == signs > 0
    labelled = tmp_path / "labelled"
    shutil.copytree(tiny_corpus.folder, labelled, ignore=shutil.ignore_patterns("truth", "dictionary"))
    clips = read_lip_clips(replace(tiny_corpus, folder=labelled))
    assert not any(clip.complete for clip in clips)
    assert sum(len(clip.words) for clip in clips) == len(tiny_corpus.labels())
    shutil.rmtree(labelled / "labels")
    with pytest.raises(OptionsError, match=str(labelled)):
        read_lip_clips(open_corpus(labelled))
