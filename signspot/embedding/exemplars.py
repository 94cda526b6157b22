"""From exemplars to embeddings: found, trimmed, sampled, embedded once and remembered."""

import json
import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from signspot.dictionary.cutting import origin_of
from signspot.embedding.inputs import CLIPS_VERSION, READERS, Box, SignLocation, sign_in_context
from signspot.embedding.tracks import read_arrays, write_arrays
from signspot.errors import DictionaryError, EncoderMismatchError, FormatError, OutputError, SignspotError
from signspot.io.files import content_digest, text_digest
from signspot.io.progress import Progress, silent
from signspot.landmarks.features import mirror_features
from signspot.landmarks.landmarks import Landmarks
from signspot.landmarks.signing import check_signing
from signspot.landmarks.video_estimation import Source, landmarks_of
from signspot.models.encoder import Encoder
from signspot.types import Exemplar, Segment

logger = logging.getLogger(__name__)

_KIND = "signspot exemplar 2"


@dataclass(frozen=True, slots=True)
class Gallery:
    """Exemplars beside their embeddings: a row for each view of an exemplar, as it is and mirrored."""

    exemplars: tuple[Exemplar, ...]  # E of them
    embeddings: NDArray[np.float32]  # (V, D) unit norm
    rows: NDArray[np.int64]  # (V,) which exemplar a row shows
    mirrored: NDArray[np.bool_]  # (V,) whether it is mirrored there
    codes: NDArray[np.floating[Any]] | None = None  # (V, L, C) frame codes of each view, where the encoder gives them
    words: dict[str, NDArray[np.int64]] = field(init=False, repr=False, compare=False)  # word → its rows, in order

    def __post_init__(self) -> None:
        assert len(self.embeddings) == len(self.rows) == len(self.mirrored), "one exemplar and one flag per row"
        assert self.codes is None or len(self.codes) == len(self.rows), "frame codes for all rows, or for none"
        rows_by_word: dict[str, list[int]] = {}
        for row, index in enumerate(self.rows):
            rows_by_word.setdefault(self.exemplars[index].word, []).append(row)
        object.__setattr__(self, "words", {word: np.array(rows, np.int64) for word, rows in rows_by_word.items()})

    @classmethod
    def of(
        cls,
        exemplars: Iterable[Exemplar],
        embeddings: NDArray[np.float32],
        codes: NDArray[np.floating[Any]] | None = None,
    ) -> "Gallery":
        """Put exemplars and embeddings together.

        Args:
            exemplars: E of them.
            embeddings: (E, D), or (E, M, D) where M is 1, or 2 with the mirrored view second.
            codes: (E, M, L, C) frame codes, where there are any.
        """
        all_exemplars = tuple(exemplars)
        views = embeddings[:, None] if embeddings.ndim == 2 else embeddings
        count, view_count, dimension = views.shape
        assert count == len(all_exemplars), "one entry per exemplar"
        rows = np.repeat(np.arange(count), view_count)
        mirrored = np.tile(np.arange(view_count) == 1, count)
        joined = None if codes is None else codes.reshape(-1, *codes.shape[2:])
        return cls(all_exemplars, views.reshape(-1, dimension), rows, mirrored, joined)

    @classmethod
    def of_views(cls, exemplars: Iterable[Exemplar], views: "Sequence[SignViews]") -> "Gallery":
        """Put exemplars and their views together; without frame codes, unless all have them.

        What was cut out of a video remembers which one: it must not be compared with itself there.
        """
        codes = [view.codes for view in views if view.codes is not None]
        if codes and len(codes) < len(views):
            logger.warning("some exemplars have no frame codes: embeddings alone are compared")
        joined = np.stack(codes) if len(codes) == len(views) else None
        return cls.of(map(_with_origin, exemplars), np.stack([view.embeddings for view in views]), joined)

    def of_words(self, words: Iterable[str]) -> "Gallery":
        """The part of it that shows these words, in their order."""
        rows = np.concatenate([np.empty(0, np.int64), *(self.words[word] for word in words)])
        numbers, rows_anew = np.unique(self.rows[rows], return_inverse=True)
        exemplars = tuple(self.exemplars[number] for number in numbers)
        codes = None if self.codes is None else self.codes[rows]
        return Gallery(exemplars, self.embeddings[rows], rows_anew, self.mirrored[rows], codes)

    def exemplar(self, row: int) -> tuple[Exemplar, bool]:
        """The exemplar behind a row of `embeddings`, and whether it is mirrored there."""
        return self.exemplars[self.rows[row]], bool(self.mirrored[row])


def _with_origin(exemplar: Exemplar) -> Exemplar:
    """The exemplar with the footage in which its segment lies; as it is, without a segment or a file."""
    origin = origin_of(exemplar)
    if origin is None or origin in exemplar.origins:
        return exemplar
    return replace(exemplar, origins=(*exemplar.origins, origin))


@dataclass(frozen=True, slots=True)
class SignViews:
    """One isolated sign as an encoder sees it, and mirrored if that was asked for."""

    embeddings: NDArray[np.float32]  # (M, D) unit norm; M is 1, or 2 with the mirrored view second
    codes: NDArray[np.float32] | None = None  # (M, L, C) frame codes, where the encoder gives them


