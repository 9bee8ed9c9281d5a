"""Columns: the nodes and edges of a graph as arrays, for work on all of them at once.

Attributes are not stored here. Each node has the byte range of its message in the serialized graph,
from which they are decoded when needed.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain

import numpy as np
from google.protobuf.message import Message
from numpy.typing import NDArray

from tbcore_graphs import wire
from tbcore_graphs.proto.attr_value_pb2 import AttrValue
from tbcore_graphs.proto.graph_pb2 import FunctionDef, GraphDef, NodeDef
from tbcore_graphs.proto.tensor_pb2 import TensorShapeProto

UNKNOWN_OUTPUT = -1
"""Output index of an input that names an output by a word; this occurs inside functions."""

_NODE = 1
"""Field number of `node` in GraphDef."""
_LIBRARY = 2
"""Field number of `library` in GraphDef."""
_FUNCTION = 1
"""Field number of `function` in FunctionDefLibrary."""
_FUNCTION_NODE = 3
"""Field number of `node_def` in FunctionDef."""
_SHAPES = "_output_shapes"
"""Attribute with the shapes of a node's outputs, if the writer inferred them."""
_NO_SPAN = (-1, -1)
_NO_NAME = "(no name)"


@dataclass(frozen=True, slots=True)
class GraphColumns:
    """A graph with N nodes and E edges. *Codes* are indices into a list of distinct texts."""

    names: list[str]
    """N unique names. A second `x` becomes `x (2)`. No name is empty: "" stands for the graph."""
    op: NDArray[np.int32]
    """N codes, indices into `ops`."""
    ops: list[str]
    device: NDArray[np.int32]
    """N codes, indices into `devices`; 0 means no device."""
    devices: list[str]
    start: NDArray[np.int64]
    """N offsets of the nodes' messages in the serialized graph; -1 for nodes without a message."""
    end: NDArray[np.int64]
    """N offsets after the nodes' messages; -1 for nodes without a message."""
    source: NDArray[np.int32]
    """E indices into `names`: the node that each edge starts from.

    An input that names a missing node has no edge.
    """
    target: NDArray[np.int32]
    """E indices into `names`, ascending: the node that each edge leads to.

    Edges into the same node are in the order of its inputs.
    """
    output: NDArray[np.int32]
    """E indices: which output of `source` the edge starts from; UNKNOWN_OUTPUT if not a number."""
    control: NDArray[np.bool_]
    """E: whether the edge is a control edge, which carries no tensor and only sets the order."""
    shape: NDArray[np.int32]
    """E codes, indices into `shapes`; 0 means unknown."""
    shapes: list[str]
    functions: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Maps each library function's name to its message's (start, end) in the serialized graph."""
    index: dict[str, int] = field(default_factory=dict)
    """Maps each node's name, both the logged and the unique one, to the node's index in `names`."""

    @property
    def num_bytes(self) -> int:
        """Estimated memory of this object, in bytes."""
        texts = sum(map(len, self.names)) + 200 * len(self.names)
        return texts + 24 * len(self.names) + 17 * len(self.source) + 200 * len(self.functions)


def columns_of(data: bytes) -> GraphColumns:
    """The columns of a serialized GraphDef. Raises DecodeError if the bytes are not a GraphDef."""
    builder = _ColumnsBuilder()
    other_fields = builder.add_all(GraphDef, data, 0, len(data))
    return builder.columns(_spans_in_libraries(data, other_fields))


def function_spans(data: bytes) -> dict[str, tuple[int, int]]:
    """Maps the name of each function in a serialized GraphDef to its message's (start, end).

    Raises DecodeError if the bytes are not a GraphDef.
    """
    return _spans_in_libraries(data, wire.fields(data))


def columns_of_function(data: bytes, start: int, end: int) -> GraphColumns:
    """The columns of the FunctionDef in `data[start:end]` of a serialized graph.

    The function's arguments and results become nodes with the ops `input_arg` and `output_arg`.
    """
    builder = _ColumnsBuilder()
    without_nodes = [
        data[message_field.start : message_field.end]
        for message_field in wire.fields(data, start, end)
        if message_field.number != _FUNCTION_NODE
    ]
    function = wire.decode(FunctionDef, b"".join(without_nodes))
    for argument in function.signature.input_arg:
        builder.add([NodeDef(name=argument.name, op="input_arg")], [_NO_SPAN])
    builder.add_all(FunctionDef, data, start, end)
    for argument in function.signature.output_arg:
        returned = function.ret.get(argument.name)
        inputs = [] if returned is None else [returned]
        builder.add([NodeDef(name=argument.name, op="output_arg", input=inputs)], [_NO_SPAN])
    return builder.columns({})


def resolve_input(index: dict[str, int], text: str) -> tuple[int, int, bool]:
    """What an input names: node index (-1 if missing), output index, and whether it is a control.

    An input is `node`, `node:1` or, for control, `^node`; inside functions also `node:output:1`.
    """
    node = index.get(text)
    if node is not None:
        return node, 0, False
    if text.startswith("^"):
        return index.get(text[1:], -1), 0, True
    name, _, output = text.rpartition(":")
    if name in index and output.isdecimal():
        return index[name], min(int(output[:9]), 2**31 - 1), False
    return index.get(text.partition(":")[0], -1), UNKNOWN_OUTPUT, False


def shape_text(shape: TensorShapeProto) -> str:
    """A shape as short text: `?x784`, `scalar` for no dimensions, `?` for an unknown rank."""
    if shape.unknown_rank:
        return "?"
    sizes = ["?" if dim.size < 0 else str(dim.size) for dim in shape.dim]
    return "x".join(sizes) or "scalar"


class _ColumnsBuilder:
    """Collects nodes and makes GraphColumns of them.

    Numbers are collected in `array.array`, which numpy can use without a copy. Converting and
    freeing a list of a million numbers would hold the GIL for too long.
    """

    def __init__(self) -> None:
        self._names: list[str] = []
        self._ops: dict[str, int] = {}
        self._devices: dict[str, int] = {"": 0}
        self._shapes: dict[str, int] = {"": 0}
        self._op, self._device = array("i"), array("i")
        self._spans = array("q")
        """Start and end of each node's message, alternating."""
        self._inputs: list[str] = []
        self._num_inputs = array("i")
        self._codes_of_lists: dict[bytes, list[int]] = {}
        """Maps a serialized list of shapes to the shapes' codes. Many nodes have the same list."""
        self._shape_codes = array("i")
        """Shape codes of all outputs of the first node, then of the second, and so on."""
        self._num_outputs = array("i")
        """Number of shape codes of each node."""

    def add(self, nodes: Sequence[NodeDef], spans: Iterable[tuple[int, int]]) -> None:
        """Adds nodes, with the (start, end) of their messages in the serialized graph."""
        ops, devices = self._ops, self._devices
        self._names += [node.name for node in nodes]
        self._op.extend(ops.setdefault(node.op, len(ops)) for node in nodes)
        self._device.extend(devices.setdefault(node.device, len(devices)) for node in nodes)
        self._spans.extend(chain.from_iterable(spans))
        inputs = [node.input for node in nodes]
        self._inputs += chain.from_iterable(inputs)
        self._num_inputs.extend(map(len, inputs))
        shapes = [
            self._shape_codes_of(node.attr[_SHAPES]) if _SHAPES in node.attr else ()
            for node in nodes
        ]
        self._shape_codes.extend(chain.from_iterable(shapes))
        self._num_outputs.extend(map(len, shapes))

    def add_all(
        self, message_type: type[Message], data: bytes, start: int, end: int
    ) -> list[wire.MessageField]:
        """Adds the nodes of a serialized GraphDef or FunctionDef; returns all other fields.

        Nodes are decoded in batches of about `wire.PART_BYTES`, so that other threads can run in
        between.
        """
        node_number = _NODE if message_type is GraphDef else _FUNCTION_NODE
        batch: list[wire.MessageField] = []
        other_fields: list[wire.MessageField] = []
        for message_field in wire.fields(data, start, end):
            if (
                message_field.number != node_number
                or message_field.wire_type != wire.LENGTH_DELIMITED
            ):
                other_fields.append(message_field)
                continue
            # A batch is decoded as one slice of the data, so there must be no gaps between fields.
            if batch and (
                batch[-1].end != message_field.start
                or message_field.end - batch[0].start > wire.PART_BYTES
            ):
                self._add_batch(message_type, data, batch)
                batch = []
            batch.append(message_field)
        if batch:
            self._add_batch(message_type, data, batch)
        return other_fields

    def _add_batch(
        self, message_type: type[Message], data: bytes, batch: list[wire.MessageField]
    ) -> None:
        message = wire.decode(message_type, data[batch[0].start : batch[-1].end])
        nodes = message.node if message_type is GraphDef else message.node_def
        self.add(nodes, [(message_field.content, message_field.end) for message_field in batch])

    def columns(self, functions: dict[str, tuple[int, int]]) -> GraphColumns:
        """The columns of all nodes added so far."""
        # 1. Resolve each input to a source node and output.
        # 2. Drop inputs that name a missing node: they have no edge.
        # 3. Repeat each node's index once per input, as the edges' targets.
        index = self._unique_names()
        source, output, control = _resolve_inputs(index, self._inputs)  # 1
        is_edge = source >= 0  # 2
        source, output, control = source[is_edge], output[is_edge], control[is_edge]
        num_inputs = np.frombuffer(self._num_inputs, np.int32)
        spans = np.frombuffer(self._spans, np.int64).reshape(-1, 2)
        # 3
        target = np.repeat(np.arange(len(num_inputs), dtype=np.int32), num_inputs)[is_edge]
        return GraphColumns(
            names=self._names,
            op=np.frombuffer(self._op, np.int32),
            ops=list(self._ops),
            device=np.frombuffer(self._device, np.int32),
            devices=list(self._devices),
            start=spans[:, 0],
            end=spans[:, 1],
            source=source,
            target=target,
            output=output,
            control=control,
            shape=self._edge_shapes(source, output, control),
            shapes=list(self._shapes),
            functions=functions,
            index=index,
        )

    def _unique_names(self) -> dict[str, int]:
        """Renames nodes with an empty or repeated name; returns `GraphColumns.index`.

        The logged names stay in the index, for the inputs that use the logged names.
        """
        index: dict[str, int] = {}
        to_rename = [
            node
            for node, name in enumerate(self._names)
            if index.setdefault(name, node) != node or not name
        ]
        counts: dict[str, int] = {}
        for node in to_rename:
            name = self._names[node] or _NO_NAME
            unique_name = name
            while unique_name in index:
                counts[name] = counts.get(name, 1) + 1
                unique_name = f"{name} ({counts[name]})"
            self._names[node] = unique_name
            index[unique_name] = node
        return index

    def _shape_codes_of(self, value: AttrValue) -> list[int]:
        """One code for each shape in the attribute _SHAPES."""
        # The same few lists of shapes occur thousands of times in a graph: format each once.
        key = value.SerializeToString()
        codes = self._codes_of_lists.get(key)
        if codes is None:
            texts = [shape_text(shape) for shape in value.list.shape]
            codes = [self._shapes.setdefault(text, len(self._shapes)) for text in texts]
            self._codes_of_lists[key] = codes
        return codes

    def _edge_shapes(
        self, source: NDArray[np.int32], output: NDArray[np.int32], control: NDArray[np.bool_]
    ) -> NDArray[np.int32]:
        """E shape codes. The parameters are columns of `GraphColumns`, for all E edges."""
        # 1. Find where each node's shape codes begin.
        # 2. Take output 0 where the index is unknown but the node has only one output.
        # 3. Look up the shape of every data edge whose output has a shape; use 0 for other edges.
        codes = np.frombuffer(self._shape_codes, np.int32)
        counts = np.frombuffer(self._num_outputs, np.int32)
        first = np.cumsum(counts) - counts  # 1
        output = np.where((output == UNKNOWN_OUTPUT) & (counts[source] == 1), 0, output)  # 2
        has_shape = ~control & (output >= 0) & (output < counts[source])  # 3
        shape = np.zeros(len(source), np.int32)
        shape[has_shape] = codes[(first[source] + output)[has_shape]]
        return shape


