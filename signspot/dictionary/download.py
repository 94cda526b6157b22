"""Download of one file over HTTP: politely, resumable, and without trust in what the server says.

The part that has come so far lies in `<name>.part`; only a file that is whole and passes its checks gets its name.
Connections are those of `connections`: they end in time, and lead into no network that the user did not name.
"""

import contextlib
import email.utils
import hashlib
import http.client
import json
import ssl
import time
import urllib.error
import urllib.parse
import urllib.request
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from signspot.dictionary.connections import Connections, RefusedHostError
from signspot.errors import DownloadError, FormatError, OutputError
from signspot.io.checks import checked_whole, parse_json
from signspot.io.files import explain_write_failure
from signspot.io.text import read_text
from signspot.video.inspection import page_problem

_CHUNK = 1 << 16
_PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})  # answers after which it is worth trying again
_SAFE = "%/:=&?~#+!$,;'@()*[]"  # characters of an address that stay as they are
_MOST_DIGITS = 18
_SILENT_AFTER = 3  # a host on which so many downloads in a row failed is not asked again
Check = Callable[[Path], str | None]


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
        with contextlib.suppress(FormatError):
            self._known = _part_of(parse_json(read_text(self._note, exact=True).text, self._note.name))
        if self._known.get("address") != address:
            self.discard()

    @property
    def size(self) -> int:
        """Bytes that are there."""
        return self.path.stat().st_size if self.path.exists() else 0

    def range_headers(self) -> dict[str, str]:
        """Ask for the rest only, where the server gave the file a mark by which it is seen to be the same."""
        mark = self._known.get("etag") or self._known.get("modified")
        return {"Range": f"bytes={self.size}-", "If-Range": mark} if self.size and mark else {}

    def begin(self, response: Any) -> int | None:
        """Make ready to append what the server sends; give the whole size, where the server tells it."""
        tag = response.headers.get("ETag", "")
        marks = {
            "etag": "" if tag.startswith("W/") else tag,
            "modified": response.headers.get("Last-Modified", ""),
        }
        if response.status == 206:
            start, total = content_range(response.headers.get("Content-Range", ""))
            before = self._known.get("total")
            kind = "etag" if self._known.get("etag") else "modified"
            same = bool(marks[kind]) and marks[kind] == self._known.get(kind)
            if start != self.size or (before and total and before != total) or not same:
                self.discard()
                raise TryAgainError("the server sent a part of another file than before, or another part")
        else:
            self.discard()
            total = number(response.headers.get("Content-Length"))
        self._known = {"address": self.address, "total": total, **marks}
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


def _part_of(note: Any) -> dict[str, Any]:
    """Address, marks (both go into headers) and whole size of the file that a part belongs to, by its note.

    Raises:
        FormatError: it is damaged.
    """
    values = {name: note.get(name) or "" for name in ("address", "etag", "modified")} if isinstance(note, dict) else {}
    if not values or not all(
        isinstance(each, str) and each.isascii() and each.isprintable() for each in values.values()
    ):
        raise FormatError("a note of a part must hold its address and its marks")
    total = note.get("total")
    return {**values, "total": None if total is None else checked_whole(total, "total", most=10**_MOST_DIGITS)}


def number(text: str | None) -> int | None:
    """A whole number in a header, or None."""
    digits = (text or "").strip()
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) <= _MOST_DIGITS else None


def content_range(text: str) -> tuple[int | None, int | None]:
    """First byte and whole size of `bytes 100-199/200`."""
    span, _, total = text.removeprefix("bytes").partition("/")
    return number(span.partition("-")[0].strip()), number(total)


@dataclass(frozen=True, slots=True)
class DownloadOptions:
    """Manners towards servers."""

    delay: float = 1.0  # seconds between two requests to one host
    retries: int = 5  # tries that bring nothing new before giving up
    backoff: float = 1.0  # seconds before the second try; doubled from try to try
    longest_wait: float = 120.0  # seconds; a server that asks for more is left for later
    timeout: float = 30.0  # seconds without a byte; twice as many until the answer begins
    patience: float = 60.0  # seconds over which a server must send, on average,
    slowest: float = 1000.0  # so many bytes per second
    max_bytes: int = 500_000_000  # of one file
    agent: str = "signspot (sign dictionary; fetches each video once)"
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic


