"""Mutations of files: bytes, tokens, values of JSON and of pickles, cells of SQLite, headers of safetensors."""

import contextlib
import json
import pickle
import random
import re
import sqlite3
import struct
from collections.abc import Callable
from typing import Any

import numpy as np

_NUMBERS = (
    *("0", "-0", "-1", "1e308", "1e400", "NaN", "Infinity", "-inf", "99", "0x10", "9" * 5000, "1" + "0" * 400),
    *("2147483648", "18446744073709551616", "1_000", "٣", "½", "1e-320", "00:00:99", "4294967296000"),
)
TEXTS = (
    *("", " ", "\\u0000", "\\ud800", "\\udfff\\ud800", "../../secret", "/etc/hostname", "C:\\\\x", "..", "\\u202e"),
    *("\\u001b[31m", "[/x]", "=1+1", "%s%n", "{0.__class__}", "a" * 5000, "con.mp4", "http://127.0.0.1:9/x", "%42"),
    *("'; drop table x; --", "<b>", "&#xD800;", "-->", "F8_E4M3", "BF16"),
)
_RAW = (
    *(b"\0", b"\xff", b"\xed\xa0\x80", b"\x1b[2J", b"\xef\xbb\xbf", b"\xff\xfe", b"\r", b"\n\n", b"\t", b",", b";"),
    *(b'"', b"'", b"<", b">", b"&", b"-->", b"[" * 3000, b'{"a":' * 2000, b"<p>" * 500, b"<" * 3000, b"(" * 2000),
    *(b"1" * 6000, b"\xf0\x9f\xa4\x9f", b"\xe2\x80\xa8", b"<!DOCTYPE a>", b"]]>", b"\\"),
)
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 99, 1e308, -1e308, 10**400, 0.5, 2**63, 2**31, float("nan"), float("inf")),
    *("", " ", "x", "\ud800", "\0", "../../secret", "/etc/hostname", "\x1b[31m", "a" * 5000, "é", "F8_E4M3"),
    *([], {}, [[]], [None], [1, 2], ["a", 1], {"a": None}, {"": ""}, [1e308, -1e308], ["..", "x"]),
)
_TOKEN = re.compile(rb"-?\d[\d.,:eE+-]*|[A-Za-z_][\w-]*|\"[^\"\n]*\"|'[^'\n]*'")
_SWOLLEN = 1 << 19  # bytes; readers that take the square of them are found out
_MISFITS = (ValueError, TypeError, AttributeError, LookupError, RecursionError, struct.error, sqlite3.Error)
Mutation = Callable[[bytes, random.Random], bytes]


def mutate(seeds: list[bytes], kind: str, chance: random.Random) -> bytes:
    """One mutated input.

    Args:
        seeds: valid files.
        kind: 'text', 'json', 'lines' of JSON, 'sqlite', 'safetensors', 'pickle' (of seeds in JSON) or 'bytes'.
        chance: decides.
    """
    content = chance.choice(seeds)
    if kind == "pickle":
        return _pickled(content, chance)
    mutations = _OF_KIND[kind]
    for _ in range(chance.choice((1, 1, 1, 2, 3, 8))):
        mutation = chance.choice(mutations) if mutations and chance.random() < 0.6 else _bytes
        with contextlib.suppress(*_MISFITS):
            content = mutation(content, chance)  # one that no longer fits an earlier one's result is left out
    return content


def _bytes(content: bytes, chance: random.Random) -> bytes:
    """Bytes changed, cut off, removed, repeated, inserted, or replaced by a great number."""
    start, way = chance.randrange(len(content) + 1), chance.randrange(6)
    head, rest = content[:start], content[start:]
    if way == 0:
        changed = bytearray(content)
        for _ in range(chance.choice((1, 1, 2, 8, 32)) if content else 0):
            changed[chance.randrange(len(changed))] = chance.randrange(256)
        return bytes(changed)
    if way == 1:
        return head
    if way == 2:
        return head + rest[chance.choice((1, 2, 8, 64, 512)) :]
    if way == 3:
        piece = chance.choice((chance.choice(_RAW), rest[: chance.choice((1, 8, 64, 4096))])) or b" "
        times: int = _SWOLLEN // len(piece) if chance.random() < 0.01 else chance.choice((2, 3, 100))
        return head + piece * times + rest
    if way == 4:
        return head + chance.choice(_RAW) + rest
    number = chance.choice((0, 1, 0x7F, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF, 2**63 - 1, 2**64 - 1))
    form = chance.choice([form for form, size in (("<H", 2), ("<I", 4), ("<Q", 8), (">I", 4)) if number < 256**size])
    return head + struct.pack(form, number) + rest[struct.calcsize(form) :]


