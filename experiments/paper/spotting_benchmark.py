"""The spotting benchmark of Sec. 4.3: rare words in long footage, searched by `Spotter.search`, as users search.

A word occurs about once in 90 minutes, and every occurrence has to be found among everything else. A Watch-Read-Lookup
model of the training videos stands beside every encoder that ships. The word is also looked for where a subtitle names
it (Sec. 4.4): does its best place lie from 20 frames before the end of the sign to 5 after?
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from experiments.paper.cells import Cell, Embeddings, Result, WordValues
from experiments.paper.page import Claim, Column, Row, Table
from experiments.paper.setup import Setup
from experiments.paper.tables import TRUNK_ALONE, WATCH_READ_LOOKUP
from signspot.corpus.corpus import Corpus
from signspot.errors import OptionsError
from signspot.evaluation.labelled_corpus import find_queries
from signspot.metrics.detection import Detection
from signspot.metrics.localisation import Tolerance
from signspot.models.checkpoints import load_encoder
from signspot.models.encoder import Encoder, shipped
from signspot.spotting.spot_options import SpotOptions
from signspot.spotting.spotter import Spotter

EVERY = 1.5  # hours in which a word occurs about once
MOST = 60  # words that are looked for, at most
LOWEST = 0.5  # score from which spottings enter the precision-recall curve
_TRAINED = {"the trunk alone": TRUNK_ALONE, "Watch-Read-Lookup": WATCH_READ_LOOKUP}


def rare_words(corpus: Corpus, most: int = MOST, every: float = EVERY) -> dict[str, int]:
    """Words that occur at least once, and less than twice as often as once in so many hours; their occurrences."""
    signs = [sign for video in corpus.videos for sign in corpus.signs(video) if sign.listed]
    hours = sum(max((s.end for s in corpus.signs(video)), default=0.0) for video in corpus.videos) / 3600
    counts = Counter(sign.word for sign in signs)
    allowed = max(1, round(2 * hours / every) - 1)
    chosen = sorted(word for word, count in counts.items() if count <= allowed)
    step = max(1, len(chosen) // most)
    return {word: counts[word] for word in chosen[::step][:most]}


def spotting_benchmark(setup: Setup, only: Encoder | None = None) -> Table:
    """The benchmark on the test videos of a corpus; `only` is the encoder that is searched with, in place of all.

    Raises:
        OptionsError: not every sign of the test videos is known.
    """
    if not setup.has_truth:
        raise OptionsError(
            f"the spotting benchmark has to know every sign of the test videos of {setup.corpus.folder} (truth/signs)"
        )
    embeddings = Embeddings(setup)
    rows: list[Row] = []
    if only is None:
        for title, recipe in _TRAINED.items():
            key, encoder = embeddings.cell(recipe, "seen", 0).key, partial(embeddings.encoder, recipe, "seen", 0)
            rows.append(_row(title, {"trained": key}, encoder, setup))
        rows[:2] = (
            replace(rows[0], paper={"mAP": 16.0}),
            replace(rows[1], paper={"mAP": 17.0, "localisation": 83.08}),
        )
        for name in shipped():
            rows.append(_row(f"`{name}`", {"encoder": load_encoder(name).hash}, partial(load_encoder, name), setup))
    else:
        rows.append(_row(only.name, {"encoder": only.hash}, lambda: only, setup))
    columns = (Column("", "mAP", "mAP"), Column("", "localisation", "localisation"))
    claims = (
        Claim("Watch-Read-Lookup spots better than a classifier's features", "mAP", 1, 0),
        Claim("Watch-Read-Lookup locates known words better than the trunk alone", "localisation", 1, 0),
    )
    note = (
        "Words that occur about once in 90 minutes of test videos. Shipped encoders but `warping` have learnt from "
        "other synthetic corpora."
    )
    title = "Spotting rare words in long footage (Sec. 4.3), and localisation of known words (Sec. 4.4)"
    chosen = claims if only is None else ()
    return Table("spotting-benchmark", title, ("encoder",), columns, tuple(rows), chosen, ("words", "signs"), note)


def _row(title: str, key: Mapping[str, Any], encoder: Callable[[], Encoder], setup: Setup) -> Row:
    def compute() -> Result:
        corpus = replace(setup.corpus, videos={video.id: video for video in setup.corpus.in_split("test")})
        spotter = Spotter(encoder(), setup.out / "benchmark-cache")
        return _search(spotter, corpus, rare_words(corpus), setup)

    full_key = {"kind": "benchmark", "corpus": setup.corpus_identity, **key}
    return Row((title,), {"": [Cell(0, 0, full_key, compute)]})


def _search(spotter: Spotter, corpus: Corpus, words: Mapping[str, int], setup: Setup) -> Result:
    options = SpotOptions(threshold=LOWEST)
    gallery = spotter.gallery(corpus.dictionary().select(sorted(words)), options)
    detection, tolerance = Detection(), Tolerance()
    right: WordValues = {}
    tracks = {}
    with setup.stage(f"{spotter.encoder.name}: tracks") as progress:
        for done, (name, video) in enumerate(corpus.videos.items()):
            progress(done, len(corpus.videos))
            media = video.landmarks or video.video
            assert media is not None, "a video of a corpus has a file"
            tracks[name] = spotter.track(media, options)
    queries = find_queries(corpus, {name: track.grid for name, track in tracks.items()}, list(gallery.words))
    with setup.stage(f"{spotter.encoder.name}: search") as progress:
        for done, (name, track) in enumerate(tracks.items()):
            progress(done, len(tracks))
            searched = spotter.search(track, gallery, options)
            truths = [sign for sign in corpus.signs(name) if sign.word in gallery.words]
            spottings = [replace(spotting, video=name) for spotting in searched.spottings]
            detection.add(name, track.grid.frames / track.grid.fps, spottings, truths)
            for query in (query for query in queries if query.video == name):
                span = slice(*np.searchsorted(searched.times, (query.span.start, query.span.end + 1e-9)).tolist())
                rows = [n for n, exemplar in enumerate(searched.gallery.exemplars) if exemplar.word == query.word]
                curve = np.max([searched.curve(row)[span] for row in rows], axis=0)
                best = float(searched.times[span][int(curve.argmax())])
                hit = bool(np.any(tolerance.accepts(np.array([best]), query.times)))
                right.setdefault(query.word, []).append(float(hit))
    precision = {str(word): [value] for word, value in detection.average_precision().items()}
    return Result({"mAP": precision, "localisation": right}, {"words": len(words), "signs": sum(words.values())})
