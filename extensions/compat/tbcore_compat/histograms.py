"""Conversions of histograms, with the results of tbparse's `SummaryReader`.

A histogram is two arrays of the same length. `limits` has the edges of its buckets, ascending.
`counts` has a zero, followed by the number of samples in each bucket.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


def tensor_to_histogram(tensor: ArrayLike) -> dict[str, Any]:
    """The histogram in a tensor, whose rows are left edge, right edge and count.

    It has `counts`, `limits`, `min`, `max` and `num`. The sums are unknown, so they are NaN.
    """
    left, right, count = np.array(tensor, np.float64).T
    limits = np.concatenate([left[:1], right])
    return {
        "limits": limits,
        "counts": np.concatenate([[0.0], count]),
        "min": limits[0],
        "max": limits[-1],
        "num": count.sum(),
        "sum": np.nan,
        "sum_squares": np.nan,
    }


def histogram_to_cdf(counts: ArrayLike, limits: ArrayLike, x: ArrayLike) -> Floats:
    """The share of the samples below each x."""
    below, edges = np.cumsum(np.asarray(counts, np.float64)), np.asarray(limits, np.float64)
    at = np.clip(np.asarray(x, np.float64), edges[0], edges[-1])
    right = np.clip(np.searchsorted(edges, at), 1, len(edges) - 1)
    from_left, to_right = at - edges[right - 1], edges[right] - at
    num_below = below[right - 1] * to_right + below[right] * from_left
    share: Floats = num_below / (from_left + to_right) / below[-1]
    return share


def histogram_to_pdf(counts: ArrayLike, limits: ArrayLike, x: ArrayLike) -> tuple[Floats, Floats]:
    """The centres between consecutive x, and the probability density between them."""
    edges = np.asarray(x, np.float64)
    share = np.diff(histogram_to_cdf(counts, limits, edges))
    return (edges[1:] + edges[:-1]) / 2, share / np.diff(edges)


def histogram_to_bins(
    counts: ArrayLike,
    limits: ArrayLike,
    lower_bound: float | None = None,
    upper_bound: float | None = None,
    n_bins: int = 30,
) -> tuple[list[float], list[float]]:
    """The centres of bins of equal width, and the number of samples in each of them.

    The bins are between the bounds, by default the first and the last limit. Samples are assumed to
    be evenly distributed within the part of their bucket that is between the bounds.
    """
    count, edges = np.asarray(counts, np.float64)[1:], np.asarray(limits, np.float64)
    lower = float(edges[0] if lower_bound is None else lower_bound)
    upper = float(edges[-1] if upper_bound is None else upper_bound)
    if lower == upper:
        lower, upper = lower / 1.1 - 1, upper * 1.1 + 1
    bins = np.linspace(lower, upper, n_bins + 1)
    left, right = np.maximum(edges[:-1], lower), np.minimum(edges[1:], upper)
    overlap = np.minimum(right, bins[1:, None]) - np.maximum(left, bins[:-1, None])
    width = right - left
    share = np.clip(overlap, 0, None) / np.where(width > 0, width, np.inf)
    # A bucket of width 0 counts for the bin that contains its edge.
    points = np.flatnonzero((np.diff(edges) == 0) & (width == 0))
    own = np.clip(np.searchsorted(bins, left[points], "right") - 1, 0, n_bins - 1)
    share[own, points] = 1.0
    return ((bins[1:] + bins[:-1]) / 2).tolist(), (share @ count).tolist()
