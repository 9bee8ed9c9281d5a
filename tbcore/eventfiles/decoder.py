"""Decoder: turns a piece of an event file into columns.

Protobuf can decode every record, one by one: this is the reference for all answers. Nearly all
records of a file are decoded by faster ways with the same result, many at once: see `fast.ways`.
Without the folder `fast`, the decoder is slow, and all answers are the same.

A piece is decoded in *rounds*, each of up to a given number of records, and in *blocks*, which
`fast.ways` finds. All checksums are verified. Small files are decoded many at once: see
`read_ahead`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from typing import Literal, NamedTuple

import numpy as np
from google.protobuf.message import DecodeError as ProtobufDecodeError
from numpy.typing import NDArray

from tbcore.eventfiles.batch import DecodedItem
from tbcore.eventfiles.batch_builder import BatchBuilder, control_event
from tbcore.eventfiles.framing import HEADER_BYTES, Damage, Frames, find_damaged, find_frames
from tbcore.eventfiles.proto.event_pb2 import Event
from tbcore.tuning import Tuning, default_tuning

try:
    from tbcore.eventfiles.fast.ways import FastWays, Round
except ModuleNotFoundError:
    FastWays = None  # type: ignore[assignment, misc]

PADDING_BYTES = 64
"""Number of bytes in the buffer after its data, so that a word can be read at any offset of the
data."""


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

    def release_buffers(self) -> None:
        """Frees the buffer. The next call of `next_piece_bytes` allocates it again."""
        self.buffer = bytearray()
        if self._ways:
            self._ways.release_buffer()

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
        records are decoded one by one; when it returns true, decoding pauses. Arrays in a decoded
        item are valid until the next decoded item is requested.
        """
        # Until the piece ends:
        # 1. If a block begins here, the fast ways decode it.
        # 2. Find the frames of one round. The round ends early where a block begins that the fast
        #    ways know.
        # 3. Verify the records of the round and decode them.
        ways, position, max_records = self._ways, 0, self.tuning.max_round_records
        if ways:
            ways.begin_piece(self.buffer, size, base)
        while True:
            if ways:
                block = ways.decode_block(position, base)  # 1
                if block:
                    yield block.batch
                    position = block.end
                    if not at_end and size - position < block.cycle_bytes:
                        # The next piece will begin with a whole cycle, and continue the block.
                        return PieceEnd(position, "incomplete")
                max_records = ways.max_round_records
            frames = find_frames(  # 2
                self.buffer, position, size, max_records, num_probed=self.tuning.probe_records
            )
            if ways:
                frames = ways.until_block(frames)
            damaged = find_damaged(  # 3
                self.buffer, frames, slice_bytes=self.tuning.check_slice_bytes
            )
            has_torn_last_record = (
                at_end and frames.end == size and len(frames.starts) - 1 in damaged
            )
            if has_torn_last_record:
                frames = frames.first(len(frames.starts) - 1)
                damaged = damaged[:-1]
            decoded = ways.decode_round(frames, damaged, base) if ways else None
            position = yield from self._decode_frames(
                frames, damaged, base, decoded, problems, is_enough
            )
            if position < frames.end:
                return PieceEnd(position, "paused")
            if ways and ways.is_at_block:
                continue
            if has_torn_last_record:
                return PieceEnd(position, "torn_last_record")
            if frames.stop != "limit":
                return PieceEnd(position, frames.stop)
            if ways:
                ways.end_round(decoded, position)

    def decode_one(
        self, event: Event, *, offset: int, length: int, crc: int
    ) -> Iterator[DecodedItem]:
        """Decodes a single event, whose record is at `offset` of its file."""
        control = control_event(event)
        if control is not None:
            yield control
            return
        builder = BatchBuilder()
        builder.add(event, offset, length, crc)
        yield from builder.batch()

    def _decode_frames(
        self,
        frames: Frames,
        damaged: NDArray[np.int64],
        base: int,
        decoded: Round | None,
        problems: list[Damage],
        is_enough: Callable[[], bool],
    ) -> Generator[DecodedItem, None, int]:
        """Yields batches with the rows of these frames, and the control events between them.

        `decoded` has the frames that the fast ways decoded; all others are decoded one by one.
        Returns the offset in the buffer after the last frame whose rows were yielded.
        """
        # Each control event ends a batch; `begin` is the index of its first frame.
        undecoded = (
            decoded.undecoded
            if decoded
            else np.setdiff1d(np.arange(len(frames.starts)), damaged, assume_unique=True)
        )
        problems_found = [
            Damage(base + start, "payload checksum wrong")
            for start in frames.starts[damaged].tolist()
        ]
        builder = BatchBuilder()
        buffer = memoryview(self.buffer)
        begin, end = 0, len(frames.starts)
        for i in undecoded.tolist():
            start, length = int(frames.starts[i]), int(frames.lengths[i])
            payload_end = start + HEADER_BYTES + length
            control = None
            try:
                event = Event.FromString(bytes(buffer[start + HEADER_BYTES : payload_end]))
            except ProtobufDecodeError:
                problems_found.append(Damage(base + start, "no valid event"))
            else:
                control = control_event(event)
                if control is None:
                    crc = int.from_bytes(self.buffer[payload_end : payload_end + 4], "little")
                    builder.add(event, base + start, length, crc)
            if control is not None:
                if decoded:
                    decoded.add_to(builder, begin, i)
                yield from builder.batch()
                yield control
                builder = BatchBuilder()
                begin = i + 1
            if is_enough():
                end = i + 1
                break
        if decoded:
            decoded.add_to(builder, begin, end)
        yield from builder.batch()
        position = int(frames.starts[end]) if end < len(frames.starts) else frames.end
        problems.extend(d for d in sorted(problems_found) if d.offset < base + position)
        return position
