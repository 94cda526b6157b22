import hashlib
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from signspot.dictionary.build import build_dictionary
from signspot.dictionary.dictionary import Contents, Dictionary
from signspot.dictionary.download import (
    Download,
    DownloadOptions,
    Fetched,
    add_to_manifest,
    fetch,
    fetch_dictionary,
    read_manifest,
    safe_path,
)
from signspot.dictionary.open_dictionary import open_dictionary
from signspot.errors import DictionaryError, OutputError
from signspot.io.checks import path_inside
from signspot.io.processes import locked
from signspot.types import Exemplar
from tests.fixtures.limits import LIMIT


@pytest.fixture
def options(clock: Any) -> DownloadOptions:
    return DownloadOptions(sleep=clock.sleep, clock=clock, timeout=LIMIT, retries=1)


class TestManyFiles:
    def test_each_is_fetched_once(self, server: Any, options: DownloadOptions, tmp_path: Path) -> None:
        downloads = [Download(f"{server.address}/{n}.mp4", f"sub/{n}.mp4") for n in range(3)]
        steps: list[tuple[int, int | None]] = []
        first = fetch(downloads, tmp_path, options, lambda done, total: steps.append((done, total)))
        assert first.fetched == tuple(tmp_path / "sub" / f"{n}.mp4" for n in range(3))
        assert steps == [(0, 3), (1, 3), (2, 3), (3, 3)]
        second = fetch(downloads, tmp_path, options)
        assert (second.fetched, second.kept) == ((), first.fetched)
        assert len(server.requests) == 3
        manifest = read_manifest(tmp_path)
        assert {entry.sha256 for entry in manifest.values()} == {server.sha256}
        assert manifest["sub/1.mp4"].url == f"{server.address}/1.mp4"

    def test_what_is_missing_or_damaged_is_fetched_again(
        self, server: Any, options: DownloadOptions, tmp_path: Path
    ) -> None:
        downloads = [Download(f"{server.address}/{n}.mp4", f"{n}.mp4") for n in range(3)]
        fetch(downloads, tmp_path, options)
        (tmp_path / "0.mp4").unlink()
        (tmp_path / "1.mp4").write_bytes(b"short")
        again = fetch(downloads, tmp_path, options)
        assert [path.name for path in again.fetched] == ["0.mp4", "1.mp4"]
        assert hashlib.sha256((tmp_path / "1.mp4").read_bytes()).hexdigest() == server.sha256

    def test_hosts_that_cannot_be_do_not_stop_the_rest(
        self, server: Any, options: DownloadOptions, tmp_path: Path
    ) -> None:
        strange = ["http://[::1", "http://a..b/x", f"http://{'x' * 80}/y", "http://a:b/c"]
        links = {str(n): url for n, url in enumerate([*strange, f"{server.address}/ok.mp4"])}
        exemplars = tuple(Exemplar(id=name, word="apple") for name in links)
        dictionary = Dictionary(Contents(exemplars=exemplars, links=links))
        _, report = fetch_dictionary(dictionary, tmp_path / "d", options)
        assert len(report.fetched) == 1
        assert len(report.problems) == len(strange)

    def test_two_runs_at_once_do_not_mix(self, server: Any, options: DownloadOptions, tmp_path: Path) -> None:
        downloads = [Download(f"{server.address}/a.mp4", "a.mp4")]
        with locked(tmp_path / ".fetch.lock"), pytest.raises(OutputError):
            fetch(downloads, tmp_path, options)
        assert len(fetch(downloads, tmp_path, options).fetched) == 1

    def test_one_failure_does_not_stop_the_rest(self, server: Any, options: DownloadOptions, tmp_path: Path) -> None:
        server.statuses = [(404, {})]
        downloads = [Download(f"{server.address}/{n}.mp4", f"{n}.mp4") for n in range(2)]
        downloads += [Download("ftp://x/y", "y.mp4"), Download("", "z.mp4")]
        report = fetch(downloads, tmp_path, options)
        assert [path.name for path in report.fetched] == ["1.mp4"]
        assert [problem.path.name for problem in report.problems] == ["0.mp4", "y.mp4", "z.mp4"]
        assert "404" in report.problems[0].message

    @pytest.mark.parametrize(
        ("url", "site"),
        [
            ("https://www.youtube.com/watch?v=abc", "YouTube"),
            ("https://youtu.be/abc", "YouTube"),
            ("http://player.vimeo.com/video/1", "Vimeo"),
        ],
    )
    def test_pages_with_a_player_are_not_fetched(
        self, options: DownloadOptions, tmp_path: Path, video: bytes, url: str, site: str
    ) -> None:
        report = fetch([Download(url, "a.mp4")], tmp_path, options)
        assert f"is a {site} page, not a file: not fetched. Save it yourself as" in report.problems[0].message
        (tmp_path / "a.mp4").write_bytes(video)  # somebody did
        assert fetch([Download(url, "a.mp4")], tmp_path, options).kept == (tmp_path / "a.mp4",)

    def test_a_file_of_ones_own_is_not_replaced(self, server: Any, options: DownloadOptions, tmp_path: Path) -> None:
        (tmp_path / "a.mp4").write_bytes(b"mine")
        report = fetch([Download(server.address + "/a.mp4", "a.mp4")], tmp_path, options)
        assert "was not fetched lies at" in report.problems[0].message
        assert (tmp_path / "a.mp4").read_bytes() == b"mine"

    def test_names_that_lead_out(self, server: Any, options: DownloadOptions, tmp_path: Path) -> None:
        folder = tmp_path / "in"
        folder.mkdir()
        (folder / "link").symlink_to(tmp_path)
        names = ["../../x.mp4", "/abs.mp4", "..\\w.mp4", "link/y.mp4"]
        report = fetch([Download(f"{server.address}/{n}", name) for n, name in enumerate(names)], folder, options)
        assert [path.relative_to(folder).as_posix() for path in report.fetched] == ["x.mp4", "abs.mp4", "w.mp4"]
        assert "leads out" in report.problems[0].message
        assert {path.name for path in tmp_path.iterdir()} == {"in"}

    @given(st.text(max_size=300))
    def test_no_name_leads_out(self, text: str) -> None:
        path_inside(Path("folder"), safe_path(text), "the file")


