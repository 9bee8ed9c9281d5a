"""Directory: a directory that a scan reached, and whether a link leads from it to itself."""

from __future__ import annotations

import os
from dataclasses import dataclass


@dataclass(slots=True, eq=False)
class Directory:
    """A directory that a scan reached, with the path that led there."""

    path: str
    name: str
    """Path relative to the root; `.` for the root itself."""
    parent: Directory | None
    is_linked: bool = False
    """Whether this directory or one above it was reached through a link."""
    _identity: tuple[int, int] | None = None

    def identity(self) -> tuple[int, int]:
        """Device and inode. Getting them takes a system call, and is needed only for links."""
        if self._identity is None:
            found = os.stat(self.path)
            self._identity = found.st_dev, found.st_ino
        return self._identity

    def contains_itself(self) -> bool:
        """Whether this directory is also one of the directories above it, because of a link."""
        above = self.parent
        while above is not None:
            if above.identity() == self.identity():
                return True
            above = above.parent
        return False
