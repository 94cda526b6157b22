"""Documents that ELAN opens: the rules of its schema as checks, another reader, and edits made by people.

The checks follow EAFv3.0.xsd of December 2016. The schema names no licence, so it is not part of this repository.
"""

import os
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from operator import attrgetter
from pathlib import Path

import pympi
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from signspot.errors import FormatError
from signspot.formats.elan import ElanOptions, TierSummary, list_tiers, read_vocabulary, write_vocabulary
from signspot.formats.formats import read_spottings, write
from signspot.types import LabelSource, Spotting

APPLE = Spotting("apple", "news.mp4", 1.28004, 0.96004, 1.60004, 0.8312345, "apple-2", "b", True)
# The structure of EAF 3.0: element → its required attributes, its optional ones, and its children in their order.
# Lexicons and links between annotations are left out: signspot writes none.
STRUCTURE = {
    "ANNOTATION_DOCUMENT": (
        "DATE AUTHOR VERSION",
        "FORMAT",
        "LICENSE HEADER TIME_ORDER TIER LINGUISTIC_TYPE LOCALE LANGUAGE CONSTRAINT CONTROLLED_VOCABULARY LEXICON_REF "
        "REF_LINK_SET EXTERNAL_REF",
    ),
    "LICENSE": ("", "LICENSE_URL", ""),
    "HEADER": ("", "MEDIA_FILE TIME_UNITS", "MEDIA_DESCRIPTOR LINKED_FILE_DESCRIPTOR PROPERTY"),
    "MEDIA_DESCRIPTOR": ("MEDIA_URL MIME_TYPE", "RELATIVE_MEDIA_URL TIME_ORIGIN EXTRACTED_FROM", ""),
    "PROPERTY": ("", "NAME", ""),
    "TIME_ORDER": ("", "", "TIME_SLOT"),
    "TIME_SLOT": ("TIME_SLOT_ID", "TIME_VALUE", ""),
    "TIER": (
        "TIER_ID LINGUISTIC_TYPE_REF",
        "PARTICIPANT ANNOTATOR DEFAULT_LOCALE PARENT_REF EXT_REF LANG_REF",
        "ANNOTATION",
    ),
    "ANNOTATION": ("", "", "ALIGNABLE_ANNOTATION REF_ANNOTATION"),
    "ALIGNABLE_ANNOTATION": (
        "ANNOTATION_ID TIME_SLOT_REF1 TIME_SLOT_REF2",
        "SVG_REF EXT_REF LANG_REF CVE_REF",
        "ANNOTATION_VALUE",
    ),
    "REF_ANNOTATION": (
        "ANNOTATION_ID ANNOTATION_REF",
        "PREVIOUS_ANNOTATION EXT_REF LANG_REF CVE_REF",
        "ANNOTATION_VALUE",
    ),
    "ANNOTATION_VALUE": ("", "", ""),
    "LINGUISTIC_TYPE": (
        "LINGUISTIC_TYPE_ID",
        "TIME_ALIGNABLE CONSTRAINTS GRAPHIC_REFERENCES CONTROLLED_VOCABULARY_REF EXT_REF LEXICON_REF",
        "",
    ),
    "LOCALE": ("LANGUAGE_CODE", "COUNTRY_CODE VARIANT", ""),
    "LANGUAGE": ("LANG_ID", "LANG_DEF LANG_LABEL", ""),
    "CONSTRAINT": ("STEREOTYPE", "DESCRIPTION", ""),
    "CONTROLLED_VOCABULARY": ("CV_ID", "EXT_REF", "DESCRIPTION CV_ENTRY_ML"),
    "CV_RESOURCE": ("", "DATE AUTHOR VERSION", "LANGUAGE CONTROLLED_VOCABULARY EXTERNAL_REF"),
    "DESCRIPTION": ("LANG_REF", "", ""),
    "CV_ENTRY_ML": ("CVE_ID", "EXT_REF", "CVE_VALUE"),
    "CVE_VALUE": ("LANG_REF", "DESCRIPTION", ""),
    "EXTERNAL_REF": ("EXT_REF_ID TYPE VALUE", "", ""),
}
# xsd:ID: unique in the whole document. xsd:IDREF: names one of them. Both are names without a colon.
IDS = ("TIME_SLOT_ID", "ANNOTATION_ID", "EXT_REF_ID", "LANG_ID", "LANGUAGE_CODE", "STEREOTYPE")
IDREFS = (
    *("TIME_SLOT_REF1", "TIME_SLOT_REF2", "ANNOTATION_REF", "PREVIOUS_ANNOTATION", "CONSTRAINTS", "EXT_REF"),
    *("LANG_REF", "DEFAULT_LOCALE", "LEXICON_REF"),
)
# xsd:key and xsd:keyref: the attribute that is unique among elements of a kind, and those that name one of them.
KEYS = {
    ("TIER", "TIER_ID"): [("TIER", "PARENT_REF")],
    ("LINGUISTIC_TYPE", "LINGUISTIC_TYPE_ID"): [("TIER", "LINGUISTIC_TYPE_REF")],
    ("CONTROLLED_VOCABULARY", "CV_ID"): [("LINGUISTIC_TYPE", "CONTROLLED_VOCABULARY_REF")],
    ("CV_ENTRY_ML", "CVE_ID"): [],
    ("TIME_SLOT", "TIME_SLOT_ID"): [
        ("ALIGNABLE_ANNOTATION", "TIME_SLOT_REF1"),
        ("ALIGNABLE_ANNOTATION", "TIME_SLOT_REF2"),
    ],
    ("LANGUAGE", "LANG_ID"): [("CVE_VALUE", "LANG_REF"), ("DESCRIPTION", "LANG_REF"), ("TIER", "LANG_REF")],
}
_ADDRESS = r"[^\s<>\"{}|\\^`]*"  # xsd:anyURI
VALUES = {  # of attributes of which the schema lists the values, or their form
    "TIME_UNITS": "NTSC-frames|PAL-frames|milliseconds",
    "TIME_ALIGNABLE": "true|false",
    "GRAPHIC_REFERENCES": "true|false",
    "TYPE": "iso12620|ecv|cve_id|lexen_id|resource_url",
    "TIME_VALUE": r"\d+",
    "TIME_ORIGIN": r"-?\d+",
    "DATE": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(Z|[+-]\d\d:\d\d)?",
    **dict.fromkeys(("MEDIA_URL", "RELATIVE_MEDIA_URL", "EXTRACTED_FROM", "LICENSE_URL"), _ADDRESS),
    **dict.fromkeys((*IDS, *IDREFS), r"[A-Za-z_][\w.-]*"),
}
TEXTS = {"LICENSE", "PROPERTY", "ANNOTATION_VALUE", "DESCRIPTION", "CVE_VALUE"}  # the elements that hold text
_SCHEMA = "{http://www.w3.org/2001/XMLSchema-instance}noNamespaceSchemaLocation"
spottings = st.builds(
    Spotting,
    word=st.one_of(st.sampled_from(["apple", "apple #2", "apple record", ""]), st.text(max_size=5)),
    video=st.just("a.mp4"),
    time=st.floats(0, 5),
    start=st.floats(0, 2),
    end=st.floats(2, 5),
    score=st.floats(0, 1),
)


