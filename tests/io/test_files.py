"""Files are written whole or not at all; outputs destroy no file of a person."""

import errno
import json
import os
import stat
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from signspot.errors import OutputError, RefusedOutputError, UnreadableFileError
from signspot.io import files
from signspot.io.files import (
    Outputs,
    atomic_write,
    cache_folder,
    clean_up,
    content_digest,
    explain_write_failure,
    is_ours,
    names_apart,
    temporary_name,
    text_digest,
)
from tests.fixtures.opened import counting


def test_a_file_appears_whole(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "result.txt"
    with atomic_write(target) as temporary:
        temporary.write_text("all of it")
        assert not target.exists()
        assert temporary.suffix == ".txt"
    assert target.read_text() == "all of it"
    assert list(target.parent.iterdir()) == [target]


@pytest.mark.parametrize(
    ("error", "raised"),
    [
        (RuntimeError(), RuntimeError),
        (KeyboardInterrupt(), KeyboardInterrupt),
        (OSError(errno.ENOSPC, "No space left on device"), OutputError),
    ],
)
def test_a_failure_leaves_what_was_there(tmp_path: Path, error: BaseException, raised: type[BaseException]) -> None:
    target = tmp_path / "result.txt"
    target.write_text("old")
    with pytest.raises(raised), atomic_write(target) as temporary:
        temporary.write_text("half")
        raise error
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_full_disk_is_said_in_one_line() -> None:
    with Path("/dev/full").open("w") as full, pytest.raises(OSError, match="No space") as caught:
        full.write("x" * 10_000)
        full.flush()
    line = explain_write_failure(Path("out.eaf"), caught.value)
    assert line == "cannot write out.eaf: the disk is full. Free some space, or write elsewhere."


@pytest.mark.parametrize("name", [".", "file/x.csv"])
def test_a_folder_and_a_path_through_a_file_cannot_be_written(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError), atomic_write(tmp_path / name):
        pass


def test_a_file_is_named_by_its_content(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x" * 3_000_000)
    (tmp_path / "b").write_bytes(b"x" * 3_000_000)
    (tmp_path / "c").write_bytes(b"x" * 2_999_999)
    assert content_digest(tmp_path / "a") == content_digest(tmp_path / "b") != content_digest(tmp_path / "c")
    assert len(text_digest("how")) == 8


def test_the_cache_goes_where_the_user_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIGNSPOT_CACHE", str(tmp_path))
    assert cache_folder() == tmp_path
    monkeypatch.delenv("SIGNSPOT_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder() == tmp_path / "xdg" / "signspot"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_folder().parts[-2:] == (".cache", "signspot")
    assert os.fspath(cache_folder()).startswith(os.path.expanduser("~"))  # noqa: PTH111


@pytest.mark.parametrize("mask", [0o022, 0o077, 0o002])
def test_a_new_file_has_the_mode_that_the_umask_gives(tmp_path: Path, mask: int) -> None:
    before = os.umask(mask)
    try:
        with atomic_write(tmp_path / "track") as temporary:  # as tempfile, and safetensors, do
            os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "track").stat().st_mode) == 0o666 & ~mask


def test_a_replaced_file_keeps_its_mode(tmp_path: Path) -> None:
    target = tmp_path / "private.csv"
    target.write_text("old")
    target.chmod(0o640)
    with atomic_write(target) as temporary:
        temporary.write_text("new")
    assert stat.S_IMODE(target.stat().st_mode) == 0o640


def test_the_content_is_on_the_disk_before_the_name_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SIGNSPOT_SYNC", raising=False)
    target, order, real = tmp_path / "a.csv", list[tuple[str, bool]](), os.fsync

    def sync(handle: int) -> None:
        order.append(("folder" if stat.S_ISDIR(os.fstat(handle).st_mode) else "content", target.exists()))
        real(handle)

    monkeypatch.setattr(os, "fsync", sync)
    with atomic_write(target) as temporary:
        temporary.write_text("x")
    assert order == [("content", False), ("folder", True)]


def test_a_long_name_of_any_letters_can_be_written(tmp_path: Path) -> None:
    target = tmp_path / ("手" * 83 + ".csv")  # 253 bytes
    with atomic_write(target) as temporary:
        temporary.write_text("x")
    assert target.read_text() == "x"


@pytest.mark.parametrize("path", ["/dev/null", "pipe"])
def test_no_file_takes_the_place_of_a_device_or_a_pipe(tmp_path: Path, path: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    for refusing in (atomic_write(tmp_path / path), Outputs()):
        with pytest.raises(OutputError), refusing as writing:
            if isinstance(writing, Outputs):
                writing.claim(tmp_path / path)
    assert not (tmp_path / path).is_file()


def stale_file(folder: Path, process: int, host: str | None = None) -> Path:
    """A temporary file of a process of this machine, or of another one."""
    ours = temporary_name(Path("abc.safetensors")).replace(f"-{os.getpid()}-", f"-{process}-")
    path = folder / "deep" / (ours if host is None else f".abc.{host}-{process}-140.signspot-part.safetensors")
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"half")
    return path


def test_only_temporary_files_of_dead_processes_are_removed(tmp_path: Path) -> None:
    done = subprocess.Popen(["true"])
    done.wait()
    dead, alive = stale_file(tmp_path, done.pid), stale_file(tmp_path, os.getpid())
    elsewhere, forgotten = stale_file(tmp_path, done.pid, "00000000"), stale_file(tmp_path, done.pid, "11111111")
    os.utime(forgotten, (0, 0))
    users = [tmp_path / name for name in (".film.part.mp4", "a.part.eaf", ".abc.1-2.part.safetensors")]
    for path in users:
        path.write_text("a person's")
    clean_up(tmp_path)
    assert not dead.exists()
    assert not forgotten.exists()
    assert all(path.exists() for path in (alive, elsewhere, *users))


def test_temporary_files_of_a_killed_writer_are_removed(tmp_path: Path) -> None:
    code = (
        "import os, sys; from signspot.io.files import atomic_write\n"
        f"with atomic_write({str(tmp_path / 'a.csv')!r}) as temporary: temporary.write_text('half'); os._exit(9)"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 9
    assert len(list(tmp_path.iterdir())) == 1
    clean_up(tmp_path)
    assert list(tmp_path.iterdir()) == []
    assert subprocess.run([sys.executable, "-c", code]).returncode == 9
    with atomic_write(tmp_path / "b.csv") as temporary:  # the next run that writes there removes it, too
        temporary.write_text("whole")
    assert list(tmp_path.iterdir()) == [tmp_path / "b.csv"]


def write(path: Path, text: str, inputs: Sequence[Path] = (), *, force: bool = False) -> None:
    """Do as a command does: claim first, write later."""
    with Outputs(inputs, force=force) as outputs:
        target = outputs.claim(path)
        with atomic_write(target) as temporary:
            temporary.write_text(text)


def refusal(path: Path, inputs: Sequence[Path] = (), *, force: bool = False) -> str:
    with pytest.raises(RefusedOutputError) as refused, Outputs(inputs, force=force) as outputs:
        outputs.claim(path)
    return str(refused.value)


class TestInputsStay:
    @pytest.fixture
    def video(self, tmp_path: Path) -> Path:
        path = tmp_path / "a.mp4"
        path.write_bytes(b"precious")
        return path

    def test_by_name(self, video: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        for spelling in (Path("a.mp4"), tmp_path / "x" / ".." / "a.mp4", tmp_path / "A.MP4"):
            assert "it is the input" in refusal(spelling, [video], force=True)

    def test_by_link(self, video: Path, tmp_path: Path) -> None:
        (tmp_path / "hard.mp4").hardlink_to(video)
        assert "it is the input" in refusal(tmp_path / "hard.mp4", [video], force=True)
        (tmp_path / "soft.mp4").symlink_to(video)
        assert "it is the input" in refusal(video, [tmp_path / "soft.mp4"], force=True)
        assert "it is a link to" in refusal(tmp_path / "soft.mp4", [video], force=True)
        (tmp_path / "folder").symlink_to(tmp_path)
        assert "it is the input" in refusal(tmp_path / "folder" / "a.mp4", [video], force=True)

    def test_even_what_we_wrote(self, tmp_path: Path) -> None:
        write(tmp_path / "a.jsonl", "ours")
        assert "it is the input" in refusal(tmp_path / "a.jsonl", [tmp_path / "a.jsonl"])

    def test_every_file_of_a_folder(self, video: Path, tmp_path: Path) -> None:
        (tmp_path / "signs" / "deep").mkdir(parents=True)
        (tmp_path / "signs" / "deep" / "w.mp4").write_bytes(b"exemplar")
        (tmp_path / "signs" / "linked.mp4").symlink_to(video)
        signs = [tmp_path / "signs"]
        assert "a file of the input" in refusal(tmp_path / "signs" / "deep" / "w.mp4", signs, force=True)
        assert "a file of the input" in refusal(video, signs, force=True)

    def test_a_result_may_lie_in_an_input_folder_and_be_made_again(self, tmp_path: Path) -> None:
        for text in ("first", "second"):
            write(tmp_path / "found.eaf", text, [tmp_path])
        assert (tmp_path / "found.eaf").read_text() == "second"


class TestPeoplesFilesStay:
    def test_what_a_person_edited_is_refused_and_forced_with_a_backup(self, tmp_path: Path) -> None:
        target = tmp_path / "a.eaf"
        write(target, "ours")
        for turn, backup in enumerate(("a.eaf.bak", "a.eaf.bak2")):
            edited = f"edited {turn}"
            target.write_text(edited)
            assert "--force" in refusal(target)
            assert target.read_text() == edited
            write(target, f"ours again {turn}", force=True)
            assert (tmp_path / backup).read_text() == edited
            assert target.read_text() == f"ours again {turn}"

    def test_work_that_fails_leaves_no_backup(self, tmp_path: Path) -> None:
        target = tmp_path / "a.vtt"
        target.write_text("subtitles")
        with pytest.raises(RuntimeError), Outputs(force=True) as outputs:
            outputs.claim(target)
            raise RuntimeError
        assert [path.name for path in tmp_path.iterdir()] == ["a.vtt"]
        assert "--force" in refusal(target)

    def test_what_was_written_before_a_failure_is_known_as_ours(self, tmp_path: Path) -> None:
        with pytest.raises(KeyboardInterrupt), Outputs() as outputs:
            with atomic_write(outputs.claim(tmp_path / "a.csv")) as temporary:
                temporary.write_text("whole")
            raise KeyboardInterrupt
        write(tmp_path / "a.csv", "again")

    def test_what_a_person_saves_while_we_work_is_backed_up(self, tmp_path: Path) -> None:
        target = tmp_path / "a.eaf"
        outputs = Outputs()
        outputs.claim(target)
        target.write_text("saved meanwhile")
        with outputs, atomic_write(target) as temporary:
            temporary.write_text("ours")
        assert (tmp_path / "a.eaf.bak").read_text() == "saved meanwhile"

    def test_an_empty_file_holds_nothing_to_lose(self, tmp_path: Path) -> None:
        (tmp_path / "a.csv").touch()
        write(tmp_path / "a.csv", "rows")

    def test_suffix_first_then_folders_then_two_of_one_name(self, tmp_path: Path) -> None:
        outputs = Outputs()
        with pytest.raises(RefusedOutputError, match=r"'\.docx'.*\.eaf, \.via\.json"):
            outputs.claim(tmp_path / "a.docx", (".eaf", ".via.json"))
        assert outputs.claim(tmp_path / "a.VIA.json", (".eaf", ".via.json")).name == "a.VIA.json"
        with pytest.raises(RefusedOutputError):
            outputs.claim(tmp_path)
        outputs.claim(tmp_path / "a.eaf")
        with pytest.raises(RefusedOutputError):
            outputs.claim(tmp_path / "A.eaf")
        with pytest.raises(RefusedOutputError, match="--json"):
            outputs.claim("-")

    def test_the_ledger_is_bounded_and_keeps_the_newest(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("SIGNSPOT_CACHE", str(tmp_path / "cache"))
        monkeypatch.setattr("signspot.io.files.MOST_LEDGER_BYTES", 2000)
        for number in range(60):
            write(tmp_path / f"{number}.csv", f"content {number}")
        assert (tmp_path / "cache" / "written.txt").stat().st_size <= 2000
        assert is_ours(tmp_path / "59.csv")
        assert not is_ours(tmp_path / "0.csv")

    def test_without_a_ledger_it_is_said(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        (tmp_path / "file").write_text("no folder")
        monkeypatch.setenv("SIGNSPOT_CACHE", str(tmp_path / "file"))
        write(tmp_path / "a.csv", "rows")
        assert "will need --force" in caplog.text


def test_equal_names_are_kept_apart() -> None:
    def named(*paths: str) -> list[str]:
        return [path.as_posix() for path in names_apart(paths, ".pose")]

    assert named("mon/a.mp4", "tue/b.mp4") == ["a.pose", "b.pose"]
    assert named("mon/a.mp4", "tue/a.mp4", "b.mov") == ["mon/a.pose", "tue/a.pose", "b.pose"]
    assert named("mon/a.mp4", "tue/A.mp4") == ["mon/a.pose", "tue/A.pose"]
    assert named("mon/a.mp4", "mon/a.mov", "tue/a.mp4") == ["mon/a.mp4.pose", "mon/a.mov.pose", "tue/a.pose"]
    assert named() == []


def test_an_unchanged_file_is_hashed_once(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"one")
    os.utime(path, (1e9, 1e9))
    with counting() as opened:
        first = content_digest(path)
        assert content_digest(path) == first
    assert opened["a"] == 1
    path.write_bytes(b"two")  # as long as before
    assert content_digest(path) != first
    path.write_bytes(b"six")  # within a tick of the clock, maybe
    (tmp_path / "b").write_bytes(b"six")
    assert content_digest(path) == content_digest(tmp_path / "b")


def test_a_digest_that_another_process_has_kept_meanwhile_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SIGNSPOT_CACHE", str(tmp_path / "cache"))
    video, other = tmp_path / "news.mp4", tmp_path / "other.mp4"
    for path in (video, other):
        path.write_bytes(bytes(1 << 15))
        os.utime(path, (1e9, 1e9))
    content_digest(other)  # reads what is kept, and keeps one
    status = video.stat()
    stamp = status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
    with (tmp_path / "cache" / files.DIGESTS).open("a") as end:
        end.write("damaged\n" + json.dumps({"path": str(video), "stamp": stamp, "digest": "of another process"}) + "\n")
    assert content_digest(video) == "of another process"


def test_killed_before_the_end_of_a_command_a_file_is_known_as_ours(tmp_path: Path) -> None:
    target = tmp_path / "a.csv"
    code = (
        "import os; from signspot.io.files import Outputs, atomic_write\n"
        f"outputs = Outputs(); outputs.claim({str(target)!r})\n"
        "with outputs:\n"
        f"    with atomic_write({str(target)!r}) as temporary: temporary.write_text('new')\n"
        "    os._exit(9)"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 9
    assert target.read_text() == "new"
    assert Outputs().claim(target) == target


def test_a_disk_that_fails_is_reported(tmp_path: Path) -> None:
    failing = tmp_path / "news.mp4"
    failing.symlink_to("/proc/self/mem")  # can be opened, and read nowhere
    with pytest.raises(UnreadableFileError, match=r"news\.mp4") as caught:
        content_digest(failing)
    assert isinstance(caught.value, OSError)
    with pytest.raises(UnreadableFileError):
        content_digest(tmp_path / "nowhere.mp4")


@pytest.mark.parametrize("there", [True, False])
def test_a_link_is_never_replaced(tmp_path, there):
    if there:
        (tmp_path / "real").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with pytest.raises(OutputError), atomic_write(tmp_path / "link") as temporary:
        temporary.write_text("new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").exists() == there
    assert sorted(path.name for path in tmp_path.iterdir()) == (["link", "real"] if there else ["link"])
