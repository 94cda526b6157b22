"""The work of annotation, done in workers: embed exemplars, make the track of a video, search it.

A worker loads its encoder and its gallery once per process. Everything goes through the spotter, so that annotation
finds what `signspot spot` finds, and both fill the same cache.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from signspot.annotation.plan import VideoUnit
from signspot.annotation.records import AnnotateOptions, Findings, VideoRecord
from signspot.annotation.search import WordSearcher
from signspot.embedding.exemplars import ExemplarEmbedder, Gallery, SignViews
from signspot.embedding.tracks import read_arrays, write_arrays
from signspot.errors import EncoderMismatchError, FormatError, SignspotError, VideoError
from signspot.io.checks import parse_json
from signspot.models.checkpoints import load_encoder
from signspot.models.encoder import Encoder
from signspot.spotting.spotter import Spotter
from signspot.types import Exemplar

_KIND = "signspot gallery 3"
_SHOWN = ("word", "id", "variant", "licence", "consent")  # of an exemplar


@dataclass(frozen=True, slots=True)
class WorkerContext:
    """The tools of a worker; the same for all units of a run."""

    encoder: str | None  # name or file; None: the shipped one
    hash: str  # of that encoder
    cache: Path  # folder of landmarks, tracks and exemplars
    options: AnnotateOptions
    gallery: Path | None = None  # file
    panel: tuple[str, ...] = ()  # words from which impostors are taken
    device: str = "cpu"  # where it embeds

    def spotter(self) -> Spotter:
        """The spotter of this worker."""
        return Spotter(_encoder(self.encoder, self.hash, self.device), self.cache)


@dataclass(frozen=True, slots=True)
class WordTask:
    """Words whose exemplars are to be embedded."""

    exemplars: tuple[tuple[Exemplar, ...], ...]  # of one word each

    def __str__(self) -> str:
        return f"the exemplars of '{self.exemplars[0][0].word}'"


@dataclass(frozen=True, slots=True)
class EmbeddedWord:
    """A word's exemplars, embedded."""

    word: str
    gallery: Gallery | None  # None: no exemplar can be read
    problems: tuple[str, ...] = ()  # exemplars that could not be read, and why


def embed_words(context: WorkerContext, task: WordTask) -> list[EmbeddedWord]:
    """Embed the exemplars of some words, through the cache."""
    embedder = ExemplarEmbedder(
        _encoder(context.encoder, context.hash, context.device), context.cache, context.options.seed
    )
    return [embed_word(embedder, exemplars, mirror=context.options.mirror) for exemplars in task.exemplars]


def embed_word(embedder: ExemplarEmbedder, exemplars: Sequence[Exemplar], *, mirror: bool) -> EmbeddedWord:
    """Embed the exemplars of one word; those that cannot be read are left out and told.

    Raises:
        EncoderMismatchError: the dictionary has embeddings only, by another encoder.
    """
    mirror = mirror and embedder.encoder.contract.can_mirror
    kept: list[Exemplar] = []
    views: list[SignViews] = []
    problems: list[str] = []
    for exemplar in exemplars:
        try:
            views.append(embedder.embed(exemplar, mirror=mirror))
            kept.append(exemplar)
        except EncoderMismatchError:
            raise
        except SignspotError as error:
            problems.append(f"left out exemplar '{exemplar.id}' of '{exemplar.word}': {error}")
    codes = [view.codes for view in views if view.codes is not None]
    joined = np.stack(codes) if kept and len(codes) == len(views) else None
    gallery = Gallery.of(kept, np.stack([view.embeddings for view in views]), joined) if kept else None
    return EmbeddedWord(exemplars[0].word, gallery, tuple(problems))


def annotate_unit(context: WorkerContext, unit: VideoUnit) -> Findings:
    """Look for the words of a unit in its video; the video is embedded unless its track is in the cache.

    Raises:
        SignspotError: the video cannot be read, shows nobody, or was changed meanwhile.
    """
    assert context.gallery is not None, "exemplars are embedded before videos"
    spotter = context.spotter()
    track = spotter.embed(unit.media, context.options.stride)
    if track.source != unit.digest:
        raise VideoError(f"{unit.media.name} was changed while it was worked on. Run again.")
    searcher = WordSearcher(spotter, track, _gallery(context.gallery), context.panel, context.options)
    found = list(searcher.search(unit))
    return Findings(
        video=VideoRecord(unit.video, unit.digest, round(searcher.video.end, 3)),
        keys=dict(unit.keys),
        queries=tuple(query for query, _ in found),
        candidates=tuple(candidate for _, candidates in found for candidate in candidates),
    )


