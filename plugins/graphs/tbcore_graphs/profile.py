"""Profile: what the nodes of a graph took while it ran once, from run metadata."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from tbcore_graphs import wire
from tbcore_graphs.proto.run_metadata_pb2 import DeviceStepStats, NodeExecStats


class Cost(NamedTuple):
    """What a node took; of all its runs together when it ran several times."""

    compute_us: int
    """Microseconds from its start to its end."""
    num_bytes: int
    """What it asked its allocators for."""
    device: str = ""
    """Where it ran last; empty where that is not said."""


def costs(data: bytes) -> dict[str, Cost]:
    """Name of a node to its cost, from a serialized RunMetadata.

    Raises DecodeError where the bytes are none.
    """
    found: dict[str, Cost] = {}
    for steps in _messages(data, _STEP_STATS, 0, len(data)):
        for place in _messages(data, _DEV_STATS, steps.content, steps.end):
            names = list(_messages(data, _DEVICE, place.content, place.end))
            device = (
                data[names[-1].content : names[-1].end].decode(errors="replace") if names else ""
            )
            for part in wire.parts(DeviceStepStats, data, place.content, place.end):
                message = wire.decode(part.type, data[part.start : part.end])
                for stats in _node_stats(message):
                    before = found.get(stats.node_name, _NOTHING)
                    found[stats.node_name] = Cost(
                        before.compute_us + max(stats.all_end_rel_micros, 0),
                        before.num_bytes + sum(max(used.total_bytes, 0) for used in stats.memory),
                        device or before.device,
                    )
    return found


_NOTHING = Cost(0, 0)
_STEP_STATS = 1
_DEV_STATS = 1
_DEVICE = 1
"""Numbers of fields."""


def _messages(data: bytes, number: int, start: int, end: int) -> Iterator[wire.Field]:
    """The fields with this number that hold a message, or a text."""
    for field in wire.fields(data, start, end):
        if field.number == number and field.wire_type == wire.LENGTH_DELIMITED:
            yield field


def _node_stats(message: Any) -> Iterable[NodeExecStats]:
    """Of what is known of a device, or of a part of that."""
    match message:
        case DeviceStepStats():
            return message.node_stats
        case NodeExecStats():
            return [message]
    return []
