"""StrictReader: reads each file of a run to its end, and says what is wrong with it, and where."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tbcore.eventfiles.decoder import Decoder
from tbcore.eventfiles.framing import Damage
from tbcore.eventfiles.storage import EventFile
from tbcore.eventfiles.tail import FileReader, FileReplacedError
from tbcore.store.run import RunData
from tbcore.store.view import RunView


class ReadFile(NamedTuple):
    """How far a file was read."""

    file: EventFile
    """The file as a scan found it."""
    damage: Sequence[Damage] = ()
    """Its damaged records, by offset."""
    offset: int = 0
    """Where reading stopped, in bytes."""
    size: int = 0
    """The size of the file when it was opened last, in bytes."""
    error: OSError | None = None
    """Why the rest was not read."""
    is_replaced: bool = False
    """Whether the file was replaced while it was read, so that the rest was not read."""


class StrictReader:
    """Reads runs that are not read on."""

    def __init__(self) -> None:
        self._decoder = Decoder()

    def read(self, files: Sequence[EventFile]) -> tuple[RunView, list[ReadFile]]:
        """Reads the files of a run in this order. Returns the run, and how far each was read."""
        data = RunData()
        found = [self._read(file, data) for file in files]
        return data.commit(), found

    def _read(self, file: EventFile, data: RunData) -> ReadFile:
        """Reads a file into the data of its run. An empty file is not opened."""
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
        return ReadFile(file, reader.problems, reader.offset, reader.opened.size)
