"""Compressed histograms: the values below which certain shares of all samples lie.

The shares are those of a normal distribution at its mean and at half, one and one and a half
standard deviations around it. Inside a bucket the samples are taken to lie evenly.

    counts      1         3               2
              +---+---------------+-----------+        share of bp 5000: half of 6 samples,
              |   |       *       |           |        so 2 of the 3 in the middle bucket
            min              value            max
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tbcore.values import HistogramValue

BASIS_POINTS = (0, 668, 1587, 3085, 5000, 6915, 8413, 9332, 10000)
"""Hundredths of a percent: the normal distribution at -inf, -1.5, -1, -0.5, 0, 0.5, 1, 1.5, inf."""
_BASIS_POINTS = np.array(BASIS_POINTS, np.float64)
_ALL = 10000.0


def compress(histogram: HistogramValue) -> NDArray[np.float64]:
    """The values at BASIS_POINTS, shape (9,).

    They rise where the edges do, and lie between the histogram's least and greatest sample. All
    are 0 when it counts no samples, and its greatest one when it has no filled bucket.
    """
    if histogram.num == 0:
        return np.zeros(len(BASIS_POINTS))
    counts = np.array(histogram.bucket, np.float64)
    edges = np.array(histogram.bucket_limit, np.float64)
    # What a log holds can be anything; what comes out of it is then not finite.
    with np.errstate(all="ignore"):
        shares = np.cumsum(counts * _ALL / (counts.sum() or 1.0))
        before = np.concatenate([[0.0], shares])[: len(shares)]
        # Outer edges can lie far beyond the samples: the first one of writers is -1.8e308.
        left = np.where(before != 0, np.maximum(np.roll(edges, 1), histogram.min), histogram.min)
        right = np.minimum(edges, histogram.max)
        is_filled = shares != before
        shares, before, left, right = (
            column[is_filled] for column in (shares, before, left, right)
        )
        bucket = np.searchsorted(shares, _BASIS_POINTS, side="right")
        values = np.full(len(BASIS_POINTS), histogram.max, np.float64)
        inside = bucket < len(shares)
        at = bucket[inside]
        part = (_BASIS_POINTS[inside] - before[at]) * (right[at] - left[at])
        values[inside] = left[at] + part / (shares[at] - before[at])
    return values
