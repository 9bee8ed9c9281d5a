"""SourceReader: reads a run of another format into its RunData, where others have a RunReader.

    items of the FormatReader     in the run's data
    points of some tags           a table of scalars
    facts                         references to events that a MadeFile has in memory
    a line                        a problem

An item is read at a time, until the time of a slice is over.
"""

from __future__ import annotations

import logging
import os
import time
from binascii import crc32
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from typing import Any, cast

import numpy as np

from tbcore.engine import (
    Columns,
    Decoder,
    EventFile,
    FileRef,
    FileReplacedError,
    FileVersion,
    OpenFile,
    References,
    RunReader,
    SourceFiles,
    SourceRef,
    Table,
    TableColumn,
    bounds_of,
    describe,
    masked_crc,
    one_line,
)
from tbcore_formats.facts import RunFacts
from tbcore_formats.reader import FormatReader, Points

logger = logging.getLogger("tbcore.formats")

Events = Sequence[tuple[str, bytes, bytes, float]]
"""Tag, SummaryMetadata, Event and time of each; see `RunFacts.events`."""

_SPACING = 1 << 40
"""Distance between the offsets of two made events, which have fewer bytes."""
_MIN_BYTES_LEFT = 1 << 14
"""A run counts as this many unread bytes at least: opening a file takes as long as reading them."""
_MAX_PROBLEMS = 100
"""Maximum number of lines about what is damaged or left out."""


