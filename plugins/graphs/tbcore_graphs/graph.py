"""Graph: what is known of a graph without its attributes, and the questions that pages ask.

Every answer is made from arrays over all nodes and edges, so that it takes milliseconds for a
hundred thousand nodes.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tbcore import NotFoundError
from tbcore_graphs.columns import Columns, resolve
from tbcore_graphs.profile import Cost
from tbcore_graphs.tree import ROOT, Tree

MIN_SERIES = 5
"""So many children whose names differ in a number only can be shown as one."""
MAX_LISTED = 500
"""Nodes at the other ends of the edges of one node that are listed."""

_NUMBER = re.compile(r"\d+")
_ANYTHING = re.compile(r"\.?\*")
"""In a search; who is used to regular expressions writes it with a full stop."""

Answer = dict[str, Any]


class Devices(NamedTuple):
    """Where nodes are placed."""

    node: NDArray[np.int32]
    """N codes."""
    texts: list[str]
    """What the codes stand for; 0 is no device."""
    lowest: NDArray[np.int32]
    highest: NDArray[np.int32]
    """S + N: the codes of the nodes below each entry that have a device are between these."""


class Sums(NamedTuple):
    """What the nodes below each entry of a tree took, in order of entries."""

    compute_us: NDArray[np.int64]
    num_bytes: NDArray[np.int64]
    num_nodes: NDArray[np.int64]
    """How many of the nodes the metadata speaks of."""
    devices: Devices
    """Where these ran, and others are placed."""

    @property
    def size(self) -> int:
        """What this needs in memory, in bytes."""
        sums = self.compute_us.nbytes + self.num_bytes.nbytes + self.num_nodes.nbytes
        _, texts, lowest, highest = self.devices
        return sums + lowest.nbytes + 2 * highest.nbytes + 200 * len(texts)

    def of(self, entry: int) -> Cost | None:
        """None where the metadata says nothing."""
        if not self.num_nodes[entry]:
            return None
        return Cost(int(self.compute_us[entry]), int(self.num_bytes[entry]))


class _Row(NamedTuple):
    """What is shown of a scope: a child of it, or a series of children."""

    name: str
    kind: str
    children: list[int]
    """Entries."""


class Graph:
    """The nodes, edges and scopes of one graph."""

    def __init__(self, columns: Columns) -> None:
        self.columns = columns
        self.tree = Tree(columns.names)
        self._source = self.tree.node_position[columns.source]
        self._target = self.tree.node_position[columns.target]
        """E: positions of the nodes at both ends."""

    @property
    def num_bytes(self) -> int:
        """What this needs in memory, roughly."""
        return self.columns.num_bytes + 200 * len(self.tree) + 16 * len(self._source)

    def sums(self, costs: Mapping[str, Cost]) -> Sums:
        """The costs of nodes, added up for scopes; names that no node has are left out."""
        values = np.zeros((3, len(self.columns.names)), np.int64)
        device = self.columns.device.copy()
        devices = {text: code for code, text in enumerate(self.columns.devices)}
        # So that no sum goes beyond int64, whatever a log claims.
        most = 2**62 // max(len(self.columns.names), 1)
        for name, cost in costs.items():
            node = self.columns.index.get(name)
            if node is not None:
                values[:, node] = min(cost.compute_us, most), min(cost.num_bytes, most), 1
                if cost.device:
                    device[node] = devices.setdefault(cost.device, len(devices))
        compute_us, num_bytes, num_nodes = (self.tree.sums(row) for row in values)
        return Sums(compute_us, num_bytes, num_nodes, self._placed(device, list(devices)))

    def scope(
        self, path: str, sums: Sums | None, *, limit: int, offset: int = 0, series: str = ""
    ) -> Answer:
        """The direct children of a scope, the edges between them and those across its border.

        When there are more than `limit` children, those of a series become one; `series` asks for
        what is in one of them. Of what is left, `limit` are shown from `offset` on. Raises
        NotFoundError for an unknown scope or series.
        """
        scope = self._scope(path)
        children = self.tree.children(scope)
        rows = self._rows(children, limit, series)
        shown = rows[offset : offset + limit]
        row_of = np.full(len(self.tree), -1, np.int64)
        for number, row in enumerate(shown):
            row_of[row.children] = number
        return {
            "path": path,
            "children": self._table(shown, sums),
            **self._edges(scope, children, row_of, limit),
            "total": len(rows),
            "too_many": len(children) > limit,
        }

    def node(self, entry: int, sums: Sums | None, inputs: list[str] | None) -> Answer:
        """All but the attributes of an operation; `inputs` are those that were logged."""
        tree, columns = self.tree, self.columns
        devices = sums.devices if sums else self._devices
        node = entry - tree.num_scopes
        ends = np.flatnonzero(columns.source == node)
        into = np.flatnonzero(columns.target == node)
        if inputs is None:
            taken = [self._end(edge, columns.source) for edge in into[:MAX_LISTED].tolist()]
        else:
            taken = self._inputs(inputs[:MAX_LISTED], into)
        return {
            "name": tree.name(entry),
            "kind": "op",
            "op": columns.ops[columns.op[node]],
            "device": devices.texts[devices.node[node]],
            "inputs": taken,
            "num_inputs": len(into) if inputs is None else len(inputs),
            "outputs": [self._end(edge, columns.target) for edge in ends[:MAX_LISTED].tolist()],
            "num_outputs": len(ends),
            **_cost(sums, entry),
        }

    def totals(self, entry: int, sums: Sums | None) -> Answer:
        """What is in a scope: nodes of which op, on which devices; and what goes in and out."""
        tree, columns = self.tree, self.columns
        devices = sums.devices if sums else self._devices
        first, end = tree.position[entry], tree.position[entry] + tree.size[entry]
        is_inside = (tree.node_position >= first) & (tree.node_position < end)
        from_inside = (self._source >= first) & (self._source < end)
        to_inside = (self._target >= first) & (self._target < end)
        into, out = (
            np.flatnonzero(to_inside & ~from_inside),
            np.flatnonzero(from_inside & ~to_inside),
        )
        return {
            "name": tree.name(entry),
            "kind": "scope",
            "nodes": int(tree.num_nodes[entry]),
            "edges": int((from_inside & to_inside).sum()),
            "inputs": self._outside(into, columns.source),
            "num_inputs": len(into),
            "outputs": self._outside(out, columns.target),
            "num_outputs": len(out),
            "ops": _counts(columns.op[is_inside], columns.ops),
            "devices": _counts(devices.node[is_inside], devices.texts),
            **_cost(sums, entry),
        }

    def needs(self, entry: int) -> NDArray[np.int64]:
        """S + N: how many nodes below each entry those below `entry` need.

        These are all that inputs lead back to, however far, and those below `entry` themselves.
        """
        tree = self.tree
        first, end = tree.position[entry], tree.position[entry] + tree.size[entry]
        is_needed = bytearray((tree.node_position >= first) & (tree.node_position < end))
        waiting = np.flatnonzero(is_needed).tolist()
        # One by one: a graph may be as deep as it has nodes, so that arrays would be short.
        starts, sources = self._first_input, self.columns.source.tolist()
        while waiting:
            node = waiting.pop()
            for source in sources[starts[node] : starts[node + 1]]:
                if not is_needed[source]:
                    is_needed[source] = True
                    waiting.append(source)
        return tree.sums(np.frombuffer(is_needed, np.uint8).astype(np.int64))

    def trace(self, path: str, needs: NDArray[np.int64], *, limit: int, series: str = "") -> Answer:
        """Which children of a scope, as `scope` shows them, hold anything that is needed."""
        rows = self._rows(self.tree.children(self._scope(path)), limit, series)[:limit]
        return {
            "names": [row.name for row in rows if needs[row.children].any()],
            "nodes": int(needs[ROOT]),
        }

    def search(self, text: str, op: str | None, limit: int) -> Answer:
        """Scopes and nodes whose name contains a text; with `op` only nodes whose op contains that.

        In any case. A `*` in the text stands for anything. Scopes come first. `total` is how many
        there are.
        """
        tree, columns = self.tree, self.columns
        parts = [part for part in _ANYTHING.split(text.casefold()) if part]
        found: list[int] = []
        if op is None and text:
            # The last part counts, or else everything in a scope that matches would.
            found = [
                scope
                for scope, segment in enumerate(tree.segments)
                if scope and _has_all(segment, parts)
            ]
        nodes: Iterable[int] = range(len(tree.names))
        if op is not None:
            is_wanted = [op.casefold() in other.casefold() for other in columns.ops]
            nodes = np.flatnonzero(np.array(is_wanted, bool)[columns.op]).tolist()
        found += [tree.num_scopes + node for node in nodes if _has_all(tree.names[node], parts)]
        shown = found[:limit]
        return {
            "names": [tree.name(entry) for entry in shown],
            "kinds": ["scope" if entry < tree.num_scopes else "op" for entry in shown],
            "ops": [self._ops[self._op[entry]] for entry in shown],
            "total": len(found),
        }

    def entry(self, name: str) -> int:
        """The entry with this full name; NotFoundError if there is none."""
        scope = self.tree.scope(name)
        if scope is not None:
            return scope
        node = self.tree.inside.get(name, self.columns.index.get(name))
        if node is None:
            raise NotFoundError(f"the graph has no node and no scope {name[:200]!r}")
        return self.tree.num_scopes + node

    @cached_property
    def _first_input(self) -> list[int]:
        """N + 1: the first edge into each node; edges are in the order of their targets."""
        nodes = np.arange(len(self.columns.names) + 1)
        first: list[int] = np.searchsorted(self.columns.target, nodes).tolist()
        return first

    @cached_property
    def _structure(self) -> NDArray[np.int64]:
        """S + N: 0 for nodes, and for scopes like no other."""
        nodes = np.zeros(len(self.columns.names), np.int64)
        return np.concatenate([self.tree.structures(self.columns.op), nodes])

    @cached_property
    def _op(self) -> NDArray[np.int64]:
        """S + N: codes of `_ops`."""
        scopes = np.zeros(self.tree.num_scopes, np.int64)
        return np.concatenate([scopes, self.columns.op + np.int64(1)])

    @cached_property
    def _ops(self) -> list[str]:
        return ["", *self.columns.ops]

    @cached_property
    def _devices(self) -> Devices:
        """As the graph itself says."""
        return self._placed(self.columns.device, self.columns.devices)

    def _placed(self, device: NDArray[np.int32], texts: list[str]) -> Devices:
        # What has no device, as much has that never runs, does not keep a scope from having one.
        lowest = np.where(device == 0, np.iinfo(np.int32).max, device)
        return Devices(device, texts, *self.tree.extremes(lowest, device))

    def _scope(self, path: str) -> int:
        scope = self.tree.scope(path)
        if scope is None:
            raise NotFoundError(f"the graph has no scope {path[:200]!r}")
        return scope

    def _rows(self, children: NDArray[np.int64], limit: int, series: str) -> list[_Row]:
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
            if len(members.get(series, ())) < MIN_SERIES:
                raise NotFoundError(f"the scope has no series {series[:200]!r}")
            return members[series]
        folded = {}
        for row in rows:
            name = _series_of(row.name)
            if len(members[name]) < MIN_SERIES:
                folded["op", row.name] = row
            elif ("series", name) not in folded:
                entries = [member.children[0] for member in members[name]]
                folded["series", name] = _Row(name, "series", entries)
        return list(folded.values())

    def _table(self, rows: list[_Row], sums: Sums | None) -> Answer:
        tree = self.tree
        devices = sums.devices if sums else self._devices
        children = np.array([child for row in rows for child in row.children], np.int64)
        sizes = np.array([len(row.children) for row in rows], np.int64)
        starts = np.cumsum(sizes) - sizes

        def of_all(values: NDArray[Any], combine: np.ufunc) -> Any:
            return combine.reduceat(values[children], starts) if len(rows) else values[:0]

        def common(low: NDArray[Any], high: NDArray[Any]) -> Any:
            """The value of all children of a row; 0 where they differ."""
            lowest = of_all(low, np.minimum)
            return np.where(lowest == of_all(high, np.maximum), lowest, 0).tolist()

        def sum_of(sums: Sums | None, column: str) -> list[int | None]:
            """None where nothing is known of any node."""
            if sums is None:
                return [None] * len(rows)
            known = of_all(sums.num_nodes, np.add).tolist()
            total = of_all(getattr(sums, column), np.add).tolist()
            return [a if b else None for a, b in zip(total, known, strict=True)]

        return {
            "name": [row.name for row in rows],
            "kind": [row.kind for row in rows],
            "op": [self._ops[code] for code in common(self._op, self._op)],
            "nodes": of_all(tree.num_nodes, np.add).tolist(),
            "device": [devices.texts[code] for code in common(devices.lowest, devices.highest)],
            "structure": common(self._structure, self._structure),
            "compute_us": sum_of(sums, "compute_us"),
            "bytes": sum_of(sums, "num_bytes"),
        }

    def _edges(
        self,
        scope: int,
        children: NDArray[np.int64],
        row_of: NDArray[np.int64],
        limit: int,
    ) -> Answer:
        """Edges with one end at least in what is shown."""
        tree = self.tree
        first, end = tree.position[scope], tree.position[scope] + tree.size[scope]
        # Most edges of a large graph are elsewhere.
        edges = np.flatnonzero(
            ((self._source > first) & (self._source < end))
            | ((self._target > first) & (self._target < end))
        )
        source = self._outward(scope, self._source[edges])
        target = self._outward(scope, self._target[edges])
        from_row, to_row = row_of[source], row_of[target]

        inside = (from_row >= 0) & (to_row >= 0) & (from_row != to_row)
        between = self._merged(from_row[inside], to_row[inside], edges[inside])
        comes_in = (from_row < 0) & (to_row >= 0)
        ins = self._merged(to_row[comes_in], source[comes_in], edges[comes_in], limit)
        goes_out = (from_row >= 0) & (to_row < 0)
        outs = self._merged(from_row[goes_out], target[goes_out], edges[goes_out], limit)
        return {
            "edges": _named(between, "from", "to"),
            "ins": self._with_names(_named(ins, "child", "outside")),
            "outs": self._with_names(_named(outs, "child", "outside")),
        }

    def _outward(self, scope: int, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        """For positions of nodes the entry that stands for each when one looks from a scope.

        That is the child of the scope, or of the nearest scope around it, which the node is below.
        """
        tree = self.tree
        found = np.full(len(positions), -1, np.int64)
        for around in [*tree.ancestors(scope), scope]:
            # From the outermost on: what is nearer takes the place of what was found before.
            children = tree.children(around)
            first = tree.position[around]
            below = (positions > first) & (positions < first + tree.size[around])
            child = np.searchsorted(tree.position[children], positions[below], "right") - 1
            found[below] = children[child]
        return found

    def _merged(
        self,
        near: NDArray[np.int64],
        far: NDArray[np.int64],
        edges: NDArray[np.int64],
        limit: int | None = None,
    ) -> Answer:
        """Edges with the same ends and of the same sort as one; the `limit` most frequent ones."""
        columns = self.columns
        control = columns.control[edges]
        order = np.lexsort((control, far, near))
        near, far, control = near[order], far[order], control[order]
        shape = columns.shape[edges][order]
        is_new = np.ones(len(order), bool)
        is_new[1:] = (near[1:] != near[:-1]) | (far[1:] != far[:-1]) | (control[1:] != control[:-1])
        starts = np.flatnonzero(is_new)
        count = np.diff(starts, append=len(order))
        is_one_shape = np.ones(0, bool)
        if len(starts):
            is_one_shape = np.minimum.reduceat(shape, starts) == np.maximum.reduceat(shape, starts)
        kept = np.arange(len(starts))
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

    def _with_names(self, table: Answer) -> Answer:
        names = {entry: self.tree.name(entry) for entry in set(table["outside"])}
        return {**table, "outside": [names[entry] for entry in table["outside"]]}

    def _outside(self, edges: NDArray[np.int64], ends: NDArray[np.int32]) -> list[Answer]:
        """The nodes at the outer ends of edges that cross a border, the most frequent ones."""
        far = ends[edges].astype(np.int64)
        merged = self._merged(np.zeros_like(far), far, edges, MAX_LISTED)
        names = [self.tree.names[node] for node in merged.pop("far")]
        columns = {"name": names, **merged}
        del columns["near"]
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def _inputs(self, inputs: list[str], edges: NDArray[np.int64]) -> list[Answer]:
        """Every input that was logged, with the edge that it became."""
        waiting = iter(edges.tolist())
        listed = []
        for text in inputs:
            node, _, control = resolve(self.columns.index, text)
            if node < 0:
                listed.append(
                    {"name": text, "output": 0, "control": control, "shape": "", "missing": True}
                )
            else:
                listed.append(self._end(next(waiting), self.columns.source))
        return listed

    def _end(self, edge: int, nodes: NDArray[np.int32]) -> Answer:
        columns = self.columns
        return {
            "name": self.tree.names[nodes[edge]],
            "output": int(columns.output[edge]),
            "control": bool(columns.control[edge]),
            "shape": columns.shapes[columns.shape[edge]],
        }


def _has_all(name: str, parts: Sequence[str]) -> bool:
    """Whether these occur in the name one after the other, in any case."""
    name, at = name.casefold(), 0
    for part in parts:
        at = name.find(part, at)
        if at < 0:
            return False
        at += len(part)
    return True


def _series_of(name: str) -> str:
    """The name with `*` for the last number of its last part."""
    scope, slash, leaf = name.rpartition("/")
    # From behind, since looking for the last one from the front takes the square of the time.
    return f"{scope}{slash}{_NUMBER.sub('*', leaf[::-1], 1)[::-1]}"


def _counts(codes: NDArray[np.int32], texts: list[str]) -> list[list[Any]]:
    """Each text that occurs and how often, the most frequent first."""
    counts = np.bincount(codes, minlength=len(texts))
    order = np.argsort(-counts, kind="stable").tolist()
    return [[texts[code], int(counts[code])] for code in order if counts[code]]


def _cost(sums: Sums | None, entry: int) -> Answer:
    cost = sums.of(entry) if sums is not None else None
    return {
        "compute_us": cost.compute_us if cost else None,
        "bytes": cost.num_bytes if cost else None,
    }


def _named(merged: Answer, near: str, far: str) -> Answer:
    return {near: merged.pop("near"), far: merged.pop("far"), **merged}
