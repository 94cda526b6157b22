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
    ("text", "message"),
    [
        ('<!DOCTYPE a [<!ENTITY x "ha"><!ENTITY y "&x;&x;&x;">]><a>&y;</a>', "here, line 1"),
        ('<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/hostname">]><a>&x;</a>', "here, line 1"),
        ('<!DOCTYPE a SYSTEM "http://localhost/a.dtd"><a/>', "here, line 1"),
        *(
            (text, r"here, line \d")
            for text in ("<a>\n<b></a>", "<a>\n&x;</a>", "", "text\n", "<a/>\n<b/>", "<a>\n\0</a>")
        ),
        ("<a>" * 10_000, f"more than {DEEPEST} deep"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_document_types_broken_and_deep_documents_are_refused_with_their_line(text: str, message: str) -> None:
    """A document type is refused before anything expands."""
    with pytest.raises(FormatError, match=message):
        parse_xml(text, "here")


def test_no_other_module_parses_xml() -> None:
    """Other parsers expand entities; `xml.etree` is for writing only."""
    other = re.compile(r"expat|ET\.(parse|fromstring|XML|iterparse)|minidom|lxml|xml\.sax")
    files = [path for package in REPOSITORY.glob("signspot*/") for path in package.rglob("*.py")]
    assert [path.name for path in files if other.search(path.read_text())] == ["xml.py"]
