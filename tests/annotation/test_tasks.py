"""The search, on embeddings at named angles: every number is worked out by hand."""

import math
from collections.abc import Mapping
from dataclasses import asdict, replace
from functools import partial
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from signspot.annotation.run_options import AnnotateOptions
from signspot.annotation.store_records import Candidate, SubtitleQuery
from signspot.annotation.tasks import WordSearcher
from signspot.annotation.video_units import SubtitleMention, VideoUnit
from signspot.embedding.exemplars import Gallery, SignViews
from signspot.models.checkpoints import load_encoder
from signspot.models.encoder import Encoder
from signspot.spotting.spotter import Spotter
from signspot.types import Exemplar, Grid, Segment, Track
from signspot.words.match import Form

FPS, WINDOW, AXES = 25.0, 16, 8
FRAMES = 1515  # 1,500 windows: 60.6 s
REST = 0  # the axis on which nothing is signed
APPLE, TREE, HOUSE, WOOD = 1, 2, 3, 4
OPTIONS = AnnotateOptions(keep=0.6, padding=4.0, negatives=8)


def at(axis: int, degrees: float) -> np.ndarray:
    """A unit vector so many degrees away from an axis, towards rest."""
    vector = np.zeros(AXES, np.float32)
    vector[axis], vector[REST] = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    return vector


def score(degrees: float) -> float:
    return (1 + math.cos(math.radians(degrees))) / 2


@pytest.fixture(scope="module", autouse=True)
def encoder(encoder_file: Path) -> Encoder:
    """Its hash is all that counts here: tracks and exemplars are made by hand."""
    global spotter
    spotter = Spotter(load_encoder(encoder_file))
    return spotter.encoder


spotter: Spotter


Word = list[tuple[Exemplar, SignViews]]


def word(name: str, *rows: np.ndarray, mirrored: tuple[np.ndarray, ...] = ()) -> Word:
    views = zip(rows, mirrored, strict=True) if mirrored else zip(rows, strict=True)
    return [
        (Exemplar(name, f"{name}-{number + 1}", variant="ab"[number % 2]), SignViews(np.stack(of_exemplar)))
        for number, of_exemplar in enumerate(views)
    ]


def track(signs: Mapping[float, tuple[int, float]]) -> Track:
    """Rest, and signs: their time in seconds, axis, and how many degrees they are away from it; three frames slope."""
    grid = Grid(FPS, WINDOW, 1, FRAMES)
    rows = np.tile(at(REST, 0), (grid.count, 1))
    for time, (axis, degrees) in signs.items():
        middle = grid.nearest(time)
        for step in (2, 1, 0):
            for index in {middle - step, middle + step} & set(range(grid.count)):
                rows[index] = at(axis, min(90.0, degrees + 15 * step))
    return Track(rows, grid, spotter.encoder.hash)


def mention(subtitle: int, start: float, end: float, *nearby: str) -> SubtitleMention:
    return SubtitleMention(subtitle, start, end, "an apple", 3, 8, Form.ORIGINAL, 1, nearby)


def unit(synonyms: Mapping[str, tuple[str, ...]] | None = None, **mentions: tuple[SubtitleMention, ...]) -> VideoUnit:
    return VideoUnit("news", Path("news.mp4"), "digest", mentions, dict.fromkeys(mentions, "key"), synonyms or {})


def gallery(*words: Word) -> Gallery:
    return Gallery.of_views(*zip(*sorted(chain(*words), key=lambda pair: pair[0].word), strict=True))


def search(
    searched: Track, task: VideoUnit, words: Gallery, pool: tuple[str, ...] = (), options: AnnotateOptions = OPTIONS
) -> list[tuple[SubtitleQuery, list[Candidate]]]:
    return list(WordSearcher(spotter, searched, words, pool, options).search(task))


PLAIN = gallery(word("apple", at(APPLE, 0)), word("tree", at(TREE, 0)), word("house", at(HOUSE, 0)))


def test_a_sign_is_found_with_its_time_clip_and_score() -> None:
    signing = track({20.0: (APPLE, 30)})
    ((query, (candidate,)),) = search(signing, unit(apple=(mention(3, 21.0, 23.0),)), PLAIN)
    assert (query.video, query.subtitle, query.word, query.form) == ("news", 3, "apple", Form.ORIGINAL)
    assert (query.first, query.last, query.mentions, query.text) == (3, 8, 1, "an apple")
    assert (query.subtitle_start, query.subtitle_end, query.start, query.end) == (21.0, 23.0, 17.0, 27.0)
    assert query.best == pytest.approx(score(30), abs=1e-6)
    assert (candidate.video, candidate.subtitle, candidate.word, candidate.rank) == ("news", 3, "apple", 1)
    assert candidate.time == 20.0
    (spotted,) = spotter.search(signing, PLAIN, OPTIONS.spotting(), within=Segment(17.0, 27.0)).spottings
    assert candidate.as_spotting("") == replace(spotted, video="")
    assert candidate.start < candidate.time < candidate.end
    assert candidate.score == pytest.approx(score(30), abs=1e-6)
    assert (candidate.exemplar, candidate.variant, candidate.mirrored) == ("apple-1", "a", False)
    assert (candidate.exemplars, candidate.agreeing, candidate.exemplar_second) == (1, 1, None)
    assert candidate.exemplar_mean == candidate.score


