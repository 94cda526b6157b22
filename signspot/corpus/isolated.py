"""Corpora of isolated signs: landmarks packed in `.npz` files, a folder of videos, or a table.

`signspot import` packs LSA64 (Ronchetti et al. 2016) and WLASL (Li et al. 2020) from the videos as they are published,
`signspot synthetic make --kind signs` packs synthetic signs, and landmarks from elsewhere can be packed in the same
form. Collections of landmarks differ in what they know: some have a body in the first frames of a clip only, some one
body per clip, some no face, no frame rate or no aspect. What is missing is imputed here as far as it can be, so that a
clip reads like any other landmarks.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from signspot.dictionary.csv_file import TABLE_SUFFIXES, read_table
from signspot.errors import FormatError, SignspotError
from signspot.io.progress import Progress, silent
from signspot.io.text import read_text
from signspot.landmarks.cache import default_cache
from signspot.landmarks.landmarks import BODY_POINTS, FACE_POINTS, Landmarks
from signspot.landmarks.pose_file import is_pose_file
from signspot.landmarks.video_estimation import PoseJob, estimate_files, landmarks_of
from signspot.types import Segment
from signspot.video import MEDIA_SUFFIXES

Points = NDArray[np.float32]
Arrays = dict[str, NDArray[Any]]

FPS = 25.0
WORD_LIST = "words.txt"  # beside packed files: the name of word k in line k, from 0
UNKNOWN_FPS = 20.0  # of clips whose frame rate is not known: the middle of what cameras of that kind record
_UNKNOWN_ASPECT = 4 / 3
_HEIGHT = 720  # pixels, nominal: only the aspect is known
FACE_RATIO = 0.81  # width over height of a face (mesh points 234 to 454 over 10 to 152): the sources' median
ASPECTS = (0.75, 2.0)  # nothing beyond is believed
BRIDGED = 12  # frames; over a shorter gap between two sightings of a hand its wrist is taken to go straight
_CHEEKS = (FACE_POINTS.index(234), FACE_POINTS.index(454))
_FOREHEAD, _CHIN = FACE_POINTS.index(10), FACE_POINTS.index(152)
_LEFT_WRIST, _RIGHT_WRIST = 15, 16
_ARM_POINTS = (13, 14, *range(15, 23))  # elbows, wrists, and the body's own finger points
_SEEN = 0.9  # visibility of a wrist that a hand shows
_GUESSED = 0.5  # visibility of a wrist between two sightings


@dataclass(frozen=True)
class IsolatedClip:
    """One performance of one word by one signer."""

    word: str
    signer: str  # empty: not known
    clip: str  # its repetition, its number in the corpus, or its file's name
    landmarks: Landmarks  # as estimated, rest before and after included
    segment: Segment | None = None  # of the sign; None: by itself, between two rests
    is_timed: bool = True  # its frame rate is known, not guessed


def read_isolated(source: str | PathLike[str], progress: Progress = silent) -> list[IsolatedClip]:
    """Read a corpus of isolated signs.

    Args:
        source: a folder with packed landmarks, `*.npz` (docs/how-to/import-lsa64-and-wlasl.md has the arrays); a
            folder with `WORD/SIGNER.mp4` or `.pose` (`SIGNER_2.mp4` is the same signer again); or a table with the
            columns word, signer and file.
        progress: called with the number of frames of videos whose landmarks are estimated.

    Raises:
        FormatError: there is nothing of the kind, or a file is damaged.
    """
    path = Path(source)
    if packed := sorted(path.glob("*.npz")):
        words = read_text(path / WORD_LIST).text.splitlines() if (path / WORD_LIST).is_file() else None
        return [clip for file in packed for clip in _read_packed(file, words)]
    if path.suffix.lower() in TABLE_SUFFIXES:
        listed = [
            (exemplar.word, exemplar.signer or "", exemplar.path)
            for exemplar in read_table(path).exemplars
            if exemplar.path is not None
        ]
    else:
        listed = _in_folder(path)
    if not listed:
        raise FormatError(
            f"no isolated signs at {path}: no packed landmarks (.npz), no WORD/SIGNER.mp4, no table with the columns "
            "word, signer and file. See: signspot import --help"
        )
    cache = default_cache()
    jobs = [PoseJob(file) for _, _, file in listed if not is_pose_file(file)]
    for job, outcome in estimate_files(jobs, None, progress, cache=cache):
        if isinstance(outcome, SignspotError):
            raise FormatError(f"{job.video} cannot be read: {outcome}. Remove or repair it")
    landmarks = (landmarks_of(file, cache) for _, _, file in listed)
    return [
        IsolatedClip(word, signer, file.name, of_file)
        for (word, signer, file), of_file in zip(listed, landmarks, strict=True)
    ]


def _in_folder(folder: Path) -> list[tuple[str, str, Path]]:
    """Word, signer and file of every `WORD/SIGNER*.mp4` or `.pose`."""
    files = sorted(file for file in folder.glob("*/*") if file.suffix.lower() in MEDIA_SUFFIXES)
    return [(file.parent.name, re.sub(r"(?<=.)[_-]\d+$", "", file.stem), file) for file in files]


def pack(
    labels: Sequence[tuple[int, int, int]], clips: Sequence[Landmarks], segments: Sequence[Segment | None] = ()
) -> Arrays:
    """The arrays of a `.npz` file: all frames one after the other, clip i in `start[i]:start[i + 1]`.

    Args:
        labels: word, signer and number of every clip.
        clips: landmarks.
        segments: of the signs, where clips show more than a sign between two rests.
    """
    arrays: Arrays = {
        "label": np.array(labels, np.int32),
        "start": np.concatenate([[0], np.cumsum([len(clip) for clip in clips])]).astype(np.int32),
        "aspect": np.array([clip.aspect for clip in clips], np.float32),
        "time": np.concatenate([clip.times for clip in clips]).astype(np.float32),
        "pose": np.concatenate([clip.body for clip in clips]).astype(np.float16),
        "left_hand": np.concatenate([clip.left_hand for clip in clips]).astype(np.float16),
        "right_hand": np.concatenate([clip.right_hand for clip in clips]).astype(np.float16),
        "face": np.concatenate([clip.face for clip in clips]).astype(np.float16),
    }
    if segments:
        spans = [(np.nan, np.nan) if segment is None else (segment.start, segment.end) for segment in segments]
        arrays["segment"] = np.array(spans, np.float32)
    return arrays


def _read_packed(path: Path, words: Sequence[str] | None) -> list[IsolatedClip]:
    """Read the clips of a `.npz` file; without a list of words they are named by their numbers.

    Raises:
        FormatError: it is damaged, or holds something else.
    """
    try:
        with path.open("rb") as opened, np.load(opened) as file:  # numpy refuses pickled objects unless told otherwise
            return _read_clips({name: file[name] for name in file.files}, words)
    except Exception as error:  # whatever a damaged file makes numpy raise
        raise FormatError(f"{path} holds no isolated signs, or it is damaged ({error!s:.200})") from error


def _read_clips(data: Arrays, words: Sequence[str] | None) -> list[IsolatedClip]:
    count, frames = len(data["label"]), int(data["start"][-1])
    faceless: Arrays = {"face": np.full((len(data["pose"]), len(FACE_POINTS), 3), np.nan, np.float16)}
    data = faceless | data
    bodies = _body_rows(data, count, frames)
    sources = data.get("source", data["label"][:, 1].astype(str))  # one camera each, as far as is known
    aspects = _known_aspects(data["aspect"], sources, data["face"], bodies)
    rates = data.get("fps", np.full(count, FPS))
    is_timed = np.isfinite(rates) | ("time" in data)
    rates = np.nan_to_num(rates, nan=UNKNOWN_FPS)
    segments = data.get("segment", np.full((count, 2), np.nan))
    clips = []
    for index, (word, signer, number) in enumerate(data["label"].tolist()):
        part = slice(int(data["start"][index]), int(data["start"][index + 1]))
        observed = slice(int(bodies[index]), int(bodies[index + 1]))
        left, right = (data[name][part].astype(np.float32) for name in ("left_hand", "right_hand"))
        body, face = (data[name][observed].astype(np.float32) for name in ("pose", "face"))
        body[..., 3] = np.where(np.isnan(body[..., 3]), np.isfinite(body[..., 0]), body[..., 3])
        landmarks = Landmarks(
            body=body if len(body) == len(left) else _held_body(body, left, right),
            left_hand=left,
            right_hand=right,
            face=_held(face, len(left)),
            face_points=FACE_POINTS,
            times=data["time"][part] if "time" in data else np.arange(len(left)) / float(rates[index]),
            size=(round(float(aspects[index]) * _HEIGHT), _HEIGHT),
        )
        segment = None if np.isnan(segments[index]).any() else Segment(*map(float, segments[index]))
        name = str(word) if words is None else words[word]
        of_whom = str(signer) if signer >= 0 else ""
        clips.append(IsolatedClip(name, of_whom, str(number), landmarks, segment, bool(is_timed[index])))
    return clips


def _body_rows(data: Arrays, count: int, frames: int) -> NDArray[np.int64]:
    """(N + 1,) first row of `pose` and `face` of every clip: all its frames, its first ones, or one for the clip."""
    if "observed" in data:
        return np.concatenate([[0], np.cumsum(data["observed"], dtype=np.int64)])
    rows = data["start"].astype(np.int64) if len(data["pose"]) == frames else np.arange(count + 1)
    if rows[-1] != len(data["pose"]):
        bodies = f"{len(data['pose'])} bodies for {count} clips of {frames} frames"
        raise FormatError(f"{bodies}: give one for each clip, or one for each frame")
    return rows


def _known_aspects(
    aspects: NDArray[np.float32], sources: NDArray[np.str_], faces: NDArray[np.float16], first: NDArray[np.int64]
) -> NDArray[np.float64]:
    """(N,) width over height of every clip's image; where it is NaN, what makes its source's faces as wide as others.

    Args:
        aspects: (N,) as far as they are known.
        sources: (N,) where clips come from.
        faces: (frames, 60, 3) image-normalised, of all clips.
        first: (N + 1,) first row of `faces` of every clip.
    """
    filled = aspects.astype(np.float64)
    if not np.isnan(filled).any():
        return filled
    points = faces.astype(np.float64)
    width = np.abs(points[:, _CHEEKS[0], 0] - points[:, _CHEEKS[1], 0])
    height = np.maximum(np.abs(points[:, _FOREHEAD, 1] - points[:, _CHIN, 1]), 1e-3)
    for source in np.unique(sources[np.isnan(filled)]):
        unknown = np.flatnonzero((sources == source) & np.isnan(filled))
        ratios = np.concatenate([(width / height)[first[i] : first[i + 1]] for i in unknown])
        ratios = ratios[np.isfinite(ratios) & (ratios > 0)]
        filled[unknown] = np.clip(FACE_RATIO / np.median(ratios), *ASPECTS) if len(ratios) else _UNKNOWN_ASPECT
    return filled


def _held(points: Points, frames: int) -> Points:
    """(n, P, C) points to (frames, P, C): the last one stands in for what is missing; NaN where there is none."""
    if not len(points):
        return np.full((frames, *points.shape[1:]), np.nan, np.float32)
    return points[np.minimum(np.arange(frames), len(points) - 1)]


def _held_body(body: Points, left: Points, right: Points) -> Points:
    """(n, 33, 4) observed body to (T, 33, 4), with wrists from the (T, 21, 3) hands beyond what was observed."""
    observed = min(len(body), len(left)) if len(body) > 1 else 0  # a single body is that of the whole clip
    steady = np.median(body[max(0, observed - 5) : observed], axis=0, keepdims=True) if observed else body[:1]
    whole = np.concatenate([body[:observed], _held(steady.astype(np.float32), len(left) - observed)])
    assert whole.shape[1:] == (BODY_POINTS, 4)
    whole[observed:, _ARM_POINTS, 3] = 0.0
    for wrist, hand in ((_LEFT_WRIST, left), (_RIGHT_WRIST, right)):
        position, visible = _wrist_path(hand)
        if observed and np.isfinite(whole[observed - 1, wrist, :2]).all():
            position, visible = _from_body(position, visible, whole[:observed, wrist], observed)
        whole[observed:, wrist, :2] = position[observed:]
        whole[observed:, wrist, 3] = visible[observed:]
    return whole


def _wrist_path(hand: Points) -> tuple[Points, Points]:
    """(T, 21, 3) hand to (T, 2) places of its wrist and (T,) their visibility, straight over short gaps."""
    frames = np.arange(len(hand))
    detected = np.flatnonzero(np.isfinite(hand[:, 0, :2]).all(axis=1))
    if not len(detected):
        return np.zeros((len(hand), 2), np.float32), np.zeros(len(hand), np.float32)
    position = np.stack([np.interp(frames, detected, hand[detected, 0, axis]) for axis in (0, 1)], axis=1)
    after = np.minimum(np.searchsorted(detected, frames), len(detected) - 1)
    before = np.maximum(np.searchsorted(detected, frames, side="right") - 1, 0)
    is_bridged = (
        (detected[before] <= frames) & (detected[after] >= frames) & (detected[after] - detected[before] <= BRIDGED)
    )
    visible = np.where(detected[after] == frames, _SEEN, np.where(is_bridged, _GUESSED, 0.0))
    return position.astype(np.float32), visible.astype(np.float32)


def _from_body(position: Points, visible: Points, wrist: Points, observed: int) -> tuple[Points, Points]:
    """Bridge the gap between the last (n, 4) wrist that the body showed and the hand's first sighting after it."""
    later = np.flatnonzero(visible[observed:] > 0)
    gap = int(later[0]) if len(later) else 0
    if not 0 < gap <= BRIDGED or wrist[-1, 3] < _GUESSED:
        return position, visible
    position, visible = position.copy(), visible.copy()
    share = (np.arange(1, gap + 1, dtype=np.float32) / (gap + 1))[:, None]
    position[observed : observed + gap] = wrist[-1, :2] * (1 - share) + position[observed + gap] * share
    visible[observed : observed + gap] = _GUESSED
    return position, visible
