"""One line for a group of runs: their mean, and a band that shows how far apart they are.

Runs of a group are rarely logged at the same x. Each is therefore brought to common points first:
where it has rows of its own near a point, by their mean; between two of its rows by the straight
line that a chart draws, when both are finite; and nowhere beyond its ends.

A run has one value at an x. Of rows with the same x the last one logged counts, and where a job was
restarted at an earlier x, its new rows count from there on and the old ones no more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tbcore_scalars.windows import Line, Scale, as_x, finite_part, pixel_edges

Floats = NDArray[np.float64]
Spread = Literal["range", "deviation", "quartiles"]

_MANY_ROWS = 1 << 20
"""Of more rows than that the distinct x are not looked for: they are more than pixels."""


@dataclass(frozen=True, slots=True, eq=False)
class Band:
    """Columns of shape (n,); NaN in the first three where no run has a finite value."""

    x: Floats
    mean: Floats
    low: Floats
    """Least value, mean less the sample standard deviation, or first quartile."""
    high: Floats
    count: Floats
    """How many runs are in the mean."""
    nonfinite: Floats
    """How many runs have a row there that is not finite, or lie between two of which one is not.

    In a column of pixels a run can be counted here and be in the mean, with its other rows.
    """
    num_inside: int
    """Rows of all runs in the part that is shown."""
    is_reduced: bool
    """Whether the points are columns of pixels, because there are more x than these can show."""


def band_of(
    runs: Sequence[tuple[Line, NDArray[Any]]],
    start: float,
    stop: float,
    pixels: int,
    spread: Spread,
    scale: Scale = "linear",
) -> Band:
    """The band between two x on so many pixels, of a line and its values for each run.

    The points are the x at which any run has a row, or the middles of the pixel columns when those
    are more than 2 for each pixel.
    """
    rows = [_around(start, stop, *_counted_rows(line, value)) for line, value in runs]
    inside = [x[(x >= start) & (x <= stop)] for x, _ in rows]
    edges = pixel_edges(start, stop, pixels, scale)
    distinct = _distinct(inside, 2 * (len(edges) - 1))
    points = (edges[1:] + edges[:-1]) / 2 if distinct is None else distinct
    values = np.full((len(rows), len(points)), np.nan)
    is_odd = np.zeros(values.shape, np.bool_)
    for i, (x, value) in enumerate(rows):
        if len(x) and len(points):
            ends = min(edges[0], points[0]), max(edges[-1], points[-1])
            values[i], is_odd[i] = _at(points, ends, x, value)
    count = (~np.isnan(values)).sum(axis=0)
    nonfinite = is_odd.sum(axis=0)
    is_shown = count + nonfinite > 0
    mean, low, high = np.full((3, len(points)), np.nan)
    has_mean = count > 0
    if has_mean.any():
        mean[has_mean], low[has_mean], high[has_mean] = _summary(values[:, has_mean], spread)
    return Band(
        x=points[is_shown],
        mean=mean[is_shown],
        low=low[is_shown],
        high=high[is_shown],
        count=count[is_shown].astype(np.float64),
        nonfinite=nonfinite[is_shown].astype(np.float64),
        num_inside=sum(map(len, inside)),
        is_reduced=distinct is None,
    )


def _summary(values: Floats, spread: Spread) -> tuple[Floats, Floats, Floats]:
    """Mean, low and high of columns that each have a value."""
    mean = np.nanmean(values, axis=0)
    if spread == "range":
        return mean, np.nanmin(values, axis=0), np.nanmax(values, axis=0)
    if spread == "deviation":
        # Of the sample: over n - 1, as runs are few of many that could be. One run alone has none.
        squares = np.nansum(np.square(values - mean), axis=0)
        degrees = np.maximum((~np.isnan(values)).sum(axis=0) - 1, 1)
        deviation = np.sqrt(squares / degrees)
        return mean, mean - deviation, mean + deviation
    low, high = np.nanquantile(values, [0.25, 0.75], axis=0)
    return mean, low, high


def _counted_rows(line: Line, value: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """The rows that count, x rising: of each segment those before any later segment begins."""
    parts = []
    limit = None
    for first, end in reversed(line.bounds()):
        first, end = finite_part(line.x, first, end)
        if limit is not None:
            end = first + int(np.searchsorted(line.x[first:end], limit))
        if first < end:
            limit = line.x[first]
            parts.append(slice(first, end))
    if len(parts) == 1:
        x, value = line.x[parts[0]], value[parts[0]]
    else:
        x = np.concatenate([line.x[:0], *(line.x[part] for part in reversed(parts))])
        value = np.concatenate([value[:0], *(value[part] for part in reversed(parts))])
    is_last = np.append(x[1:] != x[:-1], True)[: len(x)]
    return (x, value) if is_last.all() else (x[is_last], value[is_last])


def _around(start: float, stop: float, x: NDArray[Any], value: Any) -> tuple[Floats, Floats]:
    """The rows between two x, and one more on both sides; NaN for all that is not finite."""
    first = max(int(np.searchsorted(x, as_x(start, x, "left"))) - 1, 0)
    end = int(np.searchsorted(x, as_x(stop, x, "right"), "right")) + 1
    value = value[first:end].astype(np.float64)
    value[~np.isfinite(value)] = np.nan
    return x[first:end].astype(np.float64), value


def _distinct(inside: Sequence[Floats], most: int) -> Floats | None:
    """All x, rising; None when they are too many."""
    if sum(map(len, inside)) > _MANY_ROWS:
        return None
    distinct = np.unique(np.concatenate([np.empty(0), *inside]))
    return distinct if len(distinct) <= most else None


def _at(
    points: Floats, ends: tuple[float, float], x: Floats, value: Floats
) -> tuple[Floats, NDArray[np.bool_]]:
    """Values at the points, NaN beyond the ends of x; and where a value is not finite.

    A point has the mean of the rows between the ends that are nearer to it than to any other; where
    there are none, what the line through the means beside it has.
    """
    borders = (points[1:] + points[:-1]) / 2
    inner = np.searchsorted(x, ends[0]), np.searchsorted(x, ends[1], "right")
    cuts = np.searchsorted(x, borders)
    starts = np.unique(np.concatenate([[0], inner, cuts]))
    starts = starts[starts < len(x)]
    lengths = np.diff(starts, append=len(x))
    is_finite = ~np.isnan(value)
    finite_lengths = np.add.reduceat(is_finite.astype(np.float64), starts)
    sums = np.add.reduceat(np.where(is_finite, value, 0.0), starts)
    # What has no finite row is NaN, and so is the line to its neighbours.
    nothing = np.full(len(sums), np.nan)
    means = np.divide(sums, finite_lengths, out=nothing, where=finite_lengths > 0)
    values = np.interp(points, np.add.reduceat(x, starts) / lengths, means)

    firsts, stops = np.append(inner[0], cuts), np.append(cuts, inner[1])
    has_own = firsts < stops
    own = np.searchsorted(starts, firsts[has_own])
    values[has_own] = means[own]
    is_odd = np.isnan(values)
    is_odd[has_own] |= (finite_lengths < lengths)[own]

    is_beyond = ~has_own & ((points < x[0]) | (points > x[-1]))
    values[is_beyond], is_odd[is_beyond] = np.nan, False
    return values, is_odd
