"""Signers of a dictionary, told apart by their faces, as the paper does for its dictionary (Sec. 4.1).

Needs the extra `signers`; the clustering itself does not.
"""

import importlib.util
from collections import Counter
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from signspot.dictionary.dictionary import Dictionary, LeftOut
from signspot.errors import MissingExtraError, VideoError
from signspot.io.progress import Progress, silent
from signspot.video.reader import open_video

SAME_FACE = 0.5  # Euclidean distance of face descriptors up to which two groups of faces are one person
_LOOKS = 5  # frames of a video in which the face is looked at
_SHAPE = "shape_predictor_5_face_landmarks.dat"
_FACE = "dlib_face_recognition_resnet_model_v1.dat"


def average_linkage(points: NDArray[np.floating], most: float) -> NDArray[np.int64]:
    """Join the nearest groups again and again while their average distance is at most `most`.

    The nearest-neighbour chain: time grows with the square of the number of points, and so does memory (4 bytes
    a pair: 0.8 GB for 14,000 points).

    Args:
        points: (N, D) compared by Euclidean distance.
        most: the largest average distance within which two groups are joined.

    Returns:
        (N,) the group of every point, counted from 0 in the order of their first points.
    """
    distances = _distances(points)
    sizes = np.ones(len(points))
    groups = np.arange(len(points))
    open_ = np.ones(len(points), dtype=bool)
    chain: list[int] = []
    while open_.any():
        if not chain:
            chain.append(int(open_.argmax()))
        end = chain[-1]
        nearest = int(distances[end].argmin())
        if len(chain) > 1 and distances[end, chain[-2]] <= distances[end, nearest]:
            nearest = chain[-2]
        if not distances[end, nearest] <= most:  # the distance to others can only grow: this group is complete
            open_[end] = False
            chain.pop()
        elif len(chain) > 1 and nearest == chain[-2]:
            chain = chain[:-2]
            _join(distances, sizes, end, nearest)
            groups[groups == end] = nearest
            open_[end] = False
        else:
            chain.append(nearest)
    return _in_order(groups)


def _distances(points: NDArray[np.floating]) -> NDArray[np.float32]:
    exact = points.astype(np.float64)
    squares = (exact**2).sum(axis=1)
    distances = np.empty((len(points), len(points)), dtype=np.float32)
    for start in range(0, len(points), 1024):  # in blocks, so that no second table of that size is made
        block = slice(start, start + 1024)
        product = squares[block, None] + squares[start:] - 2 * exact[block] @ exact[start:].T
        square = product[:, : len(product)]
        product[:, : len(product)] = (square + square.T) / 2  # rounding may differ on the two sides
        distances[block, start:] = np.sqrt(np.maximum(product, 0))
        distances[start:, block] = distances[block, start:].T
    np.fill_diagonal(distances, np.inf)
    return distances


def _join(distances: NDArray[np.float32], sizes: NDArray[np.float64], gone: int, stays: int) -> None:
    """Put group `gone` into `stays`; their distance to others is the average over all members."""
    total = sizes[gone] + sizes[stays]
    joined = (sizes[gone] * distances[gone] + sizes[stays] * distances[stays]) / total
    sizes[stays] = total
    distances[stays], distances[:, stays] = joined, joined
    distances[gone], distances[:, gone] = np.inf, np.inf
    distances[stays, stays] = np.inf


def _in_order(groups: NDArray[np.int64]) -> NDArray[np.int64]:
    _, first, inverse = np.unique(groups, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse]


