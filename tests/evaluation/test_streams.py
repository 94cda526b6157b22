"""Streams: what is joined of isolated clips, who signs in them, and what is measured there through the spotter."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from signspot.corpus.isolated import IsolatedClip
from signspot.errors import OptionsError
from signspot.evaluation.streams import (
    StreamMaterial,
    StreamOptions,
    make_streams,
    material_of_clips,
    measure_streams,
    placed,
)
from signspot.spotting.spot_options import SpotOptions
from signspot.spotting.spotter import load
from signspot_synthetic.isolated_signs import isolated_clips

WORDS, SIGNERS = 12, 7
OPTIONS = StreamOptions(
    words=4, signs=56, signs_per_stream=56, seed=2
)  # a minute and a half: shorter ones have no rates


@pytest.fixture(scope="module")
def clips() -> list[IsolatedClip]:
    return isolated_clips(WORDS, SIGNERS, 5)


@pytest.fixture(scope="module")
def material(clips: list[IsolatedClip]) -> StreamMaterial:
    return material_of_clips("synthetic", clips, OPTIONS)


def test_no_lender_of_a_word_signs_it_in_the_streams(clips: list[IsolatedClip], material: StreamMaterial) -> None:
    """Signers of a clip are told by its landmarks: exemplars are the clips themselves, streams hold other ones."""
    assert len(material.exemplars) == 4
    signed = [true.word for stream in material.streams for true in stream.truth]
    for word, sources in material.exemplars.items():
        lenders = {clip.signer for clip in clips if any(clip.landmarks is source for source in sources)}
        assert len(sources) == len(lenders) == 5
        assert signed.count(word) == SIGNERS - 5  # by everybody else
    assert len(signed) == 56


def test_words_that_are_not_to_be_signed_are_not(clips: list[IsolatedClip]) -> None:
    absent = material_of_clips("synthetic", clips, replace(OPTIONS, signed=False))
    assert absent.exemplars.keys().isdisjoint({true.word for stream in absent.streams for true in stream.truth})


def test_signs_follow_each_other_and_signers_are_placed_alike(clips: list[IsolatedClip]) -> None:
    moved = [replace(clip, landmarks=placed(clip.landmarks)) for clip in clips[:20]]
    (stream,) = make_streams(moved, seed=1)
    assert sorted(true.word for true in stream.truth) == sorted(clip.word for clip in moved)
    assert all(one.segment.end <= two.segment.start for one, two in pairwise(stream.truth))
    shoulders = stream.landmarks.body[:, [11, 12], :2]
    across = np.linalg.norm(shoulders[:, 0] - shoulders[:, 1], axis=1)
    assert np.median(across) == pytest.approx(0.2, abs=0.03)
    assert np.median(shoulders.mean(axis=1), axis=0) == pytest.approx([0.5, 0.4], abs=0.05)


def test_streams_are_measured_through_the_search_of_users(material: StreamMaterial) -> None:
    spotter = load("warping", cache=False)
    one, three = measure_streams(spotter, material, (1, 3))
    assert (one.exemplars, three.exemplars, one.words, one.signs) == (1, 3, 4, 8)
    assert one.mean_average_precision > 0.7
    assert one.localisation > 0.7
    assert one.boundary <= 5
    assert [rate.promised for rate in one.alarms] == [1, 10, 60]
    assert all(low.counted <= high.counted for low, high in pairwise(one.alarms))
    strict = measure_streams(spotter, material, (1,), SpotOptions(threshold=0.99))[0]
    assert strict.recall < one.recall
    assert strict.mean_average_precision == one.mean_average_precision


def test_few_false_alarms_are_counted_where_few_were_promised(clips: list[IsolatedClip]) -> None:
    """Words that are never signed: counted alarms stay near what was promised, at a rate that so little can tell."""
    absent = material_of_clips("synthetic", clips, replace(OPTIONS, signed=False))
    (scores,) = measure_streams(load("warping", cache=False), absent, (3,))
    often = scores.alarms[-1]
    expected, counted = often.promised * scores.word_hours, often.counted * scores.word_hours
    assert abs(counted - expected) < 3 * np.sqrt(expected) + 0.5 * expected


def test_a_corpus_of_too_few_signers_is_refused(clips: list[IsolatedClip]) -> None:
    with pytest.raises(OptionsError):
        material_of_clips("few", [clip for clip in clips if clip.signer in "012"])
