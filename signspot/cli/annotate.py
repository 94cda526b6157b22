"""`signspot annotate`: subtitled footage and a dictionary in, localised labels out, at any scale."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from signspot.cli.console import bar, claim_outputs, count, note, say
from signspot.cli.options import EncoderName, settings
from signspot.io.progress import Progress

if TYPE_CHECKING:
    from signspot.annotation.engines import Engine
    from signspot.annotation.records import AnnotateOptions, Candidate, RunOptions
    from signspot.annotation.run import AnnotationJob, MouthingJob, RunReport
    from signspot.io.files import Outputs

WORD_THRESHOLD = 0.8  # probability that some mouthing of a word must reach: the paper's
LEAST_MOUTHING = 0.5  # probability of a mouthing, from which it is a spotting: the paper's
INCOMPLETE = 3  # the exit code of a run that is through, but could not annotate every video


class EngineName(StrEnum):
    """Engines."""

    LOCAL = "local"
    RAY = "ray"


class SourceName(StrEnum):
    """The source of evidence that is searched."""

    DICTIONARY = "dictionary"
    MOUTHING = "mouthing"


_Dictionary = Annotated[
    Path | None, typer.Option(help="A folder of example videos, a table …; of mouthings its words count.")
]
_Source = Annotated[SourceName, typer.Option(help="Look for the signs of a dictionary, or for words on the lips.")]
_Threshold = Annotated[
    float | None, typer.Option(help="Least score in [0, 1]. [default: the encoder's; of mouthings 0.5]")
]
_WordThreshold = Annotated[
    float, typer.Option(help="Mouthings: keep a word only where a training video reaches this probability.")
]
_Keep = Annotated[
    float | None,
    typer.Option(help="Least score that is stored. [default: the encoder's threshold less 0.1; of mouthings 0.3]"),
]
_Overlap = Annotated[float, typer.Option(help="Largest part that two spottings of one word may share, in [0, 1].")]
_Impostors = Annotated[
    int | None, typer.Option(help="Other words that each word is compared with. [default: 32; of mouthings 8]")
]
_Address = Annotated[str | None, typer.Option(help="Of a running Ray cluster. [default: one on this machine]")]
_Cache = Annotated[Path | None, typer.Option(help="Cache folder. [default: the one that spot fills, $SIGNSPOT_CACHE]")]
_Export = Annotated[
    list[Path] | None,
    typer.Option(help="Write spottings (.csv, .jsonl, .eaf, …); repeatable; .eaf and .vtt: one file per video."),
]


def annotate(
    corpus: Annotated[Path, typer.Argument(help="A folder of videos or .pose files with subtitles beside them.")],
    out: Annotated[Path, typer.Option(help="Folder of the run; run again with the same one to go on.")],
    dictionary: _Dictionary = None,
    source: _Source = SourceName.DICTIONARY,
    words: Annotated[list[str] | None, typer.Option(help="A word to look for; repeatable. [default: all]")] = None,
    words_from: Annotated[Path | None, typer.Option(help="A file of words to look for, one per line.")] = None,
    threshold: _Threshold = None,
    word_threshold: _WordThreshold = WORD_THRESHOLD,
    keep: _Keep = None,
    padding: Annotated[float, typer.Option(help="Seconds searched before and after each subtitle.")] = 4.0,
    peaks: Annotated[int, typer.Option(help="Peaks of each subtitle and word that are stored, at most.")] = 3,
    best: Annotated[int, typer.Option(help="Peaks of each subtitle and word that are spottings, at most.")] = 1,
    overlap: _Overlap = 0.3,
    stride: Annotated[int, typer.Option(help="Frames between two windows.")] = 1,
    mirror: Annotated[bool, typer.Option(help="Also try exemplars mirrored, for left-handed signers.")] = True,
    impostors: _Impostors = None,
    decoys: Annotated[bool, typer.Option("--decoys", help="Ask around other subtitles: what chance scores.")] = False,
    language: Annotated[str, typer.Option(help="Language of the subtitles and the dictionary.")] = "en",
    seed: Annotated[int, typer.Option(help="Random seed for sampling exemplar clips and impostors.")] = 0,
    encoder: EncoderName = None,
    model: Annotated[str | None, typer.Option(help="A mouthing spotter. [default: the shipped one]")] = None,
    engine: Annotated[EngineName, typer.Option(help="Processes of this machine, or a Ray cluster.")] = EngineName.LOCAL,
    workers: Annotated[int | None, typer.Option(help="Videos worked on at once. [default: 1; with Ray: all]")] = None,
    address: _Address = None,
    database: Annotated[str | None, typer.Option(help="postgresql://… [default: a SQLite file in the folder]")] = None,
    cache: _Cache = None,
    export: _Export = None,
    labels: Annotated[Path | None, typer.Option(help="Write spottings as labels for training (.jsonl).")] = None,
) -> None:
    """Look for the words of subtitles in the signing around them; store, and export, what is found.

    By a dictionary's exemplars, or with --source mouthing on the signers' lips: then a spotting is the 0.6 s before a
    peak of probability, and words come from the subtitles unless some are named.

    Killed or stopped, it goes on where it was; with new words or videos it does only what is new. Exit code 3 means
    that it went through, but some videos could not be annotated; they are named at the end.

    Example: signspot annotate footage/ --dictionary my-signs/ --out run/ --workers 2 --export labels.csv
    """
    from signspot.annotation.records import AnnotateOptions, RunOptions
    from signspot.annotation.run import IMPOSTORS, AnnotationJob, MouthingJob
    from signspot.io.text import read_word_list

    outputs = claim_results([corpus, dictionary, words_from, encoder, model], export or [], labels)
    wanted = (*(words or ()), *(read_word_list(words_from) if words_from else ()))
    run = make_engine(engine, workers, address)
    if source is SourceName.MOUTHING:
        refuse(source, {"--encoder": encoder, "--stride": stride != 1, "--device": settings().device != "cpu"})
        lips = RunOptions(padding, keep, peaks, IMPOSTORS if impostors is None else impostors, language, decoys, seed)
        least = LEAST_MOUTHING if threshold is None else threshold
        mouthing = MouthingJob(corpus, out, wanted, dictionary, database, model, cache, least)
        report, found = search_lips(mouthing, lips, run, word_threshold)
    else:
        refuse(source, {"--model": model, "--word-threshold": word_threshold != WORD_THRESHOLD})
        options = AnnotateOptions(padding, keep, peaks, 32 if impostors is None else impostors, language, decoys, seed)
        options = replace(options, overlap=overlap, stride=stride, mirror=mirror)
        signs = named_dictionary(dictionary)
        job = AnnotationJob(corpus, signs, out, wanted, database, encoder, cache, threshold, device=settings().device)
        report, found = search_signs(job, options, run, best)
    with outputs:
        write_results(found, report, outputs, export or [], labels)
    tell(report, found, "probability" if source is SourceName.MOUTHING else "score")
    tell_failures(report)


def named_dictionary(dictionary: Path | None) -> Path:
    """The dictionary, without which no sign can be looked for."""
    from signspot.errors import OptionsError

    if dictionary is None:
        raise OptionsError("signs are looked for by examples: name them with --dictionary, or use --source mouthing")
    return dictionary


def refuse(source: SourceName, given: Mapping[str, object]) -> None:
    """Refuse options that mean nothing with a source."""
    from signspot.errors import OptionsError

    for option in (option for option, value in given.items() if value):
        raise OptionsError(f"{option} means nothing with --source {source}. Leave it out")


def search_signs(
    job: "AnnotationJob", options: "AnnotateOptions", engine: "Engine", best: int
) -> "tuple[RunReport, list[Candidate]]":
    """Annotate by a dictionary; give the report and the spottings."""
    from signspot.annotation.run import annotate as run
    from signspot.annotation.statistics import spottings
    from signspot.annotation.store import open_store

    report = run(job, options, engine, _stages)
    with open_store(job.database or job.out) as store:
        return report, list(spottings(store, report.threshold, rank=best, overlap=options.overlap))


def search_lips(
    job: "MouthingJob", options: "RunOptions", engine: "Engine", word_least: float
) -> "tuple[RunReport, list[Candidate]]":
    """Annotate by mouthing; give the report and the spottings."""
    from signspot.annotation.run import annotate_mouthings, mouthings
    from signspot.annotation.store import open_store
    from signspot.corpus.corpus import open_corpus

    report = annotate_mouthings(job, options, engine, _stages)
    with open_store(job.database or job.out) as store:
        return report, mouthings(store, report.threshold, open_corpus(job.corpus, options.language), word_least)


def _stages(stage: str) -> AbstractContextManager[Progress]:
    return bar(stage)


def make_engine(name: EngineName, workers: int | None, address: str | None) -> "Engine":
    """The engine that was asked for."""
    from signspot.annotation.engines import RayEngine
    from signspot.errors import OptionsError
    from signspot.io.processes import WorkerPool

    if name is EngineName.RAY:
        return RayEngine(workers, address)
    if address is not None:
        raise OptionsError(f"--address ({address}) is for --engine ray")
    return WorkerPool(1 if workers is None else workers)


def tell(report: "RunReport", found: "list[Candidate]", scale: str = "score") -> None:
    """Tell the outcome of a run in two lines."""
    done = [
        f"{report.annotated:,} annotated",
        f"{report.unchanged:,} unchanged",
        f"{len(report.failed):,} failed",
    ]
    say(f"{count(report.videos, 'video')} with subtitles: {', '.join(done)}")
    distinct = len({candidate.word for candidate in found})
    say(f"{count(len(found), 'spotting')} of {count(distinct, 'word')} with a {scale} of {report.threshold:g} or more")


def tell_failures(report: "RunReport") -> None:
    """Name the videos that could not be annotated; the exit code says that there are some."""
    for problem in report.failed:
        note(f"failed: {problem}")
    if report.failed:
        raise typer.Exit(INCOMPLETE)


def claim_results(inputs: "list[Path | str | None]", export: list[Path], labels: Path | None) -> "Outputs":
    """Claim all files of a run outside its folder."""
    from signspot.io.files import Outputs

    outputs = Outputs(inputs, force=settings().force)
    claim_outputs(outputs, export)
    if labels:
        outputs.claim(labels, (".jsonl",))
    return outputs


def write_results(
    found: "list[Candidate]", report: "RunReport", outputs: "Outputs", export: list[Path], labels: Path | None
) -> None:
    """Write spottings for other tools, each with the path of its video, and labels for training."""
    from signspot.corpus.truth import write_records
    from signspot.formats.formats import output_paths, write

    media, rights = report.media, report.rights
    for path in export:
        spottings = [each.as_spotting(media.get(each.video), rights.get(each.video)) for each in found]
        for target in output_paths(path, (spotting.video for spotting in spottings)):
            if target != path:  # claimed before the run
                outputs.claim(target)
        for written in write(spottings, path):
            note(f"wrote {written}")
    if labels:
        write_records((each.as_label(rights.get(each.video)) for each in found), labels)
        note(f"wrote {labels}")
