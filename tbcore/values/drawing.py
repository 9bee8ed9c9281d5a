"""Drawing: the rows of a series that draw the same picture as all rows.

Where a part of a line is no wider than a pixel, its first, last, lowest and highest row cover the
same pixels as all of its rows. Nothing is averaged: every row was logged.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.int64]

_BLOCK_ROWS = 128
"""Number of rows in a block, see `_candidates`."""


def drawn_rows(value: NDArray[Any], max_rows: int) -> Rows:
    """All rows, if there are at most so many; else the `outline_rows` of parts of equal length."""
    if len(value) <= max_rows:
        return np.arange(len(value))
    return outline_rows(value, np.arange(0, len(value), -(-len(value) // (max_rows // 5))))


def outline_rows(value: NDArray[Any], starts: Rows) -> Rows:
    """Ascending rows, at most five of each part of a line; parts begin at `starts`, the first at 0.

    They are its first and last row, the first with the lowest and with the highest finite value,
    and the first that is not finite, where the line has a gap.
    """
    # 1. Keep the first and the last row of each part, and its first non-finite one.
    # 2. For the search for extremes, replace non-finite values by values that are never extreme.
    # 3. Search the lowest and the highest row of each part among candidates.
    is_kept = np.zeros(len(value), np.bool_)
    is_kept[starts] = is_kept[np.append(starts[1:], len(value)) - 1] = True  # 1
    low = high = value
    is_finite = np.isfinite(value)
    if not is_finite.all():
        nonfinite = np.flatnonzero(~is_finite)
        parts = np.searchsorted(starts, nonfinite, "right")
        is_kept[nonfinite[np.unique(parts, return_index=True)[1]]] = True
        low, high = value.copy(), value.copy()  # 2
        low[nonfinite], high[nonfinite] = np.inf, -np.inf
    candidates = _candidates(low, high, starts)  # 3
    candidate_starts = np.searchsorted(candidates, starts)
    for values, extreme in ((low, np.minimum), (high, np.maximum)):
        found = _first_extremes(values[candidates], extreme, candidate_starts)
        is_kept[candidates[found]] = True
    return np.flatnonzero(is_kept)


def _candidates(low: NDArray[Any], high: NDArray[Any], starts: Rows) -> Rows:
    """Ascending rows that include `starts`, and each part's first lowest and first highest row.

    In a long series there are few of these candidates, so that an exact search over them is fast.
    """
    # 1. Without at least two blocks per part, all rows are candidates.
    # 2. Keep the lowest and the highest row of each block.
    # 3. Keep all rows of blocks in which a part begins, and of the incomplete last block.
    num_blocks = len(low) // _BLOCK_ROWS
    if num_blocks < 2 * len(starts):  # 1
        return np.arange(len(low), dtype=np.int64)
    in_blocks = num_blocks * _BLOCK_ROWS
    blocks = np.arange(0, in_blocks, _BLOCK_ROWS)
    is_candidate = np.zeros(len(low), np.bool_)
    is_candidate[blocks + low[:in_blocks].reshape(-1, _BLOCK_ROWS).argmin(axis=1)] = True  # 2
    is_candidate[blocks + high[:in_blocks].reshape(-1, _BLOCK_ROWS).argmax(axis=1)] = True
    split_blocks = starts[starts < in_blocks] // _BLOCK_ROWS  # 3
    is_candidate[:in_blocks].reshape(-1, _BLOCK_ROWS)[split_blocks] = True
    is_candidate[in_blocks:] = True
    return np.flatnonzero(is_candidate)


def _first_extremes(value: NDArray[Any], extreme: np.ufunc, starts: Rows) -> Rows:
    """The first index of each part's extreme value; parts begin at `starts`."""
    extremes = extreme.reduceat(value, starts)
    hits = np.flatnonzero(value == np.repeat(extremes, np.diff(starts, append=len(value))))
    return hits[np.searchsorted(hits, starts)]
