"""ELAN `.eaf` 3.0, written and read.

Written: one gloss tier with the words, and below it one tier of scores and one of exemplars. Annotations on one tier
may not overlap, so a spotting at the same time as a better one goes to a second gloss tier, 'signspot 2', which is
there only when needed. The exact records stand in a property of the header, by annotation.
Read: gloss tiers become spottings; what a person changed in ELAN goes before what signspot wrote.
"""

import difflib
import hashlib
import json
import os
import re
import xml.etree.ElementTree as ET
from bisect import bisect
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import count, pairwise
from pathlib import Path, PurePath, PurePosixPath
from urllib.parse import quote, unquote, urlsplit

from signspot.errors import FormatError
from signspot.formats.spotting_rows import (
    CHECKSUM_NAME,
    NO_CHECKSUM,
    Record,
    Row,
    Visible,
    dump_record,
    file_at,
    in_order,
    join,
    parse_record,
    to_row,
    videos_of,
    visible,
    write_with_checksum,
)
from signspot.io.checks import check_score, check_span, check_time
from signspot.io.control_characters import escape_control_characters
from signspot.io.files import atomic_write
from signspot.io.text import read_text
from signspot.io.xml import Element, parse_xml
from signspot.types import Spotting

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
    group: Callable[[Spotting], str] | None = None  # a gloss tier for each group, such as each word; None: one for all


@dataclass(slots=True)
class _Tier:
    name: str
    annotations: list["_Sign"] = field(default_factory=list)

    def add(self, sign: "_Sign") -> bool:
        """Put an annotation in order of time where none overlaps it; say whether there was room."""
        index = bisect(self.annotations, sign.shown.start, key=lambda other: other.shown.start)
        before, after = self.annotations[max(0, index - 1) : index], self.annotations[index : index + 1]
        has_room = all(other.shown.end <= sign.shown.start for other in before) and all(
            sign.shown.end <= other.shown.start for other in after
        )
        if has_room:
            self.annotations.insert(index, sign)
        return has_room


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
    schema = {"xmlns:xsi": "http://www.w3.org/2001/XMLSchema-instance", "xsi:noNamespaceSchemaLocation": _SCHEMA}
    date = datetime.now(UTC).isoformat(timespec="seconds")
    root = ET.Element("CV_RESOURCE", {"AUTHOR": "signspot", "DATE": date, "VERSION": "0.2", **schema})
    ET.SubElement(root, "LANGUAGE", LANG_ID=_NO_LANGUAGE, LANG_LABEL="no linguistic content", LANG_DEF="")
    vocabulary = ET.SubElement(root, "CONTROLLED_VOCABULARY", CV_ID=escape_control_characters(name))
    ET.SubElement(vocabulary, "DESCRIPTION", LANG_REF=_NO_LANGUAGE)
    for word in dict.fromkeys(words):
        number = hashlib.sha256(word.encode("utf-8", "backslashreplace")).hexdigest()[:16]
        entry = ET.SubElement(vocabulary, "CV_ENTRY_ML", CVE_ID=f"w{number}")
        ET.SubElement(entry, "CVE_VALUE", LANG_REF=_NO_LANGUAGE, DESCRIPTION="").text = escape_control_characters(word)
    ET.indent(root)
    with atomic_write(path) as temporary:
        text = "<?xml version='1.0' encoding='UTF-8'?>\n" + ET.tostring(root, encoding="unicode") + "\n"
        temporary.write_text(text, encoding="utf-8")
    return Path(path)


def write(rows: Sequence[Row], path: Path, options: ElanOptions | None = None, groups: Sequence[str] = ()) -> None:
    """Write the spottings of one video as a document that ELAN opens together with it.

    Args:
        rows: the spottings.
        path: the document.
        options: choices; the usual ones if None.
        groups: of each row, the group whose tier it is on; empty: all are on one.
    """
    options = options or ElanOptions()
    videos = [video for video in videos_of(rows) if video]
    tiers = _tiers(rows, options.tier, groups)
    identifiers = _identifiers(tiers)
    root = _document(videos, path)
    header = ET.SubElement(root, "HEADER", MEDIA_FILE="", TIME_UNITS="milliseconds")
    for video in videos:
        ET.SubElement(header, "MEDIA_DESCRIPTOR", _media_link(video, path))
    ET.SubElement(header, "PROPERTY", NAME=CHECKSUM_NAME).text = NO_CHECKSUM
    records = (f'"{identifiers[sign.index]}": {dump_record(sign.row, sign.index)}' for sign in _signs(tiers))
    ET.SubElement(header, "PROPERTY", NAME=RECORDS_NAME).text = "{" + ", ".join(records) + "}"
    last = ET.SubElement(header, "PROPERTY", NAME="lastUsedAnnotationId")
    slots = _add_time_order(root, tiers)
    last.text = str(_add_tiers(root, tiers, slots, identifiers, options.vocabulary))
    _add_types(root, options.vocabulary)
    ET.indent(root)
    write_with_checksum("<?xml version='1.0' encoding='UTF-8'?>\n" + ET.tostring(root, encoding="unicode"), path)


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


