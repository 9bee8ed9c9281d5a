"""Windows: selects the rows of a series that a chart needs to draw the same picture as all rows.

If a pixel column has many rows, its first, last, lowest and highest row draw the same picture as
all of them. These four are kept, together with non-finite rows, which the chart marks. Nothing is
averaged: every row was logged.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tbcore import ScalarSeries
from tbcore.values import outline_rows

Axis = Literal["step", "relative", "wall", "relative_step"]
Scale = Literal["linear", "log", "symlog"]
Rows = NDArray[np.int64]
"""Indices of rows, either in a series or in its Line."""

MAX_NONFINITE_ROWS = 10_000
"""Maximum number of non-finite rows up to which every one is kept.

If there are more, only the first NaN, infinity and negative infinity of each pixel column are kept:
a run that has diverged logs NaN until its end, and one mark per pixel column is enough.
"""
MAX_TURNS_PER_PIXEL = 10
"""Maximum number of times per pixel column that a line whose x goes back and forth is followed into
another column. If it turns more often, evenly spaced ones of these parts are drawn."""
MAX_SYMLOG = 700.0
"""Largest position on a symmetric-logarithmic axis, so that each x is finite."""
_NO_ROWS = np.empty(0, np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """A series of n rows in the order in which it is drawn.

    It consists of segments, one for each start of the training. Within a segment, x does not
    decrease, and rows with equal x are in the order in which they were written; if `is_sorted` is
    False, all rows are in the order of their steps, and every x is finite.
    """

    x: NDArray[Any]
    """Shape (n,), int64 steps, or float64 seconds or values of another tag."""
    value: NDArray[Any]
    """Shape (n,), float32 or float64."""
    order: Rows | None
    """Shape (n,): index in the series of each row of the line; None if both have the same order."""
    starts: Rows
    """Shape (num_segments,): the index at which each segment begins; empty without rows."""
    is_sorted: bool = True

    def __len__(self) -> int:
        return len(self.x)

    def rows_at(self, indices: Rows) -> Rows:
        """The rows of the series at these indices of the line."""
        return indices if self.order is None else self.order[indices]

    def bounds(self) -> list[tuple[int, int]]:
        """(First index, end index) of each segment; the end is exclusive."""
        return list(
            zip(self.starts.tolist(), [*self.starts[1:].tolist(), len(self.x)], strict=True)
            if len(self.starts)
            else ()
        )

    def extent(self) -> tuple[float, float] | None:
        """The smallest and the largest finite x; None if there is none."""
        if not self.is_sorted:
            return float(self.x.min()), float(self.x.max())
        ends = []
        for start, stop in self.bounds():
            start, stop = finite_part(self.x, start, stop)
            if start < stop:
                ends += [float(self.x[start]), float(self.x[stop - 1])]
        return (min(ends), max(ends)) if ends else None


def line_of(series: ScalarSeries, axis: Axis) -> Line:
    """The line of a series, with x depending on the axis.

    x is steps, seconds since the first point for `relative`, seconds since the epoch for `wall`, or
    steps since the first point for `relative_step`.
    """
    if axis == "step" or (axis == "relative_step" and not len(series)):
        x: NDArray[Any] = series.step
    elif axis == "relative_step":
        x = series.step - series.step[0]
    elif axis == "wall" or not len(series):
        x = series.wall_time
    else:
        x = series.wall_time - series.wall_time[0]
    starts = series.segment_starts
    order = _order(x, starts)
    if order is None:
        return Line(x, series.value, None, starts)
    return Line(x[order], series.value[order], order, starts)


def select_indices(
    line: Line, start: float, stop: float, pixels: int, scale: Scale = "linear"
) -> Rows:
    """Ascending indices of the rows to draw between two x, for a chart of this many pixels.

    If there are at most 2 rows per pixel, all of them are drawn. From each segment, one more row
    before the range and one after it are drawn, so that lines continue to the edges of the chart.
    """
    if not line.is_sorted:
        return _select_unsorted(line, start, stop, pixels, scale)
    spans = wider_spans(line, start, stop)
    if sum(end - first for first, end in spans) <= 2 * pixels:
        kept = [np.arange(*span, dtype=np.int64) for span in spans]
    else:
        edges = pixel_edges(start, stop, pixels, scale, [line.x])
        kept = [_reduce(line, span, edges) for span in spans]
    return np.concatenate([_NO_ROWS, *kept])


def count_between(line: Line, start: float, stop: float) -> int:
    """The number of rows between two x, both inclusive."""
    if not line.is_sorted:
        return int(((line.x >= start) & (line.x <= stop)).sum())
    return sum(end - first for _, first, end, _ in _spans(line, start, stop))


def wider_spans(line: Line, start: float, stop: float) -> list[tuple[int, int]]:
    """(First, end) index of each segment's rows between two x, and one more row on each side."""
    return [
        (max(low, first - 1), min(high, end + 1))
        for low, first, end, high in _spans(line, start, stop)
    ]


