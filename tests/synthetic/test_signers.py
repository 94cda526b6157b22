"""Signers are people of their own, each known, and no two roles share one."""

import re
from dataclasses import replace

import numpy as np
import pytest

from signspot.errors import OptionsError
from signspot_synthetic.body.signers import Camera, Handedness, Role, make_signers


def test_roles_share_nobody_and_the_first_stay_when_more_come():
    groups = {role: make_signers(20, 3, role) for role in Role}
    everybody = [s for group in groups.values() for s in group]
    assert len({s.id for s in everybody}) == len({s.habits for s in everybody}) == 60
    assert len({s.proportions for s in everybody}) == 60
    assert make_signers(5, 3, "train") == groups[Role.TRAIN][:5]
    assert make_signers(5, 4, "train") != groups[Role.TRAIN][:5]


def test_about_an_eighth_is_left_handed():
    share = np.mean([s.handedness is Handedness.LEFT for s in make_signers(600, 1, "train")])
    assert 0.09 < share < 0.16
    assert all(s.handedness is Handedness.LEFT for s in make_signers(10, 1, "test", left_share=1.0))


def test_people_are_built_like_people():
    for s in make_signers(200, 5, "test"):
        p = s.proportions
        assert 0.25 < p.shoulders < 0.45
        assert 0.6 < p.forearm / p.upper_arm < 1.2
        assert 0.75 < p.hand.size < 1.3
        assert 0.5 < s.manner.tempo < 1.7


def test_some_cameras_are_webcams_held_low():
    cameras = [s.camera for s in make_signers(200, 5, "test")]
    low = [c for c in cameras if c.distance < 1.35 and c.elevation < -0.1]
    assert 0.05 * len(cameras) < len(low) < 0.4 * len(cameras)


def test_habits_choose_a_variant_once_and_for_all():
    signers = make_signers(300, 2, "train")
    chosen = [s.variant("apple", 3) for s in signers]
    assert chosen == [s.variant("apple", 3) for s in signers]
    shares = np.bincount(chosen, minlength=3) / 300
    assert shares[0] > shares[1] > shares[2] > 0.05
    assert {s.variant("apple", 3, strength=0.0) for s in signers} == {0}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 1, "train"), "at least 1 signer is needed; got 0"),
        ((3, 1, "teacher"), "one of dictionary, train, test; got 'teacher'"),
    ],
)
def test_impossible_signers_are_refused(arguments, message):
    with pytest.raises(OptionsError, match=re.escape(message)):
        make_signers(*arguments)
    with pytest.raises(OptionsError):
        make_signers(1, 1, "train", left_share=2)


def test_impossible_cameras_are_refused():
    for changes in ({"distance": 0.1}, {"height": 0}, {"azimuth": 2.0}, {"roll": float("nan")}):
        with pytest.raises(OptionsError):
            replace(Camera(), **changes)
