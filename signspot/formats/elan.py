"""ELAN `.eaf` 3.0, written: one gloss tier with the words, and below it one tier of scores and one of exemplars.

Annotations on one tier may not overlap, so a spotting at the same time as another goes to a second gloss tier,
'signspot 2', which is there only when needed. The exact records stand in a property of the header, by annotation.
"""

import hashlib
import os
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from pathlib import Path, PurePath
from urllib.parse import quote

from signspot.errors import FormatError
from signspot.formats.links import OPEN_SEAL, SEAL_NAME, file_at, write_sealed
from signspot.formats.rows import Row, Visible, dump_record, videos_of, visible
from signspot.io.control_characters import one_line
from signspot.io.files import write_beside
from signspot.io.text import read_text
from signspot.io.xml import parse_xml

GLOSS_TYPE, SCORE_TYPE, EXEMPLAR_TYPE = "signspot gloss", "signspot score", "signspot exemplar"
RECORDS_NAME = "signspot records"
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
_VOCABULARY_REFERENCE = "er1"
_NO_LANGUAGE = "zxx"  # ISO 639: glosses belong to no written language


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """An external controlled vocabulary (ECV), such as a SignBank publishes: ID-glosses, each with its entry's id."""

    name: str
    entries: dict[str, str]  # id by word
    address: str  # where ELAN finds it

    def entry(self, word: str) -> str:
        """The id of a word, as written or without regard to case; "" if there is none."""
        folded = (entry for other, entry in self.entries.items() if other.casefold() == word.casefold())
        return self.entries.get(word) or next(folded, "")


@dataclass(frozen=True, slots=True)
class ElanOptions:
    """Choices for an ELAN document."""

    tier: str = "signspot"  # name of the gloss tier; others begin with it
    vocabulary: Vocabulary | None = None  # words that it knows get its entries' ids (CVE_REF)


@dataclass(slots=True)
class _Tier:
    name: str
    annotations: list["_Sign"] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Sign:
    index: int  # place in the list, from 1
    row: Row
    shown: Visible


def read_vocabulary(path: str | os.PathLike[str], address: str = "") -> Vocabulary:
    """Read an `.ecv` file.

    Args:
        path: the file.
        address: where ELAN shall look for it, such as a SignBank's own address; the file itself if empty.

    Raises:
        FormatError: it is not an external controlled vocabulary.
    """
    file = Path(path)
    root = parse_xml(read_text(file).text, str(file))
    vocabulary = next(root.all("CONTROLLED_VOCABULARY"), None)
    if root.name != "CV_RESOURCE" or vocabulary is None:
        raise FormatError(f"{file} is not an external controlled vocabulary (.ecv): its root is {root.name}.")
    entries: dict[str, str] = {}
    for entry in vocabulary.all("CV_ENTRY_ML"):
        for value in entry.all("CVE_VALUE"):
            entries.setdefault(value.text.strip(), entry.get("CVE_ID"))
    return Vocabulary(vocabulary.get("CV_ID"), entries, address or file.resolve().as_uri())


def write_vocabulary(words: Iterable[str], path: str | os.PathLike[str], name: str = "signspot") -> Path:
    """Write words as an external controlled vocabulary (`.ecv`); the id of an entry follows from its word alone.

    Raises:
        OutputError: the file cannot be written.
    """
    place = {"xmlns:xsi": "http://www.w3.org/2001/XMLSchema-instance", "xsi:noNamespaceSchemaLocation": _SCHEMA}
    date = datetime.now(UTC).isoformat(timespec="seconds")
    root = ET.Element("CV_RESOURCE", {"AUTHOR": "signspot", "DATE": date, "VERSION": "0.2", **place})
    ET.SubElement(root, "LANGUAGE", LANG_ID=_NO_LANGUAGE, LANG_LABEL="no linguistic content", LANG_DEF="")
    vocabulary = ET.SubElement(root, "CONTROLLED_VOCABULARY", CV_ID=one_line(name))
    ET.SubElement(vocabulary, "DESCRIPTION", LANG_REF=_NO_LANGUAGE)
    for word in dict.fromkeys(words):
        number = hashlib.sha256(word.encode("utf-8", "backslashreplace")).hexdigest()[:16]
        entry = ET.SubElement(vocabulary, "CV_ENTRY_ML", CVE_ID=f"w{number}")
        ET.SubElement(entry, "CVE_VALUE", LANG_REF=_NO_LANGUAGE, DESCRIPTION="").text = one_line(word)
    ET.indent(root)
    with write_beside(path) as beside:
        text = "<?xml version='1.0' encoding='UTF-8'?>\n" + ET.tostring(root, encoding="unicode") + "\n"
        beside.write_text(text, encoding="utf-8")
    return Path(path)


