"""`signspot spot` and its neighbours, on real files."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from signspot.cli.spot import with_further
from signspot.dictionary.open_dictionary import open_dictionary
from signspot.formats.formats import read_spottings
from signspot.landmarks.pose_file import open_landmarks, write_landmarks
from signspot.types import Exemplar, Segment, Spotting
from tests.cli.conftest import Cli


def test_spot_prints_a_table_and_writes_what_was_asked_for(signspot: Cli, inputs: Path, tmp_path: Path) -> None:
    out, err = signspot.ok(
        "spot", inputs / "footage.pose", inputs / "signs", "apple", "--encoder", inputs / "encoder.safetensors",
        "--threshold", "0.5", "--out", tmp_path / "a.eaf", "--out", tmp_path / "a.csv", "--plot", tmp_path / "a.png",
    )  # fmt: skip
    header, first, *_ = out.splitlines()
    assert header.split()[:2] == ["time", "s"]
    assert "apple" in first
    assert "friend" not in out
    written = read_spottings(tmp_path / "a.csv")
    assert len(written) == len(out.splitlines()) - 1
    assert read_spottings(tmp_path / "a.eaf") == written
    assert (tmp_path / "a.png").read_bytes()[:4] == b"\x89PNG"
    assert f"wrote {tmp_path / 'a.eaf'}" in err


def test_a_video_is_embedded_once_whatever_is_drawn_of_it(
    signspot: Cli, inputs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from signspot.embedding.windows import embed

    embedded: list[object] = []

    def counted(encoder: Any, source: Any, *more: Any) -> Any:
        embedded.append(source)
        return embed(encoder, source, *more)

    monkeypatch.setattr("signspot.embedding.windows.embed", counted)
    signspot.ok(
        "spot", inputs / "footage.pose", inputs / "signs", "apple", "--encoder", inputs / "encoder.safetensors",
        "--threshold", "0.5", "--no-cache", "--refine", "--plot", tmp_path / "a.png", "--html", tmp_path / "a.html",
    )  # fmt: skip
    assert len(embedded) == 1


def test_confirmed_spottings_are_further_exemplars_but_refused_ones_are_not(
    signspot: Cli, inputs: Path, tmp_path: Path
) -> None:
    """In another video a sign is found by one that a person confirmed; in its own video that does not find itself."""
    table, other = tmp_path / "checked.csv", tmp_path / "other.pose"
    landmarks = open_landmarks(inputs / "footage.pose")
    write_landmarks(landmarks.between(Segment(0.2, float(landmarks.times[-1]) + 1)), other)
    rows = "apple,{video},1.5,1.1,1.9,0.9,{decision}\n"

    def best(video: Path, decision: str) -> dict[str, Any]:
        text = "word,video,time,start,end,score,decision\n" + rows.format(
            video=inputs / "footage.pose", decision=decision
        )
        table.write_text(text, encoding="utf-8")
        out, _ = signspot.ok(
            "spot", video, inputs / "signs", "apple", "--encoder", inputs / "encoder.safetensors",
            "--threshold", "0", "--confirmed", table, "--json",
        )  # fmt: skip
        hits: list[dict[str, Any]] = [json.loads(line) for line in out.splitlines()]
        return max(hits, key=lambda hit: hit["score"])

    assert best(other, "yes")["exemplar"] == "footage@1.10"
    assert best(other, "no")["exemplar"] != "footage@1.10"
    assert best(inputs / "footage.pose", "yes")["exemplar"] != "footage@1.10"
    table.write_text("word,video,time,start,end,score\napple,gone.pose,1.5,1.1,1.9,0.9\n", encoding="utf-8")
    arguments = ("spot", inputs / "footage.pose", inputs / "signs", "--confirmed", table)
    assert "gone.pose" in signspot.refused(*arguments, "--encoder", inputs / "encoder.safetensors")


def test_further_exemplars_have_ids_of_their_own() -> None:
    """Two words at one time, and a sign that the dictionary has, too."""
    signs = [Exemplar("apple", "news@1.10"), Exemplar("name", "name")]
    further = [Spotting(word, "news.mp4", 1.5, 1.1, 1.9, 1.0).as_exemplar() for word in ("apple", "name", "tree")]
    exemplars = with_further(signs, further)
    assert [(exemplar.word, exemplar.id) for exemplar in exemplars] == [
        *(("apple", "news@1.10"), ("name", "name")),
        *(("apple", "news@1.10#2"), ("name", "news@1.10#3")),
    ]


def test_json_lines_are_for_machines(signspot: Cli, inputs: Path) -> None:
    arguments = (
        "spot",
        inputs / "footage.pose",
        inputs / "signs",
        "--encoder",
        inputs / "encoder.safetensors",
        "--json",
    )
    _, out, _ = signspot(*arguments, "--threshold", "0", "--top", "1")
    rows = [json.loads(line) for line in out.splitlines()]
    assert {row["word"] for row in rows} == {"apple", "friend", "name"}
    assert all(0 <= row["score"] <= 1 for row in rows)
    code, out, err = signspot(*arguments, "--threshold", "0", "--top", "1", "--mouthing")
    assert (code, err) == (0, "")
    assert all(row["mouthed"] is None or 0.5 <= row["mouthed"] <= 1 for row in map(json.loads, out.splitlines()))


def test_a_track_takes_the_place_of_the_video(signspot: Cli, inputs: Path, tmp_path: Path) -> None:
    encoder = ("--encoder", inputs / "encoder.safetensors")
    out, _ = signspot.ok("embed", inputs / "footage.pose", "--out", tmp_path / "t.safetensors", *encoder)
    assert "windows of" in out
    arguments = (inputs / "signs", *encoder, "--json", "--threshold", "0.5")
    by_track = signspot("spot", tmp_path / "t.safetensors", *arguments)
    assert by_track[1] == signspot("spot", inputs / "footage.pose", *arguments)[1]


@pytest.mark.parametrize(
    ("arguments", "ends", "message"),
    [
        (("footage.pose", "signs", "aple"), 1, "no word 'aple' in this dictionary (3 words). Did you mean 'apple'?"),
        (("nowhere.mp4", "signs"), 2, "nowhere.mp4"),
        (("footage.pose", "nowhere"), 2, "nowhere"),
        (("footage.pose", "signs", "--threshold", "7"), 2, "threshold must be at least 0 and at most 1; got 7.0"),
        (("footage.pose", "signs", "--out", "a.docx"), 2, "a.docx"),
        (("footage.pose", "signs", "--plot", "a.bmp"), 2, "unknown file type '.bmp'"),
        (("footage.pose", "signs", "--video-out", "a.mp4", "--threshold", "0.5"), 2, "footage.pose"),
    ],
)
def test_a_mistake_is_one_line_on_stderr(
    signspot: Cli, inputs: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], ends: int, message: str
) -> None:
    monkeypatch.chdir(inputs)
    code, _, err = signspot("spot", *arguments, "--encoder", "encoder.safetensors")
    assert code == ends
    assert message in err
    assert "Traceback" not in err
    assert len([line for line in err.splitlines() if line.startswith("signspot: ")]) == 1


def test_nothing_found_is_said(signspot: Cli, inputs: Path) -> None:
    arguments = ("spot", inputs / "footage.pose", inputs / "signs", "--encoder", inputs / "encoder.safetensors")
    code, out, err = signspot(*arguments, "--threshold", "1")
    assert (code, out) == (0, "")
    assert "nothing found above the threshold 1.000. Best: " in err
    assert " at " in err


def test_ctrl_c_leaves_nothing_behind(
    signspot: Cli, inputs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("signspot.embedding.tracks.save_file", interrupt)
    encoder = ("--encoder", inputs / "encoder.safetensors", "--no-cache")
    code, _, err = signspot("embed", inputs / "footage.pose", "--out", tmp_path / "t.safetensors", *encoder)
    assert code == 130
    assert "stopped" in err
    assert list(tmp_path.iterdir()) == []


def test_several_videos_and_folders_are_searched(signspot: Cli, inputs: Path, tmp_path: Path) -> None:
    for day in ("mon", "tue"):
        (tmp_path / "week" / day).mkdir(parents=True)
        (tmp_path / "week" / day / "a.pose").write_bytes((inputs / "footage.pose").read_bytes())
    options = ("--encoder", inputs / "encoder.safetensors", "--json", "--threshold", "0", "--top", "1")
    out, _ = signspot.ok("spot", tmp_path / "week", inputs / "footage.pose", inputs / "signs", "name", *options)
    videos = [json.loads(line)["video"] for line in out.splitlines()]
    names = [tmp_path / "week" / "mon" / "a.pose", tmp_path / "week" / "tue" / "a.pose", inputs / "footage.pose"]
    assert videos == [str(name) for name in names]


def test_a_video_is_searched_once_and_exemplars_are_not(
    signspot: Cli, inputs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file may be named twice, by itself and in its folder; a folder may hold the dictionary, too."""
    (tmp_path / "week" / "signs").mkdir(parents=True)
    (tmp_path / "week" / "a.pose").write_bytes((inputs / "footage.pose").read_bytes())
    (tmp_path / "week" / "._a.pose").write_bytes(b"left by a file manager")
    (tmp_path / "week" / "signs" / "name.pose").write_bytes((inputs / "signs" / "name.pose").read_bytes())
    monkeypatch.chdir(tmp_path / "week")
    options = ("--encoder", inputs / "encoder.safetensors", "--json", "--threshold", "0", "--top", "1")
    out, err = signspot.ok("spot", "a.pose", "../week", tmp_path / "week" / "a.pose", "signs", *options)
    assert [json.loads(line)["video"] for line in out.splitlines()] == ["a.pose"]
    assert "the exemplars in signs are not searched" in err


