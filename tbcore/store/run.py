"""RunData: collects the data of one run while it is read, and makes immutable views of it.

Rows are appended in the order of the files. When the training job restarted, the rows that the
restart orphaned are dropped. Only the loader's thread uses a RunData.

In this module, an item is what a file's decoder returns: a batch, a file version, or the start of a
session, called a START.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError as ProtobufDecodeError
from numpy.typing import NDArray

from tbcore.eventfiles.batch import (
    GRAPH_FIELDS,
    BareEvent,
    Batch,
    DecodedItem,
    FileVersion,
    ReferenceColumn,
    ScalarColumn,
    SessionStart,
    Table,
    TableLayout,
)
from tbcore.eventfiles.proto.summary_pb2 import SummaryMetadata
from tbcore.kinds import Kind
from tbcore.store.restarts import OrphanedRows, SummaryRows, find_orphaned_rows, position_array
from tbcore.store.series import (
    FLOAT32,
    LIVE_SPARE_SHARE,
    LOADED_SPARE_SHARE,
    REFERENCE,
    Series,
    SeriesBlock,
)
from tbcore.store.view import (
    FileRef,
    LazyTagMap,
    RunSchema,
    RunView,
    SchemaEntry,
    TagIndex,
    TagView,
)

Column = ScalarColumn | ReferenceColumn

_EMPTY_TAG = TagView((), 0, None)
"""Stands for a tag that has no series yet. Never part of a RunView."""
_EMPTY_RUN = RunView()
_NO_STEP = -(1 << 63) - 1
"""Lower than any int64 step."""
_FIRST_STORED_FIELD = 4
"""Index of `step` in a ScalarColumn or ReferenceColumn. A series stores this field and those after
it, in the same order."""
_MAX_SPARE_SHARE = 64.0
"""Maximum spare capacity while a run is loaded, as a share of the rows. Tags that are logged only
at the start of a run have too much spare capacity, until it is trimmed."""


class RunData:
    """The series of one run, to which rows are added."""

    def __init__(self, *, purge_orphaned_data: bool = True, max_points: int = 0) -> None:
        """`max_points` limits each scalar series to a sample of that size; 0 keeps all rows."""
        self._purge_orphaned_data = purge_orphaned_data
        self._max_points = max_points
        self._view = _EMPTY_RUN
        """The view of the last commit."""
        self._tag_index = self._view.tag_index
        """The TagIndex of the next view, replaced whenever a tag or a kind is added."""
        self._tags: Mapping[str, TagView] = {}
        self._files: list[FileRef] = []
        self._first_event_time: float | None = None
        self._last_event_times: dict[int, float] = {}
        """Maps the index of each file to the wall time of its last event."""
        self._nonfinite: set[str] = set()
        """Tags with scalars that are NaN or infinite."""
        self._nonfinite_in_order: tuple[str, ...] = ()
        """The same tags in order of first appearance, as of the last commit."""
        self._is_changed = False
        """Whether anything changed since the last commit. If not, `_tags` is also part of the last
        view, and must be copied before it is changed."""
        self._untrimmed_tags: set[str] = set()
        """Tags that may have too much spare capacity, or more than `max_points` rows."""
        self._first_path_read: str | None = None
        """The lowest of the paths of files that contained an item."""
        self._version: float | None = None
        """The last version that any file stated. It applies to files that state no version."""
        self._versions: dict[int, float] = {}
        """Maps the index of each file that states a version to the last version that it states."""
        self._most_recent_step = -1
        """In files older than version 2, the step to compare the next summary's step with."""
        self._has_started = False
        """Whether there was a START."""
        self._highest_step_by_tag: dict[str, int] = {}
        """Maps each tag to the highest step of its rows that a START may drop."""
        self._highest_step = _NO_STEP
        """The maximum of `_highest_step_by_tag`."""
        self._tags_to_remeasure: set[str] | None = None
        """Tags that changed, so that their highest steps must be determined again; None before the
        first START that may drop rows."""
        self._bytes_before = self._bytes_total = 0
        """The arguments of `set_expected_size`."""

    # -- files ---------------------------------------------------------------------------------

    def add_file(self, path: str) -> int:
        """Adds a file from which nothing was read yet, and returns its index."""
        self._begin_change()
        self._files.append(FileRef(path))
        return len(self._files) - 1

    def set_file_identity(self, file_index: int, version: str) -> None:
        """Sets the version of an opened file. Must be called before an item of it is added."""
        file = self._files[file_index]
        if file.version != version:
            self._begin_change()
            self._files[file_index] = FileRef(file.path, version)

    @property
    def first_event_time(self) -> float | None:
        """When the run began, in seconds since the epoch; None if that is not known yet."""
        return self._first_event_time

    def set_first_event_time(self, wall_time: float | None) -> None:
        """Sets when the run began. Only the first call with a time has an effect."""
        if self._first_event_time is None and wall_time is not None:
            self._begin_change()
            self._first_event_time = wall_time

    def set_expected_size(self, bytes_before: int, bytes_total: int) -> None:
        """Sets the bytes that were read before the current file, and the size of the whole run.

        The number of rows to come is estimated from these, so that blocks of the right size are
        allocated. Both are 0 for a live run, whose final size is unknown.
        """
        self._bytes_before, self._bytes_total = bytes_before, bytes_total

    # -- items, in the order in which they are read --------------------------------------------

    def add_item(self, item: DecodedItem, file_index: int) -> None:
        """Adds an item of any type. The items of a file are added in order; arrays are copied."""
        if isinstance(item, Batch):
            self.add_batch(item, file_index)
        elif isinstance(item, FileVersion):
            self.add_file_version(item, file_index)
        else:
            self.add_session_start(item, file_index)

    def add_file_version(self, item: FileVersion, file_index: int) -> None:
        """Adds the version of a file, which decides how restarts are found."""
        self._record_item_from(file_index)
        self._update_last_event_time(file_index, item.wall_time)
        self._version = self._versions[file_index] = item.version
        if self._finds_restarts_by_step(file_index):
            self._most_recent_step = item.step

    def add_session_start(self, item: SessionStart, file_index: int) -> None:
        """Adds a START, which drops the rows at its step and above, except rows of graphs.

        The first START of a run drops nothing if its file is the first, in path order, of the files
        read so far: writers may log values before their first START.
        """
        is_first_file = self._record_item_from(file_index)
        self._update_last_event_time(file_index, item.wall_time)
        is_first_start = not self._has_started
        self._has_started = True
        if self._finds_restarts_by_step(file_index):
            self._most_recent_step = item.step
        elif self._purge_orphaned_data and not (is_first_file and is_first_start):
            for tag in self._tags_with_steps_from(item.step):
                self._purge(tag, item.step)

    def add_batch(self, batch: Batch, file_index: int) -> None:
        """Adds the rows of a batch. Their arrays are copied."""
        # 1. Add a table of new tags as a whole.
        # 2. Otherwise, sort the columns by their first row: new tags are listed in this order.
        # 3. In a file older than version 2, find the rows that are orphaned now. Drop such rows
        #    of earlier batches, and leave out such rows of this batch.
        # 4. Group the columns by tag, and append them.
        if isinstance(batch, Table) and self._append_table(batch, file_index):  # 1.
            return
        self._record_item_from(file_index)
        scalars, references, bare_events = batch.scalars, batch.references, batch.bare_events
        columns: list[Column] = [*scalars, *references]  # 2.
        if scalars and references:
            columns.sort(key=lambda column: column.position[0])
        self._update_last_event_time(file_index, _last_wall_time(columns, bare_events))
        kept_masks: Sequence[NDArray[np.bool_] | None] = [None] * len(columns)  # 3.
        if self._purge_orphaned_data and self._finds_restarts_by_step(file_index):
            orphaned = self._find_orphaned_rows(columns, bare_events)
            kept_masks = orphaned.kept_masks
            for tag, limit in orphaned.limits.items():
                self._purge(tag, limit)
        if not columns:
            return
        self._begin_change()
        spare_share = self._spare_share(
            max(int(columns[0].position[-1]), int(columns[-1].position[-1]))
        )
        indices_by_tag: dict[str, list[int]] = {}  # 4.
        for index, column in enumerate(columns):
            indices_by_tag.setdefault(column.tag, []).append(index)
        for tag, indices in indices_by_tag.items():
            tag_columns = [columns[index] for index in indices]
            tag_masks = [kept_masks[index] for index in indices]
            self._append_columns(tag, tag_columns, tag_masks, file_index, spare_share)

    # -- views ---------------------------------------------------------------------------------

    def trim_spare_capacity(self) -> None:
        """Trims all series: the run has been read to its end, and grows slowly from now on."""
        for tag in self._untrimmed_tags:
            all_series = self._tags[tag].series
            self._replace_series(
                tag, [self._downsampled(series).trimmed() for series in all_series]
            )
        self._untrimmed_tags.clear()

    def commit(self) -> RunView:
        """Returns a view of the run as it is now; the same view as before if nothing changed."""
        if not self._is_changed:
            return self._view
        if self._max_points:
            for tag in self._untrimmed_tags:
                self._replace_series(
                    tag, [self._downsampled(series) for series in self._tags[tag].series]
                )
        self._is_changed = False
        # Compares `_nonfinite_in_order` with `_nonfinite` without creating another set.
        if len(self._nonfinite) != len(self._nonfinite_in_order) or not self._nonfinite.issuperset(
            self._nonfinite_in_order
        ):
            self._nonfinite_in_order = tuple(tag for tag in self._tags if tag in self._nonfinite)
        self._view = RunView(
            self._tags,
            tuple(self._files),
            self._first_event_time,
            max(self._last_event_times.values(), default=None),
            self._nonfinite_in_order,
            self._tag_index,
        )
        return self._view

    # -- private -------------------------------------------------------------------------------

    def _begin_change(self) -> None:
        """Must be called before each change: see `_is_changed`."""
        if not self._is_changed:
            if isinstance(self._tags, dict):
                self._tags = self._tags.copy()
            self._is_changed = True

    def _record_item_from(self, file_index: int) -> bool:
        """Records that an item came from the file.

        Returns whether the file is the first, in path order, that has contained an item so far.
        """
        path = self._files[file_index].path
        if self._first_path_read is None or path < self._first_path_read:
            self._first_path_read = path
        return path == self._first_path_read

    def _update_last_event_time(self, file_index: int, wall_time: float) -> None:
        """Sets the wall time of the file's last event, unless it is NaN."""
        if wall_time == wall_time and self._last_event_times.get(file_index) != wall_time:
            self._begin_change()
            self._last_event_times[file_index] = wall_time

    def _finds_restarts_by_step(self, file_index: int) -> bool:
        """Whether a step that goes back means a restart. Files of version 2 have START events."""
        version = self._versions.get(file_index, self._version)
        return version is None or not version >= 2

    def _find_orphaned_rows(
        self, columns: Sequence[Column], bare_events: Sequence[BareEvent]
    ) -> OrphanedRows:
        """Finds the rows that are orphaned by a batch, and updates the most recent step."""
        # A graph is not a summary: its event is in `bare_events`, so its column is passed as empty.
        rows = [
            SummaryRows(c.tag, c.position[:0], c.step[:0])
            if c.field in GRAPH_FIELDS
            else SummaryRows(c.tag, c.position, c.step)
            for c in columns
        ]
        orphaned = find_orphaned_rows(rows, bare_events, self._most_recent_step)
        self._most_recent_step = orphaned.most_recent_step
        return orphaned

    def _tags_with_steps_from(self, step: int) -> list[str]:
        """Tags with rows at this step or above.

        Highest steps are determined again only for tags that changed: a file may have thousands of
        STARTs, most of which drop nothing.
        """
        if self._tags_to_remeasure is None:
            self._tags_to_remeasure = set(self._tags)
        for tag in self._tags_to_remeasure:
            all_series = self._tags[tag].series
            steps = [s.highest_step() for s in all_series if s.kind.field not in GRAPH_FIELDS]
            known = [highest for highest in steps if highest is not None]
            self._highest_step_by_tag[tag] = max(known, default=_NO_STEP)
        if self._tags_to_remeasure:
            self._highest_step = max(self._highest_step_by_tag.values())
            self._tags_to_remeasure.clear()
        if step > self._highest_step:
            return []
        return [tag for tag, highest in self._highest_step_by_tag.items() if highest >= step]

    def _purge(self, tag: str, limit: int) -> None:
        """Drops the rows of a tag whose step is `limit` or above, except graphs."""
        view = self._tags.get(tag, _EMPTY_TAG)
        all_series = list(view.series)
        for index, series in enumerate(all_series):
            if series.kind.field not in GRAPH_FIELDS:
                num_shared = self._num_shared_rows(tag, series)
                all_series[index] = series.purged(limit, num_shared=num_shared)
        if self._replace_series(tag, all_series):
            self._untrimmed_tags.add(tag)

    def _num_shared_rows(self, tag: str, series: Series) -> int:
        """The number of rows, in the block of the series, that readers may have views of.

        Only the last view of the run is examined: no earlier view has more rows of the same block.
        """
        committed = self._view.tags.get(tag, _EMPTY_TAG).series
        return next((s.length for s in committed if s.block is series.block), 0)

    def _replace_series(self, tag: str, all_series: Sequence[Series]) -> bool:
        """Replaces all series of the tag; returns False if they are the same objects as before."""
        view = self._tags.get(tag, _EMPTY_TAG)
        if all(new is old for new, old in zip(all_series, view.series, strict=True)):
            return False
        self._begin_change()
        self._set_tag(tag, TagView(tuple(all_series), view.num_rows, view.metadata))
        return True

    def _set_tag(self, tag: str, view: TagView) -> None:
        """Sets a tag, and updates the sets of tags that depend on its series."""
        if not isinstance(self._tags, dict):
            self._tags = dict(self._tags)
        self._tags[tag] = view
        if self._tags_to_remeasure is not None:
            self._tags_to_remeasure.add(tag)
        if any(series.num_nonfinite for series in view.series):
            self._nonfinite.add(tag)
        else:
            self._nonfinite.discard(tag)

    def _downsampled(self, series: Series) -> Series:
        """The series, limited to `max_points` rows if it is a scalar series."""
        if not self._max_points or not series.kind.is_scalar:
            return series
        return series.downsampled(self._max_points)

    def _spare_share(self, position: int) -> float:
        """Capacity to allocate for rows that follow, as a share of the rows added so far.

        `position` is the position, in the current file, of one of the last rows added.
        """
        if not self._bytes_total:
            return LIVE_SPARE_SHARE
        done = self._bytes_before + position
        # Records become longer as steps grow, so this estimate tends to be too high.
        expected = self._bytes_total / max(done, 1) - 1
        return min(max(expected + LOADED_SPARE_SHARE / 2, LOADED_SPARE_SHARE), _MAX_SPARE_SHARE)

    def _append_table(self, table: Table, file_index: int) -> bool:
        """Adds a table whose tags are all new, as one block per group of columns.

        Returns False and adds nothing if the table cannot be added as blocks. Then the caller must
        add it column by column.
        """
        lazy_tags = self._tags if isinstance(self._tags, LazyTagMap) else None
        if (self._tags and not lazy_tags) or self._max_points or table.value.dtype != np.float32:
            return False
        if self._purge_orphaned_data and self._finds_restarts_by_step(file_index):
            return False
        table_schema = _schema(table.layout)
        schema = lazy_tags.extended_schema(table_schema) if lazy_tags else table_schema
        if schema is None:
            return False
        spare_share = self._spare_share(table.origin + int(table.position[table.layout.last]))
        blocks = []
        for column_indices, is_scalar, rows in table.layout.groups:
            columns = _table_rows(table, is_scalar, rows, file_index)
            layout = FLOAT32 if is_scalar else REFERENCE
            num_series = len(column_indices)
            blocks.append(SeriesBlock.of(layout, num_series, columns, spare_share=spare_share))
        self._record_item_from(file_index)
        self._update_last_event_time(file_index, table.last_wall_time)
        self._begin_change()
        self._tags = lazy_tags.extended(schema, blocks) if lazy_tags else LazyTagMap(schema, blocks)
        self._tag_index = schema.tag_index
        for group, block in zip(table.layout.groups, blocks, strict=True):
            self._nonfinite.update(
                table.layout.columns[group.columns[series_index]].tag
                for series_index in block.nonfinite_series_indices()
            )
        if self._tags_to_remeasure is not None:
            self._tags_to_remeasure.update(table_schema.entries)
        if not all(block.is_trimmed for block in blocks):
            self._untrimmed_tags.update(table_schema.entries)
        return True

    def _append_columns(
        self,
        tag: str,
        columns: Sequence[Column],
        kept_masks: Sequence[NDArray[np.bool_] | None],
        file_index: int,
        spare_share: float,
    ) -> None:
        """Appends columns of one tag, each to the series of its kind.

        `kept_masks` has, for each column, a mask of the rows to append; None appends all rows.
        """
        view = self._tags.get(tag, _EMPTY_TAG)
        all_series, metadata, num_rows = list(view.series), view.metadata, view.num_rows
        if metadata is None:
            # The metadata with the lowest position was written first.
            found = [c.metadata for c in columns if c.metadata is not None]
            metadata = min(found).data if found else None
        if metadata is view.metadata and all_series:
            plugin_name = all_series[0].kind.plugin_name
        else:
            plugin_name = _plugin_name(metadata)
            if plugin_name and all_series:
                all_series = [_with_plugin_name(series, plugin_name) for series in all_series]
                self._tag_index = TagIndex()
        # All series of a tag together have one sequence of ordinals, in the order written.
        all_ordinals = [num_rows] if len(columns) == 1 else _ordinals(columns, num_rows)
        for column, mask, ordinals in zip(columns, kept_masks, all_ordinals, strict=True):
            num_rows += len(column.step)
            is_scalar = isinstance(column, ScalarColumn)
            index = _series_index(all_series, column.field, is_scalar)
            if index == len(all_series):
                all_series.append(Series.empty(_kind(column.field, plugin_name, is_scalar)))
                self._tag_index = TagIndex()
            rows: tuple[Any, ...] = column[_FIRST_STORED_FIELD:]
            if mask is not None and not mask.all():
                rows, ordinals = _select_masked(rows, ordinals, mask)
            if not is_scalar:
                rows = (*rows, file_index)
            series = all_series[index].appended(rows, ordinals, spare_share=spare_share)
            if self._max_points and series.length > 2 * self._max_points:
                series = self._downsampled(series)
            all_series[index] = series
        self._set_tag(tag, TagView(tuple(all_series), num_rows, metadata))
        self._untrimmed_tags.add(tag)


