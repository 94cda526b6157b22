"""Mutated files against every reader: only a SignspotError may come out, within minutes and a gigabyte.

`read_mutated` makes one failing input again.
"""

import json
import os
import pickle
import random
import re
import shutil
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from signspot.annotation.run_spottings import spottings as stored_spottings
from signspot.annotation.store import open_store
from signspot.annotation.store_records import Candidate, Findings, SubtitleQuery, VideoRecord
from signspot.annotation.tasks import read_gallery, write_gallery
from signspot.applications.archive_search import open_archive
from signspot.applications.data_removal import Person, in_file
from signspot.corpus.corpus import FORMAT, Corpus, open_corpus
from signspot.corpus.labels import read_labels
from signspot.corpus.truth import read_splits
from signspot.dictionary.download import read_manifest
from signspot.dictionary.json_file import write_embeddings
from signspot.dictionary.open_dictionary import open_dictionary
from signspot.embedding.exemplars import Gallery
from signspot.embedding.tracks import read_track, write_track
from signspot.formats.elan import read_vocabulary
from signspot.formats.formats import read_spottings, write
from signspot.formats.spotting_rows import to_rows
from signspot.io.sandbox import Sandbox
from signspot.io.text import read_word_list
from signspot.landmarks.pose_file import open_landmarks, write_landmarks
from signspot.models.checkpoints import load_encoder, save_encoder
from signspot.models.encoder_network import make_encoder
from signspot.models.registry import build
from signspot.subtitles.reading import read_subtitles
from signspot.types import Exemplar, Grid, LabelSource, Spotting, Track
from signspot.words.match import Form
from tools.attack import MEMORY, AttackOptions, Outcome, make_landmarks, make_sandbox, read_all
from tools.attack.mutations import mutate

LONGEST_VIDEO = 2**32 / 1000  # seconds
ENDLESS = 8 << 30  # bytes of an endless file
MAPPED = ("dictionary embeddings", "track", "gallery")  # their files take address space of their size, but no memory
Seeds = Callable[[Path], list[bytes]]


@dataclass(frozen=True)
class Target:
    """A reader under attack."""

    file: str  # the mutated file's name in its folder
    kind: str  # of mutations
    prepare: Seeds  # makes all that lies around the file, and gives seeds
    read: Callable[[Path], Any]  # given the file; gives what is checked


def attack(options: AttackOptions) -> Iterator[Outcome]:
    """Attack every reader with `count` inputs, and with an endless file."""
    names = options.only or tuple(TARGETS)
    with make_sandbox() as sandbox:
        for name in names:
            yield attack_reader(name, options, sandbox)
    yield read_endless(names, options.folder / "endless")


def attack_reader(name: str, options: AttackOptions, sandbox: Sandbox) -> Outcome:
    """Attack one reader."""
    inputs = ((name, number, options.seed, options.folder) for number in range(options.count))
    return read_all(Outcome(name), sandbox, "tools.attack.readers:read_mutated", inputs)


def read_mutated(name: str, number: int, seed: int, folder: Path) -> None:
    """In the sandbox: make the `number`-th input of a reader, and read it."""
    path = folder / name.replace(" ", "-") / TARGETS[name].file
    chance = random.Random(f"{seed} {name} {number}")
    path.write_bytes(mutate(_seeds(name, path), TARGETS[name].kind, chance))
    check(TARGETS[name].read(path))


def read_endless(names: Iterable[str], folder: Path) -> Outcome:
    """A file of eight gigabytes that begins as it should is refused, or read, within `MEMORY` and minutes."""
    outcome = Outcome("endless files")
    for address_space in (MEMORY, ENDLESS + MEMORY):
        with make_sandbox(address_space) as sandbox:
            chosen = [name for name in names if (name in MAPPED) == (address_space > MEMORY)]
            inputs = ((name, make_endless(name, folder / name.replace(" ", "-"))) for name in chosen)
            read_all(outcome, sandbox, "tools.attack.readers:read_file", inputs)
    return outcome


