"""Gathers the rows of many records into tables at once.

The records are those of one round, or of a whole batch of small files: a numpy call takes about as
long for ten numbers as for a thousand. A record is decoded by the first way that fits it:

  layouts         scalars: matched and gathered in bulk
  value headers   images, histograms and texts: all but their content
  protobuf        everything else
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any, NamedTuple, TypeVar

import numpy as np
from google.protobuf.message import DecodeError as ProtobufDecodeError
from numpy.typing import NDArray

from tbcore.eventfiles.fast.layouts import LayoutCache, MatchedRecords
from tbcore.eventfiles.fast.references import FoundReferences
from tbcore.eventfiles.fast.row_classes import RowClasses
from tbcore.eventfiles.framing import HEADER_BYTES, Frames, stored_checksums
from tbcore.eventfiles.plain import (
    EventRow,
    bare_event,
    bare_table,
    control_event,
    last_time,
    rows_of,
)
from tbcore.eventfiles.proto.event_pb2 import Event
from tbcore.eventfiles.table import (
    BareEvent,
    DecodedItem,
    References,
    Table,
)
from tbcore.tuning import Tuning

REFERENCE = -2
"""Stands for the layout number of a record that holds a reference, and so has no layout."""

_MIN_REFERENCES = 16
"""Minimum number of records that are tried by value headers, which have a fixed cost."""

_Entry = TypeVar("_Entry")


class Learnt:
    """The layouts and classes of rows learnt from the records so far."""

    def __init__(self, tuning: Tuning) -> None:
        self.layout_cache, self.row_classes = LayoutCache(), RowClasses(tuning)

    def is_full(self) -> bool:
        """Whether there is so much that this object should be replaced by an empty one."""
        return self.layout_cache.is_full() or self.row_classes.is_full()


class _Part(NamedTuple):
    """Records with equally many rows, which one of the ways decoded."""

    records: NDArray[np.int64]
    """Indices of the records."""
    classes: NDArray[np.int64]
    """Class number of each record's first row; the class numbers of its other rows follow."""
    columns: Sequence[NDArray[np.floating[Any]] | float]
    """The values of all first rows, then of all second rows, and so on."""


class _Rows(NamedTuple):
    """The rows of all records, in file order. All arrays but the first have shape (num_rows,)."""

    bounds: NDArray[np.int64]
    """Index of each record's first row; the last element is the number of all rows."""
    record: NDArray[np.int64]
    """Index of each row's record."""
    value_index: NDArray[np.int64]
    """Index of each row's value in its event."""
    class_number: NDArray[np.int64]
    """See `RowClasses`."""
    number: NDArray[np.float64]
    """The scalar of each row; 0 for a reference."""


