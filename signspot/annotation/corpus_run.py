"""The steps of every run over a corpus, whatever it looks for: read, plan, work, store; killed, it goes on."""

import json
import logging
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
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
from signspot.annotation.records import SOURCE, Findings, RunOptions, VideoRecord
from signspot.annotation.store import Store, open_store
from signspot.corpus.corpus import open_corpus
from signspot.corpus.footage import Footage, FootageListing
from signspot.corpus.videos import CorpusProblem
from signspot.errors import FormatError, OptionsError, OutputError, StoreError
from signspot.io.checks import checked_text, parse_json
from signspot.io.files import cache_folder, explain_write_failure
from signspot.io.processes import Failure, locked
from signspot.io.progress import Progress, Stage, silent
from signspot.io.stale_files import remove_leftovers
from signspot.landmarks.cache import PARTS
from signspot.subtitles.reading import Subtitles, read_subtitles
from signspot.types import LabelSource, VideoRights

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
            return tuple(checked_text(word, "a word") for word in parse_json(stored, "panel"))
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
        remove_leftovers(folder)
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
