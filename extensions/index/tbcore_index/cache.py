"""SegmentCache: caches the most recently used files and row groups of an index."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tbcore import DataLossError, Kind, NotFoundError
from tbcore.engine import one_line
from tbcore_index.tables import COLUMNS, Place, SegmentFile

_MAX_OPEN_FILES = 512


class SeriesRow(NamedTuple):
    """A row of the table `series`, with a field for each column."""

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
    min_step: int | None = None
    """The step of the first row with the value `min`. None in format 1, like `max_step`."""
    max_step: int | None = None

    @property
    def kind(self) -> Kind:
        return Kind(self.field, self.plugin, self.is_scalar)


_Group = tuple[list[NDArray[Any]], int]
"""The columns of a row group, and their size in bytes."""


class SegmentGoneError(NotFoundError):
    """A segment was replaced, and its files were deleted."""


class SegmentCache:
    """Open files and row groups. May be used in any thread."""

    def __init__(self, place: Place, max_bytes: int) -> None:
        self._place = place
        self.names: dict[str, Sequence[str]] = {
            "series": place.columns["series"].names,
            **{
                t: [f.name for f in COLUMNS[t] if f.type != pa.string()]
                for t in ("points", "items")
            },
        }
        """Maps tables to the columns that are read and cached: all of `series`, the numbers of
        others."""
        self._max_bytes = max_bytes
        self._num_bytes = 0
        self._files: OrderedDict[tuple[str, str], SegmentFile] = OrderedDict()
        self._groups: OrderedDict[tuple[str, str, int], _Group] = OrderedDict()
        self._lock = threading.RLock()

    def file(self, table: str, segment: str) -> SegmentFile:
        with self._lock:
            key = table, segment
            if key not in self._files:
                try:
                    self._files[key] = self._place.open(table, segment)
                except FileNotFoundError:
                    name = f"{self._place.path}/{table}/{segment}.parquet"
                    raise SegmentGoneError(
                        one_line(f"a segment of the index is gone: {name}")
                    ) from None
                if len(self._files) > _MAX_OPEN_FILES:
                    self._files.popitem(last=False)
            self._files.move_to_end(key)
            return self._files[key]

    def columns(self, table: str, segment: str, group: int) -> list[NDArray[Any]]:
        """The columns in `names` of a row group. Raises DataLossError or SegmentGoneError."""
        key = table, segment, group
        with self._lock:
            if key not in self._groups:
                try:
                    names = self.names[table]
                    rows = self.file(table, segment).group(group, names)
                    columns = [_array(rows.column(name).combine_chunks()) for name in names]
                except (pa.ArrowException, TypeError, ValueError) as error:
                    # A column has nulls, which a valid file does not have.
                    raise DataLossError(
                        f"a segment of the index is damaged: {segment}: {error}"
                    ) from None
                size = sum(column.nbytes for column in columns)
                self._groups[key] = columns, size
                self._num_bytes += size
                while self._num_bytes > self._max_bytes and len(self._groups) > 1:
                    self._num_bytes -= self._groups.popitem(last=False)[1][1]
            self._groups.move_to_end(key)
            return self._groups[key][0]


def _array(column: pa.Array) -> NDArray[Any]:
    """A column as an array, in which equal texts are the same object."""
    # Not by `to_numpy`, which imports pandas.
    if pa.types.is_string(column.type) or pa.types.is_binary(column.type):
        encoded = column.dictionary_encode("encode")  # A null becomes one of the texts.
        texts = np.array(encoded.dictionary.to_pylist(), object)
        found: NDArray[Any] = texts[np.from_dlpack(encoded.indices)]
        return found
    if pa.types.is_boolean(column.type):
        return np.from_dlpack(column.cast(pa.uint8())).astype(np.bool_)
    return np.from_dlpack(column)
