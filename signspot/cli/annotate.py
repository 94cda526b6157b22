"""`signspot annotate`: subtitled footage and a dictionary in, localised labels out, at any scale."""

from dataclasses import fields, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from signspot.annotation.run_options import AnnotateOptions, RunOptions
from signspot.cli.console import bar, claim_outputs, count, log, print_line
from signspot.cli.options import Confirmed, EncoderName, Fields, derive_options, settings

if TYPE_CHECKING:
    from signspot.annotation.engines import Engine
    from signspot.annotation.run import RunReport
    from signspot.dictionary.dictionary import Dictionary
    from signspot.io.files import Outputs

INCOMPLETE = 3  # the exit code of a run that is through, but could not annotate every video


class EngineName(StrEnum):
    """Engines."""

    LOCAL = "local"
    RAY = "ray"


class SourceName(StrEnum):
    """The source of evidence that is searched."""

    DICTIONARY = "dictionary"
    MOUTHING = "mouthing"


ONLY_WITH = {  # options that mean nothing with the other source
    SourceName.DICTIONARY: ("encoder", "best", "stride", "mirror", "confirmed"),
    SourceName.MOUTHING: ("model", "word_threshold"),
}
_OPTIONS = ("padding", "keep", "peaks", "negatives", "language", "decoys", "stride", "mirror")
_Dictionary = Annotated[
    Path | None, typer.Option(help="Dictionary with exemplars; with --source mouthing, only its words count.")
]
_Source = Annotated[SourceName, typer.Option(help="Look for signs of the dictionary, or for words on the lips.")]
_Threshold = Annotated[
    float | None, typer.Option(help="Minimum score, from 0 to 1. [default: the encoder's; mouthings: 0.5]")
]
_WordThreshold = Annotated[
    float | None,
    typer.Option(help="Keep only words that reach this probability in some training video. [default: 0.8]"),
]
_Best = Annotated[int, typer.Option(help="Maximum number of spottings per subtitle and word.")]
_Model = Annotated[str | None, typer.Option(help="Name or file of the mouthing spotter. [default: a shipped one]")]
_Address = Annotated[str | None, typer.Option(help="Address of a running Ray cluster. [default: start one here]")]
_Cache = Annotated[Path | None, typer.Option(help="Cache folder. [default: that of all commands]")]
_Export = Annotated[
    list[Path] | None,
    typer.Option(help="Write the spottings (.csv, .jsonl …; .eaf and .vtt: one file per video); repeatable."),
]


@derive_options
def annotate(
    context: typer.Context,
    corpus: Annotated[Path, typer.Argument(help="Folder of videos or .pose files with subtitles beside them.")],
    out: Annotated[Path, typer.Option(help="Folder of the run; an interrupted run resumes there.")],
    options: Annotated[AnnotateOptions, Fields.of(*_OPTIONS)],
    dictionary: _Dictionary = None,
    source: _Source = SourceName.DICTIONARY,
    words: Annotated[list[str] | None, typer.Option(help="A word to look for; repeatable. [default: all]")] = None,
    words_from: Annotated[Path | None, typer.Option(help="A file of words to look for, one per line.")] = None,
    threshold: _Threshold = None,
    word_threshold: _WordThreshold = None,
    best: _Best = 1,
    confirmed: Confirmed = None,
    encoder: EncoderName = None,
    model: _Model = None,
    engine: Annotated[EngineName, typer.Option(help="Processes on this machine, or a Ray cluster.")] = EngineName.LOCAL,
    workers: Annotated[
        int | None, typer.Option(help="Number of parallel processes. [default: 1; ray: all cores of the cluster]")
    ] = None,
    address: _Address = None,
    database: Annotated[
        str | None, typer.Option(help="Database (postgresql://…). [default: a SQLite file in --out]")
    ] = None,
    cache: _Cache = None,
    export: _Export = None,
    labels: Annotated[Path | None, typer.Option(help="Write the spottings as training labels (.jsonl).")] = None,
) -> None:
    """Look for the words of subtitles in the signing around them, and store and export the spottings.

    Signs are found by a dictionary's exemplars. With --source mouthing, words are found on the signers' lips: --model
    and --word-threshold are for mouthings only; --best, --confirmed, --encoder, --mirror and --stride are for signs
    only. Run again, it searches only new words and videos. Exit code 3: some videos could not be annotated.

    Example: signspot annotate footage/ --dictionary my-signs/ --out run/ --workers 2 --export labels.csv
    """
    from signspot.annotation import run
    from signspot.errors import OptionsError
    from signspot.io.text import read_word_list

    _refuse_options_of_other_sources(context, source)
    outputs = _claim_results([corpus, dictionary, confirmed, words_from, encoder, model], export or [], labels)
    chosen_words = (*(words or ()), *(read_word_list(words_from) if words_from else ()))
    workforce = make_engine(engine, workers, address)
    if source is SourceName.MOUTHING:
        mouthing = run.MouthingJob(
            corpus, out, chosen_words, dictionary, database, model, cache, device=settings().device
        )
        mouthing = mouthing if threshold is None else replace(mouthing, threshold=threshold)
        mouthing = mouthing if word_threshold is None else replace(mouthing, word_threshold=word_threshold)
        shared = RunOptions(**{field.name: getattr(options, field.name) for field in fields(RunOptions)})
        report = run.annotate_mouthings(mouthing, shared, workforce, bar)
    else:
        if dictionary is None:
            raise OptionsError("signs are found by examples: give a --dictionary, or use --source mouthing")
        signs = dictionary if confirmed is None else _with_confirmed(dictionary, confirmed)
        job = run.AnnotationJob(corpus, signs, out, chosen_words, database, encoder, cache, threshold, best)
        report = run.annotate(replace(job, device=settings().device), options, workforce, bar)
    with outputs:
        _write_results(report, outputs, export or [], labels)
    _print_outcome(report, "probability" if source is SourceName.MOUTHING else "score")