def _spans(line: Line, start: float, stop: float) -> list[tuple[int, int, int, int]]:
    """(First, inner first, inner end, end) index of each segment, limited to finite x.

    The inner indices bound the segment's rows between the two x.
    """
    spans = []
    for first, end in line.bounds():
        first, end = finite_part(line.x, first, end)
        x = line.x[first:end]
        inner_first = first + int(np.searchsorted(x, as_x(start, x, "left"), "left"))
        inner_end = first + int(np.searchsorted(x, as_x(stop, x, "right"), "right"))
        spans.append((first, inner_first, inner_end, end))
    return spans


def pixel_edges(
    start: float, stop: float, pixels: int, scale: Scale, xs: Iterable[NDArray[Any]] = ()
) -> NDArray[np.float64]:
    """Shape (pixels + 1,): the borders of the pixel columns.

    On a logarithmic axis, a start of 0 or below is replaced by 1, or by a thousandth of `stop` if
    that is less. A symmetric-logarithmic axis is logarithmic on both sides of 0, and nearly linear
    up to the `linear_part` of `xs`, the x of the lines.
    """
    if scale == "symlog":
        linear = linear_part(xs)
        ends = to_symlog(start / linear), to_symlog(stop / linear)
        edges: NDArray[np.float64] = linear * from_symlog(np.linspace(*ends, pixels + 1))
        edges[[0, -1]] = start, stop
        return edges.clip(start, stop)
    if scale == "linear" or stop <= 0:
        return np.linspace(start, stop, pixels + 1)
    # For the smallest floats, a thousandth underflows to 0.
    positive = max(min(1.0, stop / 1e3), math.ulp(0.0))
    return np.geomspace(start if start > 0 else positive, stop, pixels + 1)


def linear_part(xs: Iterable[NDArray[Any]]) -> float:
    """The end of the linear part of a symmetric-logarithmic axis of these x.

    It is the power of ten at or below the smallest absolute value other than 0, but at least a
    millionth of the largest one; 1 without such values.
    """
    sizes = np.abs(np.concatenate([*xs, _NO_ROWS]).astype(np.float64))
    sizes = sizes[(sizes > 0) & np.isfinite(sizes)]
    if len(sizes) == 0:
        return 1.0
    size = max(float(sizes.min()), float(sizes.max()) / 1e6, 1e-300)
    # 1e-5 as float32 is slightly less.
    return 10.0 ** math.floor(math.log10(size) + 1e-6)


def to_symlog(x: float) -> float:
    """The position of an x on a symmetric-logarithmic axis whose linear part ends at 1."""
    return max(-MAX_SYMLOG, min(math.asinh(x / 2), MAX_SYMLOG))


def from_symlog(position: Any) -> Any:
    """The x at a position on a symmetric-logarithmic axis whose linear part ends at 1."""
    return 2 * np.sinh(np.clip(position, -MAX_SYMLOG, MAX_SYMLOG))


def _reduce(line: Line, span: tuple[int, int], edges: NDArray[np.float64]) -> Rows:
    """Indices of the rows to keep from a range of indices within one segment."""
    # Split the range at the edges of pixel columns. Rows before the first edge and after the last
    # are columns of their own.
    first, end = span
    if first == end:
        return _NO_ROWS
    x = line.x[first:end]
    cuts = np.append(
        np.searchsorted(x, as_x(edges[:-1], x, "left"), "left"),
        np.searchsorted(x, as_x(edges[-1], x, "right"), "right"),
    )
    starts = np.unique(np.concatenate([[0], cuts[cuts < len(x)]]))
    return first + _reduce_columns(line.value[first:end], starts)


