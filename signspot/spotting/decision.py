"""The decision of a search: which peaks are spottings, and how far each can be trusted. One rule for all commands.

A spotting is a peak at whose score its word has few enough false alarms per hour, as decoys show in the same video.
Words compete: a signer signs one sign at a time, so of spottings that overlap the one stays whose score chance reaches
least often. Words that do not compete are searches of their own, and nothing depends on the others.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from signspot.spotting.false_alarms import SHORTEST_VIDEO, WordFalseAlarms
from signspot.spotting.matching import fitted
from signspot.spotting.peaks import suppress, widened
from signspot.spotting.spot_options import SpotOptions
from signspot.types import Confidence, Spotting

_FITTED = fitted("decision")
WORD_RATE: float = _FITTED["word_rate"]  # most false alarms per hour of a word, by default
SEARCH_RATE: float = _FITTED["search_rate"]  # of all words that compete together, by default
_FEWEST_WORDS: int = _FITTED["fewest_words"]  # that a search of a long video counts as, where chance is estimated
SURE, LIKELY = 0.2, 0.5  # share of spottings that chance explains, at most: the meaning of these words


def allowed_rate(options: SpotOptions, words: int) -> float:
    """False alarms per hour and word that are allowed where so many words are looked for."""
    if options.false_alarms_per_hour is not None:
        return options.false_alarms_per_hour
    return min(WORD_RATE, SEARCH_RATE / words) if options.competes else WORD_RATE


def least_score(
    options: SpotOptions, model: WordFalseAlarms | None, words: int, fallback: float, seconds: float
) -> float:
    """The least score of the spottings of a word.

    By default the encoder's threshold decides in a video of up to `SHORTEST_VIDEO`, whose rates are rough. From there
    to twice that length the least score moves to that of the allowed rate, so that a second more changes little.

    Args:
        options: how to spot.
        model: of the word's false alarms; None: there is none.
        words: that are looked for.
        fallback: the encoder's threshold.
        seconds: of the video.
    """
    if options.threshold is not None:
        return options.threshold
    if model is None:
        return fallback
    by_rate = model.threshold(allowed_rate(options, words))
    if options.false_alarms_per_hour is not None:
        return by_rate
    share = _length_share(seconds)
    return (1 - share) * fallback + share * by_rate


def _length_share(seconds: float) -> float:
    """0 in a video of up to `SHORTEST_VIDEO`, whose rates are rough; 1 from twice that length on."""
    return min(1.0, max(0.0, seconds / SHORTEST_VIDEO - 1))


def decide(spottings: Iterable[Spotting], options: SpotOptions, words: int, seconds: float) -> list[Spotting]:
    """The spottings of a search, by time: the best where words compete, each with its confidence, at most `top`.

    Args:
        spottings: of one video, that reach the thresholds of their words.
        options: how to spot.
        words: that were looked for.
        seconds: that were searched.
    """
    if options.competes:
        decided = with_confidence(best_words(spottings, options.overlap), words, seconds)
    else:
        by_word: dict[str, list[Spotting]] = {}
        for spotting in spottings:
            by_word.setdefault(spotting.word, []).append(spotting)
        decided = [spotting for of_word in by_word.values() for spotting in with_confidence(of_word, 1, seconds)]
    return sorted(top_of_words(decided, options.top), key=lambda spotting: (spotting.time, spotting.word))


def with_confidence(spottings: Sequence[Spotting], words: int, seconds: float) -> list[Spotting]:
    """Spottings of one search with their confidence, the best first.

    At the score of a spotting, chance gives `rate × words × hours` false alarms in the whole search. Where these are
    at most a fifth of the spottings that are as good, they are sure; at most half, likely; else a person has to check.
    Seconds cannot tell a rate: a video counts as a minute at least. One word cannot tell how far it is from the mean
    rate of words, and most have more or fewer look-alike signs: a search of a long video counts as one for
    `_FEWEST_WORDS` at least.
    """
    ranked = sorted(spottings, key=_badness)
    rates = np.array([np.nan if s.false_alarms_per_hour is None else s.false_alarms_per_hour for s in ranked])
    counted = max(words, _length_share(seconds) * _FEWEST_WORDS)
    expected = rates * counted * max(seconds, SHORTEST_VIDEO) / 3600
    shares = np.minimum.accumulate((expected / np.arange(1, len(ranked) + 1))[::-1])[::-1]
    return [
        replace(spotting, confidence=_confidence(share))
        for spotting, share in zip(ranked, shares.tolist(), strict=True)
    ]


def _confidence(share: float) -> Confidence:
    if np.isnan(share):
        return ""
    return "sure" if share <= SURE else "likely" if share <= LIKELY else "check"


def best_words(spottings: Iterable[Spotting], overlap: float) -> list[Spotting]:
    """The spottings, the best first, that no better one of any word overlaps: a signer signs one sign at a time.

    The better one has the lower rate of false alarms; where rates are not known, the higher score.

    Args:
        spottings: of one video.
        overlap: largest part of the shorter of two spans that they may share.
    """
    ranked = sorted(spottings, key=_badness)
    starts, ends = (np.array([getattr(spotting, side) for spotting in ranked]) for side in ("start", "end"))
    return [ranked[index] for index in suppress(*widened(starts, ends), overlap)]


def top_of_words(spottings: Iterable[Spotting], top: int | None) -> list[Spotting]:
    """The best spottings of each word, the best first; all, if `top` is None."""
    counts: dict[str, int] = {}
    best = []
    for spotting in sorted(spottings, key=lambda spotting: (-spotting.score, spotting.video, spotting.time)):
        counts[spotting.word] = counts.get(spotting.word, 0) + 1
        best += [spotting] if top is None or counts[spotting.word] <= top else []
    return best


def _badness(spotting: Spotting) -> tuple[float, float]:
    rate = spotting.false_alarms_per_hour
    return (0.0 if rate is None else rate), -spotting.score
