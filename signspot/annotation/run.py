"""The whole job: a corpus and a dictionary in, a store of queries and candidates out; killed, it goes on."""

import json
import logging
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path

from signspot.annotation.engines import Engine, raise_if_fatal
from signspot.annotation.plan import (
    Basis,
    Digests,
    VideoUnit,
    find_mentions,
    gone_words,
    mentioned_words,
    plan_unit,
    sample_impostors,
)
from signspot.annotation.records import AnnotateOptions, Findings, VideoRecord
from signspot.annotation.store import PATIENCE, Store, open_store
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
from signspot.checked_values import checked_text, parse_json
from signspot.corpus.corpus import open_corpus
from signspot.corpus.footage import Footage, Listing, list_footage
from signspot.corpus.videos import CorpusProblem
from signspot.dictionary.dictionary import Dictionary
from signspot.dictionary.opening import open_dictionary
from signspot.embedding.exemplars import Gallery
from signspot.errors import DictionaryError, FormatError, OptionsError, OutputError, StoreError
from signspot.files import cache_folder, explain_write_failure
from signspot.landmarks.cache import PARTS
from signspot.leftovers import remove_leftovers
from signspot.models.checkpoints import load_encoder
from signspot.models.encoder import Encoder
from signspot.processes import Failure, locked
from signspot.progress import Progress, Stage, silent
from signspot.subtitles.reading import Subtitles, read_subtitles
from signspot.words.match import WordMatcher

logger = logging.getLogger(__name__)


_WORDS = 8  # whose exemplars one task embeds
_READERS = 4  # files that are digested at once
_PANEL = "panel"  # the setting that names the words from which impostors are taken


@dataclass(frozen=True, slots=True)
class AnnotationJob:
    """What is to be annotated, with what, and where results go."""

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


@dataclass
class RunReport:
    """The outcome of a run."""

    threshold: float
    videos: int = 0  # that have subtitles
    annotated: int = 0  # in this run
    unchanged: int = 0  # nothing was left to do
    queries: int = 0  # of this run
    candidates: int = 0
    failed: list[CorpusProblem] = field(default_factory=list)  # videos that could not be annotated
    media: dict[str, str] = field(default_factory=dict)  # video of the store → its path as the user gave the corpus
    left_out: list[CorpusProblem] = field(default_factory=list)  # files without a partner


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
    place = job.database or job.out
    with _only_run(job.out), open_store(place, create=True, patience=job.patience) as store, engine:
        settled = options.with_keep(encoder, threshold, store.settings().get("keep"))
        run = _Run(job, settled, encoder, listing, dictionary, store, engine, stages or _silently)
        report = RunReport(threshold, len(listing.footage), left_out=list(listing.problems))
        report.media = media_of(job.corpus, options.language)
        return run.go(report)


def media_of(corpus: Path, language: str = "en") -> dict[str, str]:
    """The name of every video in a store → the path of its video, or of its landmarks where there is no video."""
    videos = open_corpus(corpus, language).videos
    paths = {name: video.video or video.landmarks for name, video in videos.items()}
    return {name: str(path) for name, path in paths.items() if path is not None}


def cache_of(named: Path | None) -> Path:
    """The cache folder: the named one, or the user's. Where a part of one is named, the whole is meant."""
    folder = cache_folder() if named is None else named
    return folder.parent if folder.name in PARTS else folder


def _silently(stage: str) -> AbstractContextManager[Progress]:
    return nullcontext(silent)


