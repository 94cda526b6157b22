"""Changes of features by a camera, a body and an estimator."""

import numpy as np
import pytest

from signspot.landmarks.features import LEFT_HAND, RIGHT_HAND
from signspot.training.sign_clips import Augmentation, augment

NOTHING = Augmentation(*(0.0,) * 13)


@pytest.fixture
def signing() -> np.ndarray:
    made = np.random.default_rng(0).normal(size=(6, 16, 69, 4)).astype(np.float32)
    made[..., 3] = 1
    made[:, :, LEFT_HAND] = 0
    return made


def test_nothing_changes_nothing(signing: np.ndarray) -> None:
    assert augment(signing, np.random.default_rng(1), NOTHING) == pytest.approx(signing, abs=1e-6)


def test_unseen_points_stay_at_zero_and_the_input_is_untouched(signing: np.ndarray) -> None:
    before = signing.copy()
    changed = augment(signing, np.random.default_rng(1), Augmentation())
    assert (signing == before).all()
    assert (changed[:, :, LEFT_HAND] == 0).all()
    assert (changed[changed[..., 3] == 0] == 0).all()
    assert np.isfinite(changed).all()


def test_each_clip_is_changed_in_its_own_way(signing: np.ndarray) -> None:
    same = np.repeat(signing[:1], 4, axis=0)
    changed = augment(same, np.random.default_rng(1), Augmentation(*(0.1, *(0.0,) * 12)))
    assert np.abs(changed[0] - changed[1]).max() > 1e-3


def test_a_tilt_keeps_distances(signing: np.ndarray) -> None:
    tilted = augment(signing, np.random.default_rng(1), Augmentation(*(0.3, 0.3, *(0.0,) * 11)))
    hand = signing[:, :, RIGHT_HAND, :3]
    after = tilted[:, :, RIGHT_HAND, :3]
    assert np.linalg.norm(after[:, :, 5] - after[:, :, 9], axis=-1) == pytest.approx(
        np.linalg.norm(hand[:, :, 5] - hand[:, :, 9], axis=-1), abs=1e-4
    )


def test_a_dropped_hand_goes_with_its_wrist_for_a_run(signing: np.ndarray) -> None:
    signing[..., 3] = 1
    dropped = augment(signing, np.random.default_rng(1), Augmentation(*(0.0,) * 10, 2.0, 0.0, 0.0))
    assert (dropped[..., 3] == 1).all()
    shapes = dropped[:, :, RIGHT_HAND, :2] - dropped[:, :, 6:7, :2]
    for clip, before in zip(dropped, signing, strict=True):
        changed = (np.abs(clip[:, RIGHT_HAND] - before[:, RIGHT_HAND]) > 1e-4).any(axis=(1, 2))
        assert 1 <= changed.sum() < 16
        assert np.abs(np.diff(changed.astype(int))).sum() <= 2
    steps = np.diff(shapes, n=2, axis=1)
    assert (np.abs(steps).max(axis=(2, 3)) < 1e-5).any()  # within a run a shape changes evenly


def test_a_hand_is_not_carried_to_a_wrist_that_is_not_seen(signing: np.ndarray) -> None:
    signing[..., 3] = 1
    signing[:, :, 6] = 0
    dropped = augment(signing, np.random.default_rng(1), Augmentation(*(0.0,) * 10, 2.0, 0.0, 0.0))
    missing = dropped[:, :, RIGHT_HAND, 3] == 0
    for clip in missing.all(axis=2):
        assert 1 <= clip.sum() < 16
        assert np.abs(np.diff(clip.astype(int))).sum() <= 2
