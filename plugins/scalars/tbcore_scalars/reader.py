"""Reader: scalar series as rows of wall time, step and value."""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from tbcore import Claims, Multiplexer, NotFoundError, ScalarSeries

Row = tuple[float, int, float]
"""Wall time in seconds since the epoch, step, value."""

COLUMNS = ("Wall time", "step", "value")
"""Header of the rows in CSV."""


def rows(series: ScalarSeries, part: slice = slice(None)) -> list[Row]:
    """The points in the order logged; float32 values are widened, so 0.1 is 0.10000000149011612."""
    columns = (series.wall_time, series.step, series.value)
    return list(zip(*(column[part].tolist() for column in columns), strict=True))


def overview(
    multiplexer: Multiplexer, claims: Claims, sample_count: int
) -> dict[str, dict[str, list[Row]]]:
    """Maps every run, and then each tag, to at most `sample_count` evenly spaced rows.

    The rows include the first and the last row. `sample_count` must be at least 2.
    """
    result: dict[str, dict[str, list[Row]]] = {}
    for run, tags in multiplexer.tags(claims).items():
        result[run] = {}
        for tag in tags:
            # The run's files may have been deleted in the meantime.
            with suppress(NotFoundError):
                series = multiplexer.scalars(run, tag, claims=claims)
                result[run][tag] = rows(evenly_spaced(series, sample_count))
    return result


def evenly_spaced(series: ScalarSeries, sample_count: int) -> ScalarSeries:
    """At most `sample_count` points, at the indices (len - 1) * i // (sample_count - 1).

    If the series has no more points, all are returned. This is the rule of TensorBoard in
    TensorFlow 1.0.
    """
    num_points = len(series)
    if num_points <= sample_count:
        return series
    indices = (num_points - 1) * np.arange(sample_count) // (sample_count - 1)
    return ScalarSeries(
        ordinal=series.ordinal[indices],
        step=series.step[indices],
        wall_time=series.wall_time[indices],
        value=series.value[indices],
    )
