"""Tails: event files that may still be written to, read from where the last reading stopped."""

from __future__ import annotations

import logging
import os
import sys
import time
from collections.abc import Callable, Generator, Iterator
from typing import NamedTuple

from google.protobuf.message import DecodeError as ProtobufDecodeError

from tbcore.eventfiles.batch import DecodedItem
from tbcore.eventfiles.crc32c import masked_crc
from tbcore.eventfiles.decoder import Decoder
from tbcore.eventfiles.framing import (
    FRAME_BYTES,
    HEADER_BYTES,
    Damage,
    length_at,
    open_regular,
)
from tbcore.eventfiles.large_records import checksum_at, stripped_event_at
from tbcore.eventfiles.logdir import EventFile, one_line
from tbcore.eventfiles.proto.event_pb2 import Event
from tbcore.eventfiles.row_templates import INTACT_BYTES
from tbcore.tuning import Tuning, default_tuning

logger = logging.getLogger(__name__)

_KNOWN_BYTES = INTACT_BYTES
"""Of each piece by which a file is told from another one."""
_NUM_MIDDLES = 2
_FIRST_BYTES = 256
"""Most first records, which name the version of the file, are shorter."""


class FileReplacedError(Exception):
    """What was read of a file is no longer what it holds: its run has to be read again."""


class _Fingerprint(NamedTuple):
    """Bytes that were read."""

    offset: int
    length: int
    crc: int


class WholeFile(NamedTuple):
    """A file of which all bytes were read at once."""

    opened: EventFile
    head: bytes
    """How it begins, and how it ends."""
    last: bytes
    first_event_time: float | None


