"""The part of a series that a chart shows: few rows that look like all of them.

A chart some 1,000 pixels wide cannot show more than a few rows in each column of pixels. Where
there are more, the first, the last, the lowest and the highest of the column draw the same picture
as all, so these are kept, and every row that is not finite, which the chart marks. Nothing is
averaged: each row that is shown was logged.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tbcore import ScalarSeries

Axis = Literal["step", "relative", "wall"]
Scale = Literal["linear", "log"]
Rows = NDArray[np.int64]

MAX_SEGMENTS = 64
"""Jobs are restarted a few times. A step that goes back more often comes from writers that take
turns, and their rows are one line."""
MAX_ODD_ROWS = 10_000
"""A run that diverged logs NaN to its end; a mark in each column of pixels says as much."""
_BLOCK_ROWS = 128
_NO_ROWS = np.empty(0, np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """A series in the order in which it is drawn.

    It consists of segments, one for each start of the job: within a segment x does not fall, and
    rows with equal x stay in the order in which they were written.
    """

    x: NDArray[Any]
    """Shape (n,), int64 steps or float64 seconds."""
    value: NDArray[Any]
    """Shape (n,), float32 or float64."""
    order: Rows | None
    """Shape (n,): the row of the series at each place; None where it is the same."""
    starts: Rows
    """Shape (num_segments,), rising: the places at which segments begin; empty without rows."""

    def __len__(self) -> int:
        return len(self.x)

    def rows_at(self, places: Rows) -> Rows:
        """Rows of the series at these places."""
        return places if self.order is None else self.order[places]

    def bounds(self) -> list[tuple[int, int]]:
        """First and end place of each segment."""
        return list(
            zip(self.starts.tolist(), [*self.starts[1:].tolist(), len(self.x)], strict=True)
            if len(self.starts)
            else ()
        )

    def extent(self) -> tuple[float, float] | None:
        """Smallest and largest finite x; None when there is none."""
        ends = []
        for start, stop in self.bounds():
            start, stop = finite_part(self.x, start, stop)
            if start < stop:
                ends += [float(self.x[start]), float(self.x[stop - 1])]
        return (min(ends), max(ends)) if ends else None


def line_of(series: ScalarSeries, axis: Axis) -> Line:
    """The series by step, by seconds since its first point, or by seconds since the epoch."""
    if axis == "step":
        x: NDArray[Any] = series.step
    elif axis == "wall" or not len(series):
        x = series.wall_time
    else:
        x = series.wall_time - series.wall_time[0]
    starts = _segment_starts(series.step)
    order = _order(x, starts)
    if order is None:
        return Line(x, series.value, None, starts)
    return Line(x[order], series.value[order], order, starts)


def places_between(
    line: Line, start: float, stop: float, pixels: int, scale: Scale = "linear"
) -> Rows:
    """The places that show the line between two x on so many pixels, rising.

    All of them when there are at most 2 for each pixel. Of every segment the places next to the
    part are among them, so that lines run on to its edges.
    """
    spans = [
        (max(low, first - 1), min(high, end + 1))
        for low, first, end, high in _spans(line, start, stop)
    ]
    if sum(end - first for first, end in spans) <= 2 * pixels:
        kept = [np.arange(*span, dtype=np.int64) for span in spans]
    else:
        edges = pixel_edges(start, stop, pixels, scale)
        kept = [_reduced(line, span, edges) for span in spans]
    return np.concatenate([_NO_ROWS, *kept])


def count_between(line: Line, start: float, stop: float) -> int:
    """How many rows lie between two x, both included."""
    return sum(end - first for _, first, end, _ in _spans(line, start, stop))


def _spans(line: Line, start: float, stop: float) -> list[tuple[int, int, int, int]]:
    """Of each segment: its first place, first and end place between two x, and its end place."""
    spans = []
    for first, end in line.bounds():
        first, end = finite_part(line.x, first, end)
        x = line.x[first:end]
        inside = first + int(np.searchsorted(x, as_x(start, x, "left"), "left"))
        outside = first + int(np.searchsorted(x, as_x(stop, x, "right"), "right"))
        spans.append((first, inside, outside, end))
    return spans


def pixel_edges(start: float, stop: float, pixels: int, scale: Scale) -> NDArray[np.float64]:
    """Shape (pixels + 1,): the borders of the columns of pixels.

    On a logarithmic axis that begins at 0 or below they begin at what is above it: at 1, or at a
    thousandth of the end where that is less.
    """
    if scale == "linear" or stop <= 0:
        return np.linspace(start, stop, pixels + 1)
    # The thousandth of the least numbers is 0.
    above = max(min(1.0, stop / 1e3), math.ulp(0.0))
    return np.geomspace(start if start > 0 else above, stop, pixels + 1)


def _reduced(line: Line, span: tuple[int, int], edges: NDArray[np.float64]) -> Rows:
    """Places of the rows to keep, of those in a part of one segment."""
    first, end = span
    if first == end:
        return _NO_ROWS
    x, value = line.x[first:end], line.value[first:end]
    # The rows next to the part are in no column of pixels.
    cuts = np.append(
        np.searchsorted(x, as_x(edges[:-1], x, "left"), "left"),
        np.searchsorted(x, as_x(edges[-1], x, "right"), "right"),
    )
    starts = np.unique(np.concatenate([[0], cuts[cuts < len(x)]]))
    lasts = np.concatenate([starts[1:], [len(x)]]) - 1
    is_finite = np.isfinite(value)
    if is_finite.all():
        odd, low, high = _NO_ROWS, value, value
    else:
        # A column without any finite row has no extremes; all its rows are kept anyway.
        odd = _odd_rows(value, is_finite, starts)
        low, high = np.where(is_finite, value, np.inf), np.where(is_finite, value, -np.inf)
    places = _candidates(low, high, starts)
    parts = np.searchsorted(places, starts)
    is_kept = np.zeros(len(x), np.bool_)
    is_kept[starts] = is_kept[lasts] = is_kept[odd] = True
    is_kept[places[_first_equal(low[places], np.minimum, parts)]] = True
    is_kept[places[_first_equal(high[places], np.maximum, parts)]] = True
    return first + np.flatnonzero(is_kept)


def _odd_rows(value: NDArray[Any], is_finite: NDArray[np.bool_], starts: Rows) -> Rows:
    """Rows that are not finite; of very many the first of a kind in each part."""
    odd = np.flatnonzero(~is_finite)
    if len(odd) <= MAX_ODD_ROWS:
        return odd
    kind = np.where(np.isnan(value[odd]), 0, np.sign(value[odd])).astype(np.int64)
    part = np.searchsorted(starts, odd, "right")
    return odd[np.unique(3 * part + kind, return_index=True)[1]]


def _candidates(low: NDArray[Any], high: NDArray[Any], starts: Rows) -> Rows:
    """Places among which the first lowest and highest of each part are; rising, with `starts`.

    Those of each block of rows, and all rows of the blocks that lie in two parts: in a long series
    they are a small share of all, and finding them costs one look at each row.
    """
    num_blocks = len(low) // _BLOCK_ROWS
    if num_blocks < 2 * len(starts):
        return np.arange(len(low), dtype=np.int64)
    in_blocks = num_blocks * _BLOCK_ROWS
    blocks = np.arange(0, in_blocks, _BLOCK_ROWS)
    is_found = np.zeros(len(low), np.bool_)
    is_found[blocks + low[:in_blocks].reshape(-1, _BLOCK_ROWS).argmin(axis=1)] = True
    is_found[blocks + high[:in_blocks].reshape(-1, _BLOCK_ROWS).argmax(axis=1)] = True
    is_found[:in_blocks].reshape(-1, _BLOCK_ROWS)[starts[starts < in_blocks] // _BLOCK_ROWS] = True
    is_found[in_blocks:] = True
    return np.flatnonzero(is_found)


def _first_equal(value: NDArray[Any], extreme: np.ufunc, starts: Rows) -> Rows:
    """The first place of the extreme value of each part."""
    extremes = extreme.reduceat(value, starts)
    hits = np.flatnonzero(value == np.repeat(extremes, np.diff(starts, append=len(value))))
    return hits[np.searchsorted(hits, starts)]


def _segment_starts(step: NDArray[np.int64]) -> Rows:
    """Where the step goes back; only 0 when it does so too often to be restarts."""
    if not len(step):
        return _NO_ROWS
    backs = np.flatnonzero(step[1:] < step[:-1]) + 1
    if len(backs) > min(MAX_SEGMENTS, len(step) // 4):
        backs = _NO_ROWS
    return np.concatenate([np.zeros(1, np.int64), backs])


def _order(x: NDArray[Any], starts: Rows) -> Rows | None:
    """Rows by x within each segment, equal ones as they are; None when they are in order."""
    falls = ~(x[1:] >= x[:-1])  # a NaN counts: it is sorted to the end
    falls[starts[1:] - 1] = False
    if not falls.any():
        return None
    segment = np.zeros(len(x), np.int64)
    segment[starts[1:]] = 1
    return np.lexsort((x, np.cumsum(segment)))


def finite_part(x: NDArray[Any], start: int, stop: int) -> tuple[int, int]:
    """Of sorted places those with a finite x: NaN comes last, infinities at the ends."""
    if x.dtype.kind != "f":
        return start, stop
    part = x[start:stop]
    first = int(np.searchsorted(part, -np.inf, "right"))
    return start + first, start + max(first, int(np.searchsorted(part, np.inf, "left")))


def as_x(bound: Any, x: NDArray[Any], side: Literal["left", "right"]) -> Any:
    """Bounds in the type of x, so that searching does not convert all of x."""
    if x.dtype.kind == "f":
        return bound
    whole = np.ceil(bound) if side == "left" else np.floor(bound)
    # The largest float64 below 2**63, and -2**63 exactly.
    return np.clip(whole, -(2.0**63), 2.0**63 - 1024).astype(np.int64)
