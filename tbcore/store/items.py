"""Items: rows of a series of references, whose bytes stay in their files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, TypeVar

from google.protobuf.message import DecodeError as ProtobufDecodeError

from tbcore.errors import DataError, DataLossError, DecodeError, NotFoundError, TbcoreError
from tbcore.eventfiles.crc32c import masked_crc
from tbcore.eventfiles.framing import HEADER_BYTES
from tbcore.eventfiles.proto.event_pb2 import Event
from tbcore.eventfiles.proto.summary_pb2 import Summary
from tbcore.eventfiles.storage import OpenFile
from tbcore.kinds import Kind
from tbcore.store.series import Rows, Series, sample_together
from tbcore.store.view import FileRef, RunView
from tbcore.text import one_line

E = TypeVar("E", bound=TbcoreError)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Item:
    """One logged value of a tag. Its data stays in the event file until `read` is called."""

    ordinal: int
    """Position of the item among all rows written to its tag, from 0. It never changes."""
    step: int
    wall_time: float
    """Seconds since the epoch."""
    kind: Kind
    index: int
    """Index of the item's Summary.Value in its event; 0 for events without a summary."""
    _file: FileRef = field(repr=False)
    _offset: int = field(repr=False)
    """Offset of the record in its file, in bytes."""
    _length: int = field(repr=False)
    """Length of the record's payload, in bytes."""
    _crc: int = field(repr=False)
    """Masked CRC-32C of the payload."""

    @property
    def etag(self) -> str:
        """Identifies the item's bytes: an item with other bytes has another etag. Not quoted."""
        return f"{self._file.version}-{self._offset:x}-{self._crc:08x}-{self.index}"

    def read(self) -> Summary.Value | bytes:
        """Reads the item's Summary.Value, or the bytes of its field if the event has no summary.

        Such a field is a serialized GraphDef, MetaGraphDef or RunMetadata. Nothing is cached.
        Raises NotFoundError if the file is gone, DataLossError if the record's bytes have changed
        since they were logged, DecodeError if the record is not a valid event with this value.
        """
        with open_file(self._file) as file:
            return self._read_from(file)

    def _read_from(self, file: OpenFile) -> Summary.Value | bytes:
        """Reads the item like `read`, but from an open file."""
        payload = read_payload(file, self._offset, self._length, self._crc)
        try:
            event = Event.FromString(payload)
        except ProtobufDecodeError:
            raise self._decode_error("it is not a valid event") from None
        if self.kind.field == "tagged_run_metadata":
            return event.tagged_run_metadata.run_metadata
        if self.kind.is_graph:
            graph: bytes = getattr(event, self.kind.field)
            return graph
        if self.index >= len(event.summary.value):
            raise self._decode_error(f"it has no value {self.index}")
        return event.summary.value[self.index]

    def _decode_error(self, reason: str) -> DecodeError:
        where = f"{self._file.path}: record at offset {self._offset}"
        return DecodeError(one_line(f"{where} cannot be decoded: {reason}"))


@dataclass(frozen=True, slots=True)
class UnreadableItem:
    """An item that cannot be read or decoded, and the error that was raised."""

    item: Item
    error: TbcoreError

    def __str__(self) -> str:
        where = f"{self.item._file.path}: record at offset {self.item._offset}"
        return one_line(f"{where}: {self.error}")


def decode_items(
    items: Iterable[Item], decode: Callable[[Any], T]
) -> tuple[list[tuple[Item, T]], list[UnreadableItem]]:
    """Reads items and decodes each with `decode`. Returns the results and the unreadable items.

    Consecutive items of one file are read without opening the file again, since opening takes a
    round trip on a network file system. An item is unreadable if reading it or `decode` raises a
    DataError or NotFoundError.
    """
    values: list[tuple[Item, T]] = []
    unreadable: list[UnreadableItem] = []
    for file_ref, consecutive in groupby(items, lambda item: item._file):
        items_of_file = list(consecutive)
        try:
            with open_file(file_ref) as file:
                file.fetch(_part(item._offset, item._length) for item in items_of_file)
                for item in items_of_file:
                    try:
                        values.append((item, decode(item._read_from(file))))
                    except (NotFoundError, DataError) as error:
                        unreadable.append(UnreadableItem(item, _one_line_error(error)))
        except NotFoundError as error:
            unreadable += [UnreadableItem(item, _one_line_error(error)) for item in items_of_file]
    return values, unreadable


def _one_line_error(error: E) -> E:
    """The same error with a message on one line, even if a file name has line breaks."""
    return type(error)(one_line(str(error)))


def open_file(file: FileRef) -> OpenFile:
    """Opens an event file; raises NotFoundError if that fails."""
    try:
        return file.open()
    except OSError as error:
        line = one_line(f"cannot read {file.path}: {error.strerror or error}")
        raise NotFoundError(line) from None


def read_payload(file: OpenFile, offset: int, length: int, crc: int) -> bytes:
    """The payload of the record at `offset`, which must have the masked checksum `crc`.

    A file that was replaced by a copy since it was decoded is accepted: only the bytes matter.
    Raises DataLossError if the file has other bytes there, and NotFoundError if it cannot be read.
    """
    what = f"the record at offset {offset} of {one_line(file.opened.path)}"
    try:
        record = file.read(*_part(offset, length))
    except OSError as error:
        raise NotFoundError(f"cannot read {what}: {error.strerror or error}") from None
    payload, stored = record[:length], record[length:]
    if stored != crc.to_bytes(4, "little"):
        raise DataLossError(f"{what} is no longer what was logged: the file was overwritten")
    if masked_crc(payload) != crc:
        raise DataLossError(f"{what} has a wrong payload checksum")
    return payload


def _part(offset: int, length: int) -> tuple[int, int]:
    """Offset and size of a payload with its checksum, in the file."""
    return offset + HEADER_BYTES, length + 4


def items_at(series: Series, rows: Rows, files: Sequence[FileRef]) -> list[Item]:
    """The items in these rows of a series of references; `files` are those of the run's view."""
    names = "ordinal", "step", "wall_time", "index", "file", "offset", "length", "crc"
    columns = (series.column_at(name, rows).tolist() for name in names)
    return [
        Item(ordinal, step, wall_time, series.kind, index, files[file_index], offset, length, crc)
        for ordinal, step, wall_time, index, file_index, offset, length, crc in zip(
            *columns, strict=True
        )
    ]


def items_of(view: RunView, series: Sequence[Series], samples: int = 0) -> list[Item]:
    """The items of series of one tag; see `Multiplexer.items`."""
    series = [each for each in series if not each.kind.is_scalar]
    items = []
    for each, rows in zip(series, sample_together(series, samples), strict=True):
        items += items_at(each, rows, view.files)
    return items if len(series) < 2 else sorted(items, key=lambda item: item.ordinal)
