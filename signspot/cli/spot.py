"""`signspot spot`: find signs in videos."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from signspot.cli.console import (
    bar,
    check_media,
    claim_outputs,
    load_spotter,
    log,
    open_outputs,
    print_spottings,
    write_spottings,
)
from signspot.cli.options import (
    Confirmed,
    EncoderName,
    Fields,
    Html,
    Json,
    Out,
    Workers,
    derive_options,
    settings,
)
from signspot.errors import OptionsError, SignspotError
from signspot.spotting.spot_options import SpotOptions

if TYPE_CHECKING:  # what takes long to load is loaded when it is used
    from signspot.applications.subtitle_timeline import Timeline
    from signspot.io.files import Outputs
    from signspot.plots.plot import PlotKind
    from signspot.spotting.spotter import Signs, Spotter
    from signspot.spotting.track_search import SearchResult
    from signspot.types import Exemplar, Segment, Subtitle

_TABLES = {".csv", ".json", ".pkl"}  # dictionaries that are files
_TRACK = ".safetensors"


@derive_options
def spot(
    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="VIDEO... SIGNS [WORD]...",
            help="Videos, .pose files, tracks or folders of them; then a dictionary (a folder of example videos, a "
            "table, or one example video); then the words to look for (none: all of the dictionary).",
        ),
    ],
    options: Annotated[
        SpotOptions,
        Fields.of("threshold", "false_alarms_per_hour", "match", "stride", "refine", "compete", "top", "mirror"),
    ],
    dictionary: Annotated[
        Path | None, typer.Option(help="The dictionary; the arguments are then videos and words only.")
    ] = None,
    subtitles: Annotated[
        Path | None, typer.Option(help="Subtitles of the video (.vtt, .srt, .ttml): look for their words near each.")
    ] = None,
    padding: Annotated[float, typer.Option(help="With --subtitles: seconds to search before and after each.")] = 4.0,
    start: Annotated[float, typer.Option("--from", help="With --subtitles: start time in seconds.")] = 0.0,
    end: Annotated[float, typer.Option("--to", help="With --subtitles: end time in seconds.")] = float("inf"),
    confirmed: Confirmed = None,
    mouthing: Annotated[
        bool, typer.Option("--mouthing", help="Check on the lips whether the word of each spotting is mouthed.")
    ] = False,
    language: Annotated[str, typer.Option(help="Language of the subtitles and words.")] = "en",
    out: Out = None,
    plot: Annotated[
        Path | None, typer.Option(help="Plot the score over time (.png, .svg, .pdf); with --subtitles, of 30 seconds.")
    ] = None,
    video_out: Annotated[
        Path | None, typer.Option(help="Write a video of the input with the moving curve (.mp4).")
    ] = None,
    html: Html = None,
    json_lines: Json = False,
    encoder: EncoderName = None,
    workers: Workers = None,
) -> None:
    """Find signs in videos. With --subtitles, look for each word of the subtitles near where it is said.

    Example: signspot spot news.mp4 my-signs/ apple --out news.eaf --plot news.png
    """
    from signspot.subtitles.reading import read_subtitles

    arguments = read_arguments(paths, dictionary)
    check_language(language)
    passage = check_passage(arguments, subtitles, start, end, options)
    plots = plots_by_video(arguments.videos, Plots(plot, video_out, html, settings().pixels))
    timeline: Timeline | None = None
    with open_outputs(*paths, *arguments.videos, arguments.signs, subtitles, confirmed, encoder) as outputs:
        claim_results(outputs, arguments.videos, out, plots)
        check_media(*arguments.videos, arguments.signs if arguments.is_example else None)
        lines = [] if subtitles is None else read_subtitles(subtitles)
        examples, spotter = confirmed_exemplars(confirmed), load_spotter(encoder, workers)
        if subtitles is None:
            results = search(spotter, arguments, options, examples)
        else:
            timeline = search_near(spotter, arguments, lines, (padding, language, passage), options, examples)
            results = [replace(timeline.result, spottings=tuple(timeline.spottings))]
        results = read_mouthings(results, language) if mouthing else results
        spottings = [spotting for result in results for spotting in result.spottings]
        write_spottings(spottings, out, [result.track.video for result in results])
        for result, plots_of_video in zip(results, plots, strict=True):
            draw(result, plots_of_video, timeline)
    rates = options.false_alarms_per_hour is not None
    print_spottings(spottings, as_json=json_lines, videos=len(results) > 1, rates=rates)
    if timeline is not None:
        log(timeline.summary)
    elif not spottings:
        log(_nothing_found(results))


@dataclass(frozen=True, slots=True)
class Plots:
    """The plots of one video that were asked for."""

    plot: Path | None
    video: Path | None
    html: Path | None
    pixels: bool = True  # people are seen in them

    def __post_init__(self) -> None:
        if self.video and not self.pixels:
            raise OptionsError("a video shows the signer: --video-out and --no-pixels exclude each other. Use --plot")

    def by_kind(self) -> "tuple[tuple[PlotKind, Path | None], ...]":
        """The kind and the path of each."""
        return (("plot", self.plot), ("video", self.video), ("report", self.html))


def plots_by_video(videos: Sequence[str], plots: Plots) -> list[Plots]:
    """The plots of each video; of several, each carries the video's name, equal names with their folders."""
    from signspot.io.files import names_apart

    if len(videos) == 1:
        return [plots]

    def name(path: Path | None, video: Path) -> Path | None:
        return path and path.with_stem(f"{path.stem}-{'-'.join(video.parts)}")

    return [
        replace(plots, plot=name(plots.plot, stem), video=name(plots.video, stem), html=name(plots.html, stem))
        for stem in names_apart(videos, "")
    ]


