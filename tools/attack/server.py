"""Attacks on `signspot serve`: odd requests, uploads and names, kills, ids of decisions used again.

A decision or an exemplar that was answered with 200 must be there afterwards, and no answer may be 500.
"""

import csv
import json
import os
import random
import signal
import socket
import struct
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from signspot.landmarks.pose_file import write_landmarks
from signspot.video.writer import write_video
from tools.attack import PROGRAM, AttackOptions, Outcome, make_landmarks
from tools.attack.mutations import TEXTS, VALUES

ROW = {"word": "river", "video": "news.mp4", "time": 0.5, "start": 0.2, "end": 0.8, "score": 0.9}
NAMES = ("news.mp4", "a.mp4", "..mp4", "long" * 80 + ".mp4", "../../a.mp4", "Bär \u202e☃.mp4", "con.mp4", "a\n.mp4")
CLIENTS = 8
_TIMEOUT = 300.0  # seconds for an answer, on a busy machine


class Server:
    """A server as users run it, in a process that can be killed."""

    def __init__(self, folder: Path):
        self.folder, self.port = folder, 0
        self.log = folder.parent / "log.txt"
        self.start()

    def start(self) -> None:
        """Start it, the second time at the port of the first."""
        environment = {**os.environ, "SIGNSPOT_CACHE": str(self.folder.parent / "cache"), "OMP_NUM_THREADS": "1"}
        command = [sys.executable, "-c", PROGRAM, "serve", str(self.folder), "--port", str(self.port)]
        with self.log.open("a") as log:
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, env=environment)
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().strip().rstrip("/")
        assert self.address, f"the server did not start: {self.log.read_text()[-500:]}"
        self.port = int(self.address.rpartition(":")[2])

    def end(self, number: int = signal.SIGINT) -> None:
        """Send a signal, and wait."""
        self.process.send_signal(number)
        self.process.communicate(timeout=_TIMEOUT)

    def ask(self, method: str, path: str, body: Any = None, headers: Mapping[str, str] = {}) -> tuple[int, bytes]:
        """Status and content of an answer; bytes are sent as they are, other bodies as JSON."""
        content = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        kind = {} if content is body else {"Content-Type": "application/json"}
        request = urllib.request.Request(
            self.address + path, content, {"X-Signspot": "1", **kind, **headers}, method=method
        )
        try:
            with urllib.request.urlopen(request, timeout=_TIMEOUT) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read()

    def get(self, method: str, path: str, body: Any = None) -> Any:
        """The JSON of an answer that must be 200."""
        status, content = self.ask(method, path, body)
        assert status == 200, f"{path}: {status} {content[:200]!r}"
        return json.loads(content)

    def decide(self, queue: str, name: str, answer: str = "yes") -> int:
        """Send a decision; 0 where no answer comes."""
        body = {"id": name, "item": 0, "annotator": "Ada", "answer": answer, "start": 0.2, "end": 0.8}
        try:
            return self.ask("POST", f"/api/queues/{queue}/decisions", body)[0]
        except OSError:
            return 0

    def history(self, queue: str) -> str:
        """Every decision of a queue, as CSV."""
        status, content = self.ask("GET", f"/api/queues/{queue}/export?format=.decisions.csv")
        assert status == 200, content[:200]
        return content.decode()


def make_folder(folder: Path) -> Path:
    """A video with landmarks and subtitles beside it, and a dictionary of two words."""
    write_landmarks(make_landmarks(50), folder / "news.pose")
    write_video(folder / "news.mp4", (np.full((64, 96, 3), shade, np.uint8) for shade in range(50)), 25.0)
    (folder / "news.vtt").write_text("WEBVTT\n\n00:00.000 --> 00:02.000\nA river.\n")
    for number in range(2):
        write_landmarks(make_landmarks(20 + number), folder / "dictionary" / f"{number}.pose")
    words = {name: {"exemplars": [{"file": f"{n}.pose", "signer": "Ann"}]} for n, name in enumerate(("river", "apple"))}
    text = json.dumps({"format": "signspot-dictionary", "version": 1, "words": words})
    (folder / "dictionary" / "dictionary.json").write_text(text)
    return folder


