"""Words that subtitles mention, their places, and other words that may be signed around them."""

from hypothesis import given
from hypothesis import strategies as st

from signspot.annotation.plan import MatchedSubtitles, find_mentions, match_subtitles
from signspot.types import Subtitle
from signspot.words.match import Form, WordMatcher

WORDS = ("apple", "ice", "ice-cream", "twenty", "child", "see", "saw")
MATCHER = WordMatcher(WORDS)


def matched(subtitles: list[Subtitle]) -> MatchedSubtitles:
    return match_subtitles(subtitles, MATCHER)


def test_each_form_is_found_and_its_place_kept() -> None:
    subtitles = [Subtitle(1.0, 2.0, "An apple."), Subtitle(3.0, 4.0, "20 children")]
    found = find_mentions(matched(subtitles), 4.0)
    assert list(found) == ["apple", "child", "twenty"]
    (apple,), (child,), (twenty,) = found.values()
    assert (apple.form, apple.text[apple.first : apple.last]) == (Form.ORIGINAL, "apple")
    assert (twenty.form, twenty.text[twenty.first : twenty.last]) == (Form.NORMALISED, "20")
    assert (child.form, child.text[child.first : child.last]) == (Form.LEMMATISED, "children")
    assert (child.subtitle, child.start, child.end) == (1, 3.0, 4.0)


def test_a_phrase_hides_the_words_in_it_and_one_stretch_may_be_two_words() -> None:
    assert matched([Subtitle(0, 1, "ice cream")]).words == {"ice-cream"}
    assert matched([Subtitle(0, 1, "I saw ice")]).words == {"saw", "see", "ice"}


def test_a_word_that_stands_twice_is_one_question() -> None:
    (apple,) = find_mentions(matched([Subtitle(0, 1, "apple, apples")]), 4.0)["apple"]
    assert (apple.count, apple.first, apple.last) == (2, 0, 5)


def test_no_character_that_a_database_refuses_moves_the_others() -> None:
    (apple,) = find_mentions(matched([Subtitle(0, 1, "\0 apple")]), 4.0)["apple"]
    assert "\0" not in apple.text
    assert apple.text[apple.first : apple.last] == "apple"


def test_words_of_the_panel_around_are_named() -> None:
    texts = ["apple", "ice", "child", "apple"]
    subtitles = [Subtitle(10 * at, 10 * at + 1, text) for at, text in enumerate(texts)]
    found = find_mentions(matched(subtitles), 5.0, pool=("ice", "child", "see"))
    assert [mention.nearby for mention in found["apple"]] == [("ice",), ("child",)]
    assert find_mentions(matched(subtitles), 10.0, pool=("ice", "child"))["apple"][0].nearby == ("child", "ice")
    assert find_mentions(matched(subtitles), 0.0, pool=("ice",))["ice"][0].nearby == ("ice",)


times = st.tuples(st.integers(0, 60), st.integers(0, 20), st.sampled_from(WORDS))


@given(st.lists(times, max_size=12), st.integers(0, 10))
def test_nearby_is_every_word_whose_padded_time_meets(cues: list[tuple[int, int, str]], padding: int) -> None:
    subtitles = sorted((Subtitle(at, at + long, word) for at, long, word in cues), key=lambda s: (s.start, s.end))
    words = [MATCHER.find(subtitle.text)[0].word for subtitle in subtitles]
    for mentions in find_mentions(matched(subtitles), padding, pool=WORDS).values():
        for mention in mentions:
            meets = {
                match.word
                for other in subtitles
                if other.start - 2 * padding <= mention.end and mention.start <= other.end + 2 * padding
                for match in MATCHER.find_all(other.text)
            }
            assert set(mention.nearby) == meets
    assert len(words) == len(subtitles)
