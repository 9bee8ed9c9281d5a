"""Writers: tables of numbers as CSV, JSON lines or Parquet, in chunks.

with WRITERS["csv"](file) as writer:
    writer.begin(["run", "tag"], {"step": np.int64, "value": np.float64})
    writer.write(["train", "loss"], [steps, values])     # any number of times
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import IO, Any, Self

import click
import numpy as np
from numpy.typing import NDArray

from tbcore.engine import one_line
from tbcore.http import number_texts
from tbcore_logs.printing.json_output import FirstLines, json_line
from tbcore_logs.printing.output import csv_line

_ROW_GROUP_ROWS = 1 << 17
"""Minimum number of rows of each row group in a Parquet file, except the last one."""


class Writer:
    """Writes a table to a file. As a context manager, it ends the table unless there is an error.

    Columns are arrays. In a masked array, masked elements are values that are missing.
    """

    def __init__(self, file: IO[bytes] | FirstLines, *, is_terminal: bool = False) -> None:
        self._file = file
        self._is_terminal = is_terminal
        self._texts: Sequence[str] = ()
        self._numbers: Mapping[str, type] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: object, trace: TracebackType | None
    ) -> None:
        if self._texts:
            with contextlib.nullcontext() if kind is None else contextlib.suppress(Exception):
                self._end()

    def begin(self, texts: Sequence[str], numbers: Mapping[str, type]) -> None:
        """Starts the table. Its columns are those of `texts`, followed by those of `numbers`.

        `numbers` maps names to dtypes.
        """
        self._texts, self._numbers = texts, numbers
        self._write_header()

    def _write_header(self) -> None:
        """Writes the part of the file before the rows."""

    def write(self, texts: Sequence[str], columns: Sequence[NDArray[Any]]) -> None:
        """Writes a chunk of rows. All of them have the same texts; `columns` are the numbers."""
        raise NotImplementedError

    def _write_lines(self, lines: Iterable[str]) -> None:
        self._file.write("\n".join([*lines, ""]).encode("utf-8", "backslashreplace"))

    def _end(self) -> None:
        """Writes the rest of the file."""


class CsvWriter(Writer):
    """Writes CSV as in RFC 4180, but with LF. Control characters are escaped only on a terminal."""

    def _write_header(self) -> None:
        self._write_lines([self._line([*self._texts, *self._numbers])])

    def write(self, texts: Sequence[str], columns: Sequence[NDArray[Any]]) -> None:
        cells = [_cells(column) for column in columns]
        for column, own in zip(columns, cells, strict=True):
            for index in np.flatnonzero(~np.isfinite(np.ma.filled(column, 0))).tolist():
                own[index] = str(column[index])
        start = self._line(texts) + ","
        self._write_lines([start + ",".join(row) for row in zip(*cells, strict=True)])

    def _line(self, texts: Sequence[str]) -> str:
        return csv_line(list(map(one_line, texts)) if self._is_terminal else texts)


class JsonLinesWriter(Writer):
    """Writes an object for each row, without missing values. Non-finite numbers are the strings
    `NaN`, `Infinity` and `-Infinity`."""

    def write(self, texts: Sequence[str], columns: Sequence[NDArray[Any]]) -> None:
        start = json_line(dict(zip(self._texts, texts, strict=True)))[:-1]
        pairs = zip(self._numbers, columns, strict=True)
        named = [(name, column) for name, column in pairs if not np.ma.getmaskarray(column).all()]
        keys = [json_line({name: 0})[1:-2] for name, _ in named]
        lines = []
        for row in zip(*(_cells(column) for _, column in named), strict=True):
            known = [key + cell for key, cell in zip(keys, row, strict=True) if cell]
            lines.append(",".join([start, *known]) + "}")
        self._write_lines(lines)


class ParquetWriter(Writer):
    """Writes Parquet. Imports pyarrow when it is created."""

    def __init__(self, file: IO[bytes] | FirstLines, *, is_terminal: bool = False) -> None:
        super().__init__(file)
        try:
            import pyarrow
            import pyarrow.parquet
        except ImportError:
            message = "Parquet needs pyarrow, which is not installed: pip install pyarrow"
            raise click.ClickException(message) from None
        self._pa: Any = pyarrow
        self._schema: Any = None
        self._writer: Any = None
        self._chunks: list[Any] = []
        self._num_rows = 0

    def _write_header(self) -> None:
        pa = self._pa
        text = pa.dictionary(pa.int32(), pa.string())
        fields = [(name, text) for name in self._texts]
        fields += [(name, pa.from_numpy_dtype(dtype)) for name, dtype in self._numbers.items()]
        self._schema = pa.schema(fields)
        # No dictionaries of numbers: they take memory and time, and logged numbers rarely repeat.
        self._writer = pa.parquet.ParquetWriter(
            self._file, self._schema, compression="zstd", use_dictionary=list(self._texts)
        )

    def write(self, texts: Sequence[str], columns: Sequence[NDArray[Any]]) -> None:
        pa, num_rows = self._pa, len(columns[0])
        codes = np.zeros(num_rows, np.int32)
        arrays = [pa.DictionaryArray.from_arrays(codes, pa.array([_valid(t)])) for t in texts]
        fields = list(self._schema)[len(texts) :]
        arrays += [
            pa.array(np.ma.getdata(column), mask=np.ma.getmaskarray(column)).cast(field.type)
            for column, field in zip(columns, fields, strict=True)
        ]
        self._chunks.append(pa.table(arrays, schema=self._schema))
        self._num_rows += num_rows
        if self._num_rows >= _ROW_GROUP_ROWS:
            self._flush()

    def _end(self) -> None:
        try:
            if self._chunks:
                self._flush()
        finally:
            self._writer.close()

    def _flush(self) -> None:
        table = self._pa.concat_tables(self._chunks).unify_dictionaries()
        self._writer.write_table(table)
        self._chunks, self._num_rows = [], 0


WRITERS: Mapping[str, type[Writer]] = {
    "csv": CsvWriter,
    "jsonl": JsonLinesWriter,
    "parquet": ParquetWriter,
}
"""Maps the ending of a file to its writer."""


def _cells(column: NDArray[Any]) -> list[str]:
    """The JSON of each number; missing values are empty."""
    cells = number_texts(np.ma.getdata(column))
    for index in np.flatnonzero(np.ma.getmaskarray(column)).tolist():
        cells[index] = ""
    return cells


def _valid(text: str) -> str:
    """The text with surrogates escaped, which are not valid in UTF-8."""
    return text.encode("utf-8", "backslashreplace").decode()