def write(rows: Sequence[Row], path: Path, options: ElanOptions) -> None:
    """Write the spottings of one video as a document that ELAN opens together with it."""
    videos = [video for video in videos_of(rows) if video]
    tiers = _tiers(rows, options.tier)
    identifiers = _identifiers(tiers)
    root = _document(videos, path)
    header = ET.SubElement(root, "HEADER", MEDIA_FILE="", TIME_UNITS="milliseconds")
    for video in videos:
        ET.SubElement(header, "MEDIA_DESCRIPTOR", _medium(video, path))
    ET.SubElement(header, "PROPERTY", NAME=SEAL_NAME).text = OPEN_SEAL
    records = (f'"{identifiers[sign.index]}": {dump_record(sign.row, sign.index)}' for sign in _signs(tiers))
    ET.SubElement(header, "PROPERTY", NAME=RECORDS_NAME).text = "{" + ", ".join(records) + "}"
    last = ET.SubElement(header, "PROPERTY", NAME="lastUsedAnnotationId")
    slots = _add_time_order(root, tiers)
    last.text = str(_add_tiers(root, tiers, slots, identifiers, options.vocabulary))
    _add_types(root, options.vocabulary)
    ET.indent(root)
    write_sealed("<?xml version='1.0' encoding='UTF-8'?>\n" + ET.tostring(root, encoding="unicode"), path)


def _document(videos: Sequence[str], path: Path) -> ET.Element:
    return ET.Element(
        "ANNOTATION_DOCUMENT",
        {
            "AUTHOR": "signspot",
            "DATE": _date(videos, path),
            "FORMAT": "3.0",
            "VERSION": "3.0",
            "xmlns:xsi": "http://www.w3.org/2001/XMLSchema-instance",
            "xsi:noNamespaceSchemaLocation": _SCHEMA,
        },
    )


_LAST_SECOND = 253_402_300_799  # of the year 9999; a file, too, may say that it was changed later


def _date(videos: Sequence[str], path: Path) -> str:
    """The same for the same input: $SOURCE_DATE_EPOCH, else when the newest video was changed, else 1970."""
    chosen = os.environ.get("SOURCE_DATE_EPOCH", "")
    files = [file for video in videos if (file := file_at(path.parent, video)) is not None]
    is_date = chosen.isdecimal() and len(chosen) <= len(str(_LAST_SECOND))
    stamp = int(chosen) if is_date else max((int(file.stat().st_mtime) for file in files), default=0)
    return datetime.fromtimestamp(min(max(0, stamp), _LAST_SECOND), UTC).isoformat(timespec="seconds")


def _medium(video: str, path: Path) -> dict[str, str]:
    """Addresses of the video in ELAN: its own, and relative to the document."""
    mime_type = _MIME_TYPES.get(PurePath(video).suffix.lower(), "unknown")
    file = file_at(path.parent, video)
    relative = video
    if PurePath(video).is_absolute():
        relative = PurePath(video).name if file is None else Path(os.path.relpath(file, path.parent)).as_posix()
    return {
        "MEDIA_URL": file.resolve().as_uri() if file is not None else quote(video, safe="/:"),
        "MIME_TYPE": mime_type,
        "RELATIVE_MEDIA_URL": "./" + quote(relative),
    }


def _tiers(rows: Sequence[Row], name: str) -> list[_Tier]:
    """Put each row on the first gloss tier that is free at its time; one tier, if no two overlap."""
    tiers = [_Tier(name)]
    signs = [_Sign(index, row, visible(row)) for index, row in enumerate(rows, start=1)]
    for sign in sorted(signs, key=lambda one: (one.shown.start, one.shown.end, one.index)):
        free = (t for t in tiers if not t.annotations or t.annotations[-1].shown.end <= sign.shown.start)
        tier = next(free, None)
        if tier is None:
            tier = _Tier(f"{name} {len(tiers) + 1}")
            tiers.append(tier)
        tier.annotations.append(sign)
    return tiers


def _signs(tiers: Sequence[_Tier]) -> list[_Sign]:
    return [sign for tier in tiers for sign in tier.annotations]


def _identifiers(tiers: Sequence[_Tier]) -> dict[int, str]:
    """The annotation of each sign, by its place in the list."""
    return {sign.index: f"a{number}" for number, sign in enumerate(_signs(tiers), start=1)}


