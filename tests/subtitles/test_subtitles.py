"""One contract for all formats, and the dirt that real files bring."""

import math
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from signspot.errors import FormatError
from signspot.subtitles.reading import Subtitles, read_subtitles
from signspot.types import Subtitle
from signspot_synthetic.language.subtitles import write_vtt

Read = Callable[..., Subtitles]


def stamp(seconds: float, mark: str) -> str:
    ms = round(seconds * 1000)
    return f"{ms // 3600000:02d}:{ms // 60000 % 60:02d}:{ms // 1000 % 60:02d}{mark}{ms % 1000:03d}"


def as_srt(subtitles: list[Subtitle]) -> str:
    cues = [f"{i}\n{stamp(s.start, ',')} --> {stamp(s.end, ',')}\n{s.text}\n" for i, s in enumerate(subtitles, start=1)]
    return "\n".join(cues)


def as_ttml(subtitles: list[Subtitle]) -> str:
    cues = [
        f'<p begin="{stamp(s.start, ".")}" end="{stamp(s.end, ".")}">{s.text.replace(chr(10), "<br/>")}</p>'
        for s in subtitles
    ]
    return f'<tt xmlns="http://www.w3.org/ns/ttml"><body><div>{"".join(cues)}</div></body></tt>'


@pytest.fixture
def read(tmp_path: Path) -> Read:
    def write_and_read(name: str, content: str | bytes) -> Subtitles:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return read_subtitles(path)

    return write_and_read


def rows(subtitles: Subtitles) -> list[tuple[float, float, str]]:
    return [(s.start, s.end, s.text) for s in subtitles]


times = st.integers(0, 359_999_999).map(lambda milliseconds: milliseconds / 1000)
words = st.from_regex(r"[a-zéü]{1,8}", fullmatch=True)
lines = st.lists(words, min_size=1, max_size=5).map(" ".join)
texts = st.lists(lines, min_size=1, max_size=3).map("\n".join)
subtitle = st.tuples(times, times, texts).map(lambda t: Subtitle(min(t[:2]), max(t[:2]), t[2]))
lists = st.lists(subtitle, max_size=6, unique=True).map(lambda cues: sorted(cues, key=lambda s: (s.start, s.end)))


@pytest.mark.parametrize("suffix", [".srt", ".vtt", ".ttml"])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(written=lists)
def test_what_was_written_is_read(suffix: str, written: list[Subtitle], tmp_path: Path) -> None:
    path = tmp_path / f"round{suffix}"
    if suffix == ".vtt":
        write_vtt(written, path)
    else:
        path.write_text(as_srt(written) if suffix == ".srt" else as_ttml(written), encoding="utf-8")
    subtitles = read_subtitles(path)
    assert sorted(rows(subtitles)) == sorted((s.start, s.end, s.text) for s in written)
    assert not [problem for problem in subtitles.problems if "empty" not in problem.message]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    content=st.text(st.sampled_from("12\n:-> .,<pWEBVTT&;abé♪[]{}\\/=\"'"), max_size=80),
    name=st.sampled_from(["a.srt", "a.vtt", "a.ttml"]),
)
def test_any_text_is_read_or_refused(content: str, name: str, read: Read) -> None:
    with suppress(FormatError):
        assert all(0 <= s.start <= s.end < math.inf and s.text for s in read(name, content))


