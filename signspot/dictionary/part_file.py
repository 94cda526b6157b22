"""The part of a download that has come so far: kept beside its target, so that the next try goes on with it."""

import contextlib
import json
from pathlib import Path
from typing import Any


class TryAgainError(Exception):
    """A try failed in a way that may pass; `after` is how long the server wants us to wait."""

    def __init__(self, reason: str, after: float = 0.0):
        super().__init__(reason)
        self.after = after


class PartFile:
    """The unfinished file, and beside it a note of what it is a part of."""

    def __init__(self, target: Path, address: str):
        self.target, self.address = target, address
        self.path = target.with_name(target.name + ".part")
        self._note = target.with_name(target.name + ".part.json")
        self._known: dict[str, Any] = {}
        with contextlib.suppress(OSError, ValueError):
            self._known = dict(json.loads(self._note.read_text(encoding="utf-8")))
        if self._known.get("address") != address:
            self.discard()

    @property
    def size(self) -> int:
        """Bytes that are there."""
        return self.path.stat().st_size if self.path.exists() else 0

    def range_headers(self) -> dict[str, str]:
        """Ask for the rest only, and only if the file is still the same."""
        if not self.size:
            return {}
        same = {"If-Range": self._known["validator"]} if self._known.get("validator") else {}
        return {"Range": f"bytes={self.size}-"} | same

    def begin(self, response: Any) -> int | None:
        """Make ready to append what the server sends; give the whole size, where the server tells it."""
        length = number(response.headers.get("Content-Length"))
        if response.status == 206:
            start, total = content_range(response.headers.get("Content-Range", ""))
            before = self._known.get("total")
            if start != self.size or (before and total and before != total):
                self.discard()
                raise TryAgainError("the server sent another part than was asked for")
        else:
            self.discard()
            total = length
        tag = response.headers.get("ETag", "")
        validator = tag if tag and not tag.startswith("W/") else response.headers.get("Last-Modified", "")
        self._known = {"address": self.address, "validator": validator, "total": total}
        self._note.write_text(json.dumps(self._known), encoding="utf-8")
        return total

    def discard(self) -> None:
        """Forget what has come so far."""
        self._known = {}
        self.path.unlink(missing_ok=True)
        self._note.unlink(missing_ok=True)

    def finish(self) -> None:
        """Give the file its name."""
        self.path.replace(self.target)
        self._note.unlink(missing_ok=True)


def number(text: str | None) -> int | None:
    """A whole number in a header, or None."""
    return int(text) if text and text.strip().isdigit() else None


def content_range(text: str) -> tuple[int | None, int | None]:
    """First byte and whole size of `bytes 100-199/200`."""
    span, _, total = text.removeprefix("bytes").partition("/")
    return number(span.partition("-")[0].strip()), number(total)
