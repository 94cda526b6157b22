"""Isolated signs as applications see them: features to draw and to compare, and what it costs to align two signs."""

import json
import logging
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from importlib.resources import files
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from signspot.dictionary.cutting import cut_exemplar, is_cut
from signspot.embedding.exemplars import Gallery
from signspot.embedding.inputs import SignLocation, sign_in_context
from signspot.errors import SignspotError
from signspot.io.html_fragments import image_address
from signspot.landmarks.features import mirror_features
from signspot.landmarks.signing import check_signing
from signspot.landmarks.video_estimation import Source, landmarks_of
from signspot.plots.curves import playable
from signspot.plots.result_page import Clip, clips, data_address, heading, paragraph, write_page
from signspot.plots.skeletons import Frames, skeleton_clip
from signspot.spotting.decoys import alignment_scale
from signspot.spotting.matching import warping_costs
from signspot.spotting.spotter import Spotter
from signspot.types import Exemplar, Segment
from signspot.video.clips import thumbnail
from signspot.video.probing import Image

logger = logging.getLogger(__name__)

FPS = 25.0
SAME = json.loads((files("signspot.applications") / "same_sign.json").read_text(encoding="utf-8"))
_THUMBNAIL_HEIGHT, _FRAME_HEIGHT = 180, 360  # pixels

Costs = NDArray[np.float32]


def read_sign(
    spotter: Spotter, source: Source | Exemplar, segment: Segment | None = None, *, mirror: bool = False
) -> Frames:
    """(T, J, C) landmark features of the sign in a clip or an exemplar, without the rest before and after it.

    Raises:
        LandmarksError: nobody is in view, or no hand.
    """
    if isinstance(source, Exemplar):
        assert source.path is not None, "an exemplar without a file cannot be drawn"
        return read_sign(spotter, source.path, source.segment, mirror=mirror)
    landmarks = landmarks_of(source, spotter.cache / "landmarks" if spotter.cache else None)
    check_signing(landmarks, SignLocation(source).name)
    frames, first, last = sign_in_context(landmarks, FPS, segment)
    sign = frames[first : last + 1]
    return mirror_features(sign) if mirror else sign


def video_frame(spotter: Spotter, source: Source | Exemplar, number: int) -> Image | None:
    """The frame of the video behind a frame of its sign, as `read_sign` counts them; None where there is no video."""
    path, segment = (source.path, source.segment) if isinstance(source, Exemplar) else (source, None)
    if not isinstance(path, str | Path) or playable(str(path)) is None:
        return None
    landmarks = landmarks_of(path, spotter.cache / "landmarks" if spotter.cache else None)
    _, first, _ = sign_in_context(landmarks, FPS, segment)
    return thumbnail(path, float(landmarks.resampled(FPS).times[first + number]), _FRAME_HEIGHT)


def read_signs(spotter: Spotter, exemplars: Iterable[Exemplar]) -> dict[str, Frames]:
    """The signs of exemplars by their ids, as far as there is a file that can be read."""
    signs: dict[str, Frames] = {}
    for exemplar in exemplars:
        try:
            if exemplar.path is not None:
                signs[exemplar.id] = read_sign(spotter, exemplar)
        except SignspotError as error:
            logger.info("'%s' is not drawn: %s", exemplar.id, error)
    return signs


def sign_clip(spotter: Spotter, exemplar: Exemplar, caption: str, *, pixels: bool = True) -> Clip | None:
    """An exemplar for a page: its video, cut to the sign, or a moving skeleton; None where neither can be made."""
    try:
        if exemplar.path is None:
            return None
        if not pixels or exemplar.path.suffix.lower() == ".pose":
            return skeleton_clip(read_sign(spotter, exemplar), caption)
        if is_cut(exemplar):
            with tempfile.TemporaryDirectory() as folder:
                return sign_clip(spotter, cut_exemplar(exemplar, Path(folder) / "sign.mp4"), caption)
        address = data_address(exemplar.path, most_bytes=3_000_000)
        still = thumbnail(exemplar.path, exemplar.segment.middle if exemplar.segment else None, _THUMBNAIL_HEIGHT)
        return None if address is None else Clip(address, caption, image_address(still, _THUMBNAIL_HEIGHT))
    except SignspotError as error:
        logger.info("'%s' is not shown: %s", exemplar.id, error)
        return None


def write_exemplar_page(
    spotter: Spotter, exemplars: Sequence[Exemplar], path: str | Path, title: str, missing: Sequence[str] = ()
) -> Path:
    """Write a page with the clips of exemplars by word, in their order; `missing` words have none and are named."""

    def blocks() -> Iterator[str]:
        if missing:
            yield paragraph(f"Searched, but not found: {', '.join(missing)}")
        for word in dict.fromkeys(exemplar.word for exemplar in exemplars):
            of_word = [exemplar for exemplar in exemplars if exemplar.word == word]
            yield heading(f"{word}: {len(of_word)}")
            clips_of_word = [sign_clip(spotter, exemplar, exemplar.id) for exemplar in of_word]
            yield clips(clips_of_word)
            hidden = [exemplar.id for exemplar, clip in zip(of_word, clips_of_word, strict=True) if clip is None]
            if hidden:
                yield paragraph(f"Not shown, because there is no video: {', '.join(hidden)}", faint=True)

    return write_page(path, title, blocks())


def costs_between(spotter: Spotter, some: Gallery, others: Gallery) -> Costs:
    """Align signs with signs, the others also mirrored where their gallery has mirrored views.

    Args:
        spotter: whose encoder made both galleries.
        some: E exemplars; their plain views count.
        others: F exemplars.

    Returns:
        (E, F) costs in units of what two different signs typically cost: 0 for the same movement, about 1 for two
        words. Embeddings stand in where the encoder gives no frame codes; the unit is then that of its threshold.
    """
    plain = ~some.mirrored
    if some.codes is not None and others.codes is not None:
        costs = warping_costs(some.codes[plain], others.codes) / alignment_scale(spotter.encoder)
    else:
        apart = 1 - some.embeddings[plain] @ others.embeddings.T
        costs = apart / max(1e-3, 2 - 2 * spotter.encoder.contract.threshold)
    cheapest = np.full((len(costs), len(others.exemplars)), np.inf, np.float32)
    for row, exemplar in enumerate(others.rows):
        np.minimum(cheapest[:, exemplar], costs[:, row], out=cheapest[:, exemplar])
    return cheapest
