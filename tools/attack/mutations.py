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

NUMBERS = (
    *("0", "-0", "-1", "-5", "1e308", "-1e308", "1e400", "NaN", "nan", "Infinity", "-Infinity", "inf", "99", "0x10"),
    *("9" * 5000, "1" + "0" * 400, "-" + "7" * 5000, "2147483648", "18446744073709551616", "1_000", "٣", "½", "²"),
    *("1e-320", "00:00:99", "1.7976931348623157e308", "4294967296000"),
)
TEXTS = (
    *(
        "",
        " ",
        "\\u0000",
        "\\ud800",
        "\\udcff",
        "\\udfff\\ud800",
        "../../secret",
        "/etc/hostname",
        "C:\\\\x",
        "..",
        ".",
    ),
    *("\\u001b[31m", "[/x]", "[bold]", "=1+1", "%s%n", "{0.__class__}", "\\u202e", "a" * 5000, "NUL", "con.mp4"),
    *("http://127.0.0.1:9/x", "file:///x", "?a=b", "%42", "'; drop table x; --", "<b>", "&lt;", "&#xD800;", "-->"),
)
RAW = (
    *(b"\0", b"\xff", b"\xed\xa0\x80", b"\x1b[2J", b"\xef\xbb\xbf", b"\xff\xfe", b"\r", b"\n\n", b"\t", b",", b";"),
    *(b'"', b"'", b"<", b">", b"&", b"-->", b"[" * 3000, b"{" * 3000, b'{"a":' * 2000, b"<p>" * 500, b"<" * 3000),
    *(b"(" * 2000, b"1" * 6000, b"\xf0\x9f\xa4\x9f", b"\xe2\x80\xa8", b"\x85", b"<!DOCTYPE a>", b"]]>", b"\\"),
)
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, -5, 99, 1e308, -1e308, 10**400, 0.5, 2**63, 2**31, float("nan"), float("inf")),
    *("", " ", "x", "\ud800", "\udcff", "\0", "../../secret", "/etc/hostname", "\x1b[31m", "[/x]", "a" * 5000, "é"),
    *([], {}, [[]], [None], [1, 2], ["a", 1], {"a": None}, {"": ""}, [1e308, -1e308], ["..", "x"]),
)
_TOKEN = re.compile(rb"-?\d[\d.,:eE+-]*|[A-Za-z_][\w-]*|\"[^\"\n]*\"|'[^'\n]*'")
_SWOLLEN = 1 << 19  # bytes
Mutation = Callable[[bytes, random.Random], bytes]


def mutate(seeds: list[bytes], kind: str, chance: random.Random) -> bytes:
    """One mutated input.

    Args:
        seeds: valid files.
        kind: 'text', 'json', 'lines' of JSON, 'sqlite', 'safetensors', 'pickle' (of seeds in JSON) or
            'bytes'.
        chance: decides.
    """
    content = chance.choice(seeds)
    if kind == "pickle":
        return _pickled(content, chance)
    own = _OF_KIND[kind]
    for _ in range(chance.choice((1, 1, 1, 2, 3, 8))):
        mutation = chance.choice(own) if own and chance.random() < 0.6 else chance.choice(_BYTES)
        with contextlib.suppress(ValueError, RecursionError, UnicodeError, struct.error, sqlite3.Error):
            content = mutation(content, chance)  # one that no longer fits an earlier one's result is passed over
    if chance.random() < 0.005:
        content = _swell(content, chance)
    if len(seeds) > 1 and chance.random() < 0.1:
        other = chance.choice(seeds)
        content = content[: chance.randrange(len(content) + 1)] + other[chance.randrange(len(other) + 1) :]
    return content


def _flip(content: bytes, chance: random.Random) -> bytes:
    changed = bytearray(content)
    for _ in range(chance.choice((1, 1, 2, 8, 32))):
        if changed:
            changed[chance.randrange(len(changed))] = chance.randrange(256)
    return bytes(changed)


def _cut(content: bytes, chance: random.Random) -> bytes:
    return content[: chance.randrange(len(content) + 1)]


def _remove(content: bytes, chance: random.Random) -> bytes:
    start = chance.randrange(len(content) + 1)
    return content[:start] + content[start + chance.choice((1, 2, 8, 64, 512)) :]


def _repeat(content: bytes, chance: random.Random) -> bytes:
    start = chance.randrange(len(content) + 1)
    piece = content[start : start + chance.choice((1, 4, 16, 64))]
    return content[:start] + piece * chance.choice((2, 3, 100)) + content[start:]


