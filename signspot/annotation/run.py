"""A run with a dictionary: a corpus and a dictionary in, a store of queries and candidates out."""

import logging
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from signspot.annotation.corpus_run import (
    CorpusRun,
    CorpusSearch,
    RunReport,
    cache_of,
    media_of,
    opened,
    rights_of,
    silently,
)
from signspot.annotation.engines import Engine, raise_if_fatal
from signspot.annotation.plan import Basis
from signspot.annotation.records import BELOW, SOURCE, AnnotateOptions
from signspot.annotation.store import PATIENCE
from signspot.annotation.work import (
    EmbeddedWord,
    WordTask,
    WorkerContext,
    annotate_unit,
    embed_words,
    join_words,
    word_digests,
    write_gallery,
)
from signspot.corpus.footage import list_footage
from signspot.dictionary.dictionary import Dictionary
from signspot.dictionary.opening import open_dictionary
from signspot.embedding.exemplars import Gallery
from signspot.errors import DictionaryError, OptionsError
from signspot.io.processes import Failure
from signspot.io.progress import Stage
from signspot.models.checkpoints import load_encoder
from signspot.models.encoder import Encoder
from signspot.types import LabelSource
from signspot.words.match import WordMatcher

logger = logging.getLogger(__name__)


_WORDS = 8  # whose exemplars one task embeds


@dataclass(frozen=True, slots=True)
class AnnotationJob:
    """A corpus to be annotated, the means, and the place of the results."""

    corpus: Path  # folder
    dictionary: Path
    out: Path  # folder of the run: its store unless a database is named
    words: tuple[str, ...] = ()  # to look for; none: all of the dictionary
    database: str | None = None  # URL
    encoder: str | None = None  # name or file; None: the shipped one
    cache: Path | None = None  # folder of landmarks, tracks and exemplars; None: the one that `signspot spot` fills
    threshold: float | None = None  # least score of a spotting; None: the encoder's
    patience: float = PATIENCE  # seconds that a database which went away is waited for
    device: str = "cpu"  # where each worker embeds: "cpu", "cuda", "mps", or "auto" for the fastest that is there


def annotate(job: AnnotationJob, options: AnnotateOptions, engine: Engine, stages: Stage | None = None) -> RunReport:
    """Annotate a corpus. Run again after it was stopped, or with new words or videos: only what is new is done.

    Args:
        job: what, with what, and where to.
        options: what decides results; they must stay the same for one store.
        engine: who does the work. It is entered and left here.
        stages: called with the name of each stage, gives what to report its progress to.

    Raises:
        FormatError: there is no corpus, or nothing in it can be annotated.
        DictionaryError: no word of the dictionary occurs in the subtitles.
        OptionsError: an option is out of range, or other than in the store.
        OutputError: the disk is full or not writable; what is done is stored.
        StoreError: the database cannot be reached any more; what is done is stored.
    """
    encoder = load_encoder(job.encoder, device=job.device)
    threshold = encoder.contract.threshold if job.threshold is None else job.threshold
    if not 0 <= threshold <= 1:
        raise OptionsError(f"threshold is a score in [0, 1]; got {threshold}")
    listing = list_footage(job.corpus, encoder.contract.kind, options.language)
    dictionary = open_dictionary(job.dictionary)
    for problem in [*dictionary.problems, *listing.problems]:
        logger.warning("%s", problem)
    with opened(job, engine, LabelSource.DICTIONARY) as store:
        usual = round(encoder.contract.threshold - BELOW, 6)
        settled = options.with_keep(usual, threshold, store.settings().get("keep"))
        run = _DictionaryRun(job, settled, listing, store, engine, stages or silently, encoder, dictionary)
        report = RunReport(threshold, len(listing.footage), left_out=list(listing.problems))
        report.media = media_of(job.corpus, options.language)
        report.rights = rights_of(job.corpus, options.language)
        return run.go(report)


@dataclass(frozen=True)
class _DictionaryRun(CorpusRun):
    """Embeds exemplars, and looks for their signs."""

    job: AnnotationJob
    options: AnnotateOptions
    encoder: Encoder
    dictionary: Dictionary

    def go(self, report: RunReport) -> RunReport:
        """Do everything."""
        matcher = WordMatcher(self.dictionary, self.options.language)
        asked = frozenset(self.dictionary.select(self.job.words) if self.job.words else self.dictionary)
        readable, mentioned = self.read(matcher, report)
        if not mentioned & asked:
            raise DictionaryError(
                f"no word of {self.job.dictionary} ({len(asked):,} words) occurs in the subtitles of {self.job.corpus} "
                f"({len(readable):,} files). Is the language right? It is '{self.options.language}'"
            )
        panel = self._known_panel()
        gallery = self._embed_words(mentioned & asked | frozenset(panel))
        panel = tuple(word for word in panel if word in gallery.words)
        basis = self._basis(gallery, panel, mentioned & asked)
        context = replace(self._context(), gallery=self._write(gallery), panel=panel)
        return self.finish(CorpusSearch(matcher, asked, basis), partial(annotate_unit, context), readable, report)

    def _known_panel(self) -> tuple[str, ...]:
        """The words from which impostors are taken; their exemplars are needed."""
        panel = self.panel(self.dictionary)
        missing = [word for word in panel if word not in self.dictionary]
        if missing:
            raise OptionsError(
                f"this store was made with the impostor '{missing[0]}', a word that {self.job.dictionary} has no more. "
                "Use a dictionary that has it, or name another folder or database"
            )
        return panel

    def _embed_words(self, words: frozenset[str]) -> Gallery:
        """Embed the exemplars of all words that are needed."""
        each = [tuple(self.dictionary[word]) for word in sorted(words)]
        tasks = [WordTask(tuple(each[start : start + _WORDS])) for start in range(0, len(each), _WORDS)]
        found: list[EmbeddedWord] = []
        with self.stages("exemplars") as progress:
            for done, (task, made) in enumerate(self.engine.run(partial(embed_words, self._context()), tasks), 1):
                if isinstance(made, Failure):
                    raise_if_fatal(made)
                    logger.warning("left out %s and %d more words: %s", task, len(task.exemplars) - 1, made.message)
                else:
                    found += made
                progress(done, len(tasks))
        for problem in (problem for word in sorted(found, key=lambda word: word.word) for problem in word.problems):
            logger.warning("%s", problem)
        gallery = join_words(found)
        if gallery is None:
            raise DictionaryError(f"no exemplar of {self.job.dictionary} can be read")
        return gallery

    def _write(self, gallery: Gallery) -> Path:
        """Save the gallery for the workers, in place of those of earlier runs."""
        path = write_gallery(gallery, self.job.out / "gallery").resolve()
        for older in path.parent.glob("*.safetensors"):
            if older != path:
                older.unlink(missing_ok=True)
        return path

    def _basis(self, gallery: Gallery, panel: tuple[str, ...], words: frozenset[str]) -> Basis:
        settings = {SOURCE: LabelSource.DICTIONARY, "encoder": self.encoder.hash, **self.options.settings()}
        synonyms = {word: self.dictionary.synonyms(word) for word in sorted(words)}
        return Basis(settings, word_digests(gallery), panel, synonyms)

    def _context(self) -> WorkerContext:
        cache = cache_of(self.job.cache).resolve()
        return WorkerContext(self.job.encoder, self.encoder.hash, cache, self.options, device=self.job.device)
