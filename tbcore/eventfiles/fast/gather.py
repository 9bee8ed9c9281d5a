"""Gathers the rows of many records into tables at once.

The records are those of one round, or of a whole batch of small files: a numpy call takes about as
long for ten numbers as for a thousand. A record is decoded by the first way that fits it:

  layouts         scalars: matched and gathered in bulk
  value headers   images, histograms and texts: all but their content
  protobuf        everything else
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from operator import itemgetter
from typing import Any, NamedTuple, TypeVar

import numpy as np
from google.protobuf.message import DecodeError as ProtobufDecodeError
from numpy.typing import NDArray

from tbcore.eventfiles.fast.layouts import LayoutCache, MatchedRecords
from tbcore.eventfiles.fast.references import FoundReferences
from tbcore.eventfiles.fast.row_classes import RowClasses
from tbcore.eventfiles.framing import HEADER_BYTES, Frames, stored_checksums
from tbcore.eventfiles.plain import EventRow, bare_event, bare_table, control_event, rows_of
from tbcore.eventfiles.proto.event_pb2 import Event
from tbcore.eventfiles.table import (
    Arrangement,
    BareEvent,
    DecodedItem,
    References,
    Table,
    last_time,
)
from tbcore.tuning import Tuning

REFERENCE = -2
"""Stands for the layout number of a record that holds a reference, and so has no layout."""

_Entry = TypeVar("_Entry")


class Learnt:
    """What was learnt from the records so far."""

    def __init__(self, tuning: Tuning) -> None:
        self.layout_cache, self.row_classes = LayoutCache(), RowClasses(tuning)

    def is_full(self) -> bool:
        """Whether there is so much that this object should be replaced by an empty one."""
        return self.layout_cache.is_full() or self.row_classes.is_full()


class _Segment(NamedTuple):
    """What a table is made of: rows between two control events, or at the end of a file."""

    arrangement: Arrangement
    first_row: int
    """Index of the first row among the rows of all records."""
    bare_events: list[BareEvent]
    last_wall_time: float


class Records:
    """Decoded records, and their rows.

    Each array has one element for each record, or one for each row. A record has a row for each
    value of its event.
    """

    def __init__(
        self,
        buffer: bytearray,
        frames: Frames,
        offsets: NDArray[np.int64],
        learnt: Learnt,
        *,
        damaged: NDArray[np.int64] | None = None,
        min_references: int = 1,
        is_enough: Callable[[], bool] = lambda: False,
    ) -> None:
        """Decodes all records but the damaged ones; `offsets` has the offset of each in its file.

        Fewer records than `min_references` are not tried by value headers. When `is_enough` returns
        true after a record that protobuf decoded, later records are left out.
        """
        num_records = len(offsets)
        self._buffer, self._frames, self._offset = buffer, frames, offsets
        self._learnt = learnt
        self._step = np.zeros(num_records, np.int64)
        self._wall_time = np.zeros(num_records)
        self._is_event = np.ones(num_records, np.bool_)
        """False for records that are damaged, malformed or control events."""
        self.layout_numbers = np.full(num_records, -1)
        """Layout number of each record; REFERENCE or -1 for a record that matches no layout."""
        self._first_class = np.zeros(num_records, np.int64)
        """Class number of each record's first row; the class numbers of its other rows follow. For
        a record that protobuf decoded, it is 0: the classes of its rows are set at the end."""
        self._num_rows = np.zeros(num_records, np.int64)
        self._control_events: list[tuple[int, DecodedItem]] = []
        """Index of the record and decoded item of each control event, ascending by index."""
        self._bare_events: list[tuple[int, BareEvent]] = []
        """Index of the record and bare event, ascending by index."""
        self.malformed: list[int] = []
        """Indices of records that hold no valid event."""
        self.num_decoded = num_records
        """Number of records, from the first one on, that are not left out."""
        # 1. Decode each record in the first way that fits it. New layouts are learnt from records
        #    that neither a known layout nor a value header fits.
        # 2. Expand the records into rows.
        # 3. Set the values of all rows, and the classes of the rows that protobuf decoded.
        if damaged is not None:  # 1
            self._is_event[damaged] = False
        payloads = buffer, frames.starts + HEADER_BYTES, frames.lengths
        groups = [self._add_matched(group) for group in learnt.layout_cache.match(*payloads)]
        undecoded = self._undecoded()
        if len(undecoded) >= min_references:
            self._add_references(undecoded)
            undecoded = self._undecoded()
        learnt_groups = learnt.layout_cache.learn(*payloads, undecoded)
        groups += [self._add_matched(group) for group in learnt_groups]
        events: list[tuple[int, list[EventRow]]] = []
        for i in self._undecoded().tolist():
            events.append((i, self._add_event(i)))
            if is_enough():
                self.num_decoded = i + 1
                break
        self._row_bounds = np.append(0, np.cumsum(self._num_rows))  # 2
        """Index of each record's first row; the last element is the number of all rows."""
        self._record = np.repeat(np.arange(num_records), self._num_rows)
        """Index of each row's record."""
        self._index = np.arange(len(self._record)) - self._row_bounds[self._record]
        """Index of each row's value in its event."""
        self._class = self._first_class[self._record] + self._index
        """Class number of each row."""
        numbers = np.array([row.number for _, rows in events for row in rows])  # 3
        all_float32 = all(column.dtype == np.float32 for _, columns in groups for column in columns)
        with np.errstate(over="ignore"):
            all_float32 &= np.array_equal(numbers.astype(np.float32), numbers, equal_nan=True)
        dtype = np.float32 if all_float32 else np.float64
        self._value: NDArray[np.floating[Any]] = np.zeros(len(self._record), dtype)
        for indices, columns in groups:
            first_rows = self._row_bounds[indices]
            for index, column in enumerate(columns):
                self._value[first_rows + index] = column
        for i, rows in events:
            begin = int(self._row_bounds[i])
            for row_index, row in enumerate(rows, begin):
                self._class[row_index] = learnt.row_classes.number_of(row.column)
                self._index[row_index] = row.index
                self._value[row_index] = row.number

    def _undecoded(self) -> NDArray[np.int64]:
        """Indices of the records that are not decoded yet, ascending."""
        return np.flatnonzero((self._num_rows == 0) & self._is_event)

    def _add_matched(
        self, group: MatchedRecords
    ) -> tuple[NDArray[np.int64], list[NDArray[np.floating[Any]]]]:
        """Adds the records of a group; returns their indices and their values, slot by slot."""
        picked: NDArray[np.int64] | slice = slice(None)
        if not self._is_event[group.indices].all():
            picked = np.flatnonzero(self._is_event[group.indices])
        indices, layout_numbers = group.indices[picked], group.layout_numbers[picked]
        wall_times, steps, columns = group.columns(picked)
        layouts = self._learnt.layout_cache.layouts
        first_classes = self._learnt.row_classes.first_classes(layouts)
        self._step[indices], self._wall_time[indices] = steps, wall_times
        self._first_class[indices] = first_classes[layout_numbers]
        self._num_rows[indices] = len(columns)
        self.layout_numbers[indices] = layout_numbers
        return indices, columns

    def _add_references(self, picked: NDArray[np.int64]) -> None:
        """Adds those of the picked records that hold references."""
        found = FoundReferences.of(self._buffer, self._frames, picked)
        indices = found.indices
        self._step[indices], self._wall_time[indices] = found.step, found.wall_time
        self._first_class[indices] = self._learnt.row_classes.of_references(found)
        self._num_rows[indices] = 1
        self.layout_numbers[indices] = REFERENCE

    def _add_event(self, i: int) -> list[EventRow]:
        """Decodes record i by protobuf and adds it; returns its rows."""
        begin = int(self._frames.starts[i]) + HEADER_BYTES
        payload = self._buffer[begin : begin + int(self._frames.lengths[i])]
        try:
            event = Event.FromString(bytes(payload))
        except ProtobufDecodeError:
            self.malformed.append(i)
            self._is_event[i] = False
            return []
        control = control_event(event)
        if control is not None:
            self._control_events.append((i, control))
            self._is_event[i] = False
            return []
        rows = list(rows_of(event))
        bare = bare_event(event, len(rows), int(self._offset[i]))
        if bare is not None:
            self._bare_events.append((i, bare))
        self._step[i], self._wall_time[i] = event.step, event.wall_time
        self._num_rows[i] = len(rows)
        return rows

    def items(self, ranges: Sequence[tuple[int, int]]) -> Iterator[list[DecodedItem]]:
        """Yields the decoded items of each range of records."""
        # 1. Cut the ranges at control events, and plan the table of each segment.
        # 2. Make the tables of all segments at once.
        # 3. Put the tables in the place of their plans.
        events = np.flatnonzero(self._is_event)
        planned: list[list[DecodedItem | _Segment]] = []
        for first, after in ranges:  # 1
            items: list[DecodedItem | _Segment] = []
            controls = _between(self._control_events, first, after)
            for end, control in [*controls, (after, None)]:
                begin, after_last = np.searchsorted(events, (first, end)).tolist()
                if begin < after_last:
                    bare_events = [event for _, event in _between(self._bare_events, first, end)]
                    last_wall_time = self._last_wall_time(events[begin:after_last])
                    first_row, end_row = self._row_bounds[[first, end]].tolist()
                    if first_row < end_row:
                        classes = self._class[first_row:end_row]
                        arrangement = self._learnt.row_classes.arrangement(classes)
                        items.append(_Segment(arrangement, first_row, bare_events, last_wall_time))
                    else:
                        items.append(bare_table(bare_events, last_wall_time))
                if control is not None:
                    items.append(control)
                first = end + 1
            planned.append(items)
        segments = [item for items in planned for item in items if isinstance(item, _Segment)]
        tables = self._tables(segments)  # 2
        for items in planned:  # 3
            yield [next(tables) if isinstance(item, _Segment) else item for item in items]

    def _last_wall_time(self, indices: NDArray[np.int64]) -> float:
        """See `Table.last_wall_time`; `indices` are those of the events."""
        last = float(self._wall_time[indices[-1]])
        return last_time(last, lambda: self._wall_time[indices])

    def _tables(self, segments: Sequence[_Segment]) -> Iterator[Table]:
        """Yields the table of each segment."""
        # 1. Arrange the rows of all tables, and gather their steps and wall times.
        # 2. Gather the values of all scalars, and the locations of all references.
        # 3. Divide the arrays among the tables.
        if not segments:
            return
        all_rows, scalar_rows, reference_rows = [], [], []
        for (columns, bounds, order), first_row, *_ in segments:
            rows = order + first_row
            all_rows.append(rows)
            scalar_rows.append(rows[: bounds[columns.num_scalar]])
            reference_rows.append(rows[bounds[columns.num_scalar] :])
        rows = np.concatenate(all_rows)  # 1
        record = self._record[rows]
        step, wall_time = self._step[record], self._wall_time[record]
        value: NDArray[np.floating[Any]] = self._value[np.concatenate(scalar_rows)]  # 2
        all_references = self._references(np.concatenate(reference_rows))
        row = scalar = reference = 0
        for (columns, bounds, order), _, bare_events, last_wall_time in segments:  # 3
            num_rows, num_scalars = len(order), bounds[columns.num_scalar]
            of_table = slice(row, row := row + num_rows)
            scalars = slice(scalar, scalar := scalar + num_scalars)
            others = slice(reference, reference := reference + num_rows - num_scalars)
            references = None
            if num_scalars < num_rows:
                references = References(*(array[others] for array in all_references))
            yield Table.of(
                columns, bounds, step[of_table], wall_time[of_table], value[scalars], references,
                position=partial(self._position, rows[of_table]),
                last_wall_time=last_wall_time, bare_events=bare_events,
            )  # fmt: skip

    def _position(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """The positions of these rows in their files."""
        position: NDArray[np.int64] = self._offset[self._record[rows]] + self._index[rows]
        return position

    def _references(self, rows: NDArray[np.int64]) -> list[NDArray[Any]]:
        """The first arrays of References for these rows."""
        record = self._record[rows]
        length = self._frames.lengths[record]
        crc = stored_checksums(self._buffer, self._frames.starts[record], length)
        index = self._index[rows].astype(np.uint32)
        return [self._offset[record], length.astype(np.uint32), index, crc]


def _between(entries: list[tuple[int, _Entry]], first: int, after: int) -> list[tuple[int, _Entry]]:
    """The entries of the records in `range(first, after)`.

    An entry begins with the index of its record, and the entries are in ascending order.
    """
    begin, end = (bisect_left(entries, record, key=itemgetter(0)) for record in (first, after))
    return entries[begin:end]
