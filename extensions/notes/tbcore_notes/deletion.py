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
import re
import stat
import time
from collections.abc import Callable, Collection, Mapping, Sequence
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


class Archived(NamedTuple):
    """The last notes on whether a run is archived, and the inventory of its files."""

    own: Record | None
    """This user's own last record of whether it is archived."""
    last: Record | None
    """The last one of anybody."""
    brought_back: Record | None
    """The last one of anybody that says it is not archived."""
    inventory: Inventory | None


class Reason(NamedTuple):
    """Why a file, or a run with all of its files, is not named."""

    text: str
    needs_archiving: bool = False
    """Whether it is enough that this user archives the run again."""
    ends_at: float | None = None
    """When waiting is enough, in seconds since the epoch."""


_UNKNOWN = Reason("it is not known which files there were when you archived", True)


class LeftOut(NamedTuple):
    """A file of an archived run that is not named, or all of a run."""

    run: str
    file: str
    """The base name of the file; "" for all."""
    reason: Reason


class ArchivedFiles(NamedTuple):
    """The event files of archived runs."""

    rows: list[tuple[str, int, str]]
    """The path of each file, its size in bytes, and its run."""
    left_out: list[LeftOut]


def archived_files(
    logdir: str,
    runs: Mapping[str, tuple[Sequence[str], float | None]],
    archived: Callable[[str], Archived],
) -> ArchivedFiles:
    """The event files of the archived ones among some runs, which are below `logdir`.

    `runs` maps names of runs to the paths of their event files, and to the time of their last event
    in seconds since the epoch.
    """
    found = ArchivedFiles([], [])
    logdir = os.path.realpath(logdir)
    places = _Places()
    for name, (paths, last_event) in runs.items():
        known = archived(name)
        text = _reason_of_notes(known)
        if text is None:
            continue
        reason = Reason(text) if text else None
        if not paths:
            reason = Reason("they are not event files, and may have other runs as well")
        if not reason:
            folder = os.path.normpath(os.path.join(logdir, name))
            try:
                if not os.path.lexists(folder) and not all(map(_is_utf8, paths)):
                    reason = Reason("the directory's name is not UTF-8")
                else:
                    reason = _reason_of_directory(logdir, folder, last_event, known)
            except OSError as error:
                reason = _of_system(error)
        if reason or not known.inventory:
            found.left_out.append(LeftOut(name, "", reason or _UNKNOWN))
            continue
        digests = known.inventory.digests
        for file in map(os.path.basename, paths):
            path = os.path.join(folder, file)
            try:
                status = os.lstat(path)
                reason = _reason_of_file(path, status, digests, places)
            except OSError as error:
                reason = _of_system(error)
            if reason:
                found.left_out.append(LeftOut(name, file, reason))
            else:
                found.rows.append((path, status.st_size, name))
    return found


def _of_system(error: OSError) -> Reason:
    return Reason(error.strerror or str(error))


def _reason_of_notes(known: Archived) -> str | None:
    """Why no file of a run is named, by what was noted; "" if its files may be named, None if the
    run is not archived."""
    own, last, brought_back = known.own, known.last, known.brought_back
    if own is not None and own.value:
        if brought_back is not None and own < brought_back:
            return f"brought back by {brought_back.by}"
        return ""
    if last is None or not last.value:
        return None
    return f"archived by {last.by}, {'brought back by you' if own else 'not by you'}"


def _reason_of_directory(
    logdir: str, folder: str, last_event: float | None, known: Archived
) -> Reason | None:
    """Why no file of a directory is named; None if its files may be named. Raises OSError."""
    status = os.lstat(folder)
    if os.path.realpath(folder) != folder:
        return Reason(f"{_first_link(logdir, folder)} is a link")
    if known.inventory is None or known.own is None or known.inventory.of != known.own.time:
        return _UNKNOWN
    if not known.inventory.is_of(status):
        return Reason("not the directory that you archived", True)
    with os.scandir(folder) as entries:
        statuses = [entry.stat(follow_symlinks=False) for entry in entries]
    times = [status.st_mtime for status in statuses if stat.S_ISREG(status.st_mode)]
    text = "a file was changed in the last 24 hours"
    limit = time.time() - _QUIET_SECONDS
    # Written so that NaN counts as recent; `max` returns it if it is the first.
    if last_event is not None and not last_event <= limit:
        times.insert(0, last_event)
        text = "an event in the last 24 hours"
    last = max(times, default=0.0)
    return None if last <= limit else Reason(text, ends_at=last + _QUIET_SECONDS)


def _is_utf8(path: str) -> bool:
    """Whether a path has no bytes that are not UTF-8, for which a run's name has escapes."""
    return not re.search("[\udc80-\udcff]", path)


def _first_link(logdir: str, folder: str) -> str:
    """The link nearest to the log directory on the way to a directory below it."""
    path = logdir
    for part in os.path.relpath(folder, logdir).split(os.sep):
        path = os.path.join(path, part)
        if os.path.islink(path):
            break
    return path


def _reason_of_file(
    path: str, status: os.stat_result, digests: Collection[str], places: _Places
) -> Reason | None:
    """Why a file, with its `lstat`, is not named, if the files of an inventory may be; None if it
    is named. Raises OSError."""
    if stat.S_ISLNK(status.st_mode):
        return Reason("a link")
    if not stat.S_ISREG(status.st_mode) or not _has_events(path):
        return Reason("not an event file")
    if digest_of(os.path.basename(path), status) not in digests:
        return Reason("new, or changed, since you archived the run", True)
    folder = places.unsafe(path)
    if folder == os.path.dirname(path):
        return Reason("others can write to the directory")
    return None if folder is None else Reason(f"others can replace what is in {folder}")


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