def _media_link(video: str, path: Path) -> dict[str, str]:
    """Addresses of the video in ELAN: its own, and relative to the document."""
    mime_type = _MIME_TYPES.get(PurePath(video).suffix.lower(), "unknown")
    file = file_at(path.parent, video)
    relative = video
    if PurePath(video).is_absolute():
        relative = PurePath(video).name if file is None else Path(os.path.relpath(file, path.parent)).as_posix()
    return {
        "MEDIA_URL": (file.parent.resolve() / file.name).as_uri() if file is not None else quote(video, safe="/:"),
        "MIME_TYPE": mime_type,
        "RELATIVE_MEDIA_URL": "./" + quote(relative),
    }


def _tiers(rows: Sequence[Row], name: str, groups: Sequence[str]) -> list[_Tier]:
    """The gloss tiers: one for all spottings, or one for each group."""
    by_group: dict[str, list[_Sign]] = {}
    for index, row in enumerate(rows, start=1):
        sign = _Sign(index, row, visible(row))
        by_group.setdefault(escape_control_characters(groups[index - 1]) if groups else "", []).append(sign)
    named = sorted(by_group.items()) or [("", [])]
    return [tier for group, part in named for tier in _tiers_of(part, f"{name}: {group}" if group else name)]


def _tiers_of(signs: Sequence[_Sign], name: str) -> list[_Tier]:
    """Put each sign on the first tier that is free at its time, the best first; one tier, if no two overlap."""
    tiers = [_Tier(name)]
    for sign in sorted(signs, key=lambda sign: (-float(sign.row["score"]), sign.shown.start, sign.index)):
        if not any(tier.add(sign) for tier in tiers):
            tiers.append(_Tier(f"{name} {len(tiers) + 1}", [sign]))
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
            annotation_id = identifiers[sign.index]
            times = {"TIME_SLOT_REF1": slots[sign.index, "start"], "TIME_SLOT_REF2": slots[sign.index, "end"]}
            entry = vocabulary.entry(str(sign.row["word"])) if vocabulary else ""
            attributes = {"ANNOTATION_ID": annotation_id} | times | ({"CVE_REF": entry} if entry else {})
            _add_annotation(glosses, "ALIGNABLE_ANNOTATION", attributes, sign.shown.word)
            texts = {
                scores: score_text(float(sign.row["score"])),
                exemplars: escape_control_characters(str(sign.row["exemplar"])),
            }
            for below, text in texts.items():
                if text:
                    last = next(numbers)
                    parent = {"ANNOTATION_ID": f"a{last}", "ANNOTATION_REF": annotation_id}
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
    known_by = {"CONTROLLED_VOCABULARY_REF": escape_control_characters(vocabulary.name)} if vocabulary else {}
    ET.SubElement(root, "LINGUISTIC_TYPE", known_by | gloss)
    for kind in (SCORE_TYPE, EXEMPLAR_TYPE):
        below = {"CONSTRAINTS": "Symbolic_Association", "GRAPHIC_REFERENCES": "false", "LINGUISTIC_TYPE_ID": kind}
        ET.SubElement(root, "LINGUISTIC_TYPE", below, TIME_ALIGNABLE="false")
    for stereotype, description in _CONSTRAINTS.items():
        ET.SubElement(root, "CONSTRAINT", DESCRIPTION=description, STEREOTYPE=stereotype)
    if vocabulary:
        reference = {"CV_ID": escape_control_characters(vocabulary.name), "EXT_REF": _VOCABULARY_REFERENCE}
        ET.SubElement(root, "CONTROLLED_VOCABULARY", reference)
        external = {"EXT_REF_ID": _VOCABULARY_REFERENCE, "TYPE": "ecv", "VALUE": vocabulary.address}
        ET.SubElement(root, "EXTERNAL_REF", external)


