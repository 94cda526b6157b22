"""`signspot serve` under attack: a server and its client in one process, which is killed at random moments.

The client does what a person does on the pages: uploads files, makes a queue and decides about its items, asks for
landmarks and tracks; it looks first what is there, and sends again what was not answered. Each answer is written down,
so that after a kill it can be seen that nothing that was answered is lost.
"""

import json
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from signspot.annotation.store import Database
from signspot.models.checkpoints import save_encoder
from signspot.models.encoder import make_encoder
from signspot.models.registry import build
from signspot.web import tables
from signspot.web.folder import OWN_FOLDER
from tools.attack.targets import VTT, landmarks_file

_UPLOADS = ("news.pose", "news.vtt", "second.pose")
_ITEMS = 6  # of the queue
_PEOPLE = ("Ann", "Bob")
_PATIENCE = 240.0  # seconds for a job
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def prepare(inputs: Path, stack: ExitStack) -> None:
    """A small encoder, and files to upload."""
    torch.manual_seed(0)
    encoder = make_encoder("small", build("landmark", width=32, hand_width=16, part_width=8, last_width=32))
    save_encoder(encoder, inputs / "encoder.safetensors")
    landmarks_file(inputs / "news.pose", 60)
    landmarks_file(inputs / "second.pose", 40)
    (inputs / "news.vtt").write_text(VTT, encoding="utf-8")


def run(inputs: Path, out: Path) -> None:
    """Serve a folder, and do with it whatever is not done yet."""
    out.mkdir(parents=True, exist_ok=True)
    with _server(out, inputs / "encoder.safetensors") as address:
        client = _Client(address, _answered(out))
        for name in _UPLOADS:
            client.ask("PUT", f"/api/uploads/{name}", (inputs / name).read_bytes())
            client.note("upload", name)
        queue = client.queue()
        for who in _PEOPLE:
            for item in range(_ITEMS):
                span = {"start": item + 0.1, "end": item + 0.5}
                decision = {"id": f"{who}-{item}-decision", "item": item, "annotator": who, "answer": "yes", **span}
                client.ask("POST", f"/api/queues/{queue}/decisions", decision)
                client.note("decision", str(decision["id"]))
        for name in (name for name in _UPLOADS if name.endswith(".pose")):
            client.finish_job(name)


@dataclass
class _Client:
    """Whoever asks the server, and keeps what was answered."""

    address: str
    answers: Path

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        content = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        headers = {"X-Signspot": "1", "Content-Type": "application/json"}
        request = urllib.request.Request(self.address + path, content, headers, method=method)
        try:
            with _OPENER.open(request, timeout=600) as answer:
                return json.loads(answer.read())
        except urllib.error.HTTPError as error:
            with error:
                raise AssertionError(f"{method} {path}: {error.code} {error.read()[:200]!r}") from None

    def note(self, kind: str, name: str) -> None:
        with self.answers.open("a") as file:
            file.write(f"{kind} {name}\n")

    def queue(self) -> str:
        """The queue, made if it is not there."""
        there = [str(each["id"]) for each in self.ask("GET", "/api/queues")]
        if there:
            return there[0]
        spans = [{"time": item + 0.3, "start": float(item), "end": item + 0.6} for item in range(_ITEMS)]
        rows = [{"word": "apple", "video": "news.pose", "score": 0.9, **span} for span in spans]
        made = self.ask("POST", "/api/queues", {"name": "q", "rows": rows, "copies": 2, "share": 1.0})
        return str(made["id"])

    def finish_job(self, video: str) -> None:
        """Have a video prepared, unless it is; a job that was given up after many kills is taken up again."""
        deadline = time.monotonic() + _PATIENCE
        while True:
            jobs = [each for each in self.ask("GET", "/api/jobs") if each["spec"] == {"video": video}]
            states = [each["state"] for each in jobs]
            if "done" in states:
                return
            if not jobs:
                self.ask("POST", "/api/jobs", {"kind": "prepare", "video": video})
            elif states[0] in ("failed", "cancelled"):
                assert "again and again" in jobs[0]["message"], f"the job failed: {jobs[0]['message']}"
                self.ask("POST", f"/api/jobs/{jobs[0]['id']}/resume")
            assert time.monotonic() < deadline, f"the job on {video} is {states} after {_PATIENCE:.0f} s"
            time.sleep(0.05)


@contextmanager
def _server(folder: Path, encoder: Path) -> Iterator[str]:
    """A workbench in a thread of this process."""
    import uvicorn

    from signspot.web.app import bind, create_app
    from signspot.web.workbench import WorkbenchOptions

    bound = bind("127.0.0.1", 0)
    app = create_app(WorkbenchOptions(folder, encoder=str(encoder)))
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", access_log=False, timeout_graceful_shutdown=2))
    thread = threading.Thread(target=server.run, args=([bound],), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{bound.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(60)
        bound.close()


def state(out: Path) -> dict[str, object]:
    """Contents of the folder, without moments and numbers that are drawn."""
    files = {path.name: path.read_bytes() for path in out.iterdir() if path.is_file()}
    own = out / OWN_FOLDER
    hidden = [path.relative_to(own).as_posix() for path in own.rglob("*") if path.is_file()]
    rest = sorted(name for name in hidden if not name.startswith(tables.FILE))
    return {**files, "hidden": rest, **_rows(out)}


def _rows(out: Path) -> dict[str, object]:
    database = tables.open_database(None, out / OWN_FOLDER)
    try:
        decided = [(r["id"], r["item"], r["answer"], r["withdrawn"]) for r in _all(database, tables.decisions.select())]
        jobs = Counter((row["kind"], row["spec"], row["state"]) for row in _all(database, tables.jobs.select()))
        items = Counter((row["word"], row["time"]) for row in _all(database, tables.items.select()))
        queues = len(_all(database, tables.queues.select()))
    finally:
        database.close()
    return {"decisions": sorted(decided), "jobs": jobs, "items": items, "queues": queues}


def _all(database: Database, wanted: Any) -> list[Any]:
    return list(database.rows(wanted, 1000))


def _answered(out: Path) -> Path:
    """Answers of a folder's server; beside the folder, since it is the client's."""
    return out.with_name(f"{out.name}-answered.txt")


def check(inputs: Path, out: Path) -> None:
    """Whatever was answered before a kill is there after it."""
    answers = _answered(out).read_text().splitlines() if _answered(out).is_file() else []
    decisions = {line.removeprefix("decision ") for line in answers if line.startswith("decision ")}
    for line in answers:
        kind, _, name = line.partition(" ")
        if kind == "upload":
            assert (out / name).read_bytes() == (inputs / name).read_bytes(), f"{name} is not what was sent"
    if decisions:
        known = {row[0] for row in _rows(out)["decisions"]}  # type: ignore[attr-defined]
        assert decisions <= known, f"decisions are lost: {sorted(decisions - known)}"
