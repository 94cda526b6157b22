"""Clips of lips whose mouthings are known, questions about them, and the calibration of a spotter by its answers."""

import logging
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from zlib import crc32

import numpy as np
import torch
from numpy.typing import NDArray

from signspot.corpus.corpus import Corpus, CorpusVideo
from signspot.corpus.truth import MouthingTruth
from signspot.errors import OptionsError
from signspot.landmarks.landmarks import resample_stream
from signspot.landmarks.pose_file import PoseFile
from signspot.metrics.logistic import fit_logistic
from signspot.mouthing.lips import FPS, LipTrack, follow_lips
from signspot.mouthing.mouthing_spotter import MentionWindow, MouthingSpotter
from signspot.mouthing.network import MouthingModel
from signspot.mouthing.visemes import known_words, of_phonemes, pronounce, visemes_of
from signspot.types import LabelSource, Segment

logger = logging.getLogger(__name__)

Floats = NDArray[np.float64]
Shapes = tuple[str, ...]  # visemes of a word

WINDOW = 10.0  # seconds: about a subtitle and what it is padded by
TOLERANCE = 0.4  # seconds between a peak and the end of the mouthing, at most
_SHORTEST, _LONGEST = 3, 12  # phonemes of a word in the vocabulary
_TEST_WORDS = 5  # one word in so many is never trained on
_WIDE = 0.25  # gain while peaks are collected for calibration
_LEAST = 5e-5  # probabilities have four digits
_LEAST_GAIN = 1e-3
_PRIOR = 1e-3  # keeps both numbers of a calibration finite where all answers are right, or wrong


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Words with their visemes, for queries."""

    words: tuple[str, ...]
    visemes: dict[str, Shapes]


@cache
def read_vocabulary(*, unseen: bool) -> Vocabulary:
    """The words of the pronouncing dictionary that are trained on, or those that never are."""
    visemes = {}
    for word in known_words():
        if "'" in word or not 3 <= len(word) <= 12 or (crc32(word.encode()) % _TEST_WORDS == 0) != unseen:
            continue
        phonemes = pronounce(word)
        shapes = of_phonemes(phonemes)
        if _SHORTEST <= len(phonemes) <= _LONGEST and len(shapes) >= _SHORTEST:
            visemes[word] = shapes
    return Vocabulary(tuple(visemes), visemes)


@dataclass(frozen=True, slots=True)
class LipClip:
    """Lips of one signer, and what is mouthed on them."""

    lips: LipTrack
    words: tuple[MouthingTruth, ...]  # in order of their ends
    complete: bool = True  # all that is mouthed is in `words`


def read_lip_clips(corpus: Corpus, split: str | None = None) -> list[LipClip]:
    """The lips of a corpus's videos, with the mouthings that it knows: its truth, or else its labels of source M.

    Where truth/mouthings is missing, the mouthed signs of truth/signs take its place.

    Args:
        corpus: of videos with landmarks.
        split: of the videos that are read; None: all.

    Raises:
        OptionsError: no mouthing is known in videos with landmarks.
    """
    videos = list(corpus.videos.values()) if split is None else corpus.in_split(split)
    clips = list(_lip_clips(corpus, videos))
    if not any(clip.words for clip in clips):
        where = f"the split '{split}' of {corpus.folder}" if split else str(corpus.folder)
        raise OptionsError(
            f"no mouthing is known in {where}: there are neither truth/mouthings nor labels of source M of videos with "
            "landmarks (.pose). Put mouthings into labels/*.jsonl, and make landmarks with: signspot embed --landmarks"
        )
    return clips


def _lip_clips(corpus: Corpus, videos: Sequence[CorpusVideo]) -> Iterator[LipClip]:
    labels = defaultdict(list)
    for label in corpus.labels():
        if label.source is LabelSource.MOUTHING:
            labels[label.video].append(MouthingTruth(label.video, label.word, label.segment.start, label.segment.end))
    for video in videos:
        words = _true_mouthings(corpus, video.id)
        complete = words is not None
        words = labels[video.id] if words is None else words
        if video.landmarks is None or not (complete or words):
            continue
        readable = sorted((word for word in words if _is_readable(word.word)), key=lambda word: word.end)
        lips = follow_lips(resample_stream(PoseFile.open(video.landmarks).stream(), FPS), video.id)
        yield LipClip(lips, tuple(readable), complete)


def _true_mouthings(corpus: Corpus, video: str) -> list[MouthingTruth] | None:
    """All mouthings of a video; None where only labels are known."""
    if corpus.layout.truth("mouthings", video).is_file():
        return corpus.mouthings(video)
    if corpus.layout.truth("signs", video).is_file():
        signs = [sign for sign in corpus.signs(video) if sign.mouthed]
        return [MouthingTruth(video, sign.word, sign.start, sign.end) for sign in signs]
    return None


def _is_readable(word: str) -> bool:
    try:
        return len(visemes_of(word)) > 1
    except OptionsError:
        logger.warning("left out the mouthings of %r, which has no phonemes", word)
        return False


class WrongWords:
    """Words that are not on the lips: any, or such as begin or end like one that is."""

    def __init__(self, vocabulary: Vocabulary):
        self.vocabulary = vocabulary
        self._alike: dict[tuple[str, Shapes], list[str]] = defaultdict(list)
        for word in vocabulary.words:
            shapes = vocabulary.visemes[word]
            self._alike["begins", shapes[:2]].append(word)
            self._alike["ends", shapes[-2:]].append(word)

    def draw(self, mouthed: Sequence[Shapes], hard: float, random: np.random.Generator) -> str:
        """A word that is not part of what is mouthed, and that no mouthed word is the beginning of.

        Args:
            mouthed: visemes of the whole words that are on the lips.
            hard: share of the words that are like a mouthed one.
            random: chance.
        """
        for _ in range(20):
            words: Sequence[str] = self.vocabulary.words
            if mouthed and random.random() < hard:
                model = mouthed[int(random.integers(len(mouthed)))]
                way = ("begins", model[:2]) if random.random() < 0.5 else ("ends", model[-2:])
                words = self._alike.get(way, words)
            word = words[int(random.integers(len(words)))]
            shapes = self.vocabulary.visemes[word]
            if not any(holds(other, shapes) or other[:3] == shapes[:3] for other in mouthed):
                break
        return word


def holds(whole: Shapes, part: Shapes) -> bool:
    """Whether visemes stand one after the other in other visemes."""
    return any(whole[first : first + len(part)] == part for first in range(len(whole) - len(part) + 1))


@dataclass(frozen=True, slots=True)
class Trial:
    """One question: is this word mouthed in this window?"""

    clip: int
    start: float  # of the window, seconds
    word: str
    ends: tuple[float, ...] = ()  # of its mouthings in the window; none: it is not mouthed
    share: float = 0.0  # of the word that is mouthed, at most


@dataclass(frozen=True, slots=True)
class Answers:
    """Answers of the spotter to trials, each (n,)."""

    sure: Floats  # probability of the label that it gives; 0 where it gives none, since it does not see the lips
    late: Floats  # seconds from the nearest end of a mouthing of the word to the label; infinite where there is none
    searched: Floats  # seconds of lips that were searched

    @property
    def right(self) -> NDArray[np.bool_]:
        """Whether the label is at a mouthing of the word."""
        return np.asarray(np.abs(self.late) <= TOLERANCE)

    def only(self, mask: NDArray[np.bool_]) -> "Answers":
        """Those of some trials."""
        return Answers(self.sure[mask], self.late[mask], self.searched[mask])


def draw_trials(
    clips: Sequence[LipClip], vocabulary: Vocabulary, seed: int, *, per_clip: int = 8, hard: float = 0.0
) -> list[Trial]:
    """Ask for words in windows of clips: half of them mouthed there, where so many are.

    Args:
        clips: at least as long as a window.
        vocabulary: of the words that are not mouthed.
        seed: of all chance.
        per_clip: trials.
        hard: share of the words that are not mouthed and begin or end like one that is.
    """
    random, wrong = np.random.default_rng((seed, 77)), WrongWords(vocabulary)
    trials = []
    for number, clip in enumerate(clips):
        visemes = {word.word: vocabulary.visemes.get(word.word) or visemes_of(word.word) for word in clip.words}
        for turn in range(per_clip):
            start = clip.lips.start + float(random.uniform(0, max(0.0, len(clip.lips) / FPS - WINDOW)))
            near = [w for w in clip.words if w.segment.end > start and w.segment.start < start + WINDOW]
            inside = [w for w in near if start + 0.5 <= w.segment.end <= start + WINDOW - 0.2]
            if turn % 2 == 0 and inside:
                target = inside[int(random.integers(len(inside)))]
                same = [w for w in near if visemes[w.word] == visemes[target.word]]
                ends = tuple(w.segment.end for w in same)
                trials.append(Trial(number, start, target.word, ends, max(w.share for w in same)))
            else:
                trials.append(Trial(number, start, wrong.draw([visemes[w.word] for w in near], hard, random)))
    return trials


def answer(spotter: MouthingSpotter, clips: Sequence[LipClip], trials: Sequence[Trial]) -> Answers:
    """Ask as users ask: each question is a window with one word, and what the search labels in it is the answer."""
    rows = [_ask(spotter, clips[trial.clip].lips, trial) for trial in trials]
    sure, late, searched = np.array(rows, float).reshape(-1, 3).T
    return Answers(sure, late, searched)


def _ask(spotter: MouthingSpotter, lips: LipTrack, trial: Trial) -> tuple[float, float, float]:
    """Probability of the label, its seconds from the nearest end of a mouthing, seconds searched."""
    window = Segment(trial.start, trial.start + WINDOW)
    mouthed = spotter.search(lips, [MentionWindow(window, (trial.word,))], "", least=0.0)
    searched = max(0.0, min(window.end, lips.end) - trial.start) if mouthed.queries else 0.0
    if not mouthed.labels:
        return 0.0, np.inf, searched
    (label,) = mouthed.labels
    return label.confidence, min((label.time - end for end in trial.ends), key=abs, default=np.inf), searched


def calibrate(
    model: MouthingModel, clips: Sequence[LipClip], vocabulary: Vocabulary, seed: int, per_clip: int = 8
) -> dict[str, float]:
    """Set gain and offset of a spotter's peaks by trials of which half are of mouthed words, asked as users ask.

    Args:
        model: whose calibration is set.
        clips: of people and words that it has not learned.
        vocabulary: of words that are not mouthed.
        seed: of the trials.
        per_clip: trials.

    Returns:
        The calibration, for the card.
    """
    trials = draw_trials(clips, vocabulary, seed, per_clip=per_clip)
    model.network.scale.copy_(torch.tensor([_WIDE, 0.0]))  # so that four digits of a probability tell logits apart
    answers = answer(MouthingSpotter(model), clips, trials)
    positive = answers.sure > 0
    sure = np.clip(answers.sure[positive], _LEAST, 1 - _LEAST)
    logits = np.log(sure / (1 - sure)) / _WIDE
    offset, gain = fit_logistic(logits[:, None], answers.right[positive].astype(float), np.full(2, _PRIOR))
    gain = max(gain, _LEAST_GAIN)
    model.network.scale.copy_(torch.tensor([gain, offset]))
    mouthed = np.mean([bool(trial.ends) for trial in trials])
    return {
        **{"trials": float(len(trials)), "mouthed": round(float(mouthed), 3)},
        **{"gain": round(float(gain), 4), "offset": round(float(offset), 4)},
    }
