"""`signspot demo`: the main job, on synthetic signing that it makes itself, or on signs that the user records."""

import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from signspot.cli.console import (
    bar,
    count,
    load_spotter,
    log,
    open_outputs,
    print_line,
    print_spottings,
    refuse_pixels,
    write_spottings,
)
from signspot.cli.options import default_workers, settings

if TYPE_CHECKING:
    from signspot.spotting.track_search import SearchResult
    from signspot.video.reader import Frame

_TAKES = 2  # of each sign
_COUNTDOWN, _SIGN, _SENTENCE = 2.0, 3.0, 10.0  # seconds
_ATTEMPTS = 3  # at a take in which no signing is seen


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the videos and the results.")] = Path("demo-out"),
    camera: Annotated[
        str | None,
        typer.Option(metavar="camera:0", help="Sign yourself: record two signs twice, then a sentence with them."),
    ] = None,
) -> None:
    """Render a few signs, or record your own, then find them and write a table, a report and an ELAN file.

    Afterwards, try: signspot spot demo-out/sentence.mp4 demo-out/dictionary apple --out demo-out/news.eaf

    Example: signspot demo --camera camera:0 --out my-first-signs
    """
    if camera is not None:
        _record_and_find(camera, out)
        return
    from signspot_synthetic.demo import RESULTS, run_demo

    with open_outputs() as outputs:
        for name in RESULTS:
            outputs.claim(out / name)
        result = run_demo(out, bar, default_workers(None), settings().device)
    print_spottings(result.spottings, as_json=False)
    print_line(f"\n{result.found} of {len(result.truth)} signs found, {count(result.false_alarms, 'false alarm')}.")
    print_line("(A synthetic signer, chosen so that the demo succeeds: it says nothing about accuracy on people.")
    print_line(" Confidence is low because some seconds of video tell little about how often chance scores as high.)")
    for path in result.files:
        log(f"wrote {path}")


def _record_and_find(camera: str, out: Path) -> None:
    """Record two signs and a sentence, find the signs in it, and keep the recordings or throw them away."""
    from signspot.errors import OptionsError
    from signspot.plots.curves import view_of
    from signspot.plots.result_page import report
    from signspot.video.camera import camera_frames

    refuse_pixels({"--camera": camera})
    if out.exists():
        raise OptionsError(f"{out} is there already. Name a new folder for your recordings: --out FOLDER")
    dictionary, sentence, cache = out / "dictionary", out / "sentence.mp4", out / "cache"
    keep = False
    try:
        with closing(camera_frames(camera)) as frames:
            next(frames)  # whether there is a camera is known before anything is asked
            _record_all(camera, frames, dictionary, sentence, cache)
        result = _search(sentence, dictionary, cache)
        write_spottings(result.spottings, [out / "spottings.eaf"], [str(sentence)])
        report(view_of(result), out / "report.html")
        log(f"wrote {out / 'report.html'}")
        print_spottings(result.spottings, as_json=False)
        print_line(_summary(result))
        keep = typer.confirm("Keep the recordings? They are a first dictionary", default=True, err=True)
    finally:
        shutil.rmtree(cache if keep else out, ignore_errors=True)
    log(f"kept in {out}. Search another video: signspot spot VIDEO {dictionary}" if keep else f"removed {out}")


def _record_all(camera: str, frames: "Iterator[Frame]", dictionary: Path, sentence: Path, cache: Path) -> None:
    """Record each sign twice, then the sentence."""
    from signspot.dictionary.build import file_name

    log("Stand so that your head, both hands and your hips are in the picture. Rest your hands before and after.")
    words: list[str] = []
    while len(words) < 2:
        word = typer.prompt(f"A word for the {'second' if words else 'first'} sign", err=True).strip()
        if word and word not in words:
            words.append(word)
    for word in words:
        for take in range(1, _TAKES + 1):
            path = dictionary / file_name(word) / f"{take}.mp4"
            _record_take(camera, frames, path, (f"'{word}' once, take {take} of {_TAKES}", _SIGN), cache)
    _record_take(camera, frames, sentence, (f"a sentence with '{words[0]}' and '{words[1]}'", _SENTENCE), cache)


def _record_take(camera: str, frames: "Iterator[Frame]", path: Path, sign: tuple[str, float], cache: Path) -> None:
    """Record a take, again if no signing is seen in it.

    Raises:
        LandmarksError: no signing is seen in three takes.
    """
    from signspot.errors import LandmarksError
    from signspot.landmarks.signing import check_signing
    from signspot.landmarks.video_estimation import estimate_landmarks
    from signspot.video.camera import is_camera, record, skip

    name, seconds = sign
    for attempt in range(1, _ATTEMPTS + 1):
        ask = f"Sign {name}. Press Enter; recording begins {_COUNTDOWN:g} s later and takes {seconds:g} s"
        typer.prompt(ask, "", show_default=False, err=True)
        if is_camera(camera):
            skip(frames, _COUNTDOWN)
        with bar(f"recording {name}", "frames") as progress:
            record(frames, path, seconds, progress)
        try:
            with bar("looking at it", "frames") as progress:
                check_signing(estimate_landmarks(path, progress, cache=cache / "landmarks"), "the take")
        except LandmarksError as error:
            if attempt == _ATTEMPTS:
                raise
            log(f"{error} Once more, please.")
        else:
            return


def _search(sentence: Path, dictionary: Path, cache: Path) -> "SearchResult":
    """Find the signs in the sentence; what is computed on the way stays beside the recordings."""
    from signspot.dictionary.open_dictionary import open_dictionary

    spotter = replace(load_spotter(None), cache=cache)
    with bar("exemplars") as progress:
        gallery = spotter.gallery(open_dictionary(dictionary), progress=progress)
    with bar("sentence", "frames") as progress:
        return spotter.search(sentence, gallery, progress=progress)


def _summary(result: "SearchResult") -> str:
    """How much was found and how sure it is; of words that were not found, their best location."""
    confidences = Counter(spotting.confidence or "check" for spotting in result.spottings)
    parts = [f"{confidences[name]} {name}" for name in ("sure", "likely", "check") if confidences[name]]
    spotted_words = {spotting.word for spotting in result.spottings}
    lines = [f"{count(len(result.spottings), 'spotting')}" + (f": {', '.join(parts)}." if parts else ".")]
    for word, best in result.best.items():
        if word not in spotted_words:
            where = f"its best location is {best.time:.1f} s, with a score of {best.score:.2f}"
            lines.append(f"'{word}' was not found; {where}.")
    return "\n".join(lines)
