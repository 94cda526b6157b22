"""Sign to search: a recording in, the nearest words of a dictionary and the locations in the folder out, best first."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from threadpoolctl import threadpool_limits

from signspot.embedding.exemplars import ExemplarEmbedder, Gallery, SignViews
from signspot.errors import SignspotError
from signspot.formats.rows import to_row
from signspot.io.progress import silent
from signspot.landmarks.landmarks import BODY_POINTS, DEFAULT_FPS, FACE_POINTS, HAND_POINTS, Landmarks
from signspot.landmarks.pose_file import open_landmarks
from signspot.landmarks.signing import check_signing
from signspot.spotting.options import SpotOptions
from signspot.spotting.spotter import Spotter
from signspot.types import Exemplar, Segment, Spotting, Track
from signspot.web.folder import VideoFile
from signspot.web.media import landmarks_seen
from signspot.web.workbench import Workbench
from signspot.web.worker import estimate

T = TypeVar("T")

# PyTorch chooses a number of threads when a thread first uses it: that must be over before it is limited.
_worker = ThreadPoolExecutor(1, "signspot-answers", torch.get_num_threads)


def on_one_thread(work: Callable[[], T]) -> T:
    """Work on the one thread, whose matrix products are not shared out; nor are those of others meanwhile."""
    return _worker.submit(_limited, work).result()


def _limited(work: Callable[[], T]) -> T:
    with threadpool_limits(1):  # of BLAS, and of OpenMP, by which PyTorch shares out; the latter for this thread alone
        return work()


_WORDS, _PLACES = 12, 24  # that are shown
_PROPOSED = 60  # places that embeddings propose in all videos, to be decided by alignment
_AROUND = 1.0  # seconds around a proposed place that are searched
_EVERY = 2  # windows, of which one is compared: neighbours are alike, and a second around each place is aligned
_NUMBERS = 32_767  # that are compared at once: more than that PyTorch shares out, and its threads wait for each other
_APART = 1.0  # seconds between two proposed places of one video


def identify_sign(bench: Workbench, recording: Path, dictionary: str, span: Segment | None) -> dict[str, Any]:
    """Look a recorded sign up in a dictionary and in all videos whose track is there.

    Args:
        bench: the workbench.
        recording: a video of one sign, not mirrored.
        dictionary: its name.
        span: of the recording that is looked at; None: all.

    Raises:
        LandmarksError: no signer or no hand is in view.
    """
    return search_sign(bench, lambda: clip_landmarks(bench, recording), dictionary, span)


def clip_landmarks(bench: Workbench, path: Path) -> Landmarks:
    """The landmarks of a clip that somebody sent; nothing of it is kept."""
    if path.suffix.lower() == ".pose":
        return open_landmarks(path)
    found: Landmarks = bench.worker.call(estimate, path, None, progress=silent)
    return found


def search_sign(
    bench: Workbench, see: Callable[[], Landmarks], dictionary: str, span: Segment | None
) -> dict[str, Any]:
    """As `identify_sign`, of a recording whose landmarks are given, or waited for, by `see`."""
    began, worked = time.perf_counter(), time.process_time()
    landmarks = see()
    if span is not None:
        cut = landmarks.between(span)
        landmarks = replace(cut, times=cut.times - cut.times[0]) if len(cut) > 4 else landmarks
    check_signing(landmarks, "the recording")
    seen, worked_seen = time.perf_counter(), time.process_time()
    spotter = bench.searcher.spotter
    gallery = bench.searcher.gallery(dictionary, ())
    embedder = ExemplarEmbedder(spotter.encoder, None)
    views = on_one_thread(lambda: embedder.embed_source(landmarks, mirror=True))
    words = on_one_thread(lambda: spotter.identify_views(views, gallery, SpotOptions()))[:_WORDS]
    opened = bench.searcher.dictionary(dictionary)
    films = [any(bench.searcher.shows(one) for one in opened[each.word] if one.id == each.exemplar) for each in words]
    identified, worked_identified = time.perf_counter(), time.process_time()
    places = on_one_thread(lambda: find_places(spotter, sign_gallery(views), ready_tracks(bench)))
    done, worked_done = time.perf_counter(), time.process_time()
    return {
        "dictionary": dictionary,
        "hands": round(landmarks_seen(landmarks), 3),
        "words": [
            {"word": each.word, "score": each.score, "exemplar": each.exemplar, "mirrored": each.mirrored, "film": film}
            for each, film in zip(words, films, strict=True)
        ],
        "places": [to_row(place) for place in places],
        "seconds": {
            "landmarks": round(seen - began, 3),
            "words": round(identified - seen, 3),
            "places": round(done - identified, 3),
        },
        "processor": {
            "landmarks": round(worked_seen - worked, 3),
            "words": round(worked_identified - worked_seen, 3),
            "places": round(worked_done - worked_identified, 3),
        },
    }


def warm_up(bench: Workbench, dictionary: str) -> dict[str, int]:
    """Search for a sign that nobody made: networks, exemplars and tracks are there when somebody makes one.

    Returns:
        How many exemplars and tracks there are.
    """
    spotter, gallery, tracks = bench.searcher.spotter, bench.searcher.gallery(dictionary, ()), list(ready_tracks(bench))
    shapes = ((BODY_POINTS, 4), (HAND_POINTS, 3), (HAND_POINTS, 3), (len(FACE_POINTS), 3))
    body, left, right, face = (np.full((32, *shape), 0.5, np.float32) for shape in shapes)
    nobody = Landmarks(body, left, right, face, np.arange(32) / DEFAULT_FPS, (640, 480))
    embedder = ExemplarEmbedder(spotter.encoder, None)
    views = on_one_thread(lambda: embedder.embed_source(nobody, mirror=True))
    on_one_thread(lambda: spotter.identify_views(views, gallery, SpotOptions()))  # what exemplars are near to is kept
    on_one_thread(lambda: find_places(spotter, sign_gallery(views), iter(tracks)))
    return {"exemplars": len(gallery.exemplars), "tracks": len(tracks)}


def sign_gallery(views: SignViews) -> Gallery:
    """A gallery of one exemplar: the sign that was recorded, and its mirror image."""
    codes = None if views.codes is None else views.codes[None]
    return Gallery.of([Exemplar(word="", id="recording")], views.embeddings[None], codes)


def ready_tracks(bench: Workbench) -> Iterator[tuple[VideoFile, Track]]:
    """The tracks that are in the cache, each with its video."""
    for video in bench.folder.listing().videos.values():
        try:
            if bench.searcher.is_ready(video):
                yield video, bench.searcher.track(video)
        except SignspotError:
            continue


def find_places(spotter: Spotter, gallery: Gallery, tracks: Iterator[tuple[VideoFile, Track]]) -> list[Spotting]:
    """Places where a sign occurs: embeddings of windows propose, alignment decides; best first.

    Args:
        spotter: whose encoder made the tracks.
        gallery: of the one sign.
        tracks: to look in.
    """
    known = {video.name: track for video, track in tracks}
    proposed = sorted(
        (place for name, track in known.items() for place in propose(track, gallery, name)), key=lambda each: -each[0]
    )
    around: dict[str, list[Segment]] = {}
    for _, name, at in proposed[:_PROPOSED]:
        around.setdefault(name, []).append(Segment(max(0.0, at - _AROUND), at + _AROUND))
    found: dict[tuple[str, float], Spotting] = {}
    for name, within in around.items():
        for place in spotter.best_locations(known[name], gallery, within):
            found |= {(name, spotting.time): spotting for spotting in place.values()}
    return _apart(sorted(found.values(), key=lambda spotting: -spotting.score))[:_PLACES]


def propose(track: Track, gallery: Gallery, name: str) -> list[tuple[float, str, float]]:
    """The places of one track that are nearest to a sign by embedding: similarity, video, seconds; some apart."""
    times, signs = track.grid.times[::_EVERY], torch.from_numpy(gallery.embeddings.T.astype(np.float32))
    windows = torch.from_numpy(track.embeddings)[::_EVERY]  # torch reads half precision faster than numpy does
    each = max(1, _NUMBERS // windows.shape[1])
    parts = (windows[start : start + each] for start in range(0, len(windows), each))
    scores = torch.cat([(part.float() @ signs).amax(dim=1) for part in parts]).numpy()
    count = min(len(scores), 8 * _PROPOSED)
    best = np.argpartition(-scores, count - 1)[:count]
    kept: list[tuple[float, str, float]] = []
    taken = np.empty(0)
    for place in best[np.argsort(-scores[best])]:
        if not len(taken) or np.abs(taken - times[place]).min() >= _APART:
            kept.append((float(scores[place]), name, float(times[place])))
            taken = np.append(taken, times[place])
        if len(kept) == _PROPOSED:
            break
    return kept


def _apart(spottings: list[Spotting]) -> list[Spotting]:
    """Of spottings that overlap in one video, the best."""
    kept: list[Spotting] = []
    for spotting in spottings:
        if not any(one.video == spotting.video and one.segment.overlap(spotting.segment) > 0 for one in kept):
            kept.append(spotting)
    return kept
