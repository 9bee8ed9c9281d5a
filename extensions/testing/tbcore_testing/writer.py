"""EventFileWriter: appends records to an event file."""

from __future__ import annotations

import os
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, Self

import google_crc32c
from numpy.typing import ArrayLike

from tbcore.engine import Event, Summary
from tbcore_testing import summaries

WALL_TIME = 1_700_000_000.0
"""Default wall time of the first event, in seconds since the epoch. It is fixed, so that tests
write the same file each time."""

MetadataPolicy = Literal["first", "every", "never"]
Damage = Literal["length", "payload", "torn"]


def record_bytes(payload: bytes) -> bytes:
    """A TFRecord: length, its checksum, the payload and its checksum."""
    length = struct.pack("<Q", len(payload))
    return b"".join((length, _masked_crc(length), payload, _masked_crc(payload)))


class EventFileWriter:
    """Appends events to one file.

    A new file starts with an event that has the version of the format. Events without an explicit
    wall time are one second apart. `metadata` selects the values that are written with their
    metadata: the "first" value of each tag that this writer writes, "every" value, or none
    ("never").

    Written bytes are in the file after `flush()`, `close()` or the end of a `with` block.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        file_version: str | None = "brain.Event:2",
        wall_time: float = WALL_TIME,
        metadata: MetadataPolicy = "first",
    ) -> None:
        """Opens the file and creates its directory.

        With a `file_version` of None the event with the version is left out. `wall_time` is the
        time of the first event, in seconds since the epoch.
        """
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._metadata_policy = metadata
        self._described: set[str] = set()
        """Tags for which a value with metadata was passed to this writer."""
        num_events = _num_records(self.path) if self.path.exists() else 0
        self._next_wall_time = wall_time + num_events
        self._file = self.path.open("ab")
        if self._file.tell() == 0 and file_version is not None:
            self.add_event(file_version=file_version)

    def add_scalar(
        self,
        tag: str,
        value: float,
        step: int,
        *,
        dtype: str | None = None,
        as_bytes: bool = False,
        wall_time: float | None = None,
    ) -> None:
        """Writes one number, as `simple_value` or, with a `dtype`, as a tensor.

        If `as_bytes`, the number is stored in the tensor's `tensor_content` instead of a typed
        field such as `float_val`.
        """
        self.add_summary(
            step, summaries.scalar(tag, value, dtype=dtype, as_bytes=as_bytes), wall_time=wall_time
        )

    def add_histogram(
        self,
        tag: str,
        samples: ArrayLike,
        step: int,
        *,
        as_tensor: bool = False,
        wall_time: float | None = None,
    ) -> None:
        """Writes a histogram of the samples."""
        self.add_summary(
            step, summaries.histogram(tag, samples, as_tensor=as_tensor), wall_time=wall_time
        )

    def add_image(
        self,
        tag: str,
        encoded: bytes | Sequence[bytes],
        step: int,
        *,
        as_tensor: bool = False,
        wall_time: float | None = None,
    ) -> None:
        """Writes a PNG image or, with `as_tensor`, any number of them."""
        self.add_summary(
            step, summaries.image(tag, encoded, as_tensor=as_tensor), wall_time=wall_time
        )

    def add_audio(
        self,
        tag: str,
        encoded: bytes | Sequence[bytes],
        step: int,
        *,
        as_tensor: bool = False,
        wall_time: float | None = None,
    ) -> None:
        """Writes an audio clip or, with `as_tensor`, any number of them."""
        self.add_summary(
            step, summaries.audio(tag, encoded, as_tensor=as_tensor), wall_time=wall_time
        )

    def add_text(
        self, tag: str, text: str | Sequence[str], step: int, *, wall_time: float | None = None
    ) -> None:
        """Writes text."""
        self.add_summary(step, summaries.text(tag, text), wall_time=wall_time)

    def add_tensor(
        self,
        tag: str,
        values: ArrayLike,
        step: int,
        *,
        dtype: str = "float32",
        as_bytes: bool = False,
        plugin_name: str = "",
        plugin_content: bytes = b"",
        wall_time: float | None = None,
    ) -> None:
        """Writes a numeric tensor of any shape, with metadata if `plugin_name` is set.

        If `as_bytes` is true, the numbers are stored in the tensor's `tensor_content` bytes instead
        of a typed field such as `float_val`.
        """
        value = summaries.tensor(
            tag,
            values,
            dtype=dtype,
            as_bytes=as_bytes,
            plugin_name=plugin_name,
            plugin_content=plugin_content,
        )
        self.add_summary(step, value, wall_time=wall_time)

    def add_summary(
        self, step: int, *values: Summary.Value, wall_time: float | None = None
    ) -> None:
        """Writes several values in one event."""
        event = Event(step=step)
        event.summary.SetInParent()
        for value in values:
            event.summary.value.append(value)
            if not value.HasField("metadata"):
                continue
            is_first = value.tag not in self._described
            policy = self._metadata_policy
            if policy == "never" or (policy == "first" and not is_first):
                event.summary.value[-1].ClearField("metadata")
            self._described.add(value.tag)
        self._add(event, wall_time)

    def add_graph(self, graph_def: bytes, *, step: int = 0, wall_time: float | None = None) -> None:
        """Writes a serialized GraphDef."""
        self._add(Event(step=step, graph_def=graph_def), wall_time)

    def add_meta_graph(
        self, meta_graph_def: bytes, *, step: int = 0, wall_time: float | None = None
    ) -> None:
        """Writes a serialized MetaGraphDef."""
        self._add(Event(step=step, meta_graph_def=meta_graph_def), wall_time)

    def add_run_metadata(
        self, tag: str, run_metadata: bytes, *, step: int = 0, wall_time: float | None = None
    ) -> None:
        """Writes a serialized RunMetadata with a tag."""
        event = Event(step=step)
        event.tagged_run_metadata.tag = tag
        event.tagged_run_metadata.run_metadata = run_metadata
        self._add(event, wall_time)

    def add_session_log(
        self,
        status: Literal["START", "STOP", "CHECKPOINT"],
        step: int,
        *,
        wall_time: float | None = None,
    ) -> None:
        """Writes an event for the start, the end or a checkpoint of training at a step."""
        event = Event(step=step)
        event.session_log.status = {"START": 1, "STOP": 2, "CHECKPOINT": 3}[status]  # type: ignore[assignment]
        self._add(event, wall_time)

    def add_log_message(
        self, message: str, *, step: int = 0, wall_time: float | None = None
    ) -> None:
        """Writes a line of a program's log."""
        event = Event(step=step)
        event.log_message.message = message
        self._add(event, wall_time)

    def add_event(self, event: Event | None = None, **fields: Any) -> None:
        """Writes any event, given as a message or by its fields.

        A message is written unchanged. If `fields` has no `wall_time`, the event gets the next one.
        """
        if event is not None:
            self.add_record(event.SerializeToString())
        else:
            wall_time = fields.pop("wall_time", None)
            self._add(Event(**fields), wall_time)

    def add_record(self, payload: bytes, *, damage: Damage | None = None) -> None:
        """Writes a record with any payload.

        `damage` makes the record invalid: "length" or "payload" corrupts the checksum of that part,
        and "torn" leaves out the second half of the record, as if a program were still writing it.
        """
        record = bytearray(record_bytes(payload))
        if damage == "length":
            record[8] ^= 1
        elif damage == "payload":
            record[-1] ^= 1
        elif damage == "torn":
            del record[len(record) // 2 :]
        self.add_bytes(bytes(record))

    def add_bytes(self, data: bytes) -> None:
        """Writes bytes unchanged, such as a part of a record, or bytes that are not a record."""
        self._file.write(data)

    def flush(self) -> None:
        """Makes all written records visible to readers of the file."""
        self._file.flush()

    def close(self) -> None:
        """Flushes and closes the file; closing it again does nothing."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _add(self, event: Event, wall_time: float | None) -> None:
        event.wall_time = self._next_wall_time if wall_time is None else wall_time
        self._next_wall_time += 1.0
        self.add_record(event.SerializeToString())


def _masked_crc(data: bytes) -> bytes:
    # Not with tbcore.eventfiles.crc32c: tests would not notice a fault there.
    crc = google_crc32c.value(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def _num_records(path: Path) -> int:
    # The checksums are not verified: the file was written by a test.
    data = path.read_bytes()
    offset = num_records = 0
    while offset + 16 <= len(data):
        (length,) = struct.unpack_from("<Q", data, offset)
        offset += 16 + length
        if offset <= len(data):
            num_records += 1
    return num_records
