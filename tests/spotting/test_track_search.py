"""The search by frame codes: signs found with their spans, scores read against decoys, signs identified."""

import itertools
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
import torch

from signspot.embedding.exemplars import ExemplarEmbedder, Gallery
from signspot.errors import OptionsError, TrackError
from signspot.landmarks.landmarks import Landmarks, concatenate
from signspot.landmarks.pose_file import write_landmarks
from signspot.models.encoder import Encoder
from signspot.models.frame_coder import FrameCoder
from signspot.models.registry import build
from signspot.spotting import track_search
from signspot.spotting.decoys import DecoySet, decoys_of
from signspot.spotting.false_alarms import FEWEST_WORDS, SHORTEST_VIDEO, LastTrack, TrackCache
from signspot.spotting.matching import AlignmentMatcher
from signspot.spotting.spot_options import SpotOptions
from signspot.spotting.spotter import Spotter
from signspot.training.landmark_encoder import assemble, choose_decoys
from signspot.types import Exemplar, Segment, Track
from signspot_synthetic.isolated_signs import isolated_clips
from tests.fixtures.spotting import Signing


@pytest.fixture(scope="module")
def coder_encoder() -> Encoder:
    """Plain geometry, which learns nothing, with a few decoys of synthetic signing."""
    torch.manual_seed(0)
    coder = FrameCoder(build("frame_codes", codes=48, width=0, embedding=16, mlp=False).trunk.options).eval()
    return assemble("plain", coder, choose_decoys(isolated_clips(24, 3, 5), 1), {})


@pytest.fixture(scope="module")
def spotter(coder_encoder: Encoder) -> Spotter:
    return Spotter(coder_encoder)


@pytest.fixture(scope="module")
def gallery(spotter: Spotter, signing: Signing) -> Gallery:
    embedder = ExemplarEmbedder(spotter.encoder)
    views = [embedder.embed_source(landmarks, mirror=True) for landmarks in signing.exemplars.values()]
    codes = np.stack([view.codes for view in views if view.codes is not None])
    exemplars = [Exemplar(word, word) for word in signing.exemplars]
    return Gallery.of(exemplars, np.stack([view.embeddings for view in views]), codes)


@pytest.fixture(scope="module")
def long_track(spotter: Spotter, signing: Signing) -> Track:
    """The footage again and again, for a minute and a half."""
    often = round(1.5 * SHORTEST_VIDEO / (len(signing.footage) / signing.footage.fps)) + 1
    return spotter.embed(concatenate([_later(signing.footage, turn) for turn in range(often)]))


