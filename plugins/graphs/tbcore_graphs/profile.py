"""Profile: the time and memory that each node took while a graph ran, from run metadata."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from tbcore_graphs import wire
from tbcore_graphs.proto.run_metadata_pb2 import DeviceStepStats, NodeExecStats


class Cost(NamedTuple):
    """Time and memory of one node, summed over all its executions."""

    compute_us: int
    """Microseconds from the node's start to its end."""
    num_bytes: int
    """Bytes that the node requested from its allocators."""
    device: str = ""
    """The device on which the node ran last; empty if the metadata does not give one."""


def read_costs(data: bytes) -> dict[str, Cost]:
    """Maps the name of each node to its cost, read from a serialized RunMetadata.

    Raises DecodeError if the bytes are not a RunMetadata.
    """
    found: dict[str, Cost] = {}
    for steps in _messages(data, _STEP_STATS, 0, len(data)):
        for device_stats in _messages(data, _DEV_STATS, steps.content, steps.end):
            names = list(_messages(data, _DEVICE, device_stats.content, device_stats.end))
            device = (
                data[names[-1].content : names[-1].end].decode(errors="replace") if names else ""
            )
            for part in wire.parts(DeviceStepStats, data, device_stats.content, device_stats.end):
                message = wire.decode(part.type, data[part.start : part.end])
                for stats in _node_stats(message):
                    before = found.get(stats.node_name, _NO_COST)
                    found[stats.node_name] = Cost(
                        before.compute_us + max(stats.all_end_rel_micros, 0),
                        before.num_bytes + sum(max(used.total_bytes, 0) for used in stats.memory),
                        device or before.device,
                    )
    return found


_NO_COST = Cost(0, 0)
_STEP_STATS = 1
"""Field number of `step_stats` in RunMetadata."""
_DEV_STATS = 1
"""Field number of `dev_stats` in StepStats."""
_DEVICE = 1
"""Field number of `device` in DeviceStepStats."""


def _messages(data: bytes, number: int, start: int, end: int) -> Iterator[wire.MessageField]:
    """Yields the fields with this number whose content is a message or a string."""
    for field in wire.fields(data, start, end):
        if field.number == number and field.wire_type == wire.LENGTH_DELIMITED:
            yield field


def _node_stats(message: Any) -> Iterable[NodeExecStats]:
    """The node statistics in one decoded part, whose type depends on where `wire.parts` split."""
    match message:
        case DeviceStepStats():
            return message.node_stats
        case NodeExecStats():
            return [message]
    return []
