"""A corpus on disk: where its files lie, which of them are finished, and how it is opened.

    corpus.json                     what it is: options, versions, videos
    splits.json                     train and test videos; all, train and test words
    dictionary/dictionary.json      the dictionary, with landmarks; dictionary-video/ the same with videos
    videos/ID.pose  .vtt  .mp4      landmarks, subtitles, picture
    labels/                         labels of any source: JSON Lines, or spottings in any format
    truth/signs, mentions/ID.jsonl  every sign, every subtitle word; truth/mouthings/ID.jsonl every mouthed word
    truth/exemplars/*.jsonl         every exemplar

A corpus of real footage has the same files; all but the videos may be missing. Without `corpus.json` videos are
searched for, in folders below too: `news.mp4` or `news.pose`, and `news.vtt` or `news.en.vtt` beside it.
"""

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np

from signspot.corpus.labels import EVERY_LABEL, LeastConfidence, is_test_truth, read_labels
from signspot.corpus.truth import (
    ExemplarTruth,
    MentionTruth,
    MouthingTruth,
    SignTruth,
    Splits,
    WordSplit,
    read_records,
    read_splits,
    write_splits,
)
from signspot.dictionary.dictionary import Dictionary
from signspot.dictionary.open_dictionary import open_dictionary
from signspot.errors import FormatError
from signspot.io.checks import check_int, check_text, parse_json, path_inside, quoted
from signspot.io.files import atomic_write, content_digest
from signspot.io.text import read_text
from signspot.subtitles.reading import SUFFIXES, Subtitles, read_subtitles
from signspot.types import Label, VideoRights
from signspot.video import MEDIA_SUFFIXES

LANDMARKS_SUFFIX = ".pose"
TEST_SHARE = 0.25  # of the videos of a corpus that names none for testing
_OTHER_FOLDERS = ("dictionary", "dictionary-video", "labels", "truth")  # of a corpus: what is in them is not footage
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


_Truth = TypeVar("_Truth", SignTruth, MentionTruth, MouthingTruth)
_Content = TypeVar("_Content")
FORMAT, VERSION = "signspot-corpus", 1


