"""An archive: exact comparison, suppression in time, alignment, and what is refused."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from signspot.applications.archive import (
    GROUP,
    KNOTS,
    ROUNDING,
    add_video,
    choose_axes,
    make_sketch,
    open_archive,
    open_mapped,
    scan,
    scan_archive,
    search_archive,
)
from signspot.applications.mining import write_places_page
from signspot.dictionary.dictionary import Dictionary
from signspot.embedding.tracks import read_track, write_track
from signspot.errors import EncoderMismatchError, FormatError, OptionsError, TrackError
from signspot.landmarks.pose_file import write_landmarks
from signspot.spotting.options import SpotOptions
from signspot.spotting.spotter import Spotter, load
from signspot.types import Grid, Track
from signspot_synthetic.body.motion import continuous
from signspot_synthetic.body.signers import Role, make_signer
from signspot_synthetic.camera.projection import project
from signspot_synthetic.knobs import named_rng
from signspot_synthetic.language.lexicon import Lexicon
from tests.applications.conftest import SEED


def unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.mark.parametrize("sizes", [(1,), (GROUP - 1, 5000), (1601, 3, 40)])
def test_a_scan_equals_a_plain_product(sizes: tuple[int, ...]) -> None:
    random = np.random.default_rng(0)
    matrices = [unit(random.normal(size=(size, 8))).astype(np.float16) for size in sizes]
    queries = unit(random.normal(size=(3, 8))).astype(np.float32)
    found = scan(matrices, queries, 4)
    for number, query in enumerate(queries):
        best = []
        for place, matrix in enumerate(matrices):
            similar = matrix.astype(np.float32) @ query
            for start in range(0, len(similar), GROUP):
                row = start + int(similar[start : start + GROUP].argmax())
                best.append((float(similar[row]), place, row))
        best.sort(reverse=True)
        told = list(zip(found.similarity[number], found.matrix[number], found.row[number], strict=True))
        assert len(told) == min(4, len(best))
        assert np.allclose([each[0] for each in told], [each[0] for each in best[:4]], atol=1e-6)
        assert [tuple(each[1:]) for each in told] == [each[1:] for each in best[:4]]


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
    word = next(each for each in words if each != twofold)
    found = search_archive(spotter, archive, spotter.gallery(dictionary.select([word])), top=5)
    assert Path(found[0].video).name == "one.pose"
    searched = spotter.search(archived / "one.pose", dictionary.select([word])).best[word]
    assert abs(found[0].time - searched.time) < 0.2
    own = sorted(each.time for each in found if each.video == found[0].video)
    assert all(later - earlier >= 0.49 for earlier, later in pairwise(own))
    assert write_places_page(spotter, found[:1], tmp_path / "p.html", "found").read_text().count("<video") == 1
    with pytest.raises(OptionsError, match="top"):
        search_archive(spotter, archive, spotter.gallery(dictionary.select([word])), top=0)


def test_the_time_of_a_place_is_in_its_span(spotter: Spotter, dictionary: Dictionary, archived: Path) -> None:
    found = search_archive(spotter, open_archive(archived / "tracks"), spotter.gallery(dictionary), top=50)
    searched = [spotter.search(archived / "one.pose", dictionary, SpotOptions(threshold=0.0)).spottings, found]
    assert all(places and all(each.start <= each.time <= each.end for each in places) for places in searched)


def test_a_new_video_leaves_the_others_alone(spotter: Spotter, archived: Path, tmp_path: Path) -> None:
    first = add_video(spotter, tmp_path, archived / "one.pose")
    before = first.stat().st_mtime_ns, first.read_bytes()
    add_video(spotter, tmp_path, archived / "two.pose")
    assert (first.stat().st_mtime_ns, first.read_bytes()) == before
    assert open_archive(tmp_path).windows == sum(len(read_track(path)) for path in tmp_path.iterdir())


def test_what_cannot_be_searched_is_told(spotter: Spotter, archived: Path, tmp_path: Path) -> None:
    with pytest.raises(TrackError, match="no track"):
        open_archive(tmp_path)
    add_video(spotter, tmp_path, archived / "one.pose")
    with pytest.raises(EncoderMismatchError, match="was made by the encoder"):
        search_archive(load("warping", cache=False), open_archive(tmp_path), None)  # type: ignore[arg-type]
    with pytest.raises(EncoderMismatchError, match=r"not by 'warping' .* with --encoder"):
        add_video(load("warping", cache=False), tmp_path, archived / "two.pose")
    assert len(list(tmp_path.iterdir())) == 1
    rows = unit(np.ones((1, 256))).astype(np.float16)
    write_track(Track(rows, Grid(25, 16, 1, 16), "another"), tmp_path / "z.safetensors")
    with pytest.raises(EncoderMismatchError, match="two encoders"):
        open_archive(tmp_path)
    whole = (tmp_path / "z.safetensors").read_bytes()
    for broken in (whole[:-8], b"", b"\xff" * 40, whole.replace(b"F16", b"F99")):
        (tmp_path / "z.safetensors").write_bytes(broken)
        with pytest.raises(FormatError, match="cannot be searched"):
            open_archive(tmp_path)


@pytest.mark.parametrize("value", ['"x"', "{}", "7", "[" * 5000, '{"fps": 25, "window": 16, "stride": NaN}'])
def test_a_header_that_no_track_has_is_told(value: str, tmp_path: Path) -> None:
    rows = unit(np.ones((1, 256))).astype(np.float16)
    path = write_track(Track(rows, Grid(25, 16, 1, 16), "e", "v"), tmp_path / "z.safetensors")
    content = path.read_bytes()
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + size])
    header["__metadata__"]["grid"] = value
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + content[8 + size :])
    with pytest.raises(FormatError, match="cannot be searched"):
        open_archive(tmp_path)


@pytest.mark.parametrize("entry", [{"shape": [1e400, 256]}, {"shape": [-1, 256]}, {"data_offsets": [0, 1e400]}])
def test_sizes_that_no_array_has_are_told(entry: dict[str, list[float]], tmp_path: Path) -> None:
    rows = unit(np.ones((1, 256))).astype(np.float16)
    path = write_track(Track(rows, Grid(25, 16, 1, 16), "e", "v"), tmp_path / "z.safetensors")
    content = path.read_bytes()
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + size])
    header["embeddings"] |= entry
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + content[8 + size :])
    with pytest.raises(FormatError, match="cannot be searched"):
        open_archive(tmp_path)


def smooth(count: int, seed: int) -> np.ndarray:
    """Unit rows of 128 numbers that are like their neighbours and differ in few directions most."""
    random = np.random.default_rng(seed)
    sums = np.cumsum(random.normal(size=(count + 8, 128)) / np.arange(1, 129), axis=0)
    return unit(sums[8:] - sums[:-8] + 0.01 * random.normal(size=(count, 128)))


@pytest.mark.parametrize("kind", ["smooth", "random"])
def test_sketches_change_nothing(kind: str) -> None:
    random = np.random.default_rng(1)
    rows = smooth(9000, 0) if kind == "smooth" else unit(random.normal(size=(9000, 128)))
    matrices = [each.astype(np.float16) for each in (rows[:20], rows[20:5005], rows[5005:])]
    queries = unit(
        np.concatenate([rows[[100, 6000]] + 0.03 * random.normal(size=(2, 128)), random.normal(size=(9, 128))])
    )
    queries = queries.astype(np.float32)
    axes = choose_axes(matrices)
    assert axes is not None
    sketches = [make_sketch(each, axes) for each in matrices]
    for matrix, sketch in zip(matrices, sketches, strict=True):  # a bound is one, and on smooth rows a narrow one
        similar = matrix.astype(np.float32) @ queries.T
        bounds = np.asarray(sketch.rows, np.float32) @ axes.project(queries)[:, :-1].T + sketch.slack
        above = bounds - similar
        assert above.min() >= 0
        knots = (np.asarray(sketch.knots, np.float32) @ axes.project(queries).T).reshape(-1, len(KNOTS), len(queries))
        groups = np.repeat(knots.max(axis=1) + ROUNDING, GROUP, axis=0)[: len(matrix)]
        assert (groups - similar).min() >= 0
        assert kind == "random" or np.median(above[:, 0]) < 0.05
    for top in (1, 30, 100_000):
        plain, sketched = scan(matrices, queries, top), scan(matrices, queries, top, sketches=sketches)
        for number in range(len(queries)):
            assert np.array_equal(plain.matrix[number], sketched.matrix[number])
            assert np.array_equal(plain.row[number], sketched.row[number])
            assert np.allclose(plain.similarity[number], sketched.similarity[number], atol=1e-6)


@pytest.mark.parametrize("threads", [1, 2])
def test_equal_windows_are_equal_whatever_is_compared_beside_them(threads: int) -> None:
    """One video under two names, and a third: the first comes first, with the same similarity to the last digit."""
    rows = smooth(3000, 3).astype(np.float16)
    matrices = [rows[:1600], smooth(700, 4).astype(np.float16), rows[:1600]]
    queries = smooth(3000, 3)[[40, 900]].astype(np.float32)
    axes = choose_axes(matrices)
    assert axes is not None
    before = torch.get_num_threads()
    for sketches in (
        None,
        [make_sketch(each, axes) for each in matrices],
        [None, None, make_sketch(rows[:1600], axes)],
    ):
        found = scan(matrices, queries, 40, threads, sketches)
        for similarity, numbers, places in zip(found.similarity, found.matrix, found.row, strict=True):
            for row in {*places[numbers == 2].tolist()}:
                one, two = (int(np.flatnonzero((numbers == number) & (places == row))[0]) for number in (0, 2))
                assert one < two
                assert similarity[one] == similarity[two]
            assert 2 in numbers
    assert torch.get_num_threads() == before


def test_sketches_are_opened_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = smooth(4000, 2).astype(np.float16)
    write_track(Track(rows, Grid(25, 16, 1, 4015), "e", "one", "d" * 8), tmp_path / "a" / "one.safetensors")
    archive, query = open_archive(tmp_path / "a"), rows[50:51].astype(np.float32)
    opened: list[Path] = []

    def counted(path: Path, *given: Any) -> Any:
        opened.append(path)
        return open_mapped(path, *given)

    monkeypatch.setattr("signspot.applications.archive.open_mapped", counted)
    first, *others = [scan_archive(archive, query, 3, cache=tmp_path / "cache") for _ in range(4)]
    assert all(np.array_equal(first.row[0], other.row[0]) for other in others)
    assert len(opened) == 1  # made by the first search, opened by the second


def test_sketches_are_kept_by_content(tmp_path: Path) -> None:
    rows = smooth(4000, 2).astype(np.float16)
    grid = Grid(25, 16, 1, 4015)
    write_track(Track(rows, grid, "e", "one", "d" * 8), tmp_path / "a" / "one.safetensors")
    archive, cache = open_archive(tmp_path / "a"), tmp_path / "cache"
    query = rows[50:51].astype(np.float32)
    first = scan_archive(archive, query, 3, cache=cache)
    kept = {path: path.stat().st_mtime_ns for path in cache.rglob("*.safetensors")}
    assert sorted(path.name.partition("-")[0] for path in kept) == ["axes", "d" * 8]
    assert scan_archive(archive, query, 3, cache=cache).row[0].tolist() == first.row[0].tolist()
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    sketch = next(path for path in kept if path.name.startswith("d"))
    sketch.write_bytes(b"damaged")  # is made again
    assert scan_archive(archive, query, 3, cache=cache).row[0].tolist() == first.row[0].tolist()
    write_track(Track(rows[::-1].copy(), grid, "e", "one", "d" * 8), tmp_path / "a" / "one.safetensors")
    again = scan_archive(open_archive(tmp_path / "a"), query, 3, cache=cache)  # other windows of the same video
    assert again.row[0][0] == 3999 - first.row[0][0]
    rows[7, 3] = np.nan
    axes = choose_axes([smooth(4000, 2).astype(np.float16)])
    assert axes is not None
    with pytest.raises(FormatError, match="not finite"):
        make_sketch(rows, axes)
