"""Requests about verification: queues, items handed out, decisions, undo, measures, exports."""

from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.concurrency import run_in_threadpool
from pydantic import BaseModel, Field

from signspot.annotation.statistics import spottings as run_spottings
from signspot.annotation.store import open_store
from signspot.formats.formats import read_spottings
from signspot.types import Spotting
from signspot.web import editing, exports
from signspot.web.api_search import SpottingRow, download
from signspot.web.folder import ServedFolder
from signspot.web.uploads import receive_text, remove
from signspot.web.verification import Decision, Item, Share, measure, verified
from signspot.web.workbench import OWNER, VERIFIER, OpenWorkbench, Seconds, Workbench

router = APIRouter(tags=["verification"])


class QueueRequest(BaseModel):
    """A queue that is to be made: of rows, of an annotation run, or of a file of spottings in the folder."""

    name: str = Field(min_length=1, max_length=100)
    dictionary: str = ""
    rows: list[SpottingRow] = Field(default=[], max_length=200_000)
    run: str = ""
    file: str = ""
    threshold: float | None = None
    copies: int = 2
    share: float = 0.1


class DecisionRequest(BaseModel):
    """A decision about an item."""

    id: str = Field(min_length=8, max_length=64)
    item: int = Field(ge=0, lt=2**31)
    annotator: str
    answer: str
    word: str = Field(default="", max_length=200)
    start: Seconds
    end: Seconds
    seconds: float = 0.0


@router.get("/queues")
def list_queues(bench: OpenWorkbench) -> list[dict[str, Any]]:
    """Every queue, with how much of it is decided."""
    return bench.queues.all()


@router.post("/queues", dependencies=[OWNER])
def add_queue(wanted: QueueRequest, bench: OpenWorkbench) -> dict[str, Any]:
    """Make a queue of spottings."""
    if wanted.run:
        found = _of_run(bench, wanted.run, wanted.threshold)
    elif wanted.file:
        path = bench.folder.new_file(wanted.file, "the file")
        found = [_named(spotting, bench.folder) for spotting in read_spottings(path)]
    else:
        found = [row.spotting() for row in wanted.rows]
    least = wanted.threshold or 0.0
    kept = [spotting for spotting in found if spotting.score >= least]
    options = {"dictionary": wanted.dictionary, "copies": wanted.copies, "share": wanted.share}
    return {"id": bench.queues.add(wanted.name, kept, **options), "items": len(kept)}  # type: ignore[arg-type]


def _of_run(bench: Workbench, name: str, threshold: float | None) -> list[Spotting]:
    least = bench.searcher.spotter.encoder.contract.threshold if threshold is None else threshold
    stems = {video.rpartition(".")[0]: video for video in bench.folder.listing(fresh=True).videos}
    with open_store(bench.folder.run(name)) as store:
        found = list(run_spottings(store, least))
    return [one.as_spotting(stems.get(one.video) or stems.get(f"videos/{one.video}", one.video)) for one in found]


def _named(spotting: Spotting, folder: ServedFolder) -> Spotting:
    """A spotting whose video is called by its name in the folder, wherever the file calls it from."""
    path = Path(spotting.video)
    if path.is_absolute() and path.is_relative_to(folder.root):
        return replace(spotting, video=path.relative_to(folder.root).as_posix())
    own = [name for name in folder.listing().videos if Path(name).name == path.name]
    return replace(spotting, video=own[0]) if len(own) == 1 else spotting


@router.delete("/queues/{queue}", dependencies=[OWNER])
def remove_queue(queue: str, bench: OpenWorkbench) -> dict[str, bool]:
    """Remove a queue; its decisions stay in the database."""
    bench.queues.remove(bench.queues.get(queue)["id"])
    return {"ok": True}


@router.post("/queues/{queue}/next", dependencies=[VERIFIER])
def hand_out(queue: str, annotator: str, bench: OpenWorkbench, count: int = 3) -> list[dict[str, Any]]:
    """The next items for a person; nobody else is handed them."""
    found = bench.queues.hand_out(bench.queues.get(queue)["id"], annotator, max(1, min(count, 20)))
    return [item_as_json(item) for item in found]


@router.post("/queues/{queue}/decisions", dependencies=[VERIFIER])
def decide(queue: str, wanted: DecisionRequest, bench: OpenWorkbench) -> dict[str, Any]:
    """Add a decision to the log, once however often it is sent with one id, and say which one stands now."""
    decision = Decision(
        wanted.id, queue, wanted.item, wanted.annotator.strip(), wanted.answer, wanted.word.strip(),  # type: ignore[arg-type]
        wanted.start, wanted.end, wanted.seconds,
    )  # fmt: skip
    standing = bench.queues.decide(decision)
    return {"id": decision.id, "standing": None if standing is None else asdict(standing)}


