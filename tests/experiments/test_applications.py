"""Measures of the applications: by hand where they can be, and each once on next to nothing."""

import json
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from experiments.applications.archive_search import search_times, time_rows, write_archive
from experiments.applications.faux_amis import faux_amis_rows, score_pairs
from experiments.applications.feedback import Trial, alter, fit, synthetic_rows, synthetic_trials
from experiments.applications.identify import look_up_row
from experiments.applications.mine import mine_rows
from experiments.applications.subtitle_timeline import dense_rows, small_corpus
from experiments.applications.synthetic_signs import embed_clips, make_words
from experiments.applications.variants import rand_index, synthetic_variants, variant_rows
from experiments.applications.wake import Signing, distinctiveness_rows, latency_row
from signspot.applications.faux_amis import FauxAmis, Friends
from signspot.applications.feedback import DISSIMILARITY, RIGHT_SCORE, MeasuredDifference, error_classifier
from signspot.applications.performance_differences import Measure
from signspot.spotting.spotter import load
from signspot.types import Exemplar


def test_the_adjusted_rand_index_by_hand() -> None:
    """Of 4 things in groups of 2, one group split: 1 pair together in both, 1 x 2 expected over 6, at most 1.5."""
    assert rand_index([0, 0, 1, 1], ["a", "a", "b", "b"]) == 1
    assert rand_index([0, 0, 1, 2], ["a", "a", "b", "b"]) == pytest.approx((1 - 2 / 6) / (1.5 - 2 / 6))
    assert rand_index([0, 1, 0, 1], ["a", "a", "b", "b"]) == pytest.approx((0 - 4 / 6) / (2 - 4 / 6))


def test_recall_and_precision_of_pairs_by_hand() -> None:
    pair = [Friends(Exemplar(a, "1"), Exemplar(b, "2"), 0.1, "same") for a, b in (("x", "x"), ("y", "z"))]
    wrong = Friends(Exemplar("u", "3"), Exemplar("v", "4"), 0.2, "other")
    result = FauxAmis((*pair, wrong), (3, 3), 1, np.zeros((3, 3), np.float32))
    scores = score_pairs(result, {("x", "x"), ("y", "z"), ("p", "q"), ("r", "r")})
    assert scores == (0.5, pytest.approx(2 / 3), 0.5)


def measured(**beyond: float) -> dict[str, MeasuredDifference]:
    """Measures that are as usual but for those named, which are so many spreads beyond."""
    differences = {}
    for name, usual in error_classifier().measures.items():
        if name != DISSIMILARITY:
            value = usual.between + usual.more + beyond.get(name, 0.0) * usual.spread
            differences[name] = MeasuredDifference(value, (usual.between,), Measure(value))
    return differences


def test_the_likeliest_error_is_named() -> None:
    usual = float(np.exp(error_classifier().measures[DISSIMILARITY].more))
    trials = [
        Trial("", measured(), 1, 1.0, usual),
        Trial("location", measured(location=6.0, height=2.0), 1, 1.0, usual),
        Trial("local", measured(turning=6.0, twist=6.0), 2, 1.0, usual),
        Trial("repetition", measured(cycles=6.0, ways=6.0, direction=2.0), 1, 1.0, usual),
        Trial("handshape", measured(handshape=6.0), 1, RIGHT_SCORE - 0.01, 1.3),
    ]
    assert [trial.named for trial in trials[1:]] == ["location", "movement", "timing", "handshape"]
    assert [trial.right for trial in trials] == [True, False, False, False, False]
    rows = {row[0]: row for row in synthetic_rows(trials)}
    assert rows["location"][3] == "1.00"
    assert rows["any"][1] == "4"


def test_a_classifier_is_fitted() -> None:
    """Where wrong locations are far away and everything else is by chance, the measure of the location decides."""
    random, trials = np.random.default_rng(0), []
    for number in range(60):
        beyond = {name: float(random.standard_normal()) for name in measured()}
        error = ("", "location", "path")[number % 3]
        beyond["location"] += 6.0 * (error == "location")
        trials.append(Trial(error, measured(**beyond), 1, 1.0, float(np.exp(0.1 * random.standard_normal()))))
    fitted = json.loads(json.dumps(fit(trials)))
    index = list(fitted["errors"]).index("location")
    assert max(fitted["measures"], key=lambda name: fitted["measures"][name]["weights"][index]) == "location"


def test_one_parameter_is_changed_and_no_other() -> None:
    lexicon = make_words(3, 5)
    altered = list(alter(lexicon, 5))
    for word, error, sign in altered:
        field = "place" if error == "location" else error
        assert lexicon[word].variants[0].differences(sign) == ((field,) if error else ())
    assert len({error for _, error, _ in altered}) > 4


def test_small_measures_run(tmp_path: Path) -> None:
    spotter = load("warping", cache=False)
    clips = list(embed_clips(spotter, synthetic_variants(2, 5, signers=2)))
    assert all(-1 <= float(row[3]) <= 1 for row in variant_rows(spotter, clips, (0.5, 0.75)))
    assert len(list(faux_amis_rows(spotter, 4, 5, (0.6,)))) == 1
    assert len(list(islice(synthetic_trials(spotter, 2, 5), 2))) == 2
    assert look_up_row(spotter, clips, 1)[0] == "1"
    corpus = small_corpus(str(tmp_path), 5, 4, hours=0.01)
    assert len(list(dense_rows(spotter, corpus, (120.0,)))) == 1
    assert [row[0] for row in mine_rows(spotter, corpus, most=1)] == ["0", "0.3"]


def test_the_time_of_searching_an_archive_is_measured(tmp_path: Path) -> None:
    spotter = load("landmark", cache=False)
    archive = write_archive(spotter, tmp_path / "archive", 3000, 5, signs=9)
    assert archive.windows == 3000
    assert len(list(time_rows(search_times(spotter, archive, tmp_path / "cache", 5, queries=2)))) == 4


@pytest.mark.long
def test_wake_signs_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Next to no footage: two rows per word, by decoys and by a dictionary."""
    for name, value in (("_TESTED", 1), ("_PART", 12), ("_ALONE", 1), ("_SIGNS", 6), ("_TRIES", 4)):
        monkeypatch.setattr(f"experiments.applications.wake.{name}", value)
    signing = Signing(load("landmark-synthetic", cache=False), 5, 3)
    rows = list(distinctiveness_rows(signing, 0.001, 0.001))
    assert [row[1] for row in rows] == ["decoys", "a dictionary"]
    assert all(float(row[2]) >= 0 and row[0] not in row[4] for row in rows)
    assert int(latency_row(signing)[3]) > 0
