"""BatchBuilder: builds a batch from single events and from whole columns.

The functions of this module distinguish control events, events with a graph, and kinds of values.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

import numpy as np

from tbcore.eventfiles.batch import (
    GRAPH_FIELDS,
    HEALTH_PILL,
    BareEvent,
    Batch,
    FileVersion,
    FirstMetadata,
    ReferenceColumn,
    ScalarColumn,
    SessionStart,
)
from tbcore.eventfiles.proto.event_pb2 import Event, SessionLog
from tbcore.eventfiles.proto.summary_pb2 import Summary
from tbcore.eventfiles.tensors import scalar_of

_FIELDS_AFTER_POSITION = slice(4, None)
"""The fields after `position` in both column types. All of them are arrays."""

_ReferenceRow = tuple[int, int, float, int, int, int, int]
"""One row of a ReferenceColumn: the elements of `position` and of all later fields, in order."""
Column = TypeVar("Column", ScalarColumn, ReferenceColumn)


def control_event(event: Event) -> FileVersion | SessionStart | None:
    """The decoded item for a control event; None for any other event."""
    what = event.WhichOneof("what")
    if what == "file_version":
        return FileVersion.of(event.file_version, event.step, event.wall_time)
    if what == "session_log" and event.session_log.status == SessionLog.START:
        return SessionStart(event.step, event.wall_time)
    return None


def graph_field(event: Event) -> tuple[str, str] | None:
    """Tag and field of an event that holds a graph or run metadata; None for any other event."""
    field = event.WhichOneof("what")
    if field not in GRAPH_FIELDS:
        return None
    return event.tagged_run_metadata.tag if field == "tagged_run_metadata" else "", field


def value_field(value: Summary.Value) -> tuple[str, str, np.float32 | np.float64 | None] | None:
    """Tag and field of a value, and its number; the number is None if the value is no scalar.

    Returns a single None, rather than a tuple, for a value that a debugger logged.
    """
    field, tag = value.WhichOneof("value") or "", value.tag
    if field == "simple_value":
        return tag, field, np.float32(value.simple_value)
    if field != "tensor":
        return tag, field, None
    tag = tag or value.node_name
    return None if tag.startswith(HEALTH_PILL) else (tag, field, scalar_of(value.tensor))


class BatchBuilder:
    """Collects events and columns of consecutive records, and merges them into one batch."""

    def __init__(self) -> None:
        self._scalar_columns: dict[tuple[str, str], list[ScalarColumn]] = {}
        self._reference_columns: dict[tuple[str, str], list[ReferenceColumn]] = {}
        self._scalar_rows: dict[tuple[str, str], list[tuple[int, int, float, Any]]] = {}
        self._reference_rows: dict[tuple[str, str], list[_ReferenceRow]] = {}
        self._metadata: dict[tuple[str, str, bool], FirstMetadata] = {}
        """Maps tag, field and scalar-or-not to the first metadata among single events."""
        self._bare_events: list[BareEvent] = []

    def add_column(self, column: ScalarColumn) -> None:
        """Adds a column of scalars."""
        self._scalar_columns.setdefault((column.tag, column.field), []).append(column)

    def add_references(self, column: ReferenceColumn) -> None:
        """Adds a column of references."""
        self._reference_columns.setdefault((column.tag, column.field), []).append(column)

    def add(self, event: Event, offset: int, length: int, crc: int) -> None:
        """Adds an event that is not a control event.

        Its record is at `offset` of the file; `length` and `crc` are those of its payload.
        """
        step, wall_time = event.step, event.wall_time
        if not event.HasField("summary"):
            self._bare_events.append(BareEvent(offset, step, wall_time, is_summary=False))
            graph = graph_field(event)
            if graph is not None:
                row = (offset, step, wall_time, offset, length, 0, crc)
                self._reference_rows.setdefault(graph, []).append(row)
            return
        is_bare = True
        for index, value in enumerate(event.summary.value):
            position = offset + index
            found = value_field(value)
            if found is None:
                continue
            tag, field, scalar = found
            is_bare = False
            if scalar is not None:
                self._scalar_rows.setdefault((tag, field), []).append(
                    (position, step, wall_time, scalar)
                )
            else:
                row = (position, step, wall_time, offset, length, index, crc)
                self._reference_rows.setdefault((tag, field), []).append(row)
            if value.HasField("metadata"):
                key = (tag, field, scalar is not None)
                if key not in self._metadata:
                    data = value.metadata.SerializeToString()
                    self._metadata[key] = FirstMetadata(position, data)
        if is_bare:
            self._bare_events.append(BareEvent(offset, step, wall_time, is_summary=True))

    def batch(self) -> Iterator[Batch]:
        """Yields one batch with everything that was added, or nothing if nothing was added."""
        for (tag, field), rows in self._scalar_rows.items():
            position, step, wall_time, value = zip(*rows, strict=True)
            is_float32 = all(isinstance(v, np.float32) for v in value)
            self.add_column(
                ScalarColumn(
                    tag,
                    field,
                    self._metadata.get((tag, field, True)),
                    np.array(position, np.int64),
                    np.array(step, np.int64),
                    np.array(wall_time, np.float64),
                    np.array(value, np.float32 if is_float32 else np.float64),
                )
            )
        for (tag, field), reference_rows in self._reference_rows.items():
            self.add_references(self._reference_column(tag, field, reference_rows))
        references = [_merged(columns) for columns in self._reference_columns.values()]
        scalars = [_merged(columns) for columns in self._scalar_columns.values()]
        if scalars or references or self._bare_events:
            scalars.sort(key=lambda column: column.position[0])
            references.sort(key=lambda column: column.position[0])
            yield Batch(scalars, references, self._bare_events)

    def _reference_column(self, tag: str, field: str, rows: list[_ReferenceRow]) -> ReferenceColumn:
        position, step, wall_time, offset, length, index, crc = zip(*rows, strict=True)
        return ReferenceColumn(
            tag,
            field,
            self._metadata.get((tag, field, False)),
            np.array(position, np.int64),
            np.array(step, np.int64),
            np.array(wall_time, np.float64),
            np.array(offset, np.int64),
            np.array(length, np.uint32),
            np.array(index, np.uint32),
            np.array(crc, np.uint32),
        )


def _merged(columns: list[Column]) -> Column:
    """Merges columns of the same tag and field into one column, with its rows in file order."""
    if len(columns) == 1:
        return columns[0]
    position = np.concatenate([np.asarray(c.position, np.int64) for c in columns])
    order = np.argsort(position, kind="stable")
    metadata = [c.metadata for c in columns if c.metadata is not None]
    first = columns[0]
    fields = zip(*(c[_FIELDS_AFTER_POSITION] for c in columns), strict=True)
    arrays = [np.concatenate(parts)[order] for parts in fields]
    merged = type(first)(
        first.tag, first.field, min(metadata, default=None), position[order], *arrays
    )
    return merged
