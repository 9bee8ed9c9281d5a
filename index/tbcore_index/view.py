"""StoredView: a run of an index, whose rows are read when they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from tbcore.errors import DataLossError
from tbcore.eventfiles.logdir import is_remote
from tbcore.eventfiles.table import (
    GRAPH_FIELDS,
    Columns,
    References,
    Table,
    TableColumn,
    bounds_of,
    even_steps,
)
from tbcore.kinds import Kind, matches
from tbcore.store.series import LastPoints, Series
from tbcore.store.state import quoted
from tbcore.store.view import FileRef, RunView, Schema
from tbcore_index.cache import SegmentGoneError, SeriesRow

if TYPE_CHECKING:
    from tbcore_index.reader import IndexedRun, IndexReader

T = TypeVar("T")


class StoredView(RunView):
    """A run of an index. Its rows are read when they are asked for."""

    __slots__ = ("_index", "_run")
    _index: IndexReader
    _run: IndexedRun

    def __init__(self, index: IndexReader, run: IndexedRun, schema: Schema) -> None:
        # The base class is frozen.
        for name, value in (
            ("schema", schema), ("_index", index), ("_run", run),
            ("first_event_time", run.first_event_time), ("last_event_time", run.last_event_time),
        ):  # fmt: skip
            object.__setattr__(self, name, value)

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__

    @property
    def nonfinite_tags(self) -> tuple[str, ...]:
        return tuple(self._run.nonfinite_tags)

    @property
    def files(self) -> tuple[FileRef, ...]:
        return tuple(
            FileRef(file.path, "" if is_remote(file.path) else file.version)
            for file in self._run.files
        )

    @property
    def tables(self) -> tuple[Table, ...]:
        """All rows of the run."""

        def read(run: IndexedRun) -> tuple[Table, ...]:
            rows = [row for row in self._index.series_rows(run) if row.num_rows]
            return (self._table(run, rows),) if rows else ()

        return self._read_at(read)

    def series(self, tag: str) -> list[Series]:
        kinds = self.schema.tags[tag].kinds

        def read(run: IndexedRun) -> list[Series]:
            rows = [row for row in self._index.series_rows(run) if row.tag == tag]
            if len(rows) != len(kinds):
                raise damaged(run, f"{len(rows)} series of {quoted(tag)}")
            return [
                Series(kind, [(self._table(run, [row]), 0)] if row.num_rows else ())
                for kind, row in zip(kinds, rows, strict=True)
            ]

        return self._read_at(read)

    def last_points(self, claims: tuple[Any, ...]) -> LastPoints:
        last: dict[str, SeriesRow] = {}
        for row in self._rows():
            if row.is_scalar and row.num_rows:
                kind = Kind(row.field, row.plugin, row.is_scalar)
                before = last.get(row.tag)
                is_last = before is None or before.last_ordinal < row.last_ordinal
                if is_last and matches(claims, kind):
                    last[row.tag] = row
        return LastPoints(
            list(last),
            np.array([row.last_step for row in last.values()], np.int64),
            np.array([row.last_wall_time for row in last.values()], np.float64),
            np.array([row.last_value for row in last.values()], np.float64),
        )

    def last_point(self, tag: str) -> tuple[int, float] | None:
        rows = [r for r in self._rows() if r.tag == tag and r.is_scalar and r.num_rows]
        if not rows:
            return None
        last = max(rows, key=lambda row: row.last_ordinal)
        return last.last_step, last.last_value

    def highest_step(self) -> int | None:
        rows = [row for row in self._rows() if row.num_rows]
        return max((r.highest_step for r in rows if r.field not in GRAPH_FIELDS), default=None)

    def _rows(self) -> list[SeriesRow]:
        return self._read_at(self._index.series_rows)

    def _read_at(self, read: Callable[[IndexedRun], T]) -> T:
        """Calls a function with where the run is by now: its segment may have been replaced."""
        try:
            return read(self._index.located(self._run))
        except SegmentGoneError:
            self._index.refresh()
            return read(self._index.located(self._run))

    def _table(self, run: IndexedRun, rows: Sequence[SeriesRow]) -> Table:
        """A table with the rows of these series, which have some."""
        in_order = sorted(rows, key=lambda row: (not row.is_scalar, row.first_row))
        numbers = {(row.tag, row.field, row.is_scalar): i for i, row in enumerate(in_order)}
        columns = Columns.of(
            tuple(TableColumn(r.tag, r.field, r.is_scalar, r.metadata) for r in in_order),
            tuple(numbers[row.tag, row.field, row.is_scalar] for row in rows),
        )
        bounds = bounds_of(row.num_rows for row in in_order)
        scalars = [row for row in in_order if row.is_scalar]
        others = in_order[len(scalars) :]
        points = self._read(run, "points", scalars)
        items = self._read(run, "items", others)
        step, wall_time, ordinal = (
            np.concatenate([part[name] for part in (points, items) if part])
            for name in ("step", "wall_time", "ordinal")
        )
        of = [slice(*bounds[i : i + 2]) for i in range(len(in_order))]
        references = None
        if items:
            arrays = [
                items["offset"],
                *(items[n].astype(np.uint32) for n in References._fields[1:]),
            ]
            references = References(*arrays)
        return Table(
            columns, bounds, [even_steps(step[each]) for each in of], wall_time,
            points["value"] if points else np.empty(0, np.float32), references,
            {i: ordinal[of[i]] for i, row in enumerate(in_order) if row.has_ordinals},
        )  # fmt: skip

    def _read(
        self, run: IndexedRun, table: str, rows: Sequence[SeriesRow]
    ) -> dict[str, NDArray[Any]]:
        """The rows of these series, of which one follows the other in the file."""
        if not rows:
            return {}
        end = rows[-1].first_row + rows[-1].num_rows
        found = self._index.rows(run, table, rows[0].first_row, end)
        if len(found["step"]) != sum(row.num_rows for row in rows):
            raise damaged(run, f"{len(found['step'])} rows")
        return found


def damaged(run: IndexedRun, what: str) -> DataLossError:
    return DataLossError(f"a segment of the index is damaged: {run.segment}: it has {what}")
