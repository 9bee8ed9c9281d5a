"""RunData: collects the tables of one run while it is read, and makes immutable views of it.

A run is a list of tables, in the order of its files. Tables are merged so that there are few: the
last two become one while the last has at least half as many rows as the one before. While a run is
loaded, 16 tables are merged at once. When the training job restarted, the rows that the restart
orphaned are dropped.

The rows of a tag have the ordinals 0, 1, 2, ... from table to table. If rows of a tag were dropped,
or if the tag has several kinds, all its columns list their ordinals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import numpy as np

from tbcore.eventfiles.table import (
    GRAPH_FIELDS,
    DecodedItem,
    FileVersion,
    PerRow,
    Steps,
    Table,
    TableColumn,
    step_array,
)
from tbcore.store.restarts import NOTHING_ORPHANED, RestartRule
from tbcore.store.sampling import sampled_rows_of
from tbcore.store.view import EMPTY_SCHEMA, FileRef, RunView, nonfinite_tags

_MAX_MERGED_ROWS = 1 << 17
"""Maximum number of rows of a table that is merged from others. Merging larger tables would save
little time in requests, and takes time and memory while a run is loaded."""
_MAX_UNMERGED = 16
"""Number of tables that are merged at once while a run is loaded."""
_MIN_ROWS_TO_THIN = 1 << 18
"""Minimum number of rows between two times that a run is limited to `max_points`."""

_LimitOf = Callable[[TableColumn], int | None]
"""Returns the lowest step whose rows are dropped from a column; None if it keeps all."""


class RunData:
    """The rows of one run, to which more are added. For the loader's thread only."""

    def __init__(self, *, purge_orphaned_data: bool = True, max_points: int = 0) -> None:
        """`max_points` limits each scalar series to a sample of that size; 0 keeps all rows."""
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
        self._next_ordinals: dict[str, int] = {}
        """The next ordinal of each tag whose columns list their ordinals."""
        self._restarts = RestartRule()
        self._files: list[FileRef] = []
        self._first_event_time: float | None = None
        self._last_event_times: dict[int, float] = {}
        """Maps the index of each file to the wall time of its last event."""
        self._view: RunView | None = RunView()
        """The view of the last commit; None if something has changed since then."""

    # -- files ---------------------------------------------------------------------------------

    def add_file(self, path: str) -> int:
        """Adds a file from which nothing was read yet, and returns its index."""
        self._view = None
        self._files.append(FileRef(path))
        return len(self._files) - 1

    def set_file_identity(self, file_index: int, version: str) -> None:
        """Sets the version of an opened file. Must be called before an item of it is added."""
        file = self._files[file_index]
        if file.version != version:
            self._view = None
            self._files[file_index] = FileRef(file.path, version)

    @property
    def first_event_time(self) -> float | None:
        """When the run began, in seconds since the epoch; None if that is not known yet."""
        return self._first_event_time

    def set_first_event_time(self, wall_time: float | None) -> None:
        """Sets when the run began. Only the first call with a time has an effect."""
        if self._first_event_time is None and wall_time is not None:
            self._view = None
            self._first_event_time = wall_time

    # -- items, in the order in which they are read --------------------------------------------

    def add_item(self, item: DecodedItem, file_index: int) -> None:
        """Adds an item of a file. The items of a file are added in order."""
        path = self._files[file_index].path
        wall_time = item.last_wall_time if isinstance(item, Table) else item.wall_time
        if wall_time == wall_time and self._last_event_times.get(file_index) != wall_time:
            self._view = None
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
        get_position, table.position, table.bare_events = table.position, None, ()
        if not table.num_rows:
            return
        self._view = None
        self._schema = self._schema.extended(table.columns)
        if table.references is not None:
            num_references = table.num_rows - len(table.value)
            files = np.full(num_references, file_index, np.uint32)
            table.references = table.references._replace(file=files)
        entries = table.columns.entries
        listed = {*self._schema.mixed, *(entries[i].tag for i in orphaned.kept)}  # 2
        self._list_ordinals(listed.intersection(table.columns.indices))
        if self._next_ordinals and get_position is not None:
            table.ordinals = self._new_ordinals(table, get_position)
        selected = table.selected(orphaned.kept)  # 3
        if selected is not None:
            self._tables.append(selected)
            self._merge(1 if self._is_live else _MAX_UNMERGED)
        if self._max_points and self.num_rows >= self._num_rows_to_thin:
            self._thin()

    @property
    def num_rows(self) -> int:
        """The number of rows that are kept."""
        return sum(table.num_rows for table in self._tables)

    # -- views ---------------------------------------------------------------------------------

    def end_loading(self) -> None:
        """Merges all tables: the run has been read to its end, and grows slowly from now on."""
        self._is_live = True
        self._view = None
        self._merge(0)

    def commit(self) -> RunView:
        """Returns a view of the run as it is now; the same view as before if nothing changed."""
        if self._view is None:
            if self._max_points:
                self._thin()
            self._view = RunView(
                self._schema,
                tuple(self._tables),
                tuple(self._files),
                self._first_event_time,
                max(self._last_event_times.values(), default=None),
                nonfinite_tags(self._tables, self._schema),
            )
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
        """Drops the rows of each column from a step on, except graphs; `lowest` is the lowest."""
        # 1. Find the columns that lose rows, and the rows that they keep.
        # 2. List the ordinals of their tags, and select the rows.
        all_kept: dict[int, dict[int, PerRow]] = {}  # 1
        for number, table in enumerate(self._tables):
            for i, column in enumerate(
                table.columns.entries if table.highest_step >= lowest else ()
            ):
                limit = limit_of(column) if column.field not in GRAPH_FIELDS else None
                rows = None if limit is None else _rows_below(table.step[i], limit)
                if rows is not None:
                    all_kept.setdefault(number, {})[i] = rows
        if not all_kept:
            return
        self._list_ordinals(  # 2
            self._tables[number].columns.entries[i].tag
            for number, kept in all_kept.items()
            for i in kept
        )
        selected = (t.selected(all_kept.get(number, {})) for number, t in enumerate(self._tables))
        self._tables = [table for table in selected if table is not None]
        self._num_merged = min(self._num_merged, len(self._tables))
        self._view = None

    def _thin(self) -> None:
        """Limits each scalar series to `max_points` rows."""
        if not self._tables:
            return
        table = Table.joined(self._tables)
        self._tables = [table]
        too_long = [
            i for i in range(table.columns.num_scalar) if table.num_rows_of(i) > self._max_points
        ]
        self._list_ordinals(table.columns.entries[i].tag for i in too_long)
        [table] = self._tables
        kept = {i: sampled_rows_of(table.ordinals[i], self._max_points) for i in too_long}
        self._tables = [selected for selected in [table.selected(kept)] if selected is not None]
        self._num_merged = len(self._tables)
        self._num_rows_to_thin = 2 * self.num_rows + _MIN_ROWS_TO_THIN

    def _list_ordinals(self, tags: Iterable[str]) -> None:
        """Lists the ordinals in all columns of these tags, if they do not do so yet.

        Before that, a tag has at most one column in each table.
        """
        ends = dict.fromkeys(set(tags) - self._next_ordinals.keys(), 0)
        if not ends:
            return
        for number, table in enumerate(self._tables):
            ordinals: dict[int, PerRow] = {}
            for tag in ends.keys() & table.columns.indices.keys():
                for i in table.columns.indices[tag]:
                    start = ends[tag]
                    ends[tag] += table.num_rows_of(i)
                    ordinals[i] = np.arange(start, ends[tag])
            if ordinals:
                self._tables[number] = table.with_ordinals({**table.ordinals, **ordinals})
        self._next_ordinals.update(ends)

    def _new_ordinals(
        self, table: Table, get_position: Callable[[], PerRow]
    ) -> Mapping[int, PerRow]:
        """The ordinals of a new table's rows, of the tags that list them."""
        ordinals: dict[int, PerRow] = {}
        for tag in self._next_ordinals.keys() & table.columns.indices.keys():
            columns = table.columns.indices[tag]
            start = self._next_ordinals[tag]
            rows = np.concatenate([step_array(range(*table.bounds[i : i + 2])) for i in columns])
            ordinal = np.arange(start, start + len(rows))
            if len(columns) > 1:  # Rows of all columns together are numbered in file order.
                ordinal[np.argsort(get_position()[rows])] = ordinal.copy()
            sizes = [table.num_rows_of(i) for i in columns]
            ordinals.update(zip(columns, np.split(ordinal, np.cumsum(sizes)[:-1]), strict=True))
            self._next_ordinals[tag] += len(rows)
        return ordinals


def _rows_below(steps: Steps, limit: int) -> PerRow | None:
    """The rows of a column whose step is below the limit; None if all are."""
    if isinstance(steps, range):
        num_below = len(range(steps.start, min(limit, steps.stop), steps.step))
        return None if num_below == len(steps) else np.arange(num_below)
    is_below = steps < limit
    return None if is_below.all() else np.flatnonzero(is_below)
