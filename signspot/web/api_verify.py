"""Requests of verification: queues, assignment of items, decisions, undo, measures, exports."""

from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.concurrency import run_in_threadpool
from pydantic import BaseModel, Field

from signspot.annotation.run_spottings import spottings as run_spottings
from signspot.annotation.store import open_store
from signspot.errors import FormatError, OptionsError
from signspot.formats.formats import read_spottings
from signspot.types import Spotting
from signspot.web import dictionary_changes, exports
from signspot.web.api_search import SpottingRow, download
from signspot.web.folder import ServedFolder
from signspot.web.server_state import OWNER, VERIFIER, OpenWorkbench, Seconds, Workbench
from signspot.web.uploads import receive_text, remove
from signspot.web.verification import Decision, Item, Share, measure, verified

router = APIRouter(tags=["verification"])


class QueueRequest(BaseModel):
    """A new queue: of rows, of an annotation run, or of a file of spottings in the folder."""

    name: str = Field(min_length=1, max_length=100)
    dictionary: str = ""
    rows: list[SpottingRow] = Field(default=[], max_length=200_000)
    run: str = ""
    file: str = ""
    threshold: float | None = None
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
    """Every queue, with the number of its items and of those decided."""
    return bench.queues.all()


@router.post("/queues", dependencies=[OWNER])
def add_queue(request: QueueRequest, bench: OpenWorkbench) -> dict[str, Any]:
    """Create a queue of spottings."""
    if request.run:
        spottings = _of_run(bench, request.run, request.threshold)
    elif request.file:
        path = bench.folder.new_file(request.file, "the file")
        spottings = [_named(spotting, bench.folder) for spotting in read_spottings(path)]
    else:
        spottings = [row.spotting() for row in request.rows]
    least = request.threshold or 0.0
    chosen = [spotting for spotting in spottings if spotting.score >= least]
    options = {"dictionary": request.dictionary, "share": request.share}
    return {"id": bench.queues.add(request.name, chosen, **options), "items": len(chosen)}  # type: ignore[arg-type]


def _of_run(bench: Workbench, name: str, threshold: float | None) -> list[Spotting]:
    least = bench.searcher.spotter.encoder.contract.threshold if threshold is None else threshold
    stems = {video.rpartition(".")[0]: video for video in bench.folder.listing(fresh=True).videos}
    with open_store(bench.folder.run(name)) as store:
        candidates = list(run_spottings(store, least))
    return [
        candidate.as_spotting(stems.get(candidate.video) or stems.get(f"videos/{candidate.video}", candidate.video))
        for candidate in candidates
    ]


def _named(spotting: Spotting, folder: ServedFolder) -> Spotting:
    """A spotting with the name of its video in the folder instead of the path in the file."""
    path = Path(spotting.video)
    if path.is_absolute() and path.is_relative_to(folder.root):
        return replace(spotting, video=path.relative_to(folder.root).as_posix())
    names = [name for name in folder.listing().videos if Path(name).name == path.name]
    return replace(spotting, video=names[0]) if len(names) == 1 else spotting


@router.post("/queues/{queue}/next", dependencies=[VERIFIER])
def hand_out(queue: str, annotator: str, bench: OpenWorkbench, count: int = 3) -> list[dict[str, Any]]:
    """Assign the next items to a person; nobody else is assigned them."""
    items = bench.queues.hand_out(bench.queues.get(queue)["id"], annotator, max(1, min(count, 20)))
    return [item_as_json(item) for item in items]


@router.post("/queues/{queue}/decisions", dependencies=[VERIFIER])
def decide(queue: str, request: DecisionRequest, bench: OpenWorkbench) -> dict[str, Any]:
    """Add a decision to the log, once for each id, and return the decision that stands now."""
    decision = Decision(
        request.id, queue, request.item, request.annotator.strip(), request.answer, request.word.strip(),  # type: ignore[arg-type]
        request.start, request.end, request.seconds,
    )  # fmt: skip
    standing = bench.queues.decide(decision)
    return {"id": decision.id, "standing": None if standing is None else asdict(standing)}


@router.post("/queues/{queue}/undo", dependencies=[VERIFIER])
def undo(queue: str, annotator: str, bench: OpenWorkbench) -> dict[str, Any]:
    """Withdraw a person's last decision; it stays in the database, marked."""
    item = bench.queues.undo(queue, annotator)
    return {"item": None if item is None else item_as_json(item)}


