"""A whole corpus is made: in parallel, file by file, so that a run that was killed goes on where it stopped."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from signspot.corpus.corpus import FORMAT, VERSION, Corpus, CorpusVideo, Layout, open_corpus, video_as_json, write_json
from signspot.corpus.truth import write_records, write_splits
from signspot.dictionary.dictionary import Contents, Dictionary
from signspot.dictionary.json_file import save_dictionary
from signspot.errors import FormatError, OptionsError, OutputError
from signspot.io.checks import parse_json
from signspot.io.files import clean_up, explain_write_failure
from signspot.io.processes import results, run_each
from signspot.io.progress import Progress, silent
from signspot.io.text import read_text
from signspot.landmarks.pose_file import write_landmarks
from signspot.types import Exemplar
from signspot.version import VERSION as SIGNSPOT_VERSION
from signspot_synthetic.corpus_plan import CorpusOptions, CorpusPlan, VideoPlan, options_as_json
from signspot_synthetic.language.subtitles import write_vtt
from signspot_synthetic.performance import SigningFootage, perform_exemplar, perform_video

GENERATOR_VERSION = 3  # raised whenever the same options would give other bytes
_EXEMPLARS_PER_ITEM = 100
Item = TypeVar("Item")
_SOURCE, _LICENCE = "signspot synthetic", "CC0-1.0"


@dataclass(frozen=True, slots=True)
class _Item:
    """One piece of work: a video, or some exemplars."""

    name: str
    first: int  # of the plans that belong to it
    last: int


def make_corpus(options: CorpusOptions, folder: str | Path, progress: Progress = silent, *, workers: int = 1) -> Corpus:
    """Make a corpus in a folder; the same options give the same bytes for any number of workers.

    A run that was stopped can be started again: finished files are checked and kept, the rest is made.

    Args:
        options: what it is to be.
        folder: a new or empty folder, or one that an earlier run with the same options has begun.
        progress: told how many items of work are done.
        workers: processes that work at once.

    Raises:
        OptionsError: a value is impossible, or the folder holds something else.
        OutputError: the folder cannot be written.
    """
    if workers < 1:
        raise OptionsError(f"workers must be at least 1; got {workers}")
    corpus, layout = _plan(options), Layout(Path(folder))
    claim_folder(describe(corpus, layout.folder), layout)
    make_items({item.name: item for item in _items(corpus)}, partial(_make, options, layout), layout, progress, workers)
    _write_dictionaries(corpus, layout)
    write_splits(corpus.splits, layout.splits)
    return open_corpus(layout.folder)


def make_items(
    items: Mapping[str, Item], make: Callable[[Item], None], layout: Layout, progress: Progress, workers: int
) -> None:
    """Make those items of a corpus, by name, that are not finished."""
    waiting = [item for name, item in items.items() if not layout.is_finished(name)]
    progress(len(items) - len(waiting), len(items))
    outcomes = run_each(make, waiting, min(workers, max(1, len(waiting))))
    for done, _ in enumerate(results(outcomes), len(items) - len(waiting) + 1):
        progress(done, len(items))


def describe(corpus: CorpusPlan, folder: Path) -> dict[str, Any]:
    """Contents of `corpus.json`: all that the corpus follows from."""
    layout = Layout(folder)
    videos = [
        CorpusVideo(
            id=plan.id,
            landmarks=layout.video(plan.id, ".pose"),
            video=layout.video(plan.id, ".mp4") if corpus.options.render else None,
            subtitles=layout.video(plan.id, ".vtt"),
            signer=plan.signer.id,
            split=plan.split,
        )
        for plan in corpus.videos
    ]
    return describe_corpus(folder, options_as_json(corpus.options), videos)


def describe_corpus(folder: Path, options: dict[str, Any], videos: Sequence[CorpusVideo]) -> dict[str, Any]:
    """Contents of `corpus.json` of a synthetic corpus."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "made_by": {"signspot": SIGNSPOT_VERSION, "generator": GENERATOR_VERSION, "numpy": np.__version__},
        "licence": _LICENCE,
        "options": options,
        "videos": [video_as_json(video, folder) for video in videos],
    }


