"""Removal of a signer or a video: from dictionaries, corpora, stores of annotations, loose files and the cache.

Everything is found first, and listed; only then, if asked for, removed. Nothing else is touched. Data of the server is
found by `signspot.web.person_data`, which is above this package and is passed in.
"""

import csv
import hashlib
import io
import json
import lzma
import os
import re
import shutil
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from glob import escape
from pathlib import Path, PurePosixPath
from typing import IO, Any, Protocol

from signspot.annotation.store import FILE as STORE_FILE
from signspot.annotation.store import is_address, open_store
from signspot.corpus.corpus import CorpusVideo, Layout, open_corpus
from signspot.dictionary.csv_file import row_files, table_in
from signspot.dictionary.dictionary import Dictionary
from signspot.dictionary.download import FILE_NAME as MANIFEST
from signspot.dictionary.json_file import DICTIONARY_FILE, read_json, save_dictionary
from signspot.dictionary.open_dictionary import open_dictionary
from signspot.embedding.tracks import SUFFIX, track_header, track_source
from signspot.errors import DictionaryError, FormatError, OptionsError, SignspotError, StoreError
from signspot.formats.formats import format_names, read_spottings, write
from signspot.io.checks import parse_json
from signspot.io.files import DIGESTS, atomic_write, cache_folder, content_digest
from signspot.io.text import read_text
from signspot.landmarks.cache import PARTS
from signspot.video import MEDIA_SUFFIXES

OUT_OF_REACH = (
    "weights that were trained on it",
    "ids of its exemplars beside what they found in videos of others",
    "reports, plots and videos, and whatever else was exported to places that were not named",
    "backups (*.bak), copies on other machines, and the original video, unless a corpus or dictionary holds it",
)
_FEATURES = re.compile(r"(?P<video>.+)-(?P<digest>[0-9a-f]{32})-\w+\.npy")  # what a training keeps of one video
_EXEMPLARS = re.compile(r"exemplars-[0-9a-f]+-.*\.npy")  # and of a whole dictionary
_ARCHIVES = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")
_BLOCK = 1 << 20  # bytes that are read at once
_MOST_GROWTH, _MOST_EXTRA = 100, 1 << 30  # an archive may unpack to so many times its size, and so many bytes more
_DAMAGED = (  # what the readers of archives raise on damaged ones
    *(OSError, EOFError, ValueError, LookupError, NotImplementedError, RuntimeError),
    *(zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, struct.error),
)


@dataclass(frozen=True, slots=True)
class Removal:
    """One thing that is removed."""

    kind: str  # exemplar, file, cache entry, …
    what: str  # a path, or a path and a name in it


@dataclass(frozen=True, slots=True)
class Step:
    """Things that go together, and how they go."""

    removals: tuple[Removal, ...]
    act: Callable[[], object]


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
        return bool(name) and (name in self.names or _stem(plain) in {_stem(video) for video in self.names})

    def learn(self, paths: Iterable[Path | None]) -> None:
        """Take the contents of files that are about to go."""
        for path in paths:
            if path is not None and path.is_file():
                self.digests.add(content_digest(path))
                self.names |= {str(path), str(path.resolve())}


class ServedData(Protocol):
    """Finds data that the server keeps; `signspot.web.person_data` implements it."""

    folder: str  # name of the server's own folder in a served one

    def in_folder(self, person: Person, root: Path) -> Iterator[Step]:
        """Steps for a served folder."""

    def in_database(self, person: Person, address: Any) -> Iterator[Step] | None:
        """Steps for a database; None where the server keeps nothing in it."""


@dataclass
class _KeptFolders:
    """Contents of a folder and all below it, links left alone."""

    dictionaries: list[Path] = field(default_factory=list)
    corpora: list[Path] = field(default_factory=list)
    runs: list[Path] = field(default_factory=list)  # of annotation, each with a store
    served: list[Path] = field(default_factory=list)
    tensors: list[Path] = field(default_factory=list)  # tracks and galleries, among other things
    features: list[Path] = field(default_factory=list)  # that trainings keep
    labels: list[Path] = field(default_factory=list)  # that `learn` made

    @classmethod
    def below(cls, folder: Path, own_folder: str) -> "_KeptFolders":
        """Look through a folder."""
        contents = cls()
        for name, folders, files in os.walk(folder):
            path, names = Path(name), set(files)
            folders.sort()
            contents.dictionaries += [path] if DICTIONARY_FILE in names else []
            contents.corpora += [path] if "corpus.json" in names else []
            contents.runs += [path] if STORE_FILE in names else []
            contents.served += [path] if own_folder in folders else []
            contents.tensors += [path / file for file in sorted(names) if file.endswith(SUFFIX)]
            contents.features += [
                path / file for file in sorted(names) if _FEATURES.fullmatch(file) or _EXEMPLARS.fullmatch(file)
            ]
            if "stages" in folders:
                contents.labels += [path / file for file in sorted(names) if re.fullmatch(r"labels-.+\.jsonl", file)]
        return contents

    @property
    def is_known(self) -> bool:
        """Whether signspot made the folder, or one below; tracks alone may lie among a person's own files."""
        return any((self.dictionaries, self.corpora, self.runs, self.served, self.features, self.labels))


