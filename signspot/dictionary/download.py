"""Download of the videos of a dictionary that has only their addresses: politely, resumable, each file once.

The part that has come so far lies in `<name>.part`; only a file that is whole and passes its checks gets its name.
Connections are http and https only, with few redirects, end in time, and lead into no network that the user did not
name.
"""

import contextlib
import email.utils
import hashlib
import http.client
import ipaddress
import json
import logging
import socket
import ssl
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import IO, Any

from signspot.dictionary.build import file_name, media_names, refuse_other_content
from signspot.dictionary.dictionary import Dictionary, LeftOut
from signspot.dictionary.json_file import save_dictionary
from signspot.errors import DictionaryError, DownloadError, FormatError, OutputError
from signspot.io.checks import check_int, parse_json, path_inside, record_checker
from signspot.io.files import explain_write_failure
from signspot.io.processes import locked
from signspot.io.progress import Progress, silent
from signspot.io.text import LARGEST, read_bytes, read_text
from signspot.types import Exemplar
from signspot.video import VIDEO_SUFFIXES
from signspot.video.probing import page_problem, video_problem

logger = logging.getLogger(__name__)


class RefusedHostError(OSError):
    """A redirect leads to this machine or its network, where the user's own address did not."""


class Connections:
    """Opens addresses; what the user named may be anywhere, what a server redirects to may not.

    Args:
        timeout: seconds without a byte; an answer must begin within twice as many, however slowly it drips.
    """

    def __init__(self, timeout: float):
        self.timeout = timeout
        self._sockets: list[socket.socket] = []  # of the present request and its redirects
        self._local: bool | None = None  # whether the user's own address was local; None: not connected yet
        self._due = 0.0  # when the present step must be done
        self._opener = urllib.request.OpenerDirector()  # http and https only: no file:, ftp: or data:
        for handler in (
            urllib.request.ProxyHandler(),
            _Handler(self.admit),
            urllib.request.UnknownHandler(),
            urllib.request.HTTPErrorProcessor(),
            urllib.request.HTTPDefaultErrorHandler(),
            _FewRedirects(),
        ):
            self._opener.add_handler(handler)

    @contextmanager
    def open(self, request: urllib.request.Request) -> Iterator[Any]:
        """Send a request; give the response once its headers are there, and close it in the end.

        Raises:
            RefusedHostError: it was redirected to where it may not go; also as the reason of a URLError.
            OSError: there is no connection.
            http.client.HTTPException: the answer is not HTTP.
            ValueError: an address is malformed.
        """
        self._sockets, self._local = [], None
        self.go_on()
        finished = threading.Event()
        threading.Thread(target=self._watch, args=(finished,), daemon=True).start()
        try:
            with self._opener.open(request, timeout=self.timeout) as response:
                yield response
        finally:
            finished.set()

    def go_on(self) -> None:
        """Begin the next step, such as reading some bytes: it has its own time."""
        self._due = time.monotonic() + 2 * self.timeout

    def _watch(self, finished: threading.Event) -> None:
        """Hang up when a step takes too long: a byte now and then would let a server hold us for ever."""
        sockets = self._sockets
        while not finished.wait(min(1.0, self.timeout / 2)):
            if time.monotonic() > self._due:
                for connection in sockets:
                    with suppress(OSError):
                        connection.shutdown(socket.SHUT_RDWR)

    def admit(self, connection: socket.socket) -> None:
        """Take a new connection, if it leads where the user wanted to go.

        Raises:
            RefusedHostError: it does not. Nothing was sent.
        """
        address = str(connection.getpeername()[0])
        local = is_local(address)
        if self._local is None:
            self._local = local
        if local and not self._local:
            raise RefusedHostError(f"it redirects to {address}, an address of this machine or its own network")
        self._sockets.append(connection)


def is_local(address: str) -> bool:
    """Whether an IP address belongs to this machine, its network, or to nobody in public."""
    number = ipaddress.ip_address(address.partition("%")[0])
    mapped = getattr(number, "ipv4_mapped", None)
    return not (mapped or number).is_global


class _FewRedirects(urllib.request.HTTPRedirectHandler):
    max_redirections = 5
    max_repeats = 2


