"""The tables of a store, for SQLite and PostgreSQL alike; `VERSION` is raised whenever they change."""

from sqlalchemy import Boolean, Column, Double, Index, Integer, MetaData, Table, Text
from sqlalchemy.types import TypeEngine

VERSION = 1

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
)

Index("queries_by_word", queries.c.word)
Index("candidates_by_word", candidates.c.word, candidates.c.score)
