"""`signspot wake`: wait for a sign in a stream."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from signspot.cli.console import bar, check_media, claim_outputs, count, load_spotter, log, open_outputs, print_line
from signspot.cli.options import EncoderName, settings
from signspot.io.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from signspot.applications.wake import Distinctiveness, WakeEvent, WakeSign
    from signspot.embedding.exemplars import Gallery
    from signspot.landmarks.landmarks import Landmarks
    from signspot.spotting.spotter import Spotter

_BREAKS = 3  # breaks of a stream that are reported as they come; further ones only at the end


def wake(
    source: Annotated[str, typer.Argument(help="Video, .pose file, or camera:0 for the first camera.")],
    sign: Annotated[list[Path], typer.Option(help="Recording of the sign by the person who will make it; repeatable.")],
    background: Annotated[
        list[Path] | None,
        typer.Option(
            help="Video of everything else that happens before the camera, which sets the threshold; repeatable."
        ),
    ] = None,
    dictionary: Annotated[
        Path | None,
        typer.Option(help="Dictionary of signs that may be made before the camera; the nearest become negatives."),
    ] = None,
    word: Annotated[
        str | None, typer.Option(help="Word of the sign in the dictionary, which is then no negative.")
    ] = None,
    rate: Annotated[
        float, typer.Option("--false-alarms-per-hour", help="Allowed false alarms per hour of background.")
    ] = 1.0,
    threshold: Annotated[float | None, typer.Option(help="Minimum score, instead of the measured one.")] = None,
    plot: Annotated[Path | None, typer.Option(help="For a file: plot the score over time with the events.")] = None,
    encoder: EncoderName = None,
) -> None:
    """Wait for a sign in a stream. Each event is printed as one line of JSON as soon as it is sure.

    Example: signspot wake camera:0 --sign me-1.mp4 --sign me-2.mp4 --sign me-3.mp4 --background desk.mp4
    """
    from dataclasses import replace

    from signspot.applications.wake import WakeStream, draw_wake, enrol, open_stream
    from signspot.errors import OptionsError
    from signspot.landmarks.cache import default_cache
    from signspot.plots.plot import save_figure
    from signspot.video.camera import is_camera

    if threshold is not None and not 0 <= threshold <= 1:
        raise OptionsError(f"threshold is a score in [0, 1]; got {threshold}")
    if plot is not None and is_camera(source):
        raise OptionsError(f"a camera ({source}) has no end to draw. Leave out --plot, or name a file")
    if word is not None and dictionary is None:
        raise OptionsError(f"--word {word} is that of the sign in a dictionary. Name the dictionary: --dictionary")
    stream_file = None if is_camera(source) else Path(source)
    with open_outputs(*sign, *(background or ()), dictionary, encoder, stream_file) as outputs:
        check_media(*sign, *(background or ()), stream_file)
        claim_outputs(outputs, plots=[("plot", plot)])
        spotter = load_spotter(encoder)
        cache = default_cache() if settings().cache else None
        signs = None if dictionary is None else _known_signs(spotter, dictionary, word)
        with bar("enrolment", "frames of background") as progress:
            streams = (open_stream(str(path), cache) for path in background or ())
            chunks = _counted((chunk for stream in streams for chunk in stream), progress)
            enrolled = enrol(spotter, sign, chunks if background else None, rate, signs)
        enrolled = enrolled if threshold is None else replace(enrolled, threshold=threshold)
        _report(enrolled, rate)
        stream = WakeStream(spotter.encoder, enrolled)
        events = []
        reported = 0
        with bar(f"waiting for '{word or sign[0].stem}' in {source}", "frames") as progress:
            for chunk in _counted(open_stream(source, cache), progress):
                for event in stream.push(chunk):
                    print_line(json.dumps(_event_row(event, word or sign[0].stem), ensure_ascii=False))
                    events.append(event)
                if stream.breaks > reported and reported < _BREAKS:
                    log(f"the stream was interrupted {stream.last_break}. A sign made at that moment is missed")
                reported = stream.breaks
        if plot is not None:
            log(f"wrote {save_figure(draw_wake(spotter, enrolled, source, events), plot)}")
    if stream.breaks:
        log(f"the stream was interrupted {count(stream.breaks, 'time')}; a sign made at such a moment is missed")
    log(f"{count(len(events), 'event')}; a sign is reported at most {stream.latency} frames after its end")


def _counted(chunks: "Iterable[Landmarks]", progress: Progress) -> "Iterator[Landmarks]":
    """The chunks of a stream; progress counts their frames."""
    frames = 0
    for chunk in chunks:
        yield chunk
        frames += len(chunk)
        progress(frames, None)


def _event_row(event: "WakeEvent", word: str) -> dict[str, str | float | int]:
    """An event as people and programs read it: every name says its unit."""
    return {
        "word": word,
        "start_seconds": event.start,
        "end_seconds": event.time,
        "clock": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "score": event.score,
        "recording": event.recording,
        "latency_frames": event.latency,
    }


def _report(sign: "WakeSign", rate: float) -> None:
    """Say in one line whether the sign is fit, and below it what that was judged by."""
    problems = sign.problems(rate)
    log(f"the sign is not suitable yet: {'; '.join(problems)}" if problems else "the sign is suitable")
    log(
        f"threshold {sign.threshold:.2f}: {count(sign.background_false_alarms, 'false alarm')} in "
        f"{60 * sign.background_hours:.1f} min of background, "
        f"below {sign.false_alarms_per_hour:.3g} per hour with 95 % confidence"
    )
    if sign.distinct is not None:
        _report_distinctiveness(sign.distinct)


def _known_signs(spotter: "Spotter", dictionary: Path, word: str | None) -> "Gallery | None":
    """The signs of a dictionary, without those of one word; None where that leaves none."""
    from signspot.dictionary.open_dictionary import open_dictionary

    signs = open_dictionary(dictionary)
    if word is not None:
        waited_for = signs.select([word])
        signs = signs.with_exemplars(exemplar for exemplar in signs.exemplars if exemplar.word not in waited_for)
    with bar("dictionary") as progress:
        return spotter.gallery(signs, progress=progress) if signs.exemplars else None


def _report_distinctiveness(distinct: "Distinctiveness") -> None:
    """Report how far other signs are, and the false alarms that they would give."""
    if distinct.same:
        names = ", ".join(f"'{word}'" for word in distinct.same)
        log(f"not distinguished from the sign: {names} of the dictionary. Signing that gives an event, too")
    if distinct.nearest:
        near = ", ".join(f"'{neighbour.word}' {neighbour.distance:.2f}" for neighbour in distinct.nearest)
        log(f"nearest signs of the dictionary, in units of how far your recordings are from each other: {near}")
    against = f"{count(distinct.words, 'word')} of the dictionary"
    if not distinct.by_dictionary:
        against = f"{distinct.words} decoys (a guess: near signs that are not among them are not counted)"
    elif distinct.guess is not None:
        against += f", about {_rate(distinct.guess)} by decoys, for signs that it lacks"
    log(
        f"continuous signing that is not in the background: about {_rate(distinct.per_hour)} false alarms per "
        f"hour, by {against}"
    )


def _rate(rate: float) -> str:
    return f"{rate:.1f}" if rate < 10 else f"{rate:.0f}"