def join_words(words: Iterable[EmbeddedWord]) -> Gallery | None:
    """One gallery of the words that have an exemplar, in order of word; None: there is none."""
    found = sorted((each for each in words if each.gallery is not None), key=lambda each: each.word)
    galleries = [each.gallery for each in found if each.gallery is not None]
    if not galleries:
        return None
    codes = [each.codes for each in galleries if each.codes is not None]
    starts = np.cumsum([0, *(len(each.exemplars) for each in galleries[:-1])])
    return Gallery(
        tuple(exemplar for each in galleries for exemplar in each.exemplars),
        np.concatenate([each.embeddings for each in galleries]),
        np.concatenate([each.rows + start for each, start in zip(galleries, starts, strict=True)]),
        np.concatenate([each.mirrored for each in galleries]),
        np.concatenate(codes) if len(codes) == len(galleries) else None,
    )


def word_digests(gallery: Gallery) -> dict[str, str]:
    """Word → digest of all that its results follow from: ids, variants, licences, consents, embeddings."""
    digests = {}
    for word in gallery.words:
        own = gallery.of_words([word])
        shown = [[each.id, each.variant, each.licence, each.consent] for each in own.exemplars]
        digest = hashlib.sha256(json.dumps([word, shown, own.rows.tolist(), own.mirrored.tolist()]).encode())
        for array in (own.embeddings, own.codes):
            if array is not None:
                digest.update(np.ascontiguousarray(array, "<f4").tobytes())
        digests[word] = digest.hexdigest()[:32]
    return digests


def write_gallery(gallery: Gallery, folder: Path) -> Path:
    """Save a gallery under the name of its content; a file of that name with another content is made again."""
    path = folder / f"{_content_name(gallery)}.safetensors"
    if not _is_whole(path):
        arrays: dict[str, NDArray[Any]] = {
            "embeddings": gallery.embeddings,
            "rows": gallery.rows,
            "mirrored": gallery.mirrored,
        }
        arrays |= {} if gallery.codes is None else {"codes": gallery.codes}
        shown = json.dumps([[getattr(each, name) for name in _SHOWN] for each in gallery.exemplars])
        write_arrays(path, _KIND, arrays, {"exemplars": shown})
    return path


def _content_name(gallery: Gallery) -> str:
    return hashlib.sha256(json.dumps(word_digests(gallery), sort_keys=True).encode()).hexdigest()[:32]


def _is_whole(path: Path) -> bool:
    """Whether a gallery is there that can be read and holds what its name says."""
    try:
        read_gallery(path)
    except FormatError:
        return False
    return True


def read_gallery(path: Path) -> Gallery:
    """Open a saved gallery.

    Raises:
        FormatError: the file is none, or it is damaged.
    """
    arrays, header = read_arrays(path, _KIND)
    try:
        shown = parse_json(header["exemplars"], str(path))
        exemplars = tuple(Exemplar(**dict(zip(_SHOWN, each, strict=True))) for each in shown)
        gallery = Gallery(exemplars, arrays["embeddings"], arrays["rows"], arrays["mirrored"], arrays.get("codes"))
        if _content_name(gallery) != path.stem:
            raise ValueError("its content is not what its name says")
    except (KeyError, ValueError, TypeError, IndexError, AssertionError, AttributeError) as error:
        raise FormatError(f"the exemplars in {path} are damaged ({error}). Run again: they are made anew") from error
    return gallery


@lru_cache(maxsize=1)
def _encoder(name: str | None, wanted: str, device: str) -> Encoder:
    import torch

    torch.set_num_threads(1)  # each worker has one core; and how sums are split decides their last digits
    encoder = load_encoder(name, device=device)
    if encoder.hash != wanted:
        raise EncoderMismatchError(
            f"this worker's encoder '{encoder.name}' is {encoder.hash}, not {wanted}. Install the same signspot on all "
            "machines, and give the same encoder file."
        )
    return encoder


@lru_cache(maxsize=1)
def _gallery(path: Path) -> Gallery:
    return read_gallery(path)
