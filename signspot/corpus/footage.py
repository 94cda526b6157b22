"""The videos of a corpus that can be annotated: those with subtitles that the encoder can see; the others are told."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from signspot.corpus.corpus import open_corpus
from signspot.corpus.videos import CorpusProblem, CorpusVideo
from signspot.errors import FormatError

Kind = Literal["rgb", "landmarks"]


@dataclass(frozen=True, slots=True)
class Footage:
    """One video and its subtitles."""

    video: str  # its path in the corpus, without suffix
    media: Path  # a video or a .pose file
    subtitles: Path


@dataclass(frozen=True, slots=True)
class FootageListing:
    """The footage of a corpus, and the files that were left out."""

    footage: tuple[Footage, ...]  # by name
    problems: tuple[CorpusProblem, ...] = ()


def list_footage(folder: str | Path, kind: Kind, language: str = "en") -> FootageListing:
    """List the videos of a corpus that have subtitles.

    Args:
        folder: any that `open_corpus` opens.
        kind: what the encoder sees: landmarks are preferred by one kind, and of no use to the other.
        language: of the subtitles that are wanted where there are several.

    Raises:
        FormatError: there is no such folder, or nothing in it can be annotated.
    """
    corpus = open_corpus(folder, language)
    joined = [_footage(video, kind) for _, video in sorted(corpus.videos.items())]
    footage = tuple(each for each in joined if isinstance(each, Footage))
    problems = (*(each for each in joined if isinstance(each, CorpusProblem)), *corpus.problems)
    if not footage:
        raise FormatError(
            f"{corpus.folder} holds no video with subtitles of the same name ({problems[0]}). Put them side by side."
        )
    return FootageListing(footage, problems)


def _footage(video: CorpusVideo, kind: Kind) -> Footage | CorpusProblem:
    media = video.landmarks or video.video if kind == "landmarks" else video.video
    if video.subtitles is None:
        name = video.id.rsplit("/", 1)[-1]
        return CorpusProblem(video.id, f"there are no subtitles ({name}.vtt, .srt or .ttml); left out")
    if media is None:
        return CorpusProblem(video.id, "the encoder sees pixels and there are landmarks only; left out")
    return Footage(video.id, media, video.subtitles)