def test_the_window_is_the_subtitle_padded_and_nothing_more() -> None:
    signing = track({10.0: (APPLE, 30)})
    for start, end, count in [(14.0, 15.0, 1), (14.04, 15.0, 0), (5.0, 6.0, 1), (4.0, 5.96, 0)]:
        ((_, candidates),) = search(signing, unit(apple=(mention(0, start, end),)), PLAIN)
        assert len(candidates) == count, (start, end)
    unpadded = replace(OPTIONS, padding=0.0)
    ((query, candidates),) = search(signing, unit(apple=(mention(0, 9.0, 9.9),)), PLAIN, options=unpadded)
    assert (query.start, query.end, candidates) == (9.0, 9.9, [])


def test_the_edge_of_a_window_is_no_peak() -> None:
    """The window ends on the slope of a sign that peaks outside: its best score is told, but nothing is spotted."""
    signing = track({10.0: (APPLE, 10)})
    ((query, candidates),) = search(signing, unit(apple=(mention(0, 4.0, 5.96),)), PLAIN)
    assert query.best == pytest.approx(score(25), abs=1e-6)
    assert candidates == []


def test_spans_stay_within_the_video() -> None:
    signing = track({0.32: (APPLE, 30), 60.28: (APPLE, 20)})
    answers = search(signing, unit(apple=(mention(0, 0.0, 1.0), mention(1, 59.0, 70.0))), PLAIN)
    (first,), (last,) = (candidates for _, candidates in answers)
    assert (first.time, last.time) == (0.32, 60.28)
    assert first.start >= 0
    assert last.end <= 60.6
    assert (answers[1][0].start, answers[1][0].end) == (55.0, 60.6)


def test_a_subtitle_beyond_the_end_is_asked_in_vain() -> None:
    signing = track({})
    answers = search(signing, unit(apple=(mention(0, 64.0, 65.0), mention(1, 70.0, 72.0))), PLAIN, ("tree",))
    for query, candidates in answers:
        if query.subtitle:
            assert (query.best, query.negatives, query.negative_best, candidates) == (None, 0, None, [])
            assert query.start == query.end == 60.6


def test_the_best_of_exemplars_variants_and_mirror_images_is_given() -> None:
    signing = track({20.0: (APPLE, 20)})
    rows = (at(HOUSE, 0), at(APPLE, 40), at(APPLE, 60))
    plain = gallery(word("apple", *rows))
    ((_, (candidate,)),) = search(signing, unit(apple=(mention(0, 20.0, 21.0),)), plain)
    assert (candidate.exemplar, candidate.variant, candidate.mirrored) == ("apple-2", "b", False)
    assert candidate.score == pytest.approx(
        score(5), abs=1e-6
    )  # the slope is 35 degrees away from the axis: 5 from this one
    both = gallery(word("apple", *rows, mirrored=(at(HOUSE, 0), at(HOUSE, 5), at(APPLE, 20))))
    ((_, (candidate,)),) = search(signing, unit(apple=(mention(0, 20.0, 21.0),)), both)
    assert (candidate.exemplar, candidate.mirrored, candidate.score) == ("apple-3", True, 1.0)


def test_exemplars_that_agree_are_counted_each_once() -> None:
    signing = track({20.0: (APPLE, 0)})
    words = gallery(word("apple", at(APPLE, 0), at(APPLE, -20), at(TREE, 0), at(APPLE, -40)))
    ((_, (candidate,)),) = search(signing, unit(apple=(mention(0, 20.0, 21.0),)), words)
    assert candidate.exemplars == 4
    assert candidate.agreeing == 2  # score(20) is 0.03 below 1, score(40) is 0.117 below
    assert candidate.exemplar_second == pytest.approx(score(20), abs=1e-6)
    assert candidate.exemplar_mean == pytest.approx((1 + score(20) + score(40) + 0.5) / 4, abs=1e-6)


