"""Bands: for each group of runs, a line for their average and a band for how far they spread.

Runs of a group are rarely logged at the same x, so each run is first resampled at common points.
Where a run has rows near a point, its value at the point is the mean of these rows. Between two
rows, the value is interpolated linearly if both rows are finite. Beyond its first and last row, a
run has no value.

A run has one value at each x. If several rows have the same x, the last one logged is used. After a
restart at an earlier x, the new rows replace all old rows at this x and at greater x.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tbcore.values import Average, Spread, column_statistics
from tbcore_scalars.windows import Line, Scale, as_x, finite_part, pixel_edges

Floats = NDArray[np.float64]
Drawn = Literal["mean", "points", "runs"]
"""What a chart draws for a group: the average as a line with a band; the only point of each run and
their average, with a bar; or the runs alone."""

_MAX_ROWS_TO_SORT = 1 << 20
"""Maximum number of rows whose distinct x are counted, which requires sorting them.

If there are more rows, there are probably too many distinct x, and the points are pixel columns.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Band:
    """The band of one group, as columns of shape (num_points,).

    `average`, `low` and `high` are NaN where no run has a finite value.
    """

    x: Floats
    """Ascending."""
    average: Floats
    low: Floats
    """The lower edge; NaN for an interval of too few runs."""
    high: Floats
    count: Floats
    """Number of runs in the average."""
    nonfinite: Floats
    """Number of runs with a non-finite row at the point or, without a row there, on either side.

    A run with several rows in a pixel column can be counted both here and in `count`.
    """


def drawn_of(lines: Sequence[Line], *, is_wall: bool = False) -> Drawn:
    """What a chart draws for a group of runs with these lines.

    An average over wall time would lead from run to run, as it would on any axis where no two runs
    share an x. A run with a single x has no line, and neither does the average of such runs.
    """
    extents = sorted(extent for line in lines if (extent := line.extent()) is not None)
    if all(first == last for first, last in extents):
        return "points"
    stops = np.maximum.accumulate([last for _, last in extents])
    is_shared = any(first <= stops[before] for before, (first, _) in enumerate(extents[1:]))
    return "runs" if is_wall or (len(extents) > 1 and not is_shared) else "mean"


def bar_of(
    runs: Sequence[tuple[Line, NDArray[Any]]],
    start: float,
    stop: float,
    spread: Spread,
    average: Average = "mean",
) -> Band:
    """The average and spread of runs with a single x each, at the mean of their x.

    Empty if this is not between `start` and `stop`, or there are no runs.
    """
    last = [(x[-1], value[-1]) for x, value in (_effective_rows(*run) for run in runs) if len(x)]
    rows = np.array(last, np.float64).reshape(-1, 2)
    at = column_statistics(rows[:, :1]).average
    result = column_statistics(rows[:, 1:], average, spread)
    is_shown = (start <= at) & (at <= stop)
    columns = at, result.average, result.low, result.high, result.count, result.nonfinite
    return Band(*(np.asarray(column[is_shown], np.float64) for column in columns))


def band_of(
    runs: Sequence[tuple[Line, NDArray[Any]]],
    start: float,
    stop: float,
    pixels: int,
    spread: Spread,
    scale: Scale = "linear",
    average: Average = "mean",
) -> Band:
    """The band of some runs between two x, for a chart of this many pixels.

    The average, low and high at each point are those of `tbcore.values.column_statistics`.

    `runs` are pairs of a line and its values, which may be smoothed. The points are all x at which
    any run has a row or, if there are more than 2 per pixel, the middles of the pixel columns.
    """
    # 1. Get each run's effective rows in the range.
    # 2. Choose the points.
    # 3. Resample each run at the points.
    # 4. Summarize the runs at each point, and drop the points without any run.
    rows = [_rows_around(start, stop, *_effective_rows(line, value)) for line, value in runs]  # 1
    inside = [x[(x >= start) & (x <= stop)] for x, _ in rows]
    edges = pixel_edges(start, stop, pixels, scale, (x for x, _ in rows))  # 2
    distinct = _distinct_x(inside, 2 * (len(edges) - 1))
    points = (edges[1:] + edges[:-1]) / 2 if distinct is None else distinct
    values = np.full((len(rows), len(points)), np.nan)  # 3
    is_nonfinite = np.zeros(values.shape, np.bool_)
    for run_index, (x, value) in enumerate(rows):
        if len(x) and len(points):
            ends = min(edges[0], points[0]), max(edges[-1], points[-1])
            values[run_index], is_nonfinite[run_index] = _resample(points, ends, x, value)
    statistics = column_statistics(values, average, spread)  # 4
    nonfinite = is_nonfinite.sum(axis=0)
    is_shown = statistics.count + nonfinite > 0
    return Band(
        x=points[is_shown],
        average=statistics.average[is_shown],
        low=statistics.low[is_shown],
        high=statistics.high[is_shown],
        count=statistics.count[is_shown].astype(np.float64),
        nonfinite=nonfinite[is_shown].astype(np.float64),
    )


