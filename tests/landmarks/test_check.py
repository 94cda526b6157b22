import numpy as np
import pytest

from signspot.errors import LandmarksError, NoHandsError, NoPersonError
from signspot.landmarks.signing import SigningCheck, check_signing


def test_a_signer_is_fine(make_signing):
    check_signing(make_signing(20, dropped=0.5), "news.mp4")


def test_nobody_in_view(make_signing):
    landmarks = make_signing(1200)
    landmarks.body[:] = np.nan
    with pytest.raises(NoPersonError, match=r"nobody is in view in news\.mp4 \(shoulders seen in 0 of 1,200 frames"):
        check_signing(landmarks, "news.mp4")


def test_hidden_shoulders_are_nobody(make_signing):
    landmarks = make_signing(3)
    landmarks.body[:, 11, 3] = 0.1
    with pytest.raises(NoPersonError):
        check_signing(landmarks, "a")


def test_hands_never_seen(make_signing):
    landmarks = make_signing(10)
    landmarks.left_hand[:] = np.nan
    landmarks.right_hand[:] = np.nan
    landmarks.body[:5] = np.nan
    with pytest.raises(NoHandsError, match=r"no hand is ever seen in a\.mp4 \(a person in 50% of 10 frames\)"):
        check_signing(landmarks, "a.mp4")


def test_one_hand_in_one_chunk_is_enough(make_signing):
    landmarks = make_signing(10)
    landmarks.left_hand[:] = np.nan
    landmarks.right_hand[:9] = np.nan
    check = SigningCheck("a")
    for frame in range(10):
        check.watch(landmarks[frame : frame + 1])
    check.finish()
    assert (check.frames, check.person, check.hands) == (10, 10, 1)


def test_no_frame_at_all(make_signing):
    with pytest.raises(LandmarksError, match="no landmarks"):
        check_signing(make_signing(3)[:0], "a")
