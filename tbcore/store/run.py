"""RunData: collects the tables of one run while it is read, and makes immutable views of it.

A run is a list of tables, in the order of its files. Tables are merged so that there are few: the
last two become one while the last has at least half as many rows as the one before. While a run is
loaded, 16 tables are merged at once. When the training job restarted, the rows that the restart
orphaned are dropped.

The rows of a tag have the ordinals 0, 1, 2, ... from table to table. If rows of a tag were dropped,
or if the tag has several kinds, all its columns list their ordinals, at 8 bytes a row.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import Any

import numpy as np

from tbcore.eventfiles.steps import PerRow, Steps, step_array
from tbcore.eventfiles.table import DecodedItem, FileVersion, Table, TableColumn
from tbcore.kinds import GRAPH_FIELDS
from tbcore.store.restarts import NOTHING_ORPHANED, RestartRule
from tbcore.store.sampling import sampled_rows_of
from tbcore.store.view import EMPTY_SCHEMA, FileRef, LoadedView, RunView, Schema, TagInfo

_MAX_MERGED_ROWS = 1 << 17
"""Maximum number of rows of a table that is merged from others. Merging larger tables would save
little time in requests, and takes time and memory while a run is loaded: a request reads thirty
tables with five million rows in 0.2 ms, and merging them takes a fifth of the time for loading."""
_MAX_UNMERGED = 16
"""Number of tables that are merged at once while a run is loaded."""
_MIN_ROWS_TO_THIN = 1 << 18
"""Minimum number of rows between two times that a run is limited to `max_points`."""

_LimitOf = Callable[[TableColumn], int | None]
"""Returns the lowest step whose rows are dropped from a column; None if it keeps all."""


class RunData:
    """The rows of one run, to which more are added. For the loader's thread only."""

    def __init__(
        self, *, purge_orphaned_data: bool = True, purge_at_start: bool = False, max_points: int = 0
    ) -> None:
        """`purge_at_start` is that of RestartRule, if orphaned rows are dropped at all.

        `max_points` limits each scalar series to a sample of that size; 0 keeps all rows.
        """
        self._purge_orphaned_data = purge_orphaned_data
        self._max_points = max_points
        self._tables: list[Table] = []
        self._num_merged = 0
        """Number of tables, from the first one, that were merged."""
        self._is_live = False
        """Whether the run has been read to its end once."""
        self._num_rows_to_thin = _MIN_ROWS_TO_THIN
        """Number of rows at which the run is limited to `max_points` again."""
        self._schema = EMPTY_SCHEMA
        self._own_metadata: Mapping[str, bytes] = {}
        self._next_ordinals: dict[str, int] = {}
        """The next ordinal of each tag whose columns list their ordinals."""
        self._restarts = RestartRule(purge_at_start=purge_at_start)
        self._files: list[FileRef] = []
        self.first_event_time: float | None = None
        """When the run began, in seconds since the epoch; None if that is not known yet."""
        self._last_event_times: dict[int, float] = {}
        """Maps the index of each file to the wall time of its last event."""
        self._view: RunView = LoadedView()
        """The view of the last commit."""

    # -- continuing where another reader stopped -------------------------------------------------

    @property
    def bookmark(self) -> tuple[Any, ...]:
        """The state for `resume_at`, besides the view of the last commit. JSON-serializable."""
        ordinals, times = self._next_ordinals.items(), self._last_event_times.items()
        return self._restarts.bookmark, list(ordinals), list(times)

    def resume_at(self, bookmark: Sequence[Any], view: RunView) -> None:
        """Continues where another reader of this run stopped with this bookmark and view."""
        restarts, ordinals, times = bookmark
        self._restarts.resume_at(restarts)
        self._next_ordinals, self._last_event_times = dict(ordinals), dict(times)
        self._schema, self._tables, self._files = view.schema, list(view.tables), list(view.files)
        self._own_metadata = view.own_metadata
        self._num_merged, self._is_live = len(self._tables), True
        self.first_event_time, self._view = view.first_event_time, view

    # -- files ---------------------------------------------------------------------------------

    def add_file(self, file: str | FileRef) -> int:
        """Adds a file of which nothing has been read yet, and returns its index."""
        self._files.append(FileRef(file) if isinstance(file, str) else file)
        return len(self._files) - 1

    def set_file(self, file_index: int, file: FileRef) -> None:
        """Replaces a file, of which no item is in the data yet, or not any more."""
        self._files[file_index] = file

    # -- items, in the order in which they are read --------------------------------------------

    def add_item(self, item: DecodedItem, file_index: int) -> None:
        """Adds an item of a file. The items of a file are added in order."""
        path = self._files[file_index].path
        wall_time = item.last_wall_time if isinstance(item, Table) else item.wall_time
        if not math.isnan(wall_time):
            self._last_event_times[file_index] = wall_time
        if isinstance(item, Table):
            self._add_table(item, file_index, path)
        elif isinstance(item, FileVersion):
            self._restarts.file_version(item, file_index, path)
        elif self._restarts.session_start(item, file_index, path) and self._purge_orphaned_data:
            self._drop(lambda column: item.step, item.step)

    def _add_table(self, table: Table, file_index: int, path: str) -> None:
        """Adds a table, which must not be used afterwards: positions are replaced by ordinals."""
        # 1. Find the rows that are orphaned by this table, and drop those of earlier tables.
        # 2. List the ordinals of the tags that need it.
        # 3. Leave out the orphaned rows of this table.
        orphaned = NOTHING_ORPHANED  # 1
        if self._purge_orphaned_data:
            orphaned = self._restarts.table(table, file_index, path)
        if orphaned.limits:
            lowest = min(orphaned.limits.values())
            self._drop(lambda column: orphaned.limits.get(column.tag), lowest)
        if not table.num_rows:
            return
        if own := table.columns.own_metadata:
            table.columns = table.columns.without_own_metadata()
            self._own_metadata = {**own, **self._own_metadata}
        self._schema = self._schema.extended(table.columns)
        if table.references is not None:
            num_references = table.num_rows - len(table.value)
            files = np.full(num_references, file_index, np.uint32)
            table.references = table.references._replace(file=files)
        entries = table.columns.entries
        listed = {*self._schema.mixed, *(entries[i].tag for i in orphaned.kept)}  # 2
        self._list_ordinals(listed.intersection(table.columns.indices))
        if self._next_ordinals:
            table.ordinals = self._new_ordinals(table, self._next_ordinals.keys())
        table.position, table.bare_events = None, ()
        selected = table.selected(orphaned.kept)  # 3
        if selected is not None:
            self._tables.append(selected)
            self._merge(1 if self._is_live else _MAX_UNMERGED)
        if self._max_points and self.num_rows >= self._num_rows_to_thin:
            self._thin()

    def drop_items(self) -> None:
        """Drops all rows that are no numbers, and what is known about their tags."""
        if all(kind.is_scalar for info in self._schema.tags.values() for kind in info.kinds):
            return  # The schema stays the one that equal runs share.
        self._drop(lambda column: None if column.is_scalar else -(1 << 63), -(1 << 63))
        scalars = {
            t: [k for k in info.kinds if k.is_scalar] for t, info in self._schema.tags.items()
        }
        self._schema = Schema({t: TagInfo((*k,), None) for t, k in scalars.items() if k})
        self._own_metadata = {}

    @property
    def num_rows(self) -> int:
        """The number of rows that are kept."""
        return sum(table.num_rows for table in self._tables)

    # -- views ---------------------------------------------------------------------------------

    def end_loading(self) -> None:
        """Merges all tables: the run was read to its end, and grows slowly from now on."""
        if not self._is_live:
            self._is_live = True
            self._merge(0)

    def commit(self) -> RunView:
        """Returns a view of the run as it is now; the same view as before if nothing changed."""
        if self._max_points:
            self._thin()
        view = LoadedView(
            self._schema,
            self.first_event_time,
            max(self._last_event_times.values(), default=None),
            tuple(self._tables),
            tuple(self._files),
            self._own_metadata,
        )
        if view != self._view:
            self._view = view
        return self._view

    # -- private -------------------------------------------------------------------------------

    def _merge(self, max_unmerged: int) -> None:
        """Merges the new tables if there are so many, or if they have enough rows."""
        # 1. Merge the new tables.
        # 2. Merge the result with earlier ones that are hardly larger.
        tables = self._tables
        new = tables[self._num_merged :]
        if len(new) < max_unmerged and sum(t.num_rows for t in new) < _MAX_MERGED_ROWS:
            return
        if len(new) > 1:
            tables[self._num_merged :] = [Table.joined(new)]  # 1
        while len(tables) > 1:  # 2
            before, last = tables[-2].num_rows, tables[-1].num_rows
            is_small = max_unmerged == 0 or 2 * last >= before
            if before + last > _MAX_MERGED_ROWS or not is_small:
                break
            tables[-2:] = [Table.joined(tables[-2:])]
        self._num_merged = len(tables)

    def _drop(self, limit_of: _LimitOf, lowest: int) -> None:
        """Drops the rows of each column from the step `limit_of(column)` on, except graphs.

        `lowest` is the lowest of these steps.
        """
        # 1. In each table, find the columns that lose rows, and the rows that they keep.
        # 2. List the ordinals of their tags, and select the rows.
        all_kept = [  # 1
            {
                i: rows
                for i, column in enumerate(table.columns.entries)
                if column.field not in GRAPH_FIELDS
                and (limit := limit_of(column)) is not None
                and (rows := _rows_below(table.step[i], limit)) is not None
            }
            if table.highest_step >= lowest
            else {}
            for table in self._tables
        ]
        if any(all_kept):
            self._list_ordinals(  # 2
                table.columns.entries[i].tag
                for table, kept in zip(self._tables, all_kept, strict=True)
                for i in kept
            )
            self._replace_tables(map(Table.selected, self._tables, all_kept))

    def _thin(self) -> None:
        """Limits each scalar series to `max_points` rows. Joins all tables if one is longer."""
        num_rows: Counter[tuple[str, str]] = Counter()
        for table in self._tables:
            for i, column in enumerate(table.columns.entries[: table.columns.num_scalar]):
                num_rows[column.tag, column.field] += table.num_rows_of(i)
        too_long = {key for key, length in num_rows.items() if length > self._max_points}
        if too_long:
            self._list_ordinals(tag for tag, _ in too_long)
            joined = Table.joined(self._tables)
            kept = {
                i: sampled_rows_of(joined.ordinals[i], self._max_points)
                for i, column in enumerate(joined.columns.entries[: joined.columns.num_scalar])
                if (column.tag, column.field) in too_long
            }
            self._replace_tables([joined.selected(kept)])
        self._num_rows_to_thin = 2 * self.num_rows + _MIN_ROWS_TO_THIN

    def _replace_tables(self, tables: Iterable[Table | None]) -> None:
        """Replaces the tables after rows were dropped; None for a table that has no rows left."""
        self._tables = [table for table in tables if table is not None]
        self._num_merged = min(self._num_merged, len(self._tables))

    def _list_ordinals(self, tags: Iterable[str]) -> None:
        """Lists the ordinals in all columns of these tags, if they do not do so yet.

        Before that, a tag has at most one column in each table.
        """
        new = set(tags) - self._next_ordinals.keys()
        if not new:
            return
        self._next_ordinals.update(dict.fromkeys(new, 0))
        for number, table in enumerate(self._tables):
            if not new.isdisjoint(table.columns.indices):
                ordinals = {**table.ordinals, **self._new_ordinals(table, new)}
                self._tables[number] = table.with_ordinals(ordinals)

    def _new_ordinals(self, table: Table, tags: Set[str]) -> dict[int, PerRow]:
        """Assigns ordinals to a table's rows of these tags. Maps columns to their ordinals."""
        ordinals: dict[int, PerRow] = {}
        for tag in tags & table.columns.indices.keys():
            columns = table.columns.indices[tag]
            rows = np.concatenate([step_array(range(*table.bounds[i : i + 2])) for i in columns])
            ordinal = np.arange(len(rows)) + self._next_ordinals[tag]
            if table.position and len(columns) > 1:
                # Rows of all columns together are numbered in file order.
                ordinal[np.argsort(table.position()[rows])] = ordinal.copy()
            sizes = [table.num_rows_of(i) for i in columns]
            ordinals.update(zip(columns, np.split(ordinal, np.cumsum(sizes)[:-1]), strict=True))
            self._next_ordinals[tag] += len(rows)
        return ordinals


def _rows_below(steps: Steps, limit: int) -> PerRow | None:
    """The rows of a column whose step is below the limit; None if all are."""
    is_below = step_array(steps) < limit
    return None if is_below.all() else np.flatnonzero(is_below)
