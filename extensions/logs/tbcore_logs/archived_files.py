"""The event files of runs that were archived, for a command that deletes them.

Nothing here deletes. A file is named only if all of this is certain:

- The run was archived by this user, on this machine: what is noted in a log directory, which may
  have come from anywhere, is somebody else's. If that is wanted, it counts, too.
- Its directory is the one that had this name then: another one may have been moved there, and a
  directory of notes may be that of several machines, each with its own disk at this path.
- Since then nothing was logged, and in the last 24 hours no file beside it was changed, either.
- It is a regular file in the run's own directory, which no link leads to from the log directory.
- It begins as event files do: others may have a name like theirs, such as `tfevents.tar.gz`.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

_QUIET_SECONDS = 86400
_FIRST_BYTES = 64
"""Number of bytes that the first record of an event file fits into."""
_VERSION = b"brain.Event:"
"""What this record has: all writers begin with the version of the format."""


class FilesOfRuns(Protocol):
    """What has the files of runs, such as a LazyReader."""

    def __contains__(self, name: object) -> bool: ...

    def files(self, name: str) -> list[str]:
        """The paths of a run's event files."""


class ArchivedFiles(NamedTuple):
    """The event files of archived runs."""

    rows: list[tuple[str, int, str]]
    """The path of each file, its size in bytes, and its run."""
    authors: dict[str, str]
    """Maps each of these runs to who archived it."""
    left_out: dict[str, list[str]]
    """Maps reasons to the runs that were archived, and whose files are not named."""


def archived_files(
    logdir: str,
    names: Iterable[str],
    *,
    archived: Callable[[str], tuple[Any, Any]],
    reader: FilesOfRuns,
    last_event_times: Mapping[str, float | None],
    by_anyone: bool = False,
) -> ArchivedFiles:
    """The event files of the archived ones among some runs, which are below `logdir`.

    `archived` is as in `Notes`. `last_event_times` are in seconds since the epoch.
    """
    found = ArchivedFiles([], {}, {})
    for name in names:
        own, latest = archived(name)
        if latest is None or not latest.value:
            if own is not None and own.value:
                found.left_out.setdefault(f"{latest.by} has taken them back", []).append(name)
            continue
        record = own or (latest if by_anyone else None)
        if record is None or not record.value:
            reason = "you have taken them back" if by_anyone else "not by you"
            found.left_out.setdefault(f"archived by {latest.by}, {reason}", []).append(name)
            continue
        paths = reader.files(name) if name in reader else []
        inode = own.directory if record is own else None
        files, reason = _files(
            paths, logdir, name, last_event_times.get(name), record.time / 1e6, inode
        )
        if reason:
            found.left_out.setdefault(reason, []).append(name)
            continue
        found.authors[name] = record.by
        found.rows.extend((path, num_bytes, name) for path, num_bytes in files)
    return found


def _files(
    paths: Sequence[str],
    logdir: str,
    name: str,
    last_event: float | None,
    archived_at: float,
    inode: int | None,
) -> tuple[list[tuple[str, int]], str]:
    """The paths and sizes of those event files of a run, or none and the reason for that.

    Times are in seconds since the epoch. `inode` is that of the directory; None for any.
    """
    folder = os.path.normpath(os.path.join(logdir, name))
    limit = time.time() - _QUIET_SECONDS
    # Written so that NaN counts as recent.
    if last_event is not None and not last_event <= limit:
        return [], "an event in the last 24 hours"
    if last_event is not None and not last_event <= archived_at:
        return [], "written to after they were archived"
    elsewhere = "their directory is a link, or its name has other bytes"
    if {os.path.dirname(os.path.abspath(path)) for path in paths} != {os.path.abspath(folder)}:
        return [], elsewhere
    if os.path.realpath(folder) != os.path.normpath(os.path.join(os.path.realpath(logdir), name)):
        return [], elsewhere
    found = []
    try:
        if inode is not None and os.stat(folder).st_ino != inode:
            return [], "not the directory that was archived: bring them back and archive them again"
        with os.scandir(folder) as entries:
            for entry in entries:
                status = entry.stat(follow_symlinks=False)
                if stat.S_ISREG(status.st_mode) and not status.st_mtime <= limit:
                    return [], "a file was changed in the last 24 hours"
        for path in paths:
            status = os.lstat(path)
            if not status.st_mtime <= archived_at:
                return [], "written to after they were archived"
            if stat.S_ISREG(status.st_mode) and (not status.st_size or _has_events(path)):
                found.append((path, status.st_size))
    except OSError as error:
        return [], error.strerror or str(error)
    return found, "" if found else "their files are links, or no event files"


def _has_events(path: str) -> bool:
    """Whether a regular file begins as an event file does. Raises OSError."""
    with open(path, "rb") as file:
        return _VERSION in file.read(_FIRST_BYTES)
