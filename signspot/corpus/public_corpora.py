"""Corpora of isolated signs as they are published: as dictionaries, or imported into the files that measurements read.

As dictionaries: LSA64, WLASL, ASL Citizen, exports of a SignBank. Words, variants, signers and licences are kept as far
as a corpus tells them. Videos that a list names and that are not there become problems, one line each.

Imported are LSA64, a folder of videos `WORD_SIGNER_REPETITION.mp4`, all three numbers of three digits, and WLASL, a
list of glosses and their instances in `WLASL_v0.3.json` beside `videos/ID.mp4`: videos → landmarks → `.npz`. An
interrupted import resumes where it was: landmarks of a clip are kept until the file that holds them is written, and
files that are there are not made again.
"""

import csv
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from signspot.corpus.isolated import WORD_LIST, Arrays, pack
from signspot.dictionary.dictionary import Contents, LeftOut, unique_ids
from signspot.errors import DictionaryError, FormatError, SignspotError, VideoError
from signspot.io.checks import check_list, check_span, check_text, check_time, parse_json
from signspot.io.files import atomic_write
from signspot.io.progress import Progress, silent
from signspot.io.text import read_text
from signspot.landmarks.landmarks import DEFAULT_FPS, Landmarks
from signspot.landmarks.pose_file import open_landmarks
from signspot.landmarks.video_estimation import PoseJob, estimate_files
from signspot.types import Exemplar, Segment
from signspot.video import MEDIA_SUFFIXES
from signspot.video.reader import open_video

# As on its authors' page. There 8 is "red", as 2 is; their list in Spanish ("Rosa"), which the project OpenHands took
# from them in place of the page's, says what it is.
LSA64_WORDS = (
    *("opaque", "red", "green", "yellow", "bright", "light-blue", "colors", "pink", "women", "enemy", "son", "man"),
    *("away", "drawer", "born", "learn", "call", "skimmer", "bitter", "sweet milk", "milk", "water", "food"),
    *("argentina", "uruguay", "country", "last name", "where", "mock", "birthday", "breakfast", "photo", "hungry"),
    *("map", "coin", "music", "ship", "none", "name", "patience", "perfume", "deaf", "trap", "rice", "barbecue"),
    *("candy", "chewing-gum", "spaghetti", "yogurt", "accept", "thanks", "shut down", "appear", "to land", "catch"),
    *("help", "dance", "bathe", "buy", "copy", "run", "realize", "give", "find"),
)
LSA64_LICENCE = "CC BY-NC-SA 4.0"
WLASL_LICENCE = "C-UDA"
CITIZEN_LICENCE = "the terms of ASL Citizen"
_CITIZEN_SPLITS = ("train.csv", "val.csv", "test.csv")
_CITIZEN_COLUMNS = ("participant id", "video file", "gloss")
_NUMBERED = re.compile(r"(.*[^\W\d_])(\d{1,2})")  # a gloss with the number of its variant: REMEMBER2
_SIGNBANK_ID = "signbank id"
_GLOSS, _LEMMA = "annotation id gloss", "lemma id gloss"
LSA64_NAME = re.compile(r"(\d{3})_(\d{3})_(\d{3})\.mp4", re.IGNORECASE)
LSA64_FPS = 20.0  # frames per second that are kept: every third of the videos' own 60
WLASL_LIST = "WLASL_v*.json"
WLASL_FPS = 25.0
CLIPS_PER_FILE = 1000  # of WLASL
_CLIPS = ".clips"  # folder of landmarks that are in no file yet
Row = dict[str, str]  # cells by column, in lower case


@dataclass(frozen=True, slots=True)
class SourceClip:
    """One video of a corpus as it is published."""

    path: Path
    label: tuple[int, int, int]  # word, signer, and which clip
    span: tuple[float, float] | None = None  # of the sign in the video, in seconds; None: all of it
    source: str = ""  # where the corpus has it from
    variant: str = ""  # which of the word's signs, where the corpus tells it


def read_published(folder: Path) -> Contents | None:
    """Read a corpus as it is published; None where the folder is none of those that are known here.

    Raises:
        DictionaryError: its list names no video that is there.
        FormatError: its list is damaged.
    """
    if not folder.is_dir():
        return None
    if any(folder.glob(WLASL_LIST)):
        return _checked(_wlasl(folder), folder)
    lists = [parent / name for parent in (folder / "splits", folder) for name in _CITIZEN_SPLITS]
    splits = [path for path in lists if path.is_file() and set(_CITIZEN_COLUMNS) <= set(_header(path))]
    if splits:
        return _checked(_citizen(folder, splits), folder)
    for table in sorted(path for path in folder.iterdir() if path.suffix.lower() in (".csv", ".tsv")):
        if _SIGNBANK_ID in (columns := _header(table)) and _column(columns, _GLOSS):
            return _checked(_signbank(folder, table), folder)
    clips = sorted(path for path in folder.rglob("*") if LSA64_NAME.fullmatch(path.name))
    return _lsa64(folder, clips) if clips else None


