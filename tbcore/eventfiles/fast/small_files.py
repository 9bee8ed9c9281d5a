"""Decodes a batch of small files as if they were one file.

A numpy call takes about as long for ten numbers as for a thousand, and each run of a sweep has a
file of only a few hundred records. So the records of all files of a batch are decoded together. The
result is a table for each file. Files that are alike are decoded even faster: see `file_templates`.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import Any, NamedTuple, TypeVar

import numpy as np
from google.protobuf.message import DecodeError as ProtobufDecodeError
from numpy.typing import NDArray

from tbcore.eventfiles.batch import BareEvent, Batch, DecodedItem, PayloadLocations, Table
from tbcore.eventfiles.batch_builder import control_event, graph_field, value_field
from tbcore.eventfiles.fast.file_templates import REFERENCE, FileTemplateCache
from tbcore.eventfiles.fast.layouts import LayoutCache, MatchedRecords
from tbcore.eventfiles.fast.references import References
from tbcore.eventfiles.fast.row_classes import Arrangement, RowClass, RowClasses
from tbcore.eventfiles.framing import (
    FRAMING_BYTES,
    HEADER_BYTES,
    Frames,
    find_bad_headers,
    find_damaged,
    record_bounds,
    stored_checksums,
)
from tbcore.eventfiles.proto.event_pb2 import Event
from tbcore.eventfiles.proto.summary_pb2 import Summary
from tbcore.tuning import Tuning

_ALIGNMENT = 8
"""Each file begins at a multiple of this many bytes in the buffer."""

_Entry = TypeVar("_Entry")

DecodedFile = tuple[int, list[DecodedItem]]
"""The number that `add` received for a file, and the file's items."""


class SmallFileDecoder:
    """Decodes batches of small files. What is learnt from one batch speeds up the next."""

    def __init__(self, tuning: Tuning) -> None:
        self._tuning = tuning
        self.forget()
        self.begin()

    def begin(self) -> None:
        """Begins a batch without files, whatever became of the last one."""
        self._starts = array("q")
        """Offset in the buffer of each record to decode, of all files in the batch."""
        self._files: list[_SmallFile] = []
        """The files with these records."""
        self._decoded: list[DecodedFile] = []
        """The files of the batch of which a template decoded everything."""

    def forget(self) -> None:
        """Drops all layouts, and what refers to layouts by number: row classes and templates."""
        self._layout_cache, self._row_classes = LayoutCache(), RowClasses(self._tuning)
        self._templates = FileTemplateCache(max_bytes=self._tuning.max_template_bytes)

    def add(self, number: int, buffer: bytearray, begin: int, end: int) -> int:
        """Adds the file `buffer[begin:end]` to the batch; returns where the next file may begin.

        The bytes between the files are set to zero.
        """
        # 1. If the rest of the file matches a template, decode the rest.
        # 2. Find the records before the rest. If they do not end where the rest begins, the length
        #    of a record is wrong: skip the file.
        # 3. Clear the gap before the next file. Zero bytes do not affect the raw checksums.
        last_items: list[DecodedItem] = []
        found = self._templates.find(buffer, begin, end)  # 1
        if found is not None:
            end, template = found
            last_items = list(template.items(buffer, end, -begin))
        if end == begin:
            self._decoded.append((number, last_items))
            return begin
        num_before = len(self._starts)
        self._starts.extend(record_bounds(buffer, begin, end))  # 2
        if self._starts.pop() != end:
            del self._starts[num_before:]
            return begin
        num_records = len(self._starts) - num_before
        self._files.append(_SmallFile(number, begin, end, num_records, last_items))
        following = -(-end // _ALIGNMENT) * _ALIGNMENT
        buffer[end:following] = bytes(following - end)  # 3
        return following

    def decode(self, buffer: bytearray) -> Iterator[DecodedFile]:
        """Decodes the files of the batch.

        Leaves out files that are damaged, or that hold values that cannot be in a table.
        """
        yield from self._decoded
        if self._files:
            yield from self._decode(buffer, self._files, np.array(self._starts, np.int64))

    def _decode(
        self, buffer: bytearray, files: Sequence[_SmallFile], starts: NDArray[np.int64]
    ) -> Iterator[DecodedFile]:
        """Decodes files whose records begin at `starts`."""
        # 1. Make the frames of all records, and the index of each record's file. `after_last` has
        #    the index after the last record of each file.
        # 2. If the length of a record is damaged, start again without the file of this record.
        # 3. Decode the records, and verify their checksums.
        # 4. Leave out files with damage, and files with values that cannot be in a table.
        # 5. Make the tables of all other files at once.
        # 6. Learn file templates.
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
                is_remaining = ~np.isin(file_of_record, list(damaged))
                yield from self._decode(buffer, remaining, starts[is_remaining])
            return
        if self._layout_cache.is_full() or self._row_classes.is_full():  # 3
            self.forget()
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
        to_learn: list[slice] = []
        for index, (file, after) in enumerate(zip(files, after_last.tolist(), strict=True)):  # 4
            if index in damaged:
                continue
            first = after - file.num_records
            if not file.last_items:
                to_learn.append(slice(first, after))
            planned = None
            if index not in unsupported:
                planned = records.planned_items(first, after)
            if planned is not None:
                decoded.append((file, planned))
        plans = [item for _, planned in decoded for item in planned if isinstance(item, _TablePlan)]
        tables = records.tables(plans)  # 5
        for file, planned in decoded:
            items = [next(tables) if isinstance(item, _TablePlan) else item for item in planned]
            yield file.number, [*items, *file.last_items]
        for picked in to_learn:  # 6
            bounds = [*starts[picked].tolist(), int(ends[picked.stop - 1])]
            layout_numbers = records.layout_numbers[picked]
            self._templates.learn(buffer, bounds, layout_numbers, self._layout_cache.layouts)


class _SmallFile(NamedTuple):
    """A file in the buffer, up to the rest that was decoded by a template."""

    number: int
    """The number that `add` received."""
    begin: int
    """Offset of the file in the buffer."""
    end: int
    """Offset in the buffer where the rest begins, or where the file ends if it has no such rest."""
    num_records: int
    """Number of records before `end`."""
    last_items: list[DecodedItem]
    """The items of the rest that was decoded by a template; empty if no template matched."""


class _TablePlan(NamedTuple):
    """What a table is made of: all rows of a file between two control events."""

    arrangement: Arrangement
    first_row: int
    """Index of the first row among the rows of all files."""
    bare_events: list[BareEvent]
    """The events without rows between the same two control events."""


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
        row_classes: RowClasses,
    ) -> None:
        """Decodes all records; `offsets` has the offset of each record in its file."""
        num_records = len(offsets)
        self._buffer, self._frames, self._offset = buffer, frames, offsets
        self._row_classes = row_classes
        self._step = np.zeros(num_records, np.int64)
        """Step of each record."""
        self._wall_time = np.zeros(num_records)
        """Wall time of each record."""
        self.layout_numbers = np.full(num_records, -1)
        """Layout number of each record; REFERENCE or -1 for a record that matches no layout."""
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
        self.layout_numbers[group.indices] = group.layout_numbers
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
        self.layout_numbers[found.indices] = REFERENCE

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
            rows = [(self._row_classes.number_of(RowClass(tag, field, False, None)), 0.0)]
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
        row_class = RowClass(tag, field, number is not None, metadata)
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
