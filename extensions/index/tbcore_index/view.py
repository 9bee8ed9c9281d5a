"""StoredView: a run of an index, whose rows are read when they are used."""

from __future__ import annotations

import contextlib
import errno
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tbcore import DataLossError, LastPoints, TbcoreError
from tbcore.engine import (
    EventFile,
    FileRef,
    Series,
    StoredRun,
    Table,
    has_own_metadata,
    matches,
    quoted,
)
from tbcore.values import SESSION_START_TAG
from tbcore_index.cache import SegmentGoneError, SeriesRow
from tbcore_index.rows import table_of_rows

if TYPE_CHECKING:
    from tbcore_index.reader import IndexReader

T = TypeVar("T")
_MIN_ROWS_TO_KEEP = 1 << 17
"""Minimum length of a series that is kept. Shorter ones are read from a few cached row groups."""


class IndexedFile(FileRef):
    """A file that an index names. It can be opened if the user has confirmed its directory."""

    reader: IndexReader
    run: str

    def checked_path(self) -> str:
        if not self.reader.may_open(self.run, self.path):
            how = "by --logdir" if self.reader.is_server else "in place of the index"
            why = "an index names it, and you have not confirmed its directory; give the log"
            raise PermissionError(errno.EACCES, f"{why} directory {how}")
        return self.path


