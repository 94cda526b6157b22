"""`signspot wake`: wait for a sign in a stream."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from signspot.cli.console import Device, EncoderName, Force, bar, claim_outputs, count, note, say

if TYPE_CHECKING:
    from signspot.applications.wake_detector import WakeSign

_BREAKS = 3  # breaks of a stream that are told as they come; further ones only at the end


def wake(
    source: Annotated[str, typer.Argument(help="A video, a .pose file, or camera:0 for the first camera.")],
    sign: Annotated[list[Path], typer.Option(help="A recording of the sign, by whoever will make it; repeatable.")],
    background: Annotated[
        list[Path] | None,
        typer.Option(help="Video of whatever else goes on before the camera; repeatable. It sets the threshold."),
    ] = None,
    rate: Annotated[float, typer.Option("--false-alarms-per-hour", help="Allowed on the background.")] = 1.0,
    threshold: Annotated[float | None, typer.Option(help="Least score, instead of the measured one.")] = None,
    hop: Annotated[int, typer.Option(min=1, help="Frames that are looked at together.")] = 2,
    plot: Annotated[Path | None, typer.Option(help="Of a file: draw score over time with the events.")] = None,
    encoder: EncoderName = None,
    device: Device = "cpu",
    force: Force = False,
) -> None:
    """Wait for a sign in a stream; each event is one line of JSON, as soon as it is sure.

    Example: signspot wake camera:0 --sign me-1.mp4 --sign me-2.mp4 --sign me-3.mp4 --background desk.mp4
    """
    from dataclasses import asdict, replace

    from signspot.applications.sign_pictures import save_picture
    from signspot.applications.wake import WakeStream, enrol
    from signspot.applications.wake_source import draw_wake, is_camera, open_stream
    from signspot.errors import OptionsError
    from signspot.files import Outputs
    from signspot.spotting.spotter import load

    if threshold is not None and not 0 <= threshold <= 1:
        raise OptionsError(f"threshold is a score in [0, 1]; got {threshold}")
    if plot is not None and is_camera(source):
        raise OptionsError(f"a camera ({source}) has no end to draw. Leave out --plot, or name a file")
    with Outputs([*sign, *(background or ()), encoder], force=force) as outputs:
        claim_outputs(outputs, pictures=[("plot", plot)])
        spotter = load(encoder, device=device)
        with bar("enrolment"):
            chunks = (chunk for path in background or () for chunk in open_stream(str(path)))
            known = enrol(spotter, sign, chunks if background else None, rate)
        known = known if threshold is None else replace(known, threshold=threshold)
        _tell(known)
        stream = WakeStream(spotter.encoder, known, hop)
        events = []
        told = 0
        for chunk in open_stream(source):
            for event in stream.push(chunk):
                say(json.dumps(asdict(event)))
                events.append(event)
            if stream.breaks > told and told < _BREAKS:
                note(f"the stream was broken {stream.last_break}. A sign that was under way then is not seen")
            told = stream.breaks
        if plot is not None:
            note(f"wrote {save_picture(draw_wake(spotter, known, source, events), plot)}")
    if stream.breaks:
        note(f"the stream was broken {count(stream.breaks, 'time')}; a sign that was under way then is not seen")
    note(f"{count(len(events), 'event')}; a sign is told at most {stream.latency} frames after its end")


def _tell(sign: "WakeSign") -> None:
    note(
        f"threshold {sign.threshold:.2f}: {count(sign.background_alarms, 'alarm')} in "
        f"{60 * sign.background_hours:.1f} min of background, "
        f"below {sign.false_alarms_per_hour:.3g} per hour with 95 % confidence"
    )
    missed = sum(score < sign.threshold for score in sign.own_scores)
    if missed:
        note(f"{missed} of {len(sign.own_scores)} recordings would not be known by the others: record more, or alike")
