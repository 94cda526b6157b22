"""Every fault of a file is one clear line, nothing of FFmpeg reaches stderr, and limits hold."""

import logging
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import av
import cv2
import numpy as np
import pytest

from signspot.errors import EmptyVideoError, NotAVideoError, SandboxLimitError, VideoError, VideoLimitError
from signspot.io.sandbox import Limits, Sandbox
from signspot.types import Segment
from signspot.video.containers import check_pixels, open_container
from signspot.video.probing import end_of_packets, header_problem, probe, video_problem
from signspot.video.reader import open_video
from tests.fixtures import media
from tests.fixtures.limits import LIMIT


def refusal(path, kind=VideoError):
    with pytest.raises(kind) as caught:
        open_video(path)
    message = str(caught.value)
    assert type(caught.value) is kind
    assert "\n" not in message
    assert str(path) in message
    return message


def no_video(path: Path, kind: str) -> Path:
    """What is at the path instead of a video."""
    contents = {
        "empty": b"",
        "text": b"Dear diary, today I signed.\n" * 100,
        "random": np.random.default_rng(3).bytes(100_000),
        "playlist": b"#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nv.ts\n#EXT-X-ENDLIST\n",
        "list": b"ffconcat version 1.0\nfile v.ts\n",
    }
    if kind == "folder":
        path.mkdir()
    elif kind == "zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("a.txt", "hello " * 1000)
    elif kind in contents:
        path.write_bytes(contents[kind])
    return path


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        *(("missing", VideoError), ("folder", VideoError), ("empty", EmptyVideoError), ("text", NotAVideoError)),
        *(("random", NotAVideoError), ("zip", NotAVideoError), ("playlist", NotAVideoError), ("list", NotAVideoError)),
    ],
)
@pytest.mark.parametrize("name", ["v.mp4", "v"])
def test_what_is_no_video(tmp_path, kind, error, name):
    refusal(no_video(tmp_path / name, kind), error)


def test_devices_and_impossible_paths():
    refusal("/dev/zero")
    with pytest.raises(VideoError):
        open_video("a\0b.mp4")


@pytest.mark.parametrize("suffix", [".png", ".jpg", ".bmp", ".webp"])
def test_picture(tmp_path, picture, suffix):
    path = tmp_path / f"v{suffix}"
    cv2.imwrite(str(path), picture(0))
    assert "is a picture" in refusal(path, NotAVideoError)


def test_a_playlist_opens_nothing_else(tmp_path):
    """The file that the playlist names is a pipe: whoever opens it waits for ever."""
    os.mkfifo(tmp_path / "v.ts")
    playlist = tmp_path / "list.m3u8"
    playlist.write_text("#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nv.ts\n#EXT-X-ENDLIST\n")
    code = (
        "import sys; from pathlib import Path; from signspot.video.probing import header_problem; "
        "print(header_problem(Path(sys.argv[1])))"
    )
    done = subprocess.run([sys.executable, "-c", code, str(playlist)], capture_output=True, text=True, timeout=LIMIT)
    assert "not a video" in done.stdout, done.stderr


@pytest.mark.parametrize("name", ["data:a.ts", "http:/localhost/a.ts", "concat:a.ts|b.ts", "concat:a|ü%03d.ts"])
def test_a_path_is_never_a_protocol(tmp_path, make_video, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    make_video(tmp_path / "a.ts", frames=10).rename(tmp_path / name)
    assert header_problem(Path(name)) is None
    assert video_problem(Path(name)) is None
    with open_video(name) as video:
        assert len(list(video.frames())) == 10
    with open_container(Path(name)) as (container, stream):  # in this process, by the path as it is
        assert len(list(container.decode(stream))) == 10


@pytest.mark.parametrize("name", ["a.m4a", "a.mka", "a.mp4"])
def test_audio_only(tmp_path, sound, name):
    path = tmp_path / name
    with av.open(str(path), "w") as container:
        sound(container)
    assert "audio only" in refusal(path, NotAVideoError)


def test_music_with_a_cover_is_audio_only(tmp_path, sound, picture):
    path = tmp_path / "song.m4a"
    with av.open(str(path), "w", format="mp4") as container:
        cover = container.add_stream("mjpeg", rate=1)
        cover.width, cover.height, cover.pix_fmt = 160, 64, "yuvj420p"
        cover.disposition = av.stream.Disposition.attached_pic
        sound(container)
        container.mux(cover.encode(av.VideoFrame.from_ndarray(picture(0), format="rgb24")))
    assert "audio only" in refusal(path, NotAVideoError)


def test_a_cover_before_the_video_is_passed_over(tmp_path, picture, number):
    path = tmp_path / "v.mp4"
    with av.open(str(path), "w") as container:
        cover = container.add_stream("mjpeg", rate=1)
        cover.width, cover.height, cover.pix_fmt = 320, 320, "yuvj420p"
        cover.disposition = av.stream.Disposition.attached_pic
        stream = container.add_stream("libx264", rate=25)
        stream.width, stream.height, stream.pix_fmt = 160, 64, "yuv420p"
        container.mux(cover.encode(av.VideoFrame.from_ndarray(np.zeros((320, 320, 3), np.uint8), format="rgb24")))
        for count in range(10):
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture(count), format="rgb24")))
        container.mux(stream.encode(None))
    with open_video(path) as video:
        assert (video.info.width, video.info.height) == (160, 64)
        assert [number(frame.image) for frame in video.frames()] == list(range(10))


