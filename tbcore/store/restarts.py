"""Restarts: which rows are orphaned because a training job went back to a checkpoint.

Rows that the job wrote after the checkpoint are orphaned once the job writes the same steps again.
In event files of version 2, a session log with status START marks each restart. Older files show a
restart only by steps that go back: if the step S of a summary is below the most recent step,
earlier rows of the summary's tags are orphaned if their step is S or above.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tbcore.eventfiles.steps import PerRow, step_array
from tbcore.eventfiles.table import FileVersion, SessionStart, Table
from tbcore.kinds import GRAPH_FIELDS

_EVENT_GAP_BYTES = 17
"""Minimum distance between the last position in one event and the first position in the next one.
A position is the offset of the record plus the index of the value. The framing of a record takes 16
bytes, and each value takes more than one byte."""


class OrphanedRows(NamedTuple):
    """The rows in a table, and before it, that the table's summaries orphan."""

    limits: Mapping[str, int]
    """Maps each tag that restarted to the lowest step at which it restarted. The tag's rows from
    before the table are orphaned if they have this step or a higher one."""
    kept: Mapping[int, PerRow]
    """Maps the index of each column with orphaned rows to the rows that are not orphaned."""


NOTHING_ORPHANED = OrphanedRows({}, {})


class RestartRule:
    """Finds the restarts of one run. Its methods are called in the order of the files' items."""

    def __init__(self, *, purge_at_start: bool = False) -> None:
        """With `purge_at_start`, every START leaves orphaned rows, as in TensorBoard."""
        self._first_path: str | None = None
        """The lowest of the paths of files that contained an item."""
        self._version: float | None = None
        """The last version that any file stated. It applies to files that state no version."""
        self._versions: dict[int, float] = {}
        """Maps the index of each file that states a version to the last version that it states."""
        self._most_recent_step = -1
        """In files older than version 2, the step to compare the next summary's step with."""
        self._has_started = purge_at_start
        """Whether there was a START."""

    @property
    def bookmark(self) -> tuple[Any, ...]:
        """The state for `resume_at`. JSON-serializable."""
        versions = list(self._versions.items())
        state = self._first_path, self._version, versions, self._most_recent_step
        return *state, self._has_started

    def resume_at(self, bookmark: Sequence[Any]) -> None:
        """Continues where another reader of this run stopped."""
        self._first_path, self._version, versions, self._most_recent_step, started = bookmark
        self._versions, self._has_started = dict(versions), started

    def file_version(self, item: FileVersion, file_index: int, path: str) -> None:
        """Records the version of a file, which decides how restarts are found."""
        self._is_first(path)
        self._version = self._versions[file_index] = item.version
        if self._finds_by_step(file_index):
            self._most_recent_step = item.step

    def session_start(self, item: SessionStart, file_index: int, path: str) -> bool:
        """Whether the rows at the step of a START and above become orphaned.

        They do not at the first START of a run, if its file comes first in path order among the
        files read so far: writers may log values before their first START.
        """
        is_first = self._is_first(path) and not self._has_started
        self._has_started = True
        if self._finds_by_step(file_index):
            self._most_recent_step = item.step
            return False
        return not is_first

    def table(self, table: Table, file_index: int, path: str) -> OrphanedRows:
        """The rows that the summaries in a table orphan."""
        self._is_first(path)
        if not self._finds_by_step(file_index) or table.position is None:
            return NOTHING_ORPHANED
        orphaned, self._most_recent_step = find_orphaned_rows(
            table, table.position(), self._most_recent_step
        )
        return orphaned

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
    table: Table, position: PerRow, most_recent_step: int
) -> tuple[OrphanedRows, int]:
    """Finds the orphaned rows in and before a table, and the most recent step after the table.

    A summary whose step is below the most recent step is a restart of its tags, and does not change
    the most recent step. Every other event sets the most recent step to its own step. So summaries
    only raise the most recent step, and events that are not summaries can also lower it.
    """
    # An entry is a row or a bare event. Rows have the numbers from 0 to `num_rows - 1`, column by
    # column, and bare events have the numbers from `num_rows` on.
    # 1. List the steps of all entries, their positions, and whether their events are summaries. The
    #    event of a graph is not one.
    # 2. Bring the entries into file order, and number their events. Two successive entries are in
    #    the same event if their positions differ by less than _EVENT_GAP_BYTES.
    # 3. A row restarts its tag if its step is below the most recent step before the row.
    # 4. For each tag that restarts, find its entries, and its orphaned rows.
    # 5. List the kept rows of each column that has lost any.
    columns, bare_events, num_rows = table.columns, table.bare_events, table.num_rows
    is_graph = [entry.field in GRAPH_FIELDS for entry in columns.entries]
    of_rows = np.repeat(np.logical_not(is_graph), np.diff(table.bounds))  # 1
    of_bare = np.array([event.is_summary for event in bare_events], np.bool_)
    is_summary = np.concatenate([of_rows, of_bare])
    bare_steps = np.array([event.step for event in bare_events], np.int64)
    step = np.concatenate([*map(step_array, table.step), bare_steps])
    bare_positions = np.array([event.position for event in bare_events], np.int64)
    position = np.concatenate([position, bare_positions])
    number = np.argsort(position, kind="stable")  # 2
    step, is_summary = step[number], is_summary[number]
    event_number = np.zeros(len(step), np.int64)
    np.cumsum(np.diff(position[number]) >= _EVENT_GAP_BYTES, out=event_number[1:])
    before, most_recent_step = _most_recent_steps(step, is_summary, most_recent_step)  # 3
    is_restart = is_summary & (step < before) & (number < num_rows)
    if not is_restart.any():
        return NOTHING_ORPHANED, most_recent_step
    place = np.argsort(number)
    is_kept = np.ones(num_rows, np.bool_)
    restarted = np.searchsorted(table.bounds, number[is_restart], side="right") - 1
    kept: dict[int, PerRow] = {}
    limits: dict[str, int] = {}
    for tag in {columns.entries[i].tag for i in np.unique(restarted).tolist()}:  # 4
        indices = [i for i in columns.indices[tag] if not is_graph[i]]
        of_tag = np.sort(np.concatenate([place[table.rows(i)] for i in indices]))
        restarts = is_restart[of_tag]
        limits[tag] = int(step[of_tag][restarts].min())
        is_kept[number[of_tag]] = _kept_mask(step[of_tag], restarts, event_number[of_tag])
        for i in indices:  # 5
            if not is_kept[table.rows(i)].all():
                kept[i] = np.flatnonzero(is_kept[table.rows(i)])
    return OrphanedRows(limits, kept), most_recent_step


