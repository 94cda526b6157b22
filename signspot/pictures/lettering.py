"""Text in pictures: fonts that have the letters of a word, and words as small pictures."""

from functools import lru_cache
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import findfont, fontManager, get_font
from numpy.typing import NDArray

from signspot.pictures.curves import label

_FAMILY = "DejaVu Sans"  # comes with matplotlib
_DOTS_PER_INCH = 100


@lru_cache(maxsize=1)
def _other_fonts() -> tuple[tuple[str, str], ...]:
    """Family and file of every upright font on this machine."""
    ttf = [font for font in fontManager.ttflist if font.style == "normal" and "Last Resort" not in font.name]
    fonts = {font.name: font.fname for font in ttf}
    return tuple(sorted(fonts.items()))


@lru_cache(maxsize=512)
def _letters(file: str) -> frozenset[int]:
    try:
        return frozenset(get_font(file).get_charmap())
    except (OSError, RuntimeError, ValueError):
        return frozenset()


@lru_cache(maxsize=1024)
def lettering(text: str) -> tuple[str, dict[str, Any]]:
    """What to draw for a word or an id, on one line, and with which fonts.

    Letters that no font on this machine has become boxes.

    Returns:
        The text, and keywords for matplotlib's text functions; '$' is a letter like others.
    """
    line = label(text)
    families = [_FAMILY]
    missing = {ord(char) for char in line} - _letters(findfont(_FAMILY))
    if missing:
        for family, file in _other_fonts():
            if missing & _letters(file):
                families.append(family)
                missing -= _letters(file)
            if not missing:
                break
    drawn = "".join("\N{WHITE SQUARE}" if ord(char) in missing else char for char in line)
    return drawn, {"family": families, "parse_math": False}


def text_picture(text: str, height: int, colour: str = "white", weight: str = "bold") -> NDArray[np.uint8]:
    """Draw a line of text once, for use on many frames: (height, W, 4) RGBA."""
    drawn, fonts = lettering(text)
    figure = Figure(figsize=(30, height / _DOTS_PER_INCH), dpi=_DOTS_PER_INCH, facecolor="none")
    canvas = FigureCanvasAgg(figure)
    size = height * 0.6 * 72 / _DOTS_PER_INCH
    figure.text(0, 0.5, drawn, size=size, color=colour, weight=weight, va="center_baseline", **fonts)
    canvas.draw()
    pixels = np.asarray(canvas.buffer_rgba())
    used = np.flatnonzero(pixels[..., 3].any(axis=0))
    width = int(used[-1]) + 1 if used.size else 1
    return np.ascontiguousarray(pixels[:, :width])
