"""What is written plays in browsers, comes back, and is there whole or not at all."""

import os
import signal
import subprocess
import sys

import av
import numpy as np
import pytest

from signspot.errors import OptionsError, OutputError
from signspot.video.reader import open_video
from signspot.video.writer import VideoWriter, write_video
from tests.fixtures.limits import LIMIT, started

NAN, INF = float("nan"), float("inf")


def test_written_frames_come_back(tmp_path, picture, number):
    path = write_video(tmp_path / "new" / "v.mp4", (picture(k) for k in range(30)), fps=30000 / 1001)
    with open_video(path) as video:
        frames = list(video.frames())
        assert video.info.fps == pytest.approx(30000 / 1001)
    assert [number(f.image) for f in frames] == list(range(30))
    assert [f.time for f in frames] == pytest.approx([k * 1001 / 30000 for k in range(30)])


def test_browsers_can_play_it(tmp_path, picture):
    path = write_video(tmp_path / "v.mp4", [picture(1)] * 3, fps=25)
    with av.open(str(path)) as container:
        context = container.streams.video[0].codec_context
        assert (context.name, context.pix_fmt) == ("h264", "yuv420p")
        assert context.profile in {"High", "Main", "Constrained Baseline"}
        assert (context.colorspace, context.color_range) == (1, 1)
    data = path.read_bytes()
    assert 0 < data.index(b"moov") < data.index(b"mdat")  # the index goes first


def test_colours_survive(tmp_path):
    colours = [(255, 0, 0), (0, 255, 0), (0, 0, 255), (255, 255, 255), (200, 150, 120), (0, 0, 0)]
    images = [np.full((64, 64, 3), colour, np.uint8) for colour in colours]
    with open_video(write_video(tmp_path / "v.mp4", images, fps=25)) as video:
        for frame, colour in zip(video.frames(), colours, strict=True):
            np.testing.assert_allclose(frame.image.mean(axis=(0, 1)), colour, atol=6)


@pytest.mark.parametrize(("width", "height"), [(1, 1), (161, 64), (160, 65), (33, 17)])
def test_odd_sides_get_one_more(tmp_path, width, height):
    image = np.full((height, width, 3), 77, np.uint8)
    with open_video(write_video(tmp_path / "v.mp4", [image], fps=25)) as video:
        shape = next(video.frames()).image.shape
    assert shape == (height + height % 2, width + width % 2, 3)


def test_a_size_scales_pictures(tmp_path, picture, number):
    with VideoWriter(tmp_path / "v.mp4", 25, size=(321, 128)) as writer:
        writer.add(picture(5))
        writer.add(picture(6, 400, 300))
    with open_video(tmp_path / "v.mp4") as video:
        frames = list(video.frames())
    assert [f.image.shape for f in frames] == [(128, 322, 3)] * 2
    assert [number(f.image) for f in frames] == [5, 6]


def test_views_and_strides_are_fine(tmp_path, picture, number):
    with open_video(write_video(tmp_path / "v.mp4", [picture(9)[:, ::-1][:, ::-1]], fps=25)) as video:
        assert number(next(video.frames()).image) == 9


def test_an_error_leaves_what_was_there(tmp_path, picture):
    path = tmp_path / "v.mp4"
    path.write_bytes(b"precious")
    with pytest.raises(KeyboardInterrupt), VideoWriter(path, 25) as writer:
        writer.add(picture(0))
        raise KeyboardInterrupt
    assert path.read_bytes() == b"precious"
    assert list(tmp_path.iterdir()) == [path]


def test_ctrl_c_leaves_nothing(tmp_path):
    program = (
        "import signal, sys, itertools, numpy as np; from signspot.video.writer import write_video\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a shell's background jobs begin without it
        "def pictures():\n"
        "    for k in itertools.count():\n"
        "        if k == 100: print('running', flush=True)\n"
        "        yield np.full((64, 64, 3), k % 255, np.uint8)\n"
        "write_video(sys.argv[1], pictures(), 25)"
    )
    command = [sys.executable, "-c", program, tmp_path / "v.mp4"]
    with started(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "running\n"
        assert list(tmp_path.iterdir())  # it is being written beside
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=LIMIT)
    assert process.returncode != 0
    assert list(tmp_path.iterdir()) == []


