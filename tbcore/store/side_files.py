"""SideFile: a file beside the event files of a run, which a plugin claims."""

from __future__ import annotations

import hashlib

from tbcore.errors import DecodeError, NotFoundError
from tbcore.eventfiles.addresses import storage_of
from tbcore.eventfiles.storage import EventFile
from tbcore.text import one_line, quoted, readable


class SideFile:
    """A file beside the event files of a run, as of the last scan. See `Multiplexer.files`."""

    def __init__(self, file: EventFile, pattern: str) -> None:
        self._file = file
        self._directory, *steps = file.path.rsplit("/", pattern.count("/") + 1)
        self.name = readable("/".join(steps))
        """Path relative to the directory of the run, with slashes."""
        self.size = file.size
        """Size in bytes."""
        self.modified = file.mtime_ns / 1e9
        """When the file was last written to, in seconds since the epoch."""
        self.etag = hashlib.blake2b(repr(file).encode(), digest_size=12).hexdigest()
        """Changes whenever the file does, for responses that depend on it. Not quoted."""

    def read(self, max_bytes: int) -> bytes:
        """The whole file, unless it has more than `max_bytes` bytes, a number below 2**31.

        Raises DecodeError if it has more, and NotFoundError if it cannot be read.
        """
        if self.size > max_bytes:
            line = f"{quoted(self.name)} has {self.size} bytes, more than the {max_bytes} allowed"
            raise DecodeError(line)
        data = self.read_part(0, self.size)
        if len(data) != self.size:
            raise NotFoundError(f"{quoted(self.name)} has changed while it was read")
        return data

    def read_part(self, offset: int, size: int) -> bytes:
        """The `size` bytes from `offset` on; fewer at the end of the file, as of the last scan.

        Raises NotFoundError if the file cannot be read.
        """
        try:
            with storage_of(self._file.path).open_file(self._file, self._directory) as file:
                return file.read(offset, min(size, max(self.size - offset, 0)))
        except OSError as error:
            reason = one_line(error.strerror or str(error))
            raise NotFoundError(f"cannot read {quoted(self.name)}: {reason}") from None
