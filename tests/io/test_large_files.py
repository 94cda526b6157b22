"""Large files of odd content: each of these once took the square of its size, which is minutes."""

from collections.abc import Callable
from pathlib import Path

import pytest

from signspot.dictionary.build import media_names
from signspot.dictionary.dictionary import unique_ids
from signspot.formats.formats import read_spottings
from signspot.formats.spotting_rows import path_per_video
from signspot.subtitles.reading import read_subtitles
from signspot.types import Exemplar

CUE = "WEBVTT\n\n00:01.000 --> 00:02.000\n"
SLOTS = '<TIME_ORDER><TIME_SLOT TIME_SLOT_ID="t" TIME_VALUE="0"/></TIME_ORDER>'
TIER = '<TIER TIER_ID="gloss"/>'
FIRST = '<ALIGNABLE_ANNOTATION ANNOTATION_ID="a0" TIME_SLOT_REF1="t" TIME_SLOT_REF2="t"/>'


def chain(length: int) -> str:
    """Annotations that each hang on the one before; the last comes first, as no tool writes them."""
    links = (f'<REF_ANNOTATION ANNOTATION_ID="a{n}" ANNOTATION_REF="a{n - 1}"/>' for n in range(length, 0, -1))
    tier = "".join(f"<ANNOTATION>{link}</ANNOTATION>" for link in (*links, FIRST))
    return f'<ANNOTATION_DOCUMENT>{SLOTS}<TIER TIER_ID="gloss">{tier}</TIER></ANNOTATION_DOCUMENT>'


@pytest.mark.parametrize(
    ("name", "text", "read", "count"),
    [
        ("a.vtt", CUE + "<" * 100_000, read_spottings, 1),
        ("a.vtt", CUE + "<a" * 50_000, read_subtitles, 1),
        ("a.vtt", "WEBVTT\n\nNOTE\n" + "a line of a note\n" * 200_000, read_subtitles, 0),
        ("a.eaf", chain(5_000), read_spottings, 5_001),
        (
            "a.eaf",
            f"<ANNOTATION_DOCUMENT>{TIER * 20_000}</ANNOTATION_DOCUMENT>",
            read_spottings,
            0,
        ),
    ],
    ids=["tags in spottings", "tags in subtitles", "notes", "chain of annotations", "tiers"],
)
def test_a_large_file_is_read_in_time(
    tmp_path: Path, name: str, text: str, read: Callable[[Path], list[object]], count: int
) -> None:
    (tmp_path / name).write_text(text)
    assert len(read(tmp_path / name)) == count


def test_one_name_thousands_of_times() -> None:
    ids = unique_ids(["news.mp4"] * 20_000)
    assert (ids[:3], len(set(ids))) == (["news", "news#2", "news#3"], 20_000)
    names = media_names(Exemplar("a", name, Path("a.mp4")) for name in ids)
    assert (names[:2], len(set(names))) == (["media/a/a.mp4", "media/a/a-2.mp4"], 20_000)
    paths = path_per_video([f"{number}/b/a.mp4" for number in range(20_000)], Path("x.eaf"), ".eaf")
    assert len(set(paths.values())) == 20_000
