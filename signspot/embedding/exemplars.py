"""From exemplars to embeddings: found, trimmed, sampled, embedded once and remembered."""

import json
import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from signspot.embedding.tracks import read_arrays, write_arrays
from signspot.embedding.windows import Source, embed_averaged, is_pose_file, segment_features
from signspot.errors import DictionaryError, EncoderMismatchError, FormatError, OutputError, SignspotError
from signspot.files import content_digest, text_digest
from signspot.landmarks.estimate import estimate_landmarks
from signspot.landmarks.landmarks import Landmarks
from signspot.landmarks.pose_file import open_landmarks
from signspot.landmarks.resampling import CLOCK, at_positions, frames_at, motion_time
from signspot.landmarks.signing import check_signing, sign_segment
from signspot.models.encoder import Encoder
from signspot.progress import Progress, silent
from signspot.records import Exemplar
from signspot.timeline import Segment
from signspot.video.clips import squash_and_crop
from signspot.video.reader import open_video

FRAMES_PER_CLIP_DRAWN = 4  # n grows with the length of the sign: a clip for every four frames
FEWEST, MOST = 4, 24  # clips of one exemplar
WIDEST, NARROWEST = 1.0, 0.6  # the share of the sign that a clip spans

VERSION = 2  # raised whenever the same sign gives other clips: kept embeddings are then made again
LEAD = 2  # frames of a landmark clip before its sign, and after it: signs in continuous signing are shorter than a clip


@dataclass(frozen=True, slots=True)
class Play:
    """How a sign is played in a landmark clip."""

    stretch: float = 0.1  # by which it is longer or shorter, at most
    shift: float = 0.04  # of the sign, by which it is early or late, at most
    clock: float = CLOCK  # the share of plain time


EMBEDDED = Play()  # as an exemplar is embedded


