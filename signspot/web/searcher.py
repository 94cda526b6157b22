"""Searches for the pages: one spotter, open dictionaries, results as JSON, the state of each video."""

import base64
import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from signspot.annotation.store import open_store
from signspot.applications.archive_search import Archive, open_track
from signspot.dictionary.dictionary import Dictionary, normalise_word
from signspot.dictionary.json_file import DICTIONARY_FILE
from signspot.dictionary.open_dictionary import open_dictionary
from signspot.embedding.exemplars import Gallery
from signspot.embedding.tracks import track_entry
from signspot.errors import FormatError, OptionsError, OutputError, SandboxStartError, SignspotError
from signspot.formats.spotting_rows import TEXTS, to_row
from signspot.io.files import content_digest
from signspot.io.progress import silent
from signspot.landmarks.landmarks import Landmarks
from signspot.landmarks.pose_file import is_pose_file
from signspot.landmarks.signing import sign_segment
from signspot.landmarks.video_estimation import has_landmarks, landmarks_of
from signspot.plots.curves import COLOURS
from signspot.spotting.decision import WORD_RATE
from signspot.spotting.spot_options import SpotOptions
from signspot.spotting.spotter import Spotter, load
from signspot.spotting.track_search import SearchResult
from signspot.types import Exemplar, Segment, Spotting, Track
from signspot.web.folder import ServedFolder, VideoFile
from signspot.web.verification import Queues, confirmed_exemplars
from signspot.web.worker import Worker, cache_landmarks, embed_exemplars, embed_video, estimate

_MOST_EXEMPLARS = 24  # of a word whose curves are sent
_MOST_CURVES = 6  # words of one search whose curves are sent
_MOST_COMPLETIONS = 12  # words that are offered while somebody types
_RECENT = 16  # results and galleries in memory
_TRACKS = 500, 1_500_000_000  # tracks in memory: their number and bytes at most; 20 hours of video
_LOWEST = 0.3  # lowest score of the peaks that are sent to the page, which shows those above its threshold
_MOST_HITS = 1500  # spottings of a word that are sent, the best first
_LONGEST = 8.0  # seconds of a hit that are aligned with its exemplar
_FINEST = 65535  # curves are sent as 16-bit numbers

logger = logging.getLogger(__name__)
T = TypeVar("T")


