"""Stores of annotation: queries, candidates and what is finished, in SQLite (a file) or PostgreSQL (by URL)."""

import json
import logging
import os
import re
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import fields
from itertools import chain
from pathlib import Path
from typing import Any, Self, TypeVar, cast, get_args, get_type_hints

from signspot.annotation.store_records import Candidate, Findings, SubtitleQuery, VideoRecord
from signspot.errors import FormatError, MissingExtraError, OptionsError, OutputError, SignspotError, StoreError
from signspot.io.checks import record_checker
from signspot.io.files import explain_write_failure

try:
    from sqlalchemy import (
        URL,
        Boolean,
        Column,
        Connection,
        Double,
        Engine,
        Executable,
        Index,
        Integer,
        MappingResult,
        MetaData,
        RowMapping,
        Select,
        Table,
        Text,
        create_engine,
        delete,
        event,
        insert,
        inspect,
        select,
    )
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import ArgumentError, DBAPIError, IntegrityError, NoSuchModuleError
    from sqlalchemy.types import TypeEngine
except ModuleNotFoundError:
    raise MissingExtraError("SQLAlchemy", "annotate", "a store of annotations") from None

logger = logging.getLogger(__name__)

FILE = "annotations.sqlite"  # in the folder of a run
_ADDRESS = re.compile(r"[a-z][a-z0-9+]*://")
TIMEOUT = 600.0  # seconds that a database which went away is waited for


def open_store(address: str | os.PathLike[str], *, create: bool = False, timeout: float = TIMEOUT) -> "Store":
    """Open a store.

    Args:
        address: the folder of a run, a SQLite file, or the URL of a database (postgresql://user@host/name).
        create: make it if it is not there yet.
        timeout: seconds that the database is waited for when it goes away later; it must be there now.

    Raises:
        StoreError: there is none, it cannot be reached, or it is of another version.
        MissingExtraError: SQLAlchemy, or psycopg for PostgreSQL, is not installed.
    """
    return Store(_url(address), create=create, timeout=timeout)


def is_address(address: str | os.PathLike[str]) -> bool:
    """Whether it is the URL of a database, and no path."""
    return isinstance(address, str) and bool(_ADDRESS.match(address))


def _url(address: str | os.PathLike[str]) -> URL:
    """The address of a database; that of a file is made of parts, since a folder's name may hold any character."""
    if isinstance(address, str) and is_address(address):
        return _parse(address)
    path = Path(address)
    is_file = path.suffix in {".sqlite", ".db"} and not path.is_dir()
    return URL.create("sqlite", database=str(path if is_file else path / FILE))


T = TypeVar("T")

_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 5.0  # seconds between two attempts
_BUSY = 30.0  # seconds that SQLite itself waits for another process's lock
_COLLISION = 5.0  # seconds that are tried when another run writes the very same rows
_PASSING = ("08", "40", "57P", "53300", "23505")  # PostgreSQL: lost, collision, shutting down, too many, same rows
_FOREIGN_VALUES = (ValueError, TypeError, LookupError, ArithmeticError)  # of libraries that convert what is stored
_FULL = ("53100", "54")  # disk full, limit exceeded
# PostgreSQL does not analyse an empty table, and keeps what it knew of its columns until their types are set again.
_SAME_TYPES = """
    SELECT format('ALTER TABLE %%s ALTER COLUMN %%I TYPE %%s COLLATE %%s',
        attrelid::regclass, attname, format_type(atttypid, atttypmod), attcollation::regcollation)
    FROM pg_attribute
    WHERE attrelid = quote_ident(%s)::regclass AND attnum > 0 AND attcollation <> 0 AND NOT attisdropped
"""


