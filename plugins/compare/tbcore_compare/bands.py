"""Bands: the average of a group's curves, and how far they spread."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tbcore import ScalarSeries
from tbcore.values import Average, Spread, common_points, effective_rows, group_curve

MAX_STEPS = 2000
"""Maximum number of steps of a band; of more, as many are chosen, evenly among all."""


def band_of(
    group: Sequence[ScalarSeries], average: Average, spread: Spread
) -> dict[str, NDArray[np.float64]]:
    """The average of some series at the steps at which any of them has a point.

    `low` and `high` are the ends of the spread.
    """
    runs = [effective_rows(each.step, each.value, each.segment_starts) for each in group]
    found = group_curve(common_points((x for x, _ in runs), MAX_STEPS), runs, average, spread)
    return {
        **{"step": found.x, "mean": found.average, "low": found.low, "high": found.high},
        "count": found.count.astype(np.float64),
        "nonfinite": found.nonfinite.astype(np.float64),
    }
