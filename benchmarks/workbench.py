"""The workbench under load: the first page of a large folder, many people at once, an hour of use, what a browser sees.

Example: python -m benchmarks.workbench --only users --users 50 --seconds 60
"""

import argparse
import csv
import io
import random
import threading
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory

from benchmarks.workbench_browser import drag_threshold, sign_to_search
from benchmarks.workbench_server import Row, Served, make_names, make_small, serving
from signspot.types import Spotting
from signspot.web.database_tables import open_database
from signspot.web.verification import Queues

_FIRST = 200  # milliseconds, for the first page
_GROWTH = 16.0  # megabytes that a server may gain from the second reading of its memory to the last


def make_queue(folder: Path, items: int) -> str:
    """A queue in a folder's database, before its server starts."""
    (folder / ".signspot").mkdir()
    database = open_database(None, folder / ".signspot")
    rows = [Spotting(f"word-{k % 500}", "video-00000.mp4", k / 10, k / 10, k / 10 + 0.5, 0.9) for k in range(items)]
    queue = Queues(database).add("long", rows)
    database.close()
    return queue


def first_page(work: Path, options: argparse.Namespace) -> Row:
    """The library of a large folder, as whoever comes first sees it."""
    folder = work / "folder"
    folder.mkdir()
    make_names(folder, options.videos, options.words)
    with serving(folder, work / "cache") as served:
        durations, worked = [], []
        for number in range(20):
            if number == 1:
                _settle(served)
            began, before = time.perf_counter(), served.processor
            served.ask("GET", "/")
            durations.append(time.perf_counter() - began)
            worked.append(served.processor - before)
            time.sleep(0.15)
        slowest = 1000 * max(durations[0], median(durations))
        return Row(
            f"first page, {options.videos} videos, {options.words} words",
            f"{1000 * durations[0]:.0f} ms at first, {1000 * median(durations):.0f} ms median of {len(durations)}",
            f"under {_FIRST} ms",
            slowest < _FIRST,
            f"of processor {1000 * worked[0]:.0f} ms at first, {1000 * median(worked):.0f} ms median",
        )


def _settle(served: Served) -> None:
    """Wait until the server has looked at all files of its folder, which it does beside its work."""
    while any(video["ready"] is None for video in served.json("GET", "/api/library")["videos"]):
        time.sleep(1)


def many_users(work: Path, options: argparse.Namespace) -> Row:
    """Everybody verifies the same queue; every decision that was confirmed must be in the table of all decisions."""
    folder = work / "folder"
    folder.mkdir()
    make_names(folder, options.videos, options.words)
    queue = make_queue(folder, options.items)
    with serving(folder, work / "cache") as served:
        _settle(served)
        before, worked = served.megabytes, served.processor
        durations, confirmed, errors = people_at_work(served, queue, options.users, options.seconds)
        worked = served.processor - worked
        text = served.ask("GET", f"/api/queues/{queue}/export?format=.decisions.csv").decode()
        rows = list(csv.DictReader(io.StringIO(text)))
        stored = {row["id"] for row in rows if not row["withdrawn"]}
        lost, doubled = len(confirmed - stored), len(rows) - len(stored)
        return Row(
            f"{options.users} users for {options.seconds:.0f} s, queue of {options.items}",
            f"{len(confirmed)} decisions, {len(errors)} errors, {lost} lost, {doubled} doubled",
            "no error, none lost, none doubled",
            bool(confirmed) and not errors and not lost and not doubled,
            f"{'; '.join([*sorted(set(errors))[:3], ''])}next and decide: {1000 * median(durations):.0f} ms median, "
            f"{1000 * quantiles(durations, n=20)[-1]:.0f} ms for 95 %, "
            f"{1000 * worked / max(1, len(durations)):.0f} ms of processor; "
            f"memory {before:.0f} MB before, {served.megabytes:.0f} MB after",
        )


