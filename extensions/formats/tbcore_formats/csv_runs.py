"""CSV of Lightning, Fabric, Keras, Ultralytics and Ray: a step or an epoch, and numbers.

Whole lines are decoded in pieces, column by column. Lightning rewrites its file in place when a
column is added: until the file has as many rows as before, what was read before stays.
"""

from __future__ import annotations

import csv
import posixpath
import time
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from tbcore.engine import EventFile, FileReplacedError, SourceRun
from tbcore_formats import Csv
from tbcore_formats.common import forget_others, is_being_written, opened
from tbcore_formats.csv_cells import HEAD_BYTES, Header, cells_of, read_head, whole_numbers
from tbcore_formats.facts import RunFacts
from tbcore_formats.flat_yaml import Known, facts_beside
from tbcore_formats.reader import Points

_PIECE_BYTES = 1 << 20
_MAX_SMALL_BYTES = 1 << 25
_ROWS_TO_DECIDE = 100
"""Number of rows that decide whether there are steps: all of these rows must have one."""


def _rank(name: str) -> tuple[int, str]:
    """By which the log that has the name of its directory is first."""
    base, patterns = posixpath.basename(name), Csv.patterns
    return patterns.index(base) if base in patterns else len(patterns), base


class Runs:
    """The directories with CSV files."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[EventFile, bool]] = {}
        """The files whose first lines were read, and whether each is a log."""
        self.small: dict[str, tuple[EventFile, bytes, Header]] = {}
        """Small files that are not to be opened again to be read, with their content. Forgotten in
        the next scan: those that are not read by then probably have event files beside them."""
        self._small_bytes = 0
        """The number of bytes in them after the last scan."""
        self.num_rows: dict[str, int] = {}
        """The number of rows that a reader has read of each file."""

    def runs(self, files: Sequence[tuple[str, EventFile]]) -> Iterator[SourceRun | str]:
        self._prune(files)
        folders: dict[str, list[tuple[str, EventFile]]] = {}
        for name, file in files:
            try:
                if self._is_log(file):
                    folders.setdefault(posixpath.dirname(name), []).append((name, file))
            except (OSError, csv.Error) as error:
                yield f"{file.path} cannot be read: {getattr(error, 'strerror', None) or error}"
        for folder, logs in folders.items():
            # The first keeps its name, and so its notes and colours, when others are added.
            first = min((name for name, _ in logs), key=_rank)
            for name, file in logs:
                shown = (folder or ".") if name == first else posixpath.splitext(name)[0]
                # Two files may lead to one name, such as x/log.csv and x/log/metrics.csv.
                yield SourceRun(shown, [file], key=name)

    def _prune(self, files: Sequence[tuple[str, EventFile]]) -> None:
        """Forgets the files of this root that are not found any more, and the content of all."""
        forget_others(files, self._known, self.num_rows)
        forget_others(files, self.small, all=True)
        self._small_bytes = sum(file.size for file, *_ in self.small.values())

    def _is_log(self, file: EventFile) -> bool:
        known, is_log = self._known.get(file.path, (None, False))
        # What was a log is one while it is rewritten, and empty for a moment.
        if known is None or known.version != file.version or (known != file and not is_log):
            is_log = False
            if file.size:
                with opened(file) as source:
                    head, header = read_head(source)
                is_log = header is not None
                is_small = len(head) == file.size < HEAD_BYTES
                if header and is_small and self._small_bytes < _MAX_SMALL_BYTES:
                    self.small[file.path] = file, head, header
                    self._small_bytes += file.size
            self._known[file.path] = file, is_log
        return is_log

    def reader(self, run: SourceRun) -> Reader:
        return Reader(self, run.files[0].path)

    def columns(self, file: EventFile) -> Sequence[str]:
        """The columns that have a number in the first lines, and those that have nothing yet."""
        with opened(file) as source:
            head, header = read_head(source)
        if header is None:
            return ()
        cells = cells_of(head[len(header.line) : head.rfind(b"\n") + 1], header)
        has_more, found = len(head) < file.size, list[str]()
        for index, name in enumerate(header.names):
            own = cells.has_value
            has_number = own[:, index].any() if own is not None else len(cells.steps)
            is_open = has_more and index not in cells.words
            if name and index != header.step and (has_number or is_open):
                found.append(name)
        return found


class Reader:
    """Reads one file."""

    def __init__(self, runs: Runs, path: str) -> None:
        self.offset = 0
        self._runs, self._path = runs, path
        self._began_at = time.time()
        self._header: Header | None = None
        self._end = b""
        """The last bytes that were read, with a line break."""
        self._beside: Known = (None, RunFacts())
        self.unfinished: dict[str, tuple[int, int]] = {}
        """See FormatReader."""
        self._num_rows = 0
        self._has_steps = True
        self._may_decide_again = False
        """Whether the number of rows was too small to decide about steps."""
        self._with_numbers: set[str] = set()
        """The tags that have had a number."""

    def read(self, files: Sequence[EventFile]) -> Iterator[Mapping[str, Points] | RunFacts | str]:
        file = files[0]
        self._beside = facts_beside(file.path, self._beside)
        yield self._beside[1]
        is_whole = is_torn = False
        while not is_whole:
            piece, is_whole, is_torn = self._piece(file)
            if piece:
                yield from self._points(piece, file.mtime_ns / 1e9)
                self.offset += len(piece)
                self._end = piece[-64:]
        is_new = is_being_written(file, self._began_at)
        if is_new and self._num_rows < self._runs.num_rows.get(self._path, 0):
            raise BlockingIOError
        self._runs.num_rows[self._path] = self._num_rows
        if is_torn:
            raise BlockingIOError

    def _piece(self, file: EventFile) -> tuple[bytes, bool, bool]:
        """The next whole lines, whether the file ends there, and whether a line that has no line
        break yet follows. If such a line has all cells, and no longer grows, it is whole."""
        is_first = self._header is None
        known, head, header = self._runs.small.pop(self._path, (None, b"", None))
        if is_first and known == file:
            self._header, self.offset = header, head.index(b"\n") + 1
            self._may_decide_again = True
            return self._whole_lines(head[self.offset :], file)
        with opened(file) as source:
            if self._header is None:
                self._header = read_head(source)[1]
                if self._header is None:
                    raise BlockingIOError
                self.offset = len(self._header.line)
            line, end = self._header.line, self._end
            if not is_first:
                found = source.read(self.offset - len(end), len(end))
                # The last line may have been one without a line break.
                if end not in (found, found + b"\n") or source.read(0, len(line)) != line:
                    raise FileReplacedError(file.path)
            opened_file: EventFile = source.opened
            left = max(opened_file.size - self.offset, 0)
            piece: bytes = source.read(self.offset, min(left, _PIECE_BYTES))
        is_whole = len(piece) == left
        if not self._num_rows:
            self._may_decide_again = is_whole
        if is_whole:
            return self._whole_lines(piece, opened_file)
        piece = piece[: piece.rfind(b"\n") + 1]
        if not piece:
            raise ValueError(f"a line has more than {_PIECE_BYTES} bytes")
        return piece, False, False

    def _whole_lines(self, piece: bytes, file: EventFile) -> tuple[bytes, bool, bool]:
        """As `_piece`, from all that is left of a file."""
        assert self._header
        end = piece.rfind(b"\n") + 1
        is_torn = end < len(piece) and is_being_written(file)
        num_separators = piece.count(self._header.separator.encode(), end)
        self.unfinished = {}
        if num_separators >= len(self._header.names) - 1 and not is_torn:
            return piece + b"\n", True, False
        if piece[end:].strip():
            self.unfinished[self._path] = self.offset + end, self.offset + len(piece)
        return piece[:end], True, is_torn

    def _points(self, piece: bytes, at: float) -> Iterator[Mapping[str, Points] | str]:
        """The points in whole lines, which have the wall time `at`."""
        header = self._header
        assert header
        cells = cells_of(piece, header)
        if cells.num_bad:
            yield "lines that do not fit the header are left out"
        first, found = self._num_rows, whole_numbers(cells.steps)
        values, has_value, steps = cells.values, cells.has_value, np.arange(len(found)) + first
        if not first:
            self._has_steps = None not in found[:_ROWS_TO_DECIDE]
        if self._has_steps and None in found:
            if self._may_decide_again and first + found.index(None) < _ROWS_TO_DECIDE:
                raise FileReplacedError(self._path)
            yield "rows without a step are left out"
            is_kept = np.array([step is not None for step in found])
            found = [step for step in found if step is not None]
            values, has_value = values[is_kept], None if has_value is None else has_value[is_kept]
        if self._has_steps:
            steps = np.array(found, np.int64)
        self._num_rows += len(cells.steps)
        wall_times, points = np.full(len(steps), at), dict[str, Points]()
        for index, name in enumerate(header.names):
            if (index == header.step and self._has_steps) or not name:
                continue
            found_points = Points(steps, wall_times, values[:, index])
            if has_value is not None:
                found_points = Points(*(each[has_value[:, index]] for each in found_points))
            if len(found_points.step):
                self._with_numbers.add(name)
                points[name] = found_points
            if index in cells.words and name in self._with_numbers:
                word = cells.words[index][:40]
                yield f"cells of {name!r} are not numbers, such as {word!r}; they are left out"
        yield points
