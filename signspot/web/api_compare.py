"""Requests that compare signs: a learner's clip with a word, and the signs of two dictionaries."""

from typing import Any

from fastapi import APIRouter, Request
from fastapi.concurrency import run_in_threadpool

from signspot.applications.faux_amis import FauxAmisOptions, compare_galleries
from signspot.applications.feedback import Feedback, feedback_on
from signspot.applications.signs import read_sign
from signspot.applications.variants import find_variants
from signspot.embedding.inputs import landmarks_of
from signspot.landmarks.signing import sign_segment
from signspot.web import uploads
from signspot.web.api_search import MOST_CLIP
from signspot.web.requests import OpenWorkbench

router = APIRouter(tags=["compare"])
_MOST_PAIRS = 60  # of faux amis


@router.put("/feedback")
async def feedback(dictionary: str, word: str, name: str, request: Request, bench: OpenWorkbench) -> dict[str, Any]:
    """Say what differs between a learner's clip, the raw body, and the exemplars of a word; the clip is not kept."""
    path = await uploads.receive(bench.folder, name, request.stream(), MOST_CLIP)
    await run_in_threadpool(uploads.check, path, name)

    def work() -> dict[str, Any]:
        try:
            landmarks = landmarks_of(path, None)
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
            {"parameter": each.parameter, "strength": round(each.strength, 2), "words": each.words}
            for each in found.notable
        ],
    }


@router.get("/variants/{dictionary:path}")
def variants(dictionary: str, word: str, bench: OpenWorkbench) -> list[dict[str, Any]]:
    """The exemplars of a word, grouped by which of them show the same sign."""
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