@router.get("/queues/{queue}/progress")
def progress(queue: str, bench: OpenWorkbench) -> dict[str, Any]:
    """How many items are decided, of how many, and how many by each person."""
    return bench.queues.progress(bench.queues.get(queue)["id"])


@router.get("/queues/{queue}/measures")
def measures(queue: str, bench: OpenWorkbench) -> dict[str, Any]:
    """Precision with its interval, accuracy per word, agreement, and counts for each person."""
    bench.queues.get(queue)
    result = measure(list(bench.queues.items(queue)), bench.queues.decisions(queue))
    return {
        **asdict(result),
        "precision": share_as_json(result.precision),
        "words": {word: share_as_json(share) for word, share in result.words.items()},
    }


@router.get("/queues/{queue}/gallery")
def gallery(
    queue: str, bench: OpenWorkbench, decision: str = "", word: str = "", page: int = 0, size: int = 24
) -> dict[str, Any]:
    """Verified items: successes and failures, by decision and word."""
    matching = [
        (item, decisions, spotting)
        for item, decisions, spotting in _verified(bench, queue)
        if decisions and (not decision or spotting.decision == decision) and (not word or spotting.word == word)
    ]
    listed = matching[page * size : (page + 1) * size]
    return {
        "count": len(matching),
        "items": [
            {
                **item_as_json(item),
                "decision": spotting.decision,
                "word": spotting.word,
                "by": [
                    {"annotator": decision.annotator, "answer": decision.answer, "word": decision.word}
                    for decision in decisions
                ],
            }
            for item, decisions, spotting in listed
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
    spottings = [spotting for _, _, spotting in _verified(bench, queue) if not only or spotting.decision == only]
    return download(exports.export(spottings, name, format))


@router.post("/queues/{queue}/labels", dependencies=[OWNER])
def keep_labels(queue: str, bench: OpenWorkbench) -> dict[str, Any]:
    """Write every yes and no into `labels/` of the folder, where adaptation, training and evaluation read them."""
    spottings = (spotting for _, _, spotting in _verified(bench, queue))
    file, count = exports.save_labels(spottings, bench.folder, bench.queues.get(queue)["name"], queue)
    return {"file": file, "labels": count}


@router.post("/queues/{queue}/exemplars", dependencies=[OWNER])
def keep_exemplars(queue: str, bench: OpenWorkbench, dictionary: str = "") -> dict[str, Any]:
    """Add every sign that people confirmed to a dictionary, by default that of the queue; each once.

    Signs that cannot be cut out, such as those of a video that is gone, are named in `left_out`.
    """
    name = dictionary or bench.queues.get(queue)["dictionary"]
    spottings = [spotting for _, _, spotting in _verified(bench, queue)]
    exemplars, left_out = dictionary_changes.add_confirmed(bench, name, spottings)
    return {"dictionary": name, "exemplars": exemplars, "left_out": left_out}


@router.put("/queues/{queue}/import", dependencies=[VERIFIER])
async def read_back(queue: str, name: str, annotator: str, request: Request, bench: OpenWorkbench) -> dict[str, int]:
    """Import decisions that were made in VIA, ELAN or a table; the file is the raw body.

    `decisions` counts those of the file, `new` those that differ from the decisions that stood before.
    """
    path = await receive_text(bench.folder, name, request.stream())

    def work() -> dict[str, int]:
        try:
            decisions = exports.read_back(path, list(bench.queues.items(queue)), annotator.strip())
        except (FormatError, OptionsError) as error:
            raise type(error)(str(error).replace(str(path), f"'{name}'")) from None
        finally:
            remove(path)
        standing = [bench.queues.decide(decision, if_new=True) for decision in decisions]
        new = sum(
            stands is not None and stands.id == decision.id
            for stands, decision in zip(standing, decisions, strict=True)
        )
        return {"decisions": len(decisions), "new": new}

    return await run_in_threadpool(work)


def _verified(bench: Workbench, queue: str) -> Iterator[tuple[Item, list[Decision], Spotting]]:
    return verified(bench.queues.items(bench.queues.get(queue)["id"]), bench.queues.decisions(queue))


def item_as_json(item: Item) -> dict[str, Any]:
    """An item as the pages get it."""
    return {"item": item.item, "spotting": {**asdict(item.spotting), "source": str(item.spotting.source)}}


def share_as_json(share: Share) -> dict[str, Any]:
    """A share with its interval."""
    return {**asdict(share), "value": share.value, "interval": share.interval}
