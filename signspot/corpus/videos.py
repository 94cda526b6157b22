"""The videos of a folder: which files belong together, and which have no partner. Every verb begins here."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from signspot.subtitles.reading import SUFFIXES
from signspot.types import VideoRights
from signspot.video.suffixes import MEDIA_SUFFIXES

LANDMARKS_SUFFIX = ".pose"
_OTHER_FOLDERS = ("dictionary", "dictionary-video", "labels", "truth")  # of a corpus: what is in them is no footage
_PREFERRED = (".vtt", ".srt", ".ttml", ".dfxp", ".xml")  # of subtitles: those that say most about time first


@dataclass(frozen=True, slots=True)
class CorpusVideo:
    """One continuous video of a corpus."""

    id: str  # its path in the corpus, without suffix
    landmarks: Path | None  # .pose
    video: Path | None
    subtitles: Path | None
    signer: str = ""
    split: str = ""  # train, test, or unknown
    licence: str = ""
    consent: str = ""  # what the signer agreed to

    @property
    def rights(self) -> VideoRights:
        """Rights to its use."""
        return VideoRights(self.licence, self.consent)


@dataclass(frozen=True, slots=True)
class CorpusProblem:
    """A file of a corpus that was left out, and why."""

    name: str  # the video's, or the file's path in the corpus
    message: str

    def __str__(self) -> str:
        return f"{self.name}: {self.message}"


def find_videos(folder: Path, language: str) -> tuple[list[CorpusVideo], list[CorpusProblem]]:
    """Find videos, .pose files and the subtitles that belong to them, also in folders below.

    Args:
        folder: where they are, or in its folder `videos`.
        language: of the subtitles that are wanted where there are several.

    Returns:
        The videos by name, and subtitles that belong to none.
    """
    root = folder / "videos" if (folder / "videos").is_dir() and not any(map(is_media, folder.glob("*"))) else folder
    files = [path for path in sorted(root.rglob("*")) if path.is_file() and _is_footage(path.relative_to(root).parts)]
    media: dict[str, list[Path]] = {}
    for path in filter(is_media, files):
        media.setdefault(_name(path, root), []).append(path)
    texts: dict[str, list[Path]] = {}
    for path in files:
        if path.suffix.lower() in SUFFIXES:
            texts.setdefault(_partner(_name(path, root), media, language), []).append(path)
    videos = [_joined(name, media[name], texts.pop(name, ())) for name in sorted(media)]
    lonely = [path for _, paths in sorted(texts.items()) for path in paths if path.suffix.lower() != ".xml"]
    problems = [
        CorpusProblem(
            _storable(path.relative_to(root).as_posix()), "there is no video of this name beside it; left out"
        )
        for path in lonely  # .xml is left out silently: any other document may end so
    ]
    return videos, problems


def is_media(path: Path) -> bool:
    """Whether a file is named like a video or like landmarks."""
    return path.suffix.lower() in MEDIA_SUFFIXES


def _is_footage(parts: tuple[str, ...]) -> bool:
    return parts[0] not in _OTHER_FOLDERS and not any(part.startswith(".") for part in parts)


def _joined(name: str, media: Iterable[Path], subtitles: Iterable[Path]) -> CorpusVideo:
    """One video of all files of one name; of several subtitle files the one with the plainest name."""
    chosen = min(
        subtitles,
        key=lambda path: (len(path.stem), _PREFERRED.index(path.suffix.lower()), path.name),
        default=None,
    )
    landmarks = [path for path in media if path.suffix.lower() == LANDMARKS_SUFFIX]
    videos = [path for path in media if path.suffix.lower() != LANDMARKS_SUFFIX]
    return CorpusVideo(name, next(iter(landmarks), None), next(iter(videos), None), chosen)


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
