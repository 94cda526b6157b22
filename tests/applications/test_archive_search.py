"""An archive: exact comparison, suppression in time, alignment, and what is refused."""

import json
import os
import sys
import time
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from signspot.applications.archive_search import (
    GROUP,
    KNOTS,
    ROUNDING,
    add_video,
    choose_axes,
    coarse_search,
    make_index,
    nearest_windows,
    open_archive,
    open_memory_map,
    search_archive,
)
from signspot.applications.mine import write_spottings_page
from signspot.dictionary.dictionary import Dictionary
from signspot.embedding.tracks import read_track, write_track
from signspot.errors import EncoderMismatchError, FormatError, TrackError
from signspot.landmarks.pose_file import write_landmarks
from signspot.spotting.spot_options import SpotOptions
from signspot.spotting.spotter import Spotter, load
from signspot.types import Grid, Track
from signspot_synthetic.body.motion import continuous
from signspot_synthetic.body.signers import Role, make_signer
from signspot_synthetic.language.lexicon import Lexicon
from signspot_synthetic.observation import project
from signspot_synthetic.random_streams import named_rng
from tests.applications.conftest import SEED
from tests.fixtures.limits import started

PRODUCT = 128 * 2**-23  # rounding of a product of two unit vectors of up to 128 numbers in 32 bits


def unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.mark.parametrize("sizes", [(1,), (GROUP - 1, 5000), (1601, 3, 40)])
def test_the_nearest_windows_are_those_of_a_plain_product(sizes: tuple[int, ...]) -> None:
    random = np.random.default_rng(0)
    matrices = [unit(random.normal(size=(size, 8))).astype(np.float16) for size in sizes]
    queries = unit(random.normal(size=(3, 8))).astype(np.float32)
    result = nearest_windows(matrices, queries, 4)
    for number, query in enumerate(queries):
        best = []
        for index, matrix in enumerate(matrices):
            similar = matrix.astype(np.float32) @ query
            for start in range(0, len(similar), GROUP):
                row = start + int(similar[start : start + GROUP].argmax())
                best.append((float(similar[row]), index, row))
        best = sorted(best, reverse=True)[:4]
        assert np.allclose(result.similarity[number], [entry[0] for entry in best], atol=PRODUCT)
        assert list(zip(result.matrix[number], result.row[number], strict=True)) == [entry[1:] for entry in best]


