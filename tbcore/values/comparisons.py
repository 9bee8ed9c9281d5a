"""Comparisons: which groups of values cannot be told from the best one.

1. The best group has the lowest or the highest mean of its finite values, of the groups with at
   least three if there are any; others are left out. Groups of an equal mean are best, too.
2. Each other group is compared with it by a two-sided t-test: paired over the seeds that
   both have, if these are at least three and more than half of each group, and else Welch's, for
   unequal variances (Biometrika 34, 1947, pages 28 to 35). With fewer than three values in one of
   them, neither is possible.
3. The p values are corrected for the number of comparisons by Holm (Scandinavian Journal of
   Statistics 6, 1979, pages 65 to 70).
4. From 0.05 on, a group cannot be told from the best.

tbcore/web/lib/comparisons.js is the same for the page; tests/comparisons.json has what both must
give.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

MAX_P = 0.05
"""With a smaller p value, two groups differ."""
MIN_VALUES = 3
"""Minimum number of finite values of a group that is compared."""


def differences_from_best(
    groups: Sequence[Mapping[str, float]], goal: Literal["min", "max"]
) -> NDArray[np.float64]:
    """The corrected p value of each group's difference from the best: shape (num_groups,).

    A group maps seeds, or names of runs, to values. The best ones have 2. NaN with too few values.
    """
    finite = [{key: x for key, x in group.items() if math.isfinite(x)} for group in groups]
    least = MIN_VALUES if max(map(len, finite), default=0) >= MIN_VALUES else 1
    sign = 1 if goal == "min" else -1
    means = [sign * math.fsum(x.values()) / len(x) if len(x) >= least else math.inf for x in finite]
    lowest = min(means, default=math.inf)
    p = np.array([_p_value(finite[means.index(lowest)], each) for each in finite], np.float64)
    is_best = np.array([mean == lowest < math.inf for mean in means], np.bool_)
    p[is_best] = np.nan
    order = np.argsort(p, kind="stable")[: np.count_nonzero(~np.isnan(p))]
    corrected = np.maximum.accumulate(p[order] * np.arange(len(order), 0, -1))
    p[order] = np.minimum(corrected, 1)
    p[is_best] = 2
    return p


def _p_value(a: Mapping[str, float], b: Mapping[str, float]) -> float:
    """The p value of the difference between two groups; NaN with too few values."""
    if min(len(a), len(b)) < MIN_VALUES:
        return math.nan
    pairs = [a[key] - b[key] for key in a if key in b]
    are_pairs = len(pairs) >= MIN_VALUES and 2 * len(pairs) > max(len(a), len(b))
    samples = [pairs] if are_pairs else [[*a.values()], [*b.values()]]
    squares = np.array([np.var(sample, ddof=1) / len(sample) for sample in samples])
    means = [float(np.mean(sample)) for sample in samples]
    distance, error = abs(means[0] - sum(means[1:])), float(squares.sum())
    if error == 0:
        return float(distance == 0)
    freedoms = np.array([len(sample) - 1 for sample in samples])
    return t_p_value(distance / math.sqrt(error), error**2 / float((squares**2 / freedoms).sum()))


def t_p_value(t: float, freedom: float) -> float:
    """The probability of at least this distance from 0, in Student's t distribution.

    It is the regularised incomplete beta function of x = f / (f + t**2) at f / 2 and 1 / 2, here by
    its continued fraction (DLMF 8.17.22), on the side where that converges fast.
    """
    a, b, x = freedom / 2, 0.5, freedom / (freedom + t * t)
    if is_other_side := x > (a + 1) / (a + b + 2):
        a, b, x = b, a, t * t / (freedom + t * t)
    if x == 0:
        return float(is_other_side)
    fraction = 1.0
    for m in range(30 + int(3 * math.sqrt(a + b)), 0, -1):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        fraction = 1 + even / (1 + odd / fraction)
    fraction = 1 - (a + b) * x / (a + 1) / fraction
    log_beta = math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
    share = math.exp(a * math.log(x) + b * math.log1p(-x) - log_beta) / a / fraction
    return 1 - share if is_other_side else share


@cache
def t_quantile(freedom: int) -> float:
    """The distance from 0 that 95 % of Student's t distribution are within."""
    low, high = 1.9, 13.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if t_p_value(middle, freedom) > MAX_P else (low, middle)
    return (low + high) / 2
