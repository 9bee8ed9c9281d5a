"""RunReader: reads the event files of one run, in time slices, into the run's RunData."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

from tbcore.eventfiles.addresses import fetch_ahead, storage_of
from tbcore.eventfiles.decoder import Decoder
from tbcore.eventfiles.formats import SourceFiles
from tbcore.eventfiles.framing import Damage
from tbcore.eventfiles.logdir import MIN_FILE_BYTES
from tbcore.eventfiles.read_ahead import SmallFileReader
from tbcore.eventfiles.storage import EventFile
from tbcore.eventfiles.tail import Bookmark, FileReader, FileReplacedError
from tbcore.store.run import RunData
from tbcore.store.status import MAX_PROBLEMS
from tbcore.store.view import FileRef, RunView
from tbcore.text import one_line

logger = logging.getLogger(__name__)

_GONE = "is gone"
_MAX_READERS_PER_PRELOAD = 256
"""Maximum number of runs that are searched for the small files of one batch."""
_MAX_FETCHED_FILES = 1024
_MAX_FETCHED_BYTES = 1 << 26
"""Maximum total size of the unread bytes that are fetched at once."""


def new_reader(decoder: Decoder, files: Sequence[EventFile], **options: Any) -> RunReader:
    """A reader of a run that has read nothing."""
    if isinstance(files, SourceFiles):
        reader: RunReader = files.format.run_reader(decoder, files, **options)
        return reader
    return RunReader(decoder, files, **options)


class RunReader:
    """Reads one run from its start, and later what is added to it. For the loader's thread only.

    The data stays valid as long as the files only grow. When `update` or `read_slice` finds that a
    file was replaced, a new reader must read the run from its start.
    """

    is_to_read_soon = False
    """Whether a file is just being written, so that the next pass must not wait for a change."""

    def __init__(self, decoder: Decoder, files: Sequence[EventFile], **options: Any) -> None:
        """`files` are the run's files as of the last scan.

        The decoder's tuning applies to the reader, too. The options are those of RunData.
        """
        self.data = RunData(**options)
        self.bytes_read = 0
        """Number of bytes that have been read from all files."""
        self.bytes_total = 0
        """Size of all files as of the last update."""
        self.tuning = decoder.tuning
        self._decoder = decoder
        self._files: dict[str, _RunFile] = {}
        self._pending: list[_RunFile] = []
        """Files with unread data. The last one is read next."""
        self.is_up_to_date = False
        """Whether the last update found nothing to read."""
        self.read_errors: list[str] = []
        """One line for each file that could not be read. The publisher empties the list."""
        self.problems: list[str] = []
        """One line for each damaged record, at most MAX_PROBLEMS. The first problem of each file
        has already been logged."""
        self.update(files)

    @property
    def bookmark(self) -> tuple[Any, ...] | None:
        """The state for `resume_at`, besides the view of the last commit. JSON-serializable.

        None while there is unread data, and after a failure because of a bug in tbcore.
        """
        files = list(self._files.values())
        if self._pending or any(file.has_failed for file in files):
            return None
        readers = [(file.reader.file_index, file.reader.bookmark) for file in files]
        return self.data.bookmark, readers

    def resume_at(self, bookmark: Sequence[Any], view: RunView) -> None:
        """Continues where another reader of this run stopped with this bookmark and view.

        Must be called before anything is read, and followed by `update`.
        """
        data, readers = bookmark
        self.data.resume_at(data, view)
        self._files = {}
        for index, (opened, *others) in readers:
            reader = FileReader(opened[0], index, self._decoder)
            reader.resume_at(Bookmark(opened, *others))
            self._files[reader.path] = _RunFile(reader)

    @property
    def file_readers(self) -> dict[str, FileReader]:
        """The readers of the files, by path."""
        return {path: file.reader for path, file in self._files.items()}

    @property
    def problems_now(self) -> list[str]:
        """The lines of `problems`, and one for each file that could not be read."""
        errors = [(path, file.read_error) for path, file in self._files.items()]
        unread = [one_line(f"{path} {e}") for path, e in errors if e not in ("", _GONE)]
        return [*self.problems, *unread]

    @property
    def other_files(self) -> list[tuple[str, str]]:
        """Kind and path of each file that has the name of an event file, but is none."""
        return [(f.reader.other_kind, p) for p, f in self._files.items() if f.reader.other_kind]

    @property
    def has_work(self) -> bool:
        """Whether a file has unread data."""
        return bool(self._pending)

    @property
    def is_incomplete(self) -> bool:
        """Whether a file has unread data, or could not be read."""
        files = self._files.values()
        return self.has_work or any(file.read_error and not file.has_failed for file in files)

    @property
    def is_unread(self) -> bool:
        """Whether none of the run's files has been opened yet."""
        return all(file.reader.is_unread for file in self._files.values())

    @property
    def bytes_left(self) -> int:
        """Approximate number of unread bytes, at least MIN_FILE_BYTES for each file."""
        return max(self.bytes_total - self.bytes_read, MIN_FILE_BYTES * len(self._pending))

    def update(self, scanned: Sequence[EventFile]) -> bool:
        """Replaces the run's files by those that a scan found, and finds those with unread data.

        `scanned` is sorted by path. Returns False if a file with rows is gone, or if a file was
        replaced: then a new reader must read the run.
        """
        for path in self._files.keys() - {event_file.path for event_file in scanned}:
            gone = self._files[path]
            if gone.reader.offset > 0 or gone.has_failed or gone.reader.has_logged_problem:
                return False
            del self._files[path]
        self._pending = []
        self.bytes_total = self.bytes_read = 0
        for event_file in scanned:
            file = self._files.get(event_file.path)
            if file is None:
                index = self.data.add_file(event_file.path)
                file = _RunFile(FileReader(event_file.path, index, self._decoder))
                self._files[event_file.path] = file
            elif not file.may_be_same_file(event_file):
                return False
            file.reader.scanned = event_file
            if file.may_have_more():
                self._pending.append(file)
            self.bytes_total += event_file.size
            self.bytes_read += file.num_bytes_read
        self._pending.reverse()
        self.is_up_to_date = not self._pending
        return True

    @property
    def has_only_small_files(self) -> bool:
        """Whether all files with unread data are small enough to be read in a batch."""
        return all(file.is_small for file in self._pending)

    def small_unread_files(self) -> Iterator[FileReader]:
        """Readers of the small files that have not been opened yet, in reading order."""
        for file in reversed(self._pending):
            if file.is_small and file.reader.is_unread:
                yield file.reader

    @property
    def preloaded_event_time(self) -> float | None:
        """Wall time of the first event of the next file; None if the file is not preloaded."""
        next_file = self._pending[-1:]
        return next_file[0].reader.first_event_time if next_file else None

    @property
    def requests_cost(self) -> bool:
        """Whether reading the next file costs requests."""
        return bool(self._pending) and storage_of(self._pending[-1].reader.path).requests_cost

    def small_unread_parts(self) -> Iterator[tuple[EventFile, int]]:
        """The files with few unread bytes, each with the offset of the first; in reading order."""
        for file in reversed(self._pending):
            scanned, offset = file.reader.scanned, file.reader.offset
            is_short = scanned.size - offset <= self.tuning.small_file_bytes
            if is_short and not file.reader.is_preloaded:
                yield scanned, offset

    def read_slice(self, max_bytes: int) -> None:
        """Reads about `max_bytes` of unread data. Each file is read to its end before the next.

        Ends early when the time of a time slice is over. Also ends after the last preloaded file if
        more small files follow: the next call of `preload_small_files` reads these together.

        Files that cannot be read are tried again after the next update. Raises FileReplacedError
        when a new reader must read the run.
        """
        deadline = time.monotonic() + self.tuning.time_slice_seconds

        def is_time_up() -> bool:
            return time.monotonic() >= deadline

        was_preloaded = False
        while self._pending and max_bytes > 0:
            file = self._pending[-1]
            if was_preloaded and file.is_small and file.reader.is_unread:
                break
            was_preloaded = file.reader.is_preloaded
            offset, num_bytes_read = file.reader.offset, file.num_bytes_read
            try:
                self._read(file, max_bytes, is_time_up)
                file.read_error = ""
            except FileReplacedError:
                raise
            except FileNotFoundError:
                # Not logged: the next scan finds that the file is gone.
                file.read_error = _GONE
            except OSError as error:
                self._add_read_error(file, f"cannot be read: {error.strerror or error}")
            except Exception as error:
                # A bug in tbcore. The other files are still read. The rows of this file are kept.
                # The file is not read again: this would add its rows a second time.
                file.has_failed = True
                reason = f"{type(error).__name__}: {error}"
                self._add_read_error(file, f"the rest of this file is left out because of {reason}")
                logger.debug("%s", one_line(file.reader.path), exc_info=True)
            if self.problems and file.reader.offset > offset:
                # The length at this offset was wrong before, and was written again since.
                healed = _line(file, Damage(offset, "length checksum wrong"))
                self.problems = [line for line in self.problems if line != healed]
            new = file.reader.problems[:MAX_PROBLEMS]
            self.problems += [_line(file, damage) for damage in new]
            del self.problems[MAX_PROBLEMS:], file.reader.problems[:]
            max_bytes -= max(file.reader.offset - offset, MIN_FILE_BYTES)
            self.bytes_read += file.num_bytes_read - num_bytes_read
            if file.reader.caught_up or file.read_error:
                self._pending.pop()
            if is_time_up():
                break
        if not self._pending:
            self.data.end_loading()

    def _read(self, file: _RunFile, max_bytes: int, is_time_up: Callable[[], bool]) -> None:
        """Reads one file into the run's data."""
        reader, data = file.reader, self.data
        for item in reader.read(max_bytes, is_time_up):
            data.set_file(reader.file_index, FileRef.of(reader.opened))
            data.add_item(item, reader.file_index)
        if data.first_event_time is None:
            data.first_event_time = reader.first_event_time

    def _add_read_error(self, file: _RunFile, read_error: str) -> None:
        """Records why a file could not be read. Adds no line if this error is already recorded."""
        if file.read_error != read_error:
            self.read_errors.append(one_line(f"{file.reader.path} {read_error}"))
        file.read_error = read_error