def check_schema(root: ET.Element) -> None:
    """What the schema says, and what ELAN asks beyond it of times, tiers and references."""
    assert root.tag in ("ANNOTATION_DOCUMENT", "CV_RESOURCE")
    for element in root.iter():
        required, optional, children = (names.split() for names in STRUCTURE[element.tag])
        assert {*required} <= {*element.keys()} <= {*required, *optional, _SCHEMA}, element.tag
        for name, value in element.attrib.items():
            assert re.fullmatch(VALUES.get(name, ".*"), value, re.DOTALL), (name, value)
        positions = [children.index(child.tag) for child in element]
        assert positions == sorted(positions), element.tag
        if element.tag in ("ANNOTATION", "ALIGNABLE_ANNOTATION", "REF_ANNOTATION"):
            assert len(element) == 1, element.tag
        assert element.tag in TEXTS or not (element.text or "").strip(), element.tag
        assert not (element.tail or "").strip(), element.tag
    check_names(root)
    if root.tag == "ANNOTATION_DOCUMENT":
        for name in ("HEADER", "TIME_ORDER"):
            assert len(root.findall(name)) == 1
        slots = {slot.get("TIME_SLOT_ID"): int(slot.get("TIME_VALUE") or "") for slot in root.iter("TIME_SLOT")}
        assert list(slots.values()) == sorted(slots.values())
        assert all(0 <= value < 2**32 for value in slots.values())
        check_tiers(root, slots)
        check_references(root)


