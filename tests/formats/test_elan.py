"""Documents that ELAN opens: the rules of its schema 3.0 as checks, another reader, and edits made by people."""

import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pympi
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from signspot.errors import FormatError
from signspot.formats.formats import read_spottings, write
from signspot.records import LabelSource, Spotting

APPLE = Spotting("apple", "news.mp4", 1.28004, 0.96004, 1.60004, 0.8312345, "apple-2", "b", True)
ORDER = ["LICENSE", "HEADER", "TIME_ORDER", "TIER", "LINGUISTIC_TYPE", "LOCALE", "LANGUAGE", "CONSTRAINT"]
REQUIRED = {
    "ANNOTATION_DOCUMENT": {"DATE", "AUTHOR", "VERSION"},
    "MEDIA_DESCRIPTOR": {"MEDIA_URL", "MIME_TYPE"},
    "TIME_SLOT": {"TIME_SLOT_ID"},
    "TIER": {"TIER_ID", "LINGUISTIC_TYPE_REF"},
    "ALIGNABLE_ANNOTATION": {"ANNOTATION_ID", "TIME_SLOT_REF1", "TIME_SLOT_REF2"},
    "REF_ANNOTATION": {"ANNOTATION_ID", "ANNOTATION_REF"},
    "LINGUISTIC_TYPE": {"LINGUISTIC_TYPE_ID"},
    "CONSTRAINT": {"STEREOTYPE"},
}
spottings = st.builds(
    Spotting,
    word=st.one_of(st.sampled_from(["apple", "apple #2", "apple record", ""]), st.text(max_size=5)),
    video=st.sampled_from(["a.mp4", "a.mp4", "b.webm"]),
    time=st.floats(0, 5),
    start=st.floats(-1, 5),
    end=st.floats(-1, 5),
    score=st.floats(0, 1),
)


def check_schema(root: ET.Element) -> None:
    """The rules of the schema that bind what we write."""
    places = [ORDER.index(child.tag) for child in root]
    assert places == sorted(places)
    assert [child.tag for child in root].count("TIME_ORDER") == 1
    for element in root.iter():
        assert REQUIRED.get(element.tag, set()) <= set(element.keys()), element.tag
    slots = {slot.get("TIME_SLOT_ID"): slot.get("TIME_VALUE") for slot in root.iter("TIME_SLOT")}
    values = [int(value or "") for value in slots.values()]
    assert len(slots) == len(list(root.iter("TIME_SLOT")))
    assert values == sorted(values)
    assert all(0 <= value < 2**32 for value in values)
    check_tiers(root, {name: int(value or "") for name, value in slots.items()})
    check_references(root)


def check_tiers(root: ET.Element, slots: dict[str | None, int]) -> None:
    names = [tier.get("TIER_ID") for tier in root.iter("TIER")]
    assert len(names) == len(set(names))
    for tier in root.iter("TIER"):
        assert tier.get("PARENT_REF") is None or tier.get("PARENT_REF") in names
        last = 0
        for annotation in tier.iter("ALIGNABLE_ANNOTATION"):
            start, end = slots[annotation.get("TIME_SLOT_REF1")], slots[annotation.get("TIME_SLOT_REF2")]
            assert last <= start < end
            last = end


def check_references(root: ET.Element) -> None:
    signs = {a.get("ANNOTATION_ID") for a in root.iter("ALIGNABLE_ANNOTATION")}
    records = [a.get("ANNOTATION_ID") for a in root.iter("REF_ANNOTATION")]
    parents = [a.get("ANNOTATION_REF") for a in root.iter("REF_ANNOTATION")]
    assert len(signs.union(records)) == len(signs) + len(records)
    assert set(parents) == signs
    assert len(parents) == len(signs)
    types = {kind.get("LINGUISTIC_TYPE_ID"): kind for kind in root.iter("LINGUISTIC_TYPE")}
    stereotypes = {constraint.get("STEREOTYPE") for constraint in root.iter("CONSTRAINT")}
    for tier in root.iter("TIER"):
        kind = types[tier.get("LINGUISTIC_TYPE_REF")]
        assert (kind.get("CONSTRAINTS") in stereotypes) == (tier.get("PARENT_REF") is not None)
        assert (kind.get("TIME_ALIGNABLE") == "true") == (tier.get("PARENT_REF") is None)


def written(path: Path, *found: Spotting) -> ET.Element:
    write(found, path)
    return ET.parse(path).getroot()


def tiers(root: ET.Element) -> list[str]:
    return [tier.get("TIER_ID", "") for tier in root.iter("TIER") if tier.get("PARENT_REF") is None]


@given(found=st.lists(spottings, max_size=8))
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_document_keeps_the_rules_of_the_schema(found: list[Spotting], tmp_path: Path) -> None:
    check_schema(written(tmp_path / "t.eaf", *found))


def test_a_tier_a_word_and_a_rank_where_they_would_overlap(tmp_path: Path) -> None:
    overlapping = replace(APPLE, start=1.5, end=2.0)
    touching = replace(APPLE, start=1.60004, end=2.0)
    pear = replace(APPLE, word="pear")
    root = written(tmp_path / "t.eaf", APPLE, overlapping, touching, APPLE, pear)
    assert tiers(root) == ["apple", "apple #2", "apple #3", "pear"]
    counts = {t.get("TIER_ID"): len(t) for t in root.iter("TIER") if t.get("PARENT_REF") is None}
    assert counts == {"apple": 2, "apple #2": 1, "apple #3": 1, "pear": 1}