def _resolve_inputs(
    index: dict[str, int], inputs: Sequence[str]
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.bool_]]:
    """The columns `source` (-1 if missing), `output` and `control`, with one row for each input."""
    # Nearly all inputs are the plain name of a node. Only other inputs need `resolve_input`.
    source = np.fromiter((index.get(text, -1) for text in inputs), np.int32, len(inputs))
    output = np.zeros(len(inputs), np.int32)
    control = np.zeros(len(inputs), bool)
    for i in np.flatnonzero(source < 0).tolist():
        source[i], output[i], control[i] = resolve_input(index, inputs[i])
    return source, output, control


def _spans_in_libraries(
    data: bytes, fields: Iterable[wire.MessageField]
) -> dict[str, tuple[int, int]]:
    """Maps the name of each library function to its message's (start, end) in `data`.

    `fields` are the fields of the GraphDef; only libraries are used.
    """
    functions = {}
    for library in fields:
        if library.number != _LIBRARY or library.wire_type != wire.LENGTH_DELIMITED:
            continue
        for message_field in wire.fields(data, library.content, library.end):
            if (
                message_field.number != _FUNCTION
                or message_field.wire_type != wire.LENGTH_DELIMITED
            ):
                continue
            signature = b"".join(
                data[inner.start : inner.end]
                for inner in wire.fields(data, message_field.content, message_field.end)
                if inner.number == 1
            )
            name = wire.decode(FunctionDef, signature).signature.name
            functions[name] = message_field.content, message_field.end
    return functions
