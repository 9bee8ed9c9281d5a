"""Tables: the rows of consecutive records of one file, column after column.

A file becomes a sequence of items, each a `Table`, a `FileVersion` or a `SessionStart`, in file
order: the rows of a table were written after everything in earlier items, and before everything in
later ones. A reference is a row whose value stays in its file.

    columns       loss         lr          images
    bounds      0          3          6         8
    step        range(3)   range(3)   [0, 50]
    wall_time   [.  .  .    .  .  .    .  .]
    value       [.  .  .    .  .  .]
    references                        [.  .]

A tag has several columns if its values have several fields, or are partly scalars.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property, lru_cache, reduce
from itertools import accumulate, chain
from typing import Any, NamedTuple

import numpy as np
from google.protobuf.message import DecodeError as ProtobufDecodeError
from numpy.typing import NDArray

from tbcore.eventfiles.proto.summary_pb2 import SummaryMetadata
from tbcore.eventfiles.steps import (
    PerRow,
    Steps,
    even_steps,
    joined_steps,
    step_array,
    steps_of_columns,
)
from tbcore.kinds import GRAPH_FIELDS, has_own_metadata

HEALTH_PILL = "__health_pill__/"
"""Prefix of the tags under which a debugger logs tensors. Values with such a tag are not read."""


class TableColumn(NamedTuple):
    """The attributes that all rows of a column share."""

    tag: str
    """Empty for `graph_def` and `meta_graph_def`."""
    field: str
    """See `Kind.field`."""
    is_scalar: bool
    """Whether each row holds one real number; otherwise the rows are references."""
    metadata: bytes | None
    """The first SummaryMetadata of the tag in the table, serialized; None if there is none."""


class Columns:
    """The columns of a table. Tables with equal columns share one object: it can key caches."""

    def __init__(self, entries: tuple[TableColumn, ...], order: tuple[int, ...]) -> None:
        """Use `Columns.of`, which returns the same object for the same arguments."""
        self.entries = entries
        """The columns in the order of their rows in the table: first scalars, then references."""
        self.order = order
        """The indices of the columns, in the order in which they first occur in the file."""
        self.num_scalar = sum(entry.is_scalar for entry in entries)
        """Number of columns of scalars."""

    @staticmethod
    @lru_cache(maxsize=1 << 8)
    def of(entries: tuple[TableColumn, ...], order: tuple[int, ...]) -> Columns:
        return Columns(entries, order)

    def __reduce__(self) -> tuple[Any, ...]:
        return Columns.of, (self.entries, self.order)

    @cached_property
    def indices(self) -> Mapping[str, Sequence[int]]:
        """The indices of each tag's columns."""
        indices: dict[str, tuple[int, ...]] = {}
        for index, entry in enumerate(self.entries):
            indices[entry.tag] = (*indices.get(entry.tag, ()), index)
        return indices

    @cached_property
    def own_metadata(self) -> Mapping[str, bytes]:
        """The metadata that is a run's own, by tag."""
        return {
            entry.tag: entry.metadata
            for entry in self.entries
            if entry.metadata and has_own_metadata(entry.tag)
        }

    def without_own_metadata(self) -> Columns:
        """The columns of all runs that differ from this one in nothing else."""
        if not self.own_metadata:
            return self
        entries = (e._replace(metadata=shared_metadata(e.tag, e.metadata)) for e in self.entries)
        return Columns.of(tuple(entries), self.order)

    def selected(self, kept: Sequence[int]) -> Columns:
        """Only the columns with these indices, which ascend."""
        if len(kept) == len(self.entries):
            return self
        numbers = {index: number for number, index in enumerate(kept)}
        order = tuple(numbers[index] for index in self.order if index in numbers)
        return Columns.of(tuple(self.entries[index] for index in kept), order)


