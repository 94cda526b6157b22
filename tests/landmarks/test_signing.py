"""Whether, where and with which hand somebody signs."""

import numpy as np
import pytest

from signspot.errors import LandmarksError, NoHandsError, NoPersonError
from signspot.landmarks.landmarks import Landmarks
from signspot.landmarks.signing import SigningCheck, check_signing, dominant_hand, sign_segment, wrist_motion


def test_a_signer_is_fine(make_signing):
    check_signing(make_signing(20, dropped=0.5), "news.mp4")


def test_nobody_no_hand_and_no_frame_are_refused(make_signing):
    unseen, hidden, handless = (make_signing(10) for _ in range(3))
    unseen.body[:] = np.nan
    hidden.body[:, 11, 3] = 0.1
    handless.left_hand[:] = handless.right_hand[:] = np.nan
    for landmarks, error in (
        *((unseen, NoPersonError), (hidden, NoPersonError), (handless, NoHandsError)),
        (handless[:0], LandmarksError),
    ):
        with pytest.raises(error):
            check_signing(landmarks, "news.mp4")


def test_one_hand_in_one_chunk_is_enough(make_signing):
    landmarks = make_signing(10)
    landmarks.left_hand[:] = np.nan
    landmarks.right_hand[:9] = np.nan
    check = SigningCheck("a")
    for frame in range(10):
        check.watch(landmarks[frame : frame + 1])
    check.finish()
    assert (check.frames, check.person, check.hands) == (10, 10, 1)


def resting(frames: int, *, fps: float = 25.0, size=(640, 360)) -> Landmarks:
    """A signer with 0.3 image heights between the shoulders and the hands at rest in the picture."""
    body = np.full((frames, 33, 4), [0.5, 0.5, 0, 1], dtype=np.float32)
    half = 0.15 * size[1] / size[0]
    body[:, 11, 0], body[:, 12, 0] = 0.5 + half, 0.5 - half
    body[:, 0, 1] = 0.25
    body[:, 15, :2], body[:, 16, :2] = (0.6, 0.9), (0.4, 0.9)
    hands = np.full((2, frames, 21, 3), np.nan)
    return Landmarks(body, *hands, np.full((frames, 60, 3), np.nan), np.arange(frames) / fps, size)  # type: ignore[call-arg]


def raise_hand(landmarks: Landmarks, start: int, end: int, wrist: int = 16) -> Landmarks:
    """Move a wrist up by half an image height and down again, from frame `start` to frame `end`."""
    share = np.sin(np.linspace(0, np.pi, end - start))
    landmarks.body[start:end, wrist, 1] -= 0.5 * share
    return landmarks


@pytest.mark.parametrize("fps", [20.0, 25.0, 60.0])
@pytest.mark.parametrize("size", [(640, 360), (1080, 1920)])
def test_the_moving_part_is_found(fps, size):
    landmarks = raise_hand(resting(round(4 * fps), fps=fps, size=size), round(fps), round(2.5 * fps))
    segment = sign_segment(landmarks)
    assert segment.start == pytest.approx(1.0, abs=0.15)
    assert segment.end == pytest.approx(2.5, abs=0.15)


def test_both_hands_count():
    landmarks = raise_hand(raise_hand(resting(100), 20, 50, wrist=15), 40, 80, wrist=16)
    segment = sign_segment(landmarks)
    assert segment.start == pytest.approx(0.8, abs=0.15)
    assert segment.end == pytest.approx(3.2, abs=0.15)


def test_jitter_and_single_jumps_do_not_count():
    landmarks = raise_hand(resting(150), 60, 90)
    landmarks.body[..., :2] += np.random.default_rng(0).normal(0, 0.001, landmarks.body[..., :2].shape)
    landmarks.body[10, 16, :2] += 0.2
    landmarks.body[130, 15, :2] -= 0.3
    segment = sign_segment(landmarks)
    assert segment.start == pytest.approx(60 / 25, abs=0.2)
    assert segment.end == pytest.approx(90 / 25, abs=0.2)


