"""Gain by adapting, measured on the truth of test videos by signers who were not learned from.

    python -m experiments.adapted CORPUS… --encoder landmark-synthetic --bags appendix --bags released

A corpus has splits and its truth: one of synthetic signing, or of `experiments.subtitled_streams`. Learned from are
the subtitles of training videos and training words, with or without labels. Measured are, on the test videos: the
average precision of spotting every word, and how well subtitles' words are told (the measure that needs no truth and
by which `signspot adapt` decides), before and after, so that one can be held against the other.
"""

import argparse
import sys
import time
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import get_args

import numpy as np

from signspot.corpus.corpus import Corpus, open_corpus
from signspot.embedding.refine import Windows
from signspot.io.files import cache_folder
from signspot.losses.watch_read_lookup import Bags
from signspot.metrics.bootstrap import Interval, bootstrap_mean
from signspot.metrics.detection import Detection
from signspot.models.checkpoints import load_encoder
from signspot.models.contract import Encoder
from signspot.spotting.decoys import alignment_scale
from signspot.spotting.options import MatchBy, SpotOptions
from signspot.spotting.search import Search
from signspot.spotting.spotter import Spotter
from signspot.training.adaptation_data import (
    AdaptOptions,
    EmbeddedFootage,
    find_segments,
    read_footage,
    score_segments,
)
from signspot.training.adapters import AdapterChoice, SegmentBatches, fold, train_adapters
from signspot.training.items import read_words

LOWEST = 0.3  # score from which spottings enter the precision-recall curve
ByMatch = Mapping[MatchBy, "TruthScores"]
MATCHES: tuple[MatchBy, MatchBy] = ("alignment", "embedding")


@dataclass(frozen=True, slots=True)
class TruthScores:
    """Scores of an encoder on test videos, by word."""

    precision: Mapping[str, float]  # average precision of spotting
    naming: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table: before and after on a group of words."""

    corpus: str
    how: str
    match: str
    group: str
    words: int
    precision: tuple[float, float]  # before and after
    gained: Interval
    naming: tuple[float, float]
    named: Interval


def measure_truth(spotter: Spotter, corpus: Corpus, match: MatchBy, options: AdaptOptions) -> TruthScores:
    """Spot all words of the dictionary in all test videos."""
    dictionary = corpus.dictionary()
    gallery = spotter.gallery(dictionary)
    part = replace(corpus, videos={video.id: video for video in corpus.in_split("test")})
    tracks = {name: spotter.track(video.landmarks) for name, video in part.videos.items() if video.landmarks}
    chosen, scale = SpotOptions(match=match, threshold=LOWEST), alignment_scale(spotter.encoder)
    detection = Detection()
    for name, track in tracks.items():
        found = Search(track, Windows.of(track), chosen, LOWEST, None, scale).run(gallery)
        truths = [sign for sign in corpus.signs(name) if sign.word in gallery.words]
        spottings = [replace(spotting, video=name) for spotting in found.spottings]
        detection.add(name, track.grid.frames / track.grid.fps, spottings, truths)
    named = read_words(part, gallery.words, list(part.videos))
    segments = find_segments(part, named, gallery.words, options)
    scores = score_segments(spotter, tracks, segments, gallery, match)
    naming = {word: float(np.mean(values)) for word, values in scores.naming.items()}
    return TruthScores({str(w): p for w, p in detection.value().average_precision.items()}, naming)


def learn(
    spotter: Spotter, corpus: Corpus, options: AdaptOptions, *, labels: bool
) -> tuple[Encoder, EmbeddedFootage, float]:
    """Adapt on training videos and words; give the encoder, whatever it gained, what it saw, and processor seconds."""
    began = time.process_time()
    train = replace(corpus, videos={video.id: video for video in corpus.in_split("train")})
    footage = read_footage(spotter, train, train.dictionary().select(corpus.splits().words.train), options)
    if not labels:
        bare = tuple(replace(segment, labels=()) for segment in footage.learned)
        footage = replace(footage, learned=bare)
    with TemporaryDirectory() as folder:
        adapters = train_adapters(spotter.encoder, SegmentBatches(footage, options), folder)
    made = fold(spotter.encoder, adapters, AdapterChoice(codes=True, embedding=True), footage.gallery, "adapted", {})
    return made, footage, time.process_time() - began


def rows(corpus: Corpus, name: str, how: str, before: ByMatch, after: ByMatch) -> Iterator[Row]:
    """The lines of one adaptation."""
    learned = set(corpus.splits().words.train)
    for match in MATCHES:
        old, new = before[match], after[match]
        for group in ("learned words", "unseen words"):
            words = [word for word in old.precision if (word in learned) == (group == "learned words")]
            said = [word for word in words if word in old.naming]
            yield Row(
                name,
                how,
                match,
                group,
                len(words),
                _means(old.precision, new.precision, words),
                _gained(old.precision, new.precision, words),
                _means(old.naming, new.naming, said),
                _gained(old.naming, new.naming, said),
            )


def _means(old: Mapping[str, float], new: Mapping[str, float], words: Sequence[str]) -> tuple[float, float]:
    return float(np.mean([old[word] for word in words])), float(np.mean([new[word] for word in words]))


def _gained(old: Mapping[str, float], new: Mapping[str, float], words: Sequence[str]) -> Interval:
    differences: dict[Hashable, list[float]] = {word: [new[word] - old[word]] for word in words}
    return bootstrap_mean(differences)


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpora", type=Path, nargs="+")
    parser.add_argument("--encoder", default="landmark-synthetic")
    parser.add_argument("--bags", action="append", choices=get_args(Bags))
    parser.add_argument("--labels", action="store_true", help="learn from labels, too")
    parser.add_argument("--steps", type=int, default=AdaptOptions().steps)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    spotter = Spotter(load_encoder(chosen.encoder), cache_folder())
    heads = ("corpus", "learned by", "match", "words", "mAP before", "after", "gain", "naming before", "after", "gain")
    _tell(heads)
    _tell(["---"] * len(heads))
    readings: list[Bags] = chosen.bags or ["appendix"]
    for place in chosen.corpora:
        corpus = open_corpus(place)
        plain = AdaptOptions(steps=chosen.steps, embeddings=True, seed=chosen.seed)
        before = {match: measure_truth(spotter, corpus, match, plain) for match in MATCHES}
        for bags in readings:
            options = replace(plain, bags=bags)
            encoder, footage, seconds = learn(spotter, corpus, options, labels=chosen.labels)
            adapted = Spotter(encoder)
            after = {match: measure_truth(adapted, corpus, match, options) for match in MATCHES}
            how = f"{bags}, {footage.labels} labels, {len(footage.learned)} segments, {seconds:.0f} s"
            for row in rows(corpus, place.name, how, before, after):
                _tell(_cells(row))


def _cells(row: Row) -> list[str]:
    words = f"{row.words} {row.group}"
    precision, naming = (f"{value:.3f}" for value in row.precision), (f"{value:.3f}" for value in row.naming)
    return [row.corpus, row.how, row.match, words, *precision, _signed(row.gained), *naming, _signed(row.named)]


def _signed(each: Interval) -> str:
    return f"{each.value:+.3f} [{each.low:+.3f}, {each.high:+.3f}]"


def _tell(cells: Sequence[str]) -> None:
    sys.stdout.write("| " + " | ".join(cells) + " |\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
