"""Words that subtitles mention, decoys, and the work that is left."""

from dataclasses import replace
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from signspot.annotation.report import CONFIDENCE
from signspot.annotation.run_options import AnnotateOptions
from signspot.annotation.video_units import (
    RESERVE,
    MatchedSubtitles,
    ResultKey,
    SubtitleMention,
    find_mentions,
    match_subtitles,
    plan_unit,
    rotated,
    sample_negatives,
)
from signspot.corpus.corpus import Footage
from signspot.types import Subtitle
from signspot.words.match import Form, WordMatcher

FOOTAGE = Footage("news", Path("news.mp4"), Path("news.vtt"))
MENTION = SubtitleMention(0, 1.0, 2.0, "an apple", 3, 8, Form.ORIGINAL, 1, ())
MENTIONS = {"apple": (MENTION,), "tree": (replace(MENTION, subtitle=1),)}
KEY = ResultKey({"padding": "4"}, {"apple": "a1", "tree": "t1", "house": "h1"}, ("house",), {"tree": ("house", "wood")})


def keys(footage=FOOTAGE, digest="video", mentions=MENTIONS, key=KEY):
    unit = plan_unit(footage, digest, mentions, key, {})
    return dict(unit.keys)


def test_the_same_gives_the_same_unit_wherever_the_files_lie() -> None:
    elsewhere = Footage("news", Path("other/news.mp4"), Path("other/news.srt"))
    assert keys() == keys(elsewhere)
    assert plan_unit(FOOTAGE, "video", MENTIONS, KEY, {}).id == plan_unit(elsewhere, "video", MENTIONS, KEY, {}).id


def test_whatever_results_follow_from_changes_the_key() -> None:
    before = keys()
    assert set(keys(digest="other").values()).isdisjoint(before.values())
    assert set(keys(key=replace(KEY, settings={"padding": "0"})).values()).isdisjoint(before.values())
    other_negative = replace(KEY, words={**KEY.words, "house": "h2"})
    assert set(keys(key=other_negative).values()).isdisjoint(before.values())


def test_a_change_of_one_word_leaves_the_others_alone() -> None:
    changes = [
        keys(key=replace(KEY, words={**KEY.words, "apple": "a2"})),
        keys(mentions={**MENTIONS, "apple": (replace(MENTION, text="no apple"),)}),
        keys(mentions={**MENTIONS, "apple": (replace(MENTION, end=2.5),)}),
        keys(mentions={**MENTIONS, "apple": (replace(MENTION, nearby=("house",)),)}),
        keys(mentions={**MENTIONS, "apple": (MENTION, replace(MENTION, subtitle=9))}),
        keys(key=replace(KEY, synonyms={**KEY.synonyms, "apple": ("house",)})),
    ]
    for changed in changes:
        assert changed["apple"] != keys()["apple"]
        assert changed["tree"] == keys()["tree"]


def test_only_what_is_left_is_planned() -> None:
    done = keys()
    assert plan_unit(FOOTAGE, "video", MENTIONS, KEY, done) is None
    unit = plan_unit(FOOTAGE, "video", MENTIONS, KEY, {**done, "tree": "older"})
    assert set(unit.mentions) == set(unit.keys) == {"tree"}
    assert unit.synonyms == {"tree": ("house",)}
    unreadable = replace(KEY, words={"apple": "a1", "house": "h1"})
    assert set(plan_unit(FOOTAGE, "video", MENTIONS, unreadable, {}).keys) == {"apple"}


def test_negatives_follow_from_words_and_seed() -> None:
    words = [f"word {number}" for number in range(200)]
    pool = sample_negatives(words, 8, seed=1)
    assert len(set(pool)) == 8 + RESERVE
    assert pool == sample_negatives(reversed(words), 8, seed=1)
    assert pool != sample_negatives(words, 8, seed=2)
    assert sample_negatives(words, 0, seed=1) == ()
    assert sorted(sample_negatives(["a", "b"], 8, seed=1)) == ["a", "b"]


