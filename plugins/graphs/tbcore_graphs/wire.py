"""The wire format of protobuf: finds the fields of a serialized message without decoding them.

Decoding a message is one call that holds the GIL throughout, and a graph can be 100 MB. This module
splits large messages into parts that are decoded one by one, so that other threads can run in
between.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from google.protobuf.message import DecodeError as ProtobufDecodeError
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from tbcore import DecodeError

PART_BYTES = 1 << 18
"""Approximate size of a part. Decoding that much takes about a millisecond."""

LENGTH_DELIMITED = 2
"""The wire type of messages, strings and bytes."""
_FIXED_SIZES = {1: 8, 5: 4}
"""Maps a wire type to the number of bytes in the content of its fields."""


class MessageField(NamedTuple):
    """One field on the wire. All offsets are into the serialized bytes passed to `fields`."""

    number: int
    wire_type: int
    start: int
    """Offset of the field's key."""
    content: int
    """Offset of the field's content, which follows the key and the length."""
    end: int
    """Offset after the field's last byte."""


class Part(NamedTuple):
    """Consecutive fields of a message, which can be decoded as a message of the same type."""

    type: type[Message]
    path: tuple[int, ...]
    """Field numbers that lead from the outermost message to this one; () for the outermost."""
    start: int
    end: int


def fields(data: bytes, start: int = 0, end: int | None = None) -> Iterator[MessageField]:
    """Yields the fields of the message in `data[start:end]`, in file order.

    Raises DecodeError if the bytes are not a valid message.
    """
    at, end = start, len(data) if end is None else end
    while at < end:
        # Most varints are one byte long. Calling a function for each would double the run time.
        key, content = data[at], at + 1
        if key >= 0x80:
            key, content = _varint(data, at, end)
        number, wire_type = key >> 3, key & 7
        if wire_type == LENGTH_DELIMITED:
            if content < end and data[content] < 0x80:
                stop = content + 1 + data[content]
                content += 1
            else:
                length, content = _varint(data, content, end)
                stop = content + length
        elif wire_type == 0:
            _, stop = _varint(data, content, end)
        elif wire_type in _FIXED_SIZES:
            stop = content + _FIXED_SIZES[wire_type]
        else:
            raise DecodeError(f"the field at byte {at} has the unknown wire type {wire_type}")
        if stop > end or number == 0:
            problem = "extends past the end of its message" if number else "has the number 0"
            raise DecodeError(f"the field at byte {at} {problem}")
        yield MessageField(number, wire_type, at, content, stop)
        at = stop


def parts(
    message_type: type[Message], data: bytes, start: int = 0, end: int | None = None
) -> Iterator[Part]:
    """Yields parts of about PART_BYTES that make up the message in `data[start:end]`, in order.

    Nested messages that are larger than PART_BYTES are split as well. A message that cannot be
    split (see `is_divisible`) is one part, however large it is.
    """
    yield from _parts(message_type, (), data, start, len(data) if end is None else end)


def _parts(
    message_type: type[Message], path: tuple[int, ...], data: bytes, start: int, end: int
) -> Iterator[Part]:
    if end - start <= PART_BYTES or not is_divisible(message_type):
        if end > start:
            yield Part(message_type, path, start, end)
        return
    pending = start  # Offset of the first field that is not in a part yet.
    for field in fields(data, start, end):
        inner = message_of(message_type, field)
        if inner is not None and field.end - field.start > PART_BYTES and is_divisible(inner):
            if field.start > pending:
                yield Part(message_type, path, pending, field.start)
            yield from _parts(inner, (*path, field.number), data, field.content, field.end)
            pending = field.end
        elif field.end - pending > PART_BYTES:
            yield Part(message_type, path, pending, field.end)
            pending = field.end
    if end > pending:
        yield Part(message_type, path, pending, end)


def is_divisible(message_type: type[Message]) -> bool:
    """Whether a message of this type can be decoded in parts.

    A message with a oneof cannot: the last field of a oneof replaces its earlier fields, so
    all must be decoded together.
    """
    return not message_type.DESCRIPTOR.oneofs


def message_of(message_type: type[Message], field: MessageField) -> type[Message] | None:
    """The class of the message in a field; None if the field is a map or not a message at all."""
    descriptor: Any = message_type.DESCRIPTOR.fields_by_number.get(field.number)
    if descriptor is None or descriptor.message_type is None or field.wire_type != LENGTH_DELIMITED:
        return None
    if descriptor.message_type.GetOptions().map_entry:
        return None
    return GetMessageClass(descriptor.message_type)


def decode(message_type: type[Message], data: bytes) -> Any:
    """The decoded message. Raises DecodeError if the bytes are not a `message_type`."""
    try:
        return message_type.FromString(data)
    except ProtobufDecodeError:
        name = message_type.DESCRIPTOR.name
        raise DecodeError(f"{len(data)} of its bytes are not a valid {name}") from None


def check(message_type: type[Message], data: bytes) -> None:
    """Raises DecodeError if the bytes are not a `message_type`."""
    for part in parts(message_type, data):
        decode(part.type, data[part.start : part.end])


def _varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    """The varint at offset `at`, and the offset after it."""
    number = shift = 0
    for offset in range(at, min(end, at + 10)):
        byte = data[offset]
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, offset + 1
        shift += 7
    raise DecodeError(f"the varint at byte {at} is not terminated")
