"""The mouthing spotter: words of subtitles on the lips of the signer, as labels M (Sec. 3.1, stage 2)."""

import logging
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import torch
from numpy.typing import NDArray

from signspot.errors import OptionsError
from signspot.io.progress import Progress, silent
from signspot.mouthing.lips import FPS, LipTrack
from signspot.mouthing.network import STEP, MouthingModel, pad_words
from signspot.mouthing.visemes import is_known, query, visemes_of
from signspot.types import SIGN_SECONDS, Label, Segment, Spotting, Subtitle
from signspot.words.match import Form, WordMatch, WordMatcher
from signspot.words.tokens import primary_language, tokens

logger = logging.getLogger(__name__)

LEAST = 0.5  # probability of a peak, from which it is a label
WORD_LEAST = 0.8  # probability that some instance of a word must reach, for the word to stay in the vocabulary
_FEWEST_SHAPES = 3  # of a word that is looked for unasked: shorter ones are on the lips all the time
_ENOUGH = 30  # words, from which on the language of subtitles can be guessed
_FOREIGN = 0.6  # share of English words below which subtitles are hardly English
_NAMED = 3  # words that a doubt names
_ENGLISH = 0.9  # and above which they hardly are of another language


@dataclass(frozen=True, slots=True)
class MentionWindow:
    """Words that one subtitle mentions, and the window around it."""

    window: Segment
    words: tuple[str, ...]


class LongWords:
    """Finds every word of a text that is long enough on the lips, as it is written there."""

    def __init__(self, language: str = "en"):
        self.language = language

    def find_all(self, text: str) -> list[WordMatch]:
        """The words with their places, in order."""
        return [
            WordMatch(token.word, token.start, token.end, Form.ORIGINAL)
            for token in tokens(text)
            if _is_long(token.word, self.language)
        ]


def find_candidates(
    subtitles: Sequence[Subtitle], words: Iterable[str] | None, padding: float, language: str = "en"
) -> list[MentionWindow]:
    """The padded subtitles with the words to look for in each.

    Args:
        subtitles: in order of time.
        words: to look for where a subtitle mentions them in any form; None: every word of a subtitle that is long
            enough on the lips.
        padding: seconds before and after a subtitle.
        language: of the words and the subtitles.

    Raises:
        OptionsError: the padding is below 0, the language unknown, or a word that was asked for has no phonemes.
    """
    if not (0 <= padding <= 60):
        raise OptionsError(f"subtitles are padded by 0 to 60 seconds; got {padding:g}")
    if language != "en":
        primary_language(language)  # raises where it is unknown
    chosen_words = None if words is None else tuple(dict.fromkeys(words))
    for word in chosen_words or ():
        visemes_of(word, language)  # raises where it has none
    finder = LongWords(language) if chosen_words is None else WordMatcher(chosen_words, language)
    windows = []
    for subtitle in subtitles:
        mentioned = [match.word for match in finder.find_all(subtitle.text)]
        if mentioned:
            window = Segment(max(0.0, subtitle.start - padding), subtitle.end + padding)
            windows.append(MentionWindow(window, tuple(dict.fromkeys(mentioned))))
    return windows


def explain_none(subtitles: Sequence[Subtitle], words: Iterable[str] | None, language: str) -> str:
    """The reason why subtitles give nothing to look for, as the end of a sentence that begins with their name."""
    unread = doubt_letters(subtitles, language)
    if unread:
        return unread
    if words is not None:
        return f"mentions none of the words that are asked for ({_few(list(words))})"
    written = [token.word for subtitle in subtitles for token in tokens(subtitle.text)]
    return f"has no word that shows on lips: each has fewer than {_FEWEST_SHAPES} mouth shapes ({_few(written)})"


def doubt_letters(subtitles: Sequence[Subtitle], language: str) -> str | None:
    """The reason why no word of subtitles can be read as sounds, as the end of a sentence; None where one can."""
    unread: list[str] = []
    for token in (token for subtitle in subtitles for token in tokens(subtitle.text)):
        if _shapes(token.word, language):
            return None
        unread.append(token.word)
    if not unread:
        return "has no words"
    return f"has no word in letters that can be read as sounds ({_few(unread)}). Give subtitles in Latin letters"


def doubt_language(subtitles: Sequence[Subtitle], language: str) -> str | None:
    """Why subtitles may be of another language than asked; None where they look right, or are few."""
    words = [token.word for subtitle in subtitles for token in tokens(subtitle.text) if token.word.isalpha()]
    if len(words) < _ENOUGH:
        return None
    english = sum(map(is_known, words)) / len(words)
    wrong = english < _FOREIGN if language.split("-")[0] == "en" else english > _ENGLISH
    return (
        f"{english:.0%} of the words in these subtitles are English, and '{language}' was asked for: what is found "
        "may be wrong. Name their language with --language"
        if wrong
        else None
    )


