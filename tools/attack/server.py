"""Attacks on `signspot serve`: odd requests, uploads and names, kills, two servers on one folder, full disks.

A decision or an exemplar that was answered with 200 must be there afterwards, and no answer may be 500.
"""

import csv
import json
import os
import random
import resource
import shutil
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

from signspot.dictionary.opening import open_dictionary
from signspot.landmarks.pose_file import write_landmarks
from signspot.video.writer import write_video
from tools.attack import PROGRAM, AttackOptions, Outcome, make_landmarks
from tools.attack.mutations import TEXTS, VALUES

SCRIPT = "<img src=x onerror=attacked=1>'\"><script>attacked=1</script>"
FILE_SCRIPT = SCRIPT.replace("/", "&#47;")  # for names of files
ROW = {"word": "river", "video": "news.mp4", "time": 0.5, "start": 0.2, "end": 0.8, "score": 0.9}
NAMES = ("news.mp4", "a.mp4", "..mp4", "long" * 80 + ".mp4", "../../a.mp4", "Bär \u202e☃.mp4", "con.mp4", "a\n.mp4")
CLIENTS = 8
_PAGES = "/ /spot /sign /verify /verify/QUEUE /verify/QUEUE/results /dictionary /compare /requests"
_TMPFS = 'mount -t tmpfs -o size=8m none "$0" && cp -r "$0-seed/." "$0" && exec "$@"'
_TIMEOUT = 300.0  # seconds for an answer, on a busy machine


class Server:
    """A server as users run it, in a process that can be killed."""

    def __init__(self, folder: Path, prefix: tuple[str, ...] = ()):
        self.folder, self.prefix, self.port = folder, prefix, 0
        self.log = folder.parent / "log.txt"
        self.start()

    def start(self) -> None:
        """Start it, the second time at the port of the first."""
        environment = {**os.environ, "SIGNSPOT_CACHE": str(self.folder.parent / "cache"), "OMP_NUM_THREADS": "1"}
        command = [*self.prefix, sys.executable, "-c", PROGRAM, "serve", str(self.folder), "--port", str(self.port)]
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


def make_folder(folder: Path, word: str = "river", video: str = "news") -> Path:
    """A video with landmarks and subtitles beside it, and a dictionary of two words."""
    write_landmarks(make_landmarks(50), folder / f"{video}.pose")
    write_video(folder / f"{video}.mp4", (np.full((64, 96, 3), shade, np.uint8) for shade in range(50)), 25.0)
    (folder / f"{video}.vtt").write_text(f"WEBVTT\n\n00:00.000 --> 00:02.000\nA {word}.\n")
    for number in range(2):
        write_landmarks(make_landmarks(20 + number), folder / "dictionary" / f"{number}.pose")
    words = {name: {"exemplars": [{"file": f"{n}.pose", "signer": word}]} for n, name in enumerate((word, "apple"))}
    text = json.dumps({"format": "signspot-dictionary", "version": 1, "words": words})
    (folder / "dictionary" / "dictionary.json").write_text(text)
    return folder


@contextmanager
def serving(folder: Path, *prefix: str) -> Iterator[Server]:
    """A server for the block."""
    server = Server(folder, prefix)
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


def _pages(outcome: Outcome, options: AttackOptions, folder: Path) -> None:
    """Every page in Chromium, with scripts in everything that it shows and in every parameter: none may run."""
    from playwright.sync_api import sync_playwright

    with serving(make_folder(folder, SCRIPT, FILE_SCRIPT)) as server, sync_playwright() as player:
        row = {**ROW, "word": SCRIPT, "video": f"{FILE_SCRIPT}.mp4"}
        queue = server.get("POST", "/api/queues", {"name": SCRIPT, "rows": [row], "dictionary": "dictionary"})["id"]
        decision = {"id": "decision-1", "item": 0, "annotator": SCRIPT, "answer": "word", "word": SCRIPT}
        server.get("POST", f"/api/queues/{queue}/decisions", {**decision, "start": 0.2, "end": 0.8})
        browser = player.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        routes = _PAGES.replace("QUEUE", queue).split()
        parameters = [(name, SCRIPT) for name in ("q", "start", "run", "other", "name", "back")]
        parameters += [("video", f"{FILE_SCRIPT}.mp4"), ("dictionary", "dictionary"), ("word", SCRIPT)]
        queries = ["", "?" + "&".join(f"{name}={quote(value)}" for name, value in parameters)]
        queries.append("?" + "&".join(f"{name}={quote(SCRIPT)}" for name, _ in parameters))
        for path in [route + query for route in routes for query in queries]:
            with outcome.timed(path[:60]):
                page = browser.new_page()
                page.add_init_script(f"localStorage.setItem('signspot-who', {json.dumps(SCRIPT)})")
                answer = page.goto(server.address + path, wait_until="networkidle", timeout=1000 * _TIMEOUT)
                assert answer is not None
                assert answer.status < 500, answer.status
                outcome.accepted += answer.status == 200
                assert page.evaluate("typeof attacked") == "undefined", "a script ran"
                page.close()
        browser.close()


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


