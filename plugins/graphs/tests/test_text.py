"""The text format: identical to what protobuf prints, however the message is split on the way."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar

import pytest
from google.protobuf import text_format
from google.protobuf.message import Message
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tbcore import DecodeError
from tbcore_graphs import text, wire
from tbcore_graphs.proto.attr_value_pb2 import AttrValue
from tbcore_graphs.proto.graph_pb2 import FunctionDef, GraphDef, NodeDef
from tbcore_graphs.proto.run_metadata_pb2 import RunMetadata
from tbcore_graphs.text import Limit, graph_text, message_text

Result = TypeVar("Result")

TEXTS = st.text(max_size=8)
NUMBERS = st.integers(-(2**31), 2**31 - 1)


PART_SIZES = {"whole": 1 << 18, "small parts": 40, "smallest parts": 0}
"""Maximum sizes of a message that is decoded and printed in one go."""


def printed(data: bytes, limit: Limit | None = None) -> str:
    """The text of a graph, which is the same whatever the size of the parts."""
    return in_parts(lambda: b"".join(graph_text(data, limit)).decode())


def is_valid(message_type: type[Message], data: bytes) -> bool:
    """Whether the check before printing accepts the data, whatever the size of the parts."""

    def check() -> bool:
        try:
            wire.check(message_type, data)
        except DecodeError:
            return False
        return True

    return in_parts(check)


def in_parts(result: Callable[[], Result]) -> Result:
    """The result of a function that is called with each of PART_SIZES, and must be the same."""
    found: dict[str, Result] = {}
    for name, size in PART_SIZES.items():
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(wire, "PART_BYTES", size)
            patch.setattr(text, "_LONG_MESSAGE_BYTES", min(size, 1 << 16) or 1)
            patch.setattr(text, "_MAX_CACHED_ATTRIBUTE_BYTES", min(size, 1 << 10))
            found[name] = result()
    assert len(set(found.values())) == 1, found
    return found["whole"]


def expected(message: Message) -> str:
    return text_format.MessageToString(message, as_utf8=True)


def values() -> st.SearchStrategy[AttrValue]:
    """Attributes of every type, including functions that have attributes themselves."""
    flat = st.one_of(
        st.builds(lambda s: AttrValue(s=s), st.binary(max_size=12)),
        st.builds(lambda i: AttrValue(i=i), st.integers(-(2**63), 2**63 - 1)),
        st.builds(lambda f: AttrValue(f=f), st.floats(width=32)),
        st.builds(lambda b: AttrValue(b=b), st.booleans()),
        st.builds(lambda t: AttrValue(type=t), st.sampled_from([0, 1, 14, 101, 999])),
        st.builds(lambda p: AttrValue(placeholder=p), TEXTS),
        st.builds(_shape, st.lists(st.tuples(NUMBERS, TEXTS), max_size=3), st.booleans()),
        st.builds(_tensor, st.binary(max_size=40), st.lists(st.floats(width=32), max_size=3)),
        st.builds(_list, st.lists(st.binary(max_size=5)), st.lists(NUMBERS), st.lists(TEXTS)),
        st.just(AttrValue()),
    )
    calls = st.builds(_call, TEXTS, st.dictionaries(TEXTS, flat, max_size=3))
    return flat | calls


def _shape(dims: list[tuple[int, str]], unknown_rank: bool) -> AttrValue:
    value = AttrValue()
    value.shape.unknown_rank = unknown_rank
    for size, name in dims:
        value.shape.dim.add(size=size, name=name)
    return value


def _tensor(content: bytes, numbers: list[float]) -> AttrValue:
    value = AttrValue()
    value.tensor.tensor_content = content
    value.tensor.float_val.extend(numbers)
    value.tensor.double_val.extend(numbers)
    value.tensor.string_val.append(content)
    return value


def _list(strings: list[bytes], numbers: list[int], names: list[str]) -> AttrValue:
    value = AttrValue()
    value.list.s.extend(strings)
    value.list.i.extend(numbers)
    for name in names:
        value.list.func.add(name=name)
        value.list.shape.add().dim.add(name=name)
    return value


def _call(name: str, attributes: dict[str, AttrValue]) -> AttrValue:
    value = AttrValue()
    value.func.name = name
    for key, attribute in attributes.items():
        value.func.attr[key].CopyFrom(attribute)
    return value


@st.composite
def nodes(draw: st.DrawFn) -> NodeDef:
    node = NodeDef(
        name=draw(TEXTS),
        op=draw(TEXTS),
        input=draw(st.lists(TEXTS, max_size=4)),
        device=draw(TEXTS),
    )
    for key, value in draw(st.dictionaries(TEXTS, values(), max_size=4)).items():
        node.attr[key].CopyFrom(value)
    if draw(st.booleans()):
        node.experimental_debug_info.original_node_names.extend(draw(st.lists(TEXTS, max_size=2)))
    if draw(st.booleans()):
        node.experimental_type.type_id = draw(st.sampled_from([0, 3, 1000, 77]))
        node.experimental_type.args.add(s=draw(TEXTS))
    return node


@st.composite
def functions(draw: st.DrawFn) -> FunctionDef:
    function = FunctionDef(node_def=draw(st.lists(nodes(), max_size=3)))
    function.signature.name = draw(TEXTS)
    function.signature.input_arg.add(name=draw(TEXTS), type=draw(st.sampled_from([1, 9])))
    for key, value in draw(st.dictionaries(TEXTS, TEXTS, max_size=2)).items():
        function.ret[key] = value
    for key, attribute in draw(st.dictionaries(TEXTS, values(), max_size=2)).items():
        function.attr[key].CopyFrom(attribute)
        function.arg_attr[len(key)].attr[key].CopyFrom(attribute)
    function.resource_arg_unique_id[3] = 4
    return function


@st.composite
def graphs(draw: st.DrawFn) -> GraphDef:
    graph = GraphDef(node=draw(st.lists(nodes(), max_size=5)))
    graph.library.function.extend(draw(st.lists(functions(), max_size=2)))
    if draw(st.booleans()):
        graph.versions.producer = draw(NUMBERS)
        graph.versions.bad_consumers.extend(draw(st.lists(NUMBERS, max_size=2)))
    if draw(st.booleans()):
        graph.debug_info.files.append(draw(TEXTS))
        graph.debug_info.traces[draw(TEXTS)].file_line_cols.add(line=3)
        graph.debug_info.name_to_trace_id[draw(TEXTS)] = 2**64 - 1
    return graph


PROPERTY = settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow])


@PROPERTY
@given(graph=graphs())
def test_a_graph_is_printed_as_protobuf_does(graph: GraphDef) -> None:
    """The text is protobuf's, and parses back to the same graph."""
    data = graph.SerializeToString()
    assert is_valid(GraphDef, data)

    found = printed(data)

    assert found == expected(graph)
    # Compare texts, because NaN != NaN.
    assert expected(text_format.Parse(found, GraphDef())) == found


