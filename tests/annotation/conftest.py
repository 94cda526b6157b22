"""A tiny corpus of the signing world, a small untrained encoder, an engine without processes, a PostgreSQL server."""

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pytest
import torch

from signspot.annotation.engines.engine import Failure, attempt
from signspot.models.checkpoints import save_encoder
from signspot.models.encoder import make_encoder
from signspot.models.registry import build
from signspot_world.corpus_writer import make_corpus
from signspot_world.options import CorpusOptions


class HereEngine:
    """Works in this process, one item after the other; counts them."""

    def __init__(self) -> None:
        self.items: list[Any] = []

    def run(self, work: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[tuple[Any, Any | Failure]]:
        for item in items:
            self.items.append(item)
            yield item, attempt(work, item)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        return None


@pytest.fixture
def here() -> HereEngine:
    return HereEngine()


@pytest.fixture(scope="session")
def encoder_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.manual_seed(0)
    small = make_encoder("small", build("landmark", width=32, hand_width=16, part_width=8, last_width=32))
    path = tmp_path_factory.mktemp("encoder") / "encoder.safetensors"
    save_encoder(small, path)
    return path


@pytest.fixture(scope="session")
def corpus_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four videos of ten seconds or so, a dictionary of 16 words."""
    options = CorpusOptions(words=16, hours=0.012, seed=3, video_seconds=10, dictionary_signers=3, exemplars=2.0)
    folder = tmp_path_factory.mktemp("world") / "corpus"
    make_corpus(options, folder)
    return folder


@pytest.fixture(scope="session")
def shared_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tracks and exemplars, made once for all tests that are not about them."""
    return tmp_path_factory.mktemp("annotation-cache")


class Postgres:
    """A real server on loopback, which tests may stop and start; its locale sorts words otherwise than bytes."""

    def __init__(self, programs: Path, folder: Path):
        self._programs, self._folder = programs, folder
        # PostgreSQL refuses to run as root.
        self._user: dict[str, Any] = {"user": _ordinary_user()} if os.getuid() == 0 else {}
        if self._user:
            shutil.chown(folder, self._user["user"])
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        options = ("--no-sync", "--auth=trust", "--username=signspot", "--encoding=UTF8")
        self._call("initdb", *options, "--locale=C.UTF-8", "--locale-provider=icu", "--icu-locale=en-GB")

    @property
    def url(self) -> str:
        return f"postgresql://signspot:secret@127.0.0.1:{self.port}/postgres"

    def start(self) -> None:
        settings = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=off"
        self._call(
            "pg_ctl", "--wait", "--timeout=60", f"--log={self._folder / 'log'}", f"--options={settings}", "start"
        )

    def stop(self) -> None:
        self._call("pg_ctl", "--mode=immediate", "stop")

    def _call(self, program: str, *arguments: str) -> None:
        command = [str(self._programs / program), f"--pgdata={self._folder / 'data'}", *arguments]
        # No pipes: the server would keep them open.
        with (self._folder / "said").open("w") as said:
            done = subprocess.run(command, stdout=said, stderr=said, cwd="/", **self._user)
        assert done.returncode == 0, (self._folder / "said").read_text()

    def empty(self) -> None:
        import psycopg

        with psycopg.connect(self.url) as connection:
            connection.execute("DROP SCHEMA public CASCADE")
            connection.execute("CREATE SCHEMA public")


def _ordinary_user() -> str:
    import pwd

    names = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in names else "nobody"


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Postgres]:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: path.parts[-3].zfill(4))
    program = str(found[-1]) if found else shutil.which("initdb")
    if program is None:
        pytest.skip("PostgreSQL's server is not installed (Debian: postgresql)")
    folder = Path(tempfile.mkdtemp(prefix="signspot-postgres-"))
    try:
        server = Postgres(Path(program).parent, folder)
        server.start()
        yield server
        server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def postgres(postgres_server: Postgres) -> Postgres:
    """The server with an empty database."""
    postgres_server.empty()
    return postgres_server
