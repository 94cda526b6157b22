"""Corpora of real continuous signing, in the product's own form, made of landmarks and of linguists' glosses.

`ira_alegria` is searched with signs cut out of `proteinas` and of the dictionary, `proteinas` with those of
`ira_alegria` and the dictionary, `same_signer` is `ira_alegria` searched with signs of the same interpreter in the
other part. Clips are split by time: the first three fifths are for development (`dev`, which is also the part that is
learned from), the rest for tests.
"""

import json
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from signspot.corpus.corpus import Corpus, Layout, open_corpus, write_json
from signspot.corpus.truth import SignTruth, write_records
from signspot.dictionary.dictionary import Dictionary
from signspot.landmarks.landmarks import FACE_POINTS, Landmarks, concatenate
from signspot.landmarks.pose_file import open_landmarks, write_landmarks
from signspot.types import Segment

DEV_SHARE = 0.6  # of the clips, the first ones
NO_WORDS = {"muletilla", "seña gestual", "nn", "descanso", "silencio"}
FPS = 29.97  # of the signs of `proteinas`
LEAST_FRAMES = 6  # of an exemplar
LEAST_HANDS = 0.5  # share of an exemplar's frames that show a hand
SEED = 0  # of drawn exemplars, labels and permutations


def make(data: Path, out: Path) -> Iterator[str]:
    """Make the corpora; says of each what is in it."""
    alegria, dictionary = read_alegria(data), read_dictionary(data)
    proteinas, instances = read_proteinas(data)
    own_signs = [
        SignCutOut(sign.word, clip.name, clip.landmarks.between(sign.segment))
        for clip in alegria
        for sign in clip.signs
    ]
    for name, clips, exemplars in (
        ("ira_alegria", alegria, [*instances, *dictionary]),
        ("proteinas", proteinas, [*own_signs, *dictionary]),
        ("same_signer", alegria, own_signs),
    ):
        corpus = make_corpus(out / name, clips, exemplars)
        yield f"{out / name}: {len(corpus.videos)} clips, {len(corpus.dictionary())} words"


@dataclass(frozen=True)
class Sign:
    """An annotated sign of a clip."""

    word: str
    segment: Segment


@dataclass(frozen=True)
class SignCutOut:
    """A sign that may be an exemplar."""

    gloss: str
    source: str  # the clip or the collection that it is cut out of
    landmarks: Landmarks


@dataclass(frozen=True)
class Clip:
    """A sentence: its landmarks and its signs."""

    name: str
    landmarks: Landmarks
    signs: tuple[Sign, ...]


def word_of(gloss: str) -> str | None:
    """The word of a gloss without accents and case, with its ñ; None for fillers and finger-spelling."""
    marked = unicodedata.normalize("NFD", gloss.lower()).replace("n\u0303", "ñ")
    plain = "".join(letter for letter in marked if not unicodedata.combining(letter)).strip()
    spelled = all(len(part) <= 1 for part in plain.split("-"))
    return None if not plain or plain in NO_WORDS or spelled else plain


def read_alegria(data: Path) -> list[Clip]:
    """The clips of the left-handed interpreter, with all landmarks."""
    packed = np.load(data / "ira_alegria.npz", allow_pickle=False)
    truth = json.loads((data / "ira_alegria.truth.json").read_text(encoding="utf-8"))
    parts = {name: packed[name] for name in ("time", "pose", "left_hand", "right_hand", "face", "start", "clip")}
    width, height = (int(side) for side in packed["size"])
    clips = []
    for number, name in enumerate(parts["clip"]):
        frames = slice(int(parts["start"][number]), int(parts["start"][number + 1]))
        landmarks = Landmarks(
            parts["pose"][frames],
            parts["left_hand"][frames],
            parts["right_hand"][frames],
            parts["face"][frames],
            parts["time"][frames],
            (width, height),
        )
        signs = _signs((gloss, start, end) for gloss, start, end, cut in truth[str(name)]["signs"] if not cut)
        clips.append(Clip(f"alegria-{int(name):03d}", landmarks, signs))
    return clips


