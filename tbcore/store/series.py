"""Series: the rows of one (run, tag, kind), which are columns of a few tables.

    table 1   loss: 700,000 rows
    table 2   loss: 200,000 rows
    table 3   loss:      50 rows

A series is made on request. If it is in a single table, its arrays are views of the table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tbcore.eventfiles.steps import step_array
from tbcore.eventfiles.table import Table
from tbcore.kinds import Kind
from tbcore.store import sampling
from tbcore.store.smoothing import SmoothingKind, smoothed

Rows = NDArray[np.int64]
"""Indices of rows in a series."""
Part = tuple[Table, int]
"""A table, and the index of one of its columns."""

MIN_ROWS_TO_CACHE = 1 << 17
"""Minimum length of a series whose columns are cached. For fewer rows, making them again takes less
than a millisecond."""


_MAX_ROWS_SEARCHED = 1 << 22
_ROWS_CHECKED_AT_ONCE = 1 << 16
"""Maximum number of rows that are checked at once for the first value that is not finite: millions
of rows may follow it."""
_MAX_RESTARTS = 64
"""Maximum number of times that a decreasing step is taken for a restart. If it decreases more
often, several writers logged in turn, and all rows are drawn as one line."""


class Point(NamedTuple):
    """One point of a series of scalars."""

    step: int
    wall_time: float
    """Seconds since the epoch."""
    value: float


@dataclass(frozen=True, eq=False, repr=False)
class ScalarSeries:
    """Points of one tag, in the order they were written. Arrays are read-only.

    >>> series = multiplexer.scalars("train", "loss")
    >>> series.step, series.value
    (array([0, 1]), array([0.5 , 0.25], dtype=float32))
    >>> series.last
    Point(step=1, wall_time=1700000001.0, value=0.25)
    >>> series.smooth(0.5).last.value
    0.3333333333333333
    """

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

    def steps(self, rows: slice) -> NDArray[np.int64]:
        """The steps of some rows, without computing those of all rows."""
        return self.step[rows]

    def __repr__(self) -> str:
        return f"ScalarSeries(num_points={len(self)}, last={self.last})"

    @property
    def first(self) -> Point | None:
        """The point that was written first; None without points."""
        return self._point(0) if len(self) else None

    @property
    def last(self) -> Point | None:
        """The point that was written last; None without points."""
        return self._point(-1) if len(self) else None

    @property
    def min(self) -> Point | None:
        """The first point with the lowest finite value; None if no value is finite."""
        return self._extreme(np.argmin, np.inf)

    @property
    def max(self) -> Point | None:
        """The first point with the highest finite value; None if no value is finite."""
        return self._extreme(np.argmax, -np.inf)

    @property
    def nan(self) -> Point | None:
        """The first point whose value is NaN or infinite; None if all are finite."""
        for start in range(0, len(self), _ROWS_CHECKED_AT_ONCE):
            is_finite = np.isfinite(self.value[start : start + _ROWS_CHECKED_AT_ONCE])
            if not is_finite.all():
                return self._point(start + int(np.argmin(is_finite)))
        return None

    @property
    def num_nonfinite(self) -> int:
        """The number of values that are NaN or infinite."""
        return len(self) - int(np.isfinite(self.value).sum())

    def at(self, step: int) -> Point | None:
        """The last point written whose step is at most `step`; None if there is no such point."""
        rows = np.flatnonzero(self.step <= step)
        return self._point(int(rows[-1])) if len(rows) else None

    def between(self, first: int, last: int) -> ScalarSeries:
        """The points whose steps are from `first` to `last`, both included."""
        rows = np.flatnonzero((self.step >= first) & (self.step <= last))
        columns = self.ordinal, self.step, self.wall_time, self.value
        return ScalarSeries(*(_read_only(column[rows]) for column in columns))

    @property
    def segment_starts(self) -> Rows:
        """The rows at which the training started or restarted: 0, and all where the step decreases.

        Only 0 if the step decreases too often to mean restarts. Empty without points.
        """
        if not len(self):
            return np.empty(0, np.int64)
        restarts = np.flatnonzero(self.step[1:] < self.step[:-1]) + 1
        if len(restarts) > min(_MAX_RESTARTS, len(self) // 4):
            restarts = restarts[:0]
        return np.concatenate([np.zeros(1, np.int64), restarts])

    def smooth(self, weight: float, kind: SmoothingKind = "exponential") -> ScalarSeries:
        """The points with smoothed values as float64: the line that the page draws.

        `weight` is from 0 to below 1; `kind` is exponential, window or gaussian. If several writers
        logged in turn, points are sorted by step. Raises ValueError for another weight or kind.
        """
        if not 0 <= weight < 1:
            raise ValueError(f"weight must be a number from 0 to below 1, got {weight!r}")
        starts = self.segment_starts
        rows: Rows | slice = slice(None)
        if len(starts) == 1 and (self.step[1:] < self.step[:-1]).any():
            rows = np.argsort(self.step, kind="stable")
        value = smoothed(self.value[rows], weight, starts, kind)
        columns = self.ordinal[rows], self.step[rows], self.wall_time[rows], value
        return ScalarSeries(*map(_read_only, columns))

    def _point(self, row: int) -> Point:
        return Point(int(self.step[row]), float(self.wall_time[row]), float(self.value[row]))

    def _extreme(self, select: Callable[..., Any], worst: float) -> Point | None:
        is_finite = np.isfinite(self.value)
        if not is_finite.any():
            return None
        finite = self.value if is_finite.all() else np.where(is_finite, self.value, worst)
        return self._point(int(select(finite)))


class UnsampledSeries(ScalarSeries):
    """All rows of a series.

    Columns are computed when they are first used: there may be millions of rows.
    """

    def __init__(self, kind: Kind, parts: tuple[Part, ...]) -> None:
        self._series = Series(kind, parts)

    @cached_property
    def ordinal(self) -> NDArray[np.int64]:
        return self._series.column("ordinal")

    @cached_property
    def step(self) -> NDArray[np.int64]:
        """Shape (n,), not necessarily ascending."""
        return self._series.column("step")

    @cached_property
    def wall_time(self) -> NDArray[np.float64]:
        return self._series.column("wall_time")

    @cached_property
    def value(self) -> NDArray[np.floating[Any]]:
        return self._series.column("value")

    def steps(self, rows: slice) -> NDArray[np.int64]:
        return self._series.column_at("step", np.arange(*rows.indices(len(self))))


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
        self.parts = tuple(parts)
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
        dtype = self._dtype(name)
        if name == "ordinal" and self.has_all_ordinals:
            column = np.arange(len(self), dtype=dtype)
        elif len(self.parts) == 1:
            column = _part(self.parts[0], name, dtype, slice(None)).view()
        else:
            arrays = [_part(part, name, dtype, slice(None)) for part in self.parts]
            column = np.concatenate(arrays) if arrays else np.empty(0, dtype)
        column.flags.writeable = False
        return column

    def column_at(self, name: str, rows: Rows) -> NDArray[Any]:
        """These rows of a column; `rows` ascend."""
        if name == "ordinal" and self.has_all_ordinals:
            return rows
        dtype = self._dtype(name)
        if len(self.parts) == 1:
            return _part(self.parts[0], name, dtype, rows)
        cuts = np.searchsorted(rows, self._starts).tolist()
        parts = [
            _part(part, name, dtype, rows[cuts[i] : cuts[i + 1]] - self._starts[i])
            for i, part in enumerate(self.parts)
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
        if name == "value" and any(index in table.wide for table, index in self.parts):
            return np.dtype(np.float64)
        return _DTYPES[name]


def extreme_rows(columns: Sequence[NDArray[Any]], stat: str) -> list[int | None]:
    """The first row of each column with its lowest (`min`) or highest (`max`) finite value.

    None for a column without one. All columns are searched together, a few million rows at once.
    """
    extreme, worst = (np.minimum, np.inf) if stat == "min" else (np.maximum, -np.inf)
    ends, found = np.cumsum([len(column) for column in columns]), list[int | None]()
    while len(found) < len(columns):
        first = len(found)
        limit = (ends[first - 1] if first else 0) + _MAX_ROWS_SEARCHED
        part = columns[first : max(first + 1, int(np.searchsorted(ends, limit, "right")))]
        lengths = np.array([len(column) for column in part])
        starts = np.cumsum(lengths) - lengths
        # One more row each, so that no column is empty.
        values = np.insert(np.concatenate(part), starts, worst)
        starts += np.arange(len(part))
        values[~np.isfinite(values)] = worst
        extremes = extreme.reduceat(values, starts)
        hits = np.flatnonzero(values == np.repeat(extremes, lengths + 1))
        rows = hits[np.searchsorted(hits, starts)] - starts - 1
        found += [row if row >= 0 else None for row in rows.tolist()]
    return found


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
    return map(_read_only, merged)


def _read_only(column: NDArray[Any]) -> NDArray[Any]:
    column.flags.writeable = False
    return column


_DTYPES: dict[str, np.dtype[Any]] = {
    **dict.fromkeys(("ordinal", "step", "offset"), np.dtype(np.int64)),
    "wall_time": np.dtype(np.float64),
    "value": np.dtype(np.float32),
    **dict.fromkeys(("length", "index", "crc", "file"), np.dtype(np.uint32)),
}
"""The type of each column; values may need float64."""


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
