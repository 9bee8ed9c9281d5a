"""CSV of Lightning, Fabric, Keras, Ultralytics and Ray: a step or an epoch, and numbers.

Whole lines are decoded in pieces, column by column. Lightning rewrites its file in place when a
column is added: until the file has as many rows as before, what was read before stays.
"""

from __future__ import annotations

import csv
import os
import posixpath
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from tbcore.engine import EventFile, FileReplacedError, Points, RunFacts, SourceRun
from tbcore_formats.common import hparam, opened
from tbcore_formats.flat_yaml import flat_yaml

_STEPS = "step", "global_step", "iteration", "iter", "training_iteration", "update", "epoch"
"""Names of columns with steps, the best ones first."""
_PIECE_BYTES = 1 << 20
_MAX_HEADER_BYTES = 1 << 20
_MIN_BYTES_FOR_ARRAYS = 1 << 12
_MAX_YAML_BYTES = 1 << 20
_MAX_COLUMNS = 10_000
_REWRITE_SECONDS = 10.0
"""How long to wait for the rows of a file that is being rewritten."""
_ROWS_TO_DECIDE = 100
"""Number of rows that decide whether there are steps: all of these rows must have one."""
_WORDS = {"true": 1.0, "false": 0.0}


class _Header(NamedTuple):
    """The first line of a file."""

    line: bytes
    """With its line break."""
    separator: str
    names: Sequence[str]
    step: int
    """Index of the column of steps."""


def _header(source: Any) -> _Header | None:
    """The header of an open file; None if it has none with a column of steps."""
    head = source.read(0, 1 << 13)
    if b"\n" not in head and len(head) == 1 << 13:
        head = source.read(0, _MAX_HEADER_BYTES)
    line, newline, _ = head.partition(b"\n")
    return _parsed(line + newline) if newline else None


@lru_cache(maxsize=64)
def _parsed(line: bytes) -> _Header | None:
    """The header in a line, which many runs share; None if no column has steps."""
    text = line.decode("utf-8-sig", "replace").strip("\r\n")
    if not text or "\0" in text:
        return None
    separator = max(",;\t", key=text.count)
    names: list[str] = []
    for name in (each.strip() for each in next(csv.reader([text], delimiter=separator))):
        names.append(f"{name}_2" if name and name in names else name)
    lower = [name.lower() for name in names]
    step = next((lower.index(name) for name in _STEPS if name in lower), None)
    if step is None or not 1 < len(names) <= _MAX_COLUMNS:
        return None
    return _Header(line, separator, names, step)


