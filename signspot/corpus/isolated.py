"""Corpora of isolated signs: LSA64, WLASL and synthetic signs in `.npz` files, a folder of videos, or a table.

`signspot corpus import` makes the files of LSA64 (Ronchetti et al. 2016) and WLASL (Li et al. 2020) from the videos as
they are published, `signspot synthetic signs` those of synthetic signs. Public landmarks of WLASL know the
body in the first frames of a clip only and the hands in all of them; what is missing is imputed here as far as it can
be, so that a clip reads like any other landmarks.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from signspot.dictionary.table import TABLE_SUFFIXES, read_table
from signspot.errors import FormatError, SignspotError
from signspot.io.progress import Progress, silent
from signspot.io.text import read_text
from signspot.landmarks.cache import Cache, default_cache
from signspot.landmarks.estimate import PoseJob, estimate_files, estimate_landmarks
from signspot.landmarks.landmarks import BODY_POINTS, FACE_POINTS, Landmarks
from signspot.landmarks.pose_file import open_landmarks
from signspot.types import Segment
from signspot.video import MEDIA_SUFFIXES

Points = NDArray[np.float32]
Arrays = dict[str, NDArray[Any]]

FPS = 25.0
PACKED_FILES = ("signer_*.npz", "signs_*.npz")  # of LSA64 by signer, and of synthetic signs
WLASL_FILES, WLASL_WORDS = "wlasl_*.npz", "words.txt"
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


def read_isolated(
    place: str | PathLike[str], progress: Progress = silent, *, cache: Cache = None, workers: int | None = None
) -> list[IsolatedClip]:
    """Read a corpus of isolated signs.

    Args:
        place: a folder with `signer_NN.npz` (LSA64), `wlasl_NN.npz` (WLASL) or `signs_NN.npz` (synthetic); a folder
            with `WORD/SIGNER.mp4` or `.pose` (`SIGNER_2.mp4` is the same signer again); or a table with the columns
            word, signer and file.
        progress: called with the number of frames of videos whose landmarks are estimated.
        cache: of landmarks; the user's own if not given.
        workers: processes that estimate; one per core if not given.

    Raises:
        FormatError: there is nothing of the kind, or a file is damaged.
    """
    path = Path(place)
    if packed := [file for pattern in PACKED_FILES for file in sorted(path.glob(pattern))]:
        return [clip for file in packed for clip in _read_packed(file, _read_clips)]
    if packed := sorted(path.glob(WLASL_FILES)):
        glosses = read_text(path / WLASL_WORDS).text.splitlines()
        return [clip for file in packed for clip in _read_packed(file, partial(_read_wlasl, glosses))]
    listed = _in_table(path) if path.suffix.lower() in TABLE_SUFFIXES else _in_folder(path)
    if not listed:
        raise FormatError(
            f"no isolated signs at {path}: no signer_NN.npz, wlasl_NN.npz or signs_NN.npz, no WORD/SIGNER.mp4, no "
            "table with the columns word, signer and file. See: signspot corpus import --help"
        )
    return _estimated(listed, progress, cache if cache is not None else default_cache(), workers)


def _in_folder(folder: Path) -> list[tuple[str, str, Path]]:
    """Word, signer and file of every `WORD/SIGNER*.mp4` or `.pose`."""
    files = sorted(file for file in folder.glob("*/*") if file.suffix.lower() in MEDIA_SUFFIXES)
    return [(file.parent.name, re.sub(r"(?<=.)[_-]\d+$", "", file.stem), file) for file in files]


def _in_table(table: Path) -> list[tuple[str, str, Path]]:
    exemplars = read_table(table).exemplars
    return [(each.word, each.signer or "", each.path) for each in exemplars if each.path is not None]


def _estimated(
    listed: Sequence[tuple[str, str, Path]], progress: Progress, cache: Cache, workers: int | None
) -> list[IsolatedClip]:
    """The clips in their order; those of videos are estimated into the cache, or are there from an earlier run."""
    jobs = [PoseJob(file) for _, _, file in listed if file.suffix != ".pose"]
    for job, made in estimate_files(jobs, workers, progress, cache=cache):
        if isinstance(made, SignspotError):
            raise FormatError(f"{job.video} cannot be read: {made}. Take it out, or mend it")
    return [IsolatedClip(word, signer, file.name, _landmarks(file, cache)) for word, signer, file in listed]


def _landmarks(file: Path, cache: Cache) -> Landmarks:
    return open_landmarks(file) if file.suffix == ".pose" else estimate_landmarks(file, cache=cache)


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
        spans = [(np.nan, np.nan) if each is None else (each.start, each.end) for each in segments]
        arrays["segment"] = np.array(spans, np.float32)
    return arrays


def _read_packed(path: Path, read: Callable[[Arrays], list[IsolatedClip]]) -> list[IsolatedClip]:
    """Read the clips of a `.npz` file; `read` makes them of its arrays.

    Raises:
        FormatError: it is damaged, or holds something else.
    """
    try:
        with path.open("rb") as opened, np.load(opened) as file:  # numpy refuses pickled objects unless told otherwise
            return read({name: file[name] for name in file.files})
    except Exception as error:  # whatever a damaged file makes numpy raise
        raise FormatError(f"{path} holds no isolated signs, or it is damaged ({error!s:.200})") from error


def _read_clips(data: Arrays) -> list[IsolatedClip]:
    """Clips as `pack` packs them; words and signers are named by their numbers."""
    clips = []
    segments = data.get("segment", np.full((len(data["label"]), 2), np.nan))
    for (word, signer, number), start, end, aspect, segment in zip(
        data["label"], data["start"][:-1], data["start"][1:], data["aspect"], segments, strict=True
    ):
        part = slice(int(start), int(end))
        landmarks = Landmarks(
            body=data["pose"][part].astype(np.float32),
            left_hand=data["left_hand"][part].astype(np.float32),
            right_hand=data["right_hand"][part].astype(np.float32),
            face=data["face"][part].astype(np.float32),
            face_points=FACE_POINTS,
            times=data["time"][part].astype(np.float64),
            size=(round(float(aspect) * _HEIGHT), _HEIGHT),
        )
        known = None if np.isnan(segment).any() else Segment(float(segment[0]), float(segment[1]))
        clips.append(IsolatedClip(str(word), str(signer), str(number), landmarks, known))
    return clips


def _read_wlasl(glosses: Sequence[str], data: Arrays) -> list[IsolatedClip]:
    bodies = np.concatenate([[0], np.cumsum(data["observed"], dtype=np.int64)])
    aspects = _known_aspects(data["aspect"], data["source"], data["face"], bodies)
    clips = []
    for index, (word, signer, number) in enumerate(data["label"]):
        frames = slice(int(data["start"][index]), int(data["start"][index + 1]))
        observed = slice(int(bodies[index]), int(bodies[index + 1]))
        left, right = (data[name][frames].astype(np.float32) for name in ("left_hand", "right_hand"))
        body, face = (data[name][observed].astype(np.float32) for name in ("pose", "face"))
        landmarks = Landmarks(
            body=_held_body(body, left, right),
            left_hand=left,
            right_hand=right,
            face=_held(face, len(left)),
            face_points=FACE_POINTS,
            times=np.arange(len(left)) / float(data["fps"][index]),
            size=(round(float(aspects[index]) * _HEIGHT), _HEIGHT),
        )
        clips.append(IsolatedClip(glosses[word], str(signer) if signer >= 0 else "", str(number), landmarks))
    return clips


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
    known = aspects.astype(np.float64)
    points = faces.astype(np.float64)
    width = np.abs(points[:, _CHEEKS[0], 0] - points[:, _CHEEKS[1], 0])
    height = np.maximum(np.abs(points[:, _FOREHEAD, 1] - points[:, _CHIN, 1]), 1e-3)
    for source in np.unique(sources[np.isnan(known)]):
        unknown = np.flatnonzero((sources == source) & np.isnan(known))
        ratios = np.concatenate([(width / height)[first[i] : first[i + 1]] for i in unknown])
        ratios = ratios[np.isfinite(ratios) & (ratios > 0)]
        known[unknown] = np.clip(FACE_RATIO / np.median(ratios), *ASPECTS) if len(ratios) else 4 / 3
    return known


def _held(points: Points, frames: int) -> Points:
    """(n, P, C) points to (frames, P, C): the last one stands in for what is missing; NaN where there is none."""
    if not len(points):
        return np.full((frames, *points.shape[1:]), np.nan, np.float32)
    return points[np.minimum(np.arange(frames), len(points) - 1)]


def _held_body(body: Points, left: Points, right: Points) -> Points:
    """(n, 33, 4) observed body to (T, 33, 4), with wrists from the (T, 21, 3) hands beyond what was observed."""
    observed = min(len(body), len(left))
    steady = np.median(body[max(0, observed - 5) : observed], axis=0, keepdims=True) if observed else body[:1]
    whole = np.concatenate([body[:observed], _held(steady.astype(np.float32), len(left) - observed)])
    assert whole.shape[1:] == (BODY_POINTS, 4)
    whole[observed:, _ARM_POINTS, 3] = 0.0
    for wrist, hand in ((_LEFT_WRIST, left), (_RIGHT_WRIST, right)):
        place, visible = _wrist_path(hand)
        if observed and np.isfinite(whole[observed - 1, wrist, :2]).all():
            place, visible = _from_body(place, visible, whole[:observed, wrist], observed)
        whole[observed:, wrist, :2] = place[observed:]
        whole[observed:, wrist, 3] = visible[observed:]
    return whole


def _wrist_path(hand: Points) -> tuple[Points, Points]:
    """(T, 21, 3) hand to (T, 2) places of its wrist and (T,) their visibility, straight over short gaps."""
    frames = np.arange(len(hand))
    seen = np.flatnonzero(np.isfinite(hand[:, 0, :2]).all(axis=1))
    if not len(seen):
        return np.zeros((len(hand), 2), np.float32), np.zeros(len(hand), np.float32)
    place = np.stack([np.interp(frames, seen, hand[seen, 0, axis]) for axis in (0, 1)], axis=1)
    after = np.minimum(np.searchsorted(seen, frames), len(seen) - 1)
    before = np.maximum(np.searchsorted(seen, frames, side="right") - 1, 0)
    is_bridged = (seen[before] <= frames) & (seen[after] >= frames) & (seen[after] - seen[before] <= BRIDGED)
    visible = np.where(seen[after] == frames, _SEEN, np.where(is_bridged, _GUESSED, 0.0))
    return place.astype(np.float32), visible.astype(np.float32)


def _from_body(place: Points, visible: Points, wrist: Points, observed: int) -> tuple[Points, Points]:
    """Bridge the gap between the last (n, 4) wrist that the body showed and the hand's first sighting after it."""
    later = np.flatnonzero(visible[observed:] > 0)
    gap = int(later[0]) if len(later) else 0
    if not 0 < gap <= BRIDGED or wrist[-1, 3] < _GUESSED:
        return place, visible
    place, visible = place.copy(), visible.copy()
    share = (np.arange(1, gap + 1, dtype=np.float32) / (gap + 1))[:, None]
    place[observed : observed + gap] = wrist[-1, :2] * (1 - share) + place[observed + gap] * share
    visible[observed : observed + gap] = _GUESSED
    return place, visible
