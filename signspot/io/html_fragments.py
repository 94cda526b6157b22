"""Pieces of HTML for pages and notebooks: text, tables, thumbnails, curves."""

from base64 import b64encode
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from signspot.io.control_characters import escape_control_characters


def text(line: str) -> str:
    """A text of an untrusted file, on one line, as text."""
    return escape(escape_control_characters(line))


def table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table whose headings are texts and whose cells are HTML."""
    head = "".join(f"<th>{text(name)}</th>" for name in heads)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def image_address(image: Any, height: int) -> str:
    """(H, W, 3) RGB as a `data:` address of a JPEG of this height."""
    import cv2
    import numpy as np

    scale = height / image.shape[0]
    size = (max(1, round(image.shape[1] * scale)), height)
    small = cv2.resize(np.asarray(image), size, interpolation=cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR)
    _, content = cv2.imencode(".jpg", cv2.cvtColor(small, cv2.COLOR_RGB2BGR), [cv2.IMWRITE_JPEG_QUALITY, 85])
    return f"data:image/jpeg;base64,{b64encode(content.tobytes()).decode('ascii')}"


def curve(values: Sequence[float], threshold: float, description: str) -> str:
    """Scores in [0, 1] over time as a line, with a dashed line at the threshold."""
    width, height = 480, 60
    step = max(1, len(values) // width)
    highest = [max(values[first : first + step]) for first in range(0, len(values), step)]
    points = " ".join(
        f"{width * (n + 0.5) / len(highest):.1f},{height * (1 - value):.1f}" for n, value in enumerate(highest)
    )
    level = f"{height * (1 - threshold):.1f}"
    return (
        f'<svg width="{width}" height="{height}" role="img" aria-label="{text(description)}">'
        f'<line x1="0" x2="{width}" y1="{level}" y2="{level}" stroke="#777" stroke-dasharray="4"/>'
        f'<polyline points="{points}" fill="none" stroke="#0072b2"/></svg>'
    )
