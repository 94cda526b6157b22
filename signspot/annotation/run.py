"""Annotation runs: a corpus in, a store of queries and candidates out, by a dictionary or by mouthing.

Every run reads the subtitles, plans what is not stored yet, lets an engine's workers search, and stores. Killed, it
goes on where it was. The corpus, the dictionary, each subtitle file and the store are opened once.
"""

import hashlib
import json
import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import chain
from pathlib import Path

from signspot.annotation.engines import Engine, raise_if_fatal
from signspot.annotation.run_options import AnnotateOptions, RunOptions
from signspot.annotation.run_spottings import spottings
from signspot.annotation.store import TIMEOUT, Store, open_store
from signspot.annotation.store_records import BELOW, SOURCE, Candidate, Findings, VideoRecord
from signspot.annotation.tasks import (
    WordTask,
    WorkerContext,
    annotate_unit,
    embed_words,
    mouth_unit,
    word_digests,
    write_gallery,
)
from signspot.annotation.video_units import (
    MatchedSubtitles,
    ResultKey,
    VideoUnit,
    WordFinder,
    find_mentions,
    match_subtitles,
    plan_unit,
    sample_negatives,
)
from signspot.corpus.corpus import Corpus, CorpusProblem, Footage, FootageListing, open_corpus
from signspot.dictionary.dictionary import Dictionary
from signspot.dictionary.open_dictionary import open_dictionary
from signspot.embedding.exemplars import Gallery, SignViews
from signspot.errors import DictionaryError, FormatError, OptionsError, OutputError, StoreError, UnreadableFileError
from signspot.io.checks import check_text, parse_json
from signspot.io.files import cache_folder, clean_up, content_digest, explain_write_failure
from signspot.io.processes import Failure, locked
from signspot.io.progress import Stage, quiet
from signspot.landmarks.cache import PARTS
from signspot.models.checkpoints import load_encoder
from signspot.models.encoder import Encoder
from signspot.models.encoder_network import find_device
from signspot.mouthing.mouthing_spotter import LEAST, WORD_LEAST, LongWords, doubt_language, doubt_letters, doubt_words
from signspot.mouthing.network import MouthingModel, default_for, load_mouthing
from signspot.mouthing.visemes import query, visemes_of
from signspot.subtitles.reading import Subtitles
from signspot.types import Exemplar, LabelSource, VideoRights
from signspot.words.match import WordMatcher
from signspot.words.tokens import primary_language

logger = logging.getLogger(__name__)

_READERS = 4  # files that are digested at once
_POOL = "pool"  # the setting that names the words from which negatives are taken
_WORDS = 8  # whose exemplars one task embeds
NEGATIVES = 32  # other words that each word is compared with, unless the user says else
MOUTHING_KEEP = 0.3  # least probability of a mouthing that is stored, unless the user says else
MOUTHING_NEGATIVES = 8  # likewise
_REASONS = 5  # words that cannot be looked for, each with its reason; of more, the number


@dataclass(frozen=True, slots=True)
class AnnotationJob:
    """A corpus to be annotated by a dictionary, the means, and where the results go."""

    corpus: Path | Corpus  # folder, or one that is open
    dictionary: Path | Dictionary
    out: Path  # folder of the run: its store unless a database is named
    words: tuple[str, ...] = ()  # to look for; none: all of the dictionary
    database: str | None = None  # URL
    encoder: str | None = None  # name or file; None: the shipped one
    cache: Path | None = None  # folder of landmarks, tracks and exemplars; None: the one that `signspot spot` fills
    threshold: float | None = None  # least score of a spotting; None: the encoder's
    best: int = 1  # peaks of each subtitle and word that are spottings, at most
    timeout: float = TIMEOUT  # seconds that a database which went away is waited for
    device: str = "cpu"  # where each worker embeds: "cpu", "cuda", "mps", or "auto" for the fastest that is there


