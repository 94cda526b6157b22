"""How distinctive a wake sign is: distances by hand, chances that fall with them, and signs that serve as impostors."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from experiments.applications.signs import film
from signspot.applications.wake import (
    SIGNS_PER_HOUR,
    alarm_chance,
    among_known_signs,
    by_decoys,
    by_dictionary,
    distances_of,
    enrol,
)
from signspot.embedding.exemplars import ExemplarEmbedder, Gallery
from signspot.spotting.decoys import decoys_of
from signspot.spotting.spotter import Spotter
from signspot.types import Exemplar
from signspot_synthetic.language.lexicon import Lexicon
from tests.applications.conftest import SEED

RECORDINGS = np.zeros((2, 4, 1), np.float32)


def at(distance: float) -> NDArray[np.float32]:
    """(L, C) codes at a distance from the recordings, in all frames."""
    return np.full((4, 1), distance, np.float32)


def gallery_of(*signs: tuple[str, float]) -> Gallery:
    codes = np.stack([at(distance)[None] for _, distance in signs])
    exemplars = [Exemplar(word, f"{word} {number}") for number, (word, _) in enumerate(signs)]
    return Gallery.of(exemplars, np.ones((len(signs), 1, 1), np.float32), codes)


def test_distances_are_in_units_of_what_is_usual() -> None:
    unit = float(distances_of(RECORDINGS, 1.0, at(1.0)[None])[0])
    assert unit > 0
    assert distances_of(RECORDINGS, 0.5, at(3.0)[None])[0] == pytest.approx(6 * unit)


def test_chances_fall_with_the_distance_and_with_impostors() -> None:
    far = np.array([1.0, 1.4, 1.8, 2.5, 4.0])
    unknown, known = alarm_chance(far, impostor=False), alarm_chance(far, impostor=True)
    assert (np.diff(unknown) < 0).all()
    assert (known <= unknown).all()
    assert SIGNS_PER_HOUR * unknown[-1] < 0.1


def test_near_words_are_named_and_become_impostors_and_the_sign_itself_does_not() -> None:
    unit = float(distances_of(RECORDINGS, 1.0, at(1.0)[None])[0])
    known = gallery_of(("own", 9.0), ("own", 1.1), ("far", 4.0), ("near", 1.6), ("near", 7.0))
    found, impostors = by_dictionary(RECORDINGS, unit, known)
    assert found.same == ("own",)
    assert [(each.word, each.distance) for each in found.nearest] == [("near", 1.6), ("far", 4.0)]
    assert sorted(impostors[:, 0, 0].tolist()) == pytest.approx([1.6, 4.0, 7.0]), "no exemplar of the sign itself"
    assert found.words == 3
    expected = SIGNS_PER_HOUR * float(alarm_chance(np.array([1.6, 4.0]), impostor=True).mean())
    assert found.per_hour == pytest.approx(expected, rel=1e-3)
    alone, none = by_dictionary(RECORDINGS, unit, gallery_of(("own", 1.0)))
    assert (alone.per_hour, alone.nearest, len(none)) == (0.0, (), 0)


def test_decoys_that_crowd_about_the_sign_mean_more_alarms() -> None:
    unit = float(distances_of(RECORDINGS, 1.0, at(1.0)[None])[0])
    rates = []
    for nearest in (1.5, 2.0, 3.0):
        decoys = np.stack([at(far) for far in np.geomspace(nearest, 2 * nearest, 60)])
        found = by_decoys(RECORDINGS, unit, decoys, list(range(60)))
        assert (found.words, found.by_dictionary, found.same) == (60, False, ())
        rates.append(found.per_hour)
    assert rates[0] > 5 * rates[1] > 25 * rates[2]


def test_enrolment_tells_the_sign_from_its_neighbours(spotter: Spotter, words: Lexicon) -> None:
    first, second, *_ = [entry.variants[0] for entry in words.values()]
    recordings = [film(first, SEED, "user", 2, number) for number in range(3)]
    clips = {"first": film(first, SEED, "dictionary", 1), "second": film(second, SEED, "dictionary", 2)}
    embedder = ExemplarEmbedder(spotter.encoder, spotter.cache)
    views = [embedder.embed_source(clip) for clip in clips.values()]
    codes = np.stack([each.codes for each in views if each.codes is not None])
    known = Gallery.of([Exemplar(word, word) for word in clips], np.stack([each.embeddings for each in views]), codes)
    sign, told = (enrol(spotter, recordings, rate=60.0, dictionary=signs) for signs in (None, known))
    assert sign.distinct is not None
    assert told.distinct is not None
    assert (sign.distinct.by_dictionary, told.distinct.by_dictionary) == (False, True)
    assert sign.distinct.words == len(np.unique(decoys_of(spotter.encoder).words))  # type: ignore[union-attr]
    assert [each.word for each in told.distinct.nearest][-1] == "second"
    assert len(told.impostors) > len(sign.impostors)
    loose = among_known_signs(spotter.encoder, replace(sign, usual=1e9), known)
    assert loose.distinct is not None
    assert set(loose.distinct.same) == set(clips), "where everything is usual, nothing is told apart"
    assert len(loose.impostors) == len(sign.impostors)