class FaceDescriber:
    """Describes the face in a video by 128 numbers that are near for one person and far for two.

    Raises:
        MissingExtraError: the extra `signers` is not installed.
    """

    def __init__(self) -> None:
        spec = importlib.util.find_spec("face_recognition_models")  # found, not imported: it needs pkg_resources
        if spec is None or spec.origin is None or importlib.util.find_spec("dlib") is None:
            raise MissingExtraError("dlib-bin and face_recognition_models", "signers", "telling signers apart")
        import dlib

        models = Path(spec.origin).parent / "models"
        self._find: Any = dlib.get_frontal_face_detector()
        self._shape: Any = dlib.shape_predictor(str(models / _SHAPE))
        self._describe: Any = dlib.face_recognition_model_v1(str(models / _FACE))

    def describe_image(self, image: NDArray[np.uint8]) -> NDArray[np.float64] | None:
        """(128,) the largest face in an image (H, W, 3) RGB; None where there is none."""
        pixels = np.ascontiguousarray(image)
        faces = self._find(pixels, 1)
        if not faces:
            return None
        largest = max(faces, key=lambda box: box.area())
        return np.array(self._describe.compute_face_descriptor(pixels, self._shape(pixels, largest)))

    def describe_video(self, path: Path) -> NDArray[np.float64] | None:
        """(128,) the median over a few frames spread over the video; None where no face is seen.

        Raises:
            VideoError: the video cannot be read.
        """
        with open_video(path, max_side=640) as video:
            rate = max(_LOOKS / max(video.info.duration, 1e-3), 1e-3)
            looks = [self.describe_image(frame.image) for frame in islice(video.resampled(rate), _LOOKS)]
        descriptors = [look for look in looks if look is not None]
        return np.median(descriptors, axis=0) if descriptors else None


def identify_signers(
    dictionary: Dictionary,
    *,
    describer: FaceDescriber | None = None,
    same: float = SAME_FACE,
    progress: Progress = silent,
) -> Dictionary:
    """Name the signers of exemplars that do not say who signs.

    Faces are grouped; a group takes the name that most of its members have, or `signer 1`, `signer 2` and so on,
    the most frequent first.

    Args:
        dictionary: its exemplars' videos are looked at; `.pose` files show no face.
        describer: how faces are described.
        same: distance up to which two groups of faces are one person.
        progress: told how many videos are done.

    Returns:
        The dictionary with signers; videos without a face are among its problems.

    Raises:
        MissingExtraError: the extra `signers` is not installed.
    """
    describer = describer or FaceDescriber()
    videos = [e for e in dictionary.exemplars if e.path is not None and e.path.suffix.lower() != ".pose"]
    faces: dict[str, NDArray[np.float64]] = {}
    problems = list(dictionary.problems)
    for done, exemplar in enumerate(videos):
        progress(done, len(videos))
        path = Path(str(exemplar.path))
        try:
            face = describer.describe_video(path)
        except VideoError as error:
            problems.append(LeftOut(path, str(error)))
            continue
        if face is None:
            problems.append(LeftOut(path, "no face is seen: the signer stays unknown"))
        else:
            faces[exemplar.id] = face
    progress(len(videos), len(videos))
    given = {exemplar.id: exemplar.signer for exemplar in videos}
    names = name_groups(given, dict(zip(faces, _groups(faces, same), strict=True)))
    named = tuple(replace(e, signer=e.signer or names.get(e.id, "")) for e in dictionary.exemplars)
    return Dictionary(replace(dictionary.contents, exemplars=named, problems=tuple(problems)), dictionary.path)


def name_groups(given: dict[str, str], groups: dict[str, int]) -> dict[str, str]:
    """The signer of every exemplar id in `groups`, from the names that some of them have."""
    names: dict[int, str] = {}
    unnamed = 0
    for group, _ in Counter(groups.values()).most_common():
        votes = Counter(given[name] for name, other in groups.items() if other == group and given.get(name))
        if not votes:
            unnamed += 1
        names[group] = votes.most_common(1)[0][0] if votes else f"signer {unnamed}"
    return {name: names[group] for name, group in groups.items()}


def _groups(faces: dict[str, NDArray[np.float64]], same: float) -> list[int]:
    return [int(group) for group in average_linkage(np.array(list(faces.values())), same)] if faces else []