class TestManifest:
    def test_a_torn_line_is_passed_over_and_ended(self, tmp_path: Path) -> None:
        one, two = (Fetched(name, "http://x", 1, "ab", "2024") for name in "ab")
        add_to_manifest(tmp_path, one)
        with (tmp_path / "fetched.jsonl").open("a") as file:
            file.write('{"name": "c", "ur')
        add_to_manifest(tmp_path, two)
        assert read_manifest(tmp_path) == {"a": one, "b": two}

    def test_other_lines_do_not_matter(self, tmp_path: Path) -> None:
        odd = b'{"name": "c", "url": [], "bytes": "many", "sha256": null, "when": 3}'
        (tmp_path / "fetched.jsonl").write_bytes(b'[]\n3\n{"name": 1}\n\xff\n\n' + odd)
        assert read_manifest(tmp_path) == {}


class TestDictionaries:
    def imported(self, server: Any, tmp_path: Path) -> Dictionary:
        videos = {
            "name": ["a_001_000_000_apple.mp4", "a_001_000_001_apple.mp4", "t_001_000_000_tree.mp4"],
            "word": ["apple", "apple", "tree"],
            "video_link_db": [f"{server.address}/1.mp4", f"{server.address}/2.webm", ""],
            "youtube_identifier_db": [None, None, "abc"],
            "features": {"mlp": np.eye(3, 8)},
        }
        (tmp_path / "bsldict_v1.pkl").write_bytes(pickle.dumps({"words": ["apple", "tree"], "videos": videos}))
        return open_dictionary(tmp_path / "bsldict_v1.pkl")

    def test_from_the_pickle_to_a_folder_with_videos(self, server: Any, options: Any, tmp_path: Path) -> None:
        out = tmp_path / "out"
        server.statuses = [(404, {})]
        first, report = fetch_dictionary(self.imported(server, tmp_path), out, options)
        assert len(report.problems) == 2
        assert [e.path for e in first["apple"]] == [None, out / "media/apple/a_001_000_001_apple.webm"]
        second, report = fetch_dictionary(open_dictionary(out), out, options)
        assert [path.name for path in report.fetched] == ["a_001_000_000_apple.mp4"]
        opened = open_dictionary(out)
        assert opened.exemplars == second.exemplars
        assert [e.path is None for e in opened.exemplars] == [False, False, True]
        assert all(e.embedding is not None for e in opened.exemplars)
        assert len(opened.contents.links) == 3
        assert len(server.requests) == 3

    def test_build_then_fetch(self, server: Any, options: Any, tmp_path: Path) -> None:
        built = build_dictionary(self.imported(server, tmp_path), tmp_path / "out")
        _, report = fetch_dictionary(built, tmp_path / "out", options)
        assert len(report.fetched) == 2

    def test_nothing_to_fetch(self, put: Any, tmp_path: Path) -> None:
        with pytest.raises(DictionaryError):
            fetch_dictionary(open_dictionary(put("a.mp4")), tmp_path / "out")

    def test_not_among_other_files(self, server: Any, put: Any, tmp_path: Path) -> None:
        with pytest.raises(OutputError):
            fetch_dictionary(self.imported(server, tmp_path), put("letter.txt", content=b"dear"))
        assert not server.requests

    def test_files_elsewhere_are_named_before_anything_is_fetched(self, server: Any, put: Any, tmp_path: Path) -> None:
        here = Exemplar("a", "a", put("a.mp4") / "a.mp4")
        both = Contents((here, Exemplar("b", "b")), links={"b": server.address})
        with pytest.raises(DictionaryError):
            fetch_dictionary(Dictionary(both), tmp_path / "out")
        assert not server.requests
