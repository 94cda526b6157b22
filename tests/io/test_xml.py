import re
from pathlib import Path

import pytest

import signspot
from signspot.errors import FormatError
from signspot.io.xml import DEEPEST, parse_xml

REPOSITORY = Path(signspot.__file__).parent.parent


def test_elements_know_their_lines_and_what_they_hold() -> None:
    root = parse_xml("<a xmlns='urn:x'>\n <b x='1'>t&amp;u<c/>!</b>\n</a>", "here")
    (child,) = root.children
    assert (child.name, child.get("x"), child.get("y", "no"), child.text, child.line) == ("b", "1", "no", "t&u!", 2)
    assert (root.text_of("b"), root.text_of("z")) == ("t&u!", "")
    assert [element.name for element in root.all("c")] == ["c"]


@pytest.mark.parametrize(
    "harm",
    [
        '<!DOCTYPE a [<!ENTITY x "ha"><!ENTITY y "&x;&x;&x;">]><a>&y;</a>',
        '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/hostname">]><a>&x;</a>',
        '<!DOCTYPE a SYSTEM "http://localhost/a.dtd"><a/>',
    ],
)
def test_a_document_type_is_refused_before_anything_expands(harm: str) -> None:
    with pytest.raises(FormatError, match="here, line 1"):
        parse_xml(harm, "here")


@pytest.mark.parametrize("broken", ["<a>\n<b></a>", "<a>\n&x;</a>", "", "text\n", "<a/>\n<b/>", "<a>\n\x00</a>"])
def test_broken_xml_gives_its_line(broken: str) -> None:
    with pytest.raises(FormatError, match=r"here, line \d"):
        parse_xml(broken, "here")


def test_what_nests_too_deeply_is_refused() -> None:
    with pytest.raises(FormatError, match=f"elements nest more than {DEEPEST} deep"):
        parse_xml("<a>" * 10_000, "here")


def test_no_other_module_parses_xml() -> None:
    """Other parsers expand entities; `xml.etree` is for writing only."""
    other = re.compile(r"expat|ET\.(parse|fromstring|XML|iterparse)|minidom|lxml|xml\.sax")
    files = [path for package in REPOSITORY.glob("signspot*/") for path in package.rglob("*.py")]
    assert [path.name for path in files if other.search(path.read_text())] == ["xml.py"]
