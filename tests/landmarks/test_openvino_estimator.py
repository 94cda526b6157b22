"""The estimator that drives MediaPipe's networks itself: against MediaPipe, what it leaves out, its filters."""

import math
import sys
from collections import Counter
from importlib.util import find_spec

import numpy as np
import pytest

if find_spec("openvino") is None:  # an import would tell its makers
    pytest.skip("OpenVINO is not installed", allow_module_level=True)

from signspot.errors import LandmarksError, OptionsError
from signspot.io.openvino import inference_precision
from signspot.landmarks import mediapipe_networks
from signspot.landmarks.estimators import (
    HOLISTIC,
    LIPS,
    VARIABLE,
    estimating_with,
    find_estimator,
    lips_estimator,
    usual_estimator,
)
from signspot.landmarks.landmarks import concatenate
from signspot.landmarks.mediapipe_networks import BODY, FACE_DETECTOR, HAND, Detector, Region, Running
from signspot.landmarks.openvino_estimator import EXACT, Economy, OneEuro, OpenVinoEstimator, Thumbnail, refine
from signspot.video.reader import Frame
from signspot_synthetic.render.appearance import make_appearance
from signspot_synthetic.render.render import render
from tests.fixtures.signing import sign_to_film

SIZE = (256, 256)

pytestmark = pytest.mark.usefixtures("openvino_networks")


@pytest.fixture(scope="module")
def footage() -> list[Frame]:
    """A second of a signer of the synthetic corpus, in the middle of a sign."""
    landmarks = sign_to_film()[10:22]
    return [Frame(number / 25, image) for number, image in enumerate(render(landmarks, make_appearance(2), SIZE))]


@pytest.fixture
def calls(monkeypatch):
    """The number of runs of each network."""
    counted: Counter[int] = Counter()
    run = Running.__call__

    def count(self, crop):
        counted[self.size] += 1
        return run(self, crop)

    monkeypatch.setattr(Running, "__call__", count)
    return counted


def estimated(estimator, frames):
    return concatenate(list(estimator.stream(iter(frames), SIZE, 5)))


def apart(one, two):
    """The median distance of the point that differs most in a frame, in shares of the picture."""
    both = np.isfinite(one).all(axis=(1, 2)) & np.isfinite(two).all(axis=(1, 2))
    assert both.mean() > 0.7
    return float(np.median(np.abs(one - two)[both][..., :2].max(axis=(1, 2))))


def test_without_savings_it_sees_what_mediapipe_sees(footage):
    usual, direct = estimated(HOLISTIC, footage), estimated(OpenVinoEstimator(EXACT), footage)
    assert direct.times.tolist() == usual.times.tolist()
    assert apart(usual.body[:, :17], direct.body[:, :17]) < 0.02
    assert apart(usual.face, direct.face) < 0.01
    assert np.abs(usual.body[:, :17, 3] - direct.body[:, :17, 3]).max() < 0.1
    for hand in ("left_hand", "right_hand"):
        visible = [np.isfinite(getattr(landmarks, hand)).all(axis=(1, 2)) for landmarks in (usual, direct)]
        assert (visible[0] == visible[1]).mean() > 0.7


def test_the_body_is_estimated_in_every_other_frame_and_lies_between(footage, calls):
    every = estimated(OpenVinoEstimator(EXACT), footage)
    assert calls[BODY.size] >= len(footage)
    calls.clear()
    half = estimated(OpenVinoEstimator(Economy(body_every=2, still=0.0)), footage)
    assert len(half) == len(footage)
    assert half.times.tolist() == every.times.tolist()
    assert apart(every.body[:, :15], half.body[:, :15]) < 0.03
    middle = (half.body[0:-2:2, :15, :2] + half.body[2::2, :15, :2]) / 2
    assert np.allclose(half.body[1:-1:2, :15, :2], middle[: len(half.body[1:-1:2])], atol=1e-4)


def test_what_stands_still_is_estimated_once(footage, calls):
    same = [Frame(number / 25, footage[0].image.copy()) for number in range(8)]
    still = estimated(OpenVinoEstimator(Economy(body_every=1)), same)
    assert calls[HAND.size] <= 2 + 1  # each hand once, and the detector of bodies, whose input has the same size
    assert np.array_equal(still.face[0], still.face[-1], equal_nan=True)
    assert np.array_equal(still.body[0], still.body[-1])


