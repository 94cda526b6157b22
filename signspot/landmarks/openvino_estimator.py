"""The second estimator: MediaPipe Holistic rebuilt around its own networks, run by OpenVINO, less often where possible.

A body is detected once and then followed by two points that its network gives for the purpose. A hand is looked for
where the body's wrist is, a face where the body's eyes are, each followed while both agree. As in the public graphs,
with the same smoothing; what `Economy` leaves out is not in them.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

import cv2
import numpy as np

from signspot.landmarks.estimators import FramePoints, join_in_chunks
from signspot.landmarks.landmarks import BODY_POINTS, FACE_POINTS, HAND_POINTS, Landmarks, Points
from signspot.landmarks.mediapipe_networks import (
    BODY,
    BODY_DETECTOR,
    FACE,
    FACE_DETECTOR,
    FACES,
    HAND,
    HAND_FINDER,
    HANDS,
    Detector,
    Floats,
    Image,
    Region,
    Running,
    about,
    around,
    around_turned,
    follow,
    letterbox,
    networks_version,
    of_pose_hand,
    turn,
    version,
)
from signspot.video.reader import Frame

_SPEED_CUTOFF = 1.0  # hertz


class LowPass:
    """Follows values slowly: each step takes a share `alpha` of the new value."""

    def __init__(self) -> None:
        self.last: Floats | None = None

    def step(self, value: Floats, alpha: float | Floats) -> Floats:
        """The value so far, of any shape."""
        self.last = value if self.last is None else alpha * value + (1 - alpha) * self.last
        return self.last


class OneEuro:
    """Smooths what stands still and follows what moves (Casiez et al. 2012), each number on its own."""

    def __init__(self, min_cutoff: float, beta: float) -> None:
        self._min_cutoff, self._beta = min_cutoff, beta
        self._values, self._speeds = LowPass(), LowPass()
        self._raw: Floats | None = None

    def step(self, values: Floats, scale: float, seconds: float) -> Floats:
        """Smooth the next values.

        Args:
            values: of any shape.
            scale: what counts as one unit of length, so that near and far people are smoothed alike.
            seconds: since the last step.
        """
        speed = np.zeros_like(values) if self._raw is None else (values - self._raw) / np.float32(scale * seconds)
        self._raw = values
        smooth = self._speeds.step(speed, _share(_SPEED_CUTOFF, seconds))
        cutoff = np.float32(self._min_cutoff) + np.float32(self._beta) * np.abs(smooth)
        return self._values.step(values, _share(cutoff, seconds))


def _share(cutoff: float | Floats, seconds: float) -> Floats:
    """The share of a new value that passes a filter with a cut-off frequency in hertz."""
    return np.asarray(1 / (1 + 1 / (2 * np.pi * cutoff * seconds)), dtype=np.float32)


_STEP = 1 / 30  # seconds between frames, as MediaPipe's smoothing counts them, whatever the video's own rate
_PRESENT, _WRIST_SEEN = 0.5, 0.1  # shares above which something is there
_SLOWNESS = 0.1  # share of a new visibility that passes in a frame
_KERNEL = 3  # cells on either side of a point whose heat is asked
_REACH = np.arange(-_KERNEL, _KERNEL + 1)
_THUMBNAIL = 96  # cells across a image, in which it is asked whether something has changed
_PALM = [0, 1, 2, 3, 5, 6, 9, 10, 13, 14, 17, 18]  # points of a hand by which it is followed: without finger tips
LEFT, RIGHT = (15, 17, 19), (16, 18, 20)  # wrist, little finger and index of the body


@dataclass(frozen=True, slots=True)
class Economy:
    """Work that is left out where it changes little."""

    body_every: int = 2  # frames; the body between two is their mean, its hands led by the hands' own points
    still: float = 6.0  # of 255: a part of the image that changed less in every cell is not estimated again

    @property
    def name(self) -> str:
        """Of the settings, for the cache."""
        return f"{self.body_every}-{self.still:g}"


USUAL, EXACT = Economy(), Economy(body_every=1, still=0.0)


class Thumbnail:
    """A image in a few cells, to tell whether a part of it has changed."""

    def __init__(self, image: Image) -> None:
        height, width = image.shape[:2]
        self._scale = _THUMBNAIL / width
        size = _THUMBNAIL, max(1, round(height * self._scale))
        self._cells = cv2.resize(image, size, interpolation=cv2.INTER_AREA).astype(np.int16)

    def same(self, other: "Thumbnail", region: Region, most: float) -> bool:
        """Whether no cell of a region differs by `most` or more."""
        left, top, right, bottom = (round(edge * self._scale) for edge in region.box(0.1))
        part = slice(max(0, top), max(0, bottom) + 1), slice(max(0, left), max(0, right) + 1)
        apart = np.abs(self._cells[part] - other._cells[part])
        return bool(apart.size == 0 or apart.max() < most)


@dataclass(slots=True)
class View:
    """A image, and what is needed to compare it with others."""

    image: Image
    cells: Thumbnail | None  # None: it is never compared

    @property
    def size(self) -> tuple[int, int]:
        """Width and height."""
        return self.image.shape[1], self.image.shape[0]


@dataclass(slots=True)
class Memory:
    """The region and the image in which something was looked for the last time."""

    still: float
    cells: Thumbnail | None = None
    region: Region | None = None

    def unchanged(self, view: View) -> bool:
        """Whether the image looks there as it did."""
        if self.cells is None or self.region is None or view.cells is None:
            return False
        return view.cells.same(self.cells, self.region, self.still)

    def keep(self, view: View, region: Region | None) -> None:
        """Remember a image."""
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
        """Estimate the body in the next image."""
        if self._memory.unchanged(view):
            return self._body
        region = self._region or self._find(view)
        self._memory.keep(view, region or letterbox(*view.size))
        body = None if region is None else self._estimate(view, region)
        if body is None:
            self._forget()
        self._body = body
        return body

    def _find(self, view: View) -> Region | None:
        whole = letterbox(*view.size)
        detected = self._detect(whole.crop(view.image, self._detect.size, black=True))
        if detected is None:
            return None
        centre, rim = whole.place(detected[:2])
        return about(centre, rim).grown(1.25)

    def _estimate(self, view: View, region: Region) -> Body | None:
        raw, present, heat = self._run(region.crop(view.image, self._run.size))
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
    """A hand or a face as it was seen in the last image."""

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
        detected = self._locate(rough.crop(view.image, self._locate.size))[0].reshape(2, 2)
        centre, rim = rough.place(detected / np.float32(self._locate.size))
        anew = about(centre, rim, -np.pi / 2).grown(1.0, -0.1)
        region = follow(_of_hand(last.points), last.points, anew, HANDS)
        raw, present = self._run(region.crop(view.image, self._run.size))
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
            view: the image.
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

    def _find(self, view: View, body: Body, previous: Region | None) -> Region | None:
        rough = _rough_face(body)
        detected = self._detect(rough.crop(view.image, self._detect.size, black=True))
        if detected is None:
            return None
        points = rough.place(detected)
        anew = around(points, turn(points[0], points[1], 0.0)).grown(2.0, -0.1)
        return follow(previous, self._last.points, anew, FACES)

    def _estimate(self, view: View, region: Region) -> Floats | None:
        raw, present = self._run(region.crop(view.image, self._run.size))
        if 1 / (1 + np.exp(-present.item())) <= _PRESENT:
            return None
        return region.place(raw.reshape(-1, 3) / np.float32(self._run.size))


def _rough_face(body: Body) -> Region:
    return around(body.points[:11], turn(body.points[5], body.points[2], 0.0)).grown(3.0)


def _of_face(points: Floats | None) -> Region | None:
    """Region in which to look for a face that was seen at (468, 3) points."""
    return None if points is None else around(points, turn(points[33], points[263], 0.0)).grown(1.5)


_FACE = list(FACE_POINTS)
_SIDES = (("left_hand", LEFT, (15, 17, 19, 21)), ("right_hand", RIGHT, (16, 18, 20, 22)))


@dataclass(frozen=True, slots=True)
class OpenVinoEstimator:
    """Estimates landmarks with MediaPipe's networks and OpenVINO."""

    economy: Economy = USUAL

    @property
    def version(self) -> str:
        """Names the estimator and its settings."""
        return f"{version()}-mediapipe-{networks_version()}-holistic-{self.economy.name}"

    def stream(self, frames: Iterable[Frame], size: tuple[int, int], chunk: int) -> Iterator[Landmarks]:
        """Follow one signer through the frames of one video; give landmarks in chunks of up to `chunk` frames."""
        return join_in_chunks(self._points(frames), size, chunk)

    def _points(self, frames: Iterable[Frame]) -> Iterator[tuple[FramePoints, float]]:
        """Landmarks at every frame; a image that is shown again is estimated once."""
        tracker = DirectTracker(self.economy)
        waiting: list[list[float]] = []  # times of images that were shown and not yet given
        image: Image | None = None
        last: FramePoints | None = None  # of the image shown last, if it has been given
        for frame in frames:
            if image is not None and frame.image is image:
                if last is None:
                    waiting[-1].append(frame.time)
                else:
                    yield last, frame.time
                continue
            image, last = frame.image, None
            waiting.append([frame.time])
            for sight in tracker.see(frame.image):
                yield from ((sight, time) for time in waiting.pop(0))
                last = None if waiting else sight
        for sight in tracker.finish():
            yield from ((sight, time) for time in waiting.pop(0))


