"""A reverse dictionary: which word is this sign? The words, and a plot of the signs to compare by eye."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from signspot.applications.sign_comparison import read_sign, read_signs
from signspot.embedding.exemplars import Gallery
from signspot.embedding.inputs import SignLocation
from signspot.landmarks.features import mirror_features
from signspot.landmarks.video_estimation import Source
from signspot.plots.curves import COLOURS, label
from signspot.plots.plot import DOTS_PER_INCH, lettering
from signspot.plots.skeletons import MOMENTS, Frames, draw_strip
from signspot.spotting.spotter import Match, Spotter
from signspot.types import Segment


@dataclass(frozen=True, slots=True)
class Identification:
    """Words that a sign may be."""

    clip: str
    matches: tuple[Match, ...]  # the best first
    sign: Frames  # (T, J, C) features of the clip's sign
    signs: Mapping[str, Frames]  # of the best exemplars by their ids, as they matched: mirrored or not


def identify_sign(
    spotter: Spotter, clip: Source, gallery: Gallery, top: int = 10, segment: Segment | None = None
) -> Identification:
    """Say which words an isolated sign may be, and gather what a plot of the answer shows.

    Args:
        spotter: with an encoder.
        clip: a video path, a `.pose` path or landmarks.
        gallery: the words.
        top: how many words.
        segment: where the sign is in the clip; None: where the wrists move.

    Raises:
        LandmarksError: nobody is in view in the clip, or no hand.
    """
    sign = read_sign(spotter, clip, segment)
    matches = tuple(spotter.identify(clip, gallery, top, segment=segment))
    by_id = {exemplar.id: exemplar for exemplar in gallery.exemplars}
    signs = read_signs(spotter, (by_id[match.exemplar] for match in matches))
    mirrored = {match.exemplar for match in matches if match.mirrored}
    as_matched = {name: mirror_features(frames) if name in mirrored else frames for name, frames in signs.items()}
    return Identification(Path(SignLocation(clip).name).stem, matches, sign, as_matched)


_MOST_ROWS = 6


def draw_identification(identification: Identification) -> Figure:
    """The clip at some moments in the first row, then the nearest words with their best exemplars and scores."""
    rows = [match for match in identification.matches if match.exemplar in identification.signs][:_MOST_ROWS]
    size = (2.4 + 1.25 * MOMENTS, 1.35 * (1 + len(rows)))
    figure = Figure(figsize=size, dpi=DOTS_PER_INCH, layout="constrained", facecolor="white")
    grid: Any = figure.subplots(1 + len(rows), 1 + MOMENTS, squeeze=False)
    _name(grid[0, 0], identification.clip, "what is it?")
    draw_strip(grid[0, 1:], identification.sign, "#1b1b1b")
    for number, match in enumerate(rows, 1):
        _name(grid[number, 0], match.word, f"score {match.score:.2f}" + (", mirrored" if match.mirrored else ""))
        draw_strip(grid[number, 1:], identification.signs[match.exemplar], COLOURS[(number - 1) % len(COLOURS)])
    return figure


def _name(axes: Any, word: str, remark: str) -> None:
    axes.axis("off")
    text, fonts = lettering(label(word))
    axes.text(0, 0.6, text, size=12, weight="bold", va="center", **fonts)
    axes.text(0, 0.35, remark, size=9, color="#555555", va="center")
