"""Compressed histograms: the values below which certain shares of all samples lie.

The shares are those of a normal distribution at its mean and at half, one and one and a half
standard deviations around it. Inside a bucket the samples are taken to lie evenly.

    counts      1         3               2
              +---+---------------+-----------+        share of bp 5000: half of 6 samples,
              |   |       *       |           |        so 2 of the 3 in the middle bucket
            min              value            max

A page shows hundreds of steps at once, so many histograms are worked on together, as the rows of
a table. Shorter ones are filled up with empty buckets, in which no value ever lies.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tbcore.values import HistogramValue

BASIS_POINTS = (0, 668, 1587, 3085, 5000, 6915, 8413, 9332, 10000)
"""Hundredths of a percent: the normal distribution at -inf, -1.5, -1, -0.5, 0, 0.5, 1, 1.5, inf."""

_ALL = 10000.0
_TABLE_BUCKETS = 1 << 16
"""In one table at most, unless a single histogram has more: temporaries stay in the cache."""

Floats = NDArray[np.float64]


def compress(histograms: Sequence[HistogramValue]) -> Floats:
    """The values at BASIS_POINTS, shape (n, 9).

    They rise where the edges do, and lie between the histogram's least and greatest sample. All
    are 0 when it counts no samples, and its greatest one when it has no filled bucket.
    """
    values = np.zeros((len(histograms), len(BASIS_POINTS)))
    width = max((len(histogram.bucket) for histogram in histograms), default=0)
    step = max(_TABLE_BUCKETS // max(width, 1), 1)
    for start in range(0, len(histograms), step):
        part = histograms[start : start + step]
        values[start : start + step] = _compress_table(part)
    return values


def _compress_table(histograms: Sequence[HistogramValue]) -> Floats:
    # A bucket more than the longest has is always empty, and tells what lies behind all others.
    width = 1 + max(len(histogram.bucket) for histogram in histograms)
    counts, edges = np.zeros((2, len(histograms), width))
    for row, histogram in enumerate(histograms):
        counts[row, : len(histogram.bucket)] = histogram.bucket
        edges[row, : len(histogram.bucket)] = histogram.bucket_limit
    least, greatest, num = np.array([h[:3] for h in histograms], np.float64).T[:, :, None]

    values = np.empty((len(histograms), len(BASIS_POINTS)))
    # What a log holds can be anything; what comes out of it is then not finite.
    with np.errstate(all="ignore"):
        total = counts.sum(axis=1, keepdims=True)
        shares = np.cumsum(counts * _ALL / np.where(total == 0, 1.0, total), axis=1)
        before = np.zeros_like(shares)
        before[:, 1:] = shares[:, :-1]
        for column, point in enumerate(BASIS_POINTS):
            bucket = np.minimum((shares <= point).sum(axis=1, keepdims=True), width - 1)

            def of(table: Floats, at: NDArray[np.int64] = bucket) -> Floats:
                return np.take_along_axis(table, at, axis=1)

            # Outer edges can lie far beyond the samples: those of writers are up to 1.8e308.
            left = np.where(
                of(before) != 0, np.maximum(of(edges, np.maximum(bucket - 1, 0)), least), least
            )
            right = np.minimum(of(edges), greatest)
            above, part = point - of(before), of(shares) - of(before)
            inside = left + above * (right - left) / part
            # Edges can be so far apart that no double is their distance.
            by_shares = left * (1 - above / part) + right * (above / part)
            inside = np.where(np.isfinite(inside), inside, by_shares)
            values[:, [column]] = np.where(bucket < width - 1, inside, greatest)
    values[num[:, 0] == 0] = 0.0
    return values
