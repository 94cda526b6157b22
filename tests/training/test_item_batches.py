"""Batches: windows on and beside the label, exemplars of all subtitle words, the same for any order of making."""

from dataclasses import astuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from signspot.errors import OptionsError
from signspot.training.corpus_subset import Item
from signspot.training.item_batches import BatchIndices, ItemBatches, ItemBatchOptions
from signspot.types import Grid, Label, LabelSource, Segment

EXEMPLARS = ("tree", "apple", "apple", "house", "dog", "tree")
GRIDS = {"v": Grid(25.0, 16, 1, 500), "short": Grid(25.0, 16, 1, 40)}
ITEMS = (
    Item(Label("apple", "v", 8.0), Segment(5.0, 11.0), ("tree", "house")),
    Item(Label("apple", "v", 12.0), Segment(9.0, 15.0), ()),
    Item(Label("tree", "v", 3.0), Segment(1.0, 6.0), ("apple",)),
    Item(Label("house", "short", 0.4), Segment(0.0, 3.0), ("tree",)),
)


def make(**options: object) -> ItemBatches:
    return ItemBatches(ITEMS, GRIDS, EXEMPLARS, 8, 5, ItemBatchOptions(**options))  # type: ignore[arg-type]


def same(one: BatchIndices, two: BatchIndices) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(astuple(one), astuple(two), strict=True))


def test_words_of_a_batch_are_distinct_or_follow_the_labels() -> None:
    balanced = make(items=3)
    assert (balanced.size, len(balanced)) == (3, 2)
    for step in range(20):
        words = [word for word in balanced[step].clip_word if word >= 0]
        assert len(set(words)) == len(words) == 3
    plain = make(items=4, distinct=False)
    fronts = sorted(int(word) for word in plain[0].clip_word if word >= 0)
    assert [balanced.words[word] for word in fronts] == ["apple", "apple", "house", "tree"]
    assert make(items=3, distinct=False)[1].videos.__len__() == 1  # the rest of the epoch


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000))
def test_windows_lie_on_the_sign_and_beside_it(step: int) -> None:
    batches = make(items=3)
    places = batches[step]
    front = places.clip_word >= 0
    assert front.sum() == 3
    for window, item, is_front in zip(places.clip_window, places.clip_item, front, strict=True):
        word = batches.words[places.clip_word[front][item]]
        video = places.videos[item]
        labels = [round(item.time * 25) for item in ITEMS if item.word == word]
        span = [item.span for item in ITEMS if item.word == word]
        assert 0 <= window < GRIDS[video].count
        if is_front:
            assert any(label - 20 <= window <= label + 5 - 16 or (video == "short" and window == 0) for label in labels)
        else:
            assert any(not -20 <= window + 8 - label <= 5 for label in labels)
            assert any(segment.start <= (window + 8) / 25 <= segment.end for segment in span)
    for item, video in enumerate(places.videos):
        assert (~front & (places.clip_item == item)).sum() == 10 or video == "short"


@pytest.mark.parametrize(
    ("label", "first", "last"),
    [
        (Label("apple", "v", 8.0), 180, 189),
        (Label("apple", "v", 8.0, source=LabelSource.DICTIONARY), 189, 195),
        (Label("apple", "v", 8.0, source=LabelSource.VERIFIED, start=6.0, end=7.04), 152, 158),
    ],
    ids=["end", "middle", "span"],
)
def test_windows_follow_what_the_time_of_a_label_means(label: Label, first: int, last: int) -> None:
    """Of 16 frames at 25 per second: 20 frames before an end to 5 after it, or 11 on either side of a middle."""
    items = [Item(label, Segment(2.0, 14.0), ()), ITEMS[2]]
    batches = ItemBatches(items, GRIDS, EXEMPLARS, 8, 5, ItemBatchOptions(items=2))
    fronts, behind = set(), set()
    for step in range(150):
        places = batches[step]
        of_apple = places.clip_item == places.clip_item[places.clip_word == batches.number["apple"]][0]
        fronts |= set(places.clip_window[of_apple & (places.clip_word >= 0)].tolist())
        behind |= set(places.clip_window[of_apple & (places.clip_word < 0)].tolist())
    assert fronts == set(range(first, last + 1))
    assert not behind & set(range(first, last + 1))