def doubt_words(words: Iterable[str], language: str) -> str | None:
    """Words that are asked for as English and that no dictionary knows, so that their spelling says how they sound."""
    if language.split("-")[0] != "en":
        return None
    pieces = {word: [token.word for token in tokens(word) if token.word.isalpha()] for word in words}
    strange = [word for word, parts in pieces.items() if not all(map(is_known, parts)) and _shapes(word, language)]
    if not strange:
        return None
    return (
        f"no English dictionary knows {_few(strange)}: its pronunciation is guessed from the spelling. If it is from "
        "another language, name that with --language"
    )


def _few(words: Sequence[str]) -> str:
    """Some words by name."""
    return ", ".join(map(repr, words[:_NAMED])) + (" …" if len(words) > _NAMED else "")


def _is_long(word: str, language: str) -> bool:
    """Whether a word shows enough on the lips; one that cannot be read does not."""
    return _shapes(word, language) >= _FEWEST_SHAPES


@lru_cache(maxsize=1 << 16)
def _shapes(word: str, language: str) -> int:
    """The number of mouth shapes of a word; 0 where it cannot be read."""
    try:
        return len(visemes_of(word, language))
    except OptionsError:
        logger.info("the word %r of a subtitle has no phonemes", word)
        return 0


_SEEN = 0.5  # share of the 0.6 s before a peak in which the lips must be seen
SHORTEST = 12  # frames of a window: less is not a word
_AT_ONCE = 32  # words that are compared with a window at once


@dataclass(frozen=True, slots=True)
class Mouthed:
    """Mouthings that a search found, and the parts that it could not see."""

    labels: tuple[Label, ...]  # in order of time; the time of each is the end of its sign
    queries: int  # words looked for, once per window
    hidden: int  # peaks that were left out, since the lips are hardly seen there
    unasked: tuple[str, ...] = ()  # words that cannot be looked for, each with the reason

    def remarks(self) -> list[str]:
        """Remarks for people on what was not looked for, and on peaks that were left out; none where all is well."""
        texts = [f"not looked for: {reason}" for reason in self.unasked]
        if self.hidden:
            texts.append(f"left out {self.hidden:,} peak{'s' * (self.hidden > 1)} where the lips are hardly seen")
        return texts


@dataclass(frozen=True, slots=True)
class LipPeak:
    """A place at which a word may end."""

    time: float  # seconds, to a thousandth
    probability: float  # to four digits: the words that are asked beside it may change what follows
    seen: bool  # the lips are seen before it


def find_peaks(curve: NDArray[np.float32], lips: LipTrack, least: float, most: int = 1) -> list[LipPeak]:
    """The best places of a word in a window, none nearer than a sign to a better one.

    Args:
        curve: (S,) probabilities that the word ends at a step.
        lips: of the window.
        least: probability of a peak.
        most: peaks.

    Returns:
        The best first; those before which the lips are hardly seen, too.
    """
    peaks: list[LipPeak] = []
    left = curve.copy()
    reach = int(SIGN_SECONDS * FPS / STEP)
    while len(peaks) < most and len(left) and left.max() >= max(least, 0.0):
        step = int(left.argmax())
        time, sure = lips.start + step * STEP / FPS, float(curve[step])
        peaks.append(LipPeak(round(time, 3), round(sure, 4), _is_seen(lips, step)))
        left[max(0, step - reach) : step + reach + 1] = -1.0
    return peaks


def as_spotting(label: Label) -> Spotting:
    """A label as a spotting, for the files of other tools."""
    start = max(0.0, label.time - SIGN_SECONDS)
    return Spotting(
        *(label.word, label.video, label.time, start, label.time, label.confidence),
        source=label.source,
        video_licence=label.video_licence,
        video_consent=label.video_consent,
    )


