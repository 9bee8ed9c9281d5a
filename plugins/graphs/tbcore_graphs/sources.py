"""Where the graphs of a run come from: which were logged, under which names, and their bytes.

A graph is a serialized GraphDef here, whatever it was logged as.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from tbcore import Claim, DecodeError, Item, Multiplexer, NotFoundError
from tbcore.values import Value
from tbcore_graphs import keras, merge, wire
from tbcore_graphs.columns import functions_of
from tbcore_graphs.proto.graph_pb2 import FunctionDef, FunctionDefLibrary, GraphDef

_GRAPH_DEFS = (Claim("graph_def"), Claim("tensor", plugin_name="graphs", is_scalar=False))
_META_GRAPH_DEFS = (Claim("meta_graph_def"),)
_PROFILES = (
    # A graph with the time and memory that its nodes took, and a graph alone.
    Claim("tensor", plugin_name="graph_run_metadata", is_scalar=False),
    Claim("tensor", plugin_name="graph_run_metadata_graph", is_scalar=False),
)
_KERAS_MODELS = (Claim("tensor", plugin_name="graph_keras_model", is_scalar=False),)

GRAPHS = (*_GRAPH_DEFS, *_META_GRAPH_DEFS, *_PROFILES, *_KERAS_MODELS)
"""Whatever has a graph in it."""
META_GRAPHS = _META_GRAPH_DEFS
RUN_METADATA = (
    Claim("tagged_run_metadata"),
    Claim("tensor", plugin_name="graph_tagged_run_metadata", is_scalar=False),
    Claim("tensor", plugin_name="graph_run_metadata", is_scalar=False),
)
"""Whatever tells what the nodes took."""
CLAIMS = (*GRAPHS, RUN_METADATA[0], RUN_METADATA[1])

MAIN = "graph"
"""The id of the graph that belongs to the run as a whole."""
_FUNCTION = "function:"


class Source(NamedTuple):
    """One graph of a run, not yet read."""

    id: str
    """Unique in the run: MAIN, `keras:<tag>` or `run_metadata:<tag>`."""
    title: str
    """For readers."""
    kind: str
    """`graph_def`, `meta_graph_def`, `keras` or `run_metadata`."""
    item: Item

    def read(self) -> bytes:
        """The serialized GraphDef, each time the same bytes; not checked.

        Raises NotFoundError or DataError as `Item.read` does, and DecodeError when there is no
        graph in it.
        """
        data = blob(self.item.read())
        match self.kind:
            case "meta_graph_def":
                # Field 2 of a MetaGraphDef; the rest is for saving and serving.
                return _content_of(data, 2)
            case "run_metadata":
                return _graph_of_run_metadata(data)
            case "keras":
                return keras.graph_def(data).SerializeToString(deterministic=True)
        return data


def sources(multiplexer: Multiplexer, run: str) -> list[Source]:
    """The graphs of a run, the one of the run as a whole first.

    Of several under one name the last one counts, and a graph_def before a meta_graph_def. Raises
    NotFoundError for an unknown run.
    """
    found = []
    main = [
        Source(MAIN, "Graph", "meta_graph_def" if claims is _META_GRAPH_DEFS else "graph_def", item)
        for claims in (_GRAPH_DEFS, _META_GRAPH_DEFS)
        for item in _last_of_each(multiplexer, run, claims).values()
    ]
    found += main[:1]
    for tag, item in _last_of_each(multiplexer, run, _KERAS_MODELS).items():
        found.append(Source(f"keras:{tag}", f"Keras model {tag}", "keras", item))
    for tag, item in _last_of_each(multiplexer, run, _PROFILES).items():
        found.append(Source(f"run_metadata:{tag}", f"Function {tag}", "run_metadata", item))
    return found


def source(multiplexer: Multiplexer, run: str, graph: str | None) -> Source:
    """The graph with this id; without one the first of the run. Raises NotFoundError likewise, and
    when there is no such graph."""
    found = sources(multiplexer, run)
    if not found:
        raise NotFoundError(f"run {run!r} has no graph")
    if graph is None:
        return found[0]
    for candidate in found:
        if candidate.id == graph:
            return candidate
    names = ", ".join(repr(candidate.id) for candidate in found[:20])
    raise NotFoundError(f"run {run!r} has no graph {graph[:200]!r}; it has {names}")


def function(multiplexer: Multiplexer, run: str, graph: str | None) -> tuple[Source, str | None]:
    """The graph that an id names, and which function of its library is meant; None for none.

    Functions have ids of their own: that of the graph, `/function:` and the name; those of the main
    graph are `function:<name>` for short. Raises NotFoundError likewise.
    """
    known = sources(multiplexer, run)
    if graph is None or any(candidate.id == graph for candidate in known):
        return source(multiplexer, run, graph), None
    if graph.startswith(_FUNCTION):
        return source(multiplexer, run, MAIN), graph.removeprefix(_FUNCTION)
    for candidate in known:
        prefix = f"{candidate.id}/{_FUNCTION}"
        if graph.startswith(prefix):
            return candidate, graph.removeprefix(prefix)
    return source(multiplexer, run, graph), None


def read(source: Source, function: str | None) -> bytes:
    """The serialized GraphDef of a graph; of a function, one with nothing else in its library.

    Raises what `Source.read` does, and NotFoundError when there is no such function.
    """
    data = source.read()
    if function is None:
        return data
    place = functions_of(data).get(function)
    if place is None:
        raise NotFoundError(f"the graph has no function {function[:200]!r}")
    found = wire.decode(FunctionDef, data[slice(*place)])
    library = FunctionDefLibrary(function=[found])
    return GraphDef(library=library).SerializeToString(deterministic=True)


def run_metadata_tags(multiplexer: Multiplexer, run: str) -> dict[str, int]:
    """Tags of run metadata to the step of the last one under each."""
    last = _last_of_each(multiplexer, run, RUN_METADATA)
    return {tag: item.step for tag, item in last.items()}


def run_metadata(multiplexer: Multiplexer, run: str, tag: str) -> Item:
    """The last run metadata of a tag, for `blob(item.read())`; not checked. Raises NotFoundError
    where there is none."""
    return multiplexer.items(run, tag, RUN_METADATA, samples=1)[-1]


def blob(value: Value) -> bytes:
    """The bytes that were logged: those of the event, or the one string of a tensor."""
    if isinstance(value, bytes):
        return value
    strings = value.tensor.string_val
    if not strings:
        raise DecodeError(f"value of tag {value.tag!r} is no graph: it holds no bytes")
    return strings[0]


@contextmanager
def reading(what: str) -> Iterator[None]:
    """Has a DecodeError say what it is that cannot be decoded."""
    try:
        yield
    except DecodeError as error:
        raise DecodeError(f"{what} cannot be decoded: {error}") from None


def _last_of_each(multiplexer: Multiplexer, run: str, claims: tuple[Claim, ...]) -> dict[str, Item]:
    listing = multiplexer.tags(claims)
    if run not in listing:
        # Says so, with names that come close.
        multiplexer.metadata(run, "")
    return {
        tag: items[-1]
        for tag in listing.get(run, [])
        if (items := multiplexer.items(run, tag, claims, samples=1))
    }


def _graph_of_run_metadata(data: bytes) -> bytes:
    """The graph of each function before it was optimized; of all if there are several."""
    functions = [_content_of(function, 2) for function in _contents_of(data, 4)]
    return merge.graphs([graph for graph in functions if graph])


def _content_of(data: bytes, number: int) -> bytes:
    """A message inside a message. Where it is written in pieces these are merged by joining."""
    return b"".join(_contents_of(data, number))


def _contents_of(data: bytes, number: int) -> Iterator[bytes]:
    for field in wire.fields(data):
        if field.number == number and field.wire_type == wire.LENGTH_DELIMITED:
            yield data[field.content : field.end]
