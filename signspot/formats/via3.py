"""VIA 3 projects: one segment per spotting, with a yes / no / unsure choice for people who verify by eye."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from signspot.errors import FormatError
from signspot.formats.spotting_rows import (
    CHECKSUM_NAME,
    NO_CHECKSUM,
    Record,
    Row,
    Visible,
    dump_json,
    dump_record,
    file_at,
    in_order,
    join,
    parse_record,
    videos_of,
    visible,
    write_with_checksum,
)
from signspot.io.checks import check_span, check_text, check_time, parse_json, quoted
from signspot.io.text import read_text
from signspot.types import Decision, LabelSource, Spotting

_SEGMENT = "FILE1_Z2_XY0"  # VIA's name for a segment of one file
_VIDEO = 4
_AT_ADDRESS, _ON_DISK = 2, 3  # where VIA looks for a file
_TEXT, _RADIO = 1, 3  # kinds of attributes
_WORD, _VERIFIED, _SCORE, _RECORD = "1", "2", "3", "4"  # our attributes; VIA shows a row per value of the first
_RECORD_NAME = "signspot record"
_ANSWERS: Mapping[str, Decision] = {"yes": "yes", "no": "no", "unsure": "unsure"}


def write(rows: Sequence[Row], path: Path) -> None:
    """Write a project with one view per video. A person's own spotting is answered with yes."""
    views = {video: str(number) for number, video in enumerate(videos_of(rows), start=1)}
    project = {
        "project": _project(path, list(views.values())),
        "config": {
            "file": {"loc_prefix": {"1": "", "2": "", "3": "", "4": ""}},
            "ui": {"file_content_align": "center", "temporal_segment_metadata_editor_visible": True},
        },
        "attribute": _attributes(),
        "file": {fid: _file(video, fid, path) for video, fid in views.items()},
        "metadata": dict(_segment(row, number, views) for number, row in enumerate(rows, start=1)),
        "view": {vid: {"fid_list": [vid]} for vid in views.values()},
    }
    write_with_checksum(dump_json(project, indent=1), path)


def _project(path: Path, views: list[str]) -> dict[str, Any]:
    return {
        CHECKSUM_NAME: NO_CHECKSUM,
        "pid": "__VIA_PROJECT_ID__",
        "rev": "__VIA_PROJECT_REV_ID__",
        "rev_timestamp": "__VIA_PROJECT_REV_TIMESTAMP__",
        "pname": path.name.removesuffix(".json").removesuffix(".via").encode("utf-8", "replace").decode("utf-8"),
        "data_format_version": "3.1.1",
        "creator": "signspot",
        "created": 0,
        "vid_list": views,
    }


def _attributes() -> dict[str, Any]:
    def attribute(name: str, kind: int, description: str, options: Mapping[str, str]) -> dict[str, Any]:
        return {
            "aname": name,
            "anchor_id": _SEGMENT,
            "type": kind,
            "desc": description,
            "options": options,
            "default_option_id": "",
        }

    return {
        _WORD: attribute("word", _TEXT, "The word that was spotted", {}),
        _VERIFIED: attribute("correct", _RADIO, "Is this sign the word?", _ANSWERS),
        _SCORE: attribute("score", _TEXT, "(1 + cosine) / 2, in [0, 1]", {}),
        _RECORD: attribute(_RECORD_NAME, _TEXT, "The exact record; leave it as it is", {}),
    }


def _file(video: str, fid: str, path: Path) -> dict[str, Any]:
    is_address = video.startswith(("http://", "https://"))
    file = None if is_address else file_at(path.parent, video)
    return {
        "fid": fid,
        "fname": video,
        "type": _VIDEO,
        "loc": _AT_ADDRESS if is_address else _ON_DISK,
        "src": (file.parent.resolve() / file.name).as_uri() if file else video,
    }


def _segment(row: Row, number: int, views: dict[str, str]) -> tuple[str, dict[str, Any]]:
    annotation = visible(row)
    vid = views[str(row["video"])]
    values = {
        _WORD: annotation.word,
        _VERIFIED: _answer(str(row["source"]), str(row["decision"])),
        _SCORE: f"{row['score']:.3f}",
        _RECORD: dump_record(row, number),
    }
    times = [annotation.start / 1000, annotation.end / 1000]
    return f"{vid}_{number:08d}", {"vid": vid, "flg": 0, "z": times, "xy": [], "av": values}


def _answer(source: str, decision: str) -> str:
    """The choice that the project shows; a person's own spotting needs no second look."""
    return decision or ("yes" if source == LabelSource.VERIFIED else "")


def read(path: Path) -> list[Spotting]:
    """Read the segments of a project with their answers: yes and no are a person's decisions, source V.

    A segment without a record of ours is a person's spotting; its word is the value of the project's first
    attribute of segments.

    Raises:
        FormatError: it is not a VIA 3 project.
    """
    content = parse_json(read_text(path, exact=True).text, str(path))
    if not (isinstance(content, dict) and isinstance(content.get("metadata"), dict) and "project" in content):
        raise FormatError(f"{path} is not a VIA 3 project: it has no 'project' and 'metadata'.")
    try:
        return in_order(_read_segments(content, path))
    except FormatError as error:
        raise FormatError(f"{path}: {str(error).removeprefix(f'{path}: ')}") from None
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise FormatError(f"{path} is not a VIA 3 project that can be read ({error!r}).") from error


def _read_segments(content: dict[str, Any], path: Path) -> Iterator[tuple[Record | None, Spotting]]:
    attributes = {aid: a for aid, a in content.get("attribute", {}).items() if a.get("anchor_id") == _SEGMENT}
    is_ours = attributes.get(_RECORD, {}).get("aname") == _RECORD_NAME
    for name, segment in content["metadata"].items():
        times = segment.get("z", [])
        if len(times) != 2 or segment.get("xy"):
            continue  # a region in a picture, or a remark on the whole file
        where = f"{path}: segment {quoted(name)}"
        start, end = (round(1000 * check_time(time, where)) for time in times)
        check_span(start / 1000, end / 1000, where)
        values = segment.get("av", {})
        record = parse_record(values.get(_RECORD)) if is_ours else None
        spotting = join(Visible(_word(values, attributes), start, end), record, _video(content, segment, path))
        answer = _ANSWERS.get(str(values.get(_VERIFIED, "")), "") if is_ours else ""
        yield record, _answered(spotting, record, answer)


def _answered(spotting: Spotting, record: Record | None, answer: Decision) -> Spotting:
    """The spotting with the answer that stands in the project now; as it was written, if that is the same."""
    before = _answer(record.spotting.source, record.spotting.decision) if record else ""
    if answer == before:
        return spotting
    if answer in ("yes", "no"):
        return replace(spotting, source=LabelSource.VERIFIED, decision=answer)
    withdrawn = before in ("yes", "no") and spotting.exemplar
    source = LabelSource.DICTIONARY if withdrawn else spotting.source
    return replace(spotting, source=source, decision=answer)


def _word(values: dict[str, Any], attributes: dict[str, Any]) -> str:
    """The value of the first attribute of segments, as people see it."""
    aid = next(iter(attributes), _WORD)
    value = str(values.get(aid, ""))
    options = attributes.get(aid, {}).get("options") or {}
    return check_text(str(options.get(value, value)), "the word of a segment")


def _video(content: dict[str, Any], segment: dict[str, Any], path: Path) -> str:
    view = content.get("view", {}).get(str(segment.get("vid")), {})
    fid = next(iter(view.get("fid_list", [])), None)
    name = str(content.get("file", {}).get(str(fid), {}).get("fname") or path.stem)
    return check_text(name, "the name of a video")
