"""Library: the graphs of all runs, read when requested and cached."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tbcore import DataError, Multiplexer, NotFoundError
from tbcore_graphs import sources, wire
from tbcore_graphs.attributes import attributes
from tbcore_graphs.cache import Cache
from tbcore_graphs.columns import columns_of, columns_of_function
from tbcore_graphs.costs import CostTotals, cost_totals
from tbcore_graphs.graph import Graph
from tbcore_graphs.profile import read_costs
from tbcore_graphs.proto.graph_pb2 import NodeDef
from tbcore_graphs.sources import GraphSource

_MAX_COST_BYTES = 64 << 20
"""Capacity of the cache of cost totals, in bytes."""
_MAX_ANCESTOR_BYTES = 32 << 20
"""Capacity of the cache of ancestor counts, in bytes."""

Json = dict[str, Any]


class Library:
    """Makes the responses of the front end's routes. Safe to use from any thread.

    A `graph_id` names a graph or a function, see `sources.resolve_id`; None is the first graph of
    the run. All methods raise NotFoundError for an unknown run, graph, tag or name, and
    NotFoundError or DataError if the file cannot be read.
    """

    def __init__(self, multiplexer: Multiplexer, graph_bytes: int) -> None:
        self._multiplexer = multiplexer
        self._graphs: Cache[Graph] = Cache(graph_bytes)
        self._cost_totals: Cache[CostTotals] = Cache(_MAX_COST_BYTES)
        self._ancestor_counts: Cache[NDArray[np.int64]] = Cache(_MAX_ANCESTOR_BYTES)

    def overview(self, run: str) -> Json:
        """The graphs of a run, and its tags of run metadata.

        A graph that cannot be read has an `error`. If the run has other graphs, empty graphs are
        omitted: Keras writes one in addition to the real graph.
        """
        multiplexer = self._multiplexer
        generation = multiplexer.generation
        found = sources.graphs_of_run(multiplexer, run)
        return {
            "generation": generation,
            "version": " ".join([f"{source.id}={source.item.etag}" for source in found]),
            "graphs": _without_empty([self._describe(source) for source in found]),
            "metadata_tags": [
                {"tag": tag, "step": step}
                for tag, step in sources.run_metadata_tags(multiplexer, run).items()
            ],
        }

    def graph(self, run: str, graph_id: str | None) -> Graph:
        """A graph of a run, or a function of its library."""
        return self._graph(*sources.resolve_id(self._multiplexer, run, graph_id))

    def cost_totals(self, run: str, graph_id: str | None, tag: str | None) -> CostTotals | None:
        """Time and memory of a graph's nodes, from the run metadata `tag`; None without a tag."""
        if tag is None:
            return None
        source, function = sources.resolve_id(self._multiplexer, run, graph_id)
        item = sources.run_metadata(self._multiplexer, run, tag)

        def make() -> CostTotals:
            graph = self._graph(source, function)
            with sources.decoding(f"run metadata {tag!r}"):
                costs = read_costs(sources.blob(item.read()))
                return cost_totals(graph.columns, graph.tree, costs)

        key = (source.item.etag, source.id, function, item.etag)
        return self._cost_totals.get(key, make, lambda totals: totals.size)

    def trace(
        self, run: str, graph_id: str | None, name: str, path: str, *, limit: int, series: str
    ) -> Json:
        """Which rows of the scope `path` contain ancestors of the operation or scope `name`."""
        source, function = sources.resolve_id(self._multiplexer, run, graph_id)
        graph = self._graph(source, function)
        entry = graph.entry(name)
        # Cached, because the front end requests one scope after another.
        counts = self._ancestor_counts.get(
            (source.item.etag, source.id, function, entry),
            lambda: graph.ancestor_counts(entry),
            lambda counts: counts.nbytes,
        )
        return graph.trace(path, counts, limit=limit, series=series)

    def node(self, run: str, graph_id: str | None, name: str, tag: str | None) -> Json:
        """Everything about one operation or scope."""
        source, function = sources.resolve_id(self._multiplexer, run, graph_id)
        graph = self._graph(source, function)
        costs = self.cost_totals(run, graph_id, tag)
        entry = graph.entry(name)
        if entry < graph.tree.num_scopes:
            return graph.scope_totals(entry, costs)
        node_index = entry - graph.tree.num_scopes
        start, end = int(graph.columns.start[node_index]), int(graph.columns.end[node_index])
        if start < 0:
            # An argument or result of a function, which has no node in the file.
            return {**graph.node(entry, costs, None), "attributes": []}
        node = wire.decode(NodeDef, source.read()[start:end])
        inputs = list(node.input)
        return {**graph.node(entry, costs, inputs), "attributes": attributes(node)}

    def _describe(self, source: GraphSource) -> Json:
        description: Json = {"id": source.id, "title": source.title, "source": source.form}
        try:
            graph = self._graph(source, None)
        except (NotFoundError, DataError) as error:
            return {**description, "nodes": 0, "edges": 0, "functions": [], "error": str(error)}
        columns = graph.columns
        return {
            **description,
            "nodes": len(columns.names),
            "edges": len(columns.source),
            "functions": list(columns.functions),
        }

    def _graph(self, source: GraphSource, function: str | None) -> Graph:
        def make() -> Graph:
            if function is None:
                with sources.decoding(f"graph {source.id!r}"):
                    return Graph(columns_of(source.read()))
            span = self._graph(source, None).columns.functions.get(function)
            if span is None:
                raise NotFoundError(f"the graph has no function {function[:200]!r}")
            with sources.decoding(f"function {function[:200]!r}"):
                return Graph(columns_of_function(source.read(), *span))

        key = (source.item.etag, source.id, function)
        return self._graphs.get(key, make, lambda graph: graph.num_bytes)


def _without_empty(graphs: list[Json]) -> list[Json]:
    return [graph for graph in graphs if graph["nodes"] or "error" in graph] or graphs
