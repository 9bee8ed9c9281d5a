"""BatchReader: reads runs to their ends in the calling thread. Servers use a Loader instead."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from tbcore.engine import (
    Decoder,
    EventFile,
    FileReplacedError,
    SmallFileReader,
    TrackedRun,
    find_remote_event_times,
    new_reader,
    preload_small_files,
)


class BatchReader:
    """Reads runs to their ends, and later the data added to them. For one thread at a time."""

    def __init__(self, **options: Any) -> None:
        """The options are those of RunData, such as `purge_orphaned_data`."""
        self._decoder = Decoder()
        self._small_files = SmallFileReader(tuning=self._decoder.tuning)
        self._new_reader = partial(new_reader, self._decoder, **options)

    def run(self, name: str, files: Sequence[EventFile]) -> TrackedRun:
        """A new run with these files. None of them is opened yet."""
        return TrackedRun(name, files, self._new_reader)

    def read(self, runs: Iterable[TrackedRun]) -> Iterator[TrackedRun]:
        """Reads the unread data of the runs. Yields each run when it has been read to its end."""
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
        """Sorts runs like new runs in a listing: by the times of their first events, then by name.

        Reads the first event of each run that has not been read yet.
        """
        find_remote_event_times(runs)
        for run in runs:
            run.commit()  # Finds the time of the first event.
        return sorted(runs, key=TrackedRun.sort_key)

    def release_buffers(self) -> None:
        """Frees memory that the next run will need again."""
        self._decoder.release_buffers()
        self._small_files.release_buffers()