def read_proteinas(data: Path) -> tuple[list[Clip], list[SignCutOut]]:
    """The near-continuous runs of the right-handed interpreter, and all his signs one by one; without depth or face."""
    packed = np.load(data / "proteinas_instances.npz", allow_pickle=False)
    parts = {name: packed[name] for name in packed.files}
    instances = []
    by_start: dict[float, int] = {}
    for number, gloss in enumerate(parts["gloss"]):
        frames = slice(int(parts["start"][number]), int(parts["start"][number + 1]))
        arrays = [_with_depth(parts[name][frames]) for name in ("pose", "left_hand", "right_hand")]
        visibility = np.isfinite(arrays[0][..., :1]).astype(np.float32)
        body = np.concatenate([arrays[0], visibility], axis=-1)
        instances.append(SignCutOut(str(gloss), "proteinas", _faceless(body, arrays[1], arrays[2], FPS)))
        by_start[round(float(parts["start_s"][number]), 3)] = number
    runs = json.loads((data / "proteinas_runs.truth.json").read_text(encoding="utf-8"))
    clips = []
    for name, run in runs.items():
        numbers = [_nearest(by_start, sign["src_start_s"]) for sign in run["signs"]]
        signs = _signs((sign["gloss"], sign["start_s"], sign["end_s"]) for sign in run["signs"])
        clips.append(Clip(name, join([instances[number].landmarks for number in numbers]), signs))
    return clips, instances


def read_dictionary(data: Path) -> list[SignCutOut]:
    """The isolated signs of the dictionary, cut out by the linguists' timings; without faces."""
    truth = json.loads((data / "dictionary" / "truth.json").read_text(encoding="utf-8"))
    signs = []
    for name, entry in sorted(truth.items()):
        if entry["kind"] == "isolated":
            packed = np.load(data / "dictionary" / f"{name}.npz", allow_pickle=False)
            whole = _faceless(packed["pose"], packed["left_hand"], packed["right_hand"], float(packed["fps"]))
            for sign in entry["signs"]:
                part = whole.between(Segment(sign["start_s"], sign["end_s"]))
                signs.append(SignCutOut(sign["gloss"], "pucp", part))
    return signs


def make_corpus(folder: Path, clips: Sequence[Clip], exemplars: Sequence[SignCutOut]) -> Corpus:
    """Write clips, subtitles of their glosses, truth, splits, and a dictionary of the words that both sides have."""
    layout = Layout(folder)
    signed = {sign.word for clip in clips for sign in clip.signs}
    counts: Counter[tuple[str, str]] = Counter()
    for exemplar in exemplars:
        word = word_of(exemplar.gloss)
        if word in signed and _is_usable(exemplar.landmarks):
            counts[word, exemplar.source] += 1
            name = f"{exemplar.source}-{counts[word, exemplar.source]}.pose"
            write_landmarks(exemplar.landmarks, folder / "dictionary" / word.replace("/", " ") / name)
    for clip in clips:
        write_landmarks(clip.landmarks, layout.video(clip.name, ".pose"))
        glosses = " ".join(sign.word for sign in clip.signs)
        text = f"WEBVTT\n\n00:00:00.000 --> {_clock(clip.landmarks.duration)}\n{glosses}\n"
        layout.video(clip.name, ".vtt").write_text(text, encoding="utf-8")
        truth = [_truth(clip, number, sign) for number, sign in enumerate(clip.signs)]
        write_records(truth, layout.truth("signs", clip.name))
    names = [clip.name for clip in clips]
    border = round(DEV_SHARE * len(names))
    write_json({"train": names[:border], "test": names[border:]}, layout.splits)
    return open_corpus(folder)


def part_of(corpus: Corpus, part: str) -> Corpus:
    """The clips of one part."""
    videos = corpus.in_split({"dev": "train", "test": "test"}[part])
    return replace(corpus, videos={video.id: video for video in videos})


