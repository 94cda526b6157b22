"""XML of untrusted files: without document types, hence without entities that expand or fetch."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.parsers import expat

from signspot.errors import FormatError

DEEPEST = 100  # elements within elements


@dataclass(slots=True)
class Element:
    """An element: its name and attributes without namespaces, and its text and elements, in order."""

    name: str
    attributes: dict[str, str]
    line: int
    content: "list[Element | str]" = field(default_factory=list)

    @property
    def children(self) -> "list[Element]":
        """The elements directly inside."""
        return [part for part in self.content if isinstance(part, Element)]

    @property
    def text(self) -> str:
        """The text directly inside."""
        return "".join(part for part in self.content if isinstance(part, str))

    def get(self, attribute: str, default: str = "") -> str:
        """The value of an attribute."""
        return self.attributes.get(attribute, default)

    def all(self, name: str) -> "Iterator[Element]":
        """Every element of a name below this one, in the order of the document."""
        for child in self.children:
            if child.name == name:
                yield child
            yield from child.all(name)

    def text_of(self, name: str) -> str:
        """The text of the first element of a name directly inside; "" if there is none."""
        return next((child.text for child in self.children if child.name == name), "")


class _RefusedError(Exception):
    """The document asks for something that is never granted."""


def parse_xml(text: str, where: str) -> Element:
    """Parse a document and give its root.

    Args:
        text: the document, decoded by `read_text`; an encoding that it declares is passed over.
        where: the file's name, for messages.

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
