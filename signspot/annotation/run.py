"""Annotation runs: a corpus in, a store of queries and candidates out, by a dictionary or by mouthing."""

import hashlib
import json
import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Protocol

from signspot.annotation.engines import Engine, raise_if_fatal
from signspot.annotation.plan import (
    Basis,
    Digests,
    VideoUnit,
    WordFinder,
    find_mentions,
    gone_words,
    mentioned_words,
    plan_unit,
    sample_impostors,
)
from signspot.annotation.records import BELOW, SOURCE, AnnotateOptions, Candidate, Findings, RunOptions, VideoRecord
from signspot.annotation.search import (
    EmbeddedWord,
    LipContext,
    WordTask,
    WorkerContext,
    annotate_unit,
    embed_words,
    join_words,
    mouth_unit,
    word_digests,
    write_gallery,
)
from signspot.annotation.statistics import spottings
from signspot.annotation.store import PATIENCE, Store, open_store
from signspot.corpus.corpus import Corpus, CorpusProblem, Footage, FootageListing, list_footage, open_corpus
from signspot.dictionary.dictionary import Dictionary
from signspot.dictionary.opening import open_dictionary
from signspot.embedding.exemplars import Gallery
from signspot.errors import DictionaryError, FormatError, OptionsError, OutputError, StoreError
from signspot.io.checks import check_text, parse_json
from signspot.io.files import cache_folder, clean_up, explain_write_failure
from signspot.io.processes import Failure, locked
from signspot.io.progress import Progress, Stage, silent
from signspot.landmarks.cache import PARTS
from signspot.models.checkpoints import load_encoder
from signspot.models.encoder import Encoder
from signspot.mouthing.candidates import LEAST, WORD_LEAST, LongWords, doubt_language, doubt_letters, doubt_words
from signspot.mouthing.checkpoints import MouthingModel, default_for, load_mouthing
from signspot.mouthing.visemes import query, visemes_of
from signspot.subtitles.reading import Subtitles, read_subtitles
from signspot.types import LabelSource, VideoRights
from signspot.words.match import WordMatcher
from signspot.words.tokens import primary_language

logger = logging.getLogger(__name__)

_READERS = 4  # files that are digested at once
_PANEL = "panel"  # the setting that names the words from which impostors are taken


class Job(Protocol):
    """Fields that all jobs have."""

    @property
    def corpus(self) -> Path:
        """Folder of the footage."""

    @property
    def out(self) -> Path:
        """Folder of the run: its store unless a database is named."""

    @property
    def database(self) -> str | None:
        """URL of a database."""

    @property
    def patience(self) -> float:
        """Seconds that a database which went away is waited for."""


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
    rights: dict[str, VideoRights] = field(default_factory=dict)  # video of the store → what may be done with it
    left_out: list[CorpusProblem] = field(default_factory=list)  # files without a partner


def media_of(corpus: Path, language: str = "en") -> dict[str, str]:
    """The name of every video in a store → the path of its video, or of its landmarks where there is no video."""
    videos = open_corpus(corpus, language).videos
    paths = {name: video.video or video.landmarks for name, video in videos.items()}
    return {name: str(path) for name, path in paths.items() if path is not None}


def rights_of(corpus: Path, language: str = "en") -> dict[str, VideoRights]:
    """The name of every video in a store → its licence and consent, as its corpus tells them."""
    return {name: video.rights for name, video in open_corpus(corpus, language).videos.items()}


def cache_of(named: Path | None) -> Path:
    """The cache folder: the named one, or the user's. Where a part of one is named, the whole is meant."""
    folder = cache_folder() if named is None else named
    return folder.parent if folder.name in PARTS else folder


def silently(stage: str) -> AbstractContextManager[Progress]:
    """Stages whose progress nobody wants to know."""
    return nullcontext(silent)


@contextmanager
def opened(job: Job, engine: Engine, source: LabelSource) -> Iterator[Store]:
    """The store of a job that nobody else works on, while its engine runs.

    Args:
        job: whose store it is.
        engine: is entered and left.
        source: of what is looked for; a store holds results of one.

    Raises:
        OptionsError: another run works in the same folder, or the store is of another source.
        OutputError: the folder cannot be written.
        StoreError: the database cannot be reached.
    """
    place = job.database or job.out
    with _only_run(job.out), open_store(place, create=True, patience=job.patience) as store, engine:
        known = store.settings().get(SOURCE, source)
        if known != source:
            raise OptionsError(f"{place} was made with source {known}, not {source}. Name another folder or database")
        yield store


@dataclass(frozen=True, slots=True)
class CorpusSearch:
    """The object of a run's search, and the settings that its results follow from."""

    finder: WordFinder  # finds all words in subtitles
    asked: frozenset[str]  # of these words
    basis: Basis


