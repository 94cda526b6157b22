"""Requests about dictionaries: words and exemplars, their changes, ELAN's vocabulary, comparisons of signs."""

from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.concurrency import run_in_threadpool
from pydantic import BaseModel, Field

from signspot.applications.faux_amis import FauxAmisOptions, compare_galleries
from signspot.applications.feedback import Feedback, feedback_on
from signspot.applications.signs import read_sign
from signspot.applications.variants import find_variants
from signspot.dictionary.build import file_name
from signspot.dictionary.dictionary import normalise_word
from signspot.errors import OptionsError
from signspot.landmarks.signing import sign_segment
from signspot.subtitles.reading import SUFFIXES as SUBTITLE_SUFFIXES
from signspot.types import Exemplar, Segment
from signspot.web import editing, exports, uploads
from signspot.web.api_search import MOST_CLIP, download
from signspot.web.sign_search import clip_landmarks
from signspot.web.workbench import OWNER, OpenWorkbench, Seconds, Workbench

router = APIRouter(tags=["dictionary"])


class ExemplarChange(BaseModel):
    """Changes to an exemplar; fields that are left out stay."""

    word: str | None = Field(default=None, max_length=200)
    variant: str | None = Field(default=None, max_length=200)
    signer: str | None = Field(default=None, max_length=200)
    source: str | None = Field(default=None, max_length=500)
    licence: str | None = Field(default=None, max_length=500)
    consent: str | None = Field(default=None, max_length=500)
    segment: tuple[Seconds, Seconds] | None = None


class CutRequest(BaseModel):
    """A sign of a video that becomes an exemplar."""

    video: str
    start: Seconds
    end: Seconds
    word: str = Field(min_length=1, max_length=200)
    signer: str = ""
    licence: str = ""


@router.get("/dictionaries/{name:path}/words")
def words(name: str, bench: OpenWorkbench, q: str = "", page: int = 0, size: int = 60) -> dict[str, Any]:
    """A page of the words of a dictionary, each with its exemplars."""
    opened = bench.searcher.dictionary(name)
    wanted = normalise_word(q)
    found = [word for word in opened if wanted in normalise_word(word)] if wanted else list(opened)
    shown = found[page * size : (page + 1) * size]
    return {
        "count": len(found),
        "words": [{"word": word, "exemplars": [as_json(bench, each) for each in opened[word]]} for word in shown],
    }


@router.get("/dictionaries/{name:path}/exemplars")
def exemplars(name: str, word: str, bench: OpenWorkbench) -> list[dict[str, Any]]:
    """All exemplars of a word."""
    return [as_json(bench, each) for each in bench.searcher.dictionary(name)[word]]


@router.get("/dictionaries/{name:path}/vocabulary.ecv")
def vocabulary(name: str, bench: OpenWorkbench) -> Response:
    """The words as an external controlled vocabulary, for ELAN."""
    with TemporaryDirectory() as folder:
        path = editing.vocabulary(bench, name, Path(folder) / f"{file_name(Path(name).name)}.ecv")
        return download(exports.Export(path.name, "application/xml", path.read_bytes()))


@router.patch("/dictionaries/{name:path}/exemplar", dependencies=[OWNER])
def change(name: str, id: str, wanted: ExemplarChange, bench: OpenWorkbench) -> dict[str, Any]:
    """Change word, variant, signer, licence or segment of an exemplar."""
    return as_json(bench, editing.change(bench, name, id, wanted.model_dump(exclude_unset=True)))


@router.delete("/dictionaries/{name:path}/exemplar", dependencies=[OWNER])
def remove(name: str, id: str, bench: OpenWorkbench) -> dict[str, bool]:
    """Take an exemplar out of a dictionary; its file stays."""
    editing.remove(bench, name, id)
    return {"ok": True}


@router.put("/dictionaries/{name:path}/exemplar", dependencies=[OWNER])
async def add(
    name: str,
    word: str,
    file: str,
    request: Request,
    bench: OpenWorkbench,
    signer: str = "",
    licence: str = "",
    new: bool = False,
) -> dict[str, Any]:
    """Add an exemplar: the film or landmarks are the raw body, decoded in a process of its own first.

    With `new` it is the first one of a dictionary that is made by it.
    """
    home = editing.new_home(bench, name) if new else bench.folder.dictionary(name)
    if not new and (not home.is_dir() or not home.is_relative_to(bench.folder.root)):
        raise OptionsError(f"'{name}' lies outside of the folder, or is one file: it is not changed here")
    uploads.refuse_pictures(bench.folder, file)
    if Path(file).suffix.lower() in SUBTITLE_SUFFIXES:
        raise OptionsError(f"an exemplar is a video or a .pose file; got '{file}'")
    path = await uploads.receive(bench.folder, file, request.stream(), bench.options.most_bytes)
    await run_in_threadpool(uploads.check, bench.worker, path, file)
    texts = {"signer": signer, "licence": licence}
    return {"id": await run_in_threadpool(editing.add_upload, bench, name, path, file, word, texts, new=new)}


