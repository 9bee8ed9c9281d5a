"""Inventory: which event files were in the directory of a run when this user archived it.

`tbcore notes files` names the files of the inventory that are still the same, and no others. A file
is the same if its name, inode, size and time of change (ctime) are, and its time of birth where
Python gives it. Nobody but the system sets the time of change: it is new for a file that was
written, copied, unpacked, moved or linked, whatever times of writing that was given.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
import stat
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

from tbcore.engine import is_event_file

MAX_FILES = 32
"""A run with more event files has an inventory only if it is archived by a command or in Python."""
MAX_FILES_OF_COMMAND = 10_000
_DIGEST_CHARACTERS = 8
_DIGESTS = re.compile(rf"(?:[\w-]{{{_DIGEST_CHARACTERS}}})*", re.ASCII)
_TICK_SECONDS = 0.02
"""Two changes of a file within so short a time may have the same time of change."""


class Inventory(NamedTuple):
    """The event files of one run."""

    of: int
    """The time of the record that archived the run, in microseconds since the epoch."""
    directory: str
    """Which directory it was: digest of its inode."""
    files: str
    """The digests of the files, one after the other."""

    @property
    def digests(self) -> set[str]:
        """Those of the files: see `digest_of`."""
        starts = range(0, len(self.files), _DIGEST_CHARACTERS)
        return {self.files[start : start + _DIGEST_CHARACTERS] for start in starts}

    def is_of(self, status: os.stat_result) -> bool:
        """Whether a directory is the one that was archived, by its `lstat`."""
        return self.directory == _digest(b"", status)


def checked_inventory(value: Any) -> Inventory:
    """The inventory in a line of a file. Raises ValueError if it is none."""
    inventory = Inventory(**value)
    time, *texts = inventory
    if type(time) is not int or not all(isinstance(text, str) for text in texts):
        raise ValueError("inventory")
    if not all(map(_DIGESTS.fullmatch, texts)):
        raise ValueError("inventory")
    return inventory


def inventory_of(folder: str, of: int, *, at: float, waits: bool) -> Inventory | None:
    """The inventory of a directory; None if it is none, or cannot be read, or has too many files.

    Files that were changed after `at`, in seconds since the epoch, are left out, and so are those
    that were changed just before, since a later change may have the same time. With `waits`, those
    stay that have the same time a moment later.
    """
    limit = at - _TICK_SECONDS
    try:
        status = os.lstat(folder)
        if not stat.S_ISDIR(status.st_mode):
            return None
        files = list(_files(folder))
        if waits and any(limit < each.st_ctime_ns / 1e9 <= at for _, each in files):
            time.sleep(_TICK_SECONDS)
            files, limit = list(_files(folder)), at
    except (OSError, ValueError):
        return None
    if len(files) > (MAX_FILES_OF_COMMAND if waits else MAX_FILES):
        return None
    digests = (digest_of(name, each) for name, each in files if each.st_ctime_ns / 1e9 <= limit)
    return Inventory(of, _digest(b"", status), "".join(digests))


def digest_of(name: str, status: os.stat_result) -> str:
    """What tells a file from all others, by its base name and its `lstat`."""
    return _digest(os.fsencode(name), status, status.st_size, status.st_ctime_ns)


def _files(folder: str) -> Iterator[tuple[str, os.stat_result]]:
    """The names of all files that may be event files, each with its `lstat`."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if is_event_file(entry.name):
                status = entry.stat(follow_symlinks=False)
                if stat.S_ISREG(status.st_mode):
                    yield entry.name, status


def _digest(name: bytes, status: os.stat_result, *numbers: int) -> str:
    """What tells a file or a directory from all others, in a few characters."""
    birth = getattr(status, "st_birthtime_ns", getattr(status, "st_birthtime", 0))
    text = f"{status.st_ino} {birth} {numbers} ".encode() + name
    digest = hashlib.sha256(text).digest()
    return base64.urlsafe_b64encode(digest)[:_DIGEST_CHARACTERS].decode()
