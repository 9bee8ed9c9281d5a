"""Read-ahead: decodes many small files at once, before the loader gets to their runs.

A numpy call takes about as long for ten numbers as for a thousand, and each run of a sweep has a
file of only a few hundred records. So a batch of files is read into one buffer, and the records of
all these files are decoded together. The result is a table for each file, which the FileReader of
the file keeps until the file is read. Files that are alike are decoded even faster: see
`file_templates`.

Only whole, undamaged files are decoded here. Any other file is left to its FileReader, so that
damage and growth are handled in one place.

Rows are described by *row classes*, which are distinct combinations of tag, field and metadata.
Files whose rows have the same classes in the same order get tables with the same *arrangement*.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter
from typing import Any, NamedTuple, TypeVar

import numpy as np
from google.protobuf.message import DecodeError as ProtobufDecodeError
from numpy.typing import NDArray

from tbcore.eventfiles.batch import (
    BareEvent,
    Batch,
    DecodedItem,
    PayloadLocations,
    Table,
    TableLayout,
)
from tbcore.eventfiles.batch_builder import control_event, graph_field, value_field
from tbcore.eventfiles.decoder import PADDING_BYTES
from tbcore.eventfiles.file_templates import FileTemplateCache
from tbcore.eventfiles.framing import (
    FRAMING_BYTES,
    HEADER_BYTES,
    Frames,
    find_bad_headers,
    find_damaged,
    record_bounds,
    stored_checksums,
)
from tbcore.eventfiles.layouts import Layout, LayoutCache, MatchedRecords
from tbcore.eventfiles.proto.event_pb2 import Event
from tbcore.eventfiles.proto.summary_pb2 import Summary
from tbcore.eventfiles.references import References
from tbcore.eventfiles.tail import FileReader, WholeFile
from tbcore.tuning import Tuning, default_tuning

_BATCH_GROWTH = 4
"""Factor by which the number of files grows from batch to batch: what is learnt from the files of
one batch makes the files of the next batch faster to decode."""
_ALIGNMENT = 8
"""Each file begins at a multiple of this many bytes in the buffer."""

_Entry = TypeVar("_Entry")


class SmallFileReader:
    """Reads small files ahead, in batches. What is learnt from one batch speeds up the next."""

    def __init__(self, *, tuning: Tuning | None = None) -> None:
        self._tuning = tuning = tuning or default_tuning()
        self._buffer = bytearray()
        self._max_files = tuning.first_batch_files
        """Maximum number of files in the next batch."""
        self._templates = FileTemplateCache(max_values=tuning.max_template_values)
        self._layout_cache, self._row_classes = LayoutCache(), _RowClasses(tuning)

    def preload(self, readers: Iterable[FileReader]) -> None:
        """Reads the files of the first readers as one batch; each reader keeps its decoded items.

        A file is left to its reader if it is too large or damaged, or if it holds values that
        cannot be in a table.
        """
        # For each file, until the batch is full:
        # 1. Read it into the buffer.
        # 2. If the rest of the file matches a template, decode the rest.
        # 3. Find the records before the rest. If they do not end where the rest begins, the length
        #    of a record is wrong: skip the file.
        # 4. Clear the gap before the next file. Zero bytes do not affect the raw checksums.
        # Then decode the records that were found in all files.
        max_bytes, max_file_bytes = self._tuning.file_batch_bytes, self._tuning.small_file_bytes
        if not self._buffer:
            self._buffer = bytearray(max_bytes + PADDING_BYTES)
        files: list[_SmallFile] = []
        starts = array("q")
        at = num_bytes = num_files = 0
        for reader in readers:
            if num_files == self._max_files or num_bytes + max_file_bytes > max_bytes:
                break
            num_files += 1
            whole = reader.read_whole(self._buffer, at, max_file_bytes)  # 1
            if whole is None:
                continue
            num_bytes += whole.opened.size + _ALIGNMENT
            end, last_items = self._decode_rest(at, at + whole.opened.size)  # 2
            if end == at:
                reader.preload(whole, last_items)
                continue
            num_before = len(starts)
            starts.extend(record_bounds(self._buffer, at, end))  # 3
            if starts.pop() != end:
                del starts[num_before:]
                continue
            files.append(_SmallFile(reader, whole, at, end, len(starts) - num_before, last_items))
            at = -(-end // _ALIGNMENT) * _ALIGNMENT
            self._buffer[end:at] = bytes(at - end)  # 4
        self._max_files *= _BATCH_GROWTH
        if files:
            self._decode(files, np.array(starts, np.int64))

    def release_buffers(self) -> None:
        """Frees the buffer and most of what was learnt. The next `preload` makes them again."""
        self._buffer = bytearray()
        self._templates.release_buffers()
        self._clear_caches()

    def _clear_caches(self) -> None:
        """Drops all layouts, and all row classes, since row classes refer to layouts by number."""
        self._layout_cache, self._row_classes = LayoutCache(), _RowClasses(self._tuning)

    def _decode_rest(self, begin: int, end: int) -> tuple[int, list[DecodedItem]]:
        """Decodes the rest of the file `buffer[begin:end]`, if it matches a template.

        Returns where the rest begins, and its items; `end` and no items if no template matches.
        """
        found = self._templates.find(self._buffer, begin, end)
        if found is None:
            return end, []
        start, template = found
        return start, list(template.items(self._buffer, start, -begin))

    def _decode(self, files: Sequence[_SmallFile], starts: NDArray[np.int64]) -> None:
        """Decodes files whose records begin at `starts`; their readers keep the decoded items."""
        # 1. Make the frames of all records, and the index of each record's file. `after_last` has
        #    the index after the last record of each file.
        # 2. If the length of a record is damaged, start again without the file of this record.
        # 3. Decode the records, and verify their checksums.
        # 4. Leave out files with damage, and files with values that cannot be in a table.
        # 5. Make the tables of all other files at once, and pass each file's items to its reader.
        # 6. Learn file templates, from the longest file first: a shorter file may have the same
        #    records as the beginning of a longer file.
        buffer = self._buffer
        counts = np.array([file.num_records for file in files])  # 1
        after_last = np.cumsum(counts)
        ends = np.append(starts[1:], 0)
        ends[after_last - 1] = [file.end for file in files]
        frames = Frames(starts, ends - starts - FRAMING_BYTES, files[-1].end, "limit")
        file_of_record = np.repeat(np.arange(len(files)), counts)
        damaged = set(file_of_record[find_bad_headers(buffer, frames)].tolist())  # 2
        if damaged:
            remaining = [file for index, file in enumerate(files) if index not in damaged]
            if remaining:
                self._decode(remaining, starts[~np.isin(file_of_record, list(damaged))])
            return
        if self._layout_cache.is_full() or self._row_classes.is_full():  # 3
            self._clear_caches()
        begins = np.array([file.begin for file in files])
        records = _BatchRecords(
            buffer, frames, starts - begins[file_of_record], self._layout_cache, self._row_classes
        )
        slice_bytes = self._tuning.check_slice_bytes
        wrong_payloads = find_damaged(buffer, frames, slice_bytes=slice_bytes)
        wrong_records = [*wrong_payloads, *records.malformed]
        damaged = set(file_of_record[wrong_records].tolist())
        unsupported = set(file_of_record[records.unsupported].tolist())
        decoded: list[tuple[_SmallFile, list[DecodedItem | _TablePlan]]] = []
        to_learn: list[tuple[int, int]] = []
        for index, (file, after) in enumerate(zip(files, after_last.tolist(), strict=True)):  # 4
            if index in damaged:
                continue
            if not file.last_items:
                to_learn.append((file.begin, file.end))
            planned = None
            if index not in unsupported:
                planned = records.planned_items(after - file.num_records, after)
            if planned is not None:
                decoded.append((file, planned))
        plans = [item for _, planned in decoded for item in planned if isinstance(item, _TablePlan)]
        tables = records.tables(plans)  # 5
        for file, planned in decoded:
            items = [next(tables) if isinstance(item, _TablePlan) else item for item in planned]
            file.reader.preload(file.whole, [*items, *file.last_items])
        for begin, end in sorted(to_learn, key=lambda bounds: bounds[0] - bounds[1]):  # 6
            self._templates.learn(buffer, begin, end, self._layout_cache)


class _SmallFile(NamedTuple):
    """A file in the buffer, up to the rest that was decoded by a template."""

    reader: FileReader
    whole: WholeFile
    begin: int
    """Offset of the file in the buffer."""
    end: int
    """Offset in the buffer where the rest begins, or where the file ends if it has no such rest."""
    num_records: int
    """Number of records before `end`."""
    last_items: list[DecodedItem]
    """The items of the rest that was decoded by a template; empty if no template matched."""


# -- row classes ------------------------------------------------------------------------------


class _RowClass(NamedTuple):
    """The tag, field and metadata that all rows of one class have in common."""

    tag: str
    field: str
    is_scalar: bool
    metadata: bytes | None
    """Serialized SummaryMetadata; None if the values carry none."""


class _Arrangement(NamedTuple):
    """How rows with a given sequence of classes are arranged in a table."""

    table_layout: TableLayout
    order: NDArray[np.int64]
    """Row i of the table is row `order[i]` in the order written."""
    has_references: bool


class _TablePlan(NamedTuple):
    """What a table is made of: all rows of a file between two control events."""

    arrangement: _Arrangement
    first_row: int
    """Index of the first row among the rows of all files."""
    bare_events: list[BareEvent]
    """The events without rows between the same two control events."""


class _RowClasses:
    """The row classes of all files so far, and the arrangements of tables.

    Classes are numbered, so that the rows of many files can be described by an array of integers.
    """

    def __init__(self, tuning: Tuning) -> None:
        self._tuning = tuning
        self._classes: list[_RowClass] = []
        self._numbers: dict[_RowClass, int] = {}
        """Maps a class that does not belong to a layout to its class number."""
        self._num_bytes = 0
        """Total length of the tags and metadata of all classes."""
        self._first_classes = np.empty(0, np.int64)
        """Class number of each layout's first value. The values of a layout have a class each, with
        consecutive class numbers."""
        self._columns: list[int] = []
        """Column number of each class. Rows are in the same column of a table if their classes have
        the same column number."""
        self._column_numbers: dict[tuple[str, str, bool], int] = {}
        """Maps tag, field and scalar-or-not to the column number."""
        self._arrangements: dict[bytes, _Arrangement | None] = {}
        """Maps the class numbers of rows, as bytes, to the rows' arrangement; None if these rows
        cannot be in one table."""
        self._num_arranged_rows = 0
        """Number of rows in all cached arrangements."""

    def is_full(self) -> bool:
        """Whether there are so many classes that this object should be replaced by an empty one."""
        tuning = self._tuning
        return (
            len(self._classes) > tuning.max_row_classes
            or self._num_bytes > tuning.max_row_class_bytes
        )

    def number_of(self, row_class: _RowClass) -> int:
        """The class number of a row class, which is added if it is new."""
        number = self._numbers.get(row_class)
        if number is None:
            number = self._numbers[row_class] = self._add(row_class)
        return number

    def first_classes(self, layouts: Sequence[Layout]) -> NDArray[np.int64]:
        """The class number of each layout's first value; the numbers of its other values follow.

        `layouts` begins with the layouts of all earlier calls. Classes are added for the layouts
        that are new.
        """
        new = layouts[len(self._first_classes) :]
        if new:
            firsts = []
            for layout in new:
                firsts.append(len(self._classes))
                for slot in layout.slots:
                    self._add(_RowClass(slot.tag, slot.field, True, slot.metadata))
            self._first_classes = np.append(self._first_classes, firsts)
        return self._first_classes

    def of_references(self, references: References) -> NDArray[np.int64]:
        """The class number of each reference."""
        # Encode each pair of a name and metadata as one integer. Index 0 of `metadata` means no
        # metadata, so the indices of `references.distinct_metadata` are shifted by 1.
        metadata = [None, *references.distinct_metadata]
        pairs = references.name_indices * len(metadata) + references.metadata_indices + 1
        distinct, pair_indices = np.unique(pairs, return_inverse=True)
        numbers = [
            self.number_of(_RowClass(tag, field, False, metadata[pair % len(metadata)]))
            for pair in distinct.tolist()
            for tag, field in [references.names[pair // len(metadata)]]
        ]
        return np.array(numbers, np.int64)[pair_indices]

    def arrangement(self, row_classes: NDArray[np.int64]) -> _Arrangement | None:
        """The arrangement of rows of these classes, given in the order written.

        Returns None if they cannot be in one table, because a tag would have two columns.
        """
        key = row_classes.tobytes()
        if key not in self._arrangements:
            self._num_arranged_rows += len(row_classes)
            if self._num_arranged_rows > self._tuning.max_table_layout_rows:
                self._arrangements, self._num_arranged_rows = {}, len(row_classes)
            self._arrangements[key] = self._arrange(row_classes)
        return self._arrangements[key]

    def _add(self, row_class: _RowClass) -> int:
        """Adds a row class and returns its class number."""
        self._classes.append(row_class)
        self._num_bytes += len(row_class.tag) + len(row_class.metadata or b"")
        key = row_class[:3]
        self._columns.append(self._column_numbers.setdefault(key, len(self._column_numbers)))
        return len(self._classes) - 1

    def _arrange(self, row_classes: NDArray[np.int64]) -> _Arrangement | None:
        """The same as `arrangement`, without the cache."""
        # 1. Find the distinct classes, and the first row of each class.
        # 2. In the order of these first rows, list the columns of the table, and find the first
        #    metadata of each column. (All rows of a class have the same metadata.)
        # 3. Make the table layout from the column of each row.
        classes, first_rows, class_of_row = np.unique(  # 1
            row_classes, return_index=True, return_inverse=True
        )
        columns: dict[int, int] = {}
        """Maps a column number (see `_columns`) to the index of the column in the table."""
        keys: list[tuple[str, str, bool]] = []
        metadata: dict[int, tuple[int, bytes]] = {}
        column_of_class = np.empty(len(classes), np.int64)
        for i in np.argsort(first_rows).tolist():  # 2
            number = int(classes[i])
            row_class = self._classes[number]
            column = columns.setdefault(self._columns[number], len(columns))
            if column == len(keys):
                keys.append(row_class[:3])
            if row_class.metadata is not None and column not in metadata:
                metadata[column] = int(first_rows[i]), row_class.metadata
            column_of_class[i] = column
        if len({tag for tag, _, _ in keys}) < len(keys):
            return None
        table_layout, order = TableLayout.of(column_of_class[class_of_row], keys, metadata)  # 3
        return _Arrangement(table_layout, order, not all(is_scalar for _, _, is_scalar in keys))


# -- records ------------------------------------------------------------------------------------


class _BatchRecords:
    """The decoded records of a batch of files, and their rows.

    Each array has one element for each record, or one for each row. A record has as many rows as
    its event has values.
    """

    def __init__(
        self,
        buffer: bytearray,
        frames: Frames,
        offsets: NDArray[np.int64],
        layout_cache: LayoutCache,
        row_classes: _RowClasses,
    ) -> None:
        """Decodes all records; `offsets` has the offset of each record in its file."""
        num_records = len(offsets)
        self._buffer, self._frames, self._offset = buffer, frames, offsets
        self._row_classes = row_classes
        self._step = np.zeros(num_records, np.int64)
        """Step of each record."""
        self._wall_time = np.zeros(num_records)
        """Wall time of each record."""
        self._first_class = np.zeros(num_records, np.int64)
        """Class number of each record's first row; the class numbers of its other rows follow. For
        a record that was decoded by protobuf, it is 0: the classes of its rows are set at the
        end."""
        self._num_rows = np.zeros(num_records, np.int64)
        """Number of rows of each record."""
        self._control_events: list[tuple[int, DecodedItem]] = []
        """Index of the record and decoded item of each control event, ascending by index."""
        self._bare_events: list[tuple[int, BareEvent]] = []
        """Index of the record and bare event of each event without rows, ascending by index."""
        self.malformed: list[int] = []
        """Indices of records that hold no valid event."""
        self.unsupported: list[int] = []
        """Indices of records with values that cannot be in a table, because the values are float64
        or were written by a debugger."""
        # 1. Decode each record in the first of these ways that is possible: by a known layout, by
        #    its value header, by a new layout, by protobuf.
        # 2. Expand the records into rows.
        # 3. Set the values of all rows, and the classes of the rows that protobuf decoded.
        payloads = buffer, frames.starts + HEADER_BYTES, frames.lengths  # 1
        matched = layout_cache.match(*payloads)
        values = [self._add_matched(group, layout_cache) for group in matched]
        self._add_references()
        learnt = layout_cache.learn(*payloads, np.flatnonzero(self._num_rows == 0))
        values += [self._add_matched(group, layout_cache) for group in learnt]
        matched += learnt
        undecoded = np.flatnonzero(self._num_rows == 0).tolist()
        events = [(i, self._add_event(i)) for i in undecoded]

        self._row_bounds = np.append(0, np.cumsum(self._num_rows))  # 2
        """Index of each record's first row; the last element is the number of all rows."""
        self._record = np.repeat(np.arange(num_records), self._num_rows)
        """Index of each row's record."""
        self._index = np.arange(len(self._record)) - self._row_bounds[self._record]
        """Index of each row's value in its event."""
        self._class = self._first_class[self._record] + self._index
        """Class number of each row."""
        self._value = np.zeros(len(self._record), np.float32)  # 3
        """The scalar in each row; 0 for a reference."""
        for group, columns in zip(matched, values, strict=True):
            first_rows = self._row_bounds[group.indices]
            for index, column in enumerate(columns):
                self._value[first_rows + index] = column
        for i, rows in events:
            begin, end = self._row_bounds[i : i + 2].tolist()
            self._class[begin:end] = [number for number, _ in rows]
            self._value[begin:end] = [value for _, value in rows]

    def _add_matched(
        self, group: MatchedRecords, layout_cache: LayoutCache
    ) -> list[NDArray[np.floating[Any]]]:
        """Adds records of one group; returns an array of numbers for each value of their layouts.

        Returns no arrays if any array is not float32: all these records are then unsupported.
        """
        wall_times, steps, values = group.columns(slice(None))
        self._wall_time[group.indices] = wall_times
        self._step[group.indices] = steps
        first_classes = self._row_classes.first_classes(layout_cache.layouts)
        self._first_class[group.indices] = first_classes[group.layout_numbers]
        self._num_rows[group.indices] = len(values)
        if any(column.dtype != np.float32 for column in values):
            self.unsupported += group.indices.tolist()
            return []
        return values

    def _add_references(self) -> None:
        """Decodes and adds all records with value headers that are not decoded yet."""
        undecoded = np.flatnonzero(self._num_rows == 0)
        found = References.of(self._buffer, self._frames, undecoded, 0)
        self._wall_time[found.indices] = found.wall_time
        self._step[found.indices] = found.step
        self._first_class[found.indices] = self._row_classes.of_references(found)
        self._num_rows[found.indices] = 1

    def _add_event(self, i: int) -> list[tuple[int, float]]:
        """Decodes record i by protobuf and adds it.

        Returns a pair for each row: its class number, and its scalar or 0.
        """
        begin = int(self._frames.starts[i]) + HEADER_BYTES
        payload = self._buffer[begin : begin + int(self._frames.lengths[i])]
        try:
            event = Event.FromString(bytes(payload))
        except ProtobufDecodeError:
            self.malformed.append(i)
            return []
        step, wall_time = event.step, event.wall_time
        control = control_event(event)
        if control is not None:
            self._control_events.append((i, control))
            return []
        graph = graph_field(event)
        if graph is not None:
            tag, field = graph
            rows = [(self._row_classes.number_of(_RowClass(tag, field, False, None)), 0.0)]
        else:
            rows = list(filter(None, map(self._row_of, event.summary.value)))
            if len(rows) < len(event.summary.value):
                self.unsupported.append(i)
        if not rows:
            is_summary = event.HasField("summary")
            bare = BareEvent(int(self._offset[i]), step, wall_time, is_summary)
            self._bare_events.append((i, bare))
        self._step[i], self._wall_time[i], self._num_rows[i] = step, wall_time, len(rows)
        return rows

    def _row_of(self, value: Summary.Value) -> tuple[int, float] | None:
        """The class number of a value's row, and its scalar, or 0 for a reference.

        Returns None if the value cannot be in a table.
        """
        found = value_field(value)
        if found is None:
            return None
        tag, field, number = found
        if isinstance(number, np.float64):
            return None
        metadata = value.metadata.SerializeToString() if value.HasField("metadata") else None
        row_class = _RowClass(tag, field, number is not None, metadata)
        return self._row_classes.number_of(row_class), 0.0 if number is None else float(number)

    def planned_items(self, first: int, after: int) -> list[DecodedItem | _TablePlan] | None:
        """The items of the records in `range(first, after)`, with plans in place of tables.

        Returns None if there are rows that one table cannot hold.
        """
        items: list[DecodedItem | _TablePlan] = []
        controls = _between(self._control_events, first, after)
        for end, control in [*controls, (after, None)]:
            first_row, end_row = int(self._row_bounds[first]), int(self._row_bounds[end])
            bare_events = [event for _, event in _between(self._bare_events, first, end)]
            if first_row < end_row:
                arrangement = self._row_classes.arrangement(self._class[first_row:end_row])
                if arrangement is None:
                    return None
                items.append(_TablePlan(arrangement, first_row, bare_events))
            elif bare_events:
                items.append(Batch(bare_events=bare_events))
            if control is not None:
                items.append(control)
            first = end + 1
        return items

    def tables(self, plans: Sequence[_TablePlan]) -> Iterator[Table]:
        """Yields the table of each plan."""
        # 1. Arrange the rows of all tables, and gather the columns of these rows at once.
        # 2. If there are references, gather the locations of their payloads.
        # 3. Divide the columns among the tables.
        if not plans:
            return
        order = np.concatenate([plan.arrangement.order + plan.first_row for plan in plans])  # 1
        record, index = self._record[order], self._index[order]
        position = self._offset[record] + index
        step, wall_time, value = self._step[record], self._wall_time[record], self._value[order]
        all_locations: tuple[NDArray[np.uint32], ...] = ()
        if any(plan.arrangement.has_references for plan in plans):  # 2
            length = self._frames.lengths[record]
            crc = stored_checksums(self._buffer, self._frames.starts[record], length)
            all_locations = length.astype(np.uint32), index.astype(np.uint32), crc
        end = 0
        for arrangement, _, bare_events in plans:  # 3
            rows = slice(end, end := end + len(arrangement.order))
            locations = None
            if arrangement.has_references:
                locations = PayloadLocations(*(array[rows] for array in all_locations))
            columns = position[rows], step[rows], wall_time[rows], value[rows]
            yield Table(arrangement.table_layout, 0, *columns, locations, bare_events)


def _between(entries: list[tuple[int, _Entry]], first: int, after: int) -> list[tuple[int, _Entry]]:
    """The entries of the records in `range(first, after)`.

    An entry begins with the index of its record, and the entries are in ascending order.
    """
    begin, end = (bisect_left(entries, record, key=itemgetter(0)) for record in (first, after))
    return entries[begin:end]
