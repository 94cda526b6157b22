"""Recordings of one sign: frames sent while it is made, landmarks estimated in the page; nothing is kept."""

import json
import shutil
import struct
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import cv2
import numpy as np
import pytest
from playwright.sync_api import Browser, Request, expect

from signspot.errors import LandmarksError, OptionsError
from signspot.landmarks.landmarks import Landmarks
from signspot.landmarks.pose_file import as_stored
from signspot.video.reader import open_video
from signspot.web.access import POLICY
from signspot.web.recordings import (
    FILES,
    MOST_FRAMES,
    NUMBERS_PER_FRAME,
    HolisticPackage,
    Recordings,
    read_frames,
    read_landmarks,
    thinned,
)
from signspot.web.worker import read_jpeg
from tests.fixtures.limits import wait_until

from .conftest import ROOT, Server


def framed(frames: list[tuple[int, bytes]]) -> bytes:
    return b"".join(struct.pack("<iI", at, len(content)) + content for at, content in frames)


def test_frames_are_taken_apart() -> None:
    assert read_frames(framed([(-40, b"ab"), (0, b"c")])) == [(-0.04, b"ab"), (0.0, b"c")]
    assert read_frames(b"") == []
    for cut in (b"\0", framed([(0, b"abc")])[:-1], struct.pack("<iI", 0, 0), struct.pack("<iI", 0, 1 << 31)):
        with pytest.raises(OptionsError, match=r"cut off|are sent as"):
            read_frames(cut)


def test_where_many_wait_some_between_are_left_out() -> None:
    waiting = [(k / 25, b"") for k in range(25)]
    chosen = thinned(waiting, 10)
    assert chosen[-1] == waiting[-1], "the latest is always looked at"
    assert {round((b[0] - a[0]) * 25) for a, b in pairwise(chosen)} == {3}, "evenly"
    assert len(chosen) <= 10
    assert thinned(waiting[:10], 10) == waiting[:10]
    many = [(k / 25, b"") for k in range(201)]
    assert thinned(many, 10) == many[::5], "never more than 0.2 s apart"
    assert thinned(thinned(many, 10), 10) == many[::5]
    assert thinned([], 10) == []
    countdown = [(k / 25 - 3, b"") for k in range(20)]
    assert thinned(countdown, 10) == countdown[-1:], "they say whether hands are in view now"
    assert thinned([*countdown, *waiting[:8]], 10) == waiting[:8], "nobody waits for them once the sign has begun"


def test_only_jpeg_frames_are_read() -> None:
    for content in (b"", b"\x89PNG\r\n\x1a\n" + b"\0" * 50, b"#EXTM3U\n", b"\xff\xd8\xff" + b"\0" * 50):
        with pytest.raises(LandmarksError, match=r"JPEG|decoded|pixels"):
            read_jpeg(content)


@pytest.mark.parametrize("progressive", [0, 1])
def test_a_giant_frame_is_refused_before_it_takes_memory(progressive: int) -> None:
    """A file of 100 kB that says it has 80 million pixels, and one with bytes between its headers."""
    flags = [cv2.IMWRITE_JPEG_PROGRESSIVE, progressive]
    content = cv2.imencode(".jpg", np.zeros((200, 40_000), np.uint8), flags)[1].tobytes()
    for odd in (content, content[:2] + b"\xff" * 50 + content[2:]):
        assert read_jpeg(odd).shape[2] == 3, "long, but not large"
        start = next(odd.find(bytes([0xFF, kind])) for kind in (0xC0, 0xC2) if bytes([0xFF, kind, 0]) in odd)
        lie = odd[: start + 5] + (2_000).to_bytes(2, "big") + odd[start + 7 :]
        with pytest.raises(LandmarksError, match="pixels"):
            read_jpeg(lie)
    assert read_jpeg(jpeg(np.zeros((48, 64, 3), np.uint8))).shape == (48, 64, 3)


