"""Tables of the workbench: jobs, queues of spottings, assignments, every decision, signs edited by hand."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from sqlalchemy import URL, Boolean, Column, Connection, Double, Index, Integer, MetaData, Table, Text, insert, select
from sqlalchemy.types import TypeEngine

from signspot.annotation.store import Database
from signspot.errors import StoreError

VERSION = 4
FILE = "workbench.sqlite"
T = TypeVar("T")
metadata = MetaData()
_NAME: TypeEngine[str] = Text().with_variant(Text(collation="C"), "postgresql")


def _text(name: str, *, key: bool = False) -> "Column[str]":
    return Column(name, _NAME, primary_key=key, nullable=False)


def _number(name: str, *, empty: bool = False) -> "Column[float]":
    return Column(name, Double, nullable=empty)


def _whole(name: str) -> "Column[int]":
    return Column(name, Integer, nullable=False)


settings = Table("workbench_settings", metadata, _text("name", key=True), _text("value"))

jobs = Table(
    "workbench_jobs",
    metadata,
    _text("id", key=True),
    _text("kind"),
    _text("title"),
    _text("spec"),  # JSON: arguments of the job
    _text("state"),  # waiting, running, done, failed, cancelled
    _text("stage"),
    _whole("done"),
    _whole("total"),  # 0: unknown
    _text("message"),
    _number("created"),
    _number("started", empty=True),
    _number("ended", empty=True),
    _whole("attempts"),
)

queues = Table(
    "workbench_queues",
    metadata,
    _text("id", key=True),
    _text("name"),
    _text("dictionary"),
    _number("share"),  # of items that two people verify, to measure agreement
    _number("created"),
)

items = Table(
    "workbench_items",
    metadata,
    _text("queue", key=True),
    Column("item", Integer, primary_key=True, autoincrement=False),  # index in the queue
    _text("word"),
    _text("video"),
    _number("time"),
    _number("start"),
    _number("end"),
    _number("score"),
    _text("exemplar"),
    _text("variant"),
    Column("mirrored", Boolean, nullable=False),
    _text("source"),
    _number("false_alarms_per_hour", empty=True),
    _text("licence"),
    _text("consent"),
    _text("rest"),  # JSON: further fields of the spotting
    _whole("remaining"),  # how often it is still to be assigned
    Index("workbench_items_word", "queue", "word"),
    Index("workbench_items_video", "video"),
)

assignments = Table(
    "workbench_assignments",
    metadata,
    _text("queue", key=True),
    Column("item", Integer, primary_key=True, autoincrement=False),
    _text("annotator", key=True),
    _number("at"),
    Column("decided", Boolean, nullable=False),
    Index("workbench_assignments_open", "queue", "decided", "at"),
)

decisions = Table(
    "workbench_decisions",
    metadata,
    _text("id", key=True),  # chosen by the page, so that sending a decision twice counts once
    _text("queue"),
    _whole("item"),
    _text("annotator"),
    _text("answer"),  # yes, no, unsure, variant, word
    _text("word"),  # with the answer `word`: which it is; with `variant`: its name, if given
    _number("start"),
    _number("end"),
    _number("seconds"),  # that the person needed
    _number("at"),
    _number("withdrawn", empty=True),  # when it was undone; None: it stands
    Index("workbench_decisions_item", "queue", "item"),
    Index("workbench_decisions_annotator", "queue", "annotator", "at"),
)
signs = Table(
    "workbench_signs",
    metadata,
    _text("video", key=True),
    _whole("version"),  # counts the changes, so that two people do not overwrite each other's
    _text("signs"),  # JSON: signs that people added, changed or deleted
    _number("at"),
)
# Items that are still to be assigned, in order: a query of the next ones is quick in a queue of any length.
OPEN = Index(
    "workbench_items_waiting",
    items.c.queue,
    items.c.item,
    sqlite_where=items.c.remaining > 0,
    postgresql_where=items.c.remaining > 0,
)
# One standing decision of a person about an item, even if two of their windows send one at the same time.
Index(
    "workbench_decisions_standing",
    decisions.c.queue,
    decisions.c.item,
    decisions.c.annotator,
    unique=True,
    sqlite_where=decisions.c.withdrawn.is_(None),
    postgresql_where=decisions.c.withdrawn.is_(None),
)


class WorkbenchDatabase(Database):
    """A database that notices when its file is deleted or replaced while the server runs."""

    _identity: tuple[int, int] | None = None  # device and inode of the SQLite file

    def watch(self) -> None:
        """Remember the identity of the file."""
        self._identity = self._look()

    def _look(self) -> tuple[int, int] | None:
        if self.url.get_backend_name() != "sqlite":
            return None
        try:
            status = Path(str(self.url.database)).stat()
            return status.st_dev, status.st_ino
        except OSError:
            return 0, 0

    def run(self, work: Callable[[Connection], T], *, timeout: float | None = None) -> T:
        """As `Database.run`.

        Raises:
            StoreError: the file was removed since it was opened, too.
        """
        self._check()
        result = super().run(work, timeout=timeout)
        self._check()
        return result

    def _check(self) -> None:
        if self._identity is not None and self._look() != self._identity:
            raise StoreError(
                f"the file {self.url.database} was deleted or replaced while the server ran, so nothing can be stored. "
                "Put it back, or start the server again"
            )


def open_database(url: str | None, folder: Path) -> Database:
    """Open the database of a workbench and create its tables if they are missing.

    Args:
        url: of a database; None: a SQLite file in the folder.
        folder: of the workbench.

    Raises:
        StoreError: it cannot be reached, or a later version made it.
    """
    database = WorkbenchDatabase(url or URL.create("sqlite", database=str(folder / FILE)), timeout=30)

    def prepare(connection: Connection) -> int:
        metadata.create_all(connection)
        version = connection.execute(select(settings.c.value).where(settings.c.name == "version")).scalar()
        if version is None:
            connection.execute(insert(settings).values(name="version", value=str(VERSION)))
        return VERSION if version is None else int(version)

    version = database.run(prepare)
    if version != VERSION:
        raise StoreError(
            f"{database.name} was made by another version of signspot ({version}; this one reads {VERSION})"
        )
    database.watch()
    return database
