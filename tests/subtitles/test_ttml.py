"""TTML: every kind of time, nesting, and documents that mean harm."""

import pytest

from signspot.errors import FormatError
from signspot.io.xml import DEEPEST
from signspot.subtitles.cues import CueSheet
from signspot.subtitles.reading import Rates, read_ttml

NAMES = 'xmlns="http://www.w3.org/ns/ttml" xmlns:ttp="http://www.w3.org/ns/ttml#parameter"'


def sheet_of(body: str, attributes: str = "") -> CueSheet:
    head = "<head><metadata><title>no words</title></metadata></head>"
    return read_ttml(f"<?xml version='1.0'?>\n<tt {NAMES} {attributes}>{head}{body}</tt>", "a.ttml")


def cues(body: str, attributes: str = "") -> list[tuple[float, float, str]]:
    return [(cue.start, cue.end, cue.text) for cue in sheet_of(body, attributes).cues]


@pytest.mark.parametrize(
    ("expression", "seconds"),
    [
        ("00:00:10", 10.0),
        ("01:00:10.25", 3610.25),
        ("00:00:10:12", 10.48),
        ("00:00:10:12.1", 10.5),
        ("10s", 10.0),
        ("1.5h", 5400.0),
        ("2m", 120.0),
        ("250ms", 0.25),
        ("50f", 2.0),
        ("20000000t", 2.0),
        ("-1s", -1.0),
        ("00:00:10:25", None),
        ("00:61:00", None),
        ("10", None),
        ("ten", None),
    ],
)
def test_times_at_25_frames_of_2_sub_frames(expression: str, seconds: float | None) -> None:
    assert Rates(frame=25, sub_frame=2, tick=10_000_000).seconds(expression) == pytest.approx(seconds)


def test_the_document_declares_its_rates() -> None:
    body = '<body><p begin="00:00:10:12" end="30f">x</p></body>'.replace("30f", "00:00:11:00")
    assert cues(body, 'ttp:frameRate="24"') == [(10.5, 11, "x")]
    assert cues(body) == [(10.4, 11, "x")]  # 30 by default
    body = '<body><p begin="0f" end="24000f">x</p></body>'
    assert cues(body, 'ttp:frameRate="24" ttp:frameRateMultiplier="1000 1001"') == [(0, 1001, "x")]
    ticks = '<body><p begin="10000000t" end="25000000t">x</p></body>'
    assert cues(ticks, 'ttp:tickRate="10000000"') == [(1, 2.5, "x")]
    assert cues('<body><p begin="25t" dur="50t">x</p></body>', 'ttp:frameRate="25"') == [(1, 3, "x")]


def test_times_nest() -> None:
    inner = '<p begin="1s" dur="2s">x</p><p begin="1s" end="90s">y</p>'
    body = f'<body begin="10s"><div begin="5s" end="20s">{inner}</div></body>'
    assert cues(body) == [(16, 18, "x"), (16, 30, "y")]


def test_spans_breaks_spaces_and_metadata() -> None:
    body = """<body><div><p begin="1s" end="2s"><metadata>no</metadata>
      <span>Hello <span>big</span></span><br/>
      world &amp; &lt;all&gt;
    </p></div></body>"""
    assert cues(body) == [(1, 2, "Hello big\nworld & <all>")]


def test_spans_with_their_own_times_are_their_own_cues() -> None:
    body = '<body><p><span begin="1s" end="2s">one</span> <span begin="2s" end="3s">two</span></p></body>'
    assert cues(body) == [(1, 2, "one"), (2, 3, "two")]
    body = '<body><p begin="10s" end="20s">base <span begin="1s" end="2s">inner</span></p></body>'
    assert cues(body) == [(10, 20, "base"), (11, 12, "inner")]


def test_missing_and_broken_times_are_reported() -> None:
    body = (
        "<body>\n<p>none</p>\n<p begin='1s'>no end</p>\n<p begin='soon' end='2s'>x</p>\n"
        "<div timeContainer='seq'><p dur='1s'>y</p></div>\n<p begin='1s' end='2s'>good</p></body>"
    )
    sheet = sheet_of(body)
    assert [cue.text for cue in sheet.cues] == ["good"]
    assert [problem.line for problem in sheet.problems] == [3, 4, 5, 6]
    assert "begin='soon'" in str(sheet.problems[2])


def test_old_namespaces_and_none() -> None:
    for name in ('xmlns="http://www.w3.org/2006/10/ttaf1"', "", 'xmlns:tt="http://www.w3.org/ns/ttml"'):
        assert [c.text for c in read_ttml(f'<tt {name}><body><p begin="1s" end="2s">x</p></body></tt>', "a").cues] == [
            "x"
        ]
    prefixed = (
        '<tt:tt xmlns:tt="http://www.w3.org/ns/ttml"><tt:body><tt:p begin="1s" end="2s">x</tt:p></tt:body></tt:tt>'
    )
    assert [c.text for c in read_ttml(prefixed, "a").cues] == ["x"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('<!DOCTYPE tt [<!ENTITY a "b"><!ENTITY c "&a;&a;">]>\n<tt>&c;</tt>', "line 1"),
        ('\n<!DOCTYPE tt SYSTEM "file:///etc/passwd"><tt/>', "line 1"),
        ("<tt>\n<p>&nbsp;</p></tt>", "line 2"),
        ("<tt>\n<body>\n</tt>", "line 3"),
        ("<html/>", "<html>"),
        ("hello", "line 1"),
        ("<tt>" + "<div>" * (DEEPEST + 1), str(DEEPEST)),
        ('<tt frameRate="0"/>', "frameRate='0'"),
        ('<tt frameRateMultiplier="0 1"/>', "frameRateMultiplier='0 1'"),
    ],
)
def test_documents_that_are_refused(text: str, value: str) -> None:
    with pytest.raises(FormatError, match=value):
        read_ttml(text, "a.ttml")
