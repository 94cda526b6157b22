"""`signspot dictionary`: build, look at and fetch dictionaries."""

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from signspot.cli.console import bar, count, log, open_outputs, print_line, print_table
from signspot.cli.options import EncoderName, Json, default_workers, settings
from signspot.cli.variants import variants

if TYPE_CHECKING:
    from collections.abc import Sequence

    from signspot.dictionary.dictionary import Dictionary
    from signspot.types import Exemplar

app = typer.Typer(help="Build, look at and fetch dictionaries.", no_args_is_help=True, rich_markup_mode=None)


@app.command("build")
def build(
    source: Annotated[
        Path,
        typer.Argument(
            help="Folder of videos or .pose files, table (.csv), ELAN documents, published corpus or bsldict_v1.pkl."
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Argument(help="Folder of the new dictionary. [default: SOURCE-dictionary]", show_default=False),
    ] = None,
    tier: Annotated[
        list[str] | None, typer.Option("--tier", help="For ELAN documents: a gloss tier to read; repeatable.")
    ] = None,
    video: Annotated[Path | None, typer.Option("--video", help="For an ELAN document: its video.")] = None,
    embed: Annotated[bool, typer.Option(help="Embed the exemplars now, which makes the first search quick.")] = True,
    signers: Annotated[
        bool, typer.Option("--signers", help="Tell signers apart by their faces (needs the extra).")
    ] = False,
    encoder: EncoderName = None,
) -> None:
    """Build a dictionary folder from word/*.mp4, or word.mp4 and word_2.mp4, or a CSV table.

    Glosses of ELAN documents (.eaf) are cut out of their videos. LSA64, WLASL, ASL Citizen, SignBank exports and
    BSLDict are read as published.

    Example: signspot dictionary build corpus.eaf dictionary/ --tier RH-gloss --video corpus.mp4
    """
    from signspot.dictionary.build import build_dictionary
    from signspot.dictionary.json_file import DICTIONARY_FILE
    from signspot.errors import OptionsError
    from signspot.landmarks.cache import default_cache
    from signspot.spotting.spotter import load

    if signers and not settings().pixels:
        raise OptionsError("signers are told apart by their faces: --signers and --no-pixels exclude each other")
    if video is not None and not video.is_file():
        raise OptionsError(f"there is no video {video}")
    folder = out or Path(f"{source.stem}-dictionary")
    with open_outputs(source) as outputs:
        outputs.claim(folder / DICTIONARY_FILE)
        origin = _open_source(source, tier or (), video)
        cache = default_cache() if settings().cache else None
        spotter = load(encoder, device=settings().device) if embed else None
        if spotter is not None and spotter.encoder.contract.kind == "landmarks" and cache is not None:
            _estimate_whole_videos(origin, cache)
        with bar("exemplars") as progress:
            writer = None if settings().pixels else _write_landmarks
            dictionary = build_dictionary(origin, folder, progress, write_landmarks=writer, cache=cache)
        if signers:
            from signspot.dictionary.faces import identify_signers
            from signspot.dictionary.json_file import save_dictionary

            with bar("faces") as progress:
                dictionary = identify_signers(dictionary, progress=progress)
            save_dictionary(dictionary, folder)
    _report(dictionary)
    missing = sum(exemplar.path is None for exemplar in dictionary.exemplars)
    if missing:
        log(f"{missing} exemplars have no video yet. Fetch them with: signspot dictionary fetch {folder}")
    if spotter is not None and missing < len(dictionary.exemplars):
        with bar("embedding", "exemplars") as progress:
            gallery = spotter.gallery(dictionary, progress=progress)
        log(f"embedded {len(gallery.exemplars)} of {len(dictionary.exemplars)} exemplars")


def _open_source(source: Path, tiers: "Sequence[str]", video: Path | None) -> "Dictionary":
    """The dictionary of a source, whatever it is."""
    from signspot.corpus.annotated import read_annotated
    from signspot.corpus.public_corpora import read_published
    from signspot.dictionary.dictionary import Dictionary
    from signspot.dictionary.json_file import DICTIONARY_FILE
    from signspot.dictionary.open_dictionary import keep_readable, open_dictionary
    from signspot.errors import OptionsError

    if not (source / DICTIONARY_FILE).is_file():
        annotated = read_annotated(source, tiers, video)
        contents = annotated or read_published(source)
        if annotated is None and (tiers or video):
            raise OptionsError(f"--tier and --video are for ELAN documents, and {source} is not one. Leave them out")
        if contents is not None:
            return Dictionary(keep_readable(contents, source), source if source.is_dir() else source.parent)
    return open_dictionary(source)


def _estimate_whole_videos(dictionary: "Dictionary", cache: Path) -> None:
    """Estimate the landmarks of videos of which most is exemplars; those of the exemplars are cut out of them."""
    from signspot.dictionary.cutting import videos_to_estimate
    from signspot.landmarks.video_estimation import estimate_landmarks

    for video in videos_to_estimate(dictionary.exemplars, cache):
        with bar(str(video), "frames") as progress:
            estimate_landmarks(video, progress, cache=cache, workers=default_workers(None))


def _write_landmarks(video: Path, target: Path) -> None:
    from signspot.landmarks.cache import default_cache
    from signspot.landmarks.pose_file import write_landmarks
    from signspot.landmarks.video_estimation import estimate_landmarks

    write_landmarks(estimate_landmarks(video, cache=default_cache()), target)


@app.command("info")
def info(
    path: Annotated[Path, typer.Argument(help="Dictionary to show.")],
    words: Annotated[list[str] | None, typer.Argument(help="Words whose exemplars to show.")] = None,
    check: Annotated[
        bool,
        typer.Option("--check", help="Embed the exemplars, and name those that match resting hands or most signs."),
    ] = False,
    as_json: Json = False,
) -> None:
    """Show the words of a dictionary, or the exemplars of some words.

    Example: signspot dictionary info my-signs/ apple
    """
    from signspot.dictionary.open_dictionary import open_dictionary

    dictionary = open_dictionary(path)
    chosen = dictionary.select(words) if words else dictionary
    if check:
        from signspot.spotting.spotter import load

        with bar("exemplars") as progress:
            load().gallery(chosen, progress=progress)  # which names them
    if as_json:
        print_line(
            json.dumps({word: [_facts(e) for e in exemplars] for word, exemplars in chosen.items()}, ensure_ascii=False)
        )
        return
    if words:
        columns = ("word", "exemplar", "variant", "signer", "source", "licence", "consent", "file")
        print_table(columns, ((e.word, *_facts(e).values()) for e in chosen.exemplars))
    else:
        rows = ((word, str(len(exemplars)), _variants(exemplars)) for word, exemplars in chosen.items())
        print_table(("word", "exemplars", "variants"), rows)
    _report(dictionary)


def _facts(exemplar: "Exemplar") -> dict[str, str]:
    return {
        "id": exemplar.id,
        "variant": exemplar.variant,
        "signer": exemplar.signer,
        "source": exemplar.source,
        "licence": exemplar.licence,
        "consent": exemplar.consent,
        "file": str(exemplar.path or ""),
    }


def _variants(exemplars: "list[Exemplar]") -> str:
    """The variants of a word, each with its number of exemplars."""
    counts = Counter(exemplar.variant for exemplar in exemplars if exemplar.variant)
    return ", ".join(f"{variant} ({number})" for variant, number in counts.items())


@app.command("fetch")
def fetch(
    path: Annotated[Path, typer.Argument(help="Folder of a dictionary built from bsldict_v1.pkl.")],
    delay: Annotated[float, typer.Option(help="Seconds between two requests to one host.")] = 1.0,
) -> None:
    """Download the videos of a dictionary. An interrupted download resumes.

    Example: signspot dictionary fetch bsldict/
    """
    from signspot.dictionary.download import DownloadOptions, fetch_dictionary
    from signspot.dictionary.open_dictionary import open_dictionary

    with bar("videos") as progress:
        _, report = fetch_dictionary(open_dictionary(path), path, DownloadOptions(delay=delay), progress)
    for problem in report.problems:
        log(f"not fetched {problem.path}: {problem.message}")
    print_line(f"{len(report.fetched)} fetched, {len(report.kept)} there before, {len(report.problems)} failed")
    if report.problems:
        raise typer.Exit(1)


def _report(dictionary: "Dictionary") -> None:
    """Problems on stderr, the sum on stdout."""
    for problem in dictionary.problems:
        log(f"left out {problem.path}: {problem.message}")
    signers = {exemplar.signer for exemplar in dictionary.exemplars if exemplar.signer}
    variants = {(exemplar.word, exemplar.variant) for exemplar in dictionary.exemplars if exemplar.variant}
    counts = [count(len(things), name) for things, name in ((variants, "variant"), (signers, "signer")) if things]
    print_line(", ".join([count(len(dictionary), "word"), count(len(dictionary.exemplars), "exemplar"), *counts]))


app.command("variants")(variants)