class DirectTracker:
    """Follows one signer through one video; gives what it sees a little later, since it looks ahead."""

    def __init__(self, economy: Economy) -> None:
        self._economy = economy
        networks = Running(HAND_FINDER), Running(HAND)
        self._body, self._face = BodyPart(economy), FacePart(economy)
        self._hands = {name: HandPart(economy, joints, networks) for name, joints, _ in _SIDES}
        self._before: Body | None = None  # at the last image whose body was estimated
        self._between: list[View] = []  # images after it
        self._seen: FramePoints | None = None

    def see(self, image: Image) -> list[FramePoints]:
        """Take the next image, (H, W, 3) RGB; give those of it and the images before it that are ready."""
        view = View(np.ascontiguousarray(image), Thumbnail(image) if self._economy.still else None)
        if self._seen is not None and len(self._between) + 1 < self._economy.body_every:
            self._between.append(view)
            return []
        return self._up_to(view)

    def finish(self) -> list[FramePoints]:
        """The landmarks that are left after the last image."""
        return self._up_to(self._between.pop()) if self._between else []

    def _up_to(self, view: View) -> list[FramePoints]:
        body = self._body.see(view)
        steps = len(self._between) + 1
        bodies = [_mix(self._before, body, number / steps) for number in range(1, steps)]
        sights = [self._parts(view, body, again=False) for view, body in zip(self._between, bodies, strict=True)]
        sights.append(self._parts(view, body, again=True))
        led = [
            _led(sight, self._seen, sights[-1], number / steps)
            for number, sight in enumerate(sights[:-1], 1)
            if self._seen is not None
        ]
        self._before, self._between, self._seen = body, [], sights[-1]
        return [*led, sights[-1]]

    def _parts(self, view: View, body: Body | None, *, again: bool) -> FramePoints:
        hands = {name: part.see(view, body) for name, part in self._hands.items()}
        face = self._face.see(view, body, again=again)
        sides = np.array([*view.size, view.size[0]], dtype=np.float32)
        return FramePoints(
            body=_body_array(body, sides),
            left_hand=_array(hands["left_hand"], HAND_POINTS, sides),
            right_hand=_array(hands["right_hand"], HAND_POINTS, sides),
            face=_array(None if face is None else face[_FACE], len(_FACE), sides),
        )


def _mix(before: Body | None, after: Body | None, share: float) -> Body | None:
    """The body between two."""
    if before is None or after is None:
        return None
    if before is after:
        return after
    weight = np.float32(share)
    return Body(
        before.points + weight * (after.points - before.points),
        before.visible + weight * (after.visible - before.visible),
    )


def _led(sight: FramePoints, before: FramePoints, after: FramePoints, share: float) -> FramePoints:
    """The body's wrists and fingers between two estimates go where the hands' own wrists went."""
    body = sight.body.copy()
    for name, _, joints in _SIDES:
        here, earlier, later = (getattr(points, name)[0, :2] for points in (sight, before, after))
        offset = here - (earlier + np.float32(share) * (later - earlier))
        if np.isfinite(offset).all():
            body[list(joints), :2] += offset
    return replace(sight, body=body)


def _array(points: Floats | None, count: int, sides: Floats) -> Points:
    return np.full((count, 3), np.nan, dtype=np.float32) if points is None else points / sides


def _body_array(body: Body | None, sides: Floats) -> Points:
    if body is None:
        return np.full((BODY_POINTS, 4), np.nan, dtype=np.float32)
    return np.concatenate([body.points / sides, body.visible[:, None]], axis=1).astype(np.float32)