def check_names(root: ET.Element) -> None:
    identities = [element.attrib[name] for element in root.iter() for name in IDS if name in element.attrib]
    assert len(identities) == len(set(identities))
    references = {element.attrib[name] for element in root.iter() for name in IDREFS if name in element.attrib}
    assert references <= set(identities)
    for (kind, name), others in KEYS.items():
        keys = [element.get(name) for element in root.iter(kind)]
        assert len(keys) == len(set(keys))
        assert None not in keys
        for other, reference in others:
            assert {element.get(reference, keys[0] if keys else None) for element in root.iter(other)} <= {*keys, None}


def check_tiers(root: ET.Element, slots: dict[str | None, int]) -> None:
    for tier in root.iter("TIER"):
        last = 0
        for annotation in tier.iter("ALIGNABLE_ANNOTATION"):
            start, end = slots[annotation.get("TIME_SLOT_REF1")], slots[annotation.get("TIME_SLOT_REF2")]
            assert last <= start < end
            last = end


def check_references(root: ET.Element) -> None:
    signs = {a.get("ANNOTATION_ID") for a in root.iter("ALIGNABLE_ANNOTATION")}
    records = [a.get("ANNOTATION_ID") for a in root.iter("REF_ANNOTATION")]
    parents = [a.get("ANNOTATION_REF") for a in root.iter("REF_ANNOTATION")]
    assert set(parents) == signs  # a score each
    for tier in root.iter("TIER"):
        hanging = [a.get("ANNOTATION_REF") for a in tier.iter("REF_ANNOTATION")]
        assert len(hanging) == len(set(hanging))  # one for one with the parent
    last = root.findtext("HEADER/PROPERTY[@NAME='lastUsedAnnotationId']")
    assert len(signs) + len(records) == int(last or "")
    types = {kind.get("LINGUISTIC_TYPE_ID"): kind for kind in root.iter("LINGUISTIC_TYPE")}
    stereotypes = {constraint.get("STEREOTYPE") for constraint in root.iter("CONSTRAINT")}
    for tier in root.iter("TIER"):
        kind = types[tier.get("LINGUISTIC_TYPE_REF")]
        assert (kind.get("CONSTRAINTS") in stereotypes) == (tier.get("PARENT_REF") is not None)
        assert (kind.get("TIME_ALIGNABLE") == "true") == (tier.get("PARENT_REF") is None)


def written(path: Path, *spottings: Spotting) -> ET.Element:
    write(spottings, path)
    return ET.parse(path).getroot()


@given(hits=st.lists(spottings, max_size=8))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_document_keeps_the_rules_of_the_schema(hits: list[Spotting], tmp_path: Path) -> None:
    check_schema(written(tmp_path / "t.eaf", *hits))
    write(hits, tmp_path / "t.eaf", ElanOptions(group=attrgetter("word")))
    check_schema(ET.parse(tmp_path / "t.eaf").getroot())
    write_vocabulary([spotting.word for spotting in hits], tmp_path / "t.ecv")
    check_schema(ET.parse(tmp_path / "t.ecv").getroot())


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"Symbolic_Association" GRAPHIC', '"Symbolic" GRAPHIC'),
        ('PARENT_REF="signspot"', 'PARENT_REF="signs"'),
        ('REF="a1"', 'REF="a9"'),
        ('ANNOTATION_ID="a2"', 'ANNOTATION_ID="ts1"'),
        ("./news.mp4", "./my news.mp4"),
        ("<TIER ", "text<TIER "),
        ('TIER_ID="signspot score"', 'TIER_ID="signspot"'),
        ('LINGUISTIC_TYPE_REF="signspot gloss"', 'LINGUISTIC_TYPE_REF="gloss"'),
        ("</HEADER>", '</HEADER><LICENSE LICENSE_URL="x"/>'),
    ],
)
def test_the_checks_see_what_the_schema_refuses(old: str, new: str, tmp_path: Path) -> None:
    check_schema(written(tmp_path / "t.eaf", APPLE))
    text = (tmp_path / "t.eaf").read_text()
    assert old in text
    with pytest.raises((AssertionError, ValueError)):
        check_schema(ET.fromstring(text.replace(old, new, 1)))