def shared_metadata(tag: str, metadata: bytes | None) -> bytes | None:
    """The metadata of a tag in columns and schemas: only the plugin name if the rest is a run's
    own."""
    if not metadata or not has_own_metadata(tag):
        return metadata
    found = SummaryMetadata()
    found.plugin_data.plugin_name = plugin_name(metadata)
    return found.SerializeToString()


@lru_cache(maxsize=1 << 8)
def plugin_name(metadata: bytes) -> str:
    """The plugin name in a serialized SummaryMetadata; "" if there is none."""
    try:
        return SummaryMetadata.FromString(metadata).plugin_data.plugin_name
    except ProtobufDecodeError:
        return ""


class References(NamedTuple):
    """Where the payloads of references are. Arrays of shape (num_references,)."""

    offset: NDArray[np.int64]
    """Offset of the record in its file, in bytes."""
    length: NDArray[np.uint32]
    """Length of the payload, in bytes."""
    index: NDArray[np.uint32]  # type: ignore[assignment]  # hides tuple.index, which is not used
    """Index of the Summary.Value in its event; 0 for events without a summary."""
    crc: NDArray[np.uint32]
    """Masked CRC-32C of the payload, as stored in the file."""
    file: NDArray[np.uint32] = np.empty(0, np.uint32)
    """Index of the file among the files of the run. Empty until the store takes the table."""

    def at(self, rows: PerRow | slice) -> References:
        """The references in these rows, counted from the first one."""
        return References(*(array[rows] for array in self))  # type: ignore[arg-type]


class BareEvent(NamedTuple):
    """An event without a summary, or one whose summary has no value that is read.

    If it holds a graph or run metadata, it has a row of references, too; otherwise it has no row.
    """

    position: int
    step: int
    wall_time: float
    is_summary: bool
    """Whether the event has a summary."""


