"""Isolated signs as applications see them: features to draw and to compare, and what it costs to align two signs."""

import logging
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from signspot.embedding.exemplars import Gallery
from signspot.embedding.inputs import SignPlace, Source, landmarks_of, sign_in_context
from signspot.errors import SignspotError
from signspot.landmarks.features import mirror_features
from signspot.landmarks.signing import check_signing
from signspot.plots.report import clips, data_address, write_page
from signspot.plots.skeletons import Frames, skeleton_address
from signspot.spotting.decoys import alignment_scale
from signspot.spotting.matching import warping_costs
from signspot.spotting.spotter import Spotter
from signspot.types import Exemplar, Segment

logger = logging.getLogger(__name__)

FPS = 25.0

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
    check_signing(landmarks, SignPlace(source).name)
    seen, first, last = sign_in_context(landmarks, FPS, segment)
    sign = seen[first : last + 1]
    return mirror_features(sign) if mirror else sign


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


def sign_video_address(spotter: Spotter, exemplar: Exemplar, *, pixels: bool = True) -> str | None:
    """An exemplar as a `data:` address for a page: its video, or a moving skeleton; None where neither can be made."""
    try:
        if exemplar.path is None:
            return None
        if pixels and exemplar.path.suffix.lower() != ".pose":
            return data_address(exemplar.path, most_bytes=3_000_000)
        return skeleton_address(read_sign(spotter, exemplar))
    except SignspotError as error:
        logger.info("'%s' is not shown: %s", exemplar.id, error)
        return None


def write_exemplar_page(spotter: Spotter, exemplars: Sequence[Exemplar], path: str | Path, title: str) -> Path:
    """Write a page with the clips of exemplars, in their order."""
    addresses = ((sign_video_address(spotter, exemplar), exemplar.id) for exemplar in exemplars)
    clips_shown = [(address, caption) for address, caption in addresses if address is not None]
    return write_page(path, title, [clips(clips_shown)])


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
