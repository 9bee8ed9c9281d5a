"""Bands: for each group of runs, a line for their average and a band for how far they spread.

The numbers are those of `tbcore.values.group_curve`, at the x of all rows, or in pixel columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tbcore.values import (
    Average,
    GroupCurve,
    Spread,
    column_statistics,
    common_points,
    effective_rows,
    group_curve,
)
from tbcore_scalars.windows import Line, Scale, as_x, pixel_edges

Floats = NDArray[np.float64]
Drawn = Literal["mean", "points", "runs"]
"""What a chart draws for a group: the average as a line with a band; the only point of each run and
their average, with a bar; or the runs alone."""

_MAX_ROWS_TO_SORT = 1 << 20
"""Maximum number of rows whose distinct x are counted, which requires sorting them.

If there are more rows, there are probably too many distinct x, and the points are pixel columns.
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
) -> GroupCurve:
    """The average and spread of runs with a single x each, at the mean of their x.

    Empty if this is not between `start` and `stop`, or there are no runs.
    """
    last = [(x[-1], value[-1:]) for x, value in map(_rows_of, runs) if len(x)]
    at = column_statistics(np.array([x for x, _ in last], np.float64).reshape(-1, 1)).average
    shown = at[(start <= at) & (at <= stop)]
    return group_curve(shown, [(at, value) for _, value in last], average, spread)


def band_of(
    runs: Sequence[tuple[Line, NDArray[Any]]],
    start: float,
    stop: float,
    pixels: int,
    spread: Spread,
    scale: Scale = "linear",
    average: Average = "mean",
) -> GroupCurve:
    """The band of some runs between two x, for a chart of this many pixels.

    `runs` are pairs of a line and its values, which may be smoothed. The points are all x at which
    any run has a row or, if there are more than 2 per pixel, the middles of the pixel columns.
    """
    rows = [_rows_around(start, stop, *_rows_of(run)) for run in runs]
    inside = [x[(x >= start) & (x <= stop)] for x, _ in rows]
    edges = pixel_edges(start, stop, pixels, scale, (x for x, _ in rows))
    distinct = _distinct_x(inside, 2 * (len(edges) - 1))
    if distinct is not None:
        return group_curve(distinct, rows, average, spread)
    return group_curve((edges[1:] + edges[:-1]) / 2, rows, average, spread, (edges[0], edges[-1]))


def _rows_of(run: tuple[Line, NDArray[Any]]) -> tuple[NDArray[Any], NDArray[Any]]:
    line, value = run
    return effective_rows(line.x, value, line.starts)


def _rows_around(start: float, stop: float, x: NDArray[Any], value: Any) -> tuple[Floats, Any]:
    """x and value of the rows between two x, and of one more row on each side."""
    first = max(int(np.searchsorted(x, as_x(start, x, "left"))) - 1, 0)
    end = int(np.searchsorted(x, as_x(stop, x, "right"), "right")) + 1
    return x[first:end].astype(np.float64), value[first:end]


def _distinct_x(inside: Sequence[Floats], limit: int) -> Floats | None:
    """All distinct x in ascending order; None if there are more than `limit`, or too many rows."""
    if sum(map(len, inside)) > _MAX_ROWS_TO_SORT:
        return None
    distinct = common_points(inside)
    return distinct if len(distinct) <= limit else None
