"""Batches: what the decoder hands to the store, as columns.

A file becomes a sequence of decoded items, each a `Batch`, a `FileVersion` or a `SessionStart`. The
sequence is in file order: the rows of a batch were written after everything in earlier decoded
items, and before everything in later ones. The rows of a batch are grouped into columns; `position`
gives the order of rows in different columns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

GRAPH_FIELDS = ("graph_def", "meta_graph_def", "tagged_run_metadata")
"""Fields of an event that hold a graph or run metadata. Each of them becomes a row of references,
although the event has no summary."""

HEALTH_PILL = "__health_pill__/"
"""Prefix of the tags under which a debugger logs tensors. Values with such a tag are not read."""

Positions = NDArray[np.int64] | range
"""Positions of values in their file: offset of the record, plus index of the value in its event.
They are unique in a file, and ascend in the order written. A range if they are evenly spaced."""


class FirstMetadata(NamedTuple):
    """The first SummaryMetadata among the rows of a column."""

    position: int
    """Position of the row that carries the SummaryMetadata."""
    data: bytes
    """Serialized SummaryMetadata."""


class ScalarColumn(NamedTuple):
    """Rows of one (tag, field) that hold one real number each, in ascending order of `position`.

    The arrays may be unaligned views of a buffer that is overwritten when the next decoded item is
    requested. To keep an array, copy it.
    """

    tag: str
    field: str
    """`simple_value` or `tensor`."""
    metadata: FirstMetadata | None
    position: Positions
    step: NDArray[np.int64]
    wall_time: NDArray[np.float64]
    value: NDArray[np.floating[Any]]
    """float32 if the writer logged float32 or a shorter float type, else float64."""


class ReferenceColumn(NamedTuple):
    """Rows of one (tag, field) that are references, in ascending order of `position`."""

    tag: str
    """Empty for `graph_def` and `meta_graph_def`."""
    field: str
    """See `Kind.field`."""
    metadata: FirstMetadata | None
    position: Positions
    step: NDArray[np.int64]
    wall_time: NDArray[np.float64]
    offset: NDArray[np.int64]
    """Offset of the record in its file, in bytes."""
    length: NDArray[np.uint32]
    """Length of the payload, in bytes."""
    index: NDArray[np.uint32]  # type: ignore[assignment]  # hides tuple.index, which is not used
    """Index of the Summary.Value in its event; 0 for events without a summary."""
    crc: NDArray[np.uint32]
    """Masked CRC-32C of the payload, as stored in the file."""


class BareEvent(NamedTuple):
    """An event without values.

    If it holds a graph or run metadata, it has a row of references too; otherwise it has no row.
    """

    position: int
    step: int
    wall_time: float
    is_summary: bool
    """True if the event has a summary, of which no value is read; False if it has no summary."""


@dataclass(slots=True)
class Batch:
    """Columns of consecutive records of one file.

    There is at most one column for each (tag, field, scalar or not). Columns are sorted by their
    first position, and `bare_events` by position. Bare events matter for the restart rule of files
    older than version 2, and for the time of a run's last event.
    """

    scalars: list[ScalarColumn] = field(default_factory=list)
    references: list[ReferenceColumn] = field(default_factory=list)
    bare_events: list[BareEvent] = field(default_factory=list)


class TableColumn(NamedTuple):
    """The description of a column of a table, without its arrays."""

    tag: str
    field: str
    is_scalar: bool
    """Whether its rows are scalars; otherwise they are references."""
    metadata: tuple[int, bytes] | None
    """The column's first SummaryMetadata: the row of the table that carries it, and its bytes."""
    rows: slice
    """The rows of the table that belong to the column."""


class TableGroup(NamedTuple):
    """Columns with the same number of rows, stored next to each other in the table's arrays."""

    columns: Sequence[int]
    """Indices of the columns in `TableLayout.columns`."""
    is_scalar: bool
    """Whether all their rows are scalars; otherwise all are references."""
    rows: slice
    """The rows of the table that belong to the group."""


