"""Comparisons: which groups of values cannot be told from the best one.

1. The best group has the lowest or the highest mean of its finite values, of the groups with at
   least three if there are any; others are left out. Groups whose means are equal, but for
   rounding errors, are all best.
2. Each other group is compared with it by a two-sided t-test: paired over the seeds that
   both have, if these are at least three and more than half of each group, and else Welch's, for
   unequal variances (Biometrika 34, 1947, pages 28 to 35). With fewer than three values in one of
   them, neither is possible. If several groups are best, the highest p counts.
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
_ROUNDING = 1e-13
"""A smaller difference, relative to the largest value, is a rounding error."""


def differences_from_best(
    groups: Sequence[Mapping[str, float]], goal: Literal["min", "max"]
) -> NDArray[np.float64]:
    """The corrected p value of each group's difference from the best: shape (num_groups,).

    A group maps seeds, or names of runs, to values. The best ones have 2. NaN with too few values.
    """
    finite = [{key: x for key, x in group.items() if math.isfinite(x)} for group in groups]
    least = MIN_VALUES if max(map(len, finite), default=0) >= MIN_VALUES else 1
    values = [np.array([*x.values()]) * (1 if goal == "min" else -1) for x in finite]
    # Halves of the means, so that no sum overflows.
    means = np.array([np.sum(x / 2 / len(x)) if len(x) >= least else np.inf for x in values])
    margin = np.array([_ROUNDING * np.max(np.abs(x), initial=0) for x in values])
    is_best = means - margin <= np.min(means + margin, initial=np.finfo(np.float64).max)
    # Many may have the same values, such as an accuracy of 1: these are compared once.
    best = {tuple(x.items()): x for x, is_one in zip(finite, is_best, strict=True) if is_one}
    p = np.array([max((_p_value(y, x) for y in best.values()), default=np.nan) for x in finite])
    p[is_best] = 2
    order = np.argsort(p, kind="stable")[: np.count_nonzero(p < 2)]
    corrected = np.maximum.accumulate(p[order] * np.arange(len(order), 0, -1))
    p[order] = np.minimum(corrected, 1)
    return p


def _p_value(a: Mapping[str, float], b: Mapping[str, float]) -> float:
    """The p value of the difference between two groups; NaN with too few values."""
    if min(len(a), len(b)) < MIN_VALUES:
        return math.nan
    pairs = [a[key] / 2 - b[key] / 2 for key in a if key in b]
    are_pairs = len(pairs) >= MIN_VALUES and 2 * len(pairs) > max(len(a), len(b))
    # Pairs are as Welch's test of their differences and zeros. Scaled, no square overflows.
    x, y = (pairs, [0.0] * len(pairs)) if are_pairs else ([*a.values()], [*b.values()])
    scale = max(map(abs, x + y)) or 1
    samples = [np.array(x) / scale, np.array(y) / scale]
    squares = np.array([np.var(sample, ddof=1) / len(sample) for sample in samples])
    means = [float(np.mean(sample)) for sample in samples]
    distance, error = abs(means[0] - means[1]), float(squares.sum())
    if error <= _ROUNDING**2:
        return float(distance <= _ROUNDING)
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
        t += step * (t_p_value(t + step, freedom) > MAX_P)
    return t
