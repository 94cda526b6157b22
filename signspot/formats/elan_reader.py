"""ELAN `.eaf`, read: gloss tiers become spottings; what a person changed in ELAN goes before what signspot wrote."""

import difflib
import json
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit

from signspot.errors import FormatError
from signspot.formats.elan import EXEMPLAR_TYPE, GLOSS_TYPE, RECORDS_NAME, SCORE_TYPE, score_text
from signspot.formats.links import file_at
from signspot.formats.rows import Record, Visible, in_order, join, parse_record, to_row
from signspot.io.checks import checked_score, checked_time
from signspot.io.control_characters import one_line
from signspot.io.text import read_text
from signspot.io.xml import Element, parse_xml
from signspot.types import Spotting

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
    """The tiers of a document in their order, and which of them `read` reads unless told.

    Raises:
        FormatError: it is not an ELAN document.
    """
    root = _root(Path(path))
    read_ones = {tier.get("TIER_ID") for tier in _glosses(root)}
    return [
        TierSummary(name, tier.get("LINGUISTIC_TYPE_REF"), len(_annotations(tier)), name in read_ones)
        for tier in root.all("TIER")
        if (name := tier.get("TIER_ID"))
    ]


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
            seen = Visible(annotation.text_of("ANNOTATION_VALUE"), start, max(start, end))
            record = _fitting(self._records.get(name), seen)
            if record and annotation.get("CVE_REF") and seen.word.casefold() == record.shown.word.casefold():
                seen = replace(seen, word=record.shown.word)  # ELAN shows the vocabulary's own spelling
            spotting = join(seen, record, self._medium)
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
        if exemplar is not None and exemplar != one_line(str(to_row(record.spotting)["exemplar"])):
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
        raise FormatError(f"{self._path}, line {annotation.line}: annotation hangs on one that is not there.")

    def _spans_of(self, tier: Element) -> Iterator[tuple[str, tuple[int, int]]]:
        """The times of a tier's annotations; slots that ELAN has not aligned lie evenly between their neighbours."""
        aligned = [a for a in _annotations(tier) if a.name == "ALIGNABLE_ANNOTATION"]
        chain: list[str] = []
        for annotation in aligned:
            for side in ("TIME_SLOT_REF1", "TIME_SLOT_REF2"):
                slot = annotation.get(side)
                if slot not in self._times:
                    where = f"{self._path}, line {annotation.line}"
                    raise FormatError(f"{where}: annotation refers to a time slot {slot!r} that is not there.")
                if slot not in chain[-1:]:
                    chain.append(slot)
        times = self._filled(chain)
        for annotation in aligned:
            yield (
                annotation.get("ANNOTATION_ID"),
                (times[annotation.get("TIME_SLOT_REF1")], times[annotation.get("TIME_SLOT_REF2")]),
            )

    def _filled(self, chain: list[str]) -> dict[str, int]:
        known = [place for place, slot in enumerate(chain) if self._times[slot] is not None]
        if chain and (not known or known[0] != 0 or known[-1] != len(chain) - 1):
            raise FormatError(f"{self._path}: the first or last annotation of a tier has no time. Align it in ELAN.")
        filled = {chain[place]: self._times[chain[place]] or 0 for place in known}
        for left, right in pairwise(known):
            low, high = filled[chain[left]], filled[chain[right]]
            for place in range(left + 1, right):
                filled[chain[place]] = round(low + (high - low) * (place - left) / (right - left))
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
            checked_time(f"{value[:-3] or 0}.{value[-3:]:0>3}", f"{path}, line {slot.line}: a time")
        times[slot.get("TIME_SLOT_ID")] = None if value is None else int(value)
    return times


def _records(root: Element) -> dict[str, Record]:
    """Our records by the annotation that they belong to; none where a person damaged them."""
    text = next((p.text for p in root.all("PROPERTY") if p.get("NAME") == RECORDS_NAME), "{}")
    try:
        rows = json.loads(text)
        found = {name: parse_record(json.dumps(row)) for name, row in rows.items()}
    except (ValueError, AttributeError, RecursionError):
        return {}
    return {name: record for name, record in found.items() if record is not None}


def _fitting(record: Record | None, seen: Visible) -> Record | None:
    """The record, if its annotation still shows a part of it; another tool may have numbered annotations anew."""
    if record is None:
        return None
    shown = record.shown
    is_same = seen.word == shown.word or seen.start == shown.start or seen.end == shown.end
    return record if is_same else None


def _texts_below(root: Element, kind: str) -> dict[str, str]:
    """The texts of our dependent tiers of one type, by the annotation that they hang on."""
    tiers = (tier for tier in root.all("TIER") if tier.get("LINGUISTIC_TYPE_REF") == kind)
    annotations = (annotation for tier in tiers for annotation in _annotations(tier))
    return {a.get("ANNOTATION_REF"): a.text_of("ANNOTATION_VALUE") for a in annotations}


def _score(text: str, default: float) -> float:
    try:
        return checked_score(text.replace(",", "."), "score")
    except FormatError:
        return default


def _medium(root: Element, path: Path) -> str:
    """The first linked video: relative to the document where it is there, else by its own address."""
    medium = next(root.all("MEDIA_DESCRIPTOR"), None)
    if medium is None:
        return path.stem
    relative = unquote(medium.get("RELATIVE_MEDIA_URL")).removeprefix("./")
    own = unquote(urlsplit(medium.get("MEDIA_URL")).path) if medium.get("MEDIA_URL").startswith("file:") else ""
    own = re.sub(r"^/(?=[A-Za-z]:)", "", own) or unquote(medium.get("MEDIA_URL"))
    beside = PurePosixPath(own).name
    return next((link for link in (relative, own, beside) if file_at(path.parent, link)), own or relative)
