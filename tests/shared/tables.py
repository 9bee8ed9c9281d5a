"""Tables made of events, and the rows of tables and contents of views as plain data for tests."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count
from typing import Any, NamedTuple

import numpy as np

from tbcore.eventfiles.plain import TableBuilder
from tbcore.eventfiles.proto.event_pb2 import Event
from tbcore.eventfiles.steps import step_array
from tbcore.eventfiles.table import DecodedItem, References, Table
from tbcore.store.series import Series
from tbcore.store.view import RunView
from tbcore_testing.tensors import array_proto


def scalar_event(tag: str, step: int, value: float = 0.5, *, field: str = "simple_value") -> Event:
    """An event with one scalar; its wall time follows from its step. A tensor holds a float64."""
    event = Event(step=step, wall_time=step + 0.25)
    logged = event.summary.value.add(tag=tag)
    if field == "tensor":
        logged.tensor.CopyFrom(array_proto(np.array(value)))
    else:
        logged.simple_value = value
    return event


def image_event(tag: str, step: int) -> Event:
    """An event with one reference."""
    event = Event(step=step, wall_time=step + 0.25)
    event.summary.value.add(tag=tag).image.height = 1
    return event


def table_of(events: Iterable[Event], numbers: Iterable[int] | None = None) -> Table:
    """A table of these events, at least one. They have these numbers in their file.

    The event with number n is at the offset 100 * n. Its length and its checksum follow from that.
    """
    builder = TableBuilder()
    for number, event in zip(count() if numbers is None else numbers, events, strict=False):
        offset = 100 * number
        builder.add(event, offset, offset + 1, offset + 2)
    [table] = builder.tables()
    return table


class Row(NamedTuple):
    """A row of a table."""

    position: int
    tag: str
    field: str
    step: int
    wall_time: float
    content: float | tuple[int, ...]
    """The value of a scalar; the offset, length, index and checksum of a reference."""


def rows_of(items: Iterable[DecodedItem]) -> list[Row]:
    """The rows of all tables, each in file order."""
    found: list[Row] = []
    for table in items:
        if not isinstance(table, Table):
            continue
        assert table.position is not None
        columns = enumerate(table.columns.entries)
        names = [entry[:2] for i, entry in columns for _ in range(table.num_rows_of(i))]
        steps = [step for steps in table.step for step in step_array(steps).tolist()]
        locations = [array.tolist() for array in (table.references or ())[:4]]
        contents = [*table.value.tolist(), *zip(*locations, strict=True)]
        arrays = table.position().tolist(), names, steps, table.wall_time.tolist(), contents
        rows = sorted(zip(*arrays, strict=True))  # by position
        found += [Row(position, *name, *rest) for position, name, *rest in rows]
    return found


def steps_of(items: Iterable[DecodedItem], tag: str = "loss") -> list[int]:
    """The steps of a tag, in file order."""
    return [row.step for row in rows_of(items) if row.tag == tag]


def series_contents(series: Series) -> tuple[Any, ...]:
    """The kind and all columns of a series, with their types."""
    names = ["value"] if series.kind.is_scalar else References._fields
    columns = [series.column(name) for name in ("ordinal", "step", "wall_time", *names)]
    return series.kind, len(series), [(column.dtype, column.tobytes()) for column in columns]


def contents(view: RunView) -> dict[str, Any]:
    """The contents of a view in a form that can be compared."""
    return {
        "tags": [
            (tag, info, [series_contents(series) for series in view.series(tag)])
            for tag, info in view.schema.tags.items()
        ],
        "files": view.files,
        "times": (view.first_event_time, view.last_event_time),
        "nonfinite": view.nonfinite_tags,
    }
