"""Columns: the nodes and edges of a graph as arrays, for questions about all of them at once.

Attributes stay in the file: of each node it is known where it stands in the serialized graph.
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

UNKNOWN = -1
"""The output of a node that an input inside a function names in words."""

_NODE = 1
_LIBRARY = 2
_FUNCTION = 1
_FUNCTION_NODE = 3
"""Numbers of fields."""
_SHAPES = "_output_shapes"
_NOWHERE = (-1, -1)
_NO_NAME = "(no name)"


@dataclass(frozen=True, slots=True)
class Columns:
    """A graph of N nodes and E edges. Codes are places in the list of texts of that name."""

    names: list[str]
    """N, all different: a second `x` is `x (2)`. None is empty: that is the name of the whole."""
    op: NDArray[np.int32]
    """N codes."""
    ops: list[str]
    device: NDArray[np.int32]
    """N codes; 0 is no device."""
    devices: list[str]
    start: NDArray[np.int64]
    """N: where the node's message begins in the serialized graph; -1 for what has none."""
    end: NDArray[np.int64]
    source: NDArray[np.int32]
    """E: the node that an edge comes from, as its place in `names`.

    Inputs that name no node are no edges.
    """
    target: NDArray[np.int32]
    """E, in ascending order; the edges of one node are in the order of its inputs."""
    output: NDArray[np.int32]
    """E: which output of `source`; UNKNOWN where that is not a number."""
    control: NDArray[np.bool_]
    """E: whether only the order matters, and nothing flows."""
    shape: NDArray[np.int32]
    """E codes; 0 is not known."""
    shapes: list[str]
    functions: dict[str, tuple[int, int]] = field(default_factory=dict)
    """The name of each function in the library to where its message lies."""
    index: dict[str, int] = field(default_factory=dict)
    """Name in the log to the node."""

    @property
    def num_bytes(self) -> int:
        """What this needs in memory, roughly."""
        texts = sum(map(len, self.names)) + 200 * len(self.names)
        return texts + 24 * len(self.names) + 17 * len(self.source) + 200 * len(self.functions)


def columns_of(data: bytes) -> Columns:
    """The columns of a serialized GraphDef; raises DecodeError where the bytes are none."""
    table = _Table()
    others = table.add_all(GraphDef, data, 0, len(data))
    return table.columns(_functions(data, others))


def functions_of(data: bytes) -> dict[str, tuple[int, int]]:
    """The name of each function in the library of a serialized GraphDef to where its message lies.

    Raises DecodeError where the bytes are none.
    """
    return _functions(data, wire.fields(data))


def columns_of_function(data: bytes, start: int, end: int) -> Columns:
    """The same of a function in the library, which is in `data[start:end]`.

    What it takes and returns become nodes too, with the ops `input_arg` and `output_arg`.
    """
    table = _Table()
    rest = [
        data[found.start : found.end]
        for found in wire.fields(data, start, end)
        if found.number != _FUNCTION_NODE
    ]
    function = wire.decode(FunctionDef, b"".join(rest))
    for argument in function.signature.input_arg:
        table.add([NodeDef(name=argument.name, op="input_arg")], [_NOWHERE])
    table.add_all(FunctionDef, data, start, end)
    for argument in function.signature.output_arg:
        returned = function.ret.get(argument.name)
        inputs = [] if returned is None else [returned]
        table.add([NodeDef(name=argument.name, op="output_arg", input=inputs)], [_NOWHERE])
    return table.columns({})


def resolve(index: dict[str, int], text: str) -> tuple[int, int, bool]:
    """The node that an input names (-1 if there is none), its output, and whether it is control.

    Inputs are `node`, `node:1` or `^node`, inside functions also `node:output:1`.
    """
    node = index.get(text)
    if node is not None:
        return node, 0, False
    if text.startswith("^"):
        return index.get(text[1:], -1), 0, True
    name, _, output = text.rpartition(":")
    if name in index and output.isdecimal():
        return index[name], min(int(output[:9]), 2**31 - 1), False
    return index.get(text.partition(":")[0], -1), UNKNOWN, False


def shape_text(shape: TensorShapeProto) -> str:
    """Such as `?x784`; `scalar` without any dimension, `?` when not even their number is known."""
    if shape.unknown_rank:
        return "?"
    sizes = ["?" if dim.size < 0 else str(dim.size) for dim in shape.dim]
    return "x".join(sizes) or "scalar"


