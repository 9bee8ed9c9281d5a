"""Smoothing: the debiased exponential moving average of TensorBoard, over whole columns.

    average[i] = weight * average[i - 1] + (1 - weight) * value[i]        average[-1] = 0
    smoothed[i] = average[i] / (1 - weight ** (i + 1))

Values that are not finite take no part and stay what they are, and a constant series stays itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

REFERENCE_POINTS = 1000
"""The weight is meant for a series of so many points, which is what TensorBoard shows."""
_BLOCK_ROWS = 32
_CHUNK_ROWS = 1 << 15
"""Smoothed at once: their temporaries stay in the second-level cache."""


def point_weight(weight: float, num_points: int) -> float:
    """The weight for each point of a series of `num_points`.

    Longer series have more points, so that each counts less: a weight smooths over the same share
    of the points, as in TensorBoard, which smooths a random sample of 1,000 of them.

    Points are counted, and distances in x are not. Distances would smooth series of fewer than
    1,000 points less than TensorBoard does, give one series other curves by step and by time, and
    hardly smooth, or flatten, a stretch in which was logged at another rate than elsewhere.
    """
    if num_points <= REFERENCE_POINTS:
        return weight
    return float(weight ** (REFERENCE_POINTS / num_points))


def smoothed(value: NDArray[Any], weight: float) -> NDArray[np.float64]:
    """Float64 of the shape (n,) of `value`; `weight` is at least 0 and less than 1."""
    result = value.astype(np.float64)
    is_finite = np.isfinite(result)
    finite = result if is_finite.all() else result[is_finite]
    if weight == 0 or not len(finite) or (finite == finite[0]).all():
        return result
    average = np.empty(len(finite))
    powers = weight ** np.arange(1.0, min(len(finite), _CHUNK_ROWS) + 1)
    last = 0.0
    for start in range(0, len(finite), _CHUNK_ROWS):
        chunk = finite[start : start + _CHUNK_ROWS] * (1 - weight)
        chunk[0] += weight * last
        chunk = _scan(chunk, weight)
        last = chunk[-1]
        chunk /= 1 - weight**start * powers[: len(chunk)]
        average[start : start + len(chunk)] = chunk
    result[is_finite] = average
    return result


def _scan(term: NDArray[np.float64], factor: float) -> NDArray[np.float64]:
    """sum[i] = factor * sum[i - 1] + term[i], in blocks.

    Inside a block that is a product with a small matrix; the sums at the ends of blocks are the
    same problem again, a block's length smaller.
    """
    num_blocks = -(-len(term) // _BLOCK_ROWS)
    blocks = np.zeros((num_blocks, _BLOCK_ROWS))
    blocks.reshape(-1)[: len(term)] = term
    distance = np.arange(_BLOCK_ROWS) - np.arange(_BLOCK_ROWS)[:, None]
    blocks = blocks @ np.where(distance >= 0, factor ** np.maximum(distance, 0.0), 0.0)
    if num_blocks > 1:
        ends = _scan(blocks[:-1, -1], factor**_BLOCK_ROWS)
        blocks[1:] += ends[:, None] * factor ** np.arange(1.0, _BLOCK_ROWS + 1)
    return blocks.reshape(-1)[: len(term)]
