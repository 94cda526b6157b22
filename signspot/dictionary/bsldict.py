"""Reader of `bsldict_v1.pkl`, the public dictionary of British Sign Language, with its precomputed embeddings.

Its layout is columnar: `words`, `words_normalised`, and `videos` with a list or array a column.
"""

import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from signspot.dictionary.dictionary import Contents, LeftOut, normalise_word, unique_ids
from signspot.errors import DictionaryError
from signspot.io.checks import LATEST
from signspot.io.restricted_unpickler import load_pickle, plain
from signspot.types import Embeddings, Exemplar, Segment

BSLDICT_FILE = "bsldict_v1.pkl"
# Stands for the content hash of the encoder of the published embeddings: the public i3d_mlp checkpoint.
PUBLIC_ENCODER = "public-i3d_mlp"
_FPS = 25.0  # frames in `temp_interval` are of the authors' copies, resampled to this rate
_MEDIA_FOLDERS = ("", "videos", "videos_original", "media")
_SYNONYM_COLUMNS = ("alternative_words", "similar_items_db", "see_also_db")


def read_bsldict(path: Path, media: Path | None = None) -> Contents:
    """Read the public dictionary; nothing that the pickle names is run.

    Args:
        path: `bsldict_v1.pkl`.
        media: folder of the videos, by their `name`; if not given, beside the pickle or in `videos/` there.
            Videos that are not there yet have no path; their embeddings can be used nevertheless.

    Raises:
        UnsafeFileError: the pickle asks to run code.
        DictionaryError: it has another layout; the message names the column.
    """
    data = load_pickle(path)
    columns = _Columns(path, data)
    names = [_name(value) for value in columns.needed("name")]
    words = [_word(value) for value in columns.needed("word")]
    embeddings, problems = _embeddings(columns, path, names)
    boxes, intervals = columns.optional("bbox"), columns.optional("temp_interval")
    sources = columns.optional("source_site_db")
    present = _videos_present([media] if media else [path.parent / name for name in _MEDIA_FOLDERS])
    exemplars = tuple(
        Exemplar(
            word=words[i],
            id=exemplar_id,
            path=present.get(names[i]),
            source=_word(sources[i]),
            bbox=_bbox(boxes[i]),
            segment=_segment(intervals[i]),
            embedding=embeddings[i],
            encoder=PUBLIC_ENCODER if embeddings[i] is not None else "",
        )
        for i, exemplar_id in enumerate(unique_ids(names))
        if words[i]
    )
    links = _links(columns, unique_ids(names))
    return Contents(exemplars, tuple(problems), _synonyms(columns, words), _normalised(path, data), links)


class _Columns:
    """The columns of `videos`, all of one length."""

    def __init__(self, path: Path, data: Any):
        videos = plain(data.get("videos")) if isinstance(data, Mapping) else None
        if not isinstance(videos, Mapping):
            raise DictionaryError(f"{path} is not bsldict_v1.pkl: it has no 'videos'")
        self.path, self.videos = path, videos
        self.names = self._values("name", videos.get("name"), None)
        self.count = len(self.names)

    def needed(self, column: str) -> list[Any]:
        """One value per video.

        Raises:
            DictionaryError: the column is missing or has another length.
        """
        return self._values(column, self.videos.get(column), self.count)

    def optional(self, column: str) -> list[Any]:
        """One value per video; None for all where the column is missing."""
        value = self.videos.get(column)
        return [None] * self.count if value is None else self._values(column, value, self.count)

    def features(self, kind: str) -> list[Any]:
        """One feature vector per video, or None."""
        features = plain(self.videos.get("features"))
        value = features.get(kind) if isinstance(features, Mapping) else None
        return [None] * self.count if value is None else self._values(f"features.{kind}", value, self.count)

    def _values(self, column: str, value: Any, count: int | None) -> list[Any]:
        values = plain(value)
        if isinstance(values, Mapping):
            values = self._by_key(values)
        values = _as_list(values)
        if values is None:
            raise DictionaryError(f"{self.path}: column 'videos.{column}' is missing, or not a list")
        if count is not None and len(values) != count:
            raise DictionaryError(
                f"{self.path}: column 'videos.{column}' has {len(values):,} values for {count:,} videos. "
                f"The file is damaged: get it again"
            )
        return [plain(item) for item in values]

    def _by_key(self, by_name: Mapping[Any, Any]) -> list[Any]:
        """The values of a column that is a dict, by position or by the video's name."""
        names = getattr(self, "names", [])
        if names and all(isinstance(name, str) and name in by_name for name in names):
            return [by_name[name] for name in names]
        keys = list(by_name)
        return [by_name[key] for key in (sorted(keys) if all(isinstance(key, int) for key in keys) else keys)]


def _name(value: Any) -> str:
    """A video's file name: never a path that leads elsewhere."""
    return _word(str(value)).replace("\\", "/").rpartition("/")[2]


def _word(value: Any) -> str:
    """A word or another text; "" where it is none, or holds what is not a character: the file is untrusted."""
    if not isinstance(value, str):
        return ""
    try:
        return " ".join(value.encode().decode().split())
    except (ValueError, SystemError):
        return ""


