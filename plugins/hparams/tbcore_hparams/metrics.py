"""Metrics: their values in every session, and the mapping between runs and sessions."""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tbcore import Claim, Claims, LastPoints, Multiplexer
from tbcore.values import paths_above
from tbcore_hparams.values import limit_names

SCALARS: Claims = (Claim("simple_value"), Claim(plugin_name="scalars", is_scalar=True))

ROOT = "."
"""Name of the run in the logdir itself, which contains all other runs."""


class MetricName(NamedTuple):
    """The name of a metric, which is the same in all sessions."""

    group: str
    """Path of the metric's run, relative to the session's run; "" for the session's own run, and
    `..` for the run of the folder above. It is not a session group."""
    tag: str

    @property
    def is_above(self) -> bool:
        """Whether the metric's run is above the session, where TensorBoard looks for none."""
        return is_above(self.group)


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
    run = f"{session}/{group}" if group and session != ROOT else group or session
    return posixpath.normpath(run) if is_above(group) else run


def is_above(group: str) -> bool:
    """Whether a group leads to a folder above the session."""
    return set(group.split("/")) == {".."}


class SessionNames:
    """The names of sessions, and which of them a run belongs to."""

    def __init__(self, names: Iterable[str]) -> None:
        self.names = frozenset(names)
        self._only_below: dict[str, str | None] = {}
        """Maps each run above sessions to the only session below it; None if there are several."""
        for name in self.names:
            for path in paths_above(name):
                self._only_below[path] = None if path in self._only_below else name

    def of(self, run: str) -> Iterator[tuple[str, str]]:
        """Yields (session, group) for each session that a run belongs to, the innermost first.

        These are the run itself and the sessions above it; without any, the only session below it,
        as for the hyperparameters that queries find. `group` is the group of the run's metrics in
        this session, see MetricName.
        """
        is_contained = False
        for path in (run, *paths_above(run)):
            if path in self.names:
                is_contained = True
                yield path, "" if path == run else run if path == ROOT else run[len(path) + 1 :]
        below = self._only_below.get(run)
        if not is_contained and below is not None:
            levels = below.count("/") + 1 - (0 if run == ROOT else run.count("/") + 1)
            yield below, "/".join([".."] * levels)


def find_metrics(points: Mapping[str, LastPoints], sessions: SessionNames) -> list[MetricName]:
    """The names of all metrics, sorted by tag and group, those of runs above sessions last.

    A metric gets its group from the innermost session that contains its run.
    """
    # Count whole lists of tags first: most sessions log the same ones.
    tags_of_groups = Counter[tuple[str, tuple[str, ...]]]()
    for run, last in points.items():
        for _, group in sessions.of(run):
            tags_of_groups[group, tuple(last.tags)] += 1
            break
    counts = Counter[MetricName]()
    for (group, tags), count in tags_of_groups.items():
        for tag in tags:
            counts[MetricName(group, tag)] += count
    names = limit_names(counts, len(sessions.names))
    return sorted(names, key=lambda name: (name.is_above, name.tag, name.group))


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
    session_names = SessionNames(sessions)
    # Maps a group, and then a tag, to indices in `names`. Groups may be equal once normalized.
    indices_by_group: dict[str, dict[str, list[int]]] = {}
    for metric_index, (group, tag) in enumerate(names):
        indices_by_tag = indices_by_group.setdefault(normalized(group), {})
        indices_by_tag.setdefault(tag, []).append(metric_index)
    # Most sessions log the same tags, so the assignment of tags to metrics is computed only once.
    cache: dict[tuple[str, tuple[str, ...]], tuple[list[int], list[int]]] = {}
    for run, last in points.items():
        tags = tuple(last.tags)
        for session, group in session_names.of(run):
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
