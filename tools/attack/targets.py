"""Readers of strangers' files: the seeds of each, how it is called, and what may be said of all that it accepts."""

import json
import math
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from signspot.annotation.records import Candidate, Findings, SubtitleQuery, VideoRecord
from signspot.annotation.search import read_gallery, write_gallery
from signspot.annotation.statistics import spottings as stored_spottings
from signspot.annotation.store import open_store
from signspot.cli.train import training_kinds
from signspot.corpus.corpus import FORMAT, Corpus, open_corpus
from signspot.corpus.labels import read_labels
from signspot.corpus.truth import read_splits
from signspot.dictionary.dictionary import Dictionary
from signspot.dictionary.download import read_manifest
from signspot.dictionary.opening import open_dictionary
from signspot.embedding.exemplars import Gallery
from signspot.embedding.tracks import read_track, write_track
from signspot.formats.elan import list_tiers, read_vocabulary
from signspot.formats.formats import read_spottings, write
from signspot.formats.rows import to_rows
from signspot.landmarks.landmarks import FACE_POINTS, Landmarks
from signspot.landmarks.pose_file import open_landmarks, write_landmarks
from signspot.subtitles.reading import read_subtitles
from signspot.training.configuration import read_training
from signspot.types import Exemplar, Grid, Label, LabelSource, Spotting, Track
from signspot.words.match import Form
from signspot.words.synonyms import PARTS_OF_SPEECH, WordNet

REPOSITORY = Path(__file__).parent.parent.parent
LONGEST_VIDEO = 2**32 / 1000  # seconds


@dataclass(frozen=True)
class Target:
    """A reader under attack."""

    name: str
    file: str  # the mutated file's name in its folder
    kind: str  # of mutations
    prepare: Callable[[Path], list[bytes]]  # makes all that lies around the file, and gives seeds
    read: Callable[[Path], object]  # given the file


def _sane_time(value: float | None) -> None:
    assert value is None or (isinstance(value, float | int) and 0 <= value <= LONGEST_VIDEO), f"time {value!r:.40}"


def sane_text(*values: str) -> None:
    """Text can be written again."""
    for value in values:
        assert isinstance(value, str), f"text {value!r:.40}"
        value.encode()


def sane_spottings(spottings: Iterable[Spotting]) -> None:
    """Check the promises of every reader of spottings, on which writers and the terminal rely."""
    found = list(spottings)
    for row in to_rows(found):
        json.dumps(row, allow_nan=False, ensure_ascii=False).encode()
    for spotting in found:
        assert spotting.false_alarms_per_hour is None or math.isfinite(spotting.false_alarms_per_hour)


def _sane_dictionary(dictionary: Dictionary) -> None:
    for exemplar in dictionary.exemplars:
        sane_text(exemplar.word, exemplar.id, exemplar.signer, exemplar.source, exemplar.licence, exemplar.variant)
        if exemplar.segment is not None:
            _sane_time(exemplar.segment.start)
            _sane_time(exemplar.segment.end)


def _sane_corpus(corpus: Corpus) -> None:
    for name, video in corpus.videos.items():
        sane_text(name, video.signer, video.split)
        for path in (video.video, video.landmarks, video.subtitles):
            assert path is None or path.resolve().is_relative_to(corpus.folder.resolve()), f"{path} is outside"


def _sane_labels(labels: Iterable[Label]) -> None:
    for label in labels:
        sane_text(label.word, label.video)
        for time in (label.time, label.start, label.end):
            _sane_time(time)
        assert 0 <= label.confidence <= 1, f"confidence {label.confidence!r:.40}"
        assert label.segment.start <= label.segment.end


def _read_signs(path: Path) -> None:
    for sign in _truth_corpus(path).signs("a"):
        sane_text(sign.word, sign.video, sign.variant, *sign.exemplars)
        _sane_time(sign.start)
        _sane_time(sign.end)
        assert sign.start <= sign.end
        assert isinstance(sign.index, int)


