"""Tuning: the numbers that trade time, memory and latency, in one frozen value.

The defaults were measured with the programs in `benchmarks`. No response depends on these numbers,
except where a plugin or a client exceeds a timeout. A test that needs other numbers passes its own:
`Loader(multiplexer, specs, tuning=Tuning(piece_bytes=1000))`.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Tuning:
    """Bounds and timeouts of one server. Each field's name contains its unit."""

    # Decoding one file ----------------------------------------------------------------------------
    #
    # A file is read in pieces, and a piece is decoded in rounds of records. When the records at the
    # end of a round repeat in a cycle, such as loss, accuracy, loss, accuracy, the repetitions that
    # follow are decoded together as one block. Each row of a block is one repetition of the cycle;
    # other rows are single values.

    piece_bytes: int = 1 << 22
    """Size of the piece of a file that is decoded at once. A longer record is read without being
    held in memory."""
    probe_records: int = 1 << 10
    """Number of records, at the start of a round, whose lengths are examined. If all of them are
    short, a faster walk finds the other records of the round."""
    min_round_records: int = 64
    """Size of the first round, and of the round after a regular block."""
    max_round_records: int = 1 << 16
    """Rounds grow up to this size while no cycle is found, also from one file to the next. The
    limit is four times as high once pieces have become larger."""
    min_records_to_batch: int = 32
    """Fewer records are decoded one by one, since decoding them together has a fixed cost for each
    record length that occurs."""
    min_regular_block_rows: int = 16
    """A block with at least this many rows is regular: the file is expected to stay in the cycle,
    so the next round is small."""
    min_large_block_records: int = 1 << 11
    """A block with at least this many records is large. Any block costs as much as decoding this
    many records in rounds, so after several smaller blocks a file gets large ones only."""
    min_strided_block_rows: int = 64
    """In a block with at least this many rows, checksums are verified through strided views, one
    for each record of the cycle. In a smaller block, they are gathered first, as in a round."""
    check_slice_bytes: int = 1 << 18
    """Number of bytes that are compared or verified at once: they fit into the second-level
    cache."""
    compare_tile_bytes: int = 1 << 10
    """Rows shorter than this are compared several at a time, in tiles of at most this size, since
    numpy has a fixed cost for each row of an array."""
    min_reference_rows_to_grow: int = 500
    """Pieces become larger after a piece with at least this many rows of references outside blocks,
    if its columns have fewer than `min_rows_per_column` rows on average."""
    min_scalar_rows_to_grow: int = 1 << 15
    """Pieces become larger after a piece with at least this many rows of scalars outside blocks, if
    its columns have fewer than `min_rows_per_column` rows on average."""
    min_rows_per_column: int = 32
    """Columns with fewer rows take too much time for each row."""
    max_stripped_event_bytes: int = 1 << 24
    """Maximum size of what is kept of an event longer than a piece, whose large fields are left
    out."""

    # Reading small files ahead --------------------------------------------------------------------
    #
    # Small files are read and decoded in batches. What is learnt from their records is cached: row
    # classes (distinct combinations of tag, field and metadata), table layouts (the columns of a
    # file's table) and file templates (the bytes that similar files share).

    small_file_bytes: int = 1 << 19
    """Maximum size of a small file. A larger one has enough rows to be decoded by itself."""
    file_batch_bytes: int = 1 << 21
    """Maximum size of one batch of small files: much more would not stay in the processor's
    caches."""
    first_batch_files: int = 4
    """Maximum number of files in the first batch. Later batches have more files, since what is
    learnt from some files makes others faster."""
    max_row_classes: int = 1 << 16
    """Maximum number of row classes. When there are more, everything learnt is dropped."""
    max_row_class_bytes: int = 1 << 24
    """Maximum size of the tags and metadata of all row classes, each of which may be as long as a
    file. When they are larger, everything learnt is dropped."""
    max_table_layout_rows: int = 1 << 18
    """Maximum number of rows in all cached table layouts. A row takes 16 bytes there, and a column
    about 200."""
    max_template_values: int = 1 << 16
    """Maximum number of values in all cached file templates. A value takes 130 to 190 bytes
    there."""

    # Loading runs ---------------------------------------------------------------------------------

    time_slice_bytes: int = 1 << 24
    """Number of bytes that are read of one run before the next run gets its time slice."""
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
    """How long the server's start waits for the size of the logdir, on storage that may not
    respond."""
    clock_resolution_seconds: float = 3.0
    """A file that changed less than this before it was opened is opened again: it may have changed
    once more within the same tick of the file system's clock."""

    # Serving --------------------------------------------------------------------------------------

    request_timeout_seconds: float = 20.0
    """Timeout for receiving a request's headers. Its body has a timeout of the same length."""
    stall_timeout_seconds: float = 30.0
    """A connection is closed if its client has read nothing of a response for this long."""
    min_update_interval_seconds: float = 1.0
    """Minimum time between two messages of one stream of updates."""
    heartbeat_seconds: float = 15.0
    """A stream of updates sends a comment if it has had no message for this long, so that no proxy
    closes it."""

    queue_timeout_seconds: float = 30.0
    """A request gets a 503 if it has waited for this long for a free thread, or for the event loop,
    of its plugin."""
    plugin_timeout_seconds: float = 1.0
    """A request that concerns all plugins, such as one for the list of tabs, waits at most this
    long for each plugin."""
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
    """Returns `DEFAULT`, which tests on slow machines replace."""
    return DEFAULT