def claim_results(
    outputs: "Outputs", videos: Sequence[str], out: Sequence[Path] | None, plots: Sequence[Plots]
) -> None:
    """Claim all files before anything is searched, by the names that spottings will have: of a track, its video's.

    Raises:
        RefusedOutputError: a suffix is unknown, or a file would be lost.
        OptionsError: a video is wanted of landmarks, or of a track whose video is gone.
    """
    from signspot.embedding.tracks import track_source

    names = [track_source(video) if Path(video).suffix == _TRACK else video for video in videos]
    claim_outputs(outputs, out, (pair for plots_of_video in plots for pair in plots_of_video.by_kind()), names)
    if any(plots_of_video.video for plots_of_video in plots):
        from signspot.plots.curves import playable

        hidden = next((name for name in names if playable(name) is None), None)
        if hidden is not None:
            raise OptionsError(f"no video can be made of '{hidden}': it has no frames. Use --plot or --html.")


def search(
    spotter: "Spotter", arguments: "Arguments", options: SpotOptions, further: "Sequence[Exemplar]" = ()
) -> "list[SearchResult]":
    """Search every video, with progress for people; for words with further exemplars, with these, too."""
    exemplars = with_further(exemplars_of(arguments.signs, arguments.words), further)
    with bar("exemplars") as progress:
        gallery = spotter.gallery(exemplars, options, progress)
    results = []
    for video in arguments.videos:
        with bar(video, "frames") as progress:
            results.append(spotter.search(video, gallery, options, progress))
    return results


def check_passage(
    arguments: "Arguments", subtitles: Path | None, start: float, end: float, options: SpotOptions
) -> "Segment":
    """The part of a video whose subtitles are followed.

    Raises:
        OptionsError: there are no subtitles of it, or they cannot belong to what is searched.
    """
    from signspot.types import Segment

    if subtitles is None and (start, end) != (0.0, float("inf")):
        raise OptionsError("--from and --to choose subtitles: name these with --subtitles")
    if subtitles is not None and options.false_alarms_per_hour is None and (options.compete or options.top is not None):
        raise OptionsError("--subtitles takes one place for each word of a subtitle: leave out --compete and --top")
    if subtitles is not None and len(arguments.videos) > 1:
        raise OptionsError(f"--subtitles {subtitles} belongs to one video; got {len(arguments.videos)}")
    if subtitles is not None and arguments.is_example:
        raise OptionsError(f"{arguments.signs} is one example. With --subtitles name a dictionary")
    return Segment(start, end)


def search_near(
    spotter: "Spotter",
    arguments: "Arguments",
    subtitles: "Sequence[Subtitle]",
    near: "tuple[float, str, Segment]",
    options: SpotOptions,
    further: "Sequence[Exemplar]",
) -> "Timeline":
    """Look for each dictionary word of the subtitles near the subtitles that have it.

    Args:
        spotter: with an encoder.
        arguments: one video and a dictionary.
        subtitles: of the video.
        near: seconds before and after each, their language, and the part of the video.
        options: of the search.
        further: exemplars of the same words.
    """
    from signspot.applications.subtitle_timeline import TimelineOptions, find_words
    from signspot.dictionary.dictionary import Dictionary

    (video,) = arguments.videos
    dictionary = exemplars_of(arguments.signs, arguments.words)
    assert isinstance(dictionary, Dictionary), "an example was refused before"
    words = dictionary.with_exemplars(with_further(dictionary, further)) if further else dictionary
    with bar(video, "frames") as progress:
        return find_words(spotter, video, subtitles, words, TimelineOptions(*near, options), progress)


