"""`signspot spot`: find signs in videos."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from signspot.cli.console import bar, claim_outputs, note, print_spottings
from signspot.cli.options import EncoderName, Pixels, Workers, default_workers, settings

if TYPE_CHECKING:
    from signspot.io.files import Outputs
    from signspot.plots.plot import PlotKind
    from signspot.spotting.options import SpotOptions
    from signspot.spotting.search import SearchResult
    from signspot.spotting.spotter import Spotter, What

_TABLES = {".csv", ".json", ".pkl"}  # dictionaries that are files
_TRACK = ".safetensors"
Match = Annotated[
    Literal["auto", "alignment", "embedding"],
    typer.Option(help="Align frame by frame where the encoder can, or compare embeddings of windows (the paper's)."),
]
Mouthing = Annotated[
    bool, typer.Option("--mouthing", help="Read the lips at each spotting: is its word mouthed there, too?")
]


def spot(
    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="VIDEO... SIGNS [WORD]...",
            help="Videos, .pose files, tracks or folders of them; then a dictionary (a folder of example videos, a "
            "table, or one example video); then words to look for, all of the dictionary when none is named.",
        ),
    ],
    dictionary: Annotated[
        Path | None, typer.Option(help="The dictionary; then all paths are videos to search, the rest words.")
    ] = None,
    threshold: Annotated[float | None, typer.Option(help="Least score in [0, 1]. [default: the encoder's]")] = None,
    rate: Annotated[
        float | None,
        typer.Option(
            "--false-alarms-per-hour", help="Pick the threshold that allows N false alarms per hour and word."
        ),
    ] = None,
    match: Match = "auto",
    stride: Annotated[int, typer.Option(help="Frames between two windows.")] = 1,
    refine: Annotated[bool, typer.Option("--refine", help="With --stride: look closely around candidates.")] = False,
    overlap: Annotated[
        float, typer.Option(help="Largest part that two spottings of one word may share, in [0, 1].")
    ] = 0.3,
    top: Annotated[int | None, typer.Option(help="At most so many spottings per word and video, the best.")] = None,
    mirror: Annotated[bool, typer.Option(help="Also try exemplars mirrored, for left-handed signers.")] = True,
    seed: Annotated[int, typer.Option(help="Random seed for sampling exemplar clips.")] = 0,
    encoder: EncoderName = None,
    workers: Workers = None,
    out: Annotated[
        list[Path] | None, typer.Option(help="Write spottings: .eaf .vtt .csv .jsonl …; repeatable.")
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw score over time (.png, .svg, .pdf).")] = None,
    film: Annotated[Path | None, typer.Option(help="Film the input beside the moving curve (.mp4).")] = None,
    html: Annotated[Path | None, typer.Option(help="Write a self-contained, playable report.")] = None,
    mouthing: Mouthing = False,
    language: Annotated[str, typer.Option(help="With --mouthing: language in which words are mouthed.")] = "en",
    pixels: Pixels = True,
    json_lines: Annotated[bool, typer.Option("--json", help="Print JSON Lines.")] = False,
    cache: Annotated[bool, typer.Option(help="Remember tracks and exemplars in the cache folder.")] = True,
) -> None:
    """Find signs in videos.

    Example: signspot spot news.mp4 my-signs/ apple --out news.eaf --plot news.png
    """
    from signspot.io.files import Outputs
    from signspot.spotting.options import SpotOptions
    from signspot.spotting.spotter import load

    asked = read_arguments(paths, dictionary)
    check_language(language)
    options = SpotOptions(threshold, rate, match, stride, refine, overlap=overlap, top=top, mirror=mirror, seed=seed)
    pictures = name_pictures(asked.videos, Pictures(plot, film, html, pixels))
    with Outputs([*paths, *asked.videos, asked.signs, encoder], force=settings().force) as outputs:
        claim_results(outputs, asked.videos, out, pictures)
        found = search(
            load(encoder, cache=cache, device=settings().device, workers=default_workers(workers)), asked, options
        )
        found = read_mouthings(found, language, cache=cache) if mouthing else found
        write_results(found, out or (), pictures)
    show_results(found, as_json=json_lines)


def show_results(found: "Sequence[SearchResult]", *, as_json: bool) -> None:
    """Print all spottings; where there is none, how near the best place came."""
    spottings = [spotting for each in found for spotting in each.spottings]
    print_spottings(spottings, as_json=as_json, videos=len(found) > 1)
    if not spottings:
        note(_nothing(found))


@dataclass(frozen=True, slots=True)
class Pictures:
    """The pictures of one video that were asked for."""

    plot: Path | None
    film: Path | None
    html: Path | None
    pixels: bool = True  # people are seen in them

    def __post_init__(self) -> None:
        if self.film and not self.pixels:
            from signspot.errors import OptionsError

            raise OptionsError("a film shows the signer: --film and --no-pixels exclude each other. Use --plot")

    def named(self) -> "tuple[tuple[PlotKind, Path | None], ...]":
        """The kind and the path of each."""
        return (("plot", self.plot), ("video", self.film), ("report", self.html))


def name_pictures(videos: Sequence[str], wanted: Pictures) -> list[Pictures]:
    """The pictures of each video; of several, each carries the video's name, equal names with their folders."""
    from signspot.io.files import names_apart

    if len(videos) == 1:
        return [wanted]

    def name(path: Path | None, video: Path) -> Path | None:
        return path and path.with_stem(f"{path.stem}-{'-'.join(video.parts)}")

    stems = names_apart(videos, "")
    return [
        replace(wanted, plot=name(wanted.plot, stem), film=name(wanted.film, stem), html=name(wanted.html, stem))
        for stem in stems
    ]


