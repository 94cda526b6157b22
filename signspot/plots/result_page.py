"""Web pages: a result with its video, curves and table, playable from disk without any other file; and simple pages."""

import hashlib
import logging
import os
import tempfile
from base64 import b64encode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from io import BytesIO
from pathlib import Path
from string import Template
from typing import Any

from matplotlib.figure import Figure

from signspot.formats.spotting_rows import CONFIDENCES, dump_json
from signspot.io import html_fragments
from signspot.io.control_characters import escape_control_characters
from signspot.io.files import atomic_write
from signspot.io.html_fragments import image_address, text
from signspot.io.progress import Progress, silent
from signspot.plots.curves import (
    COLOURS,
    COMPETING,
    Curve,
    Panel,
    View,
    clock,
    lowest_score,
    panels,
    summary,
    telling,
    thinned,
)
from signspot.plots.plot import THICK_LINE, check_plot_path
from signspot.types import Spotting
from signspot.video.reader import VideoInfo, open_video
from signspot.video.writer import VideoWriter

logger = logging.getLogger(__name__)

_STYLE = """
:root { --paper: #fff; --ink: #1b1b1b; --faint: #666; --line: #ddd; --soft: #f4f4f4; color-scheme: light dark; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #16181b; --ink: #ececec; --faint: #a0a0a0; --line: #3a3d42; --soft: #202327; }
}
body { margin: 0 auto; max-width: 1100px; padding: 0 20px 40px; background: var(--paper); color: var(--ink);
  font: 15px/1.45 system-ui, sans-serif; }
h1 { font-size: 22px; overflow-wrap: anywhere; } h2 { font-size: 17px; margin: 28px 0 8px; }
p.faint, figcaption { color: var(--faint); }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; margin: 8px 0;
  display: block; max-width: 100%; overflow-x: auto; }
th, td { padding: 4px 12px 4px 0; text-align: left; border-bottom: 1px solid var(--line); vertical-align: top; }
img { max-width: 100%; background: #fff; border-radius: 6px; }
.clips { display: flex; flex-wrap: wrap; gap: 12px; } figure { margin: 0; }
video { width: 240px; max-width: 100%; background: #fff; border: 1px solid var(--line); border-radius: 6px; }
:focus-visible { outline: 3px solid #e69f00; outline-offset: 2px; }
"""


def write_page(path: str | Path, title: str, blocks: Iterable[str]) -> Path:
    """Write blocks of markup, made by the functions here, as one page.

    Raises:
        OutputError: it cannot be written.
    """
    target = Path(path)
    policy = page_policy(_STYLE)
    page = (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{text(title)}</title><style>{_STYLE}</style></head><body><main><h1>{text(title)}</h1>\n"
        + "\n".join(blocks)
        + "\n</main></body></html>\n"
    )
    with atomic_write(target) as temporary:
        temporary.write_text(page, encoding="utf-8", newline="\n")
    return target


def page_policy(style: str, script: str | None = None) -> str:
    """Allow a page's own style and script by their hashes, images and video inside it, and nothing else."""

    def digest(content: str) -> str:
        return f"'sha256-{b64encode(hashlib.sha256(content.encode('utf-8')).digest()).decode('ascii')}'"

    inline = f"style-src {digest(style)}" + ("" if script is None else f"; script-src {digest(script)}")
    return f"default-src 'none'; img-src data:; media-src data:; {inline}; base-uri 'none'; form-action 'none'"


def heading(line: str) -> str:
    """A heading."""
    return f"<h2>{text(line)}</h2>"