def with_further(signs: "Signs", further: "Sequence[Exemplar]") -> "list[Exemplar]":
    """The exemplars of words, and further ones of the same words, each with an id of its own."""
    from signspot.dictionary.dictionary import numbered
    from signspot.spotting.spotter import exemplars_of as listed

    exemplars = listed(signs)
    words = {exemplar.word for exemplar in exemplars}
    exemplars += [exemplar for exemplar in further if exemplar.word in words]
    ids = numbered(exemplar.id for exemplar in exemplars)
    return [replace(exemplar, id=name) for exemplar, name in zip(exemplars, ids, strict=True)]


def confirmed_exemplars(path: Path | None) -> "list[Exemplar]":
    """The spottings of a file, but for those that a person refused, as exemplars; none without a file.

    Raises:
        OptionsError: a video that it names is not there.
    """
    from signspot.formats.formats import read_spottings

    if path is None:
        return []
    exemplars = [spotting.as_exemplar() for spotting in read_spottings(path) if spotting.decision != "no"]
    missing = next((exemplar.path for exemplar in exemplars if not (exemplar.path and exemplar.path.is_file())), None)
    if missing is not None:
        raise OptionsError(f"{path} names the video {missing}, which is not there. Put it where the file says")
    return exemplars


def check_language(language: str) -> None:
    """Raise OptionsError where a language is unknown; for English nothing is loaded."""
    if language != "en":
        from signspot.words.tokens import primary_language

        primary_language(language)


def read_mouthings(results: "Sequence[SearchResult]", language: str) -> "list[SearchResult]":
    """The same results with the probability of a mouthing at each spotting; what cannot be read is reported."""
    from signspot.landmarks.cache import default_cache
    from signspot.mouthing.lips import read_lips, remarks_on
    from signspot.mouthing.mouthing_spotter import MouthingSpotter, doubt_words, mark_mouthed, places_to_read
    from signspot.mouthing.network import default_for, load_mouthing

    doubt = doubt_words(dict.fromkeys(spotting.word for result in results for spotting in result.spottings), language)
    if doubt:
        log(doubt)
    spotter, marked = MouthingSpotter(load_mouthing(default_for(result.track.video for result in results))), []
    for result in results:
        video = result.track.video
        prefix = f"{video}: " if len(results) > 1 else ""
        try:
            with bar(f"lips of {video}", "frames") as progress:
                lips = read_lips(video, default_cache() if settings().cache else None, progress)
            mouthings = spotter.search(lips, places_to_read(result.spottings), video, language=language)
            for remark in (*remarks_on(lips), *mouthings.remarks()):
                log(prefix + remark)
            marked.append(replace(result, spottings=tuple(mark_mouthed(result.spottings, mouthings.labels))))
        except SignspotError as error:
            log(f"{prefix}lips cannot be read: {error}")
            marked.append(result)
    return marked


@dataclass(frozen=True, slots=True)
class Arguments:
    """Videos, exemplars and words that the arguments of `spot` name."""

    videos: tuple[str, ...]  # as they were given; of a folder, its files
    signs: Path
    words: tuple[str, ...]

    @property
    def is_example(self) -> bool:
        """Whether the signs are one example video."""
        return self.signs.is_file() and self.signs.suffix not in _TABLES


def read_arguments(paths: Sequence[str], dictionary: Path | None) -> Arguments:
    """Tell videos, dictionary and words apart.

    The arguments that name something on disk come first; the last of them is the dictionary, unless --dictionary is.

    Raises:
        OptionsError: it is not clear which is which, or something is missing.
    """
    files = next((number for number, path in enumerate(paths) if not Path(path).exists()), len(paths))
    names, words = list(paths[:files]), tuple(paths[files:])
    missing = [word for word in words if Path(word).suffix.lower() in {*_suffixes(), *_TABLES}]
    if missing:
        raise OptionsError(f"there is no file {missing[0]}. Name videos first, then the dictionary, then words")
    if dictionary is None:
        if len(names) < 2 and words:
            raise OptionsError(f"there is no file or folder '{words[0]}'. Name videos, then a dictionary, then words")
        if len(names) < 2:
            needed = "a dictionary" if names else "a video and a dictionary"
            raise OptionsError(f"spot needs {needed}. For example: signspot spot news.mp4 my-signs/ apple")
        dictionary = Path(names.pop())
        if len(names) > 1 and _is_media(dictionary):
            raise OptionsError(
                f"is {dictionary} a video to search, or an example? Name the dictionary or example with --dictionary"
            )
        if _is_media(dictionary):
            log(f"{dictionary} is taken as an example of '{words[0] if words else dictionary.stem}'")
    elif not names:
        raise OptionsError("spot needs a video. For example: signspot spot news.mp4 --dictionary my-signs/ apple")
    videos: dict[Path, str] = {}  # each once, however often and by whatever path it is named
    for video in (video for path in names for video in _videos(path, dictionary)):
        videos.setdefault(Path(video).resolve(), video)
    return Arguments(tuple(videos.values()), dictionary, words)


