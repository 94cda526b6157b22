"""What the server writes into its log, as a process of its own: no traceback for what clients do."""

import signal
import socket
from pathlib import Path
from urllib.parse import urlsplit

from tests.fixtures.limits import wait_until

from .conftest import ServerProcess


def begin_upload(server: ServerProcess) -> socket.socket:
    """Send the beginning of an upload."""
    parts = urlsplit(server.address)
    line = socket.create_connection((parts.hostname, parts.port))
    head = f"PUT /api/uploads/x.mp4 HTTP/1.1\r\nHost: {parts.netloc}\r\nX-Signspot: 1\r\nContent-Length: 99\r\n\r\nx"
    line.sendall(head.encode())
    return line


def wait_for_uploads(server: ServerProcess, count: int) -> None:
    """Wait until the server holds so many unfinished uploads."""
    folder = server.folder / ".signspot" / "uploads"

    def is_reached() -> bool:
        assert server.process is not None
        assert server.process.poll() is None
        return (len(list(folder.iterdir())) if folder.is_dir() else 0) == count

    wait_until(is_reached, f"{count} unfinished uploads")


def test_aborted_uploads_and_ctrl_c_with_open_recordings_leave_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with (tmp_path / "log.txt").open("w") as log:
        server = ServerProcess(folder=tmp_path / "folder", cache=tmp_path / "cache", log=log.fileno()).start()
        aborted = begin_upload(server)
        wait_for_uploads(server, 1)
        aborted.close()
        wait_for_uploads(server, 0)
        for _ in range(2):
            assert server.ask("POST", "/api/recordings").status == 200
        with begin_upload(server):
            wait_for_uploads(server, 1)
            server.end(signal.SIGINT)
    text = (tmp_path / "log.txt").read_text()
    assert "Ctrl-C" in text, "the log is the server's"
    assert "Traceback" not in text
    assert "AssertionError" not in text
    assert list((tmp_path / "folder" / ".signspot" / "uploads").iterdir()) == []
