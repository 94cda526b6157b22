"""Where annotation keeps what it finds: one protocol, SQLite in a file or PostgreSQL by URL."""

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from signspot.annotation.records import Candidate, Findings, Query, VideoRecord
from signspot.errors import MissingExtraError

FILE = "annotations.sqlite"  # in the folder of a run
PATIENCE = 600.0  # seconds that a database which went away is waited for


class Store(Protocol):
    """Queries, candidates and what is finished. What is read comes ordered by video, subtitle, word and rank."""

    def queries(self, *, video: str | None = None, word: str | None = None) -> Iterator[Query]:
        """Every query, or those of a video or a word."""

    def candidates(
        self,
        *,
        threshold: float = 0.0,
        rank: int | None = None,
        video: str | None = None,
        word: str | None = None,
    ) -> Iterator[Candidate]:
        """Every candidate with at least this score and at most this rank; rank 1 is the paper's choice."""

    def evidence(self, *, threshold: float = 0.0, rank: int | None = None) -> Iterator[tuple[Query, Candidate]]:
        """Candidates, each beside its query."""

    def videos(self) -> list[VideoRecord]:
        """Every video that was tried, by name."""

    def keys(self, *, video: str | None = None) -> dict[tuple[str, str], str]:
        """(video, word) → the key of the finished result, of all videos or of one."""

    def settings(self) -> dict[str, str]:
        """What all results of this store have in common; empty before the first run."""

    def claim(self, settings: Mapping[str, str]) -> None:
        """Write the settings of a first run, or see that they are those of the store."""

    def add(self, findings: Findings) -> None:
        """Store the findings of one unit and mark its words as done, in one transaction, in place of older ones."""

    def forget(self, video: str, words: Iterable[str]) -> None:
        """Remove what is stored of these words in a video: they stand in its subtitles no more."""

    def fail(self, video: VideoRecord) -> None:
        """Record that a video could not be annotated; what is stored of it stays."""

    def close(self) -> None:
        """Let the database go."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None: ...


def open_store(place: str | os.PathLike[str], *, create: bool = False, patience: float = PATIENCE) -> Store:
    """Open a store.

    Args:
        place: the folder of a run, a SQLite file, or the URL of a database (postgresql://user@host/name).
        create: make it if it is not there yet.
        patience: seconds that the database is waited for when it goes away later; it must be there now.

    Raises:
        StoreError: there is none, it cannot be reached, or it is of another version.
        MissingExtraError: SQLAlchemy, or psycopg for PostgreSQL, is not installed.
    """
    try:
        from signspot.annotation.sql_store import SqlStore
    except ModuleNotFoundError as error:
        if error.name and error.name.split(".")[0] == "sqlalchemy":
            raise MissingExtraError("sqlalchemy", "annotate", "a store of annotations") from None
        raise
    return SqlStore(_url(place), create=create, patience=patience)


def _url(place: str | os.PathLike[str]) -> str:
    text = os.fspath(place)
    if "://" in text:
        return text
    path = Path(text)
    file = path if path.suffix in {".sqlite", ".db"} else path / FILE
    return f"sqlite:///{file}"
