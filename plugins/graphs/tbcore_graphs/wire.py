"""The wire format of protobuf: where the fields of a message lie, without decoding any.

Decoding a message is one call that nothing interrupts, and a graph may be 100 MB. It is taken apart
here, so that each call decodes little and other threads come to their turn in between.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from google.protobuf.message import DecodeError as ProtobufDecodeError
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from tbcore import DecodeError

PART_BYTES = 1 << 18
"""A message of this size is decoded in a millisecond or so."""

LENGTH_DELIMITED = 2
"""The wire type of messages, texts and bytes."""
_FIXED_SIZES = {1: 8, 5: 4}


class Field(NamedTuple):
    """One field on the wire; offsets into the bytes that were given."""

    number: int
    wire_type: int
    start: int
    """Of its key."""
    content: int
    """Of its content, behind key and length."""
    end: int


class Part(NamedTuple):
    """Some neighbouring fields of a message, to be decoded as one of its class."""

    type: type[Message]
    path: tuple[int, ...]
    """Numbers of the fields that lead to the message; () for the outermost."""
    start: int
    end: int


def fields(data: bytes, start: int = 0, end: int | None = None) -> Iterator[Field]:
    """The fields of the message in `data[start:end]`, in the order in which they stand.

    Raises DecodeError where the bytes are no message.
    """
    at, end = start, len(data) if end is None else end
    while at < end:
        # Most numbers are one byte long: a call for each would take half of the time.
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
            raise DecodeError(f"its field at byte {at} has the wire type {wire_type}")
        if stop > end or number == 0:
            what = "ends beyond the message" if number else "has no number"
            raise DecodeError(f"its field at byte {at} {what}")
        yield Field(number, wire_type, at, content, stop)
        at = stop


def parts(
    message_type: type[Message], data: bytes, start: int = 0, end: int | None = None
) -> Iterator[Part]:
    """The message in `data[start:end]` in pieces of about PART_BYTES, together every field of it.

    Larger messages inside it are taken apart likewise, where they stand. What cannot be taken apart
    comes whole, however large it is.
    """
    yield from _parts(message_type, (), data, start, len(data) if end is None else end)


def _parts(
    message_type: type[Message], path: tuple[int, ...], data: bytes, start: int, end: int
) -> Iterator[Part]:
    if end - start <= PART_BYTES or not is_divisible(message_type):
        if end > start:
            yield Part(message_type, path, start, end)
        return
    pending = start
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
    """Whether the fields of such a message can be looked at one by one.

    Of the fields of a oneof the last one counts, so these have to stay together.
    """
    return not message_type.DESCRIPTOR.oneofs


def message_of(message_type: type[Message], field: Field) -> type[Message] | None:
    """The class of the message that a field holds; None for anything else, such as a map."""
    described: Any = message_type.DESCRIPTOR.fields_by_number.get(field.number)
    if described is None or described.message_type is None or field.wire_type != LENGTH_DELIMITED:
        return None
    if described.message_type.GetOptions().map_entry:
        return None
    return GetMessageClass(described.message_type)


def decode(message_type: type[Message], data: bytes) -> Any:
    """The message; raises DecodeError where the bytes are none."""
    try:
        return message_type.FromString(data)
    except ProtobufDecodeError:
        name = message_type.DESCRIPTOR.name
        raise DecodeError(f"{len(data)} bytes of it are no {name}") from None


def check(message_type: type[Message], data: bytes) -> None:
    """Raises DecodeError where the bytes are no such message."""
    for part in parts(message_type, data):
        decode(part.type, data[part.start : part.end])


def _varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    """A number and the offset behind it."""
    number = shift = 0
    for offset in range(at, min(end, at + 10)):
        byte = data[offset]
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, offset + 1
        shift += 7
    raise DecodeError(f"its number at byte {at} does not end")
