"""Compressed histograms: nine quantiles of each histogram.

These are the minimum, the maximum and the median, and on each side of the median the quantiles that
a normal distribution has at half, one and one and a half standard deviations from its mean. Samples
are assumed to be evenly distributed within their bucket.

    counts      1         3               2            for example
              +---+---------------+-----------+        quantile at 5000: half of 6 samples,
              |   |       *       |           |        so 2 of the 3 in the middle bucket
            min              value            max

A page shows hundreds of steps at once, so many histograms are compressed together, as the rows of a
table. Shorter histograms are padded with empty buckets, which never contain a quantile.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tbcore.values import HistogramValue

BASIS_POINTS = (0, 668, 1587, 3085, 5000, 6915, 8413, 9332, 10000)
"""Shares of a normal distribution, in hundredths of a percent, below its mean plus -inf, -1.5, -1,
-0.5, 0, 0.5, 1, 1.5 and inf standard deviations."""

_HUNDRED_PERCENT = 10000.0
"""100 percent in basis points."""
_MAX_TABLE_BUCKETS = 1 << 16
"""Maximum number of buckets in one table, so that temporary arrays fit in the CPU's cache.

A single histogram with more buckets still gets a table.
"""

Floats = NDArray[np.float64]


def compress(histograms: Sequence[HistogramValue]) -> Floats:
    """The values at BASIS_POINTS of each of n histograms, shape (n, 9).

    If the edges of a histogram ascend, so do its values, which lie between its minimum and maximum.
    All values are 0 if `num` is 0, and the maximum if all buckets are empty.
    """
    values = np.zeros((len(histograms), len(BASIS_POINTS)))
    width = max((len(histogram.bucket) for histogram in histograms), default=0)
    num_rows = max(_MAX_TABLE_BUCKETS // max(width, 1), 1)
    for start in range(0, len(histograms), num_rows):
        stop = start + num_rows
        values[start:stop] = _compress_table(histograms[start:stop])
    return values


def _compress_table(histograms: Sequence[HistogramValue]) -> Floats:
    """The values of at least one histogram, as in `compress`, computed in one table."""
    # 1. Copy counts and edges into tables with one more bucket than the longest histogram has. This
    #    last bucket stays empty: its index means that no bucket contains the quantile.
    # 2. Accumulate counts to shares, in basis points, at the right edge of each bucket.
    # 3. For each basis point, find the bucket that contains it in each histogram, and interpolate
    #    between the bucket's edges, which are limited to the histogram's minimum and maximum:
    #    writers use outer edges of up to 1.8e308.
    # 4. Where the edges are so far apart that their distance is infinite, interpolate by weights.
    width = 1 + max(len(histogram.bucket) for histogram in histograms)
    counts, edges = np.zeros((2, len(histograms), width))  # 1
    for row, histogram in enumerate(histograms):
        counts[row, : len(histogram.bucket)] = histogram.bucket
        edges[row, : len(histogram.bucket)] = histogram.bucket_limit
    # A HistogramValue begins with these three. They become columns, of shape (n, 1).
    minimum, maximum, num = np.array([h[:3] for h in histograms], np.float64).T[:, :, None]

    values = np.empty((len(histograms), len(BASIS_POINTS)))
    # A log can contain any numbers. The result is then not finite, but there is no warning.
    with np.errstate(all="ignore"):
        total = counts.sum(axis=1, keepdims=True)  # 2
        shares = np.cumsum(counts * _HUNDRED_PERCENT / np.where(total == 0, 1.0, total), axis=1)
        before = np.zeros_like(shares)
        before[:, 1:] = shares[:, :-1]
        for column, point in enumerate(BASIS_POINTS):  # 3
            bucket = np.minimum((shares <= point).sum(axis=1, keepdims=True), width - 1)

            def take(table: Floats, at: NDArray[np.int64] = bucket) -> Floats:
                """One element of each row of the table: row i at the index `at[i]`."""
                return np.take_along_axis(table, at, axis=1)

            left = np.where(
                take(before) != 0,
                np.maximum(take(edges, np.maximum(bucket - 1, 0)), minimum),
                minimum,
            )
            right = np.minimum(take(edges), maximum)
            # The share between the left edge and the quantile, and the share of the bucket.
            above_left, in_bucket = point - take(before), take(shares) - take(before)
            inside = left + above_left * (right - left) / in_bucket
            fraction = above_left / in_bucket  # 4
            weighted = left * (1 - fraction) + right * fraction
            inside = np.where(np.isfinite(inside), inside, weighted)
            values[:, [column]] = np.where(bucket < width - 1, inside, maximum)
    values[num[:, 0] == 0] = 0.0
    return values
