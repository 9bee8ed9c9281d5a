"""Tensors of every dtype, as bytes in `tensor_content` and as typed lists."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tbcore.errors import DecodeError
from tbcore.eventfiles.proto.tensor_pb2 import TensorProto
from tbcore.eventfiles.proto.types_pb2 import DataType
from tbcore.eventfiles.tensors import scalar_of, tensor_to_numpy
from tbcore_testing.tensors import array_proto


@pytest.mark.parametrize(
    "dtype", ["f4", "f8", "f2", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?", "c8", "c16"]
)
@pytest.mark.parametrize("shape", [(), (1,), (2, 3), (0,), (2, 0)])
def test_round_trip(dtype: str, shape: tuple[int, ...]) -> None:
    """Dtype, shape and numbers are kept; the array is read-only."""
    array = (np.arange(int(np.prod(shape))) % 2 * 3).astype(dtype).reshape(shape)
    decoded = tensor_to_numpy(array_proto(array))
    assert decoded.dtype == array.dtype
    assert decoded.shape == shape
    assert (decoded == array).all()
    assert not decoded.flags.writeable


def test_strings() -> None:
    """Strings are decoded as bytes, and text is encoded as UTF-8."""
    decoded = tensor_to_numpy(array_proto(np.array([[b"a", "é"]], object)))
    assert decoded.tolist() == [[b"a", "é".encode()]]


@pytest.mark.parametrize(
    ("dtype", "field", "values", "expected"),
    [
        (DataType.DT_FLOAT, "float_val", [1.5, 2.5], [1.5, 2.5]),
        (DataType.DT_DOUBLE, "double_val", [0.1, 0.2], [0.1, 0.2]),
        (DataType.DT_INT8, "int_val", [-1, 2], [-1, 2]),
        (DataType.DT_UINT8, "int_val", [255, 2], [255, 2]),
        (DataType.DT_INT64, "int64_val", [2**62, -1], [2**62, -1]),
        (DataType.DT_UINT64, "uint64_val", [2**64 - 1, 0], [2**64 - 1, 0]),
        (DataType.DT_BOOL, "bool_val", [True, False], [True, False]),
        (DataType.DT_HALF, "half_val", [0x3C00, 0xC000], [1.0, -2.0]),
        (DataType.DT_BFLOAT16, "half_val", [0x3F80, 0xC000], [1.0, -2.0]),
        (DataType.DT_COMPLEX64, "scomplex_val", [1, 2, 3, 4], [1 + 2j, 3 + 4j]),
        (DataType.DT_STRING, "string_val", [b"a", b"b"], [b"a", b"b"]),
    ],
)
def test_typed_lists(dtype: int, field: str, values: list[Any], expected: list[Any]) -> None:
    tensor = TensorProto(dtype=DataType.Name(dtype))
    tensor.tensor_shape.dim.add(size=2)
    getattr(tensor, field).extend(values)
    assert tensor_to_numpy(tensor).tolist() == expected


def test_a_single_element_is_repeated_without_filling_memory() -> None:
    """Writers store one element if all are equal."""
    tensor = TensorProto(dtype=DataType.DT_FLOAT, float_val=[7.0])
    tensor.tensor_shape.dim.add(size=1 << 40)
    array = tensor_to_numpy(tensor)
    assert array.shape == (1 << 40,)
    assert array[12345] == 7.0


def test_bfloat16_content() -> None:
    """numpy has no bfloat16; the number becomes a float32."""
    tensor = TensorProto(dtype=DataType.DT_BFLOAT16, tensor_content=b"\x80\x3f")
    assert scalar_of(tensor) == np.float32(1.0)


def with_shape(tensor: TensorProto, *sizes: int) -> TensorProto:
    """The tensor, after dimensions of these sizes were added to its shape."""
    for size in sizes:
        tensor.tensor_shape.dim.add(size=size)
    return tensor


@pytest.mark.parametrize(
    "tensor",
    [
        TensorProto(),
        TensorProto(dtype=DataType.DT_FLOAT),
        TensorProto(dtype=DataType.DT_FLOAT, tensor_content=b"abc"),
        TensorProto(dtype=DataType.DT_FLOAT, float_val=[1, 2]),
        TensorProto(dtype=DataType.DT_RESOURCE),
        with_shape(TensorProto(dtype=DataType.DT_FLOAT, float_val=[1, 2]), 3),
        with_shape(TensorProto(dtype=DataType.DT_FLOAT, float_val=[1]), -1),
        with_shape(TensorProto(dtype=DataType.DT_FLOAT, tensor_content=bytes(4)), 2),
    ],
)
def test_a_tensor_whose_data_and_shape_disagree_is_an_error(tensor: TensorProto) -> None:
    """So is one of an unknown dtype. None of them is a scalar."""
    with pytest.raises(DecodeError, match=r"^tensor"):
        tensor_to_numpy(tensor)
    assert scalar_of(tensor) is None


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (np.float32(0.1), np.float32(0.1)),
        (np.float64(0.1), np.float64(0.1)),
        (np.float16(0.5), np.float32(0.5)),
        (np.int64(2**53 + 2), np.float64(2**53 + 2)),
        (np.array([[3]], np.uint8), np.float64(3)),
        (np.array([1.0, 2.0]), None),
        (np.array([], np.float32), None),
        (np.bool_(True), None),
        (np.complex64(1), None),
        (np.array(b"1", object), None),
    ],
)
def test_scalar_of(array: Any, expected: Any) -> None:
    """One real number is a scalar, in any shape with one element. Bools and strings are not."""
    found = scalar_of(array_proto(np.asarray(array)))
    assert found == expected
    assert type(found) is type(expected)