@dataclass(frozen=True)
class CorpusRun:
    """One run, step by step; who inherits says what words are and who looks for them."""

    job: Job
    options: RunOptions
    listing: FootageListing
    store: Store
    engine: Engine
    stages: Stage

    def read(self, finder: WordFinder, report: RunReport) -> tuple[list[Footage], frozenset[str]]:
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
                self.check_subtitles(subtitles, footage)
                mentioned |= mentioned_words(subtitles, finder)
                readable.append(footage)
                progress(done, len(self.listing.footage))
        return readable, frozenset(mentioned)

    def check_subtitles(self, subtitles: Subtitles, footage: Footage) -> None:
        """One line on what is wrong with a subtitle file."""
        if subtitles.problems:
            more = f", and {len(subtitles.problems) - 1} more" if len(subtitles.problems) > 1 else ""
            logger.warning("%s: %s: %s%s", footage.video, footage.subtitles.name, subtitles.problems[0], more)

    def panel(self, words: Collection[str]) -> tuple[str, ...]:
        """The words from which impostors are taken: those of the store, else some of these."""
        stored = self.store.settings().get(_PANEL)
        if stored is None:
            return sample_impostors(words, self.options.impostors, self.options.seed)
        return self._stored_panel(stored)

    def _stored_panel(self, stored: str) -> tuple[str, ...]:
        try:
            return tuple(check_text(word, "a word") for word in parse_json(stored, "panel"))
        except (FormatError, TypeError) as error:
            raise StoreError(f"the store in {self.job.out} is damaged: its panel of impostors ({error})") from error

    def finish(
        self, search: CorpusSearch, work: Callable[[VideoUnit], Findings], readable: list[Footage], report: RunReport
    ) -> RunReport:
        """Look for what is not stored yet.

        Args:
            search: what is looked for.
            work: searches one video; done by the workers.
            readable: the videos whose subtitles can be read.
            report: of this run so far.
        """
        panel = self.store.settings().get(_PANEL, json.dumps(search.basis.panel))
        self.store.claim({**search.basis.settings, _PANEL: panel})
        digests = self._digest(readable, report)
        self._work(work, self._units(digests, search, report), len(digests), report)
        return report

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

    def _units(self, digests: Mapping[Footage, str], search: CorpusSearch, report: RunReport) -> Iterator[VideoUnit]:
        """Units of work that are left, video by video, each made when a worker is free for it."""
        for footage, digest in digests.items():
            try:
                subtitles = read_subtitles(footage.subtitles)
            except FormatError as error:  # they were changed since the run began
                self._fail(footage.video, str(error), report)
                continue
            panel, decoys = search.basis.panel, self.options.decoys
            found = find_mentions(subtitles, search.finder, self.options.padding, panel, decoys=decoys)
            mentions = {word: places for word, places in found.items() if word in search.asked}
            stored = {word: key for (_, word), key in self.store.keys(video=footage.video).items()}
            gone = gone_words(mentions, search.asked, stored)
            if gone:
                self.store.forget(footage.video, gone)
            unit = plan_unit(footage, digest, mentions, search.basis, stored)
            if unit is None:
                self._up_to_date(footage.video, report)
            else:
                yield unit

    def _work(
        self, work: Callable[[VideoUnit], Findings], units: Iterator[VideoUnit], total: int, report: RunReport
    ) -> None:
        with self.stages("videos") as progress:
            for unit, made in self.engine.run(work, units):
                if isinstance(made, Failure):
                    raise_if_fatal(made)
                    self._fail(unit.video, made.message, report)
                else:
                    self.store.add(made)
                    _tell_beyond(made)
                    for remark in made.video.remarks.splitlines():
                        logger.warning("%s: %s", made.video.video, remark)
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
        """The store's record of a video when this run began."""
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
        clean_up(folder)
        yield


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


KEEP = 0.3  # least probability that is stored, unless the user says else
IMPOSTORS = 8  # other words that each word is compared with
_TOLD = 5  # words that cannot be looked for, each with its reason; of more, the number


@dataclass(frozen=True, slots=True)
class MouthingJob:
    """A corpus to be searched for mouthings, and the place of the results."""

    corpus: Path  # folder
    out: Path  # folder of the run: its store unless a database is named
    words: tuple[str, ...] = ()  # to look for; none: those of the dictionary
    dictionary: Path | None = None  # whose words are looked for; None, and no words: all that the subtitles say
    database: str | None = None  # URL
    model: str | None = None  # name or file of a mouthing spotter; None: the shipped one for such footage
    cache: Path | None = None  # folder of landmarks; None: the one that `signspot spot` fills
    threshold: float = LEAST  # least probability of a spotting
    patience: float = PATIENCE  # seconds that a database which went away is waited for