def _read_mentions(path: Path) -> None:
    for mention in _truth_corpus(path).mentions("a"):
        sane_text(mention.word, mention.video)
        _sane_time(mention.signing_start)
        _sane_time(mention.signing_end)
        assert all(isinstance(number, int) for number in (mention.subtitle, mention.first, *mention.signs))


def _read_exemplars(path: Path) -> None:
    for name, truth in _truth_corpus(path).exemplar_truths().items():
        sane_text(name, truth.word, truth.variant, truth.signer, truth.sign)
        _sane_time(truth.start)
        assert truth.segment.duration >= 0


SPOTTINGS = [
    Spotting("apple", "news.mp4", 1.5, 1.2, 1.8, 0.75, "apple/1", "a", mirrored=True, false_alarms_per_hour=2.5),
    Spotting("ice cream", "news.mp4", 3.0, 2.5, 3.5, 0.5, source=LabelSource.VERIFIED, decision="no"),
    Spotting("Bär → ☃", "news.mp4", 3.1, 2.6, 3.4, 1.0, source=LabelSource.MOUTHING),
]


def _spotting_seeds(suffix: str) -> Callable[[Path], list[bytes]]:
    def prepare(folder: Path) -> list[bytes]:
        names = [folder / f"seed{number}{suffix}" for number in range(3)]
        for number, path in enumerate(names):
            write(SPOTTINGS[:number] if number < 2 else SPOTTINGS, path)
        return [path.read_bytes() for path in names if path.is_file()]

    return prepare


def _texts(*seeds: str) -> Callable[[Path], list[bytes]]:
    return lambda folder: [seed.encode() for seed in seeds]


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
EAF = (
    '<ANNOTATION_DOCUMENT><HEADER><MEDIA_DESCRIPTOR MEDIA_URL="file:///a.mp4" RELATIVE_MEDIA_URL="./a.mp4"/></HEADER>'
    '<TIME_ORDER><TIME_SLOT TIME_SLOT_ID="t1" TIME_VALUE="0"/><TIME_SLOT TIME_SLOT_ID="t2"/>'
    '<TIME_SLOT TIME_SLOT_ID="t3" TIME_VALUE="900"/></TIME_ORDER><TIER TIER_ID="RH-IDgloss" LINGUISTIC_TYPE_REF="g">'
    '<ANNOTATION><ALIGNABLE_ANNOTATION ANNOTATION_ID="a1" TIME_SLOT_REF1="t1" TIME_SLOT_REF2="t2"><ANNOTATION_VALUE>X'
    '</ANNOTATION_VALUE></ALIGNABLE_ANNOTATION></ANNOTATION><ANNOTATION><ALIGNABLE_ANNOTATION ANNOTATION_ID="a2" '
    'TIME_SLOT_REF1="t2" TIME_SLOT_REF2="t3"><ANNOTATION_VALUE>Y</ANNOTATION_VALUE></ALIGNABLE_ANNOTATION></ANNOTATION>'
    '</TIER><TIER TIER_ID="gloss 2" PARENT_REF="RH-IDgloss"><ANNOTATION><REF_ANNOTATION ANNOTATION_ID="a3" '
    'ANNOTATION_REF="a1"><ANNOTATION_VALUE>Z</ANNOTATION_VALUE></REF_ANNOTATION></ANNOTATION></TIER>'
    "</ANNOTATION_DOCUMENT>"
)
BOBSL_COLUMNS = {
    "episode_name": ["a", "b"],
    "annot_word": ["apple", "pear"],
    "annot_time": [1.5, 2],
    "annot_prob": [0.5, 1],
    "annot_type": ["M", "D"],
}
BOBSL = {"train": {"apple": {"names": ["a", "b"], "global_times": [1.5, 2], "probs": [0.5, 1]}}, "test": {}}
BSLDICT = {
    "words": ["apple", "pear"],
    "words_to_id": {"apple": 0, "pear": 1},
    "words_normalised": ["apple", "pear"],
    "videos": {
        "name": ["apple_1.mp4", "pear_1.mp4"],
        "word": ["apple", "pear"],
        "alternative_words": [["pear"], []],
        "see_also_db": ["/sign/pear", None],
        "video_link_db": ["http://127.0.0.1:9/a.mp4", ""],
        "youtube_identifier_db": ["", "abc"],
        "source_site_db": ["x", "y"],
        "bbox": [[0, 0, 1, 1], [0.1, 0.1, 0.9, 0.9]],
        "temp_interval": [[3, 20], [0, 5]],
        "features": {"mlp": [[0.6, 0.8], [1.0, 0.0]]},
    },
}