class SegmentRuns:
    """The facts about the runs of a segment, as columns, since there may be a million runs."""

    def __init__(self, index: IndexReader, segment: str, rows: pa.Table) -> None:
        """`rows` are the segment's rows in `runs`. Raises ValueError or TypeError for nulls."""
        columns = {name: rows.column(name).combine_chunks() for name in rows.column_names}
        files = columns["files"].flatten()
        fields = {name: files.field(name) for name in EventFile._fields}
        texts = [columns["run"], columns["revision"], fields["path"], fields["version"]]
        self._hparams = columns.get("hparams")
        if self._hparams is not None:
            texts.append(self._hparams.flatten().field("name"))
        if any(text.null_count for text in texts):
            raise ValueError("a text is missing")
        self.index = index
        self.segment = segment
        self.revision = columns["revision"]
        self.numbers = {
            n: np.from_dlpack(each)
            for n, each in (columns | fields).items()
            if pa.types.is_int64(each.type)
        }
        self.nonfinite_tags = _lists(columns["nonfinite_tags"])
        nonfinite = columns.get("nonfinite")
        self.nonfinite = None if nonfinite is None else _lists(nonfinite)
        """The first such point of each tag in `nonfinite_tags`; None in format 1."""
        self.problems = _lists(columns["problems"])
        self.path, self.version = fields["path"], fields["version"]
        self.bounds = np.from_dlpack(columns["files"].offsets).astype(np.int64)
        """Run i has the files from `bounds[i]` up to `bounds[i + 1]`."""
        newest = np.maximum.reduceat(np.append(self.numbers["mtime_ns"], 0), self.bounds[:-1])
        self.modified = np.where(np.diff(self.bounds), newest, 0) / 1e9
        """When the newest file of each run was written to; 0 for a run without files."""

    @cached_property
    def hparams(self) -> list[bytes | Mapping[str, Any] | None]:
        """The hyperparameters that each run logged; None if they are only in `series`, and were not
        read yet."""
        if self._hparams is None:
            return [None] * len(self.revision)
        fields = self._hparams.flatten()
        columns = (fields.field(name).to_pylist() for name in ("name", "number", "text", "flag"))
        items = [  # Interned, since all runs of a sweep have the same names.
            (sys.intern(name), next(filter(_is_known, of_types), None))
            for name, *of_types in zip(*columns, strict=True)
        ]
        bounds = pairwise(self._hparams.offsets.to_pylist())
        is_known = self._hparams.is_valid().to_pylist()
        return [
            dict(items[first:last]) if known else None
            for known, (first, last) in zip(is_known, bounds, strict=True)
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredView(StoredRun):
    """A run of an index. Its rows are read when they are used."""

    name: str
    runs: SegmentRuns
    row: int
    """Index of the run in `runs`."""

    @property
    def segment(self) -> str:
        return self.runs.segment

    def number(self, name: str) -> int:
        """A column of `runs`: first_series, num_series, num_points or num_items."""
        return int(self.runs.numbers[name][self.row])

    @property
    def revision(self) -> str:
        return str(self.runs.revision[self.row])

    @property
    def nonfinite_tags(self) -> tuple[str, ...]:
        return self.runs.nonfinite_tags.get(self.row, ())

    @property
    def own_metadata(self) -> Mapping[str, bytes]:
        if not any(has_own_metadata(tag) for tag in self.schema.tags):
            return {}
        return {
            row.tag: row.metadata
            for row in self._rows()
            if row.metadata and has_own_metadata(row.tag)
        }

    @property
    def logged_hparams(self) -> bytes | Mapping[str, Any] | None:
        known = self.runs.hparams[self.row]
        if known is None:
            with contextlib.suppress(TbcoreError):  # which is a problem of the index then
                known = self.runs.hparams[self.row] = self.own_metadata.get(SESSION_START_TAG, {})
        return known

    @property
    def problems(self) -> tuple[str, ...]:
        return self.runs.problems.get(self.row, ())

    @property
    def sizes(self) -> Sequence[int]:
        sizes: list[int] = self.runs.numbers["size"][self._files].tolist()
        return sizes

    @property
    def modified(self) -> float:
        return float(self.runs.modified.item(self.row))

    @property
    def known_files(self) -> tuple[EventFile, ...]:
        of, files = self.runs, self._files
        texts = (each[files].to_pylist() for each in (of.path, of.version))
        numbers = (of.numbers[n][files].tolist() for n in ("size", "mtime_ns", "ctime_ns"))
        return tuple(map(EventFile, *texts, *numbers))

    @property
    def files(self) -> tuple[FileRef, ...]:
        found = tuple(IndexedFile(*FileRef.of(file)) for file in self.known_files)
        for file in found:
            file.reader, file.run = self.runs.index, self.name
        return found

    @property
    def may_be_opened(self) -> bool:
        may_open = self.runs.index.may_open
        return all(may_open(self.name, file.path) for file in self.known_files)

    @property
    def _files(self) -> slice:
        """The range of its files in the columns of files."""
        bounds = self.runs.bounds
        return slice(bounds.item(self.row), bounds.item(self.row + 1))

    @property
    def tables(self) -> tuple[Table, ...]:
        """All rows of the run."""

        def read(run: StoredView) -> tuple[Table, ...]:
            rows = [row for row in self.runs.index.series_rows(run) if row.num_rows]
            return (self._table(run, rows),) if rows else ()

        return self._read_at(read)

    def series(self, tag: str) -> list[Series]:
        kinds = self.schema.tags[tag].kinds

        def read(run: StoredView) -> list[Series]:
            rows = self.runs.index.series_rows(run, tag)
            if len(rows) != len(kinds):
                raise damaged(run, f"{len(rows)} series of {quoted(tag)}")
            return [
                Series(kind, [(self._whole(run, row), 0)] if row.num_rows else ())
                for kind, row in zip(kinds, rows, strict=True)
            ]

        return self._read_at(read)

    def check(self) -> None:
        self._read_at(self.runs.index.check_series)

    def last_points(self, claims: tuple[Any, ...]) -> LastPoints:
        last: dict[str, SeriesRow] = {}
        for row in self._rows():
            if row.is_scalar and row.num_rows:
                before = last.get(row.tag)
                is_last = before is None or before.last_ordinal < row.last_ordinal
                if is_last and matches(claims, row.kind, row.tag):
                    last[row.tag] = row
        return LastPoints(
            list(last),
            np.array([row.last_step for row in last.values()], np.int64),
            np.array([row.last_wall_time for row in last.values()], np.float64),
            np.array([row.last_value for row in last.values()], np.float64),
        )

    def last_point(self, tag: str) -> tuple[int, float] | None:
        rows = self._scalar_rows(tag)
        if not rows:
            return None
        last = max(rows, key=lambda row: row.last_ordinal)
        return last.last_step, last.last_value

    def point(self, tag: str, stat: str) -> tuple[int, float] | None:
        if stat == "nan" and self.runs.nonfinite is not None:
            firsts = self.runs.nonfinite.get(self.row, ())
            first = dict(zip(self.nonfinite_tags, firsts, strict=True)).get(tag)
            return first and (first["step"], first["value"])
        rows = self._scalar_rows(tag)
        if len(rows) == 1:
            (row,) = rows
            step, value = (row.min_step, row.min) if stat == "min" else (row.max_step, row.max)
            if step is not None:
                return (step, value) if row.num_nonfinite < row.num_rows else None
        return super(StoredView, self).point(tag, stat)

    def highest_step(self) -> int | None:
        rows = [row for row in self._rows() if row.num_rows]
        return max((r.highest_step for r in rows if not r.kind.is_graph), default=None)

    def _scalar_rows(self, tag: str) -> list[SeriesRow]:
        found = self._read_at(lambda run: run.runs.index.series_rows(run, tag))
        return [row for row in found if row.is_scalar and row.num_rows]

    def _rows(self) -> list[SeriesRow]:
        return self._read_at(self.runs.index.series_rows)

    def _read_at(self, read: Callable[[StoredView], T]) -> T:
        """Calls a function with the run in its current segment: the old one may have been replaced.

        Raises DataLossError if a file of the segment is damaged or gone.
        """
        index = self.runs.index
        try:
            try:
                return read(index.located(self))
            except SegmentGoneError:
                index.refresh()
                return read(index.located(self))
        except (DataLossError, SegmentGoneError) as error:
            segment = index.located(self).segment
            line = index.lose(segment, error, lambda: read(index.located(self)))
            raise DataLossError(line) from None

    def _whole(self, run: StoredView, row: SeriesRow) -> Table:
        """A table with the rows of one series. That of the last long one is kept: a page requests
        it at each zoom."""
        key, index = (run.segment, row.is_scalar, row.first_row), self.runs.index
        kept = index.long_series
        if kept and kept[0] == key:
            return kept[1]
        table = self._table(run, [row])
        if row.num_rows >= _MIN_ROWS_TO_KEEP:
            index.long_series = key, table
        return table

    def _table(self, run: StoredView, rows: Sequence[SeriesRow]) -> Table:
        """A table with the rows of these series, none of which is empty."""
        in_order = sorted(rows, key=lambda row: (not row.is_scalar, row.first_row))
        numbers = {(row.tag, row.field, row.is_scalar): i for i, row in enumerate(in_order)}
        scalars = [row for row in in_order if row.is_scalar]
        others = in_order[len(scalars) :]
        points = self._read(run, "points", scalars)
        items = self._read(run, "items", others)
        step, wall_time, ordinal = (
            np.concatenate([part[name] for part in (points, items) if part])
            for name in ("step", "wall_time", "ordinal")
        )
        bounds = np.cumsum([0, *(row.num_rows for row in in_order)])
        return table_of_rows(
            [(row.tag, row.field, row.is_scalar, row.metadata) for row in in_order],
            [numbers[row.tag, row.field, row.is_scalar] for row in rows],
            (row.num_rows for row in in_order),
            step=step,
            wall_time=wall_time,
            value=points["value"] if points else np.empty(0, np.float32),
            references=items or None,
            ordinals={
                i: ordinal[bounds[i] : bounds[i + 1]]
                for i, row in enumerate(in_order)
                if row.has_ordinals
            },
        )

    def _read(
        self, run: StoredView, table: str, rows: Sequence[SeriesRow]
    ) -> dict[str, NDArray[Any]]:
        """The rows of these series, which must be adjacent in the file."""
        if not rows:
            return {}
        end = rows[-1].first_row + rows[-1].num_rows
        found = self.runs.index.rows(run, table, rows[0].first_row, end)
        if len(found["step"]) != sum(row.num_rows for row in rows):
            raise damaged(run, f"{len(found['step'])} rows")
        return found


def _is_known(value: object) -> bool:
    return value is not None


def _lists(column: pa.ListArray) -> dict[int, tuple[Any, ...]]:
    """The lists in a column, by row, without the empty ones. Raises ValueError for nulls."""
    if column.null_count:
        raise ValueError("a list is missing")
    rows = np.flatnonzero(np.diff(np.from_dlpack(column.offsets)))
    return {row: tuple(column[row].as_py()) for row in rows.tolist()}


def damaged(run: StoredView, what: str) -> DataLossError:
    return DataLossError(f"a segment of the index is damaged: {run.segment}: it has {what}")
