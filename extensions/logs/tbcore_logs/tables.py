"""LogTable and ScalarTable: tables with conversions to pandas, polars and Arrow.

Each of these packages is imported when a method that needs it is called.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tbcore_logs.drawings import table_html, time_of

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow


_MAX_SHOWN_COLUMNS = 10
"""Maximum number of columns that are shown of a table."""
_NUM_SHOWN_ROWS = 5
"""Number of rows at the start, and at the end, of a table that a notebook shows."""


class Categories(NamedTuple):
    """A column with few different strings."""

    codes: NDArray[np.int32]
    """Shape (num_rows,): for each row, an index into `names`."""
    names: Sequence[str]


class LogTable:
    """A table. Each column is a read-only array with a dtype of its own."""

    missing: Mapping[str, NDArray[np.bool_]]
    """Maps names of columns to arrays of shape (num_rows,), which are True where nothing was
    logged. There the column has NaN, which may also have been logged. A column without missing
    values is left out. In Arrow and polars, missing values are null."""

    def __init__(
        self,
        columns: Mapping[str, Categories | NDArray[Any]],
        missing: Mapping[str, NDArray[np.bool_]] = MappingProxyType({}),
    ) -> None:
        """Not called by users. There is at least one column, and all have the same length."""
        self._columns, self.missing = columns, missing
        for column in columns.values():
            (column.codes if isinstance(column, Categories) else column).flags.writeable = False

    def __len__(self) -> int:
        first = next(iter(self._columns.values()))
        return len(first.codes if isinstance(first, Categories) else first)

    def __repr__(self) -> str:
        names = list(self._columns)
        if len(names) > _MAX_SHOWN_COLUMNS:
            names[_MAX_SHOWN_COLUMNS:] = [f"... {len(names) - _MAX_SHOWN_COLUMNS} more"]
        return f"{type(self).__name__}(num_rows={len(self)}, columns={names})"

    def _repr_html_(self) -> str:
        """For notebooks: the first and the last rows."""
        names = list(self._columns)[:_MAX_SHOWN_COLUMNS]
        head = range(min(len(self), _NUM_SHOWN_ROWS))
        tail = range(max(len(self) - _NUM_SHOWN_ROWS, len(head)), len(self))
        shown = [*head, *tail]

        def cells(name: str) -> list[Any]:
            column = self._columns[name]
            if isinstance(column, Categories):
                return [column.names[code] for code in column.codes[shown].tolist()]
            values: list[Any] = column[shown].tolist()
            if name in self.missing:
                is_missing = self.missing[name][shown]
                return ["" if m else v for v, m in zip(values, is_missing, strict=True)]
            return list(map(time_of, values)) if name == "wall_time" else values

        rows = [list(row) for row in zip(*map(cells, names), strict=True)]
        if len(head) + len(tail) < len(self):
            rows.insert(len(head), ["..."] * len(names))
        caption = f"{len(self):,} rows, {len(self._columns):,} columns"
        return table_html(names, rows, caption)

    @cached_property
    def columns(self) -> Mapping[str, NDArray[Any]]:
        """Maps names to columns of shape (num_rows,). Strings are in object arrays."""
        columns = {}
        for name, column in self._columns.items():
            if isinstance(column, Categories):
                column = np.array([*column.names, ""], object)[column.codes]
                column.flags.writeable = False
            columns[name] = column
        return MappingProxyType(columns)

    def to_pandas(self) -> pandas.DataFrame:
        """A pandas DataFrame, in which runs and tags are categorical."""
        pd = _import("pandas")

        def array(column: Categories | NDArray[Any]) -> Any:
            if isinstance(column, Categories):
                return pd.Categorical.from_codes(column.codes, column.names)
            return column

        columns = {name: array(column) for name, column in self._columns.items()}
        frame: pandas.DataFrame = pd.DataFrame(columns)
        return frame

    def to_polars(self) -> polars.DataFrame:
        """A polars DataFrame, in which runs and tags are strings."""
        pl = _import("polars")

        def series(name: str, column: Categories | NDArray[Any]) -> Any:
            if isinstance(column, Categories):
                return pl.Series(name, column.names, pl.String).gather(column.codes)
            made = pl.Series(name, _of_one_type(column) if column.dtype == object else column)
            return made.set(pl.Series(self.missing[name]), None) if name in self.missing else made

        columns = [series(name, column) for name, column in self._columns.items()]
        frame: polars.DataFrame = pl.DataFrame(columns)
        return frame

    def to_arrow(self) -> pyarrow.Table:
        """An Arrow table, in which runs and tags are dictionary arrays."""
        pa = _import("pyarrow")

        def array(name: str, column: Categories | NDArray[Any]) -> Any:
            if isinstance(column, Categories):
                names = pa.array(column.names, pa.string())
                return pa.DictionaryArray.from_arrays(column.codes, names)
            if column.dtype == object:
                return pa.array(_of_one_type(column))
            return pa.array(column, mask=self.missing.get(name))

        columns = {name: array(name, column) for name, column in self._columns.items()}
        table: pyarrow.Table = pa.table(columns)
        return table


class ScalarTable(LogTable):
    """Points of several tags and runs: `run`, `tag`, `step`, `wall_time` and `value`.

    Rows are grouped by run, in the order of `logs.runs`, then by tag; the points of a tag are in
    the order written. Steps are int64, wall times are float64, in seconds since the epoch, and
    values are float32, or float64 if a value needs it.
    """

    def __init__(
        self,
        run: Categories,
        tag: Categories,
        step: NDArray[np.int64],
        wall_time: NDArray[np.float64],
        value: NDArray[np.floating[Any]],
    ) -> None:
        """Not called by users."""
        super().__init__(
            {"run": run, "tag": tag, "step": step, "wall_time": wall_time, "value": value}
        )
        self._wide_columns = run, tag, step, value

    def wide(self) -> LogTable:
        """One row per run and step: the columns `run`, `step`, and the values of each tag.

        Values are NaN where a tag has none; `missing` of the table tells these from NaN that was
        logged. Rows are sorted by run and step. If a tag has several points at a step, the last one
        counts; a warning has the number of points left out. A tag named `run` or `step` gets a `_`
        at its end.
        """
        # 1. Sort the points by run and step.
        # 2. Number the distinct pairs of run and step: each is a row.
        # 3. Write the values of each tag to its column, in the order they were written.
        run, tag, step, value = self._wide_columns
        order = np.lexsort((step, run.codes))  # 1
        sorted_step, sorted_run = step[order], run.codes[order]
        is_first = np.ones(len(order), np.bool_)  # 2
        is_first[1:] = (np.diff(sorted_step) != 0) | (np.diff(sorted_run) != 0)
        row = np.empty(len(order), np.int64)
        row[order] = np.cumsum(is_first) - 1
        num_rows, num_left_out = int(is_first.sum()), 0
        columns: dict[str, Categories | NDArray[Any]] = {
            "run": Categories(sorted_run[is_first], run.names),
            "step": sorted_step[is_first],
        }
        missing: dict[str, NDArray[np.bool_]] = {}
        for code, tag_name in enumerate(tag.names):  # 3
            points, name = np.flatnonzero(tag.codes == code), free_name(tag_name, columns)
            columns[name] = column = np.full(num_rows, np.nan, value.dtype)
            is_missing = np.ones(num_rows, np.bool_)
            column[row[points]], is_missing[row[points]] = value[points], False
            num_left_out += len(points) - num_rows + int(is_missing.sum())
            if is_missing.any():
                is_missing.flags.writeable = False
                missing[name] = is_missing
        if num_left_out:
            warnings.warn(
                f"{num_left_out} points are left out: a later point of the tag has the same step",
                stacklevel=2,
            )
        return LogTable(columns, missing)


def free_name(name: str, taken: Collection[str]) -> str:
    """The name with as many `_` at its end as needed to differ from all that are taken.

    A logged name never takes the place of a field of a row: a tag named `step` becomes `step_`.
    """
    while name in taken:
        name = f"{name}_"
    return name


def _import(package: str) -> Any:
    """Imports a package. If it is not installed, the error has the command that installs it."""
    try:
        return import_module(package)
    except ModuleNotFoundError as error:
        if error.name != package:
            raise
        message = f"{package} is not installed: pip install {package}"
        raise ModuleNotFoundError(message, name=package) from None


def _of_one_type(column: NDArray[np.object_]) -> list[Any]:
    """The elements as a list, converted to strings if they have several types; None stays None."""
    elements: list[Any] = column.tolist()
    if len({type(element) for element in elements if element is not None}) < 2:
        return elements
    return [e if e is None or isinstance(e, str) else json.dumps(e) for e in elements]
