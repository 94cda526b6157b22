"""Measures of the applications: by hand where they can be, and each once on next to nothing."""

import ast
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest

from experiments.applications.grouping import rand_index, score_pairs, synthetic_variants, variant_rows
from experiments.applications.learners import Trial, _seen, tell
from experiments.applications.signs import alter, film, make_words
from experiments.applications.speed import measure_scan
from experiments.applications.verdicts import fit, trade_rows
from experiments.applications.waking import WakeSize, said_rows
from signspot.applications.faux_amis import FauxAmis, Friends
from signspot.applications.feedback import CHANGES, MEANING, RIGHT_SCORE, USUAL, MeasuredDifference
from signspot.applications.movement import Measure
from signspot.embedding.exemplars import ExemplarEmbedder
from signspot.spotting.spotter import load
from signspot.types import Exemplar


def test_the_adjusted_rand_index_by_hand() -> None:
    """Of 4 things in groups of 2, one group split: 1 pair together in both, 1 x 2 expected over 6, at most 1.5."""
    assert rand_index([0, 0, 1, 1], ["a", "a", "b", "b"]) == 1
    assert rand_index([0, 0, 1, 2], ["a", "a", "b", "b"]) == pytest.approx((1 - 2 / 6) / (1.5 - 2 / 6))
    assert rand_index([0, 1, 0, 1], ["a", "a", "b", "b"]) == pytest.approx((0 - 4 / 6) / (2 - 4 / 6))


def test_recall_and_precision_of_pairs_by_hand() -> None:
    pair = [Friends(Exemplar(a, "1"), Exemplar(b, "2"), 0.1, m) for a, b, m in (("x", "x", "same"), ("y", "z", "same"))]  # type: ignore[arg-type]
    wrong = Friends(Exemplar("u", "3"), Exemplar("v", "4"), 0.2, "other")
    found = FauxAmis((*pair, wrong), (3, 3), 1, np.zeros((3, 3), np.float32))
    recall, precision, meaning = score_pairs(found, {("x", "x"), ("y", "z"), ("p", "q"), ("r", "r")})
    assert (recall, precision, meaning) == (0.5, pytest.approx(2 / 3), 0.5)


def _measured(**beyond: float) -> dict[str, MeasuredDifference]:
    """Measures that are as usual but for those named, which are so many spreads beyond."""
    found = {}
    for name in MEANING:
        usual = USUAL[name]
        value = usual.between + usual.more + beyond.get(name, 0.0) * usual.spread
        found[name] = MeasuredDifference(value, (usual.between,), Measure(value))
    return found


def test_what_speaks_most_is_named() -> None:
    as_usual = float(np.exp(USUAL["unlike"].more))
    trials = [Trial("a", "", _measured(), 1, 1.0, as_usual)]
    trials += [Trial("a", "place", _measured(place=6.0, height=2.0), 1, 1.0, as_usual)]
    trials += [Trial("a", "local", _measured(turning=6.0, twist=6.0), 2, 1.0, as_usual)]
    trials += [Trial("a", "repetition", _measured(cycles=6.0, ways=6.0, direction=2.0), 1, 1.0, as_usual)]
    trials += [Trial("a", "handshape", _measured(handshape=6.0), 1, RIGHT_SCORE - 0.01, 1.3)]
    assert [trial.named for trial in trials[1:]] == ["place", "movement", "timing", "handshape"]
    assert [trial.right for trial in trials] == [True, False, False, False, False]
    rows = {row[0]: row for row in tell(trials)}
    assert rows["place"][3] == "1.00"
    assert rows["any"][1] == "4"
    shipped, *others = trade_rows(trials)
    assert shipped[2:4] == ("1.00", "0.00")
    assert [row[0] for row in others] == ["95%", "90%", "80%", "70%"]


def test_a_verdict_is_fitted() -> None:
    """Where wrong places are far away and everything else is by chance, the measure of the place decides."""
    random = np.random.default_rng(0)
    trials = []
    for number in range(60):
        beyond = dict(zip(MEANING, random.standard_normal(len(MEANING)).tolist(), strict=True))
        changed = ("", "place", "path")[number % 3]
        beyond["place"] += 6.0 * (changed == "place")
        trials.append(Trial("a", changed, _measured(**beyond), 1, 1.0, float(np.exp(0.1 * random.standard_normal()))))
    lines = dict(line.strip().replace('"', "").split(" ", 1) for line in fit(trials))
    weights = {name: ast.literal_eval(line.rstrip(","))[3:] for name, line in lines.items() if name.endswith(":")}
    assert max(weights, key=lambda name: weights[name][CHANGES.index("place")]) == "place:"
    assert lines["LIMIT"].startswith("= ")


def test_one_parameter_is_changed_and_no_other() -> None:
    lexicon = make_words(3, 5)
    found = list(alter(lexicon, 5))
    assert {each.changed for each in found} <= {"", *CHANGES}
    assert all(lexicon[e.word].variants[0].differences(e.sign) == ((e.changed,) if e.changed else ()) for e in found)


def test_small_measures_run() -> None:
    shown = synthetic_variants(load("warping", cache=False), 2, 5, each=2)
    rows = list(variant_rows(load("warping", cache=False), "synthetic", shown, choose=True))
    assert all(-1 <= float(row[4]) <= 1 for row in rows)
    measured = dict(measure_scan(load("landmark", cache=False), 3000, queries=2, signed=9))
    assert measured["queries at once, threads"] == "2, 2"
    assert measured["windows"].startswith("3,000")


def test_performances_in_which_no_hand_is_seen_are_left_out() -> None:
    """A synthetic corpus of many words always has one; feedback is measured with the performance after it."""
    sign = next(iter(make_words(1, 3).values())).variants[0]
    clips = [film(sign, 3, "friend", number) for number in range(2)]
    hidden = np.full_like(clips[0].left_hand, np.nan)
    clips[0] = replace(clips[0], left_hand=hidden, right_hand=hidden)
    first, _ = next(_seen(ExemplarEmbedder(load("warping").encoder), lambda number: clips[number]))
    assert first is clips[1]


@pytest.mark.slow
def test_what_enrolment_says_stands_beside_what_is_counted() -> None:
    """Next to no footage: two rows per word, by decoys and by a dictionary in which the word itself is found."""
    size = WakeSize(hours=0.005, background=0.005)
    rows = list(islice(said_rows(load("landmark-world", cache=False), 3, 10, size), 4))  # of two words
    assert {row[2] for row in rows} == {"decoys", "a dictionary"}
    by_words = [row for row in rows if row[2] == "a dictionary"]
    assert len(rows) == 2 * len(by_words) == 4
    for _, word, _, said, counted, near, seen in by_words:
        assert min(float(said), float(counted)) >= 0
        assert near, "there are other words in the dictionary"
        assert word not in near, "the sign itself is no neighbour"
        assert seen.endswith(" of 10")
    assert sum(int(row[6].split()[0]) for row in by_words) > 5 * len(by_words), "most signs are seen"