def _numbers(value: Any, count: int) -> list[float] | None:
    """`count` finite numbers, or None where the entry is missing or something else."""
    try:
        numbers = [float(x) for x in value]
    except (TypeError, ValueError, OverflowError):
        return None
    return numbers if len(numbers) == count and all(map(math.isfinite, numbers)) else None


def _bbox(value: Any) -> tuple[float, float, float, float] | None:
    numbers = _numbers(value, 4)
    if numbers is None:
        return None
    y0, x0, y1, x1 = (min(1.0, max(0.0, x)) for x in numbers)
    return (y0, x0, y1, x1) if y0 < y1 and x0 < x1 else None


def _segment(value: Any) -> Segment | None:
    """Inclusive first and last frame, as seconds."""
    numbers = _numbers(value, 2)
    if numbers is None or not 0 <= numbers[0] <= numbers[1] <= LATEST * _FPS:
        return None
    return Segment(numbers[0] / _FPS, (numbers[1] + 1) / _FPS)


def _embeddings(columns: _Columns, path: Path, names: list[str]) -> tuple[list[Embeddings | None], list[LeftOut]]:
    vectors: list[Embeddings | None] = []
    problems: list[LeftOut] = []
    for name, value in zip(names, columns.features("mlp"), strict=True):
        vector = _unit(value)
        vectors.append(vector)
        if vector is None and value is not None:
            problems.append(LeftOut(path, f"the embedding of '{name}' is unusable (zero, NaN, or no vector)"))
    sizes = {len(vector) for vector in vectors if vector is not None}
    if len(sizes) > 1:
        raise DictionaryError(f"{path}: column 'videos.features.mlp' mixes vectors of {sorted(sizes)} numbers")
    return vectors, problems


def _unit(value: Any) -> Embeddings | None:
    """(D,) the vector at unit norm; None where it has none."""
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # what is beyond all numbers has no norm
            vector = np.asarray(value, dtype=np.float32).reshape(-1)
    except (TypeError, ValueError, OverflowError):
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        norm = float(np.linalg.norm(vector))
    return vector / norm if len(vector) > 1 and math.isfinite(norm) and norm > 0 else None


def _links(columns: _Columns, ids: list[str]) -> dict[str, str]:
    """The address of every video; of one on YouTube, the page's."""
    links: dict[str, str] = {}
    pairs = zip(columns.optional("video_link_db"), columns.optional("youtube_identifier_db"), strict=True)
    for exemplar_id, (link, youtube) in zip(ids, pairs, strict=True):
        if isinstance(youtube, str) and youtube:
            links[exemplar_id] = f"https://www.youtube.com/watch?v={youtube}"
        elif isinstance(link, str) and link:
            links[exemplar_id] = link
    return links


def _synonyms(columns: _Columns, words: list[str]) -> dict[str, tuple[str, ...]]:
    """Words of the dictionary that its metadata call the same, similar or related; both ways."""
    spelling = {normalise_word(word): word for word in reversed(words) if word}
    synonyms: dict[str, dict[str, None]] = {}
    for column in _SYNONYM_COLUMNS:
        for word, others in zip(words, columns.optional(column), strict=True):
            for other in filter(None, (spelling.get(normalise_word(text)) for text in _texts(others))):
                if word and other != word:
                    synonyms.setdefault(word, {})[other] = None
                    synonyms.setdefault(other, {})[word] = None
    return {word: tuple(others) for word, others in synonyms.items()}


def _texts(value: Any) -> Iterable[str]:
    """The words in a cell: a list of them, or one; a link such as /sign/apple counts as its last part."""
    items = [value] if isinstance(value, str) else value if isinstance(value, list | tuple | np.ndarray) else []
    return [_word(item).rpartition("/")[2] for item in items if isinstance(item, str)]


def _normalised(path: Path, data: Mapping[Any, Any]) -> dict[str, str]:
    texts = plain(data.get("words_normalised"))
    if isinstance(texts, Mapping):
        return {_word(word): _word(text) for word, text in texts.items() if _word(word) and _word(text)}
    words, texts = _as_list(plain(data.get("words"))), _as_list(texts)
    if words is None or texts is None:
        return {}
    if len(words) != len(texts):
        raise DictionaryError(
            f"{path}: column 'words_normalised' has {len(texts):,} values for {len(words):,} words. "
            f"The file is damaged: get it again"
        )
    pairs = zip(words, texts, strict=True)
    return {_word(word): _word(text) for word, text in pairs if _word(word) and _word(text)}


def _as_list(value: Any) -> list[Any] | None:
    """The values of a column; None where it is none."""
    if isinstance(value, np.ndarray):
        return list(value) if value.ndim else None
    return list(value) if isinstance(value, list | tuple) else None


def _videos_present(folders: Iterable[Path]) -> dict[str, Path]:
    """The files in the given folders, by name; listed once, because there are thousands."""
    return {
        file.name: file
        for folder in folders
        if folder.is_dir()
        for file in folder.iterdir()
        if not file.name.startswith(".")
    }