class FileReader:
    """One event file and the place up to which it was read. No descriptor is kept."""

    def __init__(self, path: str, file_index: int, decoder: Decoder) -> None:
        self.path = path
        self.file_index = file_index
        """Place of the file in its run's list of files."""
        self.offset = 0
        """Of the first record that was not read yet, in bytes."""
        self.opened = EventFile(path, -1, -1, -1, -1, -1)
        """The file as it was when it was opened last."""
        self.opened_at_ns = 0
        """When that was, in nanoseconds since the epoch."""
        self.first_event_time: float | None = None
        """Seconds since the epoch, None as long as there is no event."""
        self.caught_up = False
        """Whether the last reading left nothing that can be read now."""
        self.problems: list[Damage] = []
        """Records that were left out. The first is also told in the log."""
        self.tuning = decoder.tuning
        self._decoder = decoder
        self._fingerprints: list[_Fingerprint] = []
        """How the file begins, some pieces in the middle, and the last one before `offset`. A file
        that is written anew has others, since there are wall times in them; a longer copy of the
        same file has the same, whatever its inode."""
        self._blocked_by_bad_length = False
        self._held: tuple[WholeFile, list[DecodedItem]] | None = None
        """What the next reading gives, without a look at the file."""
        self.is_unread = True
        """Whether nobody has tried to read the file yet."""

    def load(self, buffer: bytearray, at: int, max_bytes: int) -> WholeFile | None:
        """Reads all bytes of the file into the buffer, if there are no more than so many.

        None where that is not possible, for whatever reason: `read` tells.
        """
        self.is_unread = False
        self.opened_at_ns = time.time_ns()
        try:
            descriptor = open_regular(self.path)
        except OSError:
            return None
        try:
            opened = EventFile.of(self.path, os.fstat(descriptor))
            size = opened.size
            if not FRAME_BYTES <= size <= max_bytes:
                return None
            done = os.preadv(descriptor, [memoryview(buffer)[at : at + size]], 0)
            # As of `_confirm`.
            if done < size or os.fstat(descriptor).st_size < size:
                return None
        except OSError:
            return None
        finally:
            os.close(descriptor)
        end = at + size
        head = bytes(buffer[at : min(at + _KNOWN_BYTES, end)])
        last = bytes(buffer[max(end - _KNOWN_BYTES, at) : end])
        return WholeFile(opened, head, last, _first_event_time(buffer, at, end))

    def preload(self, loaded: WholeFile, items: list[DecodedItem]) -> None:
        """Keeps what was decoded of a file in which nothing was wrong, and of which nothing had
        been read, until it is read. Arrays of the items are valid as long."""
        self._held = loaded, items

    @property
    def is_preloaded(self) -> bool:
        """Whether the next reading gives what was read ahead."""
        return self._held is not None

    def read(
        self,
        max_bytes: int = sys.maxsize,
        is_enough: Callable[[], bool] = lambda: False,
    ) -> Iterator[DecodedItem]:
        """Decode what is new, in file order: about `max_bytes` of it, or until `is_enough`.

        Arrays of a batch are valid until the next item is taken. Raises FileReplacedError when the
        file shrank or holds other bytes than those that were read, be it since the last time or
        while it is read; OSError when it cannot be opened or read or is no regular file.
        """
        self.caught_up = self.is_unread = False
        if self._held is not None:
            (loaded, items), self._held = self._held, None
            self.opened, self.first_event_time = loaded.opened, loaded.first_event_time
            yield from items
            self._record_fingerprint(loaded.head, loaded.last, loaded.opened.size)
            self.offset = loaded.opened.size
            self.caught_up = True
            return
        self.opened_at_ns = time.time_ns()
        descriptor = open_regular(self.path)
        try:
            status = self._confirm(descriptor, self.offset)
            self.opened = EventFile.of(self.path, status)
            done = 0
            while not self.caught_up and done < max_bytes:
                before = self.offset
                yield from self._read_piece(descriptor, self.opened.size - before, is_enough)
                done += self.offset - before
                if is_enough():
                    return
        finally:
            os.close(descriptor)

    def _confirm(self, descriptor: int, size: int) -> os.stat_result:
        """The file's status, if it has at least this size and all that was read of it is still
        there; raises FileReplacedError."""
        status = os.fstat(descriptor)
        if status.st_size < size:
            raise FileReplacedError(self.path)
        for offset, length, crc in self._fingerprints:
            if masked_crc(os.pread(descriptor, length, offset)) != crc:
                raise FileReplacedError(self.path)
        return status

    def _read_piece(
        self, descriptor: int, left: int, is_enough: Callable[[], bool]
    ) -> Generator[DecodedItem, None, None]:
        """Decode one buffer full, or a record that does not fit into it."""
        decoder = self._decoder
        if (
            self._blocked_by_bad_length
            and length_at(_pread(descriptor, HEADER_BYTES, self.offset), 0) is None
        ):
            self.caught_up = True
            return
        size = self._fill(descriptor, min(left, decoder.next_piece_bytes()))
        length = length_at(decoder.buffer, 0) if size >= HEADER_BYTES else None
        if length is not None and size < length + FRAME_BYTES <= left:
            yield from self._read_long(descriptor, length, left)
            return
        # A file that was rewritten since it was opened may have had its new bytes in that.
        self._confirm(descriptor, self.offset + size)
        head = bytes(decoder.buffer[:_KNOWN_BYTES])
        if self.offset == 0:
            self.first_event_time = _first_event_time(decoder.buffer, 0, size)
        at_end = size == left
        num_told = len(self.problems)
        end = yield from decoder.decode(
            size,
            base=self.offset,
            at_end=at_end,
            problems=self.problems,
            is_enough=is_enough,
        )
        if end.consumed:
            begin = max(end.consumed - _KNOWN_BYTES, 0)
            self._record_fingerprint(
                head, bytes(decoder.buffer[begin : end.consumed]), end.consumed
            )
        self.offset += end.consumed
        if end.stop == "bad_length" and not self._blocked_by_bad_length:
            self.problems.append(Damage(self.offset, "length checksum wrong"))
        self._blocked_by_bad_length = end.stop == "bad_length"
        self._log_first_problem(num_told)
        # A piece that ends inside a record is followed by one that starts with it.
        is_done = at_end or self._blocked_by_bad_length or end.consumed == 0
        self.caught_up = is_done and end.stop != "paused"

    def _read_long(
        self, descriptor: int, length: int, left: int
    ) -> Generator[DecodedItem, None, None]:
        """Decode one record that is all there, and longer than the buffer."""
        offset, size = self.offset, length + FRAME_BYTES
        num_known = min(size, _KNOWN_BYTES)
        head = os.pread(descriptor, num_known, offset)
        event, crc = _read_long_event(descriptor, offset, length, self.tuning)
        last = os.pread(descriptor, num_known, offset + size - num_known)
        self._confirm(descriptor, offset + size)
        is_last = size == left
        self.caught_up = is_last
        self._blocked_by_bad_length = False
        if crc is None and is_last:
            return  # It may be on its way.
        num_told = len(self.problems)
        if crc is None:
            self.problems.append(Damage(offset, "payload checksum wrong"))
        elif event is None:
            self.problems.append(Damage(offset, "no valid event"))
        else:
            if offset == 0:
                self.first_event_time = event.wall_time
            yield from self._decoder.decode_one(event, offset=offset, length=length, crc=crc)
        self._record_fingerprint(head, last, size)
        self.offset += size
        self._log_first_problem(num_told)

    def _fill(self, descriptor: int, size: int) -> int:
        """Read up to `size` bytes from `offset` on into the buffer; returns how many it got."""
        view = memoryview(self._decoder.buffer)[:size]
        done = 0
        while done < size:
            count = os.preadv(descriptor, [view[done:]], self.offset + done)
            if not count:
                break
            done += count
        return done

    def _record_fingerprint(self, head: bytes, last: bytes, consumed: int) -> None:
        """Notes bytes as they were decoded: those on the disk may be others by now.

        `head` is how the piece began, `last` how what was decoded of it ended.
        """
        length = len(last)
        known = self._fingerprints or [_Fingerprint(0, length, masked_crc(head[:length]))]
        begin, *middles = known
        # What was last is kept for the middle when the file has doubled since the one before.
        if len(middles) > 1 and middles[-1].offset < 2 * middles[-2].offset:
            middles.pop()
        end = _Fingerprint(self.offset + consumed - length, length, masked_crc(last))
        self._fingerprints = [begin, *middles[-_NUM_MIDDLES:], end]

    def _log_first_problem(self, num_told: int) -> None:
        """Log the first problem of a file; the rest can be asked for."""
        if num_told == 0 and self.problems:
            more = len(self.problems) - 1
            logger.warning(
                "%s: %s%s",
                one_line(self.path),
                self.problems[0],
                f" (and {more} more)" if more else "",
            )


