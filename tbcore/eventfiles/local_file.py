"""LocalFile: an event file on a disk that is open for reading."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from typing import Self

from tbcore.eventfiles.storage import EventFile


class LocalFile:
    """An open file: see `OpenFile`."""

    __slots__ = ("_descriptor", "opened")

    is_local = True

    def __init__(self, path: str) -> None:
        """Opens the file. Raises OSError if that fails, or if it is not a regular file."""
        # O_NONBLOCK: opening a FIFO would otherwise wait for its writer.
        flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
        self._descriptor = os.open(path, flags)
        try:
            status = os.fstat(self._descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise OSError(f"{path} is not a regular file")
        except OSError:
            os.close(self._descriptor)
            raise
        self.opened = EventFile.of(path, status)
        """The file's status when it was opened."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)

    def current_size(self) -> int:
        """The file's size in bytes by now."""
        return os.fstat(self._descriptor).st_size

    def fetch(self, parts: Iterable[tuple[int, int]]) -> None:
        """Prepares for reading parts of the file, each an offset and a size."""

    def read(self, offset: int, size: int) -> bytes:
        """The `size` bytes from `offset` on; fewer at the end of the file."""
        return os.pread(self._descriptor, size, offset)

    def read_into(self, buffer: memoryview, offset: int) -> int:
        """Fills the buffer from `offset` on; returns how many bytes there were."""
        done = 0
        while done < len(buffer):
            count = os.preadv(self._descriptor, [buffer[done:]], offset + done)
            if not count:
                break
            done += count
        return done