class Runs:
    """The directories with CSV files."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[EventFile, bool]] = {}
        """The files whose first lines were read, and whether each is a log."""
        self.num_rows: dict[str, int] = {}
        """The number of rows that a reader has read of each file."""

    def runs(self, files: Sequence[tuple[str, EventFile]]) -> Iterator[SourceRun | str]:
        folders: dict[str, list[tuple[str, EventFile]]] = {}
        for name, file in files:
            try:
                if self._is_log(file):
                    folders.setdefault(posixpath.dirname(name), []).append((name, file))
            except (OSError, csv.Error) as error:
                yield f"{file.path} cannot be read: {getattr(error, 'strerror', None) or error}"
        for folder, logs in folders.items():
            for name, file in logs:
                shown = (folder or ".") if len(logs) == 1 else posixpath.splitext(name)[0]
                yield SourceRun(shown, [file])

    def _is_log(self, file: EventFile) -> bool:
        known, is_log = self._known.get(file.path, (None, False))
        # What was a log is one while it is rewritten, and empty for a moment.
        if known is None or known.version != file.version or (known != file and not is_log):
            is_log = False
            if file.size:
                with opened(file) as source:
                    is_log = _header(source) is not None
            self._known[file.path] = file, is_log
        return is_log

    def reader(self, run: SourceRun) -> Reader:
        return Reader(self, run.files[0].path)


class Reader:
    """Reads one file."""

    def __init__(self, runs: Runs, path: str) -> None:
        self.offset = 0
        self._runs, self._path = runs, path
        self._began_at = time.time()
        self._header: _Header | None = None
        self._end = b""
        """The last bytes that were read."""
        self._num_rows = 0
        self._has_steps = True
        self._may_decide_again = False
        """Whether the number of rows was too small to decide about steps."""
        self._with_numbers: set[str] = set()
        """The tags that have had a number."""

    def read(self, files: Sequence[EventFile]) -> Iterator[Mapping[str, Points] | RunFacts | str]:
        file = files[0]
        yield _facts(posixpath.dirname(file.path))
        is_whole = False
        while not is_whole:
            piece, is_whole = self._piece(file)
            if not piece:
                break
            assert self._header
            columns, num_bad = _columns(piece, self._header.separator, len(self._header.names))
            if num_bad:
                yield "lines that do not fit the header are left out"
            if columns:
                yield from self._points(columns, self._header, file.mtime_ns / 1e9)
            self._num_rows += len(columns[0]) if columns else 0
            self.offset += len(piece)
            self._end = piece[-64:]
        is_new = time.time() - max(file.mtime_ns / 1e9, self._began_at) < _REWRITE_SECONDS
        if is_new and self._num_rows < self._runs.num_rows.get(self._path, 0):
            raise BlockingIOError
        self._runs.num_rows[self._path] = self._num_rows

    def _piece(self, file: EventFile) -> tuple[bytes, bool]:
        """The next whole lines, and whether they end where the file does."""
        is_first = self._header is None
        with opened(file) as source:
            if self._header is None:
                self._header = _header(source)
                if self._header is None:
                    raise BlockingIOError
                self.offset = len(self._header.line)
            line, end = self._header.line, self._end
            if not is_first and (
                source.read(0, len(line)) != line
                or source.read(self.offset - len(end), len(end)) != end
            ):
                raise FileReplacedError(file.path)
            piece: bytes = source.read(self.offset, _PIECE_BYTES)
        is_whole = len(piece) < _PIECE_BYTES
        piece = piece[: piece.rfind(b"\n") + 1]
        if not piece and not is_whole:
            raise ValueError(f"a line has more than {_PIECE_BYTES} bytes")
        if not self._num_rows:
            self._may_decide_again = is_whole
        return piece, is_whole

    def _points(
        self, columns: Sequence[Sequence[str]], header: _Header, at: float
    ) -> Iterator[Mapping[str, Points] | str]:
        """The points in some rows, which have the wall time `at`."""
        cells = columns[header.step]
        if not self._num_rows:
            self._has_steps = None not in _steps(cells[:_ROWS_TO_DECIDE])
        steps: Any = np.arange(self._num_rows, self._num_rows + len(cells))
        kept = None
        if self._has_steps:
            found = _steps(cells)
            if None in found:
                kept = np.array([step is not None for step in found])
                first = self._num_rows + int(np.argmin(kept))
                if first < _ROWS_TO_DECIDE and self._may_decide_again:
                    raise FileReplacedError(self._path)
                yield "rows without a step are left out"
            steps = np.array([step or 0 for step in found] if kept is not None else found, np.int64)
        points: dict[str, Points] = {}
        for index, (name, column) in enumerate(zip(header.names, columns, strict=True)):
            if (index == header.step and self._has_steps) or not name:
                continue
            rows, values, bad = _numbers(column)
            if bad is not None and (len(values) or name in self._with_numbers):
                yield f"cells of {name!r} are no numbers, such as {bad[:40]!r}; they are left out"
            if kept is not None:
                rows = np.arange(len(column)) if rows is None else rows
                values, rows = values[kept[rows]], rows[kept[rows]]
            if len(values):
                self._with_numbers.add(name)
                at_rows = steps if rows is None else steps[rows]
                points[name] = Points(at_rows, np.full(len(values), at), values)
        yield points


def _columns(piece: bytes, separator: str, count: int) -> tuple[Sequence[Sequence[str]], int]:
    """The cells of whole lines, column by column, and the number of lines that do not fit."""
    text = piece.decode("utf-8", "surrogateescape").replace("\r", "")
    if '"' not in text:
        if _has_separators(piece, separator, count - 1):
            cells = text.replace("\n", separator).split(separator)
            return [cells[i:-1:count] for i in range(count)], 0
    lines = text.split("\n")
    # A quote that does not end would take all lines that follow with it.
    rows = list(
        csv.reader((line for line in lines if line.count('"') % 2 == 0), delimiter=separator)
    )
    whole = [row for row in rows if len(row) == count]
    return list(zip(*whole, strict=True)), sum(map(bool, lines)) - len(whole)


def _has_separators(piece: bytes, separator: str, count: int) -> bool:
    """Whether each line has so many separators."""
    if len(piece) < _MIN_BYTES_FOR_ARRAYS:
        return all(line.count(separator.encode()) == count for line in piece.split(b"\n")[:-1])
    found = np.frombuffer(piece, np.uint8)
    ends = np.flatnonzero(found == ord("\n"))
    cuts = np.searchsorted(np.flatnonzero(found == ord(separator)), ends)
    return bool((np.diff(cuts, prepend=0) == count).all())


def _steps(cells: Sequence[str]) -> Sequence[int | None]:
    """The step of each cell; None if it is no whole number in the range of int64."""
    try:
        steps: list[int] = np.fromiter(map(int, cells), np.int64, len(cells)).tolist()
        return steps
    except (ValueError, OverflowError):
        found = map(_number, cells)
    return [
        int(n) if n is not None and n.is_integer() and abs(n) < 1 << 63 else None for n in found
    ]


def _numbers(cells: Sequence[str]) -> tuple[Any, Any, str | None]:
    """The rows with a number, or None for all, these numbers, and a cell with anything else."""
    rows = None
    if "" in cells:
        rows = np.flatnonzero([*map(bool, cells)])
        cells = [*filter(None, cells)]
    try:
        return rows, np.fromiter(map(float, cells), float, len(cells)), None
    except ValueError:
        each = [*map(_number, cells)]
    picked = np.array([i for i, value in enumerate(each) if value is not None], np.int64)
    values = np.array([value for value in each if value is not None], float)
    others = (c for c, value in zip(cells, each, strict=True) if value is None and c.strip())
    return (picked if rows is None else rows[picked]), values, next(others, None)


def _number(cell: str) -> float | None:
    word = cell.strip().lower()
    try:
        return _WORDS[word] if word in _WORDS else float(word)
    except ValueError:
        return None


def _facts(folder: str) -> RunFacts:
    """What the file beside a log says. A scan need not find it: most are beside event files."""
    for name in ("hparams.yaml", "args.yaml"):
        path = posixpath.join(folder, name)
        if not os.path.lexists(path):
            continue
        try:
            with opened(EventFile.unlisted(path)) as source:
                text = source.read(0, _MAX_YAML_BYTES).decode("utf-8", "replace")
        except OSError:
            continue
        if len(text) == _MAX_YAML_BYTES:
            text = text[: text.rfind("\n") + 1]
        return RunFacts({key: hparam(value) for key, value in flat_yaml(text).items()})
    return RunFacts()
