"""Forgetting: everything of one signer goes, nothing of another, and nothing at all without a yes."""

import json
import shutil
import tarfile
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from signspot.annotation.store import FILE, open_store
from signspot.annotation.store_records import Findings, VideoRecord
from signspot.annotation.tasks import write_gallery
from signspot.applications.archive_search import COLUMNS, Axes, IndexCache
from signspot.applications.data_removal import Removal
from signspot.applications.data_removal import forget as remove
from signspot.cli.app import app
from signspot.corpus.corpus import FORMAT, VERSION, open_corpus
from signspot.dictionary.open_dictionary import open_dictionary
from signspot.embedding.exemplars import Gallery
from signspot.embedding.tracks import track_entry, write_track
from signspot.errors import FormatError, OptionsError
from signspot.formats.formats import read_spottings, write
from signspot.io.files import content_digest
from signspot.landmarks.landmarks import FACE_POINTS, Landmarks
from signspot.landmarks.pose_file import write_landmarks
from signspot.types import Exemplar, Grid, Spotting, Track
from signspot.web import exports
from signspot.web.database_tables import open_database
from signspot.web.edited_signs import Signs
from signspot.web.folder import ServedFolder
from signspot.web.jobs import Jobs
from signspot.web.person_data import ServerData
from signspot.web.verification import Decision, Queues, verified
from signspot.web.worker import JobSettings


def forget(who: str, places: Sequence[str | Path] = (), *, yes: bool = False) -> list[Removal]:
    return remove(who, places, ServerData(), yes=yes)


