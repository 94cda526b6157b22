"""State of the folder's videos, known without making anybody wait: tracks, annotations."""

import threading
import time

from signspot.annotation.store import open_store
from signspot.errors import SignspotError
from signspot.io.files import content_digest
from signspot.landmarks.estimate import has_landmarks
from signspot.web.folder import ServedFolder, VideoFile
from signspot.web.searching import Searcher
from signspot.web.verification import Queues

_LATER = 0.5  # seconds after which files are looked at: whoever asked has their page first
_FRESH = 5.0  # seconds for which what the runs hold is not read again


class States:
    """Videos that have a track; found out in the background, since a digest reads the whole file."""

    def __init__(self, searcher: Searcher):
        self._searcher = searcher
        self._known: dict[tuple[str, int, int], str] = {}  # name, size, time of change → digest
        self._waiting: dict[tuple[str, int, int], VideoFile] = {}
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._annotated: tuple[float, dict[str, int]] = (-1e9, {})
        self._runs: dict[str, dict[str, int]] = {}
        self._verified: tuple[float, dict[str, tuple[int, int]]] = (-1e9, {})

    def is_ready(self, video: VideoFile) -> bool | None:
        """Whether a video has a track; None: nobody has looked yet, and somebody does now."""
        key = video.name, video.size, video.changed
        if key in self._known:
            try:
                return self._searcher.is_ready(video)
            except SignspotError:  # it was removed since the folder was listed
                return False
        with self._lock:
            self._waiting[key] = video
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._look, daemon=True)
                self._thread.start()
        return None

    def has_landmarks(self, video: VideoFile) -> bool:
        """Whether the landmarks of a video are known; False also where nobody has looked yet."""
        if video.landmarks is not None or not video.is_film:
            return True
        cache = self._searcher.spotter.cache if (video.name, video.size, video.changed) in self._known else None
        try:
            return cache is not None and has_landmarks(video.path, cache / "landmarks")
        except SignspotError:
            return False

    def _look(self) -> None:
        time.sleep(_LATER)
        while True:
            with self._lock:
                if not self._waiting:
                    self._thread = None
                    return
                key, video = self._waiting.popitem()
            try:
                self._searcher.spotter.encoder.hash  # noqa: B018 (loads it here, not in a request)
                self._known[key] = content_digest(video.landmarks or video.path)
            except SignspotError:
                self._known[key] = ""

    def annotated(self, folder: ServedFolder) -> dict[str, int]:
        """The number of candidates in the folder's runs for each video, by its name without suffix."""
        told, known = self._annotated
        if time.monotonic() - told < _FRESH:
            return known
        found: dict[str, int] = {}
        runs: dict[str, dict[str, int]] = {}
        for name, place in folder.listing().runs.items():
            runs[name] = {"videos": 0, "problems": 0}
            try:
                with open_store(place) as store:
                    for video in store.videos():
                        found[video.video] = found.get(video.video, 0) + (0 if video.problem else 1)
                        runs[name]["problems" if video.problem else "videos"] += 1
            except SignspotError:
                continue
        self._annotated, self._runs = (time.monotonic(), found), runs
        return found

    def run(self, name: str) -> dict[str, int]:
        """The videos of an annotation run, and those that it could not read, as `annotated` counted them last."""
        return self._runs.get(name, {"videos": 0, "problems": 0})

    def verified(self, queues: Queues) -> dict[str, tuple[int, int]]:
        """Of each video: how many of its spottings are in queues, and how many of them are decided."""
        told, known = self._verified
        if time.monotonic() - told > _FRESH:
            known = queues.verified_videos()
            self._verified = time.monotonic(), known
        return known
