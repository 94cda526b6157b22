"""One contract for every format: write, read, equal; and every mistake told in one line."""

import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from signspot.errors import FormatError, MissingExtraError, OptionsError, OutputError
from signspot.formats.formats import check_suffix, format_names, output_paths, read_spottings, write
from signspot.formats.spotting_rows import DECISIONS, Authorship, authorship, follow, link_to
from signspot.io.checks import LATEST
from signspot.types import LabelSource, Spotting

SUFFIXES = list(format_names())
AWKWARD = [
    "007",
    "",
    " ",
    "a,b;c\td",
    'say "yes"',
    "line\nbreak\r\nand\rmore",
    "-->",
    "NOTE signspot 1 {}",
    "<b>&amp;</b> &lt; ]]>",
    "\x00\x01\x0b\x1b\x7f\x85\ufffe\uffff\u2028\u2029",
    "naïve 手話 жест إشارة 🤟🏽",
    "\ufeffmark",
    "=1+1",
    "apple #2",
    "apple record",
    "\\u000a \\udc80 \\u005cudc80 \\",
    "bytes \udc80\udcff",
    "WEBVTT",
]
words = st.one_of(st.sampled_from([*AWKWARD, "apple"]), st.text(max_size=12))
times = st.one_of(st.floats(0, 100), st.sampled_from([1.0, 1.0004, 1.0004999, 1.2, 0.1 + 0.2]), st.floats(0, LATEST))


def in_order(spotting: Spotting) -> Spotting:
    return replace(spotting, start=min(spotting.start, spotting.end), end=max(spotting.start, spotting.end))


spottings = st.builds(
    Spotting,
    word=words,
    video=st.one_of(st.sampled_from(["a.mp4", "dir/b c.webm", "", "\udcfc.mp4"]), words),
    time=times,
    start=times,
    end=times,
    score=st.floats(0, 1),
    exemplar=words,
    variant=words,
    mirrored=st.booleans(),
    source=st.sampled_from(LabelSource),
    decision=st.sampled_from(DECISIONS),
    mouthed=st.none() | st.floats(0, 1),
    note=words,
).map(in_order)
ONE_VIDEO = (".eaf", ".vtt")  # formats whose files belong to one video
APPLE = Spotting("apple", "news.mp4", 1.28, 0.96, 1.6, 0.8312345678901234, "apple-2", "b", True)


def by_video(spottings: list[Spotting]) -> list[list[Spotting]]:
    """The same list, cut as ELAN and WebVTT cut it."""
    return [[hit for hit in spottings if hit.video == video] for video in dict.fromkeys(hit.video for hit in spottings)]


def assert_reads_back(spottings: list[Spotting], path: Path) -> None:
    files = write(spottings, path)
    assert files == output_paths(path, (hit.video for hit in spottings))
    parts = by_video(spottings) if path.suffix in ONE_VIDEO and spottings else [spottings]
    assert [read_spottings(file) for file in files] == parts


