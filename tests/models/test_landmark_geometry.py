import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from signspot.landmarks import features
from signspot.models import landmark_geometry as geometry


def right_hand(seed=0):
    points = torch.randn(21, 3, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) * 0.3
    return torch.cat([points, torch.ones(21, 1)], dim=-1)


def test_layout_is_that_of_the_landmark_features():
    assert geometry.FEATURES == features.VERSION
    assert (geometry.JOINTS, geometry.CHANNELS) == (features.JOINTS, features.CHANNELS)
    assert geometry.LEFT_HAND == features.LEFT_HAND
    assert geometry.RIGHT_HAND == features.RIGHT_HAND
    assert geometry.FACE == features.FACE
    assert features.BODY_JOINTS[geometry.LEFT_WRIST] == 15
    assert features.BODY_JOINTS[geometry.RIGHT_WRIST] == 16


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 999),
    shift=st.tuples(*[st.floats(-2, 2)] * 3),
    scale=st.floats(0.5, 3.0),
)
def test_handshape_is_the_same_at_every_place_and_size(seed, shift, scale):
    hand = right_hand(seed)
    moved = hand.clone()
    moved[:, :3] = hand[:, :3] * scale + torch.tensor(shift, dtype=torch.float64)
    torch.testing.assert_close(geometry.hand_shape(moved), geometry.hand_shape(hand), atol=1e-4, rtol=1e-4)


def test_bends_tell_a_straight_finger_from_a_bent_one():
    hand = torch.zeros(21, 4)
    hand[:, 3] = 1
    for finger in range(5):
        for joint in range(4):
            hand[1 + 4 * finger + joint, :2] = torch.tensor([float(joint + 1), finger * 0.01])
    hand[8, :2] = hand[7, :2] + torch.tensor([0.0, 1.0])  # the index tip at a right angle
    bends = geometry.hand_shape(hand)[63 + 60 : 63 + 60 + 15].reshape(5, 3)
    assert bends[4].tolist() == pytest.approx([1.0] * 3, abs=1e-3)
    assert bends[1, 2].item() == pytest.approx(math.cos(math.pi / 2), abs=1e-2)


def test_a_mirrored_signer_changes_hands(landmark_features):
    x = landmark_features(1, 5, dtype=torch.float64)
    mirrored = torch.from_numpy(features.mirror_features(x.numpy().copy()))
    torch.testing.assert_close(geometry.hands(mirrored), geometry.hands(x).flip(-2))


def test_palm_turns_with_the_hand():
    hand = right_hand()
    turned = hand.clone()
    turned[:, 0], turned[:, 1] = -hand[:, 1], hand[:, 0]  # a quarter turn in the image
    anchors = torch.zeros(5, 4, dtype=torch.float64)
    before = geometry.hand_place(hand, anchors)[21:30].reshape(3, 3)
    after = geometry.hand_place(turned, anchors)[21:30].reshape(3, 3)
    torch.testing.assert_close(after, torch.stack([-before[:, 1], before[:, 0], before[:, 2]], dim=-1))


def test_an_unseen_hand_says_nothing(landmark_features):
    x = landmark_features(1, 4)
    x[:, :, geometry.LEFT_HAND] = 0
    described = geometry.hands(x)
    assert described[:, :, 0].abs().sum() == 0
    assert described[:, :, 1].abs().sum() > 0


def test_places_relate_only_points_that_are_seen():
    observed, missing = torch.tensor([1.0, 2.0, 3.0, 1.0]), torch.zeros(4)
    assert geometry.offset(observed, torch.tensor([0.5, 1.0, 1.0, 1.0])).tolist() == [0.5, 1.0, 2.0]
    assert geometry.offset(observed, missing).tolist() == [0.0, 0.0, 0.0]
    mean = geometry.mean_point(torch.stack([observed, missing, torch.tensor([3.0, 2.0, 1.0, 1.0])]))
    assert mean.tolist() == [2.0, 2.0, 2.0, 1.0]


def test_an_open_mouth_is_told_from_a_closed_one(landmark_features):
    closed = landmark_features(1, 1)
    closed[..., 3] = 1
    opened = closed.clone()
    opened[..., geometry.LIPS, 1] *= 2
    assert not torch.allclose(geometry.face(closed), geometry.face(opened))


@pytest.mark.parametrize("describe", [geometry.hands, geometry.body, geometry.face])
def test_nobody_in_view_gives_finite_values_and_gradients(describe):
    x = torch.zeros(2, 69, 4, requires_grad=True)
    described = describe(x)
    described.sum().backward()
    assert described.isfinite().all()
    assert x.grad.isfinite().all()


def test_only_raised_hands_have_features(landmark_features):
    x = landmark_features(1, 5, dtype=torch.float64)
    x[..., geometry.LEFT_WRIST, 1], x[..., geometry.RIGHT_WRIST, 1] = 2.0, 0.3
    left, right = geometry.raised_hands(x).chunk(2, dim=-1)
    assert geometry.raised_hands(x).shape == (1, 5, geometry.RAISED_HANDS)
    assert (left == 0).all()
    assert (right[..., 0] == 1).all()
    assert (right[..., 1:3] == x[..., geometry.RIGHT_WRIST, :2]).all()


def test_a_raised_hand_that_is_not_seen_still_has_its_wrist(landmark_features):
    x = landmark_features(1, 5, dtype=torch.float64)
    x[..., geometry.RIGHT_WRIST, 1] = 0.3
    x[..., geometry.RIGHT_HAND, :] = 0
    right = geometry.raised_hands(x).chunk(2, dim=-1)[1]
    assert (right[..., 0] == 1).all()
    assert (right[..., 5:] == 0).all()