def test_negatives_are_compared_at_the_peak_and_in_the_window() -> None:
    signing = track({20.0: (APPLE, 30), 22.0: (TREE, 10)})
    words = gallery(
        word("apple", at(APPLE, 0)), word("tree", at(TREE, 0)), word("near", at(APPLE, 40)), word("house", at(HOUSE, 0))
    )
    ((query, (candidate,)),) = search(signing, unit(apple=(mention(0, 20.0, 21.0),)), words, ("tree", "near", "house"))
    assert (query.negatives, query.negatives_above) == (3, 2)
    assert query.negative_best == pytest.approx(score(5), abs=1e-6)  # "near" meets the slope at 45 degrees: 5 away
    at_peak = score(5)  # within a few frames of the peak, too; "tree" is not
    assert (candidate.negatives, candidate.negatives_above) == (3, 1)
    assert candidate.negative_best == pytest.approx(at_peak, abs=1e-6)
    assert candidate.negative_mean == pytest.approx((at_peak + 0.5 + 0.5) / 3, abs=1e-6)


def test_the_word_itself_its_synonyms_and_words_nearby_are_no_negatives() -> None:
    signing = track({20.0: (APPLE, 30)})
    words = gallery(*(word(name, at(axis, 0)) for name, axis in (("apple", 1), ("tree", 2), ("house", 3), ("wood", 4))))
    pool = ("wood", "apple", "tree", "house")
    task = unit({"apple": ("wood",)}, apple=(mention(0, 20.0, 21.0, "tree"),))
    ((query, _),) = search(signing, task, words, pool)
    assert query.negatives == 1
    few = replace(OPTIONS, negatives=2)
    ((query, (candidate,)),) = search(signing, unit(apple=(mention(0, 20.0, 21.0),)), words, pool, few)
    assert (query.negatives, candidate.negatives) == (2, 2)
    ((query, (candidate,)),) = search(signing, unit(apple=(mention(0, 20.0, 21.0),)), words)
    assert (query.negatives, candidate.negatives, candidate.negative_best, candidate.negative_mean) == (
        0,
        0,
        None,
        None,
    )


def test_peaks_are_ranked_by_score_and_bounded() -> None:
    signing = track({18.0: (APPLE, 40), 20.0: (APPLE, 20), 22.0: (APPLE, 30), 24.0: (APPLE, 75)})
    task = unit(apple=(mention(0, 20.0, 21.0),))
    ((_, candidates),) = search(signing, task, PLAIN)
    assert [(peak.rank, peak.time) for peak in candidates] == [(1, 20.0), (2, 22.0), (3, 18.0)]
    ((_, candidates),) = search(signing, task, PLAIN, options=replace(OPTIONS, peaks=1))
    assert [peak.time for peak in candidates] == [20.0]
    ((_, candidates),) = search(signing, task, PLAIN, options=replace(OPTIONS, peaks=9, keep=score(76)))
    assert [peak.time for peak in candidates] == [20.0, 22.0, 18.0, 24.0]


def test_subtitles_that_overlap_find_the_same_peak() -> None:
    signing = track({20.0: (APPLE, 30)})
    answers = search(
        signing, unit(apple=(mention(0, 18.0, 21.0), mention(1, 19.0, 26.0), mention(2, 23.9, 24.0))), PLAIN
    )
    assert [query.subtitle for query, _ in answers] == [0, 1, 2]
    assert len({replace(candidate, subtitle=0) for _, (candidate,) in answers}) == 1


