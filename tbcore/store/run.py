"""RunData: the data of one run while it is read, and the views of it that readers get.

Rows come in the order of the files and are appended; a restart of the training job drops those
that it orphaned. Only the loader's thread uses it.
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
    FileVersion,
    Item,
    ReferenceColumn,
    ScalarColumn,
    SessionStart,
    Table,
    TableShape,
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
_EMPTY_RUN = RunView()
_NO_STEP = -(1 << 63) - 1
"""Below any other."""
_FIRST_ARRAY_FIELD = 4
"""What comes in a column from here on are arrays of rows, in the order of a series' columns."""
_MAX_SPARE_SHARE = 64.0
"""Tags that are logged at the beginning only get too much room, until the run is settled."""


class RunData:
    """The series of one run in the making."""

    def __init__(self, *, purge_orphaned_data: bool = True, max_points: int = 0) -> None:
        """`max_points` bounds each scalar series to a sample of that size; 0 keeps all rows."""
        self._purge_orphaned_data = purge_orphaned_data
        self._max_points = max_points
        self._view = _EMPTY_RUN
        """As committed last."""
        self._tag_index = self._view.tag_index
        self._tags: Mapping[str, TagView] = {}
        self._files: list[FileRef] = []
        self._first_event_time: float | None = None
        self._last_event_times: dict[int, float] = {}
        """By file, of its last event."""
        self._nonfinite: set[str] = set()
        """Tags with scalars that are NaN or infinite."""
        self._nonfinite_in_order: tuple[str, ...] = ()
        self._is_changed = False
        """Since the last commit. The dictionary of tags is then our own and may be written to."""
        self._untrimmed_tags: set[str] = set()
        """Tags that may have spare room to give back, or rows above the bound."""
        self._first_path_read: str | None = None
        """Of the files that gave items, the one that comes first."""
        self._version: float | None = None
        self._versions: dict[int, float] = {}
        """By file; `_version` for files that name none."""
        self._most_recent_step = -1
        self._has_started = False
        self._highest_step_by_tag: dict[str, int] = {}
        """Tag to the highest step of those of its rows that a START may drop."""
        self._highest_step = _NO_STEP
        self._tags_to_remeasure: set[str] | None = None
        """Tags that changed since; None as long as there was no START that may drop any."""
        self._bytes_before = self._bytes_total = 0

    # -- files ---------------------------------------------------------------------------------

    def add_file(self, path: str) -> int:
        """The index by which the items of this file are told from those of others."""
        self._begin_change()
        self._files.append(FileRef(path, -1, -1))
        return len(self._files) - 1

    def set_file_identity(self, file_index: int, device: int, inode: int) -> None:
        """Says which file was opened, before its first item."""
        file = self._files[file_index]
        if (file.device, file.inode) != (device, inode):
            self._begin_change()
            self._files[file_index] = FileRef(file.path, device, inode)

    @property
    def first_event_time(self) -> float | None:
        """When the run began, in seconds since the epoch; None as long as that is not known."""
        return self._first_event_time

    def set_first_event_time(self, wall_time: float | None) -> None:
        """Says when the run began; the first time that is given stays."""
        if self._first_event_time is None and wall_time is not None:
            self._begin_change()
            self._first_event_time = wall_time

    def set_expected_size(self, bytes_before: int, bytes_total: int) -> None:
        """Says how much of the run was read before the file that comes, and how much there is.

        From that follows how many rows a tag will have, which spares growing it again and again.
        0 for both: nobody knows, the run is live.
        """
        self._bytes_before, self._bytes_total = bytes_before, bytes_total

    # -- items, in the order read ----------------------------------------------------------------

    def add_item(self, item: Item, file_index: int) -> None:
        """Takes whatever a file gives, in file order; copies what it keeps of it."""
        if isinstance(item, Batch):
            self.add_batch(item, file_index)
        elif isinstance(item, FileVersion):
            self.add_file_version(item, file_index)
        else:
            self.add_session_start(item, file_index)

    def add_file_version(self, item: FileVersion, file_index: int) -> None:
        """Takes the version of a file, which decides how restarts are told."""
        self._mark_file_read(file_index)
        self._update_last_event_time(file_index, item.wall_time)
        self._version = self._versions[file_index] = item.version
        if self._finds_restarts_by_step(file_index):
            self._most_recent_step = item.step

    def add_session_start(self, item: SessionStart, file_index: int) -> None:
        """Takes a START: the rows at its step and above are orphans, whatever their kind.

        But for the first START of a run with no file before: writers may emit values before it.
        """
        is_first_file = self._mark_file_read(file_index)
        self._update_last_event_time(file_index, item.wall_time)
        is_first_start = not self._has_started
        self._has_started = True
        if self._finds_restarts_by_step(file_index):
            self._most_recent_step = item.step
        elif self._purge_orphaned_data and not (is_first_file and is_first_start):
            for tag in self._tags_with_steps_from(item.step):
                self._purge(tag, item.step)

    def add_batch(self, batch: Batch, file_index: int) -> None:
        """Takes rows; copies what it keeps of them."""
        if isinstance(batch, Table) and self._append_table(batch, file_index):
            return
        self._mark_file_read(file_index)
        scalars, references, bare_events = batch.scalars, batch.references, batch.bare_events
        columns: list[Column] = [*scalars, *references]
        if scalars and references:
            columns.sort(key=lambda column: column.position[0])
        self._update_last_event_time(file_index, _last_wall_time(columns, bare_events))
        kept: Sequence[NDArray[np.bool_] | None] = [None] * len(columns)
        if self._purge_orphaned_data and self._finds_restarts_by_step(file_index):
            orphans = self._find_orphaned_rows(columns, bare_events)
            kept = orphans.kept
            for tag, limit in orphans.limits.items():
                self._purge(tag, limit)
        if not columns:
            return
        self._begin_change()
        spare_share = self._spare_share(
            max(int(columns[0].position[-1]), int(columns[-1].position[-1]))
        )
        by_tag: dict[str, list[int]] = {}
        for number, column in enumerate(columns):
            by_tag.setdefault(column.tag, []).append(number)
        for tag, numbers in by_tag.items():
            mine = [columns[n] for n in numbers]
            self._append_columns(tag, mine, [kept[n] for n in numbers], file_index, spare_share)

    # -- views ---------------------------------------------------------------------------------

    def trim_spare_capacity(self) -> None:
        """Gives spare room back: the run was read to its end, and grows slowly from now on."""
        for tag in self._untrimmed_tags:
            all_series = self._tags[tag].series
            self._replace_series(
                tag, [self._downsampled(series).trimmed() for series in all_series]
            )
        self._untrimmed_tags.clear()

    def commit(self) -> RunView:
        """The run as it is now; the same view as before if nothing changed."""
        if not self._is_changed:
            return self._view
        if self._max_points:
            for tag in self._untrimmed_tags:
                self._replace_series(
                    tag, [self._downsampled(series) for series in self._tags[tag].series]
                )
        self._is_changed = False
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

    # -- inside --------------------------------------------------------------------------------

    def _begin_change(self) -> None:
        """Before anything is changed: from here on a dictionary of tags is no longer the view's."""
        if not self._is_changed:
            if isinstance(self._tags, dict):
                self._tags = self._tags.copy()
            self._is_changed = True

    def _mark_file_read(self, file_index: int) -> bool:
        """Notes that the file has given an item; whether none of the run's files before it has."""
        path = self._files[file_index].path
        if self._first_path_read is None or path < self._first_path_read:
            self._first_path_read = path
        return path == self._first_path_read

    def _update_last_event_time(self, file_index: int, wall_time: float) -> None:
        """Notes when the last event of the file was written. No time at all is left out."""
        if wall_time == wall_time and self._last_event_times.get(file_index) != wall_time:
            self._begin_change()
            self._last_event_times[file_index] = wall_time

    def _finds_restarts_by_step(self, file_index: int) -> bool:
        version = self._versions.get(file_index, self._version)
        return version is None or not version >= 2

    def _find_orphaned_rows(
        self, columns: Sequence[Column], bare_events: Sequence[BareEvent]
    ) -> OrphanedRows:
        # Graphs are among the bare events too, and count as such.
        rows = [
            SummaryRows(c.tag, c.position[:0], c.step[:0])
            if c.field in GRAPH_FIELDS
            else SummaryRows(c.tag, c.position, c.step)
            for c in columns
        ]
        orphans = find_orphaned_rows(rows, bare_events, self._most_recent_step)
        self._most_recent_step = orphans.most_recent_step
        return orphans

    def _tags_with_steps_from(self, step: int) -> list[str]:
        """Tags with rows at this step or above. Only those that changed are looked at, since a
        file may hold thousands of STARTs, most of which drop nothing."""
        if self._tags_to_remeasure is None:
            self._tags_to_remeasure = set(self._tags)
        for tag in self._tags_to_remeasure:
            all_series = self._tags[tag].series
            steps = [s.highest_step() for s in all_series if s.kind.field not in GRAPH_FIELDS]
            known = [step for step in steps if step is not None]
            self._highest_step_by_tag[tag] = max(known, default=_NO_STEP)
        if self._tags_to_remeasure:
            self._highest_step = max(self._highest_step_by_tag.values())
            self._tags_to_remeasure.clear()
        if step > self._highest_step:
            return []
        return [tag for tag, highest in self._highest_step_by_tag.items() if highest >= step]

    def _purge(self, tag: str, limit: int) -> None:
        view = self._tags.get(tag, _EMPTY_TAG)
        all_series = list(view.series)
        for number, series in enumerate(all_series):
            # The graph stays the graph.
            if series.kind.field not in GRAPH_FIELDS:
                num_shared = self._num_shared_rows(tag, series)
                all_series[number] = series.purged(limit, num_shared=num_shared)
        if self._replace_series(tag, all_series):
            self._untrimmed_tags.add(tag)

    def _num_shared_rows(self, tag: str, series: Series) -> int:
        """Rows of the series' block that a view shows. Views before the last one show no more."""
        shown = self._view.tags.get(tag, _EMPTY_TAG).series
        return next((s.length for s in shown if s.block is series.block), 0)

    def _replace_series(self, tag: str, all_series: Sequence[Series]) -> bool:
        """Puts these series in the place of the tag's; False if they are the same."""
        view = self._tags.get(tag, _EMPTY_TAG)
        if all(new is old for new, old in zip(all_series, view.series, strict=True)):
            return False
        self._begin_change()
        self._set_tag(tag, TagView(tuple(all_series), view.num_rows, view.metadata))
        return True

    def _set_tag(self, tag: str, view: TagView) -> None:
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
        if not self._max_points or not series.kind.is_scalar:
            return series
        return series.downsampled(self._max_points)

    def _spare_share(self, position: int) -> float:
        """Room to make for rows that are still to come, as a share of those that are there.

        `position` is about that of the last row in its file.
        """
        if not self._bytes_total:
            return LIVE_SPARE_SHARE
        done = self._bytes_before + position
        # Records grow longer as steps do, so that this says too much rather than too little.
        expected = self._bytes_total / max(done, 1) - 1
        return min(max(expected + LOADED_SPARE_SHARE / 2, LOADED_SPARE_SHARE), _MAX_SPARE_SHARE)

    def _append_table(self, table: Table, file_index: int) -> bool:
        """Takes first rows of tags, all at once; False if they are not, or not to be."""
        lazy_tags = self._tags if isinstance(self._tags, LazyTagMap) else None
        if (self._tags and not lazy_tags) or self._max_points or table.value.dtype != np.float32:
            return False
        if self._purge_orphaned_data and self._finds_restarts_by_step(file_index):
            return False
        new = _schema(table.shape)
        schema = lazy_tags.extended_schema(new) if lazy_tags else new
        if schema is None:
            return False
        spare_share = self._spare_share(table.origin + int(table.position[table.shape.last]))
        blocks = []
        for numbers, is_scalar, rows in table.shape.groups:
            columns = _table_rows(table, is_scalar, rows, file_index)
            layout = FLOAT32 if is_scalar else REFERENCE
            blocks.append(SeriesBlock.of(layout, len(numbers), columns, spare_share=spare_share))
        self._mark_file_read(file_index)
        self._update_last_event_time(file_index, table.last_wall_time)
        self._begin_change()
        self._tags = lazy_tags.extended(schema, blocks) if lazy_tags else LazyTagMap(schema, blocks)
        self._tag_index = schema.tag_index
        for group, block in zip(table.shape.groups, blocks, strict=True):
            self._nonfinite.update(
                table.shape.columns[group.columns[number]].tag
                for number in block.nonfinite_series()
            )
        if self._tags_to_remeasure is not None:
            self._tags_to_remeasure.update(new.entries)
        if not all(block.is_trimmed for block in blocks):
            self._untrimmed_tags.update(new.entries)
        return True

    def _append_columns(
        self,
        tag: str,
        columns: Sequence[Column],
        kept: Sequence[NDArray[np.bool_] | None],
        file_index: int,
        spare_share: float,
    ) -> None:
        """Append the columns of one tag."""
        view = self._tags.get(tag, _EMPTY_TAG)
        all_series, metadata, num_rows = list(view.series), view.metadata, view.num_rows
        if metadata is None:
            found = [c.metadata for c in columns if c.metadata is not None]
            metadata = min(found).data if found else None
        if metadata is view.metadata and all_series:
            plugin_name = all_series[0].kind.plugin_name
        else:
            plugin_name = _plugin_name(metadata)
            if plugin_name and all_series:
                all_series = [_with_plugin_name(series, plugin_name) for series in all_series]
                self._tag_index = TagIndex()
        # Series of one tag take turns at its ordinals.
        all_ordinals = [num_rows] if len(columns) == 1 else _ordinals(columns, num_rows)
        for column, mask, ordinals in zip(columns, kept, all_ordinals, strict=True):
            num_rows += len(column.step)
            is_scalar = isinstance(column, ScalarColumn)
            number = _series_index(all_series, column.field, is_scalar)
            if number == len(all_series):
                all_series.append(Series.empty(_kind(column.field, plugin_name, is_scalar)))
                self._tag_index = TagIndex()
            rows: tuple[Any, ...] = column[_FIRST_ARRAY_FIELD:]
            if mask is not None and not mask.all():
                rows, ordinals = _select_masked(rows, ordinals, mask)
            if not is_scalar:
                rows = (*rows, file_index)
            series = all_series[number].appended(rows, ordinals, spare_share=spare_share)
            if self._max_points and series.length > 2 * self._max_points:
                series = self._downsampled(series)
            all_series[number] = series
        self._set_tag(tag, TagView(tuple(all_series), num_rows, metadata))
        self._untrimmed_tags.add(tag)


