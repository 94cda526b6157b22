import numpy as np

from signspot.pictures.drawing import lettering, text_picture


def test_letters_without_a_font_become_boxes_and_others_stay() -> None:
    drawn, fonts = lettering("naïve жест \U000f0000")
    assert drawn == "naïve жест \N{WHITE SQUARE}"
    assert fonts["family"][0] == "DejaVu Sans"
    assert fonts["parse_math"] is False


def test_text_is_drawn_in_its_colour_on_nothing_and_longer_text_is_wider() -> None:
    short, long = text_picture("i", 30, "#ff0000"), text_picture("mmmm 0.83", 30, "#ff0000")
    assert short.shape[0] == long.shape[0] == 30
    assert short.shape[1] < long.shape[1] < 300
    solid = long[long[..., 3] == 255]
    assert len(solid) > 50
    assert (solid[:, :3] == (255, 0, 0)).all()
    assert (long[0, :, 3] == 0).all()


def test_a_dollar_is_a_letter() -> None:
    assert not np.array_equal(text_picture("$x$", 30), text_picture("x", 30))


def test_no_text_is_one_empty_column() -> None:
    assert text_picture("", 30).shape == (30, 1, 4)
