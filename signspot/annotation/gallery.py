"""The exemplars of all words that are asked for, embedded once, in one file that every worker opens."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from signspot.embedding.exemplars import ExemplarEmbedder
from signspot.embedding.tracks import read_arrays, write_arrays
from signspot.errors import EncoderMismatchError, SignspotError
from signspot.files import content_digest, write_beside
from signspot.progress import Progress, silent
from signspot.records import Exemplar


class Digests:
    """Remembers digests in a file."""

    def __init__(self, file: Path):
        self._file = file
        self._known: dict[str, tuple[int, int, str]] = {}  # path → size, time of change, digest
        try:
            entries = json.loads(file.read_text(encoding="utf-8"))
            self._known = {
                str(path): (int(size), int(when), str(digest)) for path, (size, when, digest) in entries.items()
            }
        except (OSError, ValueError, TypeError, AttributeError):
            self._known = {}  # not there, or damaged: all are read again

    def of(self, paths: Iterable[Path], workers: int = 1, progress: Progress = silent) -> dict[Path, str | OSError]:
        """The digest of every file, or why it cannot be read."""
        wanted = list(paths)
        found: dict[Path, str | OSError] = {}
        with ThreadPoolExecutor(workers) as pool:
            for done, (path, digest) in enumerate(zip(wanted, pool.map(self._digest, wanted), strict=True), 1):
                found[path] = digest
                progress(done, len(wanted))
        self._save()
        return found

    def _digest(self, path: Path) -> str | OSError:
        try:
            before = path.stat()
            size, when, digest = self._known.get(str(path.resolve()), (-1, -1, ""))
            if (size, when) != (before.st_size, before.st_mtime_ns):
                digest = content_digest(path)
                self._known[str(path.resolve())] = (before.st_size, before.st_mtime_ns, digest)
            return digest
        except OSError as error:
            return error

    def _save(self) -> None:
        with write_beside(self._file) as beside:
            beside.write_text(json.dumps(self._known, ensure_ascii=True, indent=0), encoding="utf-8")


_KIND = "signspot gallery 1"


@dataclass(frozen=True, slots=True)
class EmbeddedWord:
    """A word's exemplars and their embeddings."""

    word: str
    ids: tuple[str, ...]  # of its E exemplars
    variants: tuple[str, ...]  # of the same
    embeddings: NDArray[np.float32] = field(repr=False)  # (E, M, D): M is 2 with mirror images, else 1
    problems: tuple[str, ...] = ()  # exemplars that could not be read, and why

    @property
    def digest(self) -> str:
        """What a search for this word follows from."""
        digest = hashlib.sha256(json.dumps([self.word, self.ids, self.variants]).encode())
        digest.update(f"{self.embeddings.shape}".encode())
        digest.update(np.ascontiguousarray(self.embeddings, "<f4").tobytes())
        return digest.hexdigest()[:32]


def embed_word(embedder: ExemplarEmbedder, exemplars: Sequence[Exemplar], *, mirror: bool) -> EmbeddedWord:
    """Embed the exemplars of one word; those that cannot be read are left out and told.

    Raises:
        EncoderMismatchError: the dictionary has embeddings only, by another encoder.
    """
    mirror = mirror and embedder.encoder.contract.can_mirror
    kept: list[Exemplar] = []
    rows: list[NDArray[np.float32]] = []
    problems: list[str] = []
    for exemplar in exemplars:
        try:
            rows.append(embedder.embed(exemplar, mirror=mirror).embeddings)
            kept.append(exemplar)
        except EncoderMismatchError:
            raise
        except SignspotError as error:
            problems.append(f"left out exemplar '{exemplar.id}' of '{exemplar.word}': {error}")
    empty = np.empty((0, 1 + mirror, embedder.encoder.contract.dimension), np.float32)
    return EmbeddedWord(
        word=exemplars[0].word,
        ids=tuple(exemplar.id for exemplar in kept),
        variants=tuple(exemplar.variant for exemplar in kept),
        embeddings=np.stack(rows).astype(np.float32) if rows else empty,
        problems=tuple(problems),
    )


@dataclass(frozen=True)
class WordGallery:
    """Words with their embedded exemplars; a word without any is not in it."""

    words: Mapping[str, EmbeddedWord]

    @cached_property
    def digests(self) -> dict[str, str]:
        """Word → what a search for it follows from."""
        return {word: embedded.digest for word, embedded in self.words.items()}

    @property
    def digest(self) -> str:
        """Names the whole content."""
        return hashlib.sha256(json.dumps(self.digests, sort_keys=True).encode()).hexdigest()[:32]


def make_gallery(words: Iterable[EmbeddedWord]) -> WordGallery:
    """A gallery of the words that have an exemplar."""
    return WordGallery({each.word: each for each in sorted(words, key=lambda each: each.word) if each.ids})


def write_gallery(gallery: WordGallery, folder: Path) -> Path:
    """Save a gallery under the name of its content."""
    path = folder / f"{gallery.digest}.safetensors"
    if path.is_file():
        return path
    parts = list(gallery.words.values())
    header = {"words": json.dumps([[each.word, each.ids, each.variants] for each in parts])}
    write_arrays(path, _KIND, {"embeddings": np.concatenate([each.embeddings for each in parts])}, header)
    return path


def read_gallery(path: Path) -> WordGallery:
    """Open a saved gallery.

    Raises:
        FormatError: the file is none, or it is damaged.
    """
    arrays, header = read_arrays(path, _KIND)
    words, start = {}, 0
    for word, ids, variants in json.loads(header["words"]):
        part = arrays["embeddings"][start : start + len(ids)]
        words[word] = EmbeddedWord(word, tuple(ids), tuple(variants), part)
        start += len(ids)
    return WordGallery(words)
