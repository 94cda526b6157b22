"""Draw handshapes, an isolated sign and a stream as stick figures, for docs/explanation/synthetic-corpus.md.

python tools/draw_synthetic.py docs/images/synthetic-skeletons.png
"""

import argparse
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from signspot.io.files import atomic_write
from signspot.landmarks.landmarks import Landmarks
from signspot_synthetic.body.motion import continuous, isolated
from signspot_synthetic.body.signers import make_signers
from signspot_synthetic.camera.estimator import observe
from signspot_synthetic.camera.projection import project
from signspot_synthetic.geometry.framing import Camera
from signspot_synthetic.geometry.limbs import HandBuild, hand_joints
from signspot_synthetic.language.handshapes import HANDSHAPES, joint_angles
from signspot_synthetic.language.lexicon import LexiconOptions, make_lexicon
from signspot_synthetic.language.phonology import Hands

Image = NDArray[np.uint8]
FINGERS = ((0, 1, 2, 3, 4), (0, 5, 6, 7, 8), (9, 10, 11, 12), (13, 14, 15, 16), (0, 17, 18, 19, 20), (5, 9, 13, 17))
COLOURS = ((60, 60, 230), (0, 150, 240), (80, 170, 60), (200, 120, 40), (180, 60, 160), (120, 120, 120))
WIDTH, HEIGHT, COLUMNS = 150, 112, 8


def line(image: Image, chain: NDArray[np.float64], colour: tuple[int, int, int], thickness: int) -> None:
    """Draw a chain of points (n, 2) in pixels, if all of it is known."""
    if np.isfinite(chain).all():
        cv2.polylines(image, [np.round(chain * 16).astype(np.int32)], False, colour, thickness, cv2.LINE_AA, 4)


def draw_hand(image: Image, points: NDArray[np.float64]) -> None:
    """Draw a hand (21, 2) in pixels."""
    for chain, colour in zip(FINGERS, COLOURS, strict=True):
        line(image, points[list(chain)], colour, 1)


def draw_frame(landmarks: Landmarks, frame: int) -> Image:
    """One frame as a stick figure."""
    image = np.full((HEIGHT, WIDTH, 3), 255, np.uint8)
    scale = np.array([WIDTH, HEIGHT])
    body, face = landmarks.body[frame, :, :2] * scale, landmarks.face[frame, :, :2] * scale
    line(image, body[[11, 12, 24, 23, 11]], (205, 205, 205), 2)
    for point in face[np.isfinite(face).all(axis=1)]:
        cv2.circle(image, np.round(point * 16).astype(int).tolist(), 11, (110, 110, 110), -1, cv2.LINE_AA, 4)
    for arm, colour, hand in (
        ((11, 13, 15), (190, 120, 30), landmarks.left_hand),
        ((12, 14, 16), (30, 110, 220), landmarks.right_hand),
    ):
        line(image, body[list(arm)], colour, 2)
        draw_hand(image, hand[frame, :, :2] * scale)
    return image


def row(images: list[Image], title: str) -> Image:
    """Images beside each other under a title."""
    boxed = [cv2.copyMakeBorder(image, 0, 0, 0, 1, cv2.BORDER_CONSTANT, value=(210, 210, 210)) for image in images]
    strip = np.concatenate(boxed, axis=1)
    bar = np.full((20, strip.shape[1], 3), 238, np.uint8)
    cv2.putText(bar, title, (4, 14), cv2.FONT_HERSHEY_SIMPLEX, 0.42, (0, 0, 0), 1, cv2.LINE_AA)
    return np.concatenate([bar, strip])


def handshape_rows() -> list[Image]:
    """Some handshapes, palm to the reader and from the side."""
    names = ("B", "5", "S", "1", "C", "O", "L", "V", "F", "Y", "bent-V", "claw-5", "W", "ILY", "flat-O", "X")
    angle = np.radians(60)
    side = np.array([[np.cos(angle), 0, -np.sin(angle)], [0, 1, 0]])
    images: list[Image] = []
    for name in names:
        joints = hand_joints(joint_angles(name)[None], HandBuild())[0]
        image = np.full((80, WIDTH // 2 - 1, 3), 255, np.uint8)
        flat = joints[:, :2] * [1, -1] * 210 + [20, 62]
        turned = (joints @ side.T) * [1, -1] * 210 + [52, 62]
        draw_hand(image, flat)
        draw_hand(image, turned)
        cv2.putText(image, name, (4, 76), cv2.FONT_HERSHEY_SIMPLEX, 0.3, (0, 0, 0), 1, cv2.LINE_AA)
        images.append(
            cv2.copyMakeBorder(image, 0, 0, 0, 1 - len(images) % 2, cv2.BORDER_CONSTANT, value=(255, 255, 255))
        )
    return [row(images, f"16 of the {len(HANDSHAPES)} handshapes, from the palm and from the side")]


def picture() -> Image:
    """The whole picture."""
    lexicon = make_lexicon(LexiconOptions(words=200, seed=7))
    signer = make_signers(3, 7, "dictionary", left_share=0)[1]
    camera = Camera(2.5, 1.0, aim=(0.0, 0.05))
    rows = handshape_rows()
    for hands, index in ((Hands.ONE, 6), (Hands.SYMMETRIC, 2), (Hands.BASE, 1)):
        sign = [e.variants[0] for e in lexicon.values() if e.variants[0].hands is hands and not e.fingerspelled][index]
        motion, segment = isolated(sign, signer, np.random.default_rng(1))
        landmarks = project(motion, camera)
        frames = np.linspace(segment.start - 0.3, segment.end + 0.2, COLUMNS) * 25
        title = str(sign).replace("·", "|").replace("×", "x")
        rows.append(row([draw_frame(landmarks, int(f)) for f in frames], title))
    signs = [e.variants[0] for e in lexicon.values()][20:24]
    rng = np.random.default_rng(2)
    motion, segments = continuous(signs, signer, rng)
    landmarks = observe(project(motion, camera), rng)
    for start in (0, 2):
        first = int(segments[start].start * 25)
        title = f"continuous signing as the estimator sees it, every second frame, from frame {first}"
        rows.append(row([draw_frame(landmarks, first + 2 * i) for i in range(COLUMNS)], title))
    return np.concatenate(rows)


def main() -> None:
    """Read the arguments, draw, write."""
    parser = argparse.ArgumentParser(description="Draw the picture of synthetic signing.")
    parser.add_argument("path", type=Path, help="the PNG file to write")
    options = parser.parse_args()
    with atomic_write(options.path) as temporary:
        cv2.imwrite(str(temporary), picture(), [cv2.IMWRITE_PNG_COMPRESSION, 9])


if __name__ == "__main__":
    main()
