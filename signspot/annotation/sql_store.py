"""A store in a SQL database: what a unit of work found goes in with its mark of completion, or not at all."""

import json
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import fields
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar, cast

from sqlalchemy import (
    URL,
    Boolean,
    Column,
    Connection,
    Double,
    Index,
    Integer,
    MetaData,
    RowMapping,
    Select,
    Table,
    Text,
    delete,
    insert,
    inspect,
    select,
    text,
    update,
)
from sqlalchemy.types import TypeEngine

from signspot.annotation import sql_store as schema
from signspot.annotation.records import Candidate, Findings, SubtitleQuery, VideoRecord
from signspot.annotation.store import PATIENCE, Database
from signspot.errors import FormatError, OptionsError, OutputError, StoreError
from signspot.io.checks import record_checker
from signspot.io.files import explain_write_failure

VERSION = 4
_WITHOUT_REMARKS = "3"  # the version before, whose videos have no remarks
Made = TypeVar("Made")

metadata = MetaData()
# Names are compared byte by byte in both databases, so that the order of rows is the same.
_NAME: TypeEngine[str] = Text().with_variant(Text(collation="C"), "postgresql")


def _key(name: str, kind: TypeEngine[str] | type[Integer] = _NAME) -> "Column[str | int]":
    return Column(name, kind, primary_key=True)


settings = Table("settings", metadata, _key("name"), Column("value", Text, nullable=False))

videos = Table(
    "videos",
    metadata,
    _key("video"),
    Column("digest", Text, nullable=False),
    Column("seconds", Double, nullable=False),
    Column("problem", Text, nullable=False),
    Column("remarks", Text, nullable=False),
)

done = Table("done", metadata, _key("video"), _key("word"), Column("key", Text, nullable=False))

queries = Table(
    "queries",
    metadata,
    _key("video"),
    _key("subtitle", Integer),
    _key("word"),
    Column("form", Text, nullable=False),
    Column("first", Integer, nullable=False),
    Column("last", Integer, nullable=False),
    Column("mentions", Integer, nullable=False),
    Column("text", Text, nullable=False),
    Column("subtitle_start", Double, nullable=False),
    Column("subtitle_end", Double, nullable=False),
    Column("start", Double, nullable=False),
    Column("end", Double, nullable=False),
    Column("exemplars", Integer, nullable=False),
    Column("best", Double),
    Column("impostors", Integer, nullable=False),
    Column("impostor_best", Double),
    Column("impostor_mean", Double),
    Column("impostors_above", Integer, nullable=False),
)

candidates = Table(
    "candidates",
    metadata,
    _key("video"),
    _key("subtitle", Integer),
    _key("word"),
    _key("rank", Integer),
    Column("time", Double, nullable=False),
    Column("start", Double, nullable=False),
    Column("end", Double, nullable=False),
    Column("score", Double, nullable=False),
    Column("exemplar", Text, nullable=False),
    Column("variant", Text, nullable=False),
    Column("mirrored", Boolean, nullable=False),
    Column("exemplars", Integer, nullable=False),
    Column("agreeing", Integer, nullable=False),
    Column("exemplar_second", Double),
    Column("exemplar_mean", Double, nullable=False),
    Column("impostors", Integer, nullable=False),
    Column("impostor_best", Double),
    Column("impostor_mean", Double),
    Column("impostors_above", Integer, nullable=False),
    Column("source", Text, nullable=False),
    Column("at", Text, nullable=False),
    Column("false_alarms_per_hour", Double),
    Column("licence", Text, nullable=False),
    Column("consent", Text, nullable=False),
)

Index("queries_by_word", queries.c.word)
Index("candidates_by_word", candidates.c.word, candidates.c.score)


_SCORES = ("score", "best", "exemplar_second", "exemplar_mean", "impostor_best", "impostor_mean")
_query = record_checker(SubtitleQuery, _SCORES)
_candidate = record_checker(Candidate, _SCORES)
_video = record_checker(VideoRecord)
_VERSION = "schema"  # the name under which the settings hold it
_ROWS = 1000  # that are fetched or inserted at once