def claim_results(
    outputs: "Outputs", videos: Sequence[str], out: Sequence[Path] | None, pictures: Sequence[Pictures]
) -> None:
    """Claim all files before anything is searched, by the names that spottings will have: of a track, its video's.

    Raises:
        RefusedOutputError: a suffix is unknown, or a file would be lost.
        OptionsError: a film is wanted of landmarks, or of a track whose video is gone.
    """
    from signspot.embedding.tracks import track_source

    names = [track_source(video) if Path(video).suffix == _TRACK else video for video in videos]
    claim_outputs(outputs, out, (named for each in pictures for named in each.named()), names)
    if any(each.film for each in pictures):
        from signspot.errors import OptionsError
        from signspot.plots.curves import playable

        hidden = next((name for name in names if playable(name) is None), None)
        if hidden is not None:
            raise OptionsError(f"cannot film '{hidden}': there is no video behind it. Use --plot or --html.")


def search(spotter: "Spotter", asked: "Arguments", options: "SpotOptions") -> "list[SearchResult]":
    """Search every video, with progress for people."""
    with bar("exemplars") as progress:
        gallery = spotter.gallery(exemplars_of(asked.signs, asked.words), options, progress)
    found = []
    for video in asked.videos:
        with bar(video, "frames") as progress:
            found.append(spotter.search(video, gallery, options, progress))
    return found


def write_results(found: "Sequence[SearchResult]", out: Sequence[Path], pictures: Sequence[Pictures]) -> None:
    """Write spottings and pictures, before anything is printed."""
    from signspot.formats.formats import write

    for path in out:
        spottings = [spotting for each in found for spotting in each.spottings]
        for written in write(spottings, path, videos=[each.track.video for each in found]):
            note(f"wrote {written}")
    for each, wanted in zip(found, pictures, strict=True):
        draw(each, wanted)


def check_language(language: str) -> None:
    """Raise OptionsError where a language is unknown; for English nothing is loaded."""
    if language != "en":
        from signspot.words.tokens import primary_language

        primary_language(language)


def read_mouthings(found: "Sequence[SearchResult]", language: str, *, cache: bool) -> "list[SearchResult]":
    """The same with the probability of a mouthing at each spotting; what cannot be seen or asked is told."""
    from signspot.errors import SignspotError
    from signspot.landmarks.cache import default_cache
    from signspot.mouthing.lips import remarks_on
    from signspot.mouthing.model import default_for, load_mouthing
    from signspot.mouthing.spotter import MouthingSpotter, doubt_words, mark_mouthed, places_to_read

    doubt = doubt_words(dict.fromkeys(spotting.word for each in found for spotting in each.spottings), language)
    if doubt:
        note(doubt)
    spotter, marked = MouthingSpotter(load_mouthing(default_for(each.track.video for each in found))), []
    for each in found:
        video = each.track.video
        about = f"{video}: " if len(found) > 1 else ""
        try:
            with bar(f"lips of {video}", "frames") as progress:
                lips = spotter.read(video, default_cache() if cache else None, progress)
            read = spotter.search(lips, places_to_read(each.spottings), video, language=language)
            for remark in (*remarks_on(lips), *read.remarks()):
                note(about + remark)
            marked.append(replace(each, spottings=tuple(mark_mouthed(each.spottings, read.labels))))
        except SignspotError as error:
            note(f"{about}no lips are read: {error}")
            marked.append(each)
    return marked


@dataclass(frozen=True, slots=True)
class Arguments:
    """Videos, exemplars and words that the arguments of `spot` name."""

    videos: tuple[str, ...]  # as they were given; of a folder, its files
    signs: Path
    words: tuple[str, ...]