def _table_rows(table: Table, is_scalar: bool, rows: slice, file_index: int) -> tuple[Any, ...]:
    """Some rows of a table, in the order of a series' columns."""
    shown = table.step[rows], table.wall_time[rows]
    if is_scalar or table.whereabouts is None:
        return *shown, table.value[rows]
    length, index, crc = (array[rows] for array in table.whereabouts)
    offset = table.position[rows] - index + table.origin
    return *shown, offset, length, index, crc, file_index


def _last_wall_time(columns: Sequence[Column], bare_events: Sequence[BareEvent]) -> float:
    """Of the event that stands last; NaN when there is none."""
    last, wall_time = -1, math.nan
    for column in columns:
        if column.position[-1] > last:
            last, wall_time = column.position[-1], column.wall_time[-1]
    if bare_events and bare_events[-1].position > last:
        return bare_events[-1].wall_time
    return float(wall_time)


def _series_index(all_series: Sequence[Series], field: str, is_scalar: bool) -> int:
    """Which of a tag's series it is; their number if none of them is."""
    for number, series in enumerate(all_series):
        if series.kind.field == field and series.kind.is_scalar is is_scalar:
            return number
    return len(all_series)


@lru_cache(maxsize=1 << 8)
def _schema(shape: TableShape) -> RunSchema:
    """What runs become whose first rows are such a table."""
    entries: dict[str, SchemaEntry] = {}
    for block, group in enumerate(shape.groups):
        for number, index in enumerate(group.columns):
            tag, field, is_scalar, metadata, _ = shape.columns[index]
            data = metadata[1] if metadata else None
            entries[tag] = SchemaEntry(
                block, number, _kind(field, _plugin_name(data), is_scalar), data
            )
    return _shared_schema(tuple((column.tag, entries[column.tag]) for column in shape.columns))


