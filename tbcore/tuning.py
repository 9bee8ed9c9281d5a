"""Tuning: the numbers that trade time, memory and latency, in one frozen value.

The defaults were measured with the programs in `benchmarks`. No answer depends on them, but for
what is answered in place of a plugin that takes longer than a timeout. A test that needs other
numbers passes its own: `Loader(multiplexer, specs, tuning=Tuning(piece_bytes=1000))`.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Tuning:
    """Bounds and timeouts of one server. Each field's name ends with its unit."""

    # Decoding one file ----------------------------------------------------------------------------

    piece_bytes: int = 1 << 22
    """Size of the piece of a file that is decoded at once. A longer record is read without being
    held in memory."""

    # Loading runs ---------------------------------------------------------------------------------

    time_slice_bytes: int = 1 << 24
    """Read of one run before the next run's time slice."""
    time_slice_seconds: float = 0.5
    """A time slice ends after this long, since some bytes take longer than others."""
    publish_interval_seconds: float = 0.1
    """Between two publications of loaded rows while there is more to read."""
    min_pause_seconds: float = 0.1
    """Between two passes, however often files change."""
    min_bytes_for_helper: int = 1 << 24
    """With less to read, all is read before a helper process could start."""
    scan_timeout_seconds: float = 1.0
    """How long the start of the server waits for storage that does not answer."""
    clock_resolution_seconds: float = 3.0
    """A file that changed so shortly before it was read may have changed again at the same time,
    as far as the clock of the file system can tell."""

    # Serving --------------------------------------------------------------------------------------
