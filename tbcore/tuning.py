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
    probe_records: int = 1 << 10
    """Walked before it is decided whether the records after them are walked as short ones."""
    first_round_records: int = 64
    """Walked and matched in the first round of a piece."""
    last_round_records: int = 1 << 16
    """Rounds grow to this size while no cycle of records is found."""
    min_records_to_batch: int = 32
    """Fewer records are decoded one by one: matching has a cost for each length that occurs."""
    regular_block_rows: int = 16
    """After a block of so many rows, rounds begin small again: the file is regular."""
    large_block_records: int = 1 << 11
    """A block costs as much as so many records of a round, however few it has."""
    strided_block_rows: int = 64
    """In blocks of at least so many rows, checksums are replaced by a strided pass for each record
    of the cycle; in smaller ones all are gathered at once."""
    check_slice_bytes: int = 1 << 18
    """Compared or verified at once: so much stays in the second-level cache."""
    compare_tile_bytes: int = 1 << 10
    """Rows shorter than this are compared several at a time, since numpy has a cost for each row."""
    min_reference_rows: int = 500
    """With as many rows of references in a piece, and few for each column, pieces get larger."""
    min_scalar_rows: int = 1 << 15
    """The same for rows of scalars that are in no cycle."""
    rows_per_column: int = 32
    """Fewer rows for each column are few."""
    max_stripped_event_bytes: int = 1 << 24
    """Kept of an event that is longer than a piece, after its large fields have been left out."""

    # Reading small files ahead --------------------------------------------------------------------

    small_file_bytes: int = 1 << 19
    """Larger files have enough rows to be decoded on their own."""
    file_batch_bytes: int = 1 << 21
    """Read at once; much more would not stay in the caches."""
    first_batch_files: int = 4
    """In the first batch. Each batch is larger than the one before, since what is learnt from some
    files makes others faster."""
    max_row_classes: int = 1 << 16
    """Of rows with the same tag, field and metadata, before all that was learnt is dropped."""
    max_row_class_bytes: int = 1 << 24
    """Of all their tags and metadata, which may be as long as a file."""
    max_table_layout_rows: int = 1 << 18
    """Of all table layouts that are cached: a row takes 16 bytes there, a column some 200."""
    max_template_values: int = 1 << 16
    """Of all file templates that are cached: a value takes 130 to 190 bytes there."""

    # Loading runs ---------------------------------------------------------------------------------

    time_slice_bytes: int = 1 << 24
    """Bytes that are read of one run before the next run has its time slice."""
    time_slice_seconds: float = 0.5
    """A time slice ends after this time even if it read fewer bytes: some records are slow to
    decode."""
    publish_interval_seconds: float = 0.1
    """Minimum time between two publications of loaded rows while there is more to read."""
    min_pause_seconds: float = 0.1
    """Minimum pause between two passes, however often files change."""
    min_bytes_for_helper: int = 1 << 24
    """A helper process is started if there are at least this many bytes to read. Fewer are read
    before it would be ready."""
    scan_timeout_seconds: float = 1.0
    """How long the start of the server waits for storage that does not respond."""
    clock_resolution_seconds: float = 3.0
    """A file that changed less than this before it was opened is opened again: it may have changed
    once more within the same tick of the file system's clock."""

    # Serving --------------------------------------------------------------------------------------

    request_timeout_seconds: float = 20.0
    """Timeout for receiving the headers of a request, and as much again for its body."""
    stall_timeout_seconds: float = 30.0
    """A connection is closed if its client has read nothing of a response for this long."""
    min_update_interval_seconds: float = 1.0
    """Least time between two messages of one stream of updates."""
    heartbeat_seconds: float = 15.0
    """A stream of updates sends a comment if it has had no message for this long, so that no proxy
    closes it."""

    queue_timeout_seconds: float = 30.0
    """A request gets a 503 if it has waited for this long for a free thread, or for the event loop,
    of its plugin."""
    plugin_timeout_seconds: float = 1.0
    """A request that concerns all plugins, such as one for the list of tabs, waits for each of them
    for at most this long."""
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
