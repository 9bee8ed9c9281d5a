"""Decodes records one by one with protobuf: the reference for all answers.

    record -> event -> rows -> arrangement -> table

The functions of this module distinguish control events, events with a graph, and kinds of values.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from google.protobuf.message import DecodeError as ProtobufDecodeError
from numpy.typing import NDArray

from tbcore.eventfiles.framing import HEADER_BYTES, Damage, Frames
from tbcore.eventfiles.proto.event_pb2 import Event, SessionLog
from tbcore.eventfiles.steps import PerRow
from tbcore.eventfiles.table import (
    HEALTH_PILL,
    BareEvent,
    Columns,
    DecodedItem,
    FileVersion,
    References,
    SessionStart,
    Table,
    TableColumn,
    bounds_of,
)
from tbcore.eventfiles.tensors import scalar_of
from tbcore.kinds import GRAPH_FIELDS


class EventRow(NamedTuple):
    """A row of an event."""

    column: TableColumn
    """The row's column, with the metadata of the row."""
    index: int  # type: ignore[assignment]  # hides tuple.index, which is not used
    """Index of the value in the event."""
    number: float
    """The scalar; 0 for a reference."""


def decode_frames(
    buffer: bytearray,
    frames: Frames,
    damaged: NDArray[np.int64],
    base: int,
    problems: list[Damage],
    is_enough: Callable[[], bool],
) -> Generator[DecodedItem, None, int]:
    """Yields tables with the rows of these frames, and the control events between them.

    The buffer begins at offset `base` of the file; `damaged` has the indices of frames to skip.
    Stops after a frame at which `is_enough` returns true. Returns the number of frames decoded.
    """
    builder = TableBuilder()
    view = memoryview(buffer)
    skipped = set(damaged.tolist())
    num_decoded = 0
    for start, length in zip(frames.starts.tolist(), frames.lengths.tolist(), strict=True):
        payload_end = start + HEADER_BYTES + length
        if num_decoded in skipped:
            problems.append(Damage(base + start, "payload checksum wrong"))
        else:
            try:
                event = Event.FromString(bytes(view[start + HEADER_BYTES : payload_end]))
            except ProtobufDecodeError:
                problems.append(Damage(base + start, "no valid event"))
            else:
                crc = int.from_bytes(buffer[payload_end : payload_end + 4], "little")
                control = control_event(event)
                if control is None:
                    builder.add(event, base + start, length, crc)
                else:
                    yield from builder.tables()
                    yield control
                    builder = TableBuilder()
        num_decoded += 1
        if is_enough():
            break
    yield from builder.tables()
    return num_decoded


def control_event(event: Event) -> FileVersion | SessionStart | None:
    """The decoded item for a control event; None for any other event."""
    what = event.WhichOneof("what")
    if what == "file_version":
        return file_version(event)
    if what == "session_log" and event.session_log.status == SessionLog.START:
        return SessionStart(event.step, event.wall_time)
    return None


def file_version(event: Event) -> FileVersion:
    """The version that an event states."""
    try:
        version = float(event.file_version.removeprefix("brain.Event:"))
    except ValueError:
        version = -1.0
    return FileVersion(version, event.step, event.wall_time)


def rows_of(event: Event) -> Iterator[EventRow]:
    """Yields the rows of an event that is not a control event."""
    field = event.WhichOneof("what")
    if field in GRAPH_FIELDS:
        tag = event.tagged_run_metadata.tag if field == "tagged_run_metadata" else ""
        yield EventRow(TableColumn(tag, field, False, None), 0, 0.0)
    for index, value in enumerate(event.summary.value):
        field, tag = value.WhichOneof("value") or "", value.tag
        number: float | np.floating[Any] | None = None
        if field == "simple_value":
            number = value.simple_value
        elif field == "tensor":
            tag = tag or value.node_name
            if tag.startswith(HEALTH_PILL):
                continue
            number = scalar_of(value.tensor)
        metadata = value.metadata.SerializeToString() if value.HasField("metadata") else None
        column = TableColumn(tag, field, number is not None, metadata)
        yield EventRow(column, index, 0.0 if number is None else float(number))


def bare_event(event: Event, num_rows: int, position: int) -> BareEvent | None:
    """The bare event for an event with this number of rows; None if it is not a bare event."""
    is_summary = event.HasField("summary")
    if num_rows and is_summary:
        return None
    return BareEvent(position, event.step, event.wall_time, is_summary)


