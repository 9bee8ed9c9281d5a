"""Decoder: turns a piece of an event file into tables.

Protobuf can decode every record, one by one: see `plain`, the reference for all answers. Nearly all
records of a file are decoded by faster ways with the same result, many at once: see `fast.ways`.
Without the folder `fast`, the decoder is slow, and all answers are the same.

A piece is decoded in *rounds*, each of up to a given number of records, and in *blocks*, which
`fast.ways` finds. All checksums are verified. Small files are decoded many at once: see
`read_ahead`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from typing import Literal, NamedTuple

from tbcore.eventfiles.framing import PADDING_BYTES, Damage, find_damaged, find_frames
from tbcore.eventfiles.plain import TableBuilder, control_event, decode_frames
from tbcore.eventfiles.proto.event_pb2 import Event
from tbcore.eventfiles.table import DecodedItem
from tbcore.tuning import Tuning, default_tuning

try:
    from tbcore.eventfiles.fast.ways import FastWays
except ModuleNotFoundError:
    FastWays = None  # type: ignore[assignment, misc]


class PieceEnd(NamedTuple):
    """Where the decoding of a piece ended, and why."""

    consumed: int
    """Bytes decoded: a whole number of records."""
    stop: Literal["paused", "incomplete", "bad_length", "torn_last_record"]
    """`paused`: `is_enough` returned true. `incomplete`: less than one record is left.
    `bad_length`: the next record has a damaged length. `torn_last_record`: the last record of the
    file has a wrong checksum, perhaps because some of its bytes have yet to be written."""


class Decoder:
    """Decodes pieces of files. What it learns from one file makes it faster with the next.

    `fast=False` turns off all ways but protobuf, as if the folder `fast` did not exist.
    """

    def __init__(self, *, fast: bool = True, tuning: Tuning | None = None) -> None:
        self.tuning = tuning = tuning or default_tuning()
        self.buffer = bytearray(tuning.piece_bytes + PADDING_BYTES)
        """The caller fills it before it calls `decode`, except for the last PADDING_BYTES."""
        self._ways = FastWays(tuning) if fast and FastWays is not None else None

    def next_piece_bytes(self) -> int:
        """The maximum size of the next piece, in bytes. May replace the buffer by a larger one."""
        growth = self._ways.piece_growth() if self._ways else 1
        piece_bytes = self.tuning.piece_bytes * growth
        if len(self.buffer) < piece_bytes + PADDING_BYTES:
            self.buffer = bytearray(piece_bytes + PADDING_BYTES)
        return piece_bytes

    def decode_event(
        self, event: Event, *, offset: int, length: int, crc: int
    ) -> Iterator[DecodedItem]:
        """Decodes a single event, whose record is at `offset` of its file."""
        control = control_event(event)
        if control is not None:
            yield control
            return
        builder = TableBuilder()
        builder.add(event, offset, length, crc)
        yield from builder.tables()

    def release_buffers(self) -> None:
        """Frees the buffer. The next call of `next_piece_bytes` allocates it again."""
        self.buffer = bytearray()

    def decode(
        self,
        size: int,
        *,
        base: int,
        at_end: bool,
        problems: list[Damage],
        is_enough: Callable[[], bool] = lambda: False,
    ) -> Generator[DecodedItem, None, PieceEnd]:
        """Decodes the piece `buffer[:size]`; returns where the decoding ended.

        The piece is at offset `base` of its file; `at_end` is true if the file ends with the piece.
        Damaged records are skipped and added to `problems`. `is_enough` is only called where
        records are decoded one by one; when it returns true, decoding pauses.
        """
        # Until the piece ends:
        # 1. Find the frames of one round. The round ends early where a block begins that the fast
        #    ways know.
        # 2. Verify the records of the round and decode them.
        # 3. Decode the block. If the next piece may continue it, it must begin with a whole cycle.
        ways, position, max_records = self._ways, 0, self.tuning.max_round_records
        while True:
            if ways:
                max_records = ways.max_round_records
            frames = find_frames(  # 1
                self.buffer, position, size, max_records, num_probed=self.tuning.probe_records
            )
            block = None
            if ways:
                frames, block = ways.until_block(self.buffer, frames, size)
            damaged = find_damaged(  # 2
                self.buffer, frames, slice_bytes=self.tuning.check_slice_bytes
            )
            has_torn_last_record = (
                at_end and frames.end == size and len(frames.starts) - 1 in damaged
            )
            if has_torn_last_record:
                frames = frames.first(len(frames.starts) - 1)
                damaged = damaged[:-1]
            given = self.buffer, frames, damaged, base, problems, is_enough
            if ways and len(frames.starts) >= self.tuning.min_records_to_batch:
                num_decoded = yield from ways.decode_round(*given)
            else:
                num_decoded = yield from decode_frames(*given)
            if num_decoded < len(frames.starts):
                return PieceEnd(int(frames.starts[num_decoded]), "paused")
            position = frames.end
            if block:  # 3
                yield block.table(self.buffer, base)
                position = block.end
                if not at_end and size - position < block.template.cycle_bytes:
                    return PieceEnd(position, "incomplete")
            elif has_torn_last_record:
                return PieceEnd(position, "torn_last_record")
            elif frames.stop != "limit":
                return PieceEnd(position, frames.stop)