def test_without_motion_the_whole_is_kept():
    segment = sign_segment(resting(50))
    assert (segment.start, segment.end) == (0, pytest.approx(2.0))
    assert sign_segment(resting(1)).duration == pytest.approx(0.04)


def test_hands_that_rest_below_the_picture_do_not_count():
    landmarks = resting(100)
    rng = np.random.default_rng(1)
    landmarks.body[:, 15, 1] = 1.3 + rng.normal(0, 0.1, 100).cumsum() * 0.3  # guesses of the estimator
    landmarks.body[:, 15, 1] = np.maximum(landmarks.body[:, 15, 1], 1.05)
    landmarks.body[:, 16, :2] = rng.uniform(0, 1, (100, 2))
    landmarks.body[:, 16, 3] = 0.05
    landmarks.body[40:70, 16, :2] = (0.4, 0.9)
    landmarks.body[40:70, 16, 3] = 1
    segment = sign_segment(raise_hand(landmarks, 40, 70))
    assert segment.start == pytest.approx(1.6, abs=0.15)
    assert segment.end == pytest.approx(2.8, abs=0.15)


def test_unseen_frames_do_not_break_it():
    landmarks = raise_hand(resting(100), 30, 70)
    landmarks.body[45:50] = np.nan
    landmarks.body[:5] = np.nan
    segment = sign_segment(landmarks)
    assert segment.start == pytest.approx(1.2, abs=0.15)
    landmarks.body[:] = np.nan
    assert sign_segment(landmarks).duration == pytest.approx(4.0)


def test_times_that_do_not_start_at_zero():
    landmarks = raise_hand(resting(100), 30, 70)
    landmarks.times[:] += 100
    assert sign_segment(landmarks).start == pytest.approx(101.2, abs=0.15)


def test_nothing_to_trim():
    with pytest.raises(LandmarksError):
        sign_segment(resting(5)[:0])


def test_motion_is_in_shoulder_widths():
    landmarks = resting(40)
    landmarks.body[:, 16, 1] = 0.9 - 0.006 * np.arange(40)  # a fiftieth of the shoulders' width in a frame
    motion = wrist_motion(landmarks)
    np.testing.assert_allclose(motion[5:-5, 1], 4 * 0.02, atol=1e-4)  # 0.2 s are 2 x round(2.5) = 4 frames
    assert (motion[:, 0] == 0).all()


def test_the_hand_that_moves_more_leads(make_signing):
    assert dominant_hand(raise_hand(resting(50), 10, 40, wrist=15)) == "left"
    assert dominant_hand(raise_hand(resting(50), 10, 40, wrist=16)) == "right"
    assert dominant_hand(raise_hand(resting(50), 10, 40, wrist=15).mirrored()) == "right"


def test_without_motion_the_hand_that_is_seen_leads():
    landmarks = resting(20)
    assert dominant_hand(landmarks) == "right"
    landmarks.left_hand[:] = 0.5
    assert dominant_hand(landmarks) == "left"


@pytest.mark.data
@pytest.mark.parametrize("signer", [3, 8])
def test_real_clips_lose_their_still_ends_and_keep_their_motion(lsa64, signer):
    shares, hands = [], []
    for word, clip in lsa64(signer)[::3]:
        segment = sign_segment(clip)
        inside = clip.between(segment)
        shares.append(segment.duration / clip.duration)
        wrists = clip.body[:, 15:17, :2]
        path = np.abs(np.diff(wrists, axis=0)).sum()
        assert np.abs(np.diff(inside.body[:, 15:17, :2], axis=0)).sum() > 0.3 * path
        if word < 29 or word == 42:  # signs of the right hand
            hands.append(dominant_hand(clip))
    assert 0.4 < np.mean(shares) < 0.85  # the paper keeps 56 of 78 frames
    assert np.mean([hand == "right" for hand in hands]) > 0.95