def _eaf_seeds(folder: Path) -> list[bytes]:
    return [*_spotting_seeds(".eaf")(folder), EAF.encode()]


def _parquet_seeds(folder: Path) -> list[bytes]:
    """Ours, and tables with columns of other types."""
    import pyarrow as arrow
    from pyarrow import parquet

    odd: list[dict[str, list[Any]]] = [
        {"word": ["a", None], "time": [1, 2]},
        {"word": ["a", "b"], "time": ["1.5", "x"]},
        {"word": [1, 2], "time": [1.5, -2.0], "score": [99.0, math.nan]},
        {"word": ["a", "b"], "time": [[1], [2]], "mirrored": ["yes", None]},
        {"word": [b"a", b"\xff"], "time": [2**62, -5]},
        {"word": ["a"], "time": [1.0], "start": [3.0], "end": [2.0], "source": ["Q"], "decision": [b"no"]},
    ]
    seeds = _spotting_seeds(".parquet")(folder)
    for columns in odd:
        parquet.write_table(arrow.table(columns), folder / "odd.parquet")
        seeds.append((folder / "odd.parquet").read_bytes())
    return seeds


def _json_seeds(*values: Any) -> Callable[[Path], list[bytes]]:
    return lambda folder: [json.dumps(value).encode() for value in values]


