"""Spotting in a track that exists: seconds for an hour of video, by embeddings and by alignment of frame codes."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.isolation import Call, fastest, run, run_on
from benchmarks.material import landmark_encoder, random_gallery, random_track
from benchmarks.rows import Comparison, against, at_least, rounded
from benchmarks.sizes import Sizes
from signspot.embedding.tracks import write_track
from signspot.spotting.decoys import ScoreCalibration
from signspot.spotting.spot_options import MatchBy
from signspot.spotting.spotter import Spotter

_EACH = 3  # exemplars per word of the small dictionary
_EACH_OF_MANY = 2  # of the large one
_BLOCK = 512  # rows of the gallery in one matrix product
_ROUNDS = 4  # of which the fastest counts: beside other work, one product takes a third longer than another
INDEXED = 4.0  # times as fast as by comparing every window, an archive is searched at least
MOST = 1.5  # times its matrix products, that a search for many words may take


def search_rows(sizes: Sizes) -> list[Comparison]:
    """By embedding with a small and a large gallery, by alignment with the small one; the size of a track."""
    few = _row(sizes, sizes.words, _EACH)
    many = _row(sizes, sizes.exemplars // _EACH_OF_MANY, _EACH_OF_MANY)
    rows = [few, replace(many, limit=f"at most {rounded(MOST)}", kept=many.ratio <= MOST)]
    return [*rows, *_alignment(sizes), _archive(sizes), _size(sizes)]


def _row(sizes: Sizes, words: int, each: int) -> Comparison:
    done = run(Call("search:search", {"seconds": sizes.track, "words": words, "each": each}), apart=sizes.apart)
    spotting, product = done.values["spotting"], done.values["product"]
    hours = sizes.track / 3600
    return Comparison(
        "Search",
        f"by embedding, {_gallery(sizes, words, each)}: track → spottings, decoys included, against the matrix "
        "products of the words alone",
        f"{rounded(spotting / hours)} against {rounded(product / hours)} s per hour; {done.values['spottings']:,.0f} "
        f"spottings; at most {rounded(done.peak)} MB",
        spotting / product,
    )


def _alignment(sizes: Sizes) -> list[Comparison]:
    options = {"seconds": sizes.track, "words": sizes.words, "each": _EACH}
    done = run(Call("search:align", options), apart=sizes.apart)
    hours, searched = sizes.track / 3600, _gallery(sizes, sizes.words, _EACH)
    return [
        Comparison(
            "Search",
            f"{searched}: {name}, by alignment against by embedding",
            f"{against(done.values['alignment' + key] / hours, done.values['embedding' + key] / hours, 's per hour')}"
            f"; at most {rounded(done.peak)} MB",
            done.values["alignment" + key] / done.values["embedding" + key],
        )
        for name, key in (("the words alone", ""), ("with the decoys that tell false alarms", " and decoys"))
    ]


def _archive(sizes: Sizes) -> Comparison:
    done = run_on(
        Call("search:archive", {"windows": sizes.archive, "signed": sizes.archive_signs}), 2, apart=sizes.apart
    )
    comparing, searching, reading = (done.values[name] for name in ("comparing", "searching", "reading"))
    clock = against(done.values["comparing, clock"], done.values["searching, clock"], "s")
    return Comparison(
        "Search",
        f"an archive of {sizes.archive:,} windows, 8 queries, two threads: comparing every window against searching by "
        "the index, with the same answers",
        f"{against(comparing, searching, 's of both cores')}; by the clock {clock}; reading all windows once takes "
        f"{rounded(reading)} s of both cores",
        comparing / searching,
        *at_least(comparing / searching, INDEXED),
    )


def _size(sizes: Sizes) -> Comparison:
    done = run(Call("search:size", {"seconds": min(60.0, sizes.track)}), apart=sizes.apart).values
    return Comparison(
        "Search",
        "a track on disk: what frame codes add per frame, against its embeddings",
        against(done["codes"], done["embeddings"], "bytes per frame"),
        done["codes"] / done["embeddings"],
    )


def _gallery(sizes: Sizes, words: int, each: int) -> str:
    return f"{words:,} words × {each} exemplars and their mirror images, {rounded(sizes.track / 3600)} h of track"


def search(seconds: float, words: int, each: int) -> dict[str, float]:
    """Seconds of spotting by embedding in a track, and of the blocked matrix products in it."""
    spotter = Spotter(landmark_encoder())
    track = random_track(spotter.encoder, seconds)
    gallery = random_gallery(words, each, spotter.encoder, track)
    counts: list[int] = []

    def multiply() -> None:
        windows = track.embeddings.astype(np.float32)
        for start in range(0, len(gallery.embeddings), _BLOCK):
            windows @ gallery.embeddings[start : start + _BLOCK].T

    def spot() -> None:
        counts.append(len(spotter.spot(track, gallery, match="embedding")))

    return {**fastest(_ROUNDS, {"product": multiply, "spotting": spot}), "spottings": counts[0]}


def align(seconds: float, words: int, each: int) -> dict[str, float]:
    """Seconds of spotting in a track by alignment and by embedding, without decoys and with them."""
    encoder = landmark_encoder()
    track = random_track(encoder, seconds)
    gallery = random_gallery(words, each, encoder, track)

    def spot(spotter: Spotter, match: MatchBy) -> Callable[[], object]:
        return lambda: spotter.spot(track, gallery, match=match)

    full, bare = Spotter(encoder), Spotter(encoder)
    bare.__dict__["_calibration"] = ScoreCalibration(
        bare._calibration.scale
    )  # as of an encoder that comes without decoys
    return fastest(
        1,
        {
            "alignment": spot(bare, "alignment"),
            "embedding": spot(bare, "embedding"),
            "alignment and decoys": spot(full, "alignment"),
            "embedding and decoys": spot(full, "embedding"),
        },
    )


def archive(windows: int, signed: int) -> dict[str, float]:
    """Seconds of searching an archive by its index, without it, and of reading it: of the processor, and the clock."""
    from experiments.applications.archive_search import search_times, write_archive

    spotter, seed = Spotter(landmark_encoder()), 52
    with TemporaryDirectory() as folder:
        written = write_archive(spotter, Path(folder, "archive"), windows, seed, signed)
        times = search_times(spotter, written, Path(folder, "cache"), seed)
    names = {"reading": "reading all windows", "searching": "by the index", "comparing": "every window compared"}
    return {
        **{name: times[way][1] for name, way in names.items()},
        **{f"{name}, clock": times[way][0] for name, way in names.items()},
    }


def size(seconds: float) -> dict[str, float]:
    """Bytes per frame of a written track: of its embeddings, and what frame codes add."""
    track = random_track(landmark_encoder(), seconds)
    with TemporaryDirectory() as folder:
        whole, bare = Path(folder, "whole.safetensors"), Path(folder, "bare.safetensors")
        write_track(track, whole)
        write_track(replace(track, codes=None), bare)
        sizes = whole.stat().st_size, bare.stat().st_size
    return {"codes": (sizes[0] - sizes[1]) / track.grid.frames, "embeddings": sizes[1] / track.grid.frames}