@pytest.fixture(scope="module")
def archived(words: Lexicon, twofold: str, spotter: Spotter, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two videos of four signs each; the first word is in the first one only."""
    folder = tmp_path_factory.mktemp("archive")
    signed = [word for word in words if word != twofold]
    for name, chosen in (("one", signed[:4]), ("two", signed[4:8])):
        signer = make_signer(name, SEED, Role.TEST, left_share=0)
        motion, _ = continuous([words[word].variants[0] for word in chosen], signer, named_rng(SEED, name))
        write_landmarks(project(motion, signer.camera), folder / f"{name}.pose")
        add_video(spotter, folder / "tracks", folder / f"{name}.pose")
    return folder


def test_a_word_is_found_in_its_video(
    spotter: Spotter, dictionary: Dictionary, words: Lexicon, twofold: str, archived: Path, tmp_path: Path
) -> None:
    archive = open_archive(archived / "tracks")
    signs = dictionary.select([next(word for word in words if word != twofold)])
    spottings = search_archive(spotter, archive, spotter.gallery(signs), SpotOptions(threshold=0.0, top=5))
    best = spottings[0]
    assert Path(best.video).name == "one.pose"
    assert abs(best.time - spotter.search(archived / "one.pose", signs).best[best.word].time) < 0.2
    times = sorted(spotting.time for spotting in spottings if spotting.video == best.video)
    assert all(later - earlier >= 0.49 for earlier, later in pairwise(times))
    page = write_spottings_page(spotter, [best], tmp_path / "p.html", "found", ["pear"]).read_text()
    assert page.count("<video") == 1
    assert "not found: pear" in page


@pytest.mark.parametrize(
    "options", [SpotOptions(), SpotOptions(threshold=0.3), SpotOptions(threshold=0.3, compete=True)]
)
def test_an_archive_and_its_videos_give_the_same_spottings(
    options: SpotOptions, spotter: Spotter, dictionary: Dictionary, archived: Path
) -> None:
    """Also more than 20 of a word, and whatever else is nearer in other videos."""
    gallery = spotter.gallery(dictionary.select(list(dictionary)[:6]))
    videos = [archived / name for name in ("one.pose", "two.pose")]
    spotted = [spotting for video in videos for spotting in spotter.search(video, gallery, options).spottings]
    assert set(search_archive(spotter, open_archive(archived / "tracks"), gallery, options)) == set(spotted)
    assert len(spotted) > 20 or options.competes


def test_of_many_videos_the_nearest_are_searched(
    spotter: Spotter, dictionary: Dictionary, words: Lexicon, twofold: str, archived: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr("signspot.applications.archive_search.SEARCHED", 1)
    gallery = spotter.gallery(dictionary.select([next(word for word in words if word != twofold)]))
    spottings = search_archive(spotter, open_archive(archived / "tracks"), gallery, SpotOptions(threshold=0.0))
    assert set(spottings) == set(spotter.search(archived / "one.pose", gallery, SpotOptions(threshold=0.0)).spottings)


def test_a_new_video_leaves_the_others_alone(spotter: Spotter, archived: Path, tmp_path: Path) -> None:
    first = add_video(spotter, tmp_path, archived / "one.pose")
    before = first.stat().st_mtime_ns, first.read_bytes()
    add_video(spotter, tmp_path, archived / "two.pose")
    assert (first.stat().st_mtime_ns, first.read_bytes()) == before
    assert open_archive(tmp_path).windows == sum(len(read_track(path)) for path in tmp_path.iterdir())


def test_archives_of_other_encoders_are_refused(spotter: Spotter, archived: Path, tmp_path: Path) -> None:
    with pytest.raises(TrackError):
        open_archive(tmp_path)
    add_video(spotter, tmp_path, archived / "one.pose")
    other = load("warping", cache=False)
    with pytest.raises(EncoderMismatchError, match=other.encoder.hash):
        search_archive(other, open_archive(tmp_path), None)  # type: ignore[arg-type]
    with pytest.raises(EncoderMismatchError, match="'warping'"):
        add_video(other, tmp_path, archived / "two.pose")
    assert len(list(tmp_path.iterdir())) == 1
    write_track(one_window("another"), tmp_path / "z.safetensors")
    with pytest.raises(EncoderMismatchError, match="another"):
        open_archive(tmp_path)


def one_window(encoder: str) -> Track:
    return Track(unit(np.ones((1, 256))).astype(np.float16), Grid(25, 16, 1, 16), encoder, "v")


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: content[:-8],
        lambda content: b"",
        lambda content: b"\xff" * 40,
        lambda content: content.replace(b"F16", b"F99"),
    ],
)
def test_damaged_tracks_are_refused(damage: Any, tmp_path: Path) -> None:
    path = write_track(one_window("e"), tmp_path / "z.safetensors")
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(FormatError, match=r"z\.safetensors"):
        open_archive(tmp_path)


@pytest.mark.parametrize(
    ("entry", "value"),
    [
        *(("grid", value) for value in ('"x"', "{}", "7", "[" * 5000, '{"fps": 25, "window": 16, "stride": NaN}')),
        ("embeddings", {"shape": [1e400, 256]}),
        ("embeddings", {"shape": [-1, 256]}),
        ("embeddings", {"data_offsets": [0, 1e400]}),
    ],
)
def test_a_header_that_no_track_has_is_refused(entry: str, value: Any, tmp_path: Path) -> None:
    path = write_track(one_window("e"), tmp_path / "z.safetensors")
    content = path.read_bytes()
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + size])
    (header if entry == "embeddings" else header["__metadata__"])[entry] = (
        {**header[entry], **value} if entry == "embeddings" else value
    )
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + content[8 + size :])
    with pytest.raises(FormatError, match=r"z\.safetensors"):
        open_archive(tmp_path)


def smooth(count: int, seed: int) -> np.ndarray:
    """Unit rows of 128 numbers that are like their neighbours and differ in few directions most."""
    random = np.random.default_rng(seed)
    sums = np.cumsum(random.normal(size=(count + 8, 128)) / np.arange(1, 129), axis=0)
    return unit(sums[8:] - sums[:-8] + 0.01 * random.normal(size=(count, 128)))


@pytest.mark.parametrize("kind", ["smooth", "random"])
def test_indices_change_nothing(kind: str) -> None:
    random = np.random.default_rng(1)
    rows = smooth(4500, 0) if kind == "smooth" else unit(random.normal(size=(4500, 128)))
    matrices = [part.astype(np.float16) for part in (rows[:20], rows[20:2505], rows[2505:])]
    near = rows[[100, 3000]] + 0.03 * random.normal(size=(2, 128))
    queries = unit(np.concatenate([near, random.normal(size=(9, 128))])).astype(np.float32)
    axes = choose_axes(matrices)
    assert axes is not None
    indices = [make_index(matrix, axes) for matrix in matrices]
    for matrix, index in zip(matrices, indices, strict=True):  # a bound is one, and on smooth rows a narrow one
        similar = matrix.astype(np.float32) @ queries.T
        above = np.asarray(index.rows, np.float32) @ axes.project(queries)[:, :-1].T + index.slack - similar
        assert above.min() >= 0
        knots = (np.asarray(index.knots, np.float32) @ axes.project(queries).T).reshape(-1, len(KNOTS), len(queries))
        groups = np.repeat(knots.max(axis=1) + ROUNDING, GROUP, axis=0)[: len(matrix)]
        assert (groups - similar).min() >= 0
        assert kind == "random" or np.median(above[:, 0]) < 0.05
    for top in (1, 30, 100_000):
        plain, indexed = (nearest_windows(matrices, queries, top, indices=used) for used in (None, indices))
        for number in range(len(queries)):
            assert np.array_equal(plain.matrix[number], indexed.matrix[number])
            assert np.array_equal(plain.row[number], indexed.row[number])
            assert np.allclose(plain.similarity[number], indexed.similarity[number], atol=PRODUCT)


@pytest.mark.parametrize(("noise", "top"), [(0.0, 30), (0.3, 300)])
def test_indices_change_nothing_where_more_groups_are_looked_at_than_at_first(noise: float, top: int) -> None:
    """Of thousands of groups some are looked at closely at first, others later, and all of them in order."""
    random = np.random.default_rng(1)
    rows = unit(smooth(40_000, 0) + noise * random.normal(size=(40_000, 128)) / 128**0.5)
    matrices = [part.astype(np.float16) for part in np.array_split(rows, 7)]
    near = rows[[100, 20_000, 39_000]] + (0.5 + noise) * random.normal(size=(3, 128)) / 128**0.5
    axes = choose_axes(matrices)
    assert axes is not None
    indices = [make_index(matrix, axes) for matrix in matrices]
    plain, indexed = (
        nearest_windows(matrices, unit(near).astype(np.float32), top, 1, used) for used in (None, indices)
    )
    for number in range(3):
        assert np.array_equal(plain.matrix[number], indexed.matrix[number])
        assert np.array_equal(plain.row[number], indexed.row[number])


@pytest.mark.parametrize("threads", [1, 2])
def test_equal_windows_are_equal_whatever_is_compared_beside_them(threads: int) -> None:
    """One video under two names, and a third: the first comes first, with the same similarity to the last digit."""
    rows = smooth(3000, 3).astype(np.float16)
    matrices = [rows[:1600], smooth(700, 4).astype(np.float16), rows[:1600]]
    queries = smooth(3000, 3)[[40, 900]].astype(np.float32)
    axes = choose_axes(matrices)
    assert axes is not None
    before, all_of_them = torch.get_num_threads(), [make_index(matrix, axes) for matrix in matrices]
    for indices in (None, all_of_them, [None, None, all_of_them[2]]):
        result = nearest_windows(matrices, queries, 40, threads, indices)
        for similarity, numbers, windows in zip(result.similarity, result.matrix, result.row, strict=True):
            for row in {*windows[numbers == 2].tolist()}:
                one, two = (int(np.flatnonzero((numbers == number) & (windows == row))[0]) for number in (0, 2))
                assert one < two
                assert similarity[one] == similarity[two]
            assert 2 in numbers
    assert torch.get_num_threads() == before


@pytest.mark.slow
def test_threads_do_not_wait_for_each_other_by_computing() -> None:
    """Beside other programs, two threads take the processor about as long as one does."""
    rows, spent = smooth(200_000, 0).astype(np.float16), list[float]()
    with ExitStack() as others:
        for _ in range(2 * (os.cpu_count() or 1)):
            others.enter_context(started([sys.executable, "-c", "while True: pass"]))
        for threads in (1, 2):
            before = time.process_time()
            nearest_windows([rows], rows[:8].astype(np.float32), 30, threads)
            spent.append(time.process_time() - before)
    assert spent[1] < 3 * spent[0]


def test_indices_are_kept_by_content_and_opened_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows, grid, cache = smooth(4000, 2).astype(np.float16), Grid(25, 16, 1, 4015), tmp_path / "cache"
    write_track(Track(rows, grid, "e", "one", "d" * 8), tmp_path / "a" / "one.safetensors")
    archive, query = open_archive(tmp_path / "a"), rows[50:51].astype(np.float32)
    opened: list[Path] = []

    def counted(path: Path, *arguments: Any) -> Any:
        opened.append(path)
        return open_memory_map(path, *arguments)

    monkeypatch.setattr("signspot.applications.archive_search.open_memory_map", counted)
    results = [coarse_search(archive, query, 3, cache=cache).row[0].tolist() for _ in range(4)]
    assert results == results[:1] * 4
    assert len(opened) == 1  # made by the first search, opened by the second
    files = {path: path.stat().st_mtime_ns for path in cache.rglob("*.safetensors")}
    assert sorted(path.name.partition("-")[0] for path in files) == ["axes", "d" * 8]
    next(path for path in files if path.name.startswith("d")).write_bytes(b"damaged")  # is made again
    assert coarse_search(archive, query, 3, cache=cache).row[0].tolist() == results[0]
    write_track(Track(rows[::-1].copy(), grid, "e", "one", "d" * 8), tmp_path / "a" / "one.safetensors")
    again = coarse_search(open_archive(tmp_path / "a"), query, 3, cache=cache)  # other windows of the same video
    assert again.row[0][0] == 3999 - results[0][0]


def test_windows_that_are_not_finite_are_refused() -> None:
    rows = smooth(4000, 2).astype(np.float16)
    axes = choose_axes([rows])
    assert axes is not None
    rows[7, 3] = np.nan
    with pytest.raises(FormatError):
        make_index(rows, axes)
