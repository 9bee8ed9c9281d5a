"""Series: the rows of one (run, tag, kind), which are columns of a few tables.

    table 1   loss: 700,000 rows
    table 2   loss: 200,000 rows
    table 3   loss:      50 rows

Made when somebody asks for it. Arrays of a series in a single table are views of the table.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tbcore.eventfiles.table import Table, step_array
from tbcore.kinds import Kind
from tbcore.store import sampling

Rows = NDArray[np.int64]
"""Indices of rows in a series."""
Part = tuple[Table, int]
"""A table, and the index of a column of it."""

_MIN_ROWS_TO_CACHE = 1 << 17
"""Minimum length of a series whose columns are cached, if they are not just views. For fewer rows,
making them again takes less than a millisecond."""


@dataclass(frozen=True, slots=True, eq=False)
class ScalarSeries:
    """Points of one tag, in the order they were written. Arrays are read-only."""

    ordinal: NDArray[np.int64]
    """Shape (n,), ascending: position of the point among all rows written to its tag, from 0. It
    never changes."""
    step: NDArray[np.int64]
    """Shape (n,), not necessarily ascending."""
    wall_time: NDArray[np.float64]
    """Shape (n,), seconds since the epoch."""
    value: NDArray[np.floating[Any]]
    """Shape (n,), float32, or float64 if a value needs it."""

    def __len__(self) -> int:
        return len(self.value)


class UnsampledSeries(ScalarSeries):
    """All rows of a series.

    Ordinals and steps are computed when they are first used: there may be millions of them.
    """

    _series: Series

    def __init__(self, series: Series) -> None:
        # The base class is frozen.
        object.__setattr__(self, "_series", series)
        object.__setattr__(self, "wall_time", series.column("wall_time"))
        object.__setattr__(self, "value", series.column("value"))

    @cached_property
    def ordinal(self) -> NDArray[np.int64]:
        return self._series.column("ordinal")

    @cached_property
    def step(self) -> NDArray[np.int64]:
        """Shape (n,), not necessarily ascending."""
        return self._series.column("step")


class LastPoints(NamedTuple):
    """The last point of each tag of a run, as columns."""

    tags: list[str]
    """The tags that have points, in order of first appearance."""
    step: NDArray[np.int64]
    """Shape (n,), one step for each of `tags`."""
    wall_time: NDArray[np.float64]
    """Shape (n,), seconds since the epoch."""
    value: NDArray[np.float64]
    """Shape (n,)."""


@dataclass(frozen=True, slots=True, eq=False)
class ItemSeries:
    """Steps and times of one tag's items, in the order they were written, without their data."""

    ordinal: NDArray[np.int64]
    """Shape (n,), ascending: position of the item among all rows written to its tag, from 0. It
    never changes."""
    step: NDArray[np.int64]
    """Shape (n,), not necessarily ascending."""
    wall_time: NDArray[np.float64]
    """Shape (n,), seconds since the epoch."""

    def __len__(self) -> int:
        return len(self.step)


class Series:
    """The rows of one (run, tag, kind) at one moment.

    Its columns are `ordinal`, `step`, `wall_time`, and either `value` or the fields of References.
    """

    def __init__(self, kind: Kind, parts: Sequence[Part]) -> None:
        self.kind = kind
        self._parts = tuple(parts)
        """The columns with the rows, in the order written."""
        self._starts = [0]
        """The index of the first row of each part, and the number of all rows."""
        self.has_all_ordinals = True
        """Whether the ordinals are 0, 1, 2, ...: no row was dropped, and the tag has one kind."""
        for table, index in parts:
            self._starts.append(self._starts[-1] + table.num_rows_of(index))
            self.has_all_ordinals &= index not in table.ordinals

    def __len__(self) -> int:
        return self._starts[-1]

    def column(self, name: str) -> NDArray[Any]:
        """A column of shape (n,), read-only; a view of the table if possible."""
        make = _cached_column if len(self) >= _MIN_ROWS_TO_CACHE else _column
        return make(self._parts, name, self._dtype(name))

    def column_at(self, name: str, rows: Rows) -> NDArray[Any]:
        """These rows of a column; `rows` ascend."""
        if name == "ordinal" and self.has_all_ordinals:
            return rows
        dtype = self._dtype(name)
        if len(self._parts) == 1:
            return _part(self._parts[0], name, dtype, rows)
        cuts = np.searchsorted(rows, self._starts).tolist()
        parts = [
            _part(part, name, dtype, rows[cuts[i] : cuts[i + 1]] - self._starts[i])
            for i, part in enumerate(self._parts)
            if cuts[i] < cuts[i + 1]
        ]
        return np.concatenate(parts) if parts else np.empty(0, dtype)

    def sampled_rows(self, samples: int) -> Rows:
        """The rows in a sample of this size, ascending; all rows if `samples` is 0."""
        if self.has_all_ordinals:
            return sampling.sampled_rows(len(self), samples)
        return sampling.sampled_rows_of(self.column("ordinal"), samples)

    def row_of(self, ordinal: int) -> int | None:
        """The row with this ordinal; None if there is no such row."""
        if self.has_all_ordinals:
            return ordinal if 0 <= ordinal < len(self) else None
        ordinals = self.column("ordinal")
        row = int(np.searchsorted(ordinals, min(max(ordinal, -1), 1 << 62)))
        return row if row < len(ordinals) and int(ordinals[row]) == ordinal else None

    def _dtype(self, name: str) -> np.dtype[Any]:
        """The type of a column. Values are float64 if any needs it, in samples, too."""
        if name == "value" and any(index in table.wide for table, index in self._parts):
            return np.dtype(np.float64)
        return _DTYPES[name]