@lru_cache(maxsize=1 << 6)
def _shared_schema(entries: tuple[tuple[str, SchemaEntry], ...]) -> RunSchema:
    # Runs that were stopped at different steps have the same tags in the same entries.
    return RunSchema(dict(entries))


@lru_cache(maxsize=1 << 12)
def _kind(field: str, plugin_name: str, is_scalar: bool) -> Kind:
    # One object for each kind: there may be as many series as there are stars.
    return Kind(field, plugin_name, is_scalar)


def _with_plugin_name(series: Series, plugin_name: str) -> Series:
    return series.with_kind(_kind(series.kind.field, plugin_name, series.kind.is_scalar))


@lru_cache(maxsize=1 << 8)
def _plugin_name(metadata: bytes | None) -> str:
    if metadata is None:
        return ""
    try:
        return SummaryMetadata.FromString(metadata).plugin_data.plugin_name
    except ProtobufDecodeError:
        return ""


def _ordinals(columns: Sequence[Column], first: int) -> list[int | NDArray[np.int64]]:
    """OrdinalRanges from `first` on, given to the rows of all columns in file order."""
    position = np.concatenate([position_array(column.position) for column in columns])
    ordinal = np.empty(len(position), np.int64)
    ordinal[np.argsort(position, kind="stable")] = np.arange(first, first + len(position))
    return list(np.split(ordinal, np.cumsum([len(column.step) for column in columns])[:-1]))


def _select_masked(
    rows: tuple[Any, ...], ordinals: int | NDArray[np.int64], mask: NDArray[np.bool_]
) -> tuple[tuple[Any, ...], NDArray[np.int64]]:
    """Only the rows where the mask is true."""
    if isinstance(ordinals, int):
        ordinals = np.arange(ordinals, ordinals + len(mask), dtype=np.int64)
    return tuple(array[mask] for array in rows), ordinals[mask]
