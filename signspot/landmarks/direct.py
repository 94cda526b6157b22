"""MediaPipe Holistic's road from a picture to points, rebuilt around its own networks: body, then hands and face.

A body is detected once and then followed by two points that its network gives for the purpose. A hand is looked for
where the body's wrist is, a face where the body's eyes are, each followed while both agree. As in the public graphs,
with the same smoothing; what `Economy` leaves out is not in them.
"""

from dataclasses import dataclass, field

import cv2
import numpy as np

from signspot.landmarks.networks import BODY, BODY_DETECTOR, FACE, FACE_DETECTOR, Detector, Running
from signspot.landmarks.regions import (
    FACES,
    HANDS,
    Floats,
    Picture,
    Region,
    about,
    around,
    around_turned,
    follow,
    letterbox,
    of_pose_hand,
    turn,
)
from signspot.landmarks.smoothing import LowPass, OneEuro

_STEP = 1 / 30  # seconds between frames, as MediaPipe's smoothing counts them, whatever the video's own rate
_PRESENT, _WRIST_SEEN = 0.5, 0.1  # shares above which something is there
_SLOWNESS = 0.1  # share of a new visibility that passes in a frame
_KERNEL = 3  # cells on either side of a point whose heat is asked
_REACH = np.arange(-_KERNEL, _KERNEL + 1)
_THUMBNAIL = 96  # cells across a picture, in which it is asked whether something has changed
_PALM = [0, 1, 2, 3, 5, 6, 9, 10, 13, 14, 17, 18]  # points of a hand by which it is followed: without finger tips
LEFT, RIGHT = (15, 17, 19), (16, 18, 20)  # wrist, little finger and index of the body


@dataclass(frozen=True, slots=True)
class Economy:
    """Work that is left out where it changes little."""

    body_every: int = 2  # frames; the body between two is their mean, its hands led by the hands' own points
    still: float = 6.0  # of 255: a part of the picture that changed less in every cell is not estimated again
    light_hands: bool = False  # by MediaPipe's smaller network of hands, which takes half the time

    @property
    def name(self) -> str:
        """Of the settings, for the cache."""
        return f"{self.body_every}-{self.still:g}{'-light' if self.light_hands else ''}"


USUAL, EXACT = Economy(), Economy(body_every=1, still=0.0)


class Thumbnail:
    """A picture in a few cells, to tell whether a part of it has changed."""

    def __init__(self, picture: Picture) -> None:
        height, width = picture.shape[:2]
        self._scale = _THUMBNAIL / width
        size = _THUMBNAIL, max(1, round(height * self._scale))
        self._cells = cv2.resize(picture, size, interpolation=cv2.INTER_AREA).astype(np.int16)

    def same(self, other: "Thumbnail", region: Region, most: float) -> bool:
        """Whether no cell of a region differs by `most` or more."""
        left, top, right, bottom = (round(edge * self._scale) for edge in region.box(0.1))
        part = slice(max(0, top), max(0, bottom) + 1), slice(max(0, left), max(0, right) + 1)
        apart = np.abs(self._cells[part] - other._cells[part])
        return bool(apart.size == 0 or apart.max() < most)


@dataclass(slots=True)
class View:
    """A picture, and what is needed to compare it with others."""

    picture: Picture
    cells: Thumbnail | None  # None: it is never compared

    @property
    def size(self) -> tuple[int, int]:
        """Width and height."""
        return self.picture.shape[1], self.picture.shape[0]


@dataclass(slots=True)
class Memory:
    """The region and the picture in which something was looked for the last time."""

    still: float
    cells: Thumbnail | None = None
    region: Region | None = None

    def unchanged(self, view: View) -> bool:
        """Whether the picture looks there as it did."""
        if self.cells is None or self.region is None or view.cells is None:
            return False
        return view.cells.same(self.cells, self.region, self.still)

    def keep(self, view: View, region: Region | None) -> None:
        """Remember a picture."""
        self.cells, self.region = view.cells, region


