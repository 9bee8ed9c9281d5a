"""Smoothing: TensorBoard's debiased exponential moving average, vectorized.

    average[i] = weight * average[i - 1] + (1 - weight) * value[i]        average[-1] = 0
    smoothed[i] = average[i] / (1 - weight ** (i + 1))

Non-finite values do not count, and are returned unchanged. A constant series is returned unchanged.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

REFERENCE_POINTS = 1000
"""Number of points that TensorBoard shows. The user's weight is meant for series of this length."""
_TERMS_PER_ROW = 32
"""Number of terms in each row of the matrix in `_scan`."""
_CHUNK_VALUES = 1 << 15
"""Number of values that are smoothed at once, so that temporary arrays fit in the L2 cache."""


def smoothed(
    value: NDArray[Any], weight: float, starts: Sequence[int] | NDArray[np.int64] = (0,)
) -> NDArray[np.float64]:
    """The smoothed values as float64, of the same shape (n,); `weight` is from 0 to below 1.

    The values are in the order in which they are drawn. At each of the ascending indices `starts`,
    of which the first is 0, the training starts again, and so does smoothing.
    """
    weight = point_weight(weight, len(value))
    parts = np.split(value, np.asarray(starts[1:], np.int64))
    return np.concatenate([_smoothed(part, weight) for part in parts])


def _smoothed(value: NDArray[Any], weight: float) -> NDArray[np.float64]:
    """The smoothed values from one start of the training to the next."""
    # 1. Select the finite values.
    # 2. Process them in chunks. Each chunk continues with the last average of the chunk before.
    # 3. Divide by the sum of the weights so far, which is 1 - weight ** (i + 1).
    result = value.astype(np.float64)
    is_finite = np.isfinite(result)  # 1
    finite = result if is_finite.all() else result[is_finite]
    if weight == 0 or not len(finite) or (finite == finite[0]).all():
        return result
    average = np.empty(len(finite))
    powers = weight ** np.arange(1.0, min(len(finite), _CHUNK_VALUES) + 1)
    last = 0.0
    for start in range(0, len(finite), _CHUNK_VALUES):  # 2
        chunk = finite[start : start + _CHUNK_VALUES] * (1 - weight)
        chunk[0] += weight * last
        chunk = _scan(chunk, weight)
        last = chunk[-1]
        chunk /= 1 - weight**start * powers[: len(chunk)]  # 3
        average[start : start + len(chunk)] = chunk
    result[is_finite] = average
    return result


def point_weight(weight: float, num_points: int) -> float:
    """The weight per point for a series of `num_points`.

    In a series of more than REFERENCE_POINTS each point counts less, so that a weight smooths over
    the same share of the series. This matches TensorBoard, which smooths a random sample of 1,000
    points.

    Points are counted, whatever their distances in x. Smoothing by distance would smooth series of
    fewer than 1,000 points less than TensorBoard does, would give the same series different curves
    by step and by time, and would smooth too little or too much where the logging rate changes.
    """
    if num_points <= REFERENCE_POINTS:
        return weight
    return float(weight ** (REFERENCE_POINTS / num_points))


def _scan(term: NDArray[np.float64], factor: float) -> NDArray[np.float64]:
    """Solves the recurrence sum[i] = factor * sum[i - 1] + term[i]; returns shape (n,)."""
    # 1. Arrange the terms as rows of _TERMS_PER_ROW, padded with zeros.
    # 2. Multiply by a triangular matrix of powers, which solves the recurrence within each row.
    # 3. The recurrence over the ends of the rows is the same problem, _TERMS_PER_ROW times smaller.
    #    Solve it recursively, and add the result to the following row.
    num_rows = -(-len(term) // _TERMS_PER_ROW)  # 1
    rows = np.zeros((num_rows, _TERMS_PER_ROW))
    rows.reshape(-1)[: len(term)] = term
    distance = np.arange(_TERMS_PER_ROW) - np.arange(_TERMS_PER_ROW)[:, None]  # 2
    rows = rows @ np.where(distance >= 0, factor ** np.maximum(distance, 0.0), 0.0)
    if num_rows > 1:  # 3
        ends = _scan(rows[:-1, -1], factor**_TERMS_PER_ROW)
        rows[1:] += ends[:, None] * factor ** np.arange(1.0, _TERMS_PER_ROW + 1)
    return rows.reshape(-1)[: len(term)]