def _two_servers(outcome: Outcome, options: AttackOptions, folder: Path) -> None:
    """Clients of two servers on one folder change its dictionary and decide: nothing that was answered is lost."""
    pose = (make_folder(folder) / "news.pose").read_bytes()
    with serving(folder) as one, serving(folder) as two, ThreadPoolExecutor(CLIENTS) as clients:
        queue = one.get("POST", "/api/queues", {"name": "q", "rows": [ROW]})["id"]

        def change(number: int) -> tuple[int, int]:
            server = (one, two)[number % 2]
            put = f"/api/dictionaries/dictionary/exemplar?word=w{number}&file=a.pose"
            return server.ask("PUT", put, pose)[0], server.decide(queue, f"decision-{number:04}")

        statuses = list(clients.map(change, range(4 * options.count)))
        words, history = set(open_dictionary(folder / "dictionary")), two.history(queue)
        for number, (added, decided) in enumerate(statuses):
            with outcome.timed(f"change {number}"):
                assert added in (200, 503), added
                assert decided in (200, 503), decided
                outcome.accepted += (added, decided) == (200, 200)
                assert added != 200 or f"w{number}" in words, "an exemplar is lost"
                assert decided != 200 or f"decision-{number:04}" in history, "a decision is lost"


def _full_disk(outcome: Outcome, options: AttackOptions, folder: Path) -> None:
    """A disk that fills up: uploads and decisions are answered with 507 or kept, and no part files stay."""
    make_folder(folder.with_name("folder-seed"))
    folder.mkdir()
    prefix = ("unshare", "--mount", "sh", "-c", _TMPFS, str(folder))
    if not shutil.which("unshare") or subprocess.run([*prefix, "true"], capture_output=True).returncode:
        outcome.name += " (not tried: needs root)"
        return
    video = (folder.with_name("folder-seed") / "news.mp4").read_bytes()
    with serving(folder, *prefix) as server:
        queue = server.get("POST", "/api/queues", {"name": "q", "rows": [ROW]})["id"]
        inside = ["nsenter", f"--target={server.process.pid}", "--mount"]
        filler = ["dd", "if=/dev/zero", f"of={folder / 'filler'}", "bs=4k"]
        subprocess.run([*inside, *filler], capture_output=True)  # until the disk is full
        subprocess.run([*inside, "truncate", "--size=-128K", str(folder / "filler")], check=True)  # room for a few
        answered = {f"decision-{k:04}": server.decide(queue, f"decision-{k:04}") for k in range(40 * options.count)}
        for number, (name, status) in enumerate(answered.items()):
            with outcome.timed(name):
                assert status in (200, 507), status
                if number % 10 == 0:
                    assert server.ask("PUT", f"/api/uploads/{number}.mp4", video)[0] in (200, 507)
        assert 507 in answered.values(), "the disk never was full"
        files = subprocess.run([*inside, "find", str(folder)], capture_output=True, text=True, check=True).stdout
        assert "signspot-part" not in files, "part files stay"
        subprocess.run([*inside, "rm", str(folder / "filler")], check=True)
        history = server.history(queue)
        lost = [name for name, status in answered.items() if (name in history) != (status == 200)]
        assert not lost, f"{len(lost)} decisions are not what was answered: {lost[:3]}"
        outcome.accepted = sum(status == 200 for status in answered.values())


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


def _no_child(outcome: Outcome, options: AttackOptions, folder: Path) -> None:
    """A server that cannot start a process: uploads are answered with 503, and taken again later."""
    video = (make_folder(folder) / "news.mp4").read_bytes()
    with serving(folder) as server:
        handles, upload = Path(f"/proc/{server.process.pid}/fd"), ("PUT", "/api/uploads/a.mp4", video)
        assert server.ask("PUT", "/api/uploads/a.html", video)[0] == 422  # loads what the next requests need
        soft, hard = resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE)
        most = 3 + max(int(path.name) for path in handles.iterdir())  # a connection and a file more
        resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (most, hard))
        for number in range(options.count):
            with outcome.timed(f"upload {number}"):
                status, answer = server.ask(*upload)
                assert status == 503, f"{status} {answer[:200]!r}"
        resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (soft, hard))
        server.get(*upload)


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


def _removed(outcome: Outcome, options: AttackOptions, folder: Path) -> None:
    """The server's own folder is removed while it serves: no decision is answered as if it were kept."""
    with serving(make_folder(folder)) as server:
        queue = server.get("POST", "/api/queues", {"name": "q", "rows": [ROW]})["id"]
        shutil.rmtree(folder / ".signspot")
        for number in range(options.count):
            with outcome.timed(f"decision {number}"):
                assert server.decide(queue, f"decision-{number}") == 503


KINDS = {
    "requests": _requests,
    "pages": _pages,
    "kills": _kills,
    "two servers": _two_servers,
    "full disk": _full_disk,
    "uploads": _uploads,
    "no child process": _no_child,
    "reused decisions": _reused,
    "removed folder": _removed,
}
