"""Spotting over several videos against a plain count."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from signspot.errors import OptionsError
from signspot.metrics.detection import Detection, TrueSign, by_score, detect
from signspot.types import Segment, Spotting

VIDEOS = {"one": 1800.0, "two": 900.0, "quiet": 900.0}
TENTHS = st.integers(0, 80).map(lambda n: n / 10)
WORDS = st.sampled_from(["apple", "bread", "pear"])


def spotting(word: str, video: str, time: float, score: float) -> Spotting:
    return Spotting(word, video, time, time - 0.2, time + 0.2, score)


def sign(word: str, video: str, start: float) -> TrueSign:
    return TrueSign(word, video, Segment(start, start + 0.5))


SPOTTINGS = st.lists(
    st.builds(spotting, WORDS, st.sampled_from(["one", "two"]), TENTHS, st.sampled_from([0.3, 0.6, 0.7, 0.8])),
    max_size=25,
)
SIGNS = st.lists(st.builds(sign, WORDS, st.sampled_from(["one", "two"]), TENTHS), max_size=12)


def slow_hits(spottings: list[Spotting], truths: list[TrueSign]) -> list[tuple[str, float, bool]]:
    """Word, score and whether right, over everything, the best score first."""
    free = sorted(truths, key=lambda truth: truth.segment)
    hits = []
    for one in by_score(spottings):
        near = [
            truth
            for truth in free
            if (truth.word, truth.video) == (one.word, one.video)
            and truth.segment.start - 0.2 - 1e-6 <= one.time <= truth.segment.end + 0.2 + 1e-6
        ]
        near.sort(key=lambda truth: (-one.segment.iou(truth.segment), abs(one.time - truth.segment.middle)))
        if near:
            free.remove(near[0])
        hits.append((one.word, one.score, bool(near)))
    return hits


def slow_average_precision(hits: list[tuple[float, bool]], truths: int) -> float:
    points = []
    for threshold in {score for score, _ in hits}:
        kept = [right for score, right in hits if score >= threshold]
        points.append((sum(kept), sum(kept) / len(kept)))
    return sum(max((p for n, p in points if n >= wanted), default=0.0) for wanted in range(1, truths + 1)) / truths


@settings(max_examples=150)
@given(SPOTTINGS, SIGNS)
def test_as_if_counted_plainly(spottings: list[Spotting], truths: list[TrueSign]) -> None:
    detection = detect(spottings, truths, VIDEOS)
    hits = slow_hits(spottings, truths)
    expected = {}
    for word in {truth.word for truth in truths}:
        of_word = [(score, right) for name, score, right in hits if name == word]
        expected[word] = slow_average_precision(of_word, sum(truth.word == word for truth in truths))
    assert detection.average_precision() == pytest.approx(expected)
    assert detection.hours == 1.0
    point = detection.curve().at(0.7)
    kept = [right for _, score, right in hits if score >= 0.7]
    assert (point.found, point.false_alarms) == (sum(kept), len(kept) - sum(kept))
    assert detection.curve("apple").truths == sum(truth.word == "apple" for truth in truths)


@given(SPOTTINGS, SIGNS)
def test_videos_add_up(spottings: list[Spotting], truths: list[TrueSign]) -> None:
    detection = detect(spottings, truths, VIDEOS)
    points, total = detection.by_video(0.6), detection.curve().at(0.6)
    assert points.keys() == VIDEOS.keys()
    assert sum(point.found for point in points.values()) == total.found
    assert sum(point.false_alarms for point in points.values()) == total.false_alarms
    assert sum(point.truths for point in points.values()) == total.truths
    assert points["quiet"].hours == 0.25


def test_a_sign_of_another_word_or_video_is_not_found() -> None:
    truths = [sign("apple", "one", 1.0)]
    spottings = [spotting("bread", "one", 1.2, 0.9), spotting("apple", "two", 1.2, 0.9)]
    precision = detect(spottings, truths, VIDEOS).average_precision()
    assert precision == {"apple": 0.0}  # bread is never signed: it has no average precision


def test_spans_are_measured() -> None:
    found = detect([spotting("apple", "one", 1.2, 0.9)], [sign("apple", "one", 1.0)], VIDEOS)
    assert found.curve().at(0.0).overlap == pytest.approx(0.8)


def test_nothing_is_nan() -> None:
    assert Detection().average_precision() == {}
    assert Detection().by_video(0.7) == {}


def test_mistakes_are_named() -> None:
    detection = Detection()
    detection.add("one", 60.0, [], [])
    with pytest.raises(OptionsError):
        detection.add("one", 60.0, [], [])
    with pytest.raises(OptionsError):
        detection.add("two", 60.0, [spotting("apple", "one", 1.0, 0.5)], [])
    with pytest.raises(OptionsError):
        detection.add("two", 60.0, [spotting("apple", "two", 1.0, math.nan)], [])
    with pytest.raises(OptionsError):
        detection.add("two", -1, [], [])
    with pytest.raises(OptionsError):
        detect([spotting("apple", "three", 1.0, 0.5)], [], VIDEOS)
    assert detection.hours == 60 / 3600, "a refused video leaves nothing behind"
