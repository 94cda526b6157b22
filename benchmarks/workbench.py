"""The workbench under load: the first page of a large folder, a long queue, many people at once.

Example: python -m benchmarks.workbench --seconds 60 --users 50
"""

import argparse
import json
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory
from typing import Any

from signspot.records import Spotting
from signspot.workbench.tables import open_database
from signspot.workbench.verification import Queues

_PROGRAM = "from signspot.cli.main import run\nif __name__ == '__main__':\n    run()"


def make_folder(folder: Path, videos: int, words: int) -> None:
    """A folder as large as asked for; its files are named like videos, and nobody opens them."""
    for number in range(videos):
        (folder / f"video-{number:05d}.mp4").write_bytes(b"\0" * 64)
        (folder / f"video-{number:05d}.vtt").write_text("WEBVTT\n")
    (folder / "dictionary").mkdir()
    entries = {
        f"word-{number:05d}": {"exemplars": [{"id": f"{number}", "url": "https://example.org/x.mp4"}]}
        for number in range(words)
    }
    told = {"format": "signspot-dictionary", "version": 1, "words": entries}
    (folder / "dictionary" / "dictionary.json").write_text(json.dumps(told))


@contextmanager
def serving(folder: Path) -> Iterator[tuple[str, int]]:
    """A server; give its address and the number of its process."""
    command = [sys.executable, "-c", _PROGRAM, "serve", str(folder), "--port", "0"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert server.stdout is not None
        yield server.stdout.readline().strip().rstrip("/"), server.pid
    finally:
        server.terminate()
        server.wait(30)


def ask(method: str, address: str, body: Any = None) -> bytes:
    """One request."""
    content = None if body is None else json.dumps(body).encode()
    headers = {"X-Signspot": "1", "Content-Type": "application/json"}
    request = urllib.request.Request(address, content, headers, method=method)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return bytes(answer.read())


def megabytes(process: int) -> float:
    """Memory that a process holds."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))


def people_at_work(address: str, queue: str, users: int, seconds: float) -> tuple[list[float], int, int]:
    """Everybody asks, decides and now and then looks at the library; give durations, decisions and errors."""
    durations: list[float] = []
    decided, errors = [0], [0]
    until = time.monotonic() + seconds

    def work(who: str) -> None:
        turn = 0
        while time.monotonic() < until:
            began = time.perf_counter()
            try:
                for item in json.loads(ask("POST", f"{address}/api/queues/{queue}/next?annotator={who}&count=1", {})):
                    spotting = item["spotting"]
                    told = {"id": f"{who}-{item['item']:08d}", "item": item["item"], "annotator": who, "answer": "yes"}
                    span = {"start": spotting["start"], "end": spotting["end"], "seconds": 1.0}
                    ask("POST", f"{address}/api/queues/{queue}/decisions", {**told, **span})
                    decided[0] += 1
                if turn % 20 == 0:
                    ask("GET", address + "/verify")
            except OSError:
                errors[0] += 1
            durations.append(time.perf_counter() - began)
            turn += 1
            time.sleep(0.5)  # nobody decides faster

    threads = [threading.Thread(target=work, args=(f"user{number}",)) for number in range(users)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return durations, decided[0], errors[0]


def sign_search(words: int, hours: int) -> str:
    """Seconds from the landmarks of a recorded sign to the nearest words, and to the places in hours of tracks."""
    from benchmarks.material import landmark_encoder, random_gallery, random_track
    from signspot.embedding.exemplars import SignViews
    from signspot.spotting.search import SpotOptions
    from signspot.spotting.spotter import Spotter
    from signspot.workbench.folder import VideoFile
    from signspot.workbench.sign_search import find_places, sign_gallery

    encoder = landmark_encoder()
    spotter, track = Spotter(encoder), random_track(encoder, 3600)
    gallery = random_gallery(words, 1, encoder, track)
    codes = None if gallery.codes is None else gallery.codes[:2].astype("float32")
    views = SignViews(gallery.embeddings[:2], codes)
    tracks = [(VideoFile(f"hour-{number}", Path(), 0, 0), track) for number in range(hours)]
    find_places(spotter, sign_gallery(views), iter(tracks[:1]))  # what is loaded once is loaded,
    spotter.identify_views(views, gallery, SpotOptions())  # as the page does before anybody signs
    began = time.process_time()
    spotter.identify_views(views, gallery, SpotOptions())
    identified = time.process_time()
    find_places(spotter, sign_gallery(views), iter(tracks))
    done = time.process_time()
    return (
        f"sign to search, after the landmarks: {identified - began:.2f} s for {words} words, "
        f"{done - identified:.2f} s for {hours} h of tracks (seconds of one processor)"
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.workbench", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--videos", type=int, default=1000)
    parser.add_argument("--words", type=int, default=10_000)
    parser.add_argument("--items", type=int, default=50_000)
    parser.add_argument("--users", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--only", choices=("load", "sign"), help="one of the two alone")
    options = parser.parse_args()
    if options.only != "load":
        print(sign_search(2000, 10))
    if options.only == "sign":
        return
    with TemporaryDirectory() as place:
        folder = Path(place) / "folder"
        folder.mkdir()
        make_folder(folder, options.videos, options.words)
        (folder / ".signspot").mkdir()
        database = open_database(None, folder / ".signspot")
        rows = [
            Spotting(f"word-{k % 500}", "video-00000.mp4", k / 10, k / 10, k / 10 + 0.5, 0.9)
            for k in range(options.items)
        ]
        queue = Queues(database).add("long", rows)
        database.close()
        with serving(folder) as (address, process):
            first = []
            for _ in range(20):
                began = time.perf_counter()
                ask("GET", address + "/")
                first.append(time.perf_counter() - began)
            print(
                f"first page, {options.videos} videos, {options.words} words: {1000 * first[0]:.0f} ms at first, "
                f"{1000 * median(first):.0f} ms median of {len(first)}"
            )
            before = megabytes(process)
            durations, decided, errors = people_at_work(address, queue, options.users, options.seconds)
            after = megabytes(process)
            kept = json.loads(ask("GET", f"{address}/api/queues"))[0]["decided"]
            tail = quantiles(durations, n=20)[-1]
            print(
                f"{options.users} users for {options.seconds:.0f} s, queue of {options.items}: {decided} decisions, "
                f"{errors} errors, {decided - kept} lost; next and decide: {1000 * median(durations):.0f} ms median, "
                f"{1000 * tail:.0f} ms for 95 %; memory {before:.0f} MB before, {after:.0f} MB after"
            )


if __name__ == "__main__":
    main()
