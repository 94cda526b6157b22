"""From exemplars to embeddings: found, trimmed, sampled, embedded once and remembered."""

import json
import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from signspot.embedding.clips import VERSION
from signspot.embedding.inputs import READERS, Box, SignPlace, Source
from signspot.embedding.tracks import read_arrays, write_arrays
from signspot.embedding.windows import embed_averaged
from signspot.errors import DictionaryError, EncoderMismatchError, FormatError, OutputError, SignspotError
from signspot.files import content_digest, text_digest
from signspot.landmarks.features import mirror_features
from signspot.landmarks.landmarks import Landmarks
from signspot.models.encoder import Encoder
from signspot.progress import Progress, silent
from signspot.records import Exemplar
from signspot.timeline import Segment

logger = logging.getLogger(__name__)

_KIND = "signspot exemplar 1"


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
        found: dict[str, list[int]] = {}
        for row, index in enumerate(self.rows):
            found.setdefault(self.exemplars[index].word, []).append(row)
        object.__setattr__(self, "words", {word: np.array(rows, np.int64) for word, rows in found.items()})

    @classmethod
    def of(cls, exemplars: Iterable[Exemplar], embeddings: NDArray[np.float32]) -> "Gallery":
        """Put exemplars and embeddings together.

        Args:
            exemplars: E of them.
            embeddings: (E, D), or (E, M, D) where M is 1, or 2 with the mirrored view second.
        """
        shown = tuple(exemplars)
        views = embeddings[:, None] if embeddings.ndim == 2 else embeddings
        count, each, dimension = views.shape
        assert count == len(shown), "one entry per exemplar"
        rows = np.repeat(np.arange(count), each)
        mirrored = np.tile(np.arange(each) == 1, count)
        return cls(shown, views.reshape(-1, dimension), rows, mirrored)

    def exemplar(self, row: int) -> tuple[Exemplar, bool]:
        """The exemplar behind a row of `embeddings`, and whether it is mirrored there."""
        return self.exemplars[self.rows[row]], bool(self.mirrored[row])


class ExemplarEmbedder:
    """Embeds exemplars with one encoder, through a cache keyed by content."""

    def __init__(self, encoder: Encoder, cache: Path | None = None, seed: int = 0):
        self.encoder, self.cache, self.seed = encoder, cache, seed

    def gallery(self, exemplars: Iterable[Exemplar], *, mirror: bool, progress: Progress = silent) -> Gallery:
        """Embed exemplars; unreadable ones are logged and left out.

        Args:
            exemplars: of any words.
            mirror: show each mirrored, too, where the encoder can.
            progress: told the exemplars that are done.

        Raises:
            DictionaryError: none is left.
        """
        wanted = list(exemplars)
        mirror = mirror and self.encoder.contract.can_mirror
        kept, views = [], []
        for done, exemplar in enumerate(wanted):
            progress(done, len(wanted))
            try:
                views.append(self.embed(exemplar, mirror=mirror))
                kept.append(exemplar)
            except EncoderMismatchError:
                raise
            except SignspotError as error:
                logger.warning("left out exemplar '%s' of '%s': %s", exemplar.id, exemplar.word, error)
        progress(len(wanted), len(wanted))
        if not kept:
            names = ", ".join(sorted({exemplar.word for exemplar in wanted})[:5]) or "none given"
            raise DictionaryError(f"no exemplar can be used ({len(wanted)} tried; words: {names}). See the log above.")
        return Gallery.of(kept, np.stack(views))

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
        bbox: Box | None = None,
        *,
        mirror: bool = False,
    ) -> NDArray[np.float32]:
        """As `embed`, of a video path, a `.pose` path or landmarks."""
        place = SignPlace(source, segment, bbox)
        entry = self._cache_entry(place, mirror=mirror)
        if entry is not None and entry.is_file():
            try:
                return read_arrays(entry, _KIND)[0]["embedding"]
            except FormatError as error:
                logger.info("made a cached embedding again: %s", error)
        embedding = self._embed(place, mirror=mirror)
        if entry is not None:
            try:
                write_arrays(entry, _KIND, {"embedding": embedding}, {"name": place.name})
            except OutputError as error:
                logger.warning("the cache cannot be used: %s", error)
        return embedding

    def _embed(self, place: SignPlace, *, mirror: bool) -> NDArray[np.float32]:
        """(1, D) or (2, D): the sign is read once; its mirror image is made of what was read."""
        contract = self.encoder.contract
        reader = READERS[contract.kind]
        sign = reader.sign(contract, place, self.cache / "landmarks" if self.cache else None)
        views = [sign, mirror_features(sign)] if mirror else [sign]
        return np.stack([embed_sign(self.encoder, view, self.seed) for view in views])

    def _made_here(self, exemplar: Exemplar) -> bool:
        return exemplar.encoder in (
            self.encoder.hash,
            self.encoder.card.get("public_name", self.encoder.hash),
        )

    def _cache_entry(self, place: SignPlace, *, mirror: bool) -> Path | None:
        if self.cache is None or isinstance(place.source, Landmarks) or not Path(place.source).is_file():
            return None
        segment, bbox = place.segment, place.bbox
        how: Sequence[Any] = [segment and [segment.start, segment.end], bbox, mirror, self.seed, VERSION]
        key = f"{content_digest(place.source)}-{text_digest(json.dumps(how))}"
        return self.cache / "exemplars" / self.encoder.hash / f"{key}.safetensors"


def embed_sign(encoder: Encoder, sign: NDArray[np.float32], seed: int = 0) -> NDArray[np.float32]:
    """(D,) the (T, ...) frames of an isolated sign as a dictionary embeds them: clips of it, averaged (Sec. 3.3)."""
    contract = encoder.contract
    return embed_averaged(encoder, READERS[contract.kind].clips(sign, contract.frames, seed))
