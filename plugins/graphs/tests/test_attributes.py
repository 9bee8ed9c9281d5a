"""Attributes as text: a tensor's numbers are shown whichever field they were logged in."""

from __future__ import annotations

import numpy as np
import pytest
from google.protobuf import text_format

from tbcore_graphs.attributes import MAX_CHARACTERS, attributes
from tbcore_graphs.proto.graph_pb2 import NodeDef


def text_of(value: str) -> str:
    """The text of an attribute with this value."""
    node = text_format.Parse(f'attr {{ key: "a" value {{ {value} }} }}', NodeDef())
    [[key, text]] = attributes(node)
    assert key == "a"
    return text


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ('s: "text"', "text"),
        ('s: "\\377"', "\\377"),
        ("i: -3", "-3"),
        ("f: 0.1", "0.1"),
        ("b: true", "true"),
        ("type: DT_FLOAT", "float"),
        ("type: DT_FLOAT_REF", "float_ref"),
        ("shape { dim { size: -1 } dim { size: 3 } }", "?x3"),
        ("list { i: 1 i: 2 }", "[1, 2]"),
        ("list { b: true b: false }", "[true, false]"),
        ("list { }", "[]"),
        ('func { name: "f" }', "f"),
        ("tensor { dtype: DT_INT32 int_val: 7 }", "int32 scalar: 7"),
        ("tensor { dtype: DT_BOOL bool_val: true bool_val: false }", "bool scalar: true, false"),
        ('tensor { dtype: DT_BOOL tensor_content: "\\001\\000" }', "bool scalar: true, false"),
        ('tensor { dtype: DT_STRING string_val: "a" string_val: "b" }', "string scalar: a, b"),
        ('tensor { dtype: DT_INT16 tensor_content: "\\001" }', "int16 scalar: \\001"),
    ],
)
def test_values_are_short_texts(value: str, expected: str) -> None:
    """Every type of attribute has a readable text."""
    assert text_of(value) == expected


def test_half_precision_is_shown_as_numbers_not_as_bits() -> None:
    """`half_val` contains the 16 bits of each number; bfloat16 is the upper half of a float32."""
    numbers = [1.0, -0.5, 0.0]
    half = np.array(numbers, "<f2").view("<u2")
    bfloat16 = (np.array(numbers, "<f4").view("<u4") >> 16).astype("<u2")
    for dtype, bits in (("DT_HALF", half), ("DT_BFLOAT16", bfloat16)):
        name = dtype.removeprefix("DT_").lower()
        listed = " ".join(f"half_val: {number}" for number in bits.tolist())
        assert text_of(f"tensor {{ dtype: {dtype} {listed} }}") == f"{name} scalar: 1, -0.5, 0"
        content = "".join(f"\\{byte:03o}" for byte in bits.tobytes())
        packed = text_of(f'tensor {{ dtype: {dtype} tensor_content: "{content}" }}')
        assert packed == f"{name} scalar: 1, -0.5, 0"
    assert text_of("tensor { dtype: DT_HALF half_val: -1 }") == "half scalar: nan"


def test_complex_numbers_are_pairs_of_logged_numbers() -> None:
    """Real and imaginary parts alternate; a last real part without an imaginary one is ignored."""
    listed = "tensor { dtype: DT_COMPLEX64 scomplex_val: 1 scomplex_val: -2 scomplex_val: 3 }"
    assert text_of(listed) == "complex64 scalar: 1-2j"
    content = "".join(f"\\{byte:03o}" for byte in np.array([1 - 2j], "<c8").tobytes())
    assert text_of(f'tensor {{ dtype: DT_COMPLEX64 tensor_content: "{content}" }}') == (
        "complex64 scalar: 1-2j"
    )


def test_long_values_are_cut_and_end_with_their_size() -> None:
    """The size is in elements for lists, in bytes otherwise."""
    values = " ".join(f"i: {index}" for index in range(1000))
    assert text_of(f"list {{ {values} }}").endswith("199, … 1,000 in all]")
    text = text_of(f's: "{"x" * 5000}"')
    assert text.startswith("x" * MAX_CHARACTERS + "… (")
    assert text.endswith(" bytes)")