def _with_confirmed(dictionary: Path, confirmed: Path) -> "Dictionary":
    """A dictionary with confirmed spottings of its words as further exemplars; its files stay as they are."""
    from signspot.cli.spot import confirmed_exemplars, with_further
    from signspot.dictionary.open_dictionary import open_dictionary

    opened = open_dictionary(dictionary)
    return opened.with_exemplars(with_further(opened, confirmed_exemplars(confirmed)))


def _refuse_options_of_other_sources(context: typer.Context, source: SourceName) -> None:
    from signspot.errors import OptionsError

    for other, names in ONLY_WITH.items():
        for name in names if other is not source else ():
            given_by = context.get_parameter_source(name)
            if given_by is not None and given_by.name == "COMMANDLINE":
                option = f"--{name.replace('_', '-')}"
                raise OptionsError(f"{option} belongs to --source {other}; with --source {source} leave it out")


def make_engine(name: EngineName, workers: int | None, address: str | None) -> "Engine":
    """The engine that was asked for."""
    from signspot.annotation.engines import RayEngine
    from signspot.errors import OptionsError
    from signspot.io.processes import WorkerPool

    if name is EngineName.RAY:
        return RayEngine(workers, address, settings().device)
    if address is not None:
        raise OptionsError(f"--address ({address}) needs --engine ray")
    return WorkerPool(1 if workers is None else workers)


def _print_outcome(report: "RunReport", scale: str) -> None:
    """Print the outcome of a run in two lines; name the videos that failed, which the exit code says, too."""
    done = f"{report.annotated:,} annotated, {report.unchanged:,} unchanged, {len(report.failed):,} failed"
    print_line(f"{count(report.videos, 'video')} with subtitles: {done}")
    words = count(len({spotting.word for spotting in report.spottings}), "word")
    spottings = count(len(report.spottings), "spotting")
    print_line(f"{spottings} of {words} with a {scale} of {report.threshold:g} or more")
    for problem in report.failed:
        log(f"failed: {problem}")
    if report.failed:
        raise typer.Exit(INCOMPLETE)


def _claim_results(inputs: "list[Path | str | None]", export: list[Path], labels: Path | None) -> "Outputs":
    """Claim all files of a run outside its folder."""
    from signspot.io.files import Outputs

    outputs = Outputs(inputs, force=settings().force)
    claim_outputs(outputs, export)
    if labels:
        outputs.claim(labels, (".jsonl",))
    return outputs


def _write_results(report: "RunReport", outputs: "Outputs", export: list[Path], labels: Path | None) -> None:
    """Write spottings for other tools, each with the path of its video, and labels for training."""
    from signspot.annotation.run import media_of, rights_of
    from signspot.corpus.truth import write_records
    from signspot.formats.formats import output_paths, write

    media, rights = media_of(report.corpus), rights_of(report.corpus)
    for path in export:
        spottings = [
            candidate.as_spotting(media.get(candidate.video), rights.get(candidate.video))
            for candidate in report.spottings
        ]
        for target in output_paths(path, (spotting.video for spotting in spottings)):
            if target != path:  # claimed before the run
                outputs.claim(target)
        for written in write(spottings, path):
            log(f"wrote {written}")
    if labels:
        write_records((candidate.as_label(rights.get(candidate.video)) for candidate in report.spottings), labels)
        log(f"wrote {labels}")
