import os
import subprocess
import sys
from pathlib import Path

import numpy as np
from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen

from signspot.plots.plot import lettering, text_image


def test_letters_without_a_font_become_boxes_and_others_stay() -> None:
    text, fonts = lettering("naïve жест \U000f0000")
    assert text == "naïve жест \N{WHITE SQUARE}"
    assert fonts["family"][0] == "DejaVu Sans"
    assert fonts["parse_math"] is False


def test_text_is_drawn_in_its_colour_on_nothing_and_longer_text_is_wider() -> None:
    short, long = text_image("i", 30, "#ff0000"), text_image("mmmm 0.83", 30, "#ff0000")
    assert short.shape[0] == long.shape[0] == 30
    assert short.shape[1] < long.shape[1] < 300
    solid = long[long[..., 3] == 255]
    assert len(solid) > 50
    assert (solid[:, :3] == (255, 0, 0)).all()
    assert (long[0, :, 3] == 0).all()


def test_odd_texts() -> None:
    assert text_image("", 30).shape == (30, 1, 4)
    assert not np.array_equal(text_image("$x$", 30), text_image("x", 30)), "a dollar is a letter"


def write_font(path: Path, letters: str) -> None:
    """A font whose every letter is a square."""
    names = [".notdef", *(f"u{ord(letter):X}" for letter in letters)]
    pen = TTGlyphPen(None)
    for number, point in enumerate([(100, 0), (100, 700), (800, 700), (800, 0)]):
        (pen.lineTo if number else pen.moveTo)(point)
    pen.closePath()
    square = pen.glyph()
    font = FontBuilder(1000, isTTF=True)
    font.setupGlyphOrder(names)
    font.setupCharacterMap({ord(letter): f"u{ord(letter):X}" for letter in letters})
    font.setupGlyf(dict.fromkeys(names, square))
    font.setupHorizontalMetrics(dict.fromkeys(names, (900, 100)))
    font.setupHorizontalHeader(ascent=800, descent=-200)
    font.setupNameTable({"familyName": "Square Signs", "styleName": "Regular"})
    font.setupOS2(sTypoAscender=800, usWinAscent=800, usWinDescent=200)
    font.setupPost()
    path.parent.mkdir(parents=True)
    font.save(path)


def test_a_font_that_is_installed_later_is_used_and_until_then_one_remark_tells_of_boxes(tmp_path: Path) -> None:
    code = (
        "import logging; logging.basicConfig()\n"
        "from signspot.plots.plot import lettering, text_image\n"
        "for word in (chr(0xF1234), chr(0xF1235)): print(ascii(lettering(word)[0])); text_image(word, 30)"
    )

    def draw() -> subprocess.CompletedProcess[str]:
        home = {"XDG_DATA_HOME": str(tmp_path / "data"), "MPLCONFIGDIR": str(tmp_path / "matplotlib")}
        (tmp_path / "matplotlib").mkdir(exist_ok=True)
        command = [sys.executable, "-c", code]
        return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **home}, check=True)

    before = draw()
    assert before.stdout.split() == [ascii("\N{WHITE SQUARE}")] * 2
    assert before.stderr.count("no installed font has all letters") == 1
    assert "fonts-noto-cjk" in before.stderr
    write_font(tmp_path / "data" / "fonts" / "signs.ttf", "\U000f1234\U000f1235")
    after = draw()
    assert after.stdout.split() == [ascii("\U000f1234"), ascii("\U000f1235")]
    assert "no installed font" not in after.stderr