def test_words_with_more_exemplars_than_decoys_have_share_one_search_of_decoys(
    spotter: Spotter, gallery: Gallery, long_track: Track, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Words with 3, 4 and 5 exemplars are read by the same decoys, which have 3 each."""
    counts_asked: list[int] = []
    real = DecoySet.gallery
    monkeypatch.setattr(DecoySet, "gallery", lambda *a, **k: counts_asked.append(a[1]) or real(*a, **k))
    plain = np.flatnonzero(~gallery.mirrored)
    counts = dict(zip(gallery.words, (3, 4, 5), strict=False))
    rows = [int(plain[number % len(plain)]) for number in range(sum(counts.values()))]
    words = [word for word, count in counts.items() for _ in range(count)]
    assert gallery.codes is not None
    views = np.stack([rows, rows], axis=1)
    exemplars = [Exemplar(word, f"{word} {number}") for number, word in enumerate(words)]
    result = Spotter(spotter.encoder).search(
        long_track, Gallery.of(exemplars, gallery.embeddings[views], gallery.codes[views])
    )
    assert all(hit.false_alarms_per_hour is not None for hit in result.spottings)
    assert counts_asked == [3]


def test_signs_are_found_where_they_are_with_their_spans(spotter: Spotter, gallery: Gallery, signing: Signing) -> None:
    result = spotter.search(signing.footage, gallery, SpotOptions(threshold=0.0, top=1))
    assert {hit.word for hit in result.spottings} == set(signing.words)
    for hit in result.spottings:
        assert hit.time == pytest.approx((hit.start + hit.end) / 2, abs=0.0015)  # all three are rounded to 1 ms
        assert hit.end - hit.start < 2.0
        assert result.best[hit.word] == replace(hit, confidence="")
    order = [hit.word for hit in result.spottings if hit.word != "river"]  # which is signed twice
    assert order == [word for word in signing.words if word != "river"]


@pytest.mark.parametrize("match", ["alignment", "embedding"])
def test_an_exemplar_does_not_find_itself_where_it_was_cut_out(
    spotter: Spotter, signing: Signing, match: Literal["alignment", "embedding"], tmp_path: Path
) -> None:
    """In the same video, however the file is called; another exemplar still finds the sign there, as if alone."""
    options = SpotOptions(threshold=0.0, match=match)
    footage, renamed = (tmp_path / f"{name}.pose" for name in ("footage", "renamed"))
    for path in (footage, renamed):
        write_landmarks(signing.footage, path)
    write_landmarks(signing.exemplars["apple"], tmp_path / "apple.pose")
    other = Exemplar("apple", "other", tmp_path / "apple.pose")
    expected = spotter.search(footage, [other], options)
    original = expected.best["apple"]
    cut_out = Exemplar("apple", "own", renamed, segment=original.segment)
    spottings = spotter.search(replace(spotter.embed(footage), source="of another video"), [cut_out], options).spottings
    assert max(hit.score for hit in spottings if hit.segment.overlap(original.segment)) > 0.8
    for within in (None, original.segment.padded(0.5)):
        alone = spotter.search(footage, [cut_out], options, within=within)
        assert all(hit.score == 0 or not hit.segment.overlap(original.segment) for hit in alone.spottings)
        both = spotter.search(footage, [cut_out, other], options, within=within).best["apple"]
        assert (both.segment, both.exemplar) == (original.segment, "other")
        assert both.score == pytest.approx(original.score, abs=2e-6)


@pytest.mark.parametrize("match", ["alignment", "embedding"])
def test_scores_of_words_are_those_of_the_best_locations(
    spotter: Spotter, gallery: Gallery, signing: Signing, match: Literal["alignment", "embedding"]
) -> None:
    options = SpotOptions(threshold=1.0, match=match)
    track = spotter.embed(signing.footage)
    scores = spotter.word_scores(track, gallery, options)
    end = track.grid.frames / track.grid.fps
    for within in (Segment(0.0, end), Segment(1.0, 2.5), Segment(3.03, 3.05), Segment(end - 0.7, end)):
        best = spotter.search(track, gallery, options, within=within).best
        expected = {word: best_spotting.score for word, best_spotting in best.items()}
        assert scores.highest(within) == pytest.approx(expected, abs=2e-6)
        every = spotter.search(track, gallery, SpotOptions(threshold=0.0), within=within).best
        unread = {word: replace(best_spotting, false_alarms_per_hour=None) for word, best_spotting in every.items()}
        assert spotter.best_locations(track, gallery, [within, within]) == [unread, unread]
    assert scores.highest(Segment(end + 5, end + 6)) == {}


@pytest.mark.parametrize("match", ["alignment", "embedding"])
def test_scores_of_exemplars_are_kept_of_a_search_in_a_part_of_a_video(
    spotter: Spotter, gallery: Gallery, signing: Signing, match: Literal["alignment", "embedding"]
) -> None:
    options, within = SpotOptions(threshold=1.0, match=match), Segment(1.0, 4.0)
    track = spotter.embed(signing.footage)
    one = replace(
        gallery, exemplars=(replace(gallery.exemplars[0], word=gallery.exemplars[1].word), *gallery.exemplars[1:])
    )
    part, entire = spotter.search(track, one, options, within=within), spotter.search(track, one, options)
    for result in (part, entire):
        for word in one.words:
            rows = [number for number, exemplar in enumerate(one.exemplars) if exemplar.word == word]
            np.testing.assert_allclose(
                result.exemplar_curves(word), [result.curve(number) for number in rows], atol=1e-6
            )
            best = result.word_curve(word)
            inside = (result.times >= within.start) & (result.times <= within.end) if result is part else slice(None)
            assert best[inside].max() == pytest.approx(result.best[word].score, abs=1e-6)


@pytest.mark.parametrize("match", ["alignment", "embedding"])
def test_spottings_in_a_part_of_a_video_do_not_depend_on_the_other_words(
    spotter: Spotter, gallery: Gallery, signing: Signing, match: Literal["alignment", "embedding"]
) -> None:
    """To the last digit, though products of other sizes are rounded otherwise."""
    options, within = SpotOptions(threshold=0.0, match=match), Segment(0.5, 5.0)
    track = spotter.embed(signing.footage)
    together = Spotter(spotter.encoder).search(track, gallery, options, within=within)
    for word in gallery.words:
        alone = Spotter(spotter.encoder).search(track, gallery.of_words([word]), options, within=within)
        assert list(alone.spottings) == [hit for hit in together.spottings if hit.word == word]
        curves = [alone.exemplar_curves(word), together.exemplar_curves(word)]
        np.testing.assert_array_equal(*curves)


def test_decoys_are_searched_in_background_signing_once_for_all_videos(
    coder_encoder: Encoder, gallery: Gallery, signing: Signing, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both videos are short; only what depends on the video is searched for in the second one."""
    spotter = Spotter(coder_encoder)
    decoys = decoys_of(coder_encoder)
    assert decoys is not None
    searched: list[int] = []
    real = AlignmentMatcher.compared

    def watched(self, rows, out=None):
        if len(self.times) == len(decoys.background):
            searched.append(len(rows))
        return real(self, rows, out)

    monkeypatch.setattr(AlignmentMatcher, "compared", watched)
    tracks = [spotter.embed(signing.footage), spotter.embed(signing.footage)]
    first, again = (spotter.search(track, gallery, SpotOptions(threshold=0.3)) for track in tracks[:1] * 2)
    once = len(searched)
    assert once > 0
    other = spotter.search(tracks[1], gallery, SpotOptions(threshold=0.3))
    assert len(searched) == once
    assert first.spottings == again.spottings == other.spottings
    spotter.search(tracks[1], gallery, SpotOptions(threshold=0.3, mirror=False))  # other decoys
    assert len(searched) > once


def test_tracks_that_are_searched_at_once_do_not_share_a_cache(spotter: Spotter, signing: Signing) -> None:
    """A server searches in threads: the cache of one track is never given for another."""
    tracks = [spotter.embed(signing.footage[: 60 + number]) for number in range(2)]
    last, caches = LastTrack(), list[tuple[int, TrackCache]]()

    def ask(number: int) -> None:
        for _ in range(1000):
            caches.append((number, last.cache(tracks[number], by_codes=True, mirror=True)))

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=ask, args=(number,)) for number in (0, 1, 0, 1)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    of_track: dict[int, int] = {}
    assert all(of_track.setdefault(id(cache), number) == number for number, cache in caches)


