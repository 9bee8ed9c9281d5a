"""Format: finds the runs of another program. FormatReader: reads one of them, into `Points`.

A format is an entry point of the group `tbcore.formats`, a class without arguments. An object
belongs to one log directory, and is used by one thread at a time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:  # To know the names of files, nothing else is imported.
    import numpy as np
    from numpy.typing import NDArray

    from tbcore.engine import Decoder, EventFile, RunReader, SourceFiles, SourceRun
    from tbcore_formats.facts import RunFacts


class Points(NamedTuple):
    """Points of one tag, in the order written. Arrays of shape (num_points,), at least one."""

    step: NDArray[np.int64]
    wall_time: NDArray[np.float64]
    """Seconds since the epoch."""
    value: NDArray[np.float64]


class FormatReader(Protocol):
    """Reads one run, and remembers how far. Keeps no file open between two items."""

    offset: int
    """Number of bytes read so far, for the progress."""

    def read(self, files: Sequence[EventFile]) -> Iterator[Mapping[str, Points] | RunFacts | str]:
        """What is new since the last call; `files` are those of the last scan.

        That is points by tag; facts, which replace all earlier ones; or one line about data that is
        damaged or left out. Raises FileReplacedError if a new reader must read the run from its
        start, BlockingIOError if a file is being written, to be called again soon, and OSError if
        it cannot be read. After any other exception, which is a line, the run is not read until its
        files change.
        """


class Format:
    """The base of formats, with the members of `Format` in `tbcore/eventfiles/formats.py`."""

    patterns: Collection[str]
    has_twins = False
    has_times = False

    def runs(self, files: Sequence[tuple[str, EventFile]]) -> Iterable[SourceRun | str]:
        raise NotImplementedError

    def reader(self, run: SourceRun) -> FormatReader:
        """A reader that has read nothing."""
        raise NotImplementedError

    def run_reader(self, decoder: Decoder, files: SourceFiles, **options: Any) -> RunReader:
        from tbcore_formats.source_reader import SourceReader

        return SourceReader(decoder, files, self.reader(files.run), **options)
