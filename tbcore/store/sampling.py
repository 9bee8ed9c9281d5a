"""Sampling: which rows a response contains if a series has more than were requested.

The rule: every ordinal has a fixed pseudo-random priority. A sample of k of n rows consists of the
last row, and the k - 1 rows with the lowest priorities among the n - 1 earlier rows. The sampled
rows are in the order of the series.

The rule keeps the promises of TensorBoard's HTTP API documents:

  "different tags will all sample at the same sequence of indices": the priority depends on the
      ordinal alone, so series of the same length have the same rows in their samples, in all runs.
  "all items are equally likely to be in the final sample": no two ordinals have the same priority,
      and priorities are as good as random, so any k - 1 rows are as likely as any other k - 1.
  "the most recent individual item is always included": the last row is in every sample.

The rule has three more properties. A smaller sample is a subset of a larger one, so a series can be
limited while it is read, and sampled again for a response. A new row takes the place of one sampled
row, and the other sampled rows stay, so a chart does not flicker while it grows. And a sample
depends on nothing but the ordinals: there is nothing to lock, and nothing to repair after rows were
dropped.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.int64]

_ROWS_HASHED_AT_ONCE = 1 << 15
"""Maximum number of rows that are hashed at once. Temporary arrays of this length fit into the
second-level cache."""
_MAX_CACHED_SAMPLES = 1 << 16
"""Maximum number of rows in a cached sample. A larger one takes longer to send than to compute."""


def sampled_rows(n: int, k: int) -> Rows:
    """A sample of k of n rows with the ordinals 0, 1, 2, ..., as ascending row indices.

    All rows if k is 0 or at least n. Read-only. Raises ValueError for a negative k.
    """
    if _keeps_all(n, k) or k > _MAX_CACHED_SAMPLES:
        return sampled_rows_of(np.arange(n, dtype=np.int64), k)
    return _cached_sample(n, k)


def sampled_rows_of(ordinals: NDArray[np.int64], k: int) -> Rows:
    """A sample of k rows of a series with these ascending ordinals, as ascending row indices.

    All rows if k is 0 or at least the number of rows. Read-only. Raises ValueError for a negative
    k.
    """
    n = len(ordinals)
    if _keeps_all(n, k):
        return _read_only(np.arange(n, dtype=np.int64))
    rows = _lowest(priorities(ordinals[: n - 1]), k - 1)
    return _with_last(rows, n)


def priorities(ordinals: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Priorities of these ordinals, all different: the outputs of splitmix64 with seed 0.

    Ordinal i has output i of the generator, counted from 0. Source: Steele, Lea, Flood, "Fast
    splittable pseudorandom number generators", 2014.
    """
    mixed = np.empty(len(ordinals), np.uint64)
    for start in range(0, len(ordinals), _ROWS_HASHED_AT_ONCE):
        z = mixed[start : start + _ROWS_HASHED_AT_ONCE]
        z[:] = ordinals[start : start + _ROWS_HASHED_AT_ONCE].view(np.uint64)
        # Without this, ordinal 0 would have priority 0, and row 0 would be in every sample.
        z += np.uint64(1)
        z *= np.uint64(0x9E3779B97F4A7C15)
        z ^= z >> np.uint64(30)
        z *= np.uint64(0xBF58476D1CE4E5B9)
        z ^= z >> np.uint64(27)
        z *= np.uint64(0x94D049BB133111EB)
        z ^= z >> np.uint64(31)
    return mixed


@lru_cache(maxsize=32)
def _cached_sample(n: int, k: int) -> Rows:
    """A sample of k of n rows with the ordinals 0, 1, 2, ...; 0 < k < n.

    Cached, since tags that are logged together have the same length, and a page requests all of
    them.
    """
    # Long lengths are rounded up by at most a quarter, so that many lengths share their candidates.
    unit = max(_ROWS_HASHED_AT_ONCE, 1 << n.bit_length() >> 3)
    rows, row_priorities = _candidates(-(-n // unit) * unit, k)
    num_before = int(np.searchsorted(rows, n - 1))
    return _with_last(rows[_lowest(row_priorities[:num_before], k - 1)], n)


@lru_cache(maxsize=16)
def _candidates(num_rows: int, k: int) -> tuple[Rows, NDArray[np.uint64]]:
    """The candidates among the first `num_rows` rows, ascending, and their priorities.

    Apart from the last row, a sample of k can only contain rows that have fewer than k - 1 rows
    with a lower priority before them. Rows that are added later do not change this. So with these
    rows, about k * log(n / k) of n, k rows of the first m can be sampled for each m up to n.
    """
    # Examine the rows in chunks. The size of a chunk is an eighth of the number of rows before it,
    # so that there are few chunks. For each chunk:
    # 1. Find the (k - 1)th lowest priority of the candidates so far.
    # 2. New candidates are the rows with a lower priority. Rows of one chunk are not compared with
    #    each other, so a few rows too many are kept; `_cached_sample` leaves them out.
    count = max(k - 1, 1)
    rows, known_priorities = np.empty(0, np.int64), np.empty(0, np.uint64)
    done = 0
    while done < num_rows:
        stop = min(num_rows, done + max(done >> 3, _ROWS_HASHED_AT_ONCE))
        new_rows = np.arange(done, stop, dtype=np.int64)
        new_priorities = priorities(new_rows)
        if len(known_priorities) >= count:
            bound = np.partition(known_priorities, count - 1)[count - 1]  # 1
            picked = np.flatnonzero(new_priorities < bound)  # 2
            new_rows, new_priorities = new_rows[picked], new_priorities[picked]
        rows = np.concatenate([rows, new_rows])
        known_priorities = np.concatenate([known_priorities, new_priorities])
        done = stop
    return rows, known_priorities


def _keeps_all(n: int, k: int) -> bool:
    """Whether a sample of k of n rows has all rows. Raises ValueError for a negative k."""
    if k < 0:
        raise ValueError(f"the number of samples is {k}, and must not be negative")
    return k == 0 or n <= k


def _lowest(numbers: NDArray[np.uint64], count: int) -> Rows:
    """Indices of the `count` lowest numbers, ascending."""
    if count < len(numbers):
        rows = np.argpartition(numbers, max(count - 1, 0))[:count]
        rows.sort()
        return rows
    return np.arange(len(numbers), dtype=np.int64)


def _with_last(rows: Rows, n: int) -> Rows:
    """These rows, followed by the last of n rows; read-only."""
    return _read_only(np.append(rows, np.int64(n - 1)))


def _read_only(rows: Rows) -> Rows:
    rows.flags.writeable = False
    return rows
