"""How the metrics of a group follow from those of its sessions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tbcore_hparams.metrics import MetricName, Metrics
from tbcore_hparams.proto import api_pb2
from tbcore_hparams.study import Groups
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
    num_sessions: Rows
    """How many sessions a value comes from; 0 where there is none."""
    value: NDArray[np.float64]
    step: Rows
    wall_time: NDArray[np.float64]
    place: Rows
    """Where among the sessions of all groups a metric comes first. A group's metrics are told in
    this order, those of one session in that of `names`."""


def aggregate(
    metrics: Metrics, groups: Groups, how: int, by: MetricName, chooser: Metrics | None = None
) -> Aggregate:
    """The metrics of the groups.

    AVG, which is also what 0 means, is the mean over the sessions that have a metric; of steps the
    mean is rounded down. Otherwise one session stands for its group: the one in which the metric
    `by` is lowest, highest, or in the middle, the lower one of two. Of equal ones it is the first
    by name; sessions in which it is NaN stand back. Groups without that metric have no values.
    `chooser` has the values by which it is chosen, where these are others than `metrics` has.
    """
    if how in (api_pb2.AGGREGATION_UNSET, AVG):
        return _means(metrics, groups)
    return _taken(metrics, _representatives(chooser or metrics, groups, how, by))


def _means(metrics: Metrics, groups: Groups) -> Aggregate:
    num_metrics, num_groups = len(metrics.names), len(groups.names)
    group = np.repeat(np.arange(num_groups), groups.sizes)
    present = metrics.present[:, groups.sessions]

    def counted(numbers: NDArray[np.int64]) -> Rows:
        return np.add.reduceat(numbers, groups.starts[:-1], axis=1, dtype=np.int64)

    def added(values: NDArray[np.float64]) -> NDArray[np.float64]:
        # One after the other, so that it is to the last bit what adding up in a loop would give.
        cell = group + num_groups * np.arange(num_metrics)[:, None]
        weights = np.where(present, values[:, groups.sessions], 0.0)
        total = np.bincount(cell.ravel(), weights.ravel(), num_metrics * num_groups)
        return total.astype(np.float64).reshape(num_metrics, num_groups)

    num_sessions = counted(present.astype(np.int64))
    count = np.maximum(num_sessions, 1)
    # Steps are added as quotients and remainders: exact, and below 2**63 whatever was logged.
    quotient, rest = np.divmod(metrics.step[:, groups.sessions], count[:, group])
    is_there = num_sessions > 0
    with np.errstate(invalid="ignore", over="ignore"):
        value, wall_time = added(metrics.value) / count, added(metrics.wall_time) / count
    return Aggregate(
        metrics.names,
        num_sessions,
        np.where(is_there, value, np.nan),
        counted(quotient) + counted(rest) // count,
        np.where(is_there, wall_time, np.nan),
        np.minimum.reduceat(
            np.where(present, np.arange(len(group)), len(group)), groups.starts[:-1], axis=1
        ),
    )


def _representatives(metrics: Metrics, groups: Groups, how: int, by: MetricName) -> Rows:
    """The place of the session that stands for each group; -1 where none does."""
    chosen = np.full(len(groups.names), -1, np.int64)
    if by not in metrics.names:
        return chosen
    number = metrics.names.index(by)
    group = np.repeat(np.arange(len(groups.names)), groups.sizes)
    value = metrics.value[number, groups.sessions]
    present = metrics.present[number, groups.sessions]
    # Those that are NaN are used only where there are no others.
    usable = present & ~np.isnan(value)
    has_usable = np.zeros(len(groups.names), bool)
    has_usable[group[usable]] = True
    rows = np.flatnonzero(usable | (present & ~has_usable[group]))
    keys = -value[rows] if how == MAX else value[rows]
    rows = rows[np.lexsort((keys, group[rows]))]
    found, starts, sizes = np.unique(group[rows], return_index=True, return_counts=True)
    offsets = (sizes - 1) // 2 if how == MEDIAN else 0
    chosen[found] = groups.sessions[rows[starts + offsets]]
    return chosen


def _taken(metrics: Metrics, sessions: Rows) -> Aggregate:
    """The values of these sessions; none for -1."""
    present = metrics.present[:, sessions] & (sessions >= 0)
    return Aggregate(
        metrics.names,
        present.astype(np.int64),
        np.where(present, metrics.value[:, sessions], np.nan),
        np.where(present, metrics.step[:, sessions], 0),
        np.where(present, metrics.wall_time[:, sessions], np.nan),
        np.zeros(present.shape, np.int64),
    )
