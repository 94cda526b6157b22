"""Greedy one-to-one matching against the same rule written as plainly as possible."""

from hypothesis import given, settings
from hypothesis import strategies as st

from signspot.metrics.detection import by_score, match
from signspot.types import Segment, Spotting


def spotting(time: float, score: float, half: float = 0.2, exemplar: str = "") -> Spotting:
    return Spotting("apple", "v", time, time - half, time + half, score, exemplar)


TENTHS = st.integers(0, 60).map(lambda n: n / 10)
SPOTTINGS = st.lists(st.builds(spotting, TENTHS, st.sampled_from([0.2, 0.5, 0.8]), st.sampled_from([0.1, 0.4])))
SEGMENTS = st.lists(
    st.builds(lambda start, length: Segment(start, start + length), TENTHS, TENTHS.map(lambda n: n / 3))
)


def slow_match(spottings: list[Spotting], truths: list[Segment]) -> list[Segment | None]:
    free = sorted(truths)
    found: list[Segment | None] = []
    for one in spottings:
        allowed = [sign for sign in free if sign.start - 0.2 - 1e-6 <= one.time <= sign.end + 0.2 + 1e-6]
        allowed.sort(key=lambda sign: (-one.segment.iou(sign), abs(one.time - sign.middle), sign))
        if allowed:
            free.remove(allowed[0])
        found.append(allowed[0] if allowed else None)
    return found


@settings(max_examples=200)
@given(SPOTTINGS, SEGMENTS)
def test_as_if_every_pair_were_tried(spottings: list[Spotting], truths: list[Segment]) -> None:
    ordered = by_score(spottings)
    assert match(ordered, truths) == slow_match(ordered, truths)


@given(SPOTTINGS, SEGMENTS, st.randoms(use_true_random=False))
def test_the_order_of_records_does_not_matter(spottings, truths, random) -> None:
    shuffled = by_score(random.sample(spottings, len(spottings)))
    assert shuffled == by_score(spottings)
    assert match(shuffled, random.sample(truths, len(truths))) == match(shuffled, truths)


@given(SPOTTINGS, SEGMENTS)
def test_a_lower_threshold_changes_nothing_above_it(spottings: list[Spotting], truths: list[Segment]) -> None:
    ordered = by_score(spottings)
    high = [one for one in ordered if one.score >= 0.5]
    assert match(ordered, truths)[: len(high)] == match(high, truths)


def test_the_best_score_chooses_first_and_only_once() -> None:
    worse, better = spotting(1.0, 0.6), spotting(1.1, 0.9)
    assert match(by_score([worse, better]), [Segment(0.9, 1.3)]) == [Segment(0.9, 1.3), None]