def test_a_second_video_is_never_silently_the_example(signspot: Cli, inputs: Path, tmp_path: Path) -> None:
    """`spot a b` says that b is taken as the example; three videos are asked about."""
    other = tmp_path / "b.pose"
    other.write_bytes((inputs / "footage.pose").read_bytes())
    options = ("--encoder", inputs / "encoder.safetensors", "--json", "--threshold", "0", "--top", "1")
    _, out, err = signspot("spot", inputs / "footage.pose", inputs / "signs" / "friend.pose", *options)
    assert json.loads(out)["word"] == "friend"
    assert "friend.pose is taken as an example of 'friend'" in err
    code, _, err = signspot("spot", inputs / "footage.pose", other, inputs / "signs" / "friend.pose", *options)
    assert code != 0
    assert "a video to search, or an example?" in err


def test_the_command_line_finds_what_the_library_finds(signspot: Cli, inputs: Path) -> None:
    """CLI = API, field by field."""
    from dataclasses import asdict

    from signspot.spotting.spotter import load

    video, encoder = inputs / "footage.pose", inputs / "encoder.safetensors"
    _, out, _ = signspot("spot", video, inputs / "signs", "--encoder", encoder, "--json", "--threshold", "0.5")
    spottings = load(encoder).spot(str(video), open_dictionary(inputs / "signs"), threshold=0.5)
    assert spottings
    assert [json.loads(line) for line in out.splitlines()] == [asdict(spotting) for spotting in spottings]


