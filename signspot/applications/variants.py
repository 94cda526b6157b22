"""Variants of a word: its exemplars grouped by the sign that they show, where each is used, and a page of both."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from signspot.applications.sign_comparison import SAME, Costs, costs_between, sign_clip
from signspot.dictionary.clustering import average_linkage
from signspot.dictionary.dictionary import Dictionary
from signspot.embedding.exemplars import Gallery
from signspot.errors import OptionsError
from signspot.io.progress import Progress, silent
from signspot.landmarks.video_estimation import Source
from signspot.plots.curves import COLOURS, view_of
from signspot.plots.plot import draw, lettering
from signspot.plots.result_page import clips, drawing, heading, paragraph, table, write_page
from signspot.spotting.spotter import Spotter
from signspot.spotting.track_search import SearchResult
from signspot.types import Exemplar, Spotting, Track

# Two groups are one variant where the mean cost between them is below this part of what other words cost.
SAME_SIGN: float = SAME["variant"]
_OTHER_WORDS = 60  # of the dictionary, that tell what different signs cost
_FEWEST_OTHERS = 10  # with fewer, the encoder's own unit stands


@dataclass(frozen=True, slots=True)
class Variant:
    """Exemplars of a word that show one and the same sign."""

    name: str  # "1", "2", …, the largest first
    exemplars: tuple[Exemplar, ...]
    typical: Exemplar  # nearest to the others
    spread: float  # mean cost between its exemplars, in units of `Variants.unit`

    @property
    def signers(self) -> tuple[str, ...]:
        """People who show it, as far as the dictionary says."""
        return tuple(sorted({exemplar.signer for exemplar in self.exemplars if exemplar.signer}))


@dataclass(frozen=True, slots=True)
class Variants:
    """The variants of a word."""

    word: str
    groups: tuple[Variant, ...]
    exemplars: tuple[Exemplar, ...]  # E of them, as the costs have them
    costs: Costs  # (E, E) of aligning each with each, in units of what different words cost
    labels: NDArray[np.int64]  # (E,) which group each is in, from 0
    unit: float  # what different words cost in this dictionary, in the encoder's unit

    def of(self, exemplar: str) -> str:
        """The variant of an exemplar, by its id."""
        ids = [exemplar.id for exemplar in self.exemplars]
        return self.groups[int(self.labels[ids.index(exemplar)])].name

    def as_dict(self) -> dict[str, object]:
        """Plain values, for JSON."""
        groups = [
            {
                "name": group.name,
                "exemplars": [exemplar.id for exemplar in group.exemplars],
                "typical": group.typical.id,
                "signers": list(group.signers),
                "spread": round(group.spread, 4),
            }
            for group in self.groups
        ]
        return {"word": self.word, "variants": groups}


@dataclass(frozen=True, slots=True)
class VariantUse:
    """The number of times that a variant was found in one video."""

    video: str
    variant: str
    times: int
    best: Spotting


def find_variants(
    spotter: Spotter,
    dictionary: Dictionary,
    word: str,
    *,
    same: float = SAME_SIGN,
    progress: Progress = silent,
) -> Variants:
    """Group the exemplars of a word into variants; how many there are follows from the costs of aligning them.

    Args:
        spotter: whose encoder compares.
        dictionary: with the word, and other words, which tell how much different signs cost here.
        word: one of it.
        same: the largest mean cost between two groups of one variant, as a part of what other words cost.
        progress: receives the exemplars that are embedded.

    Raises:
        UnknownWordError: the word is not in the dictionary.
        DictionaryError: none of its exemplars can be used.
    """
    if not 0 < same < 2:
        raise OptionsError(f"same is relative to the cost of other words, above 0 and below 2; got {same}")
    gallery = spotter.gallery(dictionary[word], progress=progress)
    meant = set(dictionary.resolve(word))
    others = [dictionary[other][0] for other in dictionary if other not in meant]
    chosen = [others[int(i)] for i in np.linspace(0, len(others) - 1, min(len(others), _OTHER_WORDS))] if others else []
    unit = 1.0
    if len(chosen) >= _FEWEST_OTHERS:
        unit = float(np.median(costs_between(spotter, spotter.gallery(chosen), gallery)))
    return group_exemplars(spotter, gallery, unit, same)


def group_exemplars(spotter: Spotter, gallery: Gallery, unit: float = 1.0, same: float = SAME_SIGN) -> Variants:
    """As `find_variants`, of exemplars of one word that were embedded before; `unit` is what different words cost."""
    costs = costs_between(spotter, gallery, gallery) / unit
    costs = np.minimum(costs, costs.T).astype(np.float32)
    np.fill_diagonal(costs, 0)
    joined = average_linkage(costs, same)
    groups = [np.flatnonzero(joined == number).tolist() for number in range(int(joined.max(initial=-1)) + 1)]
    groups.sort(key=len, reverse=True)
    labels = np.zeros(len(costs), np.int64)
    for number, group in enumerate(groups):
        labels[group] = number
    variants = tuple(_variant(str(number), gallery.exemplars, costs, group) for number, group in enumerate(groups, 1))
    return Variants(gallery.exemplars[0].word, variants, gallery.exemplars, costs, labels, unit)


def _variant(name: str, exemplars: Sequence[Exemplar], costs: Costs, group: list[int]) -> Variant:
    within = costs[np.ix_(group, group)]
    pairs = len(group) * (len(group) - 1)
    spread = float(within.sum() / pairs) if pairs else 0.0
    return Variant(name, tuple(exemplars[i] for i in group), exemplars[group[int(within.sum(axis=1).argmin())]], spread)


def find_use(
    spotter: Spotter, variants: Variants, footage: Sequence[Source | Track], progress: Progress = silent
) -> tuple[list[VariantUse], list[SearchResult]]:
    """Find out which variant of a word is used where: spottings of all exemplars, by the variant of the best.

    Returns:
        One record for each video and variant that was found in it, and the searches, whose curves show each exemplar.
    """
    gallery = spotter.gallery(list(variants.exemplars))
    uses: list[VariantUse] = []
    results: list[SearchResult] = []
    for done, source in enumerate(footage):
        progress(done, len(footage))
        result = spotter.search(source, gallery)
        results.append(result)
        counts = Counter(variants.of(spotting.exemplar) for spotting in result.spottings)
        for name, times in sorted(counts.items()):
            of_variant = [spotting for spotting in result.spottings if variants.of(spotting.exemplar) == name]
            uses.append(
                VariantUse(result.track.video, name, times, max(of_variant, key=lambda spotting: spotting.score))
            )
    progress(len(footage), len(footage))
    return uses, results


_MOST_CLIPS = 3  # of a variant, on a page


def draw_costs(variants: Variants) -> Figure:
    """The costs between all exemplars as a map, exemplars of one variant side by side."""
    order = variants.labels.argsort(kind="stable")
    side = max(3.2, 0.28 * len(order) + 1.6)
    figure = Figure(figsize=(side + 0.8, side), layout="constrained", facecolor="white")
    axes = figure.add_subplot()
    image = axes.imshow(variants.costs[order][:, order], cmap="viridis_r", vmin=0, vmax=1.2)
    title, fonts = lettering(f"{variants.word}: cost of aligning exemplars")
    axes.set_title(title, size=11, **fonts)
    axes.set_xticks([])
    names = [variants.exemplars[number].id[-24:] for number in order]
    axes.set_yticks(range(len(order)), names, size=7)
    for label, number in zip(axes.get_yticklabels(), order, strict=True):
        label.set_color(COLOURS[int(variants.labels[number]) % len(COLOURS)])
    figure.colorbar(image, ax=axes, shrink=0.8, label="1: as different words")
    return figure


def write_variants_page(
    spotter: Spotter,
    variants: Variants,
    path: str | Path,
    used: tuple[Sequence[VariantUse], Sequence[SearchResult]] = ((), ()),
    *,
    pixels: bool = True,
) -> Path:
    """Write the page; `used` is what `find_use` gave. Without `pixels` skeletons stand for people."""

    def blocks() -> Iterator[str]:
        count = len(variants.groups)
        yield paragraph(f"{count} variant{'' if count == 1 else 's'} in {len(variants.exemplars)} exemplars")
        for group in variants.groups:
            yield heading(f"Variant {group.name}: {len(group.exemplars)} exemplars")
            if group.signers:
                yield paragraph("signed by " + ", ".join(group.signers), faint=True)
            ordered = sorted(group.exemplars, key=lambda exemplar: exemplar.id != group.typical.id)[:_MOST_CLIPS]
            yield clips(sign_clip(spotter, exemplar, exemplar.id, pixels=pixels) for exemplar in ordered)
        yield heading("How different the exemplars are")
        yield drawing(draw_costs(variants), "a map of costs between exemplars")
        uses, results = used
        if uses:
            yield heading("Where each is used")
            rows = ((use.video, use.variant, str(use.times), f"{use.best.time:.2f}") for use in uses)
            yield table(("video", "variant", "times", "best at, s"), rows)
        for result in results:
            yield drawing(draw(view_of(result, pixels=False)), f"scores of each exemplar in {result.track.video}")

    return write_page(path, f"Variants of {variants.word}", blocks())