def _table_rows(table: Table, is_scalar: bool, rows: slice, file_index: int) -> tuple[Any, ...]:
    """The columns of some rows of a table. Either all rows are scalars, or all are references."""
    common = table.step[rows], table.wall_time[rows]
    if is_scalar or table.locations is None:
        return *common, table.value[rows]
    length, index, crc = (array[rows] for array in table.locations)
    offset = table.position[rows] - index + table.origin
    return *common, offset, length, index, crc, file_index


def _last_wall_time(columns: Sequence[Column], bare_events: Sequence[BareEvent]) -> float:
    """Wall time of the last event in file order; NaN without any event."""
    last, wall_time = -1, math.nan
    for column in columns:
        if column.position[-1] > last:
            last, wall_time = column.position[-1], column.wall_time[-1]
    if bare_events and bare_events[-1].position > last:
        return bare_events[-1].wall_time
    return float(wall_time)


def _series_index(all_series: Sequence[Series], field: str, is_scalar: bool) -> int:
    """Index of a tag's series for this field; the number of series if there is none yet."""
    for index, series in enumerate(all_series):
        if series.kind.field == field and series.kind.is_scalar is is_scalar:
            return index
    return len(all_series)


@lru_cache(maxsize=1 << 8)
def _schema(layout: TableLayout) -> RunSchema:
    """The schema of runs that consist of one table with this layout."""
    entries: dict[str, SchemaEntry] = {}
    for block_index, group in enumerate(layout.groups):
        for series_index, column_index in enumerate(group.columns):
            tag, field, is_scalar, metadata, _ = layout.columns[column_index]
            data = metadata[1] if metadata else None
            entries[tag] = SchemaEntry(
                block_index, series_index, _kind(field, _plugin_name(data), is_scalar), data
            )
    return _shared_schema(tuple((column.tag, entries[column.tag]) for column in layout.columns))


