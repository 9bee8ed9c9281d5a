"""Attributes: the values of a node's attributes as short, readable text."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any

import numpy as np
from google.protobuf import text_encoding
from numpy.typing import NDArray

from tbcore_graphs.columns import shape_text
from tbcore_graphs.proto.attr_value_pb2 import AttrValue, NameAttrList
from tbcore_graphs.proto.graph_pb2 import NodeDef
from tbcore_graphs.proto.tensor_pb2 import TensorProto
from tbcore_graphs.proto.types_pb2 import DataType

MAX_CHARACTERS = 2000
"""Maximum length of an attribute's text. A longer text is cut."""
_MAX_ELEMENTS = 200
"""Maximum number of elements of a list or tensor that are shown."""

_DTYPES: dict[int, np.dtype[Any]] = {
    DataType.DT_BOOL: np.dtype("?"),
    DataType.DT_COMPLEX64: np.dtype("<c8"),
    DataType.DT_COMPLEX128: np.dtype("<c16"),
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
"""Maps a tensor's DataType to the numpy dtype of its `tensor_content`."""


def attributes(node: NodeDef) -> list[list[str]]:
    """[key, text] of each attribute, sorted by key.

    A text of more than MAX_CHARACTERS is cut, and ends with the size of the serialized attribute.
    """
    return [[key, _cut(_text(node.attr[key]), node.attr[key])] for key in sorted(node.attr)]


def type_name(number: int) -> str:
    """The short name of a type, such as `float` for DT_FLOAT; its number if the type is unknown."""
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
            return _number(value.b)
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
        ("b", _number),
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
            if field.message_type is not None:
                return described  # Resources and variants have no short text.
            return f"{described}: {_values(field.name, value, tensor.dtype)}"
    return described


def _content(value: bytes, data_type: int) -> str:
    """The numbers in `tensor_content`; the escaped bytes if they do not fit the DataType."""
    dtype = np.dtype("<u2") if data_type == DataType.DT_BFLOAT16 else _DTYPES.get(data_type)
    if dtype is None or len(value) % dtype.itemsize:
        return _bytes(value)
    count = len(value) // dtype.itemsize
    shown = np.frombuffer(value, dtype, min(count, _MAX_ELEMENTS + 1))
    if data_type == DataType.DT_BFLOAT16:
        shown = _bfloats(shown)
    return _joined(map(_number, shown.tolist()), count)


def _values(field: str, values: Any, data_type: int) -> str:
    """The elements of a tensor's `..._val` field; `data_type` matters only for `half_val`."""
    if isinstance(values, bytes):
        return _bytes(values)
    count = len(values)
    # This is enough for complex numbers, which take two values each.
    shown = values[: 2 * _MAX_ELEMENTS + 2]
    if field == "string_val":
        return _joined(map(_string, shown), count)
    if field == "half_val":
        # The field contains the numbers' bits as integers.
        bits = (np.array(shown, np.int64) & 0xFFFF).astype("<u2")
        floats = _bfloats(bits) if data_type == DataType.DT_BFLOAT16 else bits.view("<f2")
        return _joined(map(_number, floats.tolist()), count)
    if field in ("scomplex_val", "dcomplex_val"):
        # Real and imaginary parts alternate.
        pairs = zip(shown[::2], shown[1::2], strict=False)
        return _joined((_number(complex(*pair)) for pair in pairs), count // 2)
    return _joined(map(_number, shown), count)


def _bfloats(bits: NDArray[np.uint16]) -> NDArray[np.float32]:
    """bfloat16 numbers from their bits, which are the upper 16 bits of a float32."""
    return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)


def _joined(texts: Iterable[str], count: int) -> str:
    """The first _MAX_ELEMENTS of `count` texts, and the count if not all are shown."""
    more = f", … {count:,} in all" if count > _MAX_ELEMENTS else ""
    return ", ".join(islice(texts, _MAX_ELEMENTS)) + more


def _function(function: NameAttrList) -> str:
    return function.name


def _number(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.7g}" if isinstance(value, (float, complex)) else str(value)


def _string(value: bytes) -> str:
    # Decode no more than is shown: 4 bytes per character at most. The cut may split the last one.
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
