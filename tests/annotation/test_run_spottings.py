"""Spottings of a run: each peak once, the higher of two that overlap."""

from dataclasses import replace
from pathlib import Path

from signspot.annotation.run_spottings import merge, spottings
from signspot.annotation.store import open_store
from signspot.annotation.store_records import Candidate, Findings, SubtitleQuery, VideoRecord
from signspot.types import LabelSource
from signspot.words.match import Form

QUERY = SubtitleQuery("v", 0, "apple", Form.ORIGINAL, 0, 5, 1, "apple", 1.0, 2.0, 0.0, 6.0, 1, 0.9, 0, None, None, 0)
FOUND = Candidate("v", 0, "apple", 1, 3.0, 2.36, 3.64, 0.9, "apple-1", "1", False, 1, 1, None, 0.9, 0, None, None, 0)


def pair(
    subtitle: int, start: float, time: float, score: float = 0.9, rank: int = 1
) -> tuple[SubtitleQuery, Candidate]:
    query = replace(QUERY, subtitle=subtitle, subtitle_start=start, subtitle_end=start + 1)
    span = {"start": time - 0.3, "end": time + 0.3}
    return query, replace(FOUND, subtitle=subtitle, time=time, score=score, rank=rank, **span)


def test_a_peak_that_several_subtitles_find_is_one_spotting_of_the_nearest() -> None:
    (spotting,) = merge([pair(0, 0.0, 3.0), pair(1, 2.5, 3.0), pair(2, 4.0, 3.0)], 0.3)
    assert spotting.subtitle == 1
    (tied,) = merge([pair(4, 2.0, 3.5), pair(3, 4.0, 3.5)], 0.3)
    assert tied.subtitle == 3


def test_of_overlapping_spans_the_higher_stays() -> None:
    spottings = merge([pair(0, 0, 3.0, 0.8), pair(1, 0, 3.2, 0.9), pair(2, 0, 3.5, 0.7), pair(3, 0, 3.7, 0.7)], 0.3)
    assert [(spotting.time, spotting.score) for spotting in spottings] == [(3.2, 0.9), (3.7, 0.7)]


def test_threshold_and_rank_choose_and_words_do_not_suppress_each_other(tmp_path: Path) -> None:
    first, second = pair(0, 1.0, 3.0), pair(1, 1.0, 8.0, 0.75)
    lower = replace(first[1], rank=2, time=5.0, start=4.7, end=5.3, score=0.8)
    tree = (replace(QUERY, word="tree"), replace(FOUND, word="tree", time=3.1))
    rows = [first, second, tree]
    with open_store(tmp_path, create=True) as store:
        store.add(
            Findings(
                VideoRecord("v", "d", 60.0),
                {"apple": "k", "tree": "k"},
                tuple(query for query, _ in rows),
                (*(candidate for _, candidate in rows), lower),
            )
        )
        assert [(c.word, c.time) for c in spottings(store, 0.7)] == [("apple", 3.0), ("tree", 3.1), ("apple", 8.0)]
        assert [(c.word, c.time) for c in spottings(store, 0.78)] == [("apple", 3.0), ("tree", 3.1)]
        assert [c.time for c in spottings(store, 0.78, rank=None)] == [3.0, 3.1, 5.0]


def test_a_candidate_leaves_as_a_dictionary_spotting() -> None:
    spotting = FOUND.as_spotting()
    assert (spotting.word, spotting.video, spotting.time, spotting.score) == ("apple", "v", 3.0, 0.9)
    assert (spotting.start, spotting.end, spotting.exemplar) == (2.36, 3.64, "apple-1")
    assert spotting.source is LabelSource.DICTIONARY
    assert FOUND.as_spotting("footage/v.mp4").video == "footage/v.mp4"