@pytest.mark.parametrize("name", ["v.mp4", "v.mkv", "v.avi"])
def test_no_frame(tmp_path, name):
    path = tmp_path / name
    with av.open(str(path), "w") as container:
        stream = container.add_stream("mpeg4", rate=25)
        stream.width, stream.height, stream.pix_fmt = 160, 64, "yuv420p"
        container.start_encoding()
    refusal(path, EmptyVideoError)


def test_unknown_codec(tmp_path, make_video):
    path = make_video(tmp_path / "v.mkv", codec="mpeg4", frames=3)
    data = path.read_bytes()
    assert b"V_MPEG4/ISO/ASP" in data
    path.write_bytes(data.replace(b"V_MPEG4/ISO/ASP", b"V_NEVERHEARDOFX"))
    assert "codec is unknown" in refusal(path)


def test_cut_off_before_its_index(tmp_path, make_video):
    path = make_video(tmp_path / "v.mp4")
    path.write_bytes(path.read_bytes()[:2000])
    assert "cut off" in refusal(path)


@pytest.mark.parametrize(
    ("name", "recipe"),
    [
        ("v.mp4", {"container": {"movflags": "+faststart"}}),
        ("v.mkv", {}),
        ("v.ts", {}),
        ("v.avi", {"codec": "mpeg4"}),
        ("v.webm", {"codec": "libvpx-vp9", "options": {"g": "12", "cpu-used": "8", "deadline": "realtime"}}),
    ],
)
def test_cut_off_in_the_middle(tmp_path, make_video, number, caplog, name, recipe):
    path = make_video(tmp_path / name, frames=150, **recipe)
    path.write_bytes(path.read_bytes()[: path.stat().st_size * 2 // 3])
    with caplog.at_level(logging.WARNING, "signspot"), open_video(path) as video:
        numbers = [number(f.image) for f in video.frames()]
        announced = video.info.duration
        complete = numbers[:-4]  # the last ones may be half there
        assert complete == list(range(len(complete)))
        assert 40 < len(complete) < 140
        beyond = video.frames(Segment(5.6, 5.9))
        with pytest.raises(EmptyVideoError):
            next(beyond)
        assert 0 <= len(list(video.resampled(25))) - len(numbers) <= 1
    if announced > 5:
        assert any("cut off" in record.getMessage() for record in caplog.records)


def test_damaged_through_and_through(tmp_path, make_video):
    path = make_video(tmp_path / "v.mkv", codec="ffv1", frames=2)
    data = bytearray(path.read_bytes())
    data[700:-200] = bytes(len(data) - 900)
    path.write_bytes(data)
    with pytest.raises(VideoError):
        list(open_video(path).frames())


def test_unreadable_file_says_so(tmp_path, make_video, monkeypatch):
    path = make_video(tmp_path / "v.mp4", frames=1)

    def denied(*args, **kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.open", denied)  # the tests may run as root, who may read all
    assert "permission denied" in refusal(path)


def test_nothing_reaches_stderr(tmp_path, make_video):
    path = make_video(tmp_path / "v.mp4", frames=150, container={"movflags": "+faststart"})
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    program = (
        "import logging, sys; logging.getLogger('signspot').addHandler(logging.NullHandler());"
        "from signspot.video.reader import open_video; v = open_video(sys.argv[1]); print(len(list(v.frames())))"
    )
    done = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert int(done.stdout) > 20


def test_8k_streams_and_scales(tmp_path, make_video, number):
    path = make_video(
        tmp_path / "8k.mov", codec="mjpeg", pix_fmt="yuvj420p", size=(7680, 4320), frames=1, options={"q": "20"}
    )
    with open_video(path, max_side=960) as video:
        assert (video.info.width, video.info.height) == (7680, 4320)
        frames = list(video.frames())
    assert [f.image.shape for f in frames] == [(540, 960, 3)]
    assert [number(f.image) for f in frames] == [0]
    with open_video(path) as video:
        assert next(video.frames()).image.shape == (4320, 7680, 3)


def test_a_stream_that_turns_up_late_does_no_harm(tmp_path, make_video, number):
    path = make_video(tmp_path / "v.ts", frames=400)
    data = bytearray(path.read_bytes())
    packets = range(0, len(data), 188)
    starts = [p for p in packets if data[p + 1] & 0x5F == 0x41 and data[p + 2] == 0]  # of frames, in stream 0x100
    assert len(starts) == 400
    for start in starts[-20:-10]:
        data[start + 2] = 1  # stream 0x101, which no table announces
    path.write_bytes(data)
    with open_video(path) as video:
        numbers = [number(f.image) for f in video.frames()]
    assert numbers[:375] == list(range(375))
    assert numbers[-1] == 399
    assert end_of_packets(path) == pytest.approx(16.0)


def read(path: Path) -> int:
    with open_video(path, max_side=64) as video:
        return sum(1 for _ in video.resampled(25))


@pytest.mark.parametrize("suffix", [".mkv", ".mp4", ".ts"])
def test_a_jump_in_time_is_reported(tmp_path, suffix):
    path = media.jump(tmp_path, suffix)
    with pytest.raises(VideoLimitError):
        read(path)
    assert "jumps in time" in (video_problem(path) or "") or "hours" in (video_problem(path) or "")


@pytest.mark.parametrize(
    "maker", [media.jumps, media.late_start, media.long_last, lambda folder: media.avi_rate(folder, 0x7FFFFFFF, 1)]
)
def test_a_clock_that_lies_is_reported(tmp_path, maker):
    with pytest.raises(VideoLimitError):
        read(maker(tmp_path))


def test_a_file_that_repeats_itself_is_reported(tmp_path):
    path = media.repeated_edits(tmp_path)
    assert "repeats itself" in (video_problem(path) or "")
    with pytest.raises(VideoLimitError), open_video(path) as video:
        sum(1 for _ in video.frames())


@pytest.mark.parametrize(
    "maker",
    [
        *(lambda folder, box=box: media.long_header(folder, box) for box in (b"mvhd", b"tkhd", b"mdhd")),
        *(lambda folder, value=value: media.matroska_duration(folder, value) for value in (1e18, float("nan"), -5.0)),
        media.many_durations,
    ],
)
def test_a_lying_header_does_no_harm(tmp_path, maker):
    assert read(maker(tmp_path)) == 50


def test_a_pause_is_no_jump(tmp_path):
    """A recorder that stood still for twenty minutes."""
    path = media.make_video(tmp_path / "pause.mkv", media.even(50) + media.even(50, 1_200_000))
    with open_video(path) as video:
        assert len(list(video.resampled(1, Segment(1190, 1202)))) == 12
        assert sum(1 for _ in video.resampled(1)) == 1202


def test_giant_pictures_take_no_memory(tmp_path):
    path = media.giant(tmp_path)
    with pytest.raises(EmptyVideoError, match=r"37\.7"):
        read(path)


def test_pictures_of_many_bytes_per_pixel_are_reported(tmp_path, monkeypatch):
    monkeypatch.setattr("signspot.video.containers.MOST_BYTES", 1_000_000)
    assert probe(media.make_pictures(tmp_path / "plain.avi", [500])).info.width == 500
    with pytest.raises(VideoLimitError, match=r"500 x 500.*rgba64be"):
        probe(media.make_pictures(tmp_path / "deep.avi", [500], deep=True))


def test_giant_pictures_in_the_middle_are_passed_over(tmp_path):
    path = media.growing(tmp_path)
    code = (
        "import sys; from signspot.video.reader import open_video\n"
        "print(sum(1 for _ in open_video(sys.argv[1]).frames()))\n"
        "print(open('/proc/self/status').read().split('VmHWM:')[1].split()[0])"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    frames, kilobytes = map(int, done.stdout.split())
    assert frames == 12
    assert kilobytes < 250_000


def test_a_stated_size_is_refused_before_it_is_decoded(tmp_path):
    with pytest.raises(VideoLimitError, match="9000 x 9000"):
        check_pixels(tmp_path / "v.mp4", 9000, 9000)


def test_a_video_that_is_slow_to_decode_is_stopped_in_time_and_takes_little_memory(tmp_path):
    function = "tools.attack.media:read_media"
    with Sandbox(Limits(0.5, 1 << 30)) as sandbox:
        with pytest.raises(SandboxLimitError, match=r"0\.5 s"):
            sandbox.call(function, media.slow(tmp_path))
        assert sandbox.pid is None
    with Sandbox(Limits(300.0, 1 << 30)) as sandbox:
        assert sandbox.call(function, media.slow(tmp_path, pictures=3)) == 3


@pytest.mark.parametrize(("limit", "read"), [("FRAME_SECONDS", probe), ("SCAN_SECONDS", end_of_packets)])
def test_a_file_that_takes_too_long_is_an_error(tmp_path, make_video, monkeypatch, limit, read):
    path = make_video(tmp_path / "v.mp4", frames=30)
    monkeypatch.setattr(f"signspot.video.containers.{limit}", -1.0)
    with pytest.raises(VideoLimitError) as error:
        read(path)
    assert str(path) in str(error.value)


def test_messages_name_a_path_as_the_user_gave_it(tmp_path, make_video, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make_video(tmp_path / "v.mp4", frames=3)
    assert open_video("v.mp4").info.path == Path("v.mp4")
    Path("v.mp4").write_bytes(Path("v.mp4").read_bytes()[:300])
    with pytest.raises(VideoError, match=r"^v\.mp4 "):
        open_video("v.mp4")
