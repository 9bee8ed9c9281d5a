"""SegmentWriter: writes a segment, which contains the data of some runs."""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tbcore.engine import (
    Columns,
    EventFile,
    RunView,
    Schema,
    Table,
    extreme_rows,
    is_uri,
    read_hparams,
    step_array,
)
from tbcore_index.rows import table_of_rows
from tbcore_index.tables import COLUMNS, Place, Segment

_SETTLED_NS = 3_000_000_000
"""If a file changed less than this long before it was read, it may have changed once more since,
with the same size and time. So it is checked again."""
_HPARAM_COLUMNS = {float: "number", str: "text", bool: "flag"}
_REFERENCES = ("file", "offset", "length", "index", "crc")


class ReadRun(NamedTuple):
    """The data of a run that an index stores."""

    name: str
    view: RunView
    files: Sequence[EventFile]
    """The files as they were when they were opened."""
    bookmark: str
    """The bookmark for `RunReader.resume_at`, as JSON."""
    problems: Sequence[str]
    """One line for each damaged record."""


def settled(file: EventFile, opened_at_ns: int) -> EventFile:
    """The status of a file to store: `ctime_ns` is negative if it may have changed unnoticed."""
    if not (is_uri(file.path) and file.version) and opened_at_ns - file.mtime_ns < _SETTLED_NS:
        return file._replace(ctime_ns=-1)
    return file


class SegmentWriter:
    """Collects runs, and writes them as one segment."""

    def __init__(self) -> None:
        self.runs: list[dict[str, Any]] = []
        self._parts: list[_Part] = []
        self._num_series = self._num_points = self._num_items = 0

    @property
    def num_rows(self) -> int:
        """The number of points and items so far."""
        return self._num_points + self._num_items

    def add(self, run: ReadRun) -> None:
        """Adds a run. Raises UnicodeEncodeError if a path is not valid Unicode."""
        for file in run.files:
            file.path.encode()
        view, tables = run.view, run.view.tables
        table = tables[0] if len(tables) == 1 else Table.joined(tables) if tables else _NO_ROWS
        layout = _layout(view.schema, table.columns)
        own = view.own_metadata
        part = _Part(run.name, table, layout, own, self._num_points, self._num_items)
        num_points = len(table.value)
        num_items = table.num_rows - num_points
        self.runs.append(
            {
                "run": run.name,
                "revision": hashlib.blake2b(run.bookmark.encode(), digest_size=16).hexdigest(),
                "first_series": self._num_series,
                "num_series": len(layout.tag),
                "shape": layout.shape,
                "num_points": num_points,
                "num_items": num_items,
                "first_event_time": view.first_event_time,
                "last_event_time": view.last_event_time,
                "nonfinite_tags": list(view.nonfinite_tags),
                "nonfinite": [_first_nonfinite(view, tag) for tag in view.nonfinite_tags],
                "files": [file._asdict() for file in run.files],
                "bookmark": run.bookmark,
                "problems": list(run.problems),
                "hparams": _hparams(run),
            }
        )
        self._parts.append(part)
        self._num_series += len(layout.tag)
        self._num_points += num_points
        self._num_items += num_items

    def write(self, place: Place) -> Segment:
        """Writes all runs as a segment with a new name. Raises IndexWriteError if that fails."""
        name = uuid.uuid4().hex
        runs = [{**run, "segment": name} for run in self.runs]
        parts = self._parts
        rows = {
            "points": _rows(parts, "points"),
            "items": _rows(parts, "items"),
            "series": _series(parts),
            "runs": pa.Table.from_pylist(runs, COLUMNS["runs"]),
        }
        sizes = {table: place.write(table, name, each) for table, each in rows.items()}
        return Segment(name, {table: each.num_rows for table, each in rows.items()}, sizes)


def _first_nonfinite(view: RunView, tag: str) -> dict[str, float] | None:
    """The first point of a tag that is NaN or infinite; None if it was dropped."""
    found = view.point(tag, "nan")
    return found and {"step": found[0], "value": found[1]}


