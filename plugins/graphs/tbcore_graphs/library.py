"""Library: the graphs that pages ask about, read once and kept while there is room."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tbcore import DataError, Multiplexer, NotFoundError
from tbcore_graphs import sources, wire
from tbcore_graphs.attributes import attributes
from tbcore_graphs.cache import Cache
from tbcore_graphs.columns import columns_of, columns_of_function
from tbcore_graphs.graph import Graph, Sums
from tbcore_graphs.profile import costs
from tbcore_graphs.proto.graph_pb2 import NodeDef
from tbcore_graphs.sources import Source

_SUMS_BYTES = 64 << 20
_NEEDS_BYTES = 32 << 20

Answer = dict[str, Any]


class Library:
    """Answers pages about all graphs of all runs. Any thread may ask.

    `graph` is an id as `overview` gives them; None is the first graph of the run. Everything raises
    NotFoundError for a run, graph, tag or name that is not there, and NotFoundError or DataError
    when the file cannot be read.
    """

    def __init__(self, multiplexer: Multiplexer, graph_bytes: int) -> None:
        self._multiplexer = multiplexer
        self._graphs: Cache[Graph] = Cache(graph_bytes)
        self._sums: Cache[Sums] = Cache(_SUMS_BYTES)
        self._needs: Cache[NDArray[np.int64]] = Cache(_NEEDS_BYTES)

    def overview(self, run: str) -> Answer:
        """The graphs of a run, and its tags of run metadata.

        A graph that cannot be read has an `error`. Empty ones, as Keras writes them beside a whole
        one, are left out where there is any other.
        """
        multiplexer = self._multiplexer
        generation = multiplexer.generation
        found = sources.sources(multiplexer, run)
        return {
            "generation": generation,
            "version": " ".join([f"{source.id}={source.item.etag}" for source in found]),
            "graphs": _with_something([self._described(source) for source in found]),
            "metadata_tags": [
                {"tag": tag, "step": step}
                for tag, step in sources.run_metadata_tags(multiplexer, run).items()
            ],
        }

    def graph(self, run: str, graph: str | None) -> Graph:
        """One graph of a run, or one function of its library."""
        return self._graph(*sources.function(self._multiplexer, run, graph))

    def sums(self, run: str, graph: str | None, tag: str | None) -> Sums | None:
        """What the nodes of the graph took, as one tag of run metadata tells it; None without."""
        if tag is None:
            return None
        source, function = sources.function(self._multiplexer, run, graph)
        item = sources.run_metadata(self._multiplexer, run, tag)

        def make() -> Sums:
            graph = self._graph(source, function)
            with sources.reading(f"run metadata {tag!r}"):
                return graph.sums(costs(sources.blob(item.read())))

        key = (source.item.etag, source.id, function, item.etag)
        return self._sums.get(key, make, lambda sums: sums.size)

    def trace(
        self, run: str, graph: str | None, name: str, path: str, *, limit: int, series: str
    ) -> Answer:
        """Which children of a scope hold what the operation or scope with this name needs."""
        source, function = sources.function(self._multiplexer, run, graph)
        found = self._graph(source, function)
        entry = found.entry(name)
        # A page asks for one scope after the other.
        needs = self._needs.get(
            (source.item.etag, source.id, function, entry),
            lambda: found.needs(entry),
            lambda needs: needs.nbytes,
        )
        return found.trace(path, needs, limit=limit, series=series)

    def node(self, run: str, graph: str | None, name: str, tag: str | None) -> Answer:
        """Everything about one operation or scope."""
        source, function = sources.function(self._multiplexer, run, graph)
        found = self._graph(source, function)
        sums = self.sums(run, graph, tag)
        entry = found.entry(name)
        if entry < found.tree.num_scopes:
            return found.totals(entry, sums)
        place = entry - found.tree.num_scopes
        start, end = int(found.columns.start[place]), int(found.columns.end[place])
        if start < 0:
            # An argument of a function, which is no node in the file.
            return {**found.node(entry, sums, None), "attributes": []}
        node = wire.decode(NodeDef, source.read()[start:end])
        inputs = list(node.input)
        return {**found.node(entry, sums, inputs), "attributes": attributes(node)}

    def _described(self, source: Source) -> Answer:
        described: Answer = {"id": source.id, "title": source.title, "source": source.kind}
        try:
            graph = self._graph(source, None)
        except (NotFoundError, DataError) as error:
            return {**described, "nodes": 0, "edges": 0, "functions": [], "error": str(error)}
        columns = graph.columns
        return {
            **described,
            "nodes": len(columns.names),
            "edges": len(columns.source),
            "functions": list(columns.functions),
        }

    def _graph(self, source: Source, function: str | None) -> Graph:
        def make() -> Graph:
            if function is None:
                with sources.reading(f"graph {source.id!r}"):
                    return Graph(columns_of(source.read()))
            place = self._graph(source, None).columns.functions.get(function)
            if place is None:
                raise NotFoundError(f"the graph has no function {function[:200]!r}")
            with sources.reading(f"function {function[:200]!r}"):
                return Graph(columns_of_function(source.read(), *place))

        key = (source.item.etag, source.id, function)
        return self._graphs.get(key, make, lambda graph: graph.num_bytes)


def _with_something(described: list[Answer]) -> list[Answer]:
    return [graph for graph in described if graph["nodes"] or "error" in graph] or described
