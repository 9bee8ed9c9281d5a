"""JSON for programs, and with --max_bytes, answers that say what they leave out.

    [{...}, {...}, {"cut": {"rows": "2 of 14,233"}}]           a list: its last element
    {"run": "a", "tags": [...], "cut": {"tags": "30 of 812"}}  an object: its last field
    {...} LF {...} LF {"cut": {"rows": "2 of 14,233"}} LF      JSON lines: the last line

An answer without `cut` is complete. If it does not fit, long texts are cut, too, and `cut` has
their `characters`.
"""

from __future__ import annotations

import json
import math
import re
import sys
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from tbcore.engine import to_json, warn
from tbcore_logs.commands.arguments import max_bytes

_TEXTS_PER_ANSWER = 8
"""A text gets at most this part of an answer in which not everything fits."""


def print_json(data: list[Any] | dict[str, Any], *, is_spread: bool = False) -> None:
    """Prints JSON as `bounded` does, or on a terminal without --max_bytes, indented.

    Non-finite numbers are the strings `NaN`, `Infinity`, `-Infinity`.
    """
    if (limit := max_bytes()) is not None or not sys.stdout.isatty():
        content = bounded(data, sys.maxsize if limit is None else limit, is_spread=is_spread)
        click.echo(content, nl=False)
    else:
        text = json.dumps(json.loads(to_json(data)), indent=2, ensure_ascii=False)
        click.echo(_with_escapes(text))


def json_line(data: Any) -> str:
    """JSON as one line."""
    return _with_escapes(to_json(data).decode())


def _with_escapes(text: str) -> str:
    """JSON with all control characters escaped, even those that JSON allows in strings."""
    return re.sub(r"[\x7f-\x9f\u202a-\u202e\u2066-\u2069]", lambda c: f"\\u{ord(c[0]):04x}", text)