def _token(content: bytes, chance: random.Random) -> bytes:
    """Put a nasty number or text in place of a number, a word or a quoted text."""
    at = chance.choice(list(_TOKEN.finditer(content[:200_000])))
    new = chance.choice(_NUMBERS + TEXTS).encode("utf-8", "surrogatepass")
    if at[0][:1] in b"\"'" and chance.random() < 0.9:
        new = at[0][:1] + new + at[0][:1]
    return content[: at.start()] + new + content[at.end() :]


def _json(content: bytes, chance: random.Random) -> bytes:
    return json.dumps(_changed(json.loads(content), chance)).encode()


def _json_line(content: bytes, chance: random.Random) -> bytes:
    lines = content.split(b"\n")
    index = chance.randrange(len(lines))
    lines[index] = _json(lines[index], chance)
    return b"\n".join(lines)


def _changed(value: Any, chance: random.Random) -> Any:
    """A value with one of its parts, at any depth, replaced, removed or doubled."""
    way = chance.random()
    if isinstance(value, dict) and value and chance.random() < 0.85:
        key = chance.choice(list(value))
        if way < 0.1:
            return {name: part for name, part in value.items() if name != key}
        if way < 0.15:
            return value | {chance.choice([*value, "x", "\ud800", "../x"]): value[key]}
        return value | {key: _changed(value[key], chance)}
    if isinstance(value, list) and value and chance.random() < 0.85:
        index = chance.randrange(len(value))
        new = [] if way < 0.1 else [value[index]] * 2 if way < 0.2 else [_changed(value[index], chance)]
        return [*value[:index], *new, *value[index + 1 :]]
    return chance.choice(VALUES)


def _safetensors_header(content: bytes, chance: random.Random) -> bytes:
    """Change the header as JSON, and texts in it that are JSON themselves."""
    (size,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + size])
    texts = header.get("__metadata__") or {}
    key = chance.choice([*texts, ""])
    if key and chance.random() < 0.7:
        texts[key] = json.dumps(_changed(json.loads(texts[key]), chance))
    else:
        header = _changed(header, chance)
    data = json.dumps(header).encode()
    return struct.pack("<Q", len(data)) + data + content[8 + size :]


def _sqlite_cell(content: bytes, chance: random.Random) -> bytes:
    """Put a nasty value into one cell, or change the schema."""
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        connection.deserialize(content)
        tables = [name for (name,) in connection.execute("select name from sqlite_master where type = 'table'")]
        table = chance.choice(tables)
        column = chance.choice([row[1] for row in connection.execute(f'pragma table_info("{table}")')])
        if chance.random() < 0.1:
            change = chance.choice((f'drop table "{table}"', f'alter table "{table}" rename column "{column}" to "zz"'))
            connection.execute(change)
        else:
            value = chance.choice([*(value for value in VALUES if not isinstance(value, list | dict)), b"\xff\xfe"])
            row = chance.choice([row for (row,) in connection.execute(f'select rowid from "{table}"')] or [0])
            with contextlib.suppress(OverflowError, UnicodeEncodeError):
                connection.execute(f'update or ignore "{table}" set "{column}" = ? where rowid = ?', (value, row))
        connection.commit()
        return connection.serialize()


def _pickled(content: bytes, chance: random.Random) -> bytes:
    """The pickle of changed values, some of them arrays, some of its bytes changed; nothing foreign is ever loaded."""
    value = json.loads(content)
    for _ in range(chance.choice((1, 1, 2, 4))):
        value = _changed(value, chance)
    with contextlib.suppress(ValueError, OverflowError):
        value = _with_arrays(value, chance)
    data = pickle.dumps(value, protocol=chance.choice((2, 4)))
    return data if chance.random() < 0.7 else _bytes(data, chance)


def _with_arrays(value: Any, chance: random.Random) -> Any:
    if isinstance(value, dict):
        return {key: _with_arrays(part, chance) for key, part in value.items()}
    if isinstance(value, list) and chance.random() < 0.3:
        return np.array(value, dtype=None if chance.random() < 0.5 else object)
    return value


_OF_KIND: dict[str, tuple[Mutation, ...]] = {
    "text": (_token,),
    "json": (_json, _json, _token),
    "lines": (_json_line, _json_line, _token),
    "sqlite": (_sqlite_cell,),
    "safetensors": (_safetensors_header,),
    "bytes": (),
}