def read_arguments(paths: Sequence[str], dictionary: Path | None) -> Arguments:
    """Tell videos, dictionary and words apart.

    The arguments that name something on disk come first; the last of them is the dictionary, unless --dictionary is.

    Raises:
        OptionsError: it is not clear which is which, or something is missing.
    """
    from signspot.errors import OptionsError

    there = next((number for number, path in enumerate(paths) if not Path(path).exists()), len(paths))
    named, words = list(paths[:there]), tuple(paths[there:])
    stray = [word for word in words if Path(word).suffix.lower() in {*_suffixes(), *_TABLES}]
    if stray:
        raise OptionsError(f"there is no file {stray[0]}. Name videos first, then the dictionary, then words")
    if dictionary is None:
        if len(named) < 2 and words:
            raise OptionsError(f"there is no file or folder '{words[0]}'. Name videos, then a dictionary, then words")
        if len(named) < 2:
            missing = "a dictionary" if named else "a video and a dictionary"
            raise OptionsError(f"spot needs {missing}. For example: signspot spot news.mp4 my-signs/ apple")
        dictionary = Path(named.pop())
        if len(named) > 1 and _is_media(dictionary):
            raise OptionsError(
                f"is {dictionary} a video to search, or an example? Name the dictionary or example with --dictionary"
            )
        if _is_media(dictionary):
            note(f"{dictionary} is taken as an example of '{words[0] if words else dictionary.stem}'")
    elif not named:
        raise OptionsError("spot needs a video. For example: signspot spot news.mp4 --dictionary my-signs/ apple")
    videos: dict[Path, str] = {}  # each once, however often and by whatever path it is named
    for video in (video for path in named for video in _videos(path, dictionary)):
        videos.setdefault(Path(video).resolve(), video)
    return Arguments(tuple(videos.values()), dictionary, words)


def _suffixes() -> set[str]:
    from signspot.video import MEDIA_SUFFIXES

    return {*MEDIA_SUFFIXES, _TRACK}


def _is_media(path: Path) -> bool:
    return path.is_file() and path.suffix.lower() in _suffixes()


def _videos(path: str, dictionary: Path) -> Iterator[str]:
    """The files that an argument names: itself, or all media in a folder, but for exemplars of a dictionary in it."""
    from signspot.errors import OptionsError

    if not Path(path).is_dir():
        yield path
        return
    suffixes, signs, folder = _suffixes(), dictionary.resolve(), Path(path).resolve()
    seen = (each for each in sorted(Path(path).rglob("*")) if not each.name.startswith("."))
    files = [each for each in seen if each.suffix.lower() in suffixes and each.is_file()]
    if signs != folder and signs.is_relative_to(folder):
        files = [each for each in files if not each.resolve().is_relative_to(signs)]
        note(f"the exemplars in {dictionary} are not searched")
    if not files:
        raise OptionsError(f"there is no video in the folder {path}. Videos come first, then the dictionary")
    yield from (str(each) for each in files)


def exemplars_of(signs: Path, words: Sequence[str]) -> "What":
    """The dictionary's words, or the one video as an exemplar of its own name."""
    from signspot.dictionary.opening import open_dictionary
    from signspot.errors import OptionsError
    from signspot.types import Exemplar

    if signs.is_file() and signs.suffix not in _TABLES:
        if len(words) > 1:
            raise OptionsError(f"{signs} is one example, of one word; got {len(words)} words: {', '.join(words)}")
        return Exemplar(words[0] if words else signs.stem, signs.stem, signs)
    dictionary = open_dictionary(signs)
    for problem in dictionary.problems:
        note(f"left out {problem.path}: {problem.message}")
    return dictionary.select(list(words)) if words else dictionary


def _nothing(found: "Sequence[SearchResult]") -> str:
    """The message when nothing was found, with the score of the best place."""
    best = max((place for each in found for place in each.best.values()), key=lambda s: s.score, default=None)
    if best is None:
        return "nothing found"
    where = f" of {best.video}" if len(found) > 1 else ""
    return (
        f"nothing found above the threshold {found[0].threshold:.3f}. Best: {best.word} {best.score:.3f} at "
        f"{best.time:.1f} s{where}. A lower --threshold finds more."
    )


def draw(found: "SearchResult", wanted: Pictures) -> None:
    """Make the pictures of one video that were asked for."""
    if not (wanted.plot or wanted.film or wanted.html):
        return
    from signspot.plots.curves import view_of

    view = view_of(found, pixels=wanted.pixels)
    if wanted.plot:
        from signspot.plots.plot import plot as draw_plot

        draw_plot(view, wanted.plot)
        note(f"wrote {wanted.plot}")
    if wanted.film:
        from signspot.plots.video import film as draw_film

        with bar("video", "frames") as progress:
            draw_film(view, wanted.film, progress)
        note(f"wrote {wanted.film}")
    if wanted.html:
        from signspot.plots.report import report

        with bar("report", "frames") as progress:
            report(view, wanted.html, progress)
        note(f"wrote {wanted.html}")
