"""FormatReader: reads one run, as far as it is written, into `Points` and `RunFacts`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tbcore.engine import EventFile
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

    # A reader may have a map `unfinished`, of the paths of files that end within a record to the
    # offset of that and the size of the file, so far as it has read.

    def read(self, files: Sequence[EventFile]) -> Iterator[Mapping[str, Points] | RunFacts | str]:
        """What is new since the last call; `files` are those of the last scan.

        That is points by tag; facts, which replace all earlier ones; or one line about data that is
        damaged or left out. Raises FileReplacedError if a new reader must read the run from its
        start, BlockingIOError if a file is being written, to be called again soon, and OSError if
        it cannot be read. After any other exception, which is a line, the run is not read until its
        files change.
        """