class _Admitted(http.client.HTTPConnection):
    """A connection that may say nothing before it is admitted."""

    def __init__(self, *args: Any, admit: Callable[[socket.socket], None], **options: Any):
        super().__init__(*args, **options)
        self._admit = admit

    def connect(self) -> None:
        """Connect, and close again where the address is refused."""
        super().connect()
        try:
            self._admit(self.sock)
        except RefusedHostError:
            self.close()
            raise


class _AdmittedHttps(_Admitted, http.client.HTTPSConnection):
    """The same, encrypted."""


class _Handler(urllib.request.HTTPHandler, urllib.request.HTTPSHandler):
    """Opens http and https by connections that are admitted."""

    def __init__(self, admit: Callable[[socket.socket], None]):
        super().__init__()
        self._admit = admit

    def http_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        """Open a request of the scheme http."""
        return self.do_open(partial(_Admitted, admit=self._admit), req)

    def https_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        """Open a request of the scheme https."""
        return self.do_open(partial(_AdmittedHttps, admit=self._admit), req)


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
        isinstance(text, str) and text.isascii() and text.isprintable() for text in values.values()
    ):
        raise FormatError("a note of a part must hold its address and its marks")
    total = note.get("total")
    return {**values, "total": None if total is None else check_int(total, "total", most=10**_MOST_DIGITS)}


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
    """How servers are asked."""

    delay: float = 1.0  # seconds between two requests to one host
    retries: int = 5  # tries that bring nothing new before giving up
    backoff: float = 1.0  # seconds before the second try; doubled from try to try
    longest_wait: float = 120.0  # seconds; a server that asks for more is left for later
    timeout: float = 30.0  # seconds without a byte; twice as many until the answer begins
    slow_after: float = 60.0  # seconds over which a server must send, on average,
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


class Downloader:
    """Downloads files one after the other and remembers when it asked which host."""

    def __init__(self, options: DownloadOptions | None = None):
        self.options = options or DownloadOptions()
        self._ready: dict[str, float] = {}
        self._silent: Counter[str] = Counter()
        self._connections = Connections(self.options.timeout)

    def fetch(self, url: str, target: Path, check: Check | None = None) -> str:
        """Fetch a file to `target`, going on with what an earlier call has left.

        Args:
            url: what to fetch.
            target: where to.
            check: says what is wrong with the content, or None.

        Returns:
            The SHA-256 of the file.

        Raises:
            DownloadError: it cannot be fetched, or is not what it should be.
            OutputError: it cannot be written.
        """
        address = _address(url)
        host = urllib.parse.urlsplit(address).netloc
        if self._silent[host] >= _SILENT_AFTER:
            raise DownloadError(f"{host} did not answer several times: {address} is left for a later run")
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            part = PartFile(target, address)
            resumed = part.size > 0
            self._receive(address, host, part)
            wrong = check(part.path) if check else None
            if wrong and resumed:  # perhaps the file has changed between the two halves: once more, whole
                part.discard()
                self._receive(address, host, part)
                wrong = check(part.path) if check else None
            if wrong:
                part.discard()
                raise DownloadError(f"{address} is refused: {wrong}")
            with part.path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            part.finish()
        except OSError as error:
            raise OutputError(explain_write_failure(target, error)) from error
        return digest

    def _receive(self, address: str, host: str, part: PartFile) -> None:
        """Try until all is there."""
        fruitless, most = 0, part.size
        while True:
            try:
                self._try_once(address, host, part)
                self._silent[host] = 0
                return
            except TryAgainError as error:
                fruitless = 0 if part.size > most + _CHUNK else fruitless + 1
                most = max(most, part.size)
                if fruitless > self.options.retries or error.after > self.options.longest_wait:
                    self._silent[host] += 1
                    raise DownloadError(f"gave up on {address}: {error}. Run it again later to resume") from error
                self.options.sleep(max(error.after, self._backoff(fruitless)))

    def _backoff(self, fruitless: int) -> float:
        return min(self.options.longest_wait, self.options.backoff * 2.0 ** max(0, fruitless - 1))

    def _try_once(self, address: str, host: str, part: PartFile) -> None:
        self.options.sleep(max(0.0, self._ready.get(host, 0.0) - self.options.clock()))
        headers = {"User-Agent": self.options.agent, "Accept-Encoding": "identity", "Accept": "video/*,*/*;q=0.5"}
        request = urllib.request.Request(address, headers=headers | part.range_headers())
        try:
            with self._connections.open(request) as response:
                self._store(address, response, part)
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

    def _store(self, address: str, response: Any, part: PartFile) -> None:
        total = part.begin(response)
        if response.headers.get("Content-Encoding", "identity") != "identity":
            raise DownloadError(f"{address} is compressed, although this was not requested")
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
            if self.options.clock() - since > self.options.slow_after:
                if received - before < self.options.slowest * self.options.slow_after:
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
        pause = f", and asks to wait {after:.0f} s" if after else ""
        raise TryAgainError(f"the server answered {error.code} {error.reason}{pause}", after) from error
    if 300 <= error.code < 400:
        raise DownloadError(
            f"cannot fetch {address}: too many redirects, or one to an address that is not allowed"
        ) from error
    raise DownloadError(f"cannot fetch {address}: the server answered {error.code} {error.reason}") from error


