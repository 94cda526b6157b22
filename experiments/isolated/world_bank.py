"""A bank of performances of the signing world: thousands of signs, each by many signers, isolated and in sentences."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from signspot.io.files import atomic_write, text_digest
from signspot.io.processes import results, run_each
from signspot.io.progress import Progress, silent
from signspot.landmarks.features import VERSION as FEATURES_VERSION
from signspot.landmarks.features import features
from signspot.landmarks.landmarks import Landmarks
from signspot.landmarks.signing import sign_segment
from signspot.training.configuration import check_numbers
from signspot_synthetic.body.motion import Motion, continuous, isolated
from signspot_synthetic.body.signers import Handedness, Role, Signer, make_signer
from signspot_synthetic.camera.estimator import observe
from signspot_synthetic.camera.projection import project
from signspot_synthetic.corpus_writer import GENERATOR_VERSION
from signspot_synthetic.knobs import Knobs, named_rng
from signspot_synthetic.language.lexicon import Lexicon, LexiconOptions, make_lexicon

_SENTENCE = 8  # signs in a sentence
_AROUND = 14  # frames kept before and after a sign in a sentence
_SIZES = ((640, 480), (1280, 720), (480, 640), (512, 512))


@dataclass(frozen=True, slots=True)
class BankOptions:
    """Contents of a bank."""

    signs: int = 3000
    isolated: int = 4  # performances of each sign by itself
    continuous: int = 4  # performances of each sign in sentences
    minimal_pair_share: float = 0.5
    seed: int = 7

    def __post_init__(self) -> None:
        check_numbers(self, "signs", "isolated", "continuous", least=1)
        check_numbers(self, "minimal_pair_share", least=0, most=1)
        check_numbers(self, "seed", least=0)


class WorldBank(NamedTuple):
    """Performances of signs, isolated and in sentences."""

    frames: NDArray[np.float16]  # (frames, 69, 4) of all performances one after the other
    rows: NDArray[np.int64]  # (N, 6) sign, is continuous, first frame, frames, start and end of the sign


def open_world_bank(
    folder: Path,
    options: BankOptions = BankOptions(),
    workers: int = 2,
    progress: Progress = silent,
) -> WorldBank:
    """Open the bank of these options in a cache folder; make it first where it is not there."""
    name = f"world-bank-{text_digest(json.dumps([GENERATOR_VERSION, FEATURES_VERSION, asdict(options)]))}"
    frames, rows = (folder / f"{name}-{part}.npy" for part in ("frames", "rows"))
    if not rows.is_file():
        made = _make(options, workers, progress)
        for path, array in ((frames, made.frames), (rows, made.rows)):
            with atomic_write(path) as temporary:
                np.save(temporary, np.asarray(array))
    return WorldBank(np.load(frames, mmap_mode="r"), np.load(rows))


def _make(options: BankOptions, workers: int, progress: Progress) -> WorldBank:
    jobs = [(options, first) for first in range(0, options.signs, 50)]
    frames: list[NDArray[np.float16]] = []
    rows: list[tuple[int, ...]] = []
    begun = 0
    for done, found in enumerate(results(run_each(_make_some, jobs, workers, ordered=True)), 1):
        for sign, signed, cut, start, end in found:
            rows.append((sign, signed, begun, len(cut), start, end))
            frames.append(cut)
            begun += len(cut)
        progress(min(options.signs, done * 50), options.signs)
    return WorldBank(np.concatenate(frames), np.array(rows, np.int64))


def _lexicon(options: BankOptions) -> Lexicon:
    return make_lexicon(
        LexiconOptions(
            words=options.signs,
            seed=options.seed,
            minimal_pair_share=options.minimal_pair_share,
            synonym_share=0.0,
            fingerspelled_share=0.02,
            variant_shares=(1.0,),
        )
    )


def _make_some(job: tuple[BankOptions, int]) -> list[tuple[int, int, NDArray[np.float16], int, int]]:
    """All performances of up to fifty signs; their sentences are made of these signs."""
    options, first = job
    lexicon = _lexicon(options)
    signs = [entry.variants[0] for entry in lexicon.values()]
    own = range(first, min(first + 50, options.signs))
    made: list[tuple[int, int, NDArray[np.float16], int, int]] = []
    for sign in own:
        for take in range(options.isolated):
            rng = named_rng(options.seed, "isolated", sign, take)
            signer = _someone(rng, options.seed)
            landmarks = _film(isolated(signs[sign], signer, rng)[0], signer, rng)
            segment = sign_segment(landmarks)
            inside = (landmarks.times >= segment.start - 1e-6) & (landmarks.times <= segment.end + 1e-6)
            cut = _seen(landmarks, signer)[inside].astype(np.float16)
            made.append((sign, 0, cut, 0, len(cut)))
    for take in range(options.continuous):
        order = named_rng(options.seed, "order", first, take).permutation(np.array(own))
        for sentence in np.array_split(order, max(1, len(order) // _SENTENCE)):
            made.extend(_sentence(sentence.tolist(), [signs[s] for s in sentence], take, options.seed))
    return made


def _sentence(
    words: list[int], signs: list[object], take: int, seed: int
) -> Iterator[tuple[int, int, NDArray[np.float16], int, int]]:
    rng = named_rng(seed, "sentence", take, *words)
    signer = _someone(rng, seed)
    motion, segments = continuous(signs, signer, rng, Knobs())  # type: ignore[arg-type]
    seen = _seen(_film(motion, signer, rng), signer).astype(np.float16)
    for word, segment in zip(words, segments, strict=True):
        start, end = round(segment.start * 25), round(segment.end * 25) + 1
        first, last = max(0, start - _AROUND), min(len(seen), end + _AROUND)
        yield word, 1, seen[first:last], start - first, end - first


def _someone(rng: np.random.Generator, seed: int) -> Signer:
    return make_signer(f"bank-{int(rng.integers(10**9))}", seed, Role.TRAIN)


def _film(motion: Motion, signer: Signer, rng: np.random.Generator) -> Landmarks:
    size = _SIZES[int(rng.integers(len(_SIZES)))]
    return observe(project(motion, signer.camera, size), rng)


def _seen(landmarks: Landmarks, signer: Signer) -> NDArray[np.float32]:
    """Features as of a right-handed signer."""
    return features(landmarks, mirror=signer.handedness is Handedness.LEFT)
