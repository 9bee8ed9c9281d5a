"""What scalar series mean to a client: rows of wall time, step and value."""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from tbcore import Claims, Multiplexer, NotFoundError, ScalarSeries

Row = tuple[float, int, float]
"""Wall time in seconds since the epoch, step, value."""

COLUMNS = ("Wall time", "step", "value")


def rows(series: ScalarSeries, part: slice = slice(None)) -> list[Row]:
    """The points in order of arrival; float32 values are widened, so 0.1 is 0.10000000149011612."""
    columns = (series.wall_time, series.step, series.value)
    return list(zip(*(column[part].tolist() for column in columns), strict=True))


def overview(
    multiplexer: Multiplexer, claims: Claims, sample_count: int
) -> dict[str, dict[str, list[Row]]]:
    """Run to tag to at most `sample_count` rows, evenly spaced, the first and the last among them.

    Every run is a key. `sample_count` is at least 2.
    """
    answer: dict[str, dict[str, list[Row]]] = {}
    for run, tags in multiplexer.tags(claims).items():
        answer[run] = {}
        for tag in tags:
            # A run can vanish while this goes on, when its files are deleted.
            with suppress(NotFoundError):
                series = multiplexer.scalars(run, tag, claims=claims)
                answer[run][tag] = rows(evenly_spaced(series, sample_count))
    return answer


def evenly_spaced(series: ScalarSeries, sample_count: int) -> ScalarSeries:
    """The points at positions (len - 1) * i // (sample_count - 1); all when there are not more."""
    num_points = len(series)
    if num_points <= sample_count:
        return series
    positions = (num_points - 1) * np.arange(sample_count) // (sample_count - 1)
    return ScalarSeries(
        ordinal=series.ordinal[positions],
        step=series.step[positions],
        wall_time=series.wall_time[positions],
        value=series.value[positions],
    )
