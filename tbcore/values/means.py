"""Means: the average of a group of runs along their steps, and how far the runs spread.

    runs = [effective_rows(s.step, s.value, s.segment_starts) for s in all_series]
    curve = group_curve(common_points(x for x, _ in runs), runs)
    curve.x, curve.average, curve.count

Runs of a group are rarely logged at the same steps, so each run is resampled at common points. This
is what a group shows wherever it is shown as a curve; `x` may also be a time, or another value.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tbcore.values.statistics import Average, Floats, Spread, Statistics, column_statistics

Rows = tuple[NDArray[Any], NDArray[Any]]
"""x and value of a run's rows; x is strictly ascending and finite."""


@dataclass(frozen=True, slots=True, eq=False)
class GroupCurve(Statistics):
    """Statistics of some runs at each of some points: arrays of shape (num_points,).

    `count` is the number of runs in the average. `nonfinite` is the number of runs with a
    non-finite row at the point or, without a row there, as the last one before it. In neither is a
    run that has not begun or has ended, or whose next row is the first that is not finite.
    """

    x: Floats
    """Ascending."""


def effective_rows(x: NDArray[Any], value: NDArray[Any], starts: NDArray[np.int64]) -> Rows:
    """The rows that count, in the order of x: those that are not replaced by later ones.

    All arguments have the shape (n,) and the order in which rows were written, except for `starts`:
    the rows at which the training began or was restarted, as `ScalarSeries.segment_starts`. A
    restart replaces all older rows at its lowest x and at greater x. Of several rows with the same
    x, the last one counts. Rows whose x is not finite do not.
    """
    # 1. Rows that ascend all count.
    # 2. Leave out the rows of each segment from the lowest x of all later segments on.
    # 3. Sort by x, and keep the last row of each x.
    is_finite = np.isfinite(x)
    if (x[1:] > x[:-1]).all() and is_finite.all():  # 1
        return x, value
    rows = np.flatnonzero(is_finite)
    firsts = np.unique(np.searchsorted(rows, starts))  # 2
    firsts = firsts[firsts < len(rows)]
    if len(firsts) > 1:
        lowest = np.minimum.reduceat(x[rows], firsts)
        ends = np.minimum.accumulate(lowest[:0:-1])[::-1]
        is_replaced = x[rows[: firsts[-1]]] >= np.repeat(ends, np.diff(firsts))
        rows = np.delete(rows, np.flatnonzero(is_replaced))
    rows = rows[np.argsort(x[rows], kind="stable")]  # 3
    ordered = x[rows]
    rows = rows[np.append(ordered[1:] != ordered[:-1], True)[: len(rows)]]
    return x[rows], value[rows]


def common_points(xs: Iterable[NDArray[Any]], max_points: int | None = None) -> Floats:
    """The distinct x of all runs in ascending order; of more than `max_points`, so many, evenly
    among all, with both ends."""

    def some(x: NDArray[Any]) -> NDArray[Any]:
        if max_points is None or len(x) <= max_points:
            return x
        return x[np.linspace(0, len(x) - 1, max_points).astype(np.int64)]

    return some(np.unique(np.concatenate([np.empty(0), *map(some, xs)])))


def group_curve(
    points: Floats,
    runs: Sequence[Rows],
    average: Average = "mean",
    spread: Spread = "deviation",
    ends: tuple[float, float] | None = None,
) -> GroupCurve:
    """The statistics of some runs at ascending points, without the points where there is no run.

    `runs` are what `effective_rows` returns. Between two rows, the value of a run is interpolated
    linearly if both are finite. It is not finite if that is so of the first, and unknown if only of
    the second. Beyond its first and last row, a run has no value.

    With `ends`, points are the middles of intervals, of which the first begins and the last stops
    there. Where a run has rows in an interval, its value is the mean of the finite ones; if others
    are not finite, it is counted in `nonfinite` as well.
    """
    values = np.full((len(runs), len(points)), np.nan)
    is_nonfinite = np.zeros(values.shape, np.bool_)
    for index, (x, value) in enumerate(runs):
        if len(x) and len(points):
            finite = np.where(np.isfinite(value), value, np.nan).astype(np.float64)
            x = x.astype(np.float64)
            if ends is None:
                values[index] = np.interp(points, x, finite, left=np.nan, right=np.nan)
                before = np.searchsorted(x, points, "right") - 1
                is_nonfinite[index] = (before >= 0) & (points <= x[-1]) & np.isnan(finite[before])
            else:
                values[index], is_nonfinite[index] = _interval_means(points, ends, x, finite)
    found = column_statistics(values, average, spread)
    nonfinite = is_nonfinite.sum(axis=0)
    columns = found.average, found.low, found.high, found.count, nonfinite, points
    return GroupCurve(*(column[found.count + nonfinite > 0] for column in columns))


def _interval_means(
    points: Floats, ends: tuple[float, float], x: Floats, value: Floats
) -> tuple[Floats, NDArray[np.bool_]]:
    """A run's values at the points, and whether each of them is, or follows, a non-finite row.

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

    centres = np.add.reduceat(x, starts) / lengths  # 3
    values = np.interp(points, centres, means)
    before = np.searchsorted(centres, points, "right") - 1
    is_nonfinite = np.isnan(means[np.maximum(before, 0)])

    firsts, stops = np.append(inner[0], cuts), np.append(cuts, inner[1])  # 4
    has_own = firsts < stops
    own = np.searchsorted(starts, firsts[has_own])
    values[has_own] = means[own]
    is_nonfinite[has_own] = (finite_lengths < lengths)[own]

    is_beyond = ~has_own & ((points < x[0]) | (points > x[-1]))  # 5
    values[is_beyond], is_nonfinite[is_beyond] = np.nan, False
    return values, is_nonfinite
