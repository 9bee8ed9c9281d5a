"""FileReader: reads an event file that may still be growing, and continues where it stopped.

A reader of another file format would take its place in `tbcore.store.run_reader`, and in the
command `check`, for files that `is_event_file` accepts. It would yield the same items and report
the same `Damage`, and must not be read ahead. Its scalars need nothing else. References are records
of event files by design, since plugins get the protobuf value in them.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import NamedTuple

from google.protobuf.message import DecodeError as ProtobufDecodeError

from tbcore.eventfiles.addresses import open_event_file, storage_of
from tbcore.eventfiles.crc32c import masked_crc
from tbcore.eventfiles.decoder import Decoder
from tbcore.eventfiles.framing import FRAMING_BYTES, HEADER_BYTES, Damage, length_at
from tbcore.eventfiles.large_records import read_large_event
from tbcore.eventfiles.other_files import kind_of_content
from tbcore.eventfiles.proto.event_pb2 import Event
from tbcore.eventfiles.storage import EventFile, OpenFile
from tbcore.eventfiles.table import DecodedItem
from tbcore.text import one_line
from tbcore.tuning import Tuning, default_tuning

logger = logging.getLogger(__name__)

_FINGERPRINT_BYTES = 64
"""Maximum number of bytes that one fingerprint covers."""
_MAX_MIDDLE_FINGERPRINTS = 2
"""Maximum number of fingerprints that are kept between the first and the last one of a file."""
_FIRST_READ_BYTES = 256
"""Number of bytes that `read_first_event_time` reads first. The first record is usually shorter: it
holds the file version."""


class FileReplacedError(Exception):
    """A file no longer holds the bytes that were read, so its run must be read again."""


class _Fingerprint(NamedTuple):
    """The masked checksum of some bytes that were read from a file."""

    offset: int
    length: int
    crc: int


class Bookmark(NamedTuple):
    """How far a file was read, so that another FileReader can continue there. JSON-serializable."""

    opened: EventFile
    opened_at_ns: int
    offset: int
    first_event_time: float | None
    fingerprints: Sequence[tuple[int, int, int]]
    is_blocked_by_bad_length: bool


class WholeFile(NamedTuple):
    """Facts for a FileReader about a file whose bytes were all read at once."""

    opened: EventFile
    """The file's status when it was opened."""
    first_bytes: bytes
    """The first bytes, for a fingerprint."""
    last_bytes: bytes
    """The last bytes, for a fingerprint."""
    first_event_time: float | None
    """Wall time of the first event in seconds since the epoch; None if there is none."""


