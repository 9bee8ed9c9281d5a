"""Read-ahead: reads many small files at once, before the loader gets to their runs.

A batch of files is read into one buffer and decoded as a whole. The FileReader of each file keeps
the decoded items until the file is read. Only whole, undamaged files are decoded here. Any other
file is left to its FileReader, so that damage and growth are handled in one place.
"""

from __future__ import annotations

from collections.abc import Iterable

from tbcore.eventfiles.tail import FileReader, WholeFile
from tbcore.tuning import Tuning, default_tuning

try:
    from tbcore.eventfiles.fast.small_files import SmallFileDecoder
except ModuleNotFoundError:
    SmallFileDecoder = None  # type: ignore[assignment, misc]  # no file is read ahead

_BATCH_GROWTH = 4
"""Factor by which the number of files grows from batch to batch: what is learnt from the files of
one batch makes the files of the next batch faster to decode."""
_GAP_BYTES = 8
"""Maximum number of bytes between two files in the buffer."""


class SmallFileReader:
    """Reads small files ahead, in batches. What is learnt from one batch speeds up the next."""

    def __init__(self, *, tuning: Tuning | None = None) -> None:
        self._tuning = tuning = tuning or default_tuning()
        self._max_files = tuning.first_batch_files
        """Maximum number of files in the next batch."""
        self._decoder = SmallFileDecoder(tuning) if SmallFileDecoder is not None else None

    def preload(self, readers: Iterable[FileReader]) -> None:
        """Reads the files of the first readers as one batch; each reader keeps its decoded items.

        A file is left to its reader if it is too large or damaged.
        """
        if self._decoder is None:
            return
        max_bytes, max_file_bytes = self._tuning.file_batch_bytes, self._tuning.small_file_bytes
        self._decoder.begin()
        files: list[tuple[FileReader, WholeFile]] = []
        at = num_bytes = num_files = 0
        for reader in readers:
            if num_files == self._max_files or num_bytes + max_file_bytes > max_bytes:
                break
            num_files += 1
            whole = reader.read_whole(self._decoder.buffer, at, max_file_bytes)
            if whole is None:
                continue
            size = whole.opened.size
            num_bytes += size + _GAP_BYTES
            at = self._decoder.add(len(files), at, at + size)
            files.append((reader, whole))
        self._max_files *= _BATCH_GROWTH
        for number, items in self._decoder.decode():
            reader, whole = files[number]
            reader.preload(whole, items)

    def release_buffers(self) -> None:
        """Frees the buffer and all that was learnt. The next `preload` makes them again."""
        if SmallFileDecoder is not None:
            self._decoder = SmallFileDecoder(self._tuning)
