"""Disks that may not be written, and files that may not grow: a clear line or 507, and no part files."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from .conftest import PROGRAM, ROOT, ServerProcess, spotted

_TMPFS = 'mount -t tmpfs -o size=4m none "$0" && cp -r "$0-seed/." "$0" && exec "$@"'
_READ_ONLY = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"'


def mounting(script: str, folder: Path) -> tuple[str, ...]:
    """A command that mounts something at a folder, for the command that follows alone."""
    command = ("unshare", "--mount", "sh", "-c", script, str(folder))
    if not shutil.which("unshare") or subprocess.run([*command, "true"], capture_output=True).returncode:
        pytest.skip("mounting needs root")
    return command


@pytest.fixture
def folder(material: Path, tmp_path: Path) -> Path:
    """A folder with a video, and a copy of it as `folder-seed`."""
    for name in ("folder", "folder-seed"):
        (tmp_path / name).mkdir()
        shutil.copy(material / "news.mp4", tmp_path / name)
    return tmp_path / "folder"


def run_server(folder: Path, prefix: tuple[str, ...]) -> Iterator[ServerProcess]:
    server = ServerProcess(folder=folder, cache=folder.parent / "cache", prefix=prefix).start()
    yield server
    server.end(signal.SIGINT)


@pytest.fixture
def on_tmpfs(folder: Path) -> Iterator[ServerProcess]:
    """A server of a folder on a file system of its own."""
    yield from run_server(folder, mounting(_TMPFS, folder))


@pytest.fixture
def with_file_limit(folder: Path) -> Iterator[ServerProcess]:
    """A server whose files may have 300,000 bytes, which its database does not need."""
    yield from run_server(folder, ("prlimit", "--fsize=300000"))


def test_a_read_only_folder_is_refused_in_one_line(folder: Path) -> None:
    command = [*mounting(_READ_ONLY, folder), sys.executable, "-c", PROGRAM, "serve", str(folder), "--port", "0"]
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)}, timeout=180
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert "read-only" in done.stderr
    assert "Traceback" not in done.stderr
    assert [path.name for path in folder.iterdir()] == ["news.mp4"]


def test_a_full_disk_is_507_loses_nothing_and_leaves_no_part_files(on_tmpfs: ServerProcess, material: Path) -> None:
    queue = on_tmpfs.queue(spotted())
    assert on_tmpfs.process is not None
    inside = ["nsenter", f"--target={on_tmpfs.process.pid}", "--mount"]
    filler = str(on_tmpfs.folder / "filler")
    subprocess.run(
        [*inside, "dd", "if=/dev/zero", f"of={filler}", "bs=4k"], capture_output=True, timeout=180
    )  # until it is full
    video = (material / "news.mp4").read_bytes()
    imported = f"/api/queues/{queue}/import?name=x.csv&annotator=Ada"
    for address in ("/api/uploads/x.mp4", "/api/clips/news.mp4?name=x.mp4", imported):
        answer = on_tmpfs.ask("PUT", address, video)
        assert (answer.status, "cannot write x." in answer.text, "disk is full" in answer.text) == (507, True, True)
    files = subprocess.run([*inside, "find", str(on_tmpfs.folder)], capture_output=True, text=True, check=True).stdout
    assert "signspot-part" not in files
    answers = [
        on_tmpfs.decide(queue, 0, id=f"decision-{k:04}").status
        for k in range(200)  # the first ones may fit into pages that the database has
    ]
    assert set(answers) <= {200, 507}
    assert answers[-1] == 507
    subprocess.run([*inside, "rm", filler], check=True)
    history = on_tmpfs.ask("GET", f"/api/queues/{queue}/export?suffix=.decisions.csv").text
    assert [f"decision-{k:04}" in history for k in range(200)] == [status == 200 for status in answers]
    assert on_tmpfs.ask("PUT", "/api/uploads/x.mp4", video).status == 200


def test_a_limit_of_file_sizes_is_507_and_leaves_no_part_files(with_file_limit: ServerProcess, material: Path) -> None:
    video = (material / "news.mp4").read_bytes() + b"\0\x04\x93\xe0free" + bytes(299_992)
    answer = with_file_limit.ask("PUT", "/api/uploads/x.mp4", video)
    assert (answer.status, "ulimit" in answer.json["error"]) == (507, True)
    assert list((with_file_limit.folder / ".signspot" / "uploads").iterdir()) == []
    assert with_file_limit.ask("PUT", "/api/uploads/small.mp4", (material / "news.mp4").read_bytes()).status == 200
