from dataclasses import replace

import numpy as np
import pytest

from signspot.errors import LandmarksError, OptionsError
from signspot.landmarks.estimators import Tracker, join_frames
from signspot.landmarks.landmarks import FACE_POINTS
from signspot.video.reader import open_video
from signspot_synthetic.body.motion import continuous
from signspot_synthetic.body.signers import Camera, make_signers
from signspot_synthetic.language.lexicon import LexiconOptions, make_lexicon
from signspot_synthetic.observation import project
from signspot_synthetic.render.appearance import make_appearance
from signspot_synthetic.render.render import render, render_video

SIZE = (256, 256)
FRONT = Camera(distance=2.2, height=0.95, aim=(0.0, 0.03))
# No beard and no glasses, so that what is looked for in the face is not covered.
PLAIN = replace(make_appearance(4, skin=2), beard=0.0, glasses=False, sleeves="long", hair="short")


@pytest.fixture(scope="module")
def signing():
    lexicon = make_lexicon(LexiconOptions(words=12, seed=5, fingerspelled_share=0))
    signer = make_signers(1, 3, "test")[0]
    signs = [entry.variants[0] for entry in lexicon.values()][:3]
    motion, _ = continuous(signs, signer, np.random.default_rng(1))
    return project(motion, FRONT, SIZE)


def moved_hand(landmarks, target, depth):
    """One frame with the right hand's middle knuckle at `target` (x, y), its wrist `depth` from the hips."""
    still = landmarks[:1]
    body, hand = still.body.copy(), still.right_hand.copy()
    shift = np.array(target, np.float32) - hand[:, 9, :2]
    hand[..., :2] += shift[:, None]
    body[:, 16, :2] += shift
    body[:, 16, 2] = depth
    return replace(still, body=body, right_hand=hand)


def colour_at(picture, target, reach=2):
    x, y = round(target[0] * picture.shape[1]), round(target[1] * picture.shape[0])
    return picture[y - reach : y + reach + 1, x - reach : x + reach + 1].reshape(-1, 3).mean(0)


def test_one_picture_a_frame_in_the_size_asked_for(signing):
    wide = replace(signing[:4], size=(320, 240))
    pictures = list(render(wide, PLAIN, (160, 120)))
    assert len(pictures) == 4
    assert all(picture.shape == (120, 160, 3) and picture.dtype == np.uint8 for picture in pictures)
    assert np.std(pictures[0]) > 20


def test_the_same_seed_gives_the_same_pictures_and_another_appearance_others(signing):
    one, two = (np.stack(list(render(signing[:3], PLAIN, SIZE))) for _ in range(2))
    other = np.stack(list(render(signing[:3], make_appearance(9), SIZE)))
    noisy = np.stack(list(render(signing[:3], PLAIN, SIZE, rng=np.random.default_rng(99))))
    assert (one == two).all()
    assert np.abs(one - other.astype(float)).mean() > 10
    assert 0.5 < np.abs(one - noisy.astype(float)).mean() < 6


def test_a_hand_before_the_chest_hides_it_and_one_behind_it_is_hidden(signing):
    chest = (signing.body[0, 11, :2] + signing.body[0, 12, :2]) / 2 + np.array([0, 0.18], np.float32)
    near = colour_at(next(render(moved_hand(signing, chest, -1.0), PLAIN, SIZE, blur=0)), chest)
    far = colour_at(next(render(moved_hand(signing, chest, 1.0), PLAIN, SIZE, blur=0)), chest)
    skin, clothes = np.array(PLAIN.skin), np.array(PLAIN.clothes)
    assert np.abs(near - skin).sum() < np.abs(near - clothes).sum()
    assert np.abs(far - clothes).sum() < np.abs(far - skin).sum()


def test_a_hand_before_the_mouth_hides_the_lips(signing):
    index = FACE_POINTS.index(13)
    mouth = signing.face[0, index, :2]
    open_face = next(render(signing[:1], PLAIN, SIZE))
    covered = next(render(moved_hand(signing, mouth, -1.0), PLAIN, SIZE))
    assert np.abs(colour_at(open_face, mouth, 3) - colour_at(covered, mouth, 3)).max() > 20


def test_an_open_mouth_is_seen_and_only_there(signing):
    still = signing[:1]
    face = still.face.copy()
    lower = [FACE_POINTS.index(p) for p in (95, 88, 178, 87, 14, 317, 402, 318, 324, 146, 91, 181, 84, 17, 314, 405)]
    face[:, lower, 1] += 0.02
    shut, spoken = (next(render(frame, PLAIN, SIZE)).astype(float) for frame in (still, replace(still, face=face)))
    changed = np.abs(shut - spoken).max(2) > 25
    rows, columns = np.nonzero(changed)
    x, y = still.face[0, FACE_POINTS.index(14), :2] * 256
    assert changed.sum() > 15
    assert abs(rows.mean() - y) < 8
    assert abs(columns.mean() - x) < 5
    assert np.ptp(columns) < 40


