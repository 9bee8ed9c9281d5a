"""Serialized graphs and run metadata, in the form that TensorFlow logs.

The messages are TensorFlow's GraphDef and RunMetadata; comments name their fields.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tbcore_testing.wire import bytes_field, varint_field


class Node(NamedTuple):
    """An operation of a graph."""

    name: str
    """The name with its scopes, separated by slashes."""
    op: str
    inputs: Sequence[str] = ()
    """`name` of another node, `name:1` for its second output, `^name` for a control dependency."""
    shape: Sequence[int] | None = None
    """Shape of the output, with -1 for an unknown dimension; None to leave the shape out."""
    device: str = ""


class NodeStats(NamedTuple):
    """Time and memory that one operation takes in one execution of the graph."""

    name: str
    start: int
    """When the operation started, in microseconds since the epoch."""
    duration: int
    """Duration in microseconds."""
    num_bytes: int
    """Memory that the operation allocated."""


def graph_def(nodes: Iterable[Node]) -> bytes:
    """A serialized GraphDef, for `EventFileWriter.add_graph`."""
    return b"".join(bytes_field(1, _node(node)) for node in nodes)  # GraphDef.node


def run_metadata(stats: Iterable[NodeStats], *, device: str = "/device:CPU:0") -> bytes:
    """A serialized RunMetadata, for `EventFileWriter.add_run_metadata`."""
    encoded = b"".join(
        bytes_field(
            2,  # DeviceStepStats.node_stats
            bytes_field(1, one.name)  # node_name
            + varint_field(2, one.start)  # all_start_micros
            + varint_field(4, one.duration)  # op_end_rel_micros
            + varint_field(5, one.duration)  # all_end_rel_micros
            # memory, an AllocatorMemoryUsed with allocator_name and total_bytes
            + bytes_field(6, bytes_field(1, "cpu") + varint_field(2, one.num_bytes)),
        )
        for one in stats
    )
    device_stats = bytes_field(1, device) + encoded  # DeviceStepStats.device
    return bytes_field(1, bytes_field(1, device_stats))  # RunMetadata.step_stats.dev_stats


def _node(node: Node) -> bytes:
    parts = [bytes_field(1, node.name), bytes_field(2, node.op)]  # NodeDef.name, .op
    parts += [bytes_field(3, name) for name in node.inputs]  # .input
    if node.device:
        parts.append(bytes_field(4, node.device))  # .device
    if node.shape is not None:
        # TensorShapeProto.dim.size; -1 is encoded as an unsigned number of 64 bits.
        dims = [bytes_field(2, varint_field(1, size % (1 << 64))) for size in node.shape]
        # AttrValue.list.shape: a shape for each output.
        shapes = bytes_field(1, bytes_field(7, b"".join(dims)))
        # NodeDef.attr: a message with the key and the value of one entry of the map.
        parts.append(bytes_field(5, bytes_field(1, "_output_shapes") + bytes_field(2, shapes)))
    return b"".join(parts)
