"""The event files of runs that this user archived, for a command that deletes them.

Nothing here deletes. A file is named only if all of this is certain:

1. This user archived the run: see `access.py` for what is this user's own.
2. Nobody has brought the run back since, also if somebody else has archived it again.
3. The run has no event of the last 24 hours, and no file of its directory was changed in them.
4. Its directory is below the log directory, without a link on the way.
5. It is the directory that was archived: the inventory has its inode.
6. Only this user and root can replace it, its files, or a directory above it.
7. The file was there when the run was archived, and has not changed since: the inventory has its
   name, its inode, its size and the time of its last change.
8. It is a regular file, and no link.
9. It begins as event files do: others may have a name like theirs, such as `tfevents.tar.gz`.
10. Nothing is named in remote log directories.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from tbcore_notes.files import opened_file
from tbcore_notes.inventory import Inventory, digest_of
from tbcore_notes.records import Record

_QUIET_SECONDS = 86400
_FIRST_BYTES = 64
"""Number of bytes that the first record of an event file fits into."""
_VERSION = b"brain.Event:"
"""A part of this record: all writers begin with the version of the format."""
_AGAIN = "; bring them back and archive them again"


class Archived(NamedTuple):
    """The last notes on whether a run is archived, and the inventory of its files."""

    own: Record | None
    """This user's own last record of whether it is archived."""
    last: Record | None
    """The last one of anybody."""
    brought_back: Record | None
    """The last one of anybody that says it is not archived."""
    inventory: Inventory | None


class ArchivedFiles(NamedTuple):
    """The event files of archived runs."""

    rows: list[tuple[str, int, str]]
    """The path of each file, its size in bytes, and its run."""
    left_out: dict[str, list[str]]
    """Maps reasons to the archived runs of which some files, or all, are not named."""


def archived_files(
    logdir: str,
    runs: Mapping[str, tuple[Sequence[str], float | None]],
    archived: Callable[[str], Archived],
) -> ArchivedFiles:
    """The event files of the archived ones among some runs, which are below `logdir`.

    `runs` maps names of runs to the paths of their event files, and to the time of their last event
    in seconds since the epoch.
    """
    found = ArchivedFiles([], {})
    logdir = os.path.realpath(logdir)
    places = _Places()
    for name, (paths, last_event) in runs.items():
        known = archived(name)
        reason = _reason_of_notes(known)
        if reason is None:
            continue
        named: list[tuple[str, int]] = []
        if not reason:
            folder = os.path.normpath(os.path.join(logdir, name))
            try:
                reason = _reason_of_directory(folder, last_event, known)
                if not reason and known.inventory:
                    own = [os.path.join(folder, os.path.basename(path)) for path in paths]
                    named, reason = _same_files(own, known.inventory, places)
            except OSError as error:
                reason = error.strerror or str(error)
        if reason:
            found.left_out.setdefault(reason, []).append(name)
        found.rows.extend((path, num_bytes, name) for path, num_bytes in named)
    return found


def _reason_of_notes(known: Archived) -> str | None:
    """Why no file of a run is named, by what was noted; "" if its files may be named, None if the
    run is not archived."""
    own, last, brought_back = known.own, known.last, known.brought_back
    if own is not None and own.value:
        if brought_back is not None and own < brought_back:
            return f"{brought_back.by} has taken them back"
        return ""
    if last is None or not last.value:
        return None
    return f"archived by {last.by}, {'you have taken them back' if own else 'not by you'}"


def _reason_of_directory(folder: str, last_event: float | None, known: Archived) -> str:
    """Why no file of a directory is named; "" if its files may be named. Raises OSError."""
    limit = time.time() - _QUIET_SECONDS
    # Written so that NaN counts as recent.
    if last_event is not None and not last_event <= limit:
        return "an event in the last 24 hours"
    if os.path.realpath(folder) != folder or not os.path.isdir(folder):
        return "their directory is a link, or its name has other bytes"
    if known.inventory is None or known.own is None or known.inventory.of != known.own.time:
        return f"it is not known which files they had when they were archived{_AGAIN}"
    if not known.inventory.is_of(os.lstat(folder)):
        return f"not the directory that was archived{_AGAIN}"
    with os.scandir(folder) as entries:
        for entry in entries:
            status = entry.stat(follow_symlinks=False)
            if stat.S_ISREG(status.st_mode) and not status.st_mtime <= limit:
                return "a file was changed in the last 24 hours"
    return ""


def _same_files(
    paths: Iterable[str], inventory: Inventory, places: _Places
) -> tuple[list[tuple[str, int]], str]:
    """The paths and sizes of the files that are still the ones of the inventory, and why others are
    left out; "" if there are none. Raises OSError."""
    found, reason, digests = [], "", inventory.digests
    for path in paths:
        status = os.lstat(path)
        if not stat.S_ISREG(status.st_mode) or not _has_events(path):
            reason = reason or "their files are links, or no event files"
        elif digest_of(os.path.basename(path), status) not in digests:
            reason = f"files that came, or were changed, after they were archived{_AGAIN}"
        elif (folder := places.unsafe(path)) is not None:
            reason = f"others can replace what is in {folder}"
        else:
            found.append((path, status.st_size))
    return found, reason


def _has_events(path: str) -> bool:
    """Whether a regular file begins as an event file does. Raises OSError."""
    with open(opened_file(path, os.O_RDONLY), "rb") as file:
        return _VERSION in file.read(_FIRST_BYTES)


class _Places:
    """Finds directories in which others than this user and root can replace things.

    Anyone who can write to a directory can replace what is in it; if its mode has the sticky bit,
    only what belongs to them.
    """

    def __init__(self) -> None:
        self._known: dict[str, str | None] = {}
        """Maps each directory that was looked at to what `unsafe` found above it."""
        self._trusted = {0, os.getuid()} if hasattr(os, "getuid") else {0}

    def unsafe(self, path: str) -> str | None:
        """The lowest directory above a path in which others can replace what leads to the path;
        None if there is none. Raises OSError."""
        folder = os.path.dirname(path)
        if folder == path:
            return None
        if not self._is_safe(folder, path):
            return folder
        if folder not in self._known:
            self._known[folder] = self.unsafe(folder)
        return self._known[folder]

    def _is_safe(self, folder: str, path: str) -> bool:
        status = os.lstat(folder)
        if status.st_uid not in self._trusted:
            return False
        is_shared = bool(status.st_mode & stat.S_IWOTH) or (
            # With an access control list, these bits are those of all others in the list.
            bool(status.st_mode & stat.S_IWGRP)
            and (_has_list(folder) or not _is_group_of_user(status.st_gid))
        )
        is_sticky = bool(status.st_mode & stat.S_ISVTX)
        return not is_shared or (is_sticky and os.lstat(path).st_uid in self._trusted)


def _has_list(folder: str) -> bool:
    """Whether a directory may have an access control list, by which more users can write to it."""
    if not hasattr(os, "listxattr"):
        return True  # This system has other lists.
    return any("acl" in name for name in os.listxattr(folder, follow_symlinks=False))


@lru_cache
def _is_group_of_user(group: int) -> bool:
    """Whether this user is the only member of a group. A directory of users may list only some, so
    the group must have the user's name, too, as groups of one user have."""
    import grp
    import pwd

    try:
        user, found = pwd.getpwuid(os.getuid()), grp.getgrgid(group)
    except KeyError:
        return False
    members = {*found.gr_mem, *(each.pw_name for each in pwd.getpwall() if each.pw_gid == group)}
    return found.gr_name == user.pw_name and members <= {user.pw_name}
