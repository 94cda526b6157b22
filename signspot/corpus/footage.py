"""What is to be annotated: the videos of a corpus, each with its subtitles, and the files that have no partner."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from signspot.corpus.corpus import Layout, open_corpus
from signspot.dictionary.contents import VIDEO_SUFFIXES
from signspot.errors import FormatError
from signspot.subtitles.reading import SUFFIXES

Kind = Literal["rgb", "landmarks"]

_LANDMARKS = ".pose"


@dataclass(frozen=True, slots=True)
class Footage:
    """One video and its subtitles."""

    video: str  # its path in the corpus, without suffix
    media: Path  # a video or a .pose file
    subtitles: Path


@dataclass(frozen=True, slots=True)
class Problem:
    """A file that was left out, and why."""

    name: str  # the video's, or the file's path in the corpus
    message: str

    def __str__(self) -> str:
        return f"{self.name}: {self.message}"


@dataclass(frozen=True, slots=True)
class Listing:
    """What a corpus holds."""

    footage: tuple[Footage, ...]  # by name
    problems: tuple[Problem, ...] = ()


def list_footage(folder: str | Path, kind: Kind, language: str = "en") -> Listing:
    """Find the videos of a corpus.

    Args:
        folder: with videos or .pose files, and subtitles of the same name beside them (`news.mp4`, and `news.vtt` or
            `news.en.vtt`), also in folders below; or a corpus that `signspot world make` made.
        kind: what the encoder sees: landmarks are preferred by one kind, and of no use to the other.
        language: of the subtitles that are wanted where there are several.

    Raises:
        FormatError: there is no such folder, or nothing in it can be annotated.
    """
    place = Path(folder)
    if not place.is_dir():
        raise FormatError(f"no corpus at {place}: there is no such folder")
    listing = _list_made(place, kind) if Layout(place).corpus.is_file() else _list_found(place, kind, language)
    if not listing.footage:
        hint = f" ({listing.problems[0]})" if listing.problems else ""
        raise FormatError(f"{place} holds no video with subtitles of the same name{hint}. Put them side by side.")
    return listing


def _list_made(folder: Path, kind: Kind) -> Listing:
    videos = sorted(open_corpus(folder).videos.values(), key=lambda video: video.id)
    found = [
        _join(video.id, [path for path in (video.landmarks, video.video) if path], video.subtitles, kind)
        for video in videos
    ]
    return _listing(found)


def _list_found(folder: Path, kind: Kind, language: str) -> Listing:
    root = folder / "videos" if (folder / "videos").is_dir() and not any(_media(folder.glob("*"))) else folder
    files = sorted(path for path in root.rglob("*") if path.is_file() and not path.name.startswith("."))
    media: dict[str, list[Path]] = {}
    for path in _media(iter(files)):
        media.setdefault(_name(path, root), []).append(path)
    texts: dict[str, list[Path]] = {}
    for path in files:
        if path.suffix.lower() in SUFFIXES:
            texts.setdefault(_partner(_name(path, root), media, language), []).append(path)
    found: list[Footage | Problem] = [
        _join(name, media[name], _preferred(texts.pop(name, [])), kind) for name in sorted(media)
    ]
    for path in (path for _, paths in sorted(texts.items()) for path in paths):
        if path.suffix.lower() != ".xml":  # any other document may end so
            name = path.relative_to(root).as_posix()
            found.append(Problem(_storable(name), "there is no video of this name beside it; left out"))
    return _listing(found)


def _listing(found: list[Footage | Problem]) -> Listing:
    footage = tuple(each for each in found if isinstance(each, Footage))
    return Listing(footage, tuple(each for each in found if isinstance(each, Problem)))


def _media(paths: Iterator[Path]) -> Iterator[Path]:
    return (path for path in paths if path.suffix.lower() in VIDEO_SUFFIXES or path.suffix == _LANDMARKS)


def _name(path: Path, root: Path) -> str:
    return _storable(path.relative_to(root).with_suffix("").as_posix())


def _storable(name: str) -> str:
    """A name that a database can hold, also where the file's is in another encoding."""
    return name.encode("utf-8", "backslashreplace").decode().replace("\0", "")


def _partner(name: str, media: dict[str, list[Path]], language: str) -> str:
    """The video that subtitles belong to: of the same name, or with the language added to it."""
    base, dot, tag = name.rpartition(".")
    spoken = tag.replace("_", "-").partition("-")[0].lower() == language.replace("_", "-").partition("-")[0].lower()
    return base if dot and name not in media and base in media and spoken else name


def _preferred(paths: list[Path]) -> Path | None:
    """Of several subtitle files the one with the plainest name, and of the format that says most about time."""
    order = (".vtt", ".srt", ".ttml", ".dfxp", ".xml")
    return min(paths, key=lambda path: (len(path.stem), order.index(path.suffix.lower()), path.name), default=None)


def _join(name: str, media: list[Path], subtitles: Path | None, kind: Kind) -> Footage | Problem:
    landmarks = [path for path in media if path.suffix == _LANDMARKS]
    videos = [path for path in media if path.suffix != _LANDMARKS]
    usable = landmarks + videos if kind == "landmarks" else videos
    if subtitles is None:
        return Problem(name, f"there are no subtitles ({name.rsplit('/', 1)[-1]}.vtt, .srt or .ttml); left out")
    if not usable:
        return Problem(name, "the encoder sees pixels and there are landmarks only; left out")
    return Footage(name, usable[0], subtitles)