@pytest.mark.parametrize("suffix", SUFFIXES)
@given(hits=st.lists(spottings, max_size=6))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_list_reads_back_equal(suffix: str, hits: list[Spotting], tmp_path: Path) -> None:
    assert_reads_back(hits, tmp_path / f"any{suffix}")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_every_awkward_word_reads_back_equal_and_in_order(suffix: str, tmp_path: Path) -> None:
    awkward = [replace(APPLE, word=word, exemplar=word, video=word) for word in AWKWARD]
    awkward += [APPLE, APPLE, replace(APPLE, start=0.9600001), awkward[3]]
    assert_reads_back(awkward[::-1], tmp_path / f"awkward{suffix}")
    assert_reads_back([replace(hit, video="a.mp4") for hit in awkward[::-1]], tmp_path / f"one{suffix}")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_types_are_kept(suffix: str, tmp_path: Path) -> None:
    write([replace(APPLE, score=1, time=2)], tmp_path / f"types{suffix}")
    (back,) = read_spottings(tmp_path / f"types{suffix}")
    kinds = [type(getattr(back, name)) for name in ("score", "time", "mirrored", "source")]
    assert kinds == [float, float, bool, LabelSource]


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("field", ["time", "start", "end", "score"])
@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf"), -5.0, 1e308])
def test_a_number_that_no_reader_takes_is_refused(suffix: str, field: str, value: float, tmp_path: Path) -> None:
    path = tmp_path / f"bad{suffix}"
    path.write_text("before")
    with pytest.raises(OutputError, match="'apple'"):
        write([APPLE, replace(APPLE, **{field: value})], path)
    assert path.read_text() == "before"


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_failed_write_leaves_the_old_file_and_no_other(suffix: str, tmp_path: Path) -> None:
    (tmp_path / f"folder{suffix}").mkdir()
    with pytest.raises(OutputError):
        write([APPLE], tmp_path / f"folder{suffix}")
    (tmp_path / "file").touch()
    with pytest.raises(OutputError):
        write([APPLE], tmp_path / "file" / f"below{suffix}")
    assert {entry.name for entry in tmp_path.iterdir()} == {"file", f"folder{suffix}"}


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize(
    "content", [b"", b"\xff\xfe\x00rubbish", b"{", b"[1, 2]", b'{"a": 1}', b"PAR1PAR1", b"<a>", b"a,b\n1,2\n"]
)
def test_rubbish_gives_one_line(suffix: str, content: bytes, tmp_path: Path) -> None:
    (tmp_path / f"rubbish{suffix}").write_bytes(content)
    with pytest.raises(FormatError, match="rubbish") as caught:
        read_spottings(tmp_path / f"rubbish{suffix}")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_truncated_file_never_reads_as_whole(suffix: str, tmp_path: Path) -> None:
    written = [replace(APPLE, word=f"w{n}", time=float(n)) for n in range(5)]
    path = tmp_path / f"whole{suffix}"
    write(written, path)
    content = path.read_bytes()
    for length in range(1, len(content) - 1, 37):
        path.write_bytes(content[:length])
        with suppress(FormatError):
            assert read_spottings(path) != written


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_missing_file_and_a_folder_are_reported(suffix: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError):
        read_spottings(tmp_path / f"nothing{suffix}")
    (tmp_path / f"folder{suffix}").mkdir()
    with pytest.raises(FormatError):
        read_spottings(tmp_path / f"folder{suffix}")


def test_an_unknown_suffix_lists_the_known(tmp_path: Path) -> None:
    message = r"unknown format '.doc'. Known: .jsonl, .csv, .parquet, .vtt, .eaf, .via.json, .bobsl.json\."
    with pytest.raises(OutputError, match=message):
        write([APPLE], tmp_path / "x.doc")
    with pytest.raises(FormatError, match=message):
        read_spottings(tmp_path / "x.doc")
    with pytest.raises(OutputError, match=message):
        check_suffix("x.doc")
    assert check_suffix("x.eaf").name == "ELAN"
    with pytest.raises(OutputError, match=r"'\.json'"):
        write([APPLE], tmp_path / "x.json")


def test_the_suffix_is_read_whatever_its_case(tmp_path: Path) -> None:
    write([APPLE], tmp_path / "X.VIA.JSON")
    assert '"project"' in (tmp_path / "X.VIA.JSON").read_text()
    assert read_spottings(tmp_path / "X.VIA.JSON") == [APPLE]


@pytest.mark.parametrize("suffix", [".via.json", ".bobsl.json"])
def test_plain_json_is_known_by_what_it_holds(suffix: str, tmp_path: Path) -> None:
    write([APPLE], tmp_path / f"a{suffix}")
    (tmp_path / f"a{suffix}").rename(tmp_path / "a.json")
    assert read_spottings(tmp_path / "a.json") == [APPLE]