@dataclass(frozen=True, slots=True)
class MouthingJob:
    """A corpus to be searched for mouthings, and where the results go."""

    corpus: Path | Corpus  # folder, or one that is open
    out: Path  # folder of the run: its store unless a database is named
    words: tuple[str, ...] = ()  # to look for; none: those of the dictionary
    dictionary: Path | Dictionary | None = None  # whose words are looked for; None, and no words: all of the subtitles
    database: str | None = None  # URL
    model: str | None = None  # name or file of a mouthing spotter; None: the shipped one for such footage
    cache: Path | None = None  # folder of landmarks; None: the one that `signspot spot` fills
    threshold: float = LEAST  # least probability of a spotting
    word_threshold: float = WORD_LEAST  # probability that some training video must reach for a word to be kept
    timeout: float = TIMEOUT  # seconds that a database which went away is waited for
    device: str = "cpu"  # where each worker compares lips with words


@dataclass
class RunReport:
    """The outcome of a run."""

    threshold: float
    corpus: Corpus
    videos: int = 0  # that have subtitles
    annotated: int = 0  # in this run
    unchanged: int = 0  # nothing was left to do
    queries: int = 0  # of this run
    candidates: int = 0
    spottings: list[Candidate] = field(default_factory=list)  # of the store, of this and earlier runs
    failed: list[CorpusProblem] = field(default_factory=list)  # videos that could not be annotated
    left_out: list[CorpusProblem] = field(default_factory=list)  # files without a partner


def annotate(job: AnnotationJob, options: AnnotateOptions, engine: Engine, stages: Stage = quiet) -> RunReport:
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
    corpus = job.corpus if isinstance(job.corpus, Corpus) else open_corpus(job.corpus, options.language)
    listing = corpus.footage(encoder.contract.kind)
    dictionary = job.dictionary if isinstance(job.dictionary, Dictionary) else open_dictionary(job.dictionary)
    for problem in [*dictionary.problems, *listing.problems]:
        logger.warning("%s", problem)
    with _open_run(job, engine, LabelSource.DICTIONARY) as store:
        usual = round(encoder.contract.threshold - BELOW, 6)
        settled = options.settled(usual, NEGATIVES, threshold, store.settings().get("keep"))
        report = RunReport(threshold, corpus, len(listing.footage), left_out=list(listing.problems))
        _DictionaryRun(job, settled, listing, store, engine, stages, report, encoder, dictionary).go()
        report.spottings = list(spottings(store, threshold, rank=job.best, overlap=options.overlap))
    return report


def annotate_mouthings(job: MouthingJob, options: RunOptions, engine: Engine, stages: Stage = quiet) -> RunReport:
    """Look for the words of subtitles on the lips (Sec. 3.1); arguments and errors as those of `annotate`.

    Raises:
        OptionsError: no word can be looked for, too.
    """
    find_device(job.device)  # raises where there is none
    if not 0 <= job.threshold <= 1:
        raise OptionsError(f"threshold is a probability in [0, 1]; got {job.threshold}")
    if options.language != "en":
        primary_language(options.language)  # raises where it is unknown
    corpus = job.corpus if isinstance(job.corpus, Corpus) else open_corpus(job.corpus, options.language)
    listing = corpus.footage("landmarks")
    job = replace(job, model=job.model or default_for(footage.media for footage in listing.footage))
    model = load_mouthing(job.model)
    for problem in listing.problems:
        logger.warning("%s", problem)
    with _open_run(job, engine, LabelSource.MOUTHING) as store:
        settled = options.settled(MOUTHING_KEEP, MOUTHING_NEGATIVES, job.threshold, store.settings().get("keep"))
        report = RunReport(job.threshold, corpus, len(listing.footage), left_out=list(listing.problems))
        _MouthingRun(job, settled, listing, store, engine, stages, report, model).go()
        report.spottings = mouthings(store, job.threshold, corpus, job.word_threshold)
    return report


