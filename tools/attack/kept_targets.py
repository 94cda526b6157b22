"""Readers of what signspot keeps itself, or is given beside videos: weights, archives, runs, stages, word lists.

A run's folder, an archive or a served folder may come from somebody else, too, and what is read is judged alike.
"""

import io
import json
import os
import shutil
import sqlite3
import tarfile
import zipfile
from collections.abc import Callable
from contextlib import closing
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from torch import nn

from signspot.applications.archive import nearest_windows, open_archive
from signspot.applications.faux_amis import read_translations
from signspot.applications.forgetting import Person, forget, in_file
from signspot.applications.loop import kept_outcome
from signspot.corpus.corpus import Layout
from signspot.corpus.importing import read_wlasl_list
from signspot.corpus.isolated import read_isolated
from signspot.dictionary.dictionary import Dictionary
from signspot.dictionary.download import PartFile
from signspot.embedding.tracks import write_track
from signspot.io.files import read_digests, text_digest
from signspot.io.text import read_word_list
from signspot.models.checkpoints import load_encoder, save_encoder
from signspot.models.encoder import make_encoder
from signspot.models.registry import build
from signspot.mouthing.model import MouthingModel, load_mouthing, save_mouthing
from signspot.mouthing.network import MouthingNetwork, NetworkOptions
from signspot.mouthing.pixels import RgbMouthingNetwork
from signspot.recognition.recogniser import Recogniser, load_recogniser, save_recogniser
from signspot.training.run_folder import Run, RunFolder, claim, open_array
from signspot.types import Exemplar, Grid, Spotting, Track
from signspot.web.forgetting import ServerData
from signspot.web.jobs import Jobs
from signspot.web.tables import FILE as WORKBENCH_FILE
from signspot.web.tables import open_database
from signspot.web.verification import Queues, Verdict, verified
from signspot.web.worker import JobSettings
from tools.attack.targets import (
    SPLITS,
    SPOTTINGS,
    Target,
    corpus_seeds,
    dictionary_seeds,
    sane_spottings,
    sane_text,
    table_seeds,
)

# Of a landmark trunk and its MLP: in a small file mutations meet the header, in a large one hardly ever.
_SMALL = {"width": 8, "hand_width": 8, "part_width": 4, "last_width": 8, "features": 8, "hidden": 8, "dimension": 8}


def _weights_seeds(*save: Callable[[Path], object]) -> Callable[[Path], list[bytes]]:
    """The weights that each function writes to the path that it is given; the cards stand in their headers alone."""

    def prepare(folder: Path) -> list[bytes]:
        path = folder / "seed.safetensors"
        seeds = []
        for write in save:
            torch.manual_seed(0)
            write(path)
            seeds.append(path.read_bytes())
            path.with_suffix(".json").unlink()
        return seeds

    return prepare


def _save_encoder(path: Path) -> None:
    save_encoder(make_encoder("small", build("landmark", **_SMALL)), path)


def _save_mouthing(path: Path) -> None:
    save_mouthing(MouthingModel("small", MouthingNetwork(NetworkOptions(8, 2, 2)), {"licence": "x"}), path)


def _save_rgb_mouthing(path: Path) -> None:
    save_mouthing(MouthingModel("small", RgbMouthingNetwork(NetworkOptions(8, 2, 2), 4), {}), path)


def _save_recogniser(path: Path) -> None:
    module = build("landmark", **_SMALL)
    save_recogniser(Recogniser("small", ("apple", "pear"), module, nn.Linear(module.trunk.dimension, 2)), path)


def _read_mouthing(path: Path) -> None:
    model = load_mouthing(path)
    sane_text(model.name)
    assert all(bool(torch.isfinite(value).all()) for value in model.network.state_dict().values()), "weights"
    _ = model.hash


def _read_recogniser(path: Path) -> None:
    model = load_recogniser(path)
    sane_text(model.name, *model.words)
    state = [*model.module.state_dict().values(), *model.head.state_dict().values()]
    assert all(bool(torch.isfinite(value).all()) for value in state), "weights"