def _line(file: _RunFile, damage: Damage) -> str:
    return one_line(f"{file.reader.path}: {damage}")


def preload_small_files(small_files: SmallFileReader, run_readers: Iterable[RunReader]) -> None:
    """Reads small files of the next runs in one batch, if the first run has small unread files.

    Call this before each time slice. Small files of a run that also has large files are preloaded
    only when the run is the first: the helper process can read a run until one of its files is
    opened.
    """
    candidates: Iterator[RunReader] = islice(run_readers, _MAX_READERS_PER_PRELOAD)
    first = next(candidates)
    if first.requests_cost:
        all_readers = [first, *candidates]
        _fetch_ahead(chain.from_iterable(each.small_unread_parts() for each in all_readers))
        candidates = iter(all_readers[1:])
    files_of_first = list(first.small_unread_files())
    if files_of_first:
        others = (each.small_unread_files() for each in candidates if each.has_only_small_files)
        small_files.preload(chain(files_of_first, chain.from_iterable(others)))


def _fetch_ahead(parts: Iterator[tuple[EventFile, int]]) -> None:
    """Fetches the unread bytes of remote files together, unless the first file's are there."""
    wanted: list[tuple[EventFile, int]] = []
    num_bytes = 0
    for file, offset in islice(parts, _MAX_FETCHED_FILES):
        storage = storage_of(file.path)
        if not storage.requests_cost:
            continue
        if not wanted and storage.has_fetched(file, file.size):
            return
        num_bytes += file.size - offset
        if wanted and num_bytes > _MAX_FETCHED_BYTES:
            break
        wanted.append((file, offset))
    fetch_ahead(wanted, max_bytes=_MAX_FETCHED_BYTES)


