"""A run by mouthing (Sec. 3.1): words of subtitles on the signers' lips, in the same store as any other run."""

import hashlib
import json
import logging
from collections.abc import Iterable
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
from signspot.annotation.engines import Engine
from signspot.annotation.lip_search import LipContext, mouth_unit
from signspot.annotation.plan import Basis, WordFinder
from signspot.annotation.records import SOURCE, Candidate, RunOptions
from signspot.annotation.statistics import spottings
from signspot.annotation.store import PATIENCE, Store
from signspot.corpus.corpus import Corpus
from signspot.corpus.footage import Footage, list_footage
from signspot.dictionary.opening import open_dictionary
from signspot.errors import OptionsError
from signspot.io.progress import Stage
from signspot.mouthing.candidates import LEAST, WORD_LEAST, LongWords, doubt_language, doubt_letters, doubt_words
from signspot.mouthing.checkpoints import MouthingModel, default_for, load_mouthing
from signspot.mouthing.visemes import query, visemes_of
from signspot.subtitles.reading import Subtitles
from signspot.types import LabelSource
from signspot.words.lemmas import primary_language
from signspot.words.match import WordMatcher

logger = logging.getLogger(__name__)

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
