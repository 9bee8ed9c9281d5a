"""Tree: the name scopes of a graph, and what lies in them.

Scopes and nodes are *entries*. Each has a position such that an entry with all that is below it is
a range of positions: which child of a scope holds a node is then a search in a sorted array, for
all edges of a graph at once.
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
MAX_DEPTH = 100
"""Scopes inside scopes. What is deeper in a name is one name."""

_SLASH = re.compile(r"(?<=[^/])/(?=.)", re.DOTALL)
"""Ends a scope. No scope has an empty name: another slash belongs to the name behind it."""


class Tree:
    """Entries are numbered: first the S scopes, the root 0 among them, then the N nodes."""

    def __init__(self, names: Sequence[str]) -> None:
        """Builds the tree over nodes with these names, which are all different."""
        self.parents: list[int] = [-1]
        """S: the scope that a scope is in."""
        self.segments: list[str] = [""]
        """S: the last part of the scope's name."""
        self._scopes: dict[tuple[int, str], int] = {}
        """Scope and name of a scope in it to the number of that."""
        self._first: list[int] = [0]
        """S: the first node below."""
        scope_of = np.fromiter(
            (self._add(name, node) for node, name in enumerate(names)), np.int32, len(names)
        )
        self.num_scopes = len(self.parents)
        self.names = list(names)
        """N: names as they are shown; that of a node that is a scope too is inside of it."""
        self.inside: dict[str, int] = {}
        """Name as it is shown to the node, for those with another one than in the log."""
        self._move_inside(scope_of)
        self.parent = np.concatenate([np.array(self.parents, np.int32), scope_of])
        """S + N: the scope that an entry is in; -1 for the root."""
        self._place()

    def scope(self, path: str) -> int | None:
        """The scope with this name; "" is the root. None if there is none."""
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
            entry = self.parents[entry]
        return "/".join(reversed(segments))

    def ancestors(self, scope: int) -> list[int]:
        """The scopes that a scope is in, the root first, without itself."""
        found: list[int] = []
        while self.parents[scope] >= 0:
            scope = self.parents[scope]
            found.append(scope)
        return found[::-1]

    def children(self, scope: int) -> NDArray[np.int64]:
        """Entries that lie directly in a scope, in ascending order of positions."""
        return self._children[self._first_child[scope] : self._first_child[scope + 1]]

    def __len__(self) -> int:
        return len(self.parent)

    def _add(self, name: str, node: int) -> int:
        """The scope that a node lies in, which is made if there is none."""
        scope = ROOT
        for segment in _split(name)[:-1]:
            key = (scope, segment)
            found = self._scopes.get(key)
            if found is None:
                found = self._scopes[key] = len(self.parents)
                self.parents.append(scope)
                self.segments.append(segment)
                self._first.append(node)
            scope = found
        return scope

    def _move_inside(self, scope_of: NDArray[np.int32]) -> None:
        """Puts nodes that have the name of a scope into that scope."""
        taken = None
        for node, name in enumerate(self.names):
            leaf = _split(name)[-1]
            scope = self._scopes.get((int(scope_of[node]), leaf))
            if scope is None:
                continue
            if taken is None:
                taken = set(self.names)
            scope_of[node] = scope
            shown = f"{name}/({leaf})"
            while shown in taken:
                shown = f"{shown})"
            taken.add(shown)
            self.names[node] = shown
            self.inside[shown] = node
            self._first[scope] = min(self._first[scope], node)

    def _place(self) -> None:
        num_scopes, num_entries = self.num_scopes, len(self.parent)
        num_nodes = num_entries - num_scopes
        first = np.concatenate([np.array(self._first), np.arange(num_nodes)])
        depth = np.zeros(num_entries, np.int16)
        for scope in range(1, num_scopes):
            depth[scope] = depth[self.parents[scope]] + 1
        depth[num_scopes:] = depth[self.parent[num_scopes:]] + 1
        by_depth = np.argsort(depth, kind="stable")
        bounds = np.searchsorted(depth[by_depth], np.arange(depth.max(initial=0) + 2))
        levels = [by_depth[start:end] for start, end in pairwise(bounds.tolist())]
        self._levels = levels[1:]
        """The entries at each depth below the root."""

        self.size = np.ones(num_entries, np.int64)
        """S + N: how many entries an entry is with all that is below it."""
        for level in self._levels[::-1]:
            np.add.at(self.size, self.parent[level], self.size[level])

        order = np.lexsort((first, self.parent))[1:]
        self._children = order
        self._first_child = np.searchsorted(self.parent[order], np.arange(num_scopes + 1))
        # Those that are in the same scope and come before.
        before = np.cumsum(self.size[order]) - self.size[order]
        starts = before[np.minimum(self._first_child[self.parent[order]], len(order) - 1)]
        offset = np.zeros(num_entries, np.int64)
        offset[order] = 1 + before - starts
        self.position = np.zeros(num_entries, np.int64)
        """S + N: different for each entry, that of a scope before those below it."""
        for level in self._levels:
            self.position[level] = self.position[self.parent[level]] + offset[level]

    @property
    def node_position(self) -> NDArray[np.int64]:
        """N: positions of the nodes."""
        return self.position[self.num_scopes :]

    def sums(self, values: NDArray[Any]) -> NDArray[Any]:
        """S + N: for each entry the sum of a value of the nodes below it, or of itself."""
        by_position = np.zeros(len(self) + 1, values.dtype)
        by_position[self.node_position + 1] = values
        total = np.cumsum(by_position)
        sums: NDArray[Any] = total[self.position + self.size] - total[self.position]
        return sums

    def extremes(
        self, low: NDArray[np.int32], high: NDArray[np.int32]
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """S + N: the lowest `low` and the highest `high` of the nodes below each entry."""
        num_scopes = self.num_scopes
        info = np.iinfo(np.int32)
        lowest = np.concatenate([np.full(num_scopes, info.max, np.int32), low])
        highest = np.concatenate([np.full(num_scopes, info.min, np.int32), high])
        for level in self._levels[::-1]:
            np.minimum.at(lowest, self.parent[level], lowest[level])
            np.maximum.at(highest, self.parent[level], highest[level])
        return lowest, highest

    def structures(self, values: NDArray[np.int32]) -> NDArray[np.int64]:
        """S: equal, and above 0, for scopes that hold the same nodes and scopes; 0 for all others.

        Nodes are the same when their value is.
        """
        hashes = np.zeros(len(self), np.uint64)
        hashes[self.num_scopes :] = _mixed(values.astype(np.uint64) + np.uint64(1))
        for level in self._levels[::-1]:
            scopes = level[level < self.num_scopes]
            hashes[scopes] = _mixed(hashes[scopes])
            np.add.at(hashes, self.parent[level], _mixed(hashes[level]))
        _, structure, counts = np.unique(
            hashes[: self.num_scopes], return_inverse=True, return_counts=True
        )
        numbers: NDArray[np.int64] = np.where(counts > 1, np.cumsum(counts > 1), 0)[structure]
        return numbers

    @cached_property
    def num_nodes(self) -> NDArray[np.int64]:
        """S + N: how many nodes are below an entry; 1 for a node."""
        return self.sums(np.ones(len(self) - self.num_scopes, np.int64))


def _split(name: str) -> list[str]:
    segments = name.split("/", MAX_DEPTH)
    if "" in segments:
        return _SLASH.split(name, MAX_DEPTH)
    return segments


def _mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finish of splitmix64: every bit of the result depends on every bit."""
    with np.errstate(over="ignore"):
        values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