def test_rates_fall_with_the_score_and_decide_by_default(spotter: Spotter, gallery: Gallery, long_track: Track) -> None:
    searched = spotter.search(long_track, gallery, SpotOptions(threshold=0.0))
    every = searched.spottings
    for word in gallery.words:
        hits = sorted((hit for hit in every if hit.word == word), key=lambda hit: hit.score)
        rates = [hit.false_alarms_per_hour or 0.0 for hit in hits]
        assert rates == sorted(rates, reverse=True)
        assert min(rates) > 0
    by_rate = searched.default_spottings
    assert spotter.spot(long_track, gallery) == list(by_rate)
    assert len(by_rate) < len(every)
    assert all(hit.score >= searched.default_thresholds[hit.word] for hit in by_rate)


def test_rates_and_thresholds_are_the_same_decision(spotter: Spotter, gallery: Gallery, long_track: Track) -> None:
    """No hit above what is allowed, none below is lost, whatever the other words are."""
    every = spotter.search(long_track, gallery, SpotOptions(threshold=0.0)).spottings
    for rate in (3000.0, 300.0, 20.0, 3.0):
        options = SpotOptions(false_alarms_per_hour=rate)
        hits = spotter.search(long_track, gallery, options).spottings
        places = {(hit.word, hit.time) for hit in hits}
        assert places == {(hit.word, hit.time) for hit in every if (hit.false_alarms_per_hour or 0) <= rate}
        for word in gallery.words:
            alone = spotter.search(long_track, gallery.of_words([word]), options).spottings
            assert {(hit.word, hit.time) for hit in alone} == {located for located in places if located[0] == word}