@pytest.mark.slow  # MediaPipe looks at two seconds of video
def test_a_recording_is_looked_at_while_it_is_made(server: Server, material: Path) -> None:
    with open_video(material / "dictionary" / "river" / "video.mp4") as video:
        frames = [(round(1000 * frame.time), jpeg(frame.image)) for frame in video.resampled(25.0)]
    assert server.ask("GET", "/api/spot/news.mp4?dictionary=dictionary&word=river").status == 200  # its track is there
    address = "/api/recordings/" + server.ask("POST", "/api/recordings").json["id"]
    countdown = iter(range(-200_000, 0, 500))

    def is_processed() -> bool:
        frame = framed([(next(countdown), frames[0][1])])
        return bool(server.ask("PUT", f"{address}/frames", frame).json["processed"])

    wait_until(is_processed, "the models to be loaded")
    for frame in frames:
        assert server.ask("PUT", f"{address}/frames", framed([frame])).status == 200
    result = server.ask("POST", f"{address}/search?dictionary=dictionary").json
    assert result["words"][0]["word"] == "river"
    assert result["locations"][0]["video"] == "news.mp4"
    assert result["frames"]["sent"] >= len(frames)
    again = server.ask("POST", f"{address}/search?dictionary=dictionary&start=0.2&end=1.2").json
    assert again["words"], "a part of it is searched for without another recording"
    assert again["seconds"]["landmarks"] < 1
    assert server.ask("PUT", f"{address}/frames", framed(frames[:1])).status == 422, "it is over"
    assert server.ask("DELETE", address).status == 200
    answer_after = server.ask("POST", f"{address}/search?dictionary=dictionary")
    assert (answer_after.status, "start another one" in answer_after.json["error"]) == (404, True)
    left = server.folder / ".signspot" / "uploads"
    assert not left.is_dir() or not list(left.iterdir()), "no frame is kept"


@pytest.mark.slow  # models are loaded in another process
def test_hostile_frames_end_a_recording_and_nothing_else() -> None:
    recordings = Recordings()
    try:
        name = recordings.open()
        recording = recordings.get(name)
        assert recording.process is not None
        with pytest.raises(OptionsError, match="order of their times"):
            recording.add([(0.0, b"x"), (0.0, b"y")])
        with pytest.raises(OptionsError, match="at most"):
            recording.add([(k, b"x") for k in range(1, MOST_FRAMES + 1)])
        with pytest.raises(LandmarksError, match="JPEG"):
            recording.landmarks()
        others = [recordings.open() for _ in range(6)]
        still_open = [
            other for other in others if other in recordings._recordings and recordings.get(other).process is not None
        ]
        assert len(still_open) <= 4, "so many hold a process, whoever asks"
    finally:
        recordings.close()


def jpeg(image: Any) -> bytes:
    return bytes(cv2.imencode(".jpg", cv2.cvtColor(image, cv2.COLOR_RGB2BGR))[1].tobytes())


PACKAGE = ROOT / "build" / "holistic"
SIZE = (320, 240)


def packed(landmarks: Landmarks) -> Any:
    """(T, 439) frames as a page sends them."""
    parts = (landmarks.body, landmarks.left_hand, landmarks.right_hand, landmarks.face)
    count = len(landmarks)
    rows = [landmarks.times[:, None] - landmarks.times[0], *(part.reshape(count, -1) for part in parts)]
    return np.concatenate(rows, axis=1).astype("<f4")


@pytest.fixture(scope="session")
def river(signing: Any) -> Landmarks:
    landmarks: Landmarks = signing.exemplars["river"]
    return landmarks


def make_package(folder: Path) -> Path:
    """A package whose files hold their names."""
    folder.mkdir(parents=True)
    for name in FILES:
        (folder / name).write_text(name)
    (folder / "package.json").write_text(json.dumps({"name": "@mediapipe/holistic"}))
    (folder / "secret.txt").write_text("secret")
    return folder