class Layout:
    """Places of a corpus's files."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.corpus = folder / "corpus.json"  # its description
        self.splits = folder / "splits.json"  # videos and words for training and for testing
        self.dictionary = folder / "dictionary"  # with landmarks
        self.dictionary_video = folder / "dictionary-video"  # with videos, where it was rendered

    def exemplar(self, name: str, *, video: bool = False) -> Path:
        """Landmarks or video of one exemplar."""
        media = (self.dictionary_video if video else self.dictionary) / "media" / name[:1].lower()
        return media / f"{name}{'.mp4' if video else '.pose'}"

    def video(self, name: str, suffix: str) -> Path:
        """A file of one continuous video."""
        return self.folder / "videos" / f"{name}{suffix}"

    def labels(self, name: str) -> Path:
        """The labels of one video, or of one source."""
        return self.folder / "labels" / f"{name}.jsonl"

    def truth(self, kind: str, name: str) -> Path:
        """The truth about one video ('signs', 'mentions') or one part of the dictionary ('exemplars')."""
        return self.folder / "truth" / kind / f"{name}.jsonl"

    def finished(self, item: str) -> Path:
        """The record that one item of work is finished."""
        return self.folder / ".finished" / f"{item}.json"

    def mark_finished(self, item: str, files: Sequence[Path]) -> None:
        """Record that an item is finished, and the digest of each of its files."""
        names = {path.relative_to(self.folder).as_posix(): content_digest(path) for path in files}
        write_json(names, self.finished(item))

    def is_finished(self, item: str) -> bool:
        """Whether an item is finished and all its files are as they were then."""
        try:
            record = self.finished(item)
            names = parse_json(record.read_text(encoding="utf-8"), str(record))
            files = {path_inside(self.folder, name, str(record)): digest for name, digest in names.items()}
            return all(path.is_file() and content_digest(path) == digest for path, digest in files.items())
        except (OSError, ValueError, AttributeError, FormatError):
            return False


def write_json(value: Any, path: Path) -> Path:
    """Write JSON, always in the same form."""
    with atomic_write(path) as temporary:
        temporary.write_text(json.dumps(value, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    return path


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


@dataclass(frozen=True, slots=True)
class Corpus:
    """A corpus that was opened: each file is read when it is first asked for, and not again."""

    folder: Path
    videos: Mapping[str, CorpusVideo]
    options: Mapping[str, Any]  # of the generator that made it; empty for real footage
    problems: tuple[CorpusProblem, ...] = ()  # files that were left out
    language: str = "en"  # of its subtitles and words
    _contents: dict[Path, Any] = field(default_factory=dict, repr=False, compare=False)  # of files; copies share it

    @property
    def layout(self) -> Layout:
        """The places of its files."""
        return Layout(self.folder)

    def dictionary(self, *, video: bool = False) -> Dictionary:
        """Its dictionary, with landmarks or with videos."""
        return self._once(self.layout.dictionary_video if video else self.layout.dictionary, open_dictionary)

    def splits(self) -> Splits:
        """Its splits."""
        return self._once(self.layout.splits, read_splits)

    def subtitles(self, video: str) -> Subtitles:
        """The subtitles of a video that has some."""
        path = self.videos[video].subtitles
        assert path is not None, "asked for only where there are some"
        return self._once(path, read_subtitles)

    def in_split(self, split: str) -> list[CorpusVideo]:
        """The videos for training ('train'), for testing ('test'), or of another split.

        Where none is named for training, those are for it that are in no split.
        """
        videos = [video for video in self.videos.values() if video.split == split]
        return videos or ([video for video in self.videos.values() if not video.split] if split == "train" else [])

    def footage(self, kind: Kind) -> FootageListing:
        """The videos that have subtitles.

        Args:
            kind: what the encoder sees: landmarks are preferred by one kind, and of no use to the other.

        Raises:
            FormatError: nothing can be annotated.
        """
        joined = [_footage(video, kind) for _, video in sorted(self.videos.items())]
        footage = tuple(entry for entry in joined if isinstance(entry, Footage))
        problems = (*(entry for entry in joined if isinstance(entry, CorpusProblem)), *self.problems)
        if not footage:
            raise FormatError(
                f"{self.folder} holds no video with subtitles of the same name ({problems[0]}). Put them side by side."
            )
        return FootageListing(footage, problems)

    def labels(self, videos: Sequence[str] | None = None, least: LeastConfidence = EVERY_LABEL) -> list[Label]:
        """Its labels of at least these confidences, of all videos or of some; in order of video and time."""
        names = self.videos.keys() if videos is None else set(videos)
        every = self._once(self.folder / "labels", lambda folder: list(read_labels(folder, self.videos.keys())))
        chosen = [label for label in every if label.video in names and least.admits(label)]
        return sorted(chosen, key=lambda label: (label.video, label.time, label.word))

    def sure_labels(self, split: str, words: Collection[str]) -> list[Label]:
        """Labels of some words in the videos of a split that may be tested on: never D; see `is_test_truth`."""
        labels = self.labels([video.id for video in self.in_split(split)])
        return [label for label in labels if label.word in words and is_test_truth(label)]

    def signs(self, video: str) -> list[SignTruth]:
        """Every sign of a video; empty where it is not known."""
        return self._truth(SignTruth, "signs", video)

    def mentions(self, video: str) -> list[MentionTruth]:
        """Every dictionary word in a video's subtitles, signed or not; empty where it is not known."""
        return self._truth(MentionTruth, "mentions", video)

    def mouthings(self, video: str) -> list[MouthingTruth]:
        """Every word on the lips of a video; empty where it is not known."""
        return self._truth(MouthingTruth, "mouthings", video)

    def exemplar_truths(self) -> dict[str, ExemplarTruth]:
        """Exemplar id → the truth about it; empty where it is not known."""
        paths = sorted((self.folder / "truth" / "exemplars").glob("*.jsonl"))
        return {record.exemplar: record for record in read_records(ExemplarTruth, paths)}

    def _truth(self, record: type[_Truth], kind: str, video: str) -> list[_Truth]:
        path = self.layout.truth(kind, video)
        return self._once(path, lambda file: list(read_records(record, file)) if file.is_file() else [])

    def _once(self, path: Path, read: Callable[[Path], _Content]) -> _Content:
        """The content of a file or folder, read the first time it is asked for."""
        content: _Content = self._contents[path] if path in self._contents else read(path)
        self._contents[path] = content
        return content


def _footage(video: CorpusVideo, kind: Kind) -> Footage | CorpusProblem:
    media = video.landmarks or video.video if kind == "landmarks" else video.video
    if video.subtitles is None:
        name = video.id.rsplit("/", 1)[-1]
        return CorpusProblem(video.id, f"there are no subtitles ({name}.vtt, .srt or .ttml); left out")
    if media is None:
        return CorpusProblem(video.id, "the encoder needs pixels, and there are only landmarks; left out")
    return Footage(video.id, media, video.subtitles)