def claim_folder(description: dict[str, Any], layout: Layout) -> None:
    """Write `corpus.json`, or check that the one that is there is of the very same corpus.

    Raises:
        OptionsError: the folder holds something else.
        OutputError: the folder cannot be written.
    """
    planned = json.loads(json.dumps(description))
    try:
        if layout.corpus.is_file():
            there = parse_json(read_text(layout.corpus, exact=True).text, str(layout.corpus))
            _compare(there, planned, layout.folder)
            clean_up(layout.folder)
            return
        if layout.folder.is_dir() and any(layout.folder.iterdir()):
            raise OptionsError(f"{layout.folder} is not empty and holds no corpus. Name a new or an empty folder")
        layout.folder.mkdir(parents=True, exist_ok=True)
    except (TypeError, AttributeError, FormatError) as error:
        raise OptionsError(f"{layout.corpus} is damaged. Name a new or an empty folder") from error
    except OSError as error:
        raise OutputError(explain_write_failure(layout.folder, error)) from error
    write_json(planned, layout.corpus)


def _compare(there: dict[str, Any], planned: dict[str, Any], folder: Path) -> None:
    for part in ("options", "made_by"):
        before, now = there.get(part, {}), planned[part]
        for name in [*now, *(set(before) - set(now))]:
            if before.get(name) != now.get(name):
                raise OptionsError(
                    f"{folder} holds a corpus made with {name} {before.get(name)!s:.60}, not {now.get(name)!s:.60}. "
                    "Use the same value to finish it, or name another folder"
                )
    if there != planned:
        raise OptionsError(f"{folder} holds another corpus. Name a new or an empty folder")


def _items(corpus: CorpusPlan) -> Iterator[_Item]:
    """All work, in the order in which it is begun."""
    for index, plan in enumerate(corpus.videos):
        yield _Item(plan.id, index, index + 1)
    for number, first in enumerate(range(0, len(corpus.exemplars), _EXEMPLARS_PER_ITEM)):
        last = min(first + _EXEMPLARS_PER_ITEM, len(corpus.exemplars))
        yield _Item(f"exemplars-{number + 1:04d}", first, last)


@lru_cache(maxsize=1)
def _plan(options: CorpusOptions) -> CorpusPlan:
    return CorpusPlan(options)


def _make(options: CorpusOptions, layout: Layout, item: _Item) -> None:
    corpus = _plan(options)
    if item.name.startswith("exemplars-"):
        files = _make_exemplars(corpus, layout, item)
    else:
        files = _make_video(corpus, layout, corpus.videos[item.first])
    layout.mark_finished(item.name, files)


def _make_video(corpus: CorpusPlan, layout: Layout, plan: VideoPlan) -> list[Path]:
    performed = perform_video(corpus, plan)
    files = [
        write_vtt(performed.subtitles, layout.video(plan.id, ".vtt")),
        write_records(performed.signs, layout.truth("signs", plan.id)),
        write_records(performed.mentions, layout.truth("mentions", plan.id)),
        write_records(performed.labels, layout.labels(plan.id)),
    ]
    picture = layout.video(plan.id, ".mp4") if corpus.options.render else None
    return files + _write_footage(performed.footage, layout.video(plan.id, ".pose"), picture)


def _make_exemplars(corpus: CorpusPlan, layout: Layout, item: _Item) -> list[Path]:
    files: list[Path] = []
    truths = []
    for plan in corpus.exemplars[item.first : item.last]:
        footage, truth = perform_exemplar(corpus, plan)
        truths.append(truth)
        picture = layout.exemplar(plan.id, video=True) if corpus.options.render else None
        files += _write_footage(footage, layout.exemplar(plan.id), picture)
    return [*files, write_records(truths, layout.truth("exemplars", item.name))]


def _write_footage(footage: SigningFootage, landmarks: Path, picture: Path | None) -> list[Path]:
    files = [write_landmarks(footage.observed, landmarks)]
    if picture is not None:
        from signspot_synthetic.render.appearance import make_appearance
        from signspot_synthetic.render.render import render_video

        size = footage.exact.size
        assert size is not None, "filmed landmarks have a size"
        files.append(render_video(footage.exact, make_appearance(footage.signer.appearance_seed), picture, size))
    return files


def _write_dictionaries(corpus: CorpusPlan, layout: Layout) -> None:
    synonyms = {
        word: tuple(sorted((group & corpus.listed) - {word}))
        for word, group in sorted(corpus.same_sign.items())
        if word in corpus.listed and len(group & corpus.listed) > 1
    }
    for video in (False, True) if corpus.options.render else (False,):
        exemplars = tuple(
            Exemplar(
                word=plan.word,
                id=plan.id,
                path=layout.exemplar(plan.id, video=video),
                signer=plan.signer.id,
                source=_SOURCE,
                licence=_LICENCE,
                variant=str(plan.variant + 1),
            )
            for plan in corpus.exemplars
        )
        dictionary = Dictionary(Contents(exemplars, synonyms=synonyms))
        save_dictionary(dictionary, layout.dictionary_video if video else layout.dictionary)
