"""Forgetting in files that lie about: plain folders and tables of exemplars, spottings, tracks, landmarks, archives."""

import csv
import hashlib
import io
import lzma
import shutil
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import IO

from signspot.dictionary.opening import open_dictionary
from signspot.dictionary.table import row_files, table_in
from signspot.embedding.tracks import track_source
from signspot.errors import FormatError, OptionsError, SignspotError
from signspot.formats.formats import format_names, read_spottings, write
from signspot.io.files import atomic_write
from signspot.io.text import read_text
from signspot.privacy.steps import Person, Removal, Step, remove_file, remove_lines, write_text
from signspot.types import Spotting
from signspot.video import MEDIA_SUFFIXES

_ARCHIVES = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")
_BLOCK = 1 << 20  # bytes that are read at once
_MOST_GROWTH, _MOST_EXTRA = 100, 1 << 30  # an archive may unpack to so many times its size, and so many bytes more
_DAMAGED = (  # what the readers of archives raise on damaged ones
    *(OSError, EOFError, ValueError, LookupError, NotImplementedError, RuntimeError),
    *(zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, struct.error),
)


def in_plain_folder(person: Person, folder: Path) -> Iterator[Step]:
    """Exemplars of a folder of videos, or of a table beside them.

    Raises:
        SignspotError: the folder holds no exemplars.
    """
    gone = [e for e in open_dictionary(folder).exemplars if person.is_signer(e.signer) or person.is_file(e.path)]
    person.learn(exemplar.path for exemplar in gone)
    files = {exemplar.path for exemplar in gone if exemplar.path is not None}
    table = table_in(folder)
    if table is not None and files:
        yield from _table_lines(table, files)
    for path in sorted(files):
        yield from (remove_file(each) for each in sorted({path, path.with_suffix(".pose")}) if each.is_file())


def _table_lines(table: Path, files: set[Path]) -> Iterator[Step]:
    """The lines of a table that name files which go; all others stay as they are."""
    named = row_files(table)
    lines = {number for number, path in named if path in files}
    if lines:
        removal = Removal("lines", f"{table}: {len(lines)} of {len(named)}")
        yield Step((removal,), partial(_without_lines, table, lines))


def _without_lines(table: Path, gone: set[int]) -> None:
    """Leave out the records that begin at these lines; a record may go over several."""
    text = read_text(table).text
    lines, first = list(io.StringIO(text, newline="")), 1
    kept: list[str] = []
    delimiter = max(",;\t", key=text.lstrip("\r\n").partition("\n")[0].count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    for _ in reader:
        if first not in gone:
            kept += lines[first - 1 : reader.line_num]
        first = reader.line_num + 1
    write_text(table, "".join(kept))


def in_file(person: Person, path: Path) -> Iterator[Step]:
    """Data of the person in a single file: spottings, a track, landmarks, a video, or an archive of any of them.

    Raises:
        OptionsError: it is none of these.
    """
    name = path.name.lower()
    if name.endswith(_ARCHIVES):
        yield from _in_archive(person, path)
    elif person.is_file(path):
        yield remove_file(path)
    elif name.endswith(".safetensors"):
        if person.is_video(_source_of(path)):
            yield remove_file(path)
    elif name.endswith((*format_names(), ".json", ".pkl")):
        yield from _in_spottings(person, path)
    elif path.suffix.lower() not in MEDIA_SUFFIXES:
        raise OptionsError(f"{path} is no file in which somebody could be looked for. Name spottings, tracks, archives")


def _source_of(path: Path) -> str:
    try:
        return track_source(path)
    except SignspotError:
        return ""


def _in_spottings(person: Person, path: Path) -> Iterator[Step]:
    """Spottings in the person's videos; a file that holds no others goes as a whole."""
    found = read_spottings(path)
    kept = [spotting for spotting in found if not person.is_video(spotting.video)]
    if len(kept) == len(found):
        return
    if not kept:
        yield remove_file(path)
    elif path.suffix.lower() == ".jsonl":
        yield from remove_lines(path, lambda row: person.is_video(str(row.get("video", ""))))
    else:
        removal = Removal("spottings", f"{path}: {len(found) - len(kept)} of {len(found)}")
        if path.suffix.lower() == ".pkl":
            raise FormatError(f"{path} holds {len(found) - len(kept)} spottings of it, and pickles are not written")
        yield Step((removal,), partial(_write_again, kept, path))


def _write_again(kept: list[Spotting], path: Path) -> None:
    write(kept, path)


def _in_archive(person: Person, path: Path) -> Iterator[Step]:
    """Members whose content, or name, is that of the person's files; the archive is written again without them."""
    try:
        gone = [name for name, read in _members(path) if _is_persons(person, name, read)]
    except _DAMAGED as error:
        raise _damaged(path, error) from error
    if gone:
        removals = tuple(Removal("member", f"{path}: {name}") for name in gone)
        yield Step(removals, partial(_rewrite_archive, path, set(gone)))


def _damaged(path: Path, error: Exception) -> FormatError:
    return FormatError(f"{path} is no archive that can be read, or it is damaged ({error!s:.200})")


def _members(path: Path) -> Iterator[tuple[str, Callable[[], IO[bytes] | None]]]:
    left = _MOST_GROWTH * path.stat().st_size + _MOST_EXTRA
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            if sum(member.file_size for member in archive.infolist()) > left:
                raise ValueError("it unpacks to far more than it is")
            for member in archive.infolist():
                if not member.is_dir():
                    yield member.filename, partial(archive.open, member)
        return
    with tarfile.open(path) as tape:
        for entry in tape:
            left -= entry.size
            if left < 0:
                raise ValueError("it unpacks to far more than it is")
            if entry.isfile():
                yield entry.name, partial(tape.extractfile, entry)


def _is_persons(person: Person, name: str, read: Callable[[], IO[bytes] | None]) -> bool:
    if person.is_video(name) or any(person.is_video("/".join(name.split("/")[n:])) for n in range(name.count("/") + 1)):
        return True
    stream = read()
    if stream is None or not name.lower().endswith((*MEDIA_SUFFIXES, ".safetensors")):
        return False
    digest = hashlib.sha256()
    with stream:
        while block := stream.read(_BLOCK):
            digest.update(block)
    return any(digest.hexdigest().startswith(known) for known in person.digests)


def _rewrite_archive(path: Path, gone: set[str]) -> None:
    try:
        _without_members(path, gone)
    except _DAMAGED as error:
        raise _damaged(path, error) from error


def _without_members(path: Path, gone: set[str]) -> None:
    with atomic_write(path) as temporary:
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as old, zipfile.ZipFile(temporary, "w") as new:
                for member in old.infolist():
                    if member.filename not in gone:
                        with old.open(member) as source, new.open(member, "w") as target:
                            shutil.copyfileobj(source, target, _BLOCK)
            return
        packing = {".gz": "gz", ".tgz": "gz", ".bz2": "bz2", ".xz": "xz"}.get(path.suffix.lower(), "")
        with tarfile.open(path) as tape, tarfile.open(temporary, f"w:{packing}") as copy:  # type: ignore[call-overload]
            for entry in tape:
                if entry.name not in gone:
                    copy.addfile(entry, tape.extractfile(entry) if entry.isfile() else None)
