"""The text form of graphs and run metadata: what protobuf prints, piece by piece.

Pages read it line by line: one field a line, `name {` and `name: value`. Protobuf's own printer
takes 0.2 s for a megabyte; attributes, of which a graph has the same ones a thousand times, are
therefore printed once each. Nothing is ever held as a whole, neither the message nor its text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from io import StringIO
from typing import Any, NamedTuple

import numpy as np
from google.protobuf import text_encoding, text_format
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from tbcore_graphs import wire
from tbcore_graphs.proto.attr_value_pb2 import AttrValue
from tbcore_graphs.proto.graph_pb2 import GraphDef, NodeDef

CHUNK_BYTES = 1 << 16
_LONG_BYTES = 1 << 16
"""From here on bytes are escaped in bulk, and messages printed in pieces."""
_MAX_REMEMBERED_BYTES = 1 << 10
_MAX_REMEMBERED = 10_000
"""Attributes whose text is kept while one graph is printed: 50 MB at most, 1 MB in practice."""

_PLAIN = re.compile(r"[ !#-&(-\[\]-~]*")
"""Texts in which nothing is escaped."""


class Limit(NamedTuple):
    """Attributes that are left out because of their size."""

    max_bytes: int
    """Of a serialized AttrValue that stays."""
    key: str
    """The attribute that names those of the node that were left out."""


def graph_text(data: bytes, limit: Limit | None = None) -> Iterator[bytes]:
    """The text of a serialized GraphDef in chunks of about CHUNK_BYTES; UTF-8.

    Maps are sorted by key, texts are UTF-8, bytes have octal escapes. With a limit, attributes of
    the graph's nodes that are larger are left out. Raises DecodeError where the bytes are none;
    `wire.check` finds that out beforehand.
    """
    return _chunks(_graph(data, limit))


def message_text(message_type: type[Message], data: bytes) -> Iterator[bytes]:
    """The text of any other serialized message, likewise."""
    return _chunks(_of_bytes(message_type, data, 0, {}))


def leave_out(node: NodeDef, limit: Limit) -> None:
    """Takes attributes off the node that are too large, and lists them under `limit.key`.

    An attribute with that key that is there before, and is not too large, stays and gets the names
    in addition.
    """
    large = sorted(key for key in node.attr if node.attr[key].ByteSize() > limit.max_bytes)
    for key in large:
        del node.attr[key]
    for key in large:
        node.attr[limit.key].list.s.append(key.encode())


def _graph(data: bytes, limit: Limit | None) -> Iterator[str]:
    """Nodes first, as the numbers of the fields have it, wherever they stand."""
    remembered: dict[tuple[str, bytes, int], str] = {}
    rest = []
    for field in wire.fields(data):
        if field.number != 1 or field.wire_type != wire.LENGTH_DELIMITED:
            rest.append(data[field.start : field.end])
            continue
        node = wire.decode(NodeDef, data[field.content : field.end])
        if limit is not None and field.end - field.content > limit.max_bytes:
            # No attribute of a smaller node is too large.
            leave_out(node, limit)
        yield "node {\n"
        yield from _of_node(node, 2, remembered)
        yield "}\n"
    yield from _of_bytes(GraphDef, b"".join(rest), 0, remembered)


def _of_bytes(
    message_type: type[Message], data: bytes, indent: int, remembered: dict[Any, str]
) -> Iterator[str]:
    """The text of a message that may be too large to be decoded at once."""
    if len(data) <= wire.PART_BYTES or not wire.is_divisible(message_type):
        yield from _of_message(wire.decode(message_type, data), indent, remembered)
        return
    by_number: dict[int, list[wire.Field]] = {}
    for field in wire.fields(data):
        by_number.setdefault(field.number, []).append(field)
    margin = " " * indent
    for number in sorted(by_number):
        described: Any = message_type.DESCRIPTOR.fields_by_number.get(number)
        if described is None:
            continue
        found = by_number[number]
        inner = [wire.message_of(message_type, field) for field in found]
        if any(inner_type is None for inner_type in inner):
            whole = b"".join(data[field.start : field.end] for field in found)
            yield from _of_message(wire.decode(message_type, whole), indent, remembered)
            continue
        contents: Iterable[bytes] = (data[field.content : field.end] for field in found)
        if not _is_repeated(described):
            # What is written of one message in several pieces is merged.
            contents = [b"".join(contents)]
        for content in contents:
            yield f"{margin}{described.name} {{\n"
            yield from _of_bytes(
                GetMessageClass(described.message_type), content, indent + 2, remembered
            )
            yield f"{margin}}}\n"


def _of_message(message: Any, indent: int, remembered: dict[Any, str]) -> Iterator[str]:
    if isinstance(message, NodeDef):
        yield from _of_node(message, indent, remembered)
    elif message.ByteSize() <= _LONG_BYTES and not _has_nodes(message):
        yield text_format.MessageToString(message, as_utf8=True, indent=indent)
    else:
        yield from _of_long(message, indent, remembered)


def _of_node(node: NodeDef, indent: int, remembered: dict[Any, str]) -> Iterator[str]:
    margin = " " * indent
    lines = []
    if node.name:
        lines.append(f"{margin}name: {_quoted(node.name)}\n")
    if node.op:
        lines.append(f"{margin}op: {_quoted(node.op)}\n")
    lines += [f"{margin}input: {_quoted(name)}\n" for name in node.input]
    if node.device:
        lines.append(f"{margin}device: {_quoted(node.device)}\n")
    for key in sorted(node.attr):
        value = node.attr[key]
        serialized = value.SerializeToString(deterministic=True)
        if len(serialized) <= _MAX_REMEMBERED_BYTES:
            # Nearly every attribute of nearly every node.
            known = (key, serialized, indent)
            lines.append(remembered.get(known) or _remember(known, value, remembered))
            continue
        yield "".join(lines)
        yield f"{margin}attr {{\n"
        yield from _of_message(NodeDef.AttrEntry(key=key, value=value), indent + 2, remembered)
        lines = [f"{margin}}}\n"]
    yield "".join(lines)
    for field in ("experimental_debug_info", "experimental_type"):
        if node.HasField(field):
            yield f"{margin}{field} {{\n"
            yield from _of_message(getattr(node, field), indent + 2, remembered)
            yield f"{margin}}}\n"


def _remember(known: tuple[str, bytes, int], value: AttrValue, remembered: dict[Any, str]) -> str:
    """The text of an attribute with this key, value and indent."""
    key, _, indent = known
    margin = " " * indent
    entry = NodeDef.AttrEntry(key=key, value=value)
    text = text_format.MessageToString(entry, as_utf8=True, indent=indent + 2)
    text = f"{margin}attr {{\n{text}{margin}}}\n"
    if len(remembered) < _MAX_REMEMBERED:
        remembered[known] = text
    return text


def _of_long(message: Any, indent: int, remembered: dict[Any, str]) -> Iterator[str]:
    """Field by field, and within these element by element."""
    margin = " " * indent
    for field, value in message.ListFields():
        elements: Iterable[Any] = value if _is_repeated(field) else [value]
        is_map = field.message_type is not None and field.message_type.GetOptions().map_entry
        if is_map:
            entry_type = value.GetEntryClass()
            elements = (entry_type(key=key, value=value[key]) for key in sorted(value))
        for element in elements:
            if field.message_type is not None:
                yield f"{margin}{field.name} {{\n"
                yield from _of_message(element, indent + 2, remembered)
                yield f"{margin}}}\n"
            elif field.type == FieldDescriptor.TYPE_BYTES and len(element) > _LONG_BYTES:
                yield f'{margin}{field.name}: "'
                yield from escaped(element)
                yield '"\n'
            else:
                out = StringIO()
                text_format.PrintField(field, element, out, indent=indent, as_utf8=True)
                yield out.getvalue()


def _has_nodes(message: Any) -> bool:
    return bool(message.DESCRIPTOR.name in ("GraphDef", "FunctionDefLibrary", "FunctionDef"))


def _is_repeated(field: Any) -> bool:
    # Newer versions of protobuf warn when they are asked for `label`, older ones have nothing else.
    if hasattr(field, "is_repeated"):
        return bool(field.is_repeated)
    return bool(field.label == FieldDescriptor.LABEL_REPEATED)


def _quoted(text: str) -> str:
    if _PLAIN.fullmatch(text):
        return f'"{text}"'
    # Newer versions of protobuf take bytes as well, and say so; older ones need the text.
    escape: Any = text_encoding.CEscape
    return f'"{escape(text, True)}"'


def _escapes() -> tuple[Any, Any]:
    """For each byte its escape, in rows of 4, and which of these 4 count."""
    table = np.zeros((256, 4), np.uint8)
    used = np.zeros((256, 4), bool)
    for byte in range(256):
        escape = text_encoding.CEscape(bytes([byte]), False).encode()
        table[byte, : len(escape)] = list(escape)
        used[byte, : len(escape)] = True
    return table, used


_ESCAPES, _USED = _escapes()


def escaped(data: bytes) -> Iterator[str]:
    """The text of bytes between its quotes, in pieces."""
    array = np.frombuffer(data, np.uint8)
    for start in range(0, len(array), _LONG_BYTES):
        piece = array[start : start + _LONG_BYTES]
        yield _ESCAPES[piece][_USED[piece]].tobytes().decode("ascii")


def _chunks(pieces: Iterable[str]) -> Iterator[bytes]:
    waiting: list[str] = []
    size = 0
    for piece in pieces:
        waiting.append(piece)
        size += len(piece)
        if size >= CHUNK_BYTES:
            yield "".join(waiting).encode()
            waiting, size = [], 0
    if waiting:
        yield "".join(waiting).encode()