class ExemplarEmbedder:
    """Embeds exemplars with one encoder, through a cache keyed by content."""

    def __init__(self, encoder: Encoder, cache: Path | None = None, seed: int = 0):
        self.encoder, self.cache, self.seed = encoder, cache, seed

    def gallery(self, exemplars: Iterable[Exemplar], *, mirror: bool, progress: Progress = silent) -> Gallery:
        """Embed exemplars; unreadable ones are logged and left out.

        Args:
            exemplars: of any words.
            mirror: show each mirrored, too, where the encoder can.
            progress: called with the exemplars done.

        Raises:
            DictionaryError: none is left.
        """
        listed = list(exemplars)
        mirror = mirror and self.encoder.contract.can_mirror
        usable: list[Exemplar] = []
        views: list[SignViews] = []
        for done, exemplar in enumerate(listed):
            progress(done, len(listed))
            try:
                views.append(self.embed(exemplar, mirror=mirror))
                usable.append(exemplar)
            except EncoderMismatchError:
                raise
            except SignspotError as error:
                logger.warning("left out exemplar '%s' of '%s': %s", exemplar.id, exemplar.word, error)
        progress(len(listed), len(listed))
        if not usable:
            names = ", ".join(sorted({exemplar.word for exemplar in listed})[:5]) or "none given"
            raise DictionaryError(f"no exemplar can be used ({len(listed)} tried; words: {names}). See the log above.")
        return Gallery.of_views(usable, views)

    def embed(self, exemplar: Exemplar, *, mirror: bool = False) -> SignViews:
        """An exemplar's views."""
        if exemplar.embedding is not None and self._made_here(exemplar):
            embedding = np.asarray(exemplar.embedding, np.float32)[None]
            return SignViews(np.repeat(embedding, 1 + mirror, axis=0))
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
        bbox: Box | None = None,
        *,
        mirror: bool = False,
    ) -> SignViews:
        """As `embed`, of a video path, a `.pose` path or landmarks."""
        location = SignLocation(source, segment, bbox)
        entry = self._cache_entry(location, mirror=mirror)
        if entry is not None and entry.is_file():
            try:
                arrays = read_arrays(entry, _KIND)[0]
                return SignViews(arrays["embedding"], arrays.get("codes"))
            except FormatError as error:
                logger.info("a cached embedding is made again: %s", error)
        views = self._embed(location, mirror=mirror)
        if entry is not None:
            arrays = {"embedding": views.embeddings} | ({} if views.codes is None else {"codes": views.codes})
            try:
                write_arrays(entry, _KIND, arrays, {"name": location.name})
            except OutputError as error:
                logger.warning("the cache cannot be used: %s", error)
        return views

    def _embed(self, location: SignLocation, *, mirror: bool) -> SignViews:
        """The sign is read once; its mirror image is made of what was read."""
        contract = self.encoder.contract
        cache = self.cache / "landmarks" if self.cache else None
        if contract.codes:
            landmarks = landmarks_of(location.source, cache)
            check_signing(landmarks, location.name)
            return code_sign(self.encoder, *sign_in_context(landmarks, contract.fps, location.segment), mirror=mirror)
        sign = READERS[contract.kind].sign(contract, location, cache)
        views = [sign, mirror_features(sign)] if mirror else [sign]
        return SignViews(np.stack([embed_sign(self.encoder, view, self.seed) for view in views]))

    def _made_here(self, exemplar: Exemplar) -> bool:
        return exemplar.encoder in (
            self.encoder.hash,
            self.encoder.card.get("public_name", self.encoder.hash),
        )

    def _cache_entry(self, location: SignLocation, *, mirror: bool) -> Path | None:
        if self.cache is None or isinstance(location.source, Landmarks) or not Path(location.source).is_file():
            return None
        segment, bbox = location.segment, location.bbox
        how: Sequence[Any] = [segment and [segment.start, segment.end], bbox, mirror, self.seed, CLIPS_VERSION]
        key = f"{content_digest(location.source)}-{text_digest(json.dumps(how))}"
        return self.cache / "exemplars" / self.encoder.hash / f"{key}.safetensors"


def embed_sign(encoder: Encoder, sign: NDArray[np.float32], seed: int = 0) -> NDArray[np.float32]:
    """(D,) the (T, ...) frames of an isolated sign as a dictionary embeds them: clips of it, averaged (Sec. 3.3)."""
    from signspot.embedding.windows import embed_averaged  # PyTorch: not needed for exemplars that are in the cache

    contract = encoder.contract
    return embed_averaged(encoder, READERS[contract.kind].clips(sign, contract.frames, seed))


def code_sign(
    encoder: Encoder, frames: NDArray[np.float32], first: int, last: int, *, mirror: bool = False
) -> SignViews:
    """Code an isolated sign, with the frames around it in view.

    Args:
        encoder: one that gives frame codes.
        frames: (T, J, C) landmark features of all frames.
        first: frame of the sign.
        last: frame of the sign.
        mirror: mirror it, too.
    """
    from signspot.embedding.windows import embed_codes

    return SignViews(*embed_codes(encoder, [frames, mirror_features(frames)] if mirror else [frames], first, last))
