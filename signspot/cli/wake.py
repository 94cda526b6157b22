"""`signspot wake`: wait for a sign in a stream."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from signspot.cli.console import bar, claim_outputs, count, load_spotter, log, open_outputs, print_line
from signspot.cli.options import EncoderName

if TYPE_CHECKING:
    from signspot.applications.wake import Distinctiveness, WakeEvent, WakeSign
    from signspot.embedding.exemplars import Gallery
    from signspot.spotting.spotter import Spotter

_BREAKS = 3  # breaks of a stream that are reported as they come; further ones only at the end


def wake(
    source: Annotated[str, typer.Argument(help="A video, a .pose file, or camera:0 for the first camera.")],
    sign: Annotated[list[Path], typer.Option(help="A recording of the sign, by whoever will make it; repeatable.")],
    background: Annotated[
        list[Path] | None,
        typer.Option(help="Video of whatever else goes on before the camera; repeatable. It sets the threshold."),
    ] = None,
    dictionary: Annotated[
        Path | None,
        typer.Option(help="Signs that may be made before the camera: those near to the sign are told from it."),
    ] = None,
    word: Annotated[str | None, typer.Option(help="Of the sign, where the dictionary has it: no negative.")] = None,
    rate: Annotated[float, typer.Option("--false-alarms-per-hour", help="Allowed on the background.")] = 1.0,
    threshold: Annotated[float | None, typer.Option(help="Least score, instead of the measured one.")] = None,
    hop: Annotated[int, typer.Option(min=1, help="Frames that are looked at together.")] = 2,
    plot: Annotated[Path | None, typer.Option(help="Of a file: draw score over time with the events.")] = None,
    encoder: EncoderName = None,
) -> None:
    """Wait for a sign in a stream; each event is one line of JSON, as soon as it is sure.

    Example: signspot wake camera:0 --sign me-1.mp4 --sign me-2.mp4 --sign me-3.mp4 --background desk.mp4
    """
    from dataclasses import replace

    from signspot.applications.wake import WakeStream, draw_wake, enrol, is_camera, open_stream
    from signspot.errors import OptionsError
    from signspot.plots.plot import save_figure

    if threshold is not None and not 0 <= threshold <= 1:
        raise OptionsError(f"threshold is a score in [0, 1]; got {threshold}")
    if plot is not None and is_camera(source):
        raise OptionsError(f"a camera ({source}) has no end to draw. Leave out --plot, or name a file")
    if word is not None and dictionary is None:
        raise OptionsError(f"--word {word} is that of the sign in a dictionary. Name the dictionary: --dictionary")
    with open_outputs(*sign, *(background or ()), dictionary, encoder) as outputs:
        claim_outputs(outputs, plots=[("plot", plot)])
        spotter = load_spotter(encoder)
        signs = None if dictionary is None else _known_signs(spotter, dictionary, word)
        with bar("enrolment"):
            chunks = (chunk for path in background or () for chunk in open_stream(str(path)))
            known = enrol(spotter, sign, chunks if background else None, rate, signs)
        known = known if threshold is None else replace(known, threshold=threshold)
        _report(known, rate)
        stream = WakeStream(spotter.encoder, known, hop)
        events = []
        reported = 0
        for chunk in open_stream(source):
            for event in stream.push(chunk):
                print_line(json.dumps(_event_row(event, word or sign[0].stem), ensure_ascii=False))
                events.append(event)
            if stream.breaks > reported and reported < _BREAKS:
                log(f"the stream was broken {stream.last_break}. A sign that was under way then is not seen")
            reported = stream.breaks
        if plot is not None:
            log(f"wrote {save_figure(draw_wake(spotter, known, source, events), plot)}")
    if stream.breaks:
        log(f"the stream was broken {count(stream.breaks, 'time')}; a sign that was under way then is not seen")
    log(f"{count(len(events), 'event')}; a sign is reported at most {stream.latency} frames after its end")


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
    missed = sum(score < sign.threshold for score in sign.recording_scores)
    expected = 0.0 if sign.distinct is None else max(sign.distinct.per_hour, sign.distinct.guess or 0.0)
    is_fit = bool(sign.recording_scores) and not missed and expected <= rate
    log(f"the sign is {'fit' if is_fit else 'not fit yet'}, for the reasons below")
    log(
        f"threshold {sign.threshold:.2f}: {count(sign.background_false_alarms, 'false alarm')} in "
        f"{60 * sign.background_hours:.1f} min of background, "
        f"below {sign.false_alarms_per_hour:.3g} per hour with 95 % confidence"
    )
    if sign.distinct is not None:
        _report_distinctiveness(sign.distinct, rate)
    if not sign.recording_scores:
        log("with one recording it is not known how much your signing varies: make three")
    if missed:
        total = len(sign.recording_scores)
        log(f"{missed} of {total} recordings would not be recognised by the others: record more, or alike")


def _known_signs(spotter: "Spotter", dictionary: Path, word: str | None) -> "Gallery | None":
    """The signs of a dictionary, without those of one word; None where that leaves none."""
    from signspot.dictionary.opening import open_dictionary

    known = open_dictionary(dictionary)
    if word is not None:
        own = known.select([word])
        known = known.with_exemplars(each for each in known.exemplars if each.word not in own)
    with bar("dictionary") as progress:
        return spotter.gallery(known, progress=progress) if known.exemplars else None


def _report_distinctiveness(found: "Distinctiveness", rate: float) -> None:
    """Report how distinctive the sign is, and what to do about it."""
    if found.same:
        names = ", ".join(f"'{word}'" for word in found.same)
        log(f"taken for the sign itself: {names} of the dictionary. Whoever signs that is detected, too")
    if found.nearest:
        near = ", ".join(f"'{each.word}' {each.distance:.2f}" for each in found.nearest)
        log(f"nearest known signs, in units of how far your recordings are from each other: {near}")
    against = f"{count(found.words, 'word')} of the dictionary"
    if not found.by_dictionary:
        against = f"{found.words} decoys (a guess: near signs that are not among them are not counted)"
    elif found.guess is not None:
        against += f", about {_rate(found.guess)} by decoys, for signs that it lacks"
    advice = ""
    if max(found.per_hour, found.guess or 0.0) > rate:
        other = "" if found.by_dictionary else ", or name the signs that are made there with --dictionary"
        advice = f". Choose a sign that is less like others{other}"
    log(
        f"signing without pause that the background did not show: about {_rate(found.per_hour)} false alarms per hour, "
        f"by {against}{advice}"
    )


def _rate(rate: float) -> str:
    return f"{rate:.1f}" if rate < 10 else f"{rate:.0f}"