def mouthings(store: Store, threshold: float, corpus: Corpus, word_threshold: float = WORD_LEAST) -> list[Candidate]:
    """The mouthings of a store, of the words that some training video shows surely (the paper's vocabulary).

    Args:
        store: of a run by mouthing.
        threshold: least probability.
        corpus: that was annotated; where it has no split, every video is a training video.
        word_threshold: probability that a mouthing of a word must reach once in a training video.
    """
    candidates = list(spottings(store, threshold))
    train = {video.id for video in corpus.in_split("train")}
    sure = {
        candidate.word for candidate in candidates if candidate.video in train and candidate.score >= word_threshold
    }
    return [candidate for candidate in candidates if candidate.word in sure]


def media_of(corpus: Corpus) -> dict[str, str]:
    """The name of every video in a store → the path of its video, or of its landmarks where there is no video."""
    paths = {name: video.video or video.landmarks for name, video in corpus.videos.items()}
    return {name: str(path) for name, path in paths.items() if path is not None}


def rights_of(corpus: Corpus) -> dict[str, VideoRights]:
    """The name of every video in a store → its licence and consent, as its corpus tells them."""
    return {name: video.rights for name, video in corpus.videos.items()}


def cache_of(named: Path | None) -> Path:
    """The cache folder: the named one, or the user's. Where a part of one is named, the whole is meant."""
    folder = cache_folder() if named is None else named
    return folder.parent if folder.name in PARTS else folder


@contextmanager
def _open_run(job: AnnotationJob | MouthingJob, engine: Engine, source: LabelSource) -> Iterator[Store]:
    """Lock the folder of a job, open its store, and run its engine.

    Args:
        job: whose store it is.
        engine: is entered and left.
        source: of what is looked for; a store holds results of one.

    Raises:
        OptionsError: another run works in the same folder, or the store is of another source.
        OutputError: the folder cannot be written.
        StoreError: the database cannot be reached.
    """
    address = job.database or job.out
    with _only_run(job.out), open_store(address, create=True, timeout=job.timeout) as store, engine:
        stored = store.settings().get(SOURCE, source)
        if stored != source:
            raise OptionsError(
                f"{address} was made with source {stored}, not {source}. Name another folder or database"
            )
        yield store


@contextmanager
def _only_run(folder: Path) -> Iterator[None]:
    """Make sure that no other run works in the same folder; remove temporary files of killed ones."""
    with ExitStack() as stack:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            is_ours = stack.enter_context(locked(folder / ".lock"))
        except OSError as error:
            raise OutputError(explain_write_failure(folder, error)) from error
        if not is_ours:
            raise OptionsError(f"another run works in {folder}. Wait for it, or name another folder")
        clean_up(folder)
        yield


_Matched = dict[Footage, MatchedSubtitles]  # of every video whose subtitles can be read


