"""Show a word's signs: a contact sheet, a short video, and a page of sentences with glosses and subtitles."""

import os
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from matplotlib import font_manager
from PIL import Image as Pictures
from PIL import ImageDraw, ImageFont

from signspot.io.files import atomic_write
from signspot.io.progress import Progress, silent
from signspot.landmarks.landmarks import Landmarks
from signspot.plots.result_page import Clip, clips, file_address, heading, paragraph, table, write_page
from signspot.types import Segment
from signspot.video.writer import VideoWriter
from signspot_synthetic.body.motion import continuous, isolated
from signspot_synthetic.body.signers import Camera, Role, make_signers
from signspot_synthetic.corpus_plan import CorpusPlan, VideoPlan
from signspot_synthetic.language.lexicon import Lexicon
from signspot_synthetic.observation import project
from signspot_synthetic.performance import perform_video
from signspot_synthetic.random_streams import named_rng
from signspot_synthetic.render.appearance import Appearance, make_appearance
from signspot_synthetic.render.canvas import Image
from signspot_synthetic.render.render import render

# Pictures for people: seen from the front, from the hips to above the head.
SHOW_CAMERA = Camera(distance=2.6, height=0.98, aim=(0.0, 0.03))
_INK, _PALE, _PAPER, _MARK = (32, 34, 38), (112, 116, 124), (255, 255, 255), (196, 92, 24)
_MARGIN, _LINE = 12, 18
_COLUMNS = 8  # pictures in a row, evenly spread over the signs


@dataclass(frozen=True, slots=True)
class Scene:
    """One performance that is shown: who signs what, and when."""

    title: str
    detail: str  # what the sign is made of, or the glosses around it
    landmarks: Landmarks
    appearance: Appearance
    signs: tuple[tuple[str, Segment], ...]  # every gloss with its time
    subtitles: tuple[tuple[str, Segment], ...] = ()  # shown where there is no title


def scenes(lexicon: Lexicon, word: str, *, seed: int = 0, size: tuple[int, int] = (256, 256)) -> Iterator[Scene]:
    """Perform a word: each variant as a dictionary shows it, then once between two other signs.

    Raises:
        UnknownWordError: the lexicon has no such word.
    """
    variants = lexicon[word].variants
    people = make_signers(len(variants), seed, Role.DICTIONARY)
    for index, (sign, signer) in enumerate(zip(variants, people, strict=True)):
        motion, segment = isolated(sign, signer, named_rng(seed, "show", word, index), word=word)
        yield Scene(
            title=f"{word}, variant {index + 1} of {len(variants)}",
            detail=str(sign),
            landmarks=project(motion, SHOW_CAMERA, size),
            appearance=make_appearance(signer.appearance_seed),
            signs=((word, segment),),
        )
    yield _in_signing(lexicon, word, seed, size)


def _in_signing(lexicon: Lexicon, word: str, seed: int, size: tuple[int, int]) -> Scene:
    """The word's first variant between two others, co-articulated."""
    rng = named_rng(seed, "show in signing", word)
    others = [other for other in lexicon if other != word and not lexicon[other].fingerspelled]
    around = [others[int(index)] for index in rng.permutation(len(others))[:2]]
    words = [*around[:1], word, *around[1:]]
    signer = make_signers(1, seed, Role.TEST)[0]
    motion, segments = continuous([lexicon[w].variants[0] for w in words], signer, rng, mouthings=words)
    return Scene(
        title=f"{word}, in signing",
        detail=" · ".join(words),
        landmarks=project(motion, SHOW_CAMERA, size),
        appearance=make_appearance(signer.appearance_seed),
        signs=tuple(zip(words, segments, strict=True)),
    )


def contact_sheet(
    lexicon: Lexicon,
    word: str,
    path: str | os.PathLike[str],
    *,
    seed: int = 0,
    size: tuple[int, int] = (192, 192),
) -> Path:
    """Write a PNG with a row of pictures for every variant of a word and one for a use in signing.

    Args:
        lexicon: holds the word.
        word: what to show.
        path: the PNG.
        seed: other signers and another use for another seed.
        size: of one picture.

    Raises:
        UnknownWordError: the lexicon has no such word.
        OutputError: the file cannot be written.
    """
    rows = [_row(scene, size) for scene in scenes(lexicon, word, seed=seed, size=size)]
    sheet = np.concatenate([*rows, np.full((_MARGIN, rows[0].shape[1], 3), _PAPER, np.uint8)])
    with atomic_write(path) as temporary:
        Pictures.fromarray(sheet).save(temporary, format="PNG")
    return Path(path)