def _swell(content: bytes, chance: random.Random) -> bytes:
    """Repeat a piece until it takes half a megabyte: readers that take the square of it are found out."""
    start = chance.randrange(len(content) + 1)
    piece = chance.choice((chance.choice(RAW), content[start : start + chance.choice((1, 8, 64, 512, 4096))])) or b" "
    return content[:start] + piece * (_SWOLLEN // len(piece)) + content[start:]


def _insert(content: bytes, chance: random.Random) -> bytes:
    start = chance.randrange(len(content) + 1)
    return content[:start] + chance.choice(RAW) + content[start:]


def _great_number(content: bytes, chance: random.Random) -> bytes:
    """Overwrite bytes that may be a length or an offset."""
    number = chance.choice((0, 1, 0x7F, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF, 2**63 - 1, 2**64 - 1))
    form = chance.choice([form for form, size in (("<H", 2), ("<I", 4), ("<Q", 8), (">I", 4)) if number < 256**size])
    start = chance.randrange(len(content) + 1)
    piece = struct.pack(form, number)
    return content[:start] + piece + content[start + len(piece) :]


def _token(content: bytes, chance: random.Random) -> bytes:
    """Put a nasty number or text in place of a number, a word or a quoted text."""
    found = list(_TOKEN.finditer(content[:200_000]))
    if not found:
        return content
    at = chance.choice(found)
    new = chance.choice(NUMBERS + TEXTS).encode("utf-8", "surrogatepass")
    if at[0][:1] in b"\"'" and chance.random() < 0.9:
        new = at[0][:1] + new + at[0][:1]
    return content[: at.start()] + new + content[at.end() :]


def _json(content: bytes, chance: random.Random) -> bytes:
    return _dump(_changed(json.loads(content), chance))


def _json_line(content: bytes, chance: random.Random) -> bytes:
    lines = content.split(b"\n")
    place = chance.randrange(len(lines))
    lines[place] = _json(lines[place], chance)
    return b"\n".join(lines)


def _dump(value: Any) -> bytes:
    return json.dumps(value).encode()


def _changed(value: Any, chance: random.Random) -> Any:
    """A value with one of its parts, at any depth, replaced, removed or doubled."""
    if isinstance(value, dict) and value and chance.random() < 0.85:
        key = chance.choice(list(value))
        way = chance.random()
        if way < 0.1:
            return {name: part for name, part in value.items() if name != key}
        if way < 0.15:
            return value | {chance.choice([*value, "x", "\ud800", "../x"]): value[key]}
        return value | {key: _changed(value[key], chance)}
    if isinstance(value, list) and value and chance.random() < 0.85:
        place = chance.randrange(len(value))
        way = chance.random()
        if way < 0.1:
            return [*value[:place], *value[place + 1 :]]
        if way < 0.2:
            return [*value, value[place]]
        return [*value[:place], _changed(value[place], chance), *value[place + 1 :]]
    return chance.choice(VALUES)


def _safetensors_header(content: bytes, chance: random.Random) -> bytes:
    """Change the header as JSON, and texts in it that are JSON themselves."""
    (size,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + size])
    texts = header.get("__metadata__") if isinstance(header, dict) else None
    if not isinstance(texts, dict):
        return content
    key = chance.choice([*texts, ""])
    if key and chance.random() < 0.7:
        with contextlib.suppress(ValueError, TypeError):
            texts[key] = json.dumps(_changed(json.loads(texts[key]), chance))
    else:
        header = _changed(header, chance)
    data = _dump(header)
    return struct.pack("<Q", len(data)) + data + content[8 + size :]


def _sqlite_cell(content: bytes, chance: random.Random) -> bytes:
    """Put a nasty value into one cell, or change the schema."""
    connection = sqlite3.connect(":memory:")
    try:
        connection.deserialize(content)
        tables = [name for (name,) in connection.execute("select name from sqlite_master where type = 'table'")]
        table = chance.choice(tables)
        columns = [row[1] for row in connection.execute(f'pragma table_info("{table}")')]
        column = chance.choice(columns)
        if chance.random() < 0.1:
            change = chance.choice((f'drop table "{table}"', f'alter table "{table}" rename column "{column}" to "zz"'))
            connection.execute(change)
        else:
            value = chance.choice([each for each in VALUES if not isinstance(each, list | dict)] + [b"\xff\xfe", b""])
            row = chance.choice([row for (row,) in connection.execute(f'select rowid from "{table}"')] or [0])
            connection.execute(f'update or ignore "{table}" set "{column}" = ? where rowid = ?', (value, row))
        connection.commit()
        return connection.serialize()
    except (OverflowError, UnicodeEncodeError):
        return content
    finally:
        connection.close()


def _pickled(content: bytes, chance: random.Random) -> bytes:
    """The pickle of changed values, some of them arrays, some of its bytes changed; nothing foreign is ever loaded."""
    value = json.loads(content)
    for _ in range(chance.choice((1, 1, 2, 4))):
        value = _changed(value, chance)
    with contextlib.suppress(ValueError, OverflowError):
        value = _with_arrays(value, chance)
    data = pickle.dumps(value, protocol=chance.choice((2, 4)))
    return data if chance.random() < 0.7 else chance.choice(_BYTES)(data, chance)


def _with_arrays(value: Any, chance: random.Random) -> Any:
    if isinstance(value, dict):
        return {key: _with_arrays(part, chance) for key, part in value.items()}
    if isinstance(value, list) and chance.random() < 0.3:
        return np.array(value, dtype=None if chance.random() < 0.5 else object)
    return value


_BYTES: tuple[Mutation, ...] = (_flip, _cut, _remove, _repeat, _insert, _great_number)
_OF_KIND: dict[str, tuple[Mutation, ...]] = {
    "text": (_token,),
    "json": (_json, _json, _token),
    "lines": (_json_line, _json_line, _token),
    "sqlite": (_sqlite_cell,),
    "safetensors": (_safetensors_header,),
    "bytes": (),
}
