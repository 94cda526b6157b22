"""Spottings to and from files: the format is chosen by the file's name."""

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from signspot.errors import FormatError, OptionsError, RefusedOutputError
from signspot.formats import bobsl, csv_json_parquet, elan, via3, webvtt
from signspot.formats.elan import ElanOptions
from signspot.formats.spotting_rows import Row, follow, from_row, link_to, path_per_video, to_rows
from signspot.io.checks import parse_json
from signspot.io.text import read_text
from signspot.types import Spotting

_ELAN = ".eaf"


@dataclass(frozen=True, slots=True)
class Format:
    """A kind of file."""

    name: str  # as people call it
    suffix: str  # end of its files' names
    write: Callable[[Sequence[Row], Path], None]
    read: Callable[[Path], list[Spotting]]
    one_video: bool = False  # a file belongs to one video; spottings of several become several files


FORMATS = (
    Format("JSON Lines", ".jsonl", csv_json_parquet.write_json_lines, csv_json_parquet.read_json_lines),
    Format("CSV", ".csv", csv_json_parquet.write_csv, csv_json_parquet.read_csv),
    Format("Parquet", ".parquet", csv_json_parquet.write_parquet, csv_json_parquet.read_parquet),
    Format("WebVTT", ".vtt", webvtt.write, webvtt.read, one_video=True),
    Format("ELAN", _ELAN, elan.write, elan.read, one_video=True),
    Format("VIA 3 project", ".via.json", via3.write, via3.read),
    Format("BOBSL spottings", ".bobsl.json", bobsl.write, bobsl.read),
)


def format_names() -> dict[str, str]:
    """Every format that can be written and read: its name by the suffix of its files."""
    return {kind.suffix: kind.name for kind in FORMATS}


def write(
    spottings: Iterable[Spotting],
    path: str | os.PathLike[str],
    options: ElanOptions | None = None,
    videos: Sequence[str] = (),
) -> tuple[Path, ...]:
    """Write spottings; the suffix of the file says in which format.

    Videos that are named by their path are named relative to the written file, so that it finds them whatever the
    working directory. ELAN and WebVTT files belong to one video: spottings of several go to `x-<video>.eaf` each.

    Args:
        spottings: any, of one video or several.
        path: the file.
        options: for ELAN only.
        videos: all that were searched, also those without spottings; with several, each file is named by its video.

    Returns:
        The files written.

    Raises:
        OutputError: the suffix is unknown, a number is not finite, or a file cannot be written.
        MissingExtraError: the format needs a package that is not installed.
    """
    all_spottings = list(spottings)
    kind = check_suffix(path)
    to_rows(all_spottings)  # complains before anything is written
    parts: dict[Path, list[Spotting]] = {} if all_spottings else {Path(path): []}
    paths = _paths([*videos, *(spotting.video for spotting in all_spottings)], Path(path), kind)
    for spotting in all_spottings:
        parts.setdefault(paths[spotting.video], []).append(spotting)
    for target, part in parts.items():
        rows = to_rows(replace(spotting, video=link_to(spotting.video, target)) for spotting in part)
        if kind.suffix == _ELAN and options is not None:
            elan.write(rows, target, options, [options.group(spotting) for spotting in part] if options.group else ())
        else:
            kind.write(rows, target)
    return tuple(parts)


def output_paths(path: str | os.PathLike[str], videos: Iterable[str]) -> tuple[Path, ...]:
    """The files that `write` may write for spottings of these videos.

    Raises:
        RefusedOutputError: the suffix is unknown.
    """
    paths = _paths(videos, Path(path), check_suffix(path))
    return tuple(dict.fromkeys(paths.values())) or (Path(path),)


def _paths(videos: Iterable[str], path: Path, kind: Format) -> dict[str, Path]:
    """The file for the spottings of each video."""
    names = list(dict.fromkeys(videos))
    return path_per_video(names, path, kind.suffix) if kind.one_video else dict.fromkeys(names, path)


def check_suffix(path: str | os.PathLike[str]) -> Format:
    """Give the format in which `path` will be written; ask before long work, so that none is lost.

    Raises:
        RefusedOutputError: the suffix is unknown.
    """
    kind = _format_of(Path(path))
    if kind is None:
        raise RefusedOutputError(f"cannot write {path}: {_unknown_suffix(Path(path))}")
    return kind


def read_spottings(path: str | os.PathLike[str], *, tiers: Sequence[str] = ()) -> list[Spotting]:
    """Read spottings from a file of ours, edited or not, or of another tool.

    A plain `.json` is read by its content, a `.pkl` as BOBSL spottings; no code in it is ever run. A video that the
    file names and that lies where the file says is given by its path, relative or absolute as `path` is.

    Args:
        path: the file.
        tiers: of an ELAN document; none: the gloss tiers.

    Raises:
        UnsafeFileError: a pickle asks to run code.
        FormatError: the suffix is unknown, or the file is not of the format that its suffix says.
        MissingExtraError: the format needs a package that is not installed.
        OptionsError: tiers are chosen in a file that has none.
    """
    source = Path(path)
    if tiers and source.suffix.lower() != _ELAN:
        raise OptionsError(f"only ELAN documents have tiers, and {source} is not one. Leave out --tier.")
    spottings = elan.read(source, tiers) if tiers else _read(source)
    return [replace(spotting, video=follow(spotting.video, source)) for spotting in spottings]


def _read(source: Path) -> list[Spotting]:
    kind = _format_of(source)
    if kind is not None:
        return kind.read(source)
    if source.suffix.lower() == ".json":
        return _read_any_json(source)
    if source.suffix.lower() == ".pkl":
        return bobsl.read_pickle(source)
    raise FormatError(f"cannot read {source}: {_unknown_suffix(source)}")


def _format_of(path: Path) -> Format | None:
    return next((kind for kind in FORMATS if path.name.lower().endswith(kind.suffix)), None)


def _unknown_suffix(path: Path) -> str:
    suffixes = ", ".join(kind.suffix for kind in FORMATS)
    if path.suffix.lower() == ".json":
        return f"'.json' alone does not say which format. Known: {suffixes}."
    return f"unknown format '{path.suffix}'. Known: {suffixes}."


def _read_any_json(path: Path) -> list[Spotting]:
    """Read a .json file by its content: a VIA project, BOBSL spottings, or a list of rows."""
    content = parse_json(read_text(path, exact=True).text, str(path))
    if isinstance(content, list):
        rows = [row if isinstance(row, dict) else {} for row in content]
        return [from_row(row, f"{path}, item {number}") for number, row in enumerate(rows, start=1)]
    if isinstance(content, dict) and "project" in content and "metadata" in content:
        return via3.read(path)
    return bobsl.read(path)
