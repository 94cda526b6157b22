"""Pictures of signs, decoded once and kept: epochs over a corpus of videos never decode again.

A file a video (the stretches around its labels) and a file an exemplar (its sign), named by content and by how they are
cut; 8-bit colours, squashed to a square a little larger than what the trunk sees, opened as memory maps.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.lib.format import open_memmap
from numpy.typing import NDArray

from signspot.errors import EmptyVideoError, FormatError
from signspot.files import content_digest, text_digest, write_beside
from signspot.timeline import Segment
from signspot.video.clips import squashed_side
from signspot.video.orientation import Image
from signspot.video.reader import open_video

Pictures = NDArray[np.uint8]
_VERSION = 1  # raised whenever the same source would give other pictures


@dataclass(frozen=True, slots=True)
class PictureStore:
    """Where pictures are kept, and how they are cut."""

    folder: Path
    fps: float
    image_size: int  # pixels of a side that the trunk sees

    @property
    def side(self) -> int:
        """Pixels of a side that are kept."""
        return squashed_side(self.image_size)

    def stretches(self, video: Path, starts: Sequence[float], frames: int) -> Pictures:
        """(L, S, H, W, 3): `frames` pictures from each start on, in seconds; the ends of the video are repeated."""
        path = self._path(video, f"{frames} {[round(start, 4) for start in starts]}")
        if not path.is_file():
            self._cut(video, [max(0, round(start * self.fps)) for start in starts], frames, path)
        return _open(path)

    def sign(self, video: Path, segment: Segment | None) -> Pictures:
        """(T, H, W, 3): all pictures of a video, or of a stretch of it."""
        path = self._path(video, f"{segment}")
        if not path.is_file():
            with open_video(video) as opened:
                seen = [self._squash(frame.image) for frame in opened.resampled(self.fps, segment)]
            with write_beside(path) as beside:
                np.save(beside, np.stack(seen))
        return _open(path)

    def _cut(self, video: Path, firsts: Sequence[int], frames: int, path: Path) -> None:
        """Decode a video once, and put each picture wherever it is wanted; memory holds one picture."""
        wanted: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
        for row, first in enumerate(firsts):
            for place in range(frames):
                wanted[first + place].append((row, place))
        last = max(wanted)
        picture: Pictures | None = None
        with write_beside(path) as beside:
            shape = (len(firsts), frames, self.side, self.side, 3)
            made = open_memmap(beside, "w+", np.uint8, shape)
            number = -1
            with open_video(video) as opened:
                for number, frame in enumerate(opened.resampled(self.fps)):
                    picture = self._squash(frame.image) if number in wanted else picture
                    for row, place in wanted.get(number, ()):
                        made[row, place] = picture
                    if number == last:
                        break
                else:
                    picture = None if number < 0 else self._squash(frame.image)
            if picture is None:
                raise EmptyVideoError(f"{video} holds no frame")
            for late in (place for place in wanted if place > number):
                for row, place in wanted[late]:
                    made[row, place] = picture
            made.flush()
            del made

    def _squash(self, image: Image) -> Pictures:
        import cv2

        squashed: Pictures = cv2.resize(image, (self.side, self.side), interpolation=cv2.INTER_LINEAR)
        return squashed

    def _path(self, video: Path, cut: str) -> Path:
        key = text_digest(f"{cut} {self.fps} {self.side} {_VERSION}")
        return self.folder / f"{video.stem}-{content_digest(video)}-{key}.npy"


def _open(path: Path) -> Pictures:
    try:
        kept: Pictures = np.load(path, mmap_mode="r", allow_pickle=False)
        return kept
    except (OSError, ValueError) as error:
        raise FormatError(f"cannot read the pictures {path} ({error}). Remove it, and it is made again.") from error