def _select_unsorted(line: Line, start: float, stop: float, pixels: int, scale: Scale) -> Rows:
    """Ascending indices of the rows to draw of a line whose x goes back and forth.

    They are those of all x, since the line may enter the range anywhere. They include the rows
    whose x are nearest to the range on both sides.
    """
    # 1. Number the pixel column of each row. What is before the range is column 0, and what is
    #    after it is the last column.
    # 2. A stretch is what the line draws before it leaves a column. Reduce each as a column.
    # 3. If there are too many stretches, keep evenly spaced ones, and the extremes of each column.
    # 4. Add the rows next to the range.
    if len(line) <= 2 * pixels:
        return np.arange(len(line), dtype=np.int64)
    edges = pixel_edges(start, stop, pixels, scale, [line.x])
    column = np.searchsorted(edges[:-1], line.x, "right")  # 1
    column[line.x > edges[-1]] = pixels + 1
    is_start = np.append(True, column[1:] != column[:-1])  # 2
    is_start[line.starts] = True
    starts = np.flatnonzero(is_start)
    rows = _reduce_columns(line.value, starts)
    every = -(-len(starts) // (MAX_TURNS_PER_PIXEL * pixels))
    kept = [rows]
    if every > 1:  # 3
        stretch = np.searchsorted(starts, rows, "right") - 1
        by_column = np.argsort(column, kind="stable")
        column_starts = np.flatnonzero(np.diff(column[by_column], prepend=-1))
        extremes = by_column[_reduce_columns(line.value[by_column], column_starts)]
        kept = [rows[stretch % every == 0], extremes]
    for is_beyond, nearest in ((line.x < start, np.argmax), (line.x > stop, np.argmin)):  # 4
        beyond = np.flatnonzero(is_beyond)
        if len(beyond):
            kept.append(beyond[[nearest(line.x[beyond])]])
    return np.unique(np.concatenate(kept))


def _reduce_columns(value: NDArray[Any], starts: Rows) -> Rows:
    """Ascending rows to keep of the pixel columns that begin at `starts`."""
    rows = outline_rows(value, starts)
    if np.isfinite(value[rows]).all():  # One of each column that has any is among them.
        return rows
    return np.union1d(rows, _nonfinite_rows(value, starts))


def _nonfinite_rows(value: NDArray[Any], starts: Rows) -> Rows:
    """All non-finite rows; if there are too many, only some, see MAX_NONFINITE_ROWS."""
    rows = np.flatnonzero(~np.isfinite(value))
    if len(rows) <= MAX_NONFINITE_ROWS:
        return rows
    sign = np.where(np.isnan(value[rows]), 0, np.sign(value[rows])).astype(np.int64)
    column = np.searchsorted(starts, rows, "right")
    return rows[np.unique(3 * column + sign, return_index=True)[1]]


def _order(x: NDArray[Any], starts: Rows) -> Rows | None:
    """The rows stably sorted by x within each segment; None if they are already in order."""
    is_decrease = ~(x[1:] >= x[:-1])  # True at a NaN as well, which is sorted to the end.
    is_decrease[starts[1:] - 1] = False
    if not is_decrease.any():
        return None
    segment = np.zeros(len(x), np.int64)
    segment[starts[1:]] = 1
    return np.lexsort((x, np.cumsum(segment)))


def finite_part(x: NDArray[Any], start: int, stop: int) -> tuple[int, int]:
    """The part of a sorted range of indices in which x is finite.

    Negative infinity is at its start; infinity and then NaN are at its end.
    """
    if x.dtype.kind != "f":
        return start, stop
    part = x[start:stop]
    first = int(np.searchsorted(part, -np.inf, "right"))
    return start + first, start + max(first, int(np.searchsorted(part, np.inf, "left")))


def as_x(bound: Any, x: NDArray[Any], side: Literal["left", "right"]) -> Any:
    """A bound in the dtype of `x`, so that `searchsorted` does not convert all of `x`.

    For integer `x`, a bound on the left is rounded up, and a bound on the right is rounded down.
    """
    if x.dtype.kind == "f":
        return bound
    whole = np.ceil(bound) if side == "left" else np.floor(bound)
    # 2**63 - 1024 is the largest float64 below 2**63.
    return np.clip(whole, -(2.0**63), 2.0**63 - 1024).astype(np.int64)
