"""Restarts: which rows are orphaned because a training job went back to a checkpoint.

Rows that the job wrote after the checkpoint are orphaned once the job writes the same steps again.
In event files of version 2, a session log with status START marks each restart. Older files show a
restart only by steps that go back: if the step S of a summary is below the most recent step,
earlier rows of the summary's tags are orphaned if their step is S or above.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tbcore.eventfiles.table import (
    GRAPH_FIELDS,
    BareEvent,
    FileVersion,
    PerRow,
    SessionStart,
    Table,
    step_array,
)

_EVENT_GAP_BYTES = 17
"""Minimum distance between the last position in one event and the first position in the next one.
A position is the offset of the record plus the index of the value. The framing of a record takes 16
bytes, and each value takes more than one byte."""


class SummaryRows(NamedTuple):
    """Rows of one column of summary values, in file order."""

    tag: str
    position: PerRow
    step: PerRow


class OrphanedRows(NamedTuple):
    """Which rows in a table, and before it, are orphaned by the table's summaries."""

    limits: Mapping[str, int]
    """Maps each tag that restarted to the lowest step at which it restarted. The tag's rows from
    before the table are orphaned if they have this step or a higher one."""
    kept: Mapping[int, PerRow]
    """Maps the index of each column with orphaned rows to the rows that are not orphaned."""


NOTHING_ORPHANED = OrphanedRows({}, {})


class RestartRule:
    """Finds the restarts of one run. Its methods are called in the order of the files' items."""

    def __init__(self) -> None:
        self._first_path: str | None = None
        """The lowest of the paths of files that contained an item."""
        self._version: float | None = None
        """The last version that any file stated. It applies to files that state no version."""
        self._versions: dict[int, float] = {}
        """Maps the index of each file that states a version to the last version that it states."""
        self._most_recent_step = -1
        """In files older than version 2, the step to compare the next summary's step with."""
        self._has_started = False
        """Whether there was a START."""

    def file_version(self, item: FileVersion, file_index: int, path: str) -> None:
        """Takes note of the version of a file, which decides how restarts are found."""
        self._is_first(path)
        self._version = self._versions[file_index] = item.version
        if self._finds_by_step(file_index):
            self._most_recent_step = item.step

    def session_start(self, item: SessionStart, file_index: int, path: str) -> bool:
        """Whether the rows at the step of a START and above become orphaned.

        The first START of a run does not if its file is the first, in path order, of the files read
        so far: writers may log values before their first START.
        """
        is_first = self._is_first(path) and not self._has_started
        self._has_started = True
        if self._finds_by_step(file_index):
            self._most_recent_step = item.step
            return False
        return not is_first

    def table(self, table: Table, file_index: int, path: str) -> OrphanedRows:
        """The rows that the summaries in a table orphan."""
        # A graph is not a summary: its event is a bare event, so its rows are left out here.
        self._is_first(path)
        if not self._finds_by_step(file_index) or table.position is None:
            return NOTHING_ORPHANED
        position = table.position()
        picked = [
            index
            for index, entry in enumerate(table.columns.entries)
            if entry.field not in GRAPH_FIELDS
        ]
        rows = [
            SummaryRows(
                table.columns.entries[i].tag, position[table.rows(i)], step_array(table.step[i])
            )
            for i in picked
        ]
        limits, kept, step = find_orphaned_rows(rows, table.bare_events, self._most_recent_step)
        self._most_recent_step = step
        return OrphanedRows(limits, {picked[number]: rows for number, rows in kept.items()})

    def _is_first(self, path: str) -> bool:
        """Whether a file is the first, in path order, that has contained an item so far."""
        if self._first_path is None or path < self._first_path:
            self._first_path = path
        return path == self._first_path

    def _finds_by_step(self, file_index: int) -> bool:
        """Whether a step that goes back means a restart. Files of version 2 have START events."""
        version = self._versions.get(file_index, self._version)
        return version is None or not version >= 2


def find_orphaned_rows(
    columns: Sequence[SummaryRows], bare_events: Sequence[BareEvent], most_recent_step: int
) -> tuple[Mapping[str, int], Mapping[int, PerRow], int]:
    """Finds the rows, in a table and before it, that are orphaned by the table's summaries.

    A summary whose step is below the most recent step is a restart of its tags, and does not change
    the most recent step. Every other event sets the most recent step to its own step. So summaries
    only raise the most recent step, and events that are not summaries can also lower it.

    Returns the two fields of OrphanedRows, and the most recent step after the table.
    """
    # 1. Bring all rows and bare events into file order, each with the most recent step before it.
    # 2. A row restarts its tag if its step is below the most recent step before the row.
    # 3. Sort the rows by tag. The sort is stable, so the rows of a tag stay in file order.
    # 4. For each tag that restarts, find the rows that are orphaned by a later restart.
    # 5. List the kept rows of each column that has lost any.
    entries = _in_file_order(columns, bare_events)  # 1.
    step, num_rows = entries.step, entries.num_rows
    most_recent_before, most_recent_step = _most_recent_steps(entries, most_recent_step)
    # 2. A summary without rows has no tag to restart, and is not among the first `num_rows`.
    is_restart = (step < most_recent_before) & (entries.number < num_rows)
    kept: dict[int, PerRow] = {}
    limits: dict[str, int] = {}
    if not is_restart.any():
        return limits, kept, most_recent_step

    # 3.
    tag_indices = {tag: index for index, tag in enumerate({column.tag for column in columns})}
    lengths = [len(column.step) for column in columns]
    tag_index_by_number = np.full(len(step), -1, np.int64)  # -1 for bare events.
    tag_index_by_number[:num_rows] = np.repeat(
        [tag_indices[column.tag] for column in columns], lengths
    )
    tag_index_of_entry = tag_index_by_number[entries.number]
    by_tag = np.argsort(tag_index_of_entry, kind="stable")
    sorted_tag_indices = tag_index_of_entry[by_tag]
    # 4.
    is_kept = np.ones(num_rows, np.bool_)
    for tag in {columns[i].tag for i in _column_indices(entries.number[is_restart], lengths)}:
        tag_index = tag_indices[tag]
        start, stop = np.searchsorted(sorted_tag_indices, (tag_index, tag_index + 1)).tolist()
        of_tag = by_tag[start:stop]
        is_kept[entries.number[of_tag]] = _kept_mask(
            step[of_tag], is_restart[of_tag], entries.event_number[of_tag]
        )
        limits[tag] = int(step[of_tag][is_restart[of_tag]].min())
    # 5.
    start = 0
    for column_index, column in enumerate(columns):
        stop = start + lengths[column_index]
        if column.tag in limits and not is_kept[start:stop].all():
            kept[column_index] = np.flatnonzero(is_kept[start:stop])
        start = stop
    return limits, kept, most_recent_step