def programme(corpus: Corpus, folder: Path, *, permuted: bool) -> Corpus:
    """All clips one after the other as one video, with a subtitle of its glosses a clip, or of another clip's."""
    layout = Layout(folder)
    clips = [open_landmarks(video.landmarks) for video in corpus.videos.values() if video.landmarks is not None]
    texts = [" ".join(sign.word for sign in corpus.signs(name)) for name in corpus.videos]
    if permuted:
        texts = [texts[at] for at in np.roll(np.arange(len(texts)), len(texts) // 2)]
    write_landmarks(join(clips), layout.video("programme", ".pose"))
    ends = np.cumsum([clip.duration for clip in clips])
    cues = zip([0.0, *ends[:-1].tolist()], ends.tolist(), texts, strict=True)
    lines = "".join(f"{_clock(start)} --> {_clock(end)}\n{text}\n\n" for start, end, text in cues)
    layout.video("programme", ".vtt").write_text(f"WEBVTT\n\n{lines}", encoding="utf-8")
    return open_corpus(folder)


def exemplars_for(corpus: Corpus) -> Dictionary:
    """The corpus's dictionary without signs that are cut out of its own clips."""
    whole = corpus.dictionary()
    usable = [
        e for word in whole for e in whole[word] if e.path and e.path.stem.rpartition("-")[0] not in corpus.videos
    ]
    return whole.with_exemplars(usable)


def few_exemplars(dictionary: Dictionary, most: int, seed: int) -> Dictionary:
    """The dictionary with at most so many exemplars of each word, drawn at random."""
    rng = np.random.default_rng(seed)
    drawn = []
    for word in sorted(dictionary):
        exemplars = dictionary[word]
        drawn += [exemplars[int(n)] for n in sorted(rng.permutation(len(exemplars))[:most])]
    return dictionary.with_exemplars(drawn)


def _signs(rows: Iterator[tuple[str, float, float]]) -> tuple[Sign, ...]:
    words = ((word_of(gloss), start, end) for gloss, start, end in rows)
    return tuple(Sign(word, Segment(start, end)) for word, start, end in words if word is not None)


def _with_depth(points: NDArray[np.float16]) -> NDArray[np.float32]:
    """(T, P, 2) points as (T, P, 3): depth is not known, and 0 stands for it."""
    return np.concatenate([points, np.where(np.isfinite(points[..., :1]), 0, np.nan)], axis=-1).astype(np.float32)


def _faceless(body: NDArray[Any], left: NDArray[Any], right: NDArray[Any], fps: float) -> Landmarks:
    face = np.full((len(body), len(FACE_POINTS), 3), np.nan, np.float32)
    return Landmarks(body, left, right, face, np.arange(len(body)) / fps, (1000, 1000))


def join(clips: Sequence[Landmarks]) -> Landmarks:
    """Landmarks that follow each other without a gap, from 0 on."""
    starts = np.cumsum([0.0, *(clip.duration for clip in clips)])
    return concatenate(
        [replace(c, times=c.times - c.times[0] + start) for c, start in zip(clips, starts[:-1], strict=True)]
    )


def _nearest(by_start: dict[float, int], start: float) -> int:
    return by_start[min(by_start, key=lambda other_start: abs(other_start - start))]


def _is_usable(landmarks: Landmarks) -> bool:
    hands = np.isfinite(landmarks.left_hand[:, 0, 0]) | np.isfinite(landmarks.right_hand[:, 0, 0])
    return len(landmarks) >= LEAST_FRAMES and float(hands.mean()) >= LEAST_HANDS


def _truth(clip: Clip, number: int, sign: Sign) -> SignTruth:
    signer = clip.name.partition("-")[0]
    span = sign.segment
    return SignTruth(clip.name, number, sign.word, span.start, span.end, "", signer, (), True, False, False, 0)


def _clock(seconds: float) -> str:
    minutes, rest = divmod(seconds, 60)
    return f"00:{int(minutes):02d}:{rest:06.3f}"