@PROPERTY
@given(graph=graphs(), others=graphs())
def test_fields_may_stand_in_any_order(graph: GraphDef, others: GraphDef) -> None:
    """Two concatenated messages are one: lists are joined, everything else is merged."""
    data = others.SerializeToString() + graph.SerializeToString()

    assert printed(data) == expected(GraphDef.FromString(data))


@PROPERTY
@given(graph=graphs(), max_bytes=st.integers(1, 60))
def test_large_attributes_are_omitted(graph: GraphDef, max_bytes: int) -> None:
    """Those of the graph's own nodes whose serialized value exceeds the limit."""
    limit = Limit(max_bytes, "_too_large")
    data = graph.SerializeToString()
    for node in graph.node:
        large = sorted(key for key in node.attr if node.attr[key].ByteSize() > max_bytes)
        for key in large:
            del node.attr[key]
        if large:
            node.attr["_too_large"].list.s.extend(key.encode() for key in large)

    assert printed(data, limit) == expected(graph)


@PROPERTY
@given(graph=graphs())
def test_the_text_can_be_parsed_line_by_line(graph: GraphDef) -> None:
    """Each line is `name {`, `}` or `name: value`, and the last one has a line end, too."""
    found = printed(graph.SerializeToString())

    depth = 0
    # Not splitlines(), which also splits at Unicode's line separators. Names may contain those.
    for line in found.removesuffix("\n").split("\n") if found else ():
        if line.endswith("{"):
            assert re.fullmatch(r" *\w+ \{", line)
            assert line.startswith(" " * 2 * depth)
            depth += 1
        elif line.endswith("}"):
            depth -= 1
            assert line == " " * 2 * depth + "}"
        else:
            assert re.fullmatch(r' *\w+: ("[^\n]*"|[^\s"]+)', line)
    assert depth == 0
    assert not found or found.endswith("\n")