class FileReader:
    """Reads one event file, and remembers how far it was read. Keeps no open file."""

    def __init__(self, path: str, file_index: int, decoder: Decoder) -> None:
        self.file_index = file_index
        """Index of the file in its run's list of files."""
        self.offset = 0
        """Offset of the first record that has not been read yet, in bytes."""
        self.scanned = EventFile(path)
        """The file's status in the last scan, which must be set for a remote file."""
        self.opened = self.scanned
        """The file's status when it was last opened."""
        self.opened_at_ns = 0
        """When the file was last opened, in nanoseconds since the epoch."""
        self.first_event_time: float | None = None
        """Wall time of the first event in seconds since the epoch; None until there is one."""
        self.caught_up = False
        """Whether the last `read` reached the end of what can be read now."""
        self.problems: list[Damage] = []
        """Damaged records, in the order found. The file's first one is also logged."""
        self.has_logged_problem = False
        """Whether the file has, or had, a damaged record."""
        self.other_kind: str | None = None
        """The kind of a file that has the name of an event file, but never had a record."""
        self._decoder = decoder
        self._fingerprints: list[_Fingerprint] = []
        """Fingerprints of the first bytes, of bytes in the middle, and of the last bytes before
        `offset`. A different file at the same path has other wall times, so its fingerprints
        differ. A longer copy of the file has the same fingerprints, even if its version differs."""
        self._is_blocked_by_bad_length = False
        """Whether the record at `offset` has a damaged length, so that no later record is found."""
        self._preloaded: tuple[WholeFile, list[DecodedItem]] | None = None
        """The arguments of `preload`. The next `read` yields the items without opening the file."""
        self.is_unread = True
        """True until the first attempt to read the file."""

    @property
    def path(self) -> str:
        return self.scanned.path

    @property
    def tuning(self) -> Tuning:
        return self._decoder.tuning

    @property
    def bookmark(self) -> Bookmark:
        """How far the file was read. All items of the last `read` must have been consumed."""
        return Bookmark(
            self.opened, self.opened_at_ns, self.offset, self.first_event_time,
            self._fingerprints, self._is_blocked_by_bad_length,
        )  # fmt: skip

    def resume_at(self, bookmark: Bookmark) -> None:
        """Continues where another reader of this file stopped. Call it before the first `read`."""
        self.scanned = self.opened = EventFile(*bookmark.opened)
        self.opened_at_ns, self.offset = bookmark.opened_at_ns, bookmark.offset
        self.first_event_time = bookmark.first_event_time
        self._fingerprints = [_Fingerprint(*each) for each in bookmark.fingerprints]
        self._is_blocked_by_bad_length = bookmark.is_blocked_by_bad_length
        self.is_unread = False
        self.caught_up = True

    def read_whole(self, buffer: bytearray, at: int, max_bytes: int) -> WholeFile | None:
        """Reads the whole file into the buffer, from index `at` on.

        Returns None if the file has more than `max_bytes`, is shorter than any record, or cannot be
        read. Then `read` must be called, which also reports errors.
        """
        self.is_unread = False
        self.opened_at_ns = time.time_ns()
        try:
            with open_event_file(self.scanned) as file:
                size = file.opened.size
                if not FRAMING_BYTES <= size <= max_bytes:
                    return None
                done = file.read_into(memoryview(buffer)[at : at + size], 0)
                # A file that shrank may have been rewritten: the buffer may mix old and new bytes.
                if done < size or file.current_size() < size:
                    return None
        except OSError:
            return None
        end = at + size
        first_bytes = bytes(buffer[at : min(at + _FINGERPRINT_BYTES, end)])
        last_bytes = bytes(buffer[max(end - _FINGERPRINT_BYTES, at) : end])
        return WholeFile(file.opened, first_bytes, last_bytes, event_time_in(buffer, at, end))

    def preload(self, file: WholeFile, items: list[DecodedItem]) -> None:
        """Keeps the decoded items of this file, which was read as a whole, for the next `read`.

        The file must be undamaged.
        """
        self._preloaded = file, items
        self.first_event_time = file.first_event_time
        storage_of(self.path).forget_fetched(self.path)

    @property
    def is_preloaded(self) -> bool:
        """Whether the next `read` yields preloaded items."""
        return self._preloaded is not None

    def read(
        self, max_bytes: int = sys.maxsize, is_enough: Callable[[], bool] = lambda: False
    ) -> Iterator[DecodedItem]:
        """Decodes new records in file order: about `max_bytes`, or until `is_enough` returns true.

        Raises FileReplacedError if the file shrank or no longer holds the bytes that were read,
        even if it changed during the call. Raises OSError if the file cannot be read or is not a
        regular file.
        """
        self.caught_up = self.is_unread = False
        if self._preloaded is not None:
            (whole, items), self._preloaded = self._preloaded, None
            self.opened = whole.opened
            yield from items
            self._advance(whole.first_bytes, whole.last_bytes, whole.opened.size)
            self.caught_up = True
            return
        self.opened_at_ns = time.time_ns()
        try:
            opened = open_event_file(self.scanned)
        finally:
            storage_of(self.path).forget_fetched(self.path)
        with opened as file:
            if file.opened.size < self.offset:
                raise FileReplacedError(self.path)
            self.opened = file.opened
            done = 0
            while not self.caught_up and done < max_bytes:
                before = self.offset
                yield from self._read_piece(file, self.opened.size - before, is_enough)
                done += self.offset - before
                if self.problems and not self.has_logged_problem:
                    self._log_first_problem()
                if is_enough():
                    return

    def _check_unchanged(self, file: OpenFile, size: int) -> None:
        """Raises FileReplacedError if the file was replaced.

        It was replaced if it has fewer than `size` bytes, or if a fingerprint differs. For a remote
        file that grew, only the last fingerprint is compared, whose bytes were fetched with the new
        ones.
        """
        are_near = file.is_local or file.opened.size == self.offset
        if file.current_size() < size or any(
            masked_crc(file.read(offset, length)) != crc
            for offset, length, crc in self._fingerprints[0 if are_near else -1 :]
        ):
            raise FileReplacedError(self.path)

    def _read_piece(
        self, file: OpenFile, remaining: int, is_enough: Callable[[], bool]
    ) -> Generator[DecodedItem, None, None]:
        """Decodes the records that fit in the buffer, or one record that is too large for it.

        `remaining` is the number of bytes between `offset` and the end of the file.
        """
        decoder = self._decoder
        is_blocked = self._is_blocked_by_bad_length
        if is_blocked and length_at(file.read(self.offset, HEADER_BYTES), 0) is None:
            self._check_unchanged(file, self.offset)
            self.caught_up = True
            return
        piece_bytes = min(remaining, decoder.next_piece_bytes())
        size = file.read_into(memoryview(decoder.buffer)[:piece_bytes], self.offset)
        length = length_at(decoder.buffer, 0) if size >= HEADER_BYTES else None
        if length is not None and size < length + FRAMING_BYTES <= remaining:
            yield from self._read_large(file, length, remaining)
            return
        # If the file was rewritten since it was opened, the buffer may mix old and new bytes.
        self._check_unchanged(file, self.offset + size)
        first_bytes = bytes(decoder.buffer[:_FINGERPRINT_BYTES])
        if self.offset == 0:
            self.first_event_time = event_time_in(decoder.buffer, 0, size)
        at_end = size == remaining
        end = yield from decoder.decode(
            size, base=self.offset, at_end=at_end, problems=self.problems, is_enough=is_enough
        )
        if end.consumed:
            begin = max(end.consumed - _FINGERPRINT_BYTES, 0)
            last_bytes = bytes(decoder.buffer[begin : end.consumed])
            self._advance(first_bytes, last_bytes, end.consumed)
        if end.stop == "bad_length" and not self._is_blocked_by_bad_length:
            self.other_kind = None if self.offset else kind_of_content(first_bytes)
            if self.other_kind is None:
                self.problems.append(Damage(self.offset, "length checksum wrong"))
            elif self.other_kind == "gzip":
                logger.warning("%s is compressed by gzip, and is not read", one_line(self.path))
        self._is_blocked_by_bad_length = end.stop == "bad_length"
        # A piece that ends inside a record is not the last: the next one starts with that record.
        is_done = at_end or self._is_blocked_by_bad_length or end.consumed == 0
        self.caught_up = is_done and end.stop != "paused"

    def _read_large(
        self, file: OpenFile, length: int, remaining: int
    ) -> Generator[DecodedItem, None, None]:
        """Decodes one record that is complete and does not fit in the buffer."""
        offset, size = self.offset, length + FRAMING_BYTES
        fingerprint_bytes = min(size, _FINGERPRINT_BYTES)
        first_bytes = file.read(offset, fingerprint_bytes)
        max_bytes = self.tuning.max_stripped_event_bytes
        event, crc = read_large_event(file, offset, length, max_bytes=max_bytes)
        last_bytes = file.read(offset + size - fingerprint_bytes, fingerprint_bytes)
        self._check_unchanged(file, offset + size)
        is_last = size == remaining
        self.caught_up = is_last
        self._is_blocked_by_bad_length = False
        if crc is None and is_last:
            return  # Perhaps the writer has not written all bytes of the record yet.
        if crc is None:
            self.problems.append(Damage(offset, "payload checksum wrong"))
        elif event is None:
            self.problems.append(Damage(offset, "no valid event"))
        else:
            if offset == 0:
                self.first_event_time = event.wall_time
            yield from self._decoder.decode_event(event, offset=offset, length=length, crc=crc)
        self._advance(first_bytes, last_bytes, size)

    def _advance(self, first_bytes: bytes, last_bytes: bytes, consumed: int) -> None:
        """Updates the offset and the fingerprints after `consumed` bytes were decoded.

        `first_bytes` are the piece's first bytes, and `last_bytes` its last decoded bytes. Both are
        copies of what was decoded, because the file may have changed since then.
        """
        self.other_kind = None
        length = len(last_bytes)
        first, *middles = self._fingerprints or [
            _Fingerprint(0, length, masked_crc(first_bytes[:length]))
        ]
        # The last of `middles` is the previous `end`. It is kept only if its offset is at least
        # twice that of the fingerprint before it, so that fingerprints are spread over the file.
        if len(middles) > 1 and middles[-1].offset < 2 * middles[-2].offset:
            middles.pop()
        self.offset += consumed
        end = _Fingerprint(self.offset - length, length, masked_crc(last_bytes))
        self._fingerprints = [first, *middles[-_MAX_MIDDLE_FINGERPRINTS:], end]

    def _log_first_problem(self) -> None:
        self.has_logged_problem = True
        num_others = len(self.problems) - 1
        more = f" (and {num_others} more)" if num_others else ""
        logger.warning("%s: %s%s", one_line(self.path), self.problems[0], more)


