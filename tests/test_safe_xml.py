import pytest

from signspot.errors import FormatError
from signspot.safe_xml import parse_plain


def test_elements_know_their_lines() -> None:
    document = parse_plain(b"<a>\n <b x='1'>t&amp;u</b>\n</a>", "here")
    child = document.root[0]
    assert (child.tag, child.get("x"), child.text, document.lines[child]) == ("b", "1", "t&u", 2)


@pytest.mark.parametrize(
    "harm",
    [
        b'<!DOCTYPE a [<!ENTITY x "ha"><!ENTITY y "&x;&x;&x;">]><a>&y;</a>',
        b'<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/hostname">]><a>&x;</a>',
        b'<!DOCTYPE a SYSTEM "http://localhost/a.dtd"><a/>',
    ],
)
def test_a_document_type_is_refused_before_anything_expands(harm: bytes) -> None:
    with pytest.raises(FormatError, match="here, line 1: it declares a document type"):
        parse_plain(harm, "here")


@pytest.mark.parametrize("broken", [b"<a>\n<b></a>", b"<a>\n&x;</a>", b"", b"text\n", b"<a/>\n<b/>", b"<a>\n\x00</a>"])
def test_broken_xml_gives_its_line(broken: bytes) -> None:
    with pytest.raises(FormatError, match=r"here, line \d: not well-formed XML"):
        parse_plain(broken, "here")


def test_an_unknown_encoding_is_told() -> None:
    with pytest.raises(FormatError, match="here"):
        parse_plain(b"<?xml version='1.0' encoding='klingon'?><a/>", "here")
