"""`signspot annotate`: subtitled footage and a dictionary in, localised labels out, at any scale."""

from contextlib import AbstractContextManager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from signspot.cli.console import Device, EncoderName, Force, bar, claim_outputs, count, note, say
from signspot.progress import Progress

if TYPE_CHECKING:
    from signspot.annotation.engines import Engine
    from signspot.annotation.records import Candidate
    from signspot.annotation.run import RunReport
    from signspot.files import Outputs

INCOMPLETE = 3  # the exit code of a run that is through, but could not annotate every video


class EngineName(StrEnum):
    """Engines."""

    LOCAL = "local"
    RAY = "ray"


def annotate(
    corpus: Annotated[Path, typer.Argument(help="A folder of videos or .pose files with subtitles beside them.")],
    dictionary: Annotated[Path, typer.Option(help="The dictionary: a folder of example videos, a table …")],
    out: Annotated[Path, typer.Option(help="Folder of the run; run again with the same one to go on.")],
    words: Annotated[list[str] | None, typer.Option(help="A word to look for; repeatable. [default: all]")] = None,
    words_from: Annotated[Path | None, typer.Option(help="A file of words to look for, one per line.")] = None,
    threshold: Annotated[float | None, typer.Option(help="Least score in [0, 1]. [default: the encoder's]")] = None,
    keep: Annotated[
        float | None, typer.Option(help="Least score that is stored. [default: the encoder's threshold less 0.1]")
    ] = None,
    padding: Annotated[float, typer.Option(help="Seconds searched before and after each subtitle.")] = 4.0,
    peaks: Annotated[int, typer.Option(help="Peaks of each subtitle and word that are stored, at most.")] = 3,
    best: Annotated[int, typer.Option(help="Peaks of each subtitle and word that are spottings, at most.")] = 1,
    overlap: Annotated[
        float, typer.Option(help="Largest part that two spottings of one word may share, in [0, 1].")
    ] = 0.3,
    stride: Annotated[int, typer.Option(help="Frames between two windows.")] = 1,
    mirror: Annotated[bool, typer.Option(help="Also try exemplars mirrored, for left-handed signers.")] = True,
    impostors: Annotated[int, typer.Option(help="Other words that each word is compared with, at most.")] = 32,
    decoys: Annotated[bool, typer.Option("--decoys", help="Ask around other subtitles: what chance scores.")] = False,
    language: Annotated[str, typer.Option(help="Language of the subtitles and the dictionary.")] = "en",
    seed: Annotated[int, typer.Option(help="Random seed for sampling exemplar clips and impostors.")] = 0,
    encoder: EncoderName = None,
    device: Device = "cpu",
    engine: Annotated[EngineName, typer.Option(help="Processes of this machine, or a Ray cluster.")] = EngineName.LOCAL,
    workers: Annotated[int | None, typer.Option(help="Videos worked on at once. [default: 1; with Ray: all]")] = None,
    address: Annotated[
        str | None, typer.Option(help="Of a running Ray cluster. [default: one on this machine]")
    ] = None,
    database: Annotated[str | None, typer.Option(help="postgresql://… [default: a SQLite file in the folder]")] = None,
    cache: Annotated[
        Path | None, typer.Option(help="Cache folder. [default: the one that spot fills, $SIGNSPOT_CACHE]")
    ] = None,
    export: Annotated[
        list[Path] | None,
        typer.Option(help="Write spottings (.csv, .jsonl, .eaf, …); repeatable; .eaf and .vtt: one file per video."),
    ] = None,
    labels: Annotated[Path | None, typer.Option(help="Write spottings as labels for training (.jsonl).")] = None,
    force: Force = False,
) -> None:
    """Look for the words of subtitles in the signing around them; store, and export, what is found.

    Killed or stopped, it goes on where it was; with new words or videos it does only what is new. Exit code 3 means
    that it went through, but some videos could not be annotated; they are named at the end.

    Example: signspot annotate footage/ --dictionary my-signs/ --out run/ --workers 2 --export labels.csv
    """
    from signspot.annotation.records import AnnotateOptions
    from signspot.annotation.run import AnnotationJob
    from signspot.annotation.run import annotate as run
    from signspot.annotation.statistics import spottings
    from signspot.annotation.store import open_store

    outputs = claim_results([corpus, dictionary, words_from, encoder], export or [], labels, force=force)
    options = AnnotateOptions(
        padding=padding, keep=keep, peaks=peaks, overlap=overlap, stride=stride, mirror=mirror,
        impostors=impostors, decoys=decoys, language=language, seed=seed,
    )  # fmt: skip
    wanted = (*(words or ()), *(read_words(words_from) if words_from else ()))
    job = AnnotationJob(corpus, dictionary, out, wanted, database, encoder, cache, threshold, device=device)
    report = run(job, options, make_engine(engine, workers, address), _stages)
    with open_store(database or out) as store:
        found = list(spottings(store, report.threshold, rank=best, overlap=overlap))
    with outputs:
        write_results(found, report.media, outputs, export or [], labels)
    tell(report, found)
    tell_failures(report)


