"""A wake sign: alignment frame by frame equals that at once, events come in time, and how distinctive a sign is."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from experiments.applications.synthetic_signs import perform
from signspot.applications.wake import (
    SIGNS_PER_HOUR,
    OnlineAlignment,
    WakeDetector,
    WakeSign,
    WakeStream,
    by_decoys,
    by_dictionary,
    choose_threshold,
    distances_of,
    draw_wake,
    enrol,
    false_alarm_chance,
    open_stream,
    recordings_gallery,
    verify,
    with_distinctiveness,
)
from signspot.embedding.exemplars import ExemplarEmbedder, Gallery
from signspot.errors import NoHandsError, NotAVideoError, OptionsError
from signspot.landmarks.landmarks import Landmarks
from signspot.landmarks.pose_file import write_landmarks
from signspot.spotting.decoys import alignment_scale, decoys_of
from signspot.spotting.matching import STEPS, cost_to_score, path_costs
from signspot.spotting.spotter import Spotter
from signspot.types import Exemplar, Segment
from signspot_synthetic.body.motion import continuous
from signspot_synthetic.body.signers import Role, make_signer
from signspot_synthetic.language.lexicon import Lexicon
from signspot_synthetic.observation import project
from signspot_synthetic.random_streams import named_rng
from tests.applications.conftest import SEED

Stream = tuple[Landmarks, Segment, list[Landmarks]]


def test_costs_frame_by_frame_equal_those_at_once() -> None:
    random = np.random.default_rng(0)
    codes, exemplars = random.normal(size=(40, 6)).astype(np.float32), random.normal(size=(3, 5, 6)).astype(np.float32)
    gallery = Gallery.of([Exemplar("w", str(n)) for n in range(3)], np.eye(3, dtype=np.float32), exemplars[:, None])
    online = OnlineAlignment(gallery, 2.0, None)
    steps = [online.step(code) for code in codes]
    scores = cost_to_score(path_costs(codes, exemplars, STEPS.times(2.0)), 2.0)
    assert np.allclose([score for score, _ in steps], scores.max(axis=0), atol=1e-5)
    assert [row for _, row in steps] == scores.argmax(axis=0).tolist()


@pytest.fixture(scope="module")
def stream(words: Lexicon) -> Stream:
    """Signing in which the first word is the fourth sign, where that is, and three recordings of it."""
    one, two, first, *last = [entry.variants[0] for entry in words.values()]
    others = [one, two, *last]
    signer = make_signer("user", SEED, Role.TEST, left_share=0)
    motion, segments = continuous([*others[:3], first, *others[3:6]], signer, named_rng(SEED, "stream"))
    return project(motion, signer.camera), segments[3], [perform(first, SEED, "user", 2, number) for number in range(3)]


@pytest.fixture(scope="module")
def sign(spotter: Spotter, stream: Stream) -> WakeSign:
    return enrol(spotter, stream[2], rate=60.0)


def test_an_event_comes_soon_after_the_sign(spotter: Spotter, stream: Stream, sign: WakeSign) -> None:
    footage, where, _ = stream
    assert len(sign.recording_scores) == 3
    assert sign.background_hours > 0
    waiting = WakeStream(spotter.encoder, sign)
    events = []
    for frame in range(len(footage)):
        events += [(event, float(footage.times[frame])) for event in waiting.push(footage[frame : frame + 1])]
    ((best, when),) = events  # the sign, and no other
    assert abs(best.time - where.end) < 0.5
    assert 0 < when - best.time <= (waiting.latency + 1) / 25
    assert best.latency <= waiting.latency
    assert waiting.breaks == 0
    assert len(waiting._buffer) <= 60, "memory is bounded"


def test_a_sign_that_is_held_is_one_event() -> None:
    gallery = Gallery.of([Exemplar("w", "1")], np.eye(1, dtype=np.float32), np.zeros((1, 1, 2, 1), np.float32))
    bare = WakeSign(gallery, 0.5, 0.0, 0, (), np.empty((0, 0, 0), np.float32))
    courses = {
        "held": [0.9] * 5 + [0.8] * 60,
        "again": [0.9] * 5 + [0.2] * 70 + [0.8] * 5,
        "soon": [0.9] * 5 + [0.2] * 30 + [0.8] * 5,
        "better": [0.9] * 75 + [0.95] * 5,
    }
    events = {}
    for name, course in courses.items():
        scores = np.array([0.2] * 5 + course + [0.2] * 20)
        codes = ((1 / scores - 1) ** 0.25)[:, None].astype(np.float32)  # distances that score so, by a scale of 1
        detector = WakeDetector(bare, 1.0, None, 25.0)
        events[name] = sum(detector.step(code, frame / 25) is not None for frame, code in enumerate(codes))
    assert events == {"held": 1, "again": 2, "soon": 1, "better": 2}


def test_dropped_frames_and_new_sizes_are_reported(spotter: Spotter, stream: Stream, sign: WakeSign) -> None:
    footage, where, _ = stream
    waiting = WakeStream(spotter.encoder, replace(sign, threshold=0.5))
    for frame in range(0, len(footage), 2):  # every other frame is lost: as a stream of half the rate
        waiting.push(footage[frame : frame + 1])
    assert waiting.breaks == 0
    waiting = WakeStream(spotter.encoder, replace(sign, threshold=0.5))
    middle = int(np.searchsorted(footage.times, where.middle))
    events = waiting.push(footage[: middle - 8])
    events += waiting.push(footage[middle + 8 :])
    assert waiting.breaks == 1, "0.6 s are gone"
    waiting.push(replace(footage[-1:], times=footage.times[-1:] + 0.04, size=(10, 10)))
    assert "10x10" in waiting.last_break
    waiting.push(replace(footage[:1], size=(10, 10)))
    assert waiting.breaks == 3, "another size, and a clock that goes back"


def test_enrolment_says_what_it_needs(spotter: Spotter, stream: Stream, sign: WakeSign, tmp_path: Path) -> None:
    footage, _, recordings = stream
    with pytest.raises(OptionsError):
        enrol(spotter, [])
    with pytest.raises(OptionsError):
        enrol(spotter, recordings, rate=0)
    blind = np.full_like(recordings[0].left_hand, np.nan)
    with pytest.raises(NoHandsError):
        enrol(spotter, [replace(recordings[0], left_hand=blind, right_hand=blind)])
    with pytest.raises(OptionsError):
        WakeStream(spotter.encoder, sign, hop=0)
    alone = enrol(spotter, recordings[:1], [footage], rate=1.0)
    assert alone.background_false_alarms == 0
    assert alone.recording_scores == ()
    assert not WakeStream(spotter.encoder, alone).push(footage), "what the background holds gives no alarm"
    with pytest.raises(NotAVideoError):
        next(open_stream("camera:none"))
    write_landmarks(footage, tmp_path / "f.pose")
    assert sum(len(chunk) for chunk in open_stream(str(tmp_path / "f.pose"))) == len(footage)
    assert draw_wake(spotter, sign, str(tmp_path / "f.pose"), []).axes


def test_what_is_nearer_to_a_negative_is_no_event(spotter: Spotter, stream: Stream, sign: WakeSign) -> None:
    footage, where, recordings = stream
    gallery, scores = recordings_gallery(spotter, recordings)
    bare = replace(sign, threshold=0.5, negatives=np.empty((0, 0, 0), np.float32))
    peaks = list(WakeStream(spotter.encoder, bare).peaks(footage))
    (peak,) = [candidate for candidate in peaks if abs(candidate.time - where.end) < 0.5]
    left = WakeStream(spotter.encoder, replace(bare, negatives=peak.codes[None])).push(footage)
    assert all(abs(event.time - where.end) >= 0.5 for event in left)
    far = replace(bare, negatives=peak.codes[None] + 100)
    assert len(WakeStream(spotter.encoder, far).push(footage)) == len(peaks)
    high = [replace(peak, score=0.98)]
    chosen = choose_threshold(spotter.encoder, gallery, 3600.0, high, 1.0, ())
    assert chosen.threshold > 0.9, "once in an hour, a sign that no other gives away reached as much"
    assert len(chosen.negatives) == 1 + len(sign.negatives)
    low = [replace(peak, score=0.75), replace(peak, score=0.71)]
    assert 0.6 < choose_threshold(spotter.encoder, gallery, 360.0, low, 1.0, scores).threshold <= 0.8 * min(scores)
    assert choose_threshold(spotter.encoder, gallery, 3600.0, [], 1.0, scores).threshold == 0.6
    other = [replace(candidate, codes=candidate.codes + 100) for candidate in high]
    assert choose_threshold(spotter.encoder, gallery, 3600.0, other, 1.0, ()).threshold == 0.6, (
        "it does not pass for the sign"
    )


def test_signs_are_verified_by_likeness_and_margin() -> None:
    """Least is a sum of -0.5: the logarithm of usual over own cost, and half of that of negative over own cost."""
    costs = np.array([[1.0, 1.0], [2.0, 2.0], [2.0, 2.0], [1.0, 3.0]])
    usual_costs = np.array([1.0, 2.0, 4.0, 1.6])  # sums 0, -0.69, -0.69 + 0.35, -0.69 + 0.24
    assert verify(costs, usual_costs, 1.0).tolist() == [True, False, True, True]
    assert verify(costs, usual_costs, 0.5).tolist() == [False, False, False, False]
    assert verify(costs[:1], np.array([np.inf]), 0.01).tolist() == [True], "nothing else can be meant"


def test_recordings_that_differ_from_each_other_allow_no_more(spotter: Spotter, sign: WakeSign) -> None:
    """What it may cost to be taken for the sign follows from the recordings, up to two fifths of different signs."""
    most = 0.4 * alignment_scale(spotter.encoder)
    assert sign.gallery.codes is not None
    usual = []
    for factors in ((1.0, 1.0, 1.0), (1.0, 1.0, 9.0)):  # alike; one is nothing like the others
        codes = sign.gallery.codes[:1] * np.array(factors, np.float32)[:, None, None]
        chosen = choose_threshold(spotter.encoder, replace(sign.gallery, codes=codes), 3600.0, [], 1.0, ())
        usual.append(chosen.usual)
    length = float(np.linalg.norm(sign.gallery.codes[0], axis=1).max())
    rounding = length * (codes.shape[2] * 2**-23) ** 0.5  # a distance is the root of a difference of products
    assert usual[0] <= rounding < most / 2
    assert usual[1] == most


def test_a_stream_that_begins_anew_is_not_deaf(spotter: Spotter, stream: Stream, sign: WakeSign) -> None:
    footage, where, _ = stream
    waiting = WakeStream(spotter.encoder, sign)
    first = waiting.push(replace(footage, times=footage.times + 3600))
    again = waiting.push(footage)
    assert waiting.breaks == 1, "the clock went back by an hour"
    assert [event.score for event in again] == [event.score for event in first]
    assert any(abs(event.time - where.end) < 0.5 for event in again)


RECORDINGS = np.zeros((2, 4, 1), np.float32)


def at(distance: float) -> NDArray[np.float32]:
    """(L, C) codes at a distance from the recordings, in all frames."""
    return np.full((4, 1), distance, np.float32)


def gallery_of(*signs: tuple[str, float]) -> Gallery:
    codes = np.stack([at(distance)[None] for _, distance in signs])
    exemplars = [Exemplar(word, f"{word} {number}") for number, (word, _) in enumerate(signs)]
    return Gallery.of(exemplars, np.ones((len(signs), 1, 1), np.float32), codes)


def test_distances_are_in_units_of_what_is_usual() -> None:
    unit = float(distances_of(RECORDINGS, 1.0, at(1.0)[None])[0])
    assert unit > 0
    assert distances_of(RECORDINGS, 0.5, at(3.0)[None])[0] == pytest.approx(6 * unit)


def test_chances_fall_with_the_distance_and_with_negatives() -> None:
    far = np.array([1.0, 1.4, 1.8, 2.5, 4.0])
    usual, negatives = false_alarm_chance(far, negative=False), false_alarm_chance(far, negative=True)
    assert (np.diff(usual) < 0).all()
    assert (negatives <= usual).all()
    assert SIGNS_PER_HOUR * usual[-1] < 0.1


def test_near_words_are_named_and_become_negatives_and_the_sign_itself_does_not() -> None:
    unit = float(distances_of(RECORDINGS, 1.0, at(1.0)[None])[0])
    dictionary = gallery_of(("own", 9.0), ("own", 1.1), ("far", 4.0), ("near", 1.6), ("near", 7.0))
    distinct, negatives = by_dictionary(RECORDINGS, unit, dictionary)
    assert distinct.same == ("own",)
    assert [(word.word, word.distance) for word in distinct.nearest] == [("near", 1.6), ("far", 4.0)]
    assert sorted(negatives[:, 0, 0].tolist()) == pytest.approx([1.6, 4.0, 7.0]), "no exemplar of the sign itself"
    assert distinct.words == 3
    expected = SIGNS_PER_HOUR * float(false_alarm_chance(np.array([1.6, 4.0]), negative=True).mean())
    assert distinct.per_hour == pytest.approx(expected, rel=1e-3)
    alone, none = by_dictionary(RECORDINGS, unit, gallery_of(("own", 1.0)))
    assert (alone.per_hour, alone.nearest, len(none)) == (0.0, (), 0)


def test_decoys_that_crowd_about_the_sign_mean_more_alarms() -> None:
    unit = float(distances_of(RECORDINGS, 1.0, at(1.0)[None])[0])
    rates = []
    for nearest in (1.5, 2.0, 3.0):
        decoys = np.stack([at(far) for far in np.geomspace(nearest, 2 * nearest, 60)])
        distinct = by_decoys(RECORDINGS, unit, decoys, list(range(60)))
        assert (distinct.words, distinct.by_dictionary, distinct.same) == (60, False, ())
        rates.append(distinct.per_hour)
    assert rates[0] > 5 * rates[1] > 25 * rates[2]


def test_enrolment_tells_the_sign_from_its_neighbours(spotter: Spotter, words: Lexicon) -> None:
    first, second, *_ = [entry.variants[0] for entry in words.values()]
    recordings = [perform(first, SEED, "user", 2, number) for number in range(3)]
    clips = {"first": perform(first, SEED, "dictionary", 1), "second": perform(second, SEED, "dictionary", 2)}
    embedder = ExemplarEmbedder(spotter.encoder, spotter.cache)
    views = [embedder.embed_source(clip) for clip in clips.values()]
    codes = np.stack([view.codes for view in views if view.codes is not None])
    gallery = Gallery.of([Exemplar(word, word) for word in clips], np.stack([view.embeddings for view in views]), codes)
    sign, informed = (enrol(spotter, recordings, rate=60.0, dictionary=signs) for signs in (None, gallery))
    assert sign.distinct is not None
    assert informed.distinct is not None
    assert (sign.distinct.by_dictionary, informed.distinct.by_dictionary) == (False, True)
    assert sign.distinct.words == len(np.unique(decoys_of(spotter.encoder).words))  # type: ignore[union-attr]
    assert [word.word for word in informed.distinct.nearest][-1] == "second"
    assert len(informed.negatives) > len(sign.negatives)
    loose = with_distinctiveness(spotter.encoder, replace(sign, usual=1e9), gallery)
    assert loose.distinct is not None
    assert set(loose.distinct.same) == set(clips), "where everything is usual, nothing is told apart"
    assert len(loose.negatives) == len(sign.negatives)
