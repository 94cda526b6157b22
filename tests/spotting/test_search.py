"""The search by frame codes: signs found with their spans, scores read against decoys, signs identified."""

import sys
import threading
from dataclasses import replace
from typing import Literal

import numpy as np
import pytest
import torch

from experiments.frame_codes.assembling import assemble
from experiments.frame_codes.world_clips import world_clips
from signspot.embedding.exemplars import ExemplarEmbedder, Gallery
from signspot.errors import OptionsError, TrackError
from signspot.landmarks.landmarks import Landmarks, concatenate
from signspot.models.encoder import Encoder, make_encoder
from signspot.models.frame_coder import FrameCoder
from signspot.models.registry import build
from signspot.spotting import moments, search
from signspot.spotting.alarms import FEWEST_WORDS, DecoyPeaks
from signspot.spotting.decoys import Cohort, cohort_of
from signspot.spotting.matching import AlignmentMatcher
from signspot.spotting.options import SpotOptions
from signspot.spotting.search import DEFAULT_FLOOR, is_default
from signspot.spotting.spotter import Spotter, _DecoysOfTrack
from signspot.types import Exemplar, Segment, Spotting
from tests.fixtures.spotting import Stretch


@pytest.fixture(scope="module")
def coder_encoder() -> Encoder:
    """Plain geometry, which learns nothing, with a few decoys of synthetic signing."""
    torch.manual_seed(0)
    coder = FrameCoder(build("frame_codes", codes=48, width=0, embedding=16, mlp=False).trunk.options).eval()
    return assemble("plain", coder, world_clips(24, 3, 5), {}, 1)


@pytest.fixture(scope="module")
def spotter(coder_encoder: Encoder) -> Spotter:
    return Spotter(coder_encoder)


@pytest.fixture(scope="module")
def gallery(spotter: Spotter, stretch: Stretch) -> Gallery:
    embedder = ExemplarEmbedder(spotter.encoder)
    views = [embedder.embed_source(landmarks, mirror=True) for landmarks in stretch.exemplars.values()]
    codes = np.stack([view.codes for view in views if view.codes is not None])
    exemplars = [Exemplar(word, word) for word in stretch.exemplars]
    return Gallery.of(exemplars, np.stack([view.embeddings for view in views]), codes)