def annotate_mouthings(job: MouthingJob, options: RunOptions, engine: Engine, stages: Stage | None = None) -> RunReport:
    """Look for the words of subtitles on the lips. Run again, only what is new is done.

    Args:
        job: what, with what, and where to.
        options: what decides results; they must stay the same for one store.
        engine: who does the work. It is entered and left here.
        stages: called with the name of each stage, gives what to report its progress to.

    Raises:
        FormatError: there is no corpus, or nothing in it can be searched.
        OptionsError: an option is out of range or other than in the store, or no word can be looked for.
        OutputError: the disk is full or not writable; what is done is stored.
        StoreError: the database cannot be reached any more; what is done is stored.
    """
    if not 0 <= job.threshold <= 1:
        raise OptionsError(f"threshold is a probability in [0, 1]; got {job.threshold}")
    if options.language != "en":
        primary_language(options.language)  # raises where it is unknown
    kind = "landmarks" if job.model is None else load_mouthing(job.model).kind
    listing = list_footage(job.corpus, kind, options.language)
    job = replace(job, model=job.model or default_for(each.media for each in listing.footage))
    model = load_mouthing(job.model)
    for problem in listing.problems:
        logger.warning("%s", problem)
    with opened(job, engine, LabelSource.MOUTHING) as store:
        settled = options.with_keep(KEEP, job.threshold, store.settings().get("keep"))
        run = _MouthingRun(job, settled, listing, store, engine, stages or silently, model)
        report = RunReport(job.threshold, len(listing.footage), left_out=list(listing.problems))
        report.media = media_of(job.corpus, options.language)
        report.rights = rights_of(job.corpus, options.language)
        return run.go(report)


def mouthings(store: Store, threshold: float, corpus: Corpus, word_least: float = WORD_LEAST) -> list[Candidate]:
    """The mouthings of a store, of the words that some training video shows surely (the paper's vocabulary).

    Args:
        store: of a run by mouthing.
        threshold: least probability.
        corpus: that was searched; where it has no training split, all of its videos count as such.
        word_least: probability that some mouthing of a word must reach in a training video.
    """
    found = list(spottings(store, threshold))
    train = {video.id for video in corpus.in_split("train")} or set(corpus.videos)
    sure = {each.word for each in found if each.video in train and each.score >= word_least}
    return [each for each in found if each.word in sure]


@dataclass(frozen=True)
class _MouthingRun(CorpusRun):
    """Asks for words by what the lips show of them."""

    job: MouthingJob
    model: MouthingModel

    def go(self, report: RunReport) -> RunReport:
        """Do everything."""
        finder, named = self._words()
        readable, mentioned = self.read(finder, report)
        asked = mentioned | self._stored_words() if named is None else named
        queries = self._askable(mentioned & asked)
        if not queries:
            raise OptionsError(
                f"no word that can be looked for on lips occurs in the subtitles of {self.job.corpus} "
                f"({len(readable):,} files). Is the language right? It is '{self.options.language}'"
            )
        panel = self.panel(queries)
        shapes = {word: query(word, self.options.language) for word in (*queries, *panel)}
        alike = {word: tuple(other for other in panel if shapes[other] == shapes[word]) for word in queries}
        digests = {word: hashlib.sha256(json.dumps(shape).encode()).hexdigest() for word, shape in shapes.items()}
        settings = {SOURCE: LabelSource.MOUTHING, "mouthing": self.model.hash, **self.options.settings()}
        folder = cache_of(self.job.cache).resolve() / "landmarks"
        context = LipContext(self.job.model, self.model.hash, folder, self.options, panel)
        search = CorpusSearch(finder, asked, Basis(settings, digests, panel, alike))
        return self.finish(search, partial(mouth_unit, context), readable, report)

    def _words(self) -> tuple[WordFinder, frozenset[str] | None]:
        """The matcher of words in subtitles, and the words that are asked for; None: all."""
        language = self.options.language
        for word in self.job.words:
            visemes_of(word, language)  # raises where it has no phonemes
        doubt = doubt_words(self.job.words, language)
        if doubt:
            logger.warning("%s", doubt)
        if self.job.dictionary is not None:
            dictionary = open_dictionary(self.job.dictionary)
            chosen = dictionary.select(self.job.words) if self.job.words else dictionary
            return WordMatcher(dictionary, language), frozenset(chosen)
        if self.job.words:
            return WordMatcher(self.job.words, language), frozenset(self.job.words)
        return LongWords(language), None

    def _stored_words(self) -> set[str]:
        return {word for _, word in dict(self.store.keys())}

    def _askable(self, words: Iterable[str]) -> list[str]:
        """The words that can be looked for; of the others, why not."""
        found, reasons = [], []
        for word in sorted(words):
            try:
                query(word, self.options.language)
                found.append(word)
            except OptionsError as error:
                reasons.append(str(error))
        for reason in reasons[:_TOLD]:
            logger.warning("not looked for: %s", reason)
        if len(reasons) > _TOLD:
            logger.warning("not looked for: %d more words that lips do not show", len(reasons) - _TOLD)
        return found

    def check_subtitles(self, subtitles: Subtitles, footage: Footage) -> None:
        """Say what is wrong with a subtitle file, its language included."""
        super().check_subtitles(subtitles, footage)
        doubt = doubt_language(subtitles, self.options.language)
        if doubt:
            logger.warning("%s: %s", footage.video, doubt)
        unread = doubt_letters(subtitles, self.options.language)
        if unread:
            logger.warning("%s: %s %s", footage.video, footage.subtitles.name, unread)