class Database:
    """Runs transactions; one that fails because the database went away is run again when it is back."""

    def __init__(self, url: str | URL, *, timeout: float = TIMEOUT):
        self.url = _parse(url)
        self.timeout = timeout
        self._engine = _engine(self.url)

    @property
    def name(self) -> str:
        """The database as people may read it, without its password."""
        if self.url.get_backend_name() == "sqlite":
            return str(self.url.database)
        return self.url.render_as_string(hide_password=True)

    def run(self, work: Callable[[Connection], T], *, timeout: float | None = None) -> T:
        """Do `work` in one transaction: all of it, or nothing; again after a failure that passes.

        Since nobody can tell whether a commit that was cut off arrived, `work` must be such that doing it twice is
        the same as doing it once.

        Raises:
            OutputError: the disk is full, or the database may not be written.
            StoreError: the database does not come back, or it is damaged.
        """

        def transact() -> T:
            with self._engine.begin() as connection:
                return work(connection)

        return self._retrying(transact, self.timeout if timeout is None else timeout)

    def rows(self, statement: Executable, portion: int) -> Generator[RowMapping, None, None]:
        """Rows of a query, fetched a portion at a time."""

        def ask() -> tuple[Connection, MappingResult]:
            connection = self._engine.connect()
            try:
                return connection, connection.execution_options(yield_per=portion).execute(statement).mappings()
            except BaseException:
                connection.close()
                raise

        connection, rows = self._retrying(ask, self.timeout)
        try:
            yield from rows
        except DBAPIError as error:
            raise explain(error, self.name) from error
        except _FOREIGN_VALUES as error:
            raise _damaged(error, self.name) from error
        finally:
            connection.close()

    def _retrying(self, action: Callable[[], T], limit: float) -> T:
        """Do something with the database; where it fails in a way that passes, again and again up to a limit."""
        start, pause, is_reported = time.monotonic(), _FIRST_PAUSE, False
        while True:
            try:
                result = action()
                if is_reported:
                    logger.warning("the database %s is back after %.0f s", self.name, time.monotonic() - start)
                return result
            except DBAPIError as error:
                wait = min(limit, _COLLISION) if isinstance(error, IntegrityError) else limit
                if not _passes(error) or time.monotonic() - start + pause > wait:
                    raise explain(error, self.name) from error
                if not is_reported:
                    logger.warning("the database %s does not answer; waiting up to %.0f s", self.name, limit)
                is_reported = True
            except SignspotError:
                raise
            except _FOREIGN_VALUES as error:
                raise _damaged(error, self.name) from error
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    def vacuum(self, tables: Iterable[str]) -> None:
        """Write tables anew, so that nothing that was deleted from them is left in the files of the database.

        Values that PostgreSQL keeps of their columns, to plan queries, are taken anew, too.

        Raises:
            StoreError: it cannot be done now.
        """
        is_sqlite = self.url.get_backend_name() == "sqlite"
        borrowed = self._engine.raw_connection()
        try:
            if is_sqlite:
                for command in ("VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)"):
                    borrowed.driver_connection.execute(command).close()  # type: ignore[union-attr]
            else:
                _vacuum_postgres(borrowed.driver_connection, tables)
        except Exception as error:  # of the driver, whichever it is
            reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
            raise StoreError(f"{self.name}: rows are deleted, but not wiped from its files yet ({reason}).") from error
        finally:
            borrowed.invalidate()

    def close(self) -> None:
        """Let all connections go."""
        self._engine.dispose()


def _vacuum_postgres(connection: Any, tables: Iterable[str]) -> None:
    """Write tables anew; what the server has no right or no time to do is a mere warning of its own."""
    warnings: list[str] = []
    connection.add_notice_handler(lambda notice: warnings.append(str(notice.message_primary)))
    connection.autocommit = True
    for name in tables:
        connection.execute(f'VACUUM (FULL, ANALYZE) "{name}"')
        if warnings:
            raise StoreError(warnings[0])
        if connection.execute(f'SELECT 1 FROM "{name}" LIMIT 1').fetchone() is None:
            for (command,) in connection.execute(_SAME_TYPES, [name]).fetchall():
                connection.execute(command)


def _parse(url: str | URL) -> URL:
    try:
        parsed = make_url(url)
    except ArgumentError:
        raise StoreError("this is not a database address. Give one such as postgresql://user@host/name") from None
    if parsed.get_backend_name() == "postgresql":
        return parsed.set(drivername="postgresql+psycopg")
    if parsed.get_backend_name() != "sqlite":
        raise StoreError(f"no store in '{parsed.drivername}' databases. Use SQLite (a file) or postgresql://")
    return parsed


def _engine(url: URL) -> Engine:
    try:
        if url.get_backend_name() == "sqlite":
            engine = create_engine(url, connect_args={"timeout": _BUSY})
            event.listen(engine, "connect", _prepare_sqlite)
            event.listen(engine, "begin", _begin_sqlite)
            return engine
        return create_engine(url, connect_args={"connect_timeout": 10})
    except (ModuleNotFoundError, NoSuchModuleError):
        raise MissingExtraError("psycopg", "postgres", "a store in PostgreSQL") from None


