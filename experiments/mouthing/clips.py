"""Clips of mouthing signers out of synthetic signing, with all that is known of their lips."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from zlib import crc32

import numpy as np

from signspot.mouthing.lips import LipTrack, follow_lips
from signspot.mouthing.visemes import known_words, of_phonemes, pronounce
from signspot.types import Segment
from signspot_synthetic.body.motion import Motion, talking
from signspot_synthetic.body.mouthing import MouthedWord, habits_of, say
from signspot_synthetic.body.signers import Role, Signer, make_signer
from signspot_synthetic.camera.estimator import for_lips, observe
from signspot_synthetic.camera.projection import project
from signspot_synthetic.knobs import named_rng

_SHORTEST, _LONGEST = 3, 12  # phonemes of a word in the vocabulary
_TEST_WORDS = 5  # one word in so many is never trained on


@dataclass(frozen=True, slots=True)
class LipClip:
    """Some seconds of one signer's lips."""

    lips: LipTrack
    words: tuple[MouthedWord, ...]  # in order of their ends
    signer: str
    complete: bool = True  # all that is mouthed is in `words`


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Words with their visemes, for queries."""

    words: tuple[str, ...]
    visemes: dict[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class ClipOptions:
    """Options of the clips."""

    seconds: float = 24.0
    mouthing: float = 0.55  # share of the signs that are mouthed, on average over signers; 0: nobody mouths
    lips: float = 1.0  # how hard to read, as the generator's knob of that name
    covers: float = 0.06  # per second: a hand comes before the mouth
    role: Role = Role.TRAIN
    chance: int | None = None  # seed of what is mouthed; None: that of the signers


@cache
def read_vocabulary(*, unseen: bool) -> Vocabulary:
    """The words that are trained on, or those that never are."""
    chosen, visemes = [], {}
    for word in known_words():
        if "'" in word or not 3 <= len(word) <= 12 or (crc32(word.encode()) % _TEST_WORDS == 0) != unseen:
            continue
        phonemes = pronounce(word)
        shapes = of_phonemes(phonemes)
        if _SHORTEST <= len(phonemes) <= _LONGEST and len(shapes) >= _SHORTEST:
            chosen.append(word)
            visemes[word] = shapes
    return Vocabulary(tuple(chosen), visemes)


def make_clips(
    count: int, seed: int, vocabulary: Vocabulary, signers: Sequence[str], options: ClipOptions | None = None
) -> Iterator[LipClip]:
    """Film signers one after the other; clip i follows from the seed and i.

    Args:
        count: how many clips.
        seed: of all chance.
        vocabulary: what is mouthed.
        signers: names of the people; other names are other people.
        options: what the clips are to be.
    """
    chosen = options or ClipOptions()
    for number in range(count):
        rng = named_rng(seed if chosen.chance is None else chosen.chance, "lips", number)
        signer = make_signer(signers[number % len(signers)], seed, chosen.role)
        yield make_clip(signer, vocabulary, rng, chosen)


def make_clip(signer: Signer, vocabulary: Vocabulary, rng: np.random.Generator, options: ClipOptions) -> LipClip:
    """Film one signer: signs follow each other, some are mouthed."""
    habits = habits_of(signer, options.lips)
    often = float(np.clip(options.mouthing + named_rng(signer.habits, "often").normal(0, 0.2), 0.05, 0.95))
    words = []
    for segment in _signs(options.seconds, rng):
        if options.mouthing and rng.random() < often:
            words.append(say(vocabulary.words[int(rng.integers(len(vocabulary.words)))], segment, habits, rng))
    motion = _covered(talking(words, options.seconds, signer, rng, options.lips), options.covers, rng)
    seen = observe(project(motion, signer.camera), rng, for_lips(1.0, options.lips))
    return LipClip(follow_lips([seen]), tuple(sorted(words, key=lambda word: word.segment.end)), signer.id)


def _signs(seconds: float, rng: np.random.Generator) -> Iterator[Segment]:
    """Times of signs: as fast as in the synthetic continuous signing, with rests."""
    now = float(rng.uniform(0.3, 1.0))
    while True:
        lasts = float(np.clip(np.exp(rng.normal(-0.95, 0.4)), 0.16, 1.3))
        if now + lasts > seconds - 0.3:
            return
        yield Segment(now, now + lasts)
        now += lasts + float(rng.uniform(0.06, 0.45)) + (float(rng.uniform(0.5, 2.0)) if rng.random() < 0.06 else 0.0)


def _covered(motion: Motion, rate: float, rng: np.random.Generator) -> Motion:
    """The same with the right hand before the mouth, now and then."""
    hand, seconds = motion.right_hand.copy(), len(motion) / motion.fps
    mouth = motion.face[:, :40].mean(axis=1)
    for time in rng.uniform(0, seconds, rng.poisson(rate * seconds)):
        span = slice(int(time * motion.fps), int((time + rng.uniform(0.15, 0.9)) * motion.fps) + 1)
        aside = rng.normal((0.0, 0.03, -0.04), (0.04, 0.04, 0.0))
        hand[span] += (mouth[span] + aside - hand[span, 9])[:, None]
    return replace(motion, right_hand=hand)
