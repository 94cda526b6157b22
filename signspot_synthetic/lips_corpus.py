"""Lips without signing: people who mouth any English word, as a corpus to train and measure mouthing spotters on.

Signs follow each other as in continuous signing, some of them are mouthed, and only the face and the hands that come
before it matter. Words of the split "test" are never in "train" or "validation", and no person is in two splits.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from functools import lru_cache, partial
from pathlib import Path

import numpy as np

from signspot.corpus.corpus import Corpus, CorpusVideo, Layout, open_corpus
from signspot.corpus.truth import MouthingTruth, Splits, WordSplit, write_records, write_splits
from signspot.errors import OptionsError
from signspot.io.progress import Progress, silent
from signspot.landmarks.landmarks import Landmarks
from signspot.landmarks.pose_file import write_landmarks
from signspot.mouthing.trials import Vocabulary, read_vocabulary
from signspot.types import Segment
from signspot_synthetic.body.motion import Motion, talking
from signspot_synthetic.body.mouthing import MouthedWord, habits_of, say
from signspot_synthetic.body.signers import Role, Signer, make_signer
from signspot_synthetic.corpus_writer import claim_folder, describe_corpus, make_items
from signspot_synthetic.observation import for_lips, observe, project
from signspot_synthetic.random_streams import named_rng

SPLITS = ("train", "validation", "test")
_COVERS = 0.06  # per second: a hand comes before the mouth


@dataclass(frozen=True, slots=True)
class LipsOptions:
    """Options of a corpus of lips. The same options give the same bytes."""

    train: int = 160  # clips
    validation: int = 30  # clips of other people, who mouth words that no training clip has
    test: int = 60  # clips of yet others, who mouth words that are never trained on
    seconds: float = 24.0  # of each clip
    signers: int = 80  # of the training clips; in the other splits each clip has its own
    mouthing: float = 0.55  # share of the signs that are mouthed, on average over signers; 0: nobody mouths
    lips: float = 1.0  # how hard to read, as the knob of that name
    seed: int = 0

    def __post_init__(self) -> None:
        if min(self.train, self.validation, self.test, self.seed) < 0 or self.signers < 1:
            raise OptionsError(f"clips and the seed are 0 or more, signers 1 or more; got {self}")
        if self.seconds < 8 or not 0 <= self.mouthing <= 1 or not 0 <= self.lips <= 3:
            raise OptionsError(f"a clip has 8 seconds or more, mouthing 0 to 1, lips 0 to 3; got {self}")

    def count(self, split: str) -> int:
        """The number of clips of a split."""
        return int(getattr(self, split))


@dataclass(frozen=True, slots=True)
class MouthingClip:
    """Some seconds of one mouthing signer."""

    landmarks: Landmarks
    words: tuple[MouthedWord, ...]  # in order of their ends
    signer: str


def make_clip(options: LipsOptions, split: str, number: int) -> MouthingClip:
    """Clip `number` of a split: signs follow each other, some are mouthed."""
    signer, words, rng = _say_words(options, split, number)
    motion = _covered(talking(words, options.seconds, signer, rng, options.lips), rng)
    landmarks = observe(project(motion, signer.camera), rng, for_lips(1.0, options.lips))
    return MouthingClip(landmarks, tuple(sorted(words, key=lambda word: word.segment.end)), signer.id)


def make_lips_corpus(
    options: LipsOptions, folder: str | Path, progress: Progress = silent, *, workers: int = 1
) -> Corpus:
    """Make a corpus of lips in a folder: landmarks, every mouthed word, splits; a run that was stopped resumes.

    Raises:
        OptionsError: the folder holds something else.
        OutputError: the folder cannot be written.
    """
    layout = Layout(Path(folder))
    items = [(split, number) for split in SPLITS for number in range(options.count(split))]
    videos = [
        CorpusVideo(_name(*item), layout.video(_name(*item), ".pose"), None, None, _signer(options, *item).id, item[0])
        for item in items
    ]
    claim_folder(describe_corpus(layout.folder, asdict(options), videos), layout)
    make_items({_name(*item): item for item in items}, partial(_make, options, layout), layout, progress, workers)
    ids = {split: tuple(video.id for video in videos if video.split == split) for split in SPLITS}
    write_splits(Splits(ids["train"], ids["test"], WordSplit()), layout.splits)
    return open_corpus(layout.folder)


def _make(options: LipsOptions, layout: Layout, item: tuple[str, int]) -> None:
    name, clip = _name(*item), make_clip(options, *item)
    truth = [
        MouthingTruth(name, word.word, max(0.0, word.segment.start), word.segment.end, word.phonemes, word.share)
        for word in clip.words
    ]
    pose = write_landmarks(clip.landmarks, layout.video(name, ".pose"))
    layout.mark_finished(name, [pose, write_records(truth, layout.truth("mouthings", name))])


def _name(split: str, number: int) -> str:
    return f"{split}-{number + 1:04d}"


def _signer(options: LipsOptions, split: str, number: int) -> Signer:
    """Other names are other people."""
    names = {"train": str(number % options.signers), "validation": f"calibration {number}", "test": f"test {number}"}
    return make_signer(names[split], options.seed, Role.TEST if split == "test" else Role.TRAIN)


def _say_words(options: LipsOptions, split: str, number: int) -> tuple[Signer, list[MouthedWord], np.random.Generator]:
    """The signer of a clip, the words on their lips, and the random numbers for the rest of the clip."""
    rng = named_rng(options.seed + SPLITS.index(split), "lips", number)
    signer, vocabulary = _signer(options, split, number), _vocabulary(options, split)
    habits = habits_of(signer, options.lips)
    often = float(np.clip(options.mouthing + named_rng(signer.habits, "often").normal(0, 0.2), 0.05, 0.95))
    words = []
    for segment in _signs(options.seconds, rng):
        if options.mouthing and rng.random() < often:
            words.append(say(vocabulary.words[int(rng.integers(len(vocabulary.words)))], segment, habits, rng))
    return signer, words, rng


@lru_cache(maxsize=4)
def _vocabulary(options: LipsOptions, split: str) -> Vocabulary:
    """The words of a split: those that are trained on, those of them that no training clip has, or all others."""
    vocabulary = read_vocabulary(unseen=split == "test")
    if split != "validation":
        return vocabulary
    trained_words = {word.word for number in range(options.train) for word in _say_words(options, "train", number)[1]}
    return replace(vocabulary, words=tuple(word for word in vocabulary.words if word not in trained_words))


def _signs(seconds: float, rng: np.random.Generator) -> Iterator[Segment]:
    """Times of signs: as fast as in continuous signing, with rests."""
    now = float(rng.uniform(0.3, 1.0))
    while True:
        lasts = float(np.clip(np.exp(rng.normal(-0.95, 0.4)), 0.16, 1.3))
        if now + lasts > seconds - 0.3:
            return
        yield Segment(now, now + lasts)
        now += lasts + float(rng.uniform(0.06, 0.45)) + (float(rng.uniform(0.5, 2.0)) if rng.random() < 0.06 else 0.0)


def _covered(motion: Motion, rng: np.random.Generator) -> Motion:
    """The same with the right hand before the mouth, now and then."""
    hand, seconds = motion.right_hand.copy(), len(motion) / motion.fps
    mouth = motion.face[:, :40].mean(axis=1)
    for time in rng.uniform(0, seconds, rng.poisson(_COVERS * seconds)):
        span = slice(int(time * motion.fps), int((time + rng.uniform(0.15, 0.9)) * motion.fps) + 1)
        aside = rng.normal((0.0, 0.03, -0.04), (0.04, 0.04, 0.0))
        hand[span] += (mouth[span] + aside - hand[span, 9])[:, None]
    return replace(motion, right_hand=hand)