def _hparams(run: ReadRun) -> list[dict[str, Any]] | None:
    """The hyperparameters that a run logged; None if they cannot be decoded."""
    found = read_hparams(run.name, run.view.logged_hparams)
    if found.error:
        return None
    return [
        {"name": name, _HPARAM_COLUMNS[type(value)]: value} for name, value in found.values.items()
    ]


class _Layout(NamedTuple):
    """How the columns of a table become series. Runs with the same tags share it."""

    tag: Sequence[str]
    """The tag of each series; series are in the order of the schema."""
    field: Sequence[str]
    plugin: Sequence[str]
    is_scalar: Sequence[bool]
    metadata: Sequence[bytes | None]
    column: NDArray[np.int64]
    """The index of each series' column; -1 if it has no rows."""
    points: Sequence[int]
    """The indices of the columns of scalars in the order of their rows in the segment."""
    items: Sequence[int]
    """The indices of the columns of references in the order of their rows in the segment."""
    shape: str
    """Identifies the tags, kinds and metadata, but for what is a run's own."""


class _Part(NamedTuple):
    """The rows of one run."""

    run: str
    table: Table
    layout: _Layout
    own_metadata: Mapping[str, bytes]
    first_point: int
    first_item: int


_NO_ROWS = table_of_rows(
    (), (), (), step=np.empty(0, np.int64), wall_time=np.empty(0), value=np.empty(0, np.float32)
)


@lru_cache(maxsize=256)
def _layout(schema: Schema, columns: Columns) -> _Layout:
    places = {entry[:3]: index for index, entry in enumerate(columns.entries)}
    rows = [
        (tag, kind.field, kind.plugin_name, kind.is_scalar, info.metadata)
        for tag, info in schema.tags.items()
        for kind in info.kinds
    ]
    in_order = sorted(range(len(columns.entries)), key=lambda i: columns.entries[i][:2])
    tag, field, plugin, is_scalar, metadata = zip(*rows, strict=True) if rows else ((),) * 5
    return _Layout(
        tag, field, plugin, is_scalar, metadata,
        np.array([places.get((r[0], r[1], r[3]), -1) for r in rows], np.int64),
        [i for i in in_order if i < columns.num_scalar],
        [i for i in in_order if i >= columns.num_scalar],
        hashlib.blake2b(repr(rows).encode("utf-8", "replace"), digest_size=16).hexdigest(),
    )  # fmt: skip


def _ordinals(table: Table, index: int) -> NDArray[np.int64]:
    known = table.ordinals.get(index)
    return np.arange(table.num_rows_of(index)) if known is None else known


def _numbers(table: Table, order: Sequence[int], of: str) -> dict[str, NDArray[Any]]:
    """The numbers of a run in `points` or `items`, from these columns of its table."""
    found = {
        "ordinal": np.concatenate([_ordinals(table, i) for i in order]),
        "step": np.concatenate([step_array(table.step[i]) for i in order]),
        "wall_time": np.concatenate([table.wall_time[table.rows(i)] for i in order]),
    }
    if of == "points":
        found["value"] = np.concatenate([table.value[table.rows(i)] for i in order], dtype=float)
    else:
        references = [table.references_of(i) for i in order]
        for name in _REFERENCES:
            parts = [getattr(each, name) for each in references]
            found[name] = np.concatenate(parts, dtype=np.int64)
    return found


def _rows(parts: Sequence[_Part], table: str) -> pa.Table:
    """The rows of all runs in `points` or `items`."""
    arrays: dict[str, list[NDArray[Any]]] = {name: [] for name in COLUMNS[table].names}
    names: dict[str, dict[str, int]] = {name: {} for name in ("run", "tag", "field")}
    for part in parts:
        order: Sequence[int] = getattr(part.layout, table)
        if not order:
            continue
        for name, array in _numbers(part.table, order, table).items():
            arrays[name].append(array)
        counts = np.array([part.table.num_rows_of(i) for i in order])
        entries = [part.table.columns.entries[i] for i in order]
        texts = {"run": [part.run] * len(order)}
        texts["tag"], texts["field"] = [e.tag for e in entries], [e.field for e in entries]
        for name, each in texts.items():
            codes = names[name]
            numbers = [codes.setdefault(text, len(codes)) for text in each]
            arrays[name].append(np.repeat(np.array(numbers, np.int32), counts))
    columns = []
    for column in COLUMNS[table]:
        found = arrays[column.name]
        if not found:
            columns.append(pa.array([], column.type))
        elif column.name in names:
            texts_of = pa.array(list(names[column.name]), pa.string())
            indices = pa.array(np.concatenate(found))
            columns.append(pa.DictionaryArray.from_arrays(indices, texts_of))
        else:
            columns.append(pa.array(np.concatenate(found), column.type))
    return pa.table(columns, names=COLUMNS[table].names)