def forget(
    who: str, places: Sequence[str | os.PathLike[str]], served: ServedData, *, yes: bool = False
) -> list[Removal]:
    """Find everything that is kept of a signer or a video, and remove it if `yes`.

    Args:
        who: the path of a video, its id in a corpus or store, or the name of a signer.
        places: folders of exemplars; folders that hold, at any depth, dictionaries, corpora, annotation runs, archives
            of tracks, trainings, or what `serve` keeps; addresses of databases; and files: spottings, tracks,
            landmarks, archives. The cache is always one of them.
        served: finds data of the server.
        yes: remove; otherwise everything stays as it is.

    Returns:
        What was, or would be, removed.

    Raises:
        OptionsError: a place is none of these.
        SignspotError: a place cannot be read or written.
    """
    if not who.strip():
        raise OptionsError("name a signer or a video to forget")
    person, addresses, databases, files = Person(who), list[str](), list[Path](), list[Path]()
    steps: list[Step] = []
    folders: list[_KeptFolders] = []
    for place in sorted({os.fspath(folder) for folder in places}):
        path = Path(place)
        if is_address(place):
            addresses.append(place)
        elif path.is_file():
            (databases if path.suffix in (".sqlite", ".db") else files).append(path)
        else:
            folders.append(_KeptFolders.below(path, served.folder))
            steps += _in_folder(person, path, folders[-1])
    for store in [*databases, *(run for folder in folders for run in folder.runs)]:
        steps += _in_store(person, store)  # now that the videos of the person are known by name
    for folder in folders:
        steps += _in_kept_folders(person, folder, served)
    for address in addresses:
        steps += _in_database(person, address, served)
    for file in files:
        steps += in_file(person, file)
    steps += _in_cache(person, cache_folder())
    if yes:
        for step in steps:
            step.act()
    return [removal for step in steps for removal in step.removals]


def _in_folder(person: Person, folder: Path, contents: _KeptFolders) -> list[Step]:
    """Data of the person in dictionaries and corpora of a folder, or in a plain folder of exemplars."""
    if contents.is_known:
        dictionaries = [step for folder in contents.dictionaries for step in _in_dictionary(person, folder)]
        return [*dictionaries, *(step for folder in contents.corpora for step in _in_corpus(person, folder))]
    try:
        return list(_in_plain_folder(person, folder))
    except DictionaryError as error:
        if contents.tensors:
            return []
        raise OptionsError(
            f"{folder} is not a dictionary, corpus, annotation run, archive, training, served folder or folder of "
            f"exemplars ({error}). Name one that is"
        ) from error


def _in_database(person: Person, address: str, served: ServedData) -> Iterator[Step]:
    """A database that annotation or a server was given, or both."""
    server_steps = served.in_database(person, address)
    try:
        yield from _in_store(person, address)
    except StoreError:
        if server_steps is None:
            raise
    yield from server_steps or ()


def _in_dictionary(person: Person, folder: Path) -> Iterator[Step]:
    if not (folder / DICTIONARY_FILE).is_file():
        return
    contents = read_json(folder / DICTIONARY_FILE)
    gone = [e for e in contents.exemplars if person.is_signer(e.signer) or person.is_file(e.path)]
    if not gone:
        return
    person.learn(exemplar.path for exemplar in gone)
    ids = {exemplar.id for exemplar in gone}
    person.exemplars |= ids
    remaining = tuple(exemplar for exemplar in contents.exemplars if exemplar.id not in ids)
    links = {name: link for name, link in contents.links.items() if name not in ids}
    rest = Dictionary(replace(contents, exemplars=remaining, links=links), folder)
    shared = {exemplar.path for exemplar in remaining}
    media = [e.path for e in gone if e.path is not None and e.path.is_file() and e.path not in shared]
    removals = [Removal("exemplar", f"{folder / DICTIONARY_FILE}: {exemplar.id}") for exemplar in gone]
    yield Step(tuple(removals), partial(save_dictionary, rest, folder))
    names = {path.relative_to(folder).as_posix() for path in media if path.is_relative_to(folder)}
    yield from remove_lines(folder / MANIFEST, lambda row: row.get("name") in names)
    yield from map(remove_file, media)


