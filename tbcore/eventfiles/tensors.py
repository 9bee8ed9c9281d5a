"""Tensors: TensorProto to numpy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tbcore.errors import DecodeError
from tbcore.eventfiles.proto.tensor_pb2 import TensorProto
from tbcore.eventfiles.proto.types_pb2 import DataType

_STORAGE: dict[DataType, tuple[str, str]] = {
    DataType.DT_FLOAT: ("<f4", "float_val"),
    DataType.DT_DOUBLE: ("<f8", "double_val"),
    DataType.DT_INT32: ("<i4", "int_val"),
    DataType.DT_UINT8: ("|u1", "int_val"),
    DataType.DT_INT16: ("<i2", "int_val"),
    DataType.DT_INT8: ("|i1", "int_val"),
    DataType.DT_STRING: ("", "string_val"),
    DataType.DT_COMPLEX64: ("<c8", "scomplex_val"),
    DataType.DT_INT64: ("<i8", "int64_val"),
    DataType.DT_BOOL: ("|b1", "bool_val"),
    DataType.DT_BFLOAT16: ("<u2", "half_val"),
    DataType.DT_UINT16: ("<u2", "int_val"),
    DataType.DT_COMPLEX128: ("<c16", "dcomplex_val"),
    DataType.DT_HALF: ("<f2", "half_val"),
    DataType.DT_UINT32: ("<u4", "uint32_val"),
    DataType.DT_UINT64: ("<u8", "uint64_val"),
}
"""Maps a DataType to the numpy dtype of elements in `tensor_content`, and to the field that holds
the elements if there is no `tensor_content`. bfloat16 has no numpy dtype: an element is the upper
half of a float32."""
_NOT_REAL = {DataType.DT_STRING, DataType.DT_BOOL, DataType.DT_COMPLEX64, DataType.DT_COMPLEX128}
"""Types whose elements are not real numbers."""


def tensor_to_numpy(tensor: TensorProto) -> NDArray[Any]:
    """The tensor's elements in its shape, read-only: numbers, or bytes objects for DT_STRING.

    bfloat16 becomes float32. If only one element is stored, all elements are equal to it. A tensor
    without a shape is a scalar. Raises DecodeError for a type that is not supported, or if the
    shape and the number of elements do not agree.
    """
    if tensor.dtype not in _STORAGE:
        raise DecodeError(f"tensor of type {_type_name(tensor)}, which tbcore does not decode")
    if tensor.tensor_shape.unknown_rank or any(d.size < 0 for d in tensor.tensor_shape.dim):
        raise DecodeError("tensor without a definite shape")
    shape = tuple(d.size for d in tensor.tensor_shape.dim)
    elements = _elements(tensor)
    num_elements = math.prod(shape)
    try:
        if len(elements) == num_elements:
            array = elements.reshape(shape)
        elif len(elements) == 1 and not tensor.tensor_content:
            array = np.broadcast_to(elements[0], shape)
        else:
            raise DecodeError(
                f"tensor of shape {list(shape)} needs {num_elements} elements, "
                f"found {len(elements)}"
            )
    except ValueError as error:
        # A numpy array cannot have so many dimensions, or such large ones.
        raise DecodeError(f"tensor of {len(shape)} dimensions: {error}") from None
    array.flags.writeable = False
    return array


def scalar_of(tensor: TensorProto) -> np.float32 | np.float64 | None:
    """The number in a tensor with exactly one real element; None for any other tensor.

    It is a float32 if the element's type is float32, float16 or bfloat16, else a float64. So
    integers above 2**53 are rounded.
    """
    if tensor.dtype in _NOT_REAL or any(d.size != 1 for d in tensor.tensor_shape.dim):
        return None
    try:
        array = tensor_to_numpy(tensor)
    except DecodeError:
        return None
    if array.dtype == np.float32 or array.dtype == np.float16:
        return np.float32(array.item())
    return np.float64(array.item())


def _elements(tensor: TensorProto) -> NDArray[Any]:
    """The stored elements as a 1-d array. A single element may stand for the whole tensor."""
    numpy_dtype, field = _STORAGE[tensor.dtype]
    if tensor.dtype == DataType.DT_STRING:
        strings = np.empty(len(tensor.string_val), object)
        strings[:] = list(tensor.string_val)
        return strings
    dtype = np.dtype(numpy_dtype)
    if tensor.tensor_content:
        if len(tensor.tensor_content) % dtype.itemsize:
            raise DecodeError(
                f"tensor of {_type_name(tensor)} with {len(tensor.tensor_content)} bytes of content"
            )
        elements = np.frombuffer(tensor.tensor_content, dtype)
    else:
        values = getattr(tensor, field)
        if field == "half_val":
            elements = np.array(values, np.int64).astype(np.uint16).view(dtype)
        elif field in ("scomplex_val", "dcomplex_val"):
            part = np.float32 if field == "scomplex_val" else np.float64
            elements = np.array(values[: len(values) // 2 * 2], part).view(dtype)
        elif field == "int_val":
            elements = np.array(values, np.int64).astype(dtype)
        else:
            elements = np.array(values, dtype)
    if tensor.dtype == DataType.DT_BFLOAT16:
        elements = (elements.astype(np.uint32) << np.uint32(16)).view(np.float32)
    return elements


def _type_name(tensor: TensorProto) -> str:
    names = {number: name for name, number in DataType.items()}
    return names.get(tensor.dtype, f"number {tensor.dtype}")