def test_raised_hands_have_the_directions_of_all_bones_and_of_the_palm(landmark_features):
    x = landmark_features(1, 5, dtype=torch.float64)
    x[..., geometry.RIGHT_WRIST, 1] = 0.3
    right = geometry.raised_hands(x).chunk(2, dim=-1)[1]
    bones, palm = right[..., 65:125].unflatten(-1, (20, 3)), right[..., 125:134].unflatten(-1, (3, 3))
    hand = x[..., geometry.RIGHT_HAND, :3]
    thumb = hand[..., 2, :] - hand[..., 1, :]  # the second bone
    cosine = torch.nn.functional.cosine_similarity(bones[..., 1, :], thumb, dim=-1)
    torch.testing.assert_close(cosine, torch.ones_like(cosine), atol=1e-4, rtol=0)
    lengths = bones[..., :4, :].norm(dim=-1)  # of the thumb: directions know no length
    torch.testing.assert_close(lengths, torch.full_like(lengths, lengths.max()), atol=1e-3, rtol=0)
    assert (palm[..., 0, :] * palm[..., 2, :]).sum(dim=-1).abs().max() < 1e-6  # the normal is square to the axes


def test_the_shape_of_a_raised_hand_does_not_depend_on_its_size(landmark_features):
    x = landmark_features(1, 5, dtype=torch.float64)
    larger = x.clone()
    wrist = x[..., geometry.RIGHT_HAND, :3][..., :1, :]
    larger[..., geometry.RIGHT_HAND, :3] = wrist + 1.7 * (x[..., geometry.RIGHT_HAND, :3] - wrist)
    small, large = (geometry.raised_hands(points).chunk(2, dim=-1)[1][..., :134] for points in (x, larger))
    torch.testing.assert_close(large, small, atol=1e-6, rtol=1e-6)


def near_of_right_hand(x):
    """(..., 5, 10): thumb, index … by mouth, nose, …; the chin is 6, shoulders come last."""
    return geometry.raised_hands(x).chunk(2, dim=-1)[1][..., 134:].unflatten(-1, (5, 10)) / 0.5


def test_raised_hands_have_what_fingers_are_near(landmark_features):
    x = landmark_features(1, 5, dtype=torch.float64)
    x[..., 3] = 1
    x[..., geometry.RIGHT_WRIST, 1] = 0.3
    index, chin = x[..., geometry.RIGHT_HAND.start + 8, :2], x[..., geometry.FACE.start + 18, :2]
    apart = (index - chin).square().sum(dim=-1)
    torch.testing.assert_close(near_of_right_hand(x)[..., 1, 6], torch.exp(-apart / (2 * 0.4**2)))
    x[..., geometry.RIGHT_HAND.start + 8, :2] = chin
    assert (near_of_right_hand(x)[..., 1, 6] == 1).all()
    x[..., geometry.RIGHT_HAND.start + 8, :2] = x[..., geometry.LEFT_SHOULDER, :2]
    assert (near_of_right_hand(x)[..., 1, 8] == 1).all()


def test_nothing_is_near_what_is_not_seen(landmark_features):
    x = landmark_features(1, 5, dtype=torch.float64)
    x[..., geometry.RIGHT_WRIST, 1], x[..., 3] = 0.3, 1
    assert (near_of_right_hand(x) > 0).all()
    x[..., geometry.FACE, :] = 0
    assert (near_of_right_hand(x)[..., [0, 2, 3, 4, 5, 6, 7]] == 0).all()
    assert (near_of_right_hand(x)[..., [1, 8, 9]] > 0).all()
    x[..., geometry.RIGHT_HAND.start + 4, :] = 0
    assert (near_of_right_hand(x)[..., 0, :] == 0).all()


def test_heading_is_the_direction_of_a_raised_wrist_and_knows_no_size(landmark_features):
    x = landmark_features(1, 9, dtype=torch.float64)
    x[..., 3] = 1
    path = torch.tensor(
        [[0.0, 0.3], [0.2, 0.3], [0.4, 0.3], [0.6, 0.3], [0.6, 0.3], [0.6, 0.3], [0.6, 0.3], [0.6, 0.1]]
    )
    x[0, :8, geometry.RIGHT_WRIST, :2] = path.double()
    x[..., geometry.LEFT_WRIST, 1] = 2.0  # rests
    x[0, 8, geometry.RIGHT_WRIST] = 0  # is not seen
    left, right = (geometry.heading(x)[0] / 0.4).chunk(2, dim=-1)
    assert geometry.heading(x).shape == (1, 7, geometry.HEADING)
    assert (left == 0).all()
    ahead = 0.4 / (0.4 + 0.05)
    torch.testing.assert_close(right[0], torch.tensor([ahead, 0, ahead], dtype=torch.float64), atol=1e-3, rtol=0)
    assert (right[4].abs() < 3e-3).all()  # it holds still
    assert right[5, 1] == pytest.approx(-0.2 / 0.25, abs=1e-3)  # up
    assert (right[6, :2] == 0).all()  # from a wrist to nothing there is no direction
    slow = x.clone()
    slow[0, :8, geometry.RIGHT_WRIST, :2] = (0.5 * path).double()
    half = 0.2 / (0.2 + 0.05)
    assert (geometry.heading(slow) / 0.4)[0, 0, 3] == pytest.approx(half, abs=1e-3)