def _retry_after(text: str) -> float:
    """Seconds to wait: given as a number or as a date."""
    seconds = number(text)
    if seconds is not None:
        return float(seconds)
    with contextlib.suppress(TypeError, ValueError, OverflowError, IndexError):
        return max(0.0, email.utils.parsedate_to_datetime(text).timestamp() - time.time())
    return 0.0


FILE_NAME = "fetched.jsonl"
_LOCK = ".fetch.lock"
_PLAYER_PAGES = {"youtube.com": "YouTube", "youtu.be": "YouTube", "vimeo.com": "Vimeo"}


@dataclass(frozen=True, slots=True)
class Fetched:
    """A file that was fetched whole."""

    name: str  # relative to the folder
    url: str
    bytes: int
    sha256: str
    when: str  # ISO 8601, UTC


_fetched = record_checker(Fetched)


def read_manifest(folder: Path) -> dict[str, Fetched]:
    """Files fetched into a folder, by name; lines that a crash has left unfinished are passed over.

    Raises:
        FormatError: it cannot be read, or is larger than any text file.
    """
    path = folder / FILE_NAME
    entries: dict[str, Fetched] = {}
    if not path.is_file():
        return entries
    for line in read_bytes(path, LARGEST).decode("utf-8", errors="replace").splitlines():
        try:
            entry = _fetched(json.loads(line)) if line.strip() else None
        except (ValueError, TypeError, RecursionError, FormatError):
            continue
        if entry is not None:
            entries[entry.name] = entry
    return entries


def add_to_manifest(folder: Path, entry: Fetched) -> None:
    """Note a file. A line is added at the end: rewriting thousands of lines for each file would be slow.

    Raises:
        OutputError: it cannot be written.
    """
    path = folder / FILE_NAME
    try:
        with path.open("a+b") as file:
            end = file.seek(0, 2)
            torn = end > 0 and (file.seek(end - 1), file.read(1))[1] != b"\n"
            file.write((b"\n" if torn else b"") + json.dumps(asdict(entry)).encode() + b"\n")
    except OSError as error:
        raise OutputError(explain_write_failure(path, error)) from error


@dataclass(frozen=True, slots=True)
class FetchReport:
    """Result of a run of fetching."""

    fetched: tuple[Path, ...] = ()  # new files
    kept: tuple[Path, ...] = ()  # files that an earlier run has fetched
    problems: tuple[LeftOut, ...] = ()  # files that could not be fetched, with the reason


def fetch(
    downloads: Sequence[Download],
    folder: Path,
    options: DownloadOptions | None = None,
    progress: Progress = silent,
) -> FetchReport:
    """Fetch videos into a folder, one after the other. Run again, it fetches only what is missing.

    Raises:
        OutputError: the folder cannot be written, or another process fetches into it.
    """
    with _alone(folder):
        downloader = Downloader(options)
        manifest = read_manifest(folder)
        fetched: list[Path] = []
        earlier: list[Path] = []
        problems: list[LeftOut] = []
        for done, download in enumerate(downloads):
            progress(done, len(downloads))
            name = safe_path(download.name)
            try:
                target = path_inside(folder, name, "the file")
                if _is_there(target, manifest.get(name)):
                    earlier.append(target)
                    continue
                _refuse_player_page(download.url, target)
                digest = downloader.fetch(download.url, target, video_problem)
            except (DownloadError, FormatError) as error:
                problems.append(LeftOut(folder / name, str(error)))
                logger.info("not fetched: %s", error)
                continue
            when = datetime.now(UTC).isoformat(timespec="seconds")
            add_to_manifest(folder, Fetched(name, download.url, target.stat().st_size, digest, when))
            fetched.append(target)
        progress(len(downloads), len(downloads))
    return FetchReport(tuple(fetched), tuple(earlier), tuple(problems))


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Keep a folder to one process: two that append to the same unfinished file would mix it up."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with locked(folder / _LOCK) as held:
            if not held:
                raise OutputError(f"another process fetches into {folder}. Wait until it is done, or end it.")
            yield
    except OSError as error:
        raise OutputError(explain_write_failure(folder / _LOCK, error)) from error


