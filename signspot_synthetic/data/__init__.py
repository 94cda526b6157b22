"""Data of the synthetic language and its signers: English words, and the tables of `tables.json`."""

import json
from functools import cache
from importlib.resources import files
from typing import Any


def read_table(name: str) -> list[Any]:
    """The rows of a table, in their order: random draws depend on it."""
    return list(_tables()[name])


@cache
def _tables() -> dict[str, list[Any]]:
    return dict(json.loads((files(__name__) / "tables.json").read_text(encoding="utf-8")))