def test_a_short_video_reports_no_rates(spotter: Spotter, gallery: Gallery, signing: Signing) -> None:
    """Seconds of signing are too few to say how often chance reaches a score in an hour."""
    every = spotter.search(signing.footage, gallery, SpotOptions(threshold=0.3))
    assert every.spottings
    assert {hit.false_alarms_per_hour for hit in (*every.spottings, *every.best.values())} == {None}
    assert {hit.confidence for hit in every.spottings} <= {"sure", "likely", "check"}
    assert len(spotter.spot(signing.footage, gallery)) < len(every.spottings)


def test_thresholds_do_not_jump_with_the_length_of_a_video(
    spotter: Spotter, gallery: Gallery, long_track: Track
) -> None:
    """Neither below nor at a minute, from which on rates are reported."""
    for border in (20.0, SHORTEST_VIDEO, 80.0):
        before, after = (spotter.search(_first(long_track, border + s), gallery).thresholds for s in (-0.2, 0.2))
        for word in gallery.words:
            assert after[word] == pytest.approx(before[word], abs=0.02)


def _first(track: Track, seconds: float) -> Track:
    frames = round(seconds * track.grid.fps)
    return replace(
        track,
        embeddings=track.embeddings[: frames - track.grid.window + 1],
        codes=None if track.codes is None else track.codes[:frames],
        grid=replace(track.grid, frames=frames),
    )


def test_words_compete_for_a_location(spotter: Spotter, gallery: Gallery, signing: Signing) -> None:
    every = spotter.spot(signing.footage, gallery, threshold=0.3)
    best = spotter.spot(signing.footage, gallery, threshold=0.3, compete=True)
    places = {(hit.word, hit.time) for hit in best}
    assert places < {(hit.word, hit.time) for hit in every}
    for lost in (hit for hit in every if (hit.word, hit.time) not in places):
        assert any(lost.segment.padded(0.25).overlap(hit.segment.padded(0.25)) for hit in best)
    for one, other in itertools.pairwise(best):
        assert one.segment.overlap(other.segment) <= 0.3 * min(one.segment.duration, other.segment.duration) + 1e-9


def test_a_part_of_a_video_is_read_by_all_of_it_and_decoys_are_searched_once(
    coder_encoder: Encoder, gallery: Gallery, long_track: Track, monkeypatch: pytest.MonkeyPatch
) -> None:
    spotter, apple = Spotter(coder_encoder), gallery.of_words(["apple"])
    counts: list[int] = []
    search_decoys = DecoySet.gallery

    def counted(decoys: DecoySet, exemplars: int, *, mirror: bool) -> Gallery:
        counts.append(exemplars)
        return search_decoys(decoys, exemplars, mirror=mirror)

    monkeypatch.setattr(DecoySet, "gallery", counted)
    entire = spotter.search(long_track, apple, SpotOptions(threshold=0.3))
    for hit in entire.spottings[:3]:
        around, track = Segment(hit.start, hit.end), replace(long_track, video=long_track.video)
        part = spotter.search(track, apple, SpotOptions(threshold=0.3), within=around)
        assert [(one.time, one.score, one.false_alarms_per_hour) for one in part.spottings] == [
            (hit.time, pytest.approx(hit.score, abs=2e-6), pytest.approx(hit.false_alarms_per_hour, rel=0.01))
        ]  # products of other sizes; rates have three digits
    assert counts == [1]
    spotter.search(replace(long_track, embeddings=long_track.embeddings.copy()), apple)
    assert counts == [1, 1]  # another track


def test_decoys_of_a_long_video_are_searched_in_a_sample_of_it(
    spotter: Spotter, gallery: Gallery, long_track: Track, monkeypatch: pytest.MonkeyPatch
) -> None:
    every = spotter.spot(long_track, gallery, threshold=0.3)
    monkeypatch.setattr(track_search, "_SAMPLE", 45.0)
    some = Spotter(spotter.encoder).spot(long_track, gallery, threshold=0.3)
    assert [hit.time for hit in some] == [hit.time for hit in every]
    pairs = zip(every, some, strict=True)
    rates = np.array([(one.false_alarms_per_hour, two.false_alarms_per_hour) for one, two in pairs], float)
    apart = np.abs(np.log(rates[:, 0] / rates[:, 1]))[rates[:, 0] > 30]
    assert 0 < np.median(apart) < np.log(1.5)