def make_endless(name: str, folder: Path) -> Path:
    """A valid file of a reader that goes on with eight gigabytes of zeros, which take no room on the disk."""
    path = folder / TARGETS[name].file
    content = _seeds(name, path)[0]
    path.write_bytes(pickle.dumps(json.loads(content)) if TARGETS[name].kind == "pickle" else content)
    os.truncate(path, ENDLESS)
    return path


def read_file(name: str, path: Path) -> None:
    """In the sandbox: read a file in less than `MEMORY` bytes that are really taken, pages of mapped files included."""
    before = _memory("VmRSS")
    try:
        TARGETS[name].read(path)
    finally:
        used_bytes = _memory("VmHWM") - before
        assert used_bytes < MEMORY, f"{used_bytes:,} bytes of memory were taken"


def _memory(kind: str) -> int:
    """Bytes that this process takes (VmRSS), or took at most (VmHWM); 0 where the system does not say."""
    with suppress(OSError):
        match = re.search(rf"^{kind}:\s*(\d+) kB", Path("/proc/self/status").read_text(), re.MULTILINE)
        return int(match[1]) << 10 if match else 0
    return 0


@cache
def _seeds(name: str, path: Path) -> list[bytes]:
    path.parent.mkdir(parents=True, exist_ok=True)
    return TARGETS[name].prepare(path.parent)


def _texts(*seeds: str) -> Seeds:
    return lambda folder: [seed.encode() for seed in seeds]


def _json(*values: Any) -> Seeds:
    return _texts(*map(json.dumps, values))


def check(value: Any, name: str = "") -> None:
    """What a reader accepts is sane, at any depth: text that can be written, times within a video, shares in [0, 1]."""
    if isinstance(value, str):
        value.encode()
    elif isinstance(value, float):
        highest = {"time": LONGEST_VIDEO, "start": LONGEST_VIDEO, "end": LONGEST_VIDEO, "score": 1, "confidence": 1}
        assert name not in highest or 0 <= value <= highest[name], f"{name} {value!r:.40}"
    elif isinstance(value, np.ndarray):
        assert name != "times" or np.isfinite(value).all(), "times that are not numbers"
    elif is_dataclass(value):
        for field in fields(value):
            check(getattr(value, field.name), field.name)
    elif isinstance(value, Mapping):
        for key, part in value.items():
            check(key)
            check(part)
    elif isinstance(value, list | tuple | Iterator):
        for part in value:
            check(part, name)


def _read_corpus(path: Path) -> Any:
    corpus = open_corpus(path.parent)
    for video in corpus.videos.values():
        for file in (video.video, video.landmarks, video.subtitles):
            assert file is None or file.resolve().is_relative_to(corpus.folder.resolve()), f"{file} is outside"
    return corpus.videos


def _read_dictionary(path: Path) -> Any:
    return open_dictionary(path.parent if path.suffix != ".pkl" else path).contents