@router.post("/queues/{queue}/undo", dependencies=[VERIFIER])
def undo(queue: str, annotator: str, bench: OpenWorkbench) -> dict[str, Any]:
    """Withdraw a person's last decision; it stays in the database, marked."""
    item = bench.queues.undo(queue, annotator)
    return {"item": None if item is None else item_as_json(item)}


@router.get("/queues/{queue}/measures")
def measures(queue: str, bench: OpenWorkbench) -> dict[str, Any]:
    """Precision with its interval, accuracy per word, agreement, and what each person did."""
    found = measure(list(bench.queues.items(queue)), bench.queues.decisions(queue))
    return {
        **asdict(found),
        "precision": share_as_json(found.precision),
        "words": {word: share_as_json(share) for word, share in found.words.items()},
    }


@router.get("/queues/{queue}/gallery")
def gallery(
    queue: str, bench: OpenWorkbench, decision: str = "", word: str = "", page: int = 0, size: int = 24
) -> dict[str, Any]:
    """Verified items: successes and failures, by decision and word."""
    some = [
        (item, own, spotting)
        for item, own, spotting in _verified(bench, queue)
        if own and (not decision or spotting.decision == decision) and (not word or spotting.word == word)
    ]
    shown = some[page * size : (page + 1) * size]
    return {
        "count": len(some),
        "items": [
            {
                **item_as_json(item),
                "decision": spotting.decision,
                "word": spotting.word,
                "by": [{"annotator": each.annotator, "answer": each.answer, "word": each.word} for each in own],
            }
            for item, own, spotting in shown
        ],
    }


@router.get("/queues/{queue}/export")
def export(queue: str, format: str, bench: OpenWorkbench, only: str = "") -> Response:
    """All spottings of a queue with their decisions, in a format; `.decisions.csv` is the whole history."""
    name = bench.queues.get(queue)["name"]
    if format == exports.DECISIONS:
        return download(
            exports.decisions(bench.queues.decisions(queue, withdrawn=True), bench.queues.items(queue), name)
        )
    found = [spotting for _, _, spotting in _verified(bench, queue) if not only or spotting.decision == only]
    return download(exports.export(found, name, format))


@router.post("/queues/{queue}/labels", dependencies=[OWNER])
def keep_labels(queue: str, bench: OpenWorkbench) -> dict[str, Any]:
    """Write every yes and no into `labels/` of the folder, where adapting, training and evaluation find them."""
    found = (spotting for _, _, spotting in _verified(bench, queue))
    file, count = exports.save_labels(found, bench.folder, bench.queues.get(queue)["name"], queue)
    return {"file": file, "labels": count}


@router.post("/queues/{queue}/exemplars", dependencies=[OWNER])
def keep_exemplars(queue: str, bench: OpenWorkbench, dictionary: str = "") -> dict[str, Any]:
    """Add every sign that people confirmed to a dictionary, the queue's own if none is named; each once."""
    name = dictionary or bench.queues.get(queue)["dictionary"]
    found = [spotting for _, _, spotting in _verified(bench, queue)]
    return {"dictionary": name, "exemplars": editing.add_confirmed(bench, name, found)}


@router.put("/queues/{queue}/import", dependencies=[VERIFIER])
async def read_back(queue: str, name: str, annotator: str, request: Request, bench: OpenWorkbench) -> dict[str, int]:
    """Take decisions that were made in VIA, ELAN or a table back into a queue; the file is the raw body.

    `decisions` of them stand now, of which `new` differ from what stood before.
    """
    path = await receive_text(bench.folder, name, request.stream())

    def work() -> dict[str, int]:
        try:
            found = exports.read_back(path, list(bench.queues.items(queue)), annotator.strip())
        finally:
            remove(path)
        standing = [bench.queues.decide(decision, if_new=True) for decision in found]
        new = sum(one is not None and one.id == decision.id for one, decision in zip(standing, found, strict=True))
        return {"decisions": len(found), "new": new}

    return await run_in_threadpool(work)


def _verified(bench: Workbench, queue: str) -> Iterator[tuple[Item, list[Decision], Spotting]]:
    return verified(bench.queues.items(bench.queues.get(queue)["id"]), bench.queues.decisions(queue))


def item_as_json(item: Item) -> dict[str, Any]:
    """An item as the pages get it."""
    return {"item": item.item, "spotting": {**asdict(item.spotting), "source": str(item.spotting.source)}}


def share_as_json(share: Share) -> dict[str, Any]:
    """A share with its interval."""
    return {**asdict(share), "value": share.value, "interval": share.interval}
