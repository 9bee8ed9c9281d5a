"""One line for a group of runs: their mean, and a band that shows how far apart they are.

Runs of a group are rarely logged at the same x. Each is therefore brought to common points first:
where it has rows of its own near a point, by their mean; between its rows by the straight line
that a chart draws; and nowhere beyond its ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tbcore_scalars.windows import Scale, pixel_edges

Floats = NDArray[np.float64]
Spread = Literal["range", "deviation", "quartiles"]

_MANY_ROWS = 1 << 20
"""Of more rows than that the distinct x are not looked for: they are more than pixels."""


@dataclass(frozen=True, slots=True, eq=False)
class Band:
    """Columns of shape (n,)."""

    x: Floats
    mean: Floats
    low: Floats
    """Least value, mean less the standard deviation, or first quartile."""
    high: Floats
    count: Floats
    """How many runs have a value there; at least 1."""


def band_of(
    runs: Sequence[tuple[NDArray[Any], Floats]],
    start: float,
    stop: float,
    pixels: int,
    spread: Spread,
    scale: Scale = "linear",
) -> Band:
    """The band between two x on so many pixels, of rows (x, value) of each run in any order.

    The points are the x at which any run has a row, or the middles of the pixel columns when those
    are more than 2 for each pixel. Values that are not finite are left out.
    """
    rows = [_around(start, stop, *_sorted_rows(x, value)) for x, value in runs]
    inside = [x[(x >= start) & (x <= stop)] for x, _ in rows]
    points = _points(inside, pixel_edges(start, stop, pixels, scale))
    values = np.full((len(rows), len(points)), np.nan)
    for row, (x, value) in zip(values, rows, strict=True):
        if len(x) and len(points):
            row[:] = _at(points, x, value)
    has_any = ~np.isnan(values).all(axis=0)
    values, points = values[:, has_any], points[has_any]
    count = (~np.isnan(values)).sum(axis=0).astype(np.float64)
    if not len(points):
        return Band(points, points, points, points, points)
    mean = np.nanmean(values, axis=0)
    if spread == "range":
        low, high = np.nanmin(values, axis=0), np.nanmax(values, axis=0)
    elif spread == "deviation":
        deviation = np.nanstd(values, axis=0)
        low, high = mean - deviation, mean + deviation
    else:
        low, high = np.nanquantile(values, [0.25, 0.75], axis=0)
    return Band(points, mean, low, high, count)


def _sorted_rows(x: NDArray[Any], value: Floats) -> tuple[Floats, Floats]:
    x = x.astype(np.float64)
    is_finite = np.isfinite(x) & np.isfinite(value)
    x, value = x[is_finite], value[is_finite]
    if (x[1:] < x[:-1]).any():
        order = np.argsort(x, kind="stable")
        x, value = x[order], value[order]
    return x, value


def _around(start: float, stop: float, x: Floats, value: Floats) -> tuple[Floats, Floats]:
    """The rows between two x, and one more on both sides."""
    first = max(int(np.searchsorted(x, start)) - 1, 0)
    end = int(np.searchsorted(x, stop, "right")) + 1
    return x[first:end], value[first:end]


def _points(inside: Sequence[Floats], edges: Floats) -> Floats:
    if sum(map(len, inside)) <= _MANY_ROWS:
        distinct = np.unique(np.concatenate([np.empty(0), *inside]))
        if len(distinct) <= 2 * (len(edges) - 1):
            return distinct
    return (edges[1:] + edges[:-1]) / 2


def _at(points: Floats, x: Floats, value: Floats) -> Floats:
    """Values at the points, NaN beyond the ends of x: of the mean of all rows nearest to one."""
    borders = (points[1:] + points[:-1]) / 2
    # Rows before the first point and behind the last one are neighbours, not part of their means.
    ends = [0, np.searchsorted(x, points[0]), np.searchsorted(x, points[-1], "right")]
    starts = np.unique(np.concatenate([ends, np.searchsorted(x, borders)]))
    starts = starts[starts < len(x)]
    lengths = np.diff(starts, append=len(x))
    means = np.add.reduceat(x, starts) / lengths, np.add.reduceat(value, starts) / lengths
    values = np.interp(points, *means)
    first, last = np.searchsorted(borders, x[[0, -1]])
    values[:first] = np.nan
    values[last + 1 :] = np.nan
    return values