def test_one_gloss_tier_and_a_second_only_where_they_would_overlap(tmp_path: Path) -> None:
    words = [replace(APPLE, word=f"word {n}", start=n, end=n + 0.5) for n in range(500)]
    root = written(tmp_path / "t.eaf", *words)
    names = [tier.get("TIER_ID") for tier in root.iter("TIER")]
    assert names == ["signspot", "signspot score", "signspot exemplar"]
    overlapping = replace(APPLE, word="pear", start=1.5, end=2.0)
    touching = replace(APPLE, start=1.60004, end=2.0)
    root = written(tmp_path / "t.eaf", APPLE, overlapping, touching)
    counts = {t.get("TIER_ID"): len(t) for t in root.iter("TIER") if t.get("PARENT_REF") is None}
    assert counts == {"signspot": 2, "signspot 2": 1}


def test_the_better_of_two_that_overlap_is_on_the_first_tier(tmp_path: Path) -> None:
    worse = Spotting("pear", "news.mp4", 1.2, 0.9, 1.5, 0.6)
    write([worse, APPLE], tmp_path / "a.eaf")
    tiers = pympi.Elan.Eaf(str(tmp_path / "a.eaf"))
    assert [value for _, _, value in tiers.get_annotation_data_for_tier("signspot")] == ["apple"]
    assert [value for _, _, value in tiers.get_annotation_data_for_tier("signspot 2")] == ["pear"]
    assert read_spottings(tmp_path / "a.eaf") == [worse, APPLE]


def test_a_tier_for_each_group(tmp_path: Path) -> None:
    pears = [Spotting("pear", "news.mp4", t, t - 0.2, t + 0.2, 0.6) for t in (1.2, 3.2)]
    write([*pears, APPLE], tmp_path / "a.eaf", ElanOptions(group=attrgetter("word")))
    check_schema(ET.parse(tmp_path / "a.eaf").getroot())
    glosses = [tier for tier in list_tiers(tmp_path / "a.eaf") if tier.is_read]
    assert [(tier.name, tier.annotations) for tier in glosses] == [("signspot: apple", 1), ("signspot: pear", 2)]
    assert read_spottings(tmp_path / "a.eaf") == [*pears, APPLE]


def test_pympi_opens_it_and_finds_times_words_and_scores(tmp_path: Path) -> None:
    write([APPLE, replace(APPLE, word="手話 <&>", start=2.0, end=2.5)], tmp_path / "t.eaf")
    document = pympi.Elan.Eaf(str(tmp_path / "t.eaf"))
    assert document.get_annotation_data_for_tier("signspot") == [(960, 1600, "apple"), (2000, 2500, "手話 <&>")]
    scores = document.get_ref_annotation_data_for_tier("signspot score")
    assert scores == [(960, 1600, "0.831", "apple"), (2000, 2500, "0.831", "手話 <&>")]
    exemplars = document.get_ref_annotation_data_for_tier("signspot exemplar")
    assert [text for _, _, text, _ in exemplars] == ["apple-2", "apple-2"]
    assert document.get_parameters_for_tier("signspot score")["PARENT_REF"] == "signspot"


def test_the_gloss_tier_can_be_named(tmp_path: Path) -> None:
    write([APPLE], tmp_path / "t.eaf", ElanOptions(tier="spotted"))
    assert [tier.name for tier in list_tiers(tmp_path / "t.eaf") if tier.is_read] == ["spotted"]
    assert read_spottings(tmp_path / "t.eaf") == [APPLE]


ECV = """<?xml version="1.0" encoding="UTF-8"?>
<CV_RESOURCE VERSION="0.2"><LANGUAGE LANG_ID="eng" LANG_LABEL="English"/>
<CONTROLLED_VOCABULARY CV_ID="BSL lexicon"><DESCRIPTION LANG_REF="eng">signs</DESCRIPTION>
<CV_ENTRY_ML CVE_ID="gloss17"><CVE_VALUE LANG_REF="eng" DESCRIPTION="a fruit">APPLE</CVE_VALUE></CV_ENTRY_ML>
</CONTROLLED_VOCABULARY></CV_RESOURCE>"""