@contextmanager
def serving(folder: Path) -> Iterator[Server]:
    """A server for the block."""
    server = Server(folder)
    try:
        yield server
    finally:
        server.end()


def attack(options: AttackOptions) -> Iterator[Outcome]:
    """Every kind of attack, each on a folder of its own."""
    for name in options.only or KINDS:
        outcome, folder = Outcome(name), options.folder / name.replace(" ", "-") / "folder"
        with outcome.timed(name):
            KINDS[name](outcome, options, folder)
        yield outcome


def _requests(outcome: Outcome, options: AttackOptions, folder: Path) -> None:
    """`count` odd requests to every route that the server's own description lists; then it still serves."""
    chance = random.Random(options.seed)
    with serving(make_folder(folder)) as server:
        queue = server.get("POST", "/api/queues", {"name": "q", "rows": [ROW]})["id"]
        described = server.get("GET", "/openapi.json")
        around = {path.name for path in folder.parent.iterdir()} | {"cache"}
        for path, methods in list(described["paths"].items()) * options.count:
            for method, route in methods.items():
                full, body = _odd_request(path, route, described["components"]["schemas"], queue, chance)
                with outcome.timed(f"{method} {full} {body!r:.300}"):
                    status, content = server.ask(method.upper(), full, body)
                    outcome.accepted += status == 200
                    assert status < 500 or status in (503, 507), f"{status} {content[:200]!r}"
        server.get("GET", "/api/library")
        assert {path.name for path in folder.parent.iterdir()} <= around, "a path left the folder"
    assert "Traceback" not in server.log.read_text(), f"a traceback in the log: {server.log.read_text()[-1500:]}"


def _odd_request(path: str, route: Any, schemas: Any, queue: str, chance: random.Random) -> tuple[str, Any]:
    """Path with query, and body of a request, with values that fit and values that do not."""

    def text() -> str:
        good = ("news.mp4", "dictionary", "river", "river/0", queue, "0.5", "1", ".csv", "Ada")
        nasty = chance.choice(TEXTS).encode().decode("unicode_escape", "ignore")
        return chance.choice(good) if chance.random() < 0.6 else nasty

    query = []
    for parameter in route.get("parameters", []):
        value = str(chance.choice(VALUES)) if chance.random() < 0.2 else text()
        escaped = quote(value[:2000].encode("utf-8", "surrogatepass") or b"x", safe=chance.choice(("", "/.")))
        if parameter["in"] == "path":
            path = path.replace("{" + parameter["name"] + "}", escaped)
        elif chance.random() < 0.9:
            query.append(f"{parameter['name']}={escaped}")
    schema = route.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
    body = chance.choice((None, b"", b"x" * 1000)) if schema is None else _sample(schema, schemas, text, chance)
    return f"{path}?{'&'.join(query)}", body


def _sample(schema: Any, schemas: Any, text: Callable[[], str], chance: random.Random) -> Any:
    """A value after a JSON schema, here and there one that is not."""
    if chance.random() < 0.15:
        return chance.choice(VALUES)
    if "$ref" in schema:
        schema = schemas[schema["$ref"].rpartition("/")[2]]
    if "anyOf" in schema:
        schema = chance.choice(schema["anyOf"])
    if schema.get("type") == "object":
        parts = {name: _sample(part, schemas, text, chance) for name, part in schema.get("properties", {}).items()}
        return {name: value for name, value in parts.items() if chance.random() < 0.9}
    if schema.get("type") == "array":
        return [_sample(schema.get("items", {}), schemas, text, chance) for _ in range(chance.choice((0, 1, 2)))]
    return {"integer": 1, "number": 0.5, "boolean": True, "null": None}.get(schema.get("type", ""), text())