class MouthingSpotter:
    """Finds mouthed words."""

    def __init__(self, model: MouthingModel):
        self.model = model

    @torch.inference_mode()
    def curves(self, lips: LipTrack, words: Sequence[str], language: str = "en") -> NDArray[np.float32]:
        """(K, S) probabilities that each word ends at a step of 0.08 s, counted from the start of the lips.

        Raises:
            OptionsError: a word has no phonemes, or is a single mouth shape.
        """
        queries = [query(word, language) for word in words]
        if not queries or not len(lips):
            return np.zeros((len(queries), -(-len(lips) // STEP)), np.float32)
        network = self.model.network
        device = next((weight.device for weight in network.parameters()), torch.device("cpu"))
        coded = network.code_lips(torch.from_numpy(lips.values)[None].to(device))
        parts = []
        for first in range(0, len(queries), _AT_ONCE):
            block = pad_words(queries[first : first + _AT_ONCE]).to(device)
            logits = network.compare(coded.expand(len(block), -1, -1), block)
            parts.append(torch.sigmoid(network.calibrated(logits)).cpu().numpy())
        return np.concatenate(parts)

    def search(
        self,
        lips: LipTrack,
        candidates: Sequence[MentionWindow],
        video: str,
        *,
        least: float = LEAST,
        language: str = "en",
        progress: Progress = silent,
    ) -> Mouthed:
        """Look for the words of subtitles around them; the best place of each word in each window counts.

        Args:
            lips: of the whole video.
            candidates: windows with their words.
            video: its name, for the labels.
            least: probability of a peak, from which it is a label.
            language: of the words.
            progress: called with the windows done.

        Returns:
            Labels of source M, each at the end of its sign; a place that several windows show is one label.
        """
        if not 0 <= least <= 1:
            raise OptionsError(f"the least probability of a mouthing is between 0 and 1; got {least:g}")
        peaks: dict[str, list[tuple[float, float]]] = defaultdict(list)  # word → (probability, time)
        unasked: dict[str, str] = {}
        queries = hidden = 0
        for done, candidate in enumerate(candidates, 1):
            part = lips.between(candidate.window.start, candidate.window.end)
            words = [word for word in candidate.words if _can_ask(word, language, unasked)]
            if len(part) >= SHORTEST and words:
                queries += len(words)
                for word, curve in zip(words, self.curves(part, words, language), strict=True):
                    for peak in find_peaks(curve, part, least):
                        hidden += not peak.seen
                        peaks[word] += [(peak.probability, peak.time)] if peak.seen else []
            progress(done, len(candidates))
        labels = [
            Label(word, video, time, sure)
            for word, candidates_of_word in peaks.items()
            for sure, time in _best_apart(candidates_of_word)
        ]
        ordered = sorted(labels, key=lambda label: (label.time, label.word))
        return Mouthed(tuple(ordered), queries, hidden, tuple(unasked.values()))


def keep_vocabulary(labels: Iterable[Label], least: float = WORD_LEAST) -> list[Label]:
    """Labels of the words of which at least one reaches `least` (the paper's rule for its vocabulary).

    Args:
        labels: of the training videos of a corpus, all together.
        least: probability.
    """
    listed = list(labels)
    sure = {label.word for label in listed if label.confidence >= least}
    return [label for label in listed if label.word in sure]


def _can_ask(word: str, language: str, unasked: dict[str, str]) -> bool:
    """Whether a word can be looked for; the reason why not is kept, once."""
    if word not in unasked:
        try:
            query(word, language)
        except OptionsError as error:
            unasked[word] = str(error)
    return word not in unasked


def _is_seen(lips: LipTrack, step: int) -> bool:
    last = step * STEP + 1
    before = lips.values[max(0, last - round(SIGN_SECONDS * FPS)) : last, -2]
    return bool(before.mean() >= _SEEN)


def _best_apart(peaks: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """(probability, time) of the best peaks, none nearer than a sign to a better one."""
    ordered = sorted(peaks, key=lambda peak: (-peak[0], peak[1]))
    return [ordered[number] for number in apart([time for _, time in ordered])]


def apart(times: Sequence[float]) -> list[int]:
    """Those of some mouthings of one word, the best first, that are not nearer than a sign to a better one."""
    chosen: list[int] = []
    for number, time in enumerate(times):
        if all(abs(time - times[other]) >= SIGN_SECONDS for other in chosen):
            chosen.append(number)
    return chosen


LATE = 0.4  # seconds after the end of a sign until which the mouthing of its word may end
_AROUND = 1.0  # seconds before and after that in which lips are read, too: a peak that is higher there is another place


def agrees(spotting: Spotting, mouthing: Label) -> bool:
    """Whether a mouthing speaks for a spotting of the same video: the same word, ending while it is signed or soon."""
    there = spotting.start <= mouthing.time <= spotting.end + LATE
    return there and mouthing.word == spotting.word


def mark_mouthed(spottings: Iterable[Spotting], mouthings: Iterable[Label]) -> list[Spotting]:
    """Spottings of one video, each with the probability of the best mouthing that agrees with it.

    Args:
        spottings: by hand.
        mouthings: of the same video; whatever name of it they carry.
    """
    by_word: dict[str, list[Label]] = {}
    for mouthing in mouthings:
        by_word.setdefault(mouthing.word, []).append(mouthing)
    return [
        replace(
            spotting,
            mouthed=max((m.confidence for m in by_word.get(spotting.word, ()) if agrees(spotting, m)), default=None),
        )
        for spotting in spottings
    ]


def places_to_read(spottings: Sequence[Spotting]) -> list[MentionWindow]:
    """Places where lips are to be read for spottings: the word of each around its place, whatever subtitles say."""
    return [
        MentionWindow(Segment(max(0.0, spotting.start - _AROUND), spotting.end + LATE + _AROUND), (spotting.word,))
        for spotting in spottings
    ]