def test_an_example_of_omitted_attributes() -> None:
    """Node B has one small attribute, and two that are too large."""
    graph = GraphDef()
    graph.node.add(name="A", op="Input")
    b = graph.node.add(name="B", op="Input")
    b.attr["small_attr"].s = b"some string"
    b.attr["b"].s = b"b" * 1025
    b.attr["a"].tensor.tensor_content = b"a" * 2000
    graph.node.add(name="C", op="MatMul", input=["A", "B"])

    assert (
        printed(graph.SerializeToString(), Limit(1024, "_too_large"))
        == """\
node {
  name: "A"
  op: "Input"
}
node {
  name: "B"
  op: "Input"
  attr {
    key: "_too_large"
    value {
      list {
        s: "a"
        s: "b"
      }
    }
  }
  attr {
    key: "small_attr"
    value {
      s: "some string"
    }
  }
}
node {
  name: "C"
  op: "MatMul"
  input: "A"
  input: "B"
}
"""
    )


def test_an_attribute_exactly_as_large_as_the_limit_is_kept() -> None:
    """The size is that of the serialized value; one byte more is too much."""
    graph = GraphDef()
    graph.node.add().attr["s"].s = b"x" * 10
    size = graph.node[0].attr["s"].ByteSize()
    data = graph.SerializeToString()

    assert printed(data, Limit(size, "large")) == expected(graph)
    assert 's: "s"' in printed(data, Limit(size - 1, "large"))


def test_keys_of_omitted_attributes_are_appended_to_an_existing_list() -> None:
    """Provided that the existing attribute is within the limit."""
    graph = GraphDef()
    node = graph.node.add()
    node.attr["large"].list.s.append(b"before")
    node.attr["a"].s = b"x" * 100

    found = text_format.Parse(printed(graph.SerializeToString(), Limit(20, "large")), GraphDef())

    assert found.node[0].attr["large"].list.s == [b"before", b"a"]


@pytest.mark.parametrize("size", [0, 1, 255, (1 << 16) - 1, 1 << 16, (1 << 16) + 1, 200_000])
def test_every_byte_is_escaped_as_protobuf_does(size: int) -> None:
    """Short and long bytes fields take different code paths."""
    graph = GraphDef()
    content = (bytes(range(256)) * (size // 256 + 1))[:size]
    graph.node.add(name="x").attr["value"].tensor.tensor_content = content

    assert b"".join(graph_text(graph.SerializeToString())).decode() == expected(graph)


def test_long_text_comes_in_chunks() -> None:
    """No chunk is more than a few times CHUNK_BYTES."""
    graph = GraphDef(node=[NodeDef(name=f"n{i}", op="Const") for i in range(20_000)])
    graph.node.add().attr["value"].tensor.tensor_content = b"\0" * 500_000

    chunks = list(graph_text(graph.SerializeToString()))

    assert b"".join(chunks).decode() == expected(graph)
    assert max(map(len, chunks)) <= 5 * text.CHUNK_BYTES


def test_run_metadata_is_printed_as_protobuf_does() -> None:
    """All its fields, nested messages and maps included."""
    metadata = RunMetadata()
    device = metadata.step_stats.dev_stats.add(device="/cpu:0")
    device.thread_names[7] = "seven"
    for index in range(50):
        stats = device.node_stats.add(node_name=f"n{index}", all_end_rel_micros=index)
        stats.memory.add(allocator_name="cpu", total_bytes=2**40)
        stats.output.add(slot=1).tensor_description.shape.dim.add(size=-1)
    metadata.partition_graphs.add().node.add(name="x")
    metadata.cost_graph.node.add(name="x", compute_cost=3)

    data = metadata.SerializeToString()

    assert is_valid(RunMetadata, data)
    found = in_parts(lambda: b"".join(message_text(RunMetadata, data)).decode())
    assert found == expected(metadata)


def test_unknown_fields_are_not_printed() -> None:
    """Protobuf does not print them by default either."""
    graph = GraphDef(node=[NodeDef(name="a" * 50)])
    unknown = b"\xfa\x3e\x03abc"

    assert printed(graph.SerializeToString() + unknown) == expected(graph)


def _start_of(graph: GraphDef, size: int) -> bytes:
    return graph.SerializeToString()[:size]


@PROPERTY
@given(data=st.binary(max_size=60) | st.builds(_start_of, graphs(), st.integers(0, 80)))
def test_invalid_bytes_are_rejected(data: bytes) -> None:
    """Bytes that protobuf rejects are rejected; all others are printed as protobuf does."""
    graph: Any = None
    try:
        graph = GraphDef.FromString(data)
    except Exception:
        assert not is_valid(GraphDef, data)
        return
    # Groups are rejected, although protobuf skips them: no message of a graph has any.
    if is_valid(GraphDef, data):
        assert printed(data) == expected(graph)