@pytest.fixture(scope="module")
def estimating(material: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server whose sign page may estimate."""
    folder = tmp_path_factory.mktemp("estimating")
    shutil.copytree(material, folder / "folder")
    started = Server(folder=folder / "folder", holistic=make_package(folder / "holistic")).start()
    yield started
    started.stop()


def test_what_a_page_sends_is_what_it_saw(river: Landmarks) -> None:
    rows = packed(river)
    assert rows.shape[1] == NUMBERS_PER_FRAME
    received = read_landmarks(rows.tobytes(), SIZE)
    assert received.fps == pytest.approx(25.0)
    sent = Landmarks(river.body, river.left_hand, river.right_hand, river.face, river.times - river.times[0], SIZE)
    assert received.equals(as_stored(sent), tolerance=2e-3)
    few = read_landmarks(rows[::4].tobytes(), SIZE)
    assert few.fps == pytest.approx(25.0), "whatever the page's own rate"
    assert np.nanmax(np.abs(few.body[:, 11, :2] - received.body[: len(few), 11, :2])) < 0.05


@pytest.mark.parametrize(
    ("cell", "value", "message"),
    [
        ((0, 0), -1.0, "times"),
        ((-1, 0), 61.0, "times"),
        ((1, 0), np.nan, "times"),
        ((2, 0), 0.0, "times"),
        ((1, 5), np.inf, "points"),
        ((1, 5), -np.inf, "points"),
        ((1, 6), np.nan, "points"),
        ((1, 5), 1e30, "points"),
        ((1, 4), 1.5, "visibility"),
        ((1, 4), -0.1, "visibility"),
        ((1, NUMBERS_PER_FRAME - 1), -101.0, "points"),
    ],
)
def test_every_number_is_checked(river: Landmarks, cell: tuple[int, int], value: float, message: str) -> None:
    rows = packed(river)
    rows[:, NUMBERS_PER_FRAME - 180 :] = np.nan_to_num(rows[:, NUMBERS_PER_FRAME - 180 :])
    read_landmarks(rows.tobytes(), SIZE)
    rows[cell] = value
    with pytest.raises(OptionsError, match=message):
        read_landmarks(rows.tobytes(), SIZE)


def test_every_length_is_checked(river: Landmarks, estimating: Server) -> None:
    content = packed(river).tobytes()
    for wrong in (b"", content[:-1], content[: 4 * NUMBERS_PER_FRAME], content[:100]):
        with pytest.raises(OptionsError, match="frames of 1756 bytes"):
            read_landmarks(wrong, SIZE)
    many = np.repeat(packed(river)[:1], MOST_FRAMES + 1, axis=0)
    many[:, 0] = np.arange(len(many)) / 25
    with pytest.raises(OptionsError, match="frames of 1756 bytes"):
        read_landmarks(many.tobytes(), SIZE)
    address = "/api/sign/landmarks?dictionary=dictionary"
    answer = estimating.ask("POST", f"{address}&width=320&height=240", many.tobytes() + content)
    assert (answer.status, "at most" in answer.json["error"]) == (422, True), "not read to its end"
    for size in ("width=0&height=240", "width=320&height=100000", "width=x&height=240", "width=320"):
        assert estimating.ask("POST", f"{address}&{size}", content).status == 422


def test_landmarks_are_searched_like_videos(estimating: Server, river: Landmarks) -> None:
    """The same words and scores as for the same landmarks in a file."""
    assert estimating.ask("GET", "/api/spot/news.mp4?dictionary=dictionary&word=river").status == 200
    warm = estimating.ask("POST", "/api/warm?dictionary=dictionary")
    assert (warm.status, warm.json) == (200, {"exemplars": 5, "tracks": 1})
    address = "/api/sign/landmarks?dictionary=dictionary&width=320&height=240"
    result = estimating.ask("POST", address, packed(river).tobytes()).json
    assert result["words"][0]["word"] == "river"
    assert result["locations"][0]["video"] == "news.mp4"
    part = estimating.ask("POST", f"{address}&start=0.1&end=1.5", packed(river).tobytes()).json
    assert part["words"], "a part of it"
    nobody = packed(river)
    nobody[:, 1:] = np.nan
    refused = estimating.ask("POST", address, nobody.tobytes())
    assert (refused.status, "nobody is in view" in refused.json["error"]) == (422, True)
    assert estimating.ask("POST", address, packed(river).tobytes(), X_Signspot="").status == 403


def test_only_the_sign_page_may_run_webassembly_and_only_when_asked(server: Server, estimating: Server) -> None:
    policies = {
        (name, path): server_asked.ask("GET", path).headers["content-security-policy"]
        for name, server_asked in (("usual", server), ("estimating", estimating))
        for path in ("/", "/sign", "/spot", "/verify", "/api/library", "/holistic/holistic.js", "/nowhere")
    }
    wide = policies.pop(("estimating", "/sign"))
    assert set(policies.values()) == {POLICY}
    assert "'wasm-unsafe-eval'" in wide
    assert wide.replace(" 'wasm-unsafe-eval'", "") == POLICY, "and nothing else"
    assert "unsafe-inline" not in wide
    assert "'unsafe-eval'" not in wide
    assert "in-page" in estimating.ask("GET", "/sign").text
    assert "in-page" not in server.ask("GET", "/sign").text


def test_only_files_of_the_list_are_served(server: Server, estimating: Server) -> None:
    kinds = {"js": "text/javascript", "wasm": "application/wasm"}
    for name in FILES:
        answer = estimating.ask("GET", f"/holistic/{name}")
        assert (answer.status, answer.text) == (200, name)
        kind = kinds.get(name.rpartition(".")[2], "application/octet-stream")
        assert answer.headers["content-type"].partition(";")[0] == kind
        assert server.ask("GET", f"/holistic/{name}").status == 404, "no package was given"
    for other in ("secret.txt", "package.json", "", "..%2fsecret.txt", "%2e%2e/secret.txt", "./secret.txt", "a/b.js"):
        assert estimating.ask("GET", f"/holistic/{other}").status == 404
    foreign = estimating.ask("GET", "/holistic/holistic.js", Sec_Fetch_Site="cross-site")
    assert foreign.status == 403, "through the access policy, as everything"


def test_a_folder_that_is_no_whole_package_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OptionsError, match=r"is not an unpacked package @mediapipe/holistic. Unpack it: npm pack"):
        HolisticPackage.open(tmp_path)
    package = make_package(tmp_path / "unpacked" / "package")
    assert (
        HolisticPackage.open(tmp_path / "unpacked").folder == HolisticPackage.open(package).folder == package.resolve()
    )
    (package / "holistic_solution_wasm_bin.wasm").unlink()
    with pytest.raises(OptionsError, match=r"lacks holistic_solution_wasm_bin.wasm"):
        HolisticPackage.open(package)
    (tmp_path / "elsewhere").write_text("secret")
    (package / "holistic_solution_wasm_bin.wasm").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OptionsError, match=r"lacks holistic_solution_wasm_bin.wasm"):
        HolisticPackage.open(package)


@pytest.mark.slow
def test_a_sign_is_found_and_no_frame_leaves_the_page(
    browser: Browser, server: Server, river: Landmarks, serve: Callable[..., Server]
) -> None:
    """End to end with the package itself: Chromium's camera shows a sign, and only numbers are sent."""
    if not (PACKAGE / "package" / "holistic.js").is_file():
        pytest.skip("npm's package @mediapipe/holistic is not in build/holistic: make holistic")
    estimating = serve(folder=server.folder, holistic=PACKAGE)
    assert estimating.ask("GET", "/api/spot/news.mp4?dictionary=dictionary&word=river").status == 200  # its track
    context = browser.new_context(permissions=["camera"])
    sent: list[Request] = []
    complaints: list[str] = []
    try:
        page = context.new_page()
        page.on("request", lambda request: sent.append(request))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda line: complaints.append(line.text) if "Content Security" in line.text else None)
        page.goto(f"{estimating.address}/sign")
        page.get_by_role("button", name="Record").click()
        expect(page.locator("#words .card strong").first).to_have_text("river", timeout=240_000)
        expect(page.locator("#locations .card strong").first).to_have_text("news.mp4")
        page.locator("#clip").set_input_files(str(server.folder / "dictionary" / "river" / "video.mp4"))
        page.locator('#timing[data-turn="2"]').wait_for(state="attached", timeout=240_000)
        assert page.locator("#words .card strong").first.inner_text() == "river", "a file is looked at here, too"
        changing = [request for request in sent if request.method not in ("GET", "HEAD")]
        addresses = [urlsplit(request.url) for request in changing]
        bodies = [request.post_data_buffer or b"" for request in changing if "/sign/landmarks" in request.url]
    finally:
        context.close()
    assert complaints == []
    assert {address.path for address in addresses} == {"/api/warm", "/api/sign/landmarks"}, "no frame, no video"
    assert {urlsplit(request.url).netloc for request in sent if not request.url.startswith("blob:")} == {
        addresses[0].netloc
    }
    for body in bodies:
        landmarks = read_landmarks(body, SIZE)  # nothing but numbers
        exact = np.nanmedian(river.body[:, [11, 12], :2], axis=0)
        assert np.abs(np.nanmedian(landmarks.body[:, [11, 12], :2], axis=0) - exact).max() < 0.05, "and not mirrored"
