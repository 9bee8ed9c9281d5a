"""Costs: time, memory and devices of a graph's nodes, summed over the nodes below each entry."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tbcore_graphs.columns import GraphColumns
from tbcore_graphs.profile import Cost
from tbcore_graphs.tree import Tree


class DevicePlacement(NamedTuple):
    """The device of each of N nodes, and the device range below each of S + N entries, see Tree."""

    node: NDArray[np.int32]
    """N codes, indices into `names`."""
    names: list[str]
    """Device names; names[0] is "", for nodes without a device."""
    lowest: NDArray[np.int32]
    """S + N: the lowest code below each entry, ignoring nodes without a device."""
    highest: NDArray[np.int32]
    """S + N: the highest code below each entry."""


class CostTotals(NamedTuple):
    """Time and memory from run metadata, summed over the nodes below each of S + N entries."""

    compute_us: NDArray[np.int64]
    """S + N sums of compute time, in microseconds."""
    num_bytes: NDArray[np.int64]
    """S + N sums of requested memory, in bytes."""
    num_nodes: NDArray[np.int64]
    """S + N counts of the nodes that have a cost."""
    devices: DevicePlacement
    """The device on which each node ran, or the device in the graph if the metadata has none."""

    @property
    def size(self) -> int:
        """Estimated memory of this object, in bytes."""
        sums = self.compute_us.nbytes + self.num_bytes.nbytes + self.num_nodes.nbytes
        _, names, lowest, highest = self.devices
        # `highest` counts twice, since `node` is at most as large.
        return sums + lowest.nbytes + 2 * highest.nbytes + 200 * len(names)

    def cost_of(self, entry: int) -> Cost | None:
        """The total cost of an entry; None if none of its nodes has a cost."""
        if not self.num_nodes[entry]:
            return None
        return Cost(int(self.compute_us[entry]), int(self.num_bytes[entry]))


def cost_totals(columns: GraphColumns, tree: Tree, costs: Mapping[str, Cost]) -> CostTotals:
    """The total costs of all entries; `costs` maps the name of each node to its own cost.

    Names that no node has are ignored.
    """
    values = np.zeros((3, len(columns.names)), np.int64)
    device = columns.device.copy()
    device_codes = {text: code for code, text in enumerate(columns.devices)}
    # Clipped so that no sum overflows int64, whatever the log contains.
    max_value = 2**62 // max(len(columns.names), 1)
    for name, cost in costs.items():
        node = columns.index.get(name)
        if node is not None:
            values[0, node] = min(cost.compute_us, max_value)
            values[1, node] = min(cost.num_bytes, max_value)
            values[2, node] = 1
            if cost.device:
                device[node] = device_codes.setdefault(cost.device, len(device_codes))
    compute_us, num_bytes, num_nodes = (tree.subtree_sums(row) for row in values)
    placement = device_placement(tree, device, list(device_codes))
    return CostTotals(compute_us, num_bytes, num_nodes, placement)


def device_placement(tree: Tree, device: NDArray[np.int32], names: list[str]) -> DevicePlacement:
    """The devices of all entries, from the N codes of the nodes; see `DevicePlacement.node`."""
    # Code 0, which means no device, must not count as the lowest: many nodes never run, and a
    # scope should still get the device that its other nodes share.
    lowest = np.where(device == 0, np.iinfo(np.int32).max, device)
    return DevicePlacement(device, names, *tree.subtree_extremes(lowest, device))


def cost_json(costs: CostTotals | None, entry: int) -> dict[str, Any]:
    """The total cost of an entry as JSON data, with null if it is not known."""
    cost = costs.cost_of(entry) if costs is not None else None
    return {
        "compute_us": cost.compute_us if cost else None,
        "bytes": cost.num_bytes if cost else None,
    }