@dataclass(frozen=True)
class _CorpusRun:
    """One run, step by step; a subclass says what words are and who looks for them."""

    job: AnnotationJob | MouthingJob
    options: RunOptions
    listing: FootageListing
    store: Store
    engine: Engine
    stages: Stage
    report: RunReport

    @property
    def corpus(self) -> Corpus:
        """The corpus."""
        return self.report.corpus

    def read(self, finder: WordFinder) -> tuple[_Matched, frozenset[str]]:
        """Subtitles of the videos whose subtitles can be read, and all words that they mention."""
        matched: _Matched = {}
        with self.stages("subtitles") as progress:
            for done, footage in enumerate(self.listing.footage, 1):
                try:
                    subtitles = self.corpus.subtitles(footage.video)
                except FormatError as error:
                    self._fail(footage.video, str(error))
                    continue
                self.check_subtitles(subtitles, footage)
                matched[footage] = match_subtitles(subtitles, finder)
                progress(done, len(self.listing.footage))
        return matched, frozenset(word for subtitles in matched.values() for word in subtitles.words)

    def check_subtitles(self, subtitles: Subtitles, footage: Footage) -> None:
        """Warn, in one line, of what is wrong with a subtitle file."""
        if subtitles.problems:
            more = f", and {len(subtitles.problems) - 1} more" if len(subtitles.problems) > 1 else ""
            logger.warning("%s: %s: %s%s", footage.video, footage.subtitles.name, subtitles.problems[0], more)

    def pool(self, words: Collection[str]) -> tuple[str, ...]:
        """The words from which negatives are taken: those of the store, else some of these."""
        stored = self.store.settings().get(_POOL)
        if stored is None:
            return sample_negatives(words, self.options.negatives or 0, self.options.seed)
        try:
            return tuple(check_text(word, "a word") for word in parse_json(stored, _POOL))
        except (FormatError, TypeError) as error:
            raise StoreError(f"the store in {self.job.out} is damaged: its pool of negatives ({error})") from error

    def finish(
        self, words: frozenset[str], key: ResultKey, work: Callable[[VideoUnit], Findings], matched: _Matched
    ) -> None:
        """Look for what is not stored yet.

        Args:
            words: the words that are looked for.
            key: what all results follow from.
            work: searches one video; done by the workers.
            matched: by video; emptied.
        """
        pool = self.store.settings().get(_POOL, json.dumps(key.pool))
        self.store.claim({**key.settings, _POOL: pool})
        digests = self._digest(list(matched))
        report = self.report
        with self.stages("videos") as progress:
            for unit, findings in self.engine.run(work, self._units(digests, matched, words, key)):
                if isinstance(findings, Failure):
                    raise_if_fatal(findings)
                    self._fail(unit.video, findings.message)
                else:
                    self.store.add(findings)
                    _warn_beyond(findings)
                    for remark in findings.video.remarks.splitlines():
                        logger.warning("%s: %s", findings.video.video, remark)
                    report.annotated += 1
                    report.queries += len(findings.queries)
                    report.candidates += len(findings.candidates)
                progress(report.annotated + report.unchanged + len(report.failed), len(digests))

    def _digest(self, readable: list[Footage]) -> dict[Footage, str]:
        """The content digest of every video that can be read."""
        digests: dict[Footage, str] = {}
        with self.stages("digests") as progress, ThreadPoolExecutor(_READERS) as readers:
            coming = [readers.submit(content_digest, footage.media) for footage in readable]
            for done, (footage, digest) in enumerate(zip(readable, coming, strict=True), 1):
                try:
                    digests[footage] = digest.result()
                except (UnreadableFileError, OSError) as error:
                    self._fail(footage.video, f"cannot read {footage.media.name}: {error}")
                progress(done, len(readable))
        return digests

    def _units(
        self, digests: Mapping[Footage, str], matched: _Matched, words: frozenset[str], key: ResultKey
    ) -> Iterator[VideoUnit]:
        """Units of work that are left, video by video, each made when a worker is free for it."""
        for footage, digest in digests.items():
            every = find_mentions(matched.pop(footage), self.options.padding, key.pool, decoys=self.options.decoys)
            mentions = {word: of_word for word, of_word in every.items() if word in words}
            stored = {word: result for (_, word), result in self.store.keys(video=footage.video).items()}
            gone = sorted(word for word in stored if word in words and word not in mentions)
            if gone:
                self.store.forget(footage.video, gone)
            unit = plan_unit(footage, digest, mentions, key, stored)
            if unit is not None:
                yield unit
                continue
            self.report.unchanged += 1
            record = self._before(footage.video)
            if record.problem:  # of an earlier run: it is over
                self.store.fail(replace(record, problem=""))

    def _fail(self, video: str, message: str) -> None:
        message = message.replace(f"{self.corpus.folder}/", "")  # a store says nothing of where a corpus lay
        self.report.failed.append(CorpusProblem(video, message))
        self.store.fail(replace(self._before(video), problem=message))

    def _before(self, video: str) -> VideoRecord:
        """The store's record of a video when this run began."""
        return self._videos.get(video, VideoRecord(video, "", 0.0))

    @cached_property
    def _videos(self) -> dict[str, VideoRecord]:
        return {record.video: record for record in self.store.videos()}


