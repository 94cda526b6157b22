"""A wake sign: alignment frame by frame equals that at once, events come in time, broken streams are told."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from experiments.applications.signs import film
from signspot.applications.wake import (
    OnlineAlignment,
    WakeDetector,
    WakeSign,
    WakeStream,
    are_verified,
    draw_wake,
    enrol,
    open_stream,
    own_gallery,
    settle,
)
from signspot.embedding.exemplars import Gallery
from signspot.errors import NoHandsError, NotAVideoError, OptionsError
from signspot.landmarks.landmarks import Landmarks
from signspot.landmarks.pose_file import write_landmarks
from signspot.spotting.decoys import alignment_scale
from signspot.spotting.matching import STEPS, cost_to_score, path_costs
from signspot.spotting.spotter import Spotter
from signspot.types import Exemplar, Segment
from signspot_synthetic.body.motion import continuous
from signspot_synthetic.body.signers import Role, make_signer
from signspot_synthetic.camera.projection import project
from signspot_synthetic.knobs import named_rng
from signspot_synthetic.language.lexicon import Lexicon
from tests.applications.conftest import SEED


def test_costs_frame_by_frame_equal_those_at_once() -> None:
    random = np.random.default_rng(0)
    codes, exemplars = random.normal(size=(40, 6)).astype(np.float32), random.normal(size=(3, 5, 6)).astype(np.float32)
    gallery = Gallery.of([Exemplar("w", str(n)) for n in range(3)], np.eye(3, dtype=np.float32), exemplars[:, None])
    online = OnlineAlignment(gallery, 2.0, None)
    told = [online.step(code) for code in codes]
    scores = cost_to_score(path_costs(codes, exemplars, STEPS.times(2.0)), 2.0)
    assert np.allclose([score for score, _ in told], scores.max(axis=0), atol=1e-5)
    assert [row for _, row in told] == scores.argmax(axis=0).tolist()


@pytest.fixture(scope="module")
def stream(words: Lexicon) -> tuple[Landmarks, Segment, list[Landmarks]]:
    """Signing in which the first word is the fourth sign, where that is, and three recordings of it."""
    one, two, first, *rest = [entry.variants[0] for entry in words.values()]
    others = [one, two, *rest]
    signer = make_signer("user", SEED, Role.TEST, left_share=0)
    motion, segments = continuous([*others[:3], first, *others[3:6]], signer, named_rng(SEED, "stream"))
    return project(motion, signer.camera), segments[3], [film(first, SEED, "user", 2, number) for number in range(3)]


@pytest.fixture(scope="module")
def sign(spotter: Spotter, stream: tuple[Landmarks, Segment, list[Landmarks]]) -> WakeSign:
    return enrol(spotter, stream[2], rate=60.0)


def test_the_sign_is_told_soon_after_it(
    spotter: Spotter, stream: tuple[Landmarks, Segment, list[Landmarks]], sign: WakeSign
) -> None:
    footage, where, _ = stream
    assert len(sign.own_scores) == 3
    assert sign.background_hours > 0
    waiting = WakeStream(spotter.encoder, sign)
    known = []
    for place in range(len(footage)):
        known += [(event, float(footage.times[place])) for event in waiting.push(footage[place : place + 1])]
    ((best, when),) = known  # the sign, and no other
    assert abs(best.time - where.end) < 0.5
    assert 0 < when - best.time <= (waiting.latency + 1) / 25
    assert best.latency <= waiting.latency
    assert waiting.breaks == 0
    assert len(waiting._buffer) <= 60, "memory is bounded"


def test_a_whole_file_gives_the_peaks_of_its_frames(
    spotter: Spotter, stream: tuple[Landmarks, Segment, list[Landmarks]], sign: WakeSign
) -> None:
    track = spotter.embed(stream[0])
    assert track.codes is not None
    codes, times = np.asarray(track.codes, np.float32), [frame / 25 for frame in range(len(track.codes))]
    for chosen in (sign, replace(sign, threshold=0.1, impostors=sign.impostors[:0])):
        one, other = (WakeDetector(chosen, alignment_scale(spotter.encoder), None, 25.0) for _ in range(2))
        told = [peak for peak in map(one.step, codes, times) if peak is not None]
        at_once = other.over(codes, times)
        assert told
        assert [(peak.time, peak.row) for peak in told] == [(peak.time, peak.row) for peak in at_once]
        for mine, theirs in zip(told, at_once, strict=True):
            assert abs(mine.score - theirs.score) < 1e-5
            assert np.allclose(mine.codes, theirs.codes, atol=1e-5)


def test_a_sign_that_is_held_is_one_event() -> None:
    gallery = Gallery.of([Exemplar("w", "1")], np.eye(1, dtype=np.float32), np.zeros((1, 1, 2, 1), np.float32))
    bare = WakeSign(gallery, 0.5, 0.0, 0, (), np.empty((0, 0, 0), np.float32))
    courses = {
        "held": [0.9] * 5 + [0.8] * 60,
        "again": [0.9] * 5 + [0.2] * 70 + [0.8] * 5,
        "soon": [0.9] * 5 + [0.2] * 30 + [0.8] * 5,
        "better": [0.9] * 75 + [0.95] * 5,
    }
    told = {}
    for name, course in courses.items():
        scores = np.array([0.2] * 5 + course + [0.2] * 20)
        codes = ((1 / scores - 1) ** 0.25)[:, None].astype(np.float32)  # distances that score so, by a scale of 1
        detector = WakeDetector(bare, 1.0, None, 25.0)
        told[name] = len(detector.over(codes, [frame / 25 for frame in range(len(codes))]))
    assert told == {"held": 1, "again": 2, "soon": 1, "better": 2}


def test_dropped_frames_and_new_sizes_are_told(
    spotter: Spotter, stream: tuple[Landmarks, Segment, list[Landmarks]], sign: WakeSign
) -> None:
    footage, where, _ = stream
    waiting = WakeStream(spotter.encoder, replace(sign, threshold=0.5))
    for place in range(0, len(footage), 2):  # every other frame is lost: as a stream of half the rate
        waiting.push(footage[place : place + 1])
    assert waiting.breaks == 0
    waiting = WakeStream(spotter.encoder, replace(sign, threshold=0.5))
    middle = int(np.searchsorted(footage.times, where.middle))
    events = waiting.push(footage[: middle - 8])
    events += waiting.push(footage[middle + 8 :])
    assert waiting.breaks == 1, "0.6 s are gone"
    assert "s without a frame" in waiting.last_break
    waiting.push(replace(footage[-1:], times=footage.times[-1:] + 0.04, size=(10, 10)))
    assert "to 10x10" in waiting.last_break
    waiting.push(replace(footage[:1], size=(10, 10)))
    assert waiting.breaks == 3, "another size, and a clock that goes back"
    assert "the clock went back" in waiting.last_break


def test_enrolment_says_what_it_needs(
    spotter: Spotter, stream: tuple[Landmarks, Segment, list[Landmarks]], sign: WakeSign, tmp_path: Path
) -> None:
    footage, _, recordings = stream
    with pytest.raises(OptionsError, match="at least one recording"):
        enrol(spotter, [])
    with pytest.raises(OptionsError, match="above 0"):
        enrol(spotter, recordings, rate=0)
    blind = np.full_like(recordings[0].left_hand, np.nan)
    with pytest.raises(NoHandsError):
        enrol(spotter, [replace(recordings[0], left_hand=blind, right_hand=blind)])
    with pytest.raises(OptionsError, match="1 frame"):
        WakeStream(spotter.encoder, sign, hop=0)
    own = enrol(spotter, recordings[:1], [footage], rate=1.0)
    assert own.background_alarms == 0
    assert own.own_scores == ()
    assert not WakeStream(spotter.encoder, own).push(footage), "what the background holds gives no alarm"
    with pytest.raises(NotAVideoError, match="no camera"):
        next(open_stream("camera:none"))
    write_landmarks(footage, tmp_path / "f.pose")
    assert sum(len(chunk) for chunk in open_stream(str(tmp_path / "f.pose"))) == len(footage)
    assert draw_wake(spotter, sign, str(tmp_path / "f.pose"), []).axes


def test_what_is_nearer_to_an_impostor_is_no_event(
    spotter: Spotter, stream: tuple[Landmarks, Segment, list[Landmarks]], sign: WakeSign
) -> None:
    footage, where, recordings = stream
    gallery, own = own_gallery(spotter, recordings)
    bare = replace(sign, threshold=0.5, impostors=np.empty((0, 0, 0), np.float32))
    found = list(WakeStream(spotter.encoder, bare).peaks(footage))
    (peak,) = [each for each in found if abs(each.time - where.end) < 0.5]
    left = WakeStream(spotter.encoder, replace(bare, impostors=peak.codes[None])).push(footage)
    assert all(abs(event.time - where.end) >= 0.5 for event in left)
    far = replace(bare, impostors=peak.codes[None] + 100)
    assert len(WakeStream(spotter.encoder, far).push(footage)) == len(found)
    high = [replace(peak, score=0.98)]
    chosen = settle(spotter.encoder, gallery, 3600.0, high, 1.0, ())
    assert chosen.threshold > 0.9, "once in an hour, a sign that no other gives away reached as much"
    assert len(chosen.impostors) == 1 + len(sign.impostors)
    low = [replace(peak, score=0.75), replace(peak, score=0.71)]
    assert 0.6 < settle(spotter.encoder, gallery, 360.0, low, 1.0, own).threshold <= 0.8 * min(own)
    assert settle(spotter.encoder, gallery, 3600.0, [], 1.0, own).threshold == 0.6
    other = [replace(each, codes=each.codes + 100) for each in high]
    assert settle(spotter.encoder, gallery, 3600.0, other, 1.0, ()).threshold == 0.6, "it does not pass for the sign"


def test_signs_are_verified_by_likeness_and_margin() -> None:
    """Least is a verdict of -0.5: the logarithm of usual over own cost, and half of that of impostor over own cost."""
    own = np.array([[1.0, 1.0], [2.0, 2.0], [2.0, 2.0], [1.0, 3.0]])
    others = np.array([1.0, 2.0, 4.0, 1.6])  # verdicts 0, -0.69, -0.69 + 0.35, -0.69 + 0.24
    assert are_verified(own, others, 1.0).tolist() == [True, False, True, True]
    assert are_verified(own, others, 0.5).tolist() == [False, False, False, False]
    assert are_verified(own[:1], np.array([np.inf]), 0.01).tolist() == [True], "nothing else can be meant"


def test_recordings_that_are_unlike_each_other_allow_no_more(spotter: Spotter, sign: WakeSign) -> None:
    """What it may cost to be taken for the sign follows from the recordings, up to two fifths of different signs."""
    most = 0.4 * alignment_scale(spotter.encoder)
    assert sign.gallery.codes is not None
    for factors, expected in (((1.0, 1.0, 1.0), 0.0), ((1.0, 1.0, 9.0), most)):  # alike; one is nothing like the others
        codes = sign.gallery.codes[:1] * np.array(factors, np.float32)[:, None, None]
        settled = settle(spotter.encoder, replace(sign.gallery, codes=codes), 3600.0, [], 1.0, ())
        assert settled.usual == pytest.approx(expected, abs=1e-3)


def test_a_stream_that_begins_anew_is_not_deaf(
    spotter: Spotter, stream: tuple[Landmarks, Segment, list[Landmarks]], sign: WakeSign
) -> None:
    footage, where, _ = stream
    waiting = WakeStream(spotter.encoder, sign)
    first = waiting.push(replace(footage, times=footage.times + 3600))
    again = waiting.push(footage)
    assert waiting.breaks == 1, "the clock went back by an hour"
    assert [event.score for event in again] == [event.score for event in first]
    assert any(abs(event.time - where.end) < 0.5 for event in again)
