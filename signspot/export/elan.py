"""ELAN `.eaf` 3.0, written: a tier a word, and below each a tier that holds the exact records.

Annotations on one tier may not overlap, so a second one at the same time goes to the tier 'apple #2'. Where
the list speaks of several videos, each becomes a linked medium and every tier names its video, as in
'apple (b.mp4)'; ELAN plays linked media side by side, so a file a video is handier.
"""

import os
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from pathlib import Path, PurePath
from urllib.parse import quote

from signspot.export.rows import Row
from signspot.export.visible import Visible, dump_record, one_line, videos_of, visible
from signspot.files import write_beside

RECORD_TYPE = "signspot record"
_SIGN_TYPE = "sign"
_SCHEMA = "http://www.mpi.nl/tools/elan/EAFv3.0.xsd"
_MIME_TYPES = {
    ".mp4": "video/mp4",
    ".m4v": "video/mp4",
    ".mov": "video/quicktime",
    ".webm": "video/webm",
    ".mkv": "video/x-matroska",
    ".avi": "video/x-msvideo",
    ".mpg": "video/mpeg",
    ".mpeg": "video/mpeg",
}
_CONSTRAINTS = {
    "Time_Subdivision": "Parts of the parent's time, without gaps",
    "Symbolic_Subdivision": "Ordered parts of the parent, without times",
    "Symbolic_Association": "One for one with the parent",
    "Included_In": "Parts of the parent's time, with gaps",
}


@dataclass(slots=True)
class _Tier:
    name: str
    annotations: list[tuple[int, Row, Visible]] = field(default_factory=list)  # place in the list, row, what shows

    def is_free_at(self, start: int) -> bool:
        return not self.annotations or self.annotations[-1][2].end <= start


def write(rows: Sequence[Row], path: Path) -> None:
    """Write an ELAN document that ELAN opens with its video, if that lies where it did."""
    videos = videos_of(rows)
    root = _document()
    header = ET.SubElement(root, "HEADER", MEDIA_FILE="", TIME_UNITS="milliseconds")
    for video in filter(None, videos):
        ET.SubElement(header, "MEDIA_DESCRIPTOR", _medium(video, path))
    ET.SubElement(header, "PROPERTY", NAME="lastUsedAnnotationId").text = str(2 * len(rows))
    tiers = _tiers(rows, named_by_video=len(videos) > 1)
    slots = _add_time_order(root, tiers)
    _add_tiers(root, tiers, slots)
    _add_types(root)
    ET.indent(root)
    with write_beside(path) as beside:
        ET.ElementTree(root).write(beside, encoding="UTF-8", xml_declaration=True)


def _document() -> ET.Element:
    return ET.Element(
        "ANNOTATION_DOCUMENT",
        {
            "AUTHOR": "signspot",
            "DATE": datetime.now(UTC).isoformat(timespec="seconds"),
            "FORMAT": "3.0",
            "VERSION": "3.0",
            "xmlns:xsi": "http://www.w3.org/2001/XMLSchema-instance",
            "xsi:noNamespaceSchemaLocation": _SCHEMA,
        },
    )


def _medium(video: str, path: Path) -> dict[str, str]:
    """Where ELAN finds the video: by its own address, or beside the document."""
    mime_type = _MIME_TYPES.get(PurePath(video).suffix.lower(), "unknown")
    if os.path.isfile(video):  # noqa: PTH113, because Path refuses some names that a list may hold
        relative = Path(os.path.relpath(video, path.parent)).as_posix()
        return {
            "MEDIA_URL": Path(video).resolve().as_uri(),
            "MIME_TYPE": mime_type,
            "RELATIVE_MEDIA_URL": "./" + quote(relative),
        }
    return {
        "MEDIA_URL": quote(video),
        "MIME_TYPE": mime_type,
        "RELATIVE_MEDIA_URL": "./" + quote(PurePath(video).name),
    }


