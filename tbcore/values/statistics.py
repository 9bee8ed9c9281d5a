"""Statistics: the average and the spread of groups of values, such as the last values of runs.

This is what a group of runs shows wherever it is shown. Only finite values are averaged. NaN and
infinite values are counted beside the average, so that a group with a diverged run says so.

The deviation is that of the sample, over n - 1, since runs are a sample of all possible runs; that
of a single value is 0. Quantiles are linear between two values.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Average = Literal["mean", "median", "iqm"]
"""The mean, the median, or the interquartile mean.

The interquartile mean of n values is the mean without the n // 4 lowest and the n // 4 highest.
"""
Spread = Literal["range", "deviation", "quartiles", "error", "interval"]
"""Minimum and maximum; the mean minus and plus the standard deviation; the first and the third
quartile; the mean minus and plus its standard error; its 95 % interval by Student's t."""
MIN_VALUES = 3
"""Minimum number of finite values for a standard error, an interval or a comparison."""


@dataclass(frozen=True, slots=True, eq=False)
class Statistics:
    """Statistics of some groups, or of the columns of a matrix: arrays of shape (num_groups,)."""

    average: Floats
    """NaN without finite values."""
    low: Floats
    """The lower end of the spread; NaN without finite values, or with too few for an interval."""
    high: Floats
    count: NDArray[np.int64]
    """Number of finite values, which are those that the average is of."""
    nonfinite: NDArray[np.int64]
    """Number of values that are NaN or infinite."""


def group_statistics(
    values: ArrayLike,
    groups: ArrayLike,
    num_groups: int,
    average: Average = "mean",
    spread: Spread = "deviation",
) -> Statistics:
    """The statistics of groups of values, such as one value of each run.

    `values` and `groups` have the shape (num_values,). The second has the group of each value, from
    0 to `num_groups` - 1; -1 leaves a value out, such as that of a run that has none.
    """
    value, group = np.asarray(values, np.float64), np.asarray(groups, np.int64)
    # Groups of equal size are computed together: a matrix of all is as tall as the largest one.
    order = np.argsort(group, kind="stable")
    starts = np.searchsorted(group[order], np.arange(num_groups + 1))
    sizes = np.diff(starts)
    spreads, counts = np.full((3, num_groups), np.nan), np.zeros((2, num_groups), np.int64)
    for size in np.unique(sizes[sizes > 0]).tolist():
        here = np.flatnonzero(sizes == size)
        matrix = value[order[starts[here] + np.arange(size)[:, None]]]
        found = column_statistics(matrix, average, spread)
        spreads[:, here] = found.average, found.low, found.high
        counts[:, here] = found.count, found.nonfinite
    return Statistics(*spreads, *counts)


def column_statistics(
    values: Floats, average: Average = "mean", spread: Spread = "deviation"
) -> Statistics:
    """The statistics of each column of a matrix, such as values of each run at each point."""
    is_finite = np.isfinite(values)
    count = is_finite.sum(axis=0)
    middle, low, high = result = np.full((3, len(count)), np.nan)
    has_any = count > 0
    if has_any.any():
        # In each column the finite values in ascending order, and then NaN.
        ascending = np.sort(np.where(is_finite, values, np.nan)[:, has_any], axis=0)
        result[:, has_any] = _of_sorted(ascending, count[has_any], average, spread)
    return Statistics(middle, low, high, count, len(values) - count)


# The functions below get columns that begin with `count` finite values in ascending order, at least
# one, before any NaN.


def _of_sorted(
    values: Floats, count: NDArray[np.int64], average: Average, spread: Spread
) -> list[Floats]:
    """Average, low and high of each column."""
    # Scaled to at most 1, no sum or square overflows. A power of 2 changes no digit of a result,
    # unless values differ by a factor of more than 2**1000.
    exponent = np.frexp(np.fmax(-values[0], _quantile(values, count, 1)))[1]
    scaled = np.ldexp(values, -exponent)
    mean = _mean(scaled, count, 0 * count)
    if average == "median":
        middle = _quantile(values, count, 0.5)
    else:
        middle = np.ldexp(_mean(scaled, count, count // 4) if average == "iqm" else mean, exponent)
    if spread == "range":
        return [middle, values[0], _quantile(values, count, 1)]
    if spread == "quartiles":
        return [middle, _quantile(values, count, 0.25), _quantile(values, count, 0.75)]
    squares = np.nansum(np.square(scaled - mean), axis=0)
    distance = np.sqrt(squares / np.maximum(count - 1, 1))
    if spread != "deviation":
        distance /= np.where(count < MIN_VALUES, np.nan, np.sqrt(count))
    if spread == "interval":
        sizes, at = np.unique(count, return_inverse=True)
        distance *= np.array([t_quantile(max(size - 1, 1)) for size in sizes.tolist()])[at]
    ends = np.array([mean - distance, mean + distance])
    with np.errstate(over="ignore"):  # The mean plus the deviation may be beyond all floats.
        return [middle, *np.ldexp(ends, exponent)]


def _mean(values: Floats, count: NDArray[np.int64], cut: NDArray[np.int64]) -> Floats:
    """The mean without the `cut` lowest and highest values.

    It is limited to the range of the values, so that equal values have the deviation 0.
    """
    rank, columns = np.arange(len(values))[:, None], np.arange(len(count))
    total = np.sum(values, axis=0, where=(rank >= cut) & (rank < count - cut))
    mean: Floats = total / (count - 2 * cut)
    return np.clip(mean, values[cut, columns], values[count - cut - 1, columns])


def _quantile(values: Floats, count: NDArray[np.int64], q: float) -> Floats:
    """A quantile; numpy's `nanquantile` computes one column at a time."""
    position = q * (count - 1)
    below = position.astype(np.int64)
    columns, part = np.arange(len(count)), position - below
    upper = values[np.minimum(below + 1, count - 1), columns]
    return values[below, columns] * (1 - part) + upper * part


def t_p_value(t: float, freedom: float) -> float:
    """The probability of at least this distance from 0, in Student's t distribution.

    It is the regularised incomplete beta function of x = f / (f + t**2) at f / 2 and 1 / 2, here by
    its continued fraction (DLMF 8.17.22), on the side where that converges fast.
    """
    a, b, x = freedom / 2, 0.5, freedom / (freedom + t * t)
    if is_other_side := x > (a + 1) / (a + b + 2):
        a, b, x = b, a, t * t / (freedom + t * t)
    fraction = 1.0
    for m in range(30 + int(3 * math.sqrt(a + b)), 0, -1):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        fraction = 1 + even / (1 + odd / fraction)
    fraction = 1 - (a + b) * x / (a + 1) / fraction
    log_beta = math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
    share = math.exp(a * math.log(max(x, 1e-300)) + b * math.log1p(-x) - log_beta) / a / fraction
    return 1 - share if is_other_side else share


@cache
def t_quantile(freedom: int) -> float:
    """The distance from 0 that 95 % of Student's t distribution are within."""
    t = 0.0
    for step in (2.0**power for power in range(3, -50, -1)):
        t += step * (t_p_value(t + step, freedom) > 0.05)
    return t