def test_a_written_vocabulary_is_read_back_and_its_ids_stay(tmp_path: Path) -> None:
    words = ["apple", "手話", "a < b & c", "apple"]
    one = read_vocabulary(write_vocabulary(words, tmp_path / "one.ecv", "my signs"))
    more = read_vocabulary(write_vocabulary(["tree", *reversed(words)], tmp_path / "more.ecv"))
    assert (one.name, list(one.entries)) == ("my signs", ["apple", "手話", "a < b & c"])
    assert len(set(more.entries.values())) == 4
    assert {word: more.entries[word] for word in one.entries} == one.entries


def test_words_of_an_external_vocabulary_refer_to_its_entries(tmp_path: Path) -> None:
    (tmp_path / "bsl.ecv").write_text(ECV)
    vocabulary = read_vocabulary(tmp_path / "bsl.ecv", "https://example.org/bsl.ecv")
    spottings = [APPLE, replace(APPLE, word="pear", start=3.0, end=4.0)]
    write(spottings, tmp_path / "t.eaf", ElanOptions(vocabulary=vocabulary))
    root = ET.parse(tmp_path / "t.eaf").getroot()
    check_schema(root)
    assert [a.get("CVE_REF") for a in root.iter("ALIGNABLE_ANNOTATION")] == ["gloss17", None]
    (external,) = root.iter("EXTERNAL_REF")
    assert (external.get("TYPE"), external.get("VALUE")) == ("ecv", "https://example.org/bsl.ecv")
    (element,) = root.iter("CONTROLLED_VOCABULARY")
    assert (element.get("CV_ID"), element.get("EXT_REF")) == ("BSL lexicon", external.get("EXT_REF_ID"))
    (kind,) = [k for k in root.iter("LINGUISTIC_TYPE") if k.get("CONTROLLED_VOCABULARY_REF")]
    assert kind.get("LINGUISTIC_TYPE_ID") == "signspot gloss"
    assert read_spottings(tmp_path / "t.eaf") == spottings
    text = (tmp_path / "t.eaf").read_text().replace("VALUE>apple<", "VALUE>APPLE<")  # as ELAN shows the entry
    (tmp_path / "t.eaf").write_text(text)
    assert read_spottings(tmp_path / "t.eaf") == spottings
    with pytest.raises(FormatError):
        read_vocabulary(tmp_path / "t.eaf")


def test_what_pympi_writes_again_is_read_the_same(tmp_path: Path) -> None:
    write([APPLE], tmp_path / "t.eaf")
    pympi.Elan.Eaf(str(tmp_path / "t.eaf")).to_file(str(tmp_path / "again.eaf"))
    assert read_spottings(tmp_path / "again.eaf") == [APPLE]


def test_a_link_to_a_video_keeps_its_own_name(tmp_path: Path) -> None:
    (tmp_path / "0001.mp4").write_bytes(b"")
    (tmp_path / "news.mp4").symlink_to(tmp_path / "0001.mp4")
    write([replace(APPLE, video=str(tmp_path / "news.mp4"))], tmp_path / "a.eaf")
    (medium,) = ET.parse(tmp_path / "a.eaf").getroot().iter("MEDIA_DESCRIPTOR")
    assert medium.get("MEDIA_URL") == (tmp_path.resolve() / "news.mp4").as_uri()


