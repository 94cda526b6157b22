"""Projection and depth; the faults of an estimator: as large as asked for, the same for the same seed."""

from dataclasses import replace

import numpy as np
import pytest

from signspot.errors import OptionsError
from signspot.landmarks.landmarks import Landmarks
from signspot_synthetic.body.motion import continuous, isolated
from signspot_synthetic.body.signers import Camera, make_signers
from signspot_synthetic.difficulty_knobs import Knobs
from signspot_synthetic.language.lexicon import LexiconOptions, make_lexicon
from signspot_synthetic.language.phonology import Sign
from signspot_synthetic.observation import GLOVED, NoiseOptions, draw_runs, draw_shivers, observe, project, slow_drift

SIGNER = make_signers(1, 1, "test", left_share=0)[0]
MOTION = isolated(Sign(), SIGNER, np.random.default_rng(0))[0]
CAMERA = Camera(distance=2.5, height=1.2)


def test_the_signer_faces_the_camera_upright():
    body = project(MOTION, CAMERA).body[0]
    assert body[11, 0] > body[12, 0]  # the left shoulder is at the image's right
    assert body[0, 1] < body[11, 1] < body[23, 1]  # nose above shoulders above hips
    assert body[0, 2] < body[11, 2]  # the nose is nearer
    assert (body[:, 3] == 1).all()


def test_size_follows_what_is_seen():
    wide = project(MOTION, CAMERA, (960, 480)).body
    tall = project(MOTION, CAMERA, (480, 960)).body
    width = SIGNER.proportions.shoulders / CAMERA.height
    across = (wide[0, 11, 0] - wide[0, 12, 0]) * 2  # in image heights
    assert np.isclose(across, width, rtol=0.12)
    assert np.allclose(wide[..., 1], tall[..., 1])  # the height seen stays
    assert np.allclose((wide[..., 0] - 0.5) * 4, tall[..., 0] - 0.5, atol=1e-5)


def test_depth_has_the_origins_of_the_estimator():
    landmarks = project(MOTION, CAMERA)
    assert np.allclose(landmarks.body[:, 23:25, 2].mean(axis=1), 0, atol=1e-5)
    assert np.allclose(landmarks.right_hand[:, 0, 2], 0, atol=1e-6)
    assert np.allclose(landmarks.face[..., 2].mean(axis=1), 0, atol=1e-5)


def test_a_low_camera_sees_the_chin_nearer_to_the_nose():
    def nose_above_chin(camera):
        face = project(MOTION, camera).face[0]
        points = dict(zip(MOTION.face_points, face, strict=True))
        return (points[152][1] - points[4][1]) / (points[152][1] - points[10][1])

    assert nose_above_chin(replace(CAMERA, elevation=-0.4)) > nose_above_chin(CAMERA)


def test_roll_turns_the_image_about_its_middle():
    level, rolled = (project(MOTION, replace(CAMERA, roll=r), (500, 500)).body[0, :, :2] - 0.5 for r in (0.0, 0.2))
    assert np.allclose(np.linalg.norm(level, axis=1), np.linalg.norm(rolled, axis=1), atol=1e-5)
    assert not np.allclose(level, rolled, atol=0.01)


def test_an_image_needs_pixels():
    with pytest.raises(OptionsError, match="0 × 480"):
        project(MOTION, CAMERA, (0, 480))


LEXICON = make_lexicon(LexiconOptions(words=80, seed=3))
SECOND_SIGNER = make_signers(1, 3, "test", left_share=0)[0]
SIGNS = [e.variants[0] for e in LEXICON.values()]
SIGNING = continuous(SIGNS, SECOND_SIGNER, np.random.default_rng(1), Knobs())[0]
EXACT = project(SIGNING, Camera(2.5, 1.3, aim=(0.0, 0.1)))


def hand_visible(landmarks):
    return np.isfinite(landmarks.right_hand[:, 0, 0])


def test_no_strength_changes_nothing():
    assert observe(EXACT, np.random.default_rng(0), NoiseOptions(strength=0)) is EXACT


def test_bodies_are_always_there_hands_nearly_and_gloved_ones_less():
    bare, gloved = (observe(EXACT, np.random.default_rng(0), n) for n in (NoiseOptions(), GLOVED))
    assert np.isfinite(bare.body).all()
    assert 0.85 < hand_visible(bare).mean() < 0.99
    assert 0.55 < hand_visible(gloved).mean() < hand_visible(bare).mean() - 0.05
    faces = [np.isfinite(observe(EXACT, np.random.default_rng(i)).face[:, 0, 0]).mean() for i in range(4)]
    assert 0.97 < np.mean(faces) < 1
    assert ((bare.body[..., 3] >= 0) & (bare.body[..., 3] <= 1)).all()


