"""Restarts: which rows are orphaned because a training job went back to a checkpoint.

Rows that the job wrote after the checkpoint are orphaned once it writes these steps again. Event
files of version 2 mark each restart by a START, which `RunData` applies. In older files only steps
that go back show a restart: a summary whose step is below the most recent one orphans the rows of
its own tags at that step and above. This module finds these rows for a whole batch at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tbcore.eventfiles.batch import BareEvent, Positions

_EVENT_GAP_BYTES = 17
"""From the last position in one event to the first in the next it is at least this far: the framing
of a record takes 16 bytes, and each value takes more than the 1 by which it raises the position."""


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
    """For each column, a mask of its rows that are not orphaned; None if it keeps all rows."""
    most_recent_step: int
    """The step to compare the next batch with."""


def find_orphaned_rows(
    columns: Sequence[SummaryRows], bare_events: Sequence[BareEvent], most_recent_step: int
) -> OrphanedRows:
    """Finds the rows that the summaries of a batch orphan, in the batch and before it.

    A summary whose step is below the most recent step orphans rows. Any other event sets the most
    recent step. An event that is not a summary may lower it.
    """
    # 1. Bring all rows and events into file order, each with the most recent step before it.
    # 2. A row restarts its tag if its step is lower than that one.
    # 3. Sort the rows by tag. The sort is stable, so the rows of a tag stay in file order.
    # 4. For each tag that restarts, find the rows that are orphaned by a later one.
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
    numbers = {tag: number for number, tag in enumerate({column.tag for column in columns})}
    tag_of_row = np.full(len(step), -1, np.int64)
    lengths = [len(column.step) for column in columns]
    tag_of_row[:num_rows] = np.repeat([numbers[column.tag] for column in columns], lengths)
    tag_of_row = tag_of_row[events.order]
    by_tag = np.argsort(tag_of_row, kind="stable")
    sorted_tags = tag_of_row[by_tag]
    # 4.
    is_kept = np.ones(num_rows, np.bool_)
    for tag in {columns[c].tag for c in _columns_of(events.order[restarts], lengths)}:
        start, stop = np.searchsorted(sorted_tags, (numbers[tag], numbers[tag] + 1)).tolist()
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
    """The rows of all columns and the bare events, in file order."""

    order: NDArray[np.int64]
    """Indexes into the rows of all columns, column by column, followed by the bare events."""
    num_rows: int
    """Number of rows; an index from here on is that of a bare event."""
    step: NDArray[np.int64]
    event: NDArray[np.int64]
    """Ascending numbers of events. Rows of the same event have the same number."""
    is_summary: NDArray[np.bool_]


def _in_file_order(columns: Sequence[SummaryRows], bare_events: Sequence[BareEvent]) -> _Events:
    """Merges rows and bare events by their positions.

    Two neighbours are of the same event if their positions differ by less than _EVENT_GAP_BYTES.
    """
    positions = [position_array(column.position) for column in columns]
    steps = [np.asarray(column.step, np.int64) for column in columns]
    num_rows = sum(map(len, steps))
    position = np.concatenate([*positions, np.array([e.position for e in bare_events], np.int64)])
    step = np.concatenate([*steps, np.array([e.step for e in bare_events], np.int64)])
    is_summary = np.ones(len(step), np.bool_)
    is_summary[num_rows:] = [event.is_summary for event in bare_events]
    order = np.argsort(position, kind="stable")
    event = np.zeros(len(step), np.int64)
    np.cumsum(np.diff(position[order]) >= _EVENT_GAP_BYTES, out=event[1:])
    return _Events(order, num_rows, step[order], event, is_summary[order])


def _most_recent_steps(events: _Events, most_recent_step: int) -> tuple[NDArray[np.int64], int]:
    """The most recent step before each row or event, and that after the last one."""
    # 1. Where only summaries occur, the most recent step never falls: it is a running maximum.
    # 2. Begin the maximum again at each event that is not a summary and has a lower step.
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
    """A mask of the rows of one tag that no later event orphans.

    An event orphans rows of earlier events only, never other values of its own.
    """
    # 1. The limit of a row is its step if it restarts the tag, otherwise there is none.
    # 2. For each row, take the lowest limit of the rows from it to the end.
    # 3. Look that up for the first row of the next event.
    # 4. A row is orphaned if its step reaches that limit, and a restart follows at all.
    limit = np.where(restarts, step, np.iinfo(np.int64).max)  # 1.
    lowest_from = np.minimum.accumulate(limit[::-1])[::-1]  # 2.
    next_event = np.searchsorted(event, event, side="right")  # 3.
    lowest_after = lowest_from[np.minimum(next_event, len(step) - 1)]
    is_followed = next_event <= np.flatnonzero(restarts)[-1]  # 4.
    is_orphaned: NDArray[np.bool_] = is_followed & (step >= lowest_after)
    return ~is_orphaned
