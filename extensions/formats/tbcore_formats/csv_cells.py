"""The header of CSV, and its cells as arrays. Numbers are read as JSON, which is the fastest."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import repeat
from operator import is_not
from typing import Any, NamedTuple

import numpy as np

_STEPS = "step", "global_step", "iteration", "iter", "training_iteration", "update", "epoch"
"""Names of columns with steps, the best ones first."""
HEAD_BYTES = 1 << 13
"""Size of the piece in which the header usually is."""
_MAX_HEADER_BYTES = 1 << 20
_MAX_COLUMNS = 10_000
csv.field_size_limit(max(csv.field_size_limit(), 1 << 20))  # No piece of a file is larger.
_LIMIT = 1 << 63
_WORDS = {"true": 1.0, "false": 0.0}


class Header(NamedTuple):
    """The first line of a file."""

    line: bytes
    """With its line break."""
    separator: str
    others: bytes
    """All bytes but separators and line breaks."""
    names: Sequence[str]
    step: int
    """Index of the column of steps."""


def read_head(source: Any) -> tuple[bytes, Header | None]:
    """The beginning of an open file, and its header; None without a column of steps."""
    head = source.read(0, HEAD_BYTES)
    if b"\n" not in head and len(head) == HEAD_BYTES:
        head = source.read(0, _MAX_HEADER_BYTES)
    line, newline, _ = head.partition(b"\n")
    return head, _parsed(line + newline) if newline else None


@lru_cache(maxsize=64)
def _parsed(line: bytes) -> Header | None:
    """The header in a line, which many runs share; None if no column has steps."""
    text = line.decode("utf-8-sig", "replace").strip("\r\n")
    if not text or "\0" in text:
        return None
    separator = max(",;\t", key=text.count)
    if not 1 <= text.count(separator) < _MAX_COLUMNS:
        return None
    names = _unique(next(csv.reader([text], delimiter=separator)))
    lower = [name.lower() for name in names]
    step = next((lower.index(name) for name in _STEPS if name in lower), None)
    if step is None or len(names) < 2:
        return None
    others = bytes(range(256)).translate(None, f"{separator}\n".encode())
    return Header(line, separator, others, names, step)


def _unique(names: Sequence[str]) -> list[str]:
    """The names of columns, without spaces; equal ones have numbers from 2 on."""
    names = [name.strip() for name in names]
    found, taken, numbers = list[str](), {*names}, dict[str, int]()
    for name in names:
        number = numbers.get(name, 0) + 1
        while name and number > 1 and f"{name}_{number}" in taken:
            number += 1
        numbers[name] = number
        found.append(f"{name}_{number}" if name and number > 1 else name)
        taken.add(found[-1])
    return found


class Cells(NamedTuple):
    """The cells of some lines that fit the header. Arrays of shape (num_rows, num_columns)."""

    values: Any
    has_value: Any
    """Where there is a number; None if everywhere."""
    steps: Sequence[Any]
    """The numbers in the column of steps, of the types int and float, and None for all others."""
    words: Mapping[int, str] = {}
    """Maps the index of a column to one of its cells that is not a number."""
    num_bad: int = 0
    """Number of lines that do not fit."""


def cells_of(piece: bytes, header: Header) -> Cells:
    """The cells of whole lines."""
    return _numbers_of(piece, header) or _odd_cells(piece, header)


def _numbers_of(piece: bytes, header: Header) -> Cells | None:
    """The cells of lines that have numbers alone, read as JSON; None if they have more."""
    separator, count = header.separator.encode(), len(header.names)
    marks = (separator * (count - 1) + b"\n") * piece.count(b"\n")
    text = piece.lower().replace(b"\r", b"")
    if separator != b",":
        text = text.replace(b",", b".").replace(separator, b",")
    text = text.replace(b"\n", b",")
    # JSON has no -0, and null stands for cells that are empty.
    if piece.translate(None, header.others) != marks or b'"' in piece or b"[" in piece:
        return None
    if b"-0," in text or b"null" in text:
        return None
    has_value, has_gaps = None, b",," in text or text[:1] == b","
    if b"n" in text:
        text = text.replace(b"nan", b"NaN").replace(b"inf", b"Infinity")
    if has_gaps:
        text = (b"," + text).replace(b",,", b",null,").replace(b",,", b",null,")[1:]
    try:
        cells = json.loads(b"[%b]" % text[:-1])
        values = np.array(cells, float).reshape(-1, count)
    except (ValueError, TypeError, OverflowError, RecursionError):
        return None
    if has_gaps:
        is_number = map(is_not, cells, repeat(None))
        has_value = np.fromiter(is_number, bool, len(cells)).reshape(-1, count)
    return Cells(values, has_value, cells[header.step :: count])


def _odd_cells(piece: bytes, header: Header) -> Cells:
    """The cells of any lines."""
    lines = piece.decode("utf-8", "surrogateescape").replace("\r", "").split("\n")
    # A quote that does not end would take all lines that follow with it.
    even = (line for line in lines if line.count('"') % 2 == 0)
    rows = [*csv.reader(even, delimiter=header.separator)]
    whole = [row for row in rows if len(row) == len(header.names)]
    point = "," if header.separator != "," else "."
    numbers = [[_number(cell.replace(point, ".")) for cell in row] for row in whole]
    words = {
        index: cell
        for row, values in zip(reversed(whole), reversed(numbers), strict=True)
        for index, (cell, value) in enumerate(zip(row, values, strict=True))
        if value is None and cell.strip()
    }
    has_value = np.array([[value is not None for value in row] for row in numbers], bool)
    steps = [row[header.step] for row in numbers]
    shape, num_bad = (len(whole), len(header.names)), sum(map(bool, lines)) - len(whole)
    values = np.array(numbers, float).reshape(shape)
    return Cells(values, has_value.reshape(shape), steps, words, num_bad)


def whole_numbers(values: Sequence[Any]) -> Sequence[int | None]:
    """The numbers as integers; None for each that is not one in the range of int64."""
    if {*map(type, values)} == {int} and min(values) >= -_LIMIT and max(values) < _LIMIT:
        return values
    return [int(v) if v is not None and abs(v) < _LIMIT and v == v // 1 else None for v in values]


def _number(cell: str) -> float | None:
    word = cell.strip().lower()
    try:
        return _WORDS[word] if word in _WORDS else float(word)
    except ValueError:
        return None