def _add_time_order(root: ET.Element, tiers: Sequence[_Tier]) -> dict[tuple[int, str], str]:
    """Write all times in order; each annotation has two of its own, so that ELAN can move them."""
    order = ET.SubElement(root, "TIME_ORDER")
    times = []
    for sign in _signs(tiers):
        times += [(sign.shown.start, sign.index, "start"), (sign.shown.end, sign.index, "end")]
    slots = {}
    for number, (time, index, side) in enumerate(sorted(times), start=1):
        slots[index, side] = f"ts{number}"
        ET.SubElement(order, "TIME_SLOT", TIME_SLOT_ID=f"ts{number}", TIME_VALUE=str(time))
    return slots


def _add_tiers(
    root: ET.Element,
    tiers: Sequence[_Tier],
    slots: dict[tuple[int, str], str],
    identifiers: dict[int, str],
    vocabulary: Vocabulary | None,
) -> int:
    """Add each gloss tier with its scores and exemplars; give the number of the last annotation."""
    numbers = count(len(identifiers) + 1)
    last = len(identifiers)
    for tier in tiers:
        glosses = ET.SubElement(root, "TIER", LINGUISTIC_TYPE_REF=GLOSS_TYPE, TIER_ID=tier.name)
        scores = _add_dependent(root, tier.name, "score", SCORE_TYPE)
        exemplars = _add_dependent(root, tier.name, "exemplar", EXEMPLAR_TYPE)
        for sign in tier.annotations:
            own = identifiers[sign.index]
            times = {"TIME_SLOT_REF1": slots[sign.index, "start"], "TIME_SLOT_REF2": slots[sign.index, "end"]}
            entry = vocabulary.entry(str(sign.row["word"])) if vocabulary else ""
            attributes = {"ANNOTATION_ID": own} | times | ({"CVE_REF": entry} if entry else {})
            _add_annotation(glosses, "ALIGNABLE_ANNOTATION", attributes, sign.shown.word)
            texts = {scores: score_text(float(sign.row["score"])), exemplars: one_line(str(sign.row["exemplar"]))}
            for below, text in texts.items():
                if text:
                    last = next(numbers)
                    parent = {"ANNOTATION_ID": f"a{last}", "ANNOTATION_REF": own}
                    _add_annotation(below, "REF_ANNOTATION", parent, text)
    return last


def score_text(score: float) -> str:
    """A score as ELAN shows it."""
    return f"{score:.3f}"


def _add_dependent(root: ET.Element, parent: str, kind: str, linguistic_type: str) -> ET.Element:
    attributes = {"LINGUISTIC_TYPE_REF": linguistic_type, "PARENT_REF": parent, "TIER_ID": f"{parent} {kind}"}
    return ET.SubElement(root, "TIER", attributes)


def _add_annotation(tier: ET.Element, kind: str, attributes: dict[str, str], value: str) -> None:
    annotation = ET.SubElement(ET.SubElement(tier, "ANNOTATION"), kind, attributes)
    ET.SubElement(annotation, "ANNOTATION_VALUE").text = value


def _add_types(root: ET.Element, vocabulary: Vocabulary | None) -> None:
    gloss = {"GRAPHIC_REFERENCES": "false", "LINGUISTIC_TYPE_ID": GLOSS_TYPE, "TIME_ALIGNABLE": "true"}
    known_by = {"CONTROLLED_VOCABULARY_REF": one_line(vocabulary.name)} if vocabulary else {}
    ET.SubElement(root, "LINGUISTIC_TYPE", known_by | gloss)
    for kind in (SCORE_TYPE, EXEMPLAR_TYPE):
        below = {"CONSTRAINTS": "Symbolic_Association", "GRAPHIC_REFERENCES": "false", "LINGUISTIC_TYPE_ID": kind}
        ET.SubElement(root, "LINGUISTIC_TYPE", below, TIME_ALIGNABLE="false")
    for stereotype, description in _CONSTRAINTS.items():
        ET.SubElement(root, "CONSTRAINT", DESCRIPTION=description, STEREOTYPE=stereotype)
    if vocabulary:
        reference = {"CV_ID": one_line(vocabulary.name), "EXT_REF": _VOCABULARY_REFERENCE}
        ET.SubElement(root, "CONTROLLED_VOCABULARY", reference)
        external = {"EXT_REF_ID": _VOCABULARY_REFERENCE, "TYPE": "ecv", "VALUE": vocabulary.address}
        ET.SubElement(root, "EXTERNAL_REF", external)