@dataclass(slots=True)
class _RunFile:
    """One event file of a run."""

    reader: FileReader
    read_error: str = ""
    """Why the file could not be read the last time; empty if it could."""
    has_failed: bool = False
    """Whether a bug in tbcore occurred in this file, which is then not read any more."""

    @property
    def is_small(self) -> bool:
        """Whether the file is small enough to be read in a batch with other files."""
        return self.reader.scanned.size <= self.reader.tuning.small_file_bytes

    @property
    def num_bytes_read(self) -> int:
        """Bytes that count as read, with an unfinished record and the rest of a failed file."""
        if self.reader.caught_up or self.has_failed:
            return max(self.reader.opened.size, self.reader.offset)
        return self.reader.offset

    def may_be_same_file(self, scanned: EventFile) -> bool:
        """Whether `scanned` may still be the file that was read, or a longer copy of that file."""
        if self.has_failed and scanned.version != self.reader.opened.version:
            # Without a failure, the next read finds out whether the file was replaced.
            return False
        if self.reader.has_logged_problem and scanned.size == self.reader.opened.size:
            # Only the damage may have been repaired, which the next read would not find out.
            return scanned == self.reader.opened
        return scanned.size >= self.reader.offset

    def may_have_more(self) -> bool:
        """Whether the file may have unread data; it must be opened to find out."""
        if self.has_failed:
            return False
        reader = self.reader
        if self.read_error or not reader.caught_up or reader.scanned != reader.opened:
            return True
        # Sizes and times are equal. If the file changed just before it was opened, it may have
        # changed once more within the same tick of the file system's clock.
        unchanged_ns = reader.opened_at_ns - reader.scanned.ctime_ns
        return unchanged_ns < reader.tuning.clock_resolution_seconds * 1e9
