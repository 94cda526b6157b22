"""`signspot mouth`: find the words that a signer mouths."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from signspot.cli.console import bar, claim_outputs, count, log, open_outputs, print_spottings
from signspot.cli.options import Json, Out, settings

if TYPE_CHECKING:
    from signspot.mouthing.mouthing_spotter import MouthingSpotter
    from signspot.subtitles.reading import Subtitles
    from signspot.types import Label, Spotting

_PADDING = 4.0  # seconds searched before and after each subtitle (Sec. 4.5)


def mouth(
    video: Annotated[Path, typer.Argument(help="Video or .pose file with the signer's face.")],
    subtitles: Annotated[
        Path | None, typer.Option(help="Subtitles of the video. [default: the file of the same name]")
    ] = None,
    words: Annotated[
        list[str] | None,
        typer.Option("--word", help="A word to look for; repeatable. [default: those of the subtitles]"),
    ] = None,
    words_from: Annotated[Path | None, typer.Option(help="A file of words to look for, one per line.")] = None,
    threshold: Annotated[float, typer.Option(help="Minimum probability of a peak, from 0 to 1.")] = 0.5,
    word_threshold: Annotated[
        float, typer.Option(help="Keep only words with a peak of this probability or more (the paper's: 0.8).")
    ] = 0.0,
    language: Annotated[str, typer.Option(help="Language of the subtitles and words.")] = "en",
    model: Annotated[
        str | None,
        typer.Option(help="Name or file of the mouthing spotter. [default: a shipped one]"),
    ] = None,
    out: Out = None,
    labels: Annotated[Path | None, typer.Option(help="Write the spottings as training labels (.jsonl).")] = None,
    json_lines: Json = False,
) -> None:
    """Find where the words of subtitles are mouthed.

    The time of a spotting is the end of the sign. The shipped spotters have learned from synthetic lips only: check
    what they find. To search a whole corpus, use annotate --source mouthing.

    Example: signspot mouth news.mp4 --subtitles news.vtt --out news.bobsl.json
    """
    from signspot.subtitles.reading import read_subtitles

    chosen_words = read_words(words, words_from)
    text = find_subtitles(video, subtitles)
    with open_outputs(video, text, words_from, model) as outputs:
        claim_outputs(outputs, out, (), [str(video)])
        if labels:
            outputs.claim(labels, (".jsonl",))
        lines = read_subtitles(text)
        from signspot.mouthing.mouthing_spotter import MouthingSpotter, keep_vocabulary
        from signspot.mouthing.network import default_for, load_mouthing

        spotter = MouthingSpotter(load_mouthing(model or default_for([video])))
        mouthings = search(spotter, video, lines, chosen_words, threshold, language)
        spotted = keep_vocabulary(mouthings or (), word_threshold)
        if mouthings and len(spotted) < len(mouthings):
            log(f"left out {count(len(mouthings) - len(spotted), 'peak')} of words that never reach {word_threshold:g}")
        spottings = write_results(spotted, out or (), labels, [str(video)])
    print_spottings(spottings, as_json=json_lines)
    if mouthings is not None and not spottings:
        log(f"no mouthing found above the probability {threshold:g}. A lower --threshold finds more.")


def write_results(
    spotted: "Sequence[Label]", out: Sequence[Path], labels: Path | None, videos: Sequence[str]
) -> "list[Spotting]":
    """Write spottings for other tools, and labels for training; give the spottings."""
    from signspot.corpus.truth import write_records
    from signspot.formats.formats import write
    from signspot.mouthing.mouthing_spotter import as_spotting

    spottings = [as_spotting(label) for label in spotted]
    for path in out:
        for written in write(spottings, path, videos=videos):
            log(f"wrote {written}")
    if labels:
        log(f"wrote {write_records(spotted, labels)}")
    return spottings


def find_subtitles(video: Path, named: Path | None) -> Path:
    """The subtitles of a video: as named, or those beside it."""
    from signspot.errors import OptionsError
    from signspot.subtitles.reading import SUFFIXES

    if video.is_dir():
        raise OptionsError(
            f"{video} is a folder. Annotate it with: signspot annotate {video} --source mouthing --out run/"
        )
    if not video.exists():
        raise OptionsError(f"there is no file {video}. Name a video or a .pose file")
    if named is not None:
        return named
    beside = [path for suffix in SUFFIXES if (path := video.with_suffix(suffix)).is_file()]
    if not beside:
        raise OptionsError(f"there are no subtitles beside {video}. Name them with --subtitles")
    return beside[0]


def read_words(words: Sequence[str] | None, path: Path | None) -> list[str] | None:
    """The words to look for: those named and those of a file; None: those of the subtitles."""
    from signspot.io.text import read_word_list

    return [*(words or ()), *(read_word_list(path) if path else ())] or None


def search(
    spotter: "MouthingSpotter",
    video: Path,
    lines: "Subtitles",
    words: list[str] | None,
    threshold: float,
    language: str,
) -> "Sequence[Label] | None":
    """Read lips and subtitles and look for the words, with progress for people; None: there is nothing to look for."""
    from signspot.landmarks.cache import default_cache
    from signspot.mouthing.lips import read_lips, remarks_on
    from signspot.mouthing.mouthing_spotter import doubt_language, doubt_words, explain_none, find_candidates

    candidates = find_candidates(lines, words, _PADDING, language)
    for doubt in (doubt_language(lines, language), doubt_words(words or (), language)):
        if doubt:
            log(doubt)
    if not candidates:
        log(f"{lines.path} {explain_none(lines, words, language)}")
        return None
    with bar(str(video), "frames") as progress:
        lips = read_lips(video, default_cache() if settings().cache else None, progress)
    for remark in remarks_on(lips):
        log(remark)
    with bar("lips", "windows") as progress:
        mouthings = spotter.search(lips, candidates, str(video), least=threshold, language=language, progress=progress)
    for remark in mouthings.remarks():
        log(remark)
    return mouthings.labels