def _kills(outcome: Outcome, options: AttackOptions, folder: Path) -> None:
    """Clients that decide while the server is killed, `count` times: what was answered with 200 is there, once."""
    chance = random.Random(options.seed)
    with serving(make_folder(folder)) as server:
        queue_id = server.get("POST", "/api/queues", {"name": "q", "rows": [ROW]})["id"]
        answered: list[str] = []

        def decide(name: str) -> None:
            if server.decide(queue_id, name) == 200:
                answered.append(name)
                answers.release()

        for number in range(options.count):
            answers = threading.Semaphore(0)
            with outcome.timed(f"kill {number}"):
                with ThreadPoolExecutor(CLIENTS) as clients:
                    clients.map(decide, [f"decision-{number}-{k:03}" for k in range(200)])
                    for _ in range(chance.randrange(1, 150)):
                        answers.acquire(timeout=_TIMEOUT)
                    server.end(signal.SIGKILL)
                server.start()
                history = server.history(queue_id)
                lost = [name for name in answered if history.count(name) != 1]
                assert not lost, f"{len(lost)} decisions lost or doubled: {lost[:3]}"
        outcome.accepted = len(answered)


def _uploads(outcome: Outcome, options: AttackOptions, folder: Path) -> None:
    """Uploads of one name, of strange ones, and broken off: what was answered is there, and nothing was replaced."""
    video = (make_folder(folder) / "news.mp4").read_bytes()
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}

    def upload(number: int) -> tuple[bytes, int, bytes]:
        content, name = video + struct.pack(">I4sI", 12, b"free", number), quote(NAMES[number % len(NAMES)])
        if number % 5:
            return content, *server.ask("PUT", f"/api/uploads/{name}", content)
        head = f"PUT /api/uploads/{name} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nX-Signspot: 1\r\n"
        with socket.create_connection(("127.0.0.1", server.port)) as line:
            line.sendall(f"{head}Content-Length: {len(content)}\r\n\r\n".encode() + content[:100])
        return b"", 0, b""

    with serving(folder) as server, ThreadPoolExecutor(CLIENTS) as clients:
        for number, (content, status, answer) in enumerate(clients.map(upload, range(20 * options.count))):
            with outcome.timed(f"upload {number}"):
                assert status in (0, 200, 404, 422, 429, 503), f"{status} {answer[:200]!r}"
                outcome.accepted += status == 200
                assert status != 200 or (folder / json.loads(answer)["name"]).read_bytes() == content, "other content"
    assert all(path.read_bytes() == content for path, content in before.items()), "a file was replaced"
    assert not list((folder / ".signspot" / "uploads").iterdir()), "parts of uploads stay"
    assert "Traceback" not in server.log.read_text(), f"a traceback in the log: {server.log.read_text()[-1500:]}"


def _reused(outcome: Outcome, options: AttackOptions, folder: Path) -> None:
    """Clients that use an id for one decision after the other: what was answered with 200 is what the log holds."""
    with serving(make_folder(folder)) as server, ThreadPoolExecutor(CLIENTS) as clients:
        queue = server.get("POST", "/api/queues", {"name": "q", "rows": [ROW]})["id"]
        numbers = range(40 * options.count)
        decisions = [(f"decision-{number % 10}", ("yes", "no")[number // 10 % 2]) for number in numbers]
        statuses = list(clients.map(lambda decision: server.decide(queue, *decision), decisions))
        log = {row["id"]: row["answer"] for row in csv.DictReader(server.history(queue).splitlines())}
    for (name, answer), status in zip(decisions, statuses, strict=True):
        with outcome.timed(f"{name} {answer}"):
            assert status in (200, 422), status
            outcome.accepted += status == 200
            assert (log[name] == answer) == (status == 200), "not what was answered"


KINDS = {
    "requests": _requests,
    "kills": _kills,
    "uploads": _uploads,
    "reused decisions": _reused,
}