@router.post("/dictionaries/{name:path}/cut", dependencies=[OWNER])
def cut(name: str, wanted: CutRequest, bench: OpenWorkbench) -> dict[str, str]:
    """Cut a sign out of a video and add it as an exemplar."""
    path = editing.cut(bench, wanted.video, Segment(wanted.start, wanted.end), name, wanted.word)
    texts = {"signer": wanted.signer, "licence": wanted.licence, "source": wanted.video}
    return {"id": editing.add(bench, name, path, wanted.word, texts)}


@router.get("/dictionaries/{name:path}/span")
def span(name: str, id: str, bench: OpenWorkbench) -> dict[str, Any]:
    """The span of the sign in an exemplar's film: as the dictionary says, or where the wrists move."""
    return {"segment": bench.searcher.sign_span(name, bench.searcher.exemplar(name, id))}


def as_json(bench: Workbench, exemplar: Exemplar) -> dict[str, Any]:
    """An exemplar as the pages get it; no path of this machine."""
    texts = {key: value for key, value in asdict(exemplar).items() if isinstance(value, str) and key != "encoder"}
    span = [exemplar.segment.start, exemplar.segment.end] if exemplar.segment else None
    return {**texts, "film": bench.searcher.shows(exemplar), "segment": span}


_MOST_PAIRS = 60  # of faux amis


@router.put("/feedback")
async def feedback(dictionary: str, word: str, name: str, request: Request, bench: OpenWorkbench) -> dict[str, Any]:
    """Say what differs between a learner's clip, the raw body, and the exemplars of a word; the clip is not kept."""
    path = await uploads.receive(bench.folder, name, request.stream(), MOST_CLIP)
    await run_in_threadpool(uploads.check, bench.worker, path, name)

    def work() -> dict[str, Any]:
        try:
            landmarks = clip_landmarks(bench, path)
            spotter = bench.searcher.spotter
            meant = bench.searcher.dictionary(dictionary).resolve(word)[0]
            sign = read_sign(spotter, landmarks)
            found = feedback_on(spotter, (landmarks, sign), meant, bench.searcher.gallery(dictionary, ()))
            span = sign_segment(landmarks)
            return {**_told(found), "span": [round(span.start, 3), round(span.end, 3)]}
        finally:
            path.unlink(missing_ok=True)

    return await run_in_threadpool(work)


def _told(found: Feedback) -> dict[str, Any]:
    return {
        "word": found.word,
        "right": found.right,
        "score": found.score,
        "rank": found.rank,
        "of": found.of,
        "exemplar": found.exemplar.id,
        "mirrored": found.mirrored,
        "instead": [{"word": each.word, "score": each.score, "exemplar": each.exemplar} for each in found.instead],
        "differences": [
            {"parameter": each.parameter, "strength": round(each.strength, 2), "words": each.text}
            for each in found.notable
        ],
    }


@router.get("/variants/{dictionary:path}")
def variants(dictionary: str, word: str, bench: OpenWorkbench) -> list[dict[str, Any]]:
    """The exemplars of a word, grouped by which of them show the same sign."""
    bench.searcher.gallery(dictionary, (word,))  # videos are decoded in the worker
    found = find_variants(bench.searcher.spotter, bench.searcher.dictionary(dictionary), word)
    return [
        {"name": group.name, "typical": group.typical.id, "exemplars": [each.id for each in group.exemplars]}
        for group in found.groups
    ]


@router.get("/faux-amis")
def faux_amis(dictionary: str, other: str, bench: OpenWorkbench) -> list[dict[str, Any]]:
    """Signs of two dictionaries that look alike and mean different words, the most alike first."""
    galleries = [bench.searcher.gallery(name, ()) for name in (dictionary, other)]
    found = compare_galleries(bench.searcher.spotter, galleries[0], galleries[1], FauxAmisOptions())
    return [
        {
            "one": {"word": pair.first.word, "exemplar": pair.first.id, "film": bench.searcher.shows(pair.first)},
            "other": {"word": pair.second.word, "exemplar": pair.second.id, "film": bench.searcher.shows(pair.second)},
            "cost": round(pair.cost, 3),
        }
        for pair in found.of("other")[:_MOST_PAIRS]
    ]
