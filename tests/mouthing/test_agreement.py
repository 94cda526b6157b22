"""A mouthing speaks for a spotting of the same word that it ends in, or soon after."""

from signspot.mouthing.spotter import mark_mouthed, places_to_read
from signspot.types import Label, Segment, Spotting

APPLE = Spotting("apple", "v.mp4", 5.0, 4.8, 5.2, 0.9)


def marks(*mouthings: Label) -> list[float | None]:
    return [each.mouthed for each in mark_mouthed([APPLE], mouthings)]


def test_the_same_word_at_the_same_place_agrees():
    assert marks(Label("apple", "v", 5.3, 0.7)) == [0.7]
    assert marks(Label("apple", "v", 4.8, 0.7), Label("apple", "v", 5.6, 0.9)) == [0.9]  # from the start to 0.4 s after
    assert marks(Label("apple", "v", 5.61, 0.9)) == [None]
    assert marks(Label("apple", "v", 4.79, 0.9)) == [None]
    assert marks(Label("moon", "v", 5.0, 0.9)) == [None]
    assert marks() == [None]


def test_lips_are_read_around_each_spotting():
    early = Spotting("moon", "v.mp4", 0.5, 0.3, 0.7, 0.9)
    (one, other) = places_to_read([APPLE, early])
    assert (one.words, one.window) == (("apple",), Segment(3.8, 6.6000000000000005))
    assert other.window.start == 0.0