class Arrangement(NamedTuple):
    """How rows in file order are arranged in a table."""

    columns: Columns
    bounds: tuple[int, ...]
    order: PerRow
    """Row i of the table is row `order[i]` in file order."""

    @classmethod
    def of(cls, classes: Sequence[TableColumn], class_of_row: PerRow) -> Arrangement:
        """Arranges at least one row. `class_of_row` has the index in `classes` of each row's class.

        Rows with the same tag and field, and with or without metadata, may be of several classes.
        """
        # 1. Find the classes that occur, in the order of their first rows.
        # 2. In this order, number the columns, and find the first metadata of each tag. (All rows
        #    of a class have the same metadata.)
        # 3. Sort the columns: scalars first. Sort the rows by column.
        lowest = int(class_of_row.min())  # 1
        class_of_row = class_of_row - lowest
        first_row = np.full(int(class_of_row.max()) + 1, -1)
        first_row[class_of_row[::-1]] = np.arange(len(class_of_row) - 1, -1, -1)
        found = np.flatnonzero(first_row >= 0)
        numbers: dict[tuple[str, str, bool], int] = {}  # 2
        metadata: dict[str, bytes] = {}
        column_of_class = np.zeros(len(first_row), np.int64)
        for i in found[np.argsort(first_row[found])].tolist():
            entry = classes[lowest + i]
            column_of_class[i] = numbers.setdefault(entry[:3], len(numbers))
            if entry.metadata is not None:
                metadata.setdefault(entry.tag, entry.metadata)
        keys = list(numbers)
        by_rows = sorted(range(len(keys)), key=lambda number: not keys[number][2])  # 3
        index_of_number = np.argsort(by_rows)
        column_of_row = index_of_number[column_of_class][class_of_row]
        counts = np.bincount(column_of_row)
        if len(keys) < 1 << 16:
            column_of_row = column_of_row.astype(np.uint16)  # which numpy sorts in linear time
        entries = tuple(TableColumn(*keys[n], metadata.get(keys[n][0])) for n in by_rows)
        columns = Columns.of(entries, tuple(index_of_number.tolist()))
        return cls(columns, bounds_of(counts.tolist()), np.argsort(column_of_row, kind="stable"))


def last_time(last: float, in_file_order: Callable[[], NDArray[np.float64]]) -> float:
    """The last of the wall times that is not NaN; NaN if there is none.

    `last` is the last one. The others are only requested if it is NaN.
    """
    if last == last:
        return last
    wall_time = in_file_order()
    numbers = wall_time[~np.isnan(wall_time)]
    return float(numbers[-1]) if len(numbers) else np.nan


class TableBuilder:
    """Collects events, and makes a table of them."""

    def __init__(self) -> None:
        self._classes: dict[TableColumn, int] = {}
        self._class_of_row = array("q")
        self._numbers = {name: array("q") for name in ("step", "offset", "length", "index", "crc")}
        self._wall_time, self._value = array("d"), array("d")
        self._bare_events: list[BareEvent] = []
        self._last_wall_time: float | None = None
        """None before the first event."""

    def add(self, event: Event, offset: int, length: int, crc: int) -> None:
        """Adds an event that is not a control event.

        Its record is at `offset` of the file; `length` and `crc` are those of its payload.
        """
        if self._last_wall_time is None or event.wall_time == event.wall_time:
            self._last_wall_time = event.wall_time
        num_before = len(self._value)
        for column, index, number in rows_of(event):
            self._class_of_row.append(self._classes.setdefault(column, len(self._classes)))
            row = event.step, offset, length, index, crc
            for numbers, each in zip(self._numbers.values(), row, strict=True):
                numbers.append(each)
            self._wall_time.append(event.wall_time)
            self._value.append(number)
        bare = bare_event(event, len(self._value) - num_before, offset)
        if bare is not None:
            self._bare_events.append(bare)

    def tables(self) -> Iterator[Table]:
        """Yields one table with all rows and bare events, or nothing if nothing was added."""
        if self._last_wall_time is None:
            return
        if not self._class_of_row:
            yield bare_table(self._bare_events, self._last_wall_time)
            return
        columns, bounds, order = Arrangement.of([*self._classes], np.array(self._class_of_row))
        numbers = {name: np.array(each)[order] for name, each in self._numbers.items()}
        step, offset, index = numbers["step"], numbers["offset"], numbers["index"]
        num_scalars = bounds[columns.num_scalar]
        references = None
        if num_scalars < len(order):
            of_references = [offset, *(numbers[n].astype("u4") for n in ("length", "index", "crc"))]
            references = References(*(each[num_scalars:] for each in of_references))
        yield Table.of(
            columns,
            bounds,
            step,
            np.array(self._wall_time)[order],
            np.array(self._value)[order[:num_scalars]],
            references,
            position=lambda: offset + index,
            last_wall_time=self._last_wall_time,
            bare_events=self._bare_events,
        )


def bare_table(bare_events: list[BareEvent], last_wall_time: float) -> Table:
    """A table without rows."""
    none = np.empty(0, np.int64)
    table = Table(Columns.of((), ()), (0,), (), np.empty(0), np.empty(0, np.float32))
    table.position, table.bare_events = lambda: none, bare_events
    table.last_wall_time = last_wall_time
    return table
