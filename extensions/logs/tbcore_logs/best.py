"""Best: which groups of values cannot be told from the best one, and what stands beside them.

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
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tbcore.engine import group_text
from tbcore.values import MIN_VALUES, t_p_value
from tbcore_logs.groups import NUMBER, SEED, Groups

MAX_P = 0.05
"""With a smaller p value, two groups differ."""
_ROUNDING = 1e-13
"""A smaller difference, relative to the largest value, is a rounding error."""
_REPETITION = re.compile(
    r"(?:^|[^a-z])(?:seeds?|random_state|repeat|replicate|repetition|trial|fold)"
    r"(?:[^a-z]*|[^a-z]+(?:id|number|index))\Z"
)
"""Names of hyperparameters that number the repetitions of a training."""


def marks_of_best(
    groups: Groups,
    runs: Sequence[str],
    values: Sequence[float | None],
    hparams: Callable[[str], Mapping[str, Any]],
    *,
    goal: Literal["min", "max"] | None,
    is_lowest: bool,
) -> list[str]:
    """What stands beside the mean of each group: `best`, `≈ best` if it cannot be told from that,
    `n too small`, both of the best of groups that all have too few values, or "".

    `goal` says which mean is the best; without one, the first is called `lowest` or `highest`. None
    stands for a run whose value is in no mean. `hparams` returns the hyperparameters of a run.
    See `differences_from_best` for the rule.
    """
    members: list[dict[str, float]] = [{} for _ in groups.names]
    for run, code, value in zip(runs, groups.of_run.tolist(), values, strict=True):
        if value is not None and np.isfinite(value):
            members[code][run] = value
    if sum(map(bool, members)) < 2:
        return [""] * len(members)
    keyed = _by_seeds(members, {run: hparams(run) for own in members for run in own})
    p = differences_from_best(keyed, goal or ("min" if is_lowest else "max"))
    best = "best" if goal else "lowest" if is_lowest else "highest"
    is_known = max(map(len, members)) >= MIN_VALUES
    return [
        (best if is_known else f"{best}, n too small") if x > 1
        else f"≈ {best}" if x >= MAX_P
        else "n too small" if np.isnan(x) and own
        else ""
        for x, own in zip(p.tolist(), members, strict=True)
    ]  # fmt: skip


def _by_seeds(
    members: Sequence[Mapping[str, float]], hparams: Mapping[str, Mapping[str, Any]]
) -> Sequence[Mapping[str, float]]:
    """The values of groups by the first hyperparameter for repetitions that differs between all
    runs of each group, and of which two groups have a value in common; else by names of runs."""
    for name in sorted({name for own in hparams.values() for name in own}):
        if not _REPETITION.search(re.sub("([a-z])([A-Z])", r"\1_\2", name).lower()):
            continue
        keyed = [
            {
                group_text(hparams[run][name]): value
                for run, value in values.items()
                if hparams[run].get(name) is not None
            }
            for values in members
        ]
        is_whole = list(map(len, keyed)) == list(map(len, members))
        if is_whole and len({seed for own in keyed for seed in own}) < sum(map(len, keyed)):
            return keyed
    return list(map(_by_seed, members))


def _by_seed(values: Mapping[str, float]) -> Mapping[str, float]:
    """The values by the seeds in the names of runs, else by numbers at the ends of path segments;
    by the names if two runs have the same."""
    for part in (SEED, NUMBER):
        seeds = {
            "/".join(
                re.sub("[^a-z0-9]", "", found[0].lower())
                for segment in run.split("/")
                for found in part.finditer(segment)
            ): value
            for run, value in values.items()
        }
        if len(seeds) == len(values) and "" not in seeds:
            return seeds
    return values


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