@dataclass(frozen=True)
class _Run:
    """One run, step by step."""

    job: AnnotationJob
    options: AnnotateOptions
    encoder: Encoder
    listing: Listing
    dictionary: Dictionary
    store: Store
    engine: Engine
    stages: Stage

    def go(self, report: RunReport) -> RunReport:
        """Do everything."""
        matcher = WordMatcher(self.dictionary, self.options.language)
        asked = frozenset(self.dictionary.select(self.job.words) if self.job.words else self.dictionary)
        readable, mentioned = self._read(matcher, report)
        if not mentioned & asked:
            raise DictionaryError(
                f"no word of {self.job.dictionary} ({len(asked):,} words) occurs in the subtitles of {self.job.corpus} "
                f"({len(readable):,} files). Is the language right? It is '{self.options.language}'"
            )
        panel = self._panel()
        gallery = self._embed_words(mentioned & asked | frozenset(panel))
        panel = tuple(word for word in panel if word in gallery.words)
        basis = self._basis(gallery, panel, mentioned & asked)
        context = replace(self._context(), gallery=self._write(gallery), panel=panel)
        self.store.claim({**basis.settings, _PANEL: self.store.settings().get(_PANEL, json.dumps(panel))})
        digests = self._digest(readable, report)
        units = self._units(digests, matcher, asked, basis, report)
        self._work(context, units, len(digests), report)
        return report

    def _read(self, matcher: WordMatcher, report: RunReport) -> tuple[list[Footage], frozenset[str]]:
        """The videos whose subtitles can be read, and all words that they mention."""
        readable: list[Footage] = []
        mentioned: set[str] = set()
        with self.stages("subtitles") as progress:
            for done, footage in enumerate(self.listing.footage, 1):
                try:
                    subtitles = read_subtitles(footage.subtitles)
                except FormatError as error:
                    self._fail(footage.video, str(error), report)
                    continue
                _tell_problems(subtitles, footage)
                mentioned |= mentioned_words(subtitles, matcher)
                readable.append(footage)
                progress(done, len(self.listing.footage))
        return readable, frozenset(mentioned)

    def _panel(self) -> tuple[str, ...]:
        """The words from which impostors are taken: those of the store, else drawn anew."""
        stored = self.store.settings().get(_PANEL)
        if stored is None:
            return sample_impostors(self.dictionary, self.options.impostors, self.options.seed)
        panel = self._stored_panel(stored)
        missing = [word for word in panel if word not in self.dictionary]
        if missing:
            raise OptionsError(
                f"this store was made with the impostor '{missing[0]}', a word that {self.job.dictionary} has no more. "
                "Use a dictionary that has it, or name another folder or database"
            )
        return panel

    def _stored_panel(self, stored: str) -> tuple[str, ...]:
        try:
            return tuple(checked_text(word, "a word") for word in parse_json(stored, "panel"))
        except (FormatError, TypeError) as error:
            raise StoreError(f"the store in {self.job.out} is damaged: its panel of impostors ({error})") from error

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
        settings = {"encoder": self.encoder.hash, **self.options.settings()}
        synonyms = {word: self.dictionary.synonyms(word) for word in sorted(words)}
        return Basis(settings, word_digests(gallery), panel, synonyms)

    def _context(self) -> WorkerContext:
        cache = cache_of(self.job.cache).resolve()
        return WorkerContext(self.job.encoder, self.encoder.hash, cache, self.options, device=self.job.device)

    def _digest(self, readable: list[Footage], report: RunReport) -> dict[Footage, str]:
        """The content digest of every video."""
        digests = Digests(self.job.out / "digests.json")
        with self.stages("digests") as progress:
            found = digests.of([footage.media for footage in readable], _READERS, progress)
        known: dict[Footage, str] = {}
        for footage in readable:
            digest = found[footage.media]
            if isinstance(digest, str):
                known[footage] = digest
            else:
                self._fail(footage.video, f"cannot read {footage.media.name}: {digest.strerror or digest}", report)
        return known

    def _units(
        self,
        digests: Mapping[Footage, str],
        matcher: WordMatcher,
        asked: frozenset[str],
        basis: Basis,
        report: RunReport,
    ) -> Iterator[VideoUnit]:
        """What is left to do, video by video, made when a worker is free for it."""
        for footage, digest in digests.items():
            try:
                subtitles = read_subtitles(footage.subtitles)
            except FormatError as error:  # they were changed since the run began
                self._fail(footage.video, str(error), report)
                continue
            decoys = self.options.decoys
            found = find_mentions(subtitles, matcher, self.options.padding, basis.panel, decoys=decoys)
            mentions = {word: places for word, places in found.items() if word in asked}
            stored = {word: key for (_, word), key in self.store.keys(video=footage.video).items()}
            gone = gone_words(mentions, asked, stored)
            if gone:
                self.store.forget(footage.video, gone)
            unit = plan_unit(footage, digest, mentions, basis, stored)
            if unit is None:
                self._up_to_date(footage.video, report)
            else:
                yield unit

    def _work(self, context: WorkerContext, units: Iterator[VideoUnit], total: int, report: RunReport) -> None:
        with self.stages("videos") as progress:
            for unit, made in self.engine.run(partial(annotate_unit, context), units):
                if isinstance(made, Failure):
                    raise_if_fatal(made)
                    self._fail(unit.video, made.message, report)
                else:
                    self.store.add(made)
                    _tell_beyond(made)
                    report.annotated += 1
                    report.queries += len(made.queries)
                    report.candidates += len(made.candidates)
                progress(report.annotated + report.unchanged + len(report.failed), total)

    def _up_to_date(self, video: str, report: RunReport) -> None:
        """Nothing is left to do; a problem of an earlier run is over."""
        report.unchanged += 1
        known = self._before(video)
        if known.problem:
            self.store.fail(replace(known, problem=""))

    def _fail(self, video: str, message: str, report: RunReport) -> None:
        told = message.replace(f"{self.job.corpus}/", "")  # a store says nothing of where a corpus lay
        report.failed.append(CorpusProblem(video, told))
        self.store.fail(replace(self._before(video), problem=told))

    def _before(self, video: str) -> VideoRecord:
        """What the store knew of a video when this run began."""
        return self._videos.get(video, VideoRecord(video, "", 0.0))

    @cached_property
    def _videos(self) -> dict[str, VideoRecord]:
        return {each.video: each for each in self.store.videos()}


@contextmanager
def _only_run(folder: Path) -> Iterator[None]:
    """Make sure that no other run works in the same folder; remove what killed ones left half written."""
    with ExitStack() as stack:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            ours = stack.enter_context(locked(folder / ".lock"))
        except OSError as error:
            raise OutputError(explain_write_failure(folder, error)) from error
        if not ours:
            raise OptionsError(f"another run works in {folder}. Wait for it, or name another folder")
        remove_leftovers(folder)
        yield


def _tell_problems(subtitles: Subtitles, footage: Footage) -> None:
    """One line on what is wrong with a subtitle file."""
    if subtitles.problems:
        more = f", and {len(subtitles.problems) - 1} more" if len(subtitles.problems) > 1 else ""
        logger.warning("%s: %s: %s%s", footage.video, footage.subtitles.name, subtitles.problems[0], more)


def _tell_beyond(findings: Findings) -> None:
    """One line on subtitles that lie beyond the video's end."""
    beyond = {query.subtitle for query in findings.queries if query.best is None}
    if beyond:
        video = findings.video
        logger.warning(
            "%s: %d subtitles lie beyond the video's end at %.1f s; nothing can be found there. Do they belong to it?",
            video.video,
            len(beyond),
            video.seconds,
        )
