"""The folder that is served: which videos, dictionaries and runs lie in it, and nothing that lies elsewhere."""

import os
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from signspot.annotation.store import FILE as STORE_FILE
from signspot.dictionary.bsldict import BSLDICT_FILE
from signspot.dictionary.json_file import DICTIONARY_FILE
from signspot.errors import FormatError, OptionsError, OutputError
from signspot.io.checks import path_inside
from signspot.io.files import explain_write_failure
from signspot.subtitles.reading import SUFFIXES as SUBTITLE_SUFFIXES
from signspot.video import MEDIA_SUFFIXES

STATE_FOLDER = ".signspot"  # in the served folder: database, uploads that are being received, media
MEDIA_FOLDER = "media"  # in the state folder: thumbnails and playable copies
RUNS, ENCODERS = "runs", "encoders"  # where jobs write
_DICTIONARY_NAMES = ("dictionary", "dictionary-video", "signs")
_NO_FOOTAGE = ("truth", "labels", RUNS, ENCODERS)
_FRESH = 2.0  # seconds for which a listing is not made again


@dataclass(frozen=True, slots=True)
class VideoFile:
    """A video, or landmarks alone, of the served folder."""

    name: str  # path in the folder, with `/`
    path: Path
    size: int  # bytes
    changed: int  # nanoseconds
    subtitles: Path | None = None
    landmarks: Path | None = None  # a .pose file of the same name beside it
    pixels: bool = True  # its frames may be shown

    @property
    def has_frames(self) -> bool:
        """Whether the file is a video, not landmarks alone."""
        return self.path.suffix.lower() != ".pose"

    @property
    def source(self) -> Path:
        """What is embedded: the landmarks beside the video, otherwise the file itself."""
        return self.landmarks or self.path

    @property
    def is_playable(self) -> bool:
        """Whether a page may play it as a video."""
        return self.has_frames and self.pixels


@dataclass(frozen=True, slots=True)
class Listing:
    """Contents of a folder, by name."""

    videos: dict[str, VideoFile]
    dictionaries: dict[str, Path]
    runs: dict[str, Path]


@dataclass
class ServedFolder:
    """A folder, and dictionaries beside it; every path that the pages name is looked up here."""

    root: Path
    others: Sequence[Path] = ()  # dictionaries that lie elsewhere
    pixels: bool = True  # people may be shown, and videos of them added
    _listing: Listing | None = field(default=None, init=False, repr=False)
    _listed: float = field(default=-1e9, init=False, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)

    def __post_init__(self) -> None:
        if not self.root.is_dir():
            raise OptionsError(f"there is no folder {self.root} to serve. Name a folder of videos.")
        self.root = self.root.resolve()

    @property
    def state(self) -> Path:
        """The folder of the workbench's own files; created on demand."""
        path = self.root / STATE_FOLDER
        try:
            path.mkdir(exist_ok=True)
        except OSError as error:
            raise OutputError(explain_write_failure(path, error)) from error
        return path

    def listing(self, *, fresh: bool = False) -> Listing:
        """Contents of the folder; at most two seconds old, or made anew."""
        with self._lock:
            if fresh or self._listing is None or time.monotonic() - self._listed > _FRESH:
                self._listing = _scan(self)
                self._listed = time.monotonic()
            return self._listing

    def video(self, name: str) -> VideoFile:
        """A video by its name.

        Raises:
            FormatError: it leads out of the folder, or there is none.
        """
        path_inside(
            self.root, name, "the video"
        )  # refuses traversal and links that lead out, before anything is looked up
        video = self.listing().videos.get(name) or self.listing(fresh=True).videos.get(name)
        if video is None:
            raise FormatError(f"there is no video '{name}' in the folder")
        return video

    def dictionary(self, name: str) -> Path:
        """A dictionary's folder or file by its name."""
        path = self.listing().dictionaries.get(name) or self.listing(fresh=True).dictionaries.get(name)
        if path is None:
            raise FormatError(f"there is no dictionary '{name}' in the folder")
        return path

    def run(self, name: str) -> Path:
        """The folder of an annotation run by its name."""
        path = self.listing(fresh=True).runs.get(name)
        if path is None:
            raise FormatError(f"there is no annotation run '{name}' in the folder")
        return path

    def new_file(self, name: str, kind: str) -> Path:
        """The path of a file that may be written, inside the folder and not among the workbench's own.

        Raises:
            FormatError: it leads out of the folder, or is hidden.
        """
        path = path_inside(self.root, name, kind)
        if any(part.startswith(".") for part in Path(name).parts):
            raise FormatError(f"{kind} '{name}' is refused: names that begin with a dot are not shown.")
        return path

    def contains(self, path: Path) -> bool:
        """Whether a file really lies in the folder, or in one of the dictionaries that were given."""
        real = path.resolve()
        return any(real.is_relative_to(folder.resolve()) for folder in (self.root, *self.others))