WORDS = ("apple", "ice", "ice-cream", "twenty", "child", "see", "saw")
MATCHER = WordMatcher(WORDS)


def matched(subtitles: list[Subtitle]) -> MatchedSubtitles:
    return match_subtitles(subtitles, MATCHER)


def test_each_form_is_found_with_its_span() -> None:
    subtitles = [Subtitle(1.0, 2.0, "An apple."), Subtitle(3.0, 4.0, "20 children")]
    mentions = find_mentions(matched(subtitles), 4.0)
    assert list(mentions) == ["apple", "child", "twenty"]
    (apple,), (child,), (twenty,) = mentions.values()
    assert (apple.form, apple.text[apple.first : apple.last]) == (Form.ORIGINAL, "apple")
    assert (twenty.form, twenty.text[twenty.first : twenty.last]) == (Form.NORMALISED, "20")
    assert (child.form, child.text[child.first : child.last]) == (Form.LEMMATISED, "children")
    assert (child.subtitle, child.start, child.end) == (1, 3.0, 4.0)


def test_a_phrase_hides_the_words_in_it_and_one_span_may_be_two_words() -> None:
    assert matched([Subtitle(0, 1, "ice cream")]).words == {"ice-cream"}
    assert matched([Subtitle(0, 1, "I saw ice")]).words == {"saw", "see", "ice"}


def test_a_word_that_stands_twice_is_one_question() -> None:
    (apple,) = find_mentions(matched([Subtitle(0, 1, "apple, apples")]), 4.0)["apple"]
    assert (apple.count, apple.first, apple.last) == (2, 0, 5)


def test_no_character_that_a_database_refuses_moves_the_others() -> None:
    (apple,) = find_mentions(matched([Subtitle(0, 1, "\0 apple")]), 4.0)["apple"]
    assert "\0" not in apple.text
    assert apple.text[apple.first : apple.last] == "apple"


def test_negatives_nearby_are_named() -> None:
    texts = ["apple", "ice", "child", "apple"]
    subtitles = [Subtitle(10 * at, 10 * at + 1, text) for at, text in enumerate(texts)]
    mentions = find_mentions(matched(subtitles), 5.0, pool=("ice", "child", "see"))
    assert [mention.nearby for mention in mentions["apple"]] == [("ice",), ("child",)]
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


@given(st.lists(st.integers(), unique=True))
def test_everything_moves_and_nothing_is_lost(numbers: list[int]) -> None:
    moved = rotated(numbers)
    assert sorted(moved) == sorted(numbers)
    if len(numbers) > 1:
        assert not any(before == after for before, after in zip(numbers, moved, strict=True))


def test_it_moves_by_half() -> None:
    assert "".join(rotated("abcde")) == "cdeab"


def test_words_are_asked_where_another_subtitle_stands() -> None:
    """Texts move with their words, so that spans stay right; what is mentioned around stays where it is."""
    subtitles = [Subtitle(0.0, 2.0, "An apple."), Subtitle(30.0, 32.0, "Two pears, a pear.")]
    matcher = WordMatcher(["apple", "pear"])
    mentions = find_mentions(match_subtitles(subtitles, matcher), 4.0, ("apple", "pear"), decoys=True)
    (apple,), (pear,) = mentions["apple"], mentions["pear"]
    assert (apple.subtitle, apple.start, apple.end, apple.text) == (1, 30.0, 32.0, "An apple.")
    assert (pear.subtitle, pear.start, pear.count, pear.nearby) == (0, 0.0, 2, ("apple",))
    assert apple.text[apple.first : apple.last] == "apple"
    assert find_mentions(match_subtitles(subtitles, matcher), 4.0)["apple"][0].subtitle == 0


def test_four_seconds_around_a_subtitle_are_searched_unless_asked_otherwise() -> None:
    """As in Sec. 4.5 of the paper."""
    assert AnnotateOptions().padding == 4.0
    assert CONFIDENCE == 0.5, "mouthings count from 0.5 on"
