"""The second estimator: MediaPipe's networks run by OpenVINO, less often where nothing changes (`direct`)."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from signspot.landmarks.direct import LEFT, RIGHT, USUAL, Body, BodyPart, Economy, FacePart, HandPart, Thumbnail, View
from signspot.landmarks.holistic import Sight, join_sights, mediapipe_version
from signspot.landmarks.landmarks import BODY_POINTS, FACE_POINTS, HAND_POINTS, Landmarks, Points
from signspot.landmarks.networks import HAND, HAND_FINDER, LIGHT_HAND, Running, version
from signspot.landmarks.regions import Floats, Picture
from signspot.video.reader import Frame

_FACE = list(FACE_POINTS)
_SIDES = (("left_hand", LEFT, (15, 17, 19, 21)), ("right_hand", RIGHT, (16, 18, 20, 22)))


@dataclass(frozen=True, slots=True)
class OpenVinoEstimator:
    """Estimates landmarks with MediaPipe's networks and OpenVINO (`landmarks.stretches.Estimator`)."""

    economy: Economy = USUAL

    @property
    def version(self) -> str:
        """Names the estimator and its settings."""
        return f"{version()}-mediapipe-{mediapipe_version()}-holistic-{self.economy.name}"

    def stream(self, frames: Iterable[Frame], size: tuple[int, int], chunk: int) -> Iterator[Landmarks]:
        """Follow one signer through the frames of one video; give landmarks in chunks of up to `chunk` frames."""
        sights: list[Sight] = []
        times: list[float] = []
        for sight, time in self._sights(frames):
            sights.append(sight)
            times.append(time)
            if len(sights) == chunk:
                yield join_sights(sights, times, size)
                sights, times = [], []
        if sights:
            yield join_sights(sights, times, size)

    def _sights(self, frames: Iterable[Frame]) -> Iterator[tuple[Sight, float]]:
        """Landmarks at every frame; a picture that is shown again is estimated once."""
        tracker = DirectTracker(self.economy)
        waiting: list[list[float]] = []  # times of pictures that were shown and not yet given
        shown: Picture | None = None
        last: Sight | None = None  # of the picture shown last, if it has been given
        for frame in frames:
            if shown is not None and frame.image is shown:
                if last is None:
                    waiting[-1].append(frame.time)
                else:
                    yield last, frame.time
                continue
            shown, last = frame.image, None
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
        networks = Running(HAND_FINDER), Running(LIGHT_HAND if economy.light_hands else HAND)
        self._body, self._face = BodyPart(economy), FacePart(economy)
        self._hands = {name: HandPart(economy, joints, networks) for name, joints, _ in _SIDES}
        self._before: Body | None = None  # at the last picture whose body was estimated
        self._between: list[View] = []  # pictures after it
        self._seen: Sight | None = None

    def see(self, picture: Picture) -> list[Sight]:
        """Take the next picture, (H, W, 3) RGB; give those of it and the pictures before it that are ready."""
        view = View(np.ascontiguousarray(picture), Thumbnail(picture) if self._economy.still else None)
        if self._seen is not None and len(self._between) + 1 < self._economy.body_every:
            self._between.append(view)
            return []
        return self._up_to(view)

    def finish(self) -> list[Sight]:
        """The landmarks that are left after the last picture."""
        return self._up_to(self._between.pop()) if self._between else []

    def _up_to(self, view: View) -> list[Sight]:
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

    def _parts(self, view: View, body: Body | None, *, again: bool) -> Sight:
        hands = {name: part.see(view, body) for name, part in self._hands.items()}
        face = self._face.see(view, body, again=again)
        sides = np.array([*view.size, view.size[0]], dtype=np.float32)
        return Sight(
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


def _led(sight: Sight, before: Sight, after: Sight, share: float) -> Sight:
    """The body's wrists and fingers between two estimates go where the hands' own wrists went."""
    body = sight.body.copy()
    for name, _, joints in _SIDES:
        own, one, two = (getattr(each, name)[0, :2] for each in (sight, before, after))
        offset = own - (one + np.float32(share) * (two - one))
        if np.isfinite(offset).all():
            body[list(joints), :2] += offset
    return replace(sight, body=body)


def _array(points: Floats | None, count: int, sides: Floats) -> Points:
    return np.full((count, 3), np.nan, dtype=np.float32) if points is None else points / sides


def _body_array(body: Body | None, sides: Floats) -> Points:
    if body is None:
        return np.full((BODY_POINTS, 4), np.nan, dtype=np.float32)
    return np.concatenate([body.points / sides, body.visible[:, None]], axis=1).astype(np.float32)