def corpus_seeds(folder: Path) -> list[bytes]:
    """A corpus of two videos, whose files lie in the folder."""
    for name in ("videos/a.pose", "videos/a.vtt", "videos/b.mp4"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(b"")
    videos = [
        {"id": "a", "landmarks": "videos/a.pose", "subtitles": "videos/a.vtt", "signer": "s", "split": "train"},
        {"id": "b", "video": "videos/b.mp4"},
    ]
    return [json.dumps({"format": FORMAT, "version": 1, "options": {"words": 3}, "videos": videos}).encode()]


def _read_corpus(path: Path) -> None:
    corpus = open_corpus(path.parent)
    _sane_corpus(corpus)
    for name in corpus.videos:
        corpus.signs(name)


def _truth_corpus(path: Path) -> Corpus:
    """A corpus whose truth the file is, wherever it lies below."""
    return Corpus(path.parent.parent.parent, {}, {})


def dictionary_seeds(folder: Path) -> list[bytes]:
    """A dictionary of two words, whose files lie in the folder."""
    for name in ("apple.pose", "pear.pose"):
        write_landmarks(_landmarks(2), folder / name)
    exemplars = [
        {"id": "a/1", "file": "apple.pose", "signer": "s", "bbox": [0, 0, 1, 1], "segment": [0.0, 0.04]},
        {"id": "a/2", "url": "http://127.0.0.1:9/a.mp4", "variant": "b", "licence": "x", "source": "y"},
    ]
    words = {
        "apple": {"normalised": "apple", "synonyms": ["pear"], "exemplars": exemplars},
        "pear": {"exemplars": [{"file": "pear.pose"}]},
    }
    return [json.dumps({"format": "signspot-dictionary", "version": 1, "words": words}).encode()]


def table_seeds(folder: Path) -> list[bytes]:
    """Tables of a dictionary, whose files lie in the folder."""
    dictionary_seeds(folder)
    plain = "file,word,signer,start,end\napple.pose,apple,x,0.0,0.04\npear.pose,ice cream,,,\n"
    spottings = 'video;word;time;score;decision\napple.pose;"app;le";1;0,5;no\npear.pose;pear;1;1;yes\n'
    return [plain.encode(), spottings.encode(), plain.replace(",", "\t").encode("utf-16")]


def _embedding_seeds(folder: Path) -> list[bytes]:
    """The embeddings of a dictionary whose JSON lies beside them."""
    exemplar = Exemplar("apple", "a", embedding=np.array([0.6, 0.8], np.float32), encoder="e")
    from signspot.dictionary.json_file import write_embeddings

    name, _ = write_embeddings([exemplar], folder)
    words = {"apple": {"exemplars": [{"id": "a", "embedding": ["e", 0]}]}}
    (folder / "dictionary.json").write_text(json.dumps({"embeddings": "embeddings.safetensors", "words": words}))
    content = (folder / name).read_bytes()
    (folder / name).unlink()
    return [content]


def _landmarks(frames: int) -> Landmarks:
    chance = np.random.default_rng(0)
    shapes = ((33, 4), (21, 3), (21, 3), (len(FACE_POINTS), 3))
    body, left, right, face = (chance.random((frames, *shape), np.float32) for shape in shapes)
    return Landmarks(body, left, right, face, np.arange(frames) / 25, (64, 48))


def landmarks_file(path: Path, frames: int) -> Path:
    """Write a `.pose` file."""
    return write_landmarks(_landmarks(frames), path)


def _store_seeds(folder: Path) -> list[bytes]:
    query = SubtitleQuery(
        *("v", 0, "apple", Form.ORIGINAL, 0, 5, 1, "apple", 1.0, 2.0, 0.0, 6.0, 2, 0.8, 1, 0.5, 0.5, 0)
    )
    candidate = Candidate(*("v", 0, "apple", 1, 1.5, 1.2, 1.8, 0.8, "a/1", "", False, 2, 1, 0.7, 0.75, 1, 0.5, 0.5, 0))
    with open_store(folder / "seed", create=True) as store:
        store.claim({"keep": "0.5", "panel": "[]"})
        store.add(Findings(VideoRecord("v", "d", 9.0), {"apple": "k"}, (query,), (candidate,)))
        store.fail(VideoRecord("w", "", 0.0, "it cannot be read"))
    import sqlite3

    connection = sqlite3.connect(folder / "seed" / "annotations.sqlite")
    connection.execute("pragma journal_mode=DELETE")
    connection.execute("vacuum")
    connection.close()
    content = (folder / "seed" / "annotations.sqlite").read_bytes()
    shutil.rmtree(folder / "seed")
    return [content]


def _read_store(path: Path) -> None:
    for suffix in ("-wal", "-shm", "-journal"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    with open_store(path.parent, timeout=0) as store:
        store.settings()
        store.keys()
        store.videos()
        list(store.queries())
        for _, candidate in store.evidence():
            sane_spottings([candidate.as_spotting()])
        list(stored_spottings(store, 0.5))


def _track_seeds(folder: Path) -> list[bytes]:
    rows = np.eye(4, 8, dtype=np.float32)
    track = Track(rows, Grid(25.0, 16, 4, 28), "encoder", "v", "s", np.ones((28, 2), np.float16))
    return [write_track(track, folder / "seed.safetensors").read_bytes()]


def _read_track(path: Path) -> None:
    track = read_track(path)
    sane_text(track.encoder, track.source)
    assert all(isinstance(value, int) for value in (track.grid.window, track.grid.stride, track.grid.frames))
    assert math.isfinite(track.grid.origin)
    assert np.isfinite(track.grid.times).all()


def _gallery_seeds(folder: Path) -> list[bytes]:
    gallery = Gallery.of([Exemplar("apple", "a"), Exemplar("pear", "p")], np.eye(2, 4, dtype=np.float32))
    path = write_gallery(gallery, folder / "seeds")
    assert path.name == GALLERY, f"galleries have other names now: {path.name}"
    return [path.read_bytes()]


def _pose_seeds(folder: Path) -> list[bytes]:
    return [write_landmarks(_landmarks(count), folder / "seed.pose").read_bytes() for count in (1, 3)]


def _read_pose(path: Path) -> None:
    landmarks = open_landmarks(path)
    assert len(landmarks.times) < 10_000_000
    assert np.isfinite(landmarks.times).all()


def _configs(folder: Path) -> list[bytes]:
    return [path.read_bytes() for path in sorted((REPOSITORY / "configs").glob("*.toml"))]


def _read_config(path: Path) -> None:
    read_training(path, training_kinds())


WEIGHTS = REPOSITORY / "signspot" / "models" / "weights"


def _card_seeds(folder: Path) -> list[bytes]:
    name = next(iter(sorted(WEIGHTS.glob("*.safetensors"), key=lambda path: path.stat().st_size)))
    shutil.copy(name, folder / "card.safetensors")
    return [name.with_suffix(".json").read_bytes()]


def _read_card(path: Path) -> None:
    from signspot.models.checkpoints import load_encoder

    load_encoder(path.with_suffix(".safetensors"))


def _wordnet_seeds(folder: Path) -> list[bytes]:
    for part in PARTS_OF_SPEECH:
        (folder / f"index.{part}").write_text("")
        (folder / f"data.{part}").write_text("00000000 03 n 02 apple 0 pear 0 000 | fruit\n")
    return [b"  licence\napple n 1 1 @ 1 0 00000000\npear n 1 0 1 0 00000000\n"]


def _read_wordnet(path: Path) -> None:
    WordNet(path.parent).synonyms("apple")


def _spotting_targets() -> list[Target]:
    spottings = {".jsonl": "lines", ".csv": "text", ".vtt": "text", ".via.json": "json", ".bobsl.json": "json"}
    return [
        *(
            Target(f"spottings{suffix}", f"x{suffix}", kind, _spotting_seeds(suffix), _read_spottings)
            for suffix, kind in spottings.items()
        ),
        Target("spottings.eaf", "x.eaf", "text", _eaf_seeds, _read_eaf),
        Target("spottings.parquet", "x.parquet", "bytes", _parquet_seeds, _read_spottings),
        Target("bobsl", "x.json", "json", _json_seeds(BOBSL_COLUMNS, BOBSL, {"a": BOBSL_COLUMNS}), _read_spottings),
        Target("bobsl pickle", "x.pkl", "pickle", _json_seeds(BOBSL_COLUMNS), _read_spottings),
        Target("ecv", "x.ecv", "text", _texts(ECV), read_vocabulary),
        Target("srt", "x.srt", "text", _texts(SRT), _read_subtitles),
        Target("vtt", "x.vtt", "text", _texts(VTT), _read_subtitles),
        Target("ttml", "x.ttml", "text", _texts(TTML), _read_subtitles),
    ]


def _read_spottings(path: Path) -> None:
    sane_spottings(read_spottings(path))


def _read_eaf(path: Path) -> None:
    list_tiers(path)
    _read_spottings(path)


def _read_subtitles(path: Path) -> None:
    for subtitle in read_subtitles(path):
        _sane_time(subtitle.start)
        _sane_time(subtitle.end)
        assert subtitle.start <= subtitle.end
        sane_text(subtitle.text)


def _read_labels(path: Path) -> None:
    _sane_labels(read_labels(path.parent, {"a"}))


def _read_splits(path: Path) -> None:
    splits = read_splits(path)
    words = splits.words
    sane_text(*splits.train, *splits.test, *words.all, *words.train, *words.test)


def _open_dictionary(path: Path) -> None:
    _sane_dictionary(open_dictionary(path.parent if path.suffix != ".pkl" else path))


def _read_manifest(path: Path) -> None:
    read_manifest(path.parent)


def _data_seeds(folder: Path) -> list[bytes]:
    index = _wordnet_seeds(folder)
    (folder / "index.noun").write_bytes(index[0])
    return [(folder / "data.noun").read_bytes()]


SIGN = {"video": "a", "index": 0, "word": "apple", "start": 1.0, "end": 2.0, "variant": "v", "signer": "s"}
SIGN |= {"exemplars": ["e1"], "listed": True, "fingerspelled": False, "mouthed": True, "subtitle": 0}
EXEMPLAR = {"exemplar": "e1", "word": "apple", "start": 0.0, "end": 1.0, "variant": "v", "signer": "s", "sign": "flat"}
EXEMPLAR |= {"fingerspelled": False}
MENTION = {"video": "a", "subtitle": 0, "word": "apple", "first": 0, "last": 5, "signs": [0]}
MENTION |= {"signing_start": 1.0, "signing_end": 2.0}
LABELS = (
    {"word": "apple", "video": "a", "time": 1.5, "confidence": 0.9, "source": "M", "at": "end"},
    {"word": "pear", "video": "a", "time": 1.5, "source": "V", "start": 1.2, "end": 1.8, "at": "span"},
)
GALLERY = "fb5aeab3752b6322191fbe38d2acbcf2.safetensors"  # named by content
FETCHED = {"name": "a.mp4", "url": "http://127.0.0.1:9/a", "bytes": 3, "sha256": "0" * 64, "when": "2026"}
SPLITS = {"train": ["a"], "test": ["b"], "words": {"all": ["x", "y"], "train": ["x"], "test": ["y"]}}


def _own_targets() -> list[Target]:
    """Readers of signspot's own files."""
    return [
        Target("labels", "labels/x.jsonl", "lines", _json_seeds(*LABELS), _read_labels),
        Target("corpus.json", "corpus.json", "json", corpus_seeds, _read_corpus),
        Target("splits.json", "splits.json", "json", _json_seeds(SPLITS), _read_splits),
        Target("truth of signs", "truth/signs/a.jsonl", "lines", _json_seeds(SIGN), _read_signs),
        Target("truth of mentions", "truth/mentions/a.jsonl", "lines", _json_seeds(MENTION), _read_mentions),
        Target("truth of exemplars", "truth/exemplars/a.jsonl", "lines", _json_seeds(EXEMPLAR), _read_exemplars),
        Target("dictionary.json", "dictionary.json", "json", dictionary_seeds, _open_dictionary),
        Target("dictionary table", "dictionary.csv", "text", table_seeds, _open_dictionary),
        Target("dictionary embeddings", "embeddings.safetensors", "safetensors", _embedding_seeds, _open_dictionary),
        Target("bsldict", "bsldict_v1.pkl", "pickle", _json_seeds(BSLDICT), _open_dictionary),
        Target(
            "fetched.jsonl", "fetched.jsonl", "lines", _json_seeds(FETCHED), lambda path: read_manifest(path.parent)
        ),
        Target("store", "annotations.sqlite", "sqlite", _store_seeds, _read_store),
        Target("track", "x.safetensors", "safetensors", _track_seeds, _read_track),
        Target("gallery", GALLERY, "safetensors", _gallery_seeds, read_gallery),
        Target("pose", "x.pose", "bytes", _pose_seeds, _read_pose),
        Target("training TOML", "x.toml", "text", _configs, _read_config),
        Target("weight card", "card.json", "json", _card_seeds, _read_card),
        Target("wordnet index", "index.noun", "text", _wordnet_seeds, _read_wordnet),
        Target("wordnet data", "data.noun", "text", _data_seeds, _read_wordnet),
    ]


def targets() -> list[Target]:
    """All readers."""
    from tools.attack.kept_targets import kept_targets  # it builds on this module

    return [*_spotting_targets(), *_own_targets(), *kept_targets()]
