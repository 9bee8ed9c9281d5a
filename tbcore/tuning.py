"""Tuning: the numbers that trade time, memory and latency, in one frozen value.

The defaults were measured with the programs in `benchmarks`. Apart from the timeouts, these numbers
do not affect what a response contains. A test that needs other numbers passes its own:
`Loader(board, specs, tuning=Tuning(piece_bytes=1000))`.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Tuning:
    """Bounds and timeouts of one server. Each field's name contains its unit."""

    # Decoding one file ----------------------------------------------------------------------------
    #
    # A file is read in pieces, and a piece is decoded in rounds of records. When the records at the
    # end of a round repeat in a cycle, such as loss, accuracy, loss, accuracy, all repetitions that
    # follow the round are decoded together as one block.

    piece_bytes: int = 1 << 22
    """Size of a piece, at most 4 MiB, until pieces become larger: see `min_rows_to_grow`. A record
    longer than a piece is never in memory as a whole."""
    probe_records: int = 1 << 10
    """Number of records whose lengths are examined at the start of a round. If all of these records
    are short, a faster loop finds the remaining records of the round."""
    min_round_records: int = 64
    """Maximum number of records in the first round, and in the round after a large block: the same
    cycle probably starts again soon."""
    max_round_records: int = 1 << 16
    """Maximum number of records in a round. Rounds grow while no large block is found, also from
    one file to the next."""
    min_records_to_batch: int = 32
    """Minimum number of records that are decoded together. If there are fewer, they are decoded one
    by one: decoding records together has a fixed cost for each distinct record length."""
    min_large_block_records: int = 1 << 11
    """Minimum number of records in a large block, which may interrupt any round. Every block has a
    fixed cost: that of decoding this many records in rounds."""
    check_slice_bytes: int = 1 << 16
    """Number of bytes that are compared or verified at once: they fit into the second-level
    cache."""
    min_rows_to_grow: int = 500
    """Pieces become larger after a piece with at least this many rows outside blocks, if its
    columns have fewer than `min_rows_per_column` rows on average."""
    min_rows_per_column: int = 32
    """Minimum average number of rows in the columns of a piece. With fewer rows in each column, the
    fixed cost of a column takes too much of the time."""
    max_stripped_event_bytes: int = 1 << 24
    """Maximum size of a stripped event: what is kept in memory of an event longer than a piece."""

    # Reading small files ahead --------------------------------------------------------------------
    #
    # Small files are read and decoded in batches. What is learnt from these files is cached: row
    # classes (distinct combinations of tag, field and metadata), arrangements (how rows are sorted
    # into the columns of a table) and file templates (the bytes that similar files share).

    small_file_bytes: int = 1 << 19
    """Maximum size of a small file. A larger one has enough rows to be decoded by itself."""
    file_batch_bytes: int = 1 << 21
    """Maximum total size of the files in one batch. A much larger batch would not stay in the
    processor's caches."""
    first_batch_files: int = 4
    """Maximum number of files in the first batch. Later batches have more files: what is learnt
    from one batch makes the next batch faster."""
    max_row_classes: int = 1 << 16
    """Maximum number of row classes. When there are more, all layouts and row classes are
    dropped."""
    max_row_class_bytes: int = 1 << 24
    """Maximum total size of the tags and metadata of all row classes. A single tag may be as long
    as a file. When the total is larger, all layouts and row classes are dropped."""
    max_arrangement_rows: int = 1 << 18
    """Maximum number of rows in all cached arrangements. A row takes 16 bytes there, and a column
    about 200."""
    max_template_bytes: int = 1 << 22
    """Maximum total size of the parts of files that the cached file templates describe. A template
    takes 5 to 7 times as much memory."""

    # Loading runs ---------------------------------------------------------------------------------

    time_slice_bytes: int = 1 << 24
    """Number of bytes that are read of one run before the next run gets its time slice."""
    time_slice_seconds: float = 0.5
    """Maximum length of a time slice. A slice ends at this limit, rather than at
    `time_slice_bytes`, if its records are slow to decode."""
    publish_interval_seconds: float = 0.1
    """Minimum time between two publications of loaded rows while there is more to read."""
    min_pause_seconds: float = 0.1
    """Minimum pause between two passes, however often files change."""
    idle_seconds: float = 600.0
    """The pauses between passes double while nothing is new and there has been no request for data
    for this long."""
    max_pause_seconds: float = 300.0
    """Pause to which these pauses grow."""
    max_watched_pause_seconds: float = 600.0
    """The same where the system reports all changes, and where a scan costs requests."""
    min_bytes_for_helper: int = 1 << 24
    """Minimum number of bytes to read for which the helper process is used. Fewer bytes would be
    read before it is ready."""
    clock_resolution_seconds: float = 3.0
    """A file that changed less than this before it was opened is opened again: it may have changed
    once more within the same tick of the file system's clock."""

    # Serving --------------------------------------------------------------------------------------

    request_timeout_seconds: float = 20.0
    """Timeout for receiving a request's headers. Its body has a timeout of the same length."""
    stall_timeout_seconds: float = 30.0
    """A connection is closed if its client has read nothing of a response for this long."""
    response_piece_bytes: int = 1 << 18
    """A longer part of a response's body is sent in pieces of this size. Other requests wait while
    a piece is copied on its way to the socket."""
    min_update_interval_seconds: float = 1.0
    """Minimum time between two messages of one stream of updates."""
    heartbeat_seconds: float = 15.0
    """A stream of updates sends a comment if it has had no message for this long, so that no proxy
    closes it."""

    max_query_seconds: float = 5.0
    """Maximum CPU time of one request for what a query finds and for columns of runs. What is not
    computed by then has an error in the response."""
    queue_timeout_seconds: float = 30.0
    """A request gets a 503 after it has waited for this long for a free thread of its plugin."""
    plugin_timeout_seconds: float = 1.0
    """Maximum time for which a request that concerns all plugins, such as a request for the list of
    tabs, waits for each plugin."""
    slow_call_seconds: float = 5.0
    """A call of a route, or the start of a plugin, is logged if it takes longer than this."""
    slow_is_active_seconds: float = 0.1
    """A call of an `is_active` hook is logged if it takes longer than this."""
    log_window_seconds: float = 10.0
    """Length of the time window within which the number of log lines of one plugin is limited."""
    wrong_token_log_seconds: float = 60.0
    """Minimum time between two log lines about requests with a wrong token. With `--dev`, also the
    length of the time window within which the number of log lines about pages is limited."""

    def __post_init__(self) -> None:
        # Pieces grow to four times this size, and `record_bounds` reads three bytes of each length.
        if self.piece_bytes > 1 << 22:
            raise ValueError(f"piece_bytes must be at most {1 << 22}, got {self.piece_bytes}")


DEFAULT = Tuning()


def default_tuning() -> Tuning:
    """Returns `DEFAULT`, which tests on slow machines replace."""
    return DEFAULT