def _checked(contents: Contents, folder: Path) -> Contents:
    if not contents.exemplars:
        raise DictionaryError(f"none of the listed videos in {folder} is there. {contents.problems[0]}")
    return contents


def _lsa64(folder: Path, clips: list[Path]) -> Contents:
    exemplars = []
    for path, exemplar_id in zip(clips, unique_ids(path.relative_to(folder).as_posix() for path in clips), strict=True):
        match = LSA64_NAME.fullmatch(path.name)
        assert match is not None
        word, signer = int(match[1]), int(match[2])
        name = LSA64_WORDS[word - 1] if 1 <= word <= len(LSA64_WORDS) else match[1]
        exemplars.append(Exemplar(name, exemplar_id, path, f"LSA64 signer {signer}", "LSA64", LSA64_LICENCE))
    return Contents(tuple(exemplars))


def _wlasl(folder: Path) -> Contents:
    words, clips = read_wlasl_list(folder)
    exemplars = []
    there = [clip for clip in clips if clip.path.is_file()]
    problems = [LeftOut(clip.path, "there is no such video") for clip in clips if not clip.path.is_file()]
    for clip, exemplar_id in zip(there, unique_ids(clip.path.name for clip in there), strict=True):
        number, signer, _ = clip.label
        source = f"WLASL, {clip.source}" if clip.source else "WLASL"
        described = (f"WLASL signer {signer}" if signer >= 0 else "", source, WLASL_LICENCE)
        exemplars.append(
            Exemplar(
                *(words[number], exemplar_id, clip.path, *described), variant=clip.variant, segment=_sign_span(clip)
            )
        )
    return Contents(tuple(exemplars), tuple(problems))


def _sign_span(clip: SourceClip) -> Segment | None:
    """Where the sign lies in a video of WLASL; None where its video was cut already, as WLASL's own script does."""
    if clip.span is None:
        return None
    try:
        with open_video(clip.path) as video:
            is_whole = video.info.duration + 0.5 / (video.info.fps or DEFAULT_FPS) >= clip.span[1]
    except VideoError:
        return None  # the problem is named when its header is read
    return Segment(*clip.span) if is_whole else None


def _citizen(folder: Path, splits: list[Path]) -> Contents:
    videos = folder / "videos" if (folder / "videos").is_dir() else folder
    rows = [row for path in splits for row in _rows(path)]
    exemplars: list[Exemplar] = []
    problems: list[LeftOut] = []
    ids = unique_ids(row["video file"].strip() for row in rows)
    for row, exemplar_id in zip(rows, ids, strict=True):
        path, gloss = videos / row["video file"].strip(), row["gloss"].strip()
        if not path.is_file():
            problems.append(LeftOut(path, "there is no such video"))
            continue
        numbered = _NUMBERED.fullmatch(gloss)
        word, variant = (numbered[1], gloss) if numbered else (gloss, "")
        described = (f"ASL Citizen {row['participant id'].strip()}", "ASL Citizen", CITIZEN_LICENCE)
        exemplars.append(Exemplar(" ".join(word.split()), exemplar_id, path, *described, variant=variant))
    return Contents(tuple(exemplars), tuple(problems))


def _signbank(folder: Path, table: Path) -> Contents:
    """Glosses of one lemma are variants of it. Videos are named by the gloss, the entry's number or both."""
    columns = _header(table)
    gloss_column, lemma_column = _column(columns, _GLOSS), _column(columns, _LEMMA)
    media = sorted(path for path in folder.rglob("*") if path.suffix.lower() in MEDIA_SUFFIXES)
    names = {path.stem.casefold(): path for path in reversed(media)}
    listed: list[tuple[Row, Path]] = []
    problems: list[LeftOut] = []
    for row in _rows(table):
        number, gloss = row[_SIGNBANK_ID].strip(), row[gloss_column].strip()
        path = next((names[n] for n in (f"{gloss}-{number}".casefold(), number, gloss.casefold()) if n in names), None)
        if path is None:
            problems.append(LeftOut(folder / f"{gloss}-{number}.mp4", "there is no video of this gloss"))
        elif gloss:
            listed.append((row, path))
    ids = unique_ids(path.relative_to(folder).as_posix() for _, path in listed)
    exemplars = []
    for (row, path), exemplar_id in zip(listed, ids, strict=True):
        gloss = row[gloss_column].strip()
        lemma = row[lemma_column].strip() if lemma_column else ""
        licence = row.get("licence", "") or row.get("license", "")
        described = ("", row.get("dataset", "").strip() or "SignBank", licence.strip())
        variant = gloss if lemma != gloss else ""
        exemplars.append(Exemplar(" ".join((lemma or gloss).split()), exemplar_id, path, *described, variant=variant))
    return Contents(tuple(exemplars), tuple(problems))


