"""WebVTT as people and tools really write it."""

from signspot.subtitles.reading import read_vtt


def cues(text: str) -> list[tuple[float, float, str]]:
    return [(cue.start, cue.end, cue.text) for cue in read_vtt(text, "a.vtt").cues]


def test_notes_styles_regions_names_and_settings() -> None:
    text = """WEBVTT - made by hand
Kind: captions
X-TIMESTAMP-MAP=LOCAL:00:00:00.000,MPEGTS:0

STYLE
::cue { color: yellow }

REGION
id:fred

NOTE a comment
00:00.000 --> 00:01.000
that is commented out

intro
00:01.000 --> 00:02.000 align:start position:10%,line-left region:fred
Hello

NOTE
00:02.000 --> 01:00:03.000
NOTE this is text
"""
    parsed = read_vtt(text, "a.vtt")
    assert [(cue.line, cue.start, cue.end, cue.text) for cue in parsed.cues] == [(16, 1, 2, "Hello")]
    assert not parsed.problems


def test_a_note_ends_at_a_blank_line_only() -> None:
    assert cues("WEBVTT\n\n00:01.000 --> 00:02.000\nNOTE this\n\nNOTES\n00:02.000 --> 00:03.000\nx") == [
        (1, 2, "NOTE this"),
        (2, 3, "x"),
    ]


def test_missing_blank_lines() -> None:
    text = "WEBVTT\n1\n00:01.000 --> 00:02.000\none\n2\n00:02.000 --> 00:03.000\ntwo\n00:03.000 --> 00:04.000\nthree"
    assert cues(text) == [(1, 2, "one"), (2, 3, "two"), (3, 4, "three")]
    assert cues("WEBVTT\n\n" + text.partition("\n")[2]) == cues(text)


def test_hours_omitted_commas_and_tabs() -> None:
    assert cues("WEBVTT\t\n\n00:01,000\t-->\t01:00:02.5\nHi") == [(1, 3602.5, "Hi")]


def test_a_header_alone_is_no_problem() -> None:
    sheet = read_vtt("WEBVTT\n", "a.vtt")
    assert (sheet.cues, sheet.problems) == ([], [])


def test_text_without_times_and_broken_times_are_reported() -> None:
    sheet = read_vtt(
        "WEBVTT\n\nstray\n\n00:01.000 --> 00:02.000\nHi\n\nalso\nstray\n\nx\n00:9x.000 --> 1\nlost\n\nend", "a"
    )
    assert [cue.text for cue in sheet.cues] == ["Hi"]
    assert sorted(problem.line for problem in sheet.problems) == [3, 8, 12, 15]