def test_words_with_more_exemplars_than_decoys_have_share_one_search_of_decoys(
    spotter: Spotter, gallery: Gallery, stretch: Stretch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Words with 3, 4 and 5 exemplars are read by the same decoys, which have 3 each."""
    asked: list[int] = []
    real = Cohort.gallery
    monkeypatch.setattr(Cohort, "gallery", lambda *a, **k: asked.append(a[1]) or real(*a, **k))
    plain = np.flatnonzero(~gallery.mirrored)
    counts = dict(zip(gallery.words, (3, 4, 5), strict=False))
    rows = [int(plain[place % len(plain)]) for place in range(sum(counts.values()))]
    words = [word for word, count in counts.items() for _ in range(count)]
    assert gallery.codes is not None
    views = np.stack([rows, rows], axis=1)
    exemplars = [Exemplar(word, f"{word} {place}") for place, word in enumerate(words)]
    found = spotter.search(stretch.footage, Gallery.of(exemplars, gallery.embeddings[views], gallery.codes[views]))
    assert all(hit.false_alarms_per_hour is not None for hit in found.spottings)
    assert asked == [3]


def test_signs_are_found_where_they_are_with_their_spans(spotter: Spotter, gallery: Gallery, stretch: Stretch) -> None:
    found = spotter.search(stretch.footage, gallery, SpotOptions(threshold=0.0, top=1))
    assert {hit.word for hit in found.spottings} == set(stretch.words)
    for hit in found.spottings:
        assert hit.start < hit.time < hit.end
        assert hit.end - hit.start < 2.0
        assert found.best[hit.word] == hit
    order = [hit.word for hit in found.spottings if hit.word != "river"]  # which is signed twice
    assert order == [word for word in stretch.words if word != "river"]


@pytest.mark.parametrize("match", ["alignment", "embedding"])
def test_scores_of_words_are_those_of_the_best_places(
    spotter: Spotter, gallery: Gallery, stretch: Stretch, match: Literal["alignment", "embedding"]
) -> None:
    options = SpotOptions(threshold=1.0, match=match)
    track = spotter.embed(stretch.footage)
    whole = spotter.word_scores(track, gallery, options)
    end = track.grid.frames / track.grid.fps
    for within in (Segment(0.0, end), Segment(1.0, 2.5), Segment(3.03, 3.05), Segment(end - 0.7, end)):
        best = spotter.search(track, gallery, options, within=within).best
        expected = {word: place.score for word, place in best.items()}
        assert whole.highest(within) == pytest.approx(expected, abs=2e-6)
        every = spotter.search(track, gallery, SpotOptions(threshold=0.0), within=within).best
        unread = {word: replace(place, false_alarms_per_hour=None) for word, place in every.items()}
        assert spotter.best_places(track, gallery, [within, within]) == [unread, unread]
    assert whole.highest(Segment(end + 5, end + 6)) == {}


@pytest.mark.parametrize("match", ["alignment", "embedding"])
def test_scores_of_exemplars_are_kept_of_a_search_in_a_part_of_a_video(
    spotter: Spotter, gallery: Gallery, stretch: Stretch, match: Literal["alignment", "embedding"]
) -> None:
    options, within = SpotOptions(threshold=1.0, match=match), Segment(1.0, 4.0)
    track = spotter.embed(stretch.footage)
    one = replace(
        gallery, exemplars=(replace(gallery.exemplars[0], word=gallery.exemplars[1].word), *gallery.exemplars[1:])
    )
    found, whole = spotter.search(track, one, options, within=within), spotter.search(track, one, options)
    assert found.kept
    assert not whole.kept
    for each in (found, whole):
        for word in one.words:
            own = [number for number, exemplar in enumerate(one.exemplars) if exemplar.word == word]
            np.testing.assert_allclose(each.exemplar_curves(word), [each.curve(number) for number in own], atol=1e-6)
            best = each.exemplar_curves(word).max(axis=0)
            inside = (each.times >= within.start) & (each.times <= within.end) if each is found else slice(None)
            assert best[inside].max() == pytest.approx(each.best[word].score, abs=1e-6)


@pytest.mark.parametrize("match", ["alignment", "embedding"])
def test_spottings_in_a_part_of_a_video_do_not_depend_on_the_other_words(
    spotter: Spotter, gallery: Gallery, stretch: Stretch, match: Literal["alignment", "embedding"]
) -> None:
    """To the last digit, though products of other sizes are rounded otherwise."""
    options, within = SpotOptions(threshold=0.0, match=match), Segment(0.5, 5.0)
    track = spotter.embed(stretch.footage)
    together = Spotter(spotter.encoder).search(track, gallery, options, within=within)
    for word in gallery.words:
        alone = Spotter(spotter.encoder).search(track, gallery.of_words([word]), options, within=within)
        assert list(alone.spottings) == [hit for hit in together.spottings if hit.word == word]
        own = [alone.exemplar_curves(word), together.exemplar_curves(word)]
        np.testing.assert_array_equal(*own)


def test_decoys_are_searched_in_background_signing_once_for_all_videos(
    coder_encoder: Encoder, gallery: Gallery, stretch: Stretch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both videos are short; only what depends on the video is searched for in the second one."""
    spotter = Spotter(coder_encoder)
    cohort = cohort_of(coder_encoder)
    assert cohort is not None
    searched: list[int] = []
    real = AlignmentMatcher.compared

    def watched(self, rows, out=None):
        if len(self.times) == len(cohort.background):
            searched.append(len(rows))
        return real(self, rows, out)

    monkeypatch.setattr(AlignmentMatcher, "compared", watched)
    tracks = [spotter.embed(stretch.footage), spotter.embed(stretch.footage)]
    first, again = (spotter.search(track, gallery, SpotOptions(threshold=0.3)) for track in tracks[:1] * 2)
    once = len(searched)
    assert once > 0
    other = spotter.search(tracks[1], gallery, SpotOptions(threshold=0.3))
    assert len(searched) == once
    assert first.spottings == again.spottings == other.spottings
    spotter.search(tracks[1], gallery, SpotOptions(threshold=0.3, mirror=False))  # other decoys
    assert len(searched) > once


def test_tracks_that_are_searched_at_once_do_not_share_what_decoys_reached(
    spotter: Spotter, gallery: Gallery, stretch: Stretch
) -> None:
    """A server searches in threads: what is known of one track is never given for another."""
    tracks = [spotter.embed(stretch.footage[: 60 + number]) for number in range(2)]
    known, given = _DecoysOfTrack(), list[tuple[int, DecoyPeaks]]()

    def ask(number: int) -> None:
        for _ in range(3000):
            given.append((number, known.of(tracks[number], gallery, SpotOptions())))

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
    assert all(of_track.setdefault(id(peaks), number) == number for number, peaks in given)


def test_every_spotting_says_how_many_false_alarms_its_score_means(
    spotter: Spotter, gallery: Gallery, stretch: Stretch
) -> None:
    found = spotter.search(stretch.footage, gallery, SpotOptions(threshold=0.3))
    rates = [hit.false_alarms_per_hour for hit in found.spottings]
    assert all(rate is not None and rate > 0 for rate in rates)
    for word in gallery.words:
        own = sorted((h for h in found.spottings if h.word == word and not h.mirrored), key=lambda h: h.score)
        alarms = [hit.false_alarms_per_hour or 0.0 for hit in own]
        assert alarms == sorted(alarms, reverse=True)


def test_fewer_allowed_alarms_give_fewer_spottings(spotter: Spotter, gallery: Gallery, stretch: Stretch) -> None:
    counts = []
    for rate in (3000.0, 300.0, 3.0):
        found = spotter.search(stretch.footage, gallery, SpotOptions(false_alarms_per_hour=rate))
        assert all((hit.false_alarms_per_hour or 0) <= rate * 1.01 for hit in found.spottings)
        counts.append(len(found.spottings))
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > counts[-1]


def test_a_short_video_says_that_its_rates_are_rough(spotter: Spotter, gallery: Gallery, stretch: Stretch) -> None:
    short = spotter.search(stretch.footage, gallery)
    assert short.rough_rates
    often = round(90 / (len(stretch.footage) / stretch.footage.fps)) + 1
    long = spotter.embed(concatenate([_later(stretch.footage, turn) for turn in range(often)]))
    found = spotter.search(long, gallery)
    assert not found.rough_rates
    # By default false alarms decide where the video is long enough to tell, and the encoder's threshold elsewhere.
    every = spotter.search(long, gallery, SpotOptions(threshold=0.0)).spottings
    threshold = spotter.threshold(SpotOptions())
    assert set(found.spottings) == {hit for hit in every if is_default(hit, threshold, rough=False)}
    by_score = {hit for hit in every if is_default(hit, threshold, rough=True)}
    assert set(spotter.search(long, gallery, SpotOptions(threshold=threshold)).spottings) == by_score
    assert set(found.spottings) != by_score


@pytest.mark.parametrize(
    ("score", "rate", "rough", "is_found"),
    [
        (0.80, 5.0, False, True),  # below the encoder's threshold, and yet a score that chance hardly reaches here
        (0.80, 5.0, True, False),  # the same in a video whose rates are rough
        (0.80, None, False, False),
        (0.90, 50.0, False, False),  # a high score that chance reaches often here
        (0.90, 50.0, True, True),
        (DEFAULT_FLOOR - 0.01, 0.1, False, False),
    ],
)
def test_false_alarms_decide_by_default_where_they_can_be_told(
    score: float, rate: float | None, rough: bool, is_found: bool
) -> None:
    spotting = Spotting("apple", "v.mp4", 1.0, 0.5, 1.5, score, "one", false_alarms_per_hour=rate)
    assert is_default(spotting, 0.84, rough=rough) is is_found


def test_a_part_of_a_video_is_read_by_all_of_it_and_decoys_are_searched_once(
    spotter: Spotter, gallery: Gallery, stretch: Stretch, monkeypatch: pytest.MonkeyPatch
) -> None:
    track, apple = spotter.embed(stretch.footage), gallery.of_words(["apple"])
    asked: list[int] = []
    search_decoys = Cohort.gallery

    def counted(cohort: Cohort, exemplars: int, *, mirror: bool) -> Gallery:
        asked.append(exemplars)
        return search_decoys(cohort, exemplars, mirror=mirror)

    monkeypatch.setattr(Cohort, "gallery", counted)
    whole = spotter.search(track, apple, SpotOptions(threshold=0.3))
    for hit in whole.spottings:
        around = Segment(hit.start, hit.end)
        part = spotter.search(replace(track, video=track.video), apple, SpotOptions(threshold=0.3), within=around)
        assert hit in part.spottings  # its rate, too
    assert asked == [1]
    spotter.search(spotter.embed(stretch.footage), apple)
    assert asked == [1, 1]  # another track


def test_decoys_of_a_long_video_are_searched_in_a_sample_of_it(
    spotter: Spotter, gallery: Gallery, stretch: Stretch, monkeypatch: pytest.MonkeyPatch
) -> None:
    lasts = len(stretch.footage) / stretch.footage.fps
    track = spotter.embed(concatenate([_later(stretch.footage, turn) for turn in range(round(90 / lasts) + 1)]))
    every = spotter.search(track, gallery, SpotOptions(threshold=0.3)).spottings
    for module in (moments, search):
        monkeypatch.setattr(module, "SAMPLE", 45.0)
    other = Spotter(spotter.encoder)
    some = other.search(track, gallery, SpotOptions(threshold=0.3)).spottings
    assert [hit.time for hit in some] == [hit.time for hit in every]
    rates = np.array(
        [(one.false_alarms_per_hour, two.false_alarms_per_hour) for one, two in zip(every, some, strict=True)], float
    )
    apart = np.abs(np.log(rates[:, 0] / rates[:, 1]))[rates[:, 0] > 30]
    assert 0 < np.median(apart) < np.log(1.5)


def _later(footage: Landmarks, turn: int) -> Landmarks:
    return replace(footage, times=footage.times + turn * (footage.times[-1] + 1 / footage.fps))


def test_the_words_of_a_dictionary_are_decoys_for_each_other_where_an_encoder_brings_none(
    encoder: Encoder, stretch: Stretch
) -> None:
    """An encoder of embeddings alone: as for RGB, with no cohort and no table in its card."""
    plain = Spotter(encoder)
    few = plain_gallery(plain, stretch)
    assert len(few.words) < FEWEST_WORDS
    assert all(hit.false_alarms_per_hour is None for hit in plain.spot(stretch.footage, few, threshold=0.0))
    with pytest.raises(OptionsError, match="not calibrated"):
        plain.spot(stretch.footage, few, false_alarms_per_hour=30.0)
    random = np.random.default_rng(3)
    others = random.normal(size=(FEWEST_WORDS, few.embeddings.shape[1])).astype(np.float32)
    others /= np.linalg.norm(others, axis=1, keepdims=True)
    more = Gallery.of(
        [*few.exemplars, *(Exemplar(f"other {number}", f"other {number}") for number in range(FEWEST_WORDS))],
        np.concatenate([few.embeddings, others]),
    )
    assert all((hit.false_alarms_per_hour or 0) > 0 for hit in plain.spot(stretch.footage, more, threshold=0.0))
    counts = [len(plain.spot(stretch.footage, more, false_alarms_per_hour=rate)) for rate in (2000.0, 60.0)]
    assert counts[0] > counts[1]


def test_the_match_can_be_chosen(spotter: Spotter, gallery: Gallery, stretch: Stretch, encoder: Encoder) -> None:
    by_embedding = spotter.search(stretch.footage, gallery, SpotOptions(threshold=0.0, top=1, match="embedding"))
    by_alignment = spotter.search(stretch.footage, gallery, SpotOptions(threshold=0.0, top=1, match="alignment"))
    assert len(by_embedding.times) < len(by_alignment.times) == by_alignment.track.grid.frames
    plain = Spotter(encoder)  # an encoder without frame codes
    with pytest.raises(TrackError, match="the exemplars have no frame codes to align"):
        plain.search(stretch.footage, plain_gallery(plain, stretch), SpotOptions(match="alignment"))
    older = replace(spotter.embed(stretch.footage), codes=None)
    with pytest.raises(TrackError, match=r"has no frame codes.*Make it again with: signspot embed"):
        spotter.search(older, gallery)
    assert spotter.spot(older, gallery, match="embedding", threshold=0.0, top=1)
    with pytest.raises(OptionsError, match="not both"):
        SpotOptions(threshold=0.5, false_alarms_per_hour=1)


def plain_gallery(spotter: Spotter, stretch: Stretch) -> Gallery:
    embedder = ExemplarEmbedder(spotter.encoder)
    words = list(stretch.exemplars)
    rows = np.stack([embedder.embed_source(stretch.exemplars[word]).embeddings for word in words])
    return Gallery.of([Exemplar(word, word) for word in words], rows)


def test_an_isolated_sign_is_identified(spotter: Spotter, gallery: Gallery, stretch: Stretch) -> None:
    for word, landmarks in stretch.exemplars.items():
        found = spotter.identify(landmarks, gallery)
        assert found[0].word == word
        assert {match.word for match in found} == set(gallery.words)
        assert [match.score for match in found] == sorted((match.score for match in found), reverse=True)
    turned = spotter.identify(stretch.exemplars["apple"].mirrored(), gallery, top=1)
    assert (turned[0].word, turned[0].mirrored) == ("apple", True)
    assert spotter.identify(stretch.exemplars["apple"], gallery, 2, SpotOptions(match="embedding"))[0].word == "apple"


def test_an_exemplar_near_to_everything_costs_more(spotter: Spotter) -> None:
    cohort = cohort_of(spotter.encoder)
    assert cohort is not None
    typical = cohort.codes[:20, 0]
    everything = np.repeat(cohort.codes[:, 0].mean(axis=0)[None], 1, axis=0)
    assert cohort.corrections_of(everything)[0] > cohort.corrections_of(typical).mean()
    assert cohort.corrections_of(typical).tolist() == cohort.corrections_of(typical).tolist()  # remembered


def test_words_of_a_gallery_are_decoys_for_each_other_when_a_sign_is_identified(spotter: Spotter) -> None:
    """An exemplar amid the others of its gallery costs more against one far from them than without them."""
    cohort = cohort_of(spotter.encoder)
    assert cohort is not None
    far, near = cohort.codes[:1, 0] * 3.0, cohort.codes[1:2, 0]
    alike = near + np.linspace(0.01, 0.2, 20, dtype=np.float32)[:, None, None]
    codes = np.concatenate([far, near, alike])
    shown = [Exemplar(f"word {number}", str(number)) for number in range(len(codes))]
    gallery = Gallery.of(shown, np.zeros((len(codes), 1, 1), np.float32), codes[:, None])
    corrections, plain = cohort.corrections_in(gallery), cohort.corrections_of(codes)
    assert corrections[1] - corrections[0] > plain[1] - plain[0] + 0.1
    assert np.isclose(corrections.mean(), plain.mean(), rtol=1e-3)
    alone = Gallery.of(shown[:1], np.zeros((1, 1, 1), np.float32), codes[:1, None])
    assert np.allclose(cohort.corrections_in(alone), plain[:1], rtol=1e-4)


def test_all_words_of_a_gallery_of_some_hundreds_are_decoys_for_each_other(spotter: Spotter) -> None:
    cohort = cohort_of(spotter.encoder)
    assert cohort is not None
    random, shape = np.random.default_rng(4), cohort.codes.shape[2:]
    codes = (20 * random.normal(size=(150, *shape))).astype(np.float32)
    between = sorted(set(range(150)) - set(np.linspace(0, 149, 100).astype(int).tolist()))[:20]
    codes[between] = codes[between[0]] + 0.01 * random.normal(size=(20, *shape)).astype(np.float32)
    shown = [Exemplar(f"word {number}", str(number)) for number in range(len(codes))]
    gallery = Gallery.of(shown, np.zeros((len(codes), 1, 1), np.float32), codes[:, None])
    corrections = cohort.corrections_in(gallery)
    others = np.delete(corrections, between)
    assert corrections[between].min() > others.max()  # each is near to the other nineteen


def test_decoys_have_as_many_exemplars_as_asked_for(spotter: Spotter) -> None:
    cohort = cohort_of(spotter.encoder)
    assert cohort is not None
    assert cohort.most == 3
    one, three = cohort.gallery(1, mirror=False), cohort.gallery(3, mirror=True)
    assert len(three.embeddings) == 6 * len(one.embeddings)
    assert one.words.keys() == three.words.keys()


def test_an_encoder_of_frame_codes_survives_its_file(coder_encoder: Encoder, tmp_path: "object") -> None:
    from pathlib import Path

    from signspot.models.checkpoints import load_encoder, save_encoder

    path = Path(str(tmp_path)) / "plain.safetensors"
    kept = save_encoder(coder_encoder, path)
    again = load_encoder(path)
    assert again.hash == kept.hash
    assert again.contract == replace(coder_encoder.contract)
    cohort, before = cohort_of(again), cohort_of(coder_encoder)
    assert cohort is not None
    assert before is not None
    assert np.array_equal(cohort.codes, before.codes)


def test_make_encoder_knows_codes() -> None:
    made = make_encoder("bare", build("frame_codes", codes=8, width=0, embedding=4, mlp=False))
    assert made.contract.codes == 8
    assert cohort_of(made) is None
