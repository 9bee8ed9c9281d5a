"""Pairing: lines of a series whose x are the values of another tag in the same run.

A row's x is the last value of the other tag at or before the row's step. Rows before its first
value have no x, nor have those whose x is not finite; they are not in the line.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tbcore import ScalarSeries
from tbcore_scalars.windows import Line, Rows, line_of

MAX_X = 1e300
"""Maximum absolute x: greater ones count as infinite, so that a range has a finite width."""


class TagAxis(NamedTuple):
    """An x axis of the values of a tag."""

    tag: str


def paired_line(series: ScalarSeries, other: ScalarSeries | None) -> Line:
    """The line of a series by the values of another one, in the order of its steps.

    It has no rows if `other` is None.
    """
    # 1. Look up the x of each segment. If both series were restarted equally often, what the other
    #    one logged after a restart is not the x of what was logged before it.
    # 2. Keep the rows that have an x.
    # 3. Find where the segments begin among the rows that are left.
    line = line_of(series, "step")
    x = np.full(len(line), np.nan)
    if other is not None:
        by_step = line_of(other, "step")
        bounds, others = line.bounds(), by_step.bounds()
        if len(others) != len(bounds):
            others = [(0, len(other))] * len(bounds)
        for (first, end), (_, other_end) in zip(bounds, others, strict=True):  # 1
            x[first:end] = _last_values(by_step, other_end, line.x[first:end])
    found = np.flatnonzero(np.abs(x) <= MAX_X)  # 2
    starts = np.unique(np.searchsorted(found, line.starts))  # 3
    starts = starts[starts < len(found)]
    x, value, order = x[found], line.value[found], line.rows_at(found)
    return Line(x, value, order, starts, is_sorted=not _moves(x, starts, np.less))


def goes_one_way(line: Line) -> bool:
    """Whether x never decreases, or never increases, within the segments."""
    return line.is_sorted or not _moves(line.x, line.starts, np.greater)


def ascending(
    line: Line, series: ScalarSeries, value: NDArray[Any]
) -> tuple[Line, NDArray[Any]] | None:
    """A paired line without rows that were logged again after a restart, in ascending order of x.

    `value` are the values of the line, which may be smoothed, and are returned in the new order.
    None if x goes back and forth.
    """
    kept = _kept_rows(series.step[line.rows_at(np.arange(len(line)))], line.starts)
    x, value = line.x[kept], value[kept]
    starts = np.zeros(min(len(x), 1), np.int64)
    if _moves(x, starts, np.less):
        x, value = x[::-1], value[::-1]
        if _moves(x, starts, np.less):
            return None
    return Line(x, value, None, starts), value


def _last_values(by_step: Line, end: int, step: NDArray[np.int64]) -> NDArray[np.float64]:
    """The last value at or before each step, of the first `end` rows of a line; NaN before all."""
    kept = _kept_rows(by_step.x[:end], by_step.starts[by_step.starts < end])
    value = np.append(np.nan, by_step.value[kept].astype(np.float64))
    return value[np.searchsorted(by_step.x[kept], step, "right")]


def _kept_rows(step: NDArray[np.int64], starts: Rows) -> Rows:
    """The rows of some segments that no later segment logs again; their steps do not decrease."""
    is_kept = np.ones(len(step), np.bool_)
    if len(starts) > 1:
        # For each segment but the last, the first step of all later ones.
        later = np.minimum.accumulate(step[starts[:0:-1]])[::-1]
        is_kept[: starts[-1]] = step[: starts[-1]] < np.repeat(later, np.diff(starts))
    return np.flatnonzero(is_kept)


def _moves(x: NDArray[Any], starts: Rows, compare: np.ufunc) -> bool:
    """Whether the comparison of a row's x with that of the row before is true within a segment."""
    is_found = compare(x[1:], x[:-1])
    is_found[starts[1:] - 1] = False
    return bool(is_found.any())