@pytest.mark.parametrize("cwd", [".", "in", "out"])
def test_links_are_right_whatever_the_working_directory(
    cwd: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("in", "out"):
        (tmp_path / folder).mkdir()
    (tmp_path / "in" / "my news.mp4").touch()
    monkeypatch.chdir(tmp_path / cwd)
    video, document = os.path.relpath(tmp_path / "in" / "my news.mp4"), os.path.relpath(tmp_path / "out" / "t.eaf")
    write([replace(APPLE, video=video)], document)
    (medium,) = ET.parse(document).getroot().iter("MEDIA_DESCRIPTOR")
    assert medium.get("MIME_TYPE") == "video/mp4"
    assert medium.get("RELATIVE_MEDIA_URL") == "./../in/my%20news.mp4"
    assert medium.get("MEDIA_URL") == (tmp_path / "in" / "my news.mp4").as_uri()
    assert [spotting.video for spotting in read_spottings(document)] == [video]


def test_a_video_that_was_linked_anew_wins(tmp_path: Path) -> None:
    (tmp_path / "old.mp4").touch()
    write([replace(APPLE, video=str(tmp_path / "old.mp4"))], tmp_path / "t.eaf")
    (tmp_path / "old.mp4").rename(tmp_path / "new.mp4")
    text = (tmp_path / "t.eaf").read_text()
    (tmp_path / "t.eaf").write_text(text.replace('URL="./old.mp4"', 'URL="./new.mp4"'))
    assert [spotting.video for spotting in read_spottings(tmp_path / "t.eaf")] == [str(tmp_path / "new.mp4")]


def test_the_date_is_the_newest_videos_or_the_environments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    video = tmp_path / "a.mp4"
    video.touch()
    os.utime(video, (86_400, 86_400))
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    spotting = replace(APPLE, video=str(video))
    assert written(tmp_path / "t.eaf", spotting).get("DATE") == "1970-01-02T00:00:00+00:00"
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "172800")
    assert written(tmp_path / "t.eaf", spotting).get("DATE") == "1970-01-03T00:00:00+00:00"
    for nonsense in ("9" * 5000, "9" * 30, "-5", "soon"):
        monkeypatch.setenv("SOURCE_DATE_EPOCH", nonsense)
        assert written(tmp_path / "t.eaf", spotting).get("DATE") == "1970-01-02T00:00:00+00:00"
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "999999999999")
    assert written(tmp_path / "t.eaf", spotting).get("DATE") == "9999-12-31T23:59:59+00:00"


def edit(tmp_path: Path, change: tuple[str, str, str], *spottings: Spotting) -> list[Spotting]:
    """Set the text of an element or an attribute, chosen by a path, as a person would in ELAN."""
    root = written(tmp_path / "t.eaf", *spottings)
    where, attribute, value = change
    element = root.find(where)
    assert element is not None
    if attribute:
        element.set(attribute, value)
    else:
        element.text = value
    ET.ElementTree(root).write(tmp_path / "t.eaf", encoding="UTF-8")
    return read_spottings(tmp_path / "t.eaf")


def test_a_moved_boundary_wins(tmp_path: Path) -> None:
    spottings = edit(tmp_path, (".//TIME_SLOT[@TIME_VALUE='960']", "TIME_VALUE", "900"), APPLE)
    assert spottings == [replace(APPLE, start=0.9)]


def test_a_changed_word_wins_and_is_a_persons(tmp_path: Path) -> None:
    (spotting,) = edit(tmp_path, (".//ALIGNABLE_ANNOTATION/ANNOTATION_VALUE", "", "pear"), APPLE)
    assert spotting == Spotting(
        "pear", "news.mp4", (0.96004 + 1.60004) / 2, 0.96004, 1.60004, 1.0, source=LabelSource.VERIFIED
    )


def test_a_changed_score_or_exemplar_wins(tmp_path: Path) -> None:
    score = ".//TIER[@TIER_ID='signspot score']//ANNOTATION_VALUE"
    assert edit(tmp_path, (score, "", "0,5"), APPLE) == [replace(APPLE, score=0.5)]
    assert edit(tmp_path, (score, "", "good"), APPLE) == [APPLE]
    exemplar = ".//TIER[@TIER_ID='signspot exemplar']//ANNOTATION_VALUE"
    assert edit(tmp_path, (exemplar, "", "apple-1"), APPLE) == [replace(APPLE, exemplar="apple-1")]


def test_annotations_numbered_anew_do_not_take_the_records_of_others(tmp_path: Path) -> None:
    pear = replace(APPLE, word="pear", start=3.0, end=4.0)
    write([APPLE, pear], tmp_path / "t.eaf")
    text = (tmp_path / "t.eaf").read_text()
    swapped = text.replace('ANNOTATION_ID="a1"', 'ANNOTATION_ID="x"').replace('_ID="a2"', '_ID="a1"')
    (tmp_path / "t.eaf").write_text(swapped.replace('ANNOTATION_ID="x"', 'ANNOTATION_ID="a2"'))
    spottings = read_spottings(tmp_path / "t.eaf")
    assert [(hit.word, hit.start, hit.source) for hit in spottings] == [("apple", 0.96, "V"), ("pear", 3.0, "V")]


