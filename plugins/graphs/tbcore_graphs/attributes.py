"""Attributes of a node, as short texts for readers."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any

import numpy as np
from google.protobuf import text_encoding

from tbcore_graphs.columns import shape_text
from tbcore_graphs.proto.attr_value_pb2 import AttrValue, NameAttrList
from tbcore_graphs.proto.graph_pb2 import NodeDef
from tbcore_graphs.proto.tensor_pb2 import TensorProto
from tbcore_graphs.proto.types_pb2 import DataType

MAX_CHARACTERS = 2000
_MAX_ELEMENTS = 200

_DTYPES: dict[int, np.dtype[Any]] = {
    DataType.DT_FLOAT: np.dtype("<f4"),
    DataType.DT_DOUBLE: np.dtype("<f8"),
    DataType.DT_HALF: np.dtype("<f2"),
    DataType.DT_INT8: np.dtype("i1"),
    DataType.DT_INT16: np.dtype("<i2"),
    DataType.DT_INT32: np.dtype("<i4"),
    DataType.DT_INT64: np.dtype("<i8"),
    DataType.DT_UINT8: np.dtype("u1"),
    DataType.DT_UINT16: np.dtype("<u2"),
    DataType.DT_UINT32: np.dtype("<u4"),
    DataType.DT_UINT64: np.dtype("<u8"),
}
"""What the content of a tensor of these types is in memory."""


def attributes(node: NodeDef) -> list[list[str]]:
    """Key and text of each attribute, sorted by key. What is long ends with its size."""
    return [[key, _cut(_text(node.attr[key]), node.attr[key])] for key in sorted(node.attr)]


def type_name(number: int) -> str:
    """`float` for DT_FLOAT, and the number for what has no name."""
    name = DataType.Name(number) if number in DataType.values() else str(number)
    return name.removeprefix("DT_").lower()


def _cut(text: str, value: AttrValue) -> str:
    if len(text) <= MAX_CHARACTERS:
        return text
    return f"{text[:MAX_CHARACTERS]}… ({value.ByteSize():,} bytes)"


def _text(value: AttrValue) -> str:
    match value.WhichOneof("value"):
        case "s":
            return _string(value.s)
        case "i":
            return str(value.i)
        case "f":
            return _number(value.f)
        case "b":
            return str(value.b).lower()
        case "type":
            return type_name(value.type)
        case "shape":
            return shape_text(value.shape)
        case "tensor":
            return _tensor(value.tensor)
        case "func":
            return _function(value.func)
        case "placeholder":
            return value.placeholder
        case "list":
            return _list(value.list)
    return ""


def _list(values: AttrValue.ListValue) -> str:
    for field, text in (
        ("s", _string),
        ("i", str),
        ("f", _number),
        ("b", lambda value: str(value).lower()),
        ("type", type_name),
        ("shape", shape_text),
        ("tensor", _tensor),
        ("func", _function),
    ):
        elements = getattr(values, field)
        if elements:
            return f"[{_joined(map(text, elements), len(elements))}]"
    return "[]"


def _tensor(tensor: TensorProto) -> str:
    described = f"{type_name(tensor.dtype)} {shape_text(tensor.tensor_shape)}"
    for field, value in tensor.ListFields():
        if field.name == "tensor_content":
            return f"{described}: {_content(value, tensor.dtype)}"
        if field.name.endswith("_val"):
            text = _string if field.name == "string_val" else _number
            if field.message_type is not None:
                return described
            if isinstance(value, bytes):
                return f"{described}: {_bytes(value)}"
            return f"{described}: {_joined(map(text, value), len(value))}"
    return described


def _content(value: bytes, number: int) -> str:
    """The numbers in the content of a tensor, or its bytes."""
    dtype = _DTYPES.get(number)
    if dtype is None or len(value) % dtype.itemsize:
        return _bytes(value)
    count = len(value) // dtype.itemsize
    shown = np.frombuffer(value, dtype, min(count, _MAX_ELEMENTS + 1))
    return _joined(map(_number, shown.tolist()), count)


def _joined(texts: Iterable[str], count: int) -> str:
    more = f", … {count:,} in all" if count > _MAX_ELEMENTS else ""
    return ", ".join(islice(texts, _MAX_ELEMENTS)) + more


def _function(function: NameAttrList) -> str:
    return function.name


def _number(value: object) -> str:
    return f"{value:.7g}" if isinstance(value, float) else str(value)


def _string(value: bytes) -> str:
    # More than is shown does not have to be looked at; the cut may be inside a character.
    start = value[: 4 * MAX_CHARACTERS + 4]
    try:
        return start.decode()
    except UnicodeDecodeError as error:
        if len(start) < len(value) and error.start > len(start) - 4:
            return start[: error.start].decode()
        return _bytes(value)


def _bytes(value: bytes) -> str:
    text = text_encoding.CEscape(value[:MAX_CHARACTERS], False)
    return text if len(value) <= MAX_CHARACTERS else f"{text}…"
