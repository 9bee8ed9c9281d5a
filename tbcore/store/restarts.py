"""Restarts: which rows are orphaned because a training job went back to a checkpoint.

Rows that the job wrote after the checkpoint are orphaned once it writes these steps again. In event
files of version 2, a session log with status START marks each restart; `RunData` handles these.
Older files show a restart only by steps that go back: if a summary's step is below the most recent
step, the earlier rows of the summary's tags at that step and above are orphaned. This module finds
these rows for a whole batch at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tbcore.eventfiles.batch import BareEvent, Positions

_EVENT_GAP_BYTES = 17
"""Minimum distance between the last position in one event and the first position in the next one.
The framing of a record takes 16 bytes, and each value takes more bytes than the 1 that it adds to
the position."""


class SummaryRows(NamedTuple):
    """Rows of one column of summary values, in file order."""

    tag: str
    position: Positions
    step: NDArray[np.int64]


class OrphanedRows(NamedTuple):
    """The result of `find_orphaned_rows`: which rows in a batch, and before it, are orphaned."""

    limits: dict[str, int]
    """The lowest step at which each tag restarted, by tag. Rows from before the batch are orphaned
    at this step and above."""
    kept: list[NDArray[np.bool_] | None]
    """For each column, a mask that is true for the rows that are not orphaned; None keeps all rows
    of the column."""
    most_recent_step: int
    """The most recent step after the batch, with which the next batch is compared."""


def find_orphaned_rows(
    columns: Sequence[SummaryRows], bare_events: Sequence[BareEvent], most_recent_step: int
) -> OrphanedRows:
    """Finds the rows, in a batch and before it, that are orphaned because of its summaries.

    A summary whose step is below the most recent step is a restart of its tags, and leaves the most
    recent step as it is. Any other event sets the most recent step; only an event that is not a
    summary can lower it.
    """
    # 1. Bring all rows and events into file order, each with the most recent step before it.
    # 2. A row restarts its tag if its step is lower than that most recent step.
    # 3. Sort the rows by tag. The sort is stable, so the rows of a tag stay in file order.
    # 4. For each tag that restarts, find the rows that are orphaned because of a later restart.
    # 5. Split the result into one mask per column.
    events = _in_file_order(columns, bare_events)  # 1.
    step, num_rows = events.step, events.num_rows
    step_before, most_recent_step = _most_recent_steps(events, most_recent_step)
    # 2. A summary without rows has no tag to restart, and is not among the first `num_rows`.
    restarts = (step < step_before) & (events.order < num_rows)
    kept: list[NDArray[np.bool_] | None] = [None] * len(columns)
    limits: dict[str, int] = {}
    if not restarts.any():
        return OrphanedRows(limits, kept, most_recent_step)

    # 3.
    tag_numbers = {tag: number for number, tag in enumerate({column.tag for column in columns})}
    tag_of_row = np.full(len(step), -1, np.int64)
    lengths = [len(column.step) for column in columns]
    tag_of_row[:num_rows] = np.repeat([tag_numbers[column.tag] for column in columns], lengths)
    tag_of_row = tag_of_row[events.order]
    by_tag = np.argsort(tag_of_row, kind="stable")
    sorted_tags = tag_of_row[by_tag]
    # 4.
    is_kept = np.ones(num_rows, np.bool_)
    for tag in {columns[c].tag for c in _columns_of(events.order[restarts], lengths)}:
        number = tag_numbers[tag]
        start, stop = np.searchsorted(sorted_tags, (number, number + 1)).tolist()
        rows = by_tag[start:stop]
        is_kept[events.order[rows]] = _rows_kept(step[rows], restarts[rows], events.event[rows])
        limits[tag] = int(step[rows][restarts[rows]].min())
    # 5.
    start = 0
    for number, column in enumerate(columns):
        if column.tag in limits:
            kept[number] = is_kept[start : start + lengths[number]]
        start += lengths[number]
    return OrphanedRows(limits, kept, most_recent_step)


def position_array(position: Positions) -> NDArray[np.int64]:
    """Positions as an array."""
    if isinstance(position, range):
        return np.arange(position.start, position.stop, position.step, dtype=np.int64)
    return position


class _Events(NamedTuple):
    """The rows of all columns and the bare events, in file order. Arrays have the same length."""

    order: NDArray[np.int64]
    """Number of each row or bare event. Rows have the numbers from 0 to `num_rows - 1`, column by
    column, and bare events have the numbers after them."""
    num_rows: int
    """Number of rows in all columns."""
    step: NDArray[np.int64]
    event: NDArray[np.int64]
    """The number of the event that each row is in, ascending from 0."""
    is_summary: NDArray[np.bool_]
    """Whether the event is a summary."""


def _in_file_order(columns: Sequence[SummaryRows], bare_events: Sequence[BareEvent]) -> _Events:
    """Merges rows and bare events by their positions.

    Two neighbours are in the same event if their positions differ by less than _EVENT_GAP_BYTES.
    """
    # 1. Put the rows of all columns, and then the bare events, into one array for each field.
    # 2. Sort by position.
    # 3. Number the events: one more begins at each gap between neighbours.
    positions = [position_array(column.position) for column in columns]  # 1.
    steps = [np.asarray(column.step, np.int64) for column in columns]
    num_rows = sum(map(len, steps))
    position = np.concatenate([*positions, np.array([e.position for e in bare_events], np.int64)])
    step = np.concatenate([*steps, np.array([e.step for e in bare_events], np.int64)])
    is_summary = np.ones(len(step), np.bool_)
    is_summary[num_rows:] = [event.is_summary for event in bare_events]
    order = np.argsort(position, kind="stable")  # 2.
    event = np.zeros(len(step), np.int64)  # 3.
    np.cumsum(np.diff(position[order]) >= _EVENT_GAP_BYTES, out=event[1:])
    return _Events(order, num_rows, step[order], event, is_summary[order])


def _most_recent_steps(events: _Events, most_recent_step: int) -> tuple[NDArray[np.int64], int]:
    """The most recent step before each row, and the one after the last event.

    The array has an element for each bare event, too, which may be wrong and is not used.
    """
    # 1. Summaries never lower the most recent step. So without other events, it is a running
    #    maximum.
    # 2. Start the maximum again at each event that is not a summary and has a lower step.
    step = events.step
    highest = np.maximum.accumulate(np.concatenate([[np.int64(most_recent_step)], step]))  # 1.
    before = highest[:-1].copy()
    lowered = np.flatnonzero(~events.is_summary & (step < before)).tolist()
    for start, stop in pairwise([*lowered, len(step)]):  # 2.
        highest = np.maximum.accumulate(step[start:stop])
        before[start + 1 : stop] = highest[:-1]
    return before, int(highest[-1])


def _columns_of(rows: NDArray[np.int64], lengths: Sequence[int]) -> list[int]:
    """The distinct numbers of the columns that these rows belong to."""
    numbers = np.searchsorted(np.cumsum(lengths), rows, side="right")
    return list(np.unique(numbers).tolist())


def _rows_kept(
    step: NDArray[np.int64], restarts: NDArray[np.bool_], event: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """A mask of the rows of one tag that are not orphaned because of a later event.

    Values of the same event never make each other orphaned.
    """
    # 1. A row that restarts the tag sets a limit, which is its step. Other rows set none.
    # 2. For each row, find the lowest limit among this row and those after it.
    # 3. For each row, look up that limit at the first row of the next event.
    # 4. A row is orphaned if a restart follows, and its step is at that limit or above.
    limit = np.where(restarts, step, np.iinfo(np.int64).max)  # 1.
    lowest_from = np.minimum.accumulate(limit[::-1])[::-1]  # 2.
    next_event = np.searchsorted(event, event, side="right")  # 3.
    lowest_after = lowest_from[np.minimum(next_event, len(step) - 1)]
    is_followed = next_event <= np.flatnonzero(restarts)[-1]  # 4.
    is_orphaned: NDArray[np.bool_] = is_followed & (step >= lowest_after)
    return ~is_orphaned
