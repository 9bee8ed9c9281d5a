"""Bands: the average of a group's curves, and how far they spread."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tbcore import ScalarSeries
from tbcore.values import Average, column_statistics

Floats = NDArray[np.float64]

MAX_STEPS = 2000
"""Maximum number of steps of a band; of more, as many are chosen, evenly among all."""


def band_of(group: Sequence[ScalarSeries], average: Average) -> dict[str, Floats]:
    """The average of some series, at least one, at the steps at which any of them has a point.

    Between two points, the value of a series is interpolated; before the first and after the last
    it has none. `low` and `high` are the lowest and highest finite value, `count` is the number of
    finite values and `nonfinite` that of NaN and infinite ones.
    """
    points = [_points_of(series) for series in group]
    steps = _some(np.unique(np.concatenate([_some(step) for step, _ in points])))
    values = np.array(
        [np.interp(steps, step, value, left=np.nan, right=np.nan) for step, value in points]
    )
    is_inside = np.array([(step[0] <= steps) & (steps <= step[-1]) for step, _ in points])
    found = column_statistics(values, average, "range")
    return {
        **{"step": steps, "mean": found.average, "low": found.low, "high": found.high},
        "count": found.count.astype(np.float64),
        "nonfinite": (is_inside & ~np.isfinite(values)).sum(axis=0).astype(np.float64),
    }


def _points_of(series: ScalarSeries) -> tuple[Floats, Floats]:
    """The steps of a series, ascending, and the value of each: the last that was logged.

    A restart replaces what was logged at its first step and after it.
    """
    kept = []
    end: float = np.inf
    for start, stop in reversed([*pairwise([*series.segment_starts.tolist(), len(series)])]):
        rows = np.arange(start, stop)[::-1]
        kept.append(rows[series.step[rows] < end])
        end = min(end, series.step[rows].min())
    rows = np.concatenate(kept)
    steps, first = np.unique(series.step[rows], return_index=True)
    return steps.astype(np.float64), series.value[rows[first]].astype(np.float64)


def _some(steps: Floats) -> Floats:
    """At most MAX_STEPS of these steps, with both ends."""
    if len(steps) <= MAX_STEPS:
        return steps
    return steps[np.linspace(0, len(steps) - 1, MAX_STEPS).astype(np.int64)]
