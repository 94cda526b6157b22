"""Curves and peaks: all above a threshold, near ones suppressed; many words at once as word by word."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from signspot.embedding.exemplars import Gallery
from signspot.spotting import peaks as module
from signspot.spotting.matching import AlignmentMatcher, EmbeddingMatcher, Matcher, half_height_spans, strength
from signspot.spotting.peaks import Peaks, curve_blocks, peaks_of_curves, prominent, suppress, widened
from signspot.types import Exemplar, Windows

curves = arrays(np.float64, st.integers(1, 80), elements=st.floats(0, 1, width=16))


def bump(length: int, *middles: int, height: float = 0.9) -> np.ndarray:
    """A curve at 0.4 with triangles of half-width 5 frames."""
    curve = np.full(length, 0.4)
    for middle in middles:
        reach = np.abs(np.arange(length) - middle)
        curve = np.maximum(curve, height - (height - 0.4) * reach / 5)
    return curve


def peaks_of(curve: np.ndarray, threshold: float = 0.7, overlap: float = 0.3) -> Peaks:
    times = np.arange(len(curve)) / 25
    return peaks_of_curves(
        curve[None],
        np.array([threshold]),
        lambda of, steps: half_height_spans(times, curve[None], of, steps, 1.28),
        overlap,
    )


SLOW = 0.4 + 0.5 * np.exp(-(((np.arange(100) - 50) / 20) ** 2)) + 0.04 * np.cos(np.arange(100) * np.pi / 4)
PLATEAU = np.where((np.arange(40) >= 10) & (np.arange(40) <= 20), 0.8, 0.3)
FLANK = np.maximum(0.9 - 0.004 * np.abs(np.arange(120) - 30), 0.4) + 0.0023 * (np.arange(120) % 40 == 15)
NEAR = np.maximum(bump(60, 20, height=0.8), bump(60, 27))


@pytest.mark.parametrize(
    ("curve", "overlap", "steps"),
    [
        (np.maximum(bump(100, 20, 70), bump(100, 45, height=0.8)), 0.3, [20, 45, 70]),  # every peak, not only the best
        (NEAR, 0.3, [27]),  # of two near peaks the higher stays
        (NEAR, 0.9, [20, 27]),
        (FLANK, 0.3, [30]),  # a rise of two thousandths on the way down
        (bump(80, 30, 42), 0.3, [30, 42]),  # a sign that is repeated at once
        (PLATEAU, 0.3, [15]),  # its middle
        (SLOW, 0.3, [48]),  # high for a second, and trembling: one sign
        (SLOW, 1.0, [48, 55]),
        (np.full(50, 0.6), 0.3, []),  # never reaches the threshold
    ],
)
def test_peaks_of_named_curves(curve: np.ndarray, overlap: float, steps: list[int]) -> None:
    assert peaks_of(curve, overlap=overlap).steps.tolist() == steps


def test_a_span_is_where_the_curve_is_above_half_its_height_up_to_a_limit() -> None:
    peak = peaks_of(bump(60, 30))  # half of the height over 0.5 is 0.7: two frames away
    assert (peak.starts[0], peak.ends[0]) == pytest.approx((28 / 25, 32 / 25))
    slow = peaks_of(0.4 + 0.5 * np.exp(-(((np.arange(500) - 250) / 100) ** 2)))
    assert slow.ends[0] - slow.starts[0] == pytest.approx(1.28)


@given(curve=curves, threshold=st.floats(0, 1), overlap=st.floats(0, 1))
def test_laws(curve: np.ndarray, threshold: float, overlap: float) -> None:
    peaks = peaks_of(curve, threshold, overlap)
    times = peaks.steps / 25
    assert (np.diff(peaks.steps) > 0).all()
    assert (peaks.scores >= threshold).all()
    assert (peaks.starts <= times).all()
    assert (times <= peaks.ends).all()
    assert peaks.scores.tolist() == curve[peaks.steps].tolist()
    starts, ends = widened(peaks.starts, peaks.ends)
    shared = np.minimum(ends[1:], ends[:-1]) - np.maximum(starts[1:], starts[:-1])
    lengths = ends - starts
    assert (shared <= overlap * np.minimum(lengths[1:], lengths[:-1]) + 1e-9).all()
    assert curve.max() < threshold or peaks.scores.max() == curve.max()


@given(
    arrays(np.float64, st.tuples(st.integers(1, 4), st.integers(1, 60)), elements=st.floats(0, 1, width=16)),
    st.sampled_from([0.02, 0.1, 0.3]),
)
def test_a_maximum_is_prominent_if_the_curve_falls_enough_towards_every_higher_one(
    scores: np.ndarray, prominence: float
) -> None:
    maxima_of = [maxima(curve, 0.0) for curve in scores.tolist()]
    of = np.repeat(np.arange(len(maxima_of)), [len(steps) for steps in maxima_of])
    steps = np.array([step for steps in maxima_of for step in steps], np.int64)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_PROMINENCE", prominence)
        words_left, steps_left = prominent(scores, of, steps)
    for word, curve in enumerate(strength(scores)):
        expected = []
        for step in maxima_of[word]:
            higher = [o for o in maxima_of[word] if curve[o] > curve[step] or (curve[o] == curve[step] and o < step)]
            falls = [curve[step] - curve[min(o, step) : max(o, step) + 1].min() for o in higher]
            expected += [step] if min(falls, default=1.0) >= prominence else []
        assert steps_left[words_left == word].tolist() == expected


@given(curve=curves, silence=st.integers(1, 60))
def test_appending_silence_loses_no_peak(curve: np.ndarray, silence: int) -> None:
    longer = np.concatenate([curve, np.zeros(silence)])
    assert peaks_of(curve, 0.1).steps.tolist() == peaks_of(longer, 0.1).steps.tolist()


@given(
    st.lists(st.tuples(st.floats(0, 6, width=16), st.floats(0.125, 3, width=16)), max_size=40),
    st.sampled_from([0.0, 0.3, 0.5, 1.0]),
)
def test_suppression_keeps_the_best_and_whatever_shares_little_with_it(
    spans: list[tuple[float, float]], overlap: float
) -> None:
    starts = np.array([start for start, _ in spans])
    ends = starts + np.array([length for _, length in spans])
    assert suppress(starts, ends, overlap) == suppressed(list(zip(starts, ends, strict=True)), overlap)


def test_a_plateau_does_not_reach_from_one_word_into_the_next() -> None:
    scores = np.full((3, 16), 0.25, np.float32)
    scores[0, -2:] = scores[1, :3] = scores[1, -1] = scores[2] = 0.75
    peaks = peaks_of_curves(scores, np.full(3, 0.5), lambda _, at: (at - 0.1, at + 0.1))
    assert list(zip(peaks.curves.tolist(), peaks.steps.tolist(), strict=True)) == [(0, 14), (1, 1), (1, 15), (2, 7)]


@pytest.mark.parametrize("shape", [(0, 5), (3, 0)])
def test_no_curve_and_no_time_step_have_no_peaks(shape: tuple[int, int]) -> None:
    empty, times = np.empty(shape, np.float32), np.arange(shape[1])
    peaks = peaks_of_curves(empty, np.zeros(shape[0]), lambda of, at: half_height_spans(times, empty, of, at, 1.0))
    assert len(peaks.steps) == 0


@dataclass(frozen=True)
class WordPeak:
    """A peak of one word."""

    word: str
    step: int
    start: float
    end: float
    score: float
    row: int  # of the gallery


def at_once(matcher: Matcher, gallery: Gallery, thresholds: dict[str, float], overlap: float) -> list[WordPeak]:
    peaks_of_words = []
    for block in curve_blocks(matcher, gallery, lasting=False):
        peaks = block.peaks([thresholds[word] for word in block.words], overlap)
        rows = block.best_rows(peaks.curves, peaks.steps)
        columns = peaks.curves, peaks.steps, peaks.starts, peaks.ends, peaks.scores, rows
        values = zip(*(column.tolist() for column in columns), strict=True)
        peaks_of_words += [WordPeak(block.words[word], *values_of_peak) for word, *values_of_peak in values]
    return peaks_of_words


@given(
    seed=st.integers(0, 2**32 - 1),
    words=st.integers(1, 12),
    length=st.integers(1, 90),
    overlap=st.sampled_from([0.0, 0.3, 1.0]),
    cells=st.sampled_from([1, 40, 400, 2_000_000]),
)
def test_all_words_at_once_give_what_each_gives_by_itself(
    seed: int, words: int, length: int, overlap: float, cells: int
) -> None:
    """All products are exact, plateaus and ties abound; words differ in exemplars and thresholds, and so do blocks."""
    random = np.random.default_rng(seed)
    names = [f"w{word}" for word in range(words) for _ in range(random.integers(1, 5))]
    random.shuffle(names)
    exemplars = [Exemplar(name, str(number)) for number, name in enumerate(names)]
    gallery = Gallery.of(exemplars, (random.integers(-2, 3, (len(exemplars), 2, 8)) / 8).astype(np.float32))
    windows = (random.integers(-2, 3, (length, 8)) / 8).astype(np.float16)
    times = np.cumsum(random.integers(1, 4, length)) / 16  # steps need not be equal
    thresholds = {word: float(random.choice([0.0, 0.45, 0.5, 0.53125, 0.6])) for word in gallery.words}
    matcher = EmbeddingMatcher(Windows(times, windows), gallery.embeddings)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_COMPARED_CELLS", cells)
        patch.setattr(module, "_FEWEST", 1)
        patch.setattr(module, "_CELLS", cells)
        patch.setattr(module, "_PROMINENCE", 0.0)
        together = at_once(matcher, gallery, thresholds, overlap)
    one_by_one = [word_by_word(matcher, gallery, word, thresholds[word], overlap) for word in gallery.words]
    assert together == [peak for peaks in one_by_one for peak in peaks]


def test_peaks_of_alignments_are_those_of_each_word_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PROMINENCE", 0.0)
    random = np.random.default_rng(1)
    exemplars = [Exemplar(f"w{number % 9}", str(number)) for number in range(27)]
    codes = random.normal(size=(27, 2, 5, 6)).astype(np.float32)
    gallery = Gallery.of(exemplars, np.zeros((27, 2, 1), np.float32), codes)
    assert gallery.codes is not None
    track = random.normal(size=(300, 6)).astype(np.float16)
    matcher = AlignmentMatcher(track, np.arange(300) / 25, gallery.codes, 2.0)
    together = at_once(matcher, gallery, dict.fromkeys(gallery.words, 0.3), 0.3)
    assert len(together) > 20
    plain = [peak for word in gallery.words for peak in word_by_word(matcher, gallery, word, 0.3, 0.3)]
    assert [(p.word, p.step, p.row, p.start, p.end) for p in together] == [
        (p.word, p.step, p.row, p.start, p.end) for p in plain
    ]
    assert [p.score for p in together] == pytest.approx([p.score for p in plain], abs=1e-5)  # products of other shapes


def test_curves_stay_as_they_are_while_others_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_COMPARED_CELLS", 0)  # several blocks
    random = np.random.default_rng(0)
    exemplars = [Exemplar(f"w{number // 3}", str(number)) for number in range(27)]
    gallery = Gallery.of(exemplars, random.normal(size=(27, 2, 8)).astype(np.float32))
    windows = Windows(np.arange(90) / 25, random.normal(size=(90, 8)).astype(np.float32))
    matcher, steps = EmbeddingMatcher(windows, gallery.embeddings), np.arange(50)
    one_by_one = [
        (block.words, block.scores.copy(), block.best_rows(np.zeros_like(steps), steps))
        for block in curve_blocks(matcher, gallery, lasting=False)
    ]
    assert len(one_by_one) > 1
    for block, (words, scores, rows) in zip(list(curve_blocks(matcher, gallery)), one_by_one, strict=True):
        assert block.words == words
        assert np.array_equal(block.scores, scores)
        assert np.array_equal(block.best_rows(np.zeros_like(steps), steps), rows)


def maxima(curve: list[float], threshold: float) -> list[int]:
    """Local maxima that reach the threshold; of a plateau its middle."""
    middles, first = [], 0
    while first < len(curve):
        last = first
        while last + 1 < len(curve) and curve[last + 1] == curve[first]:
            last += 1
        before = curve[first - 1] if first else -np.inf
        after = curve[last + 1] if last + 1 < len(curve) else -np.inf
        if curve[first] >= threshold and before < curve[first] > after:
            middles.append((first + last) // 2)
        first = last + 1
    return middles


def suppressed(spans: list[tuple[float, float]], overlap: float) -> list[int]:
    """Spans that share little enough with every better one that is kept; the best is the first."""
    chosen: list[int] = []
    for index, (start, end) in enumerate(spans):
        shares = (
            (min(end, spans[other][1]) - max(start, spans[other][0]))
            / max(min(end - start, spans[other][1] - spans[other][0]), 1e-9)
            for other in chosen
        )
        if all(share <= overlap for share in shares):
            chosen.append(index)
    return chosen


def word_by_word(matcher: Matcher, gallery: Gallery, word: str, threshold: float, overlap: float) -> list[WordPeak]:
    """The peaks of a word in order of time, found step by step; every maximum is prominent enough."""
    rows = gallery.words[word]
    scores, curve = matcher.scores(rows.tolist()), np.empty(len(matcher.times), np.float32)
    matcher.fuse(matcher.compared(rows.tolist()), gallery, word, curve)
    peaks = []
    for step in maxima(curve.tolist(), float(np.float32(threshold))):
        row = int(rows[scores[:, step].argmax()])
        starts, ends = matcher.spans(curve[None], np.array([0]), np.array([row]), np.array([step]))
        peaks.append(WordPeak(word, step, float(starts[0]), float(ends[0]), float(curve[step]), row))
    peaks.sort(key=lambda peak: (-peak.score, peak.step))
    wide = widened(np.array([peak.start for peak in peaks]), np.array([peak.end for peak in peaks]))
    chosen = suppressed(list(zip(wide[0].tolist(), wide[1].tolist(), strict=True)), overlap)
    return sorted((peaks[index] for index in chosen), key=lambda peak: peak.step)
