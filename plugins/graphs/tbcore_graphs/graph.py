"""Graph: the nodes and scopes of one graph, and responses about them for the front end.

Responses are computed from arrays over all nodes and edges, so that each takes only milliseconds
for a hundred thousand nodes. A *series* is a group of children of a scope whose names differ only
in one number; in a large scope it becomes one row. Edges are in `edges.py`, costs and devices in
`costs.py`, attributes in `attributes.py`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tbcore import NotFoundError
from tbcore_graphs.columns import GraphColumns
from tbcore_graphs.costs import CostTotals, DevicePlacement, cost_json, device_placement
from tbcore_graphs.edges import MAX_LISTED_NEIGHBOURS, Edges
from tbcore_graphs.tree import ROOT, Tree

MIN_SERIES_MEMBERS = 5
"""Minimum number of members of a series."""

_NUMBER = re.compile(r"\d+")
_WILDCARD = re.compile(r"\.?\*")
"""The wildcard of searches: `*`, or `.*` as in regular expressions."""

Json = dict[str, Any]


class _Row(NamedTuple):
    """One row of a scope's table: a child of the scope, or a series of children."""

    name: str
    kind: str
    """`op`, `scope` or `series`."""
    entries: list[int]
    """The child, or all members of the series."""


class Graph:
    """The N nodes, E edges and S scopes of one graph. *Entries* are scopes and nodes, see Tree."""

    def __init__(self, columns: GraphColumns) -> None:
        self.columns = columns
        self.tree = Tree(columns.names)
        self._edges = Edges(columns, self.tree)

    @property
    def num_bytes(self) -> int:
        """Estimated memory of this object, in bytes."""
        return self.columns.num_bytes + 200 * len(self.tree) + 16 * len(self.columns.source)

    def scope(
        self, path: str, costs: CostTotals | None, *, limit: int, offset: int = 0, series: str = ""
    ) -> Json:
        """The direct children of a scope, the edges between them, and edges across the border.

        If there are more than `limit` children, each series among them is folded into one row. If
        `series` is given, the rows are the members of this series instead. At most `limit` rows are
        returned, from `offset` on. Raises NotFoundError for an unknown scope or series.
        """
        scope = self._scope(path)
        children = self.tree.children(scope)
        rows = self._rows(children, limit, series)
        shown = rows[offset : offset + limit]
        row_of = np.full(len(self.tree), -1, np.int64)
        for row_index, row in enumerate(shown):
            row_of[row.entries] = row_index
        return {
            "path": path,
            "children": self._table(shown, costs),
            **self._edges.of_rows(scope, children, row_of, limit),
            "total": len(rows),
            "too_many": len(children) > limit,
        }

    def node(self, entry: int, costs: CostTotals | None, inputs: list[str] | None) -> Json:
        """Everything about an operation except its attributes.

        `inputs` are the node's inputs as logged; None for a node that has no message in the log.
        """
        tree, columns = self.tree, self.columns
        devices = costs.devices if costs else self._devices
        node = entry - tree.num_scopes
        edges_in = np.flatnonzero(columns.target == node)
        edges_out = np.flatnonzero(columns.source == node)
        if inputs is None:
            shown = edges_in[:MAX_LISTED_NEIGHBOURS].tolist()
            listed = [self._edges.end_json(edge, columns.source) for edge in shown]
        else:
            listed = self._edges.inputs(inputs[:MAX_LISTED_NEIGHBOURS], edges_in)
        return {
            "name": tree.name(entry),
            "kind": "op",
            "op": columns.ops[columns.op[node]],
            "device": devices.names[devices.node[node]],
            "inputs": listed,
            "num_inputs": len(edges_in) if inputs is None else len(inputs),
            "outputs": [
                self._edges.end_json(edge, columns.target)
                for edge in edges_out[:MAX_LISTED_NEIGHBOURS].tolist()
            ],
            "num_outputs": len(edges_out),
            **cost_json(costs, entry),
        }

    def scope_totals(self, entry: int, costs: CostTotals | None) -> Json:
        """Everything about a scope: counts of its ops and devices, its inputs and its outputs."""
        # 1. The scope is the range [first, end) of positions: find the nodes and edge ends in it.
        # 2. An edge enters or leaves the scope if exactly one of its ends is inside.
        tree, columns = self.tree, self.columns
        devices = costs.devices if costs else self._devices
        first, end = tree.position[entry], tree.position[entry] + tree.size[entry]
        is_inside = (tree.node_position >= first) & (tree.node_position < end)  # 1
        from_inside = (self._edges.source_position >= first) & (self._edges.source_position < end)
        to_inside = (self._edges.target_position >= first) & (self._edges.target_position < end)
        edges_in = np.flatnonzero(to_inside & ~from_inside)  # 2
        edges_out = np.flatnonzero(from_inside & ~to_inside)
        return {
            "name": tree.name(entry),
            "kind": "scope",
            "nodes": int(tree.num_nodes[entry]),
            "edges": int((from_inside & to_inside).sum()),
            "inputs": self._edges.border_neighbours(edges_in, columns.source),
            "num_inputs": len(edges_in),
            "outputs": self._edges.border_neighbours(edges_out, columns.target),
            "num_outputs": len(edges_out),
            "ops": _counts(columns.op[is_inside], columns.ops),
            "devices": _counts(devices.node[is_inside], devices.names),
            **cost_json(costs, entry),
        }

    def ancestor_counts(self, entry: int) -> NDArray[np.int64]:
        """S + N counts: the number of ancestors of `entry` below each scope; 0 or 1 for a node.

        The ancestors are the nodes below `entry`, and all nodes from which edges lead to these,
        directly or through other nodes.
        """
        tree = self.tree
        first, end = tree.position[entry], tree.position[entry] + tree.size[entry]
        is_ancestor = bytearray((tree.node_position >= first) & (tree.node_position < end))
        stack = np.flatnonzero(is_ancestor).tolist()
        # One node at a time, not one level at a time: a graph can be as deep as it has nodes, and
        # arrays of one element are slower than a list.
        starts, sources = self._edges.first_into, self.columns.source.tolist()
        while stack:
            node = stack.pop()
            for source in sources[starts[node] : starts[node + 1]]:
                if not is_ancestor[source]:
                    is_ancestor[source] = True
                    stack.append(source)
        return tree.subtree_sums(np.frombuffer(is_ancestor, np.uint8).astype(np.int64))

    def trace(
        self, path: str, ancestor_counts: NDArray[np.int64], *, limit: int, series: str = ""
    ) -> Json:
        """The names of those rows of `scope` that contain an ancestor; `nodes` counts ancestors."""
        rows = self._rows(self.tree.children(self._scope(path)), limit, series)[:limit]
        return {
            "names": [row.name for row in rows if ancestor_counts[row.entries].any()],
            "nodes": int(ancestor_counts[ROOT]),
        }

    def search(self, text: str, op: str | None, limit: int) -> Json:
        """Scopes, then nodes, whose name contains `text`; those near the top level come first.

        If `op` is given, only nodes whose op contains `op` are matched, and no scopes. A scope
        matches if the text is in the last segment of its name, or in its name and not in that of
        the scope around it. Case is ignored, and `*` in `text` matches any characters. An empty
        text matches all nodes and no scopes. Names of equally many segments are sorted by length.
        At most `limit` matches are returned; `total` counts all of them.
        """
        tree, columns = self.tree, self.columns
        parts = [part for part in _WILDCARD.split(text.casefold()) if part]
        found: list[int] = []
        if op is None and text:
            # Otherwise every scope inside a match would match, too.
            scopes = range(1, tree.num_scopes)
            names = {scope: tree.name(scope) for scope in scopes} | {0: ""}
            matches = [_contains_in_order(names[scope], parts) for scope in range(tree.num_scopes)]
            found = [
                scope
                for scope in scopes
                if matches[scope]
                and (
                    not matches[tree.parent[scope]]
                    or _contains_in_order(tree.segments[scope], parts)
                )
            ]
            found.sort(key=lambda scope: _depth_and_length(names[scope]))
        nodes: Iterable[int] = range(len(tree.names))
        if op is not None:
            is_match = [op.casefold() in known_op.casefold() for known_op in columns.ops]
            nodes = np.flatnonzero(np.array(is_match, bool)[columns.op]).tolist()
        nodes = [node for node in nodes if _contains_in_order(tree.names[node], parts)]
        nodes.sort(key=lambda node: _depth_and_length(tree.names[node]))
        found += [tree.num_scopes + node for node in nodes]
        shown = found[:limit]
        return {
            "names": [tree.name(entry) for entry in shown],
            "kinds": ["scope" if entry < tree.num_scopes else "op" for entry in shown],
            "ops": [self._ops[self._op[entry]] for entry in shown],
            "total": len(found),
        }

    def entry(self, name: str) -> int:
        """The entry with this full name. Raises NotFoundError if there is none."""
        scope = self.tree.scope(name)
        if scope is not None:
            return scope
        node = self.tree.renamed.get(name, self.columns.index.get(name))
        if node is None:
            raise NotFoundError(f"the graph has no node or scope {name[:200]!r}")
        return self.tree.num_scopes + node

    @cached_property
    def _structure(self) -> NDArray[np.int64]:
        """S + N structure ids as in Tree.structure_ids; 0 for nodes."""
        nodes = np.zeros(len(self.columns.names), np.int64)
        return np.concatenate([self.tree.structure_ids(self.columns.op), nodes])

    @cached_property
    def _op(self) -> NDArray[np.int64]:
        """S + N codes, indices into `_ops`; 0 for scopes."""
        scopes = np.zeros(self.tree.num_scopes, np.int64)
        return np.concatenate([scopes, self.columns.op + np.int64(1)])

    @cached_property
    def _ops(self) -> list[str]:
        """Names of ops, after "" for scopes."""
        return ["", *self.columns.ops]

    @cached_property
    def _devices(self) -> DevicePlacement:
        """The devices according to the graph alone, without run metadata."""
        return device_placement(self.tree, self.columns.device, self.columns.devices)

    def _scope(self, path: str) -> int:
        scope = self.tree.scope(path)
        if scope is None:
            raise NotFoundError(f"the graph has no scope {path[:200]!r}")
        return scope

    def _rows(self, children: NDArray[np.int64], limit: int, series: str) -> list[_Row]:
        """The rows of a scope's table, with series folded or one series opened, as in `scope`."""
        tree = self.tree
        rows = [
            _Row(tree.name(child), "scope" if child < tree.num_scopes else "op", [child])
            for child in children.tolist()
        ]
        if len(rows) <= limit and not series:
            return rows
        members: defaultdict[str, list[_Row]] = defaultdict(list)
        for row in rows:
            members[_series_of(row.name)].append(row)
        if series:
            if len(members.get(series, ())) < MIN_SERIES_MEMBERS:
                raise NotFoundError(f"the scope has no series {series[:200]!r}")
            return members[series]
        # The keys have two parts, because an operation may have the same name as a series, `x_*`.
        folded = {}
        for row in rows:
            name = _series_of(row.name)
            if len(members[name]) < MIN_SERIES_MEMBERS:
                folded["child", row.name] = row
            elif ("series", name) not in folded:
                entries = [member.entries[0] for member in members[name]]
                folded["series", name] = _Row(name, "series", entries)
        return list(folded.values())

    def _table(self, rows: list[_Row], costs: CostTotals | None) -> Json:
        """The rows as JSON columns."""
        tree = self.tree
        devices = costs.devices if costs else self._devices
        entries = np.array([entry for row in rows for entry in row.entries], np.int64)
        sizes = np.array([len(row.entries) for row in rows], np.int64)
        starts = np.cumsum(sizes) - sizes

        def reduce_rows(values: NDArray[Any], ufunc: np.ufunc) -> Any:
            """One value per row, reduced over the row's entries; `values` has S + N elements."""
            return ufunc.reduceat(values[entries], starts) if len(rows) else values[:0]

        def common(low: NDArray[Any], high: NDArray[Any]) -> Any:
            """The value that all entries of a row share; 0 if their values differ."""
            lowest = reduce_rows(low, np.minimum)
            return np.where(lowest == reduce_rows(high, np.maximum), lowest, 0).tolist()

        def sum_of(column: str) -> list[int | None]:
            """The sum of a cost for each row; None if no node of the row has a cost."""
            if costs is None:
                return [None] * len(rows)
            counts = reduce_rows(costs.num_nodes, np.add).tolist()
            sums = reduce_rows(getattr(costs, column), np.add).tolist()
            return [total if count else None for total, count in zip(sums, counts, strict=True)]

        return {
            "name": [row.name for row in rows],
            "kind": [row.kind for row in rows],
            "op": [self._ops[code] for code in common(self._op, self._op)],
            "nodes": reduce_rows(tree.num_nodes, np.add).tolist(),
            "device": [devices.names[code] for code in common(devices.lowest, devices.highest)],
            "structure": common(self._structure, self._structure),
            "compute_us": sum_of("compute_us"),
            "bytes": sum_of("num_bytes"),
        }


def _contains_in_order(name: str, parts: Sequence[str]) -> bool:
    """Whether the parts, which are case-folded, occur in the name one after another."""
    name, at = name.casefold(), 0
    for part in parts:
        at = name.find(part, at)
        if at < 0:
            return False
        at += len(part)
    return True


def _depth_and_length(name: str) -> tuple[int, int]:
    return name.count("/"), len(name)


def _series_of(name: str) -> str:
    """The name of the series that a node or scope may belong to: `a/b_*` for `a/b_12`.

    The last number in the last segment is replaced.
    """
    scope, slash, leaf = name.rpartition("/")
    # Reversed, because a regular expression for the last number takes quadratic time.
    return f"{scope}{slash}{_NUMBER.sub('*', leaf[::-1], 1)[::-1]}"


def _counts(codes: NDArray[np.int32], texts: list[str]) -> list[list[Any]]:
    """[text, count] of each text that occurs, the most frequent first; codes index the texts."""
    counts = np.bincount(codes, minlength=len(texts))
    order = np.argsort(-counts, kind="stable").tolist()
    return [[texts[code], int(counts[code])] for code in order if counts[code]]
