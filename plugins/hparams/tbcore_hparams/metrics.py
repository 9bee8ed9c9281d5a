"""The last value of every metric in every session, and in which runs metrics are found."""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tbcore import Claim, Claims, LastPoints, Multiplexer
from tbcore_hparams.values import names_kept

SCALARS: Claims = (Claim("simple_value"), Claim(plugin_name="scalars", is_scalar=True))

ROOT = "."
"""The run of the logdir itself, which all others are below."""


class MetricName(NamedTuple):
    """Names a metric in all sessions."""

    group: str
    """The run below that of the session in which it is logged; "" for the session's own."""
    tag: str


class Metrics(NamedTuple):
    """Values of metrics. All arrays have the shape (number of metrics, number of sessions)."""

    names: Sequence[MetricName]
    """All different."""
    present: NDArray[np.bool_]
    value: NDArray[np.float64]
    """The last one, unless it is said otherwise; NaN where not present."""
    step: NDArray[np.int64]
    """0 where not present."""
    wall_time: NDArray[np.float64]
    """In seconds since the epoch; NaN where not present."""

    def first(self, count: int) -> Metrics:
        """So many of them, of the same sessions."""
        return Metrics(
            self.names[:count],
            self.present[:count],
            self.value[:count],
            self.step[:count],
            self.wall_time[:count],
        )


class Extremes(NamedTuple):
    """The lowest and the highest values of the same metrics, each the first of equal ones.

    NaN only where nothing else was logged.
    """

    lowest: Metrics
    highest: Metrics


def run_of(session: str, group: str) -> str:
    """The run in which a session logs the metrics of a group."""
    session, group = posixpath.normpath(session or ROOT), normalized(group)
    return f"{session}/{group}" if group and session != ROOT else group or session


def sessions_above(run: str, sessions: Collection[str]) -> Iterator[tuple[str, str]]:
    """The sessions that a run is part of, the nearest first, each with the group of its metrics."""
    if run in sessions:
        yield run, ""
    end = run.rfind("/")
    while end > 0:
        if run[:end] in sessions:
            yield run[:end], run[end + 1 :]
        end = run.rfind("/", 0, end)
    if run != ROOT and ROOT in sessions:
        yield ROOT, run


def found_metrics(points: Mapping[str, LastPoints], sessions: Collection[str]) -> list[MetricName]:
    """All there are, each in the session that is nearest to its run, ordered by tag and group."""
    tags_of_groups = Counter[tuple[str, tuple[str, ...]]]()
    for run, last in points.items():
        for _, group in sessions_above(run, sessions):
            tags_of_groups[group, tuple(last.tags)] += 1
            break
    counts = Counter[MetricName]()
    for (group, tags), count in tags_of_groups.items():
        for tag in tags:
            counts[MetricName(group, tag)] += count
    return sorted(names_kept(counts, len(sessions)), key=lambda name: (name.tag, name.group))


def extreme_points(multiplexer: Multiplexer, run: str) -> tuple[LastPoints, LastPoints]:
    """The lowest and the highest point of each tag of the run. Raises NotFoundError without it."""
    tags = multiplexer.tags(SCALARS).get(run, ())
    all_series = [multiplexer.scalars(run, tag, claims=SCALARS) for tag in tags]

    def points(place_of: Callable[[NDArray[np.floating[Any]]], np.intp]) -> LastPoints:
        found = []
        for series in all_series:
            value = series.value
            place = place_of(value)
            if np.isnan(value[place]) and not np.isnan(value).all():
                # What is NaN is lowest and highest to numpy.
                there = np.flatnonzero(~np.isnan(value))
                place = there[place_of(value[there])]
            found.append((series.step[place], series.wall_time[place], value[place]))
        steps, wall_times, values = zip(*found, strict=True) if found else ((), (), ())
        return LastPoints(
            list(tags),
            np.array(steps, np.int64),
            np.array(wall_times, float),
            np.array(values, float),
        )

    return points(np.argmin), points(np.argmax)


def gathered(
    points: Mapping[str, LastPoints], sessions: Sequence[str], names: Sequence[MetricName]
) -> Metrics:
    """The values of these metrics in these sessions, from a point of each tag of each run."""
    shape = (len(names), len(sessions))
    metrics = Metrics(
        names,
        np.zeros(shape, bool),
        np.full(shape, np.nan),
        np.zeros(shape, np.int64),
        np.full(shape, np.nan),
    )
    places = {name: place for place, name in enumerate(sessions)}
    wanted: dict[str, dict[str, list[int]]] = {}
    for number, (group, tag) in enumerate(names):
        wanted.setdefault(normalized(group), {}).setdefault(tag, []).append(number)
    # Most sessions log the same tags, so that what belongs where is worked out once.
    known: dict[tuple[str, tuple[str, ...]], tuple[list[int], list[int]]] = {}
    for run, last in points.items():
        tags = tuple(last.tags)
        for session, group in sessions_above(run, places):
            if group not in wanted:
                continue
            key = (group, tags)
            if key not in known:
                known[key] = _pairs(wanted[group], tags)
            numbers, rows = known[key]
            column = places[session]
            metrics.present[numbers, column] = True
            metrics.value[numbers, column] = last.value[rows]
            metrics.step[numbers, column] = last.step[rows]
            metrics.wall_time[numbers, column] = last.wall_time[rows]
    return metrics


def _pairs(wanted: Mapping[str, list[int]], tags: Iterable[str]) -> tuple[list[int], list[int]]:
    """Metrics, and the places of their tags."""
    pairs = [(number, row) for row, tag in enumerate(tags) for number in wanted.get(tag, ())]
    return [number for number, _ in pairs], [row for _, row in pairs]


def normalized(group: str) -> str:
    """The group as runs below a session are named: without slashes at its ends and points."""
    group = posixpath.normpath(group.strip("/") or ROOT)
    return "" if group == ROOT else group
