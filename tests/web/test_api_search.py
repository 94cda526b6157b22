"""Matrix products of an answer that is waited for stay on one thread; afterwards they have all of them again."""

import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from threadpoolctl import threadpool_info, threadpool_limits

from signspot.errors import FormatError, LandmarksError
from signspot.landmarks.pose_file import open_landmarks
from signspot.spotting.spotter import load
from signspot.types import Exemplar
from signspot.web import api_search
from signspot.web.api_search import _worker, on_one_thread, search_recordings
from signspot.web.server_state import Workbench, WorkbenchOptions


def threads() -> set[int]:
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


@pytest.fixture
def shared_out() -> Iterator[None]:
    """Matrix products on two threads, as they are on most machines; set by a thread that is no more."""
    before = threads()
    with ThreadPoolExecutor(1) as once:
        once.submit(threadpool_limits, 2, "blas").result()
    yield
    with ThreadPoolExecutor(1) as once:
        once.submit(threadpool_limits, max(before), "blas").result()


def test_nor_does_pytorch_share_out() -> None:
    before = _worker.submit(torch.get_num_threads).result()
    _worker.submit(torch.set_num_threads, 2).result()
    try:
        assert on_one_thread(torch.get_num_threads) == 1
        assert _worker.submit(torch.get_num_threads).result() == 2, "afterwards it does again"
    finally:
        _worker.submit(torch.set_num_threads, before).result()


def test_many_answers_at_once(shared_out: None) -> None:
    with ThreadPoolExecutor(8) as people:
        answers = list(people.map(lambda number: on_one_thread(lambda: (number, threads())), range(40)))
    assert answers == [(number, {1}) for number in range(40)]
    assert threads() == {2}


def test_errors_are_raised_and_threads_come_back(shared_out: None) -> None:
    def fail() -> None:
        raise FormatError("x")

    with pytest.raises(FormatError, match="x"):
        on_one_thread(fail)
    assert threads() == {2}


def test_a_recorded_sign_is_looked_for_in_all_tracks_without_loading_them(
    material: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in an archive: the best location is that of a search of the same video; new videos join, damaged ones wait."""
    monkeypatch.setenv("SIGNSPOT_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "folder"
    folder.mkdir()
    bench = Workbench.open(WorkbenchOptions(folder))
    try:
        searcher = bench.searcher
        sign = material / "dictionary" / "river" / "river.pose"
        gallery = searcher.spotter.gallery([Exemplar("", "recording", sign)])
        assert api_search.find_locations(searcher.spotter, searcher.archive(), gallery) == []
        shutil.copy(material / "news.pose", folder)
        (video,) = bench.folder.listing(fresh=True).videos.values()
        assert not searcher.archive().tracks
        searcher.track(video)
        (track,) = searcher.archive().tracks
        assert isinstance(track.embeddings, np.memmap)
        best = api_search.find_locations(searcher.spotter, searcher.archive(), gallery)[0]
        expected = searcher.spotter.search(folder / "news.pose", gallery).best[""]
        assert (best.video, best.time) == (video.name, pytest.approx(expected.time, abs=0.1))
        track.path.write_bytes(b"damaged")
        assert searcher.archive().tracks == (track,)  # opened before
        track.path.unlink()
        assert not searcher.archive().tracks
        track.path.write_bytes(b"damaged")
        assert not searcher.archive().tracks
    finally:
        bench.close()


def test_recorded_signs_are_found_in_a_recorded_sentence(material: Path, tmp_path: Path) -> None:
    """As a search of the same files finds them; nothing of it is written into the folder."""
    (tmp_path / "folder").mkdir()
    bench = Workbench.open(WorkbenchOptions(tmp_path / "folder"))
    try:
        recorded = {word: material / "dictionary" / word / f"{word}.pose" for word in ("river", "apple")}
        signs = [(word, open_landmarks(path)) for word, path in recorded.items()]
        answer = search_recordings(bench, signs, open_landmarks(material / "news.pose"))
        exemplars = [Exemplar(word, word, path) for word, path in recorded.items()]
        expected = load().search(material / "news.pose", exemplars).best
        assert [word["word"] for word in answer["words"]] == ["river", "apple"]
        for word in answer["words"]:
            best = max(word["hits"], key=lambda hit: hit["score"])
            assert best["time"] == pytest.approx(expected[word["word"]].time, abs=0.1)
            assert best["score"] == pytest.approx(expected[word["word"]].score, abs=0.02)
        nobody = signs[0][1]
        with pytest.raises(LandmarksError, match="the sentence"):
            search_recordings(bench, signs, replace(nobody, body=np.full_like(nobody.body, np.nan)))
    finally:
        bench.close()
    assert [path.name for path in (tmp_path / "folder").iterdir()] == [".signspot"]