class TestEveryFormat:
    @pytest.mark.parametrize("name", ["a.srt", "a.vtt", "a.ttml"])
    @pytest.mark.parametrize("content", [b"", b"\n \n", b"\xef\xbb\xbf"])
    def test_an_empty_file_gives_none_and_says_so(self, read: Read, name: str, content: bytes) -> None:
        subtitles = read(name, content)
        assert len(subtitles) == 0
        assert [str(problem) for problem in subtitles.problems] == ["line 1: the file is empty"]

    @pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp1252"])
    @pytest.mark.parametrize("suffix", [".srt", ".vtt", ".ttml"])
    def test_any_encoding_and_line_end(self, read: Read, encoding: str, suffix: str) -> None:
        cues = [Subtitle(1, 2, "café\nolé"), Subtitle(3, 4, "naïve")]
        content = as_ttml(cues) if suffix == ".ttml" else as_srt(cues)
        content = "WEBVTT\n\n" + content.replace(",", ".") if suffix == ".vtt" else content
        for end in ("\n", "\r\n", "\r"):
            subtitles = read(f"a{suffix}", content.replace("\n", end).encode(encoding))
            assert rows(subtitles) == [(1, 2, "café\nolé"), (3, 4, "naïve")]
            assert not subtitles.problems

    @pytest.mark.parametrize("suffix", [".srt", ".vtt", ".ttml"])
    def test_impossible_times_are_reported_and_left_out(self, read: Read, suffix: str) -> None:
        good, reversed_, negative = ("1.000", "2.000", "good"), ("5.000", "4.000", "bad"), ("1.000", "2.000", "worse")
        if suffix == ".ttml":
            signs = ("", "", "-")
            cues = [
                f'<p begin="{sign}00:00:0{start}" end="00:00:0{end}">{text}</p>\n'
                for sign, (start, end, text) in zip(signs, (good, reversed_, negative), strict=True)
            ]
            subtitles = read("a.ttml", "<tt><body><div>\n" + "".join(cues) + "</div></body></tt>")
            expected = [3, 4]
        else:
            cue = "00:00:0{} --> 00:00:0{}\n{}\n\n"
            content = cue.format(*good) + cue.format(*reversed_) + "-" + cue.format(*negative)
            subtitles = read(f"a{suffix}", ("WEBVTT\n\n" if suffix == ".vtt" else "") + content)
            expected = [6, 9] if suffix == ".vtt" else [4, 7]
        assert rows(subtitles) == [(1, 2, "good")]
        assert [problem.line for problem in subtitles.problems] == expected
        assert "ends before it starts (5 to 4 s)" in subtitles.problems[0].message
        assert "negative (-1 to 2 s)" in subtitles.problems[1].message

    def test_overlaps_stay_repeats_go_and_order_is_by_time(self, read: Read) -> None:
        cues = [Subtitle(5, 8, "b"), Subtitle(1, 9, "a"), Subtitle(5, 8, "b"), Subtitle(5, 8, "a")]
        subtitles = read("a.srt", as_srt(cues))
        assert rows(subtitles) == [(1, 9, "a"), (5, 8, "b"), (5, 8, "a")]
        assert [str(problem) for problem in subtitles.problems] == ["line 10: the cue repeats that on line 2; left out"]

    def test_cues_that_say_nothing_are_left_out(self, read: Read) -> None:
        cues = read("a.srt", as_srt([Subtitle(1, 2, "♪"), Subtitle(3, 4, "[APPLAUSE]"), Subtitle(5, 6, "<i>Hi</i>")]))
        assert rows(cues) == [(5, 6, "Hi")]
        assert not cues.problems

    def test_damaged_characters_are_reported(self, read: Read) -> None:
        content = as_srt([Subtitle(1, 2, "é" * 20), Subtitle(3, 4, "X")]).encode().replace(b"X", b"a\xffb")
        subtitles = read("a.srt", content)
        assert subtitles[1].text == "a\ufffdb"
        assert str(subtitles.problems[0]) == "line 7: 1 characters cannot be read as utf-8; kept as U+FFFD"

    def test_content_goes_before_name(self, read: Read) -> None:
        assert rows(read("a.srt", "WEBVTT\n\nNOTE x\n\n00:01.000 --> 00:02.000\nHi\n")) == [(1, 2, "Hi")]
        assert rows(read("b.srt", as_ttml([Subtitle(1, 2, "Hi")]))) == [(1, 2, "Hi")]
        subtitles = read("a.vtt", as_srt([Subtitle(1, 2, "Hi")]))
        assert rows(subtitles) == [(1, 2, "Hi")]
        assert "no WEBVTT" in str(subtitles.problems[0])

    def test_other_files_are_refused(self, read: Read, tmp_path: Path) -> None:
        with pytest.raises(FormatError):
            read("a.txt", "1\n00:00:01,000 --> 00:00:02,000\nHi")
        with pytest.raises(FormatError, match="line 2"):
            read("a.srt", "\nOnce upon a time")
        with pytest.raises(FormatError, match="line 1"):
            read("a.vtt", "Once upon a time")
        with pytest.raises(FormatError):
            read_subtitles(tmp_path / "none.vtt")
