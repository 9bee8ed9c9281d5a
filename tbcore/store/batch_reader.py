"""BatchReader: reads runs to their ends, in the thread that calls it. Servers have a Loader."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from tbcore.eventfiles.decoder import Decoder
from tbcore.eventfiles.read_ahead import SmallFileReader
from tbcore.eventfiles.storage import EventFile
from tbcore.eventfiles.tail import FileReplacedError
from tbcore.store.run_reader import RunReader, preload_small_files
from tbcore.store.work_queue import TrackedRun, find_remote_event_times


class BatchReader:
    """Reads runs to their ends, and later what is added to them. For one thread at a time."""

    def __init__(self, *, purge_orphaned_data: bool = True) -> None:
        """Unless `purge_orphaned_data` is false, rows that a restart orphaned are dropped."""
        self._decoder = Decoder()
        self._small_files = SmallFileReader(tuning=self._decoder.tuning)
        self._new_reader = partial(
            RunReader, self._decoder, purge_orphaned_data=purge_orphaned_data
        )

    def run(self, name: str, files: Sequence[EventFile]) -> TrackedRun:
        """A run with these files, of which nothing has been read yet."""
        return TrackedRun(name, list(files), self._new_reader)

    def read(self, runs: Iterable[TrackedRun]) -> Iterator[TrackedRun]:
        """Reads what is unread of the runs; yields each when it has been read to its end."""
        waiting = deque(runs)
        while waiting:
            run = waiting[0]
            while run.reader.has_work:
                preload_small_files(self._small_files, (each.reader for each in waiting))
                try:
                    run.reader.read_slice(run.reader.tuning.time_slice_bytes)
                except FileReplacedError:
                    run.read_from_start()
            yield waiting.popleft()

    def in_order(self, runs: Sequence[TrackedRun]) -> list[TrackedRun]:
        """The runs in the order in which new runs are listed: by their first events.

        Of runs that were not read yet, reads the first event.
        """
        find_remote_event_times(runs)
        for run in runs:
            run.commit()  # finds the time of the first event
        return sorted(runs, key=TrackedRun.sort_key)

    def release_buffers(self) -> None:
        """Frees memory that the next run will need again."""
        self._decoder.release_buffers()
        self._small_files.release_buffers()