def people_at_work(served: Served, queue: str, users: int, seconds: float) -> tuple[list[float], set[str], list[str]]:
    """Everybody asks, decides and now and then looks around; give durations, confirmed decisions and errors."""
    durations: list[float] = []
    confirmed: set[str] = set()
    errors: list[str] = []
    until = time.monotonic() + seconds

    def work(who: str) -> None:
        number = int(who.removeprefix("user"))  # not everybody looks around at the same moment
        while time.monotonic() < until:
            began = time.perf_counter()
            try:
                for item in served.json("POST", f"/api/queues/{queue}/next?annotator={who}&count=1", {}):
                    spotting = item["spotting"]
                    decision = {
                        "id": f"{who}-{item['item']:08d}",
                        "item": item["item"],
                        "annotator": who,
                        "answer": "yes",
                    }
                    span = {"start": spotting["start"], "end": spotting["end"], "seconds": 1.0}
                    confirmed.add(served.json("POST", f"/api/queues/{queue}/decisions", {**decision, **span})["id"])
                durations.append(time.perf_counter() - began)
                if number % 20 == 19:
                    served.ask("GET", random.choice(["/verify", "/"]))
            except OSError as error:
                errors.append(f"{error}")
            number += 1
            time.sleep(0.5)  # nobody decides faster

    threads = [threading.Thread(target=work, args=(f"user{number}",)) for number in range(users)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return durations, confirmed, errors


def hour_of_use(work: Path, options: argparse.Namespace) -> Row:
    """Thousands of requests of every kind, one after the other; memory at the beginning and at the end."""
    folder = work / "folder"
    folder.mkdir()
    words = make_small(folder)
    chance = random.Random(3)
    with serving(folder, work / "cache") as served:
        hits = served.json("GET", "/api/spot/news.mp4?dictionary=dictionary&word=word0")["words"][0]["hits"][:20]
        queue = served.json("POST", "/api/queues", {"name": "q", "dictionary": "dictionary", "rows": hits * 200})["id"]
        memory, began = [], time.monotonic()
        for number in range(options.requests):
            if number % max(1, options.requests // 6) == 0:
                memory.append(served.megabytes)
            chance.choice(_KINDS)(served, queue, chance.choice(words), chance)
        memory.append(served.megabytes)
        sizes = ", ".join(f"{size:.0f}" for size in memory)
        grown = memory[-1] - memory[min(1, len(memory) - 2)]
        return Row(
            f"memory of the server over {options.requests} requests of {len(_KINDS)} kinds",
            f"{grown:+.0f} MB from the second reading to the last",
            f"at most {_GROWTH:+.0f} MB",
            grown <= _GROWTH,
            f"{sizes} MB, read at equal distances, in {time.monotonic() - began:.0f} s",
        )


def _search(served: Served, _: str, word: str, chance: random.Random) -> None:
    other = f"&word=word{chance.randrange(8)}" * chance.randrange(3)
    served.ask("GET", f"/api/spot/news.mp4?dictionary=dictionary&word={word}{other}")


def _decide(served: Served, queue: str, word: str, chance: random.Random) -> None:
    who = f"user{chance.randrange(5)}"
    for item in served.json("POST", f"/api/queues/{queue}/next?annotator={who}", {}):
        decision = {"id": f"{chance.getrandbits(64):016x}", "item": item["item"], "annotator": who, "answer": "no"}
        served.ask("POST", f"/api/queues/{queue}/decisions", {**decision, "start": 0.1, "end": 0.5, "seconds": 1})
    if chance.random() < 0.2:
        served.ask("POST", f"/api/queues/{queue}/undo?annotator={who}", {})


def _export(served: Served, queue: str, word: str, chance: random.Random) -> None:
    served.ask("GET", f"/api/queues/{queue}/export?format={chance.choice(['.csv', '.eaf', '.via.json', '.vtt'])}")


def _visit(*pages: str) -> Callable[[Served, str, str, random.Random], None]:
    def visit(served: Served, queue: str, word: str, chance: random.Random) -> None:
        served.ask("GET", chance.choice(pages).format(queue=queue, word=word))

    return visit


_KINDS: tuple[Callable[[Served, str, str, random.Random], None], ...] = (
    *(_search, _decide, _decide, _export),
    _visit("/", "/spot?video=news.mp4", "/sign", "/verify", "/dictionary", "/compare", "/requests"),
    _visit("/verify/{queue}", "/verify/{queue}/results", "/api/queues/{queue}/gallery", "/api/queues/{queue}/measures"),
    _visit("/api/words/dictionary?q={word}", "/api/words/dictionary?q=wrd", "/api/dictionaries/dictionary/words"),
    _visit("/api/thumbnail/word/dictionary?word={word}", "/api/thumbnail/video/news.mp4?time=1", "/api/media/news.mp4"),
    _visit(
        "/api/skeleton/video/news.mp4?start=0&end=5", "/api/mentions/news.mp4?dictionary=dictionary", "/api/library"
    ),
)
PARTS: dict[str, Callable[[Path, argparse.Namespace], Row]] = {
    "first": first_page,
    "users": many_users,
    "hour": hour_of_use,
    "drag": drag_threshold,
    "sign": sign_to_search,
}


def main() -> None:
    """Measure, and print a row for each part: what was measured, its limit, and whether it is kept."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.workbench", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--videos", type=int, default=1000)
    parser.add_argument("--words", type=int, default=10_000)
    parser.add_argument("--items", type=int, default=50_000)
    parser.add_argument("--users", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--requests", type=int, default=1000, help="of the hour of use")
    parser.add_argument(
        "--signs", type=int, default=2000, help="words of the dictionary that a recording is looked up in"
    )
    parser.add_argument("--hours", type=int, default=4, help="of tracks that a recording is looked for in")
    parser.add_argument("--only", nargs="+", choices=PARTS, help="these parts alone")
    options = parser.parse_args()
    broken = []
    for name in options.only or PARTS:
        with TemporaryDirectory() as work:
            row = PARTS[name](Path(work), options)
            print(row, flush=True)
        if not row.kept:
            broken.append(name)
    print(f"limits that are not kept: {', '.join(broken)}" if broken else "all limits are kept")


if __name__ == "__main__":
    main()
