import html
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from signspot.subtitles.reading import read_vtt
from signspot.types import Segment, Subtitle
from signspot_synthetic.language.english import vocabulary
from signspot_synthetic.language.sentences import SentenceWriter
from signspot_synthetic.language.subtitles import cut_into_cues, sound_captions, time_cues, wrapped, write_vtt
from signspot_synthetic.random_streams import named_rng


@pytest.fixture(scope="module")
def sentences():
    writer, rng = SentenceWriter(vocabulary(300)), named_rng(2, "subtitles")
    return [writer.write(rng) for _ in range(400)]


@pytest.fixture(scope="module")
def signing(sentences):
    starts = 2 + 3.0 * np.arange(len(sentences))
    return [Segment(float(s), float(s) + 2.5) for s in starts]


def test_cues_keep_every_mention_at_its_characters(sentences):
    cues = cut_into_cues(sentences, named_rng(1, "cues"))
    mentions = set()
    for cue in cues:
        for mention in cue.mentions:
            source = sentences[mention.sentence]
            original = source.mentions[mention.mention]
            written = cue.text[mention.start : mention.end].replace("\n", " ")
            assert written == source.text[original.start : original.end]
            mentions.add((mention.sentence, mention.mention))
    assert len(mentions) == sum(len(s.mentions) for s in sentences)


def test_cues_have_eight_words_and_at_most_three_lines(sentences):
    cues = cut_into_cues(sentences, named_rng(1, "cues"))
    assert 7 <= np.mean([len(cue.text.split()) for cue in cues]) <= 9
    assert max(len(line) for cue in cues for line in cue.text.split("\n")) <= 37
    assert max(cue.text.count("\n") for cue in cues) <= 2
    assert any(cue.last - cue.first > 1 for cue in cues)
    assert any(cue.last - cue.first < 1 for cue in cues)


def test_aligned_cues_are_shown_while_they_are_signed(sentences, signing):
    cues = cut_into_cues(sentences, named_rng(1, "cues"))
    subtitles = time_cues(cues, signing, named_rng(1, "times"), 0.0)
    for cue, subtitle in zip(cues, subtitles, strict=True):
        if cue.first == int(cue.first) and cue.last == cue.first + 1:
            segment = signing[int(cue.first)]
            assert (subtitle.start, subtitle.end) == pytest.approx((segment.start, segment.end), abs=2e-3)


def test_misaligned_cues_come_seconds_early_in_order_without_overlap(sentences, signing):
    cues = cut_into_cues(sentences, named_rng(1, "cues"))
    subtitles = time_cues(cues, signing, named_rng(1, "times"), 1.0)
    shift = np.array([signing[int(c.first)].start - s.start for c, s in zip(cues, subtitles, strict=True)])
    assert 0.4 < np.mean(shift) < 2.6
    assert np.std(shift) > 0.4
    assert all(a.end <= b.start for a, b in pairwise(subtitles))
    assert all(0 <= s.start < s.end for s in subtitles)


def test_sound_captions_lie_in_gaps():
    subtitles = [Subtitle(float(4 * i), 4 * i + 2.0, "x") for i in range(200)]
    sounds = sound_captions(subtitles, named_rng(1, "sounds"))
    assert 20 < len(sounds) < 120
    assert all(s.start % 4 == 2 and s.end % 4 == 0 for s in sounds)


texts = st.text(st.characters(exclude_categories=("C", "Z")), min_size=1, max_size=12)


@given(st.lists(texts, min_size=1, max_size=30))
def test_wrapping_only_exchanges_spaces(words):
    text = " ".join(words)
    assert wrapped(text).replace("\n", " ") == text


@given(st.lists(st.tuples(st.integers(0, 10**7), st.integers(1, 9999), texts), max_size=6))
def test_vtt_round_trip(tmp_path_factory, cues):
    subtitles = sorted(
        (Subtitle(start / 1000, (start + length) / 1000, f"{text} & <i>\nsecond") for start, length, text in cues),
        key=lambda s: (s.start, s.end),
    )
    path = tmp_path_factory.mktemp("vtt") / "a.vtt"
    cues = read_vtt(write_vtt(subtitles, path).read_text(encoding="utf-8"), "a.vtt").cues
    assert [Subtitle(cue.start, cue.end, html.unescape(cue.text)) for cue in cues] == subtitles