def test_a_hand_is_seen_as_a_whole_or_not_at_all():
    visible = np.isfinite(observe(EXACT, np.random.default_rng(0), GLOVED).right_hand)
    assert (visible.all(axis=(1, 2)) == visible.any(axis=(1, 2))).all()


def test_hands_outside_the_image_are_missed_and_legs_not_believed():
    near = project(SIGNING, Camera(1.0, 0.5, aim=(0.0, -0.15)))
    landmarks = observe(near, np.random.default_rng(0))
    outside = near.right_hand[:, :, 1].min(axis=1) > 1.1
    assert outside.any()
    assert not hand_visible(landmarks)[outside].any()
    assert landmarks.body[:, 27:, 3].max() < 0.05


def test_fast_hands_are_missed_more_often():
    fast = replace(GLOVED, drop_rate=0.0, drop_overlap=0.0)
    speed = np.linalg.norm(np.gradient(EXACT.right_hand[:, 0, :2], axis=0), axis=1)
    inside = EXACT.right_hand[..., 1].max(axis=1) < 0.95
    missed = np.mean([~hand_visible(observe(EXACT, np.random.default_rng(seed), fast)) for seed in range(8)], axis=0)
    slow = speed < np.median(speed)
    assert missed[inside & ~slow].mean() > 1.3 * missed[inside & slow].mean()


def test_jitter_is_small_at_rest_and_larger_in_motion():
    parts = [np.repeat(p[:1], 400, axis=0) for p in (EXACT.body, EXACT.left_hand, EXACT.right_hand, EXACT.face)]
    still = Landmarks(*parts, np.arange(400) / 25, EXACT.size)  # type: ignore[call-arg]
    never = NoiseOptions(drop_rate=0, drop_overlap=0, duplicate_rate=0, swap_rate=0)

    def shiver(landmarks, exact):
        error = (landmarks.right_hand - exact.right_hand)[..., :2]
        step = np.diff(error, axis=0)
        return np.nanmedian(np.abs(step[:, 8]))

    at_rest = shiver(observe(still, np.random.default_rng(0), never), still)
    moving = shiver(observe(EXACT, np.random.default_rng(0), never), EXACT)
    assert 0 < at_rest < 0.004
    assert moving > 1.5 * at_rest


def test_strength_scales_the_error():
    quiet = NoiseOptions(depth_gain=1, drop_rate=0, drop_rate_motion=0, drop_overlap=0, duplicate_rate=0, swap_rate=0)
    errors = [
        np.abs(observe(EXACT, np.random.default_rng(0), replace(quiet, strength=s)).body[..., :2] - EXACT.body[..., :2])
        for s in (0.5, 1.0, 2.0)
    ]
    assert np.allclose(errors[1].mean() / errors[0].mean(), 2, rtol=0.05)
    assert np.allclose(errors[2].mean() / errors[1].mean(), 2, rtol=0.05)


def test_mixed_up_hands_show_the_other_one():
    often = NoiseOptions(drop_rate=0, drop_rate_motion=0, drop_overlap=0, duplicate_rate=1.0, swap_rate=0)
    landmarks = observe(EXACT, np.random.default_rng(0), often)
    same = np.nan_to_num((landmarks.left_hand == landmarks.right_hand).all(axis=(1, 2)))
    apart = np.linalg.norm((EXACT.left_hand - EXACT.right_hand)[:, 0, :2], axis=1)
    assert same.any()
    assert apart[same].mean() < apart[~same].mean()


def test_misses_come_in_runs_of_the_asked_length():
    rng = np.random.default_rng(0)
    mask = draw_runs(np.full(60_000, 0.005), 6.0, rng)
    edges = np.diff(np.concatenate([[0], mask.astype(int), [0]]))
    lengths = np.flatnonzero(edges == -1) - np.flatnonzero(edges == 1)
    assert 5.5 < lengths.mean() < 7.0


def test_noise_has_unit_size_and_its_own_memory():
    rng = np.random.default_rng(0)
    for track in (draw_shivers(4000, (6,), rng, 0.4), slow_drift(4000, (6,), rng, 0.1)):
        assert 0.85 < track.std() < 1.15
    slow = slow_drift(4000, (6,), rng, 0.1)
    assert np.diff(slow, axis=0).std() < 0.3


def test_negative_noise_is_refused():
    with pytest.raises(OptionsError, match="drop_rate"):
        NoiseOptions(drop_rate=-1)
