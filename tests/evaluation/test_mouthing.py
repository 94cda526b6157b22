"""Evaluation of mouthing spotters: scores, reliability and homophenes by hand, all questions in one report."""

import numpy as np
import pytest
import torch

from signspot.evaluation.mouthing import (
    MAIN,
    bin_reliability,
    homophene_trials,
    lips_of,
    measure_mouthing,
    score,
    write_report,
)
from signspot.mouthing.network import MouthingModel, MouthingNetwork, NetworkOptions, TemplateMatcher
from signspot.mouthing.trials import Answers, Trial, read_lip_clips
from signspot.mouthing.visemes import visemes_of
from signspot_synthetic.lips_corpus import make_clip
from tests.fixtures.lips import LIPS


def test_scores_by_hand():
    trials = [Trial(0, 0.0, "x", (1.0,), 1.0), Trial(0, 0.0, "x", (1.0,), 1.0), Trial(0, 0.0, "x"), Trial(0, 0.0, "x")]
    late, searched = np.array([0.1, 2.0, np.inf, np.inf]), np.array([10.0, 10.0, 10.0, 4.0])
    answers = Answers(np.array([0.9, 0.85, 0.6, 0.1]), late, searched)
    row = {s.threshold: s for s in score(("spotter", "t"), trials, answers)}
    assert row[0.5].precision == pytest.approx(1 / 3)  # a right label, one at a wrong time, one of no mouthing
    assert row[0.5].recall == 0.5
    assert row[0.5].false_alarms_per_hour == pytest.approx(1 / (14 / 3600))
    assert row[0.8].false_alarms_per_hour == 0
    assert row[0.9].late == pytest.approx(0.1)
    assert (row[0.9].spotter, row[0.9].trials) == ("spotter", "t")
    assert answers.only(np.array([True, False, False, False])).sure.tolist() == [0.9]


def test_reliability_by_hand():
    bins = bin_reliability(np.array([0.05, 0.85, 0.89, 1.0]), np.array([False, True, False, True]))
    assert [(b.low.__round__(1), b.labels, b.right) for b in bins] == [(0.0, 1, 0.0), (0.8, 2, 0.5), (0.9, 1, 1.0)]


def test_homophenes_are_other_words_that_look_the_same():
    plain = [Trial(0, float(n), word, (1.0,), 1.0) for n, word in enumerate(("pop", "bob", "mop", "mob", "bomb"))]
    trials = homophene_trials([*plain, Trial(0, 9.0, "pop")])
    assert len(trials) == 5
    for before, after in zip(plain, trials, strict=True):
        assert visemes_of(before.word) == visemes_of(after.word)
    assert [bool(trial.ends) for trial in trials] == [False, True, False, True, False]
    assert [a.word == b.word for a, b in zip(plain, trials, strict=True)] == [False, True, False, True, False]


def test_all_questions_stand_in_one_table_and_two_plots(lips_corpus, tmp_path):
    torch.manual_seed(0)
    network = MouthingNetwork(NetworkOptions(width=16, heads=2, maps=4)).eval()
    models = [MouthingModel("random", network, {}), MouthingModel("templates", TemplateMatcher(), {})]
    faces = {"nobody": lips_of([make_clip(LIPS, "test", 0).landmarks])}
    clips = read_lip_clips(lips_corpus, "test")
    report = measure_mouthing(models, clips, faces, questions=6, silent_questions=2, seed=3)
    rows = {(row.spotter, row.trials) for row in report.scores}
    questions = {MAIN, "words against words alike", "homophenes of mouthed words", "nobody mouths, nobody"}
    assert {(model.name, row) for model in models for row in questions} <= rows
    write_report(report, tmp_path / "x.md")
    text = (tmp_path / "x.md").read_text()
    assert text.count("| templates | nobody mouths, nobody |") == 5
    assert (tmp_path / "x.png").stat().st_size > 10_000
