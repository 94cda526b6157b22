"""Trial of strangers' videos: headers, tables and first frames are read in a process that can be ended.

Only a file that passes is decoded in this process, frame by frame and under `limits`.
"""

import os
from dataclasses import asdict
from fractions import Fraction
from pathlib import Path
from typing import Any

from signspot.bounded_process import BoundedProcess, EndedError
from signspot.errors import VideoError, VideoLimitError
from signspot.video.clock import Timing
from signspot.video.containers import check_file, open_container
from signspot.video.probing import Orientation, Source, VideoInfo, end_of_packets, probe

_MEMORY = 3 << 30  # bytes: a few pictures of 8K, in any depth of colour
_SECONDS = 30.0  # for any file,
_RATE = 5e6  # and a second for so many bytes, since some must be read to their end
_process = BoundedProcess("signspot.video.trial:answer", memory=_MEMORY)


def try_source(path: Path) -> Source:
    """Probe a file in the other process.

    Raises:
        VideoLimitError: it takes too long or too much memory, or breaks the reader.
        VideoError: as `probe`.
    """
    found = _ask("source", path)
    timing = {name: Fraction(*found["timing"][name]) for name in _FRACTIONS}
    return Source(
        VideoInfo(**{**found["info"], "path": path}),
        Timing(**{**found["timing"], **timing}),
        Orientation(**found["orientation"]),
    )


def try_header(path: Path) -> bool:
    """Open a file in the other process; say whether its header gives pictures a size.

    Raises:
        VideoError: as `try_source`.
    """
    return bool(_ask("header", path))


def try_to_the_end(path: Path) -> float:
    """Read all packets of a file in the other process; give the end of the last picture, in seconds since the first.

    Raises:
        VideoError: as `try_source`.
    """
    return float(_ask("end", path))


def _ask(what: str, path: Path) -> Any:
    check_file(path)  # its own words come first, and cost nothing
    absolute = os.path.abspath(path)  # noqa: PTH100 (a link keeps its own name in messages)
    try:
        return _process.ask([what, absolute, str(path)], _SECONDS + path.stat().st_size / _RATE)
    except EndedError as error:
        raise VideoLimitError(f"{path} cannot be read: {error}. Encode it again, or leave it out.") from error


def answer(request: list[str]) -> Any:
    """In the other process: what is asked of the file at an absolute path, which users call by another name."""
    what, absolute, name = request
    path = Path(absolute)
    try:
        if what == "source":
            return _as_json(probe(path))
        if what == "end":
            return end_of_packets(path)
        with open_container(path, parallel=False) as (_, stream):
            return stream.codec_context.width > 0
    except VideoError as error:
        raise type(error)(str(error).replace(absolute, name)) from error


_FRACTIONS = ("time_base", "origin")


def _as_json(source: Source) -> dict[str, Any]:
    found = {**asdict(source), "info": {**asdict(source.info), "path": ""}}
    exact = {name: getattr(source.timing, name).as_integer_ratio() for name in _FRACTIONS}
    return {**found, "timing": {**found["timing"], **exact}}
