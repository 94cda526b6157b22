"""Forgetting in folders that signspot fills: annotation runs, archives of tracks, trainings, served folders."""

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from signspot.annotation.store import FILE as STORE_FILE
from signspot.annotation.store import Database
from signspot.dictionary.json_file import DICTIONARY_FILE
from signspot.embedding.tracks import SUFFIX, track_header
from signspot.errors import FormatError, OptionsError, SignspotError
from signspot.io.checks import parse_json
from signspot.privacy.loose_files import in_file
from signspot.privacy.steps import Person, Removal, Step, remove_file, remove_lines
from signspot.web.folder import OWN_FOLDER, ServedFolder

_FEATURES = re.compile(r"(?P<video>.+)-(?P<digest>[0-9a-f]{32})-\w+\.npy")  # what a training keeps of one video
_EXEMPLARS = re.compile(r"exemplars-[0-9a-f]+-.*\.npy")  # and of a whole dictionary
_FORGOTTEN = "(forgotten)"  # instead of a video's name in the name of a queue, or in what a job said
_WORKBENCH = "workbench.sqlite"  # in the own folder of a served one


@dataclass
class KeptFolders:
    """Contents of a folder and all below it, links left alone."""

    dictionaries: list[Path] = field(default_factory=list)
    corpora: list[Path] = field(default_factory=list)
    runs: list[Path] = field(default_factory=list)  # of annotation, each with a store
    served: list[Path] = field(default_factory=list)
    tensors: list[Path] = field(default_factory=list)  # tracks and galleries, among other things
    features: list[Path] = field(default_factory=list)  # that trainings keep
    labels: list[Path] = field(default_factory=list)  # that `learn` made

    @classmethod
    def below(cls, folder: Path) -> "KeptFolders":
        """Look through a folder."""
        found = cls()
        for name, folders, files in os.walk(folder):
            place, known = Path(name), set(files)
            folders.sort()
            found.dictionaries += [place] if DICTIONARY_FILE in known else []
            found.corpora += [place] if "corpus.json" in known else []
            found.runs += [place] if STORE_FILE in known else []
            found.served += [place] if OWN_FOLDER in folders else []
            found.tensors += [place / each for each in sorted(known) if each.endswith(SUFFIX)]
            found.features += [p for p in map(place.joinpath, sorted(known)) if _is_features(p.name)]
            if "stages" in folders:
                found.labels += [place / each for each in sorted(known) if re.fullmatch(r"labels-.+\.jsonl", each)]
        return found

    @property
    def is_known(self) -> bool:
        """Whether signspot made the folder, or one below; tracks alone may lie among a person's own files."""
        return any((self.dictionaries, self.corpora, self.runs, self.served, self.features, self.labels))


def _is_features(name: str) -> bool:
    return bool(_FEATURES.fullmatch(name) or _EXEMPLARS.fullmatch(name))


def in_kept_folders(person: Person, found: KeptFolders) -> Iterator[Step]:
    """Data of a person whose videos and exemplars are known by now; stores of annotation apart."""
    for path in found.tensors:
        if _is_persons(person, path):
            yield remove_file(path)
    for path in found.features:
        named = _FEATURES.fullmatch(path.name)
        own = named and (named["digest"] in person.digests or named["video"] in person.names)
        if own or (person.exemplars and _EXEMPLARS.fullmatch(path.name)):
            yield remove_file(path)
    for path in found.labels:
        yield from remove_lines(path, lambda row: person.is_video(str(row.get("video", ""))))
    for root in found.served:
        yield from _in_served(person, root)


def _is_persons(person: Person, path: Path) -> bool:
    """Whether a track is of the person's video, or exemplars of the person are among those of a gallery."""
    try:
        header = track_header(path)
        shown = parse_json(header.get("exemplars", "[]"), str(path))
    except SignspotError:
        return False
    if header.get("kind", "").startswith("signspot track"):
        return person.is_video(header.get("video", "")) or header.get("source", "") in person.digests
    is_gallery = header.get("kind", "").startswith("signspot gallery") and isinstance(shown, list)
    return is_gallery and any(isinstance(each, list) and set(map(str, each[1:2])) & person.exemplars for each in shown)


