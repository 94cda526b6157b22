import hashlib
import json
import re
import shutil
import subprocess
from base64 import b64decode, b64encode
from dataclasses import replace
from fractions import Fraction
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

from signspot.errors import OutputError, VideoError
from signspot.plots.curves import View
from signspot.plots.result_page import data_address, report
from signspot.video.reader import open_video

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&amp;\u2028\udc80"


class Page(HTMLParser):
    """The elements and texts of a page."""

    def __init__(self, path: Path):
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []  # the element last opened, and the text in it
        self.source = path.read_text(encoding="utf-8")
        self.feed(self.source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.texts.append((self.elements[-1][0] if self.elements else "", data))

    def of(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]

    def text_of(self, tag: str) -> list[str]:
        return [text for name, text in self.texts if name == tag and text.strip()]

    @property
    def data(self) -> dict[str, Any]:
        data: dict[str, Any] = json.loads(self.text_of("script")[0])
        return data


@pytest.fixture
def page(view: View, tmp_path: Path) -> Page:
    report(view, tmp_path / "r.html")
    return Page(tmp_path / "r.html")


def test_the_table_has_a_row_a_spotting(page: Page) -> None:
    assert [row["data-index"] for row in page.of("tr")[1:]] == ["0", "1"]
    cells = page.text_of("td")
    assert [cell for cell in cells if cell != "\n"] == [
        "apple",
        "sure",
        "0.90",
        "apple-1",
        "apple",
        "check",
        "0.80",
        "apple-2",
    ]
    assert [text for text in page.text_of("button") if ":" in text] == ["0:01.00", "0:03.00"]


def test_the_curves_are_there_for_the_script(page: Page, view: View) -> None:
    data = page.data
    assert [panel["word"] for panel in data["panels"]] == ["apple", "pear"]
    curve = data["panels"][0]["curves"][1]
    assert curve["times"] == pytest.approx(view.curves[2].times, abs=1e-3)
    assert curve["scores"] == pytest.approx(view.curves[2].scores, abs=1e-4)
    assert [(s["time"], s["panel"], s["colour"]) for s in data["spottings"]] == [(1.0, 0, 0), (3.0, 0, 1)]
    assert [panel["threshold"] for panel in data["panels"]] == [0.7, 0.55]
    assert data["panels"][0]["word_curve"]["scores"] == pytest.approx(view.words[0].scores, abs=1e-4)
    assert data["panels"][1]["word_curve"] is None, "one exemplar"
    assert data["duration"] == 4.0


def test_it_needs_no_other_file(page: Page, video: Path) -> None:
    (player,) = page.of("video")
    address = player["src"] or ""
    assert b64decode(address.partition(",")[2]) == video.read_bytes()
    sources = [
        value for _, attributes in page.elements for name, value in attributes.items() if name in ("src", "href")
    ]
    assert len(sources) == 2
    assert all((source or "").startswith("data:") for source in sources)
    assert not re.search(r"url\(|@import|https?://(?!www\.w3\.org/2000/svg)", page.source)


def test_its_policy_lets_only_its_own_script_and_style_run(page: Page) -> None:
    policy = next(a["content"] or "" for a in page.of("meta") if a.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'; img-src data:; media-src data:;")
    assert "unsafe" not in policy
    for tag, kind in (("script", "script-src"), ("style", "style-src")):
        text = re.findall(rf"<{tag}>(.*?)</{tag}>", page.source, re.DOTALL)
        assert len(text) == 1
        digest = b64encode(hashlib.sha256(text[0].encode()).digest()).decode()
        assert f"{kind} 'sha256-{digest}'" in policy
    assert not any(name == "style" or name.startswith("on") for _, a in page.elements for name in a)


def test_words_are_text_and_never_markup(view: View, tmp_path: Path) -> None:
    curve = replace(view.curves[1], word=HOSTILE, exemplar=HOSTILE)
    spotting = replace(view.spottings[0], word=HOSTILE, exemplar=HOSTILE)
    report(replace(view, curves=(curve,), spottings=(spotting,), title=HOSTILE), tmp_path / "r.html")
    page = Page(tmp_path / "r.html")
    assert [attributes.get("type") for attributes in page.of("script")] == ["application/json", None]
    assert [image["alt"] for image in page.of("img")] == [""]
    escaped = HOSTILE.replace("\u2028", "\\u2028").replace("\udc80", "\\udc80")
    assert page.data["spottings"][0]["word"] == escaped
    assert "".join(page.text_of("h1")) == "".join(page.text_of("h3")) == escaped
    assert escaped in "".join(page.text_of("td"))


def test_without_a_video_the_rest_is_there(view: View, tmp_path: Path) -> None:
    report(replace(view, video=None, spottings=(), curves=()), tmp_path / "r.html")
    page = Page(tmp_path / "r.html")
    assert page.of("video") == []
    assert "There is no video of this result." in page.text_of("p")
    assert "Nothing reached the threshold." in page.text_of("p")


def test_only_a_page_is_written(view: View, tmp_path: Path) -> None:
    with pytest.raises(OutputError):
        report(view, tmp_path / "r.pdf")


def content(address: str | None, tmp_path: Path) -> Path:
    assert address is not None
    kind, _, encoded = address.partition(";base64,")
    assert kind == "data:video/mp4"
    (tmp_path / "out.mp4").write_bytes(b64decode(encoded))
    return tmp_path / "out.mp4"


def test_what_browsers_play_goes_in_as_it_is(video: Path, tmp_path: Path) -> None:
    assert content(data_address(video), tmp_path).read_bytes() == video.read_bytes()


@pytest.mark.parametrize(
    ("codec", "pixels", "name"), [("mpeg4", "yuv420p", "old.avi"), ("libx264", "yuv444p", "x.mp4")]
)
def test_what_they_do_not_play_goes_in_as_a_copy(codec: str, pixels: str, name: str, tmp_path: Path) -> None:
    with av.open(str(tmp_path / name), "w") as container:
        stream = container.add_stream(codec, rate=Fraction(25))
        stream.width, stream.height, stream.pix_fmt = 1280, 720, pixels
        for _ in range(10):
            frame = av.VideoFrame.from_ndarray(np.full((720, 1280, 3), 120, np.uint8), format="rgb24")
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    calls: list[int] = []
    copy = content(data_address(tmp_path / name, lambda done, total: calls.append(done)), tmp_path)
    with open_video(copy) as video:
        assert (video.info.codec, video.info.width, video.info.height) == ("h264", 640, 360)
        assert sum(1 for _ in video.frames()) == 10
    assert calls == list(range(1, 11))


def test_what_is_too_large_stays_out(video: Path) -> None:
    assert data_address(video, most_bytes=100) is None


def test_a_missing_video_is_refused(tmp_path: Path) -> None:
    with pytest.raises(VideoError):
        data_address(tmp_path / "gone.mp4")


def in_browser(path: Path) -> str:
    """The page as it stands after its script has run."""
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("chromium is not installed")
    options = "--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking --disable-quic"
    options += " --disable-component-update --disable-sync --virtual-time-budget=3000 --dump-dom --window-size=1200,900"
    profile = f"--user-data-dir={path.parent / 'profile'}"
    command = [chromium, *options.split(), profile, path.as_uri()]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.mark.slow
def test_a_browser_draws_the_curves_and_plays_from_a_row(view: View, tmp_path: Path) -> None:
    path = tmp_path / "r.html"
    report(view, path)
    page = in_browser(path)
    assert page.count("<polyline") == 4  # three exemplars, and a word by two of them
    assert len(re.findall(r"<circle[^>]*role=\"button\"[^>]*>", page)) == 2
    # A second script, which the page's own policy would refuse, plays the user.
    click = "document.querySelectorAll('#rows tr')[1].click();document.title=video.currentTime+' '+now.textContent;"
    source = path.read_text().replace("</body>", f"<script>{click}</script></body>")
    path.write_text(source)
    assert "<title>v.mp4</title>" in in_browser(path)
    path.write_text(re.sub(r"<meta http-equiv[^>]*>", "", source))
    assert "<title>2.68 apple  0.80</title>" in in_browser(path)


def test_words_without_a_panel_are_named(view: View, tmp_path: Path) -> None:
    report(replace(view, thresholds={**view.thresholds, "fig": 0.8, "plum": 0.8}), tmp_path / "r.html")
    left_out = [line for line in Page(tmp_path / "r.html").text_of("p") if "fig" in line]
    assert len(left_out) == 1
    assert "plum" in left_out[0]
