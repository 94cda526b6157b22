"""Real signing by many people: landmarks of WLASL (Li et al. 2020), some thousand clips per `.npz` file.

`signspot corpus import wlasl` makes the files from the videos as they are published, with the body in every frame.
Public collections of landmarks know the body in the first frames of a clip only and the hands in all of them; what is
missing is imputed here as far as it can be, so that a clip reads like any other landmarks.
"""

from collections.abc import Sequence
from functools import partial
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from experiments.isolated.clips import Arrays, IsolatedClip, read_packed
from signspot.errors import FormatError
from signspot.io.text import read_text
from signspot.landmarks.landmarks import BODY_POINTS, FACE_POINTS, Landmarks

Points = NDArray[np.float32]

FILES, WORDS = "wlasl_*.npz", "words.txt"
FACE_RATIO = 0.81  # width over height of a face (mesh points 234 to 454 over 10 to 152): the sources' median
ASPECTS = (0.75, 2.0)  # nothing beyond is believed
BRIDGED = 12  # frames; over a shorter gap between two sightings of a hand its wrist is taken to go straight
_HEIGHT = 720  # pixels, nominal: only the aspect is known
_CHEEKS = (FACE_POINTS.index(234), FACE_POINTS.index(454))
_FOREHEAD, _CHIN = FACE_POINTS.index(10), FACE_POINTS.index(152)
_LEFT_WRIST, _RIGHT_WRIST = 15, 16
_ARM_POINTS = (13, 14, *range(15, 23))  # elbows, wrists, and the body's own finger points
_SEEN = 0.9  # visibility of a wrist that a hand shows
_GUESSED = 0.5  # visibility of a wrist between two sightings


def read_wlasl(folder: str | PathLike[str]) -> list[IsolatedClip]:
    """All clips of the `wlasl_*.npz` files in `folder`, whose words are the lines of `words.txt` beside them.

    Beyond the frames in which the body was observed, shoulders, head and hips stay where they were last, wrists are
    the hands' own, and elbows are not seen. Where the image's aspect is not known, it follows from the faces of the
    same source.

    Raises:
        FormatError: the folder has no such files, or one is damaged.
    """
    files, words = sorted(Path(folder).glob(FILES)), Path(folder) / WORDS
    if not files or not words.is_file():
        raise FormatError(
            f"no wlasl_NN.npz files with words.txt in {folder}. "
            "Make them with: signspot corpus import wlasl WLASL --out FOLDER"
        )
    glosses = read_text(words).text.splitlines()
    return [clip for file in files for clip in read_packed(file, partial(_read, glosses))]


def _read(glosses: Sequence[str], data: Arrays) -> list[IsolatedClip]:
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
