"""Isolated synthetic signs: written once, alone and in sentences, and read like any corpus."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from signspot.corpus.isolated import read_isolated
from signspot.errors import OptionsError
from signspot_synthetic.isolated_signs import IsolatedSignsOptions, isolated_clips, write_isolated_signs

OPTIONS = IsolatedSignsOptions(signs=4, isolated=2, continuous=1)


def test_signs_are_written_once_alone_and_in_sentences(tmp_path: Path) -> None:
    assert write_isolated_signs(OPTIONS, tmp_path) == 1
    (path,) = tmp_path.iterdir()
    before = path.stat().st_mtime_ns
    write_isolated_signs(OPTIONS, tmp_path)
    assert path.stat().st_mtime_ns == before
    clips = read_isolated(tmp_path)
    assert Counter(clip.word for clip in clips) == dict.fromkeys("0123", 3)
    assert len({clip.signer for clip in clips}) == 8 + 1  # each take by another signer, the sentence by one
    cut = [clip for clip in clips if clip.segment is not None]
    assert sorted(clip.word for clip in cut) == list("0123")
    for clip in cut:
        assert clip.segment is not None
        assert 0 <= clip.segment.start < clip.segment.end <= clip.landmarks.times[-1]
    again = tmp_path / "again"
    write_isolated_signs(OPTIONS, again)
    assert all(np.array_equal(a.landmarks.body, b.landmarks.body) for a, b in zip(clips, read_isolated(again)))  # noqa: B905


def test_every_word_is_shown_by_every_signer() -> None:
    clips = isolated_clips(3, 2, seed=5)
    assert Counter(clip.word for clip in clips).most_common(1)[0][1] == 2
    assert len(clips) == 6
    with pytest.raises(OptionsError, match="got 0"):
        IsolatedSignsOptions(isolated=0)