def open_corpus(folder: str | Path, language: str = "en") -> Corpus:
    """Open a corpus: a synthetic one, or any folder of footage.

    Args:
        folder: with a corpus.json, or with videos or .pose files in it or in folders below.
        language: of its subtitles and words; these subtitles are taken where a video has several.

    Raises:
        FormatError: there is no such folder, no video in it, or it is unfinished.
    """
    layout, contents = Layout(Path(folder)), dict[Path, Any]()
    if not layout.folder.is_dir():
        raise FormatError(f"no corpus at {layout.folder}: there is no such folder")
    split: dict[str, str] = {}
    if layout.splits.is_file():
        splits = contents[layout.splits] = read_splits(layout.splits)
        split = {**dict.fromkeys(splits.test, "test"), **dict.fromkeys(splits.train, "train")}
    if layout.corpus.is_file():
        data = _read_corpus_json(layout.corpus)
        listed = (_video_from_json(layout, entry) for entry in data["videos"])
        videos = {video.id: replace(video, split=video.split or split.get(video.id, "")) for video in listed}
        _check_complete(layout, videos.values())
        return Corpus(layout.folder, videos, data.get("options", {}), (), language, contents)
    footage, problems = find_videos(layout.folder, language)
    if not footage:
        hint = f" ({problems[0]})" if problems else ""
        raise FormatError(
            f"{layout.folder} is not a corpus: it holds no video{hint}. Put videos or .pose files into it, "
            "and subtitles of the same name beside them"
        )
    by_id = {video.id: replace(video, split=split.get(video.id, "")) for video in footage}
    return Corpus(layout.folder, by_id, {}, tuple(problems), language, contents)


def with_split(corpus: Corpus, file: Path) -> Corpus:
    """The corpus with training and test videos: its own, else a quarter of the videos, chosen at random, for testing.

    Args:
        corpus: any; of one without splits that has one video only, that is for training.
        file: in which a split that is made here is kept, and from which it is read the next time.

    Raises:
        FormatError: the file holds no splits.
    """
    if any(video.split for video in corpus.videos.values()):
        return corpus
    names = sorted(corpus.videos)
    splits = read_splits(file) if file.is_file() else Splits((), (), WordSplit())
    if set(splits.train) | set(splits.test) != set(names):
        order = [names[index] for index in np.random.default_rng(0).permutation(len(names))]
        count = max(1, round(TEST_SHARE * len(names))) if len(names) > 1 else 0
        splits = Splits(tuple(sorted(order[count:])), tuple(sorted(order[:count])), WordSplit())
        write_splits(splits, file)
    held = set(splits.test)
    split = {name: replace(video, split="test" if name in held else "train") for name, video in corpus.videos.items()}
    return replace(corpus, videos=split)


def is_synthetic(videos: Path) -> bool:
    """Whether a folder of `.pose` files belongs to a synthetic corpus: then nobody filmed them.

    The files themselves do not tell: synthetic landmarks have an estimator's faults and visibilities, too.
    """
    corpus = Layout(videos.absolute().parent).corpus
    try:
        made_by = parse_json(read_text(corpus, exact=True).text, str(corpus)).get("made_by")
    except (FormatError, AttributeError):  # there is none, or it is not a corpus
        return False
    return isinstance(made_by, dict) and "generator" in made_by


def video_as_json(video: CorpusVideo, folder: Path) -> dict[str, Any]:
    """A video as it stands in `corpus.json`: paths relative to the folder, nothing that is missing."""
    values = {k: v.relative_to(folder).as_posix() if isinstance(v, Path) else v for k, v in asdict(video).items()}
    return {key: value for key, value in values.items() if value}


def _read_corpus_json(path: Path) -> dict[str, Any]:
    data = parse_json(read_text(path, exact=True).text, str(path))
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise FormatError(f"{path} describes no corpus: its format is not {FORMAT}")
    if check_int(data.get("version"), f"{path}: version") > VERSION:
        raise FormatError(f"{path} is of version {data['version']}; this signspot reads {VERSION}. Update signspot")
    videos, options = data.get("videos"), data.get("options", {})
    if not isinstance(videos, list) or not isinstance(options, dict):
        raise FormatError(f"{path} describes no corpus: its videos must be a list and its options an object")
    return {"videos": videos, "options": options}


def _video_from_json(layout: Layout, entry: Any) -> CorpusVideo:
    if not isinstance(entry, dict) or not entry.get("id"):
        raise FormatError(f"{layout.corpus} describes a video without 'id': {quoted(entry)}")
    where = f"{layout.corpus}, video {quoted(entry['id'])}"
    path_inside(layout.folder, entry["id"], f"{where}: id")  # it names files, too
    landmarks, video, subtitles = (
        path_inside(layout.folder, entry[key], f"{where}: {key}") if key in entry else None
        for key in ("landmarks", "video", "subtitles")
    )
    texts = {key: check_text(entry.get(key), f"{where}: {key}") for key in ("signer", "split", "licence", "consent")}
    return CorpusVideo(entry["id"], landmarks, video, subtitles, **texts)


def _check_complete(layout: Layout, videos: Iterable[CorpusVideo]) -> None:
    files = [path for v in videos for path in (v.landmarks, v.video, v.subtitles) if path is not None]
    missing = [path for path in files if not path.is_file()]
    if missing:
        raise FormatError(
            f"{layout.folder} is unfinished: {len(missing)} of {len(files)} files are missing, such as "
            f"{missing[0].name}. Run the command that makes it again"
        )