def _suffixes() -> set[str]:
    from signspot.video import MEDIA_SUFFIXES

    return {*MEDIA_SUFFIXES, _TRACK}


def _is_media(path: Path) -> bool:
    return path.is_file() and path.suffix.lower() in _suffixes()


def _videos(path: str, dictionary: Path) -> Iterator[str]:
    """The files that an argument names: itself, or all media in a folder, but for exemplars of a dictionary in it."""
    if not Path(path).is_dir():
        yield path
        return
    signs, folder = dictionary.resolve(), Path(path).resolve()
    files = [file for file in sorted(Path(path).rglob("*")) if _is_media(file) and not file.name.startswith(".")]
    if signs != folder and signs.is_relative_to(folder):
        files = [file for file in files if not file.resolve().is_relative_to(signs)]
        log(f"the exemplars in {dictionary} are not searched")
    if not files:
        raise OptionsError(f"there is no video in the folder {path}. Videos come first, then the dictionary")
    yield from map(str, files)


def exemplars_of(signs: Path, words: Sequence[str]) -> "Signs":
    """The dictionary's words, or the one video as an exemplar of its own name."""
    from signspot.dictionary.open_dictionary import open_dictionary
    from signspot.types import Exemplar

    if signs.is_file() and signs.suffix not in _TABLES:
        if len(words) > 1:
            raise OptionsError(f"{signs} is one example, of one word; got {len(words)} words: {', '.join(words)}")
        return Exemplar(words[0] if words else signs.stem, signs.stem, signs)
    dictionary = open_dictionary(signs)
    for problem in dictionary.problems:
        log(f"left out {problem.path}: {problem.message}")
    return dictionary.select(list(words)) if words else dictionary


def _nothing_found(results: "Sequence[SearchResult]") -> str:
    """The message when nothing was found, with the best score."""
    peaks = (spotting for result in results for spotting in result.best.values())
    best = max(peaks, key=lambda spotting: spotting.score, default=None)
    if best is None:
        return "nothing found"
    where = f" of {best.video}" if len(results) > 1 else ""
    return (
        f"nothing found above the threshold {results[0].threshold:.3f}. Best: {best.word} {best.score:.3f} at "
        f"{best.time:.1f} s{where}. A lower --threshold finds more."
    )


def draw(result: "SearchResult", plots: Plots, timeline: "Timeline | None" = None) -> None:
    """Make the plots of one video that were asked for; of subtitles' words, on their timeline."""
    if not (plots.plot or plots.video or plots.html):
        return
    from signspot.plots.curves import view_of

    view = view_of(result, pixels=plots.pixels)
    if plots.plot and timeline is not None:
        from signspot.applications.subtitle_timeline import draw_timeline
        from signspot.plots.plot import save_figure
        from signspot.types import Segment

        first = timeline.mentions[0].mention.start
        log(f"wrote {save_figure(draw_timeline(timeline, Segment(first, first + 30.0)), plots.plot)}")
    elif plots.plot:
        from signspot.plots.plot import plot

        plot(view, plots.plot)
        log(f"wrote {plots.plot}")
    if plots.video:
        from signspot.plots.video import write_result_video

        with bar("video", "frames") as progress:
            write_result_video(view, plots.video, progress)
        log(f"wrote {plots.video}")
    if plots.html:
        from signspot.applications.subtitle_timeline import write_timeline_page
        from signspot.plots.result_page import report

        with bar("report", "frames") as progress:
            if timeline is None:
                report(view, plots.html, progress)
            else:
                write_timeline_page(timeline, plots.html, pixels=plots.pixels, progress=progress)
        log(f"wrote {plots.html}")