def test_a_damaged_record_costs_only_what_elan_does_not_show(tmp_path: Path) -> None:
    (spotting,) = edit(tmp_path, (".//PROPERTY[@NAME='signspot records']", "", '{"score": 0.83'), APPLE)
    assert (spotting.word, spotting.start, spotting.end, spotting.video) == ("apple", 0.96, 1.6, "news.mp4")


def test_an_annotation_that_a_person_adds_belongs_to_the_linked_video(tmp_path: Path) -> None:
    (tmp_path / "b.mp4").touch()
    video = str(tmp_path / "b.mp4")
    write([replace(APPLE, video=video)], tmp_path / "t.eaf")
    document = pympi.Elan.Eaf(str(tmp_path / "t.eaf"))
    document.add_annotation("signspot", 3000, 4000, "new")
    document.to_file(str(tmp_path / "t.eaf"))
    assert read_spottings(tmp_path / "t.eaf") == [
        replace(APPLE, video=video),
        Spotting("new", video, 3.5, 3.0, 4.0, 1.0, source=LabelSource.VERIFIED),
    ]


FOREIGN = """<?xml version="1.0" encoding="UTF-8"?>
<ANNOTATION_DOCUMENT AUTHOR="x" DATE="2020-01-01T00:00:00+00:00" FORMAT="2.8" VERSION="2.8">
<HEADER MEDIA_FILE="" TIME_UNITS="milliseconds">
<MEDIA_DESCRIPTOR MEDIA_URL="file:///data/BL%2001.mov" MIME_TYPE="video/quicktime"/></HEADER>
<TIME_ORDER><TIME_SLOT TIME_SLOT_ID="ts1" TIME_VALUE="1000"/><TIME_SLOT TIME_SLOT_ID="ts2"/>
<TIME_SLOT TIME_SLOT_ID="ts3" TIME_VALUE="2000"/></TIME_ORDER>
<TIER LINGUISTIC_TYPE_REF="gloss" TIER_ID="RH-IDgloss">
<ANNOTATION><ALIGNABLE_ANNOTATION ANNOTATION_ID="a1" TIME_SLOT_REF1="ts1" TIME_SLOT_REF2="ts2" CVE_REF="c1">
<ANNOTATION_VALUE>APPLE</ANNOTATION_VALUE></ALIGNABLE_ANNOTATION></ANNOTATION>
<ANNOTATION><ALIGNABLE_ANNOTATION ANNOTATION_ID="a2" TIME_SLOT_REF1="ts2" TIME_SLOT_REF2="ts3">
<ANNOTATION_VALUE>PT:PRO1</ANNOTATION_VALUE></ALIGNABLE_ANNOTATION></ANNOTATION></TIER>
<TIER LINGUISTIC_TYPE_REF="note" PARENT_REF="RH-IDgloss" TIER_ID="remarks">
<ANNOTATION><REF_ANNOTATION ANNOTATION_ID="a3" ANNOTATION_REF="a1">
<ANNOTATION_VALUE>unclear</ANNOTATION_VALUE></REF_ANNOTATION></ANNOTATION></TIER>
<LINGUISTIC_TYPE LINGUISTIC_TYPE_ID="gloss"/><LINGUISTIC_TYPE LINGUISTIC_TYPE_ID="note"/>
</ANNOTATION_DOCUMENT>"""


def test_a_linguists_document_gives_a_spotting_per_annotation(tmp_path: Path) -> None:
    (tmp_path / "x.eaf").write_text(FOREIGN)
    signs = [
        Spotting("APPLE", "/data/BL 01.mov", 1.25, 1.0, 1.5, 1.0, source=LabelSource.VERIFIED),
        Spotting("PT:PRO1", "/data/BL 01.mov", 1.75, 1.5, 2.0, 1.0, source=LabelSource.VERIFIED),
    ]
    assert read_spottings(tmp_path / "x.eaf") == signs
    (tmp_path / "BL 01.mov").touch()
    assert [hit.video for hit in read_spottings(tmp_path / "x.eaf")] == [str(tmp_path / "BL 01.mov")] * 2


