import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.image import imread

from signspot.errors import OutputError
from signspot.plots.curves import Curve, View
from signspot.plots.plot import check_plot_path, draw, plot


def pixel(path: Path, figure: Figure, axes: int, time: float, score: float) -> tuple[int, ...]:
    """The colour in the file at a point given in seconds and score."""
    image = (imread(path)[..., :3] * 255).round().astype(int)
    x, y = figure.axes[axes].transData.transform((time, score))
    return tuple(image[image.shape[0] - round(y), round(x)])


def test_peaks_lie_where_they_were_found_in_their_exemplars_colour(view: View, tmp_path: Path) -> None:
    plot(view, tmp_path / "p.png")
    figure = draw(view)
    assert imread(tmp_path / "p.png").shape[1] == 1200
    assert pixel(tmp_path / "p.png", figure, 0, 1.0, 0.9) == (0x00, 0x72, 0xB2)
    assert pixel(tmp_path / "p.png", figure, 0, 3.0, 0.8) == (0xD5, 0x5E, 0x00)
    shaded, plain = (pixel(tmp_path / "p.png", figure, 0, time, 0.97) for time in (0.9, 1.7))
    assert plain == (255, 255, 255)
    assert shaded[0] < 240 < shaded[2]


def test_the_thumbnail_is_drawn_at_the_side(view: View, tmp_path: Path) -> None:
    plot(view, tmp_path / "p.png")
    side = (imread(tmp_path / "p.png")[:, 960:, :3] * 255).round()
    assert (side == (10, 200, 10)).all(axis=-1).sum() > 1000


def test_it_names_words_exemplars_and_the_threshold(view: View) -> None:
    figure = draw(view)
    texts = [text.get_text() for text in [*figure.texts, *(t for axes in figure.axes for t in axes.texts)]]
    assert {
        "v.mp4",
        "2 spottings of 1 word",
        "apple",
        "pear",
        "apple-2",
        "threshold 0.70",
        "threshold 0.55",
        "0.90",
    } <= set(texts)


def test_the_score_of_several_exemplars_is_the_thick_line(view: View) -> None:
    apple, pear = (axes for axes in draw(view).axes if axes.get_ylabel() == "score")
    thickest = max(apple.lines, key=lambda line: (line.get_linewidth(), line.get_marker() == "None"))
    np.testing.assert_allclose(thickest.get_ydata(), view.words[0].scores)
    notes = [[text.get_text() for text in axes.texts if "thick line" in text.get_text()] for axes in (apple, pear)]
    assert [len(note) for note in notes] == [1, 0]


def test_a_star_marks_what_is_mouthed_too(view: View) -> None:
    first, second = view.spottings
    figure = draw(replace(view, spottings=(replace(first, mouthed=0.7), second)))
    shapes = [line.get_marker() for line in figure.axes[0].lines if line.get_marker() != "None"]
    assert shapes == ["*", "o"]
    assert "★ also mouthed" in [text.get_text() for text in figure.texts]
    assert "★ also mouthed" not in [text.get_text() for text in draw(view).texts]


def test_at_most_eight_words_are_drawn_and_the_rest_is_counted(view: View) -> None:
    times = np.linspace(0, 4, 50)
    many = tuple(Curve(f"w{n}", f"w{n}-1", times, np.full(50, 0.5)) for n in range(11))
    figure = draw(replace(view, curves=many, spottings=(), thresholds={"w0": 0.6, "never drawn": 0.6}))
    texts = [text.get_text() for text in figure.texts]
    assert len(figure.axes) == 8
    assert "4 more words not drawn" in texts
    assert "nothing spotted" in texts


@pytest.mark.parametrize("word", ["$\\frac{1", "手話", "a\nb", "<b>&", "", "x" * 500, "\udc80"])
def test_any_word_can_be_drawn(word: str, view: View, tmp_path: Path) -> None:
    curve = replace(view.curves[1], word=word, exemplar=word)
    spotting = replace(view.spottings[0], word=word, exemplar=word)
    odd = replace(view, curves=(curve,), spottings=(spotting,), title=word)
    plot(odd, tmp_path / "p.svg")
    ET.parse(tmp_path / "p.svg")


def test_nothing_to_draw_is_said(view: View, tmp_path: Path) -> None:
    empty = replace(view, curves=(), spottings=(), duration=0.0)
    plot(empty, tmp_path / "p.pdf")
    assert (tmp_path / "p.pdf").read_bytes().startswith(b"%PDF")
    assert "no exemplar to draw" in [text.get_text() for text in draw(empty).texts]


def test_matplotlibs_own_state_stays_as_it_is(view: View, tmp_path: Path) -> None:
    before, backend = dict(mpl.rcParams), mpl.rcParams._get("backend")
    plot(view, tmp_path / "p.png")
    assert dict(mpl.rcParams) == before
    assert mpl.rcParams._get("backend") == backend


@pytest.mark.parametrize("seconds", [0.9, 4.0, 13.7, 100.0, 90_000.0])
def test_no_two_ticks_say_the_same_and_each_says_its_time(view: View, seconds: float) -> None:
    times = np.linspace(0, seconds, 50)
    curve = Curve("apple", "apple-1", times, np.full(50, 0.5))
    figure = draw(replace(view, curves=(curve,), spottings=(), duration=seconds))
    figure.canvas.draw()
    axis = figure.axes[0].xaxis
    labels = {
        label.get_text(): tick
        for tick, label in zip(axis.get_majorticklocs(), axis.get_majorticklabels(), strict=True)
        if 0 <= tick <= seconds
    }
    assert len(labels) == sum(0 <= tick <= seconds for tick in axis.get_majorticklocs())
    assert 3 <= len(labels) <= 12
    for text, tick in labels.items():
        *hours, minutes, remainder = text.split(":")
        time = float(remainder) + 60 * int(minutes) + sum(3600 * int(hour) for hour in hours)
        assert time == pytest.approx(tick, abs=1e-6)


def test_the_legend_keeps_what_tells_exemplars_apart(view: View) -> None:
    curves = tuple(replace(view.curves[1], exemplar=f"signbank-apple-signer-{n:02d}-front-view") for n in (7, 12, 31))
    figure = draw(replace(view, curves=curves, spottings=()))
    texts = [text.get_text() for text in figure.texts]
    assert {"…07…", "…12…", "…31…"} <= set(texts)


@pytest.mark.parametrize("suffix", [".svg", ".pdf", ".png"])
def test_the_same_plot_twice_is_the_same_bytes(view: View, tmp_path: Path, suffix: str) -> None:
    for number in range(2):
        plot(view, tmp_path / f"{number}{suffix}")
    assert (tmp_path / f"0{suffix}").read_bytes() == (tmp_path / f"1{suffix}").read_bytes()


def test_suffixes_fit_the_kind_of_plot(view: View, tmp_path: Path) -> None:
    for kind, right, wrong in (("plot", "a.PNG", "a.bmp"), ("video", "a.mp4", "a.avi"), ("report", "a.htm", "a")):
        assert check_plot_path(kind, right).name == right  # type: ignore[arg-type]
        with pytest.raises(OutputError, match=f"{kind} {wrong}"):
            check_plot_path(kind, wrong)  # type: ignore[arg-type]
    (tmp_path / "p.png").mkdir()
    with pytest.raises(OutputError):
        plot(view, tmp_path / "p.png")