def _archive_seeds(folder: Path) -> list[bytes]:
    tracks = [
        Track(np.eye(4, 8, dtype=np.float32), Grid(25.0, 16, 4, 28), "encoder", "v", "s", codes)
        for codes in (np.ones((28, 2), np.float16), None)
    ]
    return [write_track(track, folder / "seed").read_bytes() for track in tracks]


def _read_archive(path: Path) -> None:
    archive = open_archive(path.parent)
    for track in archive.tracks:
        sane_text(track.video, track.encoder)
        assert np.isfinite(track.grid.times).all()
        assert track.codes is None or len(track.codes) == track.grid.frames, "codes"
        query = np.full((1, track.embeddings.shape[1]), 0.1, np.float32)
        found = nearest_windows([track.embeddings], query, 2, threads=1)
        assert all(row < len(track.embeddings) for row in found.row[0].tolist())


def _read_claim(path: Path) -> None:
    claim(Run(path.parent), {"corpus": {"videos": 3}, "trunk": "x", "config": {"seed": 4, "lr": 0.1}})


def _state_seeds(folder: Path) -> list[bytes]:
    mlp = nn.Linear(3, 2)
    optimiser = torch.optim.AdamW(mlp.parameters())
    mlp(torch.ones(1, 3)).sum().backward()
    optimiser.step()
    RunFolder(folder).save({"seed": 4}, {"mlp": mlp, "optimiser": optimiser}, [[1, 2.0]])
    return [(folder / "state.pt").read_bytes()]


def _read_state(path: Path) -> None:
    mlp = nn.Linear(3, 2)
    RunFolder(path.parent).load({"seed": 4}, {"mlp": mlp, "optimiser": torch.optim.AdamW(mlp.parameters())})


def _array_seeds(folder: Path) -> list[bytes]:
    seeds = []
    for array in (np.ones((3, 4), np.float16), np.zeros((1, 2, 2, 2, 3), np.uint8)):
        file = io.BytesIO()
        np.save(file, array)
        seeds.append(file.getvalue())
    return seeds


def _read_array(path: Path) -> None:
    found = open_array(path, np.float16, 2)
    assert found.dtype == np.float16
    assert found.ndim == 2
    np.isfinite(found).sum()


def _digest_seeds(folder: Path) -> list[bytes]:
    (folder / "a.pose").write_bytes(b"x")
    entry = {"path": str((folder / "a.pose").resolve()), "stamp": [1, 2, 3, 4], "digest": "0" * 32}
    return [json.dumps(entry).encode()]


def _read_digests(path: Path) -> None:
    assert all(isinstance(digest, str) for _, digest in read_digests(path).values())


def _finished_seeds(folder: Path) -> list[bytes]:
    (folder / "a.pose").write_bytes(b"x")
    layout = Layout(folder)
    layout.mark_finished("a", [folder / "a.pose"])
    return [layout.finished("a").read_bytes()]


def _read_finished(path: Path) -> None:
    Layout(path.parent.parent).is_finished("a")


_OUTCOME = {"told": "3 labels", "count": 3, "files": ["labels-M.jsonl"], "hash": "0123456789abcdef", "file": None}


def _stage_seeds(folder: Path) -> list[bytes]:
    (folder / "labels-M.jsonl").write_text("")
    sealed = text_digest(json.dumps(_OUTCOME, sort_keys=True))
    return [json.dumps({"key": "k", "outcome": _OUTCOME, "seal": sealed}).encode()]


def _read_stage(path: Path) -> None:
    outcome = kept_outcome(path.parent.parent, "labels M", "k")
    assert outcome in (None, _OUTCOME), "a stage that never was"


def _read_words(path: Path) -> None:
    sane_text(*read_word_list(path))


@cache
def _fruit(word: str) -> Dictionary:
    return Dictionary([Exemplar(each, each) for each in ("apple", "pear", word)])


