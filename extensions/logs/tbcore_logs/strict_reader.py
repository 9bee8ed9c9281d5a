"""StrictReader: reads each file of a run to its end, and reports every damaged record."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tbcore.engine import (
    Damage,
    Decoder,
    EventFile,
    FileReader,
    FileReplacedError,
    RunData,
    RunView,
)


class ReadFile(NamedTuple):
    """The result of reading a file: how far it was read, and its damage."""

    file: EventFile
    """The file as a scan found it."""
    damage: Sequence[Damage] = ()
    """Its damaged records, sorted by offset."""
    offset: int = 0
    """Offset in bytes at which reading stopped."""
    size: int = 0
    """The size of the file in bytes when it was last opened."""
    other_kind: str | None = None
    """The kind of a file that is not an event file; see FileReader."""
    error: OSError | None = None
    """The error that ended reading; None if there was none."""
    is_replaced: bool = False
    """Whether reading ended because the file was replaced."""


class StrictReader:
    """Reads runs once, without following them as they grow."""

    def __init__(self) -> None:
        self._decoder = Decoder()

    def read(self, files: Sequence[EventFile]) -> tuple[RunView, list[ReadFile]]:
        """Reads the files of a run in this order. Returns the run and one ReadFile per file."""
        data = RunData()
        found = [self._read(file, data) for file in files]
        return data.commit(), found

    def _read(self, file: EventFile, data: RunData) -> ReadFile:
        """Reads a file into the data of its run. Does not open an empty file."""
        if not file.size:
            return ReadFile(file)
        reader = FileReader(file.path, data.add_file(file.path), self._decoder)
        reader.scanned = file
        try:
            while not reader.caught_up:
                for item in reader.read():
                    data.add_item(item, reader.file_index)
        except FileReplacedError:
            return ReadFile(file, is_replaced=True)
        except OSError as error:
            return ReadFile(file, error=error)
        return ReadFile(file, reader.problems, reader.offset, reader.opened.size, reader.other_kind)
