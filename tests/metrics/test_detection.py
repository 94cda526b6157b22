"""Spotting over several videos: matching, all thresholds at once, and totals, each against a plain count."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from signspot.errors import OptionsError
from signspot.metrics.detection import Detection, DetectionCurve, TrueSign, by_score, detect, make_curve, match
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
    for hit in by_score(spottings):
        near = [
            truth
            for truth in free
            if (truth.word, truth.video) == (hit.word, hit.video)
            and truth.segment.start - 0.2 - 1e-6 <= hit.time <= truth.segment.end + 0.2 + 1e-6
        ]
        near.sort(key=lambda truth: (-hit.segment.iou(truth.segment), abs(hit.time - truth.segment.middle)))
        if near:
            free.remove(near[0])
        hits.append((hit.word, hit.score, bool(near)))
    return hits


def slow_average_precision(hits: list[tuple[float, bool]], truths: int) -> float:
    points = []
    for threshold in {score for score, _ in hits}:
        above = [right for score, right in hits if score >= threshold]
        points.append((sum(above), sum(above) / len(above)))
    return sum(max((p for n, p in points if n >= needed), default=0.0) for needed in range(1, truths + 1)) / truths


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
    above = [right for _, score, right in hits if score >= 0.7]
    assert (point.found, point.false_alarms) == (sum(above), len(above) - sum(above))
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
    detection = detect([spotting("apple", "one", 1.2, 0.9)], [sign("apple", "one", 1.0)], VIDEOS)
    assert detection.curve().at(0.0).overlap == pytest.approx(0.8)


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
    with pytest.raises(OptionsError):
        detection.curve().at(math.nan)
    assert detection.hours == 60 / 3600, "a refused video leaves nothing behind"


Hits = list[tuple[float, bool, float]]  # score, found a sign, IoU
HITS = st.lists(st.tuples(st.sampled_from([0.1, 0.4, 0.5, 0.9]), st.booleans(), st.floats(0, 1)), max_size=15)


def curve_of(hits: Hits, truths: int, hours: float = 0.5) -> DetectionCurve:
    scores, matched, overlaps = (np.array([hit[n] for hit in hits]) for n in range(3))
    return make_curve(scores, overlaps, matched.astype(bool), truths=truths, hours=hours)


@given(HITS, st.integers(0, 4), st.sampled_from([0.0, 0.1, 0.3, 0.4, 0.9, 1.0]))
def test_one_threshold_counted_plainly(hits: Hits, missed: int, threshold: float) -> None:
    truths = sum(right for _, right, _ in hits) + missed
    point = curve_of(hits, truths).at(threshold)
    above = [hit for hit in hits if hit[0] >= threshold]
    right = [hit for hit in above if hit[1]]
    assert (point.found, point.false_alarms) == (len(right), len(above) - len(right))
    assert point.false_alarms_per_hour == (len(above) - len(right)) / 0.5
    assert math.isnan(point.precision) if not above else point.precision == len(right) / len(above)
    assert math.isnan(point.recall) if not truths else point.recall == len(right) / truths
    assert point.overlap == pytest.approx(sum(hit[2] for hit in right))


@given(HITS, st.randoms(use_true_random=False))
def test_the_order_of_spottings_does_not_matter(hits: Hits, random) -> None:
    one, other = curve_of(hits, 20), curve_of(random.sample(hits, len(hits)), 20)
    assert one.overlap.tolist() == other.overlap.tolist()
    assert one.found.tolist() == other.found.tolist()


def test_worked_by_hand() -> None:
    hits = [(0.9, True, 1), (0.8, False, 0), (0.7, True, 1), (0.6, True, 1), (0.5, False, 0)]
    # four signs: precision 1, 1/2, 2/3, 3/4, 3/5, raised from below to 1, 3/4, 3/4, 3/4, 3/5
    assert curve_of(hits, 4).average_precision == pytest.approx((1 + 3 / 4 + 3 / 4) / 4)


def test_perfect_is_exactly_one() -> None:
    assert curve_of([(n / 10, True, 1.0) for n in range(7)], 7).average_precision == 1.0


def test_nothing_at_all() -> None:
    empty = curve_of([], truths=0, hours=0)
    point = empty.at(0.7)
    assert all(math.isnan(number) for number in (point.precision, point.recall))
    assert math.isnan(point.false_alarms_per_hour)
    assert math.isnan(empty.average_precision)


def apple(time: float, score: float, half: float = 0.2, exemplar: str = "") -> Spotting:
    return Spotting("apple", "v", time, time - half, time + half, score, exemplar)


APPLES = st.lists(st.builds(apple, TENTHS, st.sampled_from([0.2, 0.5, 0.8]), st.sampled_from([0.1, 0.4])))
SEGMENTS = st.lists(
    st.builds(lambda start, length: Segment(start, start + length), TENTHS, TENTHS.map(lambda n: n / 3))
)


def slow_match(spottings: list[Spotting], truths: list[Segment]) -> list[Segment | None]:
    free = sorted(truths)
    matches: list[Segment | None] = []
    for hit in spottings:
        allowed = [sign for sign in free if sign.start - 0.2 - 1e-6 <= hit.time <= sign.end + 0.2 + 1e-6]
        allowed.sort(key=lambda sign: (-hit.segment.iou(sign), abs(hit.time - sign.middle), sign))
        if allowed:
            free.remove(allowed[0])
        matches.append(allowed[0] if allowed else None)
    return matches


@settings(max_examples=200)
@given(APPLES, SEGMENTS)
def test_as_if_every_pair_were_tried(spottings: list[Spotting], truths: list[Segment]) -> None:
    ordered = by_score(spottings)
    assert match(ordered, truths) == slow_match(ordered, truths)


@given(APPLES, SEGMENTS, st.randoms(use_true_random=False))
def test_the_order_of_records_does_not_matter(spottings, truths, random) -> None:
    shuffled = by_score(random.sample(spottings, len(spottings)))
    assert shuffled == by_score(spottings)
    assert match(shuffled, random.sample(truths, len(truths))) == match(shuffled, truths)


@given(APPLES, SEGMENTS)
def test_a_lower_threshold_changes_nothing_above_it(spottings: list[Spotting], truths: list[Segment]) -> None:
    ordered = by_score(spottings)
    high = [hit for hit in ordered if hit.score >= 0.5]
    assert match(ordered, truths)[: len(high)] == match(high, truths)


def test_the_best_score_chooses_first_and_only_once() -> None:
    worse, better = apple(1.0, 0.6), apple(1.1, 0.9)
    assert match(by_score([worse, better]), [Segment(0.9, 1.3)]) == [Segment(0.9, 1.3), None]
