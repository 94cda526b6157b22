"""A page that shows a word's signs, and sentences with their glosses and subtitles, as videos of a rendered signer."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from signspot.io.progress import Progress, silent
from signspot.landmarks.landmarks import Landmarks
from signspot.plots.plot import text_image
from signspot.plots.result_page import Clip, clips, file_address, heading, paragraph, table, write_page
from signspot.plots.video import blend
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
_MARGIN, _LINE = 12, 18


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


def _at(texts: Sequence[tuple[str, Segment]], time: float) -> str:
    """The gloss or subtitle at a time; nothing between two."""
    return next((text for text, segment in texts if time in segment), "")


def _write_video(several: Sequence[Scene], path: Path, size: tuple[int, int], progress: Progress) -> Path:
    """Scenes one after the other, each frame above the title of its scene, its subtitle and its gloss."""
    total, done = sum(len(scene.landmarks) for scene in several), 0
    with VideoWriter(path, several[0].landmarks.fps) as writer:
        for scene in several:
            for time, image in zip(scene.landmarks.times, render(scene.landmarks, scene.appearance, size), strict=True):
                title = scene.title or _at(scene.subtitles, time)
                writer.add(np.concatenate([image, _caption(title, _at(scene.signs, time), size[0])]))
                done += 1
                progress(done, total)
    return path


@cache
def _caption(title: str, gloss: str, width: int) -> Image:
    """A band with the title and, while it is signed, the gloss."""
    band = np.full((3 * _LINE, width, 3), 255, np.uint8)
    for row, line, colour in ((4, title, "#70747c"), (4 + _LINE, gloss, "#c45c18")):
        if line:
            blend(band, text_image(line, _LINE + 4, colour), row, _MARGIN)
    return band


def write_show_page(
    corpus: CorpusPlan,
    word: str,
    path: str | Path,
    *,
    seconds: float = 15.0,
    height: int = 320,
    progress: Progress = silent,
) -> Path:
    """Write an HTML page with two videos: a word's variants and a use of it; sentences with glosses and subtitles.

    The page is one file that needs no network. Below each frame of a video are its title or subtitle, and its gloss.

    Args:
        corpus: whose words, sentences and signers are shown.
        word: of its language.
        path: the HTML file.
        seconds: about how long the signing of the sentences lasts.
        height: of the videos in pixels; their width follows from the synthetic image.
        progress: told how many frames are drawn.

    Raises:
        UnknownWordError: the language has no such word.
        OptionsError: the height is out of range.
        OutputError: the file cannot be written.
    """
    width, tall = corpus.options.size
    size = (round(height * width / tall), height)
    of_word = list(scenes(corpus.lexicon, word, seed=corpus.options.seed, size=size))
    first = next(plan for plan in corpus.videos if plan.split == "test")
    performed = perform_video(corpus, VideoPlan("page", first.signer, "test", seconds))
    sentences = Scene(
        title="",
        detail="",
        landmarks=performed.footage.exact,
        appearance=make_appearance(first.signer.appearance_seed),
        signs=tuple((sign.word, sign.segment) for sign in performed.signs),
        subtitles=tuple((" ".join(line.text.split()), Segment(line.start, line.end)) for line in performed.subtitles),
    )
    signs = ((s.word, f"{s.start:.2f}", f"{s.end:.2f}", "yes" if s.listed else "no") for s in performed.signs)
    subtitles = ((text, f"{segment.start:.2f}", f"{segment.end:.2f}") for text, segment in sentences.subtitles)
    blocks = [
        paragraph("Everything here is made from one seed."),
        clips([_clip(of_word, size, progress)]),
        table(("sign", "made of"), ((scene.title, scene.detail) for scene in of_word)),
        heading("Sentences"),
        clips([_clip([sentences], size, progress)]),
        paragraph("Subtitles come later or earlier than the signing."),
        table(("gloss", "start, s", "end, s", "in the dictionary"), signs),
        table(("subtitle", "start, s", "end, s"), subtitles),
    ]
    return write_page(path, f"{word}, in the language of seed {corpus.options.seed}", blocks)


def _clip(several: Sequence[Scene], size: tuple[int, int], progress: Progress) -> Clip:
    with TemporaryDirectory() as folder:
        return Clip(file_address(_write_video(several, Path(folder) / "clip.mp4", size, progress), "video/mp4"), "", "")
