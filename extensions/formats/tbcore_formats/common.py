"""Numbers, hyperparameters, points collected one by one, and files that no link leads to."""

from __future__ import annotations

import json
import math
import os
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from tbcore.engine import EventFile, Storage, one_line, storage_of
from tbcore_formats.reader import Points

_JSON = json.JSONEncoder(
    ensure_ascii=False, default=str, separators=(",", ":"), sort_keys=True
).encode
_MAX_LEAVES, _MAX_DEPTH = 10_000, 8
_MAX_NAME_LENGTH = 512
_WRITE_SECONDS = 10.0
"""A file that was written to less than this long ago may be incomplete."""
MAX_TAGS = 20_000
"""Maximum number of tags of a run. The others are left out, with a line."""


def opened(file: EventFile) -> Any:
    """Opens a file for a `with` statement; raises OSError, also for a link or a FIFO.

    Its object has `read(offset, size)`, which returns fewer bytes at the end of the file.
    """
    storage: Storage = storage_of(file.path)
    return storage.open_file(file, os.path.dirname(file.path))


def forget_others(
    files: Sequence[tuple[str, EventFile]], *known: dict[str, Any], all: bool = False
) -> None:
    """Removes paths from `known`: those of the root of `files` that are not in it any more; with
    `all`, each of that root. If `files` is empty, so that the root is unknown, those that do not
    exist."""
    paths = set() if all else {file.path for _, file in files}
    root = files[0][1].path.removesuffix(files[0][0]) if files else None
    for each in known:
        for path in list(each):
            is_gone = not os.path.lexists(path) if root is None else path not in paths
            if is_gone and path.startswith(root or ""):
                del each[path]


def is_being_written(file: EventFile, since: float = 0.0) -> bool:
    """Whether a file may be incomplete: it was written to, or found, just before."""
    return time.time() - max(file.mtime_ns / 1e9, since) < _WRITE_SECONDS


def number(value: Any) -> float | None:
    """A number or bool as float64, infinite if it is too large; None for anything else."""
    if isinstance(value, bool | int | float):
        try:
            return float(value)
        except OverflowError:
            return math.inf if value > 0 else -math.inf
    return None


def hparam(value: Any) -> float | str | bool | None:
    """A value as a hyperparameter: numbers as float64, lists as JSON without blanks."""
    if value is None or isinstance(value, bool | str):
        return value
    found = number(value)
    return _JSON(value) if found is None else found


def joined(prefix: str | None, key: str) -> str | None:
    """A key after those that lead to it; None if that is too long, or if `prefix` is None.

    Without a limit, one long key would be copied for each value below it.
    """
    if prefix is None or len(prefix) + len(key) > _MAX_NAME_LENGTH:
        return None
    return f"{prefix}{key}"


def leaves(value: Mapping[str, Any], separator: str) -> Iterator[tuple[str, Any]]:
    """The values in nested dicts by the keys that lead to them, joined by `separator`.

    At most 10,000, from 8 levels, with keys of up to 512 characters. Dicts with a `_type` are left
    out, since they are not plain values.
    """
    stack, count = [("", value, 0)], 0
    while stack:
        prefix, inner, depth = stack.pop()
        nested = []
        for key, each in inner.items():
            name = joined(prefix, key)
            if name is None:
                continue
            if isinstance(each, dict) and depth < _MAX_DEPTH:
                if "_type" not in each:
                    nested.append((f"{name}{separator}", each, depth + 1))
            elif count < _MAX_LEAVES:
                count += 1
                yield name, each
        stack += reversed(nested)


def safe_name(name: str, otherwise: str) -> str:
    """A name that somebody gave, as one segment of the name of a run. If it cannot be one, it is
    `otherwise`, and if that cannot either, `_`."""
    for each in (name, otherwise):
        step = one_line(each.replace("/", "_"))[:_MAX_NAME_LENGTH].strip()
        if step not in ("", ".", ".."):
            return step
    return "_"


_Lists = tuple[list[Any], list[Any], list[Any]]
"""The steps, wall times and values of a tag."""


class Rows:
    """Points by tag, collected one by one."""

    def __init__(self) -> None:
        self._by_tag: dict[str, _Lists] = {}
        self._tags: set[str] = set()
        self.lines: dict[str, None] = {}
        """What `taken` says about rows that are left out, each line once."""

    def add(self, tag: str, step: int, wall_time: float, value: float) -> None:
        """Adds a point. The step must be in the range of int64."""
        lists = self._by_tag.get(tag) or self._new_lists(tag)
        lists[0].append(step)
        lists[1].append(wall_time)
        lists[2].append(value)

    def extend(self, tags: Iterable[str], *columns: NDArray[Any]) -> None:
        """Adds many points: their tags, and arrays of their steps, wall times and values."""
        rows = defaultdict[str, list[int]](list)
        for row, tag in enumerate(tags):
            rows[tag].append(row)
        for tag, of_tag in rows.items():
            lists = self._by_tag.get(tag) or self._new_lists(tag)
            for each, column in zip(lists, columns, strict=True):
                each.extend(column[of_tag].tolist())

    def _new_lists(self, tag: str) -> _Lists:
        lists: _Lists = [], [], []
        if tag in self._tags or len(self._tags) < MAX_TAGS:
            self._tags.add(tag)
            self._by_tag[tag] = lists
        else:
            self.lines[f"it has more than {MAX_TAGS:,} tags; the others are left out"] = None
        return lists

    def taken(self) -> Iterator[Mapping[str, Points] | str]:
        """The points and the lines since the last call."""
        found, self._by_tag = self._by_tag, {}
        lines, self.lines = self.lines, {}
        yield {
            tag: Points(np.array(s, np.int64), np.array(w, float), np.array(v, float))
            for tag, (s, w, v) in found.items()
        }
        yield from lines


def is_step(value: Any) -> TypeGuard[int]:
    """Whether a value is an integer in the range of int64."""
    return type(value) is int and -(1 << 63) <= value < 1 << 63
