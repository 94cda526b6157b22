"""Decoys: everything is asked once, at the place of another subtitle."""

from hypothesis import given
from hypothesis import strategies as st

from signspot.annotation.plan import find_mentions, match_subtitles, rotated
from signspot.types import Subtitle
from signspot.words.match import WordMatcher


@given(st.lists(st.integers(), unique=True))
def test_everything_moves_and_nothing_is_lost(asked: list[int]) -> None:
    moved = rotated(asked)
    assert sorted(moved) == sorted(asked)
    if len(asked) > 1:
        assert not any(before == after for before, after in zip(asked, moved, strict=True))


def test_it_moves_by_half() -> None:
    assert "".join(rotated("abcde")) == "cdeab"


def test_words_are_asked_where_another_subtitle_stands() -> None:
    """Texts move with their words, so that spans stay right; what is mentioned around stays where it is."""
    subtitles = [Subtitle(0.0, 2.0, "An apple."), Subtitle(30.0, 32.0, "Two pears, a pear.")]
    matcher = WordMatcher(["apple", "pear"])
    found = find_mentions(match_subtitles(subtitles, matcher), 4.0, ("apple", "pear"), decoys=True)
    (apple,), (pear,) = found["apple"], found["pear"]
    assert (apple.subtitle, apple.start, apple.end, apple.text) == (1, 30.0, 32.0, "An apple.")
    assert (pear.subtitle, pear.start, pear.count, pear.nearby) == (0, 0.0, 2, ("apple",))
    assert apple.text[apple.first : apple.last] == "apple"
    assert find_mentions(match_subtitles(subtitles, matcher), 4.0)["apple"][0].subtitle == 0
