"""Forgetting of a signer or a video: from dictionaries, corpora, stores of annotations, loose files and the cache.

First everything is found, and told; only then, if it is wanted, removed. Nothing else is touched.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from glob import escape
from pathlib import Path
from typing import Any

from signspot.annotation.store import is_address, open_store
from signspot.corpus.corpus import CorpusVideo, Layout, open_corpus
from signspot.dictionary.dictionary import Dictionary
from signspot.dictionary.download import FILE_NAME as MANIFEST
from signspot.dictionary.json_file import DICTIONARY_FILE, read_json, save_dictionary
from signspot.embedding.tracks import track_source
from signspot.errors import DictionaryError, OptionsError, SignspotError, StoreError
from signspot.io.checks import parse_json
from signspot.io.files import DIGESTS, cache_folder
from signspot.io.text import read_text
from signspot.landmarks.cache import PARTS
from signspot.privacy.kept_folders import KeptFolders, has_workbench, in_kept_folders, in_workbench
from signspot.privacy.loose_files import in_file, in_plain_folder
from signspot.privacy.steps import Person, Removal, Step, remove_file, remove_lines, write_json

OUT_OF_REACH = (
    "weights that were trained on it",
    "ids of its exemplars beside what they found in videos of others",
    "reports, plots and films, and whatever else was exported to places that were not named",
    "backups (*.bak), copies on other machines, and the original video, unless a corpus or dictionary holds it",
)


def forget(who: str, places: Sequence[str | os.PathLike[str]] = (), *, yes: bool = False) -> list[Removal]:
    """Find everything that is kept of a signer or a video, and remove it if `yes`.

    Args:
        who: the path of a video, its id in a corpus or store, or the name of a signer.
        places: folders of exemplars; folders that hold, at any depth, dictionaries, corpora, annotation runs, archives
            of tracks, trainings, or what `serve` keeps; addresses of databases; and files: spottings, tracks,
            landmarks, archives. The cache is always one of them.
        yes: remove; otherwise everything stays as it is.

    Returns:
        What was, or would be, removed.

    Raises:
        OptionsError: a place is none of these.
        SignspotError: a place cannot be read or written.
    """
    if not who.strip():
        raise OptionsError("name a signer or a video to forget")
    person, addresses, databases, files = Person(who), list[str](), list[Path](), list[Path]()
    steps: list[Step] = []
    folders: list[KeptFolders] = []
    for place in sorted({os.fspath(place) for place in places}):
        path = Path(place)
        if is_address(place):
            addresses.append(place)
        elif path.is_file():
            (databases if path.suffix in (".sqlite", ".db") else files).append(path)
        else:
            folders.append(KeptFolders.below(path))
            steps += _in_folder(person, path, folders[-1])
    for store in [*databases, *(run for folder in folders for run in folder.runs)]:
        steps += _in_store(person, store)  # now that the videos of the person are known by name
    for folder in folders:
        steps += in_kept_folders(person, folder)
    for address in addresses:
        steps += _in_database(person, address)
    for file in files:
        steps += in_file(person, file)
    steps += _in_cache(person, cache_folder())
    if yes:
        for step in steps:
            step.act()
    return [removal for step in steps for removal in step.removals]


def _in_folder(person: Person, folder: Path, found: KeptFolders) -> list[Step]:
    """Data of the person in dictionaries and corpora of a folder, or in a plain folder of exemplars."""
    if found.is_known:
        dictionaries = [step for place in found.dictionaries for step in _in_dictionary(person, place)]
        return [*dictionaries, *(step for place in found.corpora for step in _in_corpus(person, place))]
    try:
        return list(in_plain_folder(person, folder))
    except DictionaryError as error:
        if found.tensors:
            return []
        raise OptionsError(
            f"{folder} is no dictionary, corpus, annotation run, archive, training, served folder or folder of "
            f"exemplars ({error}). Name one that is"
        ) from error


def _in_database(person: Person, address: str) -> Iterator[Step]:
    """A database that annotation or a workbench was given, or both."""
    is_workbench = has_workbench(address)
    try:
        yield from _in_store(person, address)
    except StoreError:
        if not is_workbench:
            raise
    if is_workbench:
        yield from in_workbench(person, address)


def _in_dictionary(person: Person, folder: Path) -> Iterator[Step]:
    if not (folder / DICTIONARY_FILE).is_file():
        return
    contents = read_json(folder / DICTIONARY_FILE)
    gone = [e for e in contents.exemplars if person.is_signer(e.signer) or person.is_file(e.path)]
    if not gone:
        return
    person.learn(exemplar.path for exemplar in gone)
    ids = {exemplar.id for exemplar in gone}
    person.exemplars |= ids
    kept = tuple(exemplar for exemplar in contents.exemplars if exemplar.id not in ids)
    links = {name: link for name, link in contents.links.items() if name not in ids}
    rest = Dictionary(replace(contents, exemplars=kept, links=links), folder)
    shared = {exemplar.path for exemplar in kept}
    media = [e.path for e in gone if e.path is not None and e.path.is_file() and e.path not in shared]
    removals = [Removal("exemplar", f"{folder / DICTIONARY_FILE}: {exemplar.id}") for exemplar in gone]
    yield Step(tuple(removals), partial(save_dictionary, rest, folder))  # type: ignore[arg-type]
    names = {path.relative_to(folder).as_posix() for path in media if path.is_relative_to(folder)}
    yield from remove_lines(folder / MANIFEST, lambda row: row.get("name") in names)
    yield from map(remove_file, media)


def _in_corpus(person: Person, folder: Path) -> Iterator[Step]:
    layout = Layout(folder)
    if not layout.corpus.is_file():
        return
    videos = open_corpus(folder).videos.values()
    gone = [v for v in videos if v.id == person.who or person.is_signer(v.signer) or person.is_file(v.video)]
    if not gone:
        return
    own = [path for video in gone for path in (video.video, video.landmarks) if path is not None]
    person.learn(own)
    ids = {video.id for video in gone}
    person.names |= ids | {path.relative_to(folder).as_posix() for path in own if path.is_relative_to(folder)}
    removals = tuple(Removal("video", f"{layout.corpus}: {name}") for name in sorted(ids))
    yield Step(removals, partial(_rewrite_corpus, layout, ids))
    for labels in sorted((folder / "labels").rglob("*.jsonl")):
        yield from remove_lines(labels, lambda row: person.is_video(str(row.get("video", ""))))
    yield from map(remove_file, sorted({path for video in gone for path in _files_of(layout, video)}))


def _files_of(layout: Layout, video: CorpusVideo) -> Iterator[Path]:
    own = [video.video, video.landmarks, video.subtitles, *layout.folder.glob(f"truth/*/{escape(video.id)}.jsonl")]
    own += layout.folder.glob(f".finished/**/{escape(video.id)}.json")
    return (path for path in own if path is not None and path.is_file())


def _rewrite_corpus(layout: Layout, ids: set[str]) -> None:
    data = parse_json(read_text(layout.corpus, exact=True).text, str(layout.corpus))
    data["videos"] = [entry for entry in data["videos"] if entry.get("id") not in ids]
    write_json(layout.corpus, data)
    if layout.splits.is_file():
        splits = parse_json(read_text(layout.splits, exact=True).text, str(layout.splits))
        write_json(layout.splits, _without(splits, ids))


def _without(value: Any, names: set[str]) -> Any:
    """JSON without names in its lists."""
    if isinstance(value, dict):
        return {key: _without(each, names) for key, each in value.items()}
    return (
        [each for each in value if not (isinstance(each, str) and each in names)] if isinstance(value, list) else value
    )


def _in_store(person: Person, place: str | Path) -> Iterator[Step]:
    with open_store(place) as store:
        found = [v.video for v in store.videos() if v.digest in person.digests or v.video in person.names]
        name = store.name
    for video in found:
        person.names.add(video)
        yield Step((Removal("annotations", f"{name}: {video}"),), partial(_forget_stored, place, video))


def _forget_stored(place: str | Path, video: str) -> None:
    with open_store(place) as store:
        store.forget_video(video)
        store.wipe()


def _in_cache(person: Person, cache: Path) -> Iterator[Step]:
    """Entries are named by the content of their video; of a video that is gone, tracks still know the name."""
    entries = [(part, path) for part, suffix in PARTS.items() for path in sorted((cache / part).rglob(f"*{suffix}"))]
    for part, path in entries:
        if part == "tracks":
            try:
                named = track_source(path) in person.names
            except SignspotError:
                named = False
            if named:
                person.digests.add(path.name.partition("-")[0])
    for part, path in entries:
        if path.name.partition("-")[0] in person.digests:
            yield Step((Removal(f"cached {part}", str(path)),), partial(path.unlink, missing_ok=True))
    yield from remove_lines(
        cache / DIGESTS, lambda row: row.get("digest") in person.digests or person.is_video(str(row.get("path", "")))
    )
