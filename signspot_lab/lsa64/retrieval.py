"""What a classifier knows of signing: a landmark trunk taught the seen words of LSA64, and nothing else."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from os import PathLike

import numpy as np
from numpy.typing import NDArray

from signspot.embedding.exemplars import embed_sign
from signspot.errors import OptionsError
from signspot.landmarks.resampling import frames_at, motion_time
from signspot.metrics.bootstrap import Interval, bootstrap_mean
from signspot.metrics.retrieval import OneShotRetrieval
from signspot.models.encoder import Encoder
from signspot.progress import Progress, silent
from signspot.training.recogniser.clips import ClipOptions, TrunkSigns
from signspot.training.recogniser.training import TrunkConfig, train_trunk
from signspot_lab.contrastive.performances import Features
from signspot_lab.isolated.lsa64 import SEEN_WORDS, TRAIN_SIGNERS, UNSEEN_WORDS, read_lsa64
from signspot_lab.warping import FRAMES, centre_of, cosine, describe, time_normalised, warping_distance

Floats = NDArray[np.float32]
Compare = Callable[[list["Sign"], list["Sign"]], Floats]  # queries, gallery → (Q, G) similarities


@dataclass(frozen=True, slots=True)
class Sign:
    """One real isolated sign, trimmed."""

    word: int
    signer: int
    repetition: int
    features: Features  # (T, J, C)


@dataclass(frozen=True, slots=True)
class Retrieval:
    """One-shot retrieval among all words, on one group of words."""

    method: str
    words: str  # seen or unseen
    recall_1: Interval
    recall_5: Interval
    mean_average_precision: float
    queries: int


def load_signs(folder: str | PathLike[str], signers: Sequence[int] | None = None) -> list[Sign]:
    """Read and trim all clips of some signers."""
    clips = read_lsa64(folder, tuple(signers) if signers is not None else None)
    return [Sign(clip.word, clip.signer, clip.repetition, clip.sign()) for clip in clips]


def one_shot(encoders: Sequence[Encoder], signs: Sequence[Sign], queries: Sequence[int]) -> Iterator[Retrieval]:
    """Retrieve each query sign among all words with one exemplar each, from every other signer in turn.

    Args:
        encoders: what is measured, beside baselines that learn nothing.
        signs: of all signers.
        queries: signers whose signs are looked up, one after the other; all others lend their first repetitions.
    """
    signers = {sign.signer for sign in signs}
    if not set(queries) <= signers or len(signers) < 2:
        raise OptionsError(f"one-shot retrieval needs signers {list(queries)} and at least one other")
    shown = {signer: [s for s in signs if s.signer == signer and s.repetition == 1] for signer in sorted(signers)}
    methods: list[tuple[str, Compare]] = [(encoder.name, by_encoder(encoder)) for encoder in encoders]
    methods += [("cosine", by_cosine(_evenly)), ("cosine, own time", by_cosine(_own_time)), ("warping", by_warping())]
    for name, compare in methods:
        compared = []
        for query in queries:
            asked = [sign for sign in signs if sign.signer == query]
            lent = [gallery for signer, gallery in shown.items() if signer != query]
            compared += [(asked, gallery, compare(asked, gallery)) for gallery in lent]
        for group, words in (("seen", SEEN_WORDS), ("unseen", UNSEEN_WORDS)):
            yield _retrieval(name, group, words, compared)


def by_encoder(encoder: Encoder) -> Compare:
    """Similarities by an encoder; each sign is embedded once."""
    known: dict[int, Floats] = {}

    def embedded(signs: list[Sign]) -> Floats:
        for sign in signs:
            if id(sign) not in known:
                known[id(sign)] = embed_sign(encoder, sign.features)
        return np.stack([known[id(sign)] for sign in signs])

    return lambda asked, gallery: embedded(asked) @ embedded(gallery).T


def by_cosine(normalised: Callable[[Features], Floats]) -> Compare:
    """Similarities of time-normalised landmarks: nothing is learned."""

    def compare(asked: list[Sign], gallery: list[Sign]) -> Floats:
        queries, exemplars = (np.stack([normalised(sign.features) for sign in signs]) for signs in (asked, gallery))
        return cosine(queries, exemplars, centre_of(exemplars))

    return compare


def by_warping() -> Compare:
    """Similarities by dynamic time warping: nothing is learned."""

    def compare(asked: list[Sign], gallery: list[Sign]) -> Floats:
        queries, exemplars = (np.stack([_evenly(sign.features) for sign in signs]) for signs in (asked, gallery))
        return -warping_distance(queries, exemplars)

    return compare


def _evenly(features: Features) -> Floats:
    return time_normalised(describe(features))


def _own_time(features: Features) -> Floats:
    rows = describe(features)
    places = frames_at(motion_time(features), np.linspace(0, 1, FRAMES))
    below = places.astype(np.intp)
    share = (places - below)[:, None]
    made: Floats = (rows[below] * (1 - share) + rows[np.minimum(below + 1, len(rows) - 1)] * share).astype(np.float32)
    return made


def _retrieval(
    method: str, group: str, words: Sequence[int], compared: Sequence[tuple[list[Sign], list[Sign], Floats]]
) -> Retrieval:
    result: OneShotRetrieval | None = None
    asked = set()
    for queries, gallery, similarity in compared:
        rows = [row for row, sign in enumerate(queries) if sign.word in words]
        asked |= {id(queries[row]) for row in rows}
        one = OneShotRetrieval([sign.word for sign in gallery])
        one.add([queries[row].word for row in rows], similarity[rows])
        if result is None:
            result = one
        else:
            result.merge(one)
    assert result is not None, "there is at least one signer who asks and one who lends"
    value = result.value((1, 5))
    return Retrieval(
        method,
        group,
        bootstrap_mean(result.queries.hits(1)),
        bootstrap_mean(result.queries.hits(5)),
        value.average_precision.per_group,
        len(asked),
    )


STEPS = 600


def classifier(
    lsa64: str | PathLike[str], folder: str | PathLike[str], steps: int = STEPS, progress: Progress = silent
) -> Encoder:
    """Train a classifier of the seen words by the training signers; its features are what it is compared by.

    Args:
        lsa64: folder of the corpus.
        folder: where the training is kept; one that was stopped there goes on, one that is done is only read.
        steps: of the training.
        progress: told the steps done.
    """
    clips = [clip for clip in read_lsa64(lsa64, TRAIN_SIGNERS) if clip.word in SEEN_WORDS]
    shown = tuple(tuple(c.sign().astype(np.float16) for c in clips if c.word == word) for word in SEEN_WORDS)
    signs = TrunkSigns(tuple(map(str, SEEN_WORDS)), tuple(() for _ in SEEN_WORDS), shown)
    config = TrunkConfig(name="classifier", steps=steps, clips=ClipOptions(dictionary=1.0))
    return train_trunk(config, signs, folder, progress)
