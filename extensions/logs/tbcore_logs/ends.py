"""The ends of event files: when their last events were written, and which were cut off."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

from tbcore.engine import EventFile, TrackedRun, event_time_in, fetch_ahead, one_line, storage_of

_READ_BYTES = 1 << 16
"""Number of bytes at the end of a file in which its last event is searched."""
_MAX_ENDS = 1000
"""Maximum number of ends of remote files that are fetched together."""
_RECENT_SECONDS = 300.0
"""If a file was modified less than this long ago, its writer may still be running, so an incomplete
record at its end is not damage."""


def read_last_event_times(listed: Sequence[EventFile]) -> list[float | None]:
    """Wall time of each file's last whole event in seconds since the epoch.

    None for a file that cannot be read, or whose last 64 KiB have no event.
    """
    times = []
    for first in range(0, len(listed), _MAX_ENDS):
        batch = listed[first : first + _MAX_ENDS]
        ends = [(file, max(file.size - _READ_BYTES, 0)) for file in batch]
        remote = [end for end in ends if storage_of(end[0].path).requests_cost]
        fetch_ahead(remote, max_bytes=_READ_BYTES * len(remote))
        times += list(map(_last_event_time, batch))
    return times


def _last_event_time(listed: EventFile) -> float | None:
    storage = storage_of(listed.path)
    try:
        with storage.open_file(listed) as file:
            begin = max(file.opened.size - _READ_BYTES, 0)
            buffer = file.read(begin, file.opened.size - begin)
    except OSError:
        return None
    finally:
        storage.forget_fetched(listed.path)
    # The upper four bytes of a record's length are 0, and then there is its checksum.
    end = len(buffer)
    while (at := buffer.rfind(bytes(4), 0, end)) >= 4:
        wall_time = event_time_in(buffer, at - 4, len(buffer))
        if wall_time is not None and not math.isnan(wall_time):
            return wall_time
        end = at + 3
    return None


def unfinished(file: EventFile, offset: int, size: int) -> tuple[str, bool]:
    """What is to say of a file that ends within a record, and whether it was cut off."""
    line = f"ends within the record at offset {offset}, after {size - offset} of its bytes"
    if time.time() - file.mtime_ns / 1e9 < _RECENT_SECONDS:
        return f"{line}; the rest may still be written", False
    return f"{line}; the file was cut off", True


def cut_off(run: TrackedRun) -> list[str]:
    """A line for each file of a run, which was read to its end, that was cut off."""
    lines = []
    for path, file in run.reader.file_readers.items():
        is_known = file.other_kind or file.bookmark.is_blocked_by_bad_length
        if file.caught_up and file.opened.size > file.offset and not is_known:
            line, is_old = unfinished(file.opened, file.offset, file.opened.size)
            lines += [one_line(f"{path} {line}")] if is_old else []
    for source, offset, size in unfinished_sources(run):
        line, is_old = unfinished(source, offset, size)
        lines += [one_line(f"{source.path} {line}")] if is_old else []
    return lines


def unfinished_sources(run: TrackedRun) -> Sequence[tuple[EventFile, int, int]]:
    """The files of a run of another format that end within a record, with the offset of that and
    the size of the file."""
    found: Sequence[tuple[EventFile, int, int]] = getattr(run.reader, "unfinished", ())
    return found