def _row(scene: Scene, size: tuple[int, int]) -> Image:
    """One performance: a heading, pictures from its first to its last sign, and under each time and gloss."""
    start, end = scene.signs[0][1].start - 0.12, scene.signs[-1][1].end + 0.12
    last = scene.landmarks.duration - 1 / scene.landmarks.fps
    moments = [float(time) for time in np.linspace(max(0.0, start), min(end, last), _COLUMNS)]
    pictures = _shown(scene, moments)
    width = _COLUMNS * (size[0] + _MARGIN) + _MARGIN
    paper = Pictures.new("RGB", (width, size[1] + 6 * _LINE), _PAPER)
    draw = ImageDraw.Draw(paper)
    draw.text((_MARGIN, 8), scene.title, fill=_INK, font=_font(15, bold=True))
    draw.text((_MARGIN, 8 + _LINE), _cut(scene.detail, width // 7), fill=_PALE, font=_font(11))
    for column, (time, picture) in enumerate(zip(moments, pictures, strict=True)):
        x, y = _MARGIN + column * (size[0] + _MARGIN), 3 * _LINE
        gloss = _at(scene.signs, time)
        paper.paste(Pictures.fromarray(picture), (x, y))
        draw.text((x, y + size[1] + 4), f"{time:.2f} s", fill=_PALE, font=_font(11))
        draw.text((x + 52, y + size[1] + 4), gloss, fill=_MARK, font=_font(11, bold=True))
    return np.asarray(paper)


def _shown(scene: Scene, moments: list[float]) -> list[Image]:
    """The pictures at some times; each is drawn with its next frame, so that movement blurs it."""
    fps, size = scene.landmarks.fps, scene.landmarks.size
    assert size is not None
    indices = [min(round(time * fps), len(scene.landmarks) - 1) for time in moments]
    return [next(render(scene.landmarks[index : index + 2], scene.appearance, size)) for index in indices]


def _at(texts: Sequence[tuple[str, Segment]], time: float) -> str:
    """The gloss or subtitle at a time; nothing between two."""
    return next((text for text, segment in texts if time in segment), "")


def sign_video(
    lexicon: Lexicon,
    word: str,
    path: str | os.PathLike[str],
    *,
    seed: int = 0,
    size: tuple[int, int] = (320, 320),
    progress: Progress = silent,
) -> Path:
    """Write a short video: every variant of a word and a use in signing, each with a caption; errors as above."""
    return _write_video(list(scenes(lexicon, word, seed=seed, size=size)), path, size, progress)


def _write_video(
    several: Sequence[Scene], path: str | os.PathLike[str], size: tuple[int, int], progress: Progress
) -> Path:
    """Scenes one after the other, each frame above the title of its scene, its subtitle and its gloss."""
    total, done = sum(len(scene.landmarks) for scene in several), 0
    with VideoWriter(path, several[0].landmarks.fps) as writer:
        for scene in several:
            for time, image in zip(scene.landmarks.times, render(scene.landmarks, scene.appearance, size), strict=True):
                title = scene.title or _at(scene.subtitles, time)
                writer.add(np.concatenate([image, _caption(title, _at(scene.signs, time), size[0])]))
                done += 1
                progress(done, total)
    return Path(path)


@cache
def _caption(title: str, gloss: str, width: int) -> Image:
    """A band with the title and, while it is signed, the gloss."""
    paper = Pictures.new("RGB", (width, 3 * _LINE), _PAPER)
    draw = ImageDraw.Draw(paper)
    draw.text((_MARGIN, 6), _cut(title, width // 7), fill=_PALE, font=_font(12))
    draw.text((_MARGIN, 6 + _LINE), gloss, fill=_MARK, font=_font(17, bold=True))
    return np.asarray(paper)


def _cut(text: str, letters: int) -> str:
    """At most so many letters, an ellipsis for the rest."""
    return textwrap.shorten(text, max(4, letters), placeholder=" …")


@cache
def _font(size: int, *, bold: bool = False) -> ImageFont.FreeTypeFont:
    """The font that matplotlib carries with it, so that pictures look the same everywhere."""
    weight = "bold" if bold else "normal"
    return ImageFont.truetype(font_manager.findfont(f"DejaVu Sans:{weight}"), size)


def page(
    corpus: CorpusPlan, path: str | Path, *, seconds: float = 15.0, height: int = 360, progress: Progress = silent
) -> Path:
    """Write an HTML page with a video of a few synthetic sentences, and tables of its glosses and subtitles.

    The page is one file that needs no network. Below each frame of the video are its subtitle and its gloss.

    Args:
        corpus: whose words, sentences and signers are shown.
        path: the HTML file.
        seconds: about how long the signing lasts.
        height: of the video in pixels; its width follows from the synthetic image.
        progress: told how many frames are drawn.

    Raises:
        OptionsError: the height is out of range.
        OutputError: the file cannot be written.
    """
    first = next(plan for plan in corpus.videos if plan.split == "test")
    plan = VideoPlan("page", first.signer, "test", seconds)
    performed = perform_video(corpus, plan)
    width, tall = corpus.options.size
    scene = Scene(
        title="",
        detail="",
        landmarks=performed.footage.exact,
        appearance=make_appearance(plan.signer.appearance_seed),
        signs=tuple((sign.word, sign.segment) for sign in performed.signs),
        subtitles=tuple((" ".join(line.text.split()), Segment(line.start, line.end)) for line in performed.subtitles),
    )
    with TemporaryDirectory() as folder:
        video = _write_video([scene], Path(folder) / "page.mp4", (round(height * width / tall), height), progress)
        address = file_address(video, "video/mp4")
    signs = ((s.word, f"{s.start:.2f}", f"{s.end:.2f}", "yes" if s.listed else "no") for s in performed.signs)
    subtitles = ((text, f"{segment.start:.2f}", f"{segment.end:.2f}") for text, segment in scene.subtitles)
    blocks = [
        paragraph(f"{len(performed.signs)} signs, co-articulated; everything here is made from one seed."),
        clips([Clip(address, "Subtitles come later or earlier than the signing.", "")]),
        heading("Signs"),
        table(("gloss", "start, s", "end, s", "in the dictionary"), signs),
        heading("Subtitles"),
        table(("text", "start, s", "end, s"), subtitles),
    ]
    return write_page(path, f"Signing of {plan.signer.id}, corpus {corpus.options.seed}", blocks)
