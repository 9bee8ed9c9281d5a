"""Edges: the edges of one graph, and what responses contain about them.

An edge has two ends, which appear in a displayed scope as the rows or entries that contain them.
Edges with the same ends are merged and counted.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tbcore_graphs.columns import GraphColumns, resolve_input
from tbcore_graphs.tree import Tree

MAX_LISTED_NEIGHBOURS = 500
"""Maximum number of inputs, and of outputs, that are listed for one node or scope."""

Json = dict[str, Any]


class Edges:
    """The E edges of one graph, sorted by the node that they lead to."""

    def __init__(self, columns: GraphColumns, tree: Tree) -> None:
        self.columns = columns
        self.tree = tree
        self.source_position = tree.node_position[columns.source]
        """E positions in the tree, of the node that each edge starts from."""
        self.target_position = tree.node_position[columns.target]
        """E positions in the tree, of the node that each edge leads to."""

    @cached_property
    def first_into(self) -> list[int]:
        """N + 1 indices i of edges: the edges i[n]:i[n + 1] lead into node n."""
        nodes = np.arange(len(self.columns.names) + 1)
        first: list[int] = np.searchsorted(self.columns.target, nodes).tolist()
        return first

    def of_rows(
        self,
        scope: int,
        children: NDArray[np.int64],
        row_of: NDArray[np.int64],
        limit: int,
    ) -> Json:
        """The edges with at least one end in a displayed row.

        `row_of` has S + N elements: the row that displays each child, or -1.
        """
        # 1. Select the edges with at least one end inside the scope; in a large graph, most have
        #    none.
        # 2. Replace each end by the entry in which it appears, see `_visible_entries`, and by the
        #    row that displays this entry.
        # 3. Select the edges between rows, then the edges into a row, then the edges out of a row,
        #    and merge the edges of each selection.
        tree = self.tree
        first, end = tree.position[scope], tree.position[scope] + tree.size[scope]
        edges = np.flatnonzero(  # 1
            ((self.source_position > first) & (self.source_position < end))
            | ((self.target_position > first) & (self.target_position < end))
        )
        source = self._visible_entries(scope, self.source_position[edges])  # 2
        target = self._visible_entries(scope, self.target_position[edges])
        from_row, to_row = row_of[source], row_of[target]

        is_inner = (from_row >= 0) & (to_row >= 0) & (from_row != to_row)  # 3
        inner = self._merge(from_row[is_inner], to_row[is_inner], edges[is_inner])
        is_in = (from_row < 0) & (to_row >= 0)
        ins = self._merge(to_row[is_in], source[is_in], edges[is_in], limit)
        is_out = (from_row >= 0) & (to_row < 0)
        outs = self._merge(from_row[is_out], target[is_out], edges[is_out], limit)
        return {
            "edges": _rename_ends(inner, "from", "to"),
            "ins": self._with_outside_names(_rename_ends(ins, "child", "outside")),
            "outs": self._with_outside_names(_rename_ends(outs, "child", "outside")),
        }

    def _visible_entries(self, scope: int, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        """The entry in which each node appears while `scope` is displayed.

        A node inside `scope` appears in a child of `scope`. A node outside appears in a child of
        the innermost scope that encloses both. `positions` are those of the nodes.
        """
        tree = self.tree
        found = np.full(len(positions), -1, np.int64)
        # From the root inwards, so that a nearer scope overwrites the result of an outer one.
        for container in [*tree.enclosing_scopes(scope), scope]:
            children = tree.children(container)
            first = tree.position[container]
            below = (positions > first) & (positions < first + tree.size[container])
            child = np.searchsorted(tree.position[children], positions[below], "right") - 1
            found[below] = children[child]
        return found

    def _merge(
        self,
        near: NDArray[np.int64],
        far: NDArray[np.int64],
        edges: NDArray[np.int64],
        limit: int | None = None,
    ) -> Json:
        """Merges edges with the same ends, data and control edges separately, and counts them.

        `near` and `far` are the ends of each of `edges`, as rows or entries. With a limit, only the
        merged edges with the highest counts are returned.
        """
        # 1. Sort the edges, so that edges to be merged follow each other.
        # 2. Find where each group starts, and its size.
        # 3. Test whether all edges of a group have the same shape.
        # 4. With a limit, keep the largest groups, in the order of step 1.
        columns = self.columns
        control = columns.control[edges]
        order = np.lexsort((control, far, near))  # 1
        near, far, control = near[order], far[order], control[order]
        shape = columns.shape[edges][order]
        is_new = np.ones(len(order), bool)  # 2
        is_new[1:] = (near[1:] != near[:-1]) | (far[1:] != far[:-1]) | (control[1:] != control[:-1])
        starts = np.flatnonzero(is_new)
        count = np.diff(starts, append=len(order))
        is_one_shape = np.ones(0, bool)  # 3
        if len(starts):
            is_one_shape = np.minimum.reduceat(shape, starts) == np.maximum.reduceat(shape, starts)
        kept = np.arange(len(starts))  # 4
        if limit is not None and len(starts) > limit:
            kept = np.sort(np.argsort(-count, kind="stable")[:limit])
        starts = starts[kept]
        codes = np.where(is_one_shape[kept], shape[starts], 0).tolist()
        return {
            "near": near[starts].tolist(),
            "far": far[starts].tolist(),
            "count": count[kept].tolist(),
            "control": control[starts].tolist(),
            "shape": [columns.shapes[code] for code in codes],
        }

    def _with_outside_names(self, table: Json) -> Json:
        """The table with the entries in its column `outside` replaced by their names."""
        names = {entry: self.tree.name(entry) for entry in set(table["outside"])}
        return {**table, "outside": [names[entry] for entry in table["outside"]]}

    def border_neighbours(self, edges: NDArray[np.int64], ends: NDArray[np.int32]) -> list[Json]:
        """The nodes at the outer ends of edges that cross a scope's border, with counts.

        `ends` is the column with the outer ends: `source` or `target`. Only the
        MAX_LISTED_NEIGHBOURS most frequent nodes are returned.
        """
        far = ends[edges].astype(np.int64)
        merged = self._merge(np.zeros_like(far), far, edges, MAX_LISTED_NEIGHBOURS)
        names = [self.tree.names[node] for node in merged.pop("far")]
        columns = {"name": names, **merged}
        del columns["near"]
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def inputs(self, inputs: list[str], edges: NDArray[np.int64]) -> list[Json]:
        """Describes each logged input of a node; `edges` are the node's, in the order of inputs."""
        # An input that names a missing node has no edge.
        remaining = iter(edges.tolist())
        listed = []
        for text in inputs:
            node, _, control = resolve_input(self.columns.index, text)
            if node < 0:
                listed.append(
                    {"name": text, "output": 0, "control": control, "shape": "", "missing": True}
                )
            else:
                listed.append(self.end_json(next(remaining), self.columns.source))
        return listed

    def end_json(self, edge: int, nodes: NDArray[np.int32]) -> Json:
        """One end of an edge. `nodes` is the column with that end: `source` or `target`."""
        columns = self.columns
        return {
            "name": self.tree.names[nodes[edge]],
            "output": int(columns.output[edge]),
            "control": bool(columns.control[edge]),
            "shape": columns.shapes[columns.shape[edge]],
        }


def _rename_ends(merged: Json, near: str, far: str) -> Json:
    """The result of `Edges._merge` with other names for its columns `near` and `far`."""
    return {near: merged.pop("near"), far: merged.pop("far"), **merged}