def test_what_is_found_is_what_spot_finds_in_the_same_segment() -> None:
    """Field by field: the same places, spans, scores, exemplars, in the same order of rank."""
    rng = np.random.default_rng(5)
    rows = np.cumsum(rng.normal(size=(1500, AXES)).astype(np.float32), axis=0)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    signing = Track(rows, Grid(FPS, WINDOW, 1, FRAMES), spotter.encoder.hash, "news.mp4")
    exemplars = rng.normal(size=(3, 4, AXES)).astype(np.float32)
    exemplars /= np.linalg.norm(exemplars, axis=2, keepdims=True)
    names = ("apple", "house", "tree")
    words = gallery(
        *(word(name, *(views[:2]), mirrored=tuple(views[2:])) for name, views in zip(names, exemplars, strict=True))
    )
    options = replace(OPTIONS, peaks=99, keep=0.55)
    mentions = tuple(mention(number, start, start + 1.5) for number, start in enumerate((0.0, 7.0, 21.0, 58.0)))
    answers = search(signing, unit(**dict.fromkeys(names, mentions)), words, (), options)
    compared = 0
    for query, candidates in answers:
        window = Segment(query.start, query.end)
        spotted = spotter.search(signing, words, options.spotting(), within=window).spottings
        expected = sorted((hit for hit in spotted if hit.word == query.word), key=lambda hit: (-hit.score, hit.time))
        annotated = [hit.as_spotting("news.mp4") for hit in candidates]
        assert [replace(hit, score=0.0) for hit in annotated] == [replace(hit, score=0.0) for hit in expected]
        assert [hit.score for hit in annotated] == pytest.approx([hit.score for hit in expected], abs=2e-6)  # rounding
        compared += len(expected)
    assert compared > 20


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_words_searched_apart_give_what_they_give_together(data: st.DataObject) -> None:
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    rows = rng.normal(size=(400, AXES)).astype(np.float32)
    rows = np.cumsum(rows, axis=0)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    signing = Track(rows, Grid(FPS, WINDOW, 1, 415), spotter.encoder.hash)
    names = ("apple", "tree", "house")
    exemplars = rng.normal(size=(3, 5, AXES)).astype(np.float32)
    exemplars /= np.linalg.norm(exemplars, axis=2, keepdims=True)
    words = gallery(*(word(name, *rows) for name, rows in zip(names, exemplars, strict=True)))
    starts = data.draw(st.lists(st.floats(0, 18), min_size=1, max_size=4))
    mentions = tuple(mention(number, start, start + 1.5) for number, start in enumerate(sorted(starts)))
    together = unit(**dict.fromkeys(names, mentions))
    options = replace(OPTIONS, keep=0.0)
    answers = search(signing, together, words, ("house", "tree"), options)
    apart = [
        pair for name in names for pair in search(signing, unit(**{name: mentions}), words, ("house", "tree"), options)
    ]
    apart.sort(key=lambda pair: (pair[0].subtitle, pair[0].word))
    near = partial(pytest.approx, abs=2e-6)  # products of more rows round otherwise
    assert [asdict(query) for query, _ in answers] == [near(asdict(query)) for query, _ in apart]
    for (_, candidates), (_, alone) in zip(answers, apart, strict=True):
        assert [asdict(hit) for hit in candidates] == [near(asdict(hit)) for hit in alone]
    for query, candidates in answers:
        assert query.start <= query.end
        assert all(query.start - 0.001 <= hit.time <= query.end + 0.001 for hit in candidates)
        assert [hit.score for hit in candidates] == sorted((hit.score for hit in candidates), reverse=True)
        assert all(hit.score <= query.best for hit in candidates)


def test_what_recurs_where_the_word_is_said_comes_before_what_the_exemplar_resembles_once() -> None:
    coder = Spotter(load_encoder("landmark"))
    random = np.random.default_rng(0)
    length, codes = 16, coder.encoder.contract.codes
    unit_noise = coder._calibration.scale / math.sqrt(2 * codes)
    sign_of_signer, other = random.standard_normal((2, length, codes)) * unit_noise
    exemplar, lookalike = other + 0.75 * sign_of_signer, other  # another person signs it otherwise
    grid = Grid(FPS, coder.encoder.contract.frames, 1, 5000)
    signing = random.standard_normal((grid.frames, codes)) * unit_noise
    places = {12.0: sign_of_signer, 16.0: lookalike, 55.0: sign_of_signer, 92.0: sign_of_signer, 131.0: sign_of_signer}
    for start, sign in places.items():
        signing[round(start * FPS) : round(start * FPS) + length] = sign + 0.3 * unit_noise * random.standard_normal(
            sign.shape
        )
    embeddings = np.ones((grid.count, coder.encoder.contract.dimension), np.float32) / 16
    track = Track(embeddings, grid, coder.encoder.hash, codes=signing.astype(np.float16))
    words = Gallery.of([Exemplar("apple", "apple-1")], embeddings[:1], exemplar[None, None].astype(np.float32))
    options = AnnotateOptions(keep=0.6, padding=4.0, negatives=0)
    mentions = [mention(number, start + 4.0, start + 6.0) for number, start in enumerate((10.0, 50.0, 90.0, 130.0))]

    def first(*mentions: SubtitleMention) -> Candidate:
        return next(WordSearcher(coder, track, words, (), options).search(unit(apple=mentions)))[1][0]

    once, often = first(mentions[0]), first(*mentions)
    assert once.start == pytest.approx(16.0, abs=0.2)
    assert often.start == pytest.approx(12.0, abs=0.2)
    answers = list(WordSearcher(coder, track, words, (), options).search(unit(apple=tuple(mentions))))
    assert [candidates[0].start for _, candidates in answers] == pytest.approx([12.0, 55.0, 92.0, 131.0], abs=0.2)
    for _, candidates in answers:
        assert [hit.rank for hit in candidates] == list(range(1, len(candidates) + 1))
        assert all(hit.score >= 0.6 for hit in candidates)
        assert len(candidates) <= options.peaks
