"""Search by signing: from a recording to the nearest words of a dictionary and locations in the folder."""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from threadpoolctl import threadpool_limits

from signspot.applications.archive import Archive, nearest_locations
from signspot.embedding.exemplars import ExemplarEmbedder, Gallery, SignViews
from signspot.embedding.inputs import is_pose_file
from signspot.formats.spotting_rows import to_row
from signspot.io.progress import silent
from signspot.landmarks.landmarks import BODY_POINTS, DEFAULT_FPS, FACE_POINTS, HAND_POINTS, Landmarks
from signspot.landmarks.pose_file import open_landmarks
from signspot.landmarks.signing import check_signing
from signspot.spotting.spot_options import SpotOptions
from signspot.spotting.spotter import Spotter
from signspot.types import Exemplar, Segment, Spotting
from signspot.web.media import share_with_hands
from signspot.web.workbench import Workbench
from signspot.web.worker import estimate

T = TypeVar("T")
_RECORDING = Exemplar(word="", id="recording")

# PyTorch chooses its number of threads when a thread first uses it; that must happen before it is limited.
_worker = ThreadPoolExecutor(1, "signspot-answers", torch.get_num_threads)


def on_one_thread(work: Callable[[], T]) -> T:
    """Run on one thread, with matrix products that use no further threads."""
    return _worker.submit(_limited, work).result()


def _limited(work: Callable[[], T]) -> T:
    with threadpool_limits(1):  # BLAS for the process, PyTorch's OpenMP for this thread alone
        return work()


_WORDS, _LOCATIONS = 12, 24  # of one answer
_STEPS = ("landmarks", "words", "locations")  # of a search, whose durations are reported
_PROPOSED = 60  # locations in all videos that embeddings propose and alignment decides


def clip_landmarks(bench: Workbench, path: Path) -> Landmarks:
    """The landmarks of an uploaded clip; nothing of it is cached."""
    if is_pose_file(path):
        return open_landmarks(path)
    landmarks: Landmarks = bench.worker.call(estimate, path, None, progress=silent)
    return landmarks


def search_sign(
    bench: Workbench, get_landmarks: Callable[[], Landmarks], dictionary: str, span: Segment | None
) -> dict[str, Any]:
    """Look a recorded sign up in a dictionary and in all videos whose track is there.

    Args:
        bench: the workbench.
        get_landmarks: gives the landmarks of the recording, not mirrored, perhaps after a while.
        dictionary: its name.
        span: the part of the recording that is searched for; None: all.

    Raises:
        LandmarksError: no signer or no hand is in view.
    """
    clocks = [_clocks()]
    landmarks = get_landmarks()
    if span is not None:
        cut = landmarks.between(span)
        landmarks = replace(cut, times=cut.times - cut.times[0]) if len(cut) > 4 else landmarks
    check_signing(landmarks, "the recording")
    clocks.append(_clocks())
    spotter = bench.searcher.spotter
    gallery = bench.searcher.gallery(dictionary, ())
    embedder = ExemplarEmbedder(spotter.encoder, None)
    views = on_one_thread(lambda: embedder.embed_source(landmarks, mirror=True))
    words = on_one_thread(lambda: spotter.identify_views(views, gallery, SpotOptions()))[:_WORDS]
    exemplars = {exemplar.id: exemplar for exemplar in gallery.exemplars}
    playable = [bench.searcher.is_playable(exemplars[match.exemplar]) for match in words]
    clocks.append(_clocks())
    archive = bench.searcher.archive()
    locations = on_one_thread(lambda: find_locations(spotter, archive, sign_gallery([_RECORDING], [views])))
    clocks.append(_clocks())
    seconds, processor = (
        {name: round(after[k] - before[k], 3) for name, before, after in zip(_STEPS, clocks, clocks[1:], strict=False)}
        for k in range(2)
    )
    return {
        "dictionary": dictionary,
        "known": not words or words[0].is_known,
        "hands": round(share_with_hands(landmarks), 3),
        "words": [{**asdict(match), "playable": shows} for match, shows in zip(words, playable, strict=True)],
        "locations": [to_row(location) for location in locations],
        "seconds": seconds,
        "processor": processor,
    }


