"""Smoothing: three kinds of moving averages of a series, vectorized.

`exponential` is TensorBoard's debiased average, which follows the values with a lag:

    average[i] = weight * average[i - 1] + (1 - weight) * value[i]        average[-1] = 0
    smoothed[i] = average[i] / (1 - weight ** (i + 1))

A value depends on those before it alone, and on their order, not on their distances in x: it stays
as it is while the series grows, is the same by step and by time, and two series are smoothed alike.

The other two are centred, so they have no lag. `window` is the mean of the values up to half =
weight / (1 - weight) points away, which is the lag of the exponential average. If half is not an
integer, the outermost two values count in part. At the ends there are fewer values.

`gaussian` is the mean of a window four times in a row, which is nearly a Gaussian. These windows
are narrower, so that a value is spread as far as by `window`.

Non-finite values do not count, and are returned unchanged. A constant series is returned unchanged.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

SmoothingKind = Literal["exponential", "window", "gaussian"]

_TERMS_PER_ROW = 32
"""Number of terms in each row of the matrix in `_scan`."""
_CHUNK_VALUES = 1 << 15
"""Number of values that are smoothed at once, so that temporary arrays fit in the L2 cache."""


def smoothed(
    value: NDArray[Any],
    weight: float,
    starts: Sequence[int] | NDArray[np.int64] = (0,),
    kind: SmoothingKind = "exponential",
) -> NDArray[np.float64]:
    """The smoothed values as float64, of the same shape (n,); `weight` is from 0 to below 1.

    The values are in the order in which they are drawn. Smoothing starts again at each of the
    indices `starts`, where the training restarted; they ascend, and the first is 0. Raises
    ValueError if `kind` is not a SmoothingKind.
    """
    if kind not in get_args(SmoothingKind):
        raise ValueError(f"kind must be one of {', '.join(get_args(SmoothingKind))}, got {kind!r}")
    parts = np.split(value, np.asarray(starts[1:], np.int64))
    return np.concatenate([_smoothed(part, weight, kind) for part in parts])


def _smoothed(value: NDArray[Any], weight: float, kind: SmoothingKind) -> NDArray[np.float64]:
    """The smoothed values from one start of the training to the next."""
    result = value.astype(np.float64)
    is_finite = np.isfinite(result)
    finite = result if is_finite.all() else result[is_finite]
    if weight == 0 or not len(finite) or (finite == finite[0]).all():
        return result
    half = weight / (1 - weight)
    if kind == "exponential":
        average = _exponential_average(finite, weight)
    elif kind == "window":
        average = _window_mean(finite, half)
    else:
        # The variance of a window is half * (half + 1) / 3, and variances add up.
        average, quarter = finite, (math.sqrt(1 + half * (half + 1)) - 1) / 2
        for _ in range(4):
            average = _window_mean(average, quarter)
    result[is_finite] = average
    return result


def _window_mean(value: NDArray[np.float64], half: float) -> NDArray[np.float64]:
    """The means of the values up to `half` points away; `value` has at least one."""
    half = min(half, len(value) - 1)
    whole = int(half)
    part = half - whole
    sums, counts = _window_sums(value, whole)
    if part > 0:
        wider_sums, wider_counts = _window_sums(value, whole + 1)
        sums = (1 - part) * sums + part * wider_sums
        counts = (1 - part) * counts + part * wider_counts
    return sums / counts


def _window_sums(
    value: NDArray[np.float64], half: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The sum and the number of the values up to `half` points away, each of shape (n,)."""
    # Differences of one cumulative sum would lose all digits of the values after a huge one, so:
    # 1. Pad the values, and divide them into blocks of the length of a window.
    # 2. Sum up each block from its start, and from its end. A block's first value needs no sum from
    #    the end: a window that starts there ends with the block.
    # 3. A window is the end of a block and the start of the next.
    length = 2 * half + 1
    padded = np.zeros(-(-(len(value) + 2 * half) // length) * length)  # 1
    padded[half : half + len(value)] = value
    blocks = padded.reshape(-1, length)
    from_start = blocks.cumsum(axis=1).reshape(-1)  # 2
    from_end = blocks[:, ::-1].cumsum(axis=1)[:, ::-1]
    from_end[:, 0] = 0
    index = np.arange(len(value))
    sums = from_end.reshape(-1)[: len(value)] + from_start[2 * half : 2 * half + len(value)]  # 3
    counts = np.minimum(index, half) + np.minimum(index[::-1], half) + 1.0
    return sums, counts


def _exponential_average(finite: NDArray[np.float64], weight: float) -> NDArray[np.float64]:
    # 1. Process the values in chunks. Each chunk continues with the last average of the one before.
    # 2. Divide by the sum of the weights so far, which is 1 - weight ** (i + 1).
    average = np.empty(len(finite))
    powers = weight ** np.arange(1.0, min(len(finite), _CHUNK_VALUES) + 1)
    last = 0.0
    for start in range(0, len(finite), _CHUNK_VALUES):  # 1
        chunk = finite[start : start + _CHUNK_VALUES] * (1 - weight)
        chunk[0] += weight * last
        chunk = _scan(chunk, weight)
        last = chunk[-1]
        chunk /= 1 - weight**start * powers[: len(chunk)]  # 2
        average[start : start + len(chunk)] = chunk
    return average


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
