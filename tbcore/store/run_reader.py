"""RunReader: the event files of one run, read in turns into its RunData."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice

from tbcore.eventfiles.decoder import Decoder
from tbcore.eventfiles.logdir import MIN_FILE_BYTES, EventFile, one_line
from tbcore.eventfiles.read_ahead import MAX_FILE_BYTES, Pile
from tbcore.eventfiles.tail import FileReplacedError, FileTail
from tbcore.store.run import RunData

logger = logging.getLogger(__name__)

TURN_SECONDS = 0.5
"""After which a turn ends: some bytes take longer than others."""
MAX_PROBLEMS = 100
"""Lines that are kept: a damaged file can have a problem in each record."""

_MAX_READERS = 256
"""Looked at for short files at once."""

_UNSETTLED_NS = 3_000_000_000
"""A file that changed so shortly before it was read may have changed again at the same time, as
far as the clock of the file system can tell."""


class RunReader:
    """Reads one run from its beginning, then whatever is added to it. Of the loader's thread.

    What was read holds as long as the files do. When `update` or `read_slice` says that they are
    others now, a new reader has to take over.
    """

    def __init__(
        self, decoder: Decoder, *, purge_orphaned_data: bool = True, max_points: int = 0
    ) -> None:
        self.data = RunData(purge_orphaned_data=purge_orphaned_data, max_points=max_points)
        self.is_live = False
        """Whether all there was has been read once."""
        self.bytes_read = 0
        self.bytes_total = 0
        """Of all files, as of the last update."""
        self._decoder = decoder
        self._files: dict[str, _RunFile] = {}
        self._pending: list[_RunFile] = []
        """Files to read, the next one last."""
        self._found: Sequence[EventFile] = ()
        self.is_up_to_date = False
        """Whether the last update left nothing to read."""
        self._read_errors: list[str] = []
        self._problems: list[str] = []

    @property
    def has_work(self) -> bool:
        """Whether there is a file to read."""
        return bool(self._pending)

    @property
    def not_started(self) -> bool:
        """Whether nothing was read yet."""
        return all(file.tail.is_fresh for file in self._files.values())

    @property
    def bytes_left(self) -> int:
        """About what there is to read, counted like turns."""
        return max(self.bytes_total - self.bytes_read, MIN_FILE_BYTES * len(self._pending))

    @property
    def newest_ns(self) -> int:
        """When a file that is to be read was last written to, in nanoseconds since the epoch."""
        return max((file.found.mtime_ns for file in self._pending), default=0)

    def update(self, found: Sequence[EventFile]) -> bool:
        """Takes what a scan found of the run; False when it has to be read anew."""
        if found == self._found and self.is_up_to_date:
            return True
        paths = {event_file.path for event_file in found}
        for path in [path for path in self._files if path not in paths]:
            if self._files[path].may_have_rows:
                return False
            del self._files[path]
        for event_file in found:
            file = self._files.get(event_file.path)
            if file is None:
                index = self.data.add_file(event_file.path)
                file = _RunFile(FileTail(event_file.path, index, self._decoder), event_file)
                self._files[event_file.path] = file
            elif not file.may_be_same_file(event_file):
                return False
            file.found = event_file
        was_pending = {file.tail.path for file in self._pending}
        self._pending = []
        self.bytes_total = self.bytes_read = 0
        for path in sorted(self._files, reverse=True):
            file = self._files[path]
            if path in was_pending or file.may_have_more():
                self._pending.append(file)
            self.bytes_total += file.found.size
            self.bytes_read += file.num_bytes_read
        self._found, self.is_up_to_date = found, not self._pending
        return True

    @property
    def is_short(self) -> bool:
        """Whether all files to read are."""
        return all(file.is_short for file in self._pending)

    def small_unread_files(self) -> Iterator[FileTail]:
        """Files to read that are short, and that nobody has tried to read yet."""
        for file in reversed(self._pending):
            if file.is_short and file.tail.is_fresh:
                yield file.tail

    def read_slice(self, max_bytes: int) -> None:
        """Read about `max_bytes` of what is new, each file to its end before the next, as far as
        time allows. Ends behind those that were read ahead, where others can be.

        Files that cannot be read are left for the next update. Raises FileReplacedError when the
        run has to be read anew.
        """
        deadline = time.monotonic() + TURN_SECONDS

        def is_enough() -> bool:
            return time.monotonic() >= deadline

        was_preloaded = False
        while self._pending and max_bytes > 0:
            file = self._pending[-1]
            if was_preloaded and file.is_short and file.tail.is_fresh:
                break
            was_preloaded = file.tail.is_held
            offset, num_bytes_read = file.tail.offset, file.num_bytes_read
            try:
                self._read(file, max_bytes, is_enough)
                file.read_error = ""
            except FileReplacedError:
                raise
            except FileNotFoundError:
                file.read_error = (
                    "is gone"  # As the next scan will find, so there is nothing to tell.
                )
            except OSError as error:
                self._add_read_error(file, f"cannot be read: {error.strerror or error}")
            except Exception as error:
                # The fault is ours, and must not cost the other files. What came of this one is
                # kept, and to read it twice would double it.
                file.has_failed = True
                reason = f"{type(error).__name__}: {error}"
                self._add_read_error(file, f"the rest of this file is left out, as of {reason}")
                logger.debug("%s", one_line(file.tail.path), exc_info=True)
            self._take_problems(file)
            max_bytes -= max(file.tail.offset - offset, MIN_FILE_BYTES)
            self.bytes_read += file.num_bytes_read - num_bytes_read
            if file.tail.caught_up or file.read_error:
                self._pending.pop()
            if is_enough():
                break
        if not self._pending:
            self.is_live = True
            self.data.trim_spare_capacity()

    def pop_read_errors(self) -> list[str]:
        """Files that could not be read, since the last time that was asked; one line each."""
        troubles, self._read_errors = self._read_errors, []
        return troubles

    def pop_problems(self) -> list[str]:
        """What was damaged in files, likewise; their tails have it in the log already."""
        problems, self._problems = self._problems, []
        return problems

    def _read(self, file: _RunFile, max_bytes: int, is_enough: Callable[[], bool]) -> None:
        tail, data = file.tail, self.data
        # Of a live run nobody knows how much there will be.
        if self.is_live:
            data.set_expected_size(0, 0)
        else:
            data.set_expected_size(self.bytes_read - file.num_bytes_read, self.bytes_total)
        for item in tail.read(max_bytes, is_enough):
            data.set_file_identity(tail.file_index, tail.opened.device, tail.opened.inode)
            data.add_item(item, tail.file_index)
        data.set_first_event_time(tail.first_event_time)

    def _add_read_error(self, file: _RunFile, read_error: str) -> None:
        # The same read_error comes back at each pass.
        if file.read_error != read_error:
            self._read_errors.append(one_line(f"{file.tail.path} {read_error}"))
        file.read_error = read_error

    def _take_problems(self, file: _RunFile) -> None:
        problems = file.tail.problems
        if not problems:
            return
        new = problems[file.num_problems_reported :][-MAX_PROBLEMS:]
        self._problems += [one_line(f"{file.tail.path}: {problem}") for problem in new]
        del self._problems[:-MAX_PROBLEMS]
        # The tail looks whether there are any before it logs one: the first stays.
        del problems[1:]
        file.num_problems_reported = len(problems)


def preload_small_files(pile: Pile, readers: Iterable[RunReader]) -> None:
    """Reads short files of the readers that come next, if the very next one has any.

    To be called before each turn. Of readers that have a long file as well nothing is read before
    it is their turn: they are worth lending, which is of those that nobody has touched.
    """
    coming = islice(readers, _MAX_READERS)
    first = list(next(coming).small_unread_files())
    if first:
        others = (
            tail for reader in coming if reader.is_short for tail in reader.small_unread_files()
        )
        pile.read(chain(first, others))


class _RunFile:
    """One event file of a run."""

    __slots__ = ("found", "has_failed", "num_problems_reported", "read_error", "tail")

    def __init__(self, tail: FileTail, found: EventFile) -> None:
        self.tail = tail
        self.found = found
        """As the last scan saw it."""
        self.read_error = ""
        """Why it could not be read the last time."""
        self.has_failed = False
        """Whether reading it is given up."""
        self.num_problems_reported = 0

    @property
    def is_short(self) -> bool:
        """Whether it is worth reading together with others."""
        return self.found.size <= MAX_FILE_BYTES

    @property
    def may_have_rows(self) -> bool:
        """Whether rows may have come from it."""
        return self.tail.offset > 0 or self.has_failed

    @property
    def num_bytes_read(self) -> int:
        """Bytes that are done with, an unfinished record at the end included."""
        if self.tail.caught_up or self.has_failed:
            return max(self.tail.opened.size, self.tail.offset)
        return self.tail.offset

    def may_be_same_file(self, found: EventFile) -> bool:
        """Whether this may be the file that was read, or a longer copy of it."""
        if self.has_failed and (found.device, found.inode) != self.tail.opened[1:3]:
            return False  # Reading would tell, but it is given up.
        return found.size >= self.tail.offset

    def may_have_more(self) -> bool:
        """Whether there is anything to be had from opening it."""
        if self.has_failed:
            return False
        if self.read_error or self.found != self.tail.opened:
            return True
        # It may have been written over, as far as the clock can tell at the same time.
        return self.tail.opened_at_ns - self.found.ctime_ns < _UNSETTLED_NS