def _read_translations(path: Path) -> None:
    sane_text(*read_translations(path, _fruit("nut"), _fruit("fig")))


def _part_seeds(folder: Path) -> list[bytes]:
    return [json.dumps({"address": "http://127.0.0.1:9/a", "total": 9, "etag": '"x"', "modified": ""}).encode()]


def _read_part(path: Path) -> None:
    """The note of a part, and the headers that follow from it."""
    (path.parent / "a.mp4.part").write_bytes(b"xyz")
    part = PartFile(path.parent / "a.mp4", "http://127.0.0.1:9/a")
    for value in part.range_headers().values():
        value.encode("latin-1")
        assert value.isprintable(), f"header {value!r:.40}"


def _workbench_seeds(folder: Path) -> list[bytes]:
    (folder / "seed").mkdir()
    with closing(open_database(None, folder / "seed")) as database:
        Jobs(database, JobSettings("x", None, None)).add("prepare", "a", {"video": "a.mp4"})
        queues = Queues(database)
        queue = queues.add("q", SPOTTINGS)
        (first,) = queues.hand_out(queue, "Ann", 1)
        queues.decide(Verdict("d1", queue, first.item, "Ann", "word", "pear", 1.0, 2.0, 3.0))
    path = folder / "seed" / WORKBENCH_FILE
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("pragma journal_mode=DELETE")
        connection.execute("vacuum")
    return [path.read_bytes()]


def _read_workbench(path: Path) -> None:
    """In a folder of its own each time: SQLite keeps locks of a file whose content is replaced under its hands."""
    with TemporaryDirectory(dir=path.parent) as place:
        shutil.copy(path, place)
        _look_through(Path(place))


def _look_through(folder: Path) -> None:
    with closing(open_database(None, folder)) as database:
        database.timeout = 0
        Jobs(database, JobSettings("x", None, None)).all()
        queues = Queues(database)
        for queue in queues.all():
            name = str(queue["id"])
            made: list[Spotting] = [each for _, _, each in verified(queues.items(name), queues.verdicts(name))]
            sane_spottings(made)
            queues.hand_out(name, "Bob", 2)
        queues.verified_videos()


def _zip_seeds(folder: Path) -> list[bytes]:
    seeds = []
    for way in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w", way) as archive:
            archive.writestr("videos/a.mp4", b"film" * 50)
            archive.writestr("videos/b.pose", b"landmarks")
        seeds.append(file.getvalue())
    return seeds


def _tar_seeds(folder: Path) -> list[bytes]:
    seeds = []
    for way in ("w", "w:gz", "w:xz"):
        file = io.BytesIO()
        with tarfile.open(fileobj=file, mode=way) as tape:
            for name in ("videos/a.mp4", "b.pose"):
                entry = tarfile.TarInfo(name)
                entry.size = 4
                tape.addfile(entry, io.BytesIO(b"film"))
        seeds.append(file.getvalue())
    return seeds


def _read_packed(path: Path) -> None:
    """Find a person in an archive, and take them out."""
    for step in in_file(Person("a"), path):
        step.act()


def _forget(seeds: Callable[[Path], list[bytes]]) -> Callable[[Path], object]:
    """Forget a person in the folder of a file, whose other files are as they were each time."""
    kept: dict[Path, bytes] = {}

    def read(path: Path) -> None:
        if not kept:
            content = path.read_bytes()
            seeds(path.parent)
            kept.update({each: each.read_bytes() for each in path.parent.rglob("*") if each.is_file() and each != path})
            path.write_bytes(content)
        for each, content in kept.items():
            if not each.is_file() or each.read_bytes() != content:
                each.parent.mkdir(parents=True, exist_ok=True)
                each.write_bytes(content)
        os.environ["SIGNSPOT_CACHE"] = str(path.parent / "no-cache")
        forget("s", [path.parent], ServerData(), yes=True)

    return read