def _header(path: Path) -> list[str]:
    """The columns of a table, in lower case, without the spaces of "Annotation ID Gloss: Dutch" beyond the first."""
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        first = file.readline(100_000)
    return [cell.strip().lower() for cell in next(csv.reader([first], delimiter=_delimiter(first)), [])]


def _column(columns: list[str], name: str) -> str:
    """The column that begins with a name: the English one of several languages, else the first; "" if there is none."""
    fitting = [column for column in columns if column.startswith(name)]
    return next((column for column in fitting if "english" in column), fitting[0] if fitting else "")


def _rows(path: Path) -> Iterator[Row]:
    text = read_text(path).text
    lines = csv.reader(text.splitlines(), delimiter=_delimiter(text.partition("\n")[0]))
    next(lines, None)
    columns = _header(path)
    for cells in lines:
        if len(cells) >= len(columns):
            yield dict(zip(columns, cells, strict=False))


def _delimiter(line: str) -> str:
    return max(",;\t", key=line.count)


def read_wlasl_list(folder: Path) -> tuple[list[str], list[SourceClip]]:
    """The glosses, and all instances of all of them."""
    lists = sorted(folder.glob(WLASL_LIST))
    if not lists:
        raise FormatError(f"no {WLASL_LIST} in {folder}. Give the folder that holds WLASL's list and its videos/")
    try:
        entries = check_list(parse_json(read_text(lists[-1], exact=True).text, str(lists[-1])), "the list")
        words = [" ".join(check_text(entry["gloss"], "a gloss").split()) for entry in entries]
        clips = [
            _wlasl_clip(folder, number, instance)
            for number, entry in enumerate(entries)
            for instance in entry["instances"]
        ]
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, FormatError) as error:
        raise FormatError(f"{lists[-1]} is not a list of WLASL: {error!s:.200}") from error
    if not clips:
        raise FormatError(f"{lists[-1]} lists no clip")
    return words, clips


def _wlasl_clip(folder: Path, word: int, instance: dict[str, Any]) -> SourceClip:
    """One instance; its frames count from 1, and -1 is the last one."""
    first, last = int(instance.get("frame_start", 1)), int(instance.get("frame_end", -1))
    name, fps = str(instance["video_id"]), float(instance.get("fps", WLASL_FPS))
    span = (first - 1) / fps, last / fps
    if last > 0:
        check_span(check_time(span[0], "the first frame"), check_time(span[1], "the last frame"), "the frames")
    return SourceClip(
        path=folder / "videos" / f"{name}.mp4",
        label=(word, int(instance.get("signer_id", -1)), int(name)),
        span=span if last > 0 else None,
        source=str(instance.get("source", "")),
        variant=str(instance.get("variation_id", "")),
    )


@dataclass(frozen=True, slots=True)
class ImportReport:
    """Files that an import made, and those that it had to leave out."""

    files: tuple[Path, ...]
    clips: int  # in the files, those of earlier runs included
    problems: tuple[str, ...]  # one line per clip that was left out


def import_lsa64(
    source: str | PathLike[str], out: str | PathLike[str], progress: Progress = silent, workers: int | None = None
) -> ImportReport:
    """Make `signer_NN.npz` for every signer of LSA64.

    Args:
        source: folder of the videos, also in folders below.
        out: where the files go.
        progress: called with the number of videos done.
        workers: processes; all cores but one if not given.

    Raises:
        FormatError: there is no video of such a name.
    """
    clips = sorted(_lsa64_clips(Path(source)), key=lambda clip: (clip.label[1], clip.label[0], clip.label[2]))
    if not clips:
        missing = f"no videos of LSA64 in {source}" if Path(source).is_dir() else f"there is no folder {source}"
        raise FormatError(
            f"{missing}. Give the folder of its videos, which are named WORD_SIGNER_REPETITION.mp4, as 001_001_001.mp4"
        )
    signers = sorted({clip.label[1] for clip in clips})
    groups = {
        Path(out) / f"signer_{signer:02d}.npz": [clip for clip in clips if clip.label[1] == signer]
        for signer in signers
    }
    return _Importer(Path(out), LSA64_FPS, progress, workers).run(groups)


