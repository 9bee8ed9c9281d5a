"""Graphs as TensorFlow logs them, and what running them took."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tbcore.testing.wire import bytes_field, varint_field


class Node(NamedTuple):
    """An operation of a graph."""

    name: str
    """Scopes are in front, with a slash behind each."""
    op: str
    inputs: Sequence[str] = ()
    """Names of nodes; `name:1` is the second output of one, `^name` only waits for it."""
    shape: Sequence[int] | None = None
    """Of what it puts out; -1 for a dimension that is not known."""
    device: str = ""


class Took(NamedTuple):
    """What one operation took in one run of the graph."""

    name: str
    start: int
    """Microseconds since the epoch."""
    duration: int
    """Microseconds."""
    num_bytes: int


def graph_def(nodes: Iterable[Node]) -> bytes:
    """A serialized GraphDef, for `EventFileWriter.add_graph`."""
    return b"".join(bytes_field(1, _node(node)) for node in nodes)


def run_metadata(took: Iterable[Took], *, device: str = "/device:CPU:0") -> bytes:
    """A serialized RunMetadata, for `EventFileWriter.add_run_metadata`."""
    stats = b"".join(
        bytes_field(
            2,
            bytes_field(1, one.name)
            + varint_field(2, one.start)
            + varint_field(4, one.duration)
            + varint_field(5, one.duration)
            + bytes_field(6, bytes_field(1, "cpu") + varint_field(2, one.num_bytes)),
        )
        for one in took
    )
    return bytes_field(1, bytes_field(1, bytes_field(1, device) + stats))


def _node(node: Node) -> bytes:
    parts = [bytes_field(1, node.name), bytes_field(2, node.op)]
    parts += [bytes_field(3, name) for name in node.inputs]
    if node.device:
        parts.append(bytes_field(4, node.device))
    if node.shape is not None:
        # An attribute with a list of shapes, one for each output.
        dims = [bytes_field(2, varint_field(1, size % (1 << 64))) for size in node.shape]
        shapes = bytes_field(1, bytes_field(7, b"".join(dims)))
        parts.append(bytes_field(5, bytes_field(1, "_output_shapes") + bytes_field(2, shapes)))
    return b"".join(parts)