def test_no_picture_is_no_video(tmp_path):
    with pytest.raises(OutputError):
        write_video(tmp_path / "v.mp4", [], fps=25)
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_reported(tmp_path, picture):
    limit = 20_000
    program = (
        "import resource, signal, sys, numpy as np; from signspot.video.writer import write_video\n"
        "from signspot.errors import OutputError\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))\n"
        "rng = np.random.default_rng(0)\n"
        "try: write_video(sys.argv[1], (rng.integers(0, 255, (256, 256, 3), np.uint8) for _ in range(60)), 25)\n"
        "except OutputError as error: print(error)"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "v.mp4")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith(f"cannot write {tmp_path / 'v.mp4'}:")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "fps"),
    [*((name, 25) for name in ("v.webm", "v.avi", "v")), *(("v.mp4", fps) for fps in (0, -5, NAN, INF))],
)
def test_other_kinds_of_file_and_impossible_rates_are_refused(tmp_path, name, fps):
    with pytest.raises(OptionsError):
        VideoWriter(tmp_path / name, fps)


@pytest.mark.parametrize(
    "image",
    [
        np.zeros((4, 4), np.uint8),
        np.zeros((4, 4, 3), np.float32),
        np.zeros((0, 4, 3), np.uint8),
        np.zeros((99, 99, 3), np.uint8),  # of another size than the first
    ],
)
def test_what_is_no_picture_is_refused(tmp_path, picture, image):
    with pytest.raises(OptionsError), VideoWriter(tmp_path / "v.mp4", 25) as writer:
        writer.add(picture(0))
        writer.add(image)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(OutputError):  # outside of the block
        writer.add(picture(0))


def test_a_folder_or_a_file_in_the_way_is_reported(tmp_path, picture):
    (tmp_path / "v.mp4").mkdir()
    with pytest.raises(OutputError):
        write_video(tmp_path / "v.mp4", [picture(0)], 25)
    (tmp_path / "file").touch()
    with pytest.raises(OutputError):
        write_video(tmp_path / "file" / "v.mp4", [picture(0)], 25)


_FILM = """
import os, sys
import numpy as np
os.sched_setaffinity(0, [int(core) for core in sys.argv[2].split(",")])
from signspot.video.writer import write_video
still = np.random.default_rng(0).integers(0, 60, (256, 256, 3), dtype=np.uint8)
def frames():
    for step in range(60):
        moved = still.copy()
        moved[20 + 2 * step : 60 + 2 * step, 30:90] += np.uint8(90)
        yield moved
write_video(sys.argv[1], frames(), 25)
"""


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two cores")
def test_bytes_do_not_depend_on_the_number_of_cores(tmp_path):
    one, two = sorted(os.sched_getaffinity(0))[:2]
    for name, cores in (("one", f"{one}"), ("two", f"{one},{two}")):
        subprocess.run([sys.executable, "-c", _FILM, tmp_path / f"{name}.mp4", cores], check=True)
    assert (tmp_path / "one.mp4").read_bytes() == (tmp_path / "two.mp4").read_bytes()


def test_the_same_frames_give_the_same_bytes(tmp_path):
    """Rate control by macroblock trees would not: the demo and rendered corpora are to be the same every time."""
    rng = np.random.default_rng(0)
    frames = [np.roll(rng.integers(0, 256, (96, 96, 3), np.uint8), 3 * n, axis=1) for n in range(40)]
    contents = {write_video(tmp_path / f"{n}.mp4", frames, 25).read_bytes() for n in range(4)}
    assert len(contents) == 1
