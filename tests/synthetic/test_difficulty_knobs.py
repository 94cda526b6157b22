"""Every knob does what it says: off means off, more means more."""

from dataclasses import fields, replace

import numpy as np
import pytest

from signspot.errors import OptionsError
from signspot_synthetic.body.gestures import POSITION, make_token, stroke_states
from signspot_synthetic.body.motion import assimilate, blur, continuous, reduce_token
from signspot_synthetic.body.signers import make_signers
from signspot_synthetic.difficulty_knobs import Knobs
from signspot_synthetic.language.lexicon import LexiconOptions, make_lexicon
from signspot_synthetic.language.phonology import HandPath, Hands, PathKind, Sign

LEXICON = make_lexicon(LexiconOptions(words=150, seed=9, fingerspelled_share=0))
SIGNS = [e.variants[0] for e in LEXICON.values()]
SIGNERS = make_signers(3, 9, "train", left_share=0)


def tokens(knobs, strength=0.0):
    rng = np.random.default_rng(0)
    return [reduce_token(make_token(s, SIGNERS[0], rng, strength), knobs, rng) for s in SIGNS]


def seconds(knobs):
    _, segments = continuous(SIGNS[:100], SIGNERS[0], np.random.default_rng(0), knobs)
    return np.array([s.duration for s in segments])


def test_off_is_zero_everywhere_and_odd_values_are_refused():
    assert all(getattr(Knobs.off(), f.name) == 0 for f in fields(Knobs))
    for value in (-0.1, 3.5, float("nan")):
        with pytest.raises(OptionsError, match="speed"):
            Knobs(speed=value)


def test_continuous_signs_last_seven_to_thirteen_frames_and_dictionary_ones_longer():
    mean = np.mean([seconds(Knobs()).mean() * 25])
    assert 7 < mean < 13
    slow = seconds(replace(Knobs.off(), precision=1.0))
    assert 1.5 < slow.mean() / seconds(replace(Knobs.off(), precision=1.0, speed=1.0)).mean() < 3.0


def test_precision_off_gives_everybody_the_same_form():
    first, second = (make_token(SIGNS[0], SIGNERS[0], np.random.default_rng(i), 0.0).strong for i in (1, 2))
    assert np.array_equal(first.place, second.place)
    assert np.array_equal(first.shapes, second.shapes)
    third = make_token(SIGNS[0], SIGNERS[0], np.random.default_rng(1), 1.0).strong
    assert not np.array_equal(first.place, third.place)


def test_reduction_drops_repetitions_and_shrinks_paths():
    full, reduced = tokens(Knobs.off()), tokens(replace(Knobs.off(), coarticulation=1.0, reduction=1.0))
    assert sum(t.strong.repetition for t in full) == sum(s.repetition for s in SIGNS)
    assert sum(t.strong.repetition for t in reduced) < 0.8 * sum(t.strong.repetition for t in full)
    assert np.mean([r.strong.size / f.strong.size for r, f in zip(reduced, full, strict=True)]) < 0.9


def test_weak_drop_leaves_out_some_weak_hands_but_never_a_base():
    dropped = tokens(replace(Knobs.off(), coarticulation=1.0, weak_drop=3.0))
    two = [t for t in dropped if t.sign.hands is Hands.SYMMETRIC]
    assert 0.1 < np.mean([t.weak is None for t in two]) < 0.6
    assert all(t.weak is not None for t in dropped if t.base)
    assert all(t.weak is not None for t in tokens(Knobs.off()) if t.sign.hands is not Hands.ONE)


def test_lowering_lowers_high_signs_only():
    full, low = tokens(Knobs.off()), tokens(replace(Knobs.off(), coarticulation=1.0, lowering=1.0))
    fall = np.array([b.strong.place[1] - a.strong.place[1] for a, b in zip(full, low, strict=True)])
    high = np.array([t.strong.place[1] < 0 for t in full])
    assert fall[high].mean() > 0.01
    assert (fall[~high] < 0.03).all()


def test_assimilation_draws_signs_together():
    knobs = replace(Knobs.off(), coarticulation=1.0, assimilation=1.0)
    full = tokens(Knobs.off())

    def spread(some):
        places = np.stack([t.strong.place for t in some])
        return np.linalg.norm(np.diff(places, axis=0), axis=1).mean()

    assert spread(assimilate(full, knobs)) < 0.9 * spread(full)
    assert assimilate(full, Knobs.off()) == full


def test_undershoot_makes_fast_movement_smaller():
    sign = Sign(path=HandPath(PathKind.STRAIGHT), repetition=3)
    states = stroke_states(
        make_token(sign, SIGNERS[0], np.random.default_rng(0), 0.0).strong, np.linspace(0, 1, 16), 0.6
    )
    reach = lambda s: np.ptp(s[:, POSITION], axis=0).max()  # noqa: E731
    assert reach(blur(states, 0.05, 25.0)) < 0.9 * reach(states)
    assert np.array_equal(blur(states, 0.0, 25.0), states)
