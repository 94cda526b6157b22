"""Signs that people add, change, delete and comment on by hand on the timeline of a video."""

import json
import time
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, and_, insert, select, update

from signspot.annotation.store import Database
from signspot.io.checks import check_int, check_text, parse_json
from signspot.web import database_tables as tables


class Signs:
    """The edited signs of all videos, in the workbench's database: one list for each video, with a version."""

    def __init__(self, database: Database):
        self._database = database

    def get(self, video: str) -> tuple[int, list[dict[str, Any]]]:
        """The version of a video's list, 0 if nobody has edited it, and its signs."""
        query = select(tables.signs).where(tables.signs.c.video == video)
        row = self._database.run(lambda connection: connection.execute(query).mappings().first())
        if row is None:
            return 0, []
        where = "the edited signs of a video"
        signs: list[dict[str, Any]] = parse_json(check_text(row["signs"], where), where)
        return check_int(row["version"], where), signs

    def put(self, video: str, version: int, signs: Sequence[dict[str, Any]]) -> int | None:
        """Replace a video's list.

        Args:
            video: its name in the folder.
            version: that the new list is based on.
            signs: as JSON.

        Returns:
            The new version; None: somebody else has replaced the list since, and nothing is changed.
        """
        table, text = tables.signs, json.dumps(signs)

        def work(connection: Connection) -> int | None:
            values = {"signs": text, "version": version + 1, "at": time.time()}
            based = and_(table.c.video == video, table.c.version == version)
            if connection.execute(update(table).where(based).values(values)).rowcount:
                return version + 1
            if version or connection.execute(select(table.c.video).where(table.c.video == video)).first():
                return None
            connection.execute(insert(table).values(video=video, **values))
            return version + 1

        return self._database.run(work)
