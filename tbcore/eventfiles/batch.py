"""Batches: what decoding hands to the store, as columns.

A file becomes a sequence of `Batch`, `FileVersion` and `SessionStart`, in file order: every row
of a batch was written after the items before it and before the items behind it. Inside a batch
rows of different columns interleave; `position` tells how.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Positions = NDArray[np.int64] | range
"""Where values stand in their file: offset of the record plus the value's index in its event.
Unique in a file and rising in the order written. A range where records are evenly spaced."""


class FirstMetadata(NamedTuple):
    """The first SummaryMetadata among the rows of a column."""

    position: int
    """Of the row that carries it."""
    data: bytes
    """Serialized SummaryMetadata."""


class ScalarColumn(NamedTuple):
    """Rows of one (tag, field) that are one real number each, rising in `position`.

    The arrays may be views of a buffer that the next item overwrites, unaligned too: copy them.
    """

    tag: str
    field: str
    """`simple_value` or `tensor`."""
    metadata: FirstMetadata | None
    position: Positions
    step: NDArray[np.int64]
    wall_time: NDArray[np.float64]
    value: NDArray[np.floating[Any]]
    """float32, or float64 where the writer's type needs it."""


class ReferenceColumn(NamedTuple):
    """Rows of one (tag, field) whose payload stays in the file, rising in `position`."""

    tag: str
    """"" for `graph_def` and `meta_graph_def`."""
    field: str
    """As `Kind.field`."""
    metadata: FirstMetadata | None
    position: Positions
    step: NDArray[np.int64]
    wall_time: NDArray[np.float64]
    offset: NDArray[np.int64]
    """Of the record, in bytes from the start of the file."""
    length: NDArray[np.uint32]
    """Of the payload, in bytes."""
    index: NDArray[np.uint32]  # type: ignore[assignment]  # nobody searches in a column's tuple
    """Which Summary.Value of the event; 0 for events without a summary."""
    crc: NDArray[np.uint32]
    """Masked CRC-32C of the payload as stored in the file."""


class BareEvent(NamedTuple):
    """An event that put no row into a column (or a graph, which is no summary)."""

    position: int
    step: int
    wall_time: float
    is_summary: bool


@dataclass(slots=True)
class Batch:
    """Columns of consecutive records of one file.

    At most one column for each (tag, field, scalar or not); columns are in the order of their
    first position. `bare_events` rise in position; they matter for the restart rule of files older
    than version 2, and as a sign of life.
    """

    scalars: list[ScalarColumn] = field(default_factory=list)
    references: list[ReferenceColumn] = field(default_factory=list)
    bare_events: list[BareEvent] = field(default_factory=list)


class TableColumn(NamedTuple):
    """A column of a table, without its arrays."""

    tag: str
    field: str
    metadata: FirstMetadata | None
    """With a position as those of the table."""
    rows: slice
    """Which of the table's rows it has."""


class TableGroup(NamedTuple):
    """Columns of a table that have equally many rows, which follow each other."""

    columns: Sequence[int]
    rows: slice


class TableShape:
    """What the tables of files that are alike have in common: one object for all of them."""

    __slots__ = ("columns", "groups", "last")

    def __init__(
        self, columns: Sequence[TableColumn], groups: Sequence[TableGroup], last: int
    ) -> None:
        self.columns = columns
        """In the order of their first position."""
        self.groups = groups
        """All columns, by the number of their rows."""
        self.last = last
        """The row that was written last."""


class Table(Batch):
    """A batch of scalars alone, all columns of which are in the same arrays.

    A short run can be taken as one thing rather than column by column. No tag has two columns.
    """

    __slots__ = ("origin", "position", "shape", "step", "value", "wall_time")

    def __init__(
        self,
        shape: TableShape,
        origin: int,
        position: NDArray[np.int64],
        step: NDArray[np.int64],
        wall_time: NDArray[np.float64],
        value: NDArray[np.floating[Any]],
    ) -> None:
        self.references, self.bare_events = [], []
        self.shape = shape
        self.origin = origin
        """What is to be added to positions."""
        self.position = position
        """Shape (num_rows,), as the others; as of ScalarColumn, and so are these."""
        self.step = step
        self.wall_time = wall_time
        self.value = value

    @property
    def scalars(self) -> list[ScalarColumn]:  # type: ignore[override]
        """The same by column."""
        position = self.position + self.origin
        found = []
        for tag, field_, metadata, rows in self.shape.columns:
            first = metadata and FirstMetadata(metadata.position + self.origin, metadata.data)
            arrays = position[rows], self.step[rows], self.wall_time[rows], self.value[rows]
            found.append(ScalarColumn(tag, field_, first, *arrays))
        return found


class FileVersion(NamedTuple):
    """An event with `file_version`."""

    version: float
    """The number behind `brain.Event:`; -1 where there is none."""
    step: int
    wall_time: float

    @classmethod
    def of(cls, text: str, step: int, wall_time: float) -> FileVersion:
        """From the event's `file_version`."""
        try:
            return cls(float(text.removeprefix("brain.Event:")), step, wall_time)
        except ValueError:
            return cls(-1.0, step, wall_time)


class SessionStart(NamedTuple):
    """An event with `session_log.status == START`: training began (again) at `step`."""

    step: int
    wall_time: float


Item = Batch | FileVersion | SessionStart
"""What a file is made of."""
