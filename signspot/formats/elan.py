"""ELAN `.eaf` 3.0, written: a tier a word, and below each a tier that holds the exact records.

Annotations on one tier may not overlap, so a second one at the same time goes to the tier 'apple #2'. Where
the list speaks of several videos, each becomes a linked medium and every tier names its video, as in
'apple (b.mp4)'; ELAN plays linked media side by side, so a file a video is handier.
"""

import os
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count, pairwise
from pathlib import Path, PurePath, PurePosixPath
from urllib.parse import quote, unquote

from signspot.errors import FormatError
from signspot.files import write_beside
from signspot.formats.rows import (
    Record,
    Row,
    Visible,
    dump_record,
    in_order,
    join,
    one_line,
    parse_record,
    read_bytes,
    videos_of,
    visible,
)
from signspot.records import Spotting
from signspot.safe_xml import Document, parse_plain

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


def read(path: Path) -> list[Spotting]:
    """Read every annotation that has a time: one of ours joins its record, any other is a person's spotting.

    Raises:
        FormatError: it is not an ELAN document, or an annotation's times cannot be read.
    """
    document = parse_plain(read_bytes(path), str(path))
    if document.root.tag != "ANNOTATION_DOCUMENT":
        raise FormatError(f"{path} is not an ELAN document: its root is {document.root.tag}.")
    reader = _Reader(document, path, _slot_times(document, path), _records(document.root))
    medium = _medium_name(document.root) or path.stem
    return in_order(pair for tier in document.root.iter("TIER") for pair in reader.read_tier(tier, medium))


def _medium_name(root: ET.Element) -> str:
    """The file name of the first linked video."""
    descriptor = root.find("HEADER/MEDIA_DESCRIPTOR")
    if descriptor is None:
        return ""
    url = descriptor.get("MEDIA_URL") or descriptor.get("RELATIVE_MEDIA_URL") or ""
    return PurePosixPath(unquote(url)).name


def _slot_times(document: Document, path: Path) -> dict[str, int | None]:
    """Milliseconds by time slot; None for a slot that ELAN has not aligned."""
    times: dict[str, int | None] = {}
    for slot in document.root.iterfind("TIME_ORDER/TIME_SLOT"):
        value = slot.get("TIME_VALUE")
        if value is not None and not (value.isascii() and value.isdecimal()):
            where = f"{path}, line {document.lines[slot]}"
            raise FormatError(f"{where}: a time is a whole number of milliseconds, 0 or more; got {value!r}.")
        times[slot.get("TIME_SLOT_ID", "")] = None if value is None else int(value)
    return times


def _records(root: ET.Element) -> dict[str, Record]:
    """Our records by the annotation that they belong to."""
    records = {}
    for tier in root.iter("TIER"):
        if tier.get("LINGUISTIC_TYPE_REF") == RECORD_TYPE:
            for annotation in tier.iter("REF_ANNOTATION"):
                record = parse_record(annotation.findtext("ANNOTATION_VALUE"))
                if record is not None:
                    records[annotation.get("ANNOTATION_REF", "")] = record
    return records


@dataclass(frozen=True, slots=True)
class _Reader:
    document: Document
    path: Path
    times: dict[str, int | None]
    records: dict[str, Record]

    def read_tier(self, tier: ET.Element, medium: str) -> Iterator[tuple[Record | None, Spotting]]:
        """Every annotation of a tier that has times of its own."""
        annotations = list(tier.iter("ALIGNABLE_ANNOTATION"))
        records = [self.records.get(annotation.get("ANNOTATION_ID", "")) for annotation in annotations]
        video = next((record.spotting.video for record in records if record), medium)
        times = self._aligned(annotations)
        for annotation, record in zip(annotations, records, strict=True):
            start, end = (times[annotation.get(f"TIME_SLOT_REF{side}", "")] for side in (1, 2))
            word = annotation.findtext("ANNOTATION_VALUE") or ""
            yield record, join(Visible(word, start, max(start, end)), record, video)

    def _aligned(self, annotations: list[ET.Element]) -> dict[str, int]:
        """The times of the tier's slots; those not aligned lie evenly between their neighbours."""
        chain: list[str] = []
        for annotation in annotations:
            for side in (1, 2):
                slot = annotation.get(f"TIME_SLOT_REF{side}", "")
                if slot not in self.times:
                    where = f"{self.path}, line {self.document.lines[annotation]}"
                    raise FormatError(f"{where}: annotation refers to a time slot {slot!r} that is not there.")
                if slot not in chain[-1:]:
                    chain.append(slot)
        return self._filled(chain)

    def _filled(self, chain: list[str]) -> dict[str, int]:
        known = [place for place, slot in enumerate(chain) if self.times[slot] is not None]
        if chain and (not known or known[0] != 0 or known[-1] != len(chain) - 1):
            raise FormatError(f"{self.path}: the first or last annotation of a tier has no time. Align it in ELAN.")
        filled = {chain[place]: self.times[chain[place]] or 0 for place in known}
        for left, right in pairwise(known):
            low, high = filled[chain[left]], filled[chain[right]]
            for place in range(left + 1, right):
                filled[chain[place]] = round(low + (high - low) * (place - left) / (right - left))
        return filled