class TableLayout:
    """The columns of a table. Tables of similar files share one TableLayout: it can key caches."""

    __slots__ = ("columns", "groups", "last")

    def __init__(
        self, columns: Sequence[TableColumn], groups: Sequence[TableGroup], last: int
    ) -> None:
        self.columns = columns
        """All columns, in the order of their first position."""
        self.groups = groups
        """Groups of these columns: by scalar or not, and by the number of rows in a column."""
        self.last = last
        """Index of the row that was written last."""

    @classmethod
    def of(
        cls,
        column: NDArray[np.int64],
        keys: Sequence[tuple[str, str, bool]],
        metadata: Mapping[int, tuple[int, bytes]],
    ) -> tuple[TableLayout, NDArray[np.int64]]:
        """Makes the layout of a table whose rows are given in the order written.

        Returns the layout, and an array `order`: row i of the table is the given row `order[i]`.
        `column` has the column number of each given row; columns are numbered in the order of their
        first rows. `keys` has the tag, the field and scalar-or-not of each column. `metadata` maps
        the number of a column with metadata to the first given row of this column that carries any,
        and to the serialized SummaryMetadata.
        """
        # 1. Group the columns, and give each group and each column its range of rows.
        # 2. Order the rows by column; within a column they stay in the order written.
        # 3. Describe the columns. Replace indices of given rows by indices of the table's rows.
        counts = np.bincount(column).tolist()  # 1
        members: dict[tuple[bool, int], list[int]] = {}
        for number, (count, (_, _, is_scalar)) in enumerate(zip(counts, keys, strict=False)):
            members.setdefault((is_scalar, count), []).append(number)
        groups: list[TableGroup] = []
        begins = [0] * len(counts)
        end = 0
        for (is_scalar, count), numbers in members.items():
            first = end
            for number in numbers:
                begins[number] = end
                end += count
            groups.append(TableGroup(numbers, is_scalar, slice(first, end)))
        order = np.argsort(np.array(begins)[column], kind="stable")  # 2
        table_rows = np.empty(len(order), np.int64)
        table_rows[order] = np.arange(len(order))
        columns = []  # 3
        for number, (begin, count) in enumerate(zip(begins, counts, strict=True)):
            first_metadata = metadata.get(number)
            if first_metadata is not None:
                row, data = first_metadata
                first_metadata = int(table_rows[row]), data
            columns.append(TableColumn(*keys[number], first_metadata, slice(begin, begin + count)))
        return cls(columns, groups, int(table_rows[-1])), order


class PayloadLocations(NamedTuple):
    """Payload length, value index and checksum of a table's references.

    Each array has one element per row of the table; elements for rows of scalars have no meaning.
    """

    length: NDArray[np.uint32]
    """Length of the payload, in bytes."""
    index: NDArray[np.uint32]  # type: ignore[assignment]  # hides tuple.index, which is not used
    """Index of the Summary.Value in its event; 0 for events without a summary."""
    crc: NDArray[np.uint32]
    """Masked CRC-32C of the payload, as stored in the file."""


class Table(Batch):
    """A batch that keeps all its columns in the same arrays.

    The store adds such a batch in one step rather than column by column, which is faster for a
    short file. No two columns have the same tag.
    """

    __slots__ = (
        "_bare_events",
        "layout",
        "locations",
        "origin",
        "position",
        "step",
        "value",
        "wall_time",
    )

    def __init__(
        self,
        layout: TableLayout,
        origin: int,
        position: NDArray[np.int64],
        step: NDArray[np.int64],
        wall_time: NDArray[np.float64],
        value: NDArray[np.floating[Any]],
        locations: PayloadLocations | None = None,
        bare_events: Sequence[BareEvent] = (),
    ) -> None:
        """All arrays have shape (num_rows,). `bare_events` are the bare events that have no row."""
        self.layout = layout
        self.origin = origin
        """Added to `position` to get positions in the file."""
        self.position = position
        self.step = step
        self.wall_time = wall_time
        self.value = value
        """The scalar in each row; elements for rows of references have no meaning."""
        self.locations = locations
        """None if no row is a reference."""
        self._bare_events = bare_events

    @property
    def last_wall_time(self) -> float:
        """Wall time of the event that was written last."""
        last = self.layout.last
        if self._bare_events:
            bare = self._bare_events[-1]
            if bare.position > self.origin + self.position[last]:
                return bare.wall_time
        return float(self.wall_time[last])

    @property
    def scalars(self) -> list[ScalarColumn]:  # type: ignore[override]
        """The scalars as columns."""
        position = self.position + self.origin
        found = []
        for tag, field_, is_scalar, metadata, rows in self.layout.columns:
            if is_scalar:
                first = metadata and FirstMetadata(int(position[metadata[0]]), metadata[1])
                arrays = position[rows], self.step[rows], self.wall_time[rows], self.value[rows]
                found.append(ScalarColumn(tag, field_, first, *arrays))
        return found

    @property
    def references(self) -> list[ReferenceColumn]:  # type: ignore[override]
        """The references as columns."""
        if self.locations is None:
            return []
        position = self.position + self.origin
        offset = position - self.locations.index
        found = []
        for tag, field_, is_scalar, metadata, rows in self.layout.columns:
            if not is_scalar:
                first = metadata and FirstMetadata(int(position[metadata[0]]), metadata[1])
                arrays = position[rows], self.step[rows], self.wall_time[rows], offset[rows]
                locations = [array[rows] for array in self.locations]
                found.append(ReferenceColumn(tag, field_, first, *arrays, *locations))
        return found

    @property
    def bare_events(self) -> list[BareEvent]:  # type: ignore[override]
        """The bare events that have no row, and a bare event for each row of a graph field."""
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
    """A control event with the version of the file's format, from its `file_version`."""

    version: float
    """The number after `brain.Event:`; -1 if there is none."""
    step: int
    wall_time: float

    @classmethod
    def of(cls, text: str, step: int, wall_time: float) -> FileVersion:
        """The FileVersion of an event whose `file_version` is `text`."""
        try:
            return cls(float(text.removeprefix("brain.Event:")), step, wall_time)
        except ValueError:
            return cls(-1.0, step, wall_time)


class SessionStart(NamedTuple):
    """An event with `session_log.status == START`: training started, or restarted, at `step`."""

    step: int
    wall_time: float


DecodedItem = Batch | FileVersion | SessionStart
"""One element of the sequence into which a file is decoded."""
