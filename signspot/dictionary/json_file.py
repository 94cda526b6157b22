"""`dictionary.json`, the file that makes a folder of media a dictionary, read and written.

    {"format": "signspot-dictionary", "version": 1, "embeddings": "embeddings-….safetensors",
     "words": {"apple": {"normalised": "apple", "synonyms": ["fruit"], "exemplars": [
         {"id": "apple/1", "file": "media/apple/1.mp4", "signer": "", "source": "", "licence": "", "consent": "",
          "variant": "", "bbox": [0, 0.1, 1, 0.9], "segment": [0.4, 1.6], "url": "",
          "embedding": ["<encoder>", 0]}]}}}

Only `words`, `exemplars` and `file` (or an `id` and an `embedding` or `url`) are needed. Files are named
relative to the folder and never lead out of it, so that a dictionary can be moved, and an untrusted one
cannot point at other files.
"""

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save

from signspot.dictionary.dictionary import Contents, Dictionary
from signspot.errors import DictionaryError, FormatError
from signspot.io.checks import LATEST, check_number, check_text, parse_json, path_inside, quoted
from signspot.io.files import atomic_write
from signspot.io.safetensors import read_tensors
from signspot.io.text import read_text
from signspot.types import Embeddings, Exemplar, Origin, Segment

DICTIONARY_FILE = "dictionary.json"
FORMAT = "signspot-dictionary"
VERSION = 1
_TEXTS = ("signer", "source", "licence", "consent", "variant")
Box = tuple[float, float, float, float]
EmbeddingRow = tuple[str, int]  # encoder, row


def write_embeddings(exemplars: Sequence[Exemplar], folder: Path) -> tuple[str, dict[str, EmbeddingRow]]:
    """Write all embeddings of a dictionary into a file named by its content.

    Returns:
        The file's name ("" if there was nothing to write), and encoder and row by exemplar id.
    """
    rows: dict[str, list[Embeddings]] = {}
    embedding_rows: dict[str, EmbeddingRow] = {}
    for exemplar in exemplars:
        if exemplar.embedding is not None:
            table = rows.setdefault(exemplar.encoder, [])
            embedding_rows[exemplar.id] = (exemplar.encoder, len(table))
            table.append(np.asarray(exemplar.embedding, dtype=np.float32))
    if not rows:
        return "", {}
    data = save({encoder or "unknown": np.stack(table) for encoder, table in rows.items()})
    name = f"embeddings-{hashlib.sha256(data).hexdigest()[:16]}.safetensors"
    with atomic_write(folder / name) as temporary:
        temporary.write_bytes(data)
    return name, embedding_rows


def read_embeddings(path: Path) -> Mapping[str, Embeddings]:
    """Read the tables, by encoder.

    Raises:
        DictionaryError: the file is missing or broken.
    """
    try:
        return read_tensors(path)[0]
    except FormatError as error:
        raise DictionaryError(f"the embeddings {path} cannot be read ({error}). Build the dictionary again") from error


def row_of(tables: Mapping[str, Embeddings], encoder: str, row: int) -> Embeddings:
    """(D,) one embedding.

    Raises:
        DictionaryError: there is no such row, or it holds NaN.
    """
    table = tables.get(encoder or "unknown")
    if table is None or table.ndim != 2 or not 0 <= row < len(table):
        raise DictionaryError(f"no embedding {row} of encoder '{encoder}' in the dictionary. Build it again")
    if not np.isfinite(table[row]).all():
        raise DictionaryError(
            f"embedding {row} of encoder '{encoder}' holds NaN or infinity. Build the dictionary again"
        )
    embedding: Embeddings = table[row]
    return embedding


def read_json(path: Path) -> Contents:
    """Read a `dictionary.json`; the media are not opened.

    Raises:
        DictionaryError: it is none, it is of a later version, or a file leads out of its folder.
    """
    try:
        return _contents(path)
    except FormatError as error:
        raise DictionaryError(str(error).rstrip(".")) from error