def test_plain_json_may_be_a_list_of_rows(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('[{"word": "apple", "time": 2, "score": 0.5, "source": "M"}]')
    assert read_spottings(tmp_path / "a.json") == [
        Spotting("apple", "", 2.0, 1.68, 2.32, 0.5, source=LabelSource.MOUTHING)
    ]
    (tmp_path / "a.json").write_text('[{"word": "apple"}]')
    with pytest.raises(FormatError, match="'time'"):
        read_spottings(tmp_path / "a.json")


def test_without_pyarrow_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"signspot\[parquet\]"):
        write([APPLE], tmp_path / "a.parquet")
    with pytest.raises(MissingExtraError, match="pyarrow"):
        read_spottings(tmp_path / "a.parquet")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_equal_names_in_two_folders_stay_apart(suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in ("mon", "tue", "out"):
        Path(folder).mkdir()
        Path(folder, "a.mp4").touch()
    spottings = [replace(APPLE, video="mon/a.mp4"), replace(APPLE, video="tue/a.mp4")]
    files = write(spottings, f"out/x{suffix}")
    assert [spotting for file in files for spotting in read_spottings(file)] == spottings
    monkeypatch.chdir(tmp_path / "out")
    names = [spotting.video for file in files for spotting in read_spottings(file.name)]
    assert names == ["../mon/a.mp4", "../tue/a.mp4"]
    monkeypatch.chdir("/")
    names = [spotting.video for file in files for spotting in read_spottings(tmp_path / file)]
    assert names == [str(tmp_path / "mon" / "a.mp4"), str(tmp_path / "tue" / "a.mp4")]


def test_links_are_relative_in_one_tree_and_as_given_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mon").mkdir()
    video = tmp_path / "mon" / "a.mp4"
    video.touch()
    assert link_to(str(video), tmp_path / "x.csv") == "mon/a.mp4"
    assert link_to(str(video), tmp_path / "out" / "x.csv") == str(video)
    assert link_to("mon/a.mp4", Path("out/x.csv")) == "../mon/a.mp4"
    assert link_to("no-such.mp4", Path("out/x.csv")) == "no-such.mp4"
    assert follow("mon/a.mp4", tmp_path / "x.csv") == str(video)
    assert follow("https://example.org/a.mp4", tmp_path / "x.csv") == "https://example.org/a.mp4"


def test_a_folder_behind_a_link_still_finds_its_video(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "far" / "away").mkdir(parents=True)
    (tmp_path / "out").symlink_to(tmp_path / "far" / "away")
    (tmp_path / "a.mp4").touch()
    assert link_to("a.mp4", Path("out/x.csv")) == str(tmp_path / "a.mp4")


@pytest.mark.parametrize("suffix", ONE_VIDEO)
def test_several_videos_become_one_file_each(suffix: str, tmp_path: Path) -> None:
    videos = ["mon/a.mp4", "tue/A.webm", "b.mp4", "", "b?.mp4", "b*.mp4"]
    spottings = [replace(APPLE, video=video) for video in videos]
    files = write(spottings, tmp_path / f"x{suffix}")
    names = ["mon-a", "tue-A", "b", "video", "b_", "b_-2"]
    assert [file.name for file in files] == [f"x-{name}{suffix}" for name in names]
    assert not (tmp_path / f"x{suffix}").exists()
    assert [read_spottings(file) for file in files] == [[spotting] for spotting in spottings]


def test_with_several_videos_the_name_tells_even_if_one_alone_has_spottings(tmp_path: Path) -> None:
    assert write([APPLE], tmp_path / "x.eaf", videos=["news.mp4", "b.mp4"]) == (tmp_path / "x-news.eaf",)
    assert write([APPLE], tmp_path / "x.csv", videos=["news.mp4", "b.mp4"]) == (tmp_path / "x.csv",)
    assert output_paths("x.eaf", ["a.mp4", "b.mp4"]) == (Path("x-a.eaf"), Path("x-b.eaf"))


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_file_knows_whether_it_was_edited(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"x{suffix}"
    assert authorship(path) is Authorship.UNKNOWN
    write([APPLE], path)
    has_checksum = suffix in (".eaf", ".vtt", ".via.json")
    assert authorship(path) is (Authorship.UNEDITED if has_checksum else Authorship.UNKNOWN)
    path.write_bytes(path.read_bytes().replace(b"apple", b"pear!", 1))
    assert authorship(path) is (Authorship.EDITED if has_checksum else Authorship.UNKNOWN)


def test_tiers_are_for_elan_only(tmp_path: Path) -> None:
    with pytest.raises(OptionsError):
        read_spottings(tmp_path / "x.csv", tiers=["a"])
