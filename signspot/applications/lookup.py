"""A reverse dictionary: which word is this sign? The words, and the signs to compare by eye."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from signspot.applications.signs import read_sign, read_signs
from signspot.embedding.exemplars import ExemplarEmbedder, Gallery
from signspot.embedding.inputs import SignPlace, Source
from signspot.landmarks.features import mirror_features
from signspot.plots.skeletons import Frames
from signspot.spotting.identification import Match
from signspot.spotting.options import SpotOptions
from signspot.spotting.spotter import Spotter


@dataclass(frozen=True, slots=True)
class Lookup:
    """Words that a sign may be."""

    clip: str
    matches: tuple[Match, ...]  # the best first
    sign: Frames  # (T, J, C) features of the clip's sign
    signs: Mapping[str, Frames]  # of the best exemplars by their ids, as they matched: mirrored or not


def look_up(
    spotter: Spotter, clip: Source, gallery: Gallery, top: int = 10, options: SpotOptions | None = None
) -> Lookup:
    """Say which words an isolated sign may be, and gather what a picture of the answer shows.

    Raises:
        LandmarksError: nobody is in view in the clip, or no hand.
    """
    chosen = options or SpotOptions()
    sign = read_sign(spotter, clip)
    views = ExemplarEmbedder(spotter.encoder, spotter.cache, chosen.seed).embed_source(clip)
    matches = tuple(spotter.identify_views(views, gallery, chosen)[:top])
    by_id = {exemplar.id: exemplar for exemplar in gallery.exemplars}
    signs = read_signs(spotter, (by_id[match.exemplar] for match in matches))
    mirrored = {match.exemplar for match in matches if match.mirrored}
    shown = {name: mirror_features(each) if name in mirrored else each for name, each in signs.items()}
    return Lookup(Path(SignPlace(clip).name).stem, matches, sign, shown)