def bounded(data: list[Any] | dict[str, Any], limit: int, *, is_spread: bool = False) -> bytes:
    """The data as JSON of at most `limit` bytes. Warns if anything is left out.

    Keeps the first rows of a list, or with `is_spread` rows at even distances, among them the first
    and the last one, and those of each stretch whose values are not finite. Of an object, keeps the
    same number of entries of each list and dict in it.
    """
    # 1. Encode everything, unless there are more entries than could fit.
    # 2. Otherwise cut long texts, and double the number of entries while they fit.
    # 3. Find the largest number that fits between the last two.
    max_text = limit // _TEXTS_PER_ANSWER
    parts: Mapping[str, Any] = {"rows": data} if isinstance(data, list) else data
    lengths = {name: len(part) for name, part in parts.items() if isinstance(part, list | dict)}
    ends = _ends_of_stretches(data) if is_spread and isinstance(data, list) else None

    def encoded(num: int, max_text: int = max_text) -> tuple[bytes, dict[str, str]]:
        texts = _Texts(max_text)
        shown = {
            name: texts.shortened(_some(part, num, ends) if name in lengths else part)
            for name, part in parts.items()
        }
        cut = {name: f"{num:,} of {n:,}" for name, n in lengths.items() if n > num}
        if texts.num_left < texts.num_characters:
            cut["characters"] = f"{texts.num_left:,} of {texts.num_characters:,}"
        note = {"cut": cut} if cut else {}
        if isinstance(data, list):
            rows = [*shown["rows"], *([note] if note else [])]
            return _encoded("[" + ",\n ".join(map(json_line, rows)) + "]\n"), cut
        return _encoded(f"{json_line(shown | note)}\n"), cut

    def is_too_long(num: int) -> bool:
        return len(encoded(num)[0]) > limit

    total = max(lengths.values(), default=0)
    content, cut = encoded(min(total, limit), limit)  # 1
    if len(content) > limit:
        end = 1  # 2
        while end < total and not is_too_long(end):
            end *= 2
        numbers = range(end // 2, min(end, total) + 1)
        content, cut = encoded(numbers[bisect_left(numbers, True, lo=1, key=is_too_long) - 1])  # 3
    _warn(cut, limit)
    return content


class FirstLines:
    """A file for JSON lines. Its content is the first of them that fit, and what is left out."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._num_lines = 0
        self._num_bytes = 0
        self._kept: list[bytes] = []

    def write(self, content: bytes) -> None:
        """Adds whole lines."""
        num_before = self._num_lines
        self._num_lines += content.count(b"\n")
        if num_before == len(self._kept):
            for line in content.splitlines(keepends=True):
                if self._num_bytes + len(line) > self._limit:
                    break
                self._kept.append(line)
                self._num_bytes += len(line)

    def lines(self, *, is_reversed: bool = False) -> list[bytes]:
        """The lines that fit, with `is_reversed` in the reverse order of writing, and the note."""
        kept, cut = list(self._kept), {}
        note = b""
        while len(kept) < self._num_lines:
            cut = {"rows": f"{len(kept):,} of {self._num_lines:,}"}
            note = f"{json_line({'cut': cut})}\n".encode()
            if sum(map(len, kept)) + len(note) <= self._limit:
                break
            kept.pop()
        _warn(cut, self._limit)
        return [*(reversed(kept) if is_reversed else kept), note]


class _Texts:
    """Shortens texts, and counts the characters of those that are too long."""

    def __init__(self, max_text: int) -> None:
        """`max_text` is the maximum length of a text in JSON, in bytes."""
        self._max_text = max_text
        self.num_characters = 0
        self.num_left = 0

    def shortened(self, value: Any) -> Any:
        """The value with `…` at the end of each text that was cut. Names of fields are not cut."""
        if isinstance(value, dict):
            return {name: self.shortened(each) for name, each in value.items()}
        if isinstance(value, list):
            return list(map(self.shortened, value))
        if not (isinstance(value, str) and self._is_too_long(value)):
            return value
        numbers = range(1, min(len(value), self._max_text))
        num = bisect_left(numbers, True, key=lambda n: self._is_too_long(f"{value[:n]}…"))
        self.num_characters += len(value)
        self.num_left += num
        return f"{value[:num]}…"

    def _is_too_long(self, text: str) -> bool:
        # A character takes at most six bytes, as `\u001b` does.
        return 6 * len(text) + 2 > self._max_text < len(_encoded(json_line(text)))


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "backslashreplace")


def _ends_of_stretches(rows: Sequence[Any]) -> NDArray[np.int64]:
    """The first and the last row of each run, if rows have runs, and of each stretch of rows whose
    values are NaN or infinite."""
    values = [row.get("value") if isinstance(row, dict) else None for row in rows]
    is_bad = np.array([isinstance(v, float) and not math.isfinite(v) for v in values], np.bool_)
    changes = np.flatnonzero(np.diff(is_bad, prepend=False, append=False))
    runs = [row.get("run") if isinstance(row, dict) else None for row in rows]
    starts = np.array([i for i in range(1, len(runs)) if runs[i] != runs[i - 1]], np.int64)
    return np.unique(np.concatenate([changes[::2], changes[1::2] - 1, starts - 1, starts]))


def _some(part: Sequence[Any] | Mapping[str, Any], num: int, ends: NDArray[np.int64] | None) -> Any:
    """`num` entries of a list or dict, or all if there are not as many.

    With `ends`, rows at even distances, and these among them, of which the last may be left out.
    """
    if isinstance(part, Mapping):
        return dict(islice(part.items(), num))
    if ends is not None and num < len(part):
        ends = ends[: num // 2]
        others = np.delete(np.arange(len(part)), ends)
        spread = np.linspace(0, len(others) - 1, num - len(ends)).round().astype(int)
        return [part[index] for index in np.sort(np.append(ends, others[spread])).tolist()]
    return list(part[:num])


def _warn(cut: Mapping[str, str], limit: int) -> None:
    if cut:
        left = ", ".join(f"{count} {name}" for name, count in cut.items())
        warn(f"cut to --max_bytes {limit}: {left}")