def test_pympi_opens_it_and_finds_times_words_and_scores(tmp_path: Path) -> None:
    write([APPLE, replace(APPLE, word="手話 <&>", start=2.0, end=2.5)], tmp_path / "t.eaf")
    document = pympi.Elan.Eaf(str(tmp_path / "t.eaf"))
    assert document.get_annotation_data_for_tier("apple") == [(960, 1600, "apple")]
    assert document.get_annotation_data_for_tier("手話 <&>") == [(2000, 2500, "手話 <&>")]
    ((start, end, record, word),) = document.get_ref_annotation_data_for_tier("apple record")
    assert (start, end, word) == (960, 1600, "apple")
    assert record.startswith('{"score": 0.8312345, "exemplar": "apple-2", ')
    assert document.get_parameters_for_tier("apple record")["PARENT_REF"] == "apple"


def test_what_pympi_writes_again_is_read_the_same(tmp_path: Path) -> None:
    write([APPLE], tmp_path / "t.eaf")
    pympi.Elan.Eaf(str(tmp_path / "t.eaf")).to_file(str(tmp_path / "again.eaf"))
    assert read_spottings(tmp_path / "again.eaf") == [APPLE]


def test_the_video_is_linked_by_a_relative_address(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    video = tmp_path / "in" / "my news.mp4"
    video.touch()
    root = written(tmp_path / "out" / "t.eaf", replace(APPLE, video=str(video)))
    (medium,) = root.iter("MEDIA_DESCRIPTOR")
    assert medium.get("MIME_TYPE") == "video/mp4"
    assert medium.get("RELATIVE_MEDIA_URL") == "./../in/my%20news.mp4"
    assert medium.get("MEDIA_URL") == video.as_uri()


def test_several_videos_are_all_linked_and_every_tier_names_its_own(tmp_path: Path) -> None:
    found = [APPLE, replace(APPLE, video="dir/b.webm"), replace(APPLE, word="pear")]
    root = written(tmp_path / "t.eaf", *found)
    check_schema(root)
    assert [m.get("RELATIVE_MEDIA_URL") for m in root.iter("MEDIA_DESCRIPTOR")] == ["./news.mp4", "./b.webm"]
    assert tiers(root) == ["apple (news.mp4)", "apple (b.webm)", "pear (news.mp4)"]
    assert read_spottings(tmp_path / "t.eaf") == found


def edit(tmp_path: Path, change: tuple[str, str, str], *found: Spotting) -> list[Spotting]:
    """Set the text of an element or an attribute, chosen by a path, as a person would in ELAN."""
    root = written(tmp_path / "t.eaf", *found)
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
    found = edit(tmp_path, (".//TIME_SLOT[@TIME_VALUE='960']", "TIME_VALUE", "900"), APPLE)
    assert found == [replace(APPLE, start=0.9)]


def test_a_changed_word_wins_and_is_a_persons(tmp_path: Path) -> None:
    (found,) = edit(tmp_path, (".//ALIGNABLE_ANNOTATION/ANNOTATION_VALUE", "", "pear"), APPLE)
    assert found == Spotting(
        "pear", "news.mp4", (0.96004 + 1.60004) / 2, 0.96004, 1.60004, 1.0, source=LabelSource.VERIFIED
    )


def test_a_damaged_record_costs_only_what_elan_does_not_show(tmp_path: Path) -> None:
    (found,) = edit(tmp_path, (".//REF_ANNOTATION/ANNOTATION_VALUE", "", '{"score": 0.83'), APPLE)
    assert (found.word, found.start, found.end, found.video) == ("apple", 0.96, 1.6, "news.mp4")


def test_an_annotation_that_a_person_adds_belongs_to_the_video_of_its_tier(tmp_path: Path) -> None:
    write([APPLE, replace(APPLE, video="b.mp4")], tmp_path / "t.eaf")
    document = pympi.Elan.Eaf(str(tmp_path / "t.eaf"))
    document.add_annotation("apple (b.mp4)", 3000, 4000, "new")
    document.to_file(str(tmp_path / "t.eaf"))
    assert read_spottings(tmp_path / "t.eaf")[2:] == [
        Spotting("new", "b.mp4", 3.5, 3.0, 4.0, 1.0, source=LabelSource.VERIFIED)
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


def test_a_linguists_document_gives_a_spotting_an_annotation(tmp_path: Path) -> None:
    (tmp_path / "x.eaf").write_text(FOREIGN)
    assert read_spottings(tmp_path / "x.eaf") == [
        Spotting("APPLE", "BL 01.mov", 1.25, 1.0, 1.5, 1.0, source=LabelSource.VERIFIED),
        Spotting("PT:PRO1", "BL 01.mov", 1.75, 1.5, 2.0, 1.0, source=LabelSource.VERIFIED),
    ]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('TIME_VALUE="1000"', 'TIME_VALUE="-5"', r"line 5: a time is a whole number .*; got '-5'"),
        ('TIME_VALUE="1000"', 'TIME_VALUE="1.5"', r"line 5: .*; got '1.5'"),
        ('TIME_SLOT_REF1="ts1"', 'TIME_SLOT_REF1="ts9"', r"line 8: .*time slot 'ts9' that is not there"),
        (' TIME_VALUE="2000"', "", "has no time. Align it in ELAN"),
        ("</TIME_ORDER>", "", "line 16: not well-formed XML"),
        ("<ANNOTATION_DOCUMENT", "<!DOCTYPE x><ANNOTATION_DOCUMENT", "line 2: it declares a document type"),
    ],
)
def test_a_broken_document_gives_its_line(old: str, new: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "x.eaf").write_text(FOREIGN.replace(old, new, 1))
    with pytest.raises(FormatError, match=message):
        read_spottings(tmp_path / "x.eaf")


def test_xml_of_another_kind_is_told(tmp_path: Path) -> None:
    (tmp_path / "x.eaf").write_text("<html/>")
    with pytest.raises(FormatError, match="not an ELAN document: its root is html"):
        read_spottings(tmp_path / "x.eaf")
