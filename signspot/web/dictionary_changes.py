"""Changes to a dictionary: exemplars added, trimmed, named, grouped into variants, removed; written at once, whole."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from signspot.dictionary.build import file_name
from signspot.dictionary.dictionary import Dictionary, numbered, unique_ids
from signspot.dictionary.json_file import DICTIONARY_FILE, save_dictionary
from signspot.dictionary.open_dictionary import open_dictionary
from signspot.errors import DictionaryError, FormatError, OptionsError, StoreError, VideoError
from signspot.formats.elan import write_vocabulary
from signspot.io.control_characters import escape_control_characters
from signspot.io.progress import silent
from signspot.landmarks.pose_file import write_landmarks
from signspot.types import Exemplar, Segment, Spotting
from signspot.web import uploads
from signspot.web.server_state import Workbench
from signspot.web.verification import place_of
from signspot.web.worker import cut_video

TEXTS = ("word", "variant", "signer", "source", "licence", "consent")
_CONTEXT = 0.4  # seconds before and after a sign that are cut with it
_MOST_ADDED = 200  # signs that become exemplars at once
_TIMEOUT = 60.0  # seconds that a change waits for another one


def change(bench: Workbench, name: str, exemplar: str, values: dict[str, Any]) -> Exemplar:
    """Change texts and the segment of an exemplar.

    Args:
        bench: the workbench.
        name: of the dictionary.
        exemplar: its id.
        values: texts by name; `segment` as [start, end] seconds, or None for "find it by wrist motion".

    Raises:
        OptionsError: a value is not what it should be.
        DictionaryError: the dictionary cannot be changed.
    """
    texts = {key: escape_control_characters(str(values[key])).strip() for key in TEXTS if values.get(key) is not None}
    if "word" in texts and not texts["word"]:
        raise OptionsError("a word needs at least one letter")

    def edit(exemplars: list[Exemplar]) -> list[Exemplar]:
        edited = [_changed(other, texts, values) if other.id == exemplar else other for other in exemplars]
        if edited == exemplars and exemplar not in {other.id for other in exemplars}:
            raise OptionsError(f"there is no exemplar '{exemplar}' in '{name}'")
        return edited

    changed = _edit(bench, name, edit)
    return next(other for other in changed.exemplars if other.id == exemplar)


def _changed(exemplar: Exemplar, texts: dict[str, str], values: dict[str, Any]) -> Exemplar:
    changed = replace(exemplar, **texts)  # type: ignore[arg-type]
    if "segment" in values:
        span = values["segment"]
        changed = replace(changed, segment=None if span is None else Segment(max(0.0, float(span[0])), float(span[1])))
    return changed


def remove(bench: Workbench, name: str, exemplar: str) -> None:
    """Take an exemplar out of a dictionary; its file stays where it is.

    Raises:
        DictionaryError: it is the last one.
    """

    def edit(exemplars: list[Exemplar]) -> list[Exemplar]:
        remaining = [other for other in exemplars if other.id != exemplar]
        if not remaining:
            raise DictionaryError("the last exemplar of a dictionary stays: an empty one cannot be opened")
        return remaining

    _edit(bench, name, edit)


def _others(home: Path, exemplars: Iterable[Exemplar], path: Path) -> list[Exemplar]:
    """The exemplars of a dictionary without a file that was just placed for a new one.

    A folder without a list takes every file in it for an exemplar, of the word that its first folder is called.
    """
    if (home / DICTIONARY_FILE).is_file():
        return list(exemplars)
    placed = path.resolve()
    return [exemplar for exemplar in exemplars if exemplar.path is None or exemplar.path.resolve() != placed]


def _exemplar(home: Path, others: Iterable[Exemplar], path: Path, word: str, texts: dict[str, str]) -> Exemplar:
    """A new exemplar of a file in a dictionary's folder, whose id differs from all others'."""
    plain = _plain_word(word)
    chosen = numbered([*(other.id for other in others), *unique_ids([path.relative_to(home).as_posix()])])[-1]
    details = {key: escape_control_characters(value) for key, value in texts.items() if key in TEXTS and key != "word"}
    return replace(Exemplar(plain, chosen, path), **details)  # type: ignore[arg-type]


def _plain_word(word: str) -> str:
    plain = escape_control_characters(word).strip()
    if not plain:
        raise OptionsError("a word needs at least one letter")
    return plain


def new_folder(bench: Workbench, name: str) -> Path:
    """The folder of a dictionary that is to be made.

    Raises:
        OptionsError: the name is taken, or cannot be one.
        FormatError: it leads out of the folder.
    """
    if not name.strip() or "/" in name or "\\" in name or file_name(name) != name:
        raise OptionsError(f"'{name:.80}' cannot be the name of a dictionary: use letters, digits and spaces")
    home = bench.folder.new_file(name, "the dictionary")
    if home.exists():
        raise OptionsError(f"there is a file or folder '{name}' already: choose another name for the dictionary")
    return home


@contextmanager
def _changing(bench: Workbench) -> Iterator[None]:
    """One change at a time, of all servers of a folder: each reads a dictionary and writes it.

    Raises:
        StoreError: another change takes too long.
    """
    try:
        with FileLock(bench.folder.state / "dictionaries.lock", timeout=_TIMEOUT):
            yield
    except Timeout as error:
        raise StoreError("another change of a dictionary does not end: try again later") from error


def add_file(
    bench: Workbench, name: str, upload: Path, file: str, word: str, texts: dict[str, str], *, new: bool = False
) -> str:
    """Add a file as an exemplar, to a dictionary that is there or as the first one of a new one.

    Args:
        bench: the workbench.
        name: of the dictionary.
        upload: a temporary file, checked; it moves into the dictionary, or is removed.
        file: its name in the dictionary; a taken one gets a number.
        word: that it shows.
        texts: signer, licence and others.
        new: the dictionary is made by it.

    Returns:
        Its id.
    """
    try:
        _plain_word(word)
        with _changing(bench):
            home = new_folder(bench, name) if new else _folder_of(bench, name)
            below = f"{home.relative_to(bench.folder.root).as_posix()}/media/{file_name(word)}"
            before = set((bench.folder.root / below).glob("*"))
            path = bench.folder.root / uploads.keep(bench.folder, upload, file, below)
            try:
                dictionary = Dictionary([]) if new else open_dictionary(home)
                others = _others(home, dictionary.exemplars, path)
                exemplar = _exemplar(home, others, path, word, texts)
                save_dictionary(dictionary.with_exemplars([*others, exemplar]), home)
            except BaseException:
                _remove_refused(path, before, home if new else None)
                raise
    finally:
        uploads.remove(upload)
    bench.folder.listing(fresh=True)
    return exemplar.id


def _remove_refused(path: Path, before: set[Path], new_folder: Path | None) -> None:
    """Remove a file that was placed for an exemplar that is refused, and folders that are empty then."""
    with suppress(OSError):
        if path not in before:
            path.unlink()
        path.parent.rmdir()
        path.parent.parent.rmdir()
        if new_folder is not None:
            new_folder.rmdir()


def cut(bench: Workbench, video: str, span: Segment, dictionary: str, word: str, texts: dict[str, str]) -> str:
    """Cut a sign out of a video of the folder, with a little before and after, and add it to a dictionary.

    If the video has no frames, or people may not be shown, its landmarks are cut out.

    Returns:
        The id of the exemplar.
    """
    source = bench.folder.video(video)
    suffix = ".mp4" if source.is_playable else ".pose"
    _folder_of(bench, dictionary)  # refused before anything is decoded
    padded = span.padded(_CONTEXT)
    wide = Segment(max(0.0, padded.start), padded.end)
    temporary = uploads.temporary_file(bench.folder, suffix)
    temporary.parent.mkdir(exist_ok=True)
    try:
        if source.is_playable:
            bench.worker.call(cut_video, source.path, wide, temporary, progress=silent)
        else:
            part = bench.searcher.landmarks(source.source).between(wide)
            if not len(part):
                raise OptionsError(f"'{video}' has no landmarks from {span.start:g} to {span.end:g} s")
            write_landmarks(replace(part, times=part.times - part.times[0]), temporary)
        name = f"{file_name(Path(video).stem)}@{span.start:.2f}{suffix}"
        return add_file(bench, dictionary, temporary, name, word, texts)
    finally:
        uploads.remove(temporary)


def add_confirmed(bench: Workbench, name: str, spottings: Iterable[Spotting]) -> tuple[list[str], list[str]]:
    """Cut every spotting that a person said yes to out of its video, and add it to a dictionary, each once.

    Returns:
        The ids of the exemplars that are new, and the signs that are left out, each with the reason.
    """
    sources = {exemplar.source for exemplar in bench.searcher.dictionary(name).exemplars}
    ids: list[str] = []
    left_out: list[str] = []
    for spotting in spottings:
        source = place_of(spotting)
        if spotting.decision != "yes" or source in sources or len(ids) == _MOST_ADDED:
            continue
        sources.add(source)
        texts = {
            "source": source,
            "variant": spotting.variant,
            "licence": spotting.licence,
            "consent": spotting.consent,
        }
        try:
            ids.append(cut(bench, spotting.video, spotting.segment, name, spotting.word, texts))
        except (FormatError, OptionsError, VideoError) as error:  # the video is gone or damaged: the others are added
            left_out.append(f"{spotting.word} ({spotting.video}, {spotting.start:.2f}-{spotting.end:.2f} s): {error}")
    return ids, left_out


def vocabulary(bench: Workbench, name: str, target: Path) -> Path:
    """The words of a dictionary as an ELAN external controlled vocabulary."""
    return write_vocabulary(bench.searcher.dictionary(name), target, Path(name).name.lstrip("+") or "signspot")


def _edit(bench: Workbench, name: str, edit: Callable[[list[Exemplar]], list[Exemplar]]) -> Dictionary:
    home = _folder_of(bench, name)
    with _changing(bench):
        dictionary = open_dictionary(home)  # as it is now, whichever server changed it last
        edited = dictionary.with_exemplars(edit(list(dictionary.exemplars)))
        save_dictionary(edited, home)
    bench.folder.listing(fresh=True)
    return bench.searcher.dictionary(name)


def _folder_of(bench: Workbench, name: str) -> Path:
    """The folder of a dictionary that may be changed: one in the served folder.

    Raises:
        DictionaryError: it is one file, or lies elsewhere.
    """
    home = bench.folder.dictionary(name)
    if not home.is_dir():
        raise DictionaryError(f"'{name}' is one file, which is not changed here. Build a folder of it first")
    if not home.is_relative_to(bench.folder.root):
        raise DictionaryError(f"'{name}' lies outside of the served folder: it is not changed here")
    return home
