"""Signers of a dictionary, told apart by their faces, as the paper does for its dictionary (Sec. 4.1).

Needs the extra `signers`.
"""

import importlib.util
from collections import Counter
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from signspot.dictionary.clustering import average_linkage
from signspot.dictionary.dictionary import Dictionary, LeftOut
from signspot.errors import MissingExtraError, VideoError
from signspot.io.progress import Progress, silent
from signspot.video.reader import open_video

SAME_FACE = 0.5  # Euclidean distance of face descriptors up to which two groups of faces are one person
_LOOKS = 5  # frames of a video in which the face is looked at
_SHAPE = "shape_predictor_5_face_landmarks.dat"
_FACE = "dlib_face_recognition_resnet_model_v1.dat"


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
    progress: Progress = silent,
) -> Dictionary:
    """Name the signers of exemplars that do not say who signs.

    Faces are grouped; a group takes the name that most of its members have, or `signer 1`, `signer 2` and so on,
    the most frequent first.

    Args:
        dictionary: its exemplars' videos are looked at; `.pose` files show no face.
        describer: how faces are described.
        progress: of videos.

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
    signers = {exemplar.id: exemplar.signer for exemplar in videos}
    names = name_groups(signers, dict(zip(faces, _groups(faces), strict=True)))
    named = tuple(replace(e, signer=e.signer or names.get(e.id, "")) for e in dictionary.exemplars)
    return Dictionary(replace(dictionary.contents, exemplars=named, problems=tuple(problems)), dictionary.path)


def name_groups(signers: dict[str, str], groups: dict[str, int]) -> dict[str, str]:
    """The signer of every exemplar id in `groups`, from the names that some of them have."""
    names: dict[int, str] = {}
    unnamed = 0
    for group, _ in Counter(groups.values()).most_common():
        votes = Counter(signers[name] for name, other in groups.items() if other == group and signers.get(name))
        if not votes:
            unnamed += 1
        names[group] = votes.most_common(1)[0][0] if votes else f"signer {unnamed}"
    return {name: names[group] for name, group in groups.items()}


def _groups(faces: dict[str, NDArray[np.float64]]) -> list[int]:
    if not faces:
        return []
    from scipy.spatial.distance import cdist

    points = np.stack(list(faces.values()))
    groups: list[int] = average_linkage(cdist(points, points), SAME_FACE).tolist()
    return groups
