"""Units of work: named by what their results follow from, and nothing else; digests that are remembered."""

from dataclasses import replace
from pathlib import Path

from signspot.annotation.plan import (
    RESERVE,
    ResultKey,
    SubtitleMention,
    gone_words,
    plan_unit,
    sample_negatives,
)
from signspot.corpus.corpus import Footage
from signspot.words.match import Form

FOOTAGE = Footage("news", Path("news.mp4"), Path("news.vtt"))
MENTION = SubtitleMention(0, 1.0, 2.0, "an apple", 3, 8, Form.ORIGINAL, 1, ())
MENTIONS = {"apple": (MENTION,), "tree": (replace(MENTION, subtitle=1),)}
BASIS = ResultKey(
    {"padding": "4"}, {"apple": "a1", "tree": "t1", "house": "h1"}, ("house",), {"tree": ("house", "wood")}
)


def keys(footage=FOOTAGE, digest="video", mentions=MENTIONS, basis=BASIS):
    unit = plan_unit(footage, digest, mentions, basis, {})
    return dict(unit.keys)


def test_the_same_gives_the_same_unit_wherever_the_files_lie() -> None:
    elsewhere = Footage("news", Path("other/news.mp4"), Path("other/news.srt"))
    assert keys() == keys(elsewhere)
    assert plan_unit(FOOTAGE, "video", MENTIONS, BASIS, {}).id == plan_unit(elsewhere, "video", MENTIONS, BASIS, {}).id


def test_whatever_results_follow_from_changes_the_key() -> None:
    known = keys()
    assert set(keys(digest="other").values()).isdisjoint(known.values())
    assert set(keys(basis=replace(BASIS, settings={"padding": "0"})).values()).isdisjoint(known.values())
    other_negative = replace(BASIS, words={**BASIS.words, "house": "h2"})
    assert set(keys(basis=other_negative).values()).isdisjoint(known.values())


def test_a_change_of_one_word_leaves_the_others_alone() -> None:
    changes = [
        keys(basis=replace(BASIS, words={**BASIS.words, "apple": "a2"})),
        keys(mentions={**MENTIONS, "apple": (replace(MENTION, text="no apple"),)}),
        keys(mentions={**MENTIONS, "apple": (replace(MENTION, end=2.5),)}),
        keys(mentions={**MENTIONS, "apple": (replace(MENTION, nearby=("house",)),)}),
        keys(mentions={**MENTIONS, "apple": (MENTION, replace(MENTION, subtitle=9))}),
        keys(basis=replace(BASIS, synonyms={**BASIS.synonyms, "apple": ("house",)})),
    ]
    for changed in changes:
        assert changed["apple"] != keys()["apple"]
        assert changed["tree"] == keys()["tree"]


def test_only_what_is_left_is_planned() -> None:
    done = keys()
    assert plan_unit(FOOTAGE, "video", MENTIONS, BASIS, done) is None
    unit = plan_unit(FOOTAGE, "video", MENTIONS, BASIS, {**done, "tree": "older"})
    assert set(unit.mentions) == set(unit.keys) == {"tree"}
    assert unit.synonyms == {"tree": ("house",)}
    unreadable = replace(BASIS, words={"apple": "a1", "house": "h1"})
    assert set(plan_unit(FOOTAGE, "video", MENTIONS, unreadable, {}).keys) == {"apple"}


def test_words_that_are_mentioned_no_more_are_gone_if_they_were_asked_for() -> None:
    done = {"apple": "k", "river": "k", "sea": "k"}
    assert gone_words(MENTIONS, frozenset({"apple", "tree", "river"}), done) == ["river"]


def test_the_panel_follows_from_words_and_seed() -> None:
    words = [f"word {number}" for number in range(200)]
    pool = sample_negatives(words, 8, seed=1)
    assert len(set(pool)) == 8 + RESERVE
    assert pool == sample_negatives(reversed(words), 8, seed=1)
    assert pool != sample_negatives(words, 8, seed=2)
    assert sample_negatives(words, 0, seed=1) == ()
    assert sorted(sample_negatives(["a", "b"], 8, seed=1)) == ["a", "b"]