def _warn_beyond(findings: Findings) -> None:
    """Warn, in one line, of subtitles that lie beyond the video's end."""
    beyond = {query.subtitle for query in findings.queries if query.best is None}
    if beyond:
        video = findings.video
        logger.warning(
            "%s: %d subtitles lie beyond the video's end at %.1f s; nothing can be found there. Do they belong to it?",
            video.video,
            len(beyond),
            video.seconds,
        )


@dataclass(frozen=True)
class _DictionaryRun(_CorpusRun):
    """Embeds exemplars, and looks for their signs."""

    job: AnnotationJob
    options: AnnotateOptions
    encoder: Encoder
    dictionary: Dictionary

    def go(self) -> None:
        """Do everything."""
        matcher = WordMatcher(self.dictionary, self.options.language)
        words = frozenset(self.dictionary.select(self.job.words) if self.job.words else self.dictionary)
        matched, mentioned = self.read(matcher)
        if not mentioned & words:
            raise DictionaryError(
                f"no word of {self._source} ({len(words):,} words) occurs in the subtitles of {self.corpus.folder} "
                f"({len(matched):,} files). Is the language right? It is '{self.options.language}'"
            )
        settings = {SOURCE: LabelSource.DICTIONARY, "encoder": self.encoder.hash, **self.options.settings()}
        self.store.check(settings)
        pool = self._readable_pool()
        gallery = self._embed_words(mentioned & words | frozenset(pool))
        pool = tuple(word for word in pool if word in gallery.words)
        synonyms = {word: self.dictionary.synonyms(word) for word in sorted(mentioned & words)}
        key = ResultKey(settings, word_digests(gallery), pool, synonyms)
        context = replace(self._context(), gallery=self._write(gallery), pool=pool)
        self.finish(words, key, partial(annotate_unit, context), matched)

    @property
    def _source(self) -> Path | None:
        """The dictionary, for messages."""
        return self.dictionary.path if isinstance(self.job.dictionary, Dictionary) else self.job.dictionary

    def _readable_pool(self) -> tuple[str, ...]:
        """The words from which negatives are taken; their exemplars are needed."""
        pool = self.pool(self.dictionary)
        missing = [word for word in pool if word not in self.dictionary]
        if missing:
            raise OptionsError(
                f"this store was made with the negative '{missing[0]}', a word that {self._source} has no more. "
                "Use a dictionary that has it, or name another folder or database"
            )
        return pool

    def _embed_words(self, words: frozenset[str]) -> Gallery:
        """Embed the exemplars of all words that are needed."""
        exemplars = [tuple(self.dictionary[word]) for word in sorted(words)]
        tasks = [
            WordTask(tuple(chain(*exemplars[start : start + _WORDS]))) for start in range(0, len(exemplars), _WORDS)
        ]
        embedded: list[tuple[Exemplar, SignViews | str]] = []
        with self.stages("exemplars") as progress:
            for done, (task, result) in enumerate(self.engine.run(partial(embed_words, self._context()), tasks), 1):
                if isinstance(result, Failure):
                    raise_if_fatal(result)
                    logger.warning("left out %s: %s", task, result.message)
                else:
                    embedded += result
                progress(done, len(tasks))
        readable: list[Exemplar] = []
        views: list[SignViews] = []
        for exemplar, outcome in sorted(embedded, key=lambda pair: pair[0].word):
            if isinstance(outcome, str):
                logger.warning("left out exemplar '%s' of '%s': %s", exemplar.id, exemplar.word, outcome)
            else:
                readable.append(exemplar)
                views.append(outcome)
        if not readable:
            raise DictionaryError(f"no exemplar of {self._source} can be read")
        return Gallery.of_views(readable, views)

    def _write(self, gallery: Gallery) -> Path:
        """Save the gallery for the workers, in place of those of earlier runs."""
        path = write_gallery(gallery, self.job.out / "gallery").resolve()
        for older in path.parent.glob("*.safetensors"):
            if older != path:
                older.unlink(missing_ok=True)
        return path

    def _context(self) -> WorkerContext[AnnotateOptions]:
        cache = cache_of(self.job.cache).resolve()
        return WorkerContext(self.job.encoder, self.encoder.hash, cache, self.options, device=self.job.device)


