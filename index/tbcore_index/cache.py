"""SegmentCache: open files and row groups of an index, the most recently used ones."""

from __future__ import annotations

import threading
from collections import OrderedDict
from itertools import starmap
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tbcore.errors import DataLossError, NotFoundError
from tbcore_index.tables import COLUMNS, Place, SegmentFile

_MAX_OPEN_FILES = 512
_SERIES_BYTES = 600
"""Approximate memory of a SeriesRow."""


class SeriesRow(NamedTuple):
    """A row of `series`; the fields are its columns."""

    run: str
    tag: str
    field: str
    plugin: str
    is_scalar: bool
    metadata: bytes | None
    first_row: int
    num_rows: int
    has_ordinals: bool
    last_ordinal: int
    first_step: int
    last_step: int
    highest_step: int
    first_wall_time: float
    last_wall_time: float
    last_value: float
    min: float
    max: float
    num_nonfinite: int


class SegmentGoneError(NotFoundError):
    """A segment was replaced, and its files were deleted."""


class SegmentCache:
    """Open files and row groups. May be used from several threads."""

    def __init__(self, place: Place, max_bytes: int) -> None:
        self._place = place
        self._max_bytes = max_bytes
        self._num_bytes = 0
        self._files: OrderedDict[tuple[str, str], SegmentFile] = OrderedDict()
        self._groups: OrderedDict[tuple[str, str, int], tuple[Any, int]] = OrderedDict()
        self._lock = threading.RLock()

    def file(self, table: str, segment: str) -> SegmentFile:
        with self._lock:
            key = table, segment
            if key not in self._files:
                try:
                    self._files[key] = self._place.open(table, segment)
                except FileNotFoundError:
                    raise SegmentGoneError(
                        f"segment {segment} of the index {self._place} is gone"
                    ) from None
                if len(self._files) > _MAX_OPEN_FILES:
                    self._files.popitem(last=False)
            self._files.move_to_end(key)
            return self._files[key]

    def series(self, segment: str, group: int) -> list[SeriesRow]:
        """A row group of `series`."""
        return self._get("series", segment, group)  # type: ignore[no-any-return]

    def rows(self, table: str, segment: str, group: int) -> list[tuple[str, NDArray[Any]]]:
        """A row group of `points` or `items`: its columns of numbers."""
        return self._get(table, segment, group)  # type: ignore[no-any-return]

    def _get(self, table: str, segment: str, group: int) -> Any:
        key = table, segment, group
        with self._lock:
            if key not in self._groups:
                try:
                    value, size = _decoded(table, self.file(table, segment), group)
                except (pa.ArrowException, TypeError, ValueError) as error:
                    # A column has nulls, which none should have.
                    raise DataLossError(
                        f"a segment of the index is damaged: {segment}: {error}"
                    ) from None
                self._groups[key] = value, size
                self._num_bytes += size
                while self._num_bytes > self._max_bytes and len(self._groups) > 1:
                    self._num_bytes -= self._groups.popitem(last=False)[1][1]
            self._groups.move_to_end(key)
            return self._groups[key][0]


def _decoded(table: str, file: SegmentFile, group: int) -> tuple[Any, int]:
    """A row group as it is cached, and its size in bytes."""
    if table == "series":
        columns = [column.to_pylist() for column in file.group(group).select(SeriesRow._fields)]
        rows = list(starmap(SeriesRow, zip(*columns, strict=True)))
        return rows, _SERIES_BYTES * len(rows)
    names = [f.name for f in COLUMNS[table] if not pa.types.is_string(f.type)]
    numbers = file.group(group, names)
    # Not by `to_numpy`, which imports pandas.
    arrays = [(name, np.from_dlpack(numbers.column(name).combine_chunks())) for name in names]
    return arrays, sum(array.nbytes for _, array in arrays)
