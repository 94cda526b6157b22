"""XML from strangers: no document type, hence no entities that expand without end or fetch files."""

import xml.etree.ElementTree as ET
from dataclasses import dataclass, field
from xml.parsers import expat

from signspot.errors import FormatError

DEEPEST = 100  # elements within elements


@dataclass(slots=True)
class Element:
    """An element: its name and attributes without namespaces, and what it holds, in order."""

    name: str
    attributes: dict[str, str]
    line: int
    content: "list[Element | str]" = field(default_factory=list)

    @property
    def children(self) -> "list[Element]":
        """The elements directly inside."""
        return [part for part in self.content if isinstance(part, Element)]


class _RefusedError(Exception):
    """The document asks for what is never granted."""


def parse_xml(text: str, where: str) -> Element:
    """Parse a document and give its root.

    Raises:
        FormatError: it is not well-formed, declares a document type, or nests too deeply; the message gives the line.
    """
    parser = expat.ParserCreate(namespace_separator=" ")
    top = Element("", {}, 0)
    open_elements = [top]

    def start(name: str, attributes: dict[str, str]) -> None:
        if len(open_elements) > DEEPEST:
            raise _RefusedError(f"elements nest more than {DEEPEST} deep; refused.")
        plain = {_local(key): value for key, value in attributes.items()}
        element = Element(_local(name), plain, parser.CurrentLineNumber)
        open_elements[-1].content.append(element)
        open_elements.append(element)

    def refuse_document_type(*_: object) -> None:
        raise _RefusedError("it declares a document type, which may hide harm; refused. Remove the <!DOCTYPE …>.")

    parser.buffer_text = True
    parser.StartElementHandler = start
    parser.EndElementHandler = lambda _: open_elements.pop()
    parser.CharacterDataHandler = lambda data: open_elements[-1].content.append(data)
    parser.StartDoctypeDeclHandler = refuse_document_type
    try:
        parser.Parse(text, True)
    except expat.ExpatError as error:
        reason = expat.ErrorString(error.code)
        raise FormatError(f"{where}, line {error.lineno}: not well-formed XML ({reason}).") from error
    except _RefusedError as error:
        raise FormatError(f"{where}, line {parser.CurrentLineNumber}: {error}") from None
    except UnicodeEncodeError:
        raise FormatError(f"{where}: holds characters that no XML may hold.") from None
    return top.children[0]


def _local(name: str) -> str:
    return name.rpartition(" ")[2]


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed document and the line on which each element starts."""

    root: ET.Element
    lines: dict[ET.Element, int]


class _DocumentTypeError(Exception):
    """A document declares a document type."""


def parse_plain(content: bytes, where: str) -> Document:
    """Parse XML that declares no document type.

    Raises:
        FormatError: it declares one, or it is not well-formed; the message gives the line.
    """
    builder = ET.TreeBuilder()
    lines: dict[ET.Element, int] = {}
    parser = expat.ParserCreate()

    def start(name: str, attributes: dict[str, str]) -> None:
        lines[builder.start(name, attributes)] = parser.CurrentLineNumber

    def refuse(*_: object) -> None:
        raise _DocumentTypeError

    parser.buffer_text = True
    parser.StartElementHandler = start
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.data
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(content, True)
        return Document(builder.close(), lines)
    except expat.ExpatError as error:
        reason = expat.ErrorString(error.code)
        raise FormatError(f"{where}, line {error.lineno}: not well-formed XML ({reason}).") from error
    except _DocumentTypeError:
        line = parser.CurrentLineNumber
        raise FormatError(
            f"{where}, line {line}: it declares a document type, which may hide harm; refused. "
            "Save it again from ELAN, which writes none."
        ) from None
    except (AssertionError, LookupError, ValueError) as error:
        raise FormatError(f"{where}: not XML that can be read ({error}).") from error