# Names of tiers and types in corpora of several countries.
_GLOSS = re.compile(r"glos|lexem|lemma|geb[aä]rde|(?<![a-z])signs?(?![a-z])", re.IGNORECASE)
_NO_GLOSS = re.compile(
    r"transl|tradu|[uü]bersetz|(?<![a-z])free|comment|note|remark|sentence|utterance|clause|mouth|meaning",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class TierSummary:
    """A tier of a document."""

    name: str
    kind: str  # its linguistic type
    annotations: int
    is_read: bool  # without a choice of tiers
    signer: str = ""  # its participant


def read(path: Path, tiers: Sequence[str] = ()) -> list[Spotting]:
    """Read gloss tiers: an annotation of ours joins its record, any other is a person's spotting.

    Args:
        path: the document.
        tiers: names of the tiers to read; none: those that signspot wrote, else those that look like glosses by
            their name or type, else the only one there is. Translations and comments are not read.

    Raises:
        FormatError: it is not an ELAN document, a time cannot be read, there is no such tier, or no tier looks
            like glosses.
    """
    root = _root(path)
    chosen = _named(root, tiers, path) if tiers else _glosses(root)
    if not chosen and any(map(_annotations, root.all("TIER"))):
        raise FormatError(f"{path}: no tier looks like glosses. It has {_list(root)}. Choose with --tier NAME.")
    reader = _Reader(root, path)
    return in_order(pair for tier in chosen for pair in reader.read_tier(tier))


def list_tiers(path: str | os.PathLike[str]) -> list[TierSummary]:
    """The tiers of a document in their order, and which of them `read` reads by default.

    Raises:
        FormatError: it is not an ELAN document.
    """
    root = _root(Path(path))
    read_ones = {tier.get("TIER_ID") for tier in _glosses(root)}
    return [
        TierSummary(
            name, tier.get("LINGUISTIC_TYPE_REF"), len(_annotations(tier)), name in read_ones, tier.get("PARTICIPANT")
        )
        for tier in root.all("TIER")
        if (name := tier.get("TIER_ID"))
    ]


@dataclass(frozen=True, slots=True)
class LinkedVideo:
    """A video that a document links."""

    address: str  # as the document has it
    file: Path | None  # None: an address on the web, or a file that is not there


def linked_videos(path: str | os.PathLike[str]) -> list[LinkedVideo]:
    """The videos that a document links, in its order; sound is passed over.

    Raises:
        FormatError: it is not an ELAN document.
    """
    document = Path(path)
    media = [medium for medium in _root(document).all("MEDIA_DESCRIPTOR") if not _is_sound(medium)]
    links = ((medium, _link(medium, document)) for medium in media)
    return [
        LinkedVideo(
            unquote(medium.get("MEDIA_URL") or medium.get("RELATIVE_MEDIA_URL")), file_at(document.parent, link)
        )
        for medium, link in links
    ]


def document_licence(path: str | os.PathLike[str]) -> str:
    """The licence of a document: its text, or its address; "" where it tells none."""
    licence = next(_root(Path(path)).all("LICENSE"), None)
    return "" if licence is None else licence.text.strip() or licence.get("LICENSE_URL")


def _is_sound(medium: Element) -> bool:
    return medium.get("MIME_TYPE").startswith("audio/")


def _root(path: Path) -> Element:
    root = parse_xml(read_text(path, exact=True).text, str(path))
    if root.name != "ANNOTATION_DOCUMENT":
        raise FormatError(f"{path} is not an ELAN document: its root is {root.name}.")
    return root


def _annotations(tier: Element) -> list[Element]:
    return [part for annotation in tier.children for part in annotation.children if part.name.endswith("_ANNOTATION")]


def _list(root: Element) -> str:
    """The tiers in words."""
    return ", ".join(f"'{tier.get('TIER_ID')}' ({len(_annotations(tier))})" for tier in root.all("TIER")) or "no tier"


def _named(root: Element, names: Sequence[str], path: Path) -> list[Element]:
    there = {tier.get("TIER_ID"): tier for tier in root.all("TIER")}
    for name in names:
        if name not in there:
            near = difflib.get_close_matches(name, there, n=1, cutoff=0.5)
            meant = f" Did you mean '{near[0]}'?" if near else ""
            raise FormatError(f"{path}: no tier '{name}'. It has {_list(root)}.{meant}")
    return [there[name] for name in dict.fromkeys(names)]


def _glosses(root: Element) -> list[Element]:
    tiers = list(root.all("TIER"))
    ours = [tier for tier in tiers if tier.get("LINGUISTIC_TYPE_REF") == GLOSS_TYPE]
    if ours:
        return ours
    with_times = [tier for tier in tiers if any(a.name == "ALIGNABLE_ANNOTATION" for a in _annotations(tier))]
    glosses = [t for t in with_times if _GLOSS.search(_title(t)) and not _NO_GLOSS.search(_title(t))]
    only = [tier for tier in with_times if not _NO_GLOSS.search(_title(tier))] if len(with_times) == 1 else []
    return glosses or only


def _title(tier: Element) -> str:
    return f"{tier.get('TIER_ID')} | {tier.get('LINGUISTIC_TYPE_REF')}"


class _Reader:
    """A document's annotations with their times, records, scores and exemplars."""

    def __init__(self, root: Element, path: Path):
        self._path = path
        self._times = _slot_times(root, path)
        self._spans = dict(span for tier in root.all("TIER") for span in self._spans_of(tier))
        self._parents = {a.get("ANNOTATION_ID"): a.get("ANNOTATION_REF") for a in root.all("REF_ANNOTATION")}
        self._records = _records(root)
        self._scores = _texts_below(root, SCORE_TYPE)
        self._exemplars = _texts_below(root, EXEMPLAR_TYPE)
        self._medium = _medium(root, path)

    def read_tier(self, tier: Element) -> Iterator[tuple[Record | None, Spotting]]:
        """Every annotation of a tier; one without times of its own has those of the annotation that it hangs on."""
        for annotation in _annotations(tier):
            name = annotation.get("ANNOTATION_ID")
            start, end = self._span(annotation)
            check_span(start / 1000, end / 1000, f"{self._path}, line {annotation.line}")
            edited = Visible(annotation.text_of("ANNOTATION_VALUE"), start, end)
            record = _fitting(self._records.get(name), edited)
            if record and annotation.get("CVE_REF") and edited.word.casefold() == record.shown.word.casefold():
                edited = replace(edited, word=record.shown.word)  # ELAN shows the vocabulary's own spelling
            spotting = join(edited, record, self._medium)
            yield record, self._edited(self._with_video(spotting), record, name)

    def _with_video(self, spotting: Spotting) -> Spotting:
        """The video that is linked now, where the one that was written is gone."""
        gone = file_at(self._path.parent, spotting.video) is None
        linked = file_at(self._path.parent, self._medium) is not None
        return replace(spotting, video=self._medium) if gone and linked else spotting

    def _edited(self, spotting: Spotting, record: Record | None, name: str) -> Spotting:
        """Take over a score or an exemplar that a person changed on the tiers below."""
        if record is None or spotting.exemplar != record.spotting.exemplar:
            return spotting
        score, exemplar = self._scores.get(name), self._exemplars.get(name)
        if score is not None and score != score_text(record.spotting.score):
            spotting = replace(spotting, score=_score(score, spotting.score))
        if exemplar is not None and exemplar != escape_control_characters(str(to_row(record.spotting)["exemplar"])):
            spotting = replace(spotting, exemplar=exemplar)
        return spotting

    def _span(self, annotation: Element) -> tuple[int, int]:
        name, passed = annotation.get("ANNOTATION_ID"), dict[str, None]()
        while name not in self._spans and name not in passed:
            passed[name] = None
            name = self._parents.get(name, "")
        if name in self._spans:
            self._spans |= dict.fromkeys(passed, self._spans[name])  # the next one need not go so far
            return self._spans[name]
        raise FormatError(f"{self._path}, line {annotation.line}: the annotation refers to one that is not there.")

    def _spans_of(self, tier: Element) -> Iterator[tuple[str, tuple[int, int]]]:
        """The times of a tier's annotations; slots that ELAN has not aligned lie evenly between their neighbours."""
        aligned = [a for a in _annotations(tier) if a.name == "ALIGNABLE_ANNOTATION"]
        chain: list[str] = []
        for annotation in aligned:
            for side in ("TIME_SLOT_REF1", "TIME_SLOT_REF2"):
                slot = annotation.get(side)
                if slot not in self._times:
                    where = f"{self._path}, line {annotation.line}"
                    raise FormatError(f"{where}: the annotation refers to a time slot {slot!r} that is not there.")
                if slot not in chain[-1:]:
                    chain.append(slot)
        times = self._filled(chain)
        for annotation in aligned:
            yield (
                annotation.get("ANNOTATION_ID"),
                (times[annotation.get("TIME_SLOT_REF1")], times[annotation.get("TIME_SLOT_REF2")]),
            )

    def _filled(self, chain: list[str]) -> dict[str, int]:
        timed = [index for index, slot in enumerate(chain) if self._times[slot] is not None]
        if chain and (not timed or timed[0] != 0 or timed[-1] != len(chain) - 1):
            raise FormatError(f"{self._path}: the first or last annotation of a tier has no time. Align it in ELAN.")
        filled = {chain[index]: self._times[chain[index]] or 0 for index in timed}
        for left, right in pairwise(timed):
            low, high = filled[chain[left]], filled[chain[right]]
            for index in range(left + 1, right):
                filled[chain[index]] = round(low + (high - low) * (index - left) / (right - left))
        return filled


def _slot_times(root: Element, path: Path) -> dict[str, int | None]:
    """Milliseconds by time slot; None for a slot that ELAN has not aligned."""
    times: dict[str, int | None] = {}
    for slot in root.all("TIME_SLOT"):
        value = slot.attributes.get("TIME_VALUE")
        if value is not None and not (value.isascii() and value.isdecimal()):
            where = f"{path}, line {slot.line}"
            raise FormatError(f"{where}: a time is a whole number of milliseconds, 0 or more; got {value!r}.")
        if value is not None:
            check_time(f"{value[:-3] or 0}.{value[-3:]:0>3}", f"{path}, line {slot.line}: a time")
        times[slot.get("TIME_SLOT_ID")] = None if value is None else int(value)
    return times


def _records(root: Element) -> dict[str, Record]:
    """Our records by the annotation that they belong to; none where a person damaged them."""
    text = next((p.text for p in root.all("PROPERTY") if p.get("NAME") == RECORDS_NAME), "{}")
    try:
        rows = json.loads(text)
        records = {name: parse_record(json.dumps(row)) for name, row in rows.items()}
    except (ValueError, AttributeError, RecursionError):
        return {}
    return {name: record for name, record in records.items() if record is not None}


def _fitting(record: Record | None, edited: Visible) -> Record | None:
    """The record, if its annotation still shows a part of it; another tool may have numbered annotations anew."""
    if record is None:
        return None
    written = record.shown
    is_same = edited.word == written.word or edited.start == written.start or edited.end == written.end
    return record if is_same else None


def _texts_below(root: Element, kind: str) -> dict[str, str]:
    """The texts of our dependent tiers of one type, by the annotation that they hang on."""
    tiers = (tier for tier in root.all("TIER") if tier.get("LINGUISTIC_TYPE_REF") == kind)
    annotations = (annotation for tier in tiers for annotation in _annotations(tier))
    return {a.get("ANNOTATION_REF"): a.text_of("ANNOTATION_VALUE") for a in annotations}


def _score(text: str, default: float) -> float:
    try:
        return check_score(text.replace(",", "."), "score")
    except FormatError:
        return default


def _medium(root: Element, path: Path) -> str:
    """The first linked video: relative to the document where it is there, else by its own address."""
    medium = next((medium for medium in root.all("MEDIA_DESCRIPTOR") if not _is_sound(medium)), None)
    return path.stem if medium is None else _link(medium, path)


def _link(medium: Element, path: Path) -> str:
    """Where a medium lies: relative to the document where it is there, else its own address."""
    relative = unquote(medium.get("RELATIVE_MEDIA_URL")).removeprefix("./")
    address = unquote(urlsplit(medium.get("MEDIA_URL")).path) if medium.get("MEDIA_URL").startswith("file:") else ""
    address = re.sub(r"^/(?=[A-Za-z]:)", "", address) or unquote(medium.get("MEDIA_URL"))
    name = PurePosixPath(address).name
    return next((link for link in (relative, address, name) if file_at(path.parent, link)), address or relative)