def _most_recent_steps(
    step: PerRow, is_summary: NDArray[np.bool_], most_recent_step: int
) -> tuple[PerRow, int]:
    """The most recent step before each row, and the most recent step after the last event.

    The arguments are those of all entries in file order. The array has an element for each entry;
    those of entries that are not rows of summaries may be wrong, and are not used.
    """
    # 1. Summaries never lower the most recent step. So if all events are summaries, the most
    #    recent step is a running maximum of the steps.
    # 2. Start the maximum again at each event that is not a summary and has a lower step.
    highest = np.maximum.accumulate(np.concatenate([[np.int64(most_recent_step)], step]))  # 1
    before = highest[:-1].copy()
    lowered = np.flatnonzero(~is_summary & (step < before)).tolist()
    for start, stop in pairwise([*lowered, len(step)]):  # 2
        highest = np.maximum.accumulate(step[start:stop])
        before[start + 1 : stop] = highest[:-1]
    return before, int(highest[-1])


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
    limit = np.where(is_restart, step, np.iinfo(np.int64).max)  # 1
    lowest_from = np.minimum.accumulate(limit[::-1])[::-1]  # 2
    first_of_next_event = np.searchsorted(event_number, event_number, side="right")  # 3
    lowest_after = lowest_from[np.minimum(first_of_next_event, len(step) - 1)]
    has_later_restart = first_of_next_event <= np.flatnonzero(is_restart)[-1]  # 4
    is_orphaned: NDArray[np.bool_] = has_later_restart & (step >= lowest_after)
    return ~is_orphaned
