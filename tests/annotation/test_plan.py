"""Units of work: named by what their results follow from, and nothing else; digests that are remembered."""

import os
from dataclasses import replace
from pathlib import Path

from signspot.annotation.plan import RESERVE, Basis, Digests, SubtitleMention, gone_words, plan_unit, sample_impostors
from signspot.corpus.corpus import Footage
from signspot.io.files import content_digest
from signspot.words.match import Form

FOOTAGE = Footage("news", Path("news.mp4"), Path("news.vtt"))
MENTION = SubtitleMention(0, 1.0, 2.0, "an apple", 3, 8, Form.ORIGINAL, 1, ())
MENTIONS = {"apple": (MENTION,), "tree": (replace(MENTION, subtitle=1),)}
BASIS = Basis({"padding": "4"}, {"apple": "a1", "tree": "t1", "house": "h1"}, ("house",), {"tree": ("house", "wood")})


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
    other_impostor = replace(BASIS, words={**BASIS.words, "house": "h2"})
    assert set(keys(basis=other_impostor).values()).isdisjoint(known.values())


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
    panel = sample_impostors(words, 8, seed=1)
    assert len(set(panel)) == 8 + RESERVE
    assert panel == sample_impostors(reversed(words), 8, seed=1)
    assert panel != sample_impostors(words, 8, seed=2)
    assert sample_impostors(words, 0, seed=1) == ()
    assert sorted(sample_impostors(["a", "b"], 8, seed=1)) == ["a", "b"]


def test_a_file_is_read_once_and_again_when_it_changes(tmp_path: Path) -> None:
    video, memory = tmp_path / "a.mp4", tmp_path / "run" / "digests.json"
    video.write_bytes(b"one")
    assert Digests(memory).of([video]) == {video: content_digest(video)}
    when = video.stat().st_mtime_ns
    video.write_bytes(b"two")
    os.utime(video, ns=(when, when))
    assert Digests(memory).of([video])[video] != content_digest(video), "remembered by size and time"
    os.utime(video, ns=(when + 1, when + 1))
    assert Digests(memory).of([video]) == {video: content_digest(video)}


def test_a_damaged_memory_is_no_reason_to_stop(tmp_path: Path) -> None:
    video = tmp_path / "a.mp4"
    video.write_bytes(b"one")
    deep, digits = '{"a":' * 5000, '{"a": [%s, 2, "x"]}' % ("9" * 5000)
    for damage in ("{", "[]", '{"a": 1}', '{"a": [1, 2]}', '{"a": [1e400, 2, "x"]}', deep, digits):
        (tmp_path / "digests.json").write_text(damage)
        assert Digests(tmp_path / "digests.json").of([video]) == {video: content_digest(video)}


def test_what_cannot_be_read_comes_back_as_an_error(tmp_path: Path) -> None:
    found = Digests(tmp_path / "digests.json").of([tmp_path / "no.mp4"])
    assert isinstance(found[tmp_path / "no.mp4"], FileNotFoundError)