def fetch_dictionary(
    dictionary: Dictionary,
    folder: Path,
    options: DownloadOptions | None = None,
    progress: Progress = silent,
) -> tuple[Dictionary, FetchReport]:
    """Fetch the videos that a dictionary has addresses for but no files, and write it into `folder`.

    Args:
        dictionary: with `links`, such as one imported from `bsldict_v1.pkl`. Exemplars that have a file must have
            it in `folder`.
        folder: the dictionary's folder, or a new one.
        options: how to behave towards servers.
        progress: of videos.

    Returns:
        The dictionary with the files that are there now, and what could not be fetched.

    Raises:
        DictionaryError: there is nothing to fetch from.
        OutputError: the folder cannot be written.
    """
    if not dictionary.contents.links:
        raise DictionaryError("this dictionary has no addresses to fetch videos from")
    refuse_other_content(folder, dictionary)
    save_dictionary(dictionary, folder)  # before any work: it fails where a file lies elsewhere
    downloads = downloads_of(dictionary)
    report = fetch(list(downloads.values()), folder, options, progress)
    there = {path: path for path in (*report.fetched, *report.kept)}
    targets = {name: folder / safe_path(download.name) for name, download in downloads.items()}
    filled = [
        replace(exemplar, path=there.get(targets[exemplar.id])) if exemplar.id in targets else exemplar
        for exemplar in dictionary.exemplars
    ]
    complete = Dictionary(replace(dictionary.contents, exemplars=tuple(filled)), folder)
    save_dictionary(complete, folder)
    return complete, report


def downloads_of(dictionary: Dictionary) -> dict[str, Download]:
    """Downloads by exemplar id, for exemplars that have an address and no file."""
    links = dictionary.contents.links
    missing = [e for e in dictionary.exemplars if e.path is None and e.id in links]
    names = media_names(_with_suffix(e, links[e.id]) for e in missing)
    return {e.id: Download(links[e.id], name) for e, name in zip(missing, names, strict=True)}


def safe_path(name: str) -> str:
    """A relative path that stays in its folder, whatever the name says."""
    parts = name.replace("\\", "/").split("/")
    return "/".join(file_name(part) for part in parts if part.strip(". "))[-400:] or "file"


def _with_suffix(exemplar: Exemplar, url: str) -> Exemplar:
    try:
        suffix = Path(urllib.parse.urlsplit(url).path).suffix.lower()
    except ValueError:  # reported when it is downloaded
        suffix = ""
    return replace(exemplar, path=Path(exemplar.id + (suffix if suffix in VIDEO_SUFFIXES else ".mp4")))


def _is_there(target: Path, entry: Fetched | None) -> bool:
    """Whether this very file was fetched before and still has its size, or was put there by somebody.

    Raises:
        DownloadError: a file that is not ours lies there, and is not a video.
    """
    if not target.is_file():
        return False
    if entry is not None:
        return target.stat().st_size == entry.bytes
    if wrong := video_problem(target):
        raise DownloadError(f"a file that was not fetched lies at {target}: {wrong}. Move it away")
    return True


def _refuse_player_page(url: str, target: Path) -> None:
    """Pages with a player are not files; what they show may not be copied by a program, and is not."""
    try:
        host = (urllib.parse.urlsplit(url).hostname or "").lower()
    except ValueError as error:
        raise DownloadError(f"cannot fetch '{url}': it is not a valid address ({error})") from error
    for site, name in _PLAYER_PAGES.items():
        if host == site or host.endswith("." + site):
            raise DownloadError(f"{url} is a {name} page, not a file: not fetched. Save it yourself as {target}")
