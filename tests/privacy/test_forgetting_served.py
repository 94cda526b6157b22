"""Forgetting in folders that `serve` serves, with their database in the folder or in a real PostgreSQL server."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from signspot.annotation.records import Findings, VideoRecord
from signspot.annotation.store import open_store
from signspot.cli.main import app
from signspot.errors import StoreError
from signspot.formats.formats import read_spottings, write
from signspot.privacy.forgetting import forget
from signspot.types import Spotting
from signspot.web import exports
from signspot.web.folder import ServedFolder
from signspot.web.jobs import Jobs, JobSettings
from signspot.web.tables import open_database
from signspot.web.verification import Queues, Verdict, verified

from .conftest import everything


def spotted(*signers: str) -> list[Spotting]:
    return [Spotting("apple", f"videos/{each}-talk.pose", 1.0, 0.9, 1.1, 0.9) for each in signers]


def decide(queues: Queues, queue: str, mark: str) -> None:
    """Eve decides everything, and takes the last decision back to decide it again."""
    handed = queues.hand_out(queue, "Eve", 9)
    for item in handed:
        verdict = Verdict(f"decision-{mark}-{item.item}", queue, item.item, "Eve", "yes", "", 0.9, 1.1, 1.0)
        queues.decide(verdict)
    queues.undo(queue, "Eve")
    queues.decide(Verdict(f"again-{mark}", queue, handed[-1].item, "Eve", "no", "", 0.9, 1.1, 1.0))


def annotate(address: str) -> None:
    with open_store(address, create=True) as store:
        for who in ("Ann", "Ben"):
            store.add(Findings(VideoRecord(f"{who}-talk", "d", 60.0), {"apple": "key"}, (), ()))


def settings(root: Path) -> JobSettings:
    return JobSettings(str(root), None, None, "cpu")


def use(root: Path, address: str | None) -> tuple[str, str]:
    """What people leave in a workbench: queues of both and of each, as the pages name them; jobs; labels.

    Returns:
        The queue of both, and that of Ben.
    """
    own = ServedFolder(root).own
    database = open_database(address, own)
    queues = Queues(database)
    both = queues.add("all", spotted("Ann", "Ben"))
    single = {who: queues.add(f"videos/{who}-talk.pose: apple", spotted(who)) for who in ("Ann", "Ben")}
    for mark, queue in {"both": both, **single}.items():
        decide(queues, queue, mark)
        found = [each for _, _, each in verified(queues.items(queue), queues.verdicts(queue))]
        exports.save_labels(found, ServedFolder(root), queues.get(queue)["name"])
    jobs = Jobs(database, settings(root))
    for who in ("Ann", "Ben"):
        jobs.add("prepare", f"videos/{who}-talk.pose", {"video": f"videos/{who}-talk.pose"})
    failed = jobs.add("annotate", "run", {"name": "run", "dictionary": "signs"})
    jobs._set(failed, ("waiting",), state="failed", message="cannot read videos/Ann-talk.pose: it is damaged")
    database.close()
    return both, single["Ben"]


def is_bens_as_it_was(root: Path, address: str | None, both: str, bens: str) -> bool:
    database = open_database(address, ServedFolder(root).own)
    queues = Queues(database)
    assert [queue["id"] for queue in queues.all()] == [bens, both], "an empty queue has gone, too"
    for queue in (both, bens):
        assert [item.spotting.video for item in queues.items(queue)] == ["videos/Ben-talk.pose"]
        assert [verdict.answer for verdict in queues.verdicts(queue)] == ["no"]
        assert len(queues.verdicts(queue, withdrawn=True)) == 2
    assert queues.get(bens)["name"] == "videos/Ben-talk.pose: apple"
    titles = {job["title"]: job["message"] for job in Jobs(database, settings(root)).all()}
    assert titles == {"videos/Ben-talk.pose": "", "run": "cannot read (forgotten): it is damaged"}
    database.close()
    return True


@pytest.mark.parametrize("who", ["Ann", "video"])
def test_a_served_folder_forgets_its_questions_answers_jobs_labels_and_pictures(who: str, kept: Path) -> None:
    """A corpus that is served, by its signer; and a folder of loose videos, by the path of one."""
    root = kept / "footage"
    if who == "video":
        (root / "corpus.json").unlink()
        (root / "labels" / "all.jsonl").unlink()  # it has the names of the corpus
        who = str(root / "videos" / "Ann-talk.pose")
    own = root / ".signspot"
    (own / "pictures").mkdir(parents=True)
    (own / "pictures" / "0123.jpg").write_bytes(b"a face")
    (root / "exports").mkdir()
    write(spotted("Ann", "Ben"), root / "exports" / "found.csv")
    queues = use(root, None)
    forget(who, [root], yes=True)
    left = everything(root)
    assert not [name for name in left if name.startswith(".signspot/plots") or "Ann" in name]
    assert not [name for name, content in left.items() if b"Ann" in content]
    assert [found.video for found in read_spottings(root / "exports" / "found.csv")] == ["videos/Ben-talk.pose"]
    assert (root / "labels" / "verified-all.jsonl").read_text().count("Ben-talk") == 1
    assert is_bens_as_it_was(root, None, *queues)
    assert forget(who, [root]) == []


class TestPostgres:
    """A real server: nothing of the person is left in its tables, in their statistics, or in the files of either."""

    @pytest.fixture
    def address(self, postgres: Any) -> str:
        return str(postgres.url)

    @pytest.mark.parametrize("annotated", [False, True])
    def test_questions_answers_and_jobs_go_while_a_server_runs(
        self, annotated: bool, address: str, kept: Path, postgres: Any
    ) -> None:
        """Of a workbench alone, and beside annotations in the same database."""
        root, who = kept / "footage", "Ann"
        if annotated:
            annotate(address)
        queues = use(root, address)
        with connected(address) as other:
            other.execute("ANALYZE")  # as the server does by itself, once in a while
            assert stored(other, who)
        running = open_database(address, ServedFolder(root).own)  # a server has its connection open
        assert len(Queues(running).all()) == 3
        listed = forget(who, [root, address])
        assert len(Queues(running).all()) == 3
        assert any("signspot:***@" in each.what for each in listed)
        assert not [each for each in listed if "secret" in each.what]
        assert forget(who, [root, address], yes=True) == listed
        assert len(Queues(running).all()) == 2
        running.close()
        with connected(address) as other:
            assert stored(other, who) == []
            assert stored(other, "Ben")
            other.execute("CHECKPOINT")
            files = [folder for (folder,) in other.execute(TABLE_FILES).fetchall()]
        data = postgres.folder / "data"
        assert not [name for name in files if f"{who}-talk".encode() in (data / name).read_bytes()]
        assert is_bens_as_it_was(root, address, *queues)
        assert forget(who, [root, address]) == []

    def test_the_last_of_all_goes_without_a_trace(self, address: str, kept: Path) -> None:
        """Tables that are empty then are not looked at by `ANALYZE`, which would leave their old statistics."""
        root = kept / "footage"
        annotate(address)
        use(root, address)
        with connected(address) as other:
            other.execute("ANALYZE")
        for who in ("Ann", "Ben"):
            forget(who, [root, address], yes=True)
        with connected(address) as other:
            assert stored(other, "Ann") == stored(other, "Ben") == []
        database = open_database(address, ServedFolder(root).own)  # and it goes on being used
        assert Queues(database).items(Queues(database).add("new", spotted("Cem")))
        database.close()

    def test_the_verb_takes_an_address_and_a_videos_name_alone(self, address: str, kept: Path) -> None:
        use(kept / "footage", address)
        done = CliRunner().invoke(app, ["forget", "videos/Ann-talk.pose", address, "--yes"])
        assert done.exit_code == 0, done.output
        assert "questions and jobs" in done.output
        assert "secret" not in done.output
        with connected(address) as other:
            assert [table for table in stored(other, "Ann") if table.startswith("workbench")] == []

    def test_rows_that_cannot_be_wiped_are_told(self, address: str, kept: Path) -> None:
        """Who does not own the tables may delete rows; PostgreSQL skips the rest with a mere warning."""
        use(kept / "footage", address)
        with connected(address) as other:
            other.execute("DROP ROLE IF EXISTS guest")
            other.execute("CREATE ROLE guest LOGIN")
            other.execute("GRANT USAGE ON SCHEMA public TO guest")
            other.execute("GRANT ALL ON ALL TABLES IN SCHEMA public TO guest")
        try:
            with pytest.raises(StoreError, match=r"deleted, but not wiped .*(permission|owner)"):
                forget("Ann", [kept / "footage", address.replace("signspot:secret@", "guest@")], yes=True)
        finally:
            with connected(address) as other:
                other.execute("DROP OWNED BY guest")
                other.execute("DROP ROLE guest")


TABLES = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
TABLE_FILES = (
    "SELECT pg_relation_filepath(oid) FROM pg_class WHERE relkind IN ('r', 'i', 't') AND relname !~ '^pg_' "
    "AND relnamespace = 'public'::regnamespace"
)


@contextmanager
def connected(address: str) -> Iterator[Any]:
    import psycopg

    with psycopg.connect(address, autocommit=True) as connection:
        yield connection


def stored(connection: Any, who: str) -> list[str]:
    """Tables that name somebody in a row, or in what the server remembers of their values."""
    found = []
    for (table,) in connection.execute(TABLES).fetchall():
        rows = connection.execute(f'SELECT t::text FROM "{table}" t').fetchall()
        found += [table] if any(f"{who}-talk" in row for (row,) in rows) else []
    remembered = "SELECT tablename, s::text FROM pg_stats s WHERE schemaname = 'public'"
    return found + [f"{table} (statistics)" for table, s in connection.execute(remembered) if f"{who}-talk" in s]