def _splits_seeds(folder: Path) -> list[bytes]:
    (corpus,) = corpus_seeds(folder)
    (folder / "corpus.json").write_bytes(corpus)
    return [json.dumps(SPLITS).encode()]


WLASL = [{"gloss": "book", "instances": [{"video_id": "1", "signer_id": 3, "frame_start": 1, "frame_end": -1}]}]
RUN = {"corpus": {"videos": 3}, "trunk": "x", "config": {"seed": 4, "lr": 0.1}}


def _text_seeds(*seeds: str) -> Callable[[Path], list[bytes]]:
    return lambda folder: [seed.encode() for seed in seeds]


def kept_targets() -> list[Target]:
    """All of them."""
    weights = "x.safetensors", "safetensors"
    return [
        Target("encoder weights", *weights, _weights_seeds(_save_encoder), load_encoder),
        Target("mouthing weights", *weights, _weights_seeds(_save_mouthing, _save_rgb_mouthing), _read_mouthing),
        Target("recogniser weights", *weights, _weights_seeds(_save_recogniser), _read_recogniser),
        Target("archive", *weights, _archive_seeds, _read_archive),
        Target("run.json", "run.json", "json", _text_seeds(json.dumps(RUN)), _read_claim),
        Target("training state", "state.pt", "bytes", _state_seeds, _read_state),
        Target("kept arrays", "x.npy", "bytes", _array_seeds, _read_array),
        Target("digests.jsonl", "digests.jsonl", "json", _digest_seeds, _read_digests),
        Target("finished marks", ".finished/a.json", "json", _finished_seeds, _read_finished),
        Target("stages of learn", "stages/labels-M.json", "json", _stage_seeds, _read_stage),
        Target("word list", "x.txt", "text", _text_seeds("apple\nice cream\n", "\ufeffBär\r\n"), _read_words),
        Target("translations", "x.csv", "text", _text_seeds('apple,pear\n"nut",fig\n'), _read_translations),
        Target("part of a download", "a.mp4.part.json", "json", _part_seeds, _read_part),
        Target("workbench", WORKBENCH_FILE, "sqlite", _workbench_seeds, _read_workbench),
        Target("zip to forget in", "x.zip", "bytes", _zip_seeds, _read_packed),
        Target("tar to forget in", "x.tar.gz", "bytes", _tar_seeds, _read_packed),
        Target("dictionary to forget in", "dictionary.json", "json", dictionary_seeds, _forget(dictionary_seeds)),
        Target("table to forget in", "dictionary.csv", "text", table_seeds, _forget(table_seeds)),
        Target("corpus to forget in", "corpus.json", "json", corpus_seeds, _forget(corpus_seeds)),
        Target("splits to forget in", "splits.json", "json", _splits_seeds, _forget(_splits_seeds)),
        Target("isolated signs", "signer_001.npz", "bytes", _signs_seeds, _read_signs),
        Target("WLASL list", "WLASL_v0.3.json", "json", _text_seeds(json.dumps(WLASL)), _read_wlasl),
    ]


def _signs_seeds(folder: Path) -> list[bytes]:
    shapes = {"pose": (33, 4), "left_hand": (21, 3), "right_hand": (21, 3), "face": (60, 3)}
    arrays: dict[str, Any] = {name: np.ones((3, *shape), np.float16) for name, shape in shapes.items()}
    arrays |= {
        "label": np.array([[1, 2, 3]]),
        "start": np.array([0, 3]),
        "aspect": np.ones(1),
        "time": np.arange(3) / 25,
    }
    file = io.BytesIO()
    np.savez(file, **arrays)
    return [file.getvalue()]


def _read_signs(path: Path) -> None:
    for clip in read_isolated(path.parent):
        sane_text(clip.word, clip.signer, clip.clip)


def _read_wlasl(path: Path) -> None:
    words, _ = read_wlasl_list(path.parent)
    sane_text(*words)
