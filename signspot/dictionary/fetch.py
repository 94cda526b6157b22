"""Fetching of the videos of a dictionary that has only their addresses: each once, and only missing ones."""

import json
import logging
import urllib.parse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from signspot.dictionary.build import file_name, media_names, refuse_other_content
from signspot.dictionary.contents import LeftOut
from signspot.dictionary.dictionary import Dictionary, save_dictionary
from signspot.dictionary.download import Download, Downloader, DownloadOptions
from signspot.errors import DictionaryError, DownloadError, FormatError, OutputError
from signspot.io.checks import inside, record_checker
from signspot.io.files import explain_write_failure
from signspot.io.processes import locked
from signspot.io.progress import Progress, silent
from signspot.types import Exemplar
from signspot.video.inspection import video_problem
from signspot.video.suffixes import VIDEO_SUFFIXES

FILE_NAME = "fetched.jsonl"
_LOCK = ".fetch.lock"
_PLAYER_PAGES = {"youtube.com": "YouTube", "youtu.be": "YouTube", "vimeo.com": "Vimeo"}
logger = logging.getLogger(__name__)


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
    """Files fetched into a folder, by name; lines that a crash has left unfinished are passed over."""
    path = folder / FILE_NAME
    found: dict[str, Fetched] = {}
    if not path.is_file():
        return found
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            entry = _fetched(json.loads(line)) if line.strip() else None
        except (ValueError, TypeError, RecursionError, FormatError):
            continue
        if entry is not None:
            found[entry.name] = entry
    return found


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
    problems: tuple[LeftOut, ...] = ()  # files that could not be had, with the reason


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
        return _fetch(downloads, folder, options, progress)


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


def _fetch(
    downloads: Sequence[Download], folder: Path, options: DownloadOptions | None, progress: Progress
) -> FetchReport:
    downloader = Downloader(options)
    known = read_manifest(folder)
    fetched: list[Path] = []
    kept: list[Path] = []
    problems: list[LeftOut] = []
    for done, download in enumerate(downloads):
        progress(done, len(downloads))
        name = safe_path(download.name)
        try:
            target = inside(folder, name, "the file")
            if _is_there(target, known.get(name), download):
                kept.append(target)
                continue
            _refuse_player_page(download.url, target)
            digest = downloader.fetch(download, target, video_problem)
        except (DownloadError, FormatError) as error:
            problems.append(LeftOut(folder / name, str(error)))
            logger.info("not fetched: %s", error)
            continue
        when = datetime.now(UTC).isoformat(timespec="seconds")
        add_to_manifest(folder, Fetched(name, download.url, target.stat().st_size, digest, when))
        fetched.append(target)
    progress(len(downloads), len(downloads))
    return FetchReport(tuple(fetched), tuple(kept), tuple(problems))


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
        progress: told how many videos are done.

    Returns:
        The dictionary with the files that are there now, and what could not be had.

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
    wanted = [e for e in dictionary.exemplars if e.path is None and e.id in links]
    names = media_names(_with_suffix(e, links[e.id]) for e in wanted)
    return {e.id: Download(links[e.id], name) for e, name in zip(wanted, names, strict=True)}


def safe_path(name: str) -> str:
    """A relative path that stays in its folder, whatever the name says."""
    parts = name.replace("\\", "/").split("/")
    return "/".join(file_name(part) for part in parts if part.strip(". "))[-400:] or "file"


def _with_suffix(exemplar: Exemplar, url: str) -> Exemplar:
    try:
        suffix = Path(urllib.parse.urlsplit(url).path).suffix.lower()
    except ValueError:  # its turn to be told comes with its download
        suffix = ""
    return replace(exemplar, path=Path(exemplar.id + (suffix if suffix in VIDEO_SUFFIXES else ".mp4")))


def _is_there(target: Path, entry: Fetched | None, download: Download) -> bool:
    """Whether this very file was fetched before and still has its size, or was put there by somebody.

    Raises:
        DownloadError: a file that is not ours lies there, and is no video.
    """
    if not target.is_file():
        return False
    if entry is not None:
        same = not download.sha256 or download.sha256.lower() == entry.sha256
        return same and target.stat().st_size == entry.bytes
    if wrong := video_problem(target):
        raise DownloadError(f"a file that was not fetched lies at {target}: {wrong}. Move it away")
    return True


def _refuse_player_page(url: str, target: Path) -> None:
    """Pages with a player are no files; what they show may not be copied by a program, and is not."""
    try:
        host = (urllib.parse.urlsplit(url).hostname or "").lower()
    except ValueError as error:
        raise DownloadError(f"cannot fetch '{url}': it is no address ({error})") from error
    for site, name in _PLAYER_PAGES.items():
        if host == site or host.endswith("." + site):
            raise DownloadError(f"{url} is a {name} page, not a file: not fetched. Save it yourself as {target}")