@lru_cache(maxsize=1 << 6)
def _shared_schema(entries: tuple[tuple[str, SchemaEntry], ...]) -> RunSchema:
    """The schema with these pairs of a tag and its entry.

    Runs of a sweep that stopped at different steps have tables with different layouts, but the same
    entries, so they share one schema.
    """
    return RunSchema(dict(entries))


@lru_cache(maxsize=1 << 12)
def _kind(field: str, plugin_name: str, is_scalar: bool) -> Kind:
    """Returns the same object for equal arguments: there may be a million series."""
    return Kind(field, plugin_name, is_scalar)


def _with_plugin_name(series: Series, plugin_name: str) -> Series:
    """The series with this plugin name in its kind."""
    return series.with_kind(_kind(series.kind.field, plugin_name, series.kind.is_scalar))


@lru_cache(maxsize=1 << 8)
def _plugin_name(metadata: bytes | None) -> str:
    """The plugin name in a serialized SummaryMetadata; "" if there is none."""
    if metadata is None:
        return ""
    try:
        return SummaryMetadata.FromString(metadata).plugin_data.plugin_name
    except ProtobufDecodeError:
        return ""


def _ordinals(columns: Sequence[Column], first_ordinal: int) -> list[int | NDArray[np.int64]]:
    """The ordinals of each column's rows. The first row in file order has `first_ordinal`."""
    position = np.concatenate([position_array(column.position) for column in columns])
    ordinal = np.empty(len(position), np.int64)
    ordinal[np.argsort(position, kind="stable")] = np.arange(
        first_ordinal, first_ordinal + len(position)
    )
    return list(np.split(ordinal, np.cumsum([len(column.step) for column in columns])[:-1]))


def _select_masked(
    rows: tuple[Any, ...], ordinals: int | NDArray[np.int64], mask: NDArray[np.bool_]
) -> tuple[tuple[Any, ...], NDArray[np.int64]]:
    """The rows at which the mask is true, and their ordinals."""
    if isinstance(ordinals, int):
        ordinals = np.arange(ordinals, ordinals + len(mask), dtype=np.int64)
    return tuple(array[mask] for array in rows), ordinals[mask]
