"""ELAN `.eaf`, read: documents of ours, edited or not, and those of linguists."""

import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

from signspot.errors import FormatError
from signspot.export.contents import read_bytes
from signspot.export.elan import RECORD_TYPE
from signspot.export.safe_xml import Document, parse_xml
from signspot.export.visible import Record, Visible, in_order, join, parse_record
from signspot.records import Spotting


def read(path: Path) -> list[Spotting]:
    """Read every annotation that has a time: one of ours joins its record, any other is a person's spotting.

    Raises:
        FormatError: it is not an ELAN document, or an annotation's times cannot be read.
    """
    document = parse_xml(read_bytes(path), str(path))
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