class Table:
    """Rows in columns. Immutable once the store has taken it.

    Within a column, rows are in file order. A table may have bare events alone, and no rows.
    """

    __slots__ = (
        "_highest_step", "bare_events", "bounds", "columns", "last_wall_time", "nonfinite",
        "ordinals", "position", "references", "step", "value", "wall_time", "wide",
    )  # fmt: skip

    def __init__(
        self,
        columns: Columns,
        bounds: tuple[int, ...],
        step: Sequence[Steps],
        wall_time: NDArray[np.float64],
        value: NDArray[np.floating[Any]],
        references: References | None = None,
        ordinals: Mapping[int, PerRow] | None = None,
    ) -> None:
        self.columns = columns
        self.bounds = bounds
        """Column i has the rows from `bounds[i]` to `bounds[i + 1]`, at least one."""
        self.step = step
        """The steps of each column."""
        self.wall_time = wall_time
        """Shape (num_rows,), seconds since the epoch."""
        self.references = references
        """None if there are no references."""
        self.ordinals = ordinals or {}
        """The ordinals of some columns, by index. In all other columns they follow those of the
        tag's rows in earlier tables."""
        self.wide: Collection[int] = ()
        """Indices of the columns with values that float32 cannot hold."""
        self.nonfinite: Collection[int] = ()
        """Indices of the columns with values that are NaN or infinite."""
        is_finite = np.isfinite(value)
        if not is_finite.all():
            self.nonfinite = _columns_with(~is_finite, bounds)
        if value.dtype != np.float32:
            with np.errstate(over="ignore", invalid="ignore"):
                narrowed = value.astype(np.float32)
                is_exact = (narrowed == value) | np.isnan(value)
            if is_exact.all():
                value = narrowed
            else:
                self.wide = _columns_with(~is_exact, bounds)
        self.value = value
        """Shape (num_scalars,), float32, or float64 if any column needs it."""
        self._highest_step: int | None = None
        self.position: Callable[[], PerRow] | None = None
        """Returns the position of each row: the offset of its record plus the index of the value in
        its event. Positions are unique in a file, and ascend in the order written. Not kept by the
        store."""
        self.bare_events: Sequence[BareEvent] = ()
        """By position. Not kept by the store."""
        self.last_wall_time = np.nan
        """Wall time of the last of all these events that has one; NaN if none has. Not kept by the
        store."""

    @classmethod
    def of(
        cls,
        columns: Columns,
        bounds: tuple[int, ...],
        step: PerRow,
        wall_time: NDArray[np.float64],
        value: NDArray[np.floating[Any]],
        references: References | None,
        *,
        position: Callable[[], PerRow],
        last_wall_time: float,
        bare_events: Sequence[BareEvent] = (),
    ) -> Table:
        """A table as it is decoded; `step` has one element for each row. Keeps the other arrays."""
        steps = steps_of_columns(step, bounds)
        table = cls(columns, bounds, steps, wall_time, value, references)
        table.position, table.last_wall_time = position, last_wall_time
        table.bare_events = bare_events
        return table

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles what the store keeps."""
        arrays = self.step, self.wall_time, self.value, self.references, self.ordinals
        return Table, (self.columns, self.bounds, *arrays)

    @property
    def num_rows(self) -> int:
        return self.bounds[-1]

    @property
    def highest_step(self) -> int:
        """The highest step of all rows that are not graphs; lower than any step without such rows.

        Cached, since a file may have thousands of STARTs.
        """
        if self._highest_step is None:
            highest = [
                steps[-1] if isinstance(steps, range) else int(steps.max())
                for steps, column in zip(self.step, self.columns.entries, strict=True)
                if column.field not in GRAPH_FIELDS
            ]
            self._highest_step = max(highest, default=-(1 << 63) - 1)
        return self._highest_step

    def num_rows_of(self, index: int) -> int:
        """The number of rows in a column."""
        return self.bounds[index + 1] - self.bounds[index]

    def rows(self, index: int) -> slice:
        """The rows of a column."""
        return slice(self.bounds[index], self.bounds[index + 1])

    def references_of(self, index: int) -> References:
        """The rows of a column of references."""
        assert self.references is not None
        num_scalars = len(self.value)
        rows = slice(self.bounds[index] - num_scalars, self.bounds[index + 1] - num_scalars)
        return self.references.at(rows)

    def with_ordinals(self, ordinals: Mapping[int, PerRow]) -> Table:
        """This table with these ordinals in place of its own."""
        table = Table.__new__(Table)
        for name in Table.__slots__:  # Not copy.copy(), which would look at all values again.
            setattr(table, name, getattr(self, name))
        table.ordinals = ordinals
        return table

    def selected(self, rows: Mapping[int, PerRow]) -> Table | None:
        """This table with only some rows of some columns; None if no row is left.

        `rows` maps indices of columns to indices of rows within the column, ascending.
        """
        # 1. List the columns that keep rows, and the rows that they keep.
        # 2. Select steps and ordinals, which are stored by column.
        # 3. Select from all other arrays.
        if not rows:
            return self
        kept = [i for i in range(len(self.bounds) - 1) if i not in rows or len(rows[i])]  # 1
        if not kept:
            return None
        picked = [
            rows[i] + self.bounds[i] if i in rows else np.arange(*self.bounds[i : i + 2])
            for i in kept
        ]
        steps = [  # 2
            even_steps(step_array(self.step[i])[rows[i]]) if i in rows else self.step[i]
            for i in kept
        ]
        ordinals = {
            number: self.ordinals[i][rows[i]] if i in rows else self.ordinals[i]
            for number, i in enumerate(kept)
            if i in self.ordinals
        }
        columns = self.columns.selected(kept)  # 3
        bounds = bounds_of(map(len, picked))
        num_scalars = bounds[columns.num_scalar]
        all_rows = np.concatenate(picked)
        references = None
        if self.references is not None and num_scalars < len(all_rows):
            of_references = all_rows[num_scalars:] - len(self.value)
            references = self.references.at(of_references)
        value, wall_time = self.value[all_rows[:num_scalars]], self.wall_time[all_rows]
        return Table(columns, bounds, steps, wall_time, value, references, ordinals)

    @classmethod
    def joined(cls, tables: Sequence[Table]) -> Table:
        """One table with the rows of several, which were written one after the other.

        If one table has ordinals for a tag, all have.
        """
        # 1. Find the columns of all tables, and the parts of each column.
        # 2. Join steps and ordinals, which are stored by column.
        # 3. Join all other arrays.
        columns = reduce(_joined_columns, dict.fromkeys(table.columns for table in tables))  # 1
        parts: list[list[tuple[Table, int]]] = [[] for _ in columns.entries]
        for table in tables:
            for index, number in enumerate(_places(table.columns, columns)):
                parts[number].append((table, index))
        bounds = bounds_of(sum(table.num_rows_of(i) for table, i in part) for part in parts)
        steps = [joined_steps([table.step[i] for table, i in part]) for part in parts]  # 2
        ordinals = {
            number: np.concatenate([table.ordinals[i] for table, i in part])
            for number, part in enumerate(parts)
            if part[0][1] in part[0][0].ordinals
        }
        scalars = list(chain.from_iterable(parts[: columns.num_scalar]))  # 3
        others = list(chain.from_iterable(parts[columns.num_scalar :]))
        wall_time = [table.wall_time[table.rows(i)] for table, i in [*scalars, *others]]
        value = [table.value[table.rows(i)] for table, i in scalars] or [np.empty(0, np.float32)]
        references = None
        if others:
            each = zip(*(table.references_of(i) for table, i in others), strict=True)
            references = References(*(np.concatenate(arrays) for arrays in each))
        arrays = np.concatenate(wall_time), np.concatenate(value), references
        return cls(columns, bounds, steps, *arrays, ordinals)


class FileVersion(NamedTuple):
    """A control event with the version of the file's format, from its `file_version`."""

    version: float
    """The number after `brain.Event:`; -1 if there is none."""
    step: int
    wall_time: float


