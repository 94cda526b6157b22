"""Feedback for a learner: whether a sign was right, and which parameter differs."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from experiments.applications.feedback import alter
from experiments.applications.synthetic_signs import perform
from signspot.applications.feedback import (
    DISSIMILARITY,
    MOST,
    dissimilarity,
    draw_feedback,
    error_classifier,
    feedback_lines,
    feedback_on,
    find_differences,
    frames_that_differ,
    give_feedback,
    is_right,
    measure_sign,
    strengths,
)
from signspot.applications.performance_differences import (
    DescribedHand,
    DescribedSign,
    MovementSegment,
    compare,
    count_ways,
    describe_sign,
)
from signspot.applications.sign_comparison import read_sign
from signspot.dictionary.dictionary import Dictionary
from signspot.embedding.exemplars import Gallery, SignViews
from signspot.errors import NoHandsError, UnknownWordError
from signspot.landmarks.features import LEFT_HAND, RIGHT_HAND
from signspot.landmarks.pose_file import open_landmarks
from signspot.plots.plot import save_figure
from signspot.spotting.spotter import Match, Spotter
from signspot.types import Exemplar
from signspot_synthetic.language.lexicon import Lexicon
from tests.applications.conftest import SEED

HAND = DescribedHand(np.ones(100, bool), np.zeros((100, 2)), np.zeros(100), np.zeros((100, 30)), np.zeros((100, 3, 3)))


def test_the_sign_itself_is_right_and_another_is_not(
    spotter: Spotter, gallery: Gallery, words: Lexicon, clip: tuple[str, Path], tmp_path: Path
) -> None:
    word, path = clip
    frames = read_sign(spotter, path)
    feedback = feedback_on(spotter, (path, frames), word, gallery)
    takes = [perform(words[word].variants[0], SEED, "pupil", number) for number in range(3)]
    results = [feedback_on(spotter, (take, read_sign(spotter, take)), word, gallery) for take in takes]
    assert sum(result.right for result in results) >= 2, [result.doubt for result in results]
    assert feedback.rank == 1
    assert not feedback.instead
    other = next(entry for entry in words if entry != word)
    wrong = feedback_on(spotter, (path, frames), other, gallery)
    assert not wrong.right
    assert wrong.instead[0].word == word
    assert word in "".join(feedback_lines(wrong))
    assert wrong.as_dict()["rank"] == wrong.rank > 1
    assert save_figure(draw_feedback(wrong), tmp_path / "f.png").stat().st_size > 5_000
    pictures = (np.full((60, 80, 3), 200, np.uint8), None)
    alone, with_frame = draw_feedback(wrong), draw_feedback(wrong, pictures)
    assert len(with_frame.axes) == len(alone.axes) + 1
    assert with_frame.axes[-1].images
    assert frames_that_differ(spotter, path, wrong) == (None, None), "landmarks have no frames"
    assert {difference.parameter for difference in feedback.differences} >= {
        "handshape",
        "location",
        "orientation",
        "movement",
        "timing",
    }
    assert max(wrong.differences[0].at) < max(len(wrong.clip_sign), len(wrong.exemplar_sign))


def test_a_changed_parameter_is_named(words: Lexicon, spotter: Spotter) -> None:
    """Of one sign with other orientation and with a second hand, by the same signer as the example."""
    named = []
    few = {word: words[word] for word in list(words)[:4]}
    for word, error, sign in alter(few, SEED):  # type: ignore[arg-type]
        if error in ("orientation", "hands"):
            clips = [perform(performed, SEED, "same") for performed in (sign, words[word].variants[0])]
            one, other = (describe_sign(read_sign(spotter, clip)) for clip in clips)
            measured = measure_sign(one, [other])
            differences = find_differences(measured, strengths(measured), one, other)
            named.append(differences[0].parameter == error_classifier().errors[error])
    assert len(named) > 3
    assert np.mean(named) > 0.7


def test_equal_signs_do_not_differ(spotter: Spotter, clip: tuple[str, Path]) -> None:
    frames = read_sign(spotter, clip[1])
    sign = describe_sign(frames)
    differences = compare(sign, sign)
    assert set(differences) == set(error_classifier().measures) - {DISSIMILARITY}
    assert {
        name: measured.value for name, measured in differences.items() if measured.value >= 0.03 and name != "direction"
    } == {}
    hidden = frames.copy()
    hidden[:, [*range(LEFT_HAND.start, RIGHT_HAND.stop)], 3] = 0
    assert compare(describe_sign(hidden), sign)["hand"].value > 0.5
    assert set(compare(describe_sign(hidden), sign)) == {"hand", "height"}  # there is no segment to compare


def _performed(path: np.ndarray, turns: float = 0.0) -> MovementSegment:
    """A hand that goes along a (n, 2) path, and turns to and fro about its first axis."""
    angles = turns * np.sin(np.linspace(0, 4 * np.pi, len(path)))
    zeros, ones = np.zeros(len(path)), np.ones(len(path))
    palm = np.stack([
        np.stack([ones, zeros, zeros], -1),
        np.stack([zeros, np.cos(angles), np.sin(angles)], -1),
        np.stack([zeros, -np.sin(angles), np.cos(angles)], -1),
    ], axis=1)  # fmt: skip
    return MovementSegment(np.arange(len(path)), path, zeros, np.zeros((len(path), 30)), palm)


def test_a_stroke_in_numbers() -> None:
    """A way of 0.4 gone once and three times, to and fro; a circle of radius 0.2; a palm that turns by 0.3."""
    way = np.linspace(0, 0.4, 20)
    once = _performed(np.stack([way, 0 * way], axis=1))
    thrice = _performed(np.stack([np.concatenate([way, way[::-1]] * 3)[:100], np.zeros(100)], axis=1))
    assert (once.ways, thrice.ways) == (1, 5)
    assert once.cycles == pytest.approx(0.4 / 0.45)
    assert thrice.cycles == pytest.approx(5 * 0.4 / 0.45)
    angle = np.linspace(0, 2 * np.pi, 60)
    circle = _performed(0.2 * np.stack([np.cos(angle), np.sin(angle)], axis=1))
    assert circle.round == pytest.approx(0.2 * np.pi**0.5, rel=0.01)
    assert _performed(circle.location[::-1]).round == pytest.approx(-circle.round)
    turned = _performed(np.stack([way, 0 * way], axis=1), turns=0.3)
    assert np.abs(turned.turning).max(axis=0) == pytest.approx([np.sin(0.3), 0, 0], abs=0.02)
    sign = DescribedSign(100, (HAND, HAND), (None, once))
    again = compare(replace(sign, segments=(None, thrice)), sign)
    assert again["cycles"].value == pytest.approx(np.log((2 / 0.45 + 0.3) / (0.4 / 0.45 + 0.3)))
    assert again["ways"].value == pytest.approx(np.log(6 / 2))
    backwards = compare(replace(sign, segments=(None, _performed(once.location[::-1]))), sign)
    assert backwards["direction"].value > 1.5
    assert backwards["location"].value == pytest.approx(0)


def test_ways_are_counted_by_what_goes_back_far_enough() -> None:
    assert count_ways(np.array([0.0, 1, 0.9, 2, 0, 0.3]), 0.1) == 2
    assert count_ways(np.array([0.0, 1, 0.9, 2, 0, 0.8]), 0.1) == 3
    assert count_ways(np.zeros(4), 0.1) == 0


def test_log_odds_add_up_and_doubt_is_of_any_error() -> None:
    classifier = error_classifier()
    usual, more = classifier.log_odds({}), classifier.log_odds({"cycles": 3.0, DISSIMILARITY: float("nan")})
    assert more["repetition"] - usual["repetition"] == pytest.approx(3 * classifier.weight("cycles", "repetition"))
    assert classifier.log_odds({"cycles": 50.0}) == classifier.log_odds({"cycles": MOST})
    assert max(more, key=more.__getitem__) == "repetition"
    assert classifier.doubt(usual) < 0 < classifier.doubt(classifier.log_odds({"cycles": 6.0, "ways": 6.0}))
    assert classifier.doubt(usual) + classifier.limit == pytest.approx(np.log(np.exp(list(usual.values())).sum()))


def test_a_clip_without_hands_is_refused(spotter: Spotter, dictionary: Dictionary, clip: tuple[str, Path]) -> None:
    sign = open_landmarks(clip[1])
    blind = replace(
        sign, left_hand=np.full_like(sign.left_hand, np.nan), right_hand=np.full_like(sign.right_hand, np.nan)
    )
    with pytest.raises(NoHandsError):
        give_feedback(spotter, blind, clip[0], dictionary)
    with pytest.raises(UnknownWordError):
        give_feedback(spotter, sign, "nothing", dictionary)


def test_a_sign_is_right_by_how_its_exemplars_differ() -> None:
    """Codes on a line: exemplars at 0, 1 and 2 differ by 1, 2 and 1 on average 4/3, and count beside 3 x 4.2."""
    codes = np.zeros((3, 1, 4, 1), np.float32) + np.arange(3, dtype=np.float32)[:, None, None, None]
    exemplars = [Exemplar("w", str(number)) for number in range(3)]
    gallery = Gallery.of(exemplars, np.eye(3, dtype=np.float32)[:, None], codes)
    match = Match("w", 0.9, "0")
    expected = (4 + 3 * 4.2) / 6
    for level, cost in ((1.0, 2 / 3), (9.0, 8.0)):
        sign = SignViews(np.eye(3, dtype=np.float32)[:1], np.full((1, 4, 1), level, np.float32))
        assert dissimilarity(sign, gallery, match, 4.2) == pytest.approx(cost / expected / 1.19)
    same = [replace(exemplar, signer="one") for exemplar in exemplars]  # how one signer varies says nothing of another
    alone = Gallery.of(same, np.eye(3, dtype=np.float32)[:, None], codes)
    assert dissimilarity(sign, alone, match, 4.2) == pytest.approx(8 / 4.2 / 1.19)
    assert np.isnan(dissimilarity(SignViews(np.eye(3, dtype=np.float32)[:1], None), gallery, match, 4.2))
    assert is_right(1, 0.9, 0.0)
    assert not is_right(1, 0.9, 0.01)
    assert not is_right(1, 0.49, 0.0)
    assert not is_right(2, 0.9, 0.0)
