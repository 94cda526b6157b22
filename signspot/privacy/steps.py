"""The parts of forgetting: a person, things that go, and the ways in which they go."""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

from signspot.errors import FormatError
from signspot.io.checks import parse_json
from signspot.io.files import atomic_write, content_digest


@dataclass(frozen=True, slots=True)
class Removal:
    """One thing that is removed."""

    kind: str  # exemplar, file, cache entry, …
    what: str  # a path, or a path and a name in it


@dataclass(frozen=True, slots=True)
class Step:
    """Things that go together, and how they go."""

    removals: tuple[Removal, ...]
    act: Callable[[], None]


class Person:
    """A signer, or a video; and what is learned on the way of the names and contents of their videos."""

    def __init__(self, who: str):
        self.who = who
        self.names = {who}  # of videos, in stores, tracks and spottings
        self.digests: set[str] = set()
        self.exemplars: set[str] = set()  # ids
        if Path(who).is_file():
            self.learn([Path(who)])

    def is_signer(self, name: str) -> bool:
        """Whether a name of a signer is that of the person."""
        return bool(name) and name == self.who

    def is_file(self, path: Path | None) -> bool:
        """Whether a file is one of the person's, by its path or by its content."""
        if path is None or not path.is_file():
            return False
        if str(path) in self.names or str(path.resolve()) in self.names:
            return True
        return bool(self.digests) and content_digest(path) in self.digests

    def is_video(self, name: str) -> bool:
        """Whether a text names one of the person's videos: by its path, or by its name in a corpus, with any suffix."""
        plain = name.replace("\\", "/")
        return bool(name) and (name in self.names or _stem(plain) in {_stem(each) for each in self.names})

    def learn(self, paths: Iterable[Path | None]) -> None:
        """Take the contents of files that are about to go."""
        for path in paths:
            if path is not None and path.is_file():
                self.digests.add(content_digest(path))
                self.names |= {str(path), str(path.resolve())}


def _stem(name: str) -> str:
    return PurePosixPath(name).with_suffix("").as_posix() if PurePosixPath(name).name else name


def remove_file(path: Path) -> Step:
    """A whole file goes."""
    return Step((Removal("file", str(path)),), partial(path.unlink, missing_ok=True))


def remove_lines(path: Path, gone: Callable[[dict[str, Any]], bool]) -> Iterator[Step]:
    """The lines of a file of JSON Lines that go; it keeps all others as they are, and goes where there are none."""
    if not path.is_file():
        return
    lines = path.read_text(encoding="utf-8", errors="surrogateescape").splitlines(keepends=True)
    kept = [line for line in lines if not gone(_row(line))]
    if lines and not kept:
        yield remove_file(path)
    elif len(kept) < len(lines):
        removal = Removal("lines", f"{path}: {len(lines) - len(kept)} of {len(lines)}")
        yield Step((removal,), partial(write_text, path, "".join(kept)))


def _row(line: str) -> dict[str, Any]:
    try:
        row = parse_json(line, "line")
    except FormatError:
        row = None
    return row if isinstance(row, dict) else {}


def write_json(path: Path, value: Any) -> None:
    """Write a file of JSON again, halves of characters in it as they were."""
    text = json.dumps(value, ensure_ascii=False, indent=1)
    is_unicode = text.encode("utf-8", "replace").decode() == text
    write_text(path, (text if is_unicode else json.dumps(value, indent=1)) + "\n")


def write_text(path: Path, text: str) -> None:
    """Write a text file again, its lines as they are given."""
    with atomic_write(path) as temporary:
        temporary.write_text(text, encoding="utf-8", errors="surrogateescape", newline="")