def read_first_event_time(listed: EventFile, *, tuning: Tuning | None = None) -> float | None:
    """Wall time of a file's first event in seconds since the epoch; None if there is none yet.

    Raises OSError if the file cannot be read.
    """
    tuning = tuning or default_tuning()
    with open_event_file(listed) as file:
        head = file.read(0, _FIRST_READ_BYTES)
        length = length_at(head, 0)
        if length is not None and len(head) < length + FRAMING_BYTES <= file.opened.size:
            if length > tuning.piece_bytes:
                max_bytes = tuning.max_stripped_event_bytes
                event, _ = read_large_event(file, 0, length, max_bytes=max_bytes)
                return event.wall_time if event is not None else None
            head = file.read(0, length + FRAMING_BYTES)
    return event_time_in(head, 0, len(head))


def event_time_in(buffer: bytes | bytearray, begin: int, end: int) -> float | None:
    """Wall time of the first event in `buffer[begin:end]`; None if it is cut short or damaged."""
    length = length_at(buffer, begin)
    if length is None or begin + length + FRAMING_BYTES > end:
        return None
    crc_at = begin + HEADER_BYTES + length
    payload = bytes(buffer[begin + HEADER_BYTES : crc_at])
    if masked_crc(payload) != int.from_bytes(buffer[crc_at : crc_at + 4], "little"):
        return None
    try:
        return Event.FromString(payload).wall_time
    except ProtobufDecodeError:
        return None
