"""Functions that make TensorProto messages in the forms that frameworks log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tbcore.engine import TensorProto


class _DataType(NamedTuple):
    number: int
    """Value in the enum DataType."""
    dtype: str
    """numpy dtype of the numbers in `tensor_content`."""
    field: str
    """Name of the repeated field of TensorProto for numbers of this type."""


DATA_TYPES = {
    "float32": _DataType(1, "<f4", "float_val"),
    "float64": _DataType(2, "<f8", "double_val"),
    "int32": _DataType(3, "<i4", "int_val"),
    "uint8": _DataType(4, "|u1", "int_val"),
    "int16": _DataType(5, "<i2", "int_val"),
    "int8": _DataType(6, "|i1", "int_val"),
    "complex64": _DataType(8, "<c8", "scomplex_val"),
    "int64": _DataType(9, "<i8", "int64_val"),
    "bool": _DataType(10, "|b1", "bool_val"),
    "qint8": _DataType(11, "|i1", "int_val"),
    "quint8": _DataType(12, "|u1", "int_val"),
    "qint32": _DataType(13, "<i4", "int_val"),
    "bfloat16": _DataType(14, "<u2", "half_val"),
    "qint16": _DataType(15, "<i2", "int_val"),
    "quint16": _DataType(16, "<u2", "int_val"),
    "uint16": _DataType(17, "<u2", "int_val"),
    "complex128": _DataType(18, "<c16", "dcomplex_val"),
    "float16": _DataType(19, "<f2", "half_val"),
    "uint32": _DataType(22, "<u4", "uint32_val"),
    "uint64": _DataType(23, "<u8", "uint64_val"),
}
"""Maps the name of each numeric type to its form in a TensorProto. For strings: `string_proto`.

For the quantized types `q...`, pass the integers as stored, not the real numbers that the integers
represent. tbcore and TensorBoard keep such tensors, but tbcore does not decode them. Source:
types.proto and tensor.proto.
"""


def tensor_proto(
    values: ArrayLike, dtype: str, *, as_bytes: bool = False, with_shape: bool = True
) -> TensorProto:
    """A numeric TensorProto.

    If `as_bytes` is true, the numbers are stored as bytes in the field `tensor_content`, otherwise
    in the repeated field for their type. If `with_shape` is false, the message has no shape; some
    writers leave out the shape of a scalar.
    """
    data_type = DATA_TYPES[dtype]
    array = _as_stored(values, dtype)
    proto = TensorProto(dtype=data_type.number)  # type: ignore[arg-type]
    if with_shape:
        proto.tensor_shape.SetInParent()
        for size in array.shape:
            proto.tensor_shape.dim.add(size=size)
    if as_bytes:
        proto.tensor_content = array.tobytes()
    else:
        # half_val has the 16 bits of each number as an integer.
        listed = array.view("<u2") if data_type.field == "half_val" else array
        if array.dtype.kind == "c":
            # Real and imaginary parts alternate.
            listed = np.ascontiguousarray(array).reshape(-1).view(f"<f{array.itemsize // 2}")
        getattr(proto, data_type.field).extend(listed.ravel().tolist())
    return proto


def string_proto(strings: Sequence[bytes], shape: Sequence[int]) -> TensorProto:
    """A TensorProto of byte strings in row-major order."""
    proto = TensorProto(dtype=7, string_val=strings)  # type: ignore[arg-type]
    proto.tensor_shape.SetInParent()
    for size in shape:
        proto.tensor_shape.dim.add(size=size)
    return proto


def array_proto(values: ArrayLike) -> TensorProto:
    """The TensorProto of an array: numbers and bools as bytes in `tensor_content`, or strings."""
    array = np.asarray(values)
    if array.dtype.kind in "SUO":
        texts = [s.encode() if isinstance(s, str) else bytes(s) for s in array.ravel().tolist()]
        return string_proto(texts, array.shape)
    return tensor_proto(array, array.dtype.name, as_bytes=True)


def _as_stored(values: ArrayLike, dtype: str) -> NDArray[Any]:
    """The values as an array of the dtype in which `tensor_content` stores them."""
    if dtype != "bfloat16":
        return np.asarray(values, dtype=DATA_TYPES[dtype].dtype)
    # bfloat16 is the upper half of a float32, rounded to nearest, ties to even. Rounding could make
    # a NaN infinite, so the lower half of a NaN is cut off instead. The quiet bit, 0x40, keeps it a
    # NaN even if all other bits of its mantissa are cut off.
    bits = np.asarray(values, "<f4").view("<u4")
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    return np.where(np.isnan(np.asarray(values, "<f4")), (bits >> 16) | 0x40, rounded).astype("<u2")