@dataclass(slots=True)
class Body:
    """Points of a body in pixels: (33, 3) and (33,) how visible they are."""

    points: Floats
    visible: Floats


class BodyPart:
    """Finds and follows the body."""

    def __init__(self, economy: Economy) -> None:
        self._detect, self._run = Detector(BODY_DETECTOR, (8, 16, 32, 32, 32), 2), Running(BODY)
        self._memory = Memory(economy.still)
        self._seconds, self._slowness = _STEP * economy.body_every, 1 - (1 - _SLOWNESS) ** economy.body_every
        self._body: Body | None = None
        self._forget()

    def _forget(self) -> None:
        self._region: Region | None = None
        self._points, self._leaders = OneEuro(0.05, 80.0), OneEuro(0.01, 10.0)
        self._visible = LowPass()

    def see(self, view: View) -> Body | None:
        """Estimate the body in the next picture."""
        if self._memory.unchanged(view):
            return self._body
        region = self._region or self._find(view)
        self._memory.keep(view, region or letterbox(*view.size))
        found = None if region is None else self._estimate(view, region)
        if found is None:
            self._forget()
        self._body = found
        return found

    def _find(self, view: View) -> Region | None:
        whole = letterbox(*view.size)
        found = self._detect(whole.crop(view.picture, self._detect.size, black=True))
        if found is None:
            return None
        centre, rim = whole.place(found[:2])
        return about(centre, rim).grown(1.25)

    def _estimate(self, view: View, region: Region) -> Body | None:
        raw, present, heat = self._run(region.crop(view.picture, self._run.size))
        if present[0] <= _PRESENT:
            return None
        numbers = raw.reshape(-1, 5).astype(np.float32)
        points = refine(numbers[:35, :3] / np.float32(self._run.size), heat)
        visible = (1 / (1 + np.exp(-numbers[:33, 3]))).astype(np.float32)
        placed = region.place(points)
        scale = about(placed[33], placed[34]).width
        leaders = self._leaders.step(placed[33:35], scale, self._seconds)
        self._region = about(leaders[0], leaders[1]).grown(1.25)
        return Body(self._points.step(placed[:33], scale, self._seconds), self._visible.step(visible, self._slowness))


def refine(points: Floats, heat: Floats, least: float = 0.5) -> Floats:
    """Move points to the middle of the heat around them, where it is certain.

    Args:
        points: (N, 3) x and y in shares of the sides.
        heat: (H, W, N) a map per point, before the sigmoid.
        least: heat that the warmest cell has to reach.
    """
    height, width = heat.shape[:2]
    rows, columns = ((points[:, axis] * side).astype(int)[:, None] + _REACH for axis, side in ((1, height), (0, width)))
    inside = [(cells >= 0) & (cells < side) for cells, side in ((rows, height), (columns, width))]
    numbers = np.arange(len(points))[:, None, None]
    cells = heat[rows.clip(0, height - 1)[:, :, None], columns.clip(0, width - 1)[:, None, :], numbers]  # (N, 7, 7)
    warm = inside[0][:, :, None] * inside[1][:, None, :] / (1 + np.exp(-cells))
    total = warm.sum(axis=(1, 2))
    sure = inside[0][:, _KERNEL] & inside[1][:, _KERNEL] & (warm.max(axis=(1, 2)) >= least)
    moved = points.copy()
    moved[sure, 0] = ((warm.sum(axis=1) * columns).sum(axis=1)[sure] / total[sure]) / width
    moved[sure, 1] = ((warm.sum(axis=2) * rows).sum(axis=1)[sure] / total[sure]) / height
    return moved


@dataclass(slots=True)
class Followed:
    """A hand or a face as it was seen in the last picture."""

    points: Floats | None = None
    memory: Memory = field(default_factory=lambda: Memory(0.0))