def paragraph(line: str, *, faint: bool = False) -> str:
    """A paragraph."""
    return f'<p class="faint">{text(line)}</p>' if faint else f"<p>{text(line)}</p>"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of texts."""
    return html_fragments.table(heads, (map(text, row) for row in rows))


def drawing(figure: Figure, description: str) -> str:
    """A figure, with words for those who do not see it."""
    content = BytesIO()
    figure.savefig(content, format="png", dpi=100)
    address = f"data:image/png;base64,{b64encode(content.getvalue()).decode('ascii')}"
    return f'<img alt="{text(description)}" src="{address}">'


@dataclass(frozen=True, slots=True)
class Clip:
    """A short video in a page; both addresses are `data:` addresses."""

    address: str
    caption: str
    thumbnail: str  # shown until it is played; "": the first frame


def clips(videos: Iterable[Clip | None]) -> str:
    """Clips side by side; None stands for one that cannot be shown."""
    figures = (
        '<figure><video controls loop muted playsinline preload="auto" '
        + (f'poster="{clip.thumbnail}" ' if clip.thumbnail else "")
        + f'src="{clip.address}"></video><figcaption>{text(clip.caption)}</figcaption></figure>'
        for clip in videos
        if clip is not None
    )
    return f'<div class="clips">{"".join(figures)}</div>'


def file_address(path: Path, kind: str) -> str:
    """A file as a `data:` address."""
    return f"data:{kind};base64,{b64encode(path.read_bytes()).decode('ascii')}"


MOST_BYTES = 30_000_000  # of a video that is put into a page
_PLAYED = {".mp4": {"h264"}, ".m4v": {"h264"}, ".webm": {"vp8", "vp9", "av1"}}
_KINDS = {".mp4": "video/mp4", ".m4v": "video/mp4", ".webm": "video/webm"}
_MOST_POINTS = 3000  # per curve
_THUMBNAIL_HEIGHT = 124  # pixels
_LONGEST_NAME = 24  # letters in two lines below a thumbnail
# Seconds up to which a copy has this longer side in pixels and these frames per second.
_COPIES = ((600.0, 640, 25.0), (1800.0, 426, 25.0), (float("inf"), 320, 12.5))


def data_address(path: Path, progress: Progress | None = None, most_bytes: int = MOST_BYTES) -> str | None:
    """Give the video as a `data:` address, or None where even a small copy is too large for a page.

    Raises:
        VideoError: it cannot be read.
    """
    with open_video(path) as video:
        info = video.info
    if is_played(info) and path.stat().st_size <= most_bytes:
        return file_address(path, _KINDS[path.suffix.lower()])
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy.mp4"
        write_copy(info, copy, progress or silent)
        if copy.stat().st_size > most_bytes:
            logger.warning("%s is too long for a page: its small copy has %d bytes", path, copy.stat().st_size)
            return None
        return file_address(copy, "video/mp4")


def is_played(info: VideoInfo) -> bool:
    """Whether every browser plays it: by container and codec, and 8 bits per colour for H.264."""
    played = info.codec in _PLAYED.get(info.path.suffix.lower(), set())
    return played and info.pixel_format in ("yuv420p", "yuvj420p")


def write_copy(info: VideoInfo, target: Path, progress: Progress) -> None:
    """Write a small copy of a video that every browser plays."""
    side, fps = next((side, fps) for seconds, side, fps in _COPIES if info.duration <= seconds)
    total = max(1, round(info.duration * fps))
    with open_video(info.path, max_side=side) as video, VideoWriter(target, fps) as writer:
        for done, frame in enumerate(video.resampled(fps), start=1):
            writer.add(frame.image)
            progress(done, max(done, total))


def report(
    view: View, path: str | os.PathLike[str], progress: Progress | None = None, blocks: Iterable[str] = ()
) -> None:
    """Write one self-contained page: the video beside its spottings, the curves below.

    Words and names are text and never markup, and the page's own policy lets no other script run.

    Args:
        view: what is shown.
        path: the page.
        progress: receives the frames of the copy of a video that browsers do not play.
        blocks: of markup, made by the functions here, for the end of the page.

    Raises:
        OutputError: the suffix is not .html, or the file cannot be written.
        VideoError: the video cannot be read.
    """
    target = check_plot_path("report", path)
    address = data_address(view.video, progress) if view.video else None
    page = _page(view, address, blocks)
    with atomic_write(target) as temporary:
        temporary.write_text(page, encoding="utf-8", newline="\n")


def _page(view: View, address: str | None, blocks: Iterable[str]) -> str:
    style, script = _part("page.css"), _part("drawing.js") + _part("page.js")
    drawn_panels, left_out = panels(view)
    spottings = sorted(view.spottings, key=lambda spotting: spotting.time)
    return Template(_part("page.html")).substitute(
        policy=page_policy(style, script),
        style=style,
        script=script,
        title=text(view.title or "signspot"),
        summary=summary(view),
        competing=paragraph(COMPETING) if view.competes else "",
        left_out=paragraph(f"Searched, but not drawn here: {', '.join(left_out)}.") if left_out else "",
        subtitle='<p id="subtitle"></p>' if view.subtitles else "",
        blocks="\n".join(blocks),
        duration=clock(view.duration),
        video=_video(view, address),
        rows="\n".join(_row(index, spotting) for index, spotting in enumerate(spottings)),
        nothing="" if spottings else '<p class="nothing">Nothing reached the threshold.</p>',
        panels="\n".join(_panel(number, panel) for number, panel in enumerate(drawn_panels)),
        data=dump_json(_data(view, drawn_panels, spottings)).replace("<", "\\u003c"),
    )


def _part(name: str) -> str:
    return (files("signspot.plots") / "page" / name).read_text(encoding="utf-8")


def _video(view: View, address: str | None) -> str:
    if address is not None:
        return f'<video controls playsinline preload="auto" src="{address}"></video>'
    reason = "The video is too long to be put into a page." if view.video else "There is no video of this result."
    return f'<p class="no-video">{reason}</p>'


def _row(index: int, spotting: Spotting) -> str:
    time = f'<button aria-label="Play at {clock(spotting.time, 2)}">{clock(spotting.time, 2)}</button>'
    mirrored = " (mirrored)" if spotting.mirrored else ""
    lips = "" if spotting.mouthed is None else f" ★ mouthed {spotting.mouthed:.2f}"
    cells = (
        time,
        text(spotting.word),
        spotting.confidence,
        f"{spotting.score:.2f}",
        text(spotting.exemplar) + mirrored + lips,
    )
    return f'<tr data-index="{index}">' + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"


def _panel(number: int, panel: Panel) -> str:
    names = telling([curve.exemplar for curve in panel.curves], _LONGEST_NAME)
    exemplars = "".join(
        f"<li>{_exemplar((number, row), curve, name)}</li>"
        for row, (curve, name) in enumerate(zip(panel.curves, names, strict=True))
    )
    thick = "" if panel.word_curve is None else f'<p class="thick">{THICK_LINE}</p>'
    return (
        f'<div class="panel"><div><h3>{text(panel.word)}</h3><ul class="exemplars">{exemplars}</ul>{thick}</div>'
        f'<div class="scroll" id="panel-{number}"></div></div>'
    )


def _exemplar(position: tuple[int, int], curve: Curve, name: str) -> str:
    """A button that shows and hides a curve, given by its panel and its place there."""
    mark = (
        "<i></i>"
        if curve.thumbnail is None
        else f'<img alt="" src="{image_address(curve.thumbnail, _THUMBNAIL_HEIGHT)}">'
    )
    colour, where = f"c{position[1] % len(COLOURS)}", f"{position[0]} {position[1]}"
    label = f'<span title="{text(curve.exemplar)}">{text(name)}</span>'
    return f'<button class="{colour}" data-curve="{where}" aria-pressed="true">{mark}{label}</button>'


def _data(view: View, drawn_panels: Sequence[Panel], spottings: Sequence[Spotting]) -> dict[str, Any]:
    """The data that the page's script draws."""
    numbers = {panel.word: number for number, panel in enumerate(drawn_panels)}
    return {
        "duration": view.duration,
        "low": lowest_score(view),
        "subtitles": [
            {"start": line.start, "end": line.end, "text": " ".join(escape_control_characters(line.text).split())}
            for line in view.subtitles
        ],
        "panels": [
            {
                "word": escape_control_characters(panel.word),
                "threshold": panel.threshold,
                "curves": [_curve(curve, row) for row, curve in enumerate(panel.curves)],
                "word_curve": None if panel.word_curve is None else _curve(panel.word_curve, 0),
            }
            for panel in drawn_panels
        ],
        "spottings": [
            {
                "word": escape_control_characters(spotting.word),
                "time": spotting.time,
                "start": spotting.start,
                "end": spotting.end,
                "score": spotting.score,
                "confidence": CONFIDENCES.index(spotting.confidence),
                "panel": numbers[spotting.word],
                "colour": COLOURS.index(drawn_panels[numbers[spotting.word]].colour(spotting.exemplar)),
            }
            for spotting in spottings
        ],
    }


def _curve(curve: Curve, number: int) -> dict[str, Any]:
    times, scores = thinned(curve, _MOST_POINTS)
    return {
        "times": [round(float(time), 3) for time in times],
        "scores": [round(float(score), 4) for score in scores],
        "colour": number % len(COLOURS),
        "best": round(float(scores.max(initial=0.0)), 4),
    }
