"""Queries and candidates with as little said as possible."""

from collections.abc import Iterable

from signspot.annotation.store_records import Candidate, Findings, SubtitleQuery, VideoRecord
from signspot.words.match import Form


def query(video: str, subtitle: int, word: str, start: float = 0.0, end: float = 10.0) -> SubtitleQuery:
    return SubtitleQuery(
        video=video,
        subtitle=subtitle,
        word=word,
        form=Form.ORIGINAL,
        first=0,
        last=len(word),
        mentions=1,
        text=word,
        subtitle_start=start + 4,
        subtitle_end=end - 4,
        start=start,
        end=end,
        exemplars=2,
        best=0.9,
        negatives=3,
        negative_best=0.7,
        negative_mean=0.6,
        negatives_above=0,
    )


def candidate(
    video: str, subtitle: int, word: str, time: float, score: float, rank: int = 1, second: float | None = 0.8
) -> Candidate:
    return Candidate(
        video=video,
        subtitle=subtitle,
        word=word,
        rank=rank,
        time=time,
        start=time - 0.64,
        end=time + 0.64,
        score=score,
        exemplar=f"{word}-1",
        variant="1",
        mirrored=False,
        exemplars=2,
        agreeing=1,
        exemplar_second=second,
        exemplar_mean=0.7,
        negatives=3,
        negative_best=0.7,
        negative_mean=0.6,
        negatives_above=0,
    )


def findings(video: str, queries: Iterable[SubtitleQuery], candidates: Iterable[Candidate]) -> Findings:
    queries_of_video = tuple(queries)
    record = VideoRecord(video, "digest", 60.0)
    return Findings(record, {query.word: "key" for query in queries_of_video}, queries_of_video, tuple(candidates))
