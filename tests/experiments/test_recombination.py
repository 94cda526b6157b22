"""New signs from real ones."""

from dataclasses import fields

import numpy as np
import pytest

from experiments.isolated.recombination import (
    Clips,
    RealWords,
    Recombinations,
    SignRecipe,
    collect,
    move,
    transplant,
    with_left_arm,
)
from signspot.landmarks.features import LEFT_HAND, RIGHT_HAND, WRISTS, mirror_features


def shape_of(features: np.ndarray) -> np.ndarray:
    hand = features[:, RIGHT_HAND, :3]
    return hand - hand[:, :1]


def test_a_transplant_has_the_shape_of_one_and_the_path_of_the_other(clips: Clips) -> None:
    donor, path = clips[1][1][0], clips[1][2][0][:20]
    made = transplant(donor, path)
    assert made.shape == path.shape
    assert shape_of(made) == pytest.approx(shape_of(donor)[:20], abs=1e-5)
    assert made[:, RIGHT_HAND.start, :2] == pytest.approx(path[:, RIGHT_HAND.start, :2])
    assert made[:, WRISTS[1]] == pytest.approx(path[:, WRISTS[1]])


def test_a_hand_that_the_path_does_not_show_stays_unseen(clips: Clips) -> None:
    path = clips[1][2][0].copy()
    path[5:9, RIGHT_HAND] = 0
    made = transplant(clips[1][1][0], path)
    assert (made[5:9, RIGHT_HAND] == 0).all()
    assert (made[:5, RIGHT_HAND, 3] == 1).all()


def test_moving_shifts_hands_and_scales_paths_only(clips: Clips) -> None:
    before = clips[1][1][0]
    after = move(before, (0.3, -0.2), 2.0)
    wrist, moved = before[:, WRISTS[1], :2], after[:, WRISTS[1], :2]
    assert moved.mean(axis=0) - wrist.mean(axis=0) == pytest.approx([0.3, -0.2], abs=1e-5)
    assert np.ptp(moved, axis=0) == pytest.approx(2 * np.ptp(wrist, axis=0), abs=1e-5)
    assert (after[:, :3] == before[:, :3]).all()
    assert shape_of(after) == pytest.approx(shape_of(before), abs=1e-5)


@pytest.mark.parametrize("kind", [Recombinations, RealWords])
def test_every_sign_is_performed_by_different_signers_and_seeded(clips: Clips, kind: type) -> None:
    drawn = kind(clips).draw(np.random.default_rng(3), 4, 3)
    assert [len(sign) for sign in drawn] == [3] * 4
    for sign in drawn:
        assert len({performance.signer for performance in sign}) == 3
    again = kind(clips).draw(np.random.default_rng(3), 4, 3)
    for one, two in zip(drawn, again, strict=True):
        for a, b in zip(one, two, strict=True):
            assert (a.features == b.features).all()


def test_collecting_sorts_by_signer_and_word() -> None:
    one, two = np.zeros((1, 1, 1), np.float32), np.ones((1, 1, 1), np.float32)
    found = collect([(1, 5, one), (1, 5, two), (2, 5, one)])
    assert {s: {w: len(c) for w, c in words.items()} for s, words in found.items()} == {1: {5: 2}, 2: {5: 1}}


def test_real_words_never_come_twice_in_a_batch(clips: Clips) -> None:
    """Two words and their mirror images: four signs, however many are asked for."""
    assert len(RealWords(clips).draw(np.random.default_rng(0), 9, 2)) == 4


def test_a_left_arm_is_taken_over_in_its_own_time(clips: Clips) -> None:
    features, donor = clips[1][1][0], mirror_features(clips[2][2][0][:17])
    made = with_left_arm(features, donor)
    assert made.shape == features.shape
    assert made[[0, -1]][:, WRISTS[0]] == pytest.approx(donor[[0, -1]][:, WRISTS[0]], abs=1e-5)
    assert (made[:, LEFT_HAND, 3] == 1).all()
    assert (made[:, RIGHT_HAND] == features[:, RIGHT_HAND]).all()


def test_some_signs_have_two_hands_and_some_differ_from_the_one_before_in_one_parameter(clips: Clips) -> None:
    source = Recombinations(clips)
    drawn = source.draw(np.random.default_rng(0), 60, 1)
    seen = [sign[0].features[:, [LEFT_HAND.start, RIGHT_HAND.start], 3].mean(axis=0) for sign in drawn]
    both = [bool((share > 0.5).all()) for share in seen]
    assert 0.15 < np.mean(both) < 0.7
    random = np.random.default_rng(1)
    for _ in range(40):
        recipe = source._invent(random)
        changed = source._vary(recipe, random)
        names = [
            field.name for field in fields(SignRecipe) if getattr(recipe, field.name) != getattr(changed, field.name)
        ]
        assert len(names) <= 1
        assert names == [] or names[0] in ("hands", "path", "shift", "other")