def pose(path: Path, seed: int) -> Path:
    draw = np.random.default_rng(seed)
    points = {name: draw.random((3, count, 3), np.float32) for name, count in (("left_hand", 21), ("right_hand", 21))}
    face, body = draw.random((3, len(FACE_POINTS), 3), np.float32), draw.random((3, 33, 4), np.float32)
    times = np.arange(3) / 25
    path.parent.mkdir(parents=True, exist_ok=True)
    write_landmarks(
        Landmarks(body=body, face=face, face_points=FACE_POINTS, times=times, size=(64, 48), **points), path
    )
    return path


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A dictionary, a corpus, a store and a cache, each with things of Ann and of Ben."""
    monkeypatch.setenv("SIGNSPOT_CACHE", str(tmp_path / "cache"))
    words: dict[str, dict[str, list[dict[str, str]]]] = {"apple": {"exemplars": []}, "pear": {"exemplars": []}}
    for number, (word, signer) in enumerate([("apple", "Ann"), ("apple", "Ben"), ("pear", "Ann")]):
        name = f"media/{word}-{signer}.pose"
        pose(tmp_path / "signs" / name, number)
        entry = {"id": f"{word}-{signer}", "file": name, "signer": signer, "licence": "CC-BY", "consent": "research"}
        words[word]["exemplars"].append(entry)
    head = {"words": words}
    (tmp_path / "signs" / "dictionary.json").write_text(json.dumps(head))
    notes = [{"name": f"media/{sign}.pose", "url": "x"} for sign in ("apple-Ann", "apple-Ben")]
    (tmp_path / "signs" / "fetched.jsonl").write_text("".join(json.dumps(note) + "\n" for note in notes))
    videos = []
    for number, signer in enumerate(("Ann", "Ben"), start=10):
        pose(tmp_path / "footage" / f"videos/{signer}-talk.pose", number)
        (tmp_path / "footage" / f"videos/{signer}-talk.vtt").write_text("WEBVTT\n\n00:00.000 --> 00:02.000\napple\n")
        paths = {"landmarks": f"videos/{signer}-talk.pose", "subtitles": f"videos/{signer}-talk.vtt"}
        videos.append({"id": f"{signer}-talk", "signer": signer, **paths})
    corpus = {"format": FORMAT, "version": VERSION, "videos": videos}
    (tmp_path / "footage" / "corpus.json").write_text(json.dumps(corpus))
    (tmp_path / "footage" / "labels").mkdir()
    rows = [{"word": "apple", "video": f"{signer}-talk", "time": 1.0} for signer in ("Ann", "Ben", "Ben")]
    (tmp_path / "footage" / "labels" / "all.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with open_store(tmp_path / "run" / FILE, create=True) as store:
        for signer in ("Ann", "Ben"):
            store.add(Findings(VideoRecord(f"{signer}-talk", "d", 60.0), {"apple": "key"}, (), ()))
    axes = Axes(np.eye(4, COLUMNS - 2, dtype=np.float32))
    for path in (tmp_path / "footage" / "videos").glob("*.pose"):
        digest = content_digest(path)
        track = Track(
            np.ones((2, 4), np.float16), Grid(fps=25.0, stride=1, window=16, frames=17), "enc", str(path), digest
        )
        write_track(track, track_entry(tmp_path / "cache", "enc", digest, 1))
        pose(tmp_path / "cache" / "landmarks" / digest[:2] / f"{digest}-abc.pose", 1)
        IndexCache(tmp_path / "cache", "enc").index(track.embeddings, digest, "d" * 64, axes)
    return tmp_path


def everything(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def places(home: Path) -> list[Path]:
    return [home / "signs", home / "footage", home / "run"]


def test_everything_of_one_signer_goes_and_nothing_of_another(home: Path) -> None:
    before = everything(home)
    listed = forget("Ann", places(home))
    removed = forget("Ann", places(home), yes=True)
    assert removed == listed
    after = everything(home)
    deleted = {name for name in before if name not in after}
    assert deleted
    assert not [name for name in deleted if "Ben" in name]
    text = b"".join(after.values())
    assert b"Ann" not in text
    assert not [name for name in after if "Ann" in name]
    dictionary = open_dictionary(home / "signs")
    assert [exemplar.id for exemplar in dictionary.exemplars] == ["apple-Ben"]
    assert list(open_corpus(home / "footage").videos) == ["Ben-talk"]
    assert (home / "footage" / "labels" / "all.jsonl").read_text().count("Ben-talk") == 2
    with open_store(home / "run") as store:
        assert [video.video for video in store.videos()] == ["Ben-talk"]
        assert set(store.keys()) == {("Ben-talk", "apple")}
    ben = content_digest(home / "footage" / "videos" / "Ben-talk.pose")
    caches = [path for path in (home / "cache").rglob("*") if path.suffix in (".pose", ".safetensors")]
    assert len(caches) == 3
    assert all(path.name.startswith(ben) for path in caches)
    unchanged = {name for name in after if after[name] == before.get(name)}
    assert {name for name in before if "Ben" in name and name.startswith(("signs", "footage"))} <= unchanged
    assert forget("Ann", places(home), yes=True) == []


def test_a_video_is_known_by_its_content_or_by_its_name_alone(home: Path) -> None:
    talk = home / "footage" / "videos" / "Ann-talk.pose"
    kinds = {removal.kind for removal in forget(str(talk))}
    assert kinds == {"cached landmarks", "cached indices", "cached tracks"}
    talk.unlink()
    assert {removal.kind for removal in forget(str(talk), yes=True)} == kinds
    assert forget(str(talk)) == []


def test_a_folder_of_something_else_is_refused(home: Path) -> None:
    (home / "photos").mkdir()
    (home / "notes.txt").write_text("Ann")
    for name in ("photos", "notes.txt"):
        with pytest.raises(OptionsError) as refused:
            forget("Ann", [home / name], yes=True)
        assert name in str(refused.value)
    with pytest.raises(OptionsError):
        forget("  ")


def test_the_command_lists_and_says_what_it_cannot_reach(home: Path) -> None:
    run = CliRunner()
    dry = run.invoke(app, ["forget", "Ann", *map(str, places(home))])
    assert "nothing was" in dry.output
    assert "--yes" in dry.output
    assert (home / "signs" / "media" / "apple-Ann.pose").exists()
    done = run.invoke(app, ["forget", "Ann", *map(str, places(home)), "--yes"])
    assert "weights that were trained" in done.output
    assert not (home / "signs" / "media" / "apple-Ann.pose").exists()
    assert isinstance(forget("Ben", places(home))[0], Removal)


def test_a_plain_folder_and_its_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIGNSPOT_CACHE", str(tmp_path / "cache"))
    for number, name in enumerate(("a", "b", "c")):
        pose(tmp_path / "signs" / f"{name}.pose", number)
    table = tmp_path / "signs" / "dictionary.csv"
    table.write_text('file,word,signer\na.pose,apple,Ann\nb.pose,"ice\ncream",Ben\nc.pose,pear,Ann\n')
    removed = forget("Ann", [tmp_path / "signs"], yes=True)
    assert [(removal.kind, removal.what) for removal in removed] == [
        ("lines", f"{table}: 2 of 3"),
        ("file", str(tmp_path / "signs" / "a.pose")),
        ("file", str(tmp_path / "signs" / "c.pose")),
    ]
    assert table.read_text() == 'file,word,signer\nb.pose,"ice\ncream",Ben\n'
    assert [path.name for path in sorted((tmp_path / "signs").iterdir())] == ["b.pose", "dictionary.csv"]


def test_a_video_goes_from_a_folder_without_a_table_by_its_content(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SIGNSPOT_CACHE", str(tmp_path / "cache"))
    original = pose(tmp_path / "mine.pose", 1)
    pose(tmp_path / "signs" / "apple" / "copy.pose", 1)
    pose(tmp_path / "signs" / "apple" / "other.pose", 2)
    forget(str(original), [tmp_path / "signs"], yes=True)
    assert [path.name for path in (tmp_path / "signs" / "apple").iterdir()] == ["other.pose"]


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".via.json", ".bobsl.json", ".parquet"])
def test_spottings_in_a_persons_videos_go(suffix: str, home: Path) -> None:
    path = home / f"found{suffix}"
    write([Spotting("apple", f"videos/{who}-talk.mp4", 1.0, 0.5, 1.5, 0.9) for who in ("Ann", "Ben", "Ann")], path)
    forget("videos/Ann-talk.mp4", [path], yes=True)
    assert [spotting.video for spotting in read_spottings(path)] == ["videos/Ben-talk.mp4"]
    assert b"Ann" not in path.read_bytes()


@pytest.mark.parametrize("suffix", [".eaf", ".vtt", ".csv"])
def test_a_file_of_nobody_else_goes_as_a_whole(suffix: str, home: Path) -> None:
    (path,) = write([Spotting("apple", "Ann-talk.mp4", 1.0, 0.5, 1.5, 0.9)], home / f"found{suffix}")
    assert str(path) in {removal.what for removal in forget("Ann", [*places(home), path], yes=True)}
    assert not path.exists()


def pack(path: Path, members: dict[str, Path]) -> None:
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, file in members.items():
                archive.write(file, name)
        return
    mode: Any = {".gz": "w:gz", ".xz": "w:xz"}.get(path.suffix, "w")
    with tarfile.open(path, mode) as tape:
        for name, file in members.items():
            tape.add(file, name)


@pytest.mark.parametrize("suffix", [".zip", ".tar", ".tar.gz"])
def test_members_of_archives_go_by_name_and_by_content(suffix: str, home: Path) -> None:
    copies = {"backup/videos/Ann-talk.pose": "Ann", "renamed.pose": "Ann", "backup/videos/Ben-talk.pose": "Ben"}
    path = home / f"archive{suffix}"
    pack(path, {name: home / "footage" / "videos" / f"{who}-talk.pose" for name, who in copies.items()})
    ben = (home / "footage" / "videos" / "Ben-talk.pose").read_bytes()
    removed = forget("Ann", [home / "footage", path], yes=True)
    assert {part.what for part in removed if part.kind == "member"} == {f"{path}: {name}" for name in list(copies)[:2]}
    shutil.unpack_archive(path, home / "out")
    assert everything(home / "out") == {"backup/videos/Ben-talk.pose": ben}


@pytest.mark.parametrize("suffix", [".zip", ".tar.xz"])
def test_an_archive_that_unpacks_to_far_more_than_it_is_is_refused(
    suffix: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("signspot.applications.data_removal._MOST_EXTRA", 1 << 20)
    path, zeros = home / f"archive{suffix}", home / "zeros.mp4"
    zeros.write_bytes(bytes(8 << 20))
    pack(path, {"Ann-talk.mp4": zeros})
    with pytest.raises(FormatError):
        forget("Ann", [home / "footage", path], yes=True)
    assert (home / "footage" / "videos" / "Ann-talk.pose").is_file(), "nothing goes before all is found"


@pytest.mark.parametrize("suffix", [".zip", ".tar.xz"])
def test_a_damaged_archive_is_reported(suffix: str, home: Path) -> None:
    path = home / f"archive{suffix}"
    pack(path, {"Ben-talk.pose": home / "footage" / "videos" / "Ben-talk.pose"})
    content = bytearray(path.read_bytes())
    content[60:160] = b"\xff" * 100
    path.write_bytes(content)
    with pytest.raises(FormatError):
        forget("Ann", [path])


def test_an_id_is_a_name_and_no_pattern(home: Path) -> None:
    """A video called `*` is forgotten alone; other names in the splits stay."""
    footage = home / "footage"
    corpus = json.loads((footage / "corpus.json").read_text())
    pose(footage / "videos" / "star.pose", 20)
    corpus["videos"].append({"id": "*", "signer": "Cem", "landmarks": "videos/star.pose"})
    (footage / "corpus.json").write_text(json.dumps(corpus))
    (footage / "splits.json").write_text(json.dumps({"train": ["*", "Ben-talk"], "test": ["**"]}))
    truth = footage / "truth" / "signs"
    truth.mkdir(parents=True)
    for name in ("*", "Ben-talk"):
        (truth / f"{name}.jsonl").write_text("")
    forget("Cem", [footage], yes=True)
    assert sorted(path.name for path in truth.iterdir()) == ["Ben-talk.jsonl"]
    assert json.loads((footage / "splits.json").read_text())["train"] == ["Ben-talk"]
    assert json.loads((footage / "splits.json").read_text())["test"] == ["**"]


def test_runs_archives_trainings_and_loops_forget_too(home: Path) -> None:
    """All of it below one folder: nobody has to name each."""
    talks = {signer: home / "footage" / "videos" / f"{signer}-talk.pose" for signer in ("Ann", "Ben")}
    grid = Grid(fps=25.0, stride=1, window=16, frames=17)
    for signer, talk in talks.items():
        exemplar, other = Exemplar("apple", f"apple-{signer}"), Exemplar("apple", "apple-Eve")
        write_gallery(Gallery.of([exemplar, other], np.ones((2, 4), np.float32)), home / "run" / "gallery")
        digest = content_digest(talk)
        write_track(
            Track(np.ones((2, 4), np.float16), grid, "enc", f"elsewhere/{signer}.mp4", digest),
            home / "archive" / "deep" / f"{signer}.safetensors",
        )
        features = home / "training" / "features" / "enc" / f"{signer}-talk-{digest}-1.npy"
        features.parent.mkdir(parents=True, exist_ok=True)
        np.save(features, np.ones(3))
    np.save(features.with_name(f"exemplars-{'0' * 16}-2-3-1-1.npy"), np.ones(3))
    (home / "learnt" / "stages").mkdir(parents=True)
    lines = [json.dumps({"word": "apple", "video": f"{signer}-talk", "time": 1.0}) + "\n" for signer in talks]
    (home / "learnt" / "labels-M.jsonl").write_text("".join(lines))
    before = everything(home)
    forget("Ann", [home])
    assert everything(home) == before
    forget("Ann", [home], yes=True)
    after = everything(home)
    assert not [name for name, content in after.items() if b"Ann" in content or "Ann" in name]
    bens = {name for name in before if "Ben" in name}
    assert bens <= set(after)
    galleries = [name for name in before if "gallery" in name]
    assert [name for name in galleries if name in after] == [name for name in galleries if b"Ben" in before[name]]
    assert [name for name in after if name.startswith("training")] == [
        name for name in before if name.startswith("training") and "Ben" in name
    ]
    assert (home / "learnt" / "labels-M.jsonl").read_text() == lines[1]
    assert forget("Ann", [home]) == []


def spotted(*signers: str) -> list[Spotting]:
    return [Spotting("apple", f"videos/{signer}-talk.pose", 1.0, 0.9, 1.1, 0.9) for signer in signers]


def decide(queues: Queues, queue: str, mark: str) -> None:
    """Eve decides everything, and takes the last decision back to decide it again."""
    handed = queues.hand_out(queue, "Eve", 9)
    for item in handed:
        decision = Decision(f"decision-{mark}-{item.item}", queue, item.item, "Eve", "yes", "", 0.9, 1.1, 1.0)
        queues.decide(decision)
    queues.undo(queue, "Eve")
    queues.decide(Decision(f"again-{mark}", queue, handed[-1].item, "Eve", "no", "", 0.9, 1.1, 1.0))


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
    state = ServedFolder(root).state
    database = open_database(address, state)
    queues = Queues(database)
    both = queues.add("all", spotted("Ann", "Ben"))
    single = {who: queues.add(f"videos/{who}-talk.pose: apple", spotted(who)) for who in ("Ann", "Ben")}
    for mark, queue in {"both": both, **single}.items():
        decide(queues, queue, mark)
        spottings = [spotting for _, _, spotting in verified(queues.items(queue), queues.decisions(queue))]
        exports.save_labels(spottings, ServedFolder(root), queues.get(queue)["name"], queue)
    jobs = Jobs(database, settings(root))
    for who in ("Ann", "Ben"):
        Signs(database).put(f"videos/{who}-talk.pose", 0, [{"word": "apple", "start": 0.1, "end": 0.5}])
        jobs.add("prepare", f"videos/{who}-talk.pose", {"video": f"videos/{who}-talk.pose"})
    failed = jobs.add("annotate", "run", {"name": "run", "dictionary": "signs"})
    jobs._set(failed, ("waiting",), state="failed", message="cannot read videos/Ann-talk.pose: it is damaged")
    database.close()
    return both, single["Ben"]


def is_bens_as_it_was(root: Path, address: str | None, both: str, bens: str) -> bool:
    database = open_database(address, ServedFolder(root).state)
    queues = Queues(database)
    assert [queue["id"] for queue in queues.all()] == [bens, both], "an empty queue has gone, too"
    for queue in (both, bens):
        assert [item.spotting.video for item in queues.items(queue)] == ["videos/Ben-talk.pose"]
        assert [decision.answer for decision in queues.decisions(queue)] == ["no"]
        assert len(queues.decisions(queue, withdrawn=True)) == 2
    assert queues.get(bens)["name"] == "videos/Ben-talk.pose: apple"
    counts = [len(Signs(database).get(f"videos/{who}-talk.pose")[1]) for who in ("Ann", "Ben")]
    assert counts == [0, 1], "signs edited by hand"
    titles = {job["title"]: job["message"] for job in Jobs(database, settings(root)).all()}
    assert titles == {"videos/Ben-talk.pose": "", "run": "cannot read (forgotten): it is damaged"}
    database.close()
    return True


@pytest.mark.parametrize("who", ["Ann", "video"])
def test_a_served_folder_forgets_its_questions_answers_jobs_labels_signs_and_thumbnails(who: str, home: Path) -> None:
    """A corpus that is served, by its signer; and a folder of loose videos, by the path of one."""
    root = home / "footage"
    if who == "video":
        (root / "corpus.json").unlink()
        (root / "labels" / "all.jsonl").unlink()  # it has the names of the corpus
        who = str(root / "videos" / "Ann-talk.pose")
    state = root / ".signspot"
    (state / "media").mkdir(parents=True)
    (state / "media" / "0123.jpg").write_bytes(b"a face")
    queues = use(root, None)
    forget(who, [root], yes=True)
    left = everything(root)
    assert not [name for name in left if name.startswith(".signspot/media") or "Ann" in name]
    assert not [name for name, content in left.items() if b"Ann" in content]
    assert next((root / "labels").glob("verified-all-*.jsonl")).read_text().count("Ben-talk") == 1
    assert is_bens_as_it_was(root, None, *queues)
    assert forget(who, [root]) == []


class TestPostgres:
    """A real server: nothing of the person is left in its tables, in their statistics, or in the files of either."""

    @pytest.fixture
    def address(self, postgres: Any) -> str:
        return str(postgres.url)

    @pytest.mark.parametrize("annotated", [False, True])
    def test_questions_answers_and_jobs_go_while_a_server_runs(
        self, annotated: bool, address: str, home: Path, postgres: Any
    ) -> None:
        """Of a workbench alone, and beside annotations in the same database."""
        root, who = home / "footage", "Ann"
        if annotated:
            annotate(address)
        queues = use(root, address)
        with connected(address) as other:
            other.execute("ANALYZE")  # as the server does by itself, once in a while
            assert stored(other, who)
        running = open_database(address, ServedFolder(root).state)  # a server has its connection open
        assert len(Queues(running).all()) == 3
        listed = forget(who, [root, address])
        assert len(Queues(running).all()) == 3
        assert any("signspot:***@" in removal.what for removal in listed)
        assert not [removal for removal in listed if "secret" in removal.what]
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

    def test_the_last_of_all_goes_without_a_trace(self, address: str, home: Path) -> None:
        """Tables that are empty then are not looked at by `ANALYZE`, which would leave their old statistics."""
        root = home / "footage"
        annotate(address)
        use(root, address)
        with connected(address) as other:
            other.execute("ANALYZE")
        for who in ("Ann", "Ben"):
            forget(who, [root, address], yes=True)
        with connected(address) as other:
            assert stored(other, "Ann") == stored(other, "Ben") == []
        database = open_database(address, ServedFolder(root).state)  # and it goes on being used
        assert Queues(database).items(Queues(database).add("new", spotted("Cem")))
        database.close()


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
    tables = []
    for (table,) in connection.execute(TABLES).fetchall():
        rows = connection.execute(f'SELECT t::text FROM "{table}" t').fetchall()
        tables += [table] if any(f"{who}-talk" in row for (row,) in rows) else []
    remembered = "SELECT tablename, s::text FROM pg_stats s WHERE schemaname = 'public'"
    return tables + [f"{table} (statistics)" for table, s in connection.execute(remembered) if f"{who}-talk" in s]