class SessionStart(NamedTuple):
    """An event with `session_log.status == START`: training started, or restarted, at `step`."""

    step: int
    wall_time: float


DecodedItem = Table | FileVersion | SessionStart
"""One element of the sequence into which a file is decoded."""


@lru_cache(maxsize=1 << 6)
def _joined_columns(first: Columns, second: Columns) -> Columns:
    """The columns of a table with the rows of two."""
    keys = dict.fromkeys(entry[:3] for entry in (*first.entries, *second.entries))
    metadata = {
        entry.tag: entry.metadata
        for entry in (*second.entries, *first.entries)  # The metadata of the first one wins.
        if entry.metadata is not None
    }
    in_rows = sorted(keys, key=lambda key: not key[2])
    places = {key: number for number, key in enumerate(in_rows)}
    in_order = (columns.entries[i][:3] for columns in (first, second) for i in columns.order)
    return Columns.of(
        tuple(TableColumn(*key, metadata.get(key[0])) for key in in_rows),
        tuple(dict.fromkeys(places[key] for key in in_order)),
    )


@lru_cache(maxsize=1 << 6)
def _places(columns: Columns, joined: Columns) -> Sequence[int]:
    """The index of each column among the joined columns."""
    if columns is joined:
        return range(len(joined.entries))
    places = {entry[:3]: number for number, entry in enumerate(joined.entries)}
    return [places[entry[:3]] for entry in columns.entries]


def _columns_with(mask: NDArray[np.bool_], bounds: tuple[int, ...]) -> frozenset[int]:
    """The indices of the columns with a row at which the mask is true."""
    columns = np.searchsorted(bounds, np.flatnonzero(mask), side="right") - 1
    return frozenset(np.unique(columns).tolist())


def bounds_of(counts: Iterable[int]) -> tuple[int, ...]:
    """The bounds of columns with these numbers of rows."""
    return tuple(accumulate(counts, initial=0))
