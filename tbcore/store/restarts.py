"""OrphanedRows: rows that a job wrote behind the checkpoint from which it later went on.

Files of version 2 say where a job went on, and `RunData` drops what lies behind. In older files
only the steps tell: a summary whose step is below the most recent one orphans the rows of its own
tags at that step and above. This module finds them among the rows of a batch, all at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tbcore.eventfiles.batch import BareEvent, Positions

_EVENT_GAP = 17
"""Positions in two events are at least this far apart: framing alone takes 16 bytes, and a value
takes more bytes than the one place by which it raises the position."""


class SummaryRows(NamedTuple):
    """Rows of one column of summary values, in file order."""

    tag: str
    position: Positions
    step: NDArray[np.int64]


class OrphanedRows(NamedTuple):
    """What steps that go back have orphaned."""

    limits: dict[str, int]
    """Tag to the step from which on its rows from before the batch are dropped."""
    kept: list[NDArray[np.bool_] | None]
    """For each column, which of its rows stay; None for all."""
    most_recent_step: int
    """What the steps of the next batch are compared with."""


def find_orphaned_rows(
    columns: Sequence[SummaryRows], bare_events: Sequence[BareEvent], most_recent_step: int
) -> OrphanedRows:
    """OrphanedRows among the rows of a batch, and of the rows before it.

    A summary with a step below the most recent one orphans. Every other event sets the most
    recent step, and one that is no summary may lower it.
    """
    events = _in_file_order(columns, bare_events)
    step, num_rows = events.step, events.num_rows
    before, most_recent_step = _most_recent_steps(events, most_recent_step)
    # A summary without rows, which is_row leaves out, has no tag to orphan anything in.
    is_back = (step < before) & (events.order < num_rows)
    kept: list[NDArray[np.bool_] | None] = [None] * len(columns)
    limits: dict[str, int] = {}
    if not is_back.any():
        return OrphanedRows(limits, kept, most_recent_step)

    # From here on rows have the same tag or do not matter to each other. Sorting by tag is stable,
    # so that inside a tag they stay in file order.
    numbers = {tag: number for number, tag in enumerate({column.tag for column in columns})}
    tag_of_row = np.full(len(step), -1, np.int64)
    lengths = [len(column.step) for column in columns]
    tag_of_row[:num_rows] = np.repeat([numbers[column.tag] for column in columns], lengths)
    tag_of_row = tag_of_row[events.order]
    by_tag = np.argsort(tag_of_row, kind="stable")
    sorted_tags = tag_of_row[by_tag]
    is_kept = np.ones(num_rows, np.bool_)
    for tag in {columns[c].tag for c in _columns_of(events.order[is_back], lengths)}:
        first, behind = np.searchsorted(sorted_tags, (numbers[tag], numbers[tag] + 1)).tolist()
        rows = by_tag[first:behind]
        is_kept[events.order[rows]] = _rows_kept(step[rows], is_back[rows], events.event[rows])
        limits[tag] = int(step[rows][is_back[rows]].min())
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
    """Rows of all columns, then the bare events, brought into file order."""

    order: NDArray[np.int64]
    """Places in that enumeration; below `num_rows` for rows."""
    num_rows: int
    step: NDArray[np.int64]
    event: NDArray[np.int64]
    """A number that is the same for the rows of one event, rising."""
    is_summary: NDArray[np.bool_]


def _in_file_order(columns: Sequence[SummaryRows], bare_events: Sequence[BareEvent]) -> _Events:
    positions = [position_array(column.position) for column in columns]
    steps = [np.asarray(column.step, np.int64) for column in columns]
    num_rows = sum(map(len, steps))
    position = np.concatenate([*positions, np.array([e.position for e in bare_events], np.int64)])
    step = np.concatenate([*steps, np.array([e.step for e in bare_events], np.int64)])
    is_summary = np.ones(len(step), np.bool_)
    is_summary[num_rows:] = [event.is_summary for event in bare_events]
    order = np.argsort(position, kind="stable")
    event = np.zeros(len(step), np.int64)
    np.cumsum(np.diff(position[order]) >= _EVENT_GAP, out=event[1:])
    return _Events(order, num_rows, step[order], event, is_summary[order])


def _most_recent_steps(events: _Events, most_recent_step: int) -> tuple[NDArray[np.int64], int]:
    """The most recent step before each event, and after the last one."""
    step = events.step
    highest = np.maximum.accumulate(np.concatenate([[np.int64(most_recent_step)], step]))
    before = highest[:-1].copy()
    # Summaries only ever raise the most recent step, so it is the highest one since an event that
    # lowered it.
    lowered = np.flatnonzero(~events.is_summary & (step < before)).tolist()
    for first, behind in pairwise([*lowered, len(step)]):
        highest = np.maximum.accumulate(step[first:behind])
        before[first + 1 : behind] = highest[:-1]
    return before, int(highest[-1])


def _columns_of(rows: NDArray[np.int64], lengths: Sequence[int]) -> list[int]:
    """Numbers of the columns that these rows belong to, each once."""
    numbers = np.searchsorted(np.cumsum(lengths), rows, side="right")
    return list(np.unique(numbers).tolist())


def _rows_kept(
    step: NDArray[np.int64], is_back: NDArray[np.bool_], event: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Which rows of a tag no later event orphans."""
    unlimited = np.iinfo(np.int64).max
    limit = np.where(is_back, step, unlimited)
    lowest_from = np.minimum.accumulate(limit[::-1])[::-1]
    # An event drops rows before it, and not the other values that it carries itself.
    behind = np.searchsorted(event, event, side="right")
    is_followed = behind <= np.flatnonzero(is_back)[-1]
    lowest_behind = lowest_from[np.minimum(behind, len(step) - 1)]
    is_orphan: NDArray[np.bool_] = is_followed & (step >= lowest_behind)
    return ~is_orphan
