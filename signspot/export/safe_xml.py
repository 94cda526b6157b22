"""XML from strangers: no document type, hence no entities that expand without end or fetch files."""

import xml.etree.ElementTree as ET
from dataclasses import dataclass
from xml.parsers import expat

from signspot.errors import FormatError


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed document and the line on which each element starts."""

    root: ET.Element
    lines: dict[ET.Element, int]


class _DocumentTypeError(Exception):
    """A document declares a document type."""


def parse_xml(content: bytes, where: str) -> Document:
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