class SourceReader(RunReader):
    """Reads a run of another format. Its offsets and files are known to the FormatReader alone."""

    bookmark = None
    is_unread = False  # The helper process reads event files alone.

    def __init__(
        self, decoder: Decoder, files: SourceFiles, reader: FormatReader, **options: Any
    ) -> None:
        """`reader` has read nothing."""
        self._source = files
        self._reader = reader
        self._items: Iterator[Mapping[str, Points] | RunFacts | str] | None = None
        """What is being read; None between two calls of the FormatReader."""
        self._given: Sequence[EventFile] = ()
        """The files that were, or are, given to the FormatReader."""
        self._given_at_ns = 0
        """When they were, in nanoseconds since the epoch."""
        self._read_error = ""
        """Why reading ended early the last time; empty if it did not."""
        self._has_work = False
        self._has_read = self._is_over = False
        """Whether the FormatReader was called before; whether a new one is needed."""
        self._has_failed = False
        """Whether the FormatReader raised an error that trying again does not change."""
        self._facts: tuple[Events, str, str] = (), "", ""
        """The last facts that were read: their events, the run's state, and its file."""
        self._added: tuple[Events, str, str] = self._facts
        """Those that are in the data."""
        super().__init__(decoder, files, **options)
        if files.format.has_times:
            self.data.first_event_time = files.run.started or files[0].mtime_ns / 1e9
        self.data.add_file(self._source_ref("", ""))
        self.data.add_file(MadeFile(files[0].path))
        # Of a file of version 2, only events that say so are restarts: steps may go back.
        self.data.add_item(FileVersion(2.0, 0, np.nan), 0)

    @property
    def problems_now(self) -> list[str]:
        return [*self.problems, *([self._read_error] if self._read_error else [])]

    @property
    def has_work(self) -> bool:
        return self._has_work

    @property
    def is_incomplete(self) -> bool:
        has_error = bool(self._read_error) and not self._has_failed
        return self._has_work or self.is_to_read_soon or has_error

    @property
    def bytes_left(self) -> int:
        return max(self.bytes_total - self.bytes_read, _MIN_BYTES_LEFT)

    @property
    def unfinished(self) -> list[tuple[EventFile, int, int]]:
        """The files that end within a record, with the offset of that and the size of the file."""
        found: Mapping[str, tuple[int, int]] = getattr(self._reader, "unfinished", {})
        return [(file, *found[file.path]) for file in self._source if file.path in found]

    def update(self, scanned: Sequence[EventFile]) -> bool:
        assert isinstance(scanned, SourceFiles)
        before, self._source = self._source, scanned
        has_changed = scanned != self._given
        is_same = (scanned.identity, scanned[0].version) == (before.identity, before[0].version)
        if not is_same or self._is_over or (self._has_failed and has_changed):
            return False
        # Files that changed just before may have changed once more within the clock's tick.
        since_ns = self._given_at_ns - self.tuning.clock_resolution_seconds * 1e9
        is_recent = any(file.ctime_ns > since_ns for file in scanned)
        self._has_work |= has_changed or self.is_incomplete or (is_recent and not self._has_failed)
        self.is_up_to_date = not self._has_work
        self.bytes_total = sum(file.size for file in scanned)
        return True

    def read_slice(self, max_bytes: int) -> None:
        deadline = time.monotonic() + self.tuning.time_slice_seconds
        before, self._read_error, self.is_to_read_soon = self._read_error, "", False
        try:
            if self._items is None:
                self._given, self._given_at_ns = self._source, time.time_ns()
                self._items = self._reader.read(self._source)
            for item in self._items:
                self._add(item)
                self.bytes_read = min(self._reader.offset, self.bytes_total)
                if time.monotonic() >= deadline:
                    return
        except FileReplacedError:
            if self._has_read:
                raise
            # A new reader would probably raise it again, so that one waits for the next pass.
            self.is_to_read_soon = self._is_over = True
        except FileNotFoundError:
            pass  # The next scan finds that the file is gone.
        except BlockingIOError:
            self.is_to_read_soon = True
        except OSError as error:
            self._read_error = self._line(f" cannot be read: {error.strerror or error}", error)
        except Exception as error:
            self._has_failed = True
            self._read_error = self._line(f" cannot be read to its end: {describe(error)}", error)
            logger.debug("%s", self._read_error, exc_info=error)
        self._items, self._has_read, self.bytes_read = None, True, self.bytes_total
        self._has_work = self._source != self._given
        if self._read_error not in ("", before):
            self.read_errors.append(self._read_error)
        if self._facts != self._added:
            self._added = self._facts
            self._add_events(*self._facts)
        self.data.end_loading()

    def _line(self, text: str, error: Exception | None = None) -> str:
        """A line about the file that an error names, else about the first one."""
        return one_line(f"{getattr(error, 'filename', None) or self._source[0].path}{text}")

    def _add(self, item: Mapping[str, Points] | RunFacts | str) -> None:
        if isinstance(item, str):
            is_named = item.startswith(tuple(f"{file.path}: " for file in self._source))
            line = one_line(item) if is_named else self._line(f": {item}")
            if len(self.problems) < _MAX_PROBLEMS and line not in self.problems:
                self.problems.append(line)
                self.read_errors.append(line)
        elif isinstance(item, RunFacts):
            self._facts = tuple(item.events()), item.state, item.file
        elif item:
            entries = [TableColumn(tag, "simple_value", True, None) for tag in item]
            counts = [len(points.step) for points in item.values()]
            arrays = map(np.concatenate, zip(*item.values(), strict=True))
            self._add_table(entries, [counts, *arrays], None, 0)

    def _source_ref(self, state: str, path: str) -> SourceRef:
        ref = SourceRef(path or self._source[0].path)
        ref.name = ref.path.removeprefix(self._source.root)
        ref.has_times = self._source.format.has_times
        ref.id, ref.state = f"{crc32(os.fsencode(self._source.identity)):08x}", state
        return ref

    def _add_events(self, events: Events, state: str, path: str) -> None:
        """Adds the events of facts, as those of a file, in place of the earlier ones."""
        self.data.drop_items()
        self.data.set_file(0, self._source_ref(state, path))
        if not events:
            return
        size, file = len(events), MadeFile(self._source[0].path)
        file.payloads = [payload for _, _, payload, _ in events]
        entries = [TableColumn(tag, "tensor", False, metadata) for tag, metadata, *_ in events]
        references = References(
            np.arange(size) * _SPACING,
            np.array([*map(len, file.payloads)], np.uint32),
            np.zeros(size, np.uint32),
            np.array([*map(masked_crc, file.payloads)], np.uint32),
        )
        at = np.array([at_time or self._source[0].mtime_ns / 1e9 for *_, at_time in events])
        rows = [1] * size, np.zeros(size, np.int64), at, np.empty(0)
        self.data.set_file(1, file)
        self._add_table(entries, rows, references, 1)

    def _add_table(
        self, entries: Sequence[TableColumn], rows: Sequence[Any], references: References | None,
        file_index: int,
    ) -> None:  # fmt: skip
        """Adds a table; `rows` are numbers of rows by column, steps, wall times and values."""
        counts, step, wall_time, value = rows
        columns = Columns.of(tuple(entries), tuple(range(len(entries))))
        table = Table.of(
            columns, bounds_of(counts), step, wall_time, value, references,
            position=lambda: np.arange(len(step)), last_wall_time=float(wall_time.max()),
        )  # fmt: skip
        self.data.add_item(table, file_index)


class MadeFile(FileRef):
    """A file of events that is in memory only, and always open. Has the members of OpenFile that
    `Item` uses."""

    payloads: Sequence[bytes] = ()

    @property
    def opened(self) -> EventFile:
        return EventFile(self.path)

    def open(self) -> OpenFile:
        return cast(OpenFile, nullcontext(self))

    def fetch(self, parts: Iterable[tuple[int, int]]) -> None: ...

    def read(self, offset: int, size: int) -> bytes:
        """A payload with its checksum."""
        payload = self.payloads[offset // _SPACING]
        return payload + masked_crc(payload).to_bytes(4, "little")