def _later(footage: Landmarks, turn: int) -> Landmarks:
    return replace(footage, times=footage.times + turn * (footage.times[-1] + 1 / footage.fps))


def test_the_words_of_a_dictionary_are_decoys_for_each_other_where_an_encoder_brings_none(
    encoder: Encoder, signing: Signing
) -> None:
    """An encoder of embeddings alone: as for RGB, with no decoys and no table in its card."""
    plain = Spotter(encoder)
    few, short = plain_gallery(plain, signing), plain.embed(signing.footage)
    often = round(1.5 * SHORTEST_VIDEO / (short.grid.frames / short.grid.fps))
    embeddings = np.concatenate([short.embeddings] * often)
    grid = replace(short.grid, frames=len(embeddings) + short.grid.window - 1)
    track = replace(short, embeddings=embeddings, grid=grid)
    assert len(few.words) < FEWEST_WORDS
    assert all(hit.false_alarms_per_hour is None for hit in plain.spot(track, few, threshold=0.0))
    with pytest.raises(OptionsError):
        plain.spot(track, few, false_alarms_per_hour=30.0)
    random = np.random.default_rng(3)
    others = random.normal(size=(FEWEST_WORDS, few.embeddings.shape[1])).astype(np.float32)
    others /= np.linalg.norm(others, axis=1, keepdims=True)
    exemplars = [*few.exemplars, *(Exemplar(f"other {number}", str(number)) for number in range(FEWEST_WORDS))]
    more = Gallery.of(exemplars, np.concatenate([few.embeddings, others]))
    assert all((hit.false_alarms_per_hour or 0) > 0 for hit in plain.spot(track, more, threshold=0.0))
    counts = [len(plain.spot(track, more, false_alarms_per_hour=rate)) for rate in (2000.0, 60.0)]
    assert counts[0] > counts[1]


def test_the_match_can_be_chosen(spotter: Spotter, gallery: Gallery, signing: Signing, encoder: Encoder) -> None:
    by_embedding = spotter.search(signing.footage, gallery, SpotOptions(threshold=0.0, top=1, match="embedding"))
    by_alignment = spotter.search(signing.footage, gallery, SpotOptions(threshold=0.0, top=1, match="alignment"))
    assert len(by_embedding.times) < len(by_alignment.times) == by_alignment.track.grid.frames
    plain = Spotter(encoder)  # an encoder without frame codes
    with pytest.raises(TrackError):
        plain.search(signing.footage, plain_gallery(plain, signing), SpotOptions(match="alignment"))
    older = replace(spotter.embed(signing.footage), codes=None)
    with pytest.raises(TrackError):
        spotter.search(older, gallery)
    assert spotter.spot(older, gallery, match="embedding", threshold=0.0, top=1)


def plain_gallery(spotter: Spotter, signing: Signing) -> Gallery:
    embedder = ExemplarEmbedder(spotter.encoder)
    words = list(signing.exemplars)
    rows = np.stack([embedder.embed_source(signing.exemplars[word]).embeddings for word in words])
    return Gallery.of([Exemplar(word, word) for word in words], rows)


def test_an_isolated_sign_is_identified(spotter: Spotter, gallery: Gallery, signing: Signing) -> None:
    for word, landmarks in signing.exemplars.items():
        matches = spotter.identify(landmarks, gallery)
        assert matches[0].word == word
        assert {match.word for match in matches} == set(gallery.words)
        assert [match.score for match in matches] == sorted((match.score for match in matches), reverse=True)
    turned = spotter.identify(signing.exemplars["apple"].mirrored(), gallery, top=1)
    assert (turned[0].word, turned[0].mirrored) == ("apple", True)
    assert spotter.identify(signing.exemplars["apple"], gallery, 2, SpotOptions(match="embedding"))[0].word == "apple"