class SqlStore:
    """A store in SQLite or PostgreSQL."""

    def __init__(self, url: str | URL, *, create: bool = False, patience: float = PATIENCE):
        self._database = Database(url, patience=patience)
        self._prepare_file(create=create)
        try:
            self._database.run(lambda connection: self._check(connection, create=create), patience=0)
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
        there = set(inspect(connection).get_table_names()) & set(schema.metadata.tables)
        if not there and create:
            schema.metadata.create_all(connection)
            connection.execute(insert(schema.settings), {"name": _VERSION, "value": str(schema.VERSION)})
            return
        name = self._database.name
        if not there:
            raise StoreError(f"{name} holds no annotations. Make them with: signspot annotate")
        if there != set(schema.metadata.tables):
            raise StoreError(
                f"{name} holds tables of something else ({', '.join(sorted(there))}). Name another database."
            )
        row = schema.settings.c.name == _VERSION
        version = connection.scalar(select(schema.settings.c.value).where(row))
        if version == _WITHOUT_REMARKS:
            connection.execute(text("ALTER TABLE videos ADD COLUMN remarks TEXT NOT NULL DEFAULT ''"))
            connection.execute(update(schema.settings).where(row).values(value=str(schema.VERSION)))
        elif version != str(schema.VERSION):
            raise StoreError(
                f"{name} is a store of version {version}; this signspot reads version {schema.VERSION}. "
                "Use the signspot that made it, or annotate into another store."
            )

    def queries(self, *, video: str | None = None, word: str | None = None) -> Iterator[SubtitleQuery]:
        """Every query, or those of a video or a word."""
        wanted = _ordered(select(schema.queries), schema.queries, video, word)
        return self._made(_query, wanted)

    def candidates(
        self,
        *,
        threshold: float = 0.0,
        rank: int | None = None,
        video: str | None = None,
        word: str | None = None,
    ) -> Iterator[Candidate]:
        """Every candidate with at least this score and at most this rank."""
        table = schema.candidates
        wanted = _ordered(_chosen(select(table), threshold, rank), table, video, word)
        return self._made(_candidate, wanted)

    def evidence(self, *, threshold: float = 0.0, rank: int | None = None) -> Iterator[tuple[SubtitleQuery, Candidate]]:
        """Candidates, each beside its query."""
        query, candidate = schema.queries, schema.candidates
        same = [query.c[name] == candidate.c[name] for name in ("video", "subtitle", "word")]
        columns = [column.label(f"query_{column.name}") for column in query.c]
        joined = select(candidate, *columns).join(query, same[0] & same[1] & same[2])
        with closing(self._select(_ordered(_chosen(joined, threshold, rank), candidate))) as rows:
            for row in rows:
                asked = {field.name: row[f"query_{field.name}"] for field in fields(SubtitleQuery)}
                yield self._make(_query, asked), self._make(_candidate, row)

    def videos(self) -> list[VideoRecord]:
        """Every video that was tried, by name."""
        table = schema.videos
        return list(self._made(_video, select(table).order_by(table.c.video)))

    def keys(self, *, video: str | None = None) -> dict[tuple[str, str], str]:
        """(video, word) → the key of the finished result, of all videos or of one."""
        wanted = _ordered(select(schema.done), schema.done, video)
        return {(row["video"], row["word"]): row["key"] for row in self._select(wanted)}

    def settings(self) -> dict[str, str]:
        """Settings that all results of this store have in common; empty before the first run."""
        table = schema.settings
        rows = self._select(select(table).order_by(table.c.name))
        return {row["name"]: row["value"] for row in rows if row["name"] != _VERSION}

    def claim(self, settings: Mapping[str, str]) -> None:
        """Write the settings of a first run, or see that they are those of the store.

        Raises:
            OptionsError: the store was made with other settings.
        """
        known = self.settings()
        if not known:
            rows = [{"name": name, "value": value} for name, value in sorted(settings.items())]
            self._database.run(lambda connection: _replace_settings(connection, rows))
            return
        for name in sorted({*settings, *known}):
            if settings.get(name) != known.get(name):
                raise OptionsError(
                    f"{self._database.name} was made with {name} {known.get(name)}, not {settings.get(name)}. "
                    "Use the same value to go on, or name another folder or database"
                )

    def add(self, findings: Findings) -> None:
        """Store the findings of one unit and mark its words as done, in one transaction, in place of older ones."""

        def work(connection: Connection) -> None:
            video = findings.video.video
            _remove(connection, video, findings.keys)
            _insert(connection, schema.queries, map(_row, findings.queries))
            _insert(connection, schema.candidates, map(_row, findings.candidates))
            marks = [{"video": video, "word": word, "key": key} for word, key in findings.keys.items()]
            _insert(connection, schema.done, marks)
            _replace_video(connection, findings.video)

        self._database.run(work)

    def forget(self, video: str, words: Iterable[str]) -> None:
        """Remove what is stored of these words in a video."""
        gone = list(words)
        self._database.run(lambda connection: _remove(connection, video, gone))

    def forget_video(self, video: str) -> None:
        """Remove everything that is stored of a video."""

        def work(connection: Connection) -> None:
            for table in (candidates, queries, done, videos):
                connection.execute(table.delete().where(table.c.video == video))

        self._database.run(work)

    def wipe(self) -> None:
        """Write the database anew: rows that were deleted stay readable in its files until then."""
        self._database.vacuum(schema.metadata.tables)

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

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _made(self, make: Callable[[Mapping[str, Any]], Made], wanted: "Select[Any]") -> Iterator[Made]:
        with closing(self._select(wanted)) as rows:  # at once: an open connection holds SQLite's lock
            for row in rows:
                yield self._make(make, row)

    def _make(self, make: Callable[[Mapping[str, Any]], Made], row: RowMapping | Mapping[str, Any]) -> Made:
        """A record of a row; a file of a stranger may hold anything in any column."""
        try:
            return make(cast(Mapping[str, Any], row))
        except FormatError as error:
            raise StoreError(f"{self._database.name} is damaged: {error}") from error

    def _select(self, wanted: "Select[Any]") -> Generator[RowMapping, None, None]:
        """Rows, a portion at a time."""
        return self._database.rows(wanted, _ROWS)