def _read_store(path: Path) -> Any:
    for suffix in ("-wal", "-shm", "-journal"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    with open_store(path.parent, timeout=0) as store:
        parts = [store.settings(), list(store.videos()), list(store.queries()), list(stored_spottings(store, 0.5))]
        return [*parts, _rows([candidate.as_spotting() for _, candidate in store.evidence()])]


def _rows(spottings: list[Spotting]) -> list[str]:
    """Spottings as they are written."""
    return [json.dumps(row, allow_nan=False, ensure_ascii=False) for row in to_rows(spottings)]


def _read_archive(path: Path) -> None:
    for track in open_archive(path.parent).tracks:
        check([track.video, track.encoder])
        assert track.codes is None or len(track.codes) == track.grid.frames


def _read_packed(path: Path) -> None:
    """Find a person in an archive, and take them out."""
    for step in in_file(Person("a"), path):
        step.act()


# Seeds.

SPOTTINGS = [
    Spotting("apple", "news.mp4", 1.5, 1.2, 1.8, 0.75, "apple/1", "a", mirrored=True, false_alarms_per_hour=2.5),
    Spotting("ice cream", "news.mp4", 3.0, 2.5, 3.5, 0.5, source=LabelSource.VERIFIED, decision="no"),
    Spotting("Bär → ☃", "news.mp4", 3.1, 2.6, 3.4, 1.0, source=LabelSource.MOUTHING),
]
SRT = "1\n00:00:01,000 --> 00:00:02,500\nI like <i>apples</i>.\n\n2\n00:01:03,5 --> 0:01:04,000\n[A] (B) JO: No!\n"
VTT = (
    "WEBVTT - x\n\nNOTE a\nb\n\nSTYLE\n::cue {}\n\na\n00:01.000 --> 00:02.000 align:left\n<c.y>Hi</c> &amp; {\\an8}\n\n"
    "00:00:03.000 --> 00:00:04.000\n♪ <00:00:03.5>la # la\n"
)
TTML = (
    '<?xml version="1.0" encoding="UTF-8"?>\n<tt xmlns="http://www.w3.org/ns/ttml" xmlns:t="urn:x" t:frameRate="25"'
    ' t:frameRateMultiplier="1000 1001" t:tickRate="10"><head/><body begin="1s"><div dur="9s"><p begin="00:00:01.500"'
    ' end="00:00:03:12">Hello<br/>you <span begin="10f" dur="5t">there</span></p></div></body></tt>'
)
ECV = (
    '<CV_RESOURCE><CONTROLLED_VOCABULARY CV_ID="x"><CV_ENTRY_ML CVE_ID="c1"><CVE_VALUE LANG_REF="nld">'
    "apple</CVE_VALUE></CV_ENTRY_ML></CONTROLLED_VOCABULARY></CV_RESOURCE>"
)
BOBSL = {"train": {"apple": {"names": ["a", "b"], "global_times": [1.5, 2], "probs": [0.5, 1]}}, "test": {}}
COLUMNS = {"episode_name": ["a", "b"], "annot_word": ["x", "y"], "annot_time": [1.5, 2], "annot_prob": [0.5, 1]}
BSLDICT = {
    "words": ["apple", "pear"],
    "words_to_id": {"apple": 0, "pear": 1},
    "videos": {
        "name": ["apple_1.mp4", "pear_1.mp4"],
        "word": ["apple", "pear"],
        "alternative_words": [["pear"], []],
        "video_link_db": ["http://127.0.0.1:9/a.mp4", ""],
        "bbox": [[0, 0, 1, 1], [0.1, 0.1, 0.9, 0.9]],
        "temp_interval": [[3, 20], [0, 5]],
        "features": {"mlp": [[0.6, 0.8], [1.0, 0.0]]},
    },
}
LABELS = (
    {"word": "apple", "video": "a", "time": 1.5, "confidence": 0.9, "source": "M", "at": "end"},
    {"word": "pear", "video": "a", "time": 1.5, "source": "V", "start": 1.2, "end": 1.8, "at": "span"},
)
SIGN = {"video": "a", "index": 0, "word": "apple", "start": 1.0, "end": 2.0, "variant": "v", "signer": "s"}
SIGN |= {"exemplars": ["e1"], "listed": True, "fingerspelled": False, "mouthed": True, "subtitle": 0}
EXEMPLAR = {"exemplar": "e1", "word": "apple", "start": 0.0, "end": 1.0, "variant": "v", "signer": "s", "sign": "flat"}
EXEMPLAR |= {"fingerspelled": False}
FETCHED = {"name": "a.mp4", "url": "http://127.0.0.1:9/a", "bytes": 3, "sha256": "0" * 64, "when": "2026"}
SPLITS = {"train": ["a"], "test": ["b"], "words": {"all": ["x", "y"], "train": ["x"], "test": ["y"]}}


def _spottings(suffix: str) -> Seeds:
    def prepare(folder: Path) -> list[bytes]:
        written = [write(SPOTTINGS[:count], folder / f"seed{count}{suffix}") for count in (1, 3)]
        return [path.read_bytes() for paths in written for path in paths]

    return prepare


def _corpus(folder: Path) -> list[bytes]:
    for name in ("videos/a.pose", "videos/a.vtt", "videos/b.mp4"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(b"")
    paths = {"landmarks": "videos/a.pose", "subtitles": "videos/a.vtt"}
    videos = [{"id": "a", **paths, "signer": "s", "split": "train"}, {"id": "b", "video": "videos/b.mp4"}]
    return [json.dumps({"format": FORMAT, "version": 1, "options": {"words": 3}, "videos": videos}).encode()]


def _pose(folder: Path) -> list[bytes]:
    return [write_landmarks(make_landmarks(count), folder / "seed.pose").read_bytes() for count in (1, 3)]


def _dictionary(folder: Path) -> list[bytes]:
    for name in ("apple.pose", "pear.pose"):
        write_landmarks(make_landmarks(2), folder / name)
    exemplars = [
        {"id": "a/1", "file": "apple.pose", "signer": "s", "bbox": [0, 0, 1, 1], "segment": [0.0, 0.04]},
        {"id": "a/2", "url": "http://127.0.0.1:9/a.mp4", "variant": "b", "licence": "x", "source": "y"},
    ]
    words = {"apple": {"synonyms": ["pear"], "exemplars": exemplars}, "pear": {"exemplars": [{"file": "pear.pose"}]}}
    return [json.dumps({"format": "signspot-dictionary", "version": 1, "words": words}).encode()]


def _table(folder: Path) -> list[bytes]:
    _dictionary(folder)
    plain = "file,word,signer,start,end\napple.pose,apple,x,0.0,0.04\npear.pose,ice cream,,,\n"
    spottings = 'video;word;time;score;decision\napple.pose;"app;le";1;0,5;no\npear.pose;pear;1;1;yes\n'
    return [plain.encode(), spottings.encode(), plain.replace(",", "\t").encode("utf-16")]


def _embeddings(folder: Path) -> list[bytes]:
    exemplar = Exemplar("apple", "a", embedding=np.array([0.6, 0.8], np.float32), encoder="e")
    name, _ = write_embeddings([exemplar], folder)
    words = {"apple": {"exemplars": [{"id": "a", "embedding": ["e", 0]}]}}
    (folder / "dictionary.json").write_text(json.dumps({"embeddings": "embeddings.safetensors", "words": words}))
    return [(folder / name).read_bytes()]


def _store(folder: Path) -> list[bytes]:
    query = SubtitleQuery(
        *("v", 0, "apple", Form.ORIGINAL, 0, 5, 1, "apple", 1.0, 2.0, 0.0, 6.0, 2, 0.8, 1, 0.5, 0.5, 0)
    )
    candidate = Candidate(*("v", 0, "apple", 1, 1.5, 1.2, 1.8, 0.8, "a/1", "", False, 2, 1, 0.7, 0.75, 1, 0.5, 0.5, 0))
    with open_store(folder / "seed", create=True) as store:
        store.add(Findings(VideoRecord("v", "d", 9.0), {"apple": "k"}, (query,), (candidate,)))
    with closing(sqlite3.connect(folder / "seed" / "annotations.sqlite")) as connection:
        connection.execute("pragma journal_mode=DELETE")
    content = (folder / "seed" / "annotations.sqlite").read_bytes()
    shutil.rmtree(folder / "seed")
    return [content]


def _track(folder: Path) -> list[bytes]:
    codes = np.ones((28, 2), np.float16)
    track = Track(np.eye(4, 8, dtype=np.float32), Grid(25.0, 16, 4, 28), "encoder", "v", "s", codes)
    return [write_track(track, folder / "seed").read_bytes()]


def _gallery(folder: Path) -> list[bytes]:
    gallery = Gallery.of([Exemplar("apple", "a"), Exemplar("pear", "p")], np.eye(2, 4, dtype=np.float32))
    return [write_gallery(gallery, folder / "seeds").read_bytes()]


def _weights(folder: Path) -> list[bytes]:
    """Of a small encoder: in a small file mutations meet the header, in a large one hardly ever."""
    sizes = dict.fromkeys(("width", "hand_width", "last_width", "features", "hidden", "dimension"), 8)
    path = folder / "seed.safetensors"
    save_encoder(make_encoder("small", build("landmark", **sizes, part_width=4)), path)
    return [path.read_bytes()]


def _packed(kind: str) -> Seeds:
    def prepare(folder: Path) -> list[bytes]:
        (folder / "packed" / "videos").mkdir(parents=True)
        (folder / "packed" / "videos" / "a.mp4").write_bytes(b"film" * 50)
        (folder / "packed" / "b.pose").write_bytes(b"landmarks")
        return [Path(shutil.make_archive(str(folder / "seed"), kind, folder / "packed")).read_bytes()]

    return prepare


def _read_spottings(path: Path) -> Any:
    return _rows(read_spottings(path))


_SPOTTINGS = {".jsonl": "lines", ".csv": "text", ".vtt": "text", ".via.json": "json", ".bobsl.json": "json"}
_SPOTTINGS |= {".eaf": "text", ".parquet": "bytes"}
TARGETS: dict[str, Target] = {
    **{f"spottings{s}": Target(f"x{s}", kind, _spottings(s), _read_spottings) for s, kind in _SPOTTINGS.items()},
    "bobsl": Target("x.json", "json", _json(COLUMNS, BOBSL), _read_spottings),
    "bobsl pickle": Target("x.pkl", "pickle", _json(COLUMNS), _read_spottings),
    "ecv": Target("x.ecv", "text", _texts(ECV), read_vocabulary),
    "srt": Target("x.srt", "text", _texts(SRT), read_subtitles),
    "vtt": Target("x.vtt", "text", _texts(VTT), read_subtitles),
    "ttml": Target("x.ttml", "text", _texts(TTML), read_subtitles),
    "labels": Target("labels/x.jsonl", "lines", _json(*LABELS), lambda path: read_labels(path.parent, {"a"})),
    "corpus.json": Target("corpus.json", "json", _corpus, _read_corpus),
    "splits.json": Target("splits.json", "json", _json(SPLITS), read_splits),
    "truth": Target(
        "truth/signs/a.jsonl", "lines", _json(SIGN), lambda path: Corpus(path.parents[2], {}, {}).signs("a")
    ),
    "truth of exemplars": Target(
        "truth/exemplars/a.jsonl",
        "lines",
        _json(EXEMPLAR),
        lambda path: Corpus(path.parents[2], {}, {}).exemplar_truths(),
    ),
    "dictionary.json": Target("dictionary.json", "json", _dictionary, _read_dictionary),
    "dictionary table": Target("dictionary.csv", "text", _table, _read_dictionary),
    "dictionary embeddings": Target("embeddings.safetensors", "safetensors", _embeddings, _read_dictionary),
    "bsldict": Target("bsldict_v1.pkl", "pickle", _json(BSLDICT), _read_dictionary),
    "fetched.jsonl": Target("fetched.jsonl", "lines", _json(FETCHED), lambda path: read_manifest(path.parent)),
    "store": Target("annotations.sqlite", "sqlite", _store, _read_store),
    "track": Target("x.safetensors", "safetensors", _track, read_track),
    "gallery": Target("x.safetensors", "safetensors", _gallery, read_gallery),
    "archive": Target("x.safetensors", "safetensors", _track, _read_archive),
    "pose": Target("x.pose", "bytes", _pose, lambda path: check(open_landmarks(path).times, "times")),
    "encoder weights": Target("x.safetensors", "safetensors", _weights, load_encoder),
    "word list": Target("x.txt", "text", _texts("apple\nice cream\n", "\ufeffBär\r\n"), read_word_list),
    "zip to forget in": Target("x.zip", "bytes", _packed("zip"), _read_packed),
    "tar to forget in": Target("x.tar.gz", "bytes", _packed("gztar"), _read_packed),
}
