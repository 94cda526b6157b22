"""A look at every instruction of a pickle before it is read: what would take memory or depth beyond reason is refused.

Nothing is built. The stack is followed by the depth of tuples alone, since only they are hashed to their depths.
"""

import pickletools
import re
from dataclasses import dataclass
from typing import Any

MOST_OPERATIONS = 200_000_000
MOST_CONTAINERS = 500_000  # lists, dictionaries, sets, arrays; a set takes 216 bytes of memory, and one of the file
DEEPEST = 100  # tuples within tuples
_MOST_MARKS = 10_000  # that are open at once
_SPARE = 1000  # memo places beyond the operations so far

# Numbers, None and truth values, as many as stand beside each other.
_PLAIN = re.compile(rb"(?:G.{8}|K.|M..|J.{4}|[N\x88\x89])+", re.DOTALL)
_ONE_PLAIN = re.compile(rb"G.{8}|K.|M..|J.{4}|[N\x88\x89]", re.DOTALL)
_PLAIN_CODES = frozenset(b"GKMJN\x88\x89")
_SHORT_TEXT, _TEXT, _MEMOIZE = b"\x8cX\x94"
_LENGTH_BYTES = {
    pickletools.TAKEN_FROM_ARGUMENT1: 1,
    pickletools.TAKEN_FROM_ARGUMENT4: 4,
    pickletools.TAKEN_FROM_ARGUMENT4U: 4,
    pickletools.TAKEN_FROM_ARGUMENT8U: 8,
}
_MAKES = frozenset(("EMPTY_LIST", "EMPTY_DICT", "EMPTY_SET", "LIST", "DICT", "FROZENSET", "REDUCE", "NEWOBJ", "OBJ"))
_DEEPENS = frozenset(("TUPLE1", "TUPLE2", "TUPLE3", "TUPLE", "FROZENSET", "REDUCE", "NEWOBJ", "NEWOBJ_EX", "OBJ"))


class ScanError(ValueError):
    """A pickle asks for more than plain data ever needs; the text says for what."""


@dataclass(frozen=True, slots=True)
class _Operation:
    name: str
    fixed: int  # bytes of its argument; -1: as many as stated, or lines
    length: int  # bytes that state the length; 0: none
    lines: int  # that follow
    to_mark: bool  # takes all down to the last mark
    takes: int
    gives: int


def _operation(code: Any) -> _Operation:
    size = 0 if code.arg is None else code.arg.n
    lines = 0 if size != pickletools.UP_TO_NEWLINE else 2 if code.name in ("GLOBAL", "INST") else 1
    before = code.stack_before
    to_mark = pickletools.markobject in before
    below = before.index(pickletools.markobject) if to_mark else len(before)
    return _Operation(code.name, size, _LENGTH_BYTES.get(size, 0), lines, to_mark, below, len(code.stack_after))


_OPERATIONS = {ord(code.code): _operation(code) for code in pickletools.opcodes}


def scan(data: Any, start: int = 0) -> int:
    """Follow the pickle that begins at `start` of some bytes, or of a mapped file; give the place after its end.

    Raises:
        ScanError: it is cut off, no pickle, or asks for too much memory or depth.
    """
    stack: list[int] = []  # depths of tuples
    marks: list[int] = []
    memo: dict[int, int] = {}
    place, end, done, made = start, len(data), 0, 0
    while place < end:
        code, done = data[place], done + 1
        if code == _SHORT_TEXT:  # the usual ones first: nearly all of a large file
            place += 2 + (data[place + 1] if place + 1 < end else end)
            stack.append(0)
        elif code == _TEXT:
            place += 5 + int.from_bytes(data[place + 1 : place + 5], "little")
            stack.append(0)
        elif code == _MEMOIZE and stack:
            place += 1
            memo[len(memo)] = stack[-1]
        elif code in _PLAIN_CODES and (plain := _PLAIN.match(data, place)):
            count = len(_ONE_PLAIN.findall(data, place, plain.end()))
            stack.extend([0] * count)
            place, done = plain.end(), done + count
        else:
            operation = _OPERATIONS.get(code)
            if operation is None:
                raise ScanError("it is no pickle")
            argument, place = _argument(data, place + 1, end, operation)
            if operation.name == "STOP":
                return place
            made += operation.name in _MAKES
            _follow(operation, argument, stack, marks, memo, done)
        if done > MOST_OPERATIONS or made > MOST_CONTAINERS:
            raise ScanError(f"it holds more than {MOST_CONTAINERS:,} containers, or {MOST_OPERATIONS:,} values")
    raise ScanError("it is cut off")


def _argument(data: Any, place: int, end: int, operation: _Operation) -> tuple[bytes, int]:
    """The bytes of a small argument, and the place behind it; a stated length is held against what is there."""
    if operation.lines:
        after = place
        for _ in range(operation.lines):
            after = data.find(b"\n", after) + 1
            if not after:
                raise ScanError("it is cut off in the middle of a line")
        return bytes(data[place : min(after, place + 40)]), after
    if operation.length:
        size = int.from_bytes(data[place : place + operation.length], "little")
        after = place + operation.length + size
    else:
        size, after = operation.fixed, place + operation.fixed
    if after > end:
        raise ScanError(f"it says that {size:,} bytes follow, where {max(0, end - place):,} are left")
    if operation.name == "FRAME" and place + 8 + int.from_bytes(data[place : place + 8], "little") > end:
        raise ScanError("it says that a part follows which is not there")
    return bytes(data[place : place + 8]) if operation.fixed > 0 else b"", after


def _follow(
    operation: _Operation, argument: bytes, stack: list[int], marks: list[int], memo: dict[int, int], done: int
) -> None:
    """Do to the stack of depths what the operation does to the stack of values."""
    name = operation.name
    if name in ("MARK", "PROTO", "FRAME"):
        if name == "MARK":
            marks.append(len(stack))
        if len(marks) > _MOST_MARKS:
            raise ScanError(f"it opens more than {_MOST_MARKS:,} containers at once")
        return
    if name in ("MEMOIZE", "PUT", "BINPUT", "LONG_BINPUT"):
        number = len(memo) if name == "MEMOIZE" else _number(name, argument)
        if not 0 <= number <= done + _SPARE:
            raise ScanError(f"it asks for place {number:,} in a memory of {done:,}")
        memo[number] = stack[-1] if stack else 0
        return
    if name in ("GET", "BINGET", "LONG_BINGET"):
        stack.append(memo.get(_number(name, argument), 0))
        return
    if name == "POP" and marks and marks[-1] == len(stack):
        marks.pop()
        return
    floor = marks.pop() if operation.to_mark and marks else len(stack)
    floor = max(0, floor - operation.takes)
    taken = stack[floor:]
    del stack[floor:]
    depth = 1 + max(taken, default=0) if name in _DEEPENS else taken[0] if name == "DUP" and taken else 0
    if depth > DEEPEST:
        raise ScanError(f"it holds tuples {depth} deep")
    stack.extend([depth] * operation.gives)


def _number(name: str, argument: bytes) -> int:
    if name in ("PUT", "GET"):
        text = argument.strip()
        return int(text) if text.isdigit() and len(text) < 20 else -1
    return int.from_bytes(argument[: 1 if name in ("BINPUT", "BINGET") else 4], "little")
