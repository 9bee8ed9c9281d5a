"""Tree: the name scopes of a graph, and the nodes in them.

Scopes and nodes are *entries*. The nodes *below* a scope are those in it at any depth; the only
node below a node is the node itself. Entries have positions in depth-first order: an entry and
everything inside it occupy one range of positions. One search in a sorted array therefore finds,
for all edges of a graph at once, in which child of a scope their nodes are.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

ROOT = 0
"""The entry of the root scope, which contains the whole graph."""
MAX_DEPTH = 100
"""Maximum number of nested scopes. The rest of a longer name is the name of the node."""

_SLASH = re.compile(r"(?<=[^/])/(?=.)", re.DOTALL)
"""A slash that separates two segments of a name.

Segments are never empty: a second slash in a row belongs to the segment after it.
"""


class Tree:
    """S scopes and N nodes, numbered as entries: the root, the other scopes, then the nodes."""

    def __init__(self, names: Sequence[str]) -> None:
        """Builds the tree of nodes with these names, which must be unique."""
        self._parent_of_scope: list[int] = [-1]
        """S entries: the scope that directly contains each scope; -1 for the root."""
        self.segments: list[str] = [""]
        """S strings: the last segment of each scope's name."""
        self._scopes: dict[tuple[int, str], int] = {}
        """Maps (scope, segment) to the entry of the inner scope `segment` that `scope` contains."""
        self._first: list[int] = [0]
        """S indices: the lowest index of any node below each scope."""
        scope_of = np.fromiter(
            (self._add(name, node) for node, name in enumerate(names)), np.int32, len(names)
        )
        self.num_scopes = len(self._parent_of_scope)
        self.names = list(names)
        """N displayed names. A node `a` is displayed as `a/(a)` if there is a scope `a`."""
        self.renamed: dict[str, int] = {}
        """Maps displayed names to node indices, for nodes with another logged name."""
        self._move_into_scopes(scope_of)
        self.parent = np.concatenate([np.array(self._parent_of_scope, np.int32), scope_of])
        """S + N entries: the scope that directly contains each entry; -1 for the root."""
        self._assign_positions()

    def scope(self, path: str) -> int | None:
        """The entry of the scope with this full name, "" for the root; None if it is missing."""
        scope: int | None = ROOT
        for segment in _split(path) if path else ():
            scope = self._scopes.get((scope, segment)) if scope is not None else None
        return scope

    def name(self, entry: int) -> str:
        """The full name of an entry."""
        if entry >= self.num_scopes:
            return self.names[entry - self.num_scopes]
        segments: list[str] = []
        while entry > ROOT:
            segments.append(self.segments[entry])
            entry = self._parent_of_scope[entry]
        return "/".join(reversed(segments))

    def enclosing_scopes(self, scope: int) -> list[int]:
        """The scopes that contain a scope, from the root inwards, without the scope itself."""
        found: list[int] = []
        while self._parent_of_scope[scope] >= 0:
            scope = self._parent_of_scope[scope]
            found.append(scope)
        return found[::-1]

    def children(self, scope: int) -> NDArray[np.int64]:
        """The entries directly in a scope, in ascending order of positions."""
        return self._children[self._first_child[scope] : self._first_child[scope + 1]]

    def __len__(self) -> int:
        return len(self.parent)

    def _add(self, name: str, node: int) -> int:
        """The scope that directly contains a node; creates the scope and its parents if missing."""
        scope = ROOT
        for segment in _split(name)[:-1]:
            key = (scope, segment)
            found = self._scopes.get(key)
            if found is None:
                found = self._scopes[key] = len(self._parent_of_scope)
                self._parent_of_scope.append(scope)
                self.segments.append(segment)
                self._first.append(node)
            scope = found
        return scope

    def _move_into_scopes(self, scope_of: NDArray[np.int32]) -> None:
        """Moves each node that has the same name as a scope into that scope, and renames it."""
        used_names = None
        for node, name in enumerate(self.names):
            leaf = _split(name)[-1]
            scope = self._scopes.get((int(scope_of[node]), leaf))
            if scope is None:
                continue
            if used_names is None:
                used_names = set(self.names)
            scope_of[node] = scope
            shown = f"{name}/({leaf})"
            while shown in used_names:
                shown = f"{shown})"
            used_names.add(shown)
            self.names[node] = shown
            self.renamed[shown] = node
            self._first[scope] = min(self._first[scope], node)

    def _assign_positions(self) -> None:
        """Sets the levels, sizes, children and positions of all entries."""
        # 1. Group the entries by depth, so that each step below handles a whole level at once.
        # 2. Add up subtree sizes, from the deepest level upwards.
        # 3. Sort the entries by parent, and siblings by the first node that they contain.
        # 4. An entry's offset from its parent is 1 plus the sizes of the siblings before it.
        # 5. Add up the offsets, from the root downwards.
        num_scopes, num_entries = self.num_scopes, len(self.parent)
        num_nodes = num_entries - num_scopes
        first = np.concatenate([np.array(self._first), np.arange(num_nodes)])
        depth = np.zeros(num_entries, np.int16)  # 1
        for scope in range(1, num_scopes):
            depth[scope] = depth[self._parent_of_scope[scope]] + 1
        depth[num_scopes:] = depth[self.parent[num_scopes:]] + 1
        by_depth = np.argsort(depth, kind="stable")
        bounds = np.searchsorted(depth[by_depth], np.arange(depth.max(initial=0) + 2))
        levels = [by_depth[start:end] for start, end in pairwise(bounds.tolist())]
        self._levels = levels[1:]
        """Arrays of entries, one array for each depth below the root."""

        self.size = np.ones(num_entries, np.int64)  # 2
        """S + N counts: the entry itself and all entries inside it."""
        for level in self._levels[::-1]:
            np.add.at(self.size, self.parent[level], self.size[level])

        order = np.lexsort((first, self.parent))[1:]  # 3
        self._children = order
        """Every entry but the root; the children of a scope are consecutive."""
        self._first_child = np.searchsorted(self.parent[order], np.arange(num_scopes + 1))
        """S + 1 indices into `_children`: where the children of each scope begin."""

        before = np.cumsum(self.size[order]) - self.size[order]  # 4
        starts = before[np.minimum(self._first_child[self.parent[order]], len(order) - 1)]
        offset = np.zeros(num_entries, np.int64)
        offset[order] = 1 + before - starts
        self.position = np.zeros(num_entries, np.int64)  # 5
        """S + N unique positions in depth-first order: a scope comes before what is inside it."""
        for level in self._levels:
            self.position[level] = self.position[self.parent[level]] + offset[level]

    @property
    def node_position(self) -> NDArray[np.int64]:
        """The N positions of the nodes."""
        return self.position[self.num_scopes :]

    def subtree_sums(self, values: NDArray[Any]) -> NDArray[Any]:
        """S + N sums of the values of all nodes below each entry.

        `values` has N elements.
        """
        # An entry and everything inside it are one range of positions, so the sum of their values
        # is the difference of two running totals.
        by_position = np.zeros(len(self) + 1, values.dtype)
        by_position[self.node_position + 1] = values
        total = np.cumsum(by_position)
        sums: NDArray[Any] = total[self.position + self.size] - total[self.position]
        return sums

    def subtree_extremes(
        self, low: NDArray[np.int32], high: NDArray[np.int32]
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Two arrays of S + N: the minimum of `low` and the maximum of `high` below each entry.

        `low` and `high` have N elements. For an empty graph, the root has the limits of int32.
        """
        num_scopes = self.num_scopes
        info = np.iinfo(np.int32)
        lowest = np.concatenate([np.full(num_scopes, info.max, np.int32), low])
        highest = np.concatenate([np.full(num_scopes, info.min, np.int32), high])
        for level in self._levels[::-1]:
            np.minimum.at(lowest, self.parent[level], lowest[level])
            np.maximum.at(highest, self.parent[level], highest[level])
        return lowest, highest

    def structure_ids(self, values: NDArray[np.int32]) -> NDArray[np.int64]:
        """S ids above 0, equal for scopes with the same structure; 0 for a unique structure.

        Two scopes have the same structure if they contain equal nodes and scopes of the same
        structure, in any order and with any names. Nodes are equal if their `values` are.
        """
        # 1. Hash each node's value.
        # 2. From the deepest level upwards, mix each entry's hash and add it to its parent's. The
        #    sum does not depend on the order of the children.
        # 3. Number the hashes that occur more than once.
        hashes = np.zeros(len(self), np.uint64)  # 1
        hashes[self.num_scopes :] = _mix_bits(values.astype(np.uint64) + np.uint64(1))
        for level in self._levels[::-1]:  # 2
            scopes = level[level < self.num_scopes]
            hashes[scopes] = _mix_bits(hashes[scopes])
            np.add.at(hashes, self.parent[level], _mix_bits(hashes[level]))
        _, structure, counts = np.unique(  # 3
            hashes[: self.num_scopes], return_inverse=True, return_counts=True
        )
        ids: NDArray[np.int64] = np.where(counts > 1, np.cumsum(counts > 1), 0)[structure]
        return ids

    @cached_property
    def num_nodes(self) -> NDArray[np.int64]:
        """S + N counts of the nodes below each entry."""
        return self.subtree_sums(np.ones(len(self) - self.num_scopes, np.int64))


def _split(name: str) -> list[str]:
    """The segments of a node's name: the last one is the node's own, the others are scopes."""
    segments = name.split("/", MAX_DEPTH)
    if "" in segments:
        return _SLASH.split(name, MAX_DEPTH)
    return segments


def _mix_bits(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Mixes 64-bit values so that every input bit affects every output bit.

    Source: the finalizer of splitmix64.
    """
    with np.errstate(over="ignore"):
        values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