def _stages(stage: str) -> AbstractContextManager[Progress]:
    return bar(stage)


def read_words(path: Path) -> list[str]:
    """The words of a file, one per line."""
    from signspot.errors import OptionsError

    try:
        found = [line.strip() for line in path.read_text(encoding="utf-8-sig").splitlines() if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        raise OptionsError(f"cannot read the words in {path}: {getattr(error, 'strerror', None) or error}") from error
    if not found:
        raise OptionsError(f"{path} holds no word. Write one per line.")
    return found


def make_engine(name: EngineName, workers: int | None, address: str | None) -> "Engine":
    """The engine that was asked for."""
    from signspot.annotation.engines import RayEngine
    from signspot.errors import OptionsError
    from signspot.processes import WorkerPool

    if name is EngineName.RAY:
        return RayEngine(workers, address)
    if address is not None:
        raise OptionsError(f"--address ({address}) is for --engine ray")
    return WorkerPool(1 if workers is None else workers)


def tell(report: "RunReport", found: "list[Candidate]") -> None:
    """Tell the outcome of a run in two lines."""
    done = [
        f"{report.annotated:,} annotated",
        f"{report.unchanged:,} unchanged",
        f"{len(report.failed):,} failed",
    ]
    say(f"{count(report.videos, 'video')} with subtitles: {', '.join(done)}")
    distinct = len({candidate.word for candidate in found})
    say(f"{count(len(found), 'spotting')} of {count(distinct, 'word')} with a score of {report.threshold:g} or more")


def tell_failures(report: "RunReport") -> None:
    """Name the videos that could not be annotated; the exit code says that there are some."""
    for problem in report.failed:
        note(f"failed: {problem}")
    if report.failed:
        raise typer.Exit(INCOMPLETE)


def claim_results(
    inputs: "list[Path | str | None]", export: list[Path], labels: Path | None, *, force: bool
) -> "Outputs":
    """Claim all files of a run outside its folder."""
    from signspot.files import Outputs

    outputs = Outputs(inputs, force=force)
    claim_outputs(outputs, export)
    if labels:
        outputs.claim(labels, (".jsonl",))
    return outputs


def write_results(
    found: "list[Candidate]", media: dict[str, str], outputs: "Outputs", export: list[Path], labels: Path | None
) -> None:
    """Write spottings for other tools, each with the path of its video, and labels for training."""
    from signspot.corpus.truth import write_records
    from signspot.formats.formats import output_paths, write
    from signspot.records import Label, LabelSource

    for path in export:
        spottings = [candidate.as_spotting(media.get(candidate.video)) for candidate in found]
        for target in output_paths(path, (spotting.video for spotting in spottings)):
            if target != path:  # claimed before the run
                outputs.claim(target)
        for written in write(spottings, path):
            note(f"wrote {written}")
    if labels:
        source = LabelSource.DICTIONARY
        places = (Label(one.word, one.video, one.time, one.score, source, one.start, one.end) for one in found)
        write_records(places, labels)
        note(f"wrote {labels}")
