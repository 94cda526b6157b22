"""Forgetting of a signer or a video: from dictionaries, corpora, stores of annotations and the cache.

First everything is found, and told; only then, if it is wanted, removed. Nothing else is touched.
"""

import json
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from signspot.annotation.store import FILE as STORE_FILE
from signspot.annotation.store import open_store
from signspot.checked_values import parse_json
from signspot.corpus.corpus import Layout, open_corpus
from signspot.corpus.videos import CorpusVideo
from signspot.dictionary.dictionary import Dictionary, save_dictionary
from signspot.dictionary.fetch import FILE_NAME as MANIFEST
from signspot.dictionary.json_file import DICTIONARY_FILE, read_json
from signspot.embedding.tracks import track_source
from signspot.errors import FormatError, OptionsError, SignspotError
from signspot.files import cache_folder, content_digest, write_beside
from signspot.landmarks.cache import PARTS
from signspot.text_files import read_text

OUT_OF_REACH = (
    "weights that were trained on it",
    "exported files: spottings, reports, films, ELAN documents, .pose files and tracks that you saved elsewhere",
    "backups (*.bak), copies on other machines, and the original video, unless a corpus or dictionary holds it",
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
    act: Callable[[], None]


def forget(who: str, places: Sequence[str | os.PathLike[str]] = (), *, yes: bool = False) -> list[Removal]:
    """Find everything that is kept of a signer or a video, and remove it if `yes`.

    Args:
        who: the path of a video, its id in a corpus or store, or the name of a signer.
        places: dictionaries, corpora and folders of annotation runs; the cache is always one of them.
        yes: remove; otherwise everything stays as it is.

    Returns:
        What was, or would be, removed.

    Raises:
        OptionsError: a place is none of these.
        SignspotError: a place cannot be read or written.
    """
    if not who.strip():
        raise OptionsError("name a signer or a video to forget")
    person = _Person(who)
    steps: list[Step] = []
    for place in sorted({Path(place) for place in places}):
        found = [*_in_dictionary(person, place), *_in_corpus(person, place)]
        steps += found
        if not found and not _is_known(place):
            raise OptionsError(f"{place} is no dictionary, corpus or annotation run. Name a folder that holds one")
    for place in sorted({Path(place) for place in places}):  # when the videos of the person are known by name
        if (place / STORE_FILE).is_file():
            steps += _in_store(person, place)
    steps += _in_cache(person, cache_folder())
    if yes:
        for step in steps:
            step.act()
    return [removal for step in steps for removal in step.removals]


class _Person:
    """A signer, or a video; and what is learned on the way of the names and contents of their videos."""

    def __init__(self, who: str):
        self.who = who
        self.path = Path(who) if Path(who).is_file() else None
        self.names = {who}  # of videos, in stores and tracks
        self.digests: set[str] = set()
        if self.path is not None:
            self.digests.add(content_digest(self.path))

    def is_signer(self, name: str) -> bool:
        return bool(name) and name == self.who

    def is_file(self, path: Path | None) -> bool:
        if path is None or not path.is_file():
            return False
        return str(path) == self.who or content_digest(path) in self.digests

    def learn(self, paths: Iterable[Path | None]) -> None:
        """Take the contents of files that are about to go."""
        for path in paths:
            if path is not None and path.is_file():
                self.digests.add(content_digest(path))
                self.names.add(str(path))


def _is_known(place: Path) -> bool:
    return any((place / name).is_file() for name in (DICTIONARY_FILE, "corpus.json", STORE_FILE))


def _in_dictionary(person: _Person, folder: Path) -> Iterator[Step]:
    if not (folder / DICTIONARY_FILE).is_file():
        return
    contents = read_json(folder / DICTIONARY_FILE)
    gone = [e for e in contents.exemplars if person.is_signer(e.signer) or person.is_file(e.path)]
    if not gone:
        return
    person.learn(exemplar.path for exemplar in gone)
    ids = {exemplar.id for exemplar in gone}
    kept = tuple(exemplar for exemplar in contents.exemplars if exemplar.id not in ids)
    links = {name: link for name, link in contents.links.items() if name not in ids}
    rest = Dictionary(replace(contents, exemplars=kept, links=links), folder)
    shared = {exemplar.path for exemplar in kept}
    media = [e.path for e in gone if e.path is not None and e.path.is_file() and e.path not in shared]
    removals = [Removal("exemplar", f"{folder / DICTIONARY_FILE}: {exemplar.id}") for exemplar in gone]
    yield Step(tuple(removals), partial(save_dictionary, rest, folder))  # type: ignore[arg-type]
    names = {path.relative_to(folder).as_posix() for path in media if path.is_relative_to(folder)}
    yield from _lines(folder / MANIFEST, lambda row: row.get("name") in names)
    yield from map(_file, media)


def _in_corpus(person: _Person, folder: Path) -> Iterator[Step]:
    layout = Layout(folder)
    if not layout.corpus.is_file():
        return
    videos = open_corpus(folder).videos.values()
    gone = [v for v in videos if v.id == person.who or person.is_signer(v.signer) or person.is_file(v.video)]
    if not gone:
        return
    person.learn(path for video in gone for path in (video.video, video.landmarks))
    ids = {video.id for video in gone}
    person.names |= ids
    removals = tuple(Removal("video", f"{layout.corpus}: {name}") for name in sorted(ids))
    yield Step(removals, partial(_rewrite_corpus, layout, ids))
    for labels in sorted((folder / "labels").rglob("*.jsonl")):
        yield from _lines(labels, lambda row: row.get("video") in ids)
    yield from map(_file, sorted({path for video in gone for path in _files_of(layout, video)}))


def _files_of(layout: Layout, video: CorpusVideo) -> Iterator[Path]:
    own = [video.video, video.landmarks, video.subtitles, *layout.folder.glob(f"truth/*/{video.id}.jsonl")]
    own += layout.folder.glob(f".finished/**/{video.id}.json")
    return (path for path in own if path is not None and path.is_file())


def _rewrite_corpus(layout: Layout, ids: set[str]) -> None:
    data = parse_json(read_text(layout.corpus, exact=True).text, str(layout.corpus))
    data["videos"] = [entry for entry in data["videos"] if entry.get("id") not in ids]
    _write_json(layout.corpus, data)
    if layout.splits.is_file():
        splits = parse_json(read_text(layout.splits, exact=True).text, str(layout.splits))
        _write_json(layout.splits, _without(splits, ids))


def _without(value: Any, names: set[str]) -> Any:
    """JSON without names in its lists."""
    if isinstance(value, dict):
        return {key: _without(each, names) for key, each in value.items()}
    return [each for each in value if each not in names] if isinstance(value, list) else value


def _in_store(person: _Person, folder: Path) -> Iterator[Step]:
    with open_store(folder) as store:
        found = [v.video for v in store.videos() if v.digest in person.digests or v.video in person.names]
    for name in found:
        person.names.add(name)
        yield Step((Removal("annotations", f"{folder / STORE_FILE}: {name}"),), partial(_forget_stored, folder, name))


def _forget_stored(folder: Path, name: str) -> None:
    with open_store(folder) as store:
        store.forget_video(name)
    with closing(sqlite3.connect(folder / STORE_FILE)) as database:
        database.execute("VACUUM")  # rows that were deleted stay readable in the file until then


def _in_cache(person: _Person, cache: Path) -> Iterator[Step]:
    """Entries are named by the content of their video; of a video that is gone, tracks still know the name."""
    entries = [(part, path) for part, suffix in PARTS.items() for path in sorted((cache / part).rglob(f"*{suffix}"))]
    for part, path in entries:
        if part == "tracks":
            try:
                named = track_source(path) in person.names
            except SignspotError:
                named = False
            if named:
                person.digests.add(path.name.partition("-")[0])
    for part, path in entries:
        if path.name.partition("-")[0] in person.digests:
            yield Step((Removal(f"cached {part}", str(path)),), partial(path.unlink, missing_ok=True))


def _lines(path: Path, gone: Callable[[dict[str, Any]], bool]) -> Iterator[Step]:
    """The lines of a file of JSON Lines that go; it keeps all others as they are."""
    if not path.is_file():
        return
    lines = path.read_text(encoding="utf-8", errors="surrogateescape").splitlines(keepends=True)
    kept = [line for line in lines if not gone(_row(line))]
    if len(kept) < len(lines):
        removal = Removal("lines", f"{path}: {len(lines) - len(kept)} of {len(lines)}")
        yield Step((removal,), partial(_write_text, path, "".join(kept)))


def _row(line: str) -> dict[str, Any]:
    try:
        row = parse_json(line, "line")
    except FormatError:
        row = None
    return row if isinstance(row, dict) else {}


def _file(path: Path) -> Step:
    return Step((Removal("file", str(path)),), partial(path.unlink, missing_ok=True))


def _write_json(path: Path, value: Any) -> None:
    _write_text(path, json.dumps(value, ensure_ascii=False, indent=1) + "\n")


def _write_text(path: Path, text: str) -> None:
    with write_beside(path) as beside:
        beside.write_text(text, encoding="utf-8", errors="surrogateescape")