def _in_corpus(person: Person, folder: Path) -> Iterator[Step]:
    layout = Layout(folder)
    if not layout.corpus.is_file():
        return
    videos = open_corpus(folder).videos.values()
    gone = [v for v in videos if v.id == person.who or person.is_signer(v.signer) or person.is_file(v.video)]
    if not gone:
        return
    files = [path for video in gone for path in (video.video, video.landmarks) if path is not None]
    person.learn(files)
    ids = {video.id for video in gone}
    person.names |= ids | {path.relative_to(folder).as_posix() for path in files if path.is_relative_to(folder)}
    removals = tuple(Removal("video", f"{layout.corpus}: {name}") for name in sorted(ids))
    yield Step(removals, partial(_rewrite_corpus, layout, ids))
    for labels in sorted((folder / "labels").rglob("*.jsonl")):
        yield from remove_lines(labels, lambda row: person.is_video(str(row.get("video", ""))))
    yield from map(remove_file, sorted({path for video in gone for path in _files_of(layout, video)}))


def _files_of(layout: Layout, video: CorpusVideo) -> Iterator[Path]:
    files = [video.video, video.landmarks, video.subtitles, *layout.folder.glob(f"truth/*/{escape(video.id)}.jsonl")]
    files += layout.folder.glob(f".finished/**/{escape(video.id)}.json")
    return (path for path in files if path is not None and path.is_file())


def _rewrite_corpus(layout: Layout, ids: set[str]) -> None:
    data = parse_json(read_text(layout.corpus, exact=True).text, str(layout.corpus))
    data["videos"] = [entry for entry in data["videos"] if entry.get("id") not in ids]
    write_json(layout.corpus, data)
    if layout.splits.is_file():
        splits = parse_json(read_text(layout.splits, exact=True).text, str(layout.splits))
        write_json(layout.splits, _without(splits, ids))


def _without(value: Any, names: set[str]) -> Any:
    """JSON without names in its lists."""
    if isinstance(value, dict):
        return {key: _without(entry, names) for key, entry in value.items()}
    if isinstance(value, list):
        return [entry for entry in value if not (isinstance(entry, str) and entry in names)]
    return value


def _in_store(person: Person, address: str | Path) -> Iterator[Step]:
    with open_store(address) as store:
        videos = [v.video for v in store.videos() if v.digest in person.digests or v.video in person.names]
        name = store.name
    for video in videos:
        person.names.add(video)
        yield Step((Removal("annotations", f"{name}: {video}"),), partial(_forget_stored, address, video))


def _forget_stored(address: str | Path, video: str) -> None:
    with open_store(address) as store:
        store.forget_video(video)
        store.wipe()


def _in_cache(person: Person, cache: Path) -> Iterator[Step]:
    """Entries are named by the content of their video; of a video that is gone, tracks still know the name."""
    entries = [(part, path) for part, suffix in PARTS.items() for path in sorted((cache / part).rglob(f"*{suffix}"))]
    for part, path in entries:
        if part == "tracks" and _source_of(path) in person.names:
            person.digests.add(path.name.partition("-")[0])
    for part, path in entries:
        if path.name.partition("-")[0] in person.digests:
            yield Step((Removal(f"cached {part}", str(path)),), partial(path.unlink, missing_ok=True))
    yield from remove_lines(
        cache / DIGESTS, lambda row: row.get("digest") in person.digests or person.is_video(str(row.get("path", "")))
    )


def _in_kept_folders(person: Person, contents: _KeptFolders, served: ServedData) -> Iterator[Step]:
    """Data of a person whose videos and exemplars are known by now; stores of annotation apart."""
    for path in contents.tensors:
        if _is_persons_tensor(person, path):
            yield remove_file(path)
    for path in contents.features:
        named = _FEATURES.fullmatch(path.name)
        is_named = named and (named["digest"] in person.digests or named["video"] in person.names)
        if is_named or (person.exemplars and _EXEMPLARS.fullmatch(path.name)):
            yield remove_file(path)
    for path in contents.labels:
        yield from remove_lines(path, lambda row: person.is_video(str(row.get("video", ""))))
    for root in contents.served:
        yield from served.in_folder(person, root)


