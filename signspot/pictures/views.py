"""From what was spotted to what is drawn: the curves of the exemplars that matter, with their thumbnails."""

import logging
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from signspot.errors import SignspotError
from signspot.landmarks.landmarks import Landmarks
from signspot.pictures.curves import Curve, View
from signspot.records import Exemplar, Spotting
from signspot.spotting.embed import Source
from signspot.spotting.exemplars import Gallery
from signspot.spotting.options import SpotOptions
from signspot.spotting.similarity import cosine, to_score
from signspot.spotting.spotter import Spotter
from signspot.spotting.tracks import SUFFIX
from signspot.timeline import Track
from signspot.video.thumbnail import thumbnail

logger = logging.getLogger(__name__)

MOST_CURVES = 40  # a picture with more lines is no picture


def view_of(
    spotter: Spotter,
    source: Source | Track,
    gallery: Gallery,
    spottings: list[Spotting],
    options: SpotOptions = SpotOptions(),
) -> View:
    """Gather what `plot`, `film` and `report` draw.

    Words that were found come first, then the others, until there are `MOST_CURVES` exemplars.
    """
    track, windows = spotter.windows(source, gallery, options)
    chosen = _chosen(gallery, spottings)
    scores = to_score(cosine(windows.embeddings, gallery.embeddings))
    count = len(gallery.exemplars)
    best = scores[:, :count] if scores.shape[1] == count else np.maximum(scores[:, :count], scores[:, count:])
    curves = tuple(
        Curve(exemplar.word, exemplar.id, windows.times, best[:, column], _thumbnail(exemplar))
        for column, exemplar in chosen
    )
    duration = track.grid.origin + track.grid.frames / track.grid.fps
    return View(_playable(source), track.video, duration, curves, tuple(spottings), spotter.threshold(options))


def _chosen(gallery: Gallery, spottings: list[Spotting]) -> list[tuple[int, Exemplar]]:
    """Exemplars to draw with their columns: those of found words first."""
    found = {spotting.word for spotting in spottings}
    order = sorted(enumerate(gallery.exemplars), key=lambda pair: pair[1].word not in found)
    return order[:MOST_CURVES]


def _thumbnail(exemplar: Exemplar) -> NDArray[Any] | None:
    if exemplar.path is None or exemplar.path.suffix == ".pose":
        return None
    try:
        return thumbnail(exemplar.path, exemplar.segment.middle if exemplar.segment else None)
    except SignspotError as error:
        logger.info("no thumbnail of %s: %s", exemplar.path, error)
        return None


def _playable(source: Source | Track) -> Path | None:
    """The video behind a source, where it is one."""
    if isinstance(source, Landmarks | Track) or not isinstance(source, str | PathLike):
        return None
    path = Path(source)
    return None if path.suffix in {".pose", SUFFIX} else path
