"""Profile: what the nodes of a graph took while it ran once, from run metadata."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from tbcore_graphs import wire
from tbcore_graphs.proto.run_metadata_pb2 import (
    DeviceStepStats,
    NodeExecStats,
    RunMetadata,
    StepStats,
)


class Cost(NamedTuple):
    """What a node took; of all its runs together when it ran several times."""

    compute_us: int
    """Microseconds from its start to its end."""
    num_bytes: int
    """What it asked its allocators for."""


def costs(data: bytes) -> dict[str, Cost]:
    """Name of a node to its cost, from a serialized RunMetadata.

    Raises DecodeError where the bytes are none.
    """
    found: dict[str, Cost] = {}
    for part in wire.parts(RunMetadata, data):
        message = wire.decode(part.type, data[part.start : part.end])
        for stats in _node_stats(message):
            before = found.get(stats.node_name, _NOTHING)
            found[stats.node_name] = Cost(
                before.compute_us + max(stats.all_end_rel_micros, 0),
                before.num_bytes + sum(max(used.total_bytes, 0) for used in stats.memory),
            )
    return found


_NOTHING = Cost(0, 0)


def _node_stats(message: Any) -> Iterator[NodeExecStats]:
    """Of a RunMetadata, or of a part of one; not of what else one may contain."""
    match message:
        case RunMetadata():
            yield from _node_stats(message.step_stats)
        case StepStats():
            for device in message.dev_stats:
                yield from device.node_stats
        case DeviceStepStats():
            yield from message.node_stats
        case NodeExecStats():
            yield message