class _Table:
    """Columns while they grow, as what numpy takes without a copy.

    A list of a million numbers would keep everybody waiting when it becomes an array, and again
    when it is freed.
    """

    def __init__(self) -> None:
        self._names: list[str] = []
        self._ops: dict[str, int] = {}
        self._devices: dict[str, int] = {"": 0}
        self._shapes: dict[str, int] = {"": 0}
        self._op, self._device = array("i"), array("i")
        self._places = array("q")
        """Start and end of each node in turn."""
        self._inputs: list[str] = []
        self._num_inputs = array("i")
        self._outputs: dict[bytes, list[int]] = {}
        """A serialized list of shapes to their codes: many nodes have the same."""
        self._shape_codes = array("i")
        """Of all outputs of all nodes, one after the other."""
        self._num_outputs = array("i")

    def add(self, nodes: Sequence[NodeDef], places: Iterable[tuple[int, int]]) -> None:
        """Adds nodes, and where their messages lie."""
        ops, devices = self._ops, self._devices
        self._names += [node.name for node in nodes]
        self._op.extend(ops.setdefault(node.op, len(ops)) for node in nodes)
        self._device.extend(devices.setdefault(node.device, len(devices)) for node in nodes)
        self._places.extend(chain.from_iterable(places))
        inputs = [node.input for node in nodes]
        self._inputs += chain.from_iterable(inputs)
        self._num_inputs.extend(map(len, inputs))
        shapes = [
            self._codes_of(node.attr[_SHAPES]) if _SHAPES in node.attr else () for node in nodes
        ]
        self._shape_codes.extend(chain.from_iterable(shapes))
        self._num_outputs.extend(map(len, shapes))

    def add_all(
        self, message_type: type[Message], data: bytes, start: int, end: int
    ) -> list[wire.Field]:
        """Adds the nodes of a serialized GraphDef or FunctionDef; returns its other fields.

        The nodes are decoded many at once, but never so many that nobody else gets a turn.
        """
        number = _NODE if message_type is GraphDef else _FUNCTION_NODE
        batch: list[wire.Field] = []
        others: list[wire.Field] = []
        for found in wire.fields(data, start, end):
            if found.number != number or found.wire_type != wire.LENGTH_DELIMITED:
                others.append(found)
                continue
            if batch and (
                batch[-1].end != found.start or found.end - batch[0].start > wire.PART_BYTES
            ):
                self._add_batch(message_type, data, batch)
                batch = []
            batch.append(found)
        if batch:
            self._add_batch(message_type, data, batch)
        return others

    def _add_batch(self, message_type: type[Message], data: bytes, batch: list[wire.Field]) -> None:
        message = wire.decode(message_type, data[batch[0].start : batch[-1].end])
        nodes = message.node if message_type is GraphDef else message.node_def
        self.add(nodes, [(found.content, found.end) for found in batch])

    def columns(self, functions: dict[str, tuple[int, int]]) -> Columns:
        index = self._index()
        source, output, control = _sources(index, self._inputs)
        is_edge = source >= 0
        source, output, control = source[is_edge], output[is_edge], control[is_edge]
        num_inputs = np.frombuffer(self._num_inputs, np.int32)
        places = np.frombuffer(self._places, np.int64).reshape(-1, 2)
        target = np.repeat(np.arange(len(num_inputs), dtype=np.int32), num_inputs)[is_edge]
        return Columns(
            names=self._names,
            op=np.frombuffer(self._op, np.int32),
            ops=list(self._ops),
            device=np.frombuffer(self._device, np.int32),
            devices=list(self._devices),
            start=places[:, 0],
            end=places[:, 1],
            source=source,
            target=target,
            output=output,
            control=control,
            shape=self._shapes_of(source, output, control),
            shapes=list(self._shapes),
            functions=functions,
            index=index,
        )

    def _index(self) -> dict[str, int]:
        """Names to nodes. A second node of one name gets another, and so does one without any."""
        index: dict[str, int] = {}
        again = [
            node
            for node, name in enumerate(self._names)
            if index.setdefault(name, node) != node or not name
        ]
        counts: dict[str, int] = {}
        for node in again:
            name = self._names[node] or _NO_NAME
            shown = name
            while shown in index:
                counts[name] = counts.get(name, 1) + 1
                shown = f"{name} ({counts[name]})"
            self._names[node] = shown
            index[shown] = node
        return index

    def _codes_of(self, value: AttrValue) -> list[int]:
        # Shapes are what is repeated most in a graph: each list is looked at once.
        key = value.SerializeToString()
        codes = self._outputs.get(key)
        if codes is None:
            texts = [shape_text(shape) for shape in value.list.shape]
            codes = [self._shapes.setdefault(text, len(self._shapes)) for text in texts]
            self._outputs[key] = codes
        return codes

    def _shapes_of(
        self, source: NDArray[np.int32], output: NDArray[np.int32], control: NDArray[np.bool_]
    ) -> NDArray[np.int32]:
        codes = np.frombuffer(self._shape_codes, np.int32)
        counts = np.frombuffer(self._num_outputs, np.int32)
        first = np.cumsum(counts) - counts
        # A node that has one output only: no matter what the edge calls it.
        output = np.where((output == UNKNOWN) & (counts[source] == 1), 0, output)
        known = ~control & (output >= 0) & (output < counts[source])
        shape = np.zeros(len(source), np.int32)
        shape[known] = codes[(first[source] + output)[known]]
        return shape


def _sources(
    index: dict[str, int], inputs: Sequence[str]
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.bool_]]:
    """For each input the node (-1 if there is none), its output, whether it is control."""
    # Nearly all inputs are the bare name of a node.
    source = np.fromiter((index.get(text, -1) for text in inputs), np.int32, len(inputs))
    output = np.zeros(len(inputs), np.int32)
    control = np.zeros(len(inputs), bool)
    for place in np.flatnonzero(source < 0).tolist():
        source[place], output[place], control[place] = resolve(index, inputs[place])
    return source, output, control


def _functions(data: bytes, fields: Iterable[wire.Field]) -> dict[str, tuple[int, int]]:
    """Of those in the libraries among the fields of a GraphDef."""
    functions = {}
    for library in fields:
        if library.number != _LIBRARY or library.wire_type != wire.LENGTH_DELIMITED:
            continue
        for found in wire.fields(data, library.content, library.end):
            if found.number != _FUNCTION or found.wire_type != wire.LENGTH_DELIMITED:
                continue
            signature = b"".join(
                data[inner.start : inner.end]
                for inner in wire.fields(data, found.content, found.end)
                if inner.number == 1
            )
            name = wire.decode(FunctionDef, signature).signature.name
            functions[name] = found.content, found.end
    return functions
