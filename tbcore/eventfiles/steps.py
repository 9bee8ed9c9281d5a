"""Steps of a column: a range if they ascend at equal distances, as most do, or else an array."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

PerRow = NDArray[np.int64]
"""One int64 for each row, such as its position or its ordinal."""
Steps = range | PerRow
"""The steps of a column: a range if they ascend at equal distances."""

_MAX_SHARED_STEPS = 1 << 12
"""Maximum number of rows of a table whose steps are looked up among those of other tables: the runs
of a sweep log at the same steps."""
_MAX_LISTED_STEPS = 64
"""Maximum number of steps that are compared as a list, which is faster than numpy for so few."""


def steps_of_columns(step: PerRow, bounds: tuple[int, ...]) -> Sequence[Steps]:
    """The steps of each column; the columns are slices of `step`. Equal ranges are one object."""
    if len(step) <= _MAX_SHARED_STEPS:
        return _shared_steps(step.tobytes(), bounds)
    return _steps(step, bounds)


def step_array(steps: Steps) -> PerRow:
    """The steps of a column as an array."""
    if isinstance(steps, range):
        # numpy divides by the step as floats, which is exact for this end, but not for steps.stop.
        return np.arange(steps.start, steps[-1] + steps.step, steps.step, dtype=np.int64)
    return steps


def last_row_until(steps: Steps, limit: int) -> int | None:
    """The last row whose step is at most `limit`; None if there is no such row."""
    if isinstance(steps, range):
        row = min((limit - steps.start) // steps.step, len(steps) - 1)
        return row if row >= 0 else None
    rows = np.flatnonzero(steps <= limit)
    return int(rows[-1]) if len(rows) else None


def even_steps(step: PerRow) -> Steps:
    """The steps of one column, at least one, as a range if possible."""
    first, last = int(step[0]), int(step[-1])
    by = int(step[1]) - first if len(step) > 1 else 1
    if not 1 <= by < 1 << 63 or first + by * (len(step) - 1) != last:
        return step
    steps = range(first, last + 1, by)
    if len(step) <= _MAX_LISTED_STEPS:
        return steps if step.tolist() == [*steps] else step
    return steps if (np.diff(step) == by).all() else step


def joined_steps(parts: Sequence[Steps]) -> Steps:
    """The steps of a column that consists of these parts."""
    first, *rest = parts
    if isinstance(first, range):
        start, end, by = first.start, first[-1], first.step if len(first) > 1 else 0
        for part in rest:
            if not isinstance(part, range):
                break
            by = by or part[0] - end
            is_even = part[0] - end == by and (len(part) == 1 or part.step == by)
            if not is_even or not 1 <= by < 1 << 63:
                break
            end = part[-1]
        else:
            return range(start, end + 1, by or 1)
    return np.concatenate([step_array(part) for part in parts])


def _steps(step: PerRow, bounds: tuple[int, ...]) -> Sequence[Steps]:
    """The steps of each column; the columns are slices of `step`. Equal ranges are one object."""
    steps = [even_steps(step[begin:end].copy()) for begin, end in pairwise(bounds)]
    shared: dict[range, range] = {}
    return tuple(shared.setdefault(x, x) if isinstance(x, range) else x for x in steps)


@lru_cache(maxsize=1 << 7)
def _shared_steps(step_bytes: bytes, bounds: tuple[int, ...]) -> Sequence[Steps]:
    """The steps of each column, given as the bytes of an int64 for each row."""
    return _steps(np.frombuffer(step_bytes, np.int64), bounds)
