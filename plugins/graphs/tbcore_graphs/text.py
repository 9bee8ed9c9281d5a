"""The protobuf text format of graphs and run metadata, generated in pieces.

Front ends parse it line by line: each line is one field, `name: value`, or opens or closes
a nested message, `name {` and `}`. Protobuf's own printer takes 0.2 s per megabyte. The same
attributes occur thousands of times in a graph, so the text of each attribute is cached. Neither the
message nor its text is ever in memory as a whole.
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
"""Approximate size of the chunks in which text is returned."""
_LONG_MESSAGE_BYTES = 1 << 16
"""Maximum size of a message that protobuf prints at once, and of a bytes field in it."""
_MAX_CACHED_ATTRIBUTE_BYTES = 1 << 10
"""Maximum serialized size of an attribute whose text is cached."""
_MAX_CACHED_ATTRIBUTES = 10_000
"""Maximum number of texts cached for one graph. They take up to 50 MB, in practice 1 MB."""

_PLAIN = re.compile(r"[ !#-&(-\[\]-~]*")
"""Matches strings that need no escapes."""


class Limit(NamedTuple):
    """A limit on the size of attributes; larger ones are omitted."""

    max_bytes: int
    """Maximum size of a serialized AttrValue, in bytes."""
    key: str
    """The attribute in which a node lists the keys of its omitted attributes."""


def graph_text(data: bytes, limit: Limit | None = None) -> Iterator[bytes]:
    """Yields the text of a serialized GraphDef as UTF-8, in chunks of about CHUNK_BYTES.

    Maps are sorted by key, strings are UTF-8, and bytes have octal escapes. Attributes that exceed
    the limit are omitted from the graph's own nodes, but not from nodes in functions. Raises
    DecodeError if the bytes are not a GraphDef; call `wire.check` first to get that error before
    any text.
    """
    return _chunks(_graph_pieces(data, limit))


def message_text(message_type: type[Message], data: bytes) -> Iterator[bytes]:
    """Yields the text of a serialized `message_type` in the same way as `graph_text`."""
    return _chunks(_serialized_pieces(message_type, data, 0, {}))


def omit_large_attributes(node: NodeDef, limit: Limit) -> None:
    """Removes a node's attributes that exceed the limit, and lists their keys under `limit.key`.

    If the node already has an attribute `limit.key` that is within the limit, the keys are appended
    to this attribute's list.
    """
    large = sorted(key for key in node.attr if node.attr[key].ByteSize() > limit.max_bytes)
    for key in large:
        del node.attr[key]
    for key in large:
        node.attr[limit.key].list.s.append(key.encode())


def _graph_pieces(data: bytes, limit: Limit | None) -> Iterator[str]:
    """Yields the text of a GraphDef: nodes first, because their field has the lowest number."""
    # Maps attributes, as (key, serialized value, indent), to their text.
    cache: dict[tuple[str, bytes, int], str] = {}
    other_fields = []
    for field in wire.fields(data):
        if field.number != 1 or field.wire_type != wire.LENGTH_DELIMITED:
            other_fields.append(data[field.start : field.end])
            continue
        node = wire.decode(NodeDef, data[field.content : field.end])
        if limit is not None and field.end - field.content > limit.max_bytes:
            # The attributes of a smaller node are all within the limit.
            omit_large_attributes(node, limit)
        yield "node {\n"
        yield from _node_pieces(node, 2, cache)
        yield "}\n"
    yield from _serialized_pieces(GraphDef, b"".join(other_fields), 0, cache)


def _serialized_pieces(
    message_type: type[Message], data: bytes, indent: int, cache: dict[Any, str]
) -> Iterator[str]:
    """Yields the text of a serialized message, which is split if too large to decode in one go."""
    if len(data) <= wire.PART_BYTES or not wire.is_divisible(message_type):
        yield from _message_pieces(wire.decode(message_type, data), indent, cache)
        return
    by_number: dict[int, list[wire.MessageField]] = {}
    for field in wire.fields(data):
        by_number.setdefault(field.number, []).append(field)
    margin = " " * indent
    for number in sorted(by_number):
        descriptor: Any = message_type.DESCRIPTOR.fields_by_number.get(number)
        if descriptor is None:
            continue
        found = by_number[number]
        inner = [wire.message_of(message_type, field) for field in found]
        if any(inner_type is None for inner_type in inner):
            whole = b"".join(data[field.start : field.end] for field in found)
            yield from _message_pieces(wire.decode(message_type, whole), indent, cache)
            continue
        contents: Iterable[bytes] = (data[field.content : field.end] for field in found)
        if not _is_repeated(descriptor):
            # Concatenating the serialized pieces of one message merges them.
            contents = [b"".join(contents)]
        for content in contents:
            yield f"{margin}{descriptor.name} {{\n"
            yield from _serialized_pieces(
                GetMessageClass(descriptor.message_type), content, indent + 2, cache
            )
            yield f"{margin}}}\n"


def _message_pieces(message: Any, indent: int, cache: dict[Any, str]) -> Iterator[str]:
    """Yields the text of a decoded message, printed by the fastest way for its type and size."""
    if isinstance(message, NodeDef):
        yield from _node_pieces(message, indent, cache)
    elif message.ByteSize() <= _LONG_MESSAGE_BYTES and not _has_nodes(message):
        yield text_format.MessageToString(message, as_utf8=True, indent=indent)
    else:
        yield from _long_message_pieces(message, indent, cache)


def _node_pieces(node: NodeDef, indent: int, cache: dict[Any, str]) -> Iterator[str]:
    """Yields the text of a node, with texts of small attributes from the cache."""
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
        if len(serialized) <= _MAX_CACHED_ATTRIBUTE_BYTES:
            # This is the case for nearly all attributes.
            cache_key = (key, serialized, indent)
            lines.append(cache.get(cache_key) or _attribute_text(cache_key, value, cache))
            continue
        yield "".join(lines)
        yield f"{margin}attr {{\n"
        yield from _message_pieces(NodeDef.AttrEntry(key=key, value=value), indent + 2, cache)
        lines = [f"{margin}}}\n"]
    yield "".join(lines)
    for field in ("experimental_debug_info", "experimental_type"):
        if node.HasField(field):
            yield f"{margin}{field} {{\n"
            yield from _message_pieces(getattr(node, field), indent + 2, cache)
            yield f"{margin}}}\n"


def _attribute_text(
    cache_key: tuple[str, bytes, int], value: AttrValue, cache: dict[Any, str]
) -> str:
    """The text of an attribute with this key, value and indent."""
    key, _, indent = cache_key
    margin = " " * indent
    entry = NodeDef.AttrEntry(key=key, value=value)
    text = text_format.MessageToString(entry, as_utf8=True, indent=indent + 2)
    text = f"{margin}attr {{\n{text}{margin}}}\n"
    if len(cache) < _MAX_CACHED_ATTRIBUTES:
        cache[cache_key] = text
    return text


def _long_message_pieces(message: Any, indent: int, cache: dict[Any, str]) -> Iterator[str]:
    """Yields the text of a decoded message, one field and one element at a time."""
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
                yield from _message_pieces(element, indent + 2, cache)
                yield f"{margin}}}\n"
            elif field.type == FieldDescriptor.TYPE_BYTES and len(element) > _LONG_MESSAGE_BYTES:
                yield f'{margin}{field.name}: "'
                yield from escaped(element)
                yield '"\n'
            else:
                out = StringIO()
                text_format.PrintField(field, element, out, indent=indent, as_utf8=True)
                yield out.getvalue()


def _has_nodes(message: Any) -> bool:
    """Whether a message can contain nodes, which are printed by `_node_pieces`."""
    return bool(message.DESCRIPTOR.name in ("GraphDef", "FunctionDefLibrary", "FunctionDef"))


def _is_repeated(field: Any) -> bool:
    # Newer versions of protobuf warn when `label` is used; older ones have no `is_repeated`.
    if hasattr(field, "is_repeated"):
        return bool(field.is_repeated)
    return bool(field.label == FieldDescriptor.LABEL_REPEATED)


def _quoted(text: str) -> str:
    """The string in quotes and with escapes, as the text format requires."""
    if _PLAIN.fullmatch(text):
        return f'"{text}"'
    # Any, because the types that CEscape declares differ between versions of protobuf. All accept
    # a string.
    escape: Any = text_encoding.CEscape
    return f'"{escape(text, True)}"'


def _escapes() -> tuple[Any, Any]:
    """Two arrays of shape (256, 4): each byte's escape in ASCII, and which elements are used."""
    table = np.zeros((256, 4), np.uint8)
    used = np.zeros((256, 4), bool)
    for byte in range(256):
        escape = text_encoding.CEscape(bytes([byte]), False).encode()
        table[byte, : len(escape)] = list(escape)
        used[byte, : len(escape)] = True
    return table, used


_ESCAPES, _USED = _escapes()


def escaped(data: bytes) -> Iterator[str]:
    """Yields the text of a bytes field, without its quotes, in pieces."""
    array = np.frombuffer(data, np.uint8)
    for start in range(0, len(array), _LONG_MESSAGE_BYTES):
        piece = array[start : start + _LONG_MESSAGE_BYTES]
        yield _ESCAPES[piece][_USED[piece]].tobytes().decode("ascii")


def _chunks(pieces: Iterable[str]) -> Iterator[bytes]:
    """Joins pieces into chunks of at least CHUNK_BYTES; the last one may be smaller."""
    pending: list[str] = []
    size = 0
    for piece in pieces:
        pending.append(piece)
        size += len(piece)
        if size >= CHUNK_BYTES:
            yield "".join(pending).encode()
            pending, size = [], 0
    if pending:
        yield "".join(pending).encode()
