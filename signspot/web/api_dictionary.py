"""Requests about dictionaries: words and exemplars, their changes, ELAN's vocabulary, comparisons of signs."""

from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.concurrency import run_in_threadpool
from pydantic import BaseModel, Field

from signspot.applications.faux_amis import FauxAmisOptions, compare_galleries
from signspot.applications.feedback import feedback_on
from signspot.applications.sign_comparison import read_sign
from signspot.applications.variants import find_variants
from signspot.dictionary.build import file_name
from signspot.dictionary.dictionary import normalise_word
from signspot.errors import OptionsError
from signspot.landmarks.signing import sign_segment
from signspot.subtitles.reading import SUFFIXES as SUBTITLE_SUFFIXES
from signspot.types import Exemplar, Segment
from signspot.web import dictionary_changes, exports, uploads
from signspot.web.api_search import clip_landmarks, download
from signspot.web.server_state import OWNER, OpenWorkbench, Seconds, Workbench
from signspot.web.texts import language_of, translated

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
    query = normalise_word(q)
    matching = [word for word in opened if query in normalise_word(word)] if query else list(opened)
    listed = matching[page * size : (page + 1) * size]
    return {
        "count": len(matching),
        "words": [
            {"word": word, "exemplars": [as_json(bench, exemplar) for exemplar in opened[word]]} for word in listed
        ],
    }


@router.get("/dictionaries/{name:path}/exemplars")
def exemplars(name: str, word: str, bench: OpenWorkbench) -> list[dict[str, Any]]:
    """All exemplars of a word."""
    return [as_json(bench, exemplar) for exemplar in bench.searcher.dictionary(name)[word]]


@router.get("/dictionaries/{name:path}/vocabulary.ecv")
def vocabulary(name: str, bench: OpenWorkbench) -> Response:
    """The words as an external controlled vocabulary, for ELAN."""
    with TemporaryDirectory() as folder:
        path = dictionary_changes.vocabulary(bench, name, Path(folder) / f"{file_name(Path(name).name)}.ecv")
        return download(exports.Export(path.name, "application/xml", path.read_bytes()))


@router.patch("/dictionaries/{name:path}/exemplar", dependencies=[OWNER])
def change(name: str, id: str, changes: ExemplarChange, bench: OpenWorkbench) -> dict[str, Any]:
    """Change word, variant, signer, licence or segment of an exemplar."""
    return as_json(bench, dictionary_changes.change(bench, name, id, changes.model_dump(exclude_unset=True)))


@router.delete("/dictionaries/{name:path}/exemplar", dependencies=[OWNER])
def remove(name: str, id: str, bench: OpenWorkbench) -> dict[str, bool]:
    """Take an exemplar out of a dictionary; its file stays."""
    dictionary_changes.remove(bench, name, id)
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
    """Add an exemplar: the raw body is a video or a .pose file, decoded in a child process first.

    With `new` the dictionary is created, with this exemplar as its first.
    """
    home = dictionary_changes.new_folder(bench, name) if new else bench.folder.dictionary(name)
    if not new and (not home.is_dir() or not home.is_relative_to(bench.folder.root)):
        raise OptionsError(f"'{name}' lies outside of the folder, or is one file: it is not changed here")
    uploads.refuse_videos(bench.folder, file)
    if Path(file).suffix.lower() in SUBTITLE_SUFFIXES:
        raise OptionsError(f"an exemplar is a video or a .pose file; got '{file}'")
    path = await uploads.receive(bench.folder, file, request.stream(), bench.options.most_bytes)
    await run_in_threadpool(uploads.check, bench.worker, path, file)
    texts = {"signer": signer, "licence": licence}
    return {"id": await run_in_threadpool(dictionary_changes.add_file, bench, name, path, file, word, texts, new=new)}


