"""A tiny corpus of real videos: a bar that moves right, a bar that moves down and a square at rest are three signs."""

import json
from pathlib import Path

import numpy as np

from signspot.corpus.corpus import Corpus, open_corpus
from signspot.dictionary.dictionary import Contents
from signspot.dictionary.json_file import write_json
from signspot.types import Exemplar, Segment
from signspot.video.writer import write_video

WORDS = ("apple", "dog", "tree")
MOVES = {"apple": (0, 4), "dog": (3, 0), "tree": (0, 0)}  # pixels a frame, down and right
SHAPES = {"apple": (30, 6), "dog": (6, 36), "tree": (20, 24)}  # pixels, height and width
SIGN, REST = 10, 6  # frames
FPS = 25.0


def sign(word: str, shade: int) -> list[np.ndarray]:
    """(H, W, 3) pictures of a light shape on a dark ground."""
    pictures = []
    for frame in range(SIGN):
        picture = np.full((48, 64, 3), shade, np.uint8)
        top, left = (8 + step * frame for step in MOVES[word])
        height, width = SHAPES[word]
        picture[top : top + height, left : left + width] = 255 - shade
        pictures.append(picture)
    return pictures


def film(words: list[str], shade: int, path: Path) -> list[float]:
    """Sign words one after the other; give when each ends, in seconds."""
    pictures, ends = [], []
    for word in words:
        pictures += [np.full((48, 64, 3), shade, np.uint8)] * REST + sign(word, shade)
        ends.append(len(pictures) / FPS)
    write_video(path, [*pictures, *pictures[-1:] * REST], FPS)
    return ends


def filmed_corpus(folder: Path) -> Corpus:
    """Three videos to train on and one to test, labelled at the end of each sign, and two exemplars per word."""
    (folder / "videos").mkdir(parents=True)
    (folder / "labels").mkdir()
    random = np.random.default_rng(1)
    names = ("train-1", "train-2", "train-3", "test-1")
    for number, name in enumerate(names):
        words = [str(word) for word in random.permutation(list(WORDS) * 3)]
        ends = film(words, 10 + 15 * number, folder / "videos" / f"{name}.mp4")
        (folder / "videos" / f"{name}.vtt").write_text(
            f"WEBVTT\n\n00:00:00.000 --> 00:00:0{round(ends[-1])}.000\nthe apple, the dog and the tree\n"
        )
        labels = [
            {"word": w, "video": name, "time": end, "confidence": 0.9} for w, end in zip(words, ends, strict=True)
        ]
        (folder / "labels" / f"{name}.jsonl").write_text("".join(json.dumps(label) + "\n" for label in labels))
    split = {"all": WORDS, "train": WORDS[:2], "test": WORDS[2:]}
    (folder / "splits.json").write_text(json.dumps({"train": names[:3], "test": names[3:], "words": split}))
    exemplars = []
    for word in WORDS:
        for take in (1, 2):
            path = folder / "dictionary" / f"{word}-{take}.mp4"
            path.parent.mkdir(exist_ok=True)
            film([word], 60 * take - 50, path)
            inside = Segment(REST / FPS, (REST + SIGN) / FPS)
            exemplars.append(Exemplar(word, f"{word}-{take}", path, segment=inside))
    write_json(Contents(tuple(exemplars)), folder / "dictionary")
    return open_corpus(folder)