def dump(store: "SqlStore") -> Iterator[str]:
    """Results of a store as lines of JSON, always in the same order; to compare stores by."""
    records: list[Iterable[Any]] = [store.videos(), store.queries(), store.candidates()]
    for kind in records:
        for record in kind:
            yield json.dumps({type(record).__name__: _row(record)}, ensure_ascii=False, sort_keys=True)


def _chosen(wanted: "Select[Any]", threshold: float, rank: int | None) -> "Select[Any]":
    wanted = wanted.where(schema.candidates.c.score >= threshold)
    return wanted if rank is None else wanted.where(schema.candidates.c.rank <= rank)


def _ordered(wanted: "Select[Any]", table: Table, video: str | None = None, word: str | None = None) -> "Select[Any]":
    for column, value in ((table.c.video, video), (table.c.word, word)):
        wanted = wanted if value is None else wanted.where(column == value)
    return wanted.order_by(*table.primary_key.columns)


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
        for table in (schema.candidates, schema.queries, schema.done):
            connection.execute(delete(table).where(table.c.video == video, table.c.word.in_(part)))


def _replace_video(connection: Connection, video: VideoRecord) -> None:
    connection.execute(delete(schema.videos).where(schema.videos.c.video == video.video))
    connection.execute(insert(schema.videos), _row(video))


def _replace_settings(connection: Connection, rows: list[dict[str, str]]) -> None:
    connection.execute(delete(schema.settings).where(schema.settings.c.name.in_([row["name"] for row in rows])))
    _insert(connection, schema.settings, rows)
