"""Removal of a signer or a video from what the server keeps: videos, items and decisions, jobs, thumbnails."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, and_, inspect, select

from signspot.annotation.store import Database
from signspot.applications.data_removal import Person, Removal, Step, remove_file, remove_lines
from signspot.web import database_tables as tables
from signspot.web.folder import MEDIA_FOLDER, STATE_FOLDER, ServedFolder

_FORGOTTEN = "(forgotten)"  # in place of a video's name in the name of a queue, or in the message of a job


class ServerData:
    """Finds data of the server, for `signspot.applications.data_removal`."""

    folder = STATE_FOLDER

    def in_folder(self, person: Person, root: Path) -> Iterator[Step]:
        """Videos, items with their decisions, jobs and thumbnails of a folder that `serve` serves."""
        for video in ServedFolder(root).listing().videos.values():
            if person.is_file(video.path):
                person.learn([video.path])
                person.names.add(video.name)
                beside = (video.path, video.landmarks, video.subtitles)
                if not (root / "corpus.json").is_file():  # a corpus is handled as one
                    yield from (remove_file(path) for path in beside if path is not None)
        if not (root / "corpus.json").is_file():
            for path in sorted((root / "labels").rglob("*.jsonl")):
                yield from remove_lines(path, lambda row: person.is_video(str(row.get("video", ""))))
        if (root / STATE_FOLDER / tables.FILE).is_file():
            address = URL.create("sqlite", database=str(root / STATE_FOLDER / tables.FILE))
            yield from self.in_database(person, address) or ()
        media = sorted(path for path in (root / STATE_FOLDER / MEDIA_FOLDER).glob("*") if path.is_file())
        if media:  # named by digests, so nobody knows whom they show; the server makes them again on demand
            removal = Removal(
                "thumbnails", f"{root / STATE_FOLDER / MEDIA_FOLDER}: all {len(media)}, made again on demand"
            )
            yield Step((removal,), partial(_remove_all, media))

    def in_database(self, person: Person, address: Any) -> Iterator[Step] | None:
        """Questions about the person's videos, all answers to them, and jobs on them; None: no server keeps any there.

        Args:
            person: whose videos are known by their names in the served folder.
            address: of the database: text, or SQLAlchemy's URL.
        """
        database = Database(address)
        try:
            if not database.run(lambda connection: inspect(connection).has_table(tables.items.name)):
                return None
            named = [str(row["video"]) for row in database.rows(select(tables.items.c.video).distinct(), 1000)]
            named += [str(row["video"]) for row in database.rows(select(tables.signs.c.video), 1000)]
            named += [str(row["title"]) for row in database.rows(select(tables.jobs.c.title).distinct(), 1000)]
            name = database.name
        finally:
            database.close()
        return (
            Step((Removal("questions and jobs", f"{name}: {video}"),), partial(_forget_asked, address, video))
            for video in sorted(set(named))
            if person.is_video(video)  # by names that may be learned meanwhile
        )


def _remove_all(paths: list[Path]) -> None:
    for path in paths:
        path.unlink(missing_ok=True)


def _forget_asked(address: Any, video: str) -> None:
    """Remove all that is about a video; queues that are empty then go, and names of others name it no more."""
    queues, items, jobs = tables.queues, tables.items, tables.jobs

    def work(connection: Connection) -> None:
        about_video = connection.execute(select(items.c.queue, items.c.item).where(items.c.video == video)).fetchall()
        for queue, item in about_video:
            for table in (tables.decisions, tables.assignments, items):
                connection.execute(table.delete().where(and_(table.c.queue == queue, table.c.item == item)))
        emptied = and_(queues.c.id.in_({queue for queue, _ in about_video}), queues.c.id.not_in(select(items.c.queue)))
        connection.execute(queues.delete().where(emptied))
        connection.execute(jobs.delete().where(jobs.c.title == video))
        connection.execute(tables.signs.delete().where(tables.signs.c.video == video))
        for table, column in ((queues, queues.c.name), (jobs, jobs.c.message)):
            for key, text in connection.execute(select(table.c.id, column).where(column.contains(video))).fetchall():
                values = {column.name: text.replace(video, _FORGOTTEN)}
                connection.execute(table.update().where(table.c.id == key).values(values))

    database = Database(address)
    try:
        database.run(work)
        database.vacuum(tables.metadata.tables)
    finally:
        database.close()
