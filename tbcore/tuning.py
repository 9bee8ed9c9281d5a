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

    request_timeout_seconds: float = 20.0
    """For the headers of a request to arrive, and as long again for its body."""
    stall_timeout_seconds: float = 30.0
    """A connection is closed when its client has taken nothing of a response for this long."""
    min_update_interval_seconds: float = 1.0
    """Between two messages of one stream of updates."""
    heartbeat_seconds: float = 15.0
    """Between two comments in a stream of updates without messages, so that no proxy closes it."""

    queue_timeout_seconds: float = 30.0
    """How long a request waits for a free thread, or for the event loop, of its plugin before the
    response is 503."""
    plugin_timeout_seconds: float = 1.0
    """How long a request that concerns all plugins, such as the list of tabs, waits for one of
    them."""
    slow_call_seconds: float = 5.0
    """A route, or the start of a plugin, that takes longer is logged."""
    slow_is_active_seconds: float = 0.1
    """An `is_active` hook that takes longer is logged."""
    blocked_loop_seconds: float = 0.5
    """A coroutine that holds its plugin's event loop for longer between two awaits is logged."""
    log_window_seconds: float = 10.0
    """The number of log lines of one plugin is limited within each window of this length."""
    reload_delay_seconds: float = 0.1
    """A plugin is reloaded when its files have not changed for this long: editors write in several
    steps."""


DEFAULT = Tuning()


def default_tuning() -> Tuning:
    """`DEFAULT` at the time of the call: tests on slow machines replace it."""
    return DEFAULT