@dataclass(frozen=True)
class _MouthingRun(_CorpusRun):
    """Asks for words by what the lips show of them."""

    job: MouthingJob
    model: MouthingModel

    def go(self) -> None:
        """Do everything."""
        finder, named = self._words()
        matched, mentioned = self.read(finder)
        stored = self.store.keys()
        words = mentioned | {word for _, word in stored} if named is None else named
        queries = self._askable(mentioned & words)
        if not queries:
            raise OptionsError(
                f"no word that can be looked for on lips occurs in the subtitles of {self.corpus.folder} "
                f"({len(matched):,} files). Is the language right? It is '{self.options.language}'"
            )
        pool = self.pool(queries)
        shapes = {word: query(word, self.options.language) for word in (*queries, *pool)}
        alike = {word: tuple(other for other in pool if shapes[other] == shapes[word]) for word in queries}
        digests = {word: hashlib.sha256(json.dumps(shape).encode()).hexdigest() for word, shape in shapes.items()}
        settings = {SOURCE: LabelSource.MOUTHING, "mouthing": self.model.hash, **self.options.settings()}
        cache = cache_of(self.job.cache).resolve()
        context = WorkerContext(self.job.model, self.model.hash, cache, self.options, pool, self.job.device)
        self.finish(words, ResultKey(settings, digests, pool, alike), partial(mouth_unit, context), matched)

    def _words(self) -> tuple[WordFinder, frozenset[str] | None]:
        """The matcher of words in subtitles, and the words that are asked for; None: all."""
        language = self.options.language
        for word in self.job.words:
            visemes_of(word, language)  # raises where it has no phonemes
        doubt = doubt_words(self.job.words, language)
        if doubt:
            logger.warning("%s", doubt)
        if self.job.dictionary is not None:
            source = self.job.dictionary
            dictionary = source if isinstance(source, Dictionary) else open_dictionary(source)
            chosen = dictionary.select(self.job.words) if self.job.words else dictionary
            return WordMatcher(dictionary, language), frozenset(chosen)
        if self.job.words:
            return WordMatcher(self.job.words, language), frozenset(self.job.words)
        return LongWords(language), None

    def _askable(self, words: Iterable[str]) -> list[str]:
        """The words that can be looked for; of the others, log why not."""
        askable, reasons = [], []
        for word in sorted(words):
            try:
                query(word, self.options.language)
                askable.append(word)
            except OptionsError as error:
                reasons.append(str(error))
        for reason in reasons[:_REASONS]:
            logger.warning("not looked for: %s", reason)
        if len(reasons) > _REASONS:
            logger.warning("not looked for: %d more words that lips do not show", len(reasons) - _REASONS)
        return askable

    def check_subtitles(self, subtitles: Subtitles, footage: Footage) -> None:
        """Warn of what is wrong with a subtitle file, its language included."""
        super().check_subtitles(subtitles, footage)
        doubt = doubt_language(subtitles, self.options.language)
        if doubt:
            logger.warning("%s: %s", footage.video, doubt)
        unread = doubt_letters(subtitles, self.options.language)
        if unread:
            logger.warning("%s: %s %s", footage.video, footage.subtitles.name, unread)
