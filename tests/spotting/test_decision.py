"""The decision: how many false alarms are allowed, which words win a location, how sure spottings are."""

from dataclasses import replace

import pytest

from signspot.spotting.decision import SEARCH_RATE, WORD_RATE, allowed_rate, decide, with_confidence
from signspot.spotting.spot_options import SpotOptions
from signspot.types import Spotting


def hit(word: str, time: float, rate: float | None, score: float = 0.9) -> Spotting:
    return Spotting(word, "v", time, time - 0.2, time + 0.2, score, false_alarms_per_hour=rate)


def confidences(hits: list[Spotting], words: int, seconds: float = 3600.0) -> list[str]:
    return [decided.confidence for decided in with_confidence(hits, words, seconds)]


def test_the_budget_of_words_that_compete_is_for_the_whole_search() -> None:
    assert allowed_rate(SpotOptions(), 1) == WORD_RATE
    assert allowed_rate(SpotOptions(), 1000) == SEARCH_RATE / 1000
    assert allowed_rate(SpotOptions(compete=False), 1000) == WORD_RATE
    assert not SpotOptions(threshold=0.5).competes
    assert SpotOptions(threshold=0.5, compete=True).competes
    assert allowed_rate(SpotOptions(false_alarms_per_hour=3.0), 1000) == 3.0


def test_confidence_is_the_share_that_chance_explains() -> None:
    """In an hour, 100 words: rates of 0.001, 0.003, 0.02, 0.1 are 0.1, 0.3, 2, 10 false alarms in all."""
    several = [hit("a", 1, 0.001), hit("a", 2, 0.003), hit("b", 3, 0.02), hit("c", 4, 0.1)]
    assert confidences(several, 100) == ["sure", "sure", "check", "check"]  # 0.1 / 1, 0.3 / 2, 2 / 3, 10 / 4
    assert confidences([hit("a", 1, 0.003)], 100) == ["likely"]
    assert confidences([hit("a", 1, None)], 1) == [""]


def test_a_search_of_a_long_video_counts_as_one_for_twenty_words() -> None:
    """A word alone with 0.3 false alarms in all: likely in a minute, in two minutes and more as if there were 6."""
    for seconds, confidence in ((60.0, "likely"), (61.0, "likely"), (120.0, "check"), (3600.0, "check")):
        assert confidences([hit("a", 1, 1080 / seconds)], 1, seconds) == [confidence]
    assert confidences([hit("a", 1, 0.01)], 1) == ["sure"]  # 0.2 of 1
    assert with_confidence([hit("a", 1, 0.3)], 1, 3600.0) == with_confidence([hit("a", 1, 0.3)], 20, 3600.0)


def test_what_is_better_is_never_less_sure() -> None:
    """The first alone would be likely; together with nine as good, chance explains a tenth of them."""
    several = [hit("a", number, (0.3 + number / 100) / 100) for number in range(10)]
    assert set(confidences(several, 100)) == {"sure"}


def test_a_video_of_seconds_counts_as_a_minute() -> None:
    one = [hit("a", 1, 11.0)]
    assert with_confidence(one, 1, 1.0) == with_confidence(one, 1, 60.0) == [replace(one[0], confidence="sure")]


@pytest.mark.parametrize("compete", [True, False])
def test_words_are_searches_of_their_own_unless_they_compete(compete: bool) -> None:
    several = [hit("a", 1.0, 1.0), hit("b", 1.1, 0.5), hit("b", 5.0, 2.0, 0.7), hit("b", 9.0, 9.0, 0.8)]
    decided = decide(several, SpotOptions(compete=compete, top=2), 2, 600.0)
    places = [(spotting.word, spotting.time) for spotting in decided]
    assert places == ([("b", 1.1), ("b", 9.0)] if compete else [("a", 1.0), ("b", 1.1), ("b", 9.0)])
    alone = decide([spotting for spotting in several if spotting.word == "a"], SpotOptions(compete=False), 1, 600.0)
    assert compete or alone[0] in decided
