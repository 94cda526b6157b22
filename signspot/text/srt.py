"""SubRip (.srt): the reader, forgiving where people and tools err."""

from itertools import zip_longest

from signspot.errors import FormatError
from signspot.text.cues import CueSheet, add_cue, find_timings, without_next_index


def read_srt(text: str, where: str) -> CueSheet:
    """Read cues: everything between two timing lines is text, less the next cue's number.

    Numbers and blank lines may be missing, and blank lines may stand inside a text.

    Args:
        text: of the file, with plain line ends.
        where: the file's name, for messages.

    Raises:
        FormatError: there is text, but no line with times.
    """
    lines = text.split("\n")
    timings = find_timings(lines)
    sheet = CueSheet()
    first = timings[0].place if timings else len(lines)
    stray, index = without_next_index(["", *lines[:first]], 0)
    opening = next((place for place, line in enumerate(stray) if line.strip()), None)
    if not timings and any(line.strip() for line in lines):
        at = next(place for place, line in enumerate(lines, start=1) if line.strip())
        raise FormatError(f"{where}, line {at}: no times such as 00:00:01,000 --> 00:00:02,000 in the whole file.")
    if opening is not None:
        sheet.report(opening, "text before the first times; left out")
    for timing, following in zip_longest(timings, timings[1:]):
        body = lines[timing.place + 1 : following.place if following else len(lines)]
        body, index = without_next_index(body, index) if following else (body, None)
        add_cue(sheet, timing, lines, [line for line in body if line.strip()])
    return sheet
