"""Writers: tables of numbers as CSV, JSON lines or Parquet, in chunks.

writer = WRITERS["csv"](file)
writer.begin(["run", "tag"], {"step": np.int64, "value": np.float64})
writer.write(["train", "loss"], [steps, values])     # any number of times
writer.end()
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import IO, Any

import click
import numpy as np
import orjson
from numpy.typing import NDArray

from tbcore.engine import one_line
from tbcore_logs.printing.output import json_line

_ROW_GROUP_ROWS = 1 << 17
"""Number of rows after which a Parquet file gets a row group."""


class Writer:
    """Writes a table to a file."""

    def __init__(self, file: IO[bytes], *, is_terminal: bool = False) -> None:
        self._file = file
        self._is_terminal = is_terminal
        self._texts: Sequence[str] = ()
        self._numbers: Mapping[str, type] = {}
        self._is_sparse = False

    def begin(
        self, texts: Sequence[str], numbers: Mapping[str, type], *, is_sparse: bool = False
    ) -> None:
        """Names the columns: first those of texts, then those of numbers.

        `numbers` has the dtypes. With `is_sparse`, NaN means that there is no value.
        """
        self._texts, self._numbers, self._is_sparse = texts, numbers, is_sparse
        self._write_header()

    def _write_header(self) -> None:
        """Writes what comes before the rows, when the columns are known."""

    def write(self, texts: Sequence[str], columns: Sequence[NDArray[Any]]) -> None:
        """Writes the rows of a chunk, in which each column of texts has one value."""
        raise NotImplementedError

    def end(self) -> None:
        """Writes what is left."""


class CsvWriter(Writer):
    """Writes CSV as RFC 4180 describes it, but with LF. Control characters are escaped on a
    terminal alone."""

    def _write_header(self) -> None:
        self._file.write(self._joined([*self._texts, *self._numbers]) + b"\n")

    def write(self, texts: Sequence[str], columns: Sequence[NDArray[Any]]) -> None:
        start = self._joined(texts) + b","
        cells = [_digits(column, {"nan": b""} if self._is_sparse else {}) for column in columns]
        lines = [start + b",".join(row) for row in zip(*cells, strict=True)]
        self._file.write(b"\n".join([*lines, b""]))

    def _joined(self, texts: Sequence[str]) -> bytes:
        buffer = io.StringIO()
        escaped = map(one_line, texts) if self._is_terminal else texts
        csv.writer(buffer, lineterminator="").writerow(escaped)
        return buffer.getvalue().encode("utf-8", "backslashreplace")


class JsonLinesWriter(Writer):
    """Writes an object for each row. Non-finite numbers are `"NaN"`, `"Infinity"`, `"-Infinity"`;
    columns without a value are left out."""

    def write(self, texts: Sequence[str], columns: Sequence[NDArray[Any]]) -> None:
        start = json_line(dict(zip(self._texts, texts, strict=True))).encode()[:-1]
        named = list(zip(self._numbers, columns, strict=True))
        if self._is_sparse:
            named = [(name, column) for name, column in named if not np.isnan(column).all()]
        keys = [json_line({name: 0})[1:-2].encode() for name, _ in named]
        names = {"nan": b'"NaN"', "inf": b'"Infinity"', "-inf": b'"-Infinity"'}
        cells = [_digits(column, names) for _, column in named]
        lines = []
        for row in zip(*cells, strict=True):
            pairs = zip(keys, row, strict=True)
            known = [key + cell for key, cell in pairs if not self._is_sparse or cell != b'"NaN"']
            lines.append(b",".join([start, *known]) + b"}\n")
        self._file.write(b"".join(lines))


class ParquetWriter(Writer):
    """Writes Parquet with pyarrow, which is imported here."""

    def __init__(self, file: IO[bytes], *, is_terminal: bool = False) -> None:
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
        # Dictionaries of numbers take memory and time, and numbers of logs seldom repeat.
        self._writer = pa.parquet.ParquetWriter(
            self._file, self._schema, compression="zstd", use_dictionary=list(self._texts)
        )

    def write(self, texts: Sequence[str], columns: Sequence[NDArray[Any]]) -> None:
        pa, num_rows = self._pa, len(columns[0])
        codes = np.zeros(num_rows, np.int32)
        arrays = [pa.DictionaryArray.from_arrays(codes, pa.array([_valid(t)])) for t in texts]
        fields = list(self._schema)[len(texts) :]
        arrays += [
            pa.array(column, from_pandas=self._is_sparse).cast(field.type)
            for column, field in zip(columns, fields, strict=True)
        ]
        self._chunks.append(pa.table(arrays, schema=self._schema))
        self._num_rows += num_rows
        if self._num_rows >= _ROW_GROUP_ROWS:
            self._flush()

    def end(self) -> None:
        if self._chunks:
            self._flush()
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
"""The writers by the endings of files."""


def _digits(column: NDArray[Any], names: Mapping[str, bytes]) -> list[bytes]:
    """The shortest digits of each number that are read as the same number of its dtype.

    `names` has texts for `nan`, `inf` and `-inf`, if these are not to be used themselves.
    """
    contiguous = np.ascontiguousarray(column)
    cells = orjson.dumps(contiguous, option=orjson.OPT_SERIALIZE_NUMPY)[1:-1].split(b",")
    for index in np.flatnonzero(~np.isfinite(contiguous)).tolist():
        name = str(contiguous[index])
        cells[index] = names.get(name, name.encode())
    return cells


def _valid(text: str) -> str:
    """The text without surrogates, which UTF-8 does not have."""
    return text.encode("utf-8", "backslashreplace").decode()