class Records:
    """Decoded records, and their rows. A record has a row for each value of its event."""

    def __init__(
        self,
        buffer: bytearray,
        frames: Frames,
        offsets: NDArray[np.int64],
        learnt: Learnt,
        *,
        damaged: NDArray[np.int64] | None = None,
        is_enough: Callable[[], bool] = lambda: False,
    ) -> None:
        """Decodes all records but the damaged ones; `offsets` has the offset of each in its file.

        When `is_enough` returns true after a record that protobuf decoded, later records are left
        out.
        """
        num_records = len(offsets)
        self._buffer, self._frames, self._offset = buffer, frames, offsets
        self._learnt = learnt
        self._step, self._wall_time = np.zeros(num_records, np.int64), np.zeros(num_records)
        self._num_rows = np.zeros(num_records, np.int64)
        self._is_event = np.ones(num_records, np.bool_)
        """False for records that are damaged, malformed or control events."""
        self.layout_numbers = np.full(num_records, -1)
        """Layout number of each record; REFERENCE or -1 for a record that matches no layout."""
        self._control_events: list[tuple[int, DecodedItem]] = []
        """Index of the record and decoded item of each control event, ascending by index."""
        self._bare_events: list[tuple[int, BareEvent]] = []
        """Index of the record and bare event, ascending by index."""
        self.malformed: list[int] = []
        """Indices of records that hold no valid event."""
        self.num_decoded = num_records
        """Number of records, from the first one on, that are not left out."""
        # Decode each record in the first way that fits it. New layouts are learnt from records that
        # neither a known layout nor a value header fits.
        if damaged is not None:
            self._is_event[damaged] = False
        payloads = buffer, frames.starts + HEADER_BYTES, frames.lengths
        parts = [self._add_matched(group) for group in learnt.layout_cache.match(*payloads)]
        undecoded = self._undecoded()
        if len(undecoded) >= _MIN_REFERENCES:
            parts.append(self._add_references(undecoded))
            undecoded = self._undecoded()
        learnt_groups = learnt.layout_cache.learn(*payloads, undecoded)
        parts += [self._add_matched(group) for group in learnt_groups]
        event_rows: list[tuple[int, list[EventRow]]] = []
        for i in self._undecoded().tolist():
            event_rows.append((i, self._add_event(i)))
            if is_enough():
                self.num_decoded = i + 1
                break
        self._rows = self._expanded(parts, event_rows)

    def _undecoded(self) -> NDArray[np.int64]:
        """Indices of the records that are not decoded yet, ascending."""
        return np.flatnonzero((self._num_rows == 0) & self._is_event)

    def _add_matched(self, group: MatchedRecords) -> _Part:
        """Adds the records of a group."""
        picked: NDArray[np.int64] | slice = slice(None)
        if not self._is_event[group.indices].all():
            picked = np.flatnonzero(self._is_event[group.indices])
        indices, layout_numbers = group.indices[picked], group.layout_numbers[picked]
        wall_times, steps, columns = group.columns(picked)
        self._step[indices], self._wall_time[indices] = steps, wall_times
        self._num_rows[indices] = len(columns)
        self.layout_numbers[indices] = layout_numbers
        layouts = self._learnt.layout_cache.layouts
        first_classes = self._learnt.row_classes.first_classes(layouts)
        return _Part(indices, first_classes[layout_numbers], columns)

    def _add_references(self, picked: NDArray[np.int64]) -> _Part:
        """Adds those of the picked records that hold references."""
        found = FoundReferences.of(self._buffer, self._frames, picked)
        self._step[found.indices], self._wall_time[found.indices] = found.step, found.wall_time
        self._num_rows[found.indices] = 1
        self.layout_numbers[found.indices] = REFERENCE
        return _Part(found.indices, self._learnt.row_classes.of_references(found), [0.0])

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

    def _expanded(
        self, parts: Sequence[_Part], event_rows: Sequence[tuple[int, list[EventRow]]]
    ) -> _Rows:
        """The rows of all records.

        `event_rows` has the index, and the rows, of each record that protobuf decoded.
        """
        bounds = np.append(0, np.cumsum(self._num_rows))
        record = np.repeat(np.arange(len(self._num_rows)), self._num_rows)
        value_index = np.arange(len(record)) - bounds[record]
        class_number, number = np.zeros(len(record), np.int64), np.zeros(len(record))
        for part in parts:
            for i, column in enumerate(part.columns):
                rows = bounds[part.records] + i
                class_number[rows], number[rows] = part.classes + i, column
        for i, of_event in event_rows:
            for row_index, row in enumerate(of_event, int(bounds[i])):
                class_number[row_index] = self._learnt.row_classes.number_of(row.column)
                value_index[row_index], number[row_index] = row.index, row.number
        return _Rows(bounds, record, value_index, class_number, number)

    def items(self, first: int, after: int) -> list[DecodedItem]:
        """The decoded items of the records in `range(first, after)`, as if they were a file."""
        items: list[DecodedItem] = []
        for end, control in [*_between(self._control_events, first, after), (after, None)]:
            if self._is_event[first:end].any():
                items.append(self._table(first, end))
            if control is not None:
                items.append(control)
            first = end + 1
        return items

    def _table(self, first: int, after: int) -> Table:
        """The table of the records in `range(first, after)`; none of them is a control event."""
        bare_events = [event for _, event in _between(self._bare_events, first, after)]
        wall_times = self._wall_time[first:after][self._is_event[first:after]]
        last_wall_time = last_time(float(wall_times[-1]), lambda: wall_times)
        first_row, end_row = self._rows.bounds[[first, after]].tolist()
        if first_row == end_row:
            return bare_table(bare_events, last_wall_time)
        class_numbers = self._rows.class_number[first_row:end_row]
        columns, bounds, order = self._learnt.row_classes.arrangement(class_numbers)
        rows = order + first_row
        record, num_scalars = self._rows.record[rows], bounds[columns.num_scalar]
        return Table.of(
            columns,
            bounds,
            self._step[record],
            self._wall_time[record],
            self._rows.number[rows[:num_scalars]],
            self._references(rows[num_scalars:]) if num_scalars < len(rows) else None,
            position=lambda: self._offset[record] + self._rows.value_index[rows],
            last_wall_time=last_wall_time,
            bare_events=bare_events,
        )

    def _references(self, rows: NDArray[np.int64]) -> References:
        """The references in these rows."""
        record = self._rows.record[rows]
        length = self._frames.lengths[record]
        crc = stored_checksums(self._buffer, self._frames.starts[record], length)
        index = self._rows.value_index[rows].astype(np.uint32)
        return References(self._offset[record], length.astype(np.uint32), index, crc)


def _between(entries: list[tuple[int, _Entry]], first: int, after: int) -> list[tuple[int, _Entry]]:
    """The entries of the records in `range(first, after)`.

    An entry begins with the index of its record, and the entries are in ascending order.
    """
    begin, end = (bisect_left(entries, record, key=itemgetter(0)) for record in (first, after))
    return entries[begin:end]