def test_tracks_are_claimed_by_the_names_of_their_videos(signspot: Cli, inputs: Path, tmp_path: Path) -> None:
    """Two saved tracks of one video write one file, and nobody's file of that name is lost."""
    encoder = ("--encoder", inputs / "encoder.safetensors")
    tracks = [tmp_path / "one.safetensors", tmp_path / "two.safetensors"]
    for track in tracks:
        signspot.ok("embed", inputs / "footage.pose", "--out", track, *encoder)
    (tmp_path / "a.eaf").write_text("a person's file")
    command = ("spot", *tracks, inputs / "signs", *encoder, "--threshold", "0.5", "--out", tmp_path / "a.eaf")
    assert "it exists, and was not written by signspot" in signspot.refused(*command)
    assert (tmp_path / "a.eaf").read_text() == "a person's file"
    (tmp_path / "a.eaf").unlink()
    signspot.ok(*command)
    assert sorted(path.name for path in tmp_path.glob("*.eaf")) == ["a.eaf"]


def test_what_is_cached_is_searched_without_pytorch(
    signspot: Cli, inputs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Loading PyTorch takes longer than the search: a track and exemplars that are there already do without."""
    monkeypatch.setenv("SIGNSPOT_CACHE", str(tmp_path))
    words = ["spot", str(inputs / "footage.pose"), str(inputs / "signs"), "--threshold", "0.5", "--json"]
    first, _ = signspot.ok(*words)  # embeds
    assert len(first.splitlines()) > 1
    report = "import sys, atexit; atexit.register(lambda: print('torch' in sys.modules, file=sys.stderr)); "
    program = f"{report}sys.argv = {['signspot', *words]!r}; from signspot.__main__ import run; run()"
    second = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (second.returncode, second.stdout) == (0, first)
    assert second.stderr.splitlines()[-1] == "False"


SUBTITLES = "WEBVTT\n\n00:00.000 --> 00:04.000\nAn apple, by name.\n\n00:04.000 --> 00:08.000\nA friend.\n"


def test_words_of_subtitles_are_looked_for_near_them(signspot: Cli, inputs: Path, tmp_path: Path) -> None:
    (tmp_path / "news.vtt").write_text(SUBTITLES)
    video, encoder = inputs / "footage.pose", ("--encoder", inputs / "encoder.safetensors")
    near = ("--subtitles", tmp_path / "news.vtt", "--padding", "0", "--threshold", "0.5")
    command = ("spot", video, inputs / "signs", *encoder, *near)
    plots = ("--html", tmp_path / "a.html", "--plot", tmp_path / "a.png")
    out, err = signspot.ok(*command, "--json", *plots)
    times: dict[str, list[float]] = {"apple": [], "name": [], "friend": []}
    for line in map(json.loads, out.splitlines()):
        times[line["word"]].append(line["time"])
    assert all(len(word_times) <= 1 for word_times in times.values()), "a subtitle's word is found once"
    assert any(times.values())
    assert all(0 <= time <= 4 for word in ("apple", "name") for time in times[word])
    assert all(4 <= time <= 8 for time in times["friend"])
    assert "of 3 subtitle words were found" in err
    assert "An apple, by name." in (tmp_path / "a.html").read_text()
    assert (tmp_path / "a.png").read_bytes()[:4] == b"\x89PNG"
    _, err = signspot.ok(*command, "--from", "4")
    assert "of 1 subtitle words were found" in err


@pytest.mark.parametrize(
    "arguments",
    [
        ("footage.pose", "signs", "--from", "4"),
        ("footage.pose", "footage.pose", "signs/apple.pose", "signs", "--subtitles", "news.vtt"),
        ("footage.pose", "signs/apple.pose", "--subtitles", "news.vtt"),
    ],
)
def test_subtitles_belong_to_one_video_and_a_dictionary(
    signspot: Cli, inputs: Path, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    (tmp_path / "news.vtt").write_text(SUBTITLES)
    paths = [str(tmp_path / argument) if argument == "news.vtt" else argument for argument in arguments]
    paths = [str(inputs / argument) if (inputs / argument).exists() else argument for argument in paths]
    err = signspot.refused("spot", *paths)
    assert "--subtitles" in err