def _prepare_sqlite(connection: Any, record: object) -> None:
    """Write ahead, so that readers do not wait; begin transactions ourselves, so that they hold."""
    connection.isolation_level = None
    for pragma in ("journal_mode=WAL", "synchronous=FULL"):
        connection.execute(f"PRAGMA {pragma}").close()


def _begin_sqlite(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN")


def _passes(error: DBAPIError) -> bool:
    """Whether a failure may pass if one waits."""
    if error.connection_invalidated:
        return True
    kind = getattr(error.orig, "sqlite_errorname", None)
    if kind is not None:
        return str(kind).startswith(("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_CONSTRAINT_PRIMARYKEY"))
    code = getattr(error.orig, "sqlstate", "")
    return code is None or str(code).startswith(_PASSING)


def _damaged(error: Exception, name: str) -> StoreError:
    return StoreError(f"{name} is not a store of annotations, or it is damaged ({type(error).__name__}).")


def explain(error: DBAPIError, name: str) -> SignspotError:
    """Say in one line what is wrong with a database."""
    reason = str(error.orig).strip().splitlines()[0] if str(error.orig).strip() else type(error.orig).__name__
    kind = str(getattr(error.orig, "sqlite_errorname", "") or "")
    code = str(getattr(error.orig, "sqlstate", "") or "")
    if kind.startswith("SQLITE_FULL") or code.startswith(_FULL):
        return OutputError(f"cannot write {name}: the disk is full. Free some space and run again: nothing is lost.")
    if kind.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")) or code == "42501":
        return OutputError(f"cannot write {name}: {reason}. Choose a place that you may write to.")
    if kind.startswith("SQLITE_IOERR"):
        return OutputError(f"cannot write {name}: {reason}. Is the disk full or gone? Run again: nothing is lost.")
    if kind.startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT")):
        return StoreError(f"{name} is not a store of annotations, or it is damaged ({reason}).")
    return StoreError(f"the database {name} cannot be used: {reason}. Run again when it can: nothing is lost.")


VERSION = 5
Made = TypeVar("Made")

METADATA = MetaData()
# Names are compared byte by byte in both databases, so that the order of rows is the same.
_NAME: TypeEngine[str] = Text().with_variant(Text(collation="C"), "postgresql")


def _key(name: str, kind: TypeEngine[str] | type[Integer] = _NAME) -> "Column[str | int]":
    return Column(name, kind, primary_key=True)


def _table(name: str, record: type, keys: int) -> Table:
    """A table with a column for each field of a record; the first `keys` fields identify a row."""
    columns: list[Column[Any]] = []
    for field, hint in get_type_hints(record).items():
        options = get_args(hint) or (hint,)
        kind = {int: Integer, float: Double, bool: Boolean}.get(options[0], Text)
        if len(columns) < keys:
            columns.append(_key(field, Integer if kind is Integer else _NAME))
        else:
            columns.append(Column(field, kind, nullable=type(None) in options))
    return Table(name, METADATA, *columns)


SETTINGS = Table("settings", METADATA, _key("name"), Column("value", Text, nullable=False))
VIDEOS = _table("videos", VideoRecord, 1)
DONE = Table("done", METADATA, _key("video"), _key("word"), Column("key", Text, nullable=False))
QUERIES = _table("queries", SubtitleQuery, 3)
CANDIDATES = _table("candidates", Candidate, 4)
Index("queries_by_word", QUERIES.c.word)
Index("candidates_by_word", CANDIDATES.c.word, CANDIDATES.c.score)


_SCORES = ("score", "best", "exemplar_second", "exemplar_mean", "negative_best", "negative_mean")
_query = record_checker(SubtitleQuery, _SCORES)
_candidate = record_checker(Candidate, _SCORES)
_video = record_checker(VideoRecord)
_VERSION = "schema"  # the name under which the settings hold it
_ROWS = 1000  # that are fetched or inserted at once


class Store:
    """Queries, candidates and what is finished. What is read comes ordered by video, subtitle, word and rank.

    The findings of a unit of work go in with its mark of completion, or not at all.
    """

    def __init__(self, url: str | URL, *, create: bool = False, timeout: float = TIMEOUT):
        self._database = Database(url, timeout=timeout)
        self._prepare_file(create=create)
        try:
            self._database.run(lambda connection: self._check(connection, create=create), timeout=0)
        except BaseException:
            self.close()
            raise

    def _prepare_file(self, *, create: bool) -> None:
        url = self._database.url
        if url.get_backend_name() != "sqlite":
            return
        file = Path(str(url.database))
        if not file.is_file() and not create:
            raise StoreError(f"no annotations at {file}. Make them with: signspot annotate")
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(explain_write_failure(file, error)) from error

    def _check(self, connection: Connection, *, create: bool) -> None:
        """See that the tables are ours and of this version; make them in an empty database."""
        there = set(inspect(connection).get_table_names()) & set(METADATA.tables)
        if not there and create:
            METADATA.create_all(connection)
            connection.execute(insert(SETTINGS), {"name": _VERSION, "value": str(VERSION)})
            return
        name = self._database.name
        if not there:
            raise StoreError(f"{name} holds no annotations. Make them with: signspot annotate")
        if there != set(METADATA.tables):
            raise StoreError(
                f"{name} holds tables of something else ({', '.join(sorted(there))}). Name another database."
            )
        row = SETTINGS.c.name == _VERSION
        version = connection.scalar(select(SETTINGS.c.value).where(row))
        if version != str(VERSION):
            raise StoreError(
                f"{name} is a store of version {version}; this signspot reads version {VERSION}. "
                "Use the signspot that made it, or annotate into another store."
            )

    def queries(self, *, video: str | None = None) -> Iterator[SubtitleQuery]:
        """Every query, or those of a video."""
        return self._made(_query, _ordered(select(QUERIES), QUERIES, video))

    def candidates(self, *, rank: int | None = None, video: str | None = None) -> Iterator[Candidate]:
        """Every candidate, or those of a video, of at most this rank; rank 1 is the paper's choice."""
        return self._made(_candidate, _ordered(_up_to(rank, select(CANDIDATES)), CANDIDATES, video))

    def evidence(self, *, threshold: float = 0.0, rank: int | None = None) -> Iterator[tuple[SubtitleQuery, Candidate]]:
        """Candidates, each beside its query."""
        query, candidate = QUERIES, CANDIDATES
        same = [query.c[name] == candidate.c[name] for name in ("video", "subtitle", "word")]
        columns = [column.label(f"query_{column.name}") for column in query.c]
        joined = select(candidate, *columns).join(query, same[0] & same[1] & same[2])
        statement = _up_to(rank, joined.where(candidate.c.score >= threshold))
        with closing(self._select(_ordered(statement, candidate))) as rows:
            for row in rows:
                values = {field.name: row[f"query_{field.name}"] for field in fields(SubtitleQuery)}
                yield self._make(_query, values), self._make(_candidate, row)

    def videos(self) -> list[VideoRecord]:
        """Every video that was tried, by name."""
        return list(self._made(_video, _ordered(select(VIDEOS), VIDEOS)))

    def keys(self, *, video: str | None = None) -> dict[tuple[str, str], str]:
        """(video, word) → the key of the finished result, of all videos or of one."""
        statement = _ordered(select(DONE), DONE, video)
        return {(row["video"], row["word"]): row["key"] for row in self._select(statement)}

    def settings(self) -> dict[str, str]:
        """Settings that all results of this store have in common; empty before the first run."""
        rows = self._select(_ordered(select(SETTINGS), SETTINGS))
        return {row["name"]: row["value"] for row in rows if row["name"] != _VERSION}

    def claim(self, settings: Mapping[str, str]) -> None:
        """Write the settings of a first run, or see that they are those of the store.

        Raises:
            OptionsError: the store was made with other settings.
        """
        stored = self.settings()
        if not stored:
            rows = [{"name": name, "value": value} for name, value in sorted(settings.items())]
            self._database.run(lambda connection: _replace_settings(connection, rows))
            return
        self.check({**dict.fromkeys(stored), **settings})

    def check(self, settings: Mapping[str, str | None]) -> None:
        """See that settings are those of the store, or that it has none yet.

        Raises:
            OptionsError: the store was made with another value of one of them.
        """
        stored = self.settings()
        for name in sorted(settings) if stored else ():
            if settings.get(name) != stored.get(name):
                raise OptionsError(
                    f"{self._database.name} was made with {name} {stored.get(name)}, not {settings.get(name)}. "
                    "Use the same value to go on, or name another folder or database"
                )

    def add(self, findings: Findings) -> None:
        """Store the findings of one unit and mark its words as done, in one transaction, in place of older ones."""

        def work(connection: Connection) -> None:
            video = findings.video.video
            _remove(connection, video, findings.keys)
            _insert(connection, QUERIES, map(_row, findings.queries))
            _insert(connection, CANDIDATES, map(_row, findings.candidates))
            marks = [{"video": video, "word": word, "key": key} for word, key in findings.keys.items()]
            _insert(connection, DONE, marks)
            _replace_video(connection, findings.video)

        self._database.run(work)

    def forget(self, video: str, words: Iterable[str]) -> None:
        """Remove what is stored of these words in a video: they stand in its subtitles no more."""
        gone = list(words)
        self._database.run(lambda connection: _remove(connection, video, gone))

    def forget_video(self, video: str) -> None:
        """Remove everything that is stored of a video."""
        gone = [delete(table).where(table.c.video == video) for table in (CANDIDATES, QUERIES, DONE, VIDEOS)]
        self._database.run(lambda connection: [connection.execute(statement) for statement in gone])

    def wipe(self) -> None:
        """Write the database anew: rows that were deleted stay readable in its files until then."""
        self._database.vacuum(METADATA.tables)

    @property
    def name(self) -> str:
        """The store as people may read it, without a password."""
        return self._database.name

    def fail(self, video: VideoRecord) -> None:
        """Record that a video could not be annotated; what is stored of it stays."""
        self._database.run(lambda connection: _replace_video(connection, video))

    def close(self) -> None:
        """Let the database go."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _made(self, make: Callable[[Mapping[str, Any]], Made], statement: "Select[Any]") -> Iterator[Made]:
        with closing(self._select(statement)) as rows:  # at once: an open connection holds SQLite's lock
            for row in rows:
                yield self._make(make, row)

    def _make(self, make: Callable[[Mapping[str, Any]], Made], row: RowMapping | Mapping[str, Any]) -> Made:
        """A record of a row; an untrusted file may hold anything in any column."""
        try:
            return make(cast(Mapping[str, Any], row))
        except FormatError as error:
            raise StoreError(f"{self._database.name} is damaged: {error}") from error

    def _select(self, statement: "Select[Any]") -> Generator[RowMapping, None, None]:
        """Rows, a portion at a time."""
        return self._database.rows(statement, _ROWS)


def dump(store: Store) -> Iterator[str]:
    """Results of a store as lines of JSON, always in the same order; to compare stores by."""
    for record in chain[SubtitleQuery | Candidate | VideoRecord](store.videos(), store.queries(), store.candidates()):
        yield json.dumps({type(record).__name__: _row(record)}, ensure_ascii=False, sort_keys=True)


def _up_to(rank: int | None, statement: "Select[Any]") -> "Select[Any]":
    return statement if rank is None else statement.where(CANDIDATES.c.rank <= rank)


def _ordered(statement: "Select[Any]", table: Table, video: str | None = None) -> "Select[Any]":
    statement = statement if video is None else statement.where(table.c.video == video)
    return statement.order_by(*table.primary_key.columns)


def _row(record: SubtitleQuery | Candidate | VideoRecord) -> dict[str, Any]:
    """A record as a row of its table. Its values are plain, so none is copied in depth, as `asdict` does."""
    return {field.name: getattr(record, field.name) for field in fields(record)}


def _insert(connection: Connection, table: Table, rows: Iterable[dict[str, Any]]) -> None:
    waiting = list(rows)
    for start in range(0, len(waiting), _ROWS):
        connection.execute(insert(table), waiting[start : start + _ROWS])


def _remove(connection: Connection, video: str, words: Iterable[str]) -> None:
    gone = list(words)
    for start in range(0, len(gone), _ROWS):
        part = gone[start : start + _ROWS]
        for table in (CANDIDATES, QUERIES, DONE):
            connection.execute(delete(table).where(table.c.video == video, table.c.word.in_(part)))


def _replace_video(connection: Connection, video: VideoRecord) -> None:
    connection.execute(delete(VIDEOS).where(VIDEOS.c.video == video.video))
    connection.execute(insert(VIDEOS), _row(video))


def _replace_settings(connection: Connection, rows: list[dict[str, str]]) -> None:
    connection.execute(delete(SETTINGS).where(SETTINGS.c.name.in_([row["name"] for row in rows])))
    _insert(connection, SETTINGS, rows)