def _is_persons_tensor(person: Person, path: Path) -> bool:
    """Whether a track is of the person's video, or exemplars of the person are among those of a gallery."""
    try:
        header = track_header(path)
        exemplars = parse_json(header.get("exemplars", "[]"), str(path))
    except SignspotError:
        return False
    if header.get("kind", "").startswith("signspot track"):
        return person.is_video(header.get("video", "")) or header.get("source", "") in person.digests
    is_gallery = header.get("kind", "").startswith("signspot gallery") and isinstance(exemplars, list)
    return is_gallery and any(isinstance(row, list) and set(map(str, row[1:2])) & person.exemplars for row in exemplars)


def _in_plain_folder(person: Person, folder: Path) -> Iterator[Step]:
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
        yield from (remove_file(file) for file in sorted({path, path.with_suffix(".pose")}) if file.is_file())


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
    remaining: list[str] = []
    delimiter = max(",;\t", key=text.lstrip("\r\n").partition("\n")[0].count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    for _ in reader:
        if first not in gone:
            remaining += lines[first - 1 : reader.line_num]
        first = reader.line_num + 1
    write_text(table, "".join(remaining))


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
        raise OptionsError(f"{path} cannot be searched for a person. Name spottings, tracks or archives")


def _source_of(path: Path) -> str:
    """The video of a track; "" where the file is none."""
    try:
        return track_source(path)
    except SignspotError:
        return ""


def _in_spottings(person: Person, path: Path) -> Iterator[Step]:
    """Spottings in the person's videos; a file that holds no others goes as a whole."""
    spottings = read_spottings(path)
    remaining = [spotting for spotting in spottings if not person.is_video(spotting.video)]
    if len(remaining) == len(spottings):
        return
    if not remaining:
        yield remove_file(path)
    elif path.suffix.lower() == ".jsonl":
        yield from remove_lines(path, lambda row: person.is_video(str(row.get("video", ""))))
    else:
        removal = Removal("spottings", f"{path}: {len(spottings) - len(remaining)} of {len(spottings)}")
        if path.suffix.lower() == ".pkl":
            raise FormatError(
                f"{path} holds {len(spottings) - len(remaining)} spottings of it, and pickles are not written"
            )
        yield Step((removal,), partial(write, remaining, path))


def _in_archive(person: Person, path: Path) -> Iterator[Step]:
    """Members whose content, or name, is that of the person's files; the archive is written again without them."""
    with _archive_errors(path):
        gone = [name for name, read in _members(path) if _is_persons_member(person, name, read)]
    if gone:
        removals = tuple(Removal("member", f"{path}: {name}") for name in gone)
        yield Step(removals, partial(_without_members, path, set(gone)))


@contextmanager
def _archive_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except _DAMAGED as error:
        raise FormatError(f"{path} is not an archive that can be read, or it is damaged ({error!s:.200})") from error


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


def _is_persons_member(person: Person, name: str, read: Callable[[], IO[bytes] | None]) -> bool:
    if person.is_video(name) or any(person.is_video("/".join(name.split("/")[n:])) for n in range(name.count("/") + 1)):
        return True
    stream = read()
    if stream is None or not name.lower().endswith((*MEDIA_SUFFIXES, ".safetensors")):
        return False
    digest = hashlib.sha256()
    with stream:
        while block := stream.read(_BLOCK):
            digest.update(block)
    return any(digest.hexdigest().startswith(prefix) for prefix in person.digests)


def _without_members(path: Path, gone: set[str]) -> None:
    with _archive_errors(path), atomic_write(path) as temporary:
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
    remaining = [line for line in lines if not gone(_row(line))]
    if lines and not remaining:
        yield remove_file(path)
    elif len(remaining) < len(lines):
        removal = Removal("lines", f"{path}: {len(lines) - len(remaining)} of {len(lines)}")
        yield Step((removal,), partial(write_text, path, "".join(remaining)))


def _row(line: str) -> dict[str, Any]:
    try:
        row = parse_json(line, "line")
    except FormatError:
        row = None
    return row if isinstance(row, dict) else {}


def write_json(path: Path, value: Any) -> None:
    """Write a file of JSON again, unpaired surrogates in it as they were."""
    text = json.dumps(value, ensure_ascii=False, indent=1)
    is_unicode = text.encode("utf-8", "replace").decode() == text
    write_text(path, (text if is_unicode else json.dumps(value, indent=1)) + "\n")


def write_text(path: Path, text: str) -> None:
    """Write a text file again, its lines as they are given."""
    with atomic_write(path) as temporary:
        temporary.write_text(text, encoding="utf-8", errors="surrogateescape", newline="")