def _clocks() -> tuple[float, float]:
    return time.perf_counter(), time.process_time()


def warm_up(bench: Workbench, dictionary: str) -> dict[str, int]:
    """Search for an empty sign, so that networks, exemplars and tracks are loaded before the first real one.

    Returns:
        The number of exemplars and of tracks.
    """
    spotter, gallery, archive = bench.searcher.spotter, bench.searcher.gallery(dictionary, ()), bench.searcher.archive()
    shapes = ((BODY_POINTS, 4), (HAND_POINTS, 3), (HAND_POINTS, 3), (len(FACE_POINTS), 3))
    body, left, right, face = (np.full((32, *shape), 0.5, np.float32) for shape in shapes)
    nobody = Landmarks(body, left, right, face, np.arange(32) / DEFAULT_FPS, (640, 480))
    embedder = ExemplarEmbedder(spotter.encoder, None)
    views = on_one_thread(lambda: embedder.embed_source(nobody, mirror=True))
    on_one_thread(
        lambda: spotter.identify_views(views, gallery, SpotOptions())
    )  # caches the corrections of the exemplars
    on_one_thread(lambda: find_locations(spotter, archive, sign_gallery([_RECORDING], [views])))
    return {"exemplars": len(gallery.exemplars), "tracks": len(archive.tracks)}


def search_recordings(bench: Workbench, signs: Sequence[tuple[str, Landmarks]], sentence: Landmarks) -> dict[str, Any]:
    """Search the recording of a sentence for recorded signs; nothing is cached.

    Args:
        bench: the workbench.
        signs: word and landmarks of each recorded sign.
        sentence: landmarks.

    Raises:
        LandmarksError: no signer or no hand is visible in one of them.
    """
    for word, landmarks in signs:
        check_signing(landmarks, f"the recording of '{word}'")
    check_signing(sentence, "the recording of the sentence")
    spotter = bench.searcher.spotter
    embedder = ExemplarEmbedder(spotter.encoder, None)
    views = [embedder.embed_source(landmarks, mirror=True) for _, landmarks in signs]
    exemplars = [Exemplar(word, f"{word} {number}") for number, (word, _) in enumerate(signs, start=1)]
    result = bench.searcher.search_track(spotter.track(sentence), sign_gallery(exemplars, views))
    return bench.searcher.as_json(result, "", "")


def sign_gallery(exemplars: Sequence[Exemplar], views: Sequence[SignViews]) -> Gallery:
    """A gallery of recorded signs, each with its mirror image."""
    codes = [view.codes for view in views if view.codes is not None]
    return Gallery.of(exemplars, np.stack([view.embeddings for view in views]), np.stack(codes) if codes else None)


def find_locations(spotter: Spotter, archive: Archive, gallery: Gallery) -> list[Spotting]:
    """Locations of a sign, best first: embeddings of windows propose, alignment decides.

    Args:
        spotter: whose encoder made the tracks.
        archive: the tracks in which to search; there may be none.
        gallery: of the one sign.
    """
    if not archive.tracks:
        return []
    located = nearest_locations(spotter, archive, gallery, _PROPOSED, threads=1)[_RECORDING.word]
    named = [replace(location, video=archive.tracks[number].video) for number, location in located]
    return _apart(named)[:_LOCATIONS]


def _apart(spottings: list[Spotting]) -> list[Spotting]:
    """Of spottings that overlap in one video, the best."""
    chosen: list[Spotting] = []
    for spotting in spottings:
        if not any(other.video == spotting.video and other.segment.overlap(spotting.segment) > 0 for other in chosen):
            chosen.append(spotting)
    return chosen
