"""A page of a word's variants: clips side by side, the costs between exemplars, and curves of each in footage."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from matplotlib.figure import Figure

from signspot.applications.signs import moving_picture
from signspot.applications.variants import Variants, VariantUse
from signspot.plots.curves import COLOURS, view_of
from signspot.plots.drawing import lettering
from signspot.plots.pages import clips, drawing, heading, paragraph, table, write_page
from signspot.plots.plot import draw
from signspot.spotting.search import Found
from signspot.spotting.spotter import Spotter

_MOST_CLIPS = 3  # of a variant, on a page


def draw_costs(found: Variants) -> Figure:
    """The costs between all exemplars as a map, exemplars of one variant side by side."""
    order = found.labels.argsort(kind="stable")
    side = max(3.2, 0.28 * len(order) + 1.6)
    figure = Figure(figsize=(side + 0.8, side), layout="constrained", facecolor="white")
    axes = figure.add_subplot()
    shown = axes.imshow(found.costs[order][:, order], cmap="viridis_r", vmin=0, vmax=1.2)
    title, fonts = lettering(f"{found.word}: cost of aligning exemplars")
    axes.set_title(title, size=11, **fonts)
    axes.set_xticks([])
    names = [found.exemplars[place].id[-24:] for place in order]
    axes.set_yticks(range(len(order)), names, size=7)
    for label, place in zip(axes.get_yticklabels(), order, strict=True):
        label.set_color(COLOURS[int(found.labels[place]) % len(COLOURS)])
    figure.colorbar(shown, ax=axes, shrink=0.8, label="1: as different words")
    return figure


def write_variants_page(
    spotter: Spotter,
    found: Variants,
    path: str | Path,
    used: tuple[Sequence[VariantUse], Sequence[Found]] = ((), ()),
    *,
    pixels: bool = True,
) -> Path:
    """Write the page; `used` is what `find_use` gave. Without `pixels` skeletons stand for people."""

    def blocks() -> Iterator[str]:
        count = len(found.groups)
        yield paragraph(f"{count} variant{'' if count == 1 else 's'} in {len(found.exemplars)} exemplars")
        for group in found.groups:
            yield heading(f"Variant {group.name}: {len(group.exemplars)} exemplars")
            if group.signers:
                yield paragraph("signed by " + ", ".join(group.signers), faint=True)
            ordered = sorted(group.exemplars, key=lambda each: each.id != group.typical.id)[:_MOST_CLIPS]
            pictures = ((moving_picture(spotter, each, pixels=pixels), each.id) for each in ordered)
            yield clips((address, caption) for address, caption in pictures if address is not None)
        yield heading("How different the exemplars are")
        yield drawing(draw_costs(found), "a map of costs between exemplars")
        uses, searched = used
        if uses:
            yield heading("Where each is used")
            rows = ((use.video, use.variant, str(use.times), f"{use.best.time:.2f}") for use in uses)
            yield table(("video", "variant", "times", "best at, s"), rows)
        for each in searched:
            yield drawing(draw(view_of(each, pixels=False)), f"scores of each exemplar in {each.track.video}")

    return write_page(path, f"Variants of {found.word}", blocks())
