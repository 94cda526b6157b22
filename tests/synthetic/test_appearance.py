import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from signspot.errors import OptionsError
from signspot_synthetic.render.appearance import CLOTHES_COLOURS, SKIN_TONES, colour_distance, make_appearance


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**62), skin=st.integers(0, len(SKIN_TONES) - 1))
def test_hands_stand_out_from_clothes_and_wall_whatever_the_seed(seed, skin):
    appearance = make_appearance(seed, skin=skin)
    assert appearance.skin == SKIN_TONES[skin]
    assert colour_distance(appearance.skin, appearance.clothes) >= 42
    assert colour_distance(appearance.skin, appearance.backdrop_colour) >= 26
    assert np.linalg.norm(appearance.light) == pytest.approx(1)
    assert appearance.light[2] < 0


def test_the_same_seed_gives_the_same_appearance_and_others_differ():
    assert make_appearance(5) == make_appearance(5)
    assert len({make_appearance(seed) for seed in range(20)}) == 20


def test_every_skin_tone_every_hair_and_every_backdrop_is_met():
    people = [make_appearance(seed) for seed in range(300)]
    assert {person.skin for person in people} == set(SKIN_TONES)
    assert len({person.hair for person in people}) == 8
    assert len({person.backdrop for person in people}) == 4
    assert len({person.clothes for person in people}) == len(CLOTHES_COLOURS)


def test_a_given_skin_tone_changes_nothing_that_does_not_depend_on_it():
    usual = make_appearance(3)
    other = make_appearance(3, skin=(SKIN_TONES.index(usual.skin) + 5) % 10)
    assert (other.light, other.hair, other.sleeves, other.build) == (
        usual.light,
        usual.hair,
        usual.sleeves,
        usual.build,
    )


def test_the_distance_of_colours_is_that_of_cie_lab():
    assert colour_distance((0, 0, 0), (255, 255, 255)) == pytest.approx(100, abs=0.05)
    assert colour_distance((10, 200, 30), (10, 200, 30)) == 0
    assert colour_distance((255, 0, 0), (0, 255, 0)) == pytest.approx(170.6, abs=0.5)


def test_no_beard_under_a_headscarf():
    people = [make_appearance(seed) for seed in range(400)]
    assert any(person.beard > 0 for person in people)
    assert all(person.beard == 0 for person in people if person.hair in ("headscarf", "bun", "long", "bob"))


@pytest.mark.parametrize("skin", [-1, 10])
def test_an_unknown_skin_tone_is_refused(skin):
    with pytest.raises(OptionsError, match="0 to 9"):
        make_appearance(1, skin=skin)
