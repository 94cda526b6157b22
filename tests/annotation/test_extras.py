"""Annotation into SQLite needs no PostgreSQL driver, and nothing of Unix alone."""

import subprocess
import sys
from pathlib import Path

WITHOUT = """
import sys
sys.modules["psycopg"] = None
sys.modules["psycopg2"] = None
sys.modules["fcntl"] = None
import signspot.annotation.run
from signspot.annotation.store import open_store
from signspot.errors import MissingExtraError
with open_store(sys.argv[1], create=True) as store:
    assert store.videos() == []
try:
    open_store("postgresql://nobody@127.0.0.1:9/nothing")
except MissingExtraError as error:
    print(error)
"""


def test_only_a_postgresql_url_asks_for_psycopg(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT, str(tmp_path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "a store in PostgreSQL needs psycopg. Install it with: pip install 'signspot[postgres]'\n"