@dataclass
class _RecentResults:
    """The most recently used results."""

    most: int = _RECENT
    size: Callable[[Any], int] = lambda value: 0  # bytes of a result
    most_bytes: int = 0  # of all together; the last one may be larger
    values: "OrderedDict[Hashable, Any]" = field(default_factory=OrderedDict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def get(self, key: Hashable) -> Any:
        with self.lock:
            if key in self.values:
                self.values.move_to_end(key)
            return self.values.get(key)

    def put(self, key: Hashable, value: Any) -> None:
        with self.lock:
            self.values[key] = value
            while len(self.values) > self.most or (len(self.values) > 1 and self._bytes() > self.most_bytes):
                self.values.popitem(last=False)

    def _bytes(self) -> int:
        return sum(self.size(value) for value in self.values.values())


def track_bytes(track: Track) -> int:
    """Bytes that a track takes in memory."""
    return int(track.embeddings.nbytes + (0 if track.codes is None else track.codes.nbytes))


@dataclass
class Searcher:
    """Answers of the spotter to the pages; one search at a time, since each uses all processors."""

    folder: ServedFolder
    worker: Worker
    queues: Queues  # whose confirmed signs are further exemplars
    encoder: str | None = None  # name or file; None: the shipped one
    device: str = "cpu"  # where it runs
    _dictionaries: _RecentResults = field(default_factory=_RecentResults, init=False)
    _galleries: _RecentResults = field(default_factory=_RecentResults, init=False)
    _results: _RecentResults = field(default_factory=_RecentResults, init=False)
    _tracks: _RecentResults = field(
        default_factory=lambda: _RecentResults(_TRACKS[0], track_bytes, _TRACKS[1]), init=False
    )
    _segments: _RecentResults = field(default_factory=lambda: _RecentResults(2000), init=False)
    _archive: tuple[dict[str, Path], Archive] | None = field(default=None, init=False)
    _busy: threading.RLock = field(default_factory=threading.RLock, init=False)

    @cached_property
    def spotter(self) -> Spotter:
        """The spotter, loaded when it is first needed."""
        with self._busy:
            return load(self.encoder, device=self.device)

    def dictionary(self, name: str) -> Dictionary:
        """A dictionary, opened again when it has changed."""
        path = self.folder.dictionary(name)
        key = name, _stamp(path)
        dictionary: Dictionary | None = self._dictionaries.get(key)
        if dictionary is None:
            with self._busy:
                dictionary = self._dictionaries.get(key) or open_dictionary(path)
            self._dictionaries.put(key, dictionary)
        return dictionary

    def opened_dictionary(self, name: str) -> Dictionary | None:
        """A dictionary if it is open already, for pages that must not wait."""
        dictionary: Dictionary | None = self._dictionaries.get((name, _stamp(self.folder.dictionary(name))))
        return dictionary

    def confirmed(self, dictionary: str) -> list[Exemplar]:
        """Signs that people confirmed in queues of a dictionary: further exemplars, apart from its own."""
        return confirmed_exemplars(self.queues, self.folder, dictionary, self.dictionary(dictionary).exemplars)

    def exemplar(self, dictionary: str, name: str) -> Exemplar:
        """An exemplar, or a confirmed sign, whose file really lies in the served folders.

        Raises:
            FormatError: there is none of this id, or a link leads elsewhere.
        """
        listed = {exemplar.id: exemplar for exemplar in self.dictionary(dictionary).exemplars}
        exemplar = listed.get(name) or {other.id: other for other in self.confirmed(dictionary)}.get(name)
        if exemplar is None:
            raise FormatError(f"there is no exemplar '{name}' in '{dictionary}'")
        if exemplar.path is not None and not self.folder.contains(exemplar.path):
            raise FormatError(f"the exemplar '{name}' is refused: it is a link that leads out of the folder")
        return exemplar

    def complete(self, dictionary: str, text: str) -> dict[str, Any]:
        """Completions of a text: words that begin with it, words that contain it, or the nearest spellings."""
        words, query = list(self.dictionary(dictionary)), normalise_word(text)
        folded = [(normalise_word(word), word) for word in words]
        begins = [word for plain, word in folded if plain.startswith(query)]
        holds = [word for plain, word in folded if query in plain and not plain.startswith(query)]
        matching = [*begins, *holds][:_MOST_COMPLETIONS]
        near = [] if matching else get_close_matches(query, [plain for plain, _ in folded], n=4, cutoff=0.5)
        meant = [word for close in near for plain, word in folded if plain == close]
        return {"words": matching, "meant": meant[:4], "of": len(words)}

    def is_ready(self, video: VideoFile) -> bool:
        """Whether the track of a video is in the cache, so that a search takes a moment only."""
        entry = self._entry(video)
        return entry is not None and entry.is_file()

    def _entry(self, video: VideoFile) -> Path | None:
        """Where the cache keeps the track of a video; None without a cache."""
        cache, encoder = self.spotter.cache, self.spotter.encoder
        return None if cache is None else track_entry(cache, encoder.hash, content_digest(video.source), 1)

    def archive(self) -> Archive:
        """The tracks of all videos that are in the cache; their numbers stay on disk until they are compared."""
        entries: dict[str, Path] = {}
        for video in self.folder.listing().videos.values():
            with suppress(SignspotError):  # a video that was removed since the folder was listed
                entry = self._entry(video)
                if entry is not None and entry.is_file():
                    entries[video.name] = entry
        if self._archive is None or self._archive[0] != entries:
            tracks = []
            for name, entry in entries.items():
                with suppress(FormatError):  # a damaged one; it is made again when the video is searched
                    tracks.append(replace(open_track(entry), video=name))
            self._archive = {track.video: track.path for track in tracks}, Archive(tuple(tracks))
        return self._archive[1]

    @property
    def landmark_cache(self) -> Path | None:
        """The folder of estimated landmarks."""
        return self.spotter.cache and self.spotter.cache / "landmarks"

    def has_landmarks(self, path: Path) -> bool:
        """Whether the landmarks of a video are in the cache, or the file holds landmarks."""
        cache = self.landmark_cache
        return is_pose_file(path) or (cache is not None and has_landmarks(path, cache))

    def landmarks(self, path: Path) -> Landmarks:
        """Landmarks that are there already: no video is decoded.

        Raises:
            OptionsError: they are not there yet.
        """
        if not self.has_landmarks(path):
            raise OptionsError(f"the landmarks of '{path.name}' are not there yet: prepare it first")
        return landmarks_of(path, self.landmark_cache)

    def track(self, video: VideoFile) -> Track:
        """The track of a video; cached in memory for the next search."""
        key = "track", video.name, video.changed
        cached: Track | None = self._tracks.get(key)
        if cached is None:
            if not (is_pose_file(video.source) or self.is_ready(video)):
                self._decode(video.source)
            track = self.spotter.track(video.source)  # no video is decoded here
            cached = replace(track, video=video.name)  # once: creating a track checks all of it
            self._tracks.put(key, cached)
        return cached

    def gallery(self, dictionary: str, words: Sequence[str], further: Sequence[Exemplar] = ()) -> Gallery:
        """The exemplars of words of a dictionary, or of all of it, embedded; with those further ones of its words."""
        opened = self.dictionary(dictionary)
        spelled = tuple(dict.fromkeys(spelling for word in words for spelling in opened.resolve(word)))
        chosen_words = spelled or tuple(opened)
        added = tuple(exemplar for exemplar in further if exemplar.word in chosen_words)
        key = dictionary, _stamp(self.folder.dictionary(dictionary)), spelled, added
        cached: Gallery | None = self._galleries.get(key)
        if cached is None:
            with self._busy:
                exemplars = [exemplar for word in chosen_words for exemplar in opened[word]]
                cached = self.spotter.gallery(self._readable([*exemplars, *added]))
            self._galleries.put(key, cached)
        return cached

    def _readable(self, exemplars: Sequence[Exemplar]) -> list[Exemplar]:
        """Exemplars that can be read; videos that are not in the cache are decoded in the worker, never here."""
        if self.spotter.encoder.contract.kind != "landmarks":
            self.worker.call(embed_exemplars, list(exemplars), self.encoder, self.device, progress=silent)
            return list(exemplars)
        readable = []
        for exemplar in exemplars:
            try:
                if exemplar.path is not None and not is_pose_file(exemplar.path):
                    self._decode(exemplar.path)
                readable.append(exemplar)
            except SandboxStartError:
                raise
            except SignspotError as error:
                logger.warning("left out exemplar '%s' of '%s': %s", exemplar.id, exemplar.word, error)
        return readable

    def _decode(self, path: Path) -> None:
        """Put what the encoder needs of a video into the cache, in the worker, unless it is there already.

        Raises:
            OutputError: the cache cannot be written.
        """
        cache = self.landmark_cache
        if cache is None:
            raise OutputError("the server needs a cache folder: set $SIGNSPOT_CACHE to one that can be written")
        if self.spotter.encoder.contract.kind != "landmarks":
            self.worker.call(embed_video, path, self.encoder, self.device, progress=silent)
        elif not self.has_landmarks(path):
            self.worker.call(cache_landmarks, path, cache, progress=silent)
            if not self.has_landmarks(path):
                raise OutputError(f"the landmarks of {path.name} cannot be written to the cache folder {cache}")

    def search(
        self, video: VideoFile, dictionary: str, words: Sequence[str], *, confirmed: bool = True
    ) -> dict[str, Any]:
        """Search a video for words, or for all words of a dictionary if none is given; as `as_json` describes it.

        With `confirmed`, signs that people confirmed are further exemplars.
        """
        further = tuple(self.confirmed(dictionary)) if confirmed else ()
        key = video.name, video.changed, dictionary, _stamp(self.folder.dictionary(dictionary)), tuple(words), further
        cached: dict[str, Any] | None = self._results.get(key)
        if cached is None:
            with self._busy:
                result = self.search_track(self.track(video), self.gallery(dictionary, words, further))
            cached = self.as_json(result, video.name, dictionary)
            self._results.put(key, cached)
        return cached

    def search_clip(self, video: VideoFile, clip: Path, name: str) -> dict[str, Any]:
        """Search a video for the sign that a clip shows; its exemplar is not in a dictionary."""
        with self._busy:
            gallery = self.spotter.gallery(self._readable([Exemplar(word=name, id=name, path=clip)]))
            return self.as_json(self.search_track(self.track(video), gallery), video.name, "")

    def search_track(self, track: Track, gallery: Gallery) -> SearchResult:
        """Every peak of a few words, or the default spottings of many."""
        many = len(gallery.words) > _MOST_CURVES
        return self.spotter.search(track, gallery, SpotOptions(threshold=None if many else _LOWEST, top=_MOST_HITS))

    def as_json(self, result: SearchResult, video: str, dictionary: str) -> dict[str, Any]:
        """A result for the page: words with their spottings, of a few words also curves as 16-bit numbers.

        Of a few words every peak above a low score is there, so that the page moves its threshold without another
        request: of two overlapping peaks of a word the higher one is always chosen first, so those above a threshold
        are what a search with that threshold finds.
        """
        words, times = list(result.gallery.words), result.times
        spottings: dict[str, list[Spotting]] = {}
        for spotting in result.spottings:
            spottings.setdefault(spotting.word, []).append(spotting)
        has_curves = len(words) <= _MOST_CURVES
        return {
            "video": video,
            "dictionary": dictionary,
            "duration": round(result.duration, 3),
            "times": {"first": float(times[0]) if len(times) else 0.0, "step": _step(times), "count": len(times)},
            "default_rate": WORD_RATE,
            "encoder": self.spotter.encoder.name,
            "searched": len(words),
            "words": [
                {
                    "word": word,
                    "threshold": round(result.default_thresholds.get(word, 1.0), 4),
                    "hits": [_hit(spotting, video) for spotting in spottings.get(word, ())],
                    "exemplars": self._exemplars(result, word, dictionary) if has_curves else [],
                    "curve": packed(result.word_curve(word)) if has_curves else "",
                }
                for word in (words if has_curves else spottings)
            ],
        }

    def _exemplars(self, result: SearchResult, word: str, dictionary: str) -> list[dict[str, Any]]:
        numbered = [pair for pair in enumerate(result.gallery.exemplars) if pair[1].word == word][:_MOST_EXEMPLARS]
        return [
            {
                "id": exemplar.id,
                "variant": exemplar.variant,
                "colour": index % len(COLOURS),
                "playable": self.is_playable(exemplar),
                "segment": self.sign_span(dictionary, exemplar),
                "curve": packed(result.curve(number)),
            }
            for index, (number, exemplar) in enumerate(numbered)
        ]

    def aligned(
        self, video: VideoFile, dictionary: str, exemplar: str, span: Segment, *, mirrored: bool
    ) -> list[float]:
        """The position in an exemplar, from 0 to 1, for each frame of a segment of a video; two numbers: linear."""
        track, matched = self.track(video), self.exemplar(dictionary, exemplar)
        gallery = self.gallery(dictionary, [matched.word], self.confirmed(dictionary))
        rows = [
            row
            for row, (candidate, flag) in enumerate(map(gallery.exemplar, range(len(gallery.rows))))
            if candidate.id == exemplar and flag == mirrored
        ]
        if track.codes is None or gallery.codes is None or not rows:
            return [0.0, 1.0]
        first, last = (
            round(seconds * track.grid.fps) for seconds in (span.start, min(span.end, span.start + _LONGEST))
        )
        shares = exemplar_shares(track.codes[max(0, first) : max(first, last) + 1], gallery.codes[rows[0]])
        return [round(float(share), 3) for share in shares] or [0.0, 1.0]

    def is_playable(self, exemplar: Exemplar) -> bool:
        """Whether a page may play an exemplar as a video: it is not landmarks alone, and people may be shown."""
        return self.video_of(exemplar) is not None

    def video_of(self, exemplar: Exemplar) -> Path | None:
        """The video of an exemplar that a page may play; that of a confirmed sign may have landmarks beside it."""
        if not self.folder.pixels or exemplar.path is None:
            return None
        if not is_pose_file(exemplar.path):
            return exemplar.path
        videos = self.folder.listing().videos.values()
        return next((video.path for video in videos if video.source == exemplar.path and video.is_playable), None)

    def sign_span(self, dictionary: str, exemplar: Exemplar) -> list[float] | None:
        """The span of the sign in an exemplar's video, in seconds; None: unknown."""
        if exemplar.segment is not None:
            return [exemplar.segment.start, exemplar.segment.end]
        if exemplar.path is None:
            return None
        key = dictionary, exemplar.id, str(exemplar.path)
        cached: list[float] | None = self._segments.get(key)
        if cached is None:
            if self.has_landmarks(exemplar.path):
                landmarks = self.landmarks(exemplar.path)
            else:
                landmarks = self.worker.call(estimate, exemplar.path, self.landmark_cache, progress=silent)
            span: Segment = sign_segment(landmarks)
            cached = [round(span.start, 3), round(span.end, 3)]
            self._segments.put(key, cached)
        return cached


def _step(times: NDArray[np.float64]) -> float:
    return float((times[-1] - times[0]) / max(1, len(times) - 1)) if len(times) else 0.04


def _hit(spotting: Spotting, video: str) -> dict[str, Any]:
    """A spotting as JSON: with the video's name in the folder, never a path of this machine."""
    row: dict[str, Any] = to_row(replace(spotting, video=video))
    return {name: value if name in TEXTS else getattr(spotting, name) for name, value in row.items()}


def packed(scores: NDArray[np.floating[Any]]) -> str:
    """(T,) scores in [0, 1] as base64 of little-endian 16-bit numbers."""
    whole = np.rint(np.clip(np.asarray(scores, np.float64), 0, 1) * _FINEST).astype("<u2")
    return base64.b64encode(whole.tobytes()).decode("ascii")


def _stamp(path: Path) -> tuple[int, int]:
    """The version of a dictionary: time of the last change of its file or folder, and inode."""
    listed = path / DICTIONARY_FILE if path.is_dir() and (path / DICTIONARY_FILE).is_file() else path
    try:
        status = listed.stat()
        return status.st_mtime_ns, status.st_ino  # two changes within a tick of the clock are two files
    except OSError:
        return 0, 0


FloatArray = NDArray[np.floating[Any]]


def exemplar_shares(codes: FloatArray, exemplar: FloatArray) -> NDArray[np.float64]:
    """Warp a hit onto its exemplar, from first frame to first frame and from last to last.

    Args:
        codes: (T, C) frame codes of the hit.
        exemplar: (L, C) frame codes of the exemplar.

    Returns:
        (T,) the share of the exemplar, 0 at its first frame and 1 at its last, that belongs to each frame; never less
        than at the frame before.
    """
    count, frames = len(codes), len(exemplar)
    if count < 2 or frames < 2:
        return np.linspace(0.0, 1.0, count)
    hit, reference = np.asarray(codes, np.float32), np.asarray(exemplar, np.float32)
    cost = np.linalg.norm(hit[:, None] - reference[None], axis=2)
    total = np.full((count + 1, frames + 1), np.inf)
    total[0, 0] = 0.0
    for row in range(count):
        for column in range(frames):
            before = min(total[row, column], total[row, column + 1], total[row + 1, column])
            total[row + 1, column + 1] = cost[row, column] + before
    matched: list[list[int]] = [[] for _ in range(count)]
    row, column = count - 1, frames - 1
    while row >= 0 and column >= 0:
        matched[row].append(column)
        steps = (total[row, column], total[row, column + 1], total[row + 1, column])
        best = int(np.argmin(steps))
        row, column = row - (best != 2), column - (best != 1)
    return np.array([np.mean(frames_matched) for frames_matched in matched]) / (frames - 1)


_DELAY = 0.5  # seconds before files are read in the background, so that the page is answered first
_FRESH = 5.0  # seconds for which counts of runs and queues are cached


class States:
    """States of videos: with a track, annotated, verified; digests are computed in the background."""

    def __init__(self, searcher: Searcher):
        self._searcher = searcher
        self._digests: dict[tuple[str, int, int], str] = {}  # name, size, time of change → digest
        self._pending: dict[tuple[str, int, int], VideoFile] = {}
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._counts: dict[str, tuple[float, Any]] = {}  # with the time at which they were counted

    def is_ready(self, video: VideoFile) -> bool | None:
        """Whether a video has a track; None: not known yet, its digest is being computed."""
        key = video.name, video.size, video.changed
        if key in self._digests:
            try:
                return self._searcher.is_ready(video)
            except SignspotError:  # removed since the folder was listed
                return False
        with self._lock:
            self._pending[key] = video
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._compute, daemon=True)
                self._thread.start()
        return None

    def has_landmarks(self, video: VideoFile) -> bool:
        """Whether the landmarks of a video are available; False also where its digest is not known yet."""
        if is_pose_file(video.source):
            return True
        try:
            is_known = (video.name, video.size, video.changed) in self._digests
            return is_known and self._searcher.has_landmarks(video.path)
        except SignspotError:
            return False

    def _compute(self) -> None:
        time.sleep(_DELAY)
        while True:
            with self._lock:
                if not self._pending:
                    self._thread = None
                    return
                key, video = self._pending.popitem()
            try:
                self._searcher.spotter.encoder.hash  # noqa: B018 (loads it here, not in a request)
                self._digests[key] = content_digest(video.source)
            except SignspotError:
                self._digests[key] = ""

    def runs(self, folder: ServedFolder) -> dict[str, tuple[set[str], int]]:
        """Of each annotation run: the videos that are annotated, without suffixes, and how many could not be read."""

        def count() -> dict[str, tuple[set[str], int]]:
            runs: dict[str, tuple[set[str], int]] = {}
            for name, path in folder.listing().runs.items():
                runs[name] = set(), 0
                with suppress(SignspotError), open_store(path) as store:
                    rows = list(store.videos())
                    annotated = {row.video for row in rows if not row.problem}
                    runs[name] = annotated, sum(bool(row.problem) for row in rows)
            return runs

        return self._recent("runs", count)

    def verified(self, queues: Queues) -> dict[str, tuple[int, int]]:
        """Of each video: how many of its spottings are in queues, and how many of them are decided."""
        return self._recent("verified", queues.verified_videos)

    def _recent(self, name: str, count: Callable[[], T]) -> T:
        """What `count` returned at most some seconds ago."""
        counted_at, counts = self._counts.get(name, (-1e9, None))
        if time.monotonic() - counted_at > _FRESH:
            counts = count()
            self._counts[name] = time.monotonic(), counts
        result: T = counts
        return result