def with_tier(name: str) -> str:
    """The document with free translations on a further tier, and the gloss tier under another name."""
    tier = """<TIER LINGUISTIC_TYPE_REF="default-lt" TIER_ID="Free Translation"><ANNOTATION>
<ALIGNABLE_ANNOTATION ANNOTATION_ID="a9" TIME_SLOT_REF1="ts1" TIME_SLOT_REF2="ts3">
<ANNOTATION_VALUE>I like apples.</ANNOTATION_VALUE></ALIGNABLE_ANNOTATION></ANNOTATION></TIER>"""
    text = FOREIGN.replace("</TIME_ORDER>", f"</TIME_ORDER>{tier}").replace('TIER_ID="RH-IDgloss"', f'TIER_ID="{name}"')
    return text.replace('LINGUISTIC_TYPE_REF="gloss"', 'LINGUISTIC_TYPE_REF="default-lt"')


@pytest.mark.parametrize("name", ["RH-IDgloss", "GlossL S1", "Lexem_Sign_r_A", "Glosa_DH S1", "signs"])
def test_free_translations_are_not_read_as_signs(name: str, tmp_path: Path) -> None:
    (tmp_path / "x.eaf").write_text(with_tier(name))
    assert [hit.word for hit in read_spottings(tmp_path / "x.eaf")] == ["APPLE", "PT:PRO1"]
    assert list_tiers(tmp_path / "x.eaf") == [
        TierSummary("Free Translation", "default-lt", 1, is_read=False),
        TierSummary(name, "default-lt", 2, is_read=True),
        TierSummary("remarks", "note", 1, is_read=False),
    ]


def test_without_a_gloss_tier_the_tiers_are_named(tmp_path: Path) -> None:
    (tmp_path / "x.eaf").write_text(with_tier("right"))
    tiers = r"'Free Translation' \(1\), 'right' \(2\), 'remarks' \(1\)"
    with pytest.raises(FormatError, match=tiers):
        read_spottings(tmp_path / "x.eaf")
    assert [hit.word for hit in read_spottings(tmp_path / "x.eaf", tiers=["right"])] == ["APPLE", "PT:PRO1"]
    chosen = read_spottings(tmp_path / "x.eaf", tiers=["remarks", "Free Translation"])
    assert [(hit.word, hit.start, hit.end) for hit in chosen] == [
        ("unclear", 1.0, 1.5),
        ("I like apples.", 1.0, 2.0),
    ]
    with pytest.raises(FormatError, match="'rihgt'"):
        read_spottings(tmp_path / "x.eaf", tiers=["rihgt"])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('TIME_VALUE="1000"', 'TIME_VALUE="-5"', r"line 5: a time is a whole number .*; got '-5'"),
        ('TIME_VALUE="1000"', 'TIME_VALUE="1.5"', r"line 5: .*; got '1.5'"),
        ('TIME_SLOT_REF1="ts1"', 'TIME_SLOT_REF1="ts9"', r"line 8: .*time slot 'ts9' that is not there"),
        ('TIME_VALUE="1000"', 'TIME_VALUE="9000"', r"line 8: it ends at .* s, before it starts at 9 s"),
        (' TIME_VALUE="2000"', "", "has no time. Align it in ELAN"),
        ("</TIME_ORDER>", "", "line 16: not well-formed XML"),
        ("<ANNOTATION_DOCUMENT", "<!DOCTYPE x><ANNOTATION_DOCUMENT", "line 2: it declares a document type"),
    ],
)
def test_a_broken_document_gives_its_line(old: str, new: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "x.eaf").write_text(FOREIGN.replace(old, new, 1))
    with pytest.raises(FormatError, match=message):
        read_spottings(tmp_path / "x.eaf")


def test_xml_of_another_kind_is_reported(tmp_path: Path) -> None:
    (tmp_path / "x.eaf").write_text("<html/>")
    with pytest.raises(FormatError):
        read_spottings(tmp_path / "x.eaf")