def _tiers(rows: Sequence[Row], *, named_by_video: bool) -> list[_Tier]:
    """Put each row on the first tier of its word, and of its video, that is free at its time."""
    tiers: dict[tuple[str, str], list[_Tier]] = {}
    taken: set[str] = set()
    seen = [(index, row, visible(row)) for index, row in enumerate(rows, start=1)]
    for row in rows:
        tiers.setdefault((str(row["word"]), str(row["video"])), [])
    for annotation in sorted(seen, key=lambda item: (item[2].start, item[2].end)):
        word, video = str(annotation[1]["word"]), str(annotation[1]["video"])
        ranks = tiers[word, video]
        tier = next((tier for tier in ranks if tier.is_free_at(annotation[2].start)), None)
        if tier is None:
            tier = _Tier(_tier_name(word, video if named_by_video else "", taken))
            ranks.append(tier)
        tier.annotations.append(annotation)
    return [tier for ranks in tiers.values() for tier in ranks]


def _tier_name(word: str, video: str, taken: set[str]) -> str:
    base = one_line(f"{word} ({PurePath(video).name})" if video else word) or "(no word)"
    names = (base if rank == 1 else f"{base} #{rank}" for rank in count(1))
    name = next(name for name in names if name not in taken and f"{name} record" not in taken)
    taken.update((name, f"{name} record"))
    return name


def _add_time_order(root: ET.Element, tiers: Iterable[_Tier]) -> dict[tuple[int, str], str]:
    """Write all times in order; each annotation has two of its own, so that ELAN can move them."""
    order = ET.SubElement(root, "TIME_ORDER")
    times = []
    for tier in tiers:
        for index, _, shown in tier.annotations:
            times += [(shown.start, index, "start"), (shown.end, index, "end")]
    slots = {}
    for number, (time, index, side) in enumerate(sorted(times), start=1):
        slots[index, side] = f"ts{number}"
        ET.SubElement(order, "TIME_SLOT", TIME_SLOT_ID=f"ts{number}", TIME_VALUE=str(time))
    return slots


def _add_tiers(root: ET.Element, tiers: Iterable[_Tier], slots: dict[tuple[int, str], str]) -> None:
    numbers = count(1)
    for tier in tiers:
        signs = ET.SubElement(root, "TIER", LINGUISTIC_TYPE_REF=_SIGN_TYPE, TIER_ID=tier.name)
        below = {
            "LINGUISTIC_TYPE_REF": RECORD_TYPE,
            "PARENT_REF": tier.name,
            "TIER_ID": f"{tier.name} record",
        }
        records = ET.SubElement(root, "TIER", below)
        for index, row, shown in tier.annotations:
            sign, record = f"a{next(numbers)}", f"a{next(numbers)}"
            times = {"TIME_SLOT_REF1": slots[index, "start"], "TIME_SLOT_REF2": slots[index, "end"]}
            _add_annotation(signs, "ALIGNABLE_ANNOTATION", {"ANNOTATION_ID": sign} | times, shown.word)
            parent = {"ANNOTATION_ID": record, "ANNOTATION_REF": sign}
            _add_annotation(records, "REF_ANNOTATION", parent, dump_record(row, index))


def _add_annotation(tier: ET.Element, kind: str, attributes: dict[str, str], value: str) -> None:
    annotation = ET.SubElement(ET.SubElement(tier, "ANNOTATION"), kind, attributes)
    ET.SubElement(annotation, "ANNOTATION_VALUE").text = value


def _add_types(root: ET.Element) -> None:
    plain = {"GRAPHIC_REFERENCES": "false", "LINGUISTIC_TYPE_ID": _SIGN_TYPE, "TIME_ALIGNABLE": "true"}
    ET.SubElement(root, "LINGUISTIC_TYPE", plain)
    record = {"CONSTRAINTS": "Symbolic_Association", "GRAPHIC_REFERENCES": "false"}
    ET.SubElement(root, "LINGUISTIC_TYPE", record, LINGUISTIC_TYPE_ID=RECORD_TYPE, TIME_ALIGNABLE="false")
    for stereotype, description in _CONSTRAINTS.items():
        ET.SubElement(root, "CONSTRAINT", DESCRIPTION=description, STEREOTYPE=stereotype)