@router.post("/dictionaries/{name:path}/cut", dependencies=[OWNER])
def cut(name: str, request: CutRequest, bench: OpenWorkbench) -> dict[str, str]:
    """Cut a sign out of a video and add it as an exemplar."""
    texts = {"signer": request.signer, "licence": request.licence, "source": request.video}
    return {
        "id": dictionary_changes.cut(
            bench, request.video, Segment(request.start, request.end), name, request.word, texts
        )
    }


@router.get("/dictionaries/{name:path}/span")
def span(name: str, id: str, bench: OpenWorkbench) -> dict[str, Any]:
    """The span of the sign in an exemplar's video, as in the dictionary, or where the wrists move; whether it plays."""
    exemplar = bench.searcher.exemplar(name, id)
    return {"segment": bench.searcher.sign_span(name, exemplar), "playable": bench.searcher.is_playable(exemplar)}


def as_json(bench: Workbench, exemplar: Exemplar) -> dict[str, Any]:
    """An exemplar as the pages get it; no path of this machine."""
    texts = {key: value for key, value in asdict(exemplar).items() if isinstance(value, str) and key != "encoder"}
    span = [exemplar.segment.start, exemplar.segment.end] if exemplar.segment else None
    return {**texts, "playable": bench.searcher.is_playable(exemplar), "segment": span}


_MOST_PAIRS = 60  # of faux amis


@router.put("/feedback")
async def feedback(dictionary: str, word: str, name: str, request: Request, bench: OpenWorkbench) -> dict[str, Any]:
    """Compare a learner's clip, the raw body, with the exemplars of a word; the clip is not stored."""
    language = language_of(request)

    def work(path: Path) -> dict[str, Any]:
        landmarks = clip_landmarks(bench, path)
        spotter = bench.searcher.spotter
        meant = bench.searcher.dictionary(dictionary).resolve(word)[0]
        sign = read_sign(spotter, landmarks)
        result = feedback_on(spotter, (landmarks, sign), meant, bench.searcher.gallery(dictionary, ()))
        span = sign_segment(landmarks)
        differences = [
            {
                "parameter": item.parameter,
                "strength": round(item.strength, 2),
                "words": translated(item.text, language, "feedback"),
            }
            for item in result.notable
        ]
        return {
            **{name: getattr(result, name) for name in ("word", "right", "score", "rank", "of", "mirrored")},
            "exemplar": result.exemplar.id,
            "instead": [{"word": item.word, "score": item.score, "exemplar": item.exemplar} for item in result.instead],
            "differences": differences,
            "span": [round(span.start, 3), round(span.end, 3)],
        }

    async with uploads.clip(bench.folder, bench.worker, name, request.stream()) as path:
        return await run_in_threadpool(work, path)


@router.get("/variants/{dictionary:path}")
def variants(dictionary: str, word: str, bench: OpenWorkbench) -> list[dict[str, Any]]:
    """The exemplars of a word, grouped by which of them show the same sign."""
    bench.searcher.gallery(dictionary, (word,))  # videos are decoded in the worker
    variants_of_word = find_variants(bench.searcher.spotter, bench.searcher.dictionary(dictionary), word)
    return [
        {"name": group.name, "typical": group.typical.id, "exemplars": [exemplar.id for exemplar in group.exemplars]}
        for group in variants_of_word.groups
    ]


@router.get("/faux-amis")
def faux_amis(dictionary: str, other: str, bench: OpenWorkbench) -> list[dict[str, Any]]:
    """Signs of two dictionaries that look alike and mean different words, the most alike first."""
    galleries = [bench.searcher.gallery(name, ()) for name in (dictionary, other)]
    comparison = compare_galleries(bench.searcher.spotter, galleries[0], galleries[1], FauxAmisOptions())

    def sign(exemplar: Exemplar) -> dict[str, Any]:
        return {"word": exemplar.word, "exemplar": exemplar.id, "playable": bench.searcher.is_playable(exemplar)}

    return [
        {"one": sign(pair.first), "other": sign(pair.second), "cost": round(pair.cost, 3)}
        for pair in comparison.of("other")[:_MOST_PAIRS]
    ]
