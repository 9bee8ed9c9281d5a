"""Aggregation: computes the metrics of each group from those of its sessions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tbcore_hparams.experiment_data import Groups
from tbcore_hparams.metrics import MetricName, Metrics
from tbcore_hparams.proto import api_pb2
from tbcore_hparams.values import Rows

AVG, MEDIAN, MIN, MAX = (
    api_pb2.AGGREGATION_AVG,
    api_pb2.AGGREGATION_MEDIAN,
    api_pb2.AGGREGATION_MIN,
    api_pb2.AGGREGATION_MAX,
)


class Aggregate(NamedTuple):
    """Metrics of groups. All arrays have the shape (number of metrics, number of groups)."""

    names: Sequence[MetricName]
    num_sessions: NDArray[np.int64]
    """Number of sessions that the value was computed from; 0 if there is no value."""
    value: NDArray[np.float64]
    """NaN if there is no value."""
    step: NDArray[np.int64]
    """0 if there is no value."""
    wall_time: NDArray[np.float64]
    """Seconds since the epoch; NaN if there is no value."""
    rank: NDArray[np.int64]
    """Order of a group's metrics in responses, ascending; equal ranks are in the order of `names`.

    For means (AVG and UNSET), the rank is the index in `Groups.sessions` of the group's first
    session that has the metric, or len(Groups.sessions) if none has it. For a chosen session it is
    0.
    """


def aggregate(
    metrics: Metrics, groups: Groups, method: int, by: MetricName, chooser: Metrics | None = None
) -> Aggregate:
    """The metrics of the groups, aggregated with `method`, a value of AggregationType.

    AVG and AGGREGATION_UNSET compute the mean over the sessions that have the metric. The mean of
    the steps is rounded down.

    MIN, MAX and MEDIAN choose one session to represent each group: the one whose metric `by` is the
    lowest, the highest or the median (of an even number of values, the lower middle one). Sessions
    with equal values are ordered by name. A session with NaN is chosen only if all values of `by`
    in the group are NaN. A group without the metric `by` has no values. The compared values of `by`
    come from `chooser` if it is given, otherwise from `metrics`.
    """
    if method in (api_pb2.AGGREGATION_UNSET, AVG):
        return _means(metrics, groups)
    return _metrics_of(metrics, _representatives(chooser or metrics, groups, method, by))


def _means(metrics: Metrics, groups: Groups) -> Aggregate:
    """The means over the sessions of each group, see `aggregate`."""
    # 1. Reorder the sessions of all metrics by group.
    # 2. Count the sessions of each group that have each metric.
    # 3. Divide the sums of values and wall times by the counts.
    # 4. Compute the mean steps from sums of quotients and remainders, which are exact and cannot
    #    overflow int64, whatever was logged. The step of an absent metric is 0 and adds nothing.
    # 5. Find each group's first session that has each metric.
    num_metrics, num_groups = len(metrics.names), len(groups.names)
    num_grouped = len(groups.sessions)
    group_index = np.repeat(np.arange(num_groups), groups.sizes)  # 1
    present = metrics.present[:, groups.sessions]

    def sum_ints(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.add.reduceat(numbers, groups.starts[:-1], axis=1, dtype=np.int64)

    def sum_floats(values: NDArray[np.float64]) -> NDArray[np.float64]:
        # bincount adds one element after another, so the result is exactly that of a loop.
        cell = group_index + num_groups * np.arange(num_metrics)[:, None]
        weights = np.where(present, values[:, groups.sessions], 0.0)
        total = np.bincount(cell.ravel(), weights.ravel(), num_metrics * num_groups)
        # If there is nothing to count, bincount returns integers.
        return total.astype(np.float64).reshape(num_metrics, num_groups)

    num_sessions = sum_ints(present.astype(np.int64))  # 2
    count = np.maximum(num_sessions, 1)
    has_value = num_sessions > 0
    with np.errstate(invalid="ignore", over="ignore"):
        value = sum_floats(metrics.value) / count  # 3
        wall_time = sum_floats(metrics.wall_time) / count
    quotient, remainder = np.divmod(metrics.step[:, groups.sessions], count[:, group_index])  # 4
    rank_if_present = np.where(present, np.arange(num_grouped), num_grouped)  # 5
    return Aggregate(
        metrics.names,
        num_sessions=num_sessions,
        value=np.where(has_value, value, np.nan),
        step=sum_ints(quotient) + sum_ints(remainder) // count,
        wall_time=np.where(has_value, wall_time, np.nan),
        rank=np.minimum.reduceat(rank_if_present, groups.starts[:-1], axis=1),
    )


def _representatives(metrics: Metrics, groups: Groups, method: int, by: MetricName) -> Rows:
    """Index of the session that represents each group; -1 for groups without one."""
    # 1. Get the value of `by` at each position in `groups.sessions`.
    # 2. Keep the positions with a number and, in groups without any number, those with NaN.
    # 3. Sort the positions by group, and by value within the group. The sort is stable, so equal
    #    values stay in the order of `groups.sessions`, which is by name within a group.
    # 4. Take the first position of each group, or the middle one, and look up its session.
    chosen = np.full(len(groups.names), -1, np.int64)
    if by not in metrics.names:
        return chosen
    metric_index = metrics.names.index(by)  # 1
    group_index = np.repeat(np.arange(len(groups.names)), groups.sizes)
    value = metrics.value[metric_index, groups.sessions]
    present = metrics.present[metric_index, groups.sessions]
    has_number = present & ~np.isnan(value)  # 2
    group_has_number = np.zeros(len(groups.names), bool)
    group_has_number[group_index[has_number]] = True
    positions = np.flatnonzero(has_number | (present & ~group_has_number[group_index]))
    keys = -value[positions] if method == MAX else value[positions]  # 3
    positions = positions[np.lexsort((keys, group_index[positions]))]
    found_groups, starts, sizes = np.unique(  # 4
        group_index[positions], return_index=True, return_counts=True
    )
    offsets = (sizes - 1) // 2 if method == MEDIAN else 0
    chosen[found_groups] = groups.sessions[positions[starts + offsets]]
    return chosen


def _metrics_of(metrics: Metrics, sessions: Rows) -> Aggregate:
    """The metrics of groups that are represented by one session each; no values for index -1."""
    present = metrics.present[:, sessions] & (sessions >= 0)
    return Aggregate(
        metrics.names,
        num_sessions=present.astype(np.int64),
        value=np.where(present, metrics.value[:, sessions], np.nan),
        step=np.where(present, metrics.step[:, sessions], 0),
        wall_time=np.where(present, metrics.wall_time[:, sessions], np.nan),
        rank=np.zeros(present.shape, np.int64),
    )