def _series(parts: Sequence[_Part]) -> pa.Table:
    """The series of all runs."""
    columns: dict[str, list[Any]] = {name: [] for name in COLUMNS["series"].names}
    for part in parts:
        table, layout = part.table, part.layout
        num_columns = len(table.columns.entries)
        columns["run"] += [part.run] * len(layout.tag)
        for name in ("tag", "field", "plugin", "is_scalar", "metadata"):
            columns[name] += getattr(layout, name)
        for number, tag in enumerate(layout.tag if part.own_metadata else ()):
            if tag in part.own_metadata:
                columns["metadata"][number - len(layout.tag)] = part.own_metadata[tag]
        # One more element for series without rows, which have the column -1.
        first_row = np.zeros(num_columns + 1, np.int64)
        counts = np.diff(table.bounds)
        for order, start in ((layout.points, part.first_point), (layout.items, part.first_item)):
            first_row[list(order)] = start + np.cumsum([0, *counts[list(order)]])[:-1]
        of_columns: dict[str, NDArray[Any]] = {"first_row": first_row, **_statistics(table)}
        for name, array in of_columns.items():
            columns[name] += array[layout.column].tolist()
    arrays = {name: columns[name] for name in COLUMNS["series"].names}
    return pa.table(arrays, schema=COLUMNS["series"])


def _statistics(table: Table) -> dict[str, NDArray[Any]]:
    """Columns of `series`: a value for each column of a table, then one for series without rows."""
    num = len(table.columns.entries)
    num_scalar = table.columns.num_scalar
    first, last = np.array(table.bounds[:-1], np.int64), np.array(table.bounds[1:], np.int64) - 1
    steps = [(each[0], each[-1], max(each[0], each[-1]) if isinstance(each, range)
              else each.max()) for each in table.step]  # fmt: skip
    first_step, last_step, highest = np.array([*steps, (0, 0, 0)], np.int64).T
    ordinals = [table.ordinals.get(i) for i in range(num)]
    lasts = [
        table.num_rows_of(i) - 1 if known is None else int(known[-1])
        for i, known in enumerate(ordinals)
    ]
    value = table.value.astype(np.float64)
    scalars = [value[table.rows(i)] for i in range(num_scalar)]
    last_value = np.full(num + 1, np.nan)
    last_value[:num_scalar] = value[last[:num_scalar]]
    num_nonfinite = np.zeros(num + 1, np.int64)
    num_nonfinite[:num_scalar] = [np.count_nonzero(~np.isfinite(each)) for each in scalars]
    points: dict[str, NDArray[Any]] = {}
    for stat in ("min", "max"):
        step, extreme = np.zeros(num + 1, np.int64), np.full(num + 1, np.nan)
        for i, row in enumerate(extreme_rows(scalars, stat)):
            if row is not None:
                step[i], extreme[i] = table.step[i][row], scalars[i][row]
        points |= {stat: extreme, f"{stat}_step": step}
    return {
        "num_rows": np.append(last - first + 1, 0),
        "has_ordinals": np.array([*(each is not None for each in ordinals), False]),
        "last_ordinal": np.array([*lasts, -1], np.int64),
        "first_step": first_step, "last_step": last_step, "highest_step": highest,
        "first_wall_time": np.append(table.wall_time[first], np.nan),
        "last_wall_time": np.append(table.wall_time[last], np.nan),
        "last_value": last_value, "num_nonfinite": num_nonfinite, **points,
    }  # fmt: skip


def bookmark_json(bookmark: Any) -> str:
    """A bookmark as JSON, in which numbers are exact, and may be NaN or infinite."""
    return json.dumps(bookmark, separators=(",", ":"))