def import_wlasl(
    source: str | PathLike[str], out: str | PathLike[str], progress: Progress = silent, workers: int | None = None
) -> ImportReport:
    """Make `wlasl_N.npz` and `words.txt` of WLASL; videos that are missing are named in the report.

    Args:
        source: folder with `WLASL_v0.3.json` and `videos/`.
        out: where the files go.
        progress: called with the number of videos done.
        workers: processes; all cores but one if not given.

    Raises:
        FormatError: the list is missing or damaged, or not one of its videos is there.
    """
    folder = Path(source)
    words, listed = read_wlasl_list(folder)
    clips = [clip for clip in listed if clip.path.is_file()]
    missing = [f"{clip.path.name}: there is no such video" for clip in listed if not clip.path.is_file()]
    if not clips:
        raise FormatError(
            f"none of the {len(listed)} videos of WLASL is in {folder / 'videos'}, such as {listed[0].path.name}"
        )
    with atomic_write(Path(out) / WORD_LIST) as temporary:
        temporary.write_text("".join(f"{word}\n" for word in words), encoding="utf-8")
    parts = [clips[first : first + CLIPS_PER_FILE] for first in range(0, len(clips), CLIPS_PER_FILE)]
    groups = {Path(out) / f"wlasl_{number:02d}.npz": part for number, part in enumerate(parts, start=1)}
    return _Importer(Path(out), WLASL_FPS, progress, workers, whole_body=True).run(groups, missing)


def _lsa64_clips(folder: Path) -> Iterator[SourceClip]:
    for path in folder.rglob("*"):
        match = LSA64_NAME.fullmatch(path.name)
        if match is not None:
            word, signer, repetition = (int(number) for number in match.groups())
            yield SourceClip(path, (word, signer, repetition))


class _Importer:
    """Estimates the clips of one file after another, and writes each file when all of its clips are there."""

    def __init__(
        self, out: Path, fps: float, progress: Progress, workers: int | None, *, whole_body: bool = False
    ) -> None:
        self.out, self.fps, self.progress, self.whole_body = out, fps, progress, whole_body
        self.workers = workers or max(1, (os.cpu_count() or 2) - 1)
        self.done = self.total = 0
        self.problems: list[str] = []

    def run(self, groups: dict[Path, list[SourceClip]], problems: Iterable[str] = ()) -> ImportReport:
        self.problems = list(problems)
        self.total = sum(len(clips) for clips in groups.values())
        clip_count = 0
        for path, clips in groups.items():
            if not path.is_file():
                self._make(path, clips)
            with np.load(path) as file:
                clip_count += len(file["label"])
            self.done += len(clips)
            self.progress(self.done, self.total)
        shutil.rmtree(self.out / _CLIPS, ignore_errors=True)
        return ImportReport(tuple(groups), clip_count, tuple(self.problems))

    def _make(self, path: Path, clips: Sequence[SourceClip]) -> None:
        """Estimate all clips of a file that an earlier run has not, and write it."""
        folder = self.out / _CLIPS / path.stem
        targets = {clip.path: folder / f"{clip.path.stem}.pose" for clip in clips}
        jobs = [PoseJob(video, target) for video, target in targets.items() if not target.is_file()]
        ready = len(targets) - len(jobs)
        for number, (job, outcome) in enumerate(estimate_files(jobs, self.workers, fps=self.fps), start=1):
            if isinstance(outcome, SignspotError):
                self.problems.append(f"{job.video.name}: {outcome}")
            self.progress(self.done + ready + number, self.total)
        estimated = [clip for clip in clips if targets[clip.path].is_file()]
        if not estimated:
            raise FormatError(f"none of the {len(clips)} videos of {path.name} can be read: {self.problems[-1]}")
        pairs = [(clip, cut_out(open_landmarks(targets[clip.path]), clip.span)) for clip in estimated]
        arrays = pack([clip.label for clip, _ in pairs], [landmarks for _, landmarks in pairs])
        if self.whole_body:
            arrays |= _observed(pairs, self.fps)
        with atomic_write(path) as temporary, temporary.open("wb") as file:
            np.savez_compressed(file, allow_pickle=False, **arrays)
        shutil.rmtree(folder, ignore_errors=True)


def cut_out(landmarks: Landmarks, span: tuple[float, float] | None) -> Landmarks:
    """The sign in a video, its times from 0 again; all of it where the video was cut already.

    WLASL's own script cuts videos by the same frame numbers: a video that ends before the sign would is a cut one.

    Args:
        landmarks: of the whole video.
        span: of the sign, in seconds; None: all.
    """
    half = 0.5 / landmarks.fps
    if span is None or span[1] > landmarks.duration + half:
        return landmarks
    part = landmarks.between(Segment(max(0.0, span[0] - half), span[1] - half))
    return replace(part, times=part.times - part.times[0]) if len(part) else landmarks


def _observed(pairs: Sequence[tuple[SourceClip, Landmarks]], fps: float) -> Arrays:
    """Further fields of WLASL's files: frames with a body (here all), the frame rate, and where clips come from."""
    return {
        "observed": np.array([len(landmarks) for _, landmarks in pairs], np.int16),
        "fps": np.full(len(pairs), fps, np.float32),
        "source": np.array([clip.source for clip, _ in pairs]),
    }
