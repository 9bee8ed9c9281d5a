"""Batches: what decoding hands to the store, as columns.

A file becomes a sequence of `Batch`, `FileVersion` and `SessionStart`, in file order: every row
of a batch was written after the items before it and before the items behind it. Inside a batch
rows of different columns interleave; `position` tells how.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

GRAPH_FIELDS = ("graph_def", "meta_graph_def", "tagged_run_metadata")
"""Fields of events without a summary that are rows all the same."""

HEALTH_PILL = "__health_pill__/"
"""Prefix of the tags under which a debugger logs tensors. They are not read."""

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
    is_scalar: bool
    """Whether it is of the scalars or of the references."""
    metadata: tuple[int, bytes] | None
    """The row that carries the first SummaryMetadata, and that."""
    rows: slice
    """Which of the table's rows it has."""


class TableGroup(NamedTuple):
    """Columns of a table that have equally many rows, which follow each other."""

    columns: Sequence[int]
    is_scalar: bool
    """Of all of them."""
    rows: slice


class TableLayout:
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

    @classmethod
    def of(
        cls,
        column: NDArray[np.int64],
        keys: Sequence[tuple[str, str, bool]],
        metadata: Mapping[int, tuple[int, bytes]],
    ) -> tuple[TableLayout, NDArray[np.int64]]:
        """For rows in the order written, the shape of their table and which row is where in it.

        `column` has the number of each row's column. Columns are numbered as they begin; `keys`
        has tag, field and whether it is of scalars, and `metadata` the first one, of each.
        """
        counts = np.bincount(column).tolist()
        alike: dict[tuple[bool, int], list[int]] = {}
        for number, (count, (_, _, is_scalar)) in enumerate(zip(counts, keys, strict=False)):
            alike.setdefault((is_scalar, count), []).append(number)
        groups: list[TableGroup] = []
        begins = [0] * len(counts)
        end = 0
        for (is_scalar, count), numbers in alike.items():
            first = end
            for number in numbers:
                begins[number] = end
                end += count
            groups.append(TableGroup(numbers, is_scalar, slice(first, end)))
        order = np.argsort(np.array(begins)[column], kind="stable")
        places = np.empty(len(order), np.int64)
        places[order] = np.arange(len(order))
        columns = []
        for number, (begin, count) in enumerate(zip(begins, counts, strict=True)):
            carried = metadata.get(number)
            if carried is not None:
                carried = int(places[carried[0]]), carried[1]
            columns.append(TableColumn(*keys[number], carried, slice(begin, begin + count)))
        return cls(columns, groups, int(places[-1])), order


class PayloadLocations(NamedTuple):
    """Of the rows of a table that are references; means nothing in those of scalars."""

    length: NDArray[np.uint32]
    """FieldOffsets (num_rows,), as the others; as of ReferenceColumn, and so are these."""
    index: NDArray[np.uint32]  # type: ignore[assignment]  # as there
    crc: NDArray[np.uint32]


class Table(Batch):
    """A batch all columns of which are in the same arrays.

    A short run can be taken as one thing rather than column by column. No tag has two columns.
    """

    __slots__ = (
        "_bare_events",
        "locations",
        "origin",
        "position",
        "shape",
        "step",
        "value",
        "wall_time",
    )

    def __init__(
        self,
        shape: TableLayout,
        origin: int,
        position: NDArray[np.int64],
        step: NDArray[np.int64],
        wall_time: NDArray[np.float64],
        value: NDArray[np.floating[Any]],
        locations: PayloadLocations | None = None,
        bare_events: Sequence[BareEvent] = (),
    ) -> None:
        """`bare_events` are those that are no rows of the table."""
        self.shape = shape
        self.origin = origin
        """What is to be added to positions."""
        self.position = position
        """FieldOffsets (num_rows,), as the others; as of the columns, and so are these."""
        self.step = step
        self.wall_time = wall_time
        self.value = value
        """Means nothing in the rows of references."""
        self.locations = locations
        """None where there are no references."""
        self._bare_events = bare_events

    @property
    def last_wall_time(self) -> float:
        """Of the event that was written last."""
        last = self.shape.last
        if self._bare_events:
            bare = self._bare_events[-1]
            if bare.position > self.origin + self.position[last]:
                return bare.wall_time
        return float(self.wall_time[last])

    @property
    def scalars(self) -> list[ScalarColumn]:  # type: ignore[override]
        """The same by column."""
        position = self.position + self.origin
        found = []
        for tag, field_, is_scalar, metadata, rows in self.shape.columns:
            if is_scalar:
                first = metadata and FirstMetadata(int(position[metadata[0]]), metadata[1])
                arrays = position[rows], self.step[rows], self.wall_time[rows], self.value[rows]
                found.append(ScalarColumn(tag, field_, first, *arrays))
        return found

    @property
    def references(self) -> list[ReferenceColumn]:  # type: ignore[override]
        """The same by column."""
        if self.locations is None:
            return []
        position = self.position + self.origin
        offset = position - self.locations.index
        found = []
        for tag, field_, is_scalar, metadata, rows in self.shape.columns:
            if not is_scalar:
                first = metadata and FirstMetadata(int(position[metadata[0]]), metadata[1])
                arrays = position[rows], self.step[rows], self.wall_time[rows], offset[rows]
                where = [array[rows] for array in self.locations]
                found.append(ReferenceColumn(tag, field_, first, *arrays, *where))
        return found

    @property
    def bare_events(self) -> list[BareEvent]:  # type: ignore[override]
        """Those that are no rows, and graphs, which are no summaries."""
        graphs = [
            BareEvent(int(offset), int(step), float(wall_time), is_summary=False)
            for column in self.references
            if column.field in GRAPH_FIELDS
            for offset, step, wall_time in zip(
                column.offset, column.step, column.wall_time, strict=True
            )
        ]
        return sorted([*self._bare_events, *graphs])


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


DecodedItem = Batch | FileVersion | SessionStart
"""What a file is made of."""