@pytest.mark.parametrize("economy", [EXACT, Economy()])
def test_a_picture_that_is_shown_again_is_seen_once(footage, calls, economy):
    twice = [Frame(number / 25, footage[number // 2].image) for number in range(8)]
    repeated = estimated(OpenVinoEstimator(economy), twice)
    assert np.allclose(repeated.times, np.arange(8) / 25)
    assert np.array_equal(repeated.body[0::2], repeated.body[1::2])
    counted = dict(calls)
    calls.clear()
    once = estimated(OpenVinoEstimator(economy), footage[:4])
    assert calls == counted
    assert np.array_equal(repeated.body[0::2], once.body)


def test_networks_compute_in_float32():
    for network in mediapipe_networks.NETWORKS:
        assert inference_precision(Running(network).compiled) == "f32"


def test_nobody_is_seen_where_nobody_is():
    grey = [Frame(number / 25, np.full((64, 64, 3), 90, np.uint8)) for number in range(3)]
    landmarks = estimated(OpenVinoEstimator(), grey)
    assert len(landmarks) == 3
    for part in ("body", "left_hand", "right_hand", "face"):
        assert np.isnan(getattr(landmarks, part)).all()


def test_points_move_to_the_middle_of_their_heat():
    heat = np.full((64, 64, 2), -20.0, np.float32)
    heat[10, 20, 0] = heat[10, 22, 0] = 20.0  # certain, on either side of column 21
    heat[:, :, 1] = -1.0  # never certain: 0.27 everywhere
    points = np.array([[20.5 / 64, 11.2 / 64, 0.3], [0.5, 0.5, 0.1]], np.float32)
    moved = refine(points, heat)
    assert moved[0] == pytest.approx((21 / 64, 10 / 64, 0.3), abs=1e-5)
    assert moved[1] == pytest.approx(points[1])


def test_cells_tell_what_has_changed():
    picture = np.full((96, 96, 3), 100, np.uint8)
    other = picture.copy()
    other[40:44, 40:44] = 130
    one, two = Thumbnail(picture), Thumbnail(other)
    assert one.same(two, Region(20, 20, 20, 20), 6.0)
    assert not one.same(two, Region(42, 42, 10, 10), 6.0)
    assert one.same(two, Region(42, 42, 10, 10), 31.0)


def test_a_detector_has_as_many_anchors_as_its_network_has_places():
    for network, strides in ((FACE_DETECTOR, (8, 16, 16, 16)), (mediapipe_networks.BODY_DETECTOR, (8, 16, 32, 32, 32))):
        raw = Running(network)(np.zeros((network.size, network.size, 3), np.uint8))[0]
        assert len(Detector(network, strides, 2)._anchors) == len(raw)


def test_estimators_have_names(monkeypatch):
    assert find_estimator("mediapipe") is HOLISTIC is usual_estimator()
    with pytest.raises(OptionsError, match="'openpose'"):
        find_estimator("openpose")
    with estimating_with("openvino"):
        assert usual_estimator().version.startswith("openvino-")
        assert "-holistic-" in usual_estimator().version
    assert usual_estimator() is HOLISTIC
    assert lips_estimator() is LIPS is find_estimator("mediapipe-lips")
    with estimating_with("mediapipe"):  # who names an estimator gets it, for lips too
        assert lips_estimator() is HOLISTIC
    monkeypatch.setenv(VARIABLE, "nothing")
    with pytest.raises(OptionsError, match="'nothing'"):
        usual_estimator()


def test_settings_keep_landmarks_apart():
    versions = {OpenVinoEstimator(economy).version for economy in (EXACT, Economy())}
    assert len(versions | {HOLISTIC.version, LIPS.version}) == 4


def test_without_openvino_it_says_what_to_install(monkeypatch):
    mediapipe_networks._openvino.cache_clear()
    monkeypatch.setitem(sys.modules, "openvino", None)
    try:
        with pytest.raises(LandmarksError, match=r"needs OpenVINO. Install it: pip install 'signspot\[openvino\]'"):
            find_estimator("openvino")
    finally:
        mediapipe_networks._openvino.cache_clear()


def value(number):
    return np.array([number], dtype=np.float32)


def test_what_stands_still_stays_and_what_moves_is_followed():
    slow, quick = OneEuro(0.05, 80.0), OneEuro(0.05, 80.0)
    for _ in range(5):
        assert slow.step(value(3), 1.0, 1 / 30)[0] == pytest.approx(3)
    assert slow.step(value(3.0001), 1.0, 1 / 30)[0] < 3.0001 - 0.00005  # a tremor is held back
    quick.step(value(0), 1.0, 1 / 30)
    assert quick.step(value(1), 1.0, 1 / 30)[0] > 0.98  # a jump is not


def test_the_second_step_by_hand():
    """Speed 1 / (1/30) = 30, of which alpha(1 Hz) passes; the cut-off grows with it."""
    seconds = 1 / 30
    alpha = 1 / (1 + 1 / (2 * math.pi * 1.0 * seconds))
    cutoff = 0.5 + 2.0 * (alpha * 30.0)
    share = 1 / (1 + 1 / (2 * math.pi * cutoff * seconds))
    smooth = OneEuro(0.5, 2.0)
    smooth.step(value(0), 1.0, seconds)
    assert smooth.step(value(1), 1.0, seconds)[0] == pytest.approx(share, rel=1e-5)


def test_near_and_far_people_are_smoothed_alike():
    near, far = OneEuro(0.5, 2.0), OneEuro(0.5, 2.0)
    for number in (0.0, 1.0, 1.5):
        large = near.step(value(10 * number), 10.0, 1 / 30)
        small = far.step(value(number), 1.0, 1 / 30)
        assert large[0] == pytest.approx(10 * small[0], rel=1e-5)