def sample_together(all_series: Sequence[Series], samples: int) -> list[Rows]:
    """Samples the rows of all series together. Returns, for each series, its rows in the sample."""
    if len(all_series) == 1:
        return [all_series[0].sampled_rows(samples)]
    # 1. Merge the ordinals of all series; each ordinal of a tag is in one series only.
    # 2. Sample the merged ordinals.
    # 3. In each series, find the rows whose ordinals are in the sample.
    ordinals_by_series = [series.column("ordinal") for series in all_series]
    merged = np.sort(np.concatenate([np.empty(0, np.int64), *ordinals_by_series]))  # 1.
    sample = merged[sampling.sampled_rows_of(merged, samples)]  # 2.
    return [  # 3.
        np.flatnonzero(np.isin(ordinals, sample, assume_unique=True))
        for ordinals in ordinals_by_series
    ]


def merged_columns(
    all_series: Sequence[Series], samples: int, names: Sequence[str]
) -> Iterator[NDArray[Any]]:
    """Samples all series together. Yields the ordinals, then the columns with these names.

    Arrays are read-only. Rows are sorted by ordinal.
    """
    names = ("ordinal", *names)
    if len(all_series) == 1 and not 0 < samples < len(all_series[0]):
        return map(all_series[0].column, names)  # not copied: there may be millions of rows
    sample = sample_together(all_series, samples)
    merged = []
    for name in names:
        none = np.empty(0, np.int64 if name in ("ordinal", "step") else np.float64)
        parts = [s.column_at(name, rows) for s, rows in zip(all_series, sample, strict=True)]
        merged.append(np.concatenate(parts or [none]))
    if len(all_series) > 1:
        order = np.argsort(merged[0])
        merged = [column[order] for column in merged]
    for column in merged:
        column.flags.writeable = False
    return iter(merged)


_DTYPES: dict[str, np.dtype[Any]] = {
    **dict.fromkeys(("ordinal", "step", "offset"), np.dtype(np.int64)),
    "wall_time": np.dtype(np.float64),
    "value": np.dtype(np.float32),
    **dict.fromkeys(("length", "index", "crc", "file"), np.dtype(np.uint32)),
}
"""The type of each column; values may need float64."""


def _column(parts: Sequence[Part], name: str, dtype: np.dtype[Any]) -> NDArray[Any]:
    """A column of the series with these parts."""
    if name == "ordinal" and not any(index in table.ordinals for table, index in parts):
        column = np.arange(sum(table.num_rows_of(index) for table, index in parts), dtype=dtype)
    elif len(parts) == 1:
        column = _part(parts[0], name, dtype, slice(None)).view()
    else:
        arrays = [_part(part, name, dtype, slice(None)) for part in parts]
        column = np.concatenate(arrays) if arrays else np.empty(0, dtype)
    column.flags.writeable = False
    return column


_cached_column = lru_cache(maxsize=4)(_column)
"""A page requests the same long series again and again; these are the columns of one."""


def _part(part: Part, name: str, dtype: np.dtype[Any], picked: Rows | slice) -> NDArray[Any]:
    """These rows of one column of a table."""
    table, index = part
    if name == "step":
        steps = table.step[index]
        if isinstance(steps, range) and not isinstance(picked, slice):
            return picked * steps.step + steps.start
        return step_array(steps)[picked]
    if name == "ordinal":
        return table.ordinals[index][picked]
    if name == "wall_time":
        return table.wall_time[table.rows(index)][picked]
    if name == "value":
        return table.value[table.rows(index)][picked].astype(dtype, copy=False)
    array: NDArray[Any] = getattr(table.references_of(index), name)
    return array[picked]