def _scan(folder: ServedFolder) -> Listing:
    root = folder.root
    media: dict[str, list[os.DirEntry[str]]] = {}
    subtitles: dict[str, str] = {}
    dictionaries = {f"+{other.name}": other for other in folder.others}
    runs: dict[str, Path] = {}
    pending = [root]
    while pending:
        current = pending.pop()
        relative = current.relative_to(root).as_posix()
        below = "" if current == root else f"{relative}/"
        try:
            with os.scandir(current) as scanned:
                entries = [entry for entry in scanned if not entry.name.startswith(".")]
        except FileNotFoundError:
            if current == root:
                raise
            continue  # removed meanwhile
        names = {entry.name for entry in entries}
        if current != root and _is_dictionary(current, names):
            dictionaries[relative] = current
            continue
        if current != root and STORE_FILE in names:
            runs[relative] = current
            continue
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in _NO_FOOTAGE or entry.name == RUNS:
                    pending.append(Path(entry.path))
            elif entry.is_file(follow_symlinks=False):
                _register(entry, below, media, subtitles)
    return Listing(_videos(folder, media, subtitles), dict(sorted(dictionaries.items())), dict(sorted(runs.items())))


def _is_dictionary(path: Path, names: set[str]) -> bool:
    return bool(names & {DICTIONARY_FILE, BSLDICT_FILE}) or (path.name in _DICTIONARY_NAMES and bool(names))


def _register(
    entry: "os.DirEntry[str]", below: str, media: dict[str, list["os.DirEntry[str]"]], subtitles: dict[str, str]
) -> None:
    """Remember a file of the folder `below` by its name without suffix; texts alone, since there are thousands."""
    start, _, end = entry.name.rpartition(".")
    stem, suffix = f"{below}{start}", f".{end.lower()}"
    if start and suffix in MEDIA_SUFFIXES:
        media.setdefault(stem, []).append(entry)
    elif start and suffix in SUBTITLE_SUFFIXES and suffix != ".xml":
        base, _, language = stem.rpartition(".")
        subtitles.setdefault(base if base and len(language) in (2, 5) else stem, entry.path)


def _videos(
    folder: ServedFolder, media: dict[str, list["os.DirEntry[str]"]], subtitles: dict[str, str]
) -> dict[str, VideoFile]:
    videos: dict[str, VideoFile] = {}
    for stem, entries in media.items():
        poses = [entry.path for entry in entries if entry.name.lower().endswith(".pose")]
        with_frames = [entry for entry in entries if not entry.name.lower().endswith(".pose")]
        for entry in with_frames or entries:
            try:
                state = entry.stat()
            except FileNotFoundError:  # removed meanwhile
                continue
            name = f"{stem}.{entry.name.rpartition('.')[2]}"
            if name.isprintable() or name.encode("utf-8", "replace").decode() == name:
                landmarks = Path(poses[0]) if poses else None
                beside = Path(subtitles[stem]) if stem in subtitles else None, landmarks, folder.pixels
                videos[name] = VideoFile(name, Path(entry.path), state.st_size, state.st_mtime_ns, *beside)
    return dict(sorted(videos.items()))