def read_first_event_time(path: str, *, tuning: Tuning | None = None) -> float | None:
    """Wall time of the first event of a file in seconds since the epoch, None if it has none yet.

    Raises OSError when the file cannot be read.
    """
    tuning = tuning or default_tuning()
    descriptor = open_regular(path)
    try:
        head = _pread(descriptor, _FIRST_BYTES, 0)
        length = length_at(head, 0) if len(head) >= HEADER_BYTES else None
        if length is None:
            return None
        if length + FRAME_BYTES <= len(head):
            return _wall_time(bytes(head[HEADER_BYTES : length + FRAME_BYTES]))
        if length + FRAME_BYTES > os.fstat(descriptor).st_size:
            return None
        if length > tuning.piece_bytes:
            event, _ = _read_long_event(descriptor, 0, length, tuning)
            return event.wall_time if event is not None else None
        return _wall_time(os.pread(descriptor, length + 4, HEADER_BYTES))
    finally:
        os.close(descriptor)


def _first_event_time(buffer: bytearray, begin: int, end: int) -> float | None:
    """Of the file `buffer[begin:end]`, as far as it is there."""
    length = length_at(buffer, begin) if end - begin >= FRAME_BYTES else None
    if length is None or begin + length + FRAME_BYTES > end:
        return None
    return _wall_time(bytes(buffer[begin + HEADER_BYTES : begin + length + FRAME_BYTES]))


def _read_long_event(
    descriptor: int, offset: int, length: int, tuning: Tuning
) -> tuple[Event | None, int | None]:
    """The event of a record without its bulk, and its masked checksum; None where one is wrong."""
    crc = checksum_at(descriptor, offset + HEADER_BYTES, length)
    stored = os.pread(descriptor, 4, offset + HEADER_BYTES + length)
    if crc is None or crc.to_bytes(4, "little") != stored:
        return None, None
    try:
        stripped = stripped_event_at(
            descriptor, offset + HEADER_BYTES, length, tuning.max_stripped_event_bytes
        )
        return Event.FromString(stripped), crc
    except ProtobufDecodeError:
        return None, crc


def _wall_time(payload_and_crc: bytes) -> float | None:
    """Of the event; None when its bytes are not those that were logged."""
    payload, crc = payload_and_crc[:-4], payload_and_crc[-4:]
    if masked_crc(payload) != int.from_bytes(crc, "little"):
        return None
    try:
        return Event.FromString(payload).wall_time
    except ProtobufDecodeError:
        return None


def _pread(descriptor: int, size: int, offset: int) -> bytearray:
    return bytearray(os.pread(descriptor, size, offset))