def _contents(path: Path) -> Contents:
    data = _parse(path)
    words = data.get("words")
    if not isinstance(words, dict):
        raise DictionaryError(f"{path} is not a dictionary: it has no 'words'")
    tables: Mapping[str, Embeddings] = {}
    if data.get("embeddings"):
        tables = read_embeddings(path_inside(path.parent, data["embeddings"], f"{path}: embeddings"))
    exemplars: list[Exemplar] = []
    synonyms: dict[str, tuple[str, ...]] = {}
    normalised: dict[str, str] = {}
    links: dict[str, str] = {}
    for word, entry in words.items():
        where = f"{path}, word {quoted(word)}"
        check_text(word, f"{path}: a word")
        for number, item in enumerate(_list(entry, "exemplars", where), start=1):
            at = f"{where}, exemplar {number}"
            exemplar = _exemplar(path.parent, word, item, at, tables)
            exemplars.append(exemplar)
            if url := _text(item, "url", at):
                links[exemplar.id] = url
        if others := _list(entry, "synonyms", where):
            synonyms[word] = tuple(check_text(other, f"{where}: a synonym") for other in others)
        if text := _text(entry, "normalised", where):
            normalised[word] = text
    return Contents(tuple(exemplars), (), synonyms, normalised, links)


def save_dictionary(dictionary: Dictionary, folder: str | os.PathLike[str]) -> Path:
    """Write `dictionary.json` and the embeddings for media that lie in `folder` already; `build` copies them there.

    Returns:
        The path of `dictionary.json`.

    Raises:
        DictionaryError: an exemplar's file is not in the folder.
        OutputError: the folder cannot be written.
    """
    contents, folder = dictionary.contents, Path(folder)
    relative = {e.id: _relative(folder, e) for e in contents.exemplars if e.path is not None}
    embeddings, embedding_rows = write_embeddings(contents.exemplars, folder)
    words: dict[str, dict[str, Any]] = {}
    for exemplar in contents.exemplars:
        entry = words.setdefault(exemplar.word, _word_entry(contents, exemplar.word))
        link = contents.links.get(exemplar.id, "")
        entry["exemplars"].append(_item(exemplar, relative.get(exemplar.id), link, embedding_rows.get(exemplar.id)))
    data: dict[str, Any] = {"format": FORMAT, "version": VERSION}
    if embeddings:
        data["embeddings"] = embeddings
    data["words"] = words
    with atomic_write(folder / DICTIONARY_FILE) as temporary:
        temporary.write_text(json.dumps(data, ensure_ascii=False, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    for old in folder.glob("embeddings-*.safetensors"):
        if old.name != embeddings:
            old.unlink()
    return folder / DICTIONARY_FILE


def _parse(path: Path) -> dict[str, Any]:
    data = parse_json(read_text(path, exact=True).text, str(path))
    if not isinstance(data, dict) or data.get("format", FORMAT) != FORMAT:
        raise DictionaryError(f"{path} is not a signspot dictionary")
    version = data.get("version", VERSION)
    if not isinstance(version, int) or version > VERSION:
        raise DictionaryError(
            f"{path} has version {quoted(version)}; this signspot reads up to {VERSION}. Update signspot"
        )
    return data


def _exemplar(folder: Path, word: str, item: Any, at: str, tables: Mapping[str, Embeddings]) -> Exemplar:
    name = _text(item, "file", at)
    stem = name.rpartition(".")[0] or name
    encoder, embedding = _embedding(item, at, tables)
    exemplar_id = _text(item, "id", at) or stem
    if not exemplar_id:
        raise DictionaryError(f"{at}: neither a 'file' nor an 'id'")
    return Exemplar(
        word=word,
        id=exemplar_id,
        path=path_inside(folder, name, f"{at}: file") if name else None,
        bbox=_bbox(item, at),
        segment=_segment(item, "segment", at),
        embedding=embedding,
        encoder=encoder,
        origins=tuple(_origin(entry, f"{at}: cut_from") for entry in _list(item, "cut_from", at)),
        **{key: _text(item, key, at) for key in _TEXTS},
    )


def _embedding(item: Any, at: str, tables: Mapping[str, Embeddings]) -> tuple[str, Embeddings | None]:
    match item.get("embedding"):
        case None:
            return "", None
        case [str(encoder), int(row)]:
            return encoder, row_of(tables, encoder, row)
        case other:
            raise DictionaryError(f"{at}: 'embedding' must be [encoder, row]; got {quoted(other)}")


def _text(entry: Any, key: str, at: str) -> str:
    if not isinstance(entry, dict):
        raise DictionaryError(f"{at}: must be an object; got {quoted(entry)}")
    return check_text(entry.get(key), f"{at}: '{key}'")


def _list(entry: Any, key: str, at: str) -> list[Any]:
    value = entry.get(key, []) if isinstance(entry, dict) else None
    if not isinstance(value, list):
        raise DictionaryError(f"{at}: '{key}' must be a list")
    return value


def _numbers(item: Any, key: str, count: int, at: str) -> list[float] | None:
    value = item.get(key)
    if value is None:
        return None
    if not isinstance(value, list) or len(value) != count:
        raise DictionaryError(f"{at}: '{key}' must be {count} numbers; got {quoted(value)}")
    return [check_number(number, f"{at}: '{key}'") for number in value]


def _bbox(item: Any, at: str) -> Box | None:
    value = _numbers(item, "bbox", 4, at)
    if value is None:
        return None
    y0, x0, y1, x1 = value
    if not (0 <= y0 < y1 <= 1 and 0 <= x0 < x1 <= 1):
        raise DictionaryError(f"{at}: 'bbox' must be y0, x0, y1, x1 between 0 and 1; got {value}")
    return y0, x0, y1, x1


def _origin(entry: Any, at: str) -> Origin:
    contents = [check_text(digest, f"{at}: 'contents'") for digest in _list(entry, "contents", at)]
    span = _segment(entry, "segment", at) if isinstance(entry, dict) else None
    if not contents or span is None:
        raise DictionaryError(f"{at}: needs 'contents' and 'segment'; got {quoted(entry)}")
    return Origin(tuple(contents), span)


def _segment(item: Any, key: str, at: str) -> Segment | None:
    value = _numbers(item, key, 2, at)
    if value is None:
        return None
    if not 0 <= value[0] < value[1] <= LATEST:
        raise DictionaryError(f"{at}: '{key}' must be start and end in seconds, start first; got {value}")
    return Segment(value[0], value[1])


def _word_entry(contents: Contents, word: str) -> dict[str, Any]:
    entry: dict[str, Any] = {}
    if text := contents.normalised.get(word):
        entry["normalised"] = text
    if others := contents.synonyms.get(word):
        entry["synonyms"] = list(others)
    return entry | {"exemplars": []}


def _item(exemplar: Exemplar, file: str | None, link: str, row: EmbeddingRow | None) -> dict[str, Any]:
    item: dict[str, Any] = {"id": exemplar.id, "file": file}
    item |= {key: getattr(exemplar, key) for key in _TEXTS}
    item["bbox"] = [float(x) for x in exemplar.bbox] if exemplar.bbox else None
    item["segment"] = [exemplar.segment.start, exemplar.segment.end] if exemplar.segment else None
    item["cut_from"] = [
        {"contents": list(origin.contents), "segment": [origin.span.start, origin.span.end]}
        for origin in exemplar.origins
    ]
    item["url"] = link
    item["embedding"] = list(row) if row else None
    return {key: value for key, value in item.items() if value not in (None, "", [])}


def _relative(folder: Path, exemplar: Exemplar) -> str:
    path = Path(str(exemplar.path))
    try:
        name = path.relative_to(folder) if path.is_relative_to(folder) else path.resolve().relative_to(folder.resolve())
    except ValueError as error:
        raise DictionaryError(
            f"{path} does not lie in {folder}. Copy it there with: signspot dictionary build"
        ) from error
    path_inside(folder, name.as_posix(), "the file")
    return name.as_posix()