def clip_positions(length: int, window: int, seed: int = 0) -> NDArray[np.float64]:
    """Draw where the frames of each clip lie in a sign.

    Dictionary signs are slow, continuous ones are fast. So a clip spans most of the sign whatever its length: its
    rate is the one at which `window` frames cover a random share of the sign, its shift is random within the rest.

    Args:
        length: frames of the trimmed sign.
        window: frames in a clip.
        seed: the same seed draws the same clips.

    Returns:
        (n, window) positions in frames, in [0, length - 1].
    """
    count = int(np.clip(length // FRAMES_PER_CLIP_DRAWN, FEWEST, MOST))
    random = np.random.default_rng([seed, length, window])
    span = random.uniform(NARROWEST, WIDEST, count) * (length - 1)
    start = random.uniform(0, 1, count) * (length - 1 - span)
    positions: NDArray[np.float64] = start[:, None] + span[:, None] * np.linspace(0, 1, window)
    return positions


def clips_of(sign: NDArray[np.float32], window: int, seed: int = 0) -> NDArray[np.float32]:
    """(n, window, J, C) clips of the landmark features (T, J, C) of an isolated sign, in the sign's own time."""
    count = int(np.clip(len(sign) // FRAMES_PER_CLIP_DRAWN, FEWEST, MOST))
    return draw_clips(sign, window, count, np.random.default_rng([seed, len(sign), window]))


def draw_clips(
    sign: NDArray[np.float32],
    window: int,
    count: int,
    random: np.random.Generator,
    play: Play = EMBEDDED,
) -> NDArray[np.float32]:
    """(count, window, J, C) as `clips_of`.

    Each clip shows the whole sign in its middle; before and after, its first and last frames are held. The sign goes
    by its own time (`motion_time`), in which holds are short, as they are in continuous signing.
    """
    lead = min(LEAD, (window - 2) // 2)
    even = (np.arange(window) - lead) / (window - 1 - 2 * lead)
    size = random.uniform(1 - play.stretch, 1 + play.stretch, count)
    late = random.uniform(-play.shift, play.shift, count)
    shares = 0.5 + late[:, None] + (even - 0.5) * size[:, None]
    return at_positions(sign, frames_at(motion_time(sign, play.clock), shares))


logger = logging.getLogger(__name__)

_KIND = "signspot exemplar 1"


@dataclass(frozen=True, slots=True)
class Gallery:
    """Exemplars beside their embeddings; the mirrored ones follow the plain ones."""

    exemplars: tuple[Exemplar, ...]  # V of them
    embeddings: NDArray[np.float32]  # (V, D), or (2 V, D) where mirrored ones are there, too

    def __post_init__(self) -> None:
        assert len(self.embeddings) in (len(self.exemplars), 2 * len(self.exemplars))

    def exemplar(self, column: int) -> tuple[Exemplar, bool]:
        """The exemplar behind a row of `embeddings`, and whether it is mirrored there."""
        count = len(self.exemplars)
        return self.exemplars[column % count], column >= count


class ExemplarEmbedder:
    """Embeds exemplars with one encoder, through a cache keyed by content."""

    def __init__(self, encoder: Encoder, cache: Path | None = None, seed: int = 0):
        self.encoder, self.cache, self.seed = encoder, cache, seed

    def gallery(self, exemplars: Iterable[Exemplar], *, mirror: bool, progress: Progress = silent) -> Gallery:
        """Embed exemplars; unreadable ones are logged and left out.

        Raises:
            DictionaryError: none is left.
        """
        wanted = list(exemplars)
        mirror = mirror and self.encoder.contract.kind == "landmarks"
        kept, rows = [], []
        for done, exemplar in enumerate(wanted):
            progress(done, len(wanted))
            try:
                rows.append(self.embed(exemplar, mirror=mirror))
                kept.append(exemplar)
            except EncoderMismatchError:
                raise
            except SignspotError as error:
                logger.warning("left out exemplar '%s' of '%s': %s", exemplar.id, exemplar.word, error)
        progress(len(wanted), len(wanted))
        if not kept:
            names = ", ".join(sorted({exemplar.word for exemplar in wanted})[:5]) or "none given"
            raise DictionaryError(f"no exemplar can be used ({len(wanted)} tried; words: {names}). See the log above.")
        stacked = np.stack(rows, axis=1)  # (1 or 2, V, D)
        return Gallery(tuple(kept), stacked.reshape(-1, stacked.shape[-1]))

    def embed(self, exemplar: Exemplar, *, mirror: bool = False) -> NDArray[np.float32]:
        """(1, D), or (2, D) with its mirror image second, unit norm."""
        if exemplar.embedding is not None and self._made_here(exemplar):
            known = np.asarray(exemplar.embedding, np.float32)[None]
            return np.repeat(known, 1 + mirror, axis=0)
        if exemplar.path is None:
            raise EncoderMismatchError(
                f"exemplar '{exemplar.id}' has no video, only an embedding by the encoder "
                f"{exemplar.encoder or 'unknown'}, not by '{self.encoder.name}' ({self.encoder.hash}). "
                "Load that encoder, or fetch the videos with: signspot dictionary fetch"
            )
        return self.embed_source(exemplar.path, exemplar.segment, exemplar.bbox, mirror=mirror)

    def embed_source(
        self,
        source: Source,
        segment: Segment | None = None,
        bbox: tuple[float, float, float, float] | None = None,
        *,
        mirror: bool = False,
    ) -> NDArray[np.float32]:
        """As `embed`, of a video path, a `.pose` path or landmarks."""
        if isinstance(source, Landmarks):
            return self._from_landmarks(source, "landmarks", segment, mirror=mirror)
        path = Path(source)
        entry = self._cache_entry(path, segment, bbox, mirror=mirror)
        if entry is not None and entry.is_file():
            try:
                return read_arrays(entry, _KIND)[0]["embedding"]
            except FormatError as error:
                logger.info("made a cached embedding again: %s", error)
        if self.encoder.contract.kind == "rgb":
            embedding = self._from_pixels(path, segment, bbox)
        else:
            embedding = self._from_landmarks(self._landmarks(path), path.name, segment, mirror=mirror)
        if entry is not None:
            try:
                write_arrays(entry, _KIND, {"embedding": embedding}, {"name": path.name})
            except OutputError as error:
                logger.warning("the cache cannot be used: %s", error)
        return embedding

    def _made_here(self, exemplar: Exemplar) -> bool:
        return exemplar.encoder in (
            self.encoder.hash,
            self.encoder.card.get("public_name", self.encoder.hash),
        )

    def _landmarks(self, path: Path) -> Landmarks:
        if is_pose_file(path):
            return open_landmarks(path)
        return estimate_landmarks(path, cache=self.cache / "landmarks" if self.cache else None)

    def _from_landmarks(
        self, landmarks: Landmarks, name: str, segment: Segment | None, *, mirror: bool
    ) -> NDArray[np.float32]:
        check_signing(landmarks, name)
        segment = segment or sign_segment(landmarks)
        seen = segment_features(self.encoder, landmarks, segment)
        versions = [seen, segment_features(self.encoder, landmarks, segment, mirror=True)] if mirror else [seen]
        frames = self.encoder.contract.frames
        return np.stack([embed_averaged(self.encoder, clips_of(version, frames, self.seed)) for version in versions])

    def _from_pixels(
        self, path: Path, segment: Segment | None, bbox: tuple[float, float, float, float] | None
    ) -> NDArray[np.float32]:
        contract = self.encoder.contract
        if segment is None:
            segment = self._motion(path)
        with open_video(path) as video:
            size = contract.image_size or 224
            frames = [squash_and_crop(f.image, size, bbox=bbox) for f in video.resampled(contract.fps, segment)]
        positions = clip_positions(len(frames), contract.frames, self.seed).round().astype(int)
        clips = np.stack([np.stack([frames[index] for index in clip], axis=1) for clip in positions])
        return embed_averaged(self.encoder, clips)[None]

    def _motion(self, path: Path) -> Segment | None:
        """Where the sign is, by wrist motion; None where no body is seen (the RGB trunk may still see enough)."""
        landmarks = self._landmarks(path)
        return None if np.isnan(landmarks.body).all() else sign_segment(landmarks)

    def _cache_entry(
        self,
        path: Path,
        segment: Segment | None,
        bbox: Sequence[float] | None,
        *,
        mirror: bool,
    ) -> Path | None:
        if self.cache is None or not path.is_file():
            return None
        how = json.dumps([segment and [segment.start, segment.end], bbox, mirror, self.seed, VERSION])
        key = f"{content_digest(path)}-{text_digest(how)}"
        return self.cache / "exemplars" / self.encoder.hash / f"{key}.safetensors"