def _effective_rows(line: Line, value: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """x and value of the rows that are not replaced by later ones; x is strictly ascending."""
    # 1. From the last segment to the first, keep the rows before the x of a later segment's start.
    # 2. Join the segments in ascending order of x.
    # 3. Where rows have the same x, keep the last.
    parts = []  # 1
    later_start = None
    for first, end in reversed(line.bounds()):
        first, end = finite_part(line.x, first, end)
        if later_start is not None:
            end = first + int(np.searchsorted(line.x[first:end], later_start))
        if first < end:
            later_start = line.x[first]
            parts.append(slice(first, end))
    if len(parts) == 1:  # 2
        x, value = line.x[parts[0]], value[parts[0]]
    else:
        x = np.concatenate([line.x[:0], *(line.x[part] for part in reversed(parts))])
        value = np.concatenate([value[:0], *(value[part] for part in reversed(parts))])
    is_last = np.append(x[1:] != x[:-1], True)[: len(x)]  # 3
    return (x, value) if is_last.all() else (x[is_last], value[is_last])


def _rows_around(start: float, stop: float, x: NDArray[Any], value: Any) -> tuple[Floats, Floats]:
    """x and value of the rows between two x, and of one more row on each side.

    Infinite values are replaced by NaN.
    """
    first = max(int(np.searchsorted(x, as_x(start, x, "left"))) - 1, 0)
    end = int(np.searchsorted(x, as_x(stop, x, "right"), "right")) + 1
    value = value[first:end].astype(np.float64)
    value[~np.isfinite(value)] = np.nan
    return x[first:end].astype(np.float64), value


def _distinct_x(inside: Sequence[Floats], limit: int) -> Floats | None:
    """All distinct x in ascending order; None if there are more than `limit`, or too many rows."""
    if sum(map(len, inside)) > _MAX_ROWS_TO_SORT:
        return None
    distinct = np.unique(np.concatenate([np.empty(0), *inside]))
    return distinct if len(distinct) <= limit else None


def _resample(
    points: Floats, ends: tuple[float, float], x: Floats, value: Floats
) -> tuple[Floats, NDArray[np.bool_]]:
    """A run's values at the points, and whether each of them involves a non-finite row.

    A point's own rows are the rows between `ends` that are nearer to it than to any other point.
    The point's value is the mean of its own finite rows. Without own rows, the value is
    interpolated between the means on both sides. It is NaN where interpolation is impossible, and
    beyond the first and the last row.
    """
    # 1. Split the rows into parts at the borders between points, and at both ends.
    # 2. Compute each part's mean over its finite rows; NaN if there are none.
    # 3. Interpolate between the means at all points. Next to a NaN the result is NaN.
    # 4. Replace the values of points with own rows by the mean of these rows.
    # 5. Reset points beyond the first and last row, to which interp extends the outer means.
    borders = (points[1:] + points[:-1]) / 2  # 1
    # `inner` is where the rows between the ends begin and stop.
    inner = np.searchsorted(x, ends[0]), np.searchsorted(x, ends[1], "right")
    cuts = np.searchsorted(x, borders)
    starts = np.unique(np.concatenate([[0], inner, cuts]))
    starts = starts[starts < len(x)]
    lengths = np.diff(starts, append=len(x))

    is_finite = ~np.isnan(value)  # 2
    finite_lengths = np.add.reduceat(is_finite.astype(np.float64), starts)
    sums = np.add.reduceat(np.where(is_finite, value, 0.0), starts)
    all_nan = np.full(len(sums), np.nan)
    means = np.divide(sums, finite_lengths, out=all_nan, where=finite_lengths > 0)

    values = np.interp(points, np.add.reduceat(x, starts) / lengths, means)  # 3

    firsts, stops = np.append(inner[0], cuts), np.append(cuts, inner[1])  # 4
    has_own = firsts < stops
    own = np.searchsorted(starts, firsts[has_own])
    values[has_own] = means[own]
    is_nonfinite = np.isnan(values)
    is_nonfinite[has_own] |= (finite_lengths < lengths)[own]

    is_beyond = ~has_own & ((points < x[0]) | (points > x[-1]))  # 5
    values[is_beyond], is_nonfinite[is_beyond] = np.nan, False
    return values, is_nonfinite