@dataclass(frozen=True, slots=True)
class Download:
    """A file to fetch."""

    url: str
    name: str  # of the file; `/` between folders
    size: int | None = None  # bytes, where they are known
    sha256: str = ""  # where it is known


class Downloader:
    """Downloads files one after the other and remembers when it asked which host."""

    def __init__(self, options: DownloadOptions | None = None):
        self.options = options or DownloadOptions()
        self._ready: dict[str, float] = {}
        self._silent: Counter[str] = Counter()
        self._connections = Connections(self.options.timeout)

    def fetch(self, download: Download, target: Path, check: Check | None = None) -> str:
        """Fetch a file to `target`, going on with what an earlier call has left.

        Args:
            download: what to fetch; its name is not used here.
            target: where to.
            check: says what is wrong with the content, or None.

        Returns:
            The SHA-256 of the file.

        Raises:
            DownloadError: it cannot be had, or is not what it should be.
            OutputError: it cannot be written.
        """
        address = _address(download.url)
        host = urllib.parse.urlsplit(address).netloc
        if self._silent[host] >= _SILENT_AFTER:
            raise DownloadError(f"{host} did not answer several times: {address} is left for a later run")
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            part = PartFile(target, address)
            resumed = part.size > 0
            self._receive(address, host, download, part)
            wrong, digest = _inspect(part.path, download, check)
            if wrong and resumed:  # perhaps the file has changed between the two halves: once more, whole
                part.discard()
                self._receive(address, host, download, part)
                wrong, digest = _inspect(part.path, download, check)
            if wrong:
                part.discard()
                raise DownloadError(f"{address} is refused: {wrong}")
            part.finish()
        except OSError as error:
            raise OutputError(explain_write_failure(target, error)) from error
        return digest

    def _receive(self, address: str, host: str, download: Download, part: PartFile) -> None:
        """Try until all is there."""
        fruitless, most = 0, part.size
        while True:
            try:
                self._try_once(address, host, download, part)
                self._silent[host] = 0
                return
            except TryAgainError as error:
                fruitless = 0 if part.size > most + _CHUNK else fruitless + 1
                most = max(most, part.size)
                if fruitless > self.options.retries or error.after > self.options.longest_wait:
                    self._silent[host] += 1
                    raise DownloadError(f"gave up on {address}: {error}. Run it again later to go on") from error
                self.options.sleep(max(error.after, self._backoff(fruitless)))

    def _backoff(self, fruitless: int) -> float:
        return min(self.options.longest_wait, self.options.backoff * 2.0 ** max(0, fruitless - 1))

    def _try_once(self, address: str, host: str, download: Download, part: PartFile) -> None:
        self.options.sleep(max(0.0, self._ready.get(host, 0.0) - self.options.clock()))
        headers = {"User-Agent": self.options.agent, "Accept-Encoding": "identity", "Accept": "video/*,*/*;q=0.5"}
        request = urllib.request.Request(address, headers=headers | part.range_headers())
        try:
            with self._connections.open(request) as response:
                self._store(address, response, download, part)
        except urllib.error.HTTPError as error:
            with error:
                _judge_status(address, error, part)
        except RefusedHostError as error:
            raise DownloadError(f"cannot fetch {address}: {error}") from error
        except urllib.error.URLError as error:
            if isinstance(error.reason, RefusedHostError | ssl.SSLCertVerificationError | str):
                raise DownloadError(f"cannot fetch {address}: {error.reason}") from error
            raise TryAgainError(f"no connection ({error.reason})") from error
        except (http.client.InvalidURL, ValueError, OverflowError) as error:  # of hosts, ports and redirects
            raise DownloadError(f"cannot fetch {address}: it leads to a malformed address or answer") from error
        except (http.client.HTTPException, TimeoutError, ConnectionError, ssl.SSLError) as error:
            raise TryAgainError(f"the connection broke ({type(error).__name__})") from error
        finally:
            self._ready[host] = self.options.clock() + self.options.delay

    def _store(self, address: str, response: Any, download: Download, part: PartFile) -> None:
        total = part.begin(response)
        if response.headers.get("Content-Encoding", "identity") != "identity":
            raise DownloadError(f"{address} comes compressed, which was not asked for")
        if download.size is not None and total is not None and total != download.size:
            raise DownloadError(f"{address} has {total:,} bytes where {download.size:,} were expected")
        if (total or 0) > self.options.max_bytes:
            raise DownloadError(f"{address} has {total:,} bytes; the limit is {self.options.max_bytes:,}")
        with part.path.open("ab") as file:
            self._copy(address, response, file, part)
        if total is not None and part.size < total:
            raise TryAgainError(f"the connection ended after {part.size:,} of {total:,} bytes")
        if total is not None and part.size > total:
            part.discard()
            raise TryAgainError(f"more than the announced {total:,} bytes came")

    def _copy(self, address: str, response: Any, file: IO[bytes], part: PartFile) -> None:
        received = part.size
        since, before = self.options.clock(), received
        while chunk := self._read(response):
            if self.options.clock() - since > self.options.patience:
                if received - before < self.options.slowest * self.options.patience:
                    raise TryAgainError(f"the server sends less than {self.options.slowest:,.0f} bytes per second")
                since, before = self.options.clock(), received
            if received == 0 and (wrong := page_problem(chunk)):
                part.discard()
                raise DownloadError(f"{address} is refused: {wrong}")
            received += len(chunk)
            if received > self.options.max_bytes:
                part.discard()
                raise DownloadError(f"{address} has more than {self.options.max_bytes:,} bytes, the limit")
            file.write(chunk)

    def _read(self, response: Any) -> bytes:
        """The next bytes, as they come: waiting for more would let a slow server hold us for hours."""
        self._connections.go_on()
        try:
            data: bytes = response.read1(_CHUNK)
        except (http.client.HTTPException, OSError, ValueError) as error:  # ValueError: a chunk of no possible length
            raise TryAgainError(f"the connection broke ({type(error).__name__})") from error
        return data


