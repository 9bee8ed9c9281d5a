"""Merges several graphs into one, each in a scope of its own, so that names stay unique."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tbcore_graphs import wire
from tbcore_graphs.proto.graph_pb2 import FunctionDefLibrary, GraphDef, NodeDef


def merge_graphs(serialized: Sequence[bytes]) -> bytes:
    """A serialized GraphDef with the nodes of all graphs, in scopes `graph_1`, `graph_2` and so on.

    Functions are renamed to `graph_1_<name>`, and their calls are adjusted. All other
    fields, such as the versions, are from the first graph. A single graph is returned unchanged.
    The result is deterministic. Raises DecodeError if one of the inputs is not a GraphDef.
    """
    if len(serialized) == 1:
        return serialized[0]
    merged: list[bytes] = []
    for index, data in enumerate(serialized):
        merged += _move_into_scope(f"graph_{index + 1}", data, with_versions=index == 0)
    return b"".join(merged)


def _move_into_scope(prefix: str, data: bytes, *, with_versions: bool) -> Iterator[bytes]:
    """Yields the fields of a serialized GraphDef, with prefixed names of nodes and functions."""
    nodes, libraries, other_fields = [], [], []
    for field in wire.fields(data):
        content = data[field.content : field.end]
        if field.number == 1 and field.wire_type == wire.LENGTH_DELIMITED:
            nodes.append(content)
        elif field.number == 2 and field.wire_type == wire.LENGTH_DELIMITED:
            libraries.append(content)
        else:
            other_fields.append(data[field.start : field.end])
    library = wire.decode(FunctionDefLibrary, b"".join(libraries))
    functions = {function.signature.name for function in library.function}
    for content in nodes:
        node = wire.decode(NodeDef, content)
        node.name = f"{prefix}/{node.name}"
        node.input[:] = [
            f"^{prefix}/{name[1:]}" if name.startswith("^") else f"{prefix}/{name}"
            for name in node.input
        ]
        _rename_calls([node], prefix, functions)
        yield GraphDef(node=[node]).SerializeToString(deterministic=True)
    for function in library.function:
        function.signature.name = f"{prefix}_{function.signature.name}"
        _rename_calls(function.node_def, prefix, functions)
    for gradient in library.gradient:
        gradient.function_name = f"{prefix}_{gradient.function_name}"
        gradient.gradient_func = f"{prefix}_{gradient.gradient_func}"
    for registered in library.registered_gradients:
        registered.gradient_func = f"{prefix}_{registered.gradient_func}"
    yield GraphDef(library=library).SerializeToString(deterministic=True)
    if with_versions:
        yield from other_fields


def _rename_calls(nodes: Iterable[NodeDef], prefix: str, functions: set[str]) -> None:
    """Adds the prefix to every name in `functions` that occurs in the nodes' ops and attributes."""
    for node in nodes:
        if node.op in functions:
            node.op = f"{prefix}_{node.op}"
        for value in node.attr.values():
            called = [value.func] if value.HasField("func") else value.list.func
            for function in called:
                if function.name in functions:
                    function.name = f"{prefix}_{function.name}"