class _Entries(NamedTuple):
    """Entries in file order, one array for each field. An entry is a row or a bare event."""

    number: NDArray[np.int64]
    """The number of each entry. Rows have the numbers from 0 to `num_rows - 1`, column by column,
    and bare events have the numbers from `num_rows` on."""
    num_rows: int
    """Number of rows in all columns."""
    step: NDArray[np.int64]
    event_number: NDArray[np.int64]
    """The number of the event that each entry belongs to, ascending from 0."""
    is_summary: NDArray[np.bool_]
    """Whether the event of each entry is a summary."""


def _in_file_order(columns: Sequence[SummaryRows], bare_events: Sequence[BareEvent]) -> _Entries:
    """Merges rows and bare events by their positions.

    Two successive entries are in the same event if their positions differ by less than
    _EVENT_GAP_BYTES.
    """
    # 1. Put the rows of all columns, and then the bare events, into one array for each field.
    # 2. Sort by position.
    # 3. Number the events: each gap between two successive entries begins a new event.
    positions = [column.position for column in columns]  # 1.
    steps = [column.step for column in columns]
    num_rows = sum(map(len, steps))
    position = np.concatenate([*positions, np.array([e.position for e in bare_events], np.int64)])
    step = np.concatenate([*steps, np.array([e.step for e in bare_events], np.int64)])
    is_summary = np.ones(len(step), np.bool_)
    is_summary[num_rows:] = [event.is_summary for event in bare_events]
    number = np.argsort(position, kind="stable")  # 2.
    event_number = np.zeros(len(step), np.int64)  # 3.
    np.cumsum(np.diff(position[number]) >= _EVENT_GAP_BYTES, out=event_number[1:])
    return _Entries(number, num_rows, step[number], event_number, is_summary[number])


def _most_recent_steps(entries: _Entries, most_recent_step: int) -> tuple[NDArray[np.int64], int]:
    """The most recent step before each row, and the most recent step after the last event.

    The array has an element for each bare event, too, which may be wrong and is not used.
    """
    # 1. Summaries never lower the most recent step. So if all events are summaries, the most
    #    recent step is a running maximum of the steps.
    # 2. Start the maximum again at each event that is not a summary and has a lower step.
    step = entries.step
    highest = np.maximum.accumulate(np.concatenate([[np.int64(most_recent_step)], step]))  # 1.
    before = highest[:-1].copy()
    lowered = np.flatnonzero(~entries.is_summary & (step < before)).tolist()
    for start, stop in pairwise([*lowered, len(step)]):  # 2.
        highest = np.maximum.accumulate(step[start:stop])
        before[start + 1 : stop] = highest[:-1]
    return before, int(highest[-1])


def _column_indices(numbers: NDArray[np.int64], lengths: Sequence[int]) -> list[int]:
    """The distinct indices of the columns with these rows, given as numbers of entries."""
    indices = np.searchsorted(np.cumsum(lengths), numbers, side="right")
    return list(np.unique(indices).tolist())


def _kept_mask(
    step: NDArray[np.int64], is_restart: NDArray[np.bool_], event_number: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """A mask that is true for those rows of one tag that are not orphaned by a later event.

    No row is orphaned by a row of the same event.
    """
    # 1. A row that restarts the tag sets a limit, which is its step. Other rows set none.
    # 2. For each row, find the lowest limit from this row on.
    # 3. For each row, look up the result of 2. at the first row of the next event.
    # 4. A row is orphaned if a restart follows, and its step is at the result of 3. or above.
    limit = np.where(is_restart, step, np.iinfo(np.int64).max)  # 1.
    lowest_from = np.minimum.accumulate(limit[::-1])[::-1]  # 2.
    first_of_next_event = np.searchsorted(event_number, event_number, side="right")  # 3.
    lowest_after = lowest_from[np.minimum(first_of_next_event, len(step) - 1)]
    has_later_restart = first_of_next_event <= np.flatnonzero(is_restart)[-1]  # 4.
    is_orphaned: NDArray[np.bool_] = has_later_restart & (step >= lowest_after)
    return ~is_orphaned