class HandPart:
    """Looks for one hand where the body says that it is."""

    def __init__(self, economy: Economy, joints: tuple[int, int, int], networks: tuple[Running, Running]) -> None:
        self._joints, (self._locate, self._run) = joints, networks
        self._last = Followed(memory=Memory(economy.still))

    def see(self, view: View, body: Body | None) -> Floats | None:
        """(21, 3) points in pixels; None: the hand is not seen."""
        last = self._last
        if body is None or body.visible[self._joints[0]] <= _WRIST_SEEN:
            last.points = None
            last.memory.keep(view, None)
            return None
        wrist, little, index = body.points[list(self._joints), :2]
        rough = of_pose_hand(wrist, little, index).grown(2.7, -0.1)
        if last.memory.unchanged(view) and last.memory.region is not None and _near(rough, last.memory.region):
            return last.points
        last.memory.keep(view, rough)
        found = self._locate(rough.crop(view.picture, self._locate.size))[0].reshape(2, 2)
        centre, rim = rough.place(found / np.float32(self._locate.size))
        anew = about(centre, rim, -np.pi / 2).grown(1.0, -0.1)
        region = follow(_of_hand(last.points), last.points, anew, HANDS)
        raw, present = self._run(region.crop(view.picture, self._run.size))
        if present[0] > _PRESENT:
            points = raw.reshape(-1, 3) / np.float32(self._run.size)
            points[:, 2] /= 0.4
            last.points = region.place(points)
        else:
            last.points = None
        return last.points


def _near(one: Region, other: Region) -> bool:
    """Whether two regions of nearly the same size lie nearly on each other."""
    return np.hypot(one.x - other.x, one.y - other.y) < 0.1 * other.width and abs(one.width / other.width - 1) < 0.2


def _of_hand(points: Floats | None) -> Region | None:
    """Region in which to look for a hand that was seen at (21, 3) points."""
    if points is None:
        return None
    knuckle: Floats = (((points[5, :2] + points[13, :2]) / 2 + points[9, :2]) / 2).astype(np.float32)
    return around_turned(points[_PALM], turn(points[0], knuckle)).grown(2.0, -0.1)


class FacePart:
    """Looks for the face where the body says that it is."""

    def __init__(self, economy: Economy) -> None:
        self._detect, self._run = Detector(FACE_DETECTOR, (8, 16, 16, 16), 2), Running(FACE)
        self._last = Followed(memory=Memory(economy.still))

    def see(self, view: View, body: Body | None, *, again: bool = True) -> Floats | None:
        """(468, 3) points in pixels; None: no face is seen.

        Args:
            view: the picture.
            body: in it.
            again: look for the face anew; else it is followed without, where it was seen before.
        """
        last = self._last
        if body is None:
            last.points = None
            last.memory.keep(view, None)
            return None
        if last.memory.unchanged(view):
            return last.points
        region = _of_face(last.points)
        if again or region is None:
            region = self._find(view, body, region)
        last.memory.keep(view, region or _rough_face(body))
        last.points = None if region is None else self._estimate(view, region)
        return last.points

    def _find(self, view: View, body: Body, known: Region | None) -> Region | None:
        rough = _rough_face(body)
        found = self._detect(rough.crop(view.picture, self._detect.size, black=True))
        if found is None:
            return None
        points = rough.place(found)
        anew = around(points, turn(points[0], points[1], 0.0)).grown(2.0, -0.1)
        return follow(known, self._last.points, anew, FACES)

    def _estimate(self, view: View, region: Region) -> Floats | None:
        raw, present = self._run(region.crop(view.picture, self._run.size))
        if 1 / (1 + np.exp(-present.item())) <= _PRESENT:
            return None
        return region.place(raw.reshape(-1, 3) / np.float32(self._run.size))


def _rough_face(body: Body) -> Region:
    return around(body.points[:11], turn(body.points[5], body.points[2], 0.0)).grown(3.0)


def _of_face(points: Floats | None) -> Region | None:
    """Region in which to look for a face that was seen at (468, 3) points."""
    return None if points is None else around(points, turn(points[33], points[263], 0.0)).grown(1.5)
