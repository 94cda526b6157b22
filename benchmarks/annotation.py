"""Annotation of subtitled footage: hours of footage per hour with one worker and with two, and what 1,400 hours take.

An hour here is an hour of the processor that has most to do, the busiest worker's and that of the process which hands
out work and stores results: on an idle machine with a core for each, an hour of the clock on the wall.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory
from time import process_time

from benchmarks.isolation import Call, Measurement, run_on
from benchmarks.rows import Comparison, against, rounded
from benchmarks.sizes import Sizes
from signspot.annotation.run import AnnotationJob as Annotation
from signspot.annotation.run import annotate
from signspot.annotation.run_options import AnnotateOptions
from signspot.io.processes import WorkerPool
from signspot.io.progress import Progress, silent
from signspot_synthetic.corpus_plan import CorpusOptions
from signspot_synthetic.corpus_writer import make_corpus

_GROUP = "Annotation"
_CORPUS = 1400.0  # hours of BOBSL, the largest corpus that the paper annotates


def annotation_rows(sizes: Sizes) -> list[Comparison]:
    """From landmarks and from tracks, with one worker and with two; and 1,400 hours of each on paper."""
    options = CorpusOptions(words=sizes.annotated_words, hours=sizes.annotated, seed=7, video_seconds=60)
    with TemporaryDirectory() as name:
        folder = Path(name)
        make_corpus(options, folder / "corpus")
        single, double = (_measure(sizes, folder, workers) for workers in (1, 2))
        again = _measure(sizes, folder, 1, tracks=True)
    first, second, third = (measured.values["hours"] / measured.values["spent"] for measured in (single, double, again))
    videos, hours, queries = (rounded(single.values[name]) for name in ("videos", "hours", "queries"))
    amount = f"{videos} videos of {hours} h, {queries} queries"
    peak = f"at most {rounded(single.peak)} MB in the main process"
    return [
        Comparison(
            _GROUP,
            f"`.pose` files → store, {amount}: two workers against one",
            f"{against(second, first, 'hours of footage per hour')}; {peak}",
            second / first,
        ),
        Comparison(
            _GROUP,
            "the same: what the main process spends on planning and storing, against its two workers",
            against(double.values["main"], double.values["workers"], "s"),
            double.values["main"] / double.values["workers"],
        ),
        Comparison(
            _GROUP,
            "tracks → store, as for a new word or other settings, against `.pose` files → store, one worker",
            against(third, first, "hours of footage per hour"),
            third / first,
        ),
        Comparison(
            _GROUP,
            f"on paper: {_CORPUS:,.0f} h of landmarks, one worker against two",
            against(_CORPUS / first, _CORPUS / second, "hours"),
            second / first,
        ),
    ]


def _measure(sizes: Sizes, folder: Path, workers: int, *, tracks: bool = False) -> Measurement:
    options = {"corpus": str(folder / "corpus"), "out": str(folder / "run"), "workers": workers, "tracks": tracks}
    return run_on(Call("annotation:work", options), workers, apart=sizes.apart)


@dataclass
class _WorkersClock:
    """Seconds of the processor while videos are worked on: of each worker, and of this process."""

    engine: WorkerPool
    main: float = 0.0
    workers: list[float] = field(default_factory=list)

    @contextmanager
    def stage(self, name: str) -> Iterator[Progress]:
        """Measure the stage in which videos are worked on; models and exemplars are loaded before it."""
        before, start = {pid: _spent(pid) for pid in self.engine.processes}, process_time()
        yield silent
        if name == "videos":
            self.main = process_time() - start
            self.workers = [_spent(pid) - before.get(pid, 0.0) for pid in self.engine.processes]


def work(corpus: str, out: str, workers: int, tracks: bool) -> dict[str, float]:
    """Annotate a corpus; with `tracks`, those of the run before are there."""
    folder = Path(out)
    if not tracks:
        rmtree(folder / "tracks", ignore_errors=True)
    for store in folder.glob("annotations.sqlite*"):
        store.unlink()
    engine = WorkerPool(workers)
    clock = _WorkersClock(engine)
    report = annotate(
        Annotation(Path(corpus), Path(corpus, "dictionary"), folder, cache=folder),
        AnnotateOptions(),
        engine,
        clock.stage,
    )
    return {
        "hours": _seconds(folder) / 3600,
        "spent": max(clock.workers) / 3600 + clock.main / 3600,
        "workers": sum(clock.workers),
        "main": clock.main,
        "videos": report.annotated,
        "queries": report.queries,
    }


def _seconds(folder: Path) -> float:
    from signspot.annotation.store import open_store

    with open_store(folder) as store:
        return sum(video.seconds for video in store.videos())


def _spent(pid: int) -> float:
    """Seconds of the processor that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
