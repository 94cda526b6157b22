"""Isolated synthetic signs, each by many signers, alone and cut out of sentences: a corpus to train frame codes on."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path

import numpy as np

from signspot.corpus.isolated import FPS, IsolatedClip, pack
from signspot.io.checks import check_numbers
from signspot.io.files import atomic_write
from signspot.io.processes import results, run_each
from signspot.io.progress import Progress, silent
from signspot.landmarks.landmarks import Landmarks
from signspot.types import Segment
from signspot_synthetic.body.motion import Motion, continuous, isolated
from signspot_synthetic.body.signers import Role, Signer, make_signer
from signspot_synthetic.difficulty_knobs import Knobs
from signspot_synthetic.language.lexicon import LexiconOptions, make_lexicon
from signspot_synthetic.language.phonology import Sign
from signspot_synthetic.observation import observe, project
from signspot_synthetic.random_streams import named_rng

_TOGETHER = 50  # signs that one job performs, and that its sentences are made of
_SENTENCE = 8  # signs in a sentence
_AROUND = 14 / FPS  # seconds kept before and after a sign in a sentence
_SIZES = ((640, 480), (1280, 720), (480, 640), (512, 512))


@dataclass(frozen=True, slots=True)
class IsolatedSignsOptions:
    """What is performed, and how often."""

    signs: int = 3000
    isolated: int = 4  # performances of each sign by itself, each by another signer
    continuous: int = 1  # performances of each sign in sentences
    minimal_pair_share: float = 0.3  # of signs that differ from another one in one parameter
    seed: int = 7

    def __post_init__(self) -> None:
        check_numbers(self, "signs", "isolated", least=1)
        check_numbers(self, "continuous", "seed", least=0)
        check_numbers(self, "minimal_pair_share", least=0, most=1)


def write_isolated_signs(
    options: IsolatedSignsOptions, folder: str | PathLike[str], progress: Progress = silent, workers: int = 1
) -> int:
    """Write `signs_NN.npz`, as `signspot.corpus.isolated` reads them; files that are there are kept.

    Args:
        options: what is performed.
        folder: of the files; of one set of options alone.
        progress: called with the number of signs done.
        workers: processes.

    Returns:
        The number of files.
    """
    out = Path(folder)
    targets = {first: out / f"signs_{first // _TOGETHER + 1:03d}.npz" for first in range(0, options.signs, _TOGETHER)}
    jobs = [(options, first) for first, target in targets.items() if not target.is_file()]
    missing = [first for _, first in jobs]
    for first, clips in zip(missing, results(run_each(_perform, jobs, workers, ordered=True)), strict=True):
        labels = [(int(clip.word), int(clip.signer), number) for number, clip in enumerate(clips)]
        arrays = pack(labels, [clip.landmarks for clip in clips], [clip.segment for clip in clips])
        with atomic_write(targets[first]) as temporary, temporary.open("wb") as file:
            np.savez_compressed(file, allow_pickle=False, **arrays)
        progress(min(options.signs, first + _TOGETHER), options.signs)
    return len(targets)


def isolated_clips(words: int, signers: int, seed: int, minimal_pair_share: float = 0.2) -> list[IsolatedClip]:
    """Every word by every signer, as an estimator sees it."""
    clips = []
    for word, sign in _lexicon(words, seed, minimal_pair_share, 0.0).items():
        for take in range(signers):
            random = named_rng(seed, word, take)
            signer = make_signer(f"signer-{word}-{take}", seed, Role.DICTIONARY, left_share=0)
            landmarks = observe(project(isolated(sign, signer, random)[0], signer.camera), random)
            clips.append(IsolatedClip(word, str(take), f"{word}-{take}", landmarks))
    return clips


def _lexicon(words: int, seed: int, minimal_pair_share: float, fingerspelled_share: float) -> dict[str, Sign]:
    """One sign for each word."""
    options = LexiconOptions(
        words=words,
        seed=seed,
        minimal_pair_share=minimal_pair_share,
        synonym_share=0.0,
        fingerspelled_share=fingerspelled_share,
        variant_shares=(1.0,),
    )
    return {word: entry.variants[0] for word, entry in make_lexicon(options).items()}


def _perform(job: tuple[IsolatedSignsOptions, int]) -> list[IsolatedClip]:
    """All performances of some signs; words and signers are numbers."""
    options, first = job
    signs = list(_lexicon(options.signs, options.seed, options.minimal_pair_share, 0.02).values())
    numbers = range(first, min(first + _TOGETHER, options.signs))
    clips: list[IsolatedClip] = []
    for sign in numbers:
        for take in range(options.isolated):
            random = named_rng(options.seed, "isolated", sign, take)
            signer = _somebody(random, options.seed)
            landmarks = _filmed(isolated(signs[sign], signer, random)[0], signer, random)
            clips.append(IsolatedClip(str(sign), signer.id, "", landmarks))
    for take in range(options.continuous):
        order = named_rng(options.seed, "order", first, take).permutation(np.array(numbers))
        for sentence in np.array_split(order, max(1, len(order) // _SENTENCE)):
            words = [int(sign) for sign in sentence]
            clips += _sentence(words, [signs[word] for word in words], take, options.seed)
    return clips


def _sentence(words: Sequence[int], signs: Sequence[Sign], take: int, seed: int) -> Iterator[IsolatedClip]:
    """The signs of a sentence, each with some frames around it."""
    random = named_rng(seed, "sentence", take, *words)
    signer = _somebody(random, seed)
    motion, segments = continuous(signs, signer, random, Knobs())
    landmarks = _filmed(motion, signer, random)
    for word, segment in zip(words, segments, strict=True):
        part = landmarks.between(Segment(max(0.0, segment.start - _AROUND), segment.end + _AROUND))
        begin = float(part.times[0])
        within = Segment(max(0.0, segment.start - begin), segment.end - begin)
        yield IsolatedClip(str(word), signer.id, "", replace(part, times=part.times - begin), within)


def _somebody(random: np.random.Generator, seed: int) -> Signer:
    """A right-handed signer, named by a number: glosses of real corpora hide who is left-handed, here nobody is."""
    return make_signer(str(int(random.integers(10**9))), seed, Role.TRAIN, left_share=0)


def _filmed(motion: Motion, signer: Signer, random: np.random.Generator) -> Landmarks:
    size = _SIZES[int(random.integers(len(_SIZES)))]
    return observe(project(motion, signer.camera, size), random)
