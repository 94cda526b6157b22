"""Exemplars that are no good: of one frame, of a minute, of hands at rest, with a hand or a face that is never seen."""

import logging
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from signspot.landmarks.landmarks import Landmarks
from signspot.landmarks.pose_file import write_landmarks
from signspot.spotting.alignment import warping_costs
from signspot.spotting.decoys import cohort_of
from signspot.spotting.spotter import Spotter, load
from signspot.types import Exemplar
from tests.fixtures.spotting import Stretch


@pytest.fixture(scope="module")
def spotter() -> Spotter:
    return load("warping", cache=False)


def exemplars(folder: Path, **shown: Landmarks) -> list[Exemplar]:
    return [Exemplar(word, word, write_landmarks(seen, folder / f"{word}.pose")) for word, seen in shown.items()]


def at_rest(seen: Landmarks, seconds: float = 2.0) -> Landmarks:
    """The same person, arms down, swaying a little."""
    frames = round(seconds * seen.fps)
    still = replace(seen.at(np.linspace(0, 1e-6, frames)), times=np.arange(frames) / seen.fps)
    body = still.body.copy()
    down = body[0, [11, 12], 1].mean() + 2.0 * abs(body[0, 11, 0] - body[0, 12, 0])
    body[:, 13:23, 1] = down + 0.01 * np.sin(np.arange(frames) / 5)[:, None]
    hands = [hand.copy() for hand in (still.left_hand, still.right_hand)]
    for hand in hands:
        hand[..., 1] = down
    return replace(still, body=body, left_hand=hands[0], right_hand=hands[1])


def test_an_exemplar_of_hands_at_rest_is_named_and_counts_less(
    spotter: Spotter, stretch: Stretch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    apple = stretch.exemplars["apple"]
    with caplog.at_level(logging.WARNING):
        gallery = spotter.gallery(exemplars(tmp_path, apple=apple, lazy=at_rest(apple)))
    assert [(each.exemplar.word, each.matches) for each in spotter.suspects(gallery)] == [("lazy", "rest")]
    assert "exemplar 'lazy' of 'lazy' matches rest: it counts less" in caplog.text
    rested = at_rest(apple, 8.0)
    best = spotter.search(rested, gallery).best
    assert best["lazy"].score < 0.7  # it is that very posture, and would score 1


def test_an_exemplar_near_to_everything_is_named(spotter: Spotter, stretch: Stretch, tmp_path: Path) -> None:
    gallery = spotter.gallery(exemplars(tmp_path, **stretch.exemplars))
    resting = [(each.exemplar.word, each.matches) for each in spotter.suspects(gallery)]
    assert resting == [("river", "rest")]  # which is signed below the waist: to this encoder it is nothing else
    assert gallery.codes is not None
    cohort = cohort_of(spotter.encoder)
    assert cohort is not None
    decoys = cohort.codes[:, 0]
    costs = warping_costs(decoys, decoys)
    amid = int(np.sort(costs, axis=1)[:, :16].mean(axis=1).argmin())
    blurred = decoys[costs[amid].argsort()[:15]].mean(axis=0, keepdims=True)  # a little of many signs
    everything = replace(gallery, codes=np.concatenate([blurred, gallery.codes[1:]]).astype(np.float32))
    named = [(each.exemplar.word, each.matches) for each in spotter.suspects(everything)]
    assert (gallery.exemplars[0].word, "everything") in named


def test_an_exemplar_of_one_frame_is_a_posture(spotter: Spotter, stretch: Stretch, tmp_path: Path) -> None:
    apple = stretch.exemplars["apple"]
    gallery = spotter.gallery(exemplars(tmp_path, apple=apple.at(np.array([len(apple) / 2 / apple.fps]))))
    assert gallery.codes is not None
    assert np.ptp(gallery.codes, axis=1).max() == pytest.approx(0, abs=1e-5)  # it does not move
    best = spotter.search(stretch.footage, gallery).best["apple"]
    assert 0 <= best.score <= 1


def test_an_exemplar_of_a_minute_is_searched(spotter: Spotter, stretch: Stretch, tmp_path: Path) -> None:
    apple = stretch.exemplars["apple"]
    slow = apple.at(np.linspace(0, (len(apple) - 1) / apple.fps, 1500))
    gallery = spotter.gallery(exemplars(tmp_path, apple=replace(slow, times=np.arange(1500) / 25)))
    found = spotter.search(stretch.footage, gallery)
    assert 0 <= found.best["apple"].score <= 1
    assert found.best["apple"].end - found.best["apple"].start < 3


@pytest.mark.parametrize("missing", ["left_hand", "right_hand", "face"])
def test_an_exemplar_with_a_part_never_seen_is_searched(
    spotter: Spotter, stretch: Stretch, tmp_path: Path, missing: str
) -> None:
    apple = stretch.exemplars["apple"]
    unseen = {missing: np.full_like(getattr(apple, missing), np.nan)}
    gallery = spotter.gallery(exemplars(tmp_path, apple=replace(apple, **unseen)))
    assert gallery.codes is not None
    assert np.isfinite(gallery.codes).all()
    best = spotter.search(stretch.footage, gallery).best["apple"]
    assert np.isfinite(best.score)


def test_a_dictionary_of_one_word_is_read_against_shipped_decoys(
    spotter: Spotter, stretch: Stretch, tmp_path: Path
) -> None:
    gallery = spotter.gallery(exemplars(tmp_path, apple=stretch.exemplars["apple"]))
    rate = spotter.search(stretch.footage, gallery).best["apple"].false_alarms_per_hour
    assert rate is not None
    assert rate > 0
