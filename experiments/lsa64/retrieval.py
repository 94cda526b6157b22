"""One-shot retrieval of real signs, embedded as users' exemplars are, beside matchers that learn nothing."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from os import PathLike

import numpy as np
from numpy.typing import NDArray

from experiments.isolated.clips import Features, IsolatedClip
from experiments.isolated.lsa64 import SEEN_WORDS, TRAIN_SIGNERS, UNSEEN_WORDS, read_lsa64
from experiments.warping import FRAMES, centre_of, cosine, describe, time_normalised, warping_distance
from signspot.errors import NoHandsError, NoPersonError, OptionsError
from signspot.io.progress import Progress, silent
from signspot.landmarks.resampling import frames_at, motion_time
from signspot.metrics.bootstrap import Interval, bootstrap_mean
from signspot.metrics.retrieval import OneShotRetrieval
from signspot.models.encoder import Encoder
from signspot.spotting.spotter import Spotter
from signspot.training.recogniser.clips import ClipOptions, TrunkSigns
from signspot.training.recogniser.training import TrunkConfig, train_trunk

STEPS = 600  # of the classifier
Floats = NDArray[np.float32]
Compare = Callable[[list[IsolatedClip], list[IsolatedClip]], Floats]  # queries, gallery → (Q, G) similarities


@dataclass(frozen=True, slots=True)
class Retrieval:
    """One-shot retrieval among all words, on one group of words."""

    method: str
    words: str  # seen or unseen
    recall_1: Interval
    recall_5: Interval
    mean_average_precision: float
    queries: int


def one_shot(encoders: Sequence[Encoder], clips: Sequence[IsolatedClip], queries: Sequence[str]) -> Iterator[Retrieval]:
    """Retrieve each query sign among all words with one exemplar each, from every other signer in turn.

    Args:
        encoders: what is measured, beside baselines that learn nothing.
        clips: of all signers.
        queries: signers whose signs are looked up, one after the other; all others lend their first repetitions.
    """
    signers = {clip.signer for clip in clips}
    if not set(queries) <= signers or len(signers) < 2:
        raise OptionsError(f"one-shot retrieval needs signers {list(queries)} and at least one other")
    shown = {signer: [c for c in clips if c.signer == signer and c.clip == "1"] for signer in sorted(signers)}
    methods: list[tuple[str, Compare]] = [(encoder.name, by_encoder(encoder)) for encoder in encoders]
    methods += [("cosine", by_cosine(_evenly)), ("cosine, own time", by_cosine(_own_time)), ("warping", by_warping())]
    for name, compare in methods:
        compared = []
        for query in queries:
            asked = [clip for clip in clips if clip.signer == query]
            lent = [gallery for signer, gallery in shown.items() if signer != query]
            compared += [(asked, gallery, compare(asked, gallery)) for gallery in lent]
        for group, words in (("seen", SEEN_WORDS), ("unseen", UNSEEN_WORDS)):
            yield _retrieval(name, group, words, compared)


def by_encoder(encoder: Encoder) -> Compare:
    """Similarities by a spotter's own embeddings of exemplars; each clip is embedded once.

    A clip in which the spotter would see nobody is like no other: its similarities are 0.
    """
    spotter = Spotter(encoder)
    known: dict[int, Floats] = {}

    def embedded(clips: list[IsolatedClip]) -> Floats:
        for clip in clips:
            if id(clip) not in known:
                try:
                    known[id(clip)] = spotter.embed_exemplar(clip.landmarks)
                except (NoHandsError, NoPersonError):
                    known[id(clip)] = np.zeros(encoder.contract.dimension, np.float32)
        return np.stack([known[id(clip)] for clip in clips])

    return lambda asked, gallery: embedded(asked) @ embedded(gallery).T


def by_cosine(normalised: Callable[[Features], Floats]) -> Compare:
    """Similarities of time-normalised landmarks: nothing is learned."""

    def compare(asked: list[IsolatedClip], gallery: list[IsolatedClip]) -> Floats:
        queries, exemplars = (np.stack([normalised(clip.sign) for clip in clips]) for clips in (asked, gallery))
        return cosine(queries, exemplars, centre_of(exemplars))

    return compare


def by_warping() -> Compare:
    """Similarities by dynamic time warping: nothing is learned."""

    def compare(asked: list[IsolatedClip], gallery: list[IsolatedClip]) -> Floats:
        queries, exemplars = (np.stack([_evenly(clip.sign) for clip in clips]) for clips in (asked, gallery))
        return -warping_distance(queries, exemplars)

    return compare


def classifier(
    lsa64: str | PathLike[str],
    folder: str | PathLike[str],
    steps: int = STEPS,
    progress: Progress = silent,
    device: str = "cpu",
) -> Encoder:
    """Train a classifier of the seen words by the training signers; its features are what it is compared by.

    Args:
        lsa64: folder of the corpus.
        folder: where the training is kept; one that was stopped there goes on, one that is done is only read.
        steps: of the training.
        progress: told the steps done.
        device: where it is trained.
    """
    clips = [clip for clip in read_lsa64(lsa64, TRAIN_SIGNERS) if clip.word in SEEN_WORDS]
    shown = tuple(tuple(c.sign.astype(np.float16) for c in clips if c.word == word) for word in SEEN_WORDS)
    signs = TrunkSigns(SEEN_WORDS, tuple(() for _ in SEEN_WORDS), shown)
    config = TrunkConfig(name="classifier", steps=steps, clips=ClipOptions(dictionary=1.0))
    return train_trunk(config, signs, folder, progress, device=device)


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
    method: str,
    group: str,
    words: Sequence[str],
    compared: Sequence[tuple[list[IsolatedClip], list[IsolatedClip], Floats]],
) -> Retrieval:
    result: OneShotRetrieval | None = None
    asked = set()
    for queries, gallery, similarity in compared:
        rows = [row for row, clip in enumerate(queries) if clip.word in words]
        asked |= {id(queries[row]) for row in rows}
        one = OneShotRetrieval([clip.word for clip in gallery])
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