def _inspect(path: Path, download: Download, check: Check | None) -> tuple[str | None, str]:
    """The fault of a file that came, if any, and its SHA-256."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    size = path.stat().st_size
    if download.size is not None and size != download.size:
        return f"{size:,} bytes came where {download.size:,} were expected", digest
    if download.sha256 and digest != download.sha256.lower():
        return f"its SHA-256 is {digest[:12]}… where {download.sha256[:12].lower()}… was expected", digest
    return (check(path) if check else None), digest


def _address(url: str) -> str:
    address = urllib.parse.quote(url.strip(), safe=_SAFE)
    try:
        parts = urllib.parse.urlsplit(address)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 0) >= 0
    except ValueError:
        usable = False
    if not usable:
        raise DownloadError(f"cannot fetch '{url}': only http and https addresses are fetched")
    return address


def _judge_status(address: str, error: urllib.error.HTTPError, part: PartFile) -> None:
    """Tell apart answers that end the download, answers that may pass, and "you have all of it"."""
    if error.code == 416:
        whole = number(error.headers.get("Content-Range", "").rpartition("/")[2])
        if whole is not None and whole == part.size:
            return
        part.discard()
        raise TryAgainError("the server does not have the rest of it") from error
    if error.code in _PASSING:
        after = _retry_after(error.headers.get("Retry-After", ""))
        asked = f", and asks to wait {after:.0f} s" if after else ""
        raise TryAgainError(f"the server answered {error.code} {error.reason}{asked}", after) from error
    if 300 <= error.code < 400:
        raise DownloadError(f"cannot fetch {address}: redirected too often, or to something not fetched") from error
    raise DownloadError(f"cannot fetch {address}: the server answered {error.code} {error.reason}") from error


def _retry_after(text: str) -> float:
    """Seconds to wait: given as a number or as a date."""
    seconds = number(text)
    if seconds is not None:
        return float(seconds)
    with contextlib.suppress(TypeError, ValueError, OverflowError, IndexError):
        return max(0.0, email.utils.parsedate_to_datetime(text).timestamp() - time.time())
    return 0.0
