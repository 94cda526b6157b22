"""What a worker does: embed exemplars, make the track of a video, search it. Its tools are loaded once a process."""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from signspot.annotation.gallery import EmbeddedWord, WordGallery, embed_word, read_gallery
from signspot.annotation.plan import Unit
from signspot.annotation.records import AnnotateOptions, Findings, VideoRecord
from signspot.annotation.search import Searcher
from signspot.embedding.exemplars import ExemplarEmbedder
from signspot.embedding.tracks import EmbeddingBuffer, TrackFile, track_entry, write_streamed
from signspot.embedding.windows import embed
from signspot.errors import EncoderMismatchError, FormatError, VideoError
from signspot.models.checkpoints import load_encoder
from signspot.models.encoder import Encoder
from signspot.records import Exemplar
from signspot.timeline import Track


@dataclass(frozen=True, slots=True)
class WorkerContext:
    """Where a worker finds its tools; the same for all units of a run."""

    encoder: str | None  # name or file; None: the shipped one
    hash: str  # of that encoder
    cache: Path  # folder of tracks and exemplars
    options: AnnotateOptions
    gallery: Path | None = None  # file
    panel: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class WordTask:
    """Words whose exemplars are to be embedded."""

    exemplars: tuple[tuple[Exemplar, ...], ...]  # of one word each

    def __str__(self) -> str:
        return f"the exemplars of '{self.exemplars[0][0].word}'"


def embed_words(context: WorkerContext, task: WordTask) -> list[EmbeddedWord]:
    """Embed the exemplars of some words, through the cache of the run."""
    embedder = ExemplarEmbedder(_encoder(context.encoder, context.hash), context.cache, context.options.seed)
    return [embed_word(embedder, exemplars, mirror=context.options.mirror) for exemplars in task.exemplars]


def annotate_unit(context: WorkerContext, unit: Unit) -> Findings:
    """Look for the words of a unit in its video; the video is embedded unless its track is there.

    Raises:
        SignspotError: the video cannot be read, shows nobody, or was changed meanwhile.
        OutputError: the track cannot be written.
    """
    assert context.gallery is not None, "exemplars are embedded before videos"
    track = open_track(_encoder(context.encoder, context.hash), unit, context.cache, context.options.stride)
    searcher = Searcher(track, _gallery(context.gallery), context.panel, context.options)
    found = list(searcher.search(unit))
    return Findings(
        video=VideoRecord(unit.video, unit.digest, round(searcher.video.end, 3)),
        keys=dict(unit.keys),
        queries=tuple(query for query, _ in found),
        candidates=tuple(candidate for _, candidates in found for candidate in candidates),
    )


def open_track(encoder: Encoder, unit: Unit, cache: Path, stride: int) -> TrackFile:
    """The track of a unit's video, made if it is not there or damaged."""
    entry = track_entry(cache, encoder.hash, unit.digest, stride)
    if entry.is_file():
        try:
            return TrackFile(entry)
        except FormatError:
            pass  # made again

    def make(buffer: EmbeddingBuffer) -> Track:
        track = embed(encoder, unit.media, stride, buffer=buffer)
        if track.source != unit.digest:
            raise VideoError(f"{unit.media.name} was changed while it was worked on. Run again.")
        return track

    write_streamed(entry, make)
    return TrackFile(entry)


@lru_cache(maxsize=1)
def _encoder(name: str | None, wanted: str) -> Encoder:
    import torch

    torch.set_num_threads(1)  # each worker has one core; and how sums are split decides their last digits
    encoder = load_encoder(name)
    if encoder.hash != wanted:
        raise EncoderMismatchError(
            f"this worker's encoder '{encoder.name}' is {encoder.hash}, not {wanted}. Install the same signspot on all "
            "machines, and give the same encoder file."
        )
    return encoder


@lru_cache(maxsize=1)
def _gallery(path: Path) -> WordGallery:
    return read_gallery(path)
