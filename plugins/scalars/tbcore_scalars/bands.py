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

from tbcore_scalars.windows import Line, Scale, as_x, finite_part, pixel_edges

Floats = NDArray[np.float64]
Average = Literal["mean", "median", "iqm"]
"""The line of a group: the mean of its runs, their median, or their interquartile mean.

The interquartile mean of n runs is the mean without the n // 4 lowest and the n // 4 highest.
"""
Spread = Literal["range", "deviation", "quartiles", "error", "bootstrap"]
SPREADS_OF_MEANS = ("deviation", "error", "bootstrap")
"""Spreads around the mean, which say nothing about a median or an interquartile mean."""

_MAX_ROWS_TO_SORT = 1 << 20
"""Maximum number of rows whose distinct x are counted, which requires sorting them.

If there are more rows, there are probably too many distinct x, and the points are pixel columns.
"""
_MIN_RUNS_FOR_INTERVAL = 3
"""Minimum number of runs for a standard error and for a bootstrap interval."""
_NUM_DRAWS = 1000
"""Number of means in a bootstrap."""


@dataclass(frozen=True, slots=True, eq=False)
class Band:
    """The band of one group, as columns of shape (num_points,).

    `average`, `low` and `high` are NaN where no run has a finite value.
    """

    x: Floats
    """Ascending."""
    average: Floats
    low: Floats
    """The lower edge; NaN for intervals of fewer than _MIN_RUNS_FOR_INTERVAL runs."""
    high: Floats
    count: Floats
    """Number of runs in the average."""
    nonfinite: Floats
    """Number of runs with a non-finite row at the point or, without a row there, on either side.

    A run with several rows in a pixel column can be counted both here and in `count`.
    """


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

    Low and high are the minimum and the maximum, the first and the third quartile, the mean minus
    and plus the standard deviation of the sample or the standard error of the mean, or the bounds
    of a 95 % bootstrap interval of the mean.

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
    count = (~np.isnan(values)).sum(axis=0)  # 4
    nonfinite = is_nonfinite.sum(axis=0)
    is_shown = count + nonfinite > 0
    middle, low, high = np.full((3, len(points)), np.nan)
    has_any = count > 0
    if has_any.any():
        # In each column the finite values in ascending order, and then NaN.
        values = np.sort(values[:, has_any], axis=0)
        middle[has_any] = _average(values, count[has_any], average)
        low[has_any], high[has_any] = _edges(values, count[has_any], spread)
    return Band(
        x=points[is_shown],
        average=middle[is_shown],
        low=low[is_shown],
        high=high[is_shown],
        count=count[is_shown].astype(np.float64),
        nonfinite=nonfinite[is_shown].astype(np.float64),
    )


def _average(values: Floats, count: NDArray[np.int64], average: Average) -> Floats:
    """The average of each column of sorted values, of which the first `count` are finite."""
    if average == "median":
        return _quantile(values, count, 0.5)
    cut = count // 4 if average == "iqm" else np.zeros_like(count)
    rank = np.arange(len(values))[:, None]
    is_in = (rank >= cut) & (rank < count - cut)
    total: Floats = np.sum(values, axis=0, where=is_in)
    return total / (count - 2 * cut)


def _edges(values: Floats, count: NDArray[np.int64], spread: Spread) -> tuple[Floats, Floats]:
    """Low and high of each column of sorted values, of which the first `count` are finite."""
    if spread == "range":
        return values[0], _quantile(values, count, 1)
    if spread == "quartiles":
        return _quantile(values, count, 0.25), _quantile(values, count, 0.75)
    if spread == "bootstrap":
        low, high = _bootstrap(values, count)
    else:
        # The sample standard deviation, over n - 1: the runs are a sample of all possible runs. For
        # a single run it is 0.
        mean = _average(values, count, "mean")
        squares = np.nansum(np.square(values - mean), axis=0)
        distance = np.sqrt(squares / np.maximum(count - 1, 1))
        if spread == "deviation":
            return mean - distance, mean + distance
        distance /= np.sqrt(count)
        low, high = mean - distance, mean + distance
    has_too_few = count < _MIN_RUNS_FOR_INTERVAL
    low[has_too_few] = high[has_too_few] = np.nan
    return low, high


def _quantile(values: Floats, count: NDArray[np.int64], q: float) -> Floats:
    """A quantile of each column of sorted values; linear between two of them.

    numpy's `nanquantile` computes one column at a time.
    """
    position = q * (count - 1)
    below = position.astype(np.int64)
    columns = np.arange(len(count))
    lower, upper = values[below, columns], values[np.minimum(below + 1, count - 1), columns]
    part = position - below
    return lower * (1 - part) + upper * part


def _bootstrap(values: Floats, count: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """The 2.5 % and 97.5 % percentiles of the means of runs drawn with replacement.

    Columns with equally many runs have the same draws, which depend on nothing but this number.
    """
    low, high = np.full((2, len(count)), np.nan)
    for num_runs in np.unique(count[count >= _MIN_RUNS_FOR_INTERVAL]).tolist():
        is_here = count == num_runs
        means = bootstrap_draws(num_runs) @ values[:num_runs, is_here] / num_runs
        # Sorting is faster along the contiguous axis.
        means = np.sort(np.ascontiguousarray(means.T), axis=1).T
        num_means = np.full(means.shape[1], len(means))
        low[is_here] = _quantile(means, num_means, 0.025)
        high[is_here] = _quantile(means, num_means, 0.975)
    return low, high


def bootstrap_draws(num_runs: int) -> Floats:
    """How often each draw has each run, of shape (_NUM_DRAWS, num_runs); always the same draws."""
    drawn = np.random.default_rng(0).integers(num_runs, size=(_NUM_DRAWS, num_runs))
    drawn += num_runs * np.arange(_NUM_DRAWS)[:, None]
    times = np.bincount(drawn.ravel(), minlength=_NUM_DRAWS * num_runs)
    return times.reshape(_NUM_DRAWS, num_runs).astype(np.float64)


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
