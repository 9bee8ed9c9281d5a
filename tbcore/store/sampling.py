"""Sampling: which rows of a series are shown when it has more than were asked for.

The rule: every ordinal has a fixed pseudo-random priority. Of n rows the last one is kept, and of
the others the k - 1 with the lowest priorities, in order.

What the HTTP API documents promise follows from it:

  "different tags will all sample at the same sequence of indices": the priority depends on the
      ordinal alone, so series of the same length have the same sampled_rows, in all runs, for ever.
  "all items are equally likely to be in the final sample": priorities of different ordinals are
      different and as good as random, so that each subset of k - 1 is as likely as any other.
  "the most recent individual item is always included": it is kept first.

And more than they ask. Fewer samples are a subset of more samples, so bounds can be applied one
after the other and in any order: to the series while it is read, then to the answer. One more row
changes the sample only if its priority is among the lowest, so a chart does not flicker. And there
is no state: nothing to lock, and nothing to repair after rows were dropped.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.int64]

_BLOCK_ROWS = 1 << 15
"""Hashed at once: their temporaries stay in the second-level cache."""
_MAX_CACHED_SAMPLES = 1 << 16
"""Greater samples are worked out anew each time; sending them costs more."""
_MAX_CACHED_SIZES = 16


def sampled_rows(n: int, k: int) -> Rows:
    """Which of n rows with ordinals 0, 1, 2, ... to keep when k are wanted, rising; read-only.

    All of them when k is 0 or not below n. Raises ValueError for a negative k.
    """
    if _keeps_all(n, k):
        return _read_only(np.arange(n, dtype=np.int64))
    if k > _MAX_CACHED_SAMPLES:
        return _IMPLIED.sampled_rows(n, k, _implied)
    return _cached_sample(n, k)


def sampled_rows_of(ordinals: NDArray[np.int64], k: int) -> Rows:
    """Which places of an array of rising ordinals to keep when k are wanted, rising; read-only."""
    n = len(ordinals)
    if _keeps_all(n, k):
        return _read_only(np.arange(n, dtype=np.int64))
    rows = _lowest(priorities(ordinals[: n - 1]), k - 1)
    return _with_last(rows, n)


def priorities(ordinals: NDArray[np.int64]) -> NDArray[np.uint64]:
    """The numbers that splitmix64 with seed 0 gives out at these places; no two are equal.

    Source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014.
    """
    mixed = np.empty(len(ordinals), np.uint64)
    for start in range(0, len(ordinals), _BLOCK_ROWS):
        z = mixed[start : start + _BLOCK_ROWS]
        z[:] = ordinals[start : start + _BLOCK_ROWS].view(np.uint64)
        # Without this 0 would be mixed to 0, and the first row would always be kept.
        z += np.uint64(1)
        z *= np.uint64(0x9E3779B97F4A7C15)
        z ^= z >> np.uint64(30)
        z *= np.uint64(0xBF58476D1CE4E5B9)
        z ^= z >> np.uint64(27)
        z *= np.uint64(0x94D049BB133111EB)
        z ^= z >> np.uint64(31)
    return mixed


class _Candidates(NamedTuple):
    """The rows of a series that are in its sample of k at any of its lengths up to `num_rows`."""

    num_rows: int
    rows: Rows
    priorities: NDArray[np.uint64]


_NO_CANDIDATES = _Candidates(0, np.empty(0, np.int64), np.empty(0, np.uint64))


class Sampler:
    """Samples of rows that are only ever added to, without looking at all of them each time.

    A row is in a sample only if fewer than k - 1 of the rows before it have a lower priority. That
    can be said when the row arrives, and holds for every length from then on. There are about
    k * log(n / k) such rows, and they serve all lengths up to n.

    Any thread may ask. Two that ask at once may do the same work twice, never harm.
    """

    __slots__ = ("_candidates",)

    def __init__(self) -> None:
        self._candidates: dict[int, _Candidates] = {}

    def sampled_rows(self, n: int, k: int, ordinals_of: Callable[[int, int], Rows]) -> Rows:
        """Which of the first n rows to keep, rising; read-only.

        `ordinals_of(start, stop)` gives the ordinals of the rows from start to before stop, and
        gives the same ones whenever it is asked.
        """
        if _keeps_all(n, k):
            return _read_only(np.arange(n, dtype=np.int64))
        if k == 1 or k > _MAX_CACHED_SAMPLES:
            return _with_last(_lowest(priorities(ordinals_of(0, n - 1)), k - 1), n)
        candidates = self._candidates.get(k, _NO_CANDIDATES)
        if candidates.num_rows < n - 1:
            candidates = _extended(candidates, n - 1, k, ordinals_of)
            if len(self._candidates) >= _MAX_CACHED_SIZES:
                self._candidates = {}
            self._candidates[k] = candidates
        num_before = int(np.searchsorted(candidates.rows, n - 1))
        picked = _lowest(candidates.priorities[:num_before], k - 1)
        return _with_last(candidates.rows[picked], n)


def _extended(
    candidates: _Candidates, num_rows: int, k: int, ordinals_of: Callable[[int, int], Rows]
) -> _Candidates:
    done, found = candidates.num_rows, [candidates]
    while done < num_rows:
        # The bound that new rows must be below is select_rows anew as the series grows by an eighth.
        known = np.concatenate([part.priorities for part in found])
        stop = min(num_rows, done + max(done >> 3, _BLOCK_ROWS))
        numbers = priorities(ordinals_of(done, stop))
        if len(known) >= k - 1:
            rows = np.flatnonzero(numbers < np.partition(known, k - 2)[k - 2])
        else:
            rows = np.arange(stop - done)
        found.append(_Candidates(stop, rows + done, numbers[rows]))
        done = stop
    return _Candidates(
        done,
        np.concatenate([part.rows for part in found]),
        np.concatenate([part.priorities for part in found]),
    )


def _implied(start: int, stop: int) -> Rows:
    return np.arange(start, stop, dtype=np.int64)


_IMPLIED = Sampler()
"""Serves all series whose ordinals are 0, 1, 2, ...: it holds what follows from the rule, and
nothing about any series."""


@lru_cache(maxsize=32)
def _cached_sample(n: int, k: int) -> Rows:
    # Tags that are written in step have the same length, and a page asks for all of them.
    return _IMPLIED.sampled_rows(n, k, _implied)


def _keeps_all(n: int, k: int) -> bool:
    if k < 0:
        raise ValueError(f"the number of samples is {k}, and must not be negative")
    return k == 0 or n <= k


def _lowest(numbers: NDArray[np.uint64], count: int) -> Rows:
    """Indices of the `count` lowest numbers, rising."""
    if count < len(numbers):
        rows = np.argpartition(numbers, max(count - 1, 0))[:count]
        rows.sort()
        return rows
    return np.arange(len(numbers), dtype=np.int64)


def _with_last(rows: Rows, n: int) -> Rows:
    return _read_only(np.append(rows, np.int64(n - 1)))


def _read_only(rows: Rows) -> Rows:
    rows.flags.writeable = False
    return rows
