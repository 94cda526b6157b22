"""Signing worlds that are annotated as footage would be: with padding, with decoys, and one without padding."""

from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from signspot.annotation.engines import HereEngine
from signspot.annotation.records import AnnotateOptions
from signspot.annotation.run import AnnotationJob, annotate
from signspot.corpus.corpus import Corpus
from signspot.errors import OptionsError
from signspot.io.processes import WorkerPool
from signspot.io.progress import Progress, Stage, quiet
from signspot_synthetic.corpus_writer import make_corpus
from signspot_synthetic.knobs import named_rng
from signspot_synthetic.language.english import vocabulary
from signspot_synthetic.options import CorpusOptions

KEEP = 0.5  # least score that is stored: nearly every query has a candidate
PADDING = 4.0  # seconds
_COMMON = 1064  # words from which each world draws its own
_FIRST_SEED = 40


@dataclass(frozen=True, slots=True)
class WorldsSize:
    """The number of worlds, and the size of each."""

    worlds: int
    words: int
    hours: float

    def __post_init__(self) -> None:
        if self.worlds < 1:
            raise OptionsError(f"there must be at least 1 world; got {self.worlds}")


FULL = WorldsSize(3, 400, 1.5)
QUICK = WorldsSize(2, 60, 0.15)


@dataclass(frozen=True, slots=True)
class AnnotatedWorld:
    """A corpus and the folders of its runs."""

    corpus: Corpus
    run: Path
    decoys: Path
    unpadded: Path | None  # the search windows are the subtitles' own times; of the first world alone


def world_options(size: WorldsSize, number: int) -> CorpusOptions:
    """One world: other signs, signers, sentences and words than the others."""
    words = [word.word for word in vocabulary(_COMMON)]
    chosen = named_rng(_FIRST_SEED + number, "annotated words").permutation(len(words))[: size.words]
    return CorpusOptions(
        words=tuple(words[index] for index in sorted(chosen)), hours=size.hours, seed=_FIRST_SEED + number
    )


@dataclass(frozen=True, slots=True)
class WorldsRun:
    """With what worlds are annotated."""

    encoder: str | None = None  # name or file; None: the shipped one
    device: str = "cpu"  # where the encoder runs
    workers: int = 1  # processes at once


def annotate_world(size: WorldsSize, number: int, out: Path, run: WorldsRun, stage: Stage = quiet) -> AnnotatedWorld:
    """Make a world and annotate it, the first one also without padding; what is there already is not made again.

    Args:
        size: of the world.
        number: which world.
        out: folder of the world and its runs.
        run: with what it is annotated.
        stage: shows the progress of each stage.
    """
    with stage(f"world {number + 1}") as progress:
        corpus = make_corpus(world_options(size, number), out / "corpus", progress, workers=run.workers)
    made = AnnotatedWorld(corpus, out / "run", out / "decoys", out / "unpadded" if number == 0 else None)
    runs = {
        made.run: AnnotateOptions(padding=PADDING, keep=KEEP),
        made.decoys: AnnotateOptions(padding=PADDING, keep=KEEP, decoys=True),
    }
    if made.unpadded is not None:
        runs[made.unpadded] = AnnotateOptions(padding=0.0, keep=KEEP)
    for folder, options in runs.items():
        job = AnnotationJob(
            corpus.folder, corpus.layout.dictionary, folder, encoder=run.encoder, cache=out / "cache", threshold=KEEP,
            device=run.device,
        )  # fmt: skip
        engine = WorkerPool(run.workers) if run.workers > 1 else HereEngine()
        annotate(job, options, engine, partial(_titled, stage, f"world {number + 1}, {folder.name}"))
    return made


def _titled(stage: Stage, before: str, title: str) -> AbstractContextManager[Progress]:
    return stage(f"{before}: {title}")
