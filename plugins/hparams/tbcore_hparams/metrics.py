"""Metrics: their values in every session, and the mapping between runs and sessions."""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tbcore import Claim, Claims, LastPoints, Multiplexer
from tbcore_hparams.values import limit_names

SCALARS: Claims = (Claim("simple_value"), Claim(plugin_name="scalars", is_scalar=True))

ROOT = "."
"""Name of the run in the logdir itself, which contains all other runs."""


class MetricName(NamedTuple):
    """The name of a metric, which is the same in all sessions."""

    group: str
    """Path of the metric's run, relative to the session's run; "" for the session's own run. It is
    not a session group."""
    tag: str


class Metrics(NamedTuple):
    """Values of metrics. All arrays have the shape (number of metrics, number of sessions)."""

    names: Sequence[MetricName]
    """Unique names."""
    present: NDArray[np.bool_]
    """Whether the session logged the metric."""
    value: NDArray[np.float64]
    """The last value, or in Extremes the lowest or highest one; NaN where not present."""
    step: NDArray[np.int64]
    """The step of the value; 0 where not present."""
    wall_time: NDArray[np.float64]
    """The time of the value in seconds since the epoch; NaN where not present."""

    def first(self, count: int) -> Metrics:
        """The first `count` metrics, of all sessions."""
        return Metrics(
            self.names[:count],
            self.present[:count],
            self.value[:count],
            self.step[:count],
            self.wall_time[:count],
        )


class Extremes(NamedTuple):
    """The lowest and the highest finite values of metrics; the first one of equal values.

    Where no value is finite, the first one.
    """

    lowest: Metrics
    highest: Metrics


def run_of(session: str, group: str) -> str:
    """The run that contains a session's metrics of this group."""
    session, group = posixpath.normpath(session or ROOT), normalized(group)
    return f"{session}/{group}" if group and session != ROOT else group or session


def containing_sessions(run: str, sessions: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yields (session, group) for each session that contains a run, the innermost session first.

    `group` is the group of the run's metrics in this session, see MetricName.
    """
    if run in sessions:
        yield run, ""
    end = run.rfind("/")
    while end > 0:
        if run[:end] in sessions:
            yield run[:end], run[end + 1 :]
        end = run.rfind("/", 0, end)
    if run != ROOT and ROOT in sessions:
        yield ROOT, run


def find_metrics(points: Mapping[str, LastPoints], sessions: Collection[str]) -> list[MetricName]:
    """The names of all metrics, sorted by tag and group.

    A metric gets its group from the innermost session that contains its run.
    """
    # Count whole lists of tags first: most sessions log the same ones.
    tags_of_groups = Counter[tuple[str, tuple[str, ...]]]()
    for run, last in points.items():
        for _, group in containing_sessions(run, sessions):
            tags_of_groups[group, tuple(last.tags)] += 1
            break
    counts = Counter[MetricName]()
    for (group, tags), count in tags_of_groups.items():
        for tag in tags:
            counts[MetricName(group, tag)] += count
    return sorted(limit_names(counts, len(sessions)), key=lambda name: (name.tag, name.group))


def extreme_points(multiplexer: Multiplexer, run: str) -> tuple[LastPoints, LastPoints]:
    """The points with the lowest and with the highest finite value of each tag of a run.

    The first point of a tag without a finite value. Raises NotFoundError if the run does not exist.
    """
    tags = list(multiplexer.tags(SCALARS).get(run, ()))
    all_series = [multiplexer.scalars(run, tag, claims=SCALARS) for tag in tags]
    lowest = [series.min or series.first for series in all_series]
    highest = [series.max or series.first for series in all_series]
    return _as_columns(tags, lowest), _as_columns(tags, highest)


def _as_columns(
    tags: Sequence[str], points: Sequence[tuple[int, float, float] | None]
) -> LastPoints:
    """Points of step, wall time and value, one for each tag, without tags that have none."""
    found = [(tag, *point) for tag, point in zip(tags, points, strict=True) if point]
    names, steps, wall_times, values = zip(*found, strict=True) if found else ((), (), (), ())
    return LastPoints(
        list(names), np.array(steps, np.int64), np.array(wall_times, float), np.array(values, float)
    )


def collect(
    points: Mapping[str, LastPoints], sessions: Sequence[str], names: Sequence[MetricName]
) -> Metrics:
    """The values of these metrics in these sessions, from one point of each tag of each run."""
    shape = (len(names), len(sessions))
    metrics = Metrics(
        names,
        present=np.zeros(shape, bool),
        value=np.full(shape, np.nan),
        step=np.zeros(shape, np.int64),
        wall_time=np.full(shape, np.nan),
    )
    session_index = {name: i for i, name in enumerate(sessions)}
    # Maps a group, and then a tag, to indices in `names`. Groups may be equal once normalized.
    indices_by_group: dict[str, dict[str, list[int]]] = {}
    for metric_index, (group, tag) in enumerate(names):
        indices_by_tag = indices_by_group.setdefault(normalized(group), {})
        indices_by_tag.setdefault(tag, []).append(metric_index)
    # Most sessions log the same tags, so the assignment of tags to metrics is computed only once.
    cache: dict[tuple[str, tuple[str, ...]], tuple[list[int], list[int]]] = {}
    for run, last in points.items():
        tags = tuple(last.tags)
        for session, group in containing_sessions(run, session_index):
            if group not in indices_by_group:
                continue
            key = (group, tags)
            if key not in cache:
                cache[key] = _pairs(indices_by_group[group], tags)
            metric_indices, tag_indices = cache[key]
            column = session_index[session]
            metrics.present[metric_indices, column] = True
            metrics.value[metric_indices, column] = last.value[tag_indices]
            metrics.step[metric_indices, column] = last.step[tag_indices]
            metrics.wall_time[metric_indices, column] = last.wall_time[tag_indices]
    return metrics


def _pairs(
    indices_by_tag: Mapping[str, list[int]], tags: Iterable[str]
) -> tuple[list[int], list[int]]:
    """A list of indices of metrics, and a list with the index in `tags` of each metric's tag."""
    pairs = [
        (metric_index, tag_index)
        for tag_index, tag in enumerate(tags)
        for metric_index in indices_by_tag.get(tag, ())
    ]
    return [metric_index for metric_index, _ in pairs], [tag_index for _, tag_index in pairs]


def normalized(group: str) -> str:
    """The group as a relative path: normalized, and without slashes at its ends."""
    group = posixpath.normpath(group.strip("/") or ROOT)
    return "" if group == ROOT else group