def test_all_subtitle_words_are_looked_up_once() -> None:
    batches = make(items=3)
    for step in range(5):
        places = batches[step]
        assert len(set(places.exemplars.tolist())) == len(places.exemplars)
        words = np.array([batches.number[EXEMPLARS[index]] for index in places.exemplars])
        assert np.array_equal(words[places.exemplar_row], places.exemplar_word)
        tree = next(
            i for i, word in enumerate(places.clip_word[places.clip_word >= 0]) if batches.words[word] == "tree"
        )
        of_tree = places.exemplar_item == tree
        looked_up = [batches.words[word] for word in places.exemplar_word[of_tree]]
        assert looked_up == ["tree", "tree", "apple", "apple"]
        assert places.exemplar_foreground[of_tree].tolist() == [True, True, False, False]
        assert places.exemplar_clips.shape == (len(places.exemplars), 6)
        assert all(len(set(row)) == 6 and max(row) < 8 for row in places.exemplar_clips.tolist())


def test_without_subtitles_only_labelled_clips_and_words_stay() -> None:
    batch = make(items=3)[2]
    fore = batch.foreground_only()
    assert len(fore.clip_window) == 3
    assert (fore.clip_word >= 0).all()
    assert fore.exemplar_foreground.all()
    assert len(fore.exemplar_row) == batch.exemplar_foreground.sum()
    before = batch.exemplars[batch.exemplar_row[batch.exemplar_foreground]]
    assert np.array_equal(fore.exemplars[fore.exemplar_row], before)


def test_a_batch_follows_from_seed_and_step_alone() -> None:
    forwards = [make(items=3)[step] for step in range(6)]
    again = make(items=3)
    for step in (5, 0, 3, 1, 4, 2):
        assert same(again[step], forwards[step])
    assert not same(forwards[0], forwards[1])
    other = ItemBatches(ITEMS, GRIDS, EXEMPLARS, 8, 6, ItemBatchOptions(items=3))
    assert not same(other[0], forwards[0])


def test_words_without_exemplars_and_unknown_videos_are_named() -> None:
    with pytest.raises(OptionsError, match="'tree'"):
        ItemBatches(ITEMS, GRIDS, ("apple", "house"), 8)
    with pytest.raises(OptionsError, match=r"'short'.*'house'"):
        ItemBatches(ITEMS, {"v": GRIDS["v"]}, EXEMPLARS, 8)
    with pytest.raises(OptionsError, match="items must be at least 2; got 1"):
        ItemBatchOptions(items=1)


@pytest.mark.parametrize(
    "label",
    [Label("apple", "v", 8.0), Label("apple", "v", 8.0, source=LabelSource.VERIFIED, start=7.0, end=9.0)],
    ids=["end", "long span"],
)
def test_background_clips_share_no_frame_with_the_labelled_sign(label: Label) -> None:
    items = [Item(label, Segment(3.0, 13.0), ()), ITEMS[2]]
    batches = ItemBatches(items, GRIDS, EXEMPLARS, 8, 5, ItemBatchOptions(items=2))
    for step in range(40):
        places = batches[step]
        item = int(places.clip_item[places.clip_word == batches.number["apple"]][0])
        starts = places.clip_window[(places.clip_item == item) & (places.clip_word < 0)] / 25
        around_label = label.stretch(20 / 25, 5 / 25, 11 / 25)
        first, last = min(around_label.start, label.segment.start), max(around_label.end, label.segment.end)
        assert len(starts) == 10
        assert all(start + 16 / 25 <= first + 0.021 or start >= last - 0.021 for start in starts)


def test_a_batch_has_the_papers_128_items() -> None:
    words = [f"word {number}" for number in range(130)]
    items = [Item(Label(word, "v", 8.0), Segment(5.0, 11.0), ()) for word in words]
    batches = ItemBatches(items, GRIDS, words, 8)
    assert len(batches[0].videos) == 128