def _in_served(person: Person, root: Path) -> Iterator[Step]:
    """Videos, exports, questions with their answers, jobs and pictures of a folder that `serve` serves."""
    for video in ServedFolder(root).listing().videos.values():
        if person.is_file(video.path):
            person.learn([video.path])
            person.names.add(video.name)
            beside = (video.path, video.landmarks, video.subtitles)
            if not (root / "corpus.json").is_file():  # a corpus is told as one
                yield from (remove_file(path) for path in beside if path is not None)
    if not (root / "corpus.json").is_file():
        for path in sorted((root / "labels").rglob("*.jsonl")):
            yield from remove_lines(path, lambda row: person.is_video(str(row.get("video", ""))))
    for path in sorted((root / "exports").glob("*")):
        with suppress(OptionsError, FormatError):
            yield from in_file(person, path)
    if (root / OWN_FOLDER / _WORKBENCH).is_file():
        from sqlalchemy import URL

        address = URL.create("sqlite", database=str(root / OWN_FOLDER / _WORKBENCH))
        if has_workbench(address):
            yield from in_workbench(person, address)
    pictures = sorted(path for path in (root / OWN_FOLDER / "pictures").glob("*") if path.is_file())
    if pictures:  # named by digests, so nobody knows whose they are; they are made again when they are wanted
        told = Removal("pictures", f"{root / OWN_FOLDER / 'pictures'}: all {len(pictures)}, made again when wanted")
        yield Step((told,), partial(_remove_all, pictures))


def _remove_all(paths: list[Path]) -> None:
    for path in paths:
        path.unlink(missing_ok=True)


def has_workbench(address: Any) -> bool:
    """Whether a workbench keeps its questions and jobs in a database."""
    from sqlalchemy import inspect

    from signspot.web import tables

    database = Database(address)
    try:
        return bool(database.run(lambda connection: inspect(connection).has_table(tables.items.name)))
    finally:
        database.close()


def in_workbench(person: Person, address: Any) -> Iterator[Step]:
    """Questions about the person's videos, all answers to them, and jobs on them, in the database of a workbench.

    Args:
        person: whose videos are known by their names in the served folder.
        address: of the database: text, or SQLAlchemy's URL.
    """
    from sqlalchemy import select

    from signspot.web import tables

    database = Database(address)
    try:
        named = [str(row["video"]) for row in database.rows(select(tables.items.c.video).distinct(), 1000)]
        named += [str(row["title"]) for row in database.rows(select(tables.jobs.c.title).distinct(), 1000)]
        name = database.name
    finally:
        database.close()
    for video in sorted({each for each in named if person.is_video(each)}):
        told = Removal("questions and jobs", f"{name}: {video}")
        yield Step((told,), partial(_forget_asked, address, video))


def _forget_asked(address: Any, video: str) -> None:
    """Remove all that is about a video; queues that are empty then go, and names of others name it no more."""
    from sqlalchemy import Connection, and_, select

    from signspot.web import tables

    queues, items, jobs = tables.queues, tables.items, tables.jobs

    def work(connection: Connection) -> None:
        asked = connection.execute(select(items.c.queue, items.c.item).where(items.c.video == video)).fetchall()
        for queue, item in asked:
            for table in (tables.decisions, tables.assignments, items):
                connection.execute(table.delete().where(and_(table.c.queue == queue, table.c.item == item)))
        emptied = and_(queues.c.id.in_({queue for queue, _ in asked}), queues.c.id.not_in(select(items.c.queue)))
        connection.execute(queues.delete().where(emptied))
        connection.execute(jobs.delete().where(jobs.c.title == video))
        for table, column in ((queues, queues.c.name), (jobs, jobs.c.message)):
            for key, text in connection.execute(select(table.c.id, column).where(column.contains(video))).fetchall():
                told = {column.name: text.replace(video, _FORGOTTEN)}
                connection.execute(table.update().where(table.c.id == key).values(told))

    database = Database(address)
    try:
        database.run(work)
        database.vacuum(tables.metadata.tables)
    finally:
        database.close()
