"""Keeps the embeddings of a dictionary beside its `dictionary.json`, as safetensors: one table an encoder."""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save

from signspot.errors import DictionaryError
from signspot.files import write_beside
from signspot.records import Exemplar
from signspot.timeline import Embeddings

Place = tuple[str, int]  # encoder, row


def write_embeddings(exemplars: Sequence[Exemplar], folder: Path) -> tuple[str, dict[str, Place]]:
    """Write all embeddings of a dictionary into a file named by its content.

    Returns:
        The file's name ("" if there was nothing to write), and encoder and row by exemplar id.
    """
    rows: dict[str, list[Embeddings]] = {}
    places: dict[str, Place] = {}
    for exemplar in exemplars:
        if exemplar.embedding is not None:
            table = rows.setdefault(exemplar.encoder, [])
            places[exemplar.id] = (exemplar.encoder, len(table))
            table.append(np.asarray(exemplar.embedding, dtype=np.float32))
    if not rows:
        return "", {}
    data = save({encoder or "unknown": np.stack(table) for encoder, table in rows.items()})
    name = f"embeddings-{hashlib.sha256(data).hexdigest()[:16]}.safetensors"
    with write_beside(folder / name) as beside:
        beside.write_bytes(data)
    return name, places


def read_embeddings(path: Path) -> Mapping[str, Embeddings]:
    """Read the tables, by encoder.

    Raises:
        DictionaryError: the file is missing or broken.
    """
    try:
        tables: dict[str, Embeddings] = load_file(path)
    except (OSError, SafetensorError, ValueError) as error:
        raise DictionaryError(f"the embeddings {path} cannot be read ({error}). Build the dictionary again") from error
    return tables


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