def test_raised_brows_are_seen(signing):
    still = signing[:1]
    face = still.face.copy()
    face[:, [FACE_POINTS.index(p) for p in (70, 105, 107, 336, 334, 300)], 1] -= 0.012
    one, two = (next(render(frame, PLAIN, SIZE)).astype(float) for frame in (still, replace(still, face=face)))
    assert (np.abs(one - two).max(2) > 25).sum() > 10


def test_an_open_shutter_blurs_the_moving_hand(signing):
    places = [moved_hand(signing, (x, 0.5), -1.0) for x in (0.3, 0.5)]
    quick = replace(
        signing[:2],
        body=np.concatenate([landmarks.body for landmarks in places]),
        right_hand=np.concatenate([landmarks.right_hand for landmarks in places]),
    )
    sharp, soft = (next(render(quick, PLAIN, SIZE, blur=blur)).astype(float) for blur in (0.0, 1.0))
    around = (slice(100, 156), slice(50, 104))
    edges = [np.abs(np.diff(picture[around], axis=1)).mean() for picture in (sharp, soft)]
    assert edges[1] < 0.8 * edges[0]


def test_what_is_not_known_is_not_drawn(signing):
    nothing = replace(
        signing[:1],
        body=np.full((1, 33, 4), np.nan),
        left_hand=np.full((1, 21, 3), np.nan),
        right_hand=np.full((1, 21, 3), np.nan),
        face=np.full((1, 60, 3), np.nan),
    )
    both = replace(
        signing[:2],
        **{
            name: np.concatenate([getattr(signing, name)[:1], getattr(nothing, name)])
            for name in ("body", "left_hand", "right_hand", "face")
        },
    )
    picture, empty = render(both, PLAIN, SIZE, blur=0)
    assert np.abs(colour_at(empty, (0.5, 0.9)) - PLAIN.backdrop_colour).max() < 45
    assert np.abs(colour_at(picture, (0.5, 0.9)) - colour_at(empty, (0.5, 0.9))).max() > 20
    with pytest.raises(LandmarksError):
        render(nothing, PLAIN, SIZE)


def test_a_missing_face_leaves_a_head(signing):
    faceless = replace(signing[:1], face=np.full((1, 60, 3), np.nan))
    nose = signing.body[0, 0, :2]
    assert np.abs(colour_at(next(render(faceless, PLAIN, SIZE)), nose) - PLAIN.skin).max() < 60


@pytest.mark.parametrize(
    ("size", "blur", "message"),
    [((32, 32), 0.2, "64 to 4096"), (SIZE, 1.5, "0 to 1"), ((256, 128), 0.2, "256 x 128")],
)
def test_impossible_options_are_refused(signing, size, blur, message):
    with pytest.raises(OptionsError, match=message):
        render(signing, PLAIN, size, blur=blur)


def test_no_frames_and_other_face_points_are_refused(signing):
    with pytest.raises(LandmarksError):
        render(signing[:0], PLAIN, SIZE)
    with pytest.raises(LandmarksError, match="60"):
        render(replace(signing, face=signing.face[:, :2], face_points=FACE_POINTS[:2]), PLAIN, SIZE)


def test_a_rendered_video_has_every_frame(signing, tmp_path):
    path = render_video(signing[:6], PLAIN, tmp_path / "signer.mp4", (128, 128), 25)
    with open_video(path) as video:
        frames = list(video.frames())
    assert len(frames) == 6
    assert frames[-1].time == pytest.approx(0.2)
    assert frames[0].image.shape == (128, 128, 3)


@pytest.mark.parametrize("skin", [1, pytest.param(8, marks=pytest.mark.long)])
def test_mediapipe_finds_pose_face_and_hands(signing, skin):
    some = signing[4:64]  # every frame: MediaPipe tracks from one to the next
    appearance = make_appearance(40 + skin, skin=skin)
    with Tracker() as tracker:
        sights = [tracker.see(picture) for picture in render(some, appearance, SIZE)]
    estimated = join_frames(sights, some.times.tolist(), SIZE)
    assert np.isfinite(estimated.body[:, 0, 0]).mean() >= 0.95
    assert np.isfinite(estimated.face[:, 0, 0]).mean() >= 0.8
    unit = np.median(np.linalg.norm(some.body[:, 11, :2] - some.body[:, 12, :2], axis=1))
    exact, hands = (np.concatenate([x.left_hand, x.right_hand]) for x in (some, estimated))
    inside = ((exact[..., :2] > 0) & (exact[..., :2] < 1)).all((1, 2))
    # Hands hidden by the other arm count here, too.
    assert np.isfinite(hands[inside, 0, 0]).mean() >= 0.7
    error = np.linalg.norm((hands - exact)[inside][:, [4, 8, 12, 16, 20], :2], axis=-1) / unit
    assert np.nanmean(error) <= 0.1
