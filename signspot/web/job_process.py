"""The process of one job: the very functions that the verbs run, with progress told to the database."""

import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import and_, select, update

from signspot.annotation.store import Database
from signspot.errors import FormatError, SignspotError
from signspot.io.checks import parse_json, quoted
from signspot.io.progress import Progress
from signspot.web import tables
from signspot.web.folder import ENCODERS, RUNS, ServedFolder
from signspot.web.jobs import beat

_TELL = 0.3  # seconds between two reports


@dataclass(frozen=True)
class Work:
    """One job at work."""

    id: str
    folder: ServedFolder
    database: Database
    encoder: str | None
    device: str

    def tell(self, **values: Any) -> None:
        """Write to the job's row, unless it was cancelled."""
        here = and_(tables.jobs.c.id == self.id, tables.jobs.c.state == "running")
        changed = update(tables.jobs).where(here).values(**values)
        self.database.run(lambda connection: connection.execute(changed).rowcount)

    @contextmanager
    def stage(self, title: str) -> Iterator[Progress]:
        """Report the progress of one stage."""
        self.tell(stage=title, done=0, total=0)
        last = time.monotonic()

        def report(done: int, total: int | None) -> None:
            nonlocal last
            if time.monotonic() - last > _TELL or done == total:
                last = time.monotonic()
                self.tell(done=done, total=total or 0)

        yield report


def main(job: str, folder: str, database: str | None, encoder: str | None, device: str, parent: int) -> None:
    """Do one job and say how it ended."""
    served = ServedFolder(Path(folder))
    opened = tables.open_database(database, served.own)
    work = Work(job, served, opened, encoder, device)
    beat(opened, job, parent)
    wanted = select(tables.jobs).where(tables.jobs.c.id == job)
    row = opened.run(lambda connection: connection.execute(wanted).mappings().one())
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)  # from here on what is half written is removed
        if row["kind"] not in _DOING:
            raise FormatError(f"a job is {', '.join(_DOING)}; got {quoted(row['kind'])}")
        message = _DOING[row["kind"]](work, parse_json(row["spec"], "the job"))
    except KeyboardInterrupt:
        return
    except SignspotError as error:
        work.tell(state="failed", message=str(error), ended=time.time())
    else:
        work.tell(state="done", message=message, ended=time.time())


def _prepare(work: Work, spec: Mapping[str, Any]) -> str:
    """Landmarks and track of a video, into the cache that all verbs use."""
    from signspot.landmarks.cache import default_cache
    from signspot.landmarks.estimate import PoseJob, estimate_files
    from signspot.spotting.spotter import load

    video = work.folder.video(spec["video"])
    source = video.landmarks or video.path
    if source.suffix.lower() != ".pose":
        with work.stage("landmarks") as progress:
            for _, made in estimate_files([PoseJob(source)], 1, progress, cache=default_cache()):
                if isinstance(made, SignspotError):
                    raise made
    with work.stage("track") as progress:
        track = load(work.encoder, device=work.device).embed(source, progress=progress)
    return f"{track.grid.frames / track.grid.fps:.1f} s"


def _annotate(work: Work, spec: Mapping[str, Any]) -> str:
    """An annotation run of the whole folder, as `signspot annotate` makes it."""
    from signspot.annotation.options import AnnotateOptions
    from signspot.annotation.run import AnnotationJob, annotate
    from signspot.io.processes import WorkerPool

    out = work.folder.new_file(f"{RUNS}/{spec['name']}", "the run")
    out.mkdir(parents=True, exist_ok=True)
    words = tuple(spec.get("words", ()))
    job = AnnotationJob(
        work.folder.root,
        work.folder.dictionary(spec["dictionary"]),
        out,
        words,
        encoder=work.encoder,
        device=work.device,
    )
    options = AnnotateOptions(language=spec.get("language", "en"))
    report = annotate(job, options, WorkerPool(1), work.stage)
    failed = f"; {len(report.failed)} failed" if report.failed else ""
    return f"{report.annotated + report.unchanged} videos, {report.candidates} candidates{failed}"


def _adapt(work: Work, spec: Mapping[str, Any]) -> str:
    """An encoder adapted to the folder's subtitled videos, as `signspot adapt` makes it."""
    from signspot.corpus.corpus import open_corpus
    from signspot.dictionary.opening import open_dictionary
    from signspot.models.checkpoints import save_encoder
    from signspot.spotting.spotter import load
    from signspot.training.adaptation import adapt
    from signspot.training.adaptation_data import AdaptOptions

    out = work.folder.new_file(f"{ENCODERS}/{spec['name']}", "the encoder")
    out.mkdir(parents=True, exist_ok=True)
    dictionary = open_dictionary(work.folder.dictionary(spec["dictionary"]))
    options = AdaptOptions(steps=int(spec.get("steps", 150)))
    corpus = open_corpus(work.folder.root)
    command = f"signspot serve: adapt {spec['name']}"
    made = adapt(
        load(work.encoder, device=work.device), corpus, dictionary, out, options, stage=work.stage, command=command
    )
    if made.encoder is None:
        return "no gain on held-out footage: nothing was written"
    save_encoder(made.encoder, out / f"{out.name}.safetensors", half=True)
    return f"{ENCODERS}/{out.name}/{out.name}.safetensors"


_DOING: Mapping[str, Callable[[Work, Mapping[str, Any]], str]] = {
    "prepare": _prepare,
    "annotate": _annotate,
    "adapt": _adapt,
}
